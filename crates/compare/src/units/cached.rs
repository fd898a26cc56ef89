//! Units with what is found of them once it is wanted.
//!
//! In: a [`Unit`]. Out: the same, with its loops and its atoms. Both are expensive and many units
//! are proved without them, so they are found when they are wanted first, and once.

use std::cell::OnceCell;
use std::ops::Deref;
use std::rc::Rc;

use crate::lists::loops::Loops;
use crate::model::environment::Environment;
use crate::units::atoms::{Atom, atoms};
use crate::units::unit::Unit;

/// A unit in one environment, with what was found of it there.
pub(crate) struct CachedUnit {
    unit: Unit,
    loops: OnceCell<Loops>,
    atoms: OnceCell<Option<Vec<Rc<Atom>>>>,
}

impl CachedUnit {
    /// A unit of which nothing was found yet.
    pub fn new(unit: Unit) -> CachedUnit {
        CachedUnit { unit, loops: OnceCell::new(), atoms: OnceCell::new() }
    }

    /// Its parts that decide, in requests of its environment; `None`: it is not taken apart.
    pub fn atoms(&self, environment: &Environment) -> Option<&[Rc<Atom>]> {
        self.atoms.get_or_init(|| atoms(&self.unit, environment)).as_deref()
    }

    /// Its parts that read the items of lists, in requests of its environment.
    pub fn loops(&self, kind: &str, is_deletion: bool) -> &Loops {
        self.loops.get_or_init(|| Loops::of(&self.unit.engine, kind, is_deletion))
    }
}

impl Deref for CachedUnit {
    type Target = Unit;

    fn deref(&self) -> &Unit {
        &self.unit
    }
}
