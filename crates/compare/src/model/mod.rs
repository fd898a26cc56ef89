//! What a comparison is about: requests, verdicts, answers and limits. Imports nothing of the other
//! folders.
//!
//! - `answer`: what a comparison came to
//! - `environment`: a kind, a subresource and an operation
//! - `field_types`: what the schema says of a field
//! - `limits`: limits that several stages share, and how much is sampled
//! - `observer`: what sees the evaluated objects
//! - `options`: how much a comparison may do
//! - `path`: values at the end of paths
//! - `question`: predicates on what two sides say
//! - `request`: cases, and the request of each
//! - `matchers`: which operations a matcher selects
//! - `unsupported`: why a rule's effects are not followed
//! - `verdict`: verdicts, effects and judgements
//! - `world`: the objects that exist

pub(crate) mod answer;
pub(crate) mod environment;
pub(crate) mod field_types;
pub(crate) mod limits;
pub(crate) mod matchers;
pub(crate) mod observer;
pub(crate) mod options;
pub(crate) mod path;
pub(crate) mod question;
pub(crate) mod request;
pub(crate) mod unsupported;
pub(crate) mod verdict;
pub(crate) mod world;
