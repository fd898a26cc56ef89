//! Suites on policies that were written as JSON and read back.
//!
//! In: lowered policies, just before they are evaluated. Out: the same; or, once [`start`] was
//! called, the policies read back from JSON. A policy that cannot be written, or differs when it is
//! read back, is skipped with a line, so that its cases fail.

use std::sync::atomic::{AtomicBool, Ordering};

use ephor_ir::json::{Bundle, JsonError};
use ephor_policies::load::Policies;

static IS_ON: AtomicBool = AtomicBool::new(false);

/// From now on, suites of this process evaluate what was read back.
pub fn start() {
    IS_ON.store(true, Ordering::Relaxed);
}

/// Policies and exceptions.
pub(super) fn bundle(bundle: Bundle) -> Bundle {
    if !IS_ON.load(Ordering::Relaxed) {
        return bundle;
    }
    read_back(&bundle).unwrap_or_else(|e| {
        println!("left out: {e}");
        Bundle::default()
    })
}

/// Why policies do not come back.
#[derive(Debug, thiserror::Error)]
enum ReadBackError {
    /// They cannot be written or read.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// They come back as others.
    #[error("read back it is another one: {0}")]
    Differs(String),
}

fn read_back(bundle: &Bundle) -> Result<Bundle, ReadBackError> {
    let text = bundle.write()?;
    let back = Bundle::read(&text)?;
    if back == *bundle { Ok(back) } else { Err(ReadBackError::Differs(text)) }
}

/// What was loaded.
pub(super) fn loaded(mut all: Policies) -> Policies {
    for policy in &mut all.policies {
        let policies = policy.policy.iter().cloned().collect();
        policy.policy = bundle(Bundle { policies, ..Bundle::default() }).policies.pop();
    }
    let Policies { exceptions, cel_exceptions, bindings, cleanups, .. } = all;
    let rest = bundle(Bundle { exceptions, cel_exceptions, bindings, cleanups, ..Bundle::default() });
    let Bundle { exceptions, cel_exceptions, bindings, cleanups, .. } = rest;
    Policies { exceptions, cel_exceptions, bindings, cleanups, ..all }
}
