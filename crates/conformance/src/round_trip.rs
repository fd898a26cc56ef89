//! Suites on policies that were written as JSON and read back.
//!
//! In: lowered policies, just before they are evaluated. Out: the same; or, once [`start`] was called, the policies read back from JSON. A
//! policy that cannot be written, or differs when it is read back, is skipped with a line, so that its cases fail.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::ir::json::Bundle;
use crate::load::Policies;

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

fn read_back(bundle: &Bundle) -> Result<Bundle, String> {
    let text = bundle.write().map_err(|e| e.to_string())?;
    let back = Bundle::read(&text).map_err(|e| e.to_string())?;
    if back == *bundle { Ok(back) } else { Err(format!("read back it is another one: {text}")) }
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
