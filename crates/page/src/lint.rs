//! Findings, as `ephor lint --output-format json` lists them, and texts with fixes.

use serde_json::{Value as Json, json};

use ephor_inspect::annotations::{annotated, annotation};
use ephor_inspect::lint::{FixedFile, Roles, fix_all, lint_on};
use ephor_report::lint_formats;
use ephor_sources::files::SourceText;
use ephor_sources::kustomize::Patches;

use crate::evaluate::documents;
use crate::question::{FixLevel, Lint, QuestionError, release};

/// What is wrong with policies; with fixes, what of it is left, and the texts that have changed.
///
/// # Errors
/// The release is none, or a definition cannot be read.
pub fn answer(question: &Lint) -> Result<Json, QuestionError> {
    let mut sources = question.policies.sources("policies.yaml");
    let definitions = documents("definitions", &question.definitions)?;
    let kubernetes = release(&question.kubernetes)?.unwrap_or_default();
    let named = sources.iter().map(|source| source.name.clone()).collect();
    let roles = Roles { patches: Patches::around(&sources), named };
    let find = |sources: &[SourceText]| lint_on(kubernetes, sources, &definitions, &roles);
    let fixed = match question.fix {
        FixLevel::None => Vec::new(),
        level => fix_all(&sources, &|sources| find(sources).findings, level == FixLevel::Unsafe),
    };
    for file in &fixed {
        if let Some(source) = sources.iter_mut().find(|source| source.name == file.name) {
            source.text.clone_from(&file.after);
        }
    }
    let found = find(&sources);
    let object = |finding| lint_formats::object(&annotation(finding, &annotated(finding, &sources)));
    let findings: Vec<Json> = found.findings.iter().map(object).collect();
    let mut answer = json!({
        "findings": findings,
        "policies": found.policies,
        "partial": found.partial,
        "others": found.others,
    });
    if question.fix != FixLevel::None {
        answer["fixed"] = fixed.iter().map(of_fixed).collect();
    }
    Ok(answer)
}

fn of_fixed(file: &FixedFile) -> Json {
    let done = file.done.iter();
    let done: Vec<Json> =
        done.map(|fix| json!({"line": fix.line, "id": fix.id, "title": fix.title})).collect();
    json!({"name": file.name, "text": file.after, "done": done})
}
