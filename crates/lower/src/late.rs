//! Lowering at run time: the one implementation of [`Late`].

use std::sync::Arc;

use ephor_ir::late::Late;
use ephor_ir::matcher::Selector;
use ephor_ir::mutate::Layer;
use ephor_ir::shape::Pattern;
use ephor_ir::{Query, Template};
use ephor_value::{Str, Value};

use super::{matcher, query, template};

/// See the module page.
#[derive(Debug)]
struct LateLowering;

/// What policies are lowered with, for what they put together at run time.
pub static LATE: &dyn Late = &LateLowering;

impl Late for LateLowering {
    fn query(&self, text: &str, names: &[Str]) -> Query {
        query::compile(text, names)
    }

    fn plain_query(&self, text: &str, names: &[Str]) -> Query {
        query::plain(text, names)
    }

    fn text(&self, text: &Str, names: &[Str]) -> Template {
        template::text(text, &Arc::from(names))
    }

    fn document(&self, document: &Value, names: &[Str]) -> Template {
        template::document(document, &Arc::from(names))
    }

    fn pattern(&self, document: &Value) -> Option<Pattern> {
        ephor_pattern::lower(document)
    }

    fn layer(&self, document: &Value) -> Option<Layer> {
        ephor_pattern::layer::lower(document)
    }

    fn selector(&self, document: &Value) -> Option<Selector> {
        matcher::selector(document)
    }
}
