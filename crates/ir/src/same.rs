//! How the IR writes the functions that its nodes call: by the name of their row in the registry.
//!
//! Every node is compared, hashed, written and read by derive. Constants are equal when they are
//! indistinguishable (`value::identity`), functions when they are the same row. Nodes that are
//! equal give equal results at equal cost; those that differ may do so as well.

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::Serializer;

use ephor_functions::Function;
use ephor_functions::registry::{Language, find};
use ephor_value::Str;

/// The rows of a language: written by name, looked up when they are read.
macro_rules! rows {
    ($module:ident, $language:expr, $name:literal) => {
        pub(super) mod $module {
            use super::*;

            pub fn serialize<S: Serializer>(row: &&'static Function, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(row.name)
            }

            pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<&'static Function, D::Error> {
                let name = Str::deserialize(from)?;
                let unknown = || D::Error::custom(format!("no function of {} is called `{name}`", $name));
                find($language, &name).ok_or_else(unknown)
            }
        }
    };
}

rows!(jmespath_row, Language::JmesPath, "JMESPath");
rows!(cel_row, Language::Cel, "CEL");
