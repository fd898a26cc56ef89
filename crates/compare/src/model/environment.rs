//! Environments: of which kind an object is, and what is done with it.
//!
//! In: both sides. Out: the kinds that rules of one of them select, times the operations. A kind
//! that neither names is in none: no rule applies to it.

use ephor_ir::constraints::{ResourcePath, ResourceRule};
use ephor_ir::matcher::{KindPattern, Matcher};
use ephor_kubernetes::admitted::kind_of;
use ephor_kubernetes::kinds::guessed_plural;
use ephor_kubernetes::{Kinds, Resource};
use ephor_value::{Str, Value};

/// Of which kind an object is, and what is done with it.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The resource that the request is sent to.
    pub resource: Resource,
    /// The subresource; empty for the resource itself.
    pub subresource: Str,
    /// Group, version and kind of the object that is sent.
    pub object: [Str; 3],
    /// The operation.
    pub operation: &'static str,
}

impl Environment {
    /// That of new namespaces.
    pub(crate) fn of_namespaces() -> Option<Environment> {
        let all = Kinds::built_in().all();
        let resource = all.iter().find(|r| &*r.kind == "Namespace" && r.group.is_empty())?;
        of_resource(resource).into_iter().next()
    }

    /// That of an object; `None` when it has no kind.
    pub(crate) fn of_object(object: &Value, operation: &'static str) -> Option<Environment> {
        let [group, version, kind] = kind_of(object)?;
        let all = Kinds::built_in().all();
        let known = all.iter().find(|r| r.kind == kind && r.group == group && r.version == version);
        let resource = known.cloned().unwrap_or_else(|| unknown(group, version, kind));
        of_resource(&resource).into_iter().find(|environment| environment.operation == operation)
    }

    /// API version of the object that is sent, as objects write it.
    pub fn api_version(&self) -> String {
        let [group, version, _] = &self.object;
        match &**group {
            "" => version.to_string(),
            group => format!("{group}/{version}"),
        }
    }

    /// `Pod CREATE`, `Pod/exec CONNECT`
    pub fn name(&self) -> String {
        let slash = if self.subresource.is_empty() { "" } else { "/" };
        format!("{}{slash}{} {}", self.resource.kind, self.subresource, self.operation)
    }

    /// An object of its kind that has a name and nothing else.
    pub(crate) fn bare_object(&self) -> Value {
        Value::map([
            ("apiVersion", Value::from(&*self.api_version())),
            ("kind", Value::Str(self.object[2].clone())),
            ("metadata", Value::map([("name", Value::from("a"))])),
        ])
    }

    /// Whether the object is a new one.
    pub(crate) fn is_creation(&self) -> bool {
        self.operation == "CREATE"
    }

    /// Whether the object that is sent is one of the resource.
    pub(crate) fn is_of_resource(&self) -> bool {
        let resource = &self.resource;
        self.object == [resource.group.clone(), resource.version.clone(), resource.kind.clone()]
    }

    /// Whether a kind of a filter selects it.
    pub(crate) fn is_selected(&self, kind: &KindPattern) -> bool {
        let resource = &self.resource;
        // Ephemeral containers of a Pod count as the Pod.
        let is_pod = &*self.subresource == "ephemeralcontainers";
        kind.kind.matches(&resource.kind)
            && kind.group.matches(&resource.group)
            && kind.version.matches(&resource.version)
            && (kind.subresource.matches(&self.subresource) || is_pod)
    }

    /// Whether a path of constraints selects it.
    pub(crate) fn is_selected_path(&self, path: &ResourcePath) -> bool {
        path.resource.as_ref().is_none_or(|plural| *plural == self.resource.plural)
            && path.subresource.as_ref().is_none_or(|one| *one == self.subresource)
    }

    fn is_selected_by(&self, rule: &ResourceRule) -> bool {
        rule.groups.has(&self.resource.group)
            && rule.versions.has(&self.resource.version)
            && rule.resources.iter().any(|path| self.is_selected_path(path))
    }

    /// Whether the constraints of a rule cannot select it.
    pub(crate) fn is_foreign(&self, rule: &ephor_ir::Rule) -> bool {
        match &rule.when {
            Matcher::Constraints(constraints) => !constraints.equivalent && !self.is_about(rule),
            _ => false,
        }
    }

    /// Whether a rule with these matchers may select it.
    pub(crate) fn is_about(&self, rule: &ephor_ir::Rule) -> bool {
        let bound = rule.bound.as_ref().and_then(|bound| bound.constraints.as_ref());
        let by = |constraints: &ephor_ir::constraints::Constraints| {
            constraints.rules.iter().any(|rule| self.is_selected_by(rule))
        };
        let by_when = match &rule.when {
            Matcher::Constraints(constraints) => by(constraints),
            other => other.filters().iter().any(|f| f.kinds.iter().any(|kind| self.is_selected(kind))),
        };
        by_when || bound.is_some_and(by)
    }
}

/// The operations that are compared.
pub(crate) const OPERATIONS: [&str; 3] = ["CREATE", "UPDATE", "DELETE"];

/// The kind of custom resources that rules do not name.
pub(crate) const CUSTOM: &str = "Widget";

/// What is done with what is sent to a subresource.
pub(crate) fn operations_of(subresource: &str) -> &'static [&'static str] {
    match subresource {
        "" => &OPERATIONS,
        "exec" | "attach" | "portforward" | "proxy" => &["CONNECT"],
        "eviction" | "binding" | "token" => &["CREATE"],
        _ => &["UPDATE"],
    }
}

/// The environments of a resource: its own, and those of its subresources.
pub(crate) fn of_resource(resource: &Resource) -> Vec<Environment> {
    let own = [resource.group.clone(), resource.version.clone(), resource.kind.clone()];
    let mut subresources = vec![(Str::from(""), own)];
    subresources.extend(resource.subresources.iter().map(|s| (s.name.clone(), s.kind.clone())));
    let of = |(subresource, object): (Str, [Str; 3])| {
        operations_of(&subresource).iter().map(move |operation| Environment {
            resource: resource.clone(),
            subresource: subresource.clone(),
            object: object.clone(),
            operation,
        })
    };
    subresources.into_iter().flat_map(of).collect()
}

/// A resource of which only this is known.
pub(crate) fn unknown(group: Str, version: Str, kind: Str) -> Resource {
    let plural = guessed_plural(&kind).into();
    Resource { group, version, plural, kind, namespaced: true, subresources: Box::default() }
}
