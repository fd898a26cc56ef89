//! Values of JMESPath, conditions and patterns → values and tests in CEL.
//!
//! One recursion: translating a value needs tests, and a test needs values. Its files import each
//! other, which no other folder does (`tests/architecture.rs`).
//!
//! - `alternatives`: values of which an expression gives one
//! - `api_call`: calls of the Kubernetes API
//! - `bindings`: context entries → variables
//! - `comparisons`: comparisons of JMESPath
//! - `composed`: texts with variables and wildcards
//! - `conditions`: conditions → tests
//! - `counts`: two counts of one list
//! - `forms`: types, presence and truth of values
//! - `functions`: functions of JMESPath
//! - `leaf`: leaves of patterns
//! - `lists`: items of lists, and how many there are
//! - `variable_leaves`: leaves that are compared with variables
//! - `membership`: `AnyIn` and its like
//! - `ordering`: `GreaterThan` and its like
//! - `regular`: replacements by regular expressions
//! - `root`: what expressions read, under its name in CEL
//! - `slices`: slices of lists
//! - `template`: values with variables in them
//! - `texts`: wildcards on texts
//! - `values`: expressions of JMESPath
//! - `yaml`: values in a text that YAML reads afterwards

pub(crate) mod alternatives;
pub(crate) mod api_call;
pub(crate) mod bindings;
pub(crate) mod comparisons;
pub(crate) mod composed;
pub(crate) mod conditions;
pub(crate) mod counts;
pub(crate) mod forms;
pub(crate) mod functions;
pub(crate) mod leaf;
pub(crate) mod lists;
pub(crate) mod membership;
pub(crate) mod ordering;
pub(crate) mod regular;
pub(crate) mod root;
pub(crate) mod slices;
pub(crate) mod template;
pub(crate) mod texts;
pub(crate) mod values;
pub(crate) mod variable_leaves;
pub(crate) mod yaml;
