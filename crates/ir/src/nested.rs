//! Nodes that hold nodes of their own kind: how derived serialisation is given room on the stack
//! and a bound for the nesting.

use std::cell::Cell;
use std::thread::LocalKey;

/// Nodes that nest more than this many levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nodes nest more than {0} levels")]
pub(super) struct TooNested(usize);

/// How many nodes of one kind are being read inside of each other.
pub(super) struct Level(&'static LocalKey<Cell<usize>>);

impl Level {
    /// One more.
    ///
    /// # Errors
    /// They are more than `most`.
    pub(super) fn enter(depth: &'static LocalKey<Cell<usize>>, most: usize) -> Result<Level, TooNested> {
        depth.set(depth.get() + 1);
        let level = Level(depth);
        if depth.get() > most { Err(TooNested(most)) } else { Ok(level) }
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

/// Writes and reads a node that may hold nodes of its own kind: its derived `serialize` and
/// `deserialize` (`remote = "Self"`) with room on the stack, a bound for the nesting, and what is
/// rebuilt after reading.
macro_rules! node {
    ($node:ty, $most:literal) => {
        $crate::nested::node!($node, $most, Ok::<$node, std::convert::Infallible>);
    };
    ($node:ty, $most:literal, $finish:expr) => {
        impl serde::Serialize for $node {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                ephor_value::stack::deep(|| <$node>::serialize(self, to))
            }
        }

        impl<'de> serde::Deserialize<'de> for $node {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                use serde::de::Error;
                thread_local!(static DEPTH: std::cell::Cell<usize> = const { std::cell::Cell::new(0) });
                let _level = $crate::nested::Level::enter(&DEPTH, $most).map_err(D::Error::custom)?;
                let node = ephor_value::stack::deep(|| <$node>::deserialize(from))?;
                $finish(node).map_err(D::Error::custom)
            }
        }
    };
}
pub(super) use node;
