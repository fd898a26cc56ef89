//! `--check`: what a server with these settings would load.
//!
//! In: settings. Out: a [`Check`], the policies with what is wrong with them, as text. Nothing is written, and no address is bound.

use std::fmt;
use std::sync::Arc;

use super::policies::{Snapshot, Store};
use super::{Error, Settings, Tls, around, tls::Certificates};

/// What was loaded.
pub struct Check(Arc<Snapshot>);

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
        let store = Store::new(settings.places.clone(), around(settings)?);
        Ok(Check(store.current()))
    }

    /// Whether nothing is wrong.
    pub fn is_good(&self) -> bool {
        self.is_ready() && self.0.problems.is_empty()
    }

    /// Whether a server would be ready: it is in spite of problems that refuse no requests.
    fn is_ready(&self) -> bool {
        self.0.complete && self.0.gate.shortage().is_none()
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let snapshot = &*self.0;
        for name in snapshot.loaded.names() {
            writeln!(f, "policy: {name}")?;
        }
        for problem in &snapshot.problems {
            writeln!(f, "problem: {problem}")?;
        }
        for notice in &snapshot.notices {
            writeln!(f, "notice: {notice}")?;
        }
        let ready = if self.is_ready() { "ready" } else { "not ready" };
        let (policies, problems) = (snapshot.policies, snapshot.problems.len());
        writeln!(f, "{policies} usable policies, {problems} problems; the server would be {ready}")
    }
}
