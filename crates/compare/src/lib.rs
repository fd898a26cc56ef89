//! Whether two sets of policies mean the same.
//!
//! In: two [`Side`]s, each a set of policies of any kind. Out: a [`Comparison`]: the smallest
//! objects on which they differ, one for each kind of difference, or that they are equal, proved
//! for all objects or tested on some.
//!
//! The method (`docs/internals/equivalence.md`): each policy is cut into units, rules that check
//! one thing; an object violates the policy when it violates one of them (`units`). What a unit
//! reads is known (`ephor_analysis::reads`), and so is what it tests there (`predicates`), so the
//! values of each field fall into few classes of which one stands for all (`words`, `domain`). Each
//! unit of one side must be covered by units of the other on all combinations of classes (`cover`).
//! The engine is the only semantics: every combination is evaluated.
#![forbid(unsafe_code)]

mod answer;
mod answers;
mod atoms;
mod by_namespace;
mod certificate;
mod changes;
mod claim;
mod classes;
mod combine;
#[cfg(test)]
mod compare_tests;
mod computed;
mod conditions;
mod copied;
mod cover;
mod deep;
mod described;
mod differences;
mod domain;
mod environment;
mod explore;
mod external;
mod fresh;
mod grown;
mod guessed;
mod identity;
mod ignored;
mod inputs;
mod item_order;
mod items;
mod keyed;
mod kind;
mod loops;
mod marked;
mod messages;
mod names;
mod nearness;
mod numbers;
mod observer;
mod one_key;
mod operation;
mod order;
mod outside;
mod overlap;
mod pairs;
mod partners;
mod parts;
mod predicates;
mod questions;
mod range;
mod repair;
mod requests;
mod results;
mod searched;
mod seen;
mod shared;
mod shrink;
mod side;
mod side_by_side;
mod signature;
mod surroundings;
mod tested;
mod text_lists;
mod through;
mod trace;
mod units;
mod users;
mod values;
mod variation;
mod whatever_comes;
mod words;
mod writes;

pub use answer::{Answer, Comparison, Difference, DifferenceKind, Universe};
pub use certificate::{Certificate, CertificateError, Certified, Held};
pub use claim::{Apart, Claim, LEFT_KIND, but_for};
pub use cover::{Chosen, Options, compare, compare_observed};
pub use deep::{Remark, RemarkKind, remarks};
pub use environment::Environment;
pub use explore::REFUSED;
pub use ignored::{Class, Entry, Ignored, IgnoredError};
pub use messages::{MOST_WITH_MESSAGES, OtherMessages, Said, messages, messages_after};
pub use observer::{Collector, Evaluated, Observer};
pub use outside::NO_ANSWER;
pub use pairs::{Mapping, MappingError, Pair, PairedBy, REPLACES, name as policy_name, pairs};
pub use questions::{equivalent, implies, is_equivalent};
pub use side::{Effect, Judgement, Side, SideError, Verdict};
pub use surroundings::Surroundings;
pub use trace::{Trace, traces};
pub use whatever_comes::DOUBT;
pub use words::TextClasses;
