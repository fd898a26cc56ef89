//! `--check`: what a server with these settings would load.
//!
//! In: settings. Out: a [`Check`], the policies with what is wrong with them, as text. Nothing is
//! written, and no address is bound.

use std::fmt;
use std::sync::Arc;

use super::policies::Snapshot;
use super::tls::Certificates;
use super::{Error, opened, secret};
use crate::serve::settings::{Settings, Tls};

/// What was loaded.
pub struct Check {
    snapshot: Arc<Snapshot>,
    /// What is wrong with the Secret that holds the certificate.
    certificate: Option<String>,
}

impl Check {
    /// Loads everything that a server with these settings reads before it serves.
    ///
    /// # Errors
    /// A file or folder does not exist, certificates cannot be read, the cluster does not answer.
    pub fn of(settings: &Settings) -> Result<Check, Error> {
        if let Some(path) = settings.places.missing() {
            return Err(Error::missing(path));
        }
        if let Tls::Files(pair) = &settings.tls {
            Certificates::open(pair.clone())?;
        }
        let store = opened(settings)?;
        let certificate = match &settings.tls {
            Tls::Secret(wanted) => secret::of(store.around().link.as_deref(), wanted)?.check()?,
            _ => None,
        };
        Ok(Check { snapshot: store.current(), certificate })
    }

    /// Whether nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.is_ready() && self.problems().next().is_none()
    }

    fn problems(&self) -> impl Iterator<Item = &String> {
        self.snapshot.problems.iter().chain(&self.certificate)
    }

    /// Whether a server would be ready: it is in spite of problems that refuse no requests.
    fn is_ready(&self) -> bool {
        self.snapshot.complete && self.snapshot.gate.shortage().is_none()
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let snapshot = &*self.snapshot;
        for name in snapshot.loaded.names() {
            writeln!(f, "policy: {name}")?;
        }
        for problem in self.problems() {
            writeln!(f, "problem: {problem}")?;
        }
        for notice in &snapshot.notices {
            writeln!(f, "notice: {notice}")?;
        }
        let ready = if self.is_ready() { "ready" } else { "not ready" };
        let (policies, problems) = (snapshot.policies, self.problems().count());
        writeln!(f, "{policies} usable policies, {problems} problems; the server would be {ready}")
    }
}
