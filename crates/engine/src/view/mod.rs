//! What expressions see: the one place that builds it.
//!
//! In: a request, an object, parameters. Out: the values under their names, as
//! `ir::expressions::View` names them.

pub mod admission;
pub mod offline;
pub mod pod_templates;
pub mod request;
pub mod rule;
