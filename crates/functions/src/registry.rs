//! The function registry: one row for each function of each language.
//!
//! In: a language and a name. Out: [`Function`], which says all that is known of the function: its
//! overloads with their types, what it means to an analysis, whether it can fail, what a call
//! costs, whether a call of constants is computed beforehand, and what it computes. Nothing outside
//! of the registry lists names of functions; it reads a column. The rows are in `functions::table`
//! (JMESPath) and `functions::cel::table` (CEL). Where both languages compute the same, the rows
//! share the body's code, not the row: their arguments are checked, counted and refused in
//! different words.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::{cel, table};

pub use super::row::{
    Arity, Classes, Constants, Cost, Dependency, Dispatch, Function, Higher, Known, Language, Operation,
    Overloads, Run, Ty,
};

/// All rows, those of a language in the order of its table.
pub fn all() -> impl Iterator<Item = &'static Function> {
    table::TABLE.iter().chain(cel::table::TABLE).chain([&table::BOUNDED])
}

/// The row of a name.
pub fn find(language: Language, name: &str) -> Option<&'static Function> {
    static ROWS: OnceLock<[HashMap<&'static str, &'static Function>; 2]> = OnceLock::new();
    let [jmespath, cel] = ROWS.get_or_init(|| {
        [Language::JmesPath, Language::Cel]
            .map(|language| all().filter(|f| f.language == language).map(|f| (f.name, f)).collect())
    });
    let rows = match language {
        Language::JmesPath => jmespath,
        Language::Cel => cel,
    };
    rows.get(name).copied()
}

#[cfg(test)]
mod tests;
