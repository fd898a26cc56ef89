//! The objects that exist while a request is evaluated, where rules copy them.
//!
//! In: what identifies objects, and whether they exist. Out: the [`World`] of an evaluation, which
//! the stub for lookups (`sides::lookup_stub`) answers from. One thread evaluates one request at a
//! time, so the world is a value of the thread.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use ephor_kubernetes::convert::api_version;
use ephor_value::Str;

/// What is outside of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExistingObjects {
    /// No lookup is answered.
    #[default]
    Silent,
    /// The objects that rules copy do not exist.
    Missing,
    /// They exist, without what they can do without.
    Bare,
    /// They exist, with all that their kind may have.
    Full,
}

/// An object that rules copy, or all of a kind in a namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Copied {
    /// Group, version and kind.
    pub kind: [Str; 3],
    /// The namespace; empty for objects without one.
    pub namespace: Str,
    /// The name; `None`: all that have these labels.
    pub name: Option<Str>,
    /// The labels of a list.
    pub labels: BTreeMap<Str, Str>,
}

impl Copied {
    /// What it is, in words.
    pub fn text(&self) -> String {
        let (version, kind) = (api_version(&self.kind), &self.kind[2]);
        let at = if self.namespace.is_empty() { String::new() } else { format!(" in {}", self.namespace) };
        match &self.name {
            Some(name) => format!("{version}/{kind} {name}{at}"),
            None => format!("{version}/{kind} objects{at}"),
        }
    }
}

/// What is outside of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct World {
    /// Whether the objects exist.
    pub outside: ExistingObjects,
    /// The objects that rules copy.
    pub copied: Arc<[Copied]>,
}

thread_local! {
    static WORLD: RefCell<World> = RefCell::default();
}

/// Runs something with what is outside of it.
pub(crate) fn within<T>(world: &World, run: impl FnOnce() -> T) -> T {
    let before = WORLD.replace(world.clone());
    let found = run();
    WORLD.set(before);
    found
}

/// What is outside now.
pub(crate) fn outside() -> ExistingObjects {
    WORLD.with_borrow(|world| world.outside)
}

/// What is outside now, with the objects that rules copy.
pub(crate) fn world() -> World {
    WORLD.with_borrow(World::clone)
}
