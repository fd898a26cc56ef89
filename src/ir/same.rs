//! Whether two nodes of the IR are the same.
//!
//! Every node is compared and hashed by derive. Constants are equal when nothing can tell them apart
//! (`value::identity`), functions when they are the same row: here, because a registry knows nothing of nodes.
//! Nodes that are equal give equal results at equal cost; those that differ may do so as well.

use std::hash::{Hash, Hasher};

use crate::functions::{Function, cel};

/// Rows of a registry are the same when their names are.
macro_rules! row {
    ($row:ty) => {
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
    };
}

row!(Function);
row!(cel::Function);

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
