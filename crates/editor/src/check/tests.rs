//! Names in test files that no policy of the workspace has.

use std::collections::BTreeMap;

use ephor_value::Value;
use ephor_value::place::{Path, PathPart};
use ephor_value::suggest::did_you_mean;

use crate::diagnostic::{Diagnostic, Fix, Level};
use crate::entry::Role;
use crate::index::{FileState, Index};
use crate::places::value_span;
use crate::span::TextEdit;

/// Adds what is wrong with the expected results of a test.
pub(super) fn check(index: &Index, file: &FileState, out: &mut Vec<Diagnostic>) {
    let known = rules_of_policies(index);
    for part in file.latest.of_role(Role::Test) {
        let text = &part.text;
        let results = part.value.get("results").and_then(Value::as_list).unwrap_or_default();
        for (i, result) in results.iter().enumerate() {
            let policy = result.text_at(&["policy"]);
            let plain = policy.rsplit('/').next().unwrap_or(policy);
            let (field, written, names) = match known.get(plain) {
                _ if plain.is_empty() => continue,
                None => ("policy", policy, known.keys().copied().collect::<Vec<_>>()),
                Some(rules) => {
                    let rule = result.text_at(&["rule"]);
                    if rule.is_empty() || rules.contains(&rule) || rules.is_empty() {
                        continue;
                    }
                    ("rule", rule, rules.clone())
                }
            };
            let path: Path =
                [PathPart::Key("results".into()), PathPart::Index(i), PathPart::Key(field.into())].into();
            let Some(span) = value_span(text, &path).map(|span| span.moved(part.document.start)) else {
                continue;
            };
            let meant = did_you_mean(written, &names);
            let advice = meant.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
            let of = if field == "rule" { format!("policy `{policy}`") } else { "the workspace".into() };
            let message = format!("{of} has no {field} `{written}`{advice}");
            let mut found = Diagnostic::new(span, Level::Warning, "unknown-name", message);
            found.fixes = meant.into_iter().map(|name| rename(span, name)).collect();
            out.push(found);
        }
    }
}

fn rename(span: crate::span::Span, name: &str) -> Fix {
    let edits = vec![TextEdit { span, text: name.into() }];
    Fix { title: format!("write `{name}`"), edits, is_preferred: true }
}

/// The names of the rules by the names of the policies; policies whose rules have no names have
/// none.
fn rules_of_policies(index: &Index) -> BTreeMap<&str, Vec<&str>> {
    let mut out: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (.., part) in index.parts(Role::Policy) {
        let rules = part.value.at(&["spec", "rules"]).and_then(Value::as_list).unwrap_or_default();
        let names = rules.iter().map(|rule| rule.text_at(&["name"]));
        out.entry(part.name()).or_default().extend(names);
    }
    out
}
