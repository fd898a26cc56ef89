//! Results of expressions that the rules of many policies share, cached for one request.
//!
//! In: the key of a program ([`ephor_ir::sharing`]) and what evaluates it. Out: its value, at its
//! cost: the cost is added to the meter and the rule's memory taken as if it were evaluated. Faults
//! are not cached, since policies word them differently. Semantics: `docs/internals/ir.md`,
//! "Evaluated once".

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ephor_value::{Fault, Value};

use super::cells::CachedResult;
use super::eval::Env;

/// See the module page. All programs see one object.
#[derive(Debug, Default)]
pub struct SharedResults(Mutex<HashMap<u128, CachedResult<Value>>>);

impl SharedResults {
    /// The value of the program with a key, whose variables are computed.
    ///
    /// # Errors
    /// What evaluating it gives.
    pub(super) fn read(
        &self,
        key: u128,
        env: &Env<'_, '_>,
        evaluate: impl FnOnce() -> Result<Value, Fault>,
    ) -> Result<Value, Fault> {
        let known = self.all().get(&key).cloned();
        if let Some(known) = known
            && known.pay(env)?
        {
            return known.result;
        }
        let before = env.used();
        let value = evaluate()?;
        if let Some(known) = CachedResult::of(Ok(value.clone()), &before, &env.used()) {
            self.all().insert(key, known);
        }
        Ok(value)
    }

    fn all(&self) -> MutexGuard<'_, HashMap<u128, CachedResult<Value>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
