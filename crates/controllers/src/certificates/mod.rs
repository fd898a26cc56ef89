//! The server's certificate in a Secret that all replicas share.
//!
//! In: the name of a Secret, the names that the certificate is for. Out: the pair to serve and the
//! authorities that webhook configurations trust, whenever they change. The replica that starts
//! first creates the Secret, the one that leads renews it. The key of the authority is in a Secret
//! of its own (`NAME-ca`), so that what mounts or may read the pair cannot sign others.
//!
//! A new authority enters the bundle first; a pair of it is stored only when webhook configurations
//! have carried that bundle for a while; the former authority stays in the bundle until it expires,
//! and no certificate that it signed is valid any longer. So at every moment the bundle verifies
//! what any replica serves. A Secret that another program writes is only read. Semantics:
//! `docs/reference/cluster.md`, "Certificates".
//!
//! - [`content`]: what Secrets with certificates hold, and what is wrong with it.
//! - [`issue`]: certificates that this program issues: an authority, and pairs for servers that it
//!   signs.

pub mod content;
pub mod issue;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use content::{Authority, Content, Fault, Trusted, bundle, fault, is_own, merged, secret, with_data};
use ephor_cluster::follow::Follower;
use ephor_cluster::{Cluster, Failure};
use ephor_value::Value;
use issue::{Pem, RENEW};

use crate::field_manager::MANAGER;

/// How long webhook configurations carry a new authority before a pair of it is served: API servers
/// watch them.
pub const SETTLE: Duration = Duration::from_secs(15);
/// How often a write is tried that another replica was faster with.
const ATTEMPTS: usize = 5;

/// Which Secret, and for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The namespace of the Secret.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The names and addresses that a certificate of this program is for.
    pub names: Vec<String>,
    /// The name or address that API servers connect to; empty = not known.
    pub host: String,
}

/// Why a Secret cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The cluster refuses.
    #[error("Secret {name}: {cause}")]
    Cluster {
        /// Namespace and name.
        name: String,
        /// The refusal.
        #[source]
        cause: Failure,
    },
    /// A certificate cannot be generated.
    #[error(transparent)]
    Certificate(#[from] rcgen::Error),
    /// The key of the authority is where another program writes.
    #[error(
        "Secret {0} is not written by ephor and cannot hold its certificate authority; remove it, or choose another --tls-secret"
    )]
    ForeignAuthority(String),
    /// Others write it again and again.
    #[error("Secret {0} changes with every attempt to write it")]
    Conflicts(String),
}

/// What follows when the leading replica has read the Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Something was written, and more may follow.
    Changed,
    /// A new pair waits until webhook configurations carry its authority.
    Waits,
    /// Nothing is due.
    Settled,
}

#[derive(Default)]
struct CertificateState {
    /// The pair in use.
    served: Option<Arc<Pem>>,
    /// What webhook configurations are to trust.
    trusted: Vec<Trusted>,
    is_own: bool,
    problem: Option<String>,
    /// Since when webhook configurations carry an authority.
    published: HashMap<Vec<u8>, SystemTime>,
}

/// The clock.
pub type Clock = Arc<dyn Fn() -> SystemTime + Send + Sync>;

/// See the module page.
pub struct ServerSecret {
    cluster: Arc<Cluster>,
    wanted: Wanted,
    clock: Clock,
    state: Mutex<CertificateState>,
}

impl std::fmt::Debug for ServerSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ServerSecret").field(&self.wanted).finish()
    }
}

impl ServerSecret {
    /// Nothing has been read yet.
    pub fn new(cluster: Arc<Cluster>, mut wanted: Wanted, clock: Clock) -> ServerSecret {
        if !wanted.host.is_empty() && !wanted.names.contains(&wanted.host) {
            wanted.names.push(wanted.host.clone());
        }
        ServerSecret { cluster, wanted, clock, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, CertificateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Namespace and name.
    pub fn name(&self) -> String {
        full(&self.wanted, &self.wanted.name)
    }

    /// The pair to serve, if there is one.
    pub fn pair(&self) -> Option<Arc<Pem>> {
        self.state().served.clone()
    }

    /// The certificates that clients of the pair trust, as PEM; empty = those of their system.
    pub fn bundle(&self) -> String {
        bundle(&self.state().trusted)
    }

    /// Whether this program writes the Secret.
    pub fn is_own(&self) -> bool {
        self.state().is_own
    }

    /// What is wrong with the Secret.
    pub fn problem(&self) -> Option<String> {
        self.state().problem.clone()
    }

    /// Follows the Secret; `changed` is called whenever it may have changed.
    ///
    /// # Errors
    /// It may not be watched.
    pub fn follow(&self, changed: impl Fn() + Send + 'static) -> Result<Follower, CertificateError> {
        let failed = |cause| CertificateError::Cluster { name: self.name(), cause };
        let kinds = self.cluster.kinds().map_err(failed)?;
        let resource =
            kinds.kind("", "v1", "Secret").ok_or_else(|| failed(Failure::no_match("v1", "Secret")))?;
        let Wanted { namespace, name, .. } = &self.wanted;
        Follower::of_object(&self.cluster, resource, namespace, name, move |_| changed()).map_err(failed)
    }

    /// Reads the Secret, and creates it if nothing is served yet and there is none. Whether the
    /// pair to serve or the authorities to trust are others now.
    ///
    /// # Errors
    /// The cluster refuses. What was in use stays in use.
    pub fn read(&self) -> Result<bool, CertificateError> {
        let read = self.get(&self.wanted.name).and_then(|found| match found {
            Some(found) => Ok(self.take(&found)),
            None if self.state().served.is_none() => self.create(),
            None => {
                self.state().problem = Some(format!("Secret {} is missing", self.name()));
                Ok(false)
            }
        });
        if let Err(error) = &read {
            self.state().problem = Some(error.to_string());
        }
        read
    }

    /// What is wrong with the Secret as it is, without writing or using anything.
    ///
    /// # Errors
    /// The cluster refuses.
    pub fn check(&self) -> Result<Option<String>, CertificateError> {
        let found = self.get(&self.wanted.name)?;
        let fault = found.and_then(|found| self.fault(&Content::of(&found), (self.clock)()));
        Ok(fault.map(|fault| self.named(&fault)))
    }

    /// Says that all webhook configurations of this installation trust the certificates of a
    /// bundle.
    pub fn published(&self, text: &str) {
        let now = (self.clock)();
        let carried = content::authorities(text.as_bytes()).unwrap_or_default();
        let mut state = self.state();
        let since = |der: &Trusted| state.published.get(der.as_ref()).copied().unwrap_or(now);
        state.published = carried.iter().map(|der| (der.as_ref().to_vec(), since(der))).collect();
    }

    /// Whether API servers trust an authority by now.
    fn is_published(&self, authority: &Trusted, now: SystemTime) -> bool {
        let since = self.state().published.get(authority.as_ref()).copied();
        since.and_then(|since| since.checked_add(SETTLE)).is_some_and(|settled| settled <= now)
    }

    /// The next step towards a Secret as it should be, by the replica that leads.
    ///
    /// # Errors
    /// The cluster refuses.
    pub fn reconcile(&self) -> Result<Step, CertificateError> {
        let now = (self.clock)();
        let Some(current) = self.get(&self.wanted.name)? else {
            self.create()?;
            return Ok(Step::Changed);
        };
        self.take(&current);
        if !is_own(&current) {
            return Ok(Step::Settled);
        }
        let authority = self.authority(now)?;
        let content = Content::of(&current);
        let stored = content.trusted().unwrap_or_default();
        let own = std::slice::from_ref(&authority.certificate);
        let trusted = merged(&[own, &stored, &self.needed(now)], now);
        if trusted.len() != stored.len() || !trusted.iter().all(|one| stored.contains(one)) {
            if self.write(&with_data(&current, &[("ca.crt", &bundle(&trusted))]))? {
                let (secret, authorities) = (self.name(), trusted.len());
                tracing::info!(secret, authorities, "other certificate authorities are trusted");
            }
            return Ok(Step::Changed);
        }
        if fault(&content.pair, self.host(), &trusted, now).is_some() {
            // What this replica serves is still good, and others may serve it at once.
            let good = self.pair().filter(|pair| fault(pair, self.host(), &trusted, now).is_none());
            let pair = match good {
                Some(pair) => pair,
                None => Arc::new(authority.pair(&self.wanted.names, now)?),
            };
            self.write_pair(&current, &pair)?;
            return Ok(Step::Changed);
        }
        let soon = now.checked_add(RENEW).unwrap_or(now);
        if fault(&content.pair, &self.wanted.names, own, soon).is_none() {
            return Ok(Step::Settled);
        }
        if !self.is_published(&authority.certificate, now) {
            return Ok(Step::Waits);
        }
        self.write_pair(&current, &authority.pair(&self.wanted.names, now)?)?;
        Ok(Step::Changed)
    }

    fn write_pair(&self, current: &Value, pair: &Pem) -> Result<(), CertificateError> {
        let data = [("tls.crt", &*pair.certificate), ("tls.key", &*pair.key)];
        if self.write(&with_data(current, &data))? {
            tracing::info!(secret = self.name(), "the server has a new certificate");
        }
        Ok(())
    }

    /// Creates the Secret, or reads the one that another replica has created meanwhile. What is
    /// served, and the authorities that are trusted, stay in use.
    fn create(&self) -> Result<bool, CertificateError> {
        let now = (self.clock)();
        let authority = self.authority(now)?;
        // Other replicas may serve what another authority has signed.
        let known = self.state().trusted.clone();
        let trusted = merged(&[std::slice::from_ref(&authority.certificate), &known], now);
        let served = self.pair().filter(|pair| fault(pair, self.host(), &trusted, now).is_none());
        let pair = match served {
            Some(pair) => pair,
            None => Arc::new(authority.pair(&self.wanted.names, now)?),
        };
        let bundle = bundle(&trusted);
        let data = [("tls.crt", &*pair.certificate), ("tls.key", &*pair.key), ("ca.crt", &*bundle)];
        let wanted = secret(&self.wanted.namespace, &self.wanted.name, &data);
        match self.cluster.create(&wanted, MANAGER) {
            Ok(created) => {
                tracing::info!(secret = self.name(), "the Secret with the server's certificate is created");
                Ok(self.take(&created))
            }
            Err(e) if e.is_conflict() => {
                let found = self.get(&self.wanted.name)?;
                found.map(|found| self.take(&found)).ok_or_else(|| CertificateError::Conflicts(self.name()))
            }
            Err(cause) => Err(CertificateError::Cluster { name: self.name(), cause }),
        }
    }

    /// The authority; one that is missing, cannot be used or expires soon is replaced.
    fn authority(&self, now: SystemTime) -> Result<Authority, CertificateError> {
        let name = format!("{}-ca", self.wanted.name);
        let full = full(&self.wanted, &name);
        let soon = now.checked_add(RENEW).unwrap_or(now);
        for _ in 0..ATTEMPTS {
            let found = self.get(&name)?;
            if let Some(current) = &found {
                if !is_own(current) {
                    return Err(CertificateError::ForeignAuthority(full));
                }
                if let Some(authority) = Authority::read(&Content::of(current).pair, soon) {
                    return Ok(authority);
                }
            }
            let (authority, pem) = Authority::issue(now)?;
            let data = [("tls.crt", &*pem.certificate), ("tls.key", &*pem.key)];
            let written = match &found {
                Some(current) => self.cluster.replace(&with_data(current, &data), MANAGER),
                None => self.cluster.create(&secret(&self.wanted.namespace, &name, &data), MANAGER),
            };
            match written {
                Ok(_) => {
                    tracing::info!(secret = full, "a new certificate authority is created");
                    return Ok(authority);
                }
                // Another replica was faster.
                Err(e) if e.is_conflict() || e.is_not_found() => {}
                Err(cause) => return Err(CertificateError::Cluster { name: full, cause }),
            }
        }
        Err(CertificateError::Conflicts(full))
    }

    /// The authorities without which clients would refuse what this replica serves.
    fn needed(&self, now: SystemTime) -> Vec<Trusted> {
        let state = self.state();
        let Some(served) = &state.served else { return Vec::new() };
        let signs = |one: &&Trusted| fault(served, &[], std::slice::from_ref(*one), now).is_none();
        state.trusted.iter().filter(signs).cloned().collect()
    }

    /// Uses what a Secret holds, as far as it can be used. Whether that is something else than
    /// before.
    fn take(&self, secret: &Value) -> bool {
        let now = (self.clock)();
        let content = Content::of(secret);
        let fault_now = self.fault(&content, now);
        let needed = if content.is_own { self.needed(now) } else { Vec::new() };
        let mut state = self.state();
        let former_is_good =
            state.served.as_ref().is_some_and(|pair| fault(pair, self.host(), &[], now).is_none());
        let is_used = match &fault_now {
            None => true,
            Some(fault) => !fault.is_corrupt() && !former_is_good,
        };
        let mut has_changed = false;
        if is_used && state.served.as_deref() != Some(&content.pair) {
            state.served = Some(Arc::new(content.pair.clone()));
            has_changed = true;
        }
        if let Ok(trusted) = content.trusted()
            && (content.is_own || is_used)
        {
            let trusted = if content.is_own { merged(&[&trusted, &needed], now) } else { trusted };
            has_changed |= trusted != state.trusted;
            state.trusted = trusted;
        }
        state.is_own = content.is_own;
        state.problem = fault_now.map(|fault| self.named(&fault));
        has_changed
    }

    /// What is wrong with a Secret at a moment.
    fn fault(&self, content: &Content, now: SystemTime) -> Option<Fault> {
        let trusted = match content.trusted() {
            Ok(trusted) => trusted,
            // A pair that cannot be read matters more.
            Err(bundle) => return fault(&content.pair, self.host(), &[], now).or(Some(bundle)),
        };
        fault(&content.pair, self.host(), &trusted, now)
    }

    fn named(&self, fault: &Fault) -> String {
        format!("Secret {}: {fault}", self.name())
    }

    fn host(&self) -> &[String] {
        if self.wanted.host.is_empty() { &[] } else { std::slice::from_ref(&self.wanted.host) }
    }

    fn get(&self, name: &str) -> Result<Option<Value>, CertificateError> {
        let reference = secret(&self.wanted.namespace, name, &[]);
        let failed = |cause| CertificateError::Cluster { name: full(&self.wanted, name), cause };
        self.cluster.current(&reference).map_err(failed)
    }

    /// Replaces the Secret, if it is still the one that was read; whether it was.
    fn write(&self, object: &Value) -> Result<bool, CertificateError> {
        match self.cluster.replace(object, MANAGER) {
            Ok(written) => {
                self.take(&written);
                Ok(true)
            }
            // It has changed: the next step begins with what it is now.
            Err(e) if e.is_conflict() || e.is_not_found() => Ok(false),
            Err(cause) => Err(CertificateError::Cluster { name: self.name(), cause }),
        }
    }
}

fn full(wanted: &Wanted, name: &str) -> String {
    format!("{}/{name}", wanted.namespace)
}
