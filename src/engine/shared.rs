//! Results of expressions that the rules of many policies share, kept for one request.
//!
//! In: the key of a program ([`crate::ir::sharing`]) and what evaluates it. Out: its value, at its cost: the meter is charged and the
//! rule's memory taken as if it were evaluated. Faults are not kept, since policies word them differently.
//! Semantics: `docs/ir.md`, "Evaluated once".

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::value::{Fault, Value, budget};

use super::meter::Meter;

/// See the module page. All programs see one object.
#[derive(Debug, Default)]
pub struct SharedResults(Mutex<HashMap<u128, Known>>);

#[derive(Clone, Debug)]
struct Known {
    value: Value,
    charged: u64,
    bytes: u64,
}

impl SharedResults {
    /// The value of the program with a key.
    ///
    /// # Errors
    /// What evaluating it gives.
    pub fn read(
        &self,
        key: u128,
        meter: &Meter,
        evaluate: impl FnOnce() -> Result<Value, Fault>,
    ) -> Result<Value, Fault> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if let Some(known) = known
            && meter.affords(known.charged)
            && budget::left() >= known.bytes
        {
            meter.charge(known.charged)?;
            budget::take(usize::try_from(known.bytes).unwrap_or(usize::MAX))?;
            return Ok(known.value);
        }
        let (spent, left) = (meter.spent(), budget::left());
        let value = evaluate()?;
        let used = meter.spent().checked_sub(spent).zip(left.checked_sub(budget::left()));
        if let Some((charged, bytes)) = used {
            let known = Known { value: value.clone(), charged, bytes };
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, known);
        }
        Ok(value)
    }
}
