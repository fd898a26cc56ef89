//! What is offered.

use crate::span::Span;

/// What an offered text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionKind {
    /// A field.
    Field,
    /// A value that a schema lists.
    Value,
    /// A kind of objects.
    Kind,
    /// A function or macro.
    Function,
    /// A variable of expressions.
    Variable,
    /// The name of something in the workspace.
    Name,
}

/// A text that could be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletionItem {
    /// What the user reads.
    pub label: String,
    /// What it is.
    pub kind: CompletionKind,
    /// Its type or signature.
    pub detail: Option<String>,
    /// What it is for, as Markdown.
    pub note: Option<String>,
    /// The part that it replaces.
    pub span: Span,
    /// What is written.
    pub insert: String,
}

impl CompletionItem {
    /// A text that is written as it is shown.
    pub fn new(label: impl Into<String>, kind: CompletionKind, span: Span) -> CompletionItem {
        let label = label.into();
        CompletionItem { insert: label.clone(), label, kind, detail: None, note: None, span }
    }
}
