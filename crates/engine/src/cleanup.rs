//! Cleanup policies: which objects a run of one would delete.
//!
//! In: a cleanup policy and objects, one after the other. Out: whether each is selected, and its
//! conditions hold. The context is built once for a run and reset before each object; what that
//! does to entries that read the object is Kyverno's behaviour (`docs/reference/cli.md`,
//! "Deletions").

use std::sync::LazyLock;

use ephor_ir::policy::Cleanup;
use ephor_matching::Target;
use ephor_matching::filter::{Mode, accepts};
use ephor_value::{Map, Str, Value};

use super::condition;
use super::data::{Data, Snapshot, World};
use super::error::ConditionError;
use super::images::Images;

/// A run of one cleanup policy.
pub struct Sweep<'s> {
    cleanup: &'s Cleanup,
    data: Data<'s>,
    start: Snapshot,
}

/// No images: those of an object are put in with it.
pub static NO_IMAGES: LazyLock<Images> = LazyLock::new(Images::default);
static EMPTY: LazyLock<Value> = LazyLock::new(|| Value::Map(Map::new()));

impl<'s> Sweep<'s> {
    /// Begins a run.
    pub fn new(cleanup: &'s Cleanup, world: World<'s>) -> Self {
        let mut data = Data::new(&EMPTY, world);
        data.register(&cleanup.bindings);
        let start = data.snapshot();
        Sweep { cleanup, data, start }
    }

    /// Whether the run would delete the object.
    ///
    /// # Errors
    /// A condition cannot be evaluated.
    pub fn selects(
        &mut self,
        object: &Value,
        target: &Target,
        images: &Images,
    ) -> Result<bool, ConditionError> {
        let c = self.cleanup;
        let own = c.policy.namespace.as_deref();
        let matches = own.is_none_or(|own| *own == *target.namespace)
            && accepts(&c.when, target, Mode::Exception)
            && !c.unless.as_ref().is_some_and(|unless| accepts(unless, target, Mode::Exception));
        if !matches || c.spares_all {
            return Ok(false);
        }
        let name = Str::from;
        self.data.reset(&self.start);
        self.data.set(&name("target"), object.with_float_numbers());
        self.data.put(&[name("request"), name("namespace")], Value::Str(target.namespace.clone()));
        if let Ok(Some(images)) = images.get() {
            self.data.set(&name("images"), images.clone());
        }
        for conditions in &c.admit {
            if !condition::evaluate(conditions, &mut self.data)?.holds {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
