//! Which types rules expect of values.
//!
//! In: uses of abstract values. Out: [`ExpectedType`] at each place: whether a rule takes what is
//! there for a list, an object or a scalar. Where no schema says what a field is, it is what rules
//! expect. A use that takes another type, too, without expecting it, says nothing: a loop of
//! `foreach` takes what is no list for a list of one, and lists are taken apart whose items are
//! lists or not. A use of which it is not known what it expects is one that may expect any
//! type.

use crate::reads::abstract_value::{AbstractValue, ValueSet};
use crate::reads::expected_type::{ExpectedType, has_itself};
use crate::reads::reader::Reader;

impl Reader {
    /// Notes what is expected of values.
    pub fn look_for(&mut self, values: &ValueSet, what: ExpectedType) {
        let Some(tests) = &mut self.tests else { return };
        for one in values {
            match one {
                AbstractValue::At(_, steps) if !has_itself(steps) => {
                    tests.looked_for.entry(steps.clone()).or_default().merge(what);
                }
                AbstractValue::Sum(lists) => {
                    for one in lists {
                        if let AbstractValue::At(_, steps) = one
                            && !has_itself(steps)
                        {
                            tests.looked_for.entry(steps.clone()).or_default().merge(what);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Notes what is expected of the items of lists that are put together.
    pub fn look_for_in_items(&mut self, values: &ValueSet, what: ExpectedType) {
        for one in values {
            if let AbstractValue::List(items) = one {
                self.look_for(items, what);
            }
        }
    }
}
