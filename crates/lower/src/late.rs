//! Lowering at run time: the one implementation of [`Late`].

use std::sync::Arc;

use crate::ir::late::Late;
use crate::ir::matcher::Selector;
use crate::ir::mutate::Layer;
use crate::ir::shape::Pattern;
use crate::ir::{Query, Template};
use crate::pattern;
use crate::value::{Str, Value};

use super::{matcher, query, template};

/// See the module page.
#[derive(Debug)]
struct Lowering;

/// What policies are lowered with, for what they put together at run time.
pub static LATE: &dyn Late = &Lowering;

impl Late for Lowering {
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
        pattern::lower(document)
    }

    fn layer(&self, document: &Value) -> Option<Layer> {
        pattern::layer::lower(document)
    }

    fn selector(&self, document: &Value) -> Option<Selector> {
        matcher::selector(document)
    }
}
