//! What rules write into objects, where that is known before there is one.
//!
//! In: a rule that changes the object of a request, the type of its kind. Out: [`Writes`]: the
//! places that the rule may write, remove or create, with the constants that it writes there, and
//! the conditions that decide which of them it does write. Or why this is not known: a value is
//! copied or computed, or items of a list are changed in a way that is not followed.
//!
//! - `clones`: objects that exist, of which rules generate copies
//! - `copies`: values that are copied: of the object, or of the item of a loop
//! - `documents`: what documents write: overlays, which are merged, and the constant operations of
//!   a JSON patch
//! - `entries`: entries of maps under keys that are put together, one for each container
//! - `expressions`: what expressions write: `Object` literals, which are merged, and lists of
//!   `JSONPatch` literals
//! - `functions`: values that a function makes of a value of the object: matches of a regular
//!   expression, or a part of a text, that become another text
//! - `generated`: what rules generate
//! - `images`: texts with parts of the name of a container's image
//! - `item_conditions`: conditions about one item of a list
//! - `joins`: texts that join a value of each item of a list, or of those that are chosen
//! - `keyed`: items with constant keys that are merged into lists
//! - `loops`: loops over a list of the object that change each of its items by itself
//! - `made`: values that functions make of others
//! - `model`: what is known of a rule that changes objects: the words that the other files share
//! - `places`: places of the object that an expression names
//! - `positions`: items of a list that a loop over several lists changes by the positions of its
//!   elements
//! - `templates`: what documents with variables write, and loops of `foreach` over the items of
//!   lists

pub(crate) mod clones;
pub(crate) mod copies;
pub(crate) mod documents;
pub(crate) mod entries;
pub(crate) mod expressions;
pub(crate) mod functions;
pub(crate) mod generated;
pub(crate) mod images;
pub(crate) mod item_conditions;
pub(crate) mod joins;
pub(crate) mod keyed;
pub(crate) mod loops;
pub(crate) mod made;
pub(crate) mod model;
pub(crate) mod places;
pub(crate) mod positions;
pub(crate) mod templates;

use ephor_analysis::reads::Step;
use ephor_ir::expressions::PatchType;
use ephor_ir::mutate::Change;
use ephor_ir::rule::Body;
use ephor_ir::{Rule, Template};
use ephor_kubernetes::Types;
use ephor_kubernetes::schema::ListKind;
use ephor_value::Str;

pub(crate) use crate::effects::writes::entries::are_alike;
pub(crate) use crate::effects::writes::functions::makes_alike;
pub(crate) use crate::effects::writes::made::DerivedValue;
pub(crate) use crate::effects::writes::model::Positioned;
use crate::effects::writes::model::{PlaceType, WriteCollector, Writes, Written, schema_of};
pub(crate) use crate::effects::writes::places::keys_of;
pub(crate) use crate::effects::writes::templates::conditions_on;
pub(crate) use crate::inputs::copied_objects::copied_by;
pub(crate) use crate::model::field_types::leaf_of;
use crate::model::field_types::{Resolved, resolved, type_at};
use crate::model::unsupported::Unsupported;

/// What a rule writes into objects of a kind.
///
/// # Errors
/// It is not known.
pub(crate) fn writes<'r>(rule: &'r Rule, kind: &'r [Str; 3]) -> Result<Writes, Unsupported> {
    if !matches!(rule.body, Body::Mutate(_) | Body::Generate(_)) {
        return Ok(Writes::default());
    }
    if rule.bound.is_some() {
        return Err(Unsupported::NoTypes);
    }
    if rule.broken.is_some() {
        return Err(Unsupported::UnusableRule);
    }
    let types: &Types = Types::built_in();
    let at = types.of_object(kind).map_or(PlaceType::Unknown, |def| PlaceType::Kind(def));
    let variables = rule.expressions.as_deref().map(|shared| &*shared.variables).unwrap_or_default();
    let mut writer = WriteCollector {
        types,
        variables,
        bindings: &rule.bindings,
        kind,
        path: Vec::new(),
        is_document: rule.expressions.is_none(),
        is_key: false,
        elements: Vec::new(),
        holes: Vec::new(),
        loops: Vec::new(),
        positioned: None,
        found: Writes::default(),
    };
    let mutation = match &rule.body {
        Body::Mutate(mutation) => mutation,
        Body::Generate(generation) => {
            writer.generation(generation)?;
            return Ok(writer.found);
        }
        _ => return Ok(writer.found),
    };
    if mutation.targets.is_some() || mutation.existing.is_some() {
        return Err(Unsupported::OtherObjects);
    }
    // The whole rule is filled in, its preconditions once more: where this fails says what they
    // read.
    let mut known = Vec::new();
    let conditions = rule.admit.iter().flat_map(|all| all.any.iter().flatten().chain(&all.all));
    for part in conditions.flat_map(|condition| [&condition.key, &condition.value]) {
        _ = texts(part, &mut known);
    }
    let mut filled = Vec::new();
    let is_plain = mutation.other_templates.iter().all(|template| texts(template, &mut filled));
    if !is_plain || filled.iter().any(|text| !known.contains(text)) {
        return Err(Unsupported::FilledIn);
    }
    match &mutation.change {
        Change::Patch(patch, _) => writer.patch(patch, kind, at)?,
        Change::ForEach(loops) => writer.for_each(loops, schema_of(kind), at)?,
        Change::Expressions { patches, .. } => {
            for patch in patches {
                let Ok(program) = &patch.source.program else { return Err(Unsupported::UnusableExpression) };
                match patch.patch_type {
                    PatchType::ApplyConfiguration => writer.applied(program, at, 0)?,
                    PatchType::JsonPatch => writer.operations(program, at, 0)?,
                    PatchType::Unknown => return Err(Unsupported::UnknownPatchType),
                }
            }
        }
    }
    if let (Change::Expressions { reinvoked: true, .. }, false) =
        (&mutation.change, writer.found.made.is_empty())
    {
        return Err(Unsupported::ComputedAgain);
    }
    let places = &writer.found.places;
    let is_key = |place: &[Step]| {
        let at = place.iter().position(|step| *step == Step::Items);
        let key = at.and_then(|at| place.get(at + 1));
        let kind = at.and_then(|at| type_at(types, kind, place.get(..at)?));
        match (kind.map(|ty| resolved(types, ty)), key) {
            (Some(Resolved::List(ListKind::Keyed(keys), _)), Some(Step::Key(key))) => keys.contains(key),
            _ => false,
        }
    };
    if places.iter().any(|(place, written)| identifies(place) || (changes_value(written) && is_key(place))) {
        return Err(Unsupported::IdentityChanged);
    }
    Ok(writer.found)
}

/// The texts with variables in a template; whether these are all.
fn texts<'t>(template: &'t Template, out: &mut Vec<&'t Str>) -> bool {
    match template {
        Template::Const(_) => {}
        Template::Whole(hole) => out.push(&hole.rounds.source),
        Template::Text(text) => out.push(&text.rounds.source),
        Template::Rounds(rounds) => out.push(&rounds.source),
        Template::List(items) => return items.iter().all(|item| texts(item, out)),
        Template::Object(pairs) => {
            return pairs.iter().all(|(key, value)| matches!(key, Template::Const(_)) && texts(value, out));
        }
        Template::Fail(_) => return false,
    }
    true
}

/// Whether a place has another value then.
fn changes_value(written: &Written) -> bool {
    !matches!(written, Written::Shape | Written::Key(_))
}

/// Whether a place is what an object is known by, or all of the object.
fn identifies(place: &[Step]) -> bool {
    let key = |at: usize| match place.get(at) {
        Some(Step::Key(key)) => Some(&**key),
        _ => None,
    };
    match (key(0), key(1)) {
        (None | Some("apiVersion" | "kind"), _) => true,
        (Some("metadata"), Some(key)) => matches!(key, "name" | "namespace" | "generateName"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use ephor_policies::policy_set::PolicySet;

    use super::*;
    use crate::model::path::Place;

    /// The places that a rule for Pods writes, or why they are not known.
    fn of(mutate: &str) -> Result<Vec<String>, Unsupported> {
        let policy = format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    mutate: {mutate}\n"
        );
        let set = PolicySet::from_yaml(&policy).unwrap();
        let pod = ["", "v1", "Pod"].map(Str::from);
        let found = writes(&set.policies()[0].rules[0], &pod)?;
        let name = |step: &Step| match step {
            Step::Key(key) => key.to_string(),
            _ => "*".to_string(),
        };
        let text = |(place, written): &(Place, Written)| {
            let place: Vec<String> = place.iter().map(name).collect();
            format!("{} {written:?}", place.join("."))
        };
        Ok(found.places.iter().map(text).collect())
    }

    #[test]
    fn constants_and_the_objects_above_them_are_written() {
        let found =
            of("{patchStrategicMerge: {spec: {hostNetwork: true, securityContext: {+(runAsUser): 5}}}}");
        let expected = [
            "spec Shape",
            "spec.hostNetwork Scalar(Bool(true))",
            "spec.securityContext Shape",
            "spec.securityContext.runAsUser Scalar(Int(5))",
        ];
        assert_eq!(found.unwrap(), expected);
        let patch = r#"{patchesJson6902: "- {op: add, path: /spec/tolerations/-, value: {key: a}}\n- {op: remove, path: /spec/priority}"}"#;
        assert_eq!(of(patch).unwrap(), ["spec.tolerations Item", "spec.priority Shape"]);
        let patch = r#"{patchesJson6902: "- {op: add, path: /metadata/labels/a~1b, value: c}\n- {op: add, path: /spec/dnsConfig, value: {options: []}}"}"#;
        let expected = [
            "metadata.labels.a/b Scalar(Str(\"c\"))",
            "spec.dnsConfig Whole",
            "spec.dnsConfig.options WholeList",
        ];
        assert_eq!(of(patch).unwrap(), expected);
    }

    #[test]
    fn the_items_of_a_list_are_changed_one_by_one() {
        let found = of("{patchStrategicMerge: {spec: {containers: [{(image): 'a*', tty: true}]}}}");
        let expected = [
            "spec Shape",
            "spec.containers.* Shape",
            "spec.containers.*.image Shape",
            "spec.containers.*.tty Scalar(Bool(true))",
        ];
        assert_eq!(found.unwrap(), expected);
    }

    #[test]
    fn copies_and_items_with_constant_keys_are_known() {
        let found =
            of("{patchStrategicMerge: {metadata: {labels: {a: 'x-{{ request.object.metadata.name }}'}}}}");
        assert_eq!(found.unwrap(), ["metadata Shape", "metadata.labels Shape", "metadata.labels.a Copied"]);
        let found =
            of("{patchStrategicMerge: {spec: {containers: [{name: a, env: [{name: b, value: c}]}]}}}");
        let expected = [
            "spec Shape",
            "spec.containers.* Shape",
            "spec.containers.*.name Key(Str(\"a\"))",
            "spec.containers.*.env.* Shape",
            "spec.containers.*.env.*.name Key(Str(\"b\"))",
            "spec.containers.*.env.*.value Scalar(Str(\"c\"))",
        ];
        assert_eq!(found.unwrap(), expected);
        let list = "'request.object.spec.[initContainers, containers][]'";
        let item = "{(name): '{{ element.name }}', image: '{{ element.image }}', tty: true}";
        let found = of(&format!(
            "{{foreach: [{{list: {list}, patchStrategicMerge: {{spec: {{containers: [{item}]}}}}}}]}}"
        ));
        let expected = [
            "spec Shape",
            "spec.containers.* Shape",
            "spec.containers.*.image Copied",
            "spec.containers.*.tty Scalar(Bool(true))",
        ];
        assert_eq!(found.unwrap(), expected);
    }

    #[test]
    fn what_is_computed_or_written_by_position_is_not_known() {
        for mutate in [
            "{patchStrategicMerge: {metadata: {labels: {a: '{{ to_upper(request.object.metadata.name) }}'}}}}",
            "{patchStrategicMerge: {metadata: {labels: '{{ request.object.spec.nodeSelector }}'}}}",
            "{patchStrategicMerge: {spec: {containers: [{(name): '*', +(tty): true}]}}}",
            "{patchStrategicMerge: {spec: {containers: [{name: 'a*', tty: true}]}}}",
            "{patchStrategicMerge: {spec: {containers: [{tty: true}]}}}",
            "{patchStrategicMerge: {spec: {containers: [{<(name): '*', tty: true}]}}}",
            "{patchStrategicMerge: {spec: {(securityContext): {runAsUser: 1}, hostPID: false}}}",
            "{patchStrategicMerge: {spec: {securityContext: {$patch: replace, runAsUser: 1}}}}",
            "{patchStrategicMerge: {metadata: {name: x}}}",
            "{patchesJson6902: '- {op: copy, from: /metadata/name, path: /metadata/labels/a}'}",
            "{patchesJson6902: '- {op: add, path: /spec/containers/1/tty, value: true}'}",
            "{patchesJson6902: '- {op: remove, path: /spec/containers/0}'}",
            "{foreach: [{list: request.object.spec.containers, patchStrategicMerge: {spec: {hostPID: true}}}]}",
            "{foreach: [{list: request.object.spec.containers, patchStrategicMerge: {spec: {containers: [{(image): '{{ element.image }}', tty: true}]}}}]}",
            "{foreach: [{list: request.object.spec.containers, patchStrategicMerge: {spec: {initContainers: [{(name): '{{ element.name }}', tty: true}]}}}]}",
            "{foreach: [{list: request.object.spec.volumes, patchStrategicMerge: {spec: {volumes: [{(name): '{{ element.name }}', emptyDir: {}}]}}}]}",
            "{foreach: [{list: 'request.object.spec.[initContainers, containers][]', patchStrategicMerge: {spec: {containers: [{name: '{{ element.name }}', tty: true}]}}}]}",
        ] {
            assert!(of(mutate).is_err(), "{mutate}: {:?}", of(mutate));
        }
    }
}
