//! ClusterPolicies as policies in CEL, each with its proof or the object on which both differ.

use serde_json::{Value as Json, json};

use ephor_kubernetes::{Kinds, Types};
use ephor_migrate::report::{self, MigrateRow, rows};
use ephor_migrate::{File, Limits, Options, TargetApi, exceptions, file};

use crate::evaluate::documents;
use crate::question::{Migrate, MigrationTarget, QuestionError, limit, release};

/// How long a proof may take, in milliseconds.
const PROOF: u64 = 20_000;

/// What takes the place of policies: the text of all files, and the report of
/// `ephor migrate --output-format json`.
///
/// # Errors
/// A text cannot be read, or there is no policy.
pub fn answer(question: &Migrate) -> Result<Json, QuestionError> {
    let kubernetes = release(&question.kubernetes)?;
    let definitions = documents("definitions", &question.definitions)?;
    let options = Options {
        to: match question.to {
            MigrationTarget::Vpol => TargetApi::Kyverno,
            MigrationTarget::Vap => TargetApi::Kubernetes,
        },
        kinds: Kinds::of_release_with(kubernetes.unwrap_or_default(), &definitions),
        types: Types::of_release_with(kubernetes.unwrap_or_default(), &definitions),
        replication_controllers: !question.without_replication_controllers,
        shadows: false,
        apart: false,
    };
    let time = Some(limit(question.milliseconds, PROOF));
    let limits = Limits { time, boundary: false, kubernetes, ..Limits::default() };
    let mut migrated = Vec::new();
    for source in question.policies.sources("policies.yaml") {
        let found = file(&source.name, &source.text, &options, limits);
        migrated.push(found.map_err(|cause| QuestionError::input("policies", cause))?);
    }
    exceptions(&mut migrated, &options, limits);
    if !migrated.iter().any(File::has_policies) {
        return Err(QuestionError::NoPolicy { side: "", causes: Vec::new() });
    }
    let with_policies = || migrated.iter().filter(|file| file.has_policies());
    let texts: Vec<String> = with_policies().map(File::migrated).collect();
    let rows: Vec<MigrateRow<'_>> = migrated.iter().flat_map(rows).collect();
    let mut report = report::json(&rows, &[]);
    // How long it took is not a part of the answer: the same question has the same answer.
    for policy in report.get_mut("policies").and_then(Json::as_array_mut).into_iter().flatten() {
        policy.as_object_mut().and_then(|row| row.remove("milliseconds"));
    }
    let mut answer = json!({"text": texts.join("---\n"), "report": report});
    if question.by_file {
        let files = with_policies().zip(&texts).map(|(file, text)| json!({"name": file.name, "text": text}));
        answer["files"] = files.collect();
    }
    Ok(answer)
}
