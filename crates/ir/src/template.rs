//! Templates: documents with variables, to be filled in for each request.
//!
//! A template is lowered once. Strings without variables are constants; a string that is nothing
//! but one variable keeps the type of its result; a text with variables is a list of parts. Texts
//! whose variables nest, touch or are escaped keep their source and are resolved in rounds, as the
//! language defines it (`docs/semantics/variables.md`).

use serde::{Deserialize, Serialize};

use ephor_value::{Map, Str, Value};

use super::Expr;

/// An expression of a template or of the policy's data section.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, remote = "Self")]
pub struct Query {
    /// Whether the expression sorts lists, which others may see.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub sorts: bool,
    /// The text, as errors show it.
    pub text: Str,
    /// What to evaluate, or why the text is no expression.
    pub expr: Result<Expr, Str>,
    /// What has to be loaded first.
    pub needs: Needs,
    /// What to run instead when the request deletes the object; `None` = the same.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub on_delete: Option<Box<Query>>,
}

super::nested::node!(Query, 64);

/// Lazily loaded data that an expression mentions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Needs {
    /// Positions of the rule's bindings, ascending.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub bindings: Box<[u32]>,
    /// The image references of the object.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub images: bool,
}

impl Needs {
    /// Whether nothing has to be loaded.
    pub fn is_empty(&self) -> bool {
        self.bindings.is_empty() && !self.images
    }
}

/// A document to be filled in.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", remote = "Self")]
pub enum Template {
    /// Nothing to fill in.
    Const(Value),
    /// The typed result of one variable.
    Whole(Box<Hole>),
    /// A text with results in it.
    Text(Box<Text>),
    /// A text that is resolved in rounds.
    Rounds(Box<Rounds>),
    /// A list of templates.
    List(Box<[Template]>),
    /// An object of templates; keys may hold variables too.
    Object(Box<[(Template, Template)]>),
    /// A reference in the document that cannot be resolved.
    Fail(Str),
}

/// A variable and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Hole {
    /// The expression.
    pub query: Query,
    /// The string itself, for variables inside of the data that replaces it.
    pub rounds: Rounds,
}

/// Literal pieces with variables between them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Text {
    /// The pieces.
    #[serde(default, skip_serializing_if = "super::unset")]
    pub parts: Box<[Part]>,
    /// The text for the case that a result brings in variables.
    pub rounds: Rounds,
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Part {
    /// Literal text.
    Literal(Str),
    /// A variable.
    Hole(Query),
}

/// A text to be resolved in rounds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rounds {
    /// The text as written.
    pub source: Str,
    /// Path of the string in its document.
    pub path: Str,
    /// Names of the bindings in scope.
    pub names: std::sync::Arc<[Str]>,
    /// What a lone `@` stands for here.
    pub current: Str,
}

super::nested::node!(Template, 260);

impl Template {
    /// The constant, when there is nothing to fill in.
    pub fn as_const(&self) -> Option<&Value> {
        match self {
            Template::Const(v) => Some(v),
            _ => None,
        }
    }

    /// A list; the constant when all items are.
    pub fn list(items: Vec<Template>) -> Template {
        match items.iter().map(|item| item.as_const().cloned()).collect::<Option<Vec<Value>>>() {
            Some(values) => Template::Const(Value::list(values)),
            None => Template::List(items.into()),
        }
    }

    /// An object; the constant when all entries are.
    pub fn object(entries: Vec<(Template, Template)>) -> Template {
        let constant = |(key, value): &(Template, Template)| match (key, value) {
            (Template::Const(Value::Str(key)), Template::Const(value)) => Some((key.clone(), value.clone())),
            _ => None,
        };
        match entries.iter().map(constant).collect::<Option<Map>>() {
            Some(map) => Template::Const(Value::Map(map)),
            None => Template::Object(entries.into()),
        }
    }
}
