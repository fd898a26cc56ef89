//! The parts of a unit that decide: values about which all of them say the same stand for each
//! other.
//!
//! In: a unit. Out: its atoms: each attribute of its filters, each condition, each pattern, and
//! what boolean operators join in its expressions, each as a rule of its own. What the unit says
//! follows from what its atoms say. So of the values of a field that all atoms look at alone, one
//! for each combination of their verdicts is enough, also of a field that has others below it; and
//! of users and namespaces, too ([`Deciding`]). Where the atoms do not read all that the unit
//! reads, nothing is left out (`docs/internals/equivalence.md`, "Atoms").

mod parts;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use ephor_analysis::reads::{NAME_OF_NAMESPACE, Reads, Step, Tree, tested_by_policy};
use ephor_engine::Request;
use ephor_ir::Policy;
use ephor_ir::facts::NamespaceScope;
use ephor_lower::LATE;
use ephor_policies::policy_set::{Engine, PolicySet};
use ephor_value::{Map, Str, Value};

use super::classes;
use super::domain::Choice;
use super::environment::Environment;
use super::inputs::has_inputs;
use super::loops::own;
use super::one_key::OneKey;
use super::outside;
use super::predicates::Predicates;
use super::side::{Verdict, judge};
use super::surroundings::{Case, Surroundings, request};
use super::units::Unit;

/// A unit of more atoms is looked at as a whole.
const MOST: usize = 96;

/// For more verdicts at one field it takes too long.
const MOST_VERDICTS: usize = 400_000;

/// More of what an atom says is not known.
const MOST_KNOWN: usize = 50_000;

/// Fewer objects that lack fields are left as they are.
const FEW: usize = 64;

/// What an atom says of the values of a field.
type Known = HashMap<Option<Value>, Verdict>;

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
    known: RefCell<HashMap<Vec<Step>, Known>>,
    /// How many that are.
    count: Cell<usize>,
}

/// The atoms of a unit; `None`: it is not known that what it says follows from what they say.
pub(crate) fn atoms(unit: &Unit, environment: &Environment) -> Option<Vec<Rc<Atom>>> {
    let (kind, is_deletion) = (&*environment.resource.kind, environment.operation == "DELETE");
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
    let parts::Parts { all: found, probes } = parts::parts(policy, rule)?;
    if found.len() > MOST {
        return None;
    }
    let bare = Case { object: environment.bare_object(), old: None, around: Arc::default() };
    let bare = request(environment, &bare)?;
    let denies = |policy: Policy| {
        let engine = outside::engine(PolicySet::new(vec![Arc::new(policy)], Vec::new()));
        judge(&engine, &bare).verdict == Verdict::Fail
    };
    if !probes.into_iter().all(denies) {
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
        all.push(Rc::new(atom));
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
    atoms: Vec<Rc<Atom>>,
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
        let mut atoms: Vec<Rc<Atom>> = Vec::new();
        units.try_for_each(|unit| {
            atoms.extend(unit.atoms(environment)?.iter().cloned());
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
                Looks::Alone(_) => atoms.push(Rc::clone(atom)),
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
                atoms.push(Rc::clone(atom));
            } else {
                wanted.extend(fields.iter().filter(|key| tree.get(key).is_some()));
            }
        }
        let wanted: Vec<Str> = wanted.into_iter().cloned().collect();
        self.without_others(field, choices, (&atoms, &wanted), one_key)
    }

    /// Of the values of a field of which atoms say the same, and which have the same under some
    /// keys, one.
    fn without_others(
        &mut self,
        field: &[Step],
        choices: Vec<Choice>,
        (atoms, keys): (&[Rc<Atom>], &[Str]),
        one_key: Option<&OneKey>,
    ) -> Vec<Choice> {
        if choices.len() < 2 || choices.len().saturating_mul(atoms.len()) > MOST_VERDICTS {
            return choices;
        }
        #[allow(clippy::mutable_key_type, reason = "values are not changed here")]
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
        let chosen: BTreeSet<usize> = first.into_values().collect();
        let all = choices.into_iter().enumerate();
        let found: Vec<Choice> =
            all.filter(|(at, _)| chosen.contains(at)).map(|(_, choice)| choice).collect();
        self.has_left_out |= found.len() < count;
        found
    }

    /// What is tested of users, or of namespaces.
    pub fn tested(&self, are_users: bool) -> Predicates {
        let mut all = Predicates::default();
        let atoms = self.atoms.iter().filter(|atom| if are_users { atom.user } else { atom.namespace });
        atoms.filter_map(|atom| atom.tested.as_ref()).for_each(|tested| all.merge(tested));
        all
    }

    /// Users, or namespaces, without those that others stand for.
    pub fn surroundings<T>(&mut self, all: Vec<T>, of: fn(&T) -> Surroundings, are_users: bool) -> Vec<T> {
        let looks = |atom: &&Rc<Atom>| if are_users { atom.user } else { atom.namespace };
        let atoms: Vec<&Rc<Atom>> = self.atoms.iter().filter(looks).collect();
        let looks_elsewhere = |atom: &&Rc<Atom>| {
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
    if let Some(value) = value {
        return Some(classes::placed(object, field, value.clone()));
    }
    let (Step::Key(key), above) = field.split_last()? else { return None };
    Some(classes::placed(object, above, without(classes::at(object, above).unwrap_or(&Value::Null), key)))
}

fn without(object: &Value, key: &str) -> Value {
    let fields = object.as_map().into_iter().flat_map(Map::iter);
    Value::Map(fields.filter(|(own, _)| ***own != *key).map(|(k, v)| (k.clone(), v.clone())).collect())
}
