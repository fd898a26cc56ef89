//! Findings, as `ephor lint --output-format json` lists them.

use serde_json::{Value as Json, json};

use ephor_inspect::annotations::{annotated, annotation};
use ephor_inspect::lint::{Roles, lint_on};
use ephor_report::lint_formats;
use ephor_sources::kustomize::Patches;

use crate::evaluate::documents;
use crate::question::{Lint, QuestionError, release};

/// What is wrong with policies.
///
/// # Errors
/// The release is none, or a definition cannot be read.
pub fn answer(question: &Lint) -> Result<Json, QuestionError> {
    let sources = question.policies.sources("policies.yaml");
    let definitions = documents("definitions", &question.definitions)?;
    let named = sources.iter().map(|source| source.name.clone()).collect();
    let roles = Roles { patches: Patches::around(&sources), named };
    let found = lint_on(release(&question.kubernetes)?.unwrap_or_default(), &sources, &definitions, &roles);
    let object = |finding| lint_formats::object(&annotation(finding, &annotated(finding, &sources)));
    let findings: Vec<Json> = found.findings.iter().map(object).collect();
    Ok(json!({
        "findings": findings,
        "policies": found.policies,
        "partial": found.partial,
        "others": found.others,
    }))
}
