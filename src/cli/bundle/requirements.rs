//! What a run requires of the bundles that it uses.
//!
//! In: `--bundle-key`, `ephor.yaml`, and `ephor.lock` in the folder of `ephor.yaml`, or in the
//! current one where there is none. Out: bundles that have the pinned digests and signatures by the
//! key, with a line for each that says which digest it is. They are fetched before a command reads
//! any policy, so a bundle that may not be used ends the run with its own error.

use std::path::PathBuf;
use std::sync::OnceLock;

use ephor_library::Selection;
use ephor_sources::builtin;
use ephor_sources::bundle::access::{self, BundleAccess};
use ephor_sources::bundle::key::BundleKey;
use ephor_sources::bundle::lock::NAME;
use ephor_sources::bundle::{BundleError, BundleLock};
use ephor_sources::files::is_bundle;

use crate::cli::arguments::{Global, given};
use crate::cli::config::file::{Config, ConfigError};
use crate::cli::{CommandError, console};

/// The configuration that a command names instead of `ephor.yaml`.
static CONFIG: OnceLock<String> = OnceLock::new();

/// Chooses what the flags of all commands require; files are read when there is a bundle.
pub(in crate::cli) fn configure(global: &Global) {
    let key = given(&global.bundle_key).map(String::from);
    access::configure(move || {
        let config = config().map_err(|error| BundleError::Requirements(error.into()))?;
        let named = key.clone().or_else(|| config.as_ref()?.text("bundleKey"));
        let key = named.map(|name| BundleKey::read(&name)).transpose()?;
        Ok(BundleAccess::new(key, BundleLock::read(&lock_file(config.as_ref()))?))
    });
}

/// Names the configuration that counts.
pub(in crate::cli) fn use_config(named: Option<&str>) {
    if let Some(name) = named {
        let _ = CONFIG.set(name.into());
    }
}

/// The configuration that counts, if there is one.
///
/// # Errors
/// It cannot be used.
pub(super) fn config() -> Result<Option<Config>, ConfigError> {
    Config::find(CONFIG.get().map(String::as_str))
}

/// Where pins are.
pub(super) fn lock_file(config: Option<&Config>) -> PathBuf {
    config.map_or_else(|| PathBuf::from(NAME), |config| PathBuf::from(config.sibling(NAME)))
}

/// Fetches the bundles among the arguments; checks names of the library.
///
/// # Errors
/// One of them may not be used, or means nothing.
pub(in crate::cli) fn fetch<S: AsRef<str>>(
    arguments: impl IntoIterator<Item = S>,
) -> Result<(), CommandError> {
    for argument in arguments {
        let argument = argument.as_ref();
        if builtin::means_library(argument) {
            Selection::parse(argument)?;
        }
        if !is_bundle(argument) {
            continue;
        }
        let bundle = access::fetch(argument)?;
        let access = access::current()?;
        let argument = &bundle.reference;
        match &bundle.pinned_by {
            Some(file) => {
                console::error(&format!("note: {argument} is {}, pinned by {file}\n", bundle.digest))
            }
            None if access.lock().pins().next().is_some() && bundle.reference.digest.is_none() => {
                console::warn(&format!(
                    "{argument} is {}, not pinned by {}: `ephor bundle lock {argument}` pins it",
                    bundle.digest,
                    access.lock().name()
                ));
            }
            None => {}
        }
    }
    Ok(())
}
