//! Checks manifests against policies, as a build script or a step of a pipeline does.
//!
//! `cargo run --example check_manifests -- policies/ docs/sample/deployment.yaml`
//!
//! Exit code 1 when a rule fails.

use std::process::ExitCode;

use ephor::{Engine, PolicySet, Status};
use ephor_document::{ResourceOptions, resources};
use ephor_sources::files::{self, SourceText};

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(policies), Some(manifests)) = (arguments.next(), arguments.next()) else {
        return Err("usage: check_manifests POLICIES MANIFESTS".into());
    };
    let loaded = ephor_policies::load::argument(&files::policies(&[policies]).sources);
    for problem in &loaded.problems {
        eprintln!("{problem}");
    }
    let policies = loaded.policies.iter().filter_map(|p| p.policy.clone()).collect();
    let engine = Engine::new(PolicySet::new(policies, loaded.exceptions));
    let mut failed = 0;
    for SourceText { name, text } in files::resources(&[manifests]).sources {
        for document in resources(&name, &text, ResourceOptions::default())? {
            let outcome = engine.check_yaml(&document.text)?;
            for (policy, result) in outcome.results().filter(|(_, r)| r.status == Status::Fail) {
                println!("{name}:{}: {} {}: {}", document.line, policy.name, result.rule, result.message);
                failed += 1;
            }
        }
    }
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
