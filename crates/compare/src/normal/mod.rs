//! Rules in a normal form: equal texts mean equal verdicts.
//!
//! - `absent_parent`: reading below a part that need not be there
//! - `alpha`: names of context entries, on which no verdict depends
//! - `canonical`: units as texts
//! - `commute`: conditions whose order says nothing
//! - `conditions`: a rule with other conditions
//! - `environment_key`: environments that all rules treat alike
//! - `fold_kind`: expressions that depend on the kind alone
//! - `fold_operation`: conditions about the operation alone
//! - `patterns`: leaves and anchors of patterns
//! - `print`: nodes as texts
//! - `rewrite`: a rule with other expressions
//! - `unused_entries`: context entries that nothing reads

pub(crate) mod absent_parent;
pub(crate) mod alpha;
pub(crate) mod canonical;
pub(crate) mod commute;
pub(crate) mod conditions;
pub(crate) mod environment_key;
pub(crate) mod fold_kind;
pub(crate) mod fold_operation;
pub(crate) mod patterns;
pub(crate) mod print;
pub(crate) mod rewrite;
pub(crate) mod unused_entries;
