//! The parts of a unit that decide: values about which all of them say the same stand for each
//! other.
//!
//! In: a unit. Out: its atoms: each attribute of its filters, each condition, each pattern, and
//! what boolean operators join in its expressions, each as a rule of its own. What the unit says
//! follows from what its atoms say. So of the values of a field that all atoms read alone, one
//! for each combination of their verdicts is enough, also of a field that has others below it; and
//! of users and namespaces, too ([`Deciding`]). Where the atoms do not read all that the unit
//! reads, nothing is left out (`docs/internals/equivalence.md`, "Atoms").

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use ephor_analysis::reads::{NAME_OF_NAMESPACE, ReadTree, Reads, Step, tested_by_policy};
use ephor_engine::Request;
use ephor_ir::Policy;
use ephor_ir::facts::NamespaceScope;
use ephor_lower::LATE;
use ephor_policies::policy_set::{Engine, PolicySet};
use ephor_value::Value;

use crate::inputs::context_entries::has_inputs;
use crate::lists::loops::own;
use crate::model::environment::Environment;
use crate::model::limits::{MAX_ATOMS, MAX_KNOWN};
use crate::model::request::{Case, request};
use crate::model::verdict::Verdict;
use crate::predicates::summary::Predicates;
use crate::sides::lookup_stub;
use crate::sides::side::judge;
use crate::units::unit::Unit;

/// What an atom says of the values of a field.
type AtomVerdicts = HashMap<Option<Value>, Verdict>;

/// A part of a unit.
pub(crate) struct Atom {
    /// It alone, as a rule.
    pub(crate) engine: Engine,
    /// What it reads of the object.
    pub(crate) tree: ReadTree,
    /// Whether it reads who sends the request.
    pub(crate) user: bool,
    /// Whether it reads the namespace.
    pub(crate) namespace: bool,
    /// Whether it reads anything else but the fields of the object.
    pub(crate) elsewhere: bool,
    /// What it tests, where it reads these.
    pub(crate) tested: Option<Predicates>,
    /// What it says of values, by field.
    known: RefCell<HashMap<Vec<Step>, AtomVerdicts>>,
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
    let crate::units::atom_rules::AtomRules { all: found, probes } =
        crate::units::atom_rules::parts(policy, rule)?;
    if found.len() > MAX_ATOMS {
        return None;
    }
    let bare = Case { object: environment.bare_object(), old: None, around: Arc::default() };
    let bare = request(environment, &bare)?;
    let denies = |policy: Policy| {
        let engine = lookup_stub::engine(PolicySet::new(vec![Arc::new(policy)], Vec::new()));
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
            || (!is_deletion && reads.old != ReadTree::default())
            || !tested.names.is_empty()
            || !tested.namespaces.is_empty()
            || tested.namespace_labels.contains_key(NAME_OF_NAMESPACE)
            || has_inputs(&tree);
        let user = reads.user;
        // The name of the namespace is a field of the object.
        let namespace = reads.namespace != ReadTree::default()
            || tested.namespace_labels.keys().any(|label| label != NAME_OF_NAMESPACE);
        let engine = lookup_stub::engine(PolicySet::new(vec![Arc::new(policy)], Vec::new()));
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
    pub(crate) fn known(&self, field: &[Step], value: &Option<Value>) -> Option<Verdict> {
        self.known.borrow().get(field)?.get(value).copied()
    }

    /// The same, which a request says where it is not known.
    pub(crate) fn said(&self, field: &[Step], value: &Option<Value>, request: &Request) -> Verdict {
        if let Some(known) = self.known(field, value) {
            return known;
        }
        let said = judge(&self.engine, request).verdict;
        if self.count.get() < MAX_KNOWN {
            self.count.set(self.count.get() + 1);
            self.known.borrow_mut().entry(field.to_vec()).or_default().insert(value.clone(), said);
        }
        said
    }
}

/// Whether some reads are among others.
fn is_all_of(reads: &Reads, others: &Reads) -> bool {
    let both = |of: fn(&Reads) -> &ReadTree| has_tree(of(others), of(reads));
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
fn has_tree(tree: &ReadTree, other: &ReadTree) -> bool {
    let below = |tree: &Option<Box<ReadTree>>, other: &Option<Box<ReadTree>>| match (tree, other) {
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

/// How an atom reads a field.
pub(crate) enum AtomReads<'a> {
    Not,
    /// At it, or at what is below it, and at nothing else.
    Alone(&'a ReadTree),
    /// At others, too; `None`: at all of something that the field is in.
    AtOthers(Option<&'a ReadTree>),
}

impl Atom {
    pub(crate) fn looks(&self, field: &[Step]) -> AtomReads<'_> {
        let mut tree = &self.tree;
        let mut has_others = self.user || self.namespace || self.elsewhere;
        for step in field {
            let Step::Key(key) = step else { return AtomReads::AtOthers(None) };
            if has_all(tree) {
                return AtomReads::AtOthers(None);
            }
            has_others |= tree.keys.iter().any(|(own, _)| own != key);
            match tree.get(key) {
                Some(below) => tree = below,
                None => return AtomReads::Not,
            }
        }
        if has_others { AtomReads::AtOthers(Some(tree)) } else { AtomReads::Alone(tree) }
    }
}

/// Whether something is read of each member of a value.
pub(crate) fn has_all(tree: &ReadTree) -> bool {
    tree.whole || tree.names || tree.items.is_some() || tree.nested.is_some()
}
