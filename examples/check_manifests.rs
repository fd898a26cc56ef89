//! Checks manifests against policies, as a build script or a step of a pipeline does.
//!
//! `cargo run --example check_manifests -- policies/ docs/sample/deployment.yaml`
//!
//! Exit code 1 when a rule that is enforced fails.

use std::process::ExitCode;

use ephor::{Engine, PolicySet, Request};

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(policies), Some(manifests)) = (arguments.next(), arguments.next()) else {
        return Err("usage: check_manifests POLICIES MANIFESTS".into());
    };
    let engine = Engine::new(PolicySet::from_path(policies)?);
    let mut is_denied = false;
    for request in Request::all_of(&manifests, &std::fs::read_to_string(&manifests)?)? {
        let line = request.place().map_or(1, |(_, line)| line);
        let outcome = engine.check(request)?;
        for found in outcome.violations() {
            let line = found.field.as_ref().and_then(|field| field.line).unwrap_or(line);
            println!("{manifests}:{line}: {} {}: {}", found.policy, found.rule, found.message);
        }
        is_denied |= outcome.is_denied();
    }
    Ok(if is_denied { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
