//! The parts of a unit that decide: values about which all of them say the same stand for each other.
//!
//! In: a unit. Out: its atoms: each attribute of its filters, each condition, each pattern, and what boolean operators join in its expressions, each as a
//! rule of its own. What the unit says follows from what its atoms say. So of the values of a field that all atoms look at alone, one
//! for each combination of their verdicts is enough, also of a field that has others below it; and of users and namespaces, too
//! ([`Deciding`]). Where the atoms do not read all that the unit reads, nothing is left out (`docs/diff.md`, "Method").

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::analysis::reads::{NAME_OF_NAMESPACE, Reads, Step, Tree, tested_by_policy};
use crate::engine::Request;
use crate::functions::registry::Operation;
use crate::ir::check::{Check, Overlay, Overlays};
use crate::ir::constraints::Constraints;
use crate::ir::expressions::{Source, Validation, Variable};
use crate::ir::facts::NamespaceScope;
use crate::ir::matcher::{Filter, Matcher, Selector};
use crate::ir::rule::Body;
use crate::ir::shape::{Anchor, Pattern};
use crate::ir::sharing::Sharing;
use crate::ir::{Conditions, Expr, Origin, Policy, Rule};
use crate::lower::LATE;
use crate::policies::policy_set::{Engine, PolicySet};
use crate::value::wildcard::has_wildcard;
use crate::value::{Map, Str, Value};

use super::domain::Choice;
use super::environment::Environment;
use super::inputs::has_inputs;
use super::loops::{Isolated, isolated, own};
use super::one_key::OneKey;
use super::outside;
use super::predicates::Predicates;
use super::side::{Verdict, judge};
use super::surroundings::{Case, Surroundings, request};
use super::units::{Unit, has_deciding_anchor, leaves};

/// A unit of more atoms is looked at as a whole.
const MOST: usize = 96;

/// More verdicts are not asked for at one field.
const MOST_VERDICTS: usize = 400_000;

/// More of what an atom says is not known.
const MOST_KNOWN: usize = 50_000;

/// Fewer objects that lack fields are left as they are.
const FEW: usize = 64;

/// Deeper expressions are not taken apart.
const DEEPEST: usize = 32;

/// A part of a unit.
pub(crate) struct Atom {
    /// It alone, as a rule.
    engine: Engine,
    /// What it reads of the object.
    tree: Tree,
    /// Whether it looks at who sends the request.
    user: bool,
    /// Whether it looks at the namespace.
    namespace: bool,
    /// Whether it looks at anything else but the fields of the object.
    elsewhere: bool,
    /// What it tests, where it looks at these.
    tested: Option<Predicates>,
    /// What it says of values, by field.
    known: RefCell<HashMap<Vec<Step>, HashMap<Option<Value>, Verdict>>>,
    /// How many that are.
    count: Cell<usize>,
}

/// The atoms of a unit; `None`: it is not known that what it says follows from what they say.
pub(crate) fn atoms(unit: &Unit, kind: &str, is_deletion: bool) -> Option<Vec<Arc<Atom>>> {
    let set = unit.engine.set();
    if !set.exceptions().is_empty() || !set.cel_exceptions().is_empty() || !unit.is_all_read {
        return None;
    }
    let [policy] = set.policies() else { return None };
    let [rule] = &*policy.rules else { return None };
    let is_plain = policy.namespace.is_none()
        && policy.scope == NamespaceScope::All
        && rule.broken.is_none()
        && rule.expressions.as_deref().is_none_or(|shared| shared.params.is_none())
        && (policy.admit.is_empty() || rule.expressions.is_some());
    let is_bound_plainly = rule.bound.as_deref().is_none_or(|bound| {
        bound.param_kind.is_none()
            && bound.bindings.iter().all(|one| one.when.is_none() && one.params.is_none())
    });
    if !is_plain || !is_bound_plainly {
        return None;
    }
    let mut cutter = Cutter { policy, rule, found: Vec::new() };
    cutter.rule()?;
    let found = cutter.found;
    if found.len() > MOST {
        return None;
    }
    let of = |policy: Policy| {
        let (reads, _) = tested_by_policy(&policy, kind, &[], &[], LATE, is_deletion).ok()?;
        let tested = Predicates::of(&policy);
        Some((Atom::new(policy, &reads, tested, is_deletion), reads))
    };
    let found: Option<Vec<(Atom, Reads)>> = found.into_iter().map(of).collect();
    let (mut all, mut together) = (Vec::new(), Reads::default());
    for (atom, reads) in found? {
        together.merge(&reads);
        all.push(Arc::new(atom));
    }
    is_all_of(&unit.reads, &together).then_some(all)
}

impl Atom {
    fn new(policy: Policy, reads: &Reads, tested: Predicates, is_deletion: bool) -> Atom {
        let mut tree = own(reads, is_deletion).clone();
        tree.merge(&reads.shown);
        let elsewhere = reads.name
            || reads.external
            || reads.more_of_request
            || (!is_deletion && reads.old != Tree::default())
            || !tested.names.is_empty()
            || !tested.namespaces.is_empty()
            || tested.namespace_labels.contains_key(NAME_OF_NAMESPACE)
            || has_inputs(&tree);
        let user = reads.user;
        // The name of the namespace is a field of the object.
        let namespace = reads.namespace != Tree::default()
            || tested.namespace_labels.keys().any(|label| label != NAME_OF_NAMESPACE);
        let engine = outside::engine(PolicySet::new(vec![Arc::new(policy)], Vec::new()));
        Atom {
            engine,
            tree,
            user,
            namespace,
            elsewhere,
            tested: Some(tested).filter(|_| user || namespace),
            known: RefCell::default(),
            count: Cell::default(),
        }
    }

    /// What it says of a value of a field, where that is known.
    fn known(&self, field: &[Step], value: &Option<Value>) -> Option<Verdict> {
        self.known.borrow().get(field)?.get(value).copied()
    }

    /// The same, which a request says where it is not known.
    fn said(&self, field: &[Step], value: &Option<Value>, request: &Request) -> Verdict {
        if let Some(known) = self.known(field, value) {
            return known;
        }
        let said = judge(&self.engine, request).verdict;
        if self.count.get() < MOST_KNOWN {
            self.count.set(self.count.get() + 1);
            self.known.borrow_mut().entry(field.to_vec()).or_default().insert(value.clone(), said);
        }
        said
    }
}

/// Whether some reads are among others.
fn is_all_of(reads: &Reads, others: &Reads) -> bool {
    let both = |of: fn(&Reads) -> &Tree| has_tree(of(others), of(reads));
    let mut object = others.object.clone();
    object.merge(&others.shown);
    has_tree(&object, &reads.object)
        && has_tree(&object, &reads.shown)
        && both(|reads| &reads.old)
        && both(|reads| &reads.namespace)
        && (others.name || !reads.name)
        && (others.user || !reads.user)
        && (others.more_of_request || !reads.more_of_request)
        && (others.external || !reads.external)
}

/// Whether a tree reads all that another one reads.
fn has_tree(tree: &Tree, other: &Tree) -> bool {
    let below = |tree: &Option<Box<Tree>>, other: &Option<Box<Tree>>| match (tree, other) {
        (_, None) => true,
        (Some(tree), Some(other)) => has_tree(tree, other),
        (None, Some(_)) => false,
    };
    tree.whole
        || (!other.whole
            && (tree.names || !other.names)
            && other.keys.iter().all(|(key, other)| tree.get(key).is_some_and(|tree| has_tree(tree, other)))
            && below(&tree.items, &other.items)
            && below(&tree.nested, &other.nested))
}

/// Takes a rule apart.
struct Cutter<'r> {
    policy: &'r Policy,
    rule: &'r Rule,
    found: Vec<Policy>,
}

impl Cutter<'_> {
    fn rule(&mut self) -> Option<()> {
        let Body::Validate { check, .. } = &self.rule.body else { return None };
        for matcher in [&self.rule.when, &self.rule.unless] {
            self.matcher(matcher);
        }
        for one in self.policy.overrides.iter().chain(&self.rule.action.overrides) {
            let none = || Filter { origin: Origin::default(), has_resource: true, ..Filter::default() };
            let namespaces = Filter { namespaces: one.namespaces.clone().unwrap_or_default(), ..none() };
            let of_namespace = |one| Filter { namespace_selector: Some(one), ..none() };
            let all = std::iter::once(namespaces).chain(requirements(&one.selector).map(of_namespace));
            all.for_each(|one| self.selection(Matcher::Any([one].into())));
        }
        self.rule.admit.iter().for_each(|admit| self.conditions(admit));
        self.policy.admit.iter().for_each(|source| self.source(source));
        let shared = self.rule.expressions.as_deref();
        shared.into_iter().flat_map(|shared| &shared.conditions).for_each(|source| self.source(source));
        self.check(check);
        Some(())
    }

    fn add(&mut self, when: Option<Matcher>, check: Check) {
        let of = Isolated { when, keeps_bindings: true };
        let found = isolated(self.policy, self.rule, of, check);
        self.found.push(found);
    }

    fn selection(&mut self, when: Matcher) {
        self.add(Some(when), everything());
    }

    /// Each attribute alone; kinds and operations are those of the environment.
    fn matcher(&mut self, matcher: &Matcher) {
        if let Matcher::Constraints(constraints) = matcher {
            let none = || Constraints {
                rules: Box::default(),
                exclude: Box::default(),
                namespace_selector: None,
                object_selector: None,
                ..(**constraints).clone()
            };
            let resources = Constraints {
                rules: constraints.rules.clone(),
                exclude: constraints.exclude.clone(),
                ..none()
            };
            let of_namespace = |one| Constraints { namespace_selector: Some(one), ..none() };
            let of_object = |one| Constraints { object_selector: Some(one), ..none() };
            let all = std::iter::once(resources)
                .chain(requirements(&constraints.namespace_selector).map(of_namespace))
                .chain(requirements(&constraints.object_selector).map(of_object));
            all.for_each(|one| self.selection(Matcher::Constraints(Box::new(one))));
            return;
        }
        for filter in matcher.filters() {
            let none = || Filter { origin: filter.origin.clone(), has_resource: true, ..Filter::default() };
            let users = Filter {
                roles: filter.roles.clone(),
                cluster_roles: filter.cluster_roles.clone(),
                subjects: filter.subjects.clone(),
                has_resource: false,
                has_user: filter.has_user,
                ..none()
            };
            let all = [
                Filter { name: filter.name.clone(), names: filter.names.clone(), ..none() },
                Filter { namespaces: filter.namespaces.clone(), ..none() },
                Filter { annotations: filter.annotations.clone(), ..none() },
            ];
            let of_object = |one| Filter { selector: Some(one), ..none() };
            let of_namespace = |one| Filter { namespace_selector: Some(one), ..none() };
            let said = all
                .into_iter()
                .filter(|one| *one != none())
                .chain(requirements(&filter.selector).map(of_object))
                .chain(requirements(&filter.namespace_selector).map(of_namespace))
                .chain(filter.has_user.then_some(users));
            said.for_each(|one| self.selection(Matcher::Any([one].into())));
        }
    }

    fn conditions(&mut self, conditions: &Conditions) {
        for one in conditions.any.iter().flatten().chain(&conditions.all) {
            let alone = Conditions { any: None, all: [one.clone()].into(), ..conditions.clone() };
            self.add(None, Check::Deny(alone));
        }
    }

    fn source(&mut self, source: &Source) {
        let variables = self.rule.expressions.as_deref().map(|shared| &*shared.variables).unwrap_or_default();
        let Ok(program) = &source.program else {
            return self.add(None, assertion(source.clone()));
        };
        for part in joined(program, variables, 0) {
            self.add(
                None,
                assertion(Source { program: Ok(part), sharing: Sharing::default(), ..source.clone() }),
            );
        }
    }

    fn check(&mut self, check: &Check) {
        match check {
            Check::Deny(conditions) => self.conditions(conditions),
            Check::Assert(validations) => validations.iter().for_each(|one| self.source(&one.check)),
            Check::AnyPattern(Overlays::Ready(patterns), origin) => {
                for pattern in patterns.iter() {
                    self.pattern(pattern.clone(), origin);
                }
            }
            Check::Pattern(Overlay::Ready(pattern), origin) => self.pattern((**pattern).clone(), origin),
            other => self.add(None, other.clone()),
        }
    }

    /// The leaves of a pattern, and what is on the way to them: whatever anchors make of it, that is all that it looks at.
    fn pattern(&mut self, pattern: Pattern, origin: &Origin) {
        let parts = match has_deciding_anchor(&pattern.source) {
            true => members(&pattern.source).unwrap_or_default(),
            false => leaves(&pattern.source),
        };
        let lowered: Option<Vec<Pattern>> = parts.iter().map(|part| LATE.pattern(part)).collect();
        for part in lowered.filter(|all| !all.is_empty()).unwrap_or_else(|| vec![pattern]) {
            self.add(None, Check::Pattern(Overlay::Ready(Arc::new(part)), origin.clone()));
        }
    }
}

/// The requirements of a selector, each alone.
fn requirements(selector: &Option<Selector>) -> impl Iterator<Item = Selector> {
    let of = |selector: &Selector| {
        let none = Selector { labels: Box::default(), expressions: Box::default(), ..selector.clone() };
        let labels =
            selector.labels.iter().map(|one| Selector { labels: [one.clone()].into(), ..none.clone() });
        let of_sets = selector
            .expressions
            .iter()
            .map(|one| Selector { expressions: [one.clone()].into(), ..none.clone() });
        labels.chain(of_sets).collect::<Vec<_>>()
    };
    selector.iter().flat_map(of).collect::<Vec<_>>().into_iter()
}

/// For each member of a pattern: whether it is there, whether it is an object, and whether it is as it should be. `None`: the keys are not known.
fn members(pattern: &Value) -> Option<Vec<Value>> {
    let Value::Map(map) = pattern else { return Some(vec![pattern.clone()]) };
    let mut all = Vec::new();
    for (key, below) in map.iter() {
        let (anchor, name) = Anchor::parse(key);
        if has_wildcard(name) {
            return None;
        }
        all.push(Value::map([(format!("X({name})").as_str(), Value::from("null"))]));
        match below {
            Value::Map(inner) if !inner.is_empty() => {
                all.push(Value::map([(name, Value::Map(Map::new()))]));
                let of = |part: Value| Value::map([(name, part)]);
                all.extend(members(below)?.into_iter().map(of));
            }
            // Whether a condition holds is what its value says without it.
            _ => match anchor {
                Anchor::None | Anchor::Condition | Anchor::Global => {
                    all.push(Value::map([(name, below.clone())]));
                }
                _ => all.push(Value::map([(&**key, below.clone())])),
            },
        }
    }
    Some(all)
}

/// What denies everything.
fn everything() -> Check {
    Check::Deny(Conditions { origin: Origin::default(), any: None, all: Box::default(), flat: false })
}

fn assertion(check: Source) -> Check {
    Check::Assert([Validation { check, message: "".into(), message_program: None, reason: "".into() }].into())
}

/// What boolean operators join.
fn joined(expr: &Expr, variables: &[Variable], depth: usize) -> Vec<Expr> {
    let whole = || vec![expr.clone()];
    if depth > DEEPEST {
        return whole();
    }
    let parts =
        |sides: &[Expr]| sides.iter().flat_map(|e| joined(e, variables, depth + 1)).collect::<Vec<_>>();
    match expr {
        Expr::Decide { sides, .. } => parts(&**sides),
        Expr::Cond(sides) => parts(&**sides),
        Expr::Invoke(not) if not.function.operation() == Some(Operation::Not) => parts(&not.args),
        Expr::Cells { count, body } => {
            let around = |body: Expr| Expr::Cells { count: *count, body: Box::new(body) };
            joined(body, variables, depth + 1).into_iter().map(around).collect()
        }
        Expr::Walk(walk) if walk.steps.is_empty() => joined(&walk.base, variables, depth + 1),
        Expr::Variable(n) => {
            let at = *n as usize;
            // A variable sees those before it alone.
            match (variables.get(at).map(|v| &v.program), variables.get(..at)) {
                (Some(Ok(program)), Some(earlier)) => match joined(program, earlier, depth + 1) {
                    parts if parts.len() > 1 => parts,
                    _ => whole(),
                },
                _ => whole(),
            }
        }
        _ => whole(),
    }
}

/// How an atom looks at a field.
enum Looks<'a> {
    Not,
    /// At it, or at what is below it, and at nothing else.
    Alone(&'a Tree),
    /// At others, too; `None`: at all of something that the field is in.
    AtOthers(Option<&'a Tree>),
}

impl Atom {
    fn looks(&self, field: &[Step]) -> Looks<'_> {
        let mut tree = &self.tree;
        let mut has_others = self.user || self.namespace || self.elsewhere;
        for step in field {
            let Step::Key(key) = step else { return Looks::AtOthers(None) };
            if has_all(tree) {
                return Looks::AtOthers(None);
            }
            has_others |= tree.keys.iter().any(|(own, _)| own != key);
            match tree.get(key) {
                Some(below) => tree = below,
                None => return Looks::Not,
            }
        }
        if has_others { Looks::AtOthers(Some(tree)) } else { Looks::Alone(tree) }
    }
}

/// Whether something is read of each member of a value.
fn has_all(tree: &Tree) -> bool {
    tree.whole || tree.names || tree.items.is_some() || tree.nested.is_some()
}

/// The atoms of units in an environment, which leave out values that others stand for.
pub(crate) struct Deciding {
    environment: Environment,
    atoms: Vec<Arc<Atom>>,
    bare: Value,
    /// Whether something was left out.
    pub has_left_out: bool,
}

impl Deciding {
    /// Those of units; `None`: one is not taken apart.
    pub fn of<'u>(environment: &Environment, mut units: impl Iterator<Item = &'u Unit>) -> Option<Deciding> {
        if !environment.is_of_resource() || !environment.subresource.is_empty() {
            return None;
        }
        let mut atoms: Vec<Arc<Atom>> = Vec::new();
        units.try_for_each(|unit| {
            atoms.extend(
                unit.atoms(&environment.resource.kind, environment.operation == "DELETE")?.iter().cloned(),
            );
            Some(())
        })?;
        // Selectors of namespaces look at the labels of the object.
        if &*environment.resource.kind == "Namespace" && atoms.iter().any(|atom| atom.namespace) {
            return None;
        }
        let bare = environment.bare_object();
        Some(Deciding { environment: environment.clone(), atoms, bare, has_left_out: false })
    }

    /// The values of a field without those that others stand for.
    pub fn values(&mut self, field: &[Step], choices: Vec<Choice>, one_key: Option<&OneKey>) -> Vec<Choice> {
        let mut atoms = Vec::new();
        for atom in &self.atoms {
            match atom.looks(field) {
                Looks::Not => {}
                Looks::Alone(_) => atoms.push(Arc::clone(atom)),
                Looks::AtOthers(_) => return choices,
            }
        }
        self.without_others(field, choices, (&atoms, &[]), one_key)
    }

    /// The same of an object that does not have all of its fields yet: those that it may have.
    pub fn parts(
        &mut self,
        field: &[Step],
        fields: &[Str],
        choices: Vec<Choice>,
        one_key: Option<&OneKey>,
    ) -> Vec<Choice> {
        if choices.len() < FEW {
            return choices;
        }
        let mut atoms = Vec::new();
        let mut wanted: Vec<&Str> = Vec::new();
        for atom in &self.atoms {
            let (tree, is_alone) = match atom.looks(field) {
                Looks::Not => continue,
                Looks::Alone(tree) => (tree, true),
                Looks::AtOthers(Some(tree)) => (tree, false),
                Looks::AtOthers(None) => return choices,
            };
            if has_all(tree) {
                return choices;
            }
            if is_alone && tree.keys.iter().all(|(key, _)| fields.contains(key)) {
                atoms.push(Arc::clone(atom));
            } else {
                wanted.extend(fields.iter().filter(|key| tree.get(key).is_some()));
            }
        }
        let wanted: Vec<Str> = wanted.into_iter().cloned().collect();
        self.without_others(field, choices, (&atoms, &wanted), one_key)
    }

    /// Of the values of a field of which atoms say the same, and which have the same under some keys, one.
    fn without_others(
        &mut self,
        field: &[Step],
        choices: Vec<Choice>,
        (atoms, keys): (&[Arc<Atom>], &[Str]),
        one_key: Option<&OneKey>,
    ) -> Vec<Choice> {
        if choices.len() < 2 || choices.len().saturating_mul(atoms.len()) > MOST_VERDICTS {
            return choices;
        }
        let mut first: HashMap<(Vec<Verdict>, Vec<Option<&Value>>), usize> = HashMap::new();
        for (at, choice) in choices.iter().enumerate() {
            let place = || placed(&self.bare, field, choice.value.as_ref());
            let leaves_out = |keys: &&OneKey| place().is_some_and(|object| keys.leaves_out(&object));
            if one_key.filter(|keys| !keys.is_empty()).is_some_and(|keys| leaves_out(&keys)) {
                continue;
            }
            let known: Option<Vec<Verdict>> =
                atoms.iter().map(|atom| atom.known(field, &choice.value)).collect();
            let said = known.or_else(|| {
                let case = Case { object: place()?, old: None, around: Arc::default() };
                let request = request(&self.environment, &case)?;
                Some(atoms.iter().map(|atom| atom.said(field, &choice.value, &request)).collect())
            });
            let Some(said) = said else { return choices };
            let own = keys.iter().map(|key| choice.value.as_ref().and_then(|value| value.get(key))).collect();
            let known = first.entry((said, own)).or_insert(at);
            // The fewer items it has, the more may stand elsewhere.
            if choices.get(*known).is_some_and(|known| known.items > choice.items) {
                *known = at;
            }
        }
        if first.is_empty() {
            return choices;
        }
        let count = choices.len();
        let kept: BTreeSet<usize> = first.into_values().collect();
        let all = choices.into_iter().enumerate();
        let found: Vec<Choice> = all.filter(|(at, _)| kept.contains(at)).map(|(_, choice)| choice).collect();
        self.has_left_out |= found.len() < count;
        found
    }

    /// What is tested of users and namespaces.
    pub fn tested(&self) -> Predicates {
        let mut all = Predicates::default();
        self.atoms.iter().filter_map(|atom| atom.tested.as_ref()).for_each(|tested| all.merge(tested));
        all
    }

    /// Users, or namespaces, without those that others stand for.
    pub fn surroundings<T>(&mut self, all: Vec<T>, of: fn(&T) -> Surroundings, are_users: bool) -> Vec<T> {
        let looks = |atom: &&Arc<Atom>| if are_users { atom.user } else { atom.namespace };
        let atoms: Vec<&Arc<Atom>> = self.atoms.iter().filter(looks).collect();
        let looks_elsewhere = |atom: &&Arc<Atom>| {
            let other = if are_users { atom.namespace } else { atom.user };
            other || atom.elsewhere || atom.tree != Tree::default()
        };
        if all.len() < 2 || atoms.iter().any(looks_elsewhere) {
            return all;
        }
        let mut known: HashSet<Vec<Verdict>> = HashSet::new();
        let mut found = Vec::new();
        let count = all.len();
        for one in all {
            let case = Case { object: self.bare.clone(), old: None, around: Arc::new(of(&one)) };
            let said = request(&self.environment, &case)
                .map(|request| atoms.iter().map(|atom| judge(&atom.engine, &request).verdict).collect());
            if said.is_none_or(|said| known.insert(said)) {
                found.push(one);
            }
        }
        self.has_left_out |= found.len() < count;
        found
    }
}

/// An object with a value at the end of some keys, or without one; what is above it is there.
fn placed(object: &Value, field: &[Step], value: Option<&Value>) -> Option<Value> {
    if field.is_empty() {
        let fields = value.and_then(Value::as_map).into_iter().flat_map(Map::iter);
        return Some(fields.fold(object.clone(), |object, (key, value)| object.with(key, value.clone())));
    }
    let (Step::Key(key), rest) = field.split_first()? else { return None };
    if rest.is_empty() {
        return Some(match value {
            Some(value) => object.with(key, value.clone()),
            None => without(object, key),
        });
    }
    let none = Value::Map(Map::new());
    let below = placed(object.get(key).unwrap_or(&none), rest, value)?;
    Some(object.with(key, below))
}

fn without(object: &Value, key: &str) -> Value {
    let fields = object.as_map().into_iter().flat_map(Map::iter);
    Value::Map(fields.filter(|(own, _)| ***own != *key).map(|(k, v)| (k.clone(), v.clone())).collect())
}
