//! The comparison: each unit of one side must be covered by units of the other.
//!
//! In: two sides. Out: a [`Comparison`]. A unit that is violated by an object is covered when a unit of the other side is violated by
//! it, too. When that holds for each unit, in both directions and in every environment, both sides deny the same requests. It is enough
//! to look at the objects of [`Domain`] for what the units involved read, whatever else the policies read: so the combinations stay
//! few. Objects on which a unit is not covered are evaluated by both sides as a whole: where these differ, that is a difference;
//! where they do not, more units are taken together.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysis::reads::{Reads, Tree};
use crate::kubernetes::Types;
use crate::kubernetes::admitted::{Reason, Refusal, admitted, kind_of};
use crate::value::Value;
use crate::value::place::{PathPart, parse};

use super::answer::{Answer, Comparison, Difference, DifferenceKind, Universe};
use super::domain::Domain;
use super::environment::{Environment, environments};
use super::predicates::Predicates;
use super::shrink::shrink;
use super::side::{Case, Judgement, Side, judge, request};
use super::units::{Unit, units};

/// How much a comparison may do.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many objects are evaluated at most for one unit.
    pub objects: usize,
    /// How many evaluations there are at most in all.
    pub evaluations: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { objects: 20_000, evaluations: 2_000_000 }
    }
}

/// Statements about items of lists, more of which are not distinguished.
const MOST_ITEMS: usize = 3;

/// How many units of the other side are taken together.
const TOGETHER: usize = 12;

/// How many objects that show a difference are evaluated by both sides.
const MOST_WITNESSES: usize = 64;

/// Compares two sides.
pub fn compare(old: &Side, new: &Side, options: Options) -> Comparison {
    let (environments, partly) = environments([old, new]);
    let mut kinds: Vec<String> = environments.iter().map(|e| e.resource.kind.to_string()).collect();
    kinds.dedup();
    if let Some(why) = [old, new].into_iter().find_map(Side::unsupported) {
        return Comparison {
            answer: Answer::Incomparable(why),
            differences: Vec::new(),
            existing: None,
            objects: 0,
            kinds,
        };
    }
    let mut run = Run {
        sides: [old, new],
        options,
        left: options.evaluations,
        objects: 0,
        reasons: partly.into_iter().collect(),
        found: BTreeMap::new(),
    };
    for environment in &environments {
        run.environment(environment);
    }
    run.end(kinds)
}

/// What identifies a kind of difference: how, on which kind, whether in deletions, and by which rules.
type Key = (DifferenceKind, String, bool, [Option<String>; 2]);

struct Run<'s> {
    sides: [&'s Side; 2],
    options: Options,
    left: usize,
    objects: usize,
    reasons: BTreeSet<String>,
    found: BTreeMap<Key, Difference>,
}

/// On which objects units do not cover one.
#[derive(Default)]
struct Uncovered {
    /// On these, which exist in clusters.
    in_clusters: Vec<Case>,
    /// On these, which exist in files.
    in_files: Vec<Case>,
    /// Why the objects that were tried do not stand for all.
    open: Option<String>,
    /// Why those in clusters do not.
    open_in_clusters: Option<String>,
}

impl Run<'_> {
    fn environment(&mut self, environment: &Environment) {
        let [old, new] = self.sides.map(|side| units(side, environment));
        for (from, to, at) in [(&old, &new, 0), (&new, &old, 1)] {
            for unit in from {
                self.unit(environment, unit, to, at);
            }
        }
    }

    /// Looks whether a unit of the side `at` is covered by units of the other.
    fn unit(&mut self, environment: &Environment, unit: &Unit, others: &[Unit], at: usize) {
        let Some(reads) = &unit.reads else {
            self.reasons.insert("a rule reads what only a request shows".into());
            return;
        };
        let mut near: Vec<&Unit> = others.iter().filter(|other| other.reads.is_some()).collect();
        if near.len() < others.len() {
            self.reasons.insert("a rule reads what only a request shows".into());
        }
        let overlap = |other: &Unit| other.reads.as_ref().map_or(0, |o| shared(reads, o));
        near.sort_by_key(|other| std::cmp::Reverse(overlap(other)));
        let close: Vec<&Unit> = near.iter().copied().filter(|o| overlap(o) > 0).take(TOGETHER).collect();
        let singles = near.iter().take(3).map(|one| vec![*one]);
        let mut attempts: Vec<Vec<&Unit>> = singles.collect();
        if close.len() > 1 {
            attempts.push(close);
        }
        if attempts.is_empty() {
            attempts.push(Vec::new());
        }
        let mut witnesses: Vec<Case> = Vec::new();
        // Whether it is covered, and why that is no proof.
        let mut covered: Option<Option<String>> = None;
        for others in &attempts {
            let found = self.cover(environment, unit, others);
            let why = found.open.clone().or(found.open_in_clusters);
            if found.in_clusters.is_empty() && covered.as_ref().is_none_or(Option::is_some) {
                covered = Some(why);
            }
            if found.in_clusters.is_empty() && found.in_files.is_empty() {
                break;
            }
            for of in [found.in_clusters, found.in_files] {
                witnesses.extend(of.into_iter().take(MOST_WITNESSES / 2));
            }
        }
        // Each is looked at: the best of them is shown.
        let mut is_real = false;
        for case in witnesses {
            is_real |= self.witness(environment, case);
        }
        match covered {
            Some(None) => {}
            Some(Some(why)) => {
                self.reasons.insert(why);
            }
            None if is_real => {}
            None => {
                let side = if at == 0 { "old" } else { "new" };
                self.reasons
                    .insert(format!("a rule of the {side} side is covered by several of the other together"));
            }
        }
    }

    fn cover(&mut self, environment: &Environment, unit: &Unit, others: &[&Unit]) -> Uncovered {
        let mut reads = unit.reads.clone().unwrap_or_default();
        let mut tested = unit.predicates.clone();
        let mut most = 0;
        for other in others {
            reads.merge(other.reads.as_ref().unwrap_or(&Reads::default()));
            most = most.max(other.predicates.loops);
            let loops = tested.loops;
            tested.merge(&other.predicates);
            tested.loops = loops;
        }
        tested.loops += most;
        let mut found = Uncovered { open: open(&reads, &tested), ..Uncovered::default() };
        if tested.loops > MOST_ITEMS {
            found.open.get_or_insert_with(|| "many statements about items of lists".into());
        }
        let items = tested.loops.clamp(1, MOST_ITEMS);
        let mut domain = Domain::new(Types::built_in(), &tested, environment, items, self.options.objects);
        let cases = cases(environment, &reads, &mut domain);
        found.open = found.open.or(domain.open);
        for case in cases {
            if self.left == 0 {
                found.open = Some("the limit of evaluations was reached".into());
                break;
            }
            if self.is_covered(environment, unit, others, &case) {
                continue;
            }
            match seen_in_clusters(&case) {
                Seen::Unknown => found.in_clusters.push(case),
                Seen::As(seen) if self.is_covered(environment, unit, others, &seen) => {
                    found.in_files.push(case)
                }
                Seen::As(_) => found.in_clusters.push(case),
                // Only the absence of a field that is read is a class of its own.
                Seen::Without(field) if is_read(&reads, &field) => found.in_files.push(case),
                Seen::Without(_) | Seen::Refused => {
                    // Another object of the same classes may be admitted.
                    found.open_in_clusters =
                        Some("an API server refuses the objects on which rules differ".into());
                    found.in_files.push(case);
                }
            }
            found.in_files.truncate(MOST_WITNESSES);
            if found.in_clusters.len() >= MOST_WITNESSES {
                break;
            }
        }
        found
    }

    /// Whether an object that violates a unit violates one of the others as gravely.
    fn is_covered(&mut self, environment: &Environment, unit: &Unit, others: &[&Unit], case: &Case) -> bool {
        self.left = self.left.saturating_sub(1);
        self.objects += 1;
        let Some(request) = request(environment, case) else { return true };
        let verdict = judge(&unit.engine, &request).verdict;
        !verdict.is_violation()
            || others.iter().any(|other| {
                self.left = self.left.saturating_sub(1);
                judge(&other.engine, &request).verdict >= verdict
            })
    }

    /// Evaluates both sides as a whole on an object; whether they differ.
    fn witness(&mut self, environment: &Environment, case: Case) -> bool {
        let Some((kind, old, new)) = self.differ(environment, &case) else { return false };
        let universe = self.universe(environment, &case, kind);
        let by = |judgement: &Judgement| {
            let is_violation = judgement.verdict.is_violation();
            judgement.by.as_ref().filter(|_| is_violation).map(|(policy, rule)| format!("{policy}/{rule}"))
        };
        let key = (
            kind,
            environment.resource.kind.to_string(),
            environment.operation == "DELETE",
            [by(&old), by(&new)],
        );
        let is_better = self
            .found
            .get(&key)
            .is_none_or(|known| (universe, size(&case.object)) < (known.universe, size(&known.object)));
        if is_better {
            let environment = environment.clone();
            let Case { object, old: old_object } = case;
            self.found.insert(key, Difference { kind, universe, environment, object, old_object, old, new });
        }
        true
    }

    fn differ(
        &self,
        environment: &Environment,
        case: &Case,
    ) -> Option<(DifferenceKind, Judgement, Judgement)> {
        let request = request(environment, case)?;
        let [old, new] = self.sides.map(|side| side.judge(&request));
        let kind = match (old.verdict.is_violation(), new.verdict.is_violation()) {
            (true, false) => DifferenceKind::Weaker,
            (false, true) => DifferenceKind::Stricter,
            (true, true) if old.verdict != new.verdict => DifferenceKind::Errors,
            _ => return None,
        };
        Some((kind, old, new))
    }

    /// Where an object can exist so that the sides differ in the same way.
    fn universe(&self, environment: &Environment, case: &Case, kind: DifferenceKind) -> Universe {
        match seen_in_clusters(case) {
            Seen::Unknown => Universe::Any,
            Seen::Without(_) | Seen::Refused => Universe::Files,
            Seen::As(seen) => match self.differ(environment, &seen) {
                Some((same, ..)) if same == kind => Universe::Cluster,
                _ => Universe::Files,
            },
        }
    }

    fn end(mut self, kinds: Vec<String>) -> Comparison {
        let found = std::mem::take(&mut self.found);
        let mut differences: Vec<Difference> = Vec::new();
        for mut difference in found.into_values() {
            let environment = difference.environment.clone();
            let (kind, universe) = (difference.kind, difference.universe);
            let old_object = difference.old_object.clone();
            let first = Case { object: difference.object.clone(), old: old_object.clone() };
            let is_refused = matches!(seen_in_clusters(&first), Seen::Without(_));
            let mut shows = |object: &Value| {
                let case = Case { object: object.clone(), old: old_object.clone() };
                // What no API server admits for want of a field says less.
                if !is_refused && matches!(seen_in_clusters(&case), Seen::Without(_)) {
                    return false;
                }
                !object.text_at(&["metadata", "name"]).is_empty()
                    && self.differ(&environment, &case).is_some_and(|(same, ..)| same == kind)
                    && self.universe(&environment, &case, kind) == universe
            };
            difference.object = shrink(&difference.object, &mut shows);
            let case = Case { object: difference.object.clone(), old: difference.old_object.clone() };
            if let Some((_, old, new)) = self.differ(&environment, &case) {
                (difference.old, difference.new) = (old, new);
            }
            let is_known = |known: &Difference| {
                known.kind == difference.kind
                    && known.object == difference.object
                    && (known.environment.operation == "DELETE")
                        == (difference.environment.operation == "DELETE")
            };
            if !differences.iter().any(is_known) {
                differences.push(difference);
            }
        }
        differences
            .sort_by_key(|d| (d.universe, d.kind, d.environment.operation == "DELETE", size(&d.object)));
        let differs = differences.iter().any(|d| d.universe != Universe::Files);
        let answer = match (differs, self.reasons.is_empty()) {
            (true, _) => Answer::Differs,
            (false, true) => Answer::Proved,
            (false, false) => Answer::Tested(self.reasons.into_iter().collect()),
        };
        let allows = self.sides.map(Side::allows_existing);
        let existing = match allows {
            [true, false] => Some("old"),
            [false, true] => Some("new"),
            _ => None,
        };
        Comparison { answer, differences, existing, objects: self.objects, kinds }
    }
}

/// The objects of an environment.
fn cases(environment: &Environment, reads: &Reads, domain: &mut Domain<'_>) -> Vec<Case> {
    let mut tree = reads.object.clone();
    tree.merge(&reads.shown);
    if environment.operation == "DELETE" {
        tree.merge(&reads.old);
    }
    let objects = domain.objects(environment, &tree, reads.name);
    let is_update = environment.operation == "UPDATE" && reads.old != Tree::default();
    if !is_update {
        return objects.into_iter().map(|object| Case { object, old: None }).collect();
    }
    let before = domain.objects(environment, &reads.old, false);
    let mut all: Vec<Case> = Vec::new();
    for old in &before {
        for object in &objects {
            if all.len() >= 4 * objects.len().max(before.len()).max(2_000) {
                domain.open.get_or_insert_with(|| "too many former objects".into());
                return all;
            }
            all.push(Case { object: object.clone(), old: Some(old.clone()) });
        }
    }
    all
}

/// How admission webhooks of a cluster see the objects of a case.
enum Seen {
    /// So.
    As(Case),
    /// An API server refuses them, and all that lack this field.
    Without(String),
    /// An API server refuses them.
    Refused,
    /// Nothing is known of their kind.
    Unknown,
}

fn seen_in_clusters(case: &Case) -> Seen {
    let mut seen = Vec::new();
    for object in std::iter::once(&case.object).chain(&case.old) {
        match kind_of(object).and_then(|kind| admitted(&kind, object)) {
            None => return Seen::Unknown,
            Some(Ok(object)) => seen.push(object),
            Some(Err(Refusal { reason: Reason::Required, path, .. })) => return Seen::Without(path),
            Some(Err(_)) => return Seen::Refused,
        }
    }
    let mut seen = seen.into_iter();
    match (seen.next(), seen.next()) {
        (Some(object), old) => Seen::As(Case { object, old }),
        _ => Seen::Unknown,
    }
}

/// Whether a field of the object is read, so that policies distinguish its absence.
fn is_read(reads: &Reads, field: &str) -> bool {
    fn of(tree: &Tree, path: &[PathPart]) -> bool {
        let Some((step, rest)) = path.split_first() else { return true };
        let below = match step {
            PathPart::Key(key) => tree.get(key),
            PathPart::Index(_) => tree.items.as_deref().or(tree.nested.as_deref()),
        };
        tree.whole || below.is_some_and(|below| of(below, rest))
    }
    let path = parse(field);
    [&reads.object, &reads.shown, &reads.old].into_iter().any(|tree| of(tree, &path))
}

/// Why classes of values do not say all.
fn open(reads: &Reads, tested: &Predicates) -> Option<String> {
    if let Some(why) = &tested.open {
        return Some(why.clone());
    }
    if reads.external {
        return Some("external data".into());
    }
    if reads.user {
        return Some("who makes the request".into());
    }
    (reads.namespace != Tree::default()).then(|| "the namespace as an object".into())
}

/// How many fields two readers have in common.
fn shared(a: &Reads, b: &Reads) -> usize {
    fn of(a: &Tree, b: &Tree) -> usize {
        let below: usize = a.keys.iter().filter_map(|(key, a)| Some(1 + of(a, b.get(key)?))).sum();
        let items = a.items.as_deref().zip(b.items.as_deref()).map_or(0, |(a, b)| 1 + of(a, b));
        below + items
    }
    let whole = |reads: &Reads| {
        let mut tree = reads.object.clone();
        tree.merge(&reads.shown);
        tree.merge(&reads.old);
        tree
    };
    of(&whole(a), &whole(b))
}

/// How large an object is.
fn size(value: &Value) -> usize {
    crate::value::print::json(value).len()
}
