//! Policies that read the same fields.
//!
//! In: policies without a partner. Out: pairs of which each is the one that reads most of what
//! the other reads, and no other policy does so much: policies that were rewritten under another
//! name.

use std::collections::{BTreeMap, BTreeSet};

use ephor_analysis::reads::ReadTree;
use ephor_policies::load::Policies;

use crate::model::limits::MAX_OVERLAP_DEPTH;
use crate::sides::environments::environments;
use crate::sides::side::Side;
use crate::units::split::units;

/// The fields at which policies look, by kind.
type Fields = BTreeMap<String, BTreeSet<String>>;

/// Of policies of both sides those that are pairs, by their positions.
pub(crate) fn overlapping(old: &[Policies], new: &[Policies]) -> Vec<(usize, usize)> {
    if old.is_empty() || new.is_empty() {
        return Vec::new();
    }
    let [old, new] = [old, new].map(|all| all.iter().map(fields).collect::<Vec<Fields>>());
    let mutual = |(at, own): (usize, &Fields)| {
        let to = best(own, &new)?;
        (best(new.get(to)?, &old)? == at).then_some((at, to))
    };
    old.iter().enumerate().filter_map(mutual).collect()
}

/// The position of the one that reads most of what is read, at half of it at least; `None`
/// where there is none, or several.
fn best(own: &Fields, others: &[Fields]) -> Option<usize> {
    let shares: Vec<(usize, usize)> = others.iter().map(|other| share(own, other)).collect();
    let is_more = |a: (usize, usize), b: (usize, usize)| a.0 * b.1 > b.0 * a.1;
    let numbered = || shares.iter().copied().enumerate();
    let (at, most) = numbered().reduce(|a, b| if is_more(b.1, a.1) { b } else { a })?;
    let is_only = numbered().all(|(other, share)| other == at || is_more(most, share));
    (most.0 > 0 && 2 * most.0 >= most.1 && is_only).then_some(at)
}

/// How many of the fields at which two look in objects of kinds that both know both read, and
/// how many one of them.
fn share(a: &Fields, b: &Fields) -> (usize, usize) {
    let kinds = a.iter().filter_map(|(kind, own)| Some((own, b.get(kind)?)));
    let counts = kinds.map(|(own, other)| (own.intersection(other).count(), own.union(other).count()));
    let (both, all) = counts.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    (both, all.max(1))
}

fn fields(load: &Policies) -> Fields {
    let mut found = Fields::new();
    let Ok(side) = Side::new(load.clone(), "") else { return found };
    for environment in environments([&side, &side]).0.iter().filter(|one| one.is_creation()) {
        let own = found.entry(environment.resource.kind.to_string()).or_default();
        for unit in units(&side, environment) {
            for tree in [&unit.reads.object, &unit.reads.shown, &unit.reads.old] {
                add(tree, &mut String::new(), 0, own);
            }
        }
    }
    found
}

/// The paths of all fields that are read and have none below that are.
fn add(tree: &ReadTree, path: &mut String, depth: usize, out: &mut BTreeSet<String>) {
    let length = path.len();
    let mut is_leaf = true;
    let keys = tree.keys.iter().map(|(key, below)| (format!(".{key}"), below));
    let items = [&tree.items, &tree.nested].into_iter().flatten().map(|below| ("[]".to_string(), &**below));
    for (step, below) in keys.chain(items).filter(|_| depth < MAX_OVERLAP_DEPTH) {
        is_leaf = false;
        path.push_str(&step);
        add(below, path, depth + 1, out);
        path.truncate(length);
    }
    if is_leaf && depth > 0 {
        out.insert(path.clone());
    }
}

#[cfg(test)]
mod tests {
    use ephor_sources::files::SourceText;

    use super::*;
    use crate::compare_tests::classic;

    fn load(text: &str) -> Policies {
        ephor_policies::load::argument(&[SourceText { name: "p.yaml".into(), text: text.into() }])
    }

    fn checking(kind: &str, pattern: &str) -> Policies {
        load(&classic(kind, &format!("{{message: m, pattern: {pattern}}}")))
    }

    fn in_cel(resource: &str, expression: &str) -> Policies {
        load(&format!(
            "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {{name: q}}\nspec:\n  matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [{resource}]}}]}}\n  validations:\n  - expression: \"{expression}\"\n"
        ))
    }

    #[test]
    fn policies_that_read_the_same_fields_are_pairs() {
        let old = [
            checking("Pod", "{spec: {containers: [{image: '!*:latest'}]}}"),
            checking("Pod", "{spec: {hostNetwork: false}}"),
            checking("ConfigMap", "{data: {color: '?*'}}"),
        ];
        let new = [
            in_cel("pods", "!object.spec.?hostNetwork.orValue(false)"),
            in_cel("configmaps", "object.?immutable.orValue(false)"),
            in_cel("pods", "object.spec.containers.all(c, !c.image.endsWith(':latest'))"),
        ];
        assert_eq!(overlapping(&old, &new), [(0, 2), (1, 0)]);
    }

    #[test]
    fn the_same_kind_is_no_overlap_and_of_two_alike_none_is_a_partner() {
        let old = [checking("Pod", "{spec: {hostNetwork: false}}")];
        assert_eq!(overlapping(&old, &[in_cel("pods", "!object.spec.hostPID")]), []);
        let twice =
            [in_cel("pods", "object.spec.hostNetwork == true"), in_cel("pods", "!object.spec.hostNetwork")];
        assert_eq!(overlapping(&old, &twice), []);
        assert_eq!(overlapping(&old, &twice[..1]), [(0, 0)]);
    }
}
