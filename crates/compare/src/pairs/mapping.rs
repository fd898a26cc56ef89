//! Pairs of policies: by name, by annotation, or as a file of pairs says.
//!
//! In: two loads, and what a mapping says. Out: pairs, each with one or several policies a side.
//! With one policy on each side these two are a pair whatever their names. Else, in this order:
//! what the mapping names, what the annotation `ephor.dev/replaces` of new policies names, policies
//! of one name, policies of similar names (`disallow-x`, `disallow-x-vpol`) where only one other is
//! so similar, and policies that read the same fields (`pairs::overlap`). A policy without a
//! partner is a pair with one side: it was removed, or it is new.

use std::collections::BTreeSet;

use ephor_policies::load::{LoadedPolicy, Policies};
use ephor_value::Value;

use crate::pairs::overlap::overlapping;

/// The annotation of a policy that names those that it replaces, separated by commas.
pub const REPLACES: &str = "ephor.dev/replaces";

/// Why two policies are a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairedBy {
    /// They are the only ones.
    Alone,
    /// The mapping names them.
    Mapping,
    /// The annotation of a new one names the old one.
    Annotation,
    /// They have one name.
    Name,
    /// Their names are similar.
    SimilarName,
    /// They read the same fields.
    Overlap,
    /// There is no other side.
    Nothing,
}

/// Policies that are compared, or one that only one of the loads has, each with the exceptions and
/// bindings of its load.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The name of the policy: of the old one, where there is one.
    pub name: String,
    /// The old ones.
    pub old: Option<Policies>,
    /// The new ones.
    pub new: Option<Policies>,
    /// Why they are a pair.
    pub by: PairedBy,
}

/// Which new policies replace which old ones, by names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping {
    /// Old and new names; a name may occur several times.
    pub entries: Vec<(String, String)>,
}

/// Why a mapping cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// It is no map.
    #[error("expected a map from names of old policies to names of new ones")]
    NoMap,
    /// A value is neither a name nor a list of names.
    #[error("{0}: expected the name of a new policy, or a list of names")]
    NoName(String),
    /// A side has no policy of the name.
    #[error("no {side} policy is called `{name}`")]
    Unknown {
        /// `old` or `new`.
        side: &'static str,
        /// The name.
        name: String,
    },
}

impl Mapping {
    /// A mapping as files write it: `old: new`, or `old: [new, other]`.
    ///
    /// # Errors
    /// It is of another form.
    pub fn of(written: &Value) -> Result<Mapping, MappingError> {
        let map = written.as_map().ok_or(MappingError::NoMap)?;
        let mut entries = Vec::new();
        for (old, new) in map.iter() {
            let several = new.as_list().map(<[Value]>::to_vec).unwrap_or_else(|| vec![new.clone()]);
            for one in &several {
                let name = one.as_str().filter(|name| !name.is_empty());
                let name = name.ok_or_else(|| MappingError::NoName(old.to_string()))?;
                entries.push((old.to_string(), name.to_string()));
            }
        }
        Ok(Mapping { entries })
    }
}

/// The pairs of two loads, in the order of the old one.
///
/// # Errors
/// The mapping names a policy that its side does not have.
pub fn pairs(old: &Policies, new: &Policies, mapping: &Mapping) -> Result<Vec<Pair>, MappingError> {
    let (before, after) = (PolicyNames::of(old), PolicyNames::of(new));
    for (from, to) in &mapping.entries {
        for (side, names, name) in [("old", &before, from), ("new", &after, to)] {
            if !names.all.contains(name) {
                return Err(MappingError::Unknown { side, name: name.clone() });
            }
        }
    }
    let mut groups = Groups::default();
    if let ([one], [other]) = (&*before.all, &*after.all)
        && mapping.entries.is_empty()
    {
        groups.join(one, other, PairedBy::Alone);
    }
    for (from, to) in &mapping.entries {
        groups.join(from, to, PairedBy::Mapping);
    }
    for policy in &new.policies {
        let to = name(policy);
        let is_mapped = mapping.entries.iter().any(|(_, mapped)| *mapped == to);
        for from in replaced(policy, &before).into_iter().filter(|_| !is_mapped) {
            groups.join(&from, &to, PairedBy::Annotation);
        }
    }
    for name in &before.all {
        if after.all.contains(name) && groups.of_old(name).is_none() && groups.of_new(name).is_none() {
            groups.join(name, name, PairedBy::Name);
        }
    }
    let free = |groups: &Groups, names: &PolicyNames, is_old: bool| -> Vec<String> {
        let taken = |name: &String| match is_old {
            true => groups.of_old(name).is_some(),
            false => groups.of_new(name).is_some(),
        };
        names.all.iter().filter(|name| !taken(name)).cloned().collect()
    };
    for (from, to) in similar(&free(&groups, &before, true), &free(&groups, &after, false)) {
        groups.join(&from, &to, PairedBy::SimilarName);
    }
    let [left, right] = [(old, &before, true), (new, &after, false)].map(|(load, names, is_old)| {
        let free = free(&groups, names, is_old);
        let loads = free.iter().filter_map(|name| own(load, std::slice::from_ref(name))).collect::<Vec<_>>();
        (free, loads)
    });
    for (from, to) in overlapping(&left.1, &right.1) {
        if let (Some(from), Some(to)) = (left.0.get(from), right.0.get(to)) {
            groups.join(from, to, PairedBy::Overlap);
        }
    }
    Ok(groups.pairs((old, &before), (new, &after)))
}

/// The names of the policies of a load, each once, in order.
struct PolicyNames {
    all: Vec<String>,
}

impl PolicyNames {
    fn of(load: &Policies) -> PolicyNames {
        let mut all = Vec::new();
        for name in load.policies.iter().map(name) {
            if !all.contains(&name) {
                all.push(name);
            }
        }
        PolicyNames { all }
    }
}

/// Names that are compared together.
#[derive(Default)]
struct Groups {
    all: Vec<Group>,
}

struct Group {
    old: Vec<String>,
    new: Vec<String>,
    by: PairedBy,
}

impl Groups {
    fn of_old(&self, name: &str) -> Option<usize> {
        self.all.iter().position(|group| group.old.iter().any(|own| own == name))
    }

    fn of_new(&self, name: &str) -> Option<usize> {
        self.all.iter().position(|group| group.new.iter().any(|own| own == name))
    }

    /// Puts two names into one group, with all that either is compared with.
    fn join(&mut self, old: &str, new: &str, by: PairedBy) {
        let at = match (self.of_old(old), self.of_new(new)) {
            (Some(one), Some(other)) if one != other => {
                let (first, second) = (one.min(other), one.max(other));
                let moved = self.all.remove(second);
                if let Some(group) = self.all.get_mut(first) {
                    group.old.extend(moved.old);
                    group.new.extend(moved.new);
                }
                first
            }
            (Some(at), _) | (_, Some(at)) => at,
            (None, None) => {
                self.all.push(Group { old: Vec::new(), new: Vec::new(), by });
                self.all.len() - 1
            }
        };
        let Some(group) = self.all.get_mut(at) else { return };
        if !group.old.iter().any(|own| own == old) {
            group.old.push(old.into());
        }
        if !group.new.iter().any(|own| own == new) {
            group.new.push(new.into());
        }
    }

    fn pairs(&self, old: (&Policies, &PolicyNames), new: (&Policies, &PolicyNames)) -> Vec<Pair> {
        let mut out: Vec<Pair> = Vec::new();
        let mut done: BTreeSet<usize> = BTreeSet::new();
        let mut add = |at: usize, out: &mut Vec<Pair>| {
            let Some(group) = self.all.get(at).filter(|_| done.insert(at)) else { return };
            out.push(Pair {
                name: group.old.join(", "),
                old: own(old.0, &group.old),
                new: own(new.0, &group.new),
                by: group.by,
            });
        };
        for name in &old.1.all {
            match self.of_old(name) {
                Some(at) => add(at, &mut out),
                None => out.push(Pair {
                    name: name.clone(),
                    old: own(old.0, std::slice::from_ref(name)),
                    new: None,
                    by: PairedBy::Nothing,
                }),
            }
        }
        for name in new.1.all.iter().filter(|name| self.of_new(name).is_none()) {
            let own = own(new.0, std::slice::from_ref(name));
            out.push(Pair { name: name.clone(), old: None, new: own, by: PairedBy::Nothing });
        }
        out
    }
}

/// The policies of some names.
fn own(load: &Policies, names: &[String]) -> Option<Policies> {
    let found: Vec<&LoadedPolicy> = load.policies.iter().filter(|p| names.contains(&name(p))).collect();
    (!found.is_empty()).then(|| of(load, &found))
}

/// The old policies that the annotation of a policy names; a name may be one in its namespace.
fn replaced(policy: &LoadedPolicy, old: &PolicyNames) -> Vec<String> {
    let annotations = policy.document.at(&["metadata", "annotations"]).and_then(Value::as_map);
    let written = annotations.and_then(|map| map.get(REPLACES)?.as_str()).unwrap_or_default();
    let namespace = policy.document.text_at(&["metadata", "namespace"]);
    let of = |name: &str| {
        let both = [format!("{namespace}/{name}"), name.to_string()];
        both.into_iter().find(|name| old.all.contains(name))
    };
    written.split(',').map(str::trim).filter_map(of).collect()
}

/// Pairs of names of which each begins or ends with the other, where neither has another such
/// partner.
fn similar(old: &[String], new: &[String]) -> Vec<(String, String)> {
    let is_part = |whole: &str, part: &str| {
        let rest = whole.strip_prefix(part).map(|rest| rest.starts_with(['-', '.']));
        let head = whole.strip_suffix(part).map(|head| head.ends_with(['-', '.']));
        rest == Some(true) || head == Some(true)
    };
    let is_similar = |a: &str, b: &str| is_part(a, b) || is_part(b, a);
    let only = |all: &[String], of: &str| {
        let mut found = all.iter().filter(|name| is_similar(name, of));
        found.next().filter(|_| found.next().is_none()).cloned()
    };
    let mutual = |from: &String| {
        let to = only(new, from)?;
        (only(old, &to)? == *from).then(|| (from.clone(), to))
    };
    old.iter().filter_map(mutual).collect()
}

/// `name` or `namespace/name`.
pub fn name(policy: &LoadedPolicy) -> String {
    match policy.document.text_at(&["metadata", "namespace"]) {
        "" => policy.name.clone(),
        namespace => format!("{namespace}/{}", policy.name),
    }
}

/// Some policies of a load, with its exceptions and bindings.
fn of(load: &Policies, policies: &[&LoadedPolicy]) -> Policies {
    Policies {
        policies: policies.iter().map(|policy| (*policy).clone()).collect(),
        exceptions: load.exceptions.clone(),
        cel_exceptions: load.cel_exceptions.clone(),
        bindings: load.bindings.clone(),
        ..Policies::default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// A file of policies, each with the names that it replaces.
    fn written(policies: &[(&str, &str)]) -> String {
        let each = policies.iter().map(|(name, replaces)| {
            let annotations = match replaces {
                &"" => String::new(),
                names => format!(", annotations: {{{REPLACES}: '{names}'}}"),
            };
            format!(
                "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}{annotations}}}\nspec: {{rules: [{{name: r, match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}, validate: {{message: m, deny: {{}}}}}}]}}\n"
            )
        });
        each.collect::<Vec<_>>().join("---\n")
    }

    fn read(text: String) -> Policies {
        ephor_policies::load::argument(&[ephor_sources::files::SourceText { name: "p.yaml".into(), text }])
    }

    fn load(policies: &[(&str, &str)]) -> Policies {
        read(written(policies))
    }

    fn mapping(text: &str) -> Result<Mapping, MappingError> {
        Mapping::of(&ephor_document::yaml_value(text).unwrap())
    }

    /// `old+old=new: why` of each pair.
    fn paired(old: &[(&str, &str)], new: &[(&str, &str)], map: &str) -> Vec<String> {
        let names = |side: &Option<Policies>| {
            let policies = side.iter().flat_map(|load| &load.policies);
            policies.map(|p| p.name.clone()).collect::<Vec<_>>().join("+")
        };
        let mapping = if map.is_empty() { Mapping::default() } else { mapping(map).unwrap() };
        let pairs = pairs(&load(old), &load(new), &mapping).unwrap();
        pairs.iter().map(|p| format!("{}={}: {:?}", names(&p.old), names(&p.new), p.by)).collect()
    }

    #[test]
    fn policies_of_one_name_are_a_pair_and_others_have_no_partner() {
        let found = paired(&[("a", ""), ("b", "")], &[("b", ""), ("c", "")], "");
        assert_eq!(found, ["a=: Nothing", "b=b: Name", "=c: Nothing"]);
        assert_eq!(paired(&[("a", "")], &[("z", "")], ""), ["a=z: Alone"]);
    }

    #[test]
    fn an_annotation_names_what_is_replaced_also_by_several_and_of_several() {
        let found = paired(&[("a", ""), ("b", ""), ("c", "")], &[("x", "a, b"), ("v", "c"), ("z", "c")], "");
        assert_eq!(found, ["a+b=x: Annotation", "c=v+z: Annotation"]);
        // One that names no policy of the other side has no effect.
        assert_eq!(paired(&[("a", ""), ("b", "")], &[("a", "gone")], "")[0], "a=a: Name");
    }

    #[test]
    fn an_annotation_of_a_policy_in_a_namespace_names_one_in_it() {
        let within = |policies: &[(&str, &str)]| {
            let text = written(policies);
            read(
                text.replace("kind: ClusterPolicy", "kind: Policy")
                    .replace("metadata: {name", "metadata: {namespace: shop, name"),
            )
        };
        let old = within(&[("a", ""), ("b", "")]);
        let new = within(&[("a", "a"), ("a-r", "a"), ("b", "")]);
        let found = pairs(&old, &new, &Mapping::default()).unwrap();
        let sizes: Vec<(String, usize)> =
            found.iter().map(|p| (p.name.clone(), p.new.as_ref().unwrap().policies.len())).collect();
        assert_eq!(sizes, [("shop/a".to_string(), 2), ("shop/b".to_string(), 1)]);
    }

    #[test]
    fn a_mapping_takes_precedence_over_annotations_and_names() {
        let found = paired(&[("a", ""), ("b", "")], &[("a", ""), ("b", "a")], "a: [b]\nb: a\n");
        assert_eq!(found, ["a=b: Mapping", "b=a: Mapping"]);
        assert_eq!(paired(&[("a", ""), ("b", "")], &[("x", "")], "{a: x, b: [x]}"), ["a+b=x: Mapping"]);
    }

    #[test]
    fn names_with_an_ending_are_similar_where_no_other_is() {
        let found = paired(&[("no-x", ""), ("no-y", "")], &[("no-x-vpol", ""), ("cel-no-y", "")], "");
        assert_eq!(found, ["no-x=no-x-vpol: SimilarName", "no-y=cel-no-y: SimilarName"]);
        let found = paired(&[("no-x", ""), ("b", "")], &[("no-x-vpol", ""), ("no-x-vap", "")], "");
        assert_eq!(found, ["no-x=: Nothing", "b=: Nothing", "=no-x-vpol: Nothing", "=no-x-vap: Nothing"]);
        // Half of a word is no ending.
        assert_eq!(paired(&[("pod", ""), ("b", "")], &[("pods", "")], "").len(), 3);
    }

    #[test]
    fn a_mapping_of_another_form_or_of_unknown_names_is_an_error() {
        assert_eq!(mapping("[a]"), Err(MappingError::NoMap));
        assert_eq!(mapping("{a: 1}"), Err(MappingError::NoName("a".into())));
        let error = pairs(&load(&[("a", "")]), &load(&[("b", "")]), &mapping("a: c").unwrap());
        assert_eq!(error.unwrap_err().to_string(), "no new policy is called `c`");
    }
}
