//! The policies of a side, and the documents that belong to them.
//!
//! In: a file or folder. Out: [`Loaded`]: the policies that admit requests, and those that delete
//! objects, which are compared apart. An answer about a side is one about all of it: a document
//! that is or may be a policy and cannot be read is an error.

use ephor_document::{Document, Duplicates, parse_stream};
use ephor_ir::cel_exception::CelException;
use ephor_kubernetes::groups;
use ephor_migrate::denial_of_deletion;
use ephor_policies::load::{self, LoadedPolicy, Policies, Purpose};
use ephor_sources::files::{self, SourceText};
use ephor_value::release::Release;
use ephor_value::{Str, Value};

use crate::cli::CommandError;
use crate::cli::console::warn;
use crate::cli::policy_files;
use crate::cli::policy_files::{helps, why_unread};

/// What was read for a side.
#[derive(Debug)]
pub struct Loaded {
    /// The policies that requests are evaluated for.
    pub policies: Policies,
    /// The policies that delete objects, each lowered as one that denies what it deletes.
    pub deletions: Policies,
    /// The documents of exceptions.
    pub exceptions: Vec<String>,
    /// The documents of bindings.
    pub bindings: Vec<String>,
}

impl Loaded {
    /// The policies of a file or folder; those of Kubernetes as the API server of a release
    /// evaluates them.
    ///
    /// # Errors
    /// There is no such file, no policy in it, or a part that cannot be read.
    pub fn read(path: &str, kubernetes: Option<Release>) -> Result<Loaded, CommandError> {
        policy_files::exists(path)?;
        let read = files::policies_with_json(&[path]);
        let mut unread: Vec<String> = read.notices.iter().filter_map(why_unread).collect();
        let mut policies = load::argument_as(&read.sources, load::Reader::Scan, kubernetes);
        let known = |problem: &&load::Problem| !problem.foreign;
        unread.extend(policies.problems.iter().filter(known).map(ToString::to_string));
        if !unread.is_empty() {
            unread.extend(helps(&read.sources, &policies));
            return Err(CommandError::SideUnread { path: path.into(), causes: unread });
        }
        name_others(path, &policies);
        let deletions = deletions(&read.sources, &mut policies);
        if policies.policies.is_empty() && deletions.policies.is_empty() {
            return Err(CommandError::NoPolicyFound { arguments: path.into(), causes: contents(&policies) });
        }
        let of = |is_wanted: fn(&str) -> bool| documents(&read.sources, is_wanted);
        Ok(Loaded {
            exceptions: of(|kind| kind == "PolicyException"),
            bindings: of(|kind| kind.ends_with("AdmissionPolicyBinding")),
            policies,
            deletions,
        })
    }
}

/// Names the documents of a file that are no policies, where the file itself was given.
fn name_others(path: &str, policies: &Policies) {
    let own = policies.problems.iter().filter(|problem| *problem.source == *path);
    let lines: Vec<String> = own.map(|problem| problem.line.to_string()).collect();
    match &*lines {
        [] => {}
        [line] => warn(&format!("{path}:{line}: this document is no policy and has no effect")),
        lines => {
            let (count, lines) = (lines.len(), lines.join(", "));
            warn(&format!("{path}: {count} documents are no policies and have no effect (lines {lines})"));
        }
    }
}

/// What there is in place of policies.
fn contents(found: &Policies) -> Vec<String> {
    let exceptions = found.exceptions.len() + found.cel_exceptions.len();
    let counted = [
        (exceptions, "PolicyException", "compare exceptions together with the policies that they name"),
        (found.bindings.len(), "binding", "compare bindings together with their policies"),
        (found.problems.len(), "document of another kind", "it has no effect"),
    ];
    let text = |(count, what, help): (usize, &str, &str)| match count {
        0 => None,
        1 => Some(format!("1 {what}: {help}")),
        n if what.contains(' ') => Some(format!("{n} documents of other kinds: they have no effect")),
        n => Some(format!("{n} {what}s: {help}")),
    };
    counted.into_iter().filter_map(text).collect()
}

/// The policies that delete objects, which leave the others.
fn deletions(sources: &[SourceText], policies: &mut Policies) -> Policies {
    let is_deletion = |policy: &LoadedPolicy| policy.purpose() == Purpose::Deletion;
    let (own, others) = std::mem::take(&mut policies.policies).into_iter().partition(is_deletion);
    policies.policies = others;
    let own: Vec<LoadedPolicy> = own;
    let mut all: Vec<LoadedPolicy> = own.into_iter().map(as_denial).collect();
    // Cleanup policies are lowered without their documents.
    if !policies.cleanups.is_empty() {
        all.extend(sources.iter().flat_map(cleanups));
    }
    let exceptions = policies.cel_exceptions.iter().filter_map(sparing).collect();
    Policies { policies: all, cel_exceptions: exceptions, ..Policies::default() }
}

/// An exception from deletions as one from their denials: any that fits spares the object.
fn sparing(exception: &CelException) -> Option<CelException> {
    let of = |(name, kind): &(Str, Str)| {
        let kind = kind.strip_suffix("DeletingPolicy")?;
        Some((name.clone(), Str::from(format!("{kind}ValidatingPolicy"))))
    };
    let policies: Box<[(Str, Str)]> = exception.policies.iter().filter_map(of).collect();
    let is_one = !policies.is_empty();
    is_one.then(|| CelException {
        policies,
        images: Box::default(),
        values: Box::default(),
        passes: false,
        ..exception.clone()
    })
}

/// A policy that deletes objects, lowered as one that denies them.
fn as_denial(policy: LoadedPolicy) -> LoadedPolicy {
    match denial_of_deletion(&policy.document).and_then(|text| lowered(&policy.source, text)) {
        Some(denial) if policy.uncompiled.is_none() => LoadedPolicy {
            policy: denial.policy,
            refused: denial.refused,
            uncompiled: denial.uncompiled,
            ..policy
        },
        _ => policy,
    }
}

fn lowered(name: &str, text: String) -> Option<LoadedPolicy> {
    let source = SourceText { name: name.into(), text };
    load::argument_for(&[source], load::Reader::Scan).policies.into_iter().next()
}

/// The cleanup policies of a file.
fn cleanups(source: &SourceText) -> Vec<LoadedPolicy> {
    let of = |document: Document| -> Vec<LoadedPolicy> {
        let value = groups::read(&document.value).unwrap_or_else(|| document.value.clone());
        let is_cleanup = |value: &Value| value.text_at(&["kind"]).ends_with("CleanupPolicy");
        let objects = load::objects(&value).into_iter().filter(|(_, value)| is_cleanup(value));
        let one = |(prefix, value): (_, Value)| {
            let denial = lowered(&source.name, denial_of_deletion(&value)?)?;
            Some(LoadedPolicy {
                name: value.text_at(&["metadata", "name"]).into(),
                document: value,
                line: document.line,
                text: document.text.clone(),
                prefix,
                ..denial
            })
        };
        objects.filter_map(one).collect()
    };
    let documents = parse_stream(&source.name, &source.text, Duplicates::Error);
    documents.into_iter().flatten().flatten().flat_map(of).collect()
}

/// The texts of the documents of some kinds.
fn documents(sources: &[SourceText], is_wanted: fn(&str) -> bool) -> Vec<String> {
    let mut out = Vec::new();
    for source in sources {
        let Ok(documents) = parse_stream(&source.name, &source.text, Duplicates::Error) else { continue };
        let wanted = documents.into_iter().flatten();
        let wanted = wanted.filter(|document| is_wanted(document.value.text_at(&["kind"])));
        out.extend(wanted.map(|document| document.text.to_string()));
    }
    out
}
