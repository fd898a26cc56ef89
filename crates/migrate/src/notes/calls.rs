//! Notes about calls.
//!
//! In: a rule. Out: a note for each call of the API whose path names the group and version of
//! objects by one variable, and for each call of a service to which Kyverno sends the token of its
//! service account, because no header has credentials: expressions of CEL send none. Semantics:
//! `docs/semantics/variables.md`, "apiCall".

use std::sync::Arc;

use ephor_ir::Rule;
use ephor_ir::check::{Check, ForEach};
use ephor_ir::rule::{Binding, BindingSource, Body};
use ephor_value::Value;

use crate::model::migrated::Note;
use crate::model::original::Original;

/// What a note says.
const TEXT: &str = "the old rule sends the token of Kyverno's service account to the service, the new policy sends none: a service that needs one needs a header `Authorization`";

/// What a note says of a path with an `apiVersion`.
const GROUPS: &str = "an `apiVersion` without a group (`v1`) names kinds of the core in the new policy, and the call of the old one fails";

/// The notes of a rule.
pub fn notes(rule: &Rule, original: &Original) -> Vec<Note> {
    let mut found: Vec<&Binding> = rule.bindings.iter().map(Arc::as_ref).collect();
    if let Body::Validate { check: Check::ForEach(loops), .. } = &rule.body {
        of_loops(loops, &mut found);
    }
    let note = |one: &&Binding| {
        let text = match &one.source {
            source if sends_token(source) => TEXT,
            source if has_variable_group(source) => GROUPS,
            _ => return None,
        };
        Some(Note { place: original.place(&one.origin.path), text: text.into() })
    };
    found.iter().filter_map(note).collect()
}

fn of_loops<'r>(loops: &'r [ForEach], out: &mut Vec<&'r Binding>) {
    for one in loops {
        out.extend(one.bindings.iter().map(Arc::as_ref));
        if let Check::ForEach(inner) = &one.check {
            of_loops(inner, out);
        }
    }
}

/// Whether a source is a service to which no credentials are sent otherwise.
fn sends_token(source: &BindingSource) -> bool {
    let BindingSource::ApiCall { raw, .. } = source else { return false };
    let headers = raw.at(&["service", "headers"]).and_then(Value::as_list).unwrap_or_default();
    let is_authorization = |header: &Value| header.text_at(&["key"]).eq_ignore_ascii_case("authorization");
    raw.get("service").is_some_and(|service| !service.is_null()) && !headers.iter().any(is_authorization)
}

/// Whether the path of a call has one variable in place of group and version.
fn has_variable_group(source: &BindingSource) -> bool {
    let BindingSource::ApiCall { raw, .. } = source else { return false };
    let rest = raw.text_at(&["urlPath"]).strip_prefix("/apis/").filter(|rest| rest.starts_with("{{"));
    rest.and_then(|rest| rest.split_once("}}")).is_some_and(|(_, rest)| rest.starts_with("/namespaces/"))
}
