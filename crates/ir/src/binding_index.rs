//! The bindings of a policy by what a request must have for them to count.
//!
//! In: the bindings of a policy, and what a request is about. Out: the bindings that can match it,
//! in order: of thousands, one for each namespace or team, the few that concern it. Each binding is
//! filed under one condition that its constraints imply: a label of the namespace or of an object,
//! a resource, or a name. It is the condition that the fewest bindings share. A binding without one
//! can match every request. Whether a candidate matches is up to its constraints.

use std::collections::{HashMap, HashSet};

use ephor_value::{Map, Str};

use super::admission::PolicyBinding;
use super::constraints::{Constraints, ResourceRule};
use super::derived::Derived;
use super::selector::{Selector, SetOperator};

/// Up to this number of bindings reading all takes no longer than looking them up.
const FEW: usize = 8;

/// See the module page; found when it is first looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct BindingIndex(Derived<FiledBindings>);

/// What a request is about, as far as bindings are filed by it.
#[derive(Clone, Copy, Debug)]
pub struct RequestFacts<'r> {
    /// The labels that namespace selectors read; `None` = they are not known, or such selectors
    /// select the request whatever they say.
    pub namespace_labels: Option<&'r Map>,
    /// The labels of the objects, one of which an object selector has to select.
    pub object_labels: [Option<&'r Map>; 2],
    /// The resource.
    pub resource: &'r str,
    /// The name; empty when it is to be generated.
    pub name: &'r str,
}

impl BindingIndex {
    /// Whether looking the bindings up takes less time than reading all of them.
    pub fn pays_for(&self, bindings: &[PolicyBinding]) -> bool {
        bindings.len() > FEW
    }

    /// The positions of the bindings that can match a request, in order; `bindings` are those that
    /// the index is of.
    pub fn candidates(&self, bindings: &[PolicyBinding], request: &RequestFacts<'_>) -> Vec<usize> {
        self.0.get_or_find(|| FiledBindings::of(bindings)).candidates(request)
    }
}

/// Bindings by label and value.
type ByLabel = HashMap<Str, HashMap<Str, Vec<usize>>>;

/// The bindings under their conditions.
#[derive(Debug, Default)]
struct FiledBindings {
    always: Vec<usize>,
    of_namespaces: ByLabel,
    of_objects: ByLabel,
    of_resources: HashMap<Str, Vec<usize>>,
    of_names: HashMap<Str, Vec<usize>>,
}

/// A condition: one of these must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum BindingCondition<'b> {
    NamespaceLabel(&'b Str, &'b Str),
    ObjectLabel(&'b Str, &'b Str),
    Resource(&'b Str),
    Name(&'b Str),
}

impl FiledBindings {
    fn of(bindings: &[PolicyBinding]) -> FiledBindings {
        let implied: Vec<Vec<Vec<BindingCondition<'_>>>> = bindings
            .iter()
            .map(|binding| binding.when.as_ref().map(conditions).unwrap_or_default())
            .collect();
        let mut counts: HashMap<BindingCondition<'_>, usize> = HashMap::new();
        for condition in implied.iter().flatten().flatten() {
            *counts.entry(*condition).or_default() += 1;
        }
        let mut filed = FiledBindings::default();
        for (at, of_binding) in implied.iter().enumerate() {
            let shared = |any: &&Vec<BindingCondition<'_>>| {
                any.iter().filter_map(|one| counts.get(one)).sum::<usize>()
            };
            match of_binding.iter().min_by_key(shared) {
                None => filed.always.push(at),
                Some(any) => any.iter().for_each(|condition| filed.file(at, condition)),
            }
        }
        filed
    }

    fn file(&mut self, at: usize, condition: &BindingCondition<'_>) {
        let of_label = |all: &mut ByLabel, key: &Str, value: &Str| {
            all.entry(key.clone()).or_default().entry(value.clone()).or_default().push(at);
        };
        match condition {
            BindingCondition::NamespaceLabel(key, value) => of_label(&mut self.of_namespaces, key, value),
            BindingCondition::ObjectLabel(key, value) => of_label(&mut self.of_objects, key, value),
            BindingCondition::Resource(name) => {
                self.of_resources.entry((*name).clone()).or_default().push(at)
            }
            BindingCondition::Name(name) => self.of_names.entry((*name).clone()).or_default().push(at),
        }
    }

    fn candidates(&self, request: &RequestFacts<'_>) -> Vec<usize> {
        let mut found = self.always.clone();
        match request.namespace_labels {
            Some(labels) => labelled(&self.of_namespaces, labels, &mut found),
            None => found.extend(self.of_namespaces.values().flat_map(HashMap::values).flatten()),
        }
        request
            .object_labels
            .iter()
            .flatten()
            .for_each(|labels| labelled(&self.of_objects, labels, &mut found));
        found.extend(self.of_resources.get(request.resource).into_iter().flatten());
        found.extend(self.of_names.get(request.name).into_iter().flatten());
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Adds the bindings under the labels of an object.
fn labelled(all: &ByLabel, labels: &Map, found: &mut Vec<usize>) {
    if all.is_empty() {
        return;
    }
    for (key, value) in labels.iter() {
        let value = value.as_str().unwrap_or_default();
        found.extend(all.get(key).and_then(|values| values.get(value)).into_iter().flatten());
    }
}

/// The conditions that constraints imply, each of them a choice.
fn conditions(when: &Constraints) -> Vec<Vec<BindingCondition<'_>>> {
    let mut all = Vec::new();
    let namespaces = when.namespace_selector.iter().flat_map(labels);
    all.extend(namespaces.map(|(key, values)| {
        values.iter().map(|value| BindingCondition::NamespaceLabel(key, value)).collect::<Vec<_>>()
    }));
    let objects = when.object_selector.iter().flat_map(labels);
    all.extend(objects.map(|(key, values)| {
        values.iter().map(|value| BindingCondition::ObjectLabel(key, value)).collect::<Vec<_>>()
    }));
    let named = |rule: &ResourceRule| !rule.names.is_empty();
    if !when.rules.is_empty() && when.rules.iter().all(named) {
        all.push(when.rules.iter().flat_map(|rule| &rule.names).map(BindingCondition::Name).collect());
    }
    let paths = || when.rules.iter().flat_map(|rule| &rule.resources);
    if !when.rules.is_empty() && paths().all(|path| path.resource.is_some()) {
        all.push(paths().filter_map(|path| path.resource.as_ref()).map(BindingCondition::Resource).collect());
    }
    // A choice names each condition once.
    for any in &mut all {
        let mut seen = HashSet::new();
        any.retain(|condition| seen.insert(*condition));
    }
    all
}

/// The labels that a selector needs, each with its possible values.
fn labels(selector: &Selector) -> impl Iterator<Item = (&Str, &[Str])> {
    let exact = selector.valid && !selector.wild;
    let equal = selector.labels.iter().map(|(key, value)| (key, std::slice::from_ref(value)));
    let among = selector.expressions.iter().filter(|r| r.operator == SetOperator::In);
    equal.chain(among.map(|r| (&r.key, &*r.values))).filter(move |_| exact)
}

#[cfg(test)]
mod tests {
    use ephor_value::Value;

    use super::*;
    use crate::constraints::{AnyOf, ResourcePath, Scope};

    fn selector(key: &str, value: &str) -> Option<Selector> {
        Some(Selector::new(vec![(key.into(), value.into())], Vec::new(), true))
    }

    fn binding(when: Constraints) -> PolicyBinding {
        PolicyBinding {
            mutates: false,
            name: "b".into(),
            policy: "p".into(),
            params: None,
            when: Some(when),
            actions: Box::default(),
        }
    }

    fn rule(resource: Option<&str>, names: &[&str]) -> ResourceRule {
        let path = ResourcePath { resource: resource.map(Str::from), subresource: None };
        ResourceRule {
            operations: AnyOf::All,
            groups: AnyOf::All,
            versions: AnyOf::All,
            resources: Box::new([path]),
            scope: Scope::All,
            names: names.iter().map(|name| Str::from(*name)).collect(),
        }
    }

    fn labels(all: &[(&str, &str)]) -> Map {
        all.iter().map(|(key, value)| (Str::from(*key), Value::from(*value))).collect()
    }

    fn found(bindings: &[PolicyBinding], namespace: Option<&Map>, object: Option<&Map>) -> Vec<usize> {
        let facts = RequestFacts {
            namespace_labels: namespace,
            object_labels: [object, None],
            resource: "pods",
            name: "web",
        };
        BindingIndex::default().candidates(bindings, &facts)
    }

    /// A binding for each of many teams, all of them about objects with the same label.
    fn of_teams() -> Vec<PolicyBinding> {
        let team = |i| Constraints {
            namespace_selector: selector("team", &format!("t{i}")),
            object_selector: selector("app", "shop"),
            ..Constraints::default()
        };
        (0..1000).map(|i| binding(team(i))).collect()
    }

    #[test]
    fn of_many_bindings_those_for_the_labels_of_the_namespace_are_found() {
        let bindings = of_teams();
        let (namespace, object) = (labels(&[("team", "t7"), ("x", "y")]), labels(&[("app", "shop")]));
        assert_eq!(found(&bindings, Some(&namespace), Some(&object)), [7]);
        assert_eq!(found(&bindings, Some(&labels(&[])), Some(&object)), Vec::<usize>::new());
        let all: Vec<usize> = (0..1000).collect();
        assert_eq!(found(&bindings, None, Some(&object)), all, "the labels are not known");
    }

    #[test]
    fn a_binding_without_a_condition_is_found_for_every_request_and_in_order() {
        let mut bindings = of_teams();
        bindings[3].when = None;
        bindings[5].when = Some(Constraints { rules: Box::new([rule(None, &[])]), ..Constraints::default() });
        // A selector that is not well-formed selects nothing, where it counts.
        let broken = Selector::new(vec![("team".into(), "t9".into())], Vec::new(), false);
        bindings[9].when = Some(Constraints { namespace_selector: Some(broken), ..Constraints::default() });
        let namespace = labels(&[("team", "t4")]);
        assert_eq!(found(&bindings, Some(&namespace), None), [3, 4, 5, 9]);
    }

    #[test]
    fn bindings_are_found_by_one_of_several_values_by_resource_and_by_name() {
        let mut bindings = of_teams();
        let among = crate::selector::Requirement {
            key: "team".into(),
            operator: SetOperator::In,
            values: Box::new(["t1".into(), "t2".into()]),
        };
        let several = Selector::new(Vec::new(), vec![among], true);
        bindings[10].when = Some(Constraints { object_selector: Some(several), ..Constraints::default() });
        let of_rules =
            |rules: &[ResourceRule]| Some(Constraints { rules: rules.into(), ..Constraints::default() });
        bindings[11].when = of_rules(&[rule(Some("pods"), &[]), rule(Some("secrets"), &[])]);
        bindings[12].when = of_rules(&[rule(Some("secrets"), &[])]);
        bindings[13].when = of_rules(&[rule(None, &["db", "web"])]);
        bindings[14].when = of_rules(&[rule(None, &["db"])]);
        let object = labels(&[("team", "t2")]);
        assert_eq!(found(&bindings, Some(&labels(&[])), Some(&object)), [10, 11, 13]);
    }
}
