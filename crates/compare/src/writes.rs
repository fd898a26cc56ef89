//! What rules write into objects, where that is known before there is one.
//!
//! In: a rule that changes the object of a request, the type of its kind. Out: [`Writes`]: the
//! places that the rule may write, remove or create, with the constants that it writes there, and
//! the conditions that decide which of them it does write. Or why this is not known: a value is
//! copied or computed, or items of a list are changed in a way that is not followed.

mod clones;
mod copies;
mod documents;
mod entries;
mod expressions;
mod functions;
mod generated;
mod images;
mod joins;
mod keyed;
mod loops;
mod positions;
mod templates;

use std::collections::BTreeSet;
use std::sync::Arc;

pub(crate) use clones::copied_by;
pub(crate) use copies::{MOST_PARTS, leaf_of};
pub(crate) use entries::are_alike;
pub(crate) use functions::{Made, makes_alike};
pub(crate) use loops::keys_of;
pub(crate) use positions::Positioned;
pub(crate) use templates::looked_at;

use ephor_analysis::reads::Step;
use ephor_ir::check::ForEach;
use ephor_ir::condition::Condition;
use ephor_ir::expressions::{PatchType, Variable};
use ephor_ir::mutate::Change;
use ephor_ir::rule::{Binding, Body};
use ephor_ir::template::Hole;
use ephor_ir::{Expr, Rule, Template};
use ephor_kubernetes::Types;
use ephor_kubernetes::convert::api_version;
use ephor_kubernetes::schema::{Leaf, ListKind, Type, TypeDef, Whole};
use ephor_patch::schema::Schema;
use ephor_value::{Str, Value};

use super::copied::Copied;

/// Changes that nest more deeply are not followed.
const DEEPEST: usize = 64;

/// A place in an object.
type Place = Vec<Step>;

/// Why it is not known what a rule writes.
pub(crate) type Unknown = &'static str;

const COMPUTED: Unknown = "a value is copied or computed";
const BY_ITEM: Unknown = "items of a list are changed in a way that is not followed";
const IDENTITY: Unknown = "what identifies an object is changed";

/// What is written at a place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Written {
    /// A value without parts.
    Scalar(Value),
    /// The value of another place, or a text that has it as a part.
    Copied,
    /// What an item of a list is merged by.
    Key(Value),
    /// Something with parts in the place of all that is there.
    Whole,
    /// A list in the place of all that is there.
    WholeList,
    /// An item behind those of a list.
    Item,
    /// An object that is there for the sake of its fields, or nothing: it is removed.
    Shape,
}

/// What a rule writes.
#[derive(Default)]
pub(crate) struct Writes {
    /// The places, with what is written there.
    pub places: Vec<(Place, Written)>,
    /// What decides which of it is written.
    pub conditions: Vec<Expr>,
    /// What decides about an item by itself, in a loop over all.
    pub of_items: Vec<Expr>,
    /// Whether some of it looks at lists of the item.
    pub nests: bool,
    /// The same of a document with anchors: what must match a leaf of a pattern at a place.
    pub patterns: Vec<(Place, Value)>,
    /// Lists of which each item is changed by itself.
    pub lists: BTreeSet<Place>,
    /// Whether a loop may fail for one element, and so for all of them.
    pub may_fail: bool,
    /// Whether the item of an element is found by its name as a pattern.
    pub by_pattern: bool,
    /// Whether something is written into the first item of a list.
    pub is_first: bool,
    /// Places whose values are copied.
    pub copied: BTreeSet<Place>,
    /// Places that are copied with all that is there.
    pub wholes: BTreeSet<Place>,
    /// Those of them that become parts of documents, in which variables and anchors are looked for.
    pub quoted: BTreeSet<Place>,
    /// Places with names that must not be the same for the items of several lists.
    pub apart: BTreeSet<Vec<Place>>,
    /// The lists of these names.
    pub named: BTreeSet<Place>,
    /// Places at which is written what a function makes of another one.
    pub made: Vec<(Place, Made)>,
    /// Maps into which entries are written whose keys are put together, with their value.
    pub entries: Vec<(Place, Value)>,
    /// Variables that are filled in, whatever the rule does.
    pub holes: Vec<Hole>,
    /// Places at which a text is written with a part for each item of a list.
    pub joins: BTreeSet<Place>,
    /// The number of the items that are chosen for these, in documents; whether what is chosen says
    /// the item alone.
    pub chosen: Vec<(Hole, bool)>,
    /// Objects that exist, of which copies are generated.
    pub cloned: BTreeSet<Copied>,
    /// The same in the namespace of a policy: their kind, and the name of one.
    pub cloned_here: BTreeSet<([Str; 3], Option<Str>)>,
    /// What is generated: kind, namespace and name, as far as they are constant; `None`: copies of
    /// all objects of a list.
    pub generated: Vec<Option<[Option<Str>; 3]>>,
    /// What is compared besides, in documents.
    pub compared: Vec<Condition>,
    /// Whether the name of the user is copied.
    pub is_of_user: bool,
    /// Loops of a ClusterPolicy, as checks of what decides about an item; whether this is in the
    /// item alone.
    pub each: Vec<(ForEach, bool)>,
    /// Whether a strategic merge walks over the whole object.
    pub merges: bool,
    /// Lists into whose items loops over several lists write.
    pub positioned: BTreeSet<Positioned>,
    /// The places in the elements of these loops that decide.
    pub deciding: BTreeSet<Place>,
    /// Whether the order or the number of the items of a list there may say something.
    pub has_order: bool,
    /// The places of values in objects that are written as a whole.
    pub inside: BTreeSet<Place>,
}

/// The type of a place.
#[derive(Clone, Copy)]
enum At<'t> {
    Type(&'t Type),
    /// Of the object itself.
    Kind(&'t TypeDef),
    Unknown,
}

/// What a type is.
#[derive(Clone, Copy)]
pub(crate) enum Resolved<'t> {
    Object(&'t TypeDef, Whole),
    Map(&'t Type, Whole),
    List(&'t ListKind, &'t Type),
    Leaf,
    Unknown,
}

pub(crate) fn resolved<'t>(types: &'t Types, ty: &'t Type) -> Resolved<'t> {
    match ty {
        Type::Leaf(Leaf::Any) => Resolved::Unknown,
        Type::Leaf(_) => Resolved::Leaf,
        Type::List(kind, item) => Resolved::List(kind, item),
        Type::Map(value, whole) => Resolved::Map(value, *whole),
        Type::Named(name, whole) => match types.named(name) {
            Some(def) if def.leaf.is_none() => {
                Resolved::Object(def, if *whole == Whole::Atomic { *whole } else { def.whole })
            }
            Some(def) if def.leaf != Some(Leaf::Any) => Resolved::Leaf,
            _ => Resolved::Unknown,
        },
    }
}

impl<'t> At<'t> {
    fn resolved(self, types: &'t Types) -> Resolved<'t> {
        match self {
            At::Type(ty) => resolved(types, ty),
            At::Kind(def) => Resolved::Object(def, Whole::Merged),
            At::Unknown => Resolved::Unknown,
        }
    }

    fn field(self, types: &'t Types, key: &str) -> At<'t> {
        match self.resolved(types) {
            Resolved::Object(def, _) => def.field(key).map_or(At::Unknown, |field| At::Type(&field.ty)),
            Resolved::Map(value, _) => At::Type(value),
            _ => At::Unknown,
        }
    }
}

/// The type of a place.
pub(crate) fn type_at<'t>(types: &'t Types, kind: &[Str; 3], place: &[Step]) -> Option<&'t Type> {
    let (first, rest) = place.split_first()?;
    let Step::Key(key) = first else { return None };
    let mut ty = &types.of_object(kind)?.field(key)?.ty;
    for step in rest {
        ty = match (step, resolved(types, ty)) {
            (Step::Key(key), Resolved::Object(def, _)) => &def.field(key)?.ty,
            (Step::Key(_), Resolved::Map(value, _)) => value,
            (Step::Items, Resolved::List(_, item)) => item,
            _ => return None,
        };
    }
    Some(ty)
}

/// The keys by which the items of the list at a place are known, and the type of these; `None`:
/// they are known by none.
pub(crate) fn keyed_at<'t>(
    types: &'t Types,
    kind: &[Str; 3],
    list: &[Step],
) -> Option<(&'t [Str], &'t Type)> {
    match resolved(types, type_at(types, kind, list)?) {
        Resolved::List(ListKind::Keyed(keys), item) => Some((keys, item)),
        _ => None,
    }
}

/// A place in the items of a list.
pub(crate) fn in_items(list: &[Step], below: &[Step]) -> Place {
    list.iter().chain([&Step::Items]).chain(below).cloned().collect()
}

/// What a rule writes into objects of a kind.
///
/// # Errors
/// It is not known.
pub(crate) fn writes<'r>(rule: &'r Rule, kind: &'r [Str; 3]) -> Result<Writes, Unknown> {
    if !matches!(rule.body, Body::Mutate(_) | Body::Generate(_)) {
        return Ok(Writes::default());
    }
    if rule.bound.is_some() {
        return Err("policies of an API server are evaluated without the types of kinds");
    }
    if rule.broken.is_some() {
        return Err("a rule cannot be evaluated");
    }
    let types: &Types = Types::built_in();
    let at = types.of_object(kind).map_or(At::Unknown, |def| At::Kind(def));
    let variables = rule.expressions.as_deref().map(|shared| &*shared.variables).unwrap_or_default();
    let mut writer = Writer {
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
        return Err("other objects than that of the request are changed");
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
        return Err("a part of a rule is filled in with variables");
    }
    match &mutation.change {
        Change::Patch(patch, _) => writer.patch(patch, kind, at)?,
        Change::ForEach(loops) => writer.for_each(loops, schema_of(kind), at)?,
        Change::Expressions { patches, .. } => {
            for patch in patches {
                let Ok(program) = &patch.source.program else { return Err("an expression is none") };
                match patch.patch_type {
                    PatchType::ApplyConfiguration => writer.applied(program, at, 0)?,
                    PatchType::JsonPatch => writer.operations(program, at, 0)?,
                    PatchType::Unknown => return Err("a patch is of an unknown type"),
                }
            }
        }
    }
    if let (Change::Expressions { reinvoked: true, .. }, false) =
        (&mutation.change, writer.found.made.is_empty())
    {
        return Err("what is computed may be computed again");
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
        return Err(IDENTITY);
    }
    Ok(writer.found)
}

/// What merges know of objects of a kind.
fn schema_of(kind: &[Str; 3]) -> Schema {
    Schema::of_object(&Value::map([
        ("apiVersion", Value::from(api_version(kind))),
        ("kind", Value::Str(kind[2].clone())),
    ]))
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

struct Writer<'r> {
    types: &'r Types,
    variables: &'r [Variable],
    /// The entries of the context of a document.
    bindings: &'r [Arc<Binding>],
    /// The kind of the object.
    kind: &'r [Str; 3],
    path: Place,
    /// Whether it is a document of a ClusterPolicy, where variables are queries.
    is_document: bool,
    /// Whether the key of an entry is looked at.
    is_key: bool,
    /// The lists whose items the loop of a document walks over.
    elements: Vec<Place>,
    /// The variables of a document.
    holes: Vec<Hole>,
    /// The loops around what is looked at: over what, and whether they have positions.
    loops: Vec<(&'r Expr, bool)>,
    /// The list into whose items the loop writes by the positions of its elements.
    positioned: Option<Place>,
    found: Writes,
}

type Done = Result<(), Unknown>;

impl<'r> Writer<'r> {
    fn add(&mut self, written: Written) {
        self.found.places.push((self.path.clone(), written));
    }

    fn below(&mut self, key: &Str, write: impl FnOnce(&mut Self) -> Done) -> Done {
        self.path.push(Step::Key(key.clone()));
        let done = write(self);
        self.path.pop();
        done
    }
}

impl Writes {
    /// Adds what another rule writes.
    pub fn merge(&mut self, other: Writes) {
        self.places.extend(other.places);
        self.conditions.extend(other.conditions);
        self.of_items.extend(other.of_items);
        self.nests |= other.nests;
        self.patterns.extend(other.patterns);
        self.lists.extend(other.lists);
        self.may_fail |= other.may_fail;
        self.by_pattern |= other.by_pattern;
        self.is_first |= other.is_first;
        self.copied.extend(other.copied);
        self.wholes.extend(other.wholes);
        self.quoted.extend(other.quoted);
        self.apart.extend(other.apart);
        self.named.extend(other.named);
        self.made.extend(other.made);
        self.entries.extend(other.entries);
        self.positioned.extend(other.positioned);
        self.deciding.extend(other.deciding);
        self.has_order |= other.has_order;
        self.inside.extend(other.inside);
        self.holes.extend(other.holes);
        self.joins.extend(other.joins);
        self.chosen.extend(other.chosen);
        self.cloned.extend(other.cloned);
        self.cloned_here.extend(other.cloned_here);
        self.generated.extend(other.generated);
        self.compared.extend(other.compared);
        self.is_of_user |= other.is_of_user;
        self.each.extend(other.each);
        self.merges |= other.merges;
    }

    /// The texts that are written.
    pub fn texts(&self) -> BTreeSet<&str> {
        let texts = self.places.iter().filter_map(|(_, written)| match written {
            Written::Scalar(value) => value.as_str(),
            _ => None,
        });
        texts.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ephor_policies::policy_set::PolicySet;

    /// The places that a rule for Pods writes, or why they are not known.
    fn of(mutate: &str) -> Result<Vec<String>, Unknown> {
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
