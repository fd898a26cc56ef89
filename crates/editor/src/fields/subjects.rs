//! The kinds of objects that a rule or policy is about.
//!
//! Kinds with wildcards, and those that no schema has, are left out: what is offered for the others
//! still helps.

use ephor_kubernetes::schema::TypeDef;
use ephor_kubernetes::{Kinds, Resource};
use ephor_value::place::{PathPart, follow};
use ephor_value::{Str, Value};

use super::def_of;
use crate::index::Index;

/// The kinds that the part of a policy at a path is about: those of its rule, of the constraints of
/// the policy, or of what its rule generates or changes.
pub fn kinds_of(index: &Index, document: &Value, path: &[PathPart]) -> Vec<[Str; 3]> {
    let rule = match path {
        [PathPart::Key(spec), PathPart::Key(rules), index, ..]
            if &**spec == "spec" && &**rules == "rules" =>
        {
            let part = [PathPart::Key(spec.clone()), PathPart::Key(rules.clone()), index.clone()];
            let (rule, followed) = follow(document, &part);
            (followed == part.len()).then_some(rule)
        }
        _ => document.get("spec"),
    };
    let Some(rule) = rule else { return Vec::new() };
    let mut out = of_names(index.kinds(), &texts_of_match(rule));
    for constraints in ["matchConstraints", "matchPolicy", "match"] {
        let rules = rule.at(&[constraints, "resourceRules"]).and_then(Value::as_list).unwrap_or_default();
        rules.iter().for_each(|rule| of_constraints(index.kinds(), rule, &mut out));
    }
    out.dedup();
    out
}

fn texts_of_match(rule: &Value) -> Vec<&str> {
    let block = rule.get("match");
    let lists = ["any", "all"].iter().filter_map(|list| block?.get(list)?.as_list()).flatten();
    let filters = lists.chain(block);
    let kinds = filters.filter_map(|filter| filter.at(&["resources", "kinds"])?.as_list());
    kinds.flatten().filter_map(Value::as_str).collect()
}

/// Kinds by entries of `kinds`: `Pod`, `apps/v1/Deployment`, `Pod/exec`.
fn of_names(kinds: &Kinds, names: &[&str]) -> Vec<[Str; 3]> {
    let mut out = Vec::new();
    for name in names {
        let parts: Vec<&str> = name.split('/').collect();
        let is_kind = |part: &&&str| part.starts_with(|c: char| c.is_uppercase());
        let Some(kind) = parts.iter().find(is_kind) else { continue };
        let is_of = |resource: &&Resource| match parts.as_slice() {
            [group, _, _] => *group == "*" || *resource.group == **group,
            _ => true,
        };
        out.extend(kinds.named(kind).filter(is_of).filter_map(|resource| resource.kind_of("")));
    }
    out
}

fn of_constraints(kinds: &Kinds, rule: &Value, out: &mut Vec<[Str; 3]>) {
    let list = |key: &str| rule.get(key).and_then(Value::as_list).unwrap_or_default();
    let has = |key: &str, text: &str| {
        list(key).iter().any(|v| matches!(v.as_str(), Some(t) if t == text || t == "*"))
    };
    for plural in list("resources").iter().filter_map(Value::as_str) {
        let found = kinds.plural(plural);
        let found = found.filter(|r| has("apiGroups", &r.group) && has("apiVersions", &r.version));
        out.extend(found.filter_map(|resource| resource.kind_of("")));
    }
}

/// The types of the objects that a body of a rule at a path is a part of.
pub(super) fn of_body<'i>(index: &'i Index, document: &Value, path: &[PathPart]) -> Vec<&'i TypeDef> {
    let is = |name: &str| matches!(path.last(), Some(PathPart::Key(key)) if &**key == name);
    let (body, _) = follow(document, path);
    if is("generate") {
        let (api_version, kind) = (body.text_at(&["apiVersion"]), body.text_at(&["kind"]));
        return def_of(index, api_version, kind).into_iter().collect();
    }
    let targets = body.get("targets").and_then(Value::as_list).unwrap_or_default();
    if is("mutate") && !targets.is_empty() {
        let of = |target: &Value| def_of(index, target.text_at(&["apiVersion"]), target.text_at(&["kind"]));
        return targets.iter().filter_map(of).collect();
    }
    let kinds = kinds_of(index, document, path);
    kinds.iter().filter_map(|kind| index.types().of_kind(kind).map(|def| &**def)).collect()
}

/// The names of all kinds, as entries of `kinds` have them.
pub fn names_of_kinds(index: &Index) -> Vec<String> {
    let mut names: Vec<String> = index.kinds().all().iter().map(|r| r.kind.to_string()).collect();
    names.sort();
    names.dedup();
    names
}
