//! Rows of the function registries in nodes of the IR: when they are the same, and how they are written.
//!
//! Every node is compared, hashed, written and read by derive. Constants are equal when nothing can tell them apart
//! (`value::identity`), functions when they are the same row: here, because a registry knows nothing of nodes.
//! Nodes that are equal give equal results at equal cost; those that differ may do so as well.

use std::hash::{Hash, Hasher};

use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::Serializer;

use crate::functions::{self, BOUNDED, Function, cel};
use crate::value::Str;

/// Rows of a registry are the same when their names are; they are written by name and looked up when they are read.
macro_rules! row {
    ($row:ty, $module:ident, $language:literal, $find:expr) => {
        impl PartialEq for $row {
            fn eq(&self, other: &Self) -> bool {
                self.name == other.name
            }
        }

        impl Eq for $row {}

        impl Hash for $row {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.name.hash(state);
            }
        }

        pub(super) mod $module {
            use super::*;

            pub fn serialize<S: Serializer>(row: &&'static $row, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(row.name)
            }

            pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<&'static $row, D::Error> {
                let name = Str::deserialize(from)?;
                let unknown = || D::Error::custom(format!("no function of {} is called `{name}`", $language));
                $find(&name).ok_or_else(unknown)
            }
        }
    };
}

row!(Function, jmespath_row, "JMESPath", |name: &str| match name {
    // The check of sizes that `ir::guard` puts in is no function that policies may call.
    _ if name == BOUNDED.name => Some(&BOUNDED),
    name => functions::find(name),
});
row!(cel::Function, cel_row, "CEL", cel::find);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::functions::{self, cel};

    #[test]
    fn no_two_rows_of_a_registry_have_the_same_name() {
        let jmespath: BTreeSet<&str> = functions::all().iter().map(|f| f.name).collect();
        assert_eq!(jmespath.len(), functions::all().len());
        assert!(!jmespath.contains(functions::BOUNDED.name));
        let of_cel: BTreeSet<&str> = cel::all().iter().map(|f| f.name).collect();
        assert_eq!(of_cel.len(), cel::all().len());
    }
}
