//! Commands that are offered above policies and tests.

use std::sync::Arc;

use ephor_api::schema::deprecation;

use crate::entry::{Part, Role};
use crate::index::Index;
use crate::places::value_span;
use crate::samples::{names_policy, objects_for};
use crate::span::Span;

/// What a command does, with what it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LensCommand {
    /// Runs the tests of a file.
    Test {
        /// The test file.
        file: Arc<str>,
    },
    /// Explains what a policy decides about an object.
    Explain {
        /// The file of the policy.
        file: Arc<str>,
        /// Its name.
        policy: String,
        /// The file of the object.
        object_file: Arc<str>,
        /// `KIND/NAME` of the object.
        object: String,
    },
    /// Shows the policy in CEL, with what its proof says.
    Migrate {
        /// The file of the policy.
        file: Arc<str>,
        /// Its name.
        policy: String,
    },
    /// Compares a policy with the one that takes its place.
    Compare {
        /// The file of the policy.
        file: Arc<str>,
        /// The file of its replacement.
        other: Arc<str>,
        /// The name of both.
        policy: String,
    },
}

/// A command at a place of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lens {
    /// The place.
    pub span: Span,
    /// What the user reads.
    pub title: String,
    /// What it does.
    pub command: LensCommand,
}

/// Objects for which an explanation is offered.
const MAX_OBJECTS: usize = 2;

/// Tests that are offered for a policy.
const MAX_TESTS: usize = 3;

/// The lenses of a file.
pub fn lenses(index: &Index, name: &str) -> Vec<Lens> {
    let Some((name, file)) = index.named(name) else { return Vec::new() };
    let mut out = Vec::new();
    for part in &file.latest.parts {
        let kind: ephor_value::place::Path =
            part.prefix.iter().cloned().chain([ephor_value::place::PathPart::Key("kind".into())]).collect();
        let Some(span) = value_span(&part.text, &kind).map(|span| span.moved(part.document.start)) else {
            continue;
        };
        match part.role {
            Role::Test => out.push(Lens {
                span,
                title: "run test".into(),
                command: LensCommand::Test { file: name.clone() },
            }),
            Role::Policy if part.is_policy() => of_policy(index, name, part, span, &mut out),
            _ => {}
        }
    }
    out
}

fn of_policy(index: &Index, file: &Arc<str>, part: &Part, span: Span, out: &mut Vec<Lens>) {
    let policy = part.name().to_string();
    let mut add = |title: String, command: LensCommand| out.push(Lens { span, title, command });
    let tests = index.parts(Role::Test).filter(|(.., test)| names_policy(test, &policy));
    for (test, ..) in tests.take(MAX_TESTS) {
        let folder = std::path::Path::new(&**test).parent().and_then(|folder| folder.file_name());
        let folder = folder.map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default();
        add(format!("run test {folder}"), LensCommand::Test { file: test.clone() });
    }
    for (object_file, object) in objects_for(index, file, part).into_iter().take(MAX_OBJECTS) {
        let object = format!("{}/{}", object.kind(), object.name());
        let title = format!("explain on {object}");
        let (policy, object_file) = (policy.clone(), object_file.clone());
        add(title, LensCommand::Explain { file: file.clone(), policy, object_file, object });
    }
    let (api_version, kind) = (part.value.text_at(&["apiVersion"]), part.kind());
    if !api_version.starts_with("kyverno.io/") {
        return;
    }
    add("migrate to CEL".into(), LensCommand::Migrate { file: file.clone(), policy: policy.clone() });
    let is_current = |other: &Part| {
        let is_deprecated = other.value.text_at(&["apiVersion"]).starts_with("kyverno.io/");
        other.name() == policy && other.is_policy() && !is_deprecated
    };
    let replacement = index.parts(Role::Policy).find(|(.., other)| is_current(other));
    if let Some((other, ..)) = replacement.filter(|_| deprecation(api_version, kind).is_some()) {
        let command = LensCommand::Compare { file: file.clone(), other: other.clone(), policy };
        add("compare with its replacement".into(), command);
    }
}
