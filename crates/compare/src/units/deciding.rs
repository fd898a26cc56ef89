//! Values that others stand for, because all atoms say the same of both.
//!
//! In: the atoms of some units, the values of a field. Out: one value for each combination of what
//! the atoms say. Two values of which every part of a unit says the same are one class.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use ephor_analysis::reads::{ReadTree, Step};
use ephor_value::{Map, Str, Value};

use crate::model::environment::Environment;
use crate::model::limits::{MAX_VERDICTS, MIN_INCOMPLETE_OBJECTS};
use crate::model::path;
use crate::model::request::{Case, RequestContext, request};
use crate::model::verdict::Verdict;
use crate::objects::choice::Choice;
use crate::predicates::summary::Predicates;
use crate::sides::side::judge;
use crate::sides::wildcard_keys::AmbiguousWildcardKeys;
use crate::units::atoms::{Atom, AtomReads, has_all};
use crate::units::cached::CachedUnit;

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
    pub fn of<'u>(
        environment: &Environment,
        mut units: impl Iterator<Item = &'u CachedUnit>,
    ) -> Option<Deciding> {
        if !environment.is_of_resource() || !environment.subresource.is_empty() {
            return None;
        }
        let mut atoms: Vec<Rc<Atom>> = Vec::new();
        units.try_for_each(|unit| {
            atoms.extend(unit.atoms(environment)?.iter().cloned());
            Some(())
        })?;
        // Selectors of namespaces read the labels of the object.
        if &*environment.resource.kind == "Namespace" && atoms.iter().any(|atom| atom.namespace) {
            return None;
        }
        let bare = environment.bare_object();
        Some(Deciding { environment: environment.clone(), atoms, bare, has_left_out: false })
    }

    /// The values of a field without those that others stand for.
    pub fn values(
        &mut self,
        field: &[Step],
        choices: Vec<Choice>,
        one_key: Option<&AmbiguousWildcardKeys>,
    ) -> Vec<Choice> {
        let mut atoms = Vec::new();
        for atom in &self.atoms {
            match atom.looks(field) {
                AtomReads::Not => {}
                AtomReads::Alone(_) => atoms.push(Rc::clone(atom)),
                AtomReads::AtOthers(_) => return choices,
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
        one_key: Option<&AmbiguousWildcardKeys>,
    ) -> Vec<Choice> {
        if choices.len() < MIN_INCOMPLETE_OBJECTS {
            return choices;
        }
        let mut atoms = Vec::new();
        let mut wanted: Vec<&Str> = Vec::new();
        for atom in &self.atoms {
            let (tree, is_alone) = match atom.looks(field) {
                AtomReads::Not => continue,
                AtomReads::Alone(tree) => (tree, true),
                AtomReads::AtOthers(Some(tree)) => (tree, false),
                AtomReads::AtOthers(None) => return choices,
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
        one_key: Option<&AmbiguousWildcardKeys>,
    ) -> Vec<Choice> {
        if choices.len() < 2 || choices.len().saturating_mul(atoms.len()) > MAX_VERDICTS {
            return choices;
        }
        #[allow(clippy::mutable_key_type, reason = "values are not changed here")]
        let mut first: HashMap<(Vec<Verdict>, Vec<Option<&Value>>), usize> = HashMap::new();
        for (at, choice) in choices.iter().enumerate() {
            let place = || placed(&self.bare, field, choice.value.as_ref());
            let leaves_out =
                |keys: &&AmbiguousWildcardKeys| place().is_some_and(|object| keys.leaves_out(&object));
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
    pub fn contexts<T>(&mut self, all: Vec<T>, of: fn(&T) -> RequestContext, are_users: bool) -> Vec<T> {
        let looks = |atom: &&Rc<Atom>| if are_users { atom.user } else { atom.namespace };
        let atoms: Vec<&Rc<Atom>> = self.atoms.iter().filter(looks).collect();
        let looks_elsewhere = |atom: &&Rc<Atom>| {
            let other = if are_users { atom.namespace } else { atom.user };
            other || atom.elsewhere || atom.tree != ReadTree::default()
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
pub(crate) fn placed(object: &Value, field: &[Step], value: Option<&Value>) -> Option<Value> {
    if field.is_empty() {
        let fields = value.and_then(Value::as_map).into_iter().flat_map(Map::iter);
        return Some(fields.fold(object.clone(), |object, (key, value)| object.with(key, value.clone())));
    }
    if let Some(value) = value {
        return Some(path::placed(object, field, value.clone()));
    }
    let (Step::Key(key), above) = field.split_last()? else { return None };
    Some(path::placed(object, above, without(path::at(object, above).unwrap_or(&Value::Null), key)))
}

pub(crate) fn without(object: &Value, key: &str) -> Value {
    let fields = object.as_map().into_iter().flat_map(Map::iter);
    Value::Map(fields.filter(|(own, _)| ***own != *key).map(|(k, v)| (k.clone(), v.clone())).collect())
}
