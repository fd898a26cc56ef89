//! Who sees the objects that a comparison evaluates.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use ephor_value::Value;
use ephor_value::print::json;

use crate::model::environment::Environment;
use crate::model::request::RequestContext;
use crate::strings::witnesses::TextClasses;

/// Sees each object before a comparison evaluates it; the same object may come many times.
pub trait Observer: Sync {
    /// An object, with the former one of an update where it is another one, and what surrounds it.
    fn evaluated(
        &self,
        environment: &Environment,
        object: &Value,
        old: Option<&Value>,
        around: &Arc<RequestContext>,
    );

    /// Texts that stand for all others of some fields.
    fn texts(&self, classes: &TextClasses) {
        _ = classes;
    }

    /// Objects are not shown, as a rule, or all of a side, is equal without a read them.
    fn skipped(&self) {}
}

/// An object that a comparison evaluated.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// Of which kind it is, and what is done with it.
    pub environment: Environment,
    /// The object.
    pub object: Value,
    /// The former object of an update, where it is another one.
    pub old_object: Option<Value>,
    /// Who sends the request, and the namespace.
    pub around: Arc<RequestContext>,
}

/// Collects each object once, in the order of their first evaluation.
#[derive(Debug)]
pub struct Collector {
    most: usize,
    seen: Mutex<Collected>,
}

#[derive(Debug, Default)]
struct Collected {
    known: HashSet<u64>,
    all: Vec<Evaluated>,
    left_out: usize,
    is_partial: bool,
}

impl Collector {
    /// Collects no more than this number of objects.
    pub fn new(most: usize) -> Collector {
        Collector { most, seen: Mutex::default() }
    }

    /// Whether the comparison found something equal without a read objects, which are not among
    /// these therefore.
    pub fn is_partial(&self) -> bool {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).is_partial
    }

    /// The objects, and how many more there were.
    pub fn into_objects(self) -> (Vec<Evaluated>, usize) {
        let seen = self.seen.into_inner().unwrap_or_else(PoisonError::into_inner);
        (seen.all, seen.left_out)
    }
}

impl Observer for Collector {
    fn skipped(&self) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).is_partial = true;
    }

    fn evaluated(
        &self,
        environment: &Environment,
        object: &Value,
        old: Option<&Value>,
        around: &Arc<RequestContext>,
    ) {
        let mut hasher = DefaultHasher::new();
        (environment.name(), environment.api_version(), json(object), old.map(json)).hash(&mut hasher);
        if !around.is_usual() {
            format!("{around:?}").hash(&mut hasher);
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if !seen.known.insert(hasher.finish()) {
            return;
        }
        if seen.all.len() >= self.most {
            seen.left_out += 1;
            return;
        }
        let (environment, object, old_object) = (environment.clone(), object.clone(), old.cloned());
        seen.all.push(Evaluated { environment, object, old_object, around: Arc::clone(around) });
    }
}
