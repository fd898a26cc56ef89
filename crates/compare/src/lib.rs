//! Whether two sets of policies mean the same.
//!
//! In: two [`Side`]s, each a set of policies of any kind. Out: a [`Comparison`]: the smallest
//! objects on which they differ, one for each kind of difference, or that they are equal, proved
//! for all objects or tested on some.
//!
//! The method (`docs/internals/equivalence.md`): each policy is cut into units, rules that check
//! one thing; an object violates the policy when it violates one of them (`units::split`). What a
//! unit reads is known (`ephor_analysis::reads`), and so is what it tests there
//! (`predicates::summary`), so the values of each field fall into few classes of which one stands
//! for all (`strings::witnesses`, `objects::domain`). Each unit of one side must be covered by
//! units of the other on all combinations of classes (`search::cover`). The engine is the only
//! semantics: every combination is evaluated.
//!
//! - `accepted`: differences that are accepted: `ephor-diff.yaml`
//! - `admitted`: objects as an API server admits and shows them
//! - `certificate`: what a comparison evaluated, to be repeated
//! - `claim`: the answer about a policy that takes the place of another
//! - `compare`: the entry
//! - `effects`: sides that change or generate objects
//! - `inputs`: external data that both sides share
//! - `lint`: what a policy never does, always does, or does in error
//! - `lists`: lists of any length
//! - `messages`: what violations say
//! - `model`: requests, verdicts, answers, limits
//! - `normal`: rules in a normal form
//! - `objects`: objects and requests that stand for all others
//! - `pairs`: which policies are compared
//! - `predicates`: what rules test
//! - `questions`: questions about two sides as a whole
//! - `releases`: sides in API servers, of one release or of two
//! - `search`: the search for differences, or the proof
//! - `sides`: policies that are evaluated together
//! - `strings`: classes of texts
//! - `trace`: what decided on an object
//! - `units`: rules that check one thing
#![forbid(unsafe_code)]

pub(crate) mod accepted;
pub(crate) mod admitted;
pub(crate) mod certificate;
pub(crate) mod claim;
pub(crate) mod compare;
#[cfg(test)]
pub(crate) mod compare_tests;
pub(crate) mod effects;
pub(crate) mod inputs;
pub(crate) mod lint;
pub(crate) mod lists;
pub(crate) mod messages;
pub(crate) mod model;
pub(crate) mod normal;
pub(crate) mod objects;
pub(crate) mod pairs;
pub(crate) mod predicates;
pub(crate) mod questions;
pub(crate) mod releases;
pub(crate) mod search;
pub(crate) mod sides;
pub(crate) mod strings;
pub(crate) mod trace;
pub(crate) mod units;

pub use certificate::{Certificate, CertificateError, Certified, CheckedCertificate};
pub use claim::{Apart, Claim, LEFT_KIND, but_for};
pub use messages::{MessagePair, OtherMessages, messages, messages_after};
pub use model::limits::MAX_WITH_MESSAGES;
pub use questions::{equivalent, implies, is_equivalent};
pub use trace::{Trace, traces};

pub use crate::accepted::{AcceptedClass, Entry, Ignored, IgnoredError, accepted_schema};
pub use crate::compare::{compare, compare_observed};
pub use crate::lint::{Remark, RemarkKind, remarks};
pub use crate::pairs::mapping::{
    Mapping, MappingError, Pair, PairedBy, REPLACES, name as policy_name, pairs,
};
pub use crate::search::any_inputs::DOUBT;
pub use crate::search::sample::REFUSED;
pub use crate::sides::lookup_stub::NO_ANSWER;
pub use crate::sides::side::{Side, SideError};
pub use crate::strings::witnesses::TextClasses;
pub use model::answer::{Answer, Comparison, Difference, DifferenceKind, Universe};
pub use model::environment::Environment;
pub use model::observer::{Collector, Evaluated, Observer};
pub use model::options::{KindFilter, Options};
pub use model::question::{EQUIVALENT, EQUIVALENT_BUT_FOR_ERRORS, IMPLIES, Question};
pub use model::request::RequestContext;
pub use model::verdict::{Effect, Judgement, Verdict};
