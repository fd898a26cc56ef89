//! Which objects rules read besides those that they are applied on.
//!
//! In: policies. Out: what of the objects of a run has to be known before they are evaluated on
//! the first of them ([`Lookups`]). Semantics: `docs/reference/cli.md`, "apply": calls of the
//! Kubernetes API, global entries and targets of mutations are answered from the objects of the
//! run; ConfigMaps from values.

use ephor_ir::mutate::MutationTarget;
use ephor_ir::parts::RulePart;
use ephor_ir::rule::{BindingSource, Body};
use ephor_ir::template::Template;
use ephor_ir::{Policy, Rule};
use ephor_sources::offline::PathResource;
use ephor_value::{Str, Value};

/// The objects that policies look up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookups {
    /// Those of some kinds; of none where there is none.
    Kinds {
        /// What paths of the Kubernetes API name.
        resources: Vec<PathResource>,
        /// The kinds of objects that are changed.
        targets: Vec<Str>,
    },
    /// What they are is not known before.
    Any,
}

impl Lookups {
    /// Those of policies.
    pub fn of<'p>(policies: impl IntoIterator<Item = &'p Policy>) -> Lookups {
        let mut found = Lookups::Kinds { resources: Vec::new(), targets: Vec::new() };
        for rule in policies.into_iter().flat_map(Policy::all_rules) {
            found.add_targets(rule);
            found.add_calls(RulePart::Rule(rule));
        }
        found
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        matches!(self, Lookups::Kinds { resources, targets } if resources.is_empty() && targets.is_empty())
    }

    /// Whether an object may be one of them.
    pub fn may_have(&self, object: &Value) -> bool {
        match self {
            Lookups::Any => true,
            Lookups::Kinds { resources, targets } => {
                let kind = object.text_at(&["kind"]);
                targets.iter().any(|target| **target == *kind)
                    || resources.iter().any(|resource| resource.has(object))
            }
        }
    }

    /// Adds the objects that a rule changes instead of that of the request.
    fn add_targets(&mut self, rule: &Rule) {
        let Body::Mutate(mutation) = &rule.body else { return };
        if mutation.existing.is_some() {
            *self = Lookups::Any;
        }
        for target in mutation.targets.iter().flatten() {
            match (target_kind(target), &mut *self) {
                (_, Lookups::Any) => {}
                (Some(kind), Lookups::Kinds { targets, .. }) => targets.push(kind),
                (None, found) => *found = Lookups::Any,
            }
        }
    }

    /// Adds the objects that a part of a rule reads.
    fn add_calls(&mut self, part: RulePart<'_>) {
        let called = match &part {
            RulePart::BindingSource(BindingSource::ApiCall { raw, .. }) => Some(called(raw)),
            RulePart::BindingSource(BindingSource::Global { .. }) => Some(Called::Any),
            _ => None,
        };
        match (called, &mut *self) {
            (None | Some(Called::Service), _) | (_, Lookups::Any) => {}
            (Some(Called::Resource(resource)), Lookups::Kinds { resources, .. }) => resources.push(resource),
            (Some(Called::Any), found) => *found = Lookups::Any,
        }
        part.parts(&mut |below| self.add_calls(below));
    }
}

/// What an entry calls.
enum Called {
    /// Objects of a resource.
    Resource(PathResource),
    /// A service.
    Service,
    /// Something else.
    Any,
}

/// What an entry calls, as it is written.
fn called(entry: &Value) -> Called {
    let call = entry.get("apiCall").unwrap_or(entry);
    let path = call.text_at(&["urlPath"]);
    if path.is_empty() && call.get("service").is_some() {
        return Called::Service;
    }
    let is_read = matches!(call.text_at(&["method"]), "" | "GET") && call.get("data").is_none();
    match PathResource::of(&without_variables(path)) {
        Some(resource) if is_read && !resource.names().any(|name| name.contains(VARIABLE)) => {
            Called::Resource(resource)
        }
        _ => Called::Any,
    }
}

/// What stands in the place of a variable; no name has it.
const VARIABLE: char = '\u{fffd}';

/// A text whose variables are one character each.
fn without_variables(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    let mut depth = 0_usize;
    while let Some(first) = rest.chars().next() {
        let (step, is_sign) = match (rest.get(..2), depth) {
            (Some("{{"), 0) => {
                out.push(VARIABLE);
                depth = 1;
                (2, true)
            }
            (Some("{{"), _) => {
                depth += 1;
                (2, true)
            }
            (Some("}}"), 1..) => {
                depth -= 1;
                (2, true)
            }
            // A reference to another part of the policy.
            (Some("$("), 0) => {
                out.push(VARIABLE);
                (2, true)
            }
            _ => (first.len_utf8(), false),
        };
        if depth == 0 && !is_sign {
            out.push(first);
        }
        rest = rest.get(step..).unwrap_or_default();
    }
    out
}

/// The kind of the objects that a target names, if it is written there.
fn target_kind(target: &MutationTarget) -> Option<Str> {
    let kind = match &target.wanted {
        Template::Const(wanted) => wanted.get("kind").and_then(Value::as_str).map(Str::from),
        Template::Object(entries) => entries.iter().find_map(|(key, value)| match (key, value) {
            (Template::Const(key), Template::Const(value)) if key.as_str() == Some("kind") => {
                value.as_str().map(Str::from)
            }
            _ => None,
        }),
        _ => None,
    }?;
    // A kind with a subresource is that of the object.
    kind.split('/').next().map(Str::from)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn lookups(rule: &str) -> Lookups {
        let text = format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n{rule}"
        );
        let source = ephor_sources::files::SourceText { name: "p.yaml".into(), text };
        let loaded = crate::load::argument_as(&[source], crate::load::Reader::Command, None);
        assert!(loaded.problems.is_empty(), "{rule}{:?}", loaded.problems);
        let policy = loaded.policies.first().and_then(|p| p.policy.clone());
        Lookups::of([&*policy.unwrap()])
    }

    const VALIDATE: &str = "    validate: {message: m, pattern: {metadata: {name: '?*'}}}\n";

    fn object(api_version: &str, kind: &str) -> Value {
        Value::map([("apiVersion", Value::from(api_version)), ("kind", Value::from(kind))])
    }

    fn call(entry: &str) -> Lookups {
        lookups(&format!("    context: [{{name: entry, {entry}}}]\n{VALIDATE}"))
    }

    #[test]
    fn paths_of_the_api_and_targets_name_the_objects_that_are_looked_up() {
        let has = |found: &Lookups| {
            [("v1", "Service"), ("v1", "Pod"), ("apps/v1", "Deployment"), ("v1", "ConfigMap")]
                .map(|(api_version, kind)| found.may_have(&object(api_version, kind)))
        };
        for path in [
            "/api/v1/services",
            "/api/v1/namespaces/{{ request.namespace }}/services/{{request.object.spec.x || 'y/z'}}",
            "/api/v1/namespaces/{{ request.namespace }}/services?labelSelector=a%3D{{ request.name }}",
        ] {
            let found = call(&format!("apiCall: {{urlPath: \"{path}\"}}"));
            assert_eq!(has(&found), [true, false, false, false], "{path}");
        }
        let found = call("apiCall: {urlPath: /apis/apps/v1/deployments}");
        assert_eq!(has(&found), [false, false, true, false]);
        let found = lookups(
            "    mutate: {targets: [{apiVersion: v1, kind: ConfigMap, name: '{{ request.object.metadata.name }}', namespace: web}], patchStrategicMerge: {metadata: {labels: {a: b}}}}\n",
        );
        assert_eq!(has(&found), [false, false, false, true]);
        let found = lookups(
            "    validate:\n      message: m\n      foreach:\n      - list: request.object.spec.containers\n        context: [{name: entry, apiCall: {urlPath: /api/v1/pods}}]\n        deny: {conditions: {any: [{key: '{{ entry }}', operator: Equals, value: 1}]}}\n",
        );
        assert_eq!(has(&found), [false, true, false, false]);
    }

    #[test]
    fn a_variable_with_variables_in_it_is_one() {
        for (text, expected) in [
            ("/a/{{ b.\"{{ c/d }}\"/e }}/f", "/a/\u{fffd}/f"),
            ("{{ a }}{{ b }}/c", "\u{fffd}\u{fffd}/c"),
            ("/a/{{ b", "/a/\u{fffd}"),
            ("/a }}/b", "/a }}/b"),
        ] {
            assert_eq!(without_variables(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_written_may_be_anything() {
        for entry in [
            "apiCall: {urlPath: '/api/v1/{{ request.object.spec.kind }}'}",
            "apiCall: {urlPath: '/apis/{{ request.object.spec.group }}/v1/things'}",
            "apiCall: {urlPath: '{{ request.object.spec.path }}'}",
            "apiCall: {urlPath: /apis/authorization.k8s.io/v1/subjectaccessreviews, method: POST, data: [{key: a, value: b}]}",
            "globalReference: {name: entry}",
        ] {
            assert_eq!(call(entry), Lookups::Any, "{entry}");
        }
        let kind = "    mutate: {targets: [{apiVersion: v1, kind: '{{ request.object.kind }}', name: c, namespace: web}], patchStrategicMerge: {metadata: {labels: {a: b}}}}\n";
        assert_eq!(lookups(kind), Lookups::Any);
    }

    #[test]
    fn a_rule_about_its_own_object_looks_up_nothing() {
        assert!(lookups(VALIDATE).is_empty());
        for entry in [
            "variable: {value: '{{ request.object.metadata.name }}'}",
            "configMap: {name: c, namespace: web}",
            "apiCall: {service: {url: 'https://example.com/x'}}",
        ] {
            assert!(call(entry).is_empty(), "{entry}");
        }
    }
}
