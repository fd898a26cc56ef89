//! CEL's functions: what they compute and what they cost.
//!
//! In: evaluated arguments, the receiver first. Out: a value or a fault. Arguments that fit no form
//! of a function give `no such overload: f(types)`. Semantics: `docs/expressions/cel.md`; which
//! overloads the checker knows is declared in [`overload`].
//!
//! - `absent`: functions of features that a build does not have: they are known, and fault when
//!   they are called
//! - `authorizer`: questions put together step by step, and answers
//! - `call`: a call of a function of CEL and what it gives: the types that all bodies share
//! - [`convert`]: conversions between kinds
//! - `cost`: what calls cost
//! - [`data`]: Kyverno's functions on data: JSON, YAML, compression, hashes, certificates, users,
//!   times, numbers
//! - [`external_data`]: Kyverno's functions that read external data: objects of the cluster,
//!   services, global data, image data
//! - [`mod@format`]: `format`: texts with clauses
//! - `format_plain`: `format` of the strings extension from version 4 on: plain words for numbers,
//!   no quotes inside of lists
//! - `gzip`: `gzip.compress` and `gzip.decompress`
//! - [`image_reference`]: Kyverno's image references in expressions
//! - [`image_verification`]: functions of policies about images: who signed them, what is stated
//!   about them
//! - [`key_set`]: sets of keys (RFC 7517) that sign tokens
//! - [`kubernetes`]: Kubernetes' own types: URLs, quantities, versions
//! - `lists`: lists and sets
//! - `math`: the math extension and base64
//! - `mcp`: requests of the Model Context Protocol: `mcp.Parse` and the arguments of tool calls
//! - [`messages`]: message literals: those of mutations, and those that stand for values of the
//!   language
//! - `named_format`: what Kubernetes requires of names and other texts
//! - `network`: addresses and networks
//! - `operators`: arithmetic, order, membership, size
//! - [`optional`]: optional values
//! - [`overload`]: the overloads of CEL's functions: which there are, and which library declares
//!   them
//! - `pattern_sort`: pattern-defeating quicksort, step for step as the Go runtime does it
//! - `patterns`: the extension for regular expressions: `regex.replace`, `regex.extract`,
//!   `regex.extractAll`
//! - [`proxy`]: what expressions on check requests of proxies call: answers are put together,
//!   headers are read
//! - [`proxy_types`]: the messages of check requests: which fields they have, and what a field is
//!   that was not sent
//! - [`selectors`]: label and field selectors as the authorizer's questions hold them
//! - `strings`: strings
//! - `table`: CEL's rows of the registry, see `functions::registry`
//! - `time`: parts of points in time and durations
//! - `token`: signed tokens (RFC 7519)
//! - `type_names`: the names that messages of cel-go have for types of values
//! - [`types`]: types of CEL: what the checker knows of an expression before it runs

#[cfg(not(all(feature = "gzip", feature = "tokens")))]
mod absent;
mod authorizer;
pub(crate) mod call;
pub mod convert;
pub(crate) mod cost;
pub mod data;
pub mod external_data;
pub mod format;
mod format_plain;
#[cfg(feature = "gzip")]
mod gzip;
pub mod image_reference;
pub mod image_verification;
#[cfg(feature = "tokens")]
pub mod key_set;
pub mod kubernetes;
mod lists;
mod math;
mod mcp;
pub mod messages;
mod named_format;
mod network;
mod operators;
pub mod optional;
pub mod overload;
mod pattern_sort;
mod patterns;
pub mod proxy;
pub mod proxy_types;
pub mod selectors;
mod strings;
pub(crate) mod table;
mod time;
#[cfg(feature = "tokens")]
mod token;
#[cfg(not(feature = "gzip"))]
use absent::gzip;
#[cfg(not(feature = "tokens"))]
use absent::tokens::{self as key_set, self as token};
mod type_names;
pub mod types;

use super::limits;
use super::registry;
use super::row::{Function, Language, Operation, Run};
use ephor_value::{Fault, Value, budget};

pub use call::{Call, CallResult};
pub use cost::Charge;
pub use operators::{order, unhashable};
pub use table::sum_of;
pub use type_names::{go_type, native_type};

/// CEL's function of a name.
pub fn find(name: &str) -> Option<&'static Function> {
    registry::find(Language::Cel, name)
}

/// The operation that a function of this name is to an analysis.
pub fn operation(name: &str) -> Option<Operation> {
    Some(find(name)?.operation)
}

/// CEL's functions.
pub fn all() -> &'static [Function] {
    table::TABLE
}

/// Runs a function.
///
/// # Errors
/// The fault of the function, or that it takes no such arguments.
pub fn call(function: &'static Function, call: &Call<'_>) -> Result<Value, Fault> {
    budget::step()?;
    let made = match function.run {
        Run::Strict(run) => run(call),
        Run::Plain(_) | Run::Higher(_) | Run::Node => None,
    };
    limits::result(made.unwrap_or_else(|| Err(no_overload(function, call))))
}

/// `no such overload: f(int, string)`.
pub fn no_overload(function: &Function, call: &Call<'_>) -> Fault {
    let name = function.shown;
    let types: Vec<&str> = call.args.iter().map(|a| a.cel_type()).collect();
    Fault::new(format!("no such overload: {name}({})", types.join(", ")))
}
