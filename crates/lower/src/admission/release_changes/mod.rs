//! What of a policy means something else on another release of Kubernetes.
//!
//! In: a `ValidatingAdmissionPolicy` or `MutatingAdmissionPolicy` with its defaults, definitions of
//! custom resources, and two releases. Out: each part of an expression that may give another value
//! there, with its place and what differs. A policy without such a part, which both releases take
//! and lower alike, means the same on both, costs and the words of errors aside. Semantics:
//! `docs/semantics/kubernetes-releases.md`, "The same on two releases".
//!
//! - `seen`: what expressions see at a place
//! - `walk`: expressions, part by part

mod seen;
mod walk;

use std::collections::{BTreeMap, HashMap};

use ephor_cel::check::Typed;
use ephor_cel::library::Admission as Choice;
use ephor_cel::spans::Spans;
use ephor_functions::CelLevel;
use ephor_kubernetes::release::ServerRules;
use ephor_kubernetes::{Kinds, Types};
use ephor_value::release::Release;
use ephor_value::{Str, Value};

use super::super::compiler::Compiler;
use super::{list, param_kind};
use seen::{REQUEST, Seen, changed_field};
use walk::{Releases, Walk};

/// A part of a policy that means something else on another release.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReleaseChange {
    /// The path of the expression in the policy.
    pub field: String,
    /// The byte of the expression at which the part stands.
    pub at: usize,
    /// The part.
    pub part: String,
    /// What differs.
    pub text: String,
    /// The kinds of objects for which it does, as `apps/v1, Kind=Deployment`; none = whatever the
    /// object is.
    pub kinds: Vec<String>,
}

impl std::fmt::Display for ReleaseChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: `{}` {}", self.field, self.part, self.text)?;
        match &self.kinds[..] {
            [] => Ok(()),
            kinds => write!(f, " ({})", kinds.join("; ")),
        }
    }
}

/// What of a policy means something else on one of two releases than on the other.
pub fn release_changes(policy: &Value, definitions: &[Value], releases: [Release; 2]) -> Vec<ReleaseChange> {
    let of = match releases {
        [a, b] if a > b => [b, a],
        same => same,
    };
    let shows_types = of.map(|release| ServerRules::of(release).has_typed_views) == [false, true];
    let releases = Releases {
        of,
        types: of.map(|release| &**Types::of_release(release)),
        level: of.map(|release| CelLevel::of_server(release).rules()),
        shows_types,
    };
    changes_of(policy, definitions, releases)
}

/// What of a policy gives another value where objects are seen with their types, as a release does,
/// than where they are trees; nothing for releases that show trees.
pub fn typed_parts(policy: &Value, definitions: &[Value], release: Release) -> Vec<ReleaseChange> {
    if !ServerRules::of(release).has_typed_views {
        return Vec::new();
    }
    let level = CelLevel::of_server(release).rules();
    let types: &'static Types = Types::of_release(release);
    let of = Releases { of: [release; 2], types: [types; 2], level: [level; 2], shows_types: true };
    changes_of(policy, definitions, of)
}

fn changes_of(policy: &Value, definitions: &[Value], releases: Releases) -> Vec<ReleaseChange> {
    let spec = policy.get("spec").cloned().unwrap_or_default();
    let mutates = policy.text_at(&["kind"]) == "MutatingAdmissionPolicy";
    let params = spec.get("paramKind").filter(|v| !v.is_null()).map(param_kind);
    let choice = Choice {
        params: params.is_some(),
        authorizer: true,
        mutation: mutates,
        backticks: true,
        is_new: false,
        level: CelLevel::of_server(releases.of[1]),
    };
    let known = Kinds::of_release_with(releases.of[1], definitions);
    let rules = spec.at(&["matchConstraints", "resourceRules"]).and_then(Value::as_list).unwrap_or_default();
    let (kinds, is_open) = about(rules, &known);
    let mut found: BTreeMap<(String, usize, String, String), Vec<String>> = BTreeMap::new();
    let roots = kinds.iter().map(|kind| {
        let def = releases.types[1].of_object(kind);
        let seen = match def {
            // A custom resource.
            None => Seen::Tree,
            Some(def) => Seen::of_def(def),
        };
        (Some(kind), seen)
    });
    let open = is_open.then_some((None, Seen::Unknown));
    let namespace = releases.types[1].named("core/v1.Namespace").map_or(Seen::Unknown, Seen::of_def);
    let of_params = params.as_ref().map(|kind| match releases.types[1].of_object(kind) {
        Some(def) => Seen::of_def(def),
        None => Seen::Tree,
    });
    for (kind, object) in roots.chain(open) {
        let names = vec![
            (Str::from("object"), object.clone()),
            ("oldObject".into(), object),
            ("request".into(), Seen::Known(REQUEST)),
            ("namespaceObject".into(), namespace.clone()),
            ("params".into(), of_params.clone().unwrap_or(Seen::Never)),
            ("authorizer".into(), Seen::Tree),
            ("authorizer.requestResource".into(), Seen::Tree),
        ];
        // What a mutation writes is not followed: any field that differs may be written or removed.
        let written = kind.filter(|_| mutates).and_then(|kind| releases.types[1].of_object(kind));
        if let Some(field) = written
            .and_then(|def| changed_field(def, releases.types[1], &|of, name| releases.changed(of, name)))
        {
            let [old, new] = releases.of;
            let text = format!("writes objects with `{field}`, which {old} and {new} treat differently");
            let change = ("spec.mutations".to_string(), 0, "mutations".to_string(), text);
            let kinds = found.entry(change).or_default();
            kinds.extend(kind.map(|[group, version, kind]| format!("{group}/{version}, Kind={kind}")));
        }
        for change in of_kind(&spec, (choice, names), releases) {
            let kinds = found.entry(change).or_default();
            kinds.extend(kind.map(|[group, version, kind]| format!("{group}/{version}, Kind={kind}")));
        }
    }
    let all = kinds.len() + usize::from(is_open);
    let change = |((field, at, part, text), kinds): ((String, usize, String, String), Vec<String>)| {
        ReleaseChange { field, at, part, text, kinds: if kinds.len() == all { Vec::new() } else { kinds } }
    };
    found.into_iter().map(change).collect()
}

/// The kinds of the objects that rules select, and whether they may select others.
fn about(rules: &[Value], known: &Kinds) -> (Vec<[Str; 3]>, bool) {
    let (mut found, mut is_open) = (Vec::new(), rules.is_empty());
    for rule in rules {
        let texts =
            |key: &str| list(rule, key).iter().filter_map(Value::as_str).map(Str::from).collect::<Vec<_>>();
        let (groups, versions) = (texts("apiGroups"), texts("apiVersions"));
        is_open |= groups.iter().chain(&versions).any(|text| text.contains('*'));
        for resource in texts("resources") {
            let (plural, subresource) = match resource.split_once('/') {
                Some((plural, subresource)) => (plural, subresource),
                None => (&*resource, ""),
            };
            is_open |= resource.contains('*');
            for group in &groups {
                for version in &versions {
                    let fits = known.plural(plural).filter(|r| r.group == *group && r.version == *version);
                    let mut is_known = false;
                    for resource in fits {
                        is_known = true;
                        let sent = resource.subresources.iter().find(|sent| *sent.name == *subresource);
                        let own = [resource.group.clone(), resource.version.clone(), resource.kind.clone()];
                        match (subresource.is_empty(), sent) {
                            (true, _) => found.push(own),
                            (false, Some(sent)) => found.push(sent.kind.clone()),
                            (false, None) => is_open = true,
                        }
                    }
                    // A custom resource.
                    if !is_known && !group.contains('*') && !version.contains('*') && !plural.contains('*') {
                        found.push([group.clone(), version.clone(), plural.into()]);
                    }
                }
            }
        }
    }
    found.sort();
    found.dedup();
    (found, is_open)
}

/// What differs for objects of one kind: path, byte, part and text.
fn of_kind(
    spec: &Value,
    (choice, names): (Choice, Vec<(Str, Seen)>),
    releases: Releases,
) -> Vec<(String, usize, String, String)> {
    let mut compiler = Compiler::new(choice).at(choice.level);
    let mut of_variables = Compiler::new(Choice { mutation: false, ..choice }).at(choice.level);
    let mut variables: HashMap<Str, (Seen, bool)> = HashMap::new();
    let mut found = Vec::new();
    let mut walk =
        |compiler: &Compiler, variables: &HashMap<Str, (Seen, bool)>, field: String, source: &str| {
            // What does not compile is the same error in both, or refused.
            let typed: Typed = compiler.typed(source)?;
            let mut walk = Walk { releases, names: names.clone(), variables, found: Vec::new() };
            let seen = walk.seen(&typed);
            let spans = Spans::of(source);
            found.extend(walk.found.into_iter().map(|one| {
                (field.clone(), one.part.at as usize, spans.text(&one.part).to_string(), one.text)
            }));
            Some((seen, typed.ty.as_optional().is_some()))
        };
    for (i, variable) in list(spec, "variables").iter().enumerate() {
        let (name, text) = (variable.text_at(&["name"]), variable.text_at(&["expression"]));
        let seen = walk(&of_variables, &variables, format!("spec.variables[{i}].expression"), text);
        variables.insert(name.into(), seen.unwrap_or((Seen::Unknown, false)));
        _ = of_variables.variable_expression(name, text);
        compiler.share(&of_variables);
    }
    let parts: [(&str, &[&[&str]]); 4] = [
        ("matchConditions", &[&["expression"]]),
        ("validations", &[&["expression"], &["messageExpression"]]),
        ("auditAnnotations", &[&["valueExpression"]]),
        ("mutations", &[&["jsonPatch", "expression"], &["applyConfiguration", "expression"]]),
    ];
    for (key, paths) in parts {
        for (i, part) in list(spec, key).iter().enumerate() {
            for path in paths {
                let source = part.text_at(path);
                if !source.is_empty() {
                    walk(&compiler, &variables, format!("spec.{key}[{i}].{}", path.join(".")), source);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
