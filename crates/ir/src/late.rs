//! What is lowered at run time: texts and documents that are put together from the results of
//! variables.
//!
//! In: a text or a document. Out: what `lower` would have built from it, had it been written in the
//! policy. Nodes of the IR hold data only; code that runs, optimises or analyses them receives this
//! interface. Semantics: `docs/semantics/variables.md`.

use ephor_value::{Str, Value};

use super::mutate::Layer;
use super::selector::Selector;
use super::shape::Pattern;
use super::{Query, Template};

/// See the module page. Names are those of the bindings in scope, outermost first.
pub trait Late: std::fmt::Debug + Sync {
    /// A query; on the deletion of an object it reads the former one.
    fn query(&self, text: &str, names: &[Str]) -> Query;
    /// A query that reads `request.object` also when the object is deleted.
    fn plain_query(&self, text: &str, names: &[Str]) -> Query;
    /// A text with variables.
    fn text(&self, text: &Str, names: &[Str]) -> Template;
    /// A document with variables.
    fn document(&self, document: &Value, names: &[Str]) -> Template;
    /// A pattern; `None` when it nests too deeply.
    fn pattern(&self, document: &Value) -> Option<Pattern>;
    /// A document to be merged; `None` when it nests too deeply.
    fn layer(&self, document: &Value) -> Option<Layer>;
    /// A selector of labels; `None` when it is none.
    fn selector(&self, document: &Value) -> Option<Selector>;
}
