//! The rule IR: what every policy language is lowered to and the engine runs.
//!
//! Few node kinds, each with one meaning: those that read on past what is missing, and strict ones,
//! for which missing things are faults and every step costs something. No node names the policy
//! kind it came from. `docs/internals/ir.md` lists every node with its meaning and says how the
//! constructs of CEL map onto them.
//!
//! In: built by `lower` (and by the language front ends for expressions), or read from JSON. Out:
//! run by `engine`, printed by `explain` as text or JSON.
//!
//! - [`admission`]: admission policies as an API server runs them: which requests they match, what
//!   they check, and the actions
//! - `binding`: data that a rule may read under a name: variables, ConfigMaps, calls, global
//!   entries, images
//! - [`binding_index`]: the bindings of a policy by what a request must have for them to count
//! - [`cel_exception`]: PolicyExceptions of `policies.kyverno.io`
//! - [`check`]: what a validate rule checks
//! - [`condition`]: a key, an operator, a value; combined by `any` and `all`
//! - [`constraints`]: which requests of the Kubernetes API a policy is about
//! - `derived`: what is derived from a node and cached with it
//! - [`expr`]: expression nodes
//! - [`expressions`]: what the CEL expressions of a rule share: what they see, conditions,
//!   variables, audit annotations and wording
//! - [`facts`]: facts of policies: what distinguishes the policies of one API from those of another
//! - [`generate`]: what a rule makes
//! - [`guard`]: expressions that could make far more of their input than there is
//! - [`image_validation`]: validations of images: which images, who may have signed them, what may
//!   be attested, and the expressions that decide
//! - [`images`]: what rules want of the images of an object
//! - [`item_keys`]: which keys of its items a loop reads
//! - [`json`]: the IR as JSON: what `ephor explain --output json` prints and what can be read back
//!   and evaluated
//! - [`late`]: what is lowered at run time: texts and documents that are put together from the
//!   results of variables
//! - [`manifests`]: what rules want of the signature of an object's manifest
//! - [`matcher`]: which requests a rule applies to
//! - [`mutate`]: what a rule changes
//! - `nested`: nodes that hold nodes of their own kind: how derived serialisation is given room on
//!   the stack and a bound for the nesting
//! - [`operator`]: the operators of conditions
//! - [`ops`]: what operations of expressions mean on values
//! - [`optimise`]: the optimiser: rules that mean the same and cost less
//! - [`origin`]: where a piece of a rule came from
//! - [`parts`]: walking over rules: the only place that knows which parts each of their nodes has
//! - [`pattern`]: leaves of patterns: scalars and the little operator language of pattern strings,
//!   and what they match
//! - [`pod_security`]: the Pod Security Standards as rows: which fields of a pod a control is
//!   about, and what they may hold
//! - [`policy`]: policies: rules and what they have in common
//! - [`rule`]: when they apply, what they read, what they do
//! - `same`: how the IR writes the functions that its nodes call: by the name of their row in the
//!   registry
//! - [`selector`]: label selectors
//! - [`shape`]: overlay patterns, lowered
//! - [`sharing`]: what the results of an expression depend on, when rules of many policies may
//!   share them
//! - [`strict`]: nodes of strict expressions: missing things are faults, every step counts its cost
//! - [`template`]: documents with variables, to be filled in for each request
//! - [`walk`]: walking over expressions: the only place that knows which children a node has, how
//!   many binders it puts around each, and how often it evaluates each
//! - [`webhook`]: webhooks of dynamic admission control: for which requests an API server calls a
//!   webhook, and how
#![forbid(unsafe_code)]

pub mod admission;
mod binding;
pub mod binding_index;
pub mod cel_exception;
pub mod check;
pub mod condition;
pub mod constraints;
mod derived;
pub mod expr;
pub mod expressions;
pub mod facts;
pub mod generate;
pub mod guard;
pub mod image_validation;
pub mod images;
pub mod item_keys;
pub mod json;
pub mod late;
pub mod manifests;
pub mod matcher;
pub mod mutate;
mod nested;
pub mod operator;
pub mod ops;
pub mod optimise;
pub mod origin;
pub mod parts;
pub mod pattern;
pub mod pod_security;
pub mod policy;
pub mod rule;
mod same;
pub mod selector;
pub mod shape;
pub mod sharing;
pub mod strict;
pub mod template;
pub mod walk;
pub mod webhook;

/// Whether a field has the value that a missing one has, so that it need not be written.
fn unset<T: Default + PartialEq>(v: &T) -> bool {
    *v == T::default()
}

pub use condition::{Condition, Conditions, Operator};
pub use expr::Expr;
pub use matcher::Matcher;
pub use origin::Origin;
pub use policy::{Exception, Policy};
pub use rule::Rule;
pub use shape::Shape;
pub use template::{Query, Template};
