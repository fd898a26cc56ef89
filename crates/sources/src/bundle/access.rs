//! Fetching bundles with what a run requires of them.
//!
//! In: references, pins and a key. Out: [`Bundle`]s, each fetched once in a run, so that all of it
//! sees one state of a tag. A pinned tag means its digest; with a key, a bundle without its
//! signature is refused before a layer is fetched. What a program requires is chosen once
//! ([`configure`]) and read when the first bundle is needed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ephor_external::registry::{Manifest, Registry};

use super::error::BundleError;
use super::fetched::Bundle;
use super::key::BundleKey;
use super::lock::BundleLock;
use super::reference::BundleReference;
use crate::registry::client::RegistryClient;

/// Bundles by what is required of them.
pub struct BundleAccess {
    registry: RegistryClient,
    key: Option<BundleKey>,
    lock: BundleLock,
    fetched: Mutex<HashMap<String, Arc<Bundle>>>,
}

/// How the requirements of a program are read.
type Requirements = Box<dyn Fn() -> Result<BundleAccess, BundleError> + Send + Sync>;

static REQUIREMENTS: OnceLock<Requirements> = OnceLock::new();
static CURRENT: Mutex<Option<Arc<BundleAccess>>> = Mutex::new(None);

/// Chooses what the program requires of bundles; only the first choice counts. It is read when the
/// first bundle is fetched.
pub fn configure(requirements: impl Fn() -> Result<BundleAccess, BundleError> + Send + Sync + 'static) {
    let _ = REQUIREMENTS.set(Box::new(requirements));
}

/// The bundles of the program.
///
/// # Errors
/// What it requires of them cannot be read.
pub fn current() -> Result<Arc<BundleAccess>, BundleError> {
    let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(access) = &*current {
        return Ok(access.clone());
    }
    let access = match REQUIREMENTS.get() {
        Some(read) => read()?,
        None => BundleAccess::new(None, BundleLock::default()),
    };
    Ok(current.insert(Arc::new(access)).clone())
}

/// Fetches the bundle of an argument with what the program requires. An argument may name one of
/// its files behind `#`, as messages do.
///
/// # Errors
/// There is none that may be used, or no such file in it.
pub fn fetch(argument: &str) -> Result<Arc<Bundle>, BundleError> {
    let reference = argument.split_once('#').map_or(argument, |(reference, _)| reference);
    let bundle = current()?.fetch(&BundleReference::parse(reference)?)?;
    let has_files = bundle.files_of(argument).next().is_some();
    if has_files { Ok(bundle) } else { Err(BundleError::NoFile { argument: argument.into() }) }
}

impl BundleAccess {
    /// Bundles that are signed by a key, if there is one, and have the digests that are pinned.
    pub fn new(key: Option<BundleKey>, lock: BundleLock) -> BundleAccess {
        BundleAccess { registry: RegistryClient::default(), key, lock, fetched: Mutex::default() }
    }

    /// The pins.
    pub fn lock(&self) -> &BundleLock {
        &self.lock
    }

    /// Fetches a bundle as a whole, once.
    ///
    /// # Errors
    /// There is none that may be used.
    pub fn fetch(&self, reference: &BundleReference) -> Result<Arc<Bundle>, BundleError> {
        let name = reference.to_string();
        let fetched = || self.fetched.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bundle) = fetched().get(&name) {
            return Ok(bundle.clone());
        }
        let pinned = self.lock.digest(reference);
        let by = reference.digest.as_deref().or(pinned).or(reference.tag.as_deref()).unwrap_or_default();
        let mut bundle = self.read(reference, by)?;
        bundle.pinned_by = pinned.map(|_| self.lock.name().to_owned());
        let bundle = Arc::new(bundle);
        fetched().insert(name, bundle.clone());
        Ok(bundle)
    }

    /// The digest that a tag means now, whatever is pinned; with a key, one whose signature counts.
    ///
    /// # Errors
    /// There is no such tag, or no signature.
    pub fn resolve(&self, reference: &BundleReference) -> Result<String, BundleError> {
        let by = reference.digest.as_deref().or(reference.tag.as_deref()).unwrap_or_default();
        self.read(reference, by).map(|bundle| bundle.digest)
    }

    fn read(&self, reference: &BundleReference, by: &str) -> Result<Bundle, BundleError> {
        let failed = |cause| BundleError::Registry { reference: reference.to_string(), cause };
        let manifest = self.registry.manifest(&reference.at, by).map_err(failed)?;
        self.verify(reference, &manifest)?;
        let blob = |digest: &str, most: u64| self.registry.blob(&reference.at, digest, most);
        let mut bundle = Bundle::read(reference, &manifest, &blob)?;
        bundle.signed_by = self.key.as_ref().map(|key| key.name().to_owned());
        Ok(bundle)
    }

    fn verify(&self, reference: &BundleReference, manifest: &Manifest) -> Result<(), BundleError> {
        let Some(key) = &self.key else { return Ok(()) };
        key.verify(&self.registry, &reference.at, manifest).map_err(|why| BundleError::Unsigned {
            reference: reference.to_string(),
            digest: manifest.digest.clone(),
            key: key.name().to_owned(),
            why,
        })
    }
}
