//! Requests and their answers.

use std::collections::HashMap;

use ephor_editor::{
    Action, Cancellation, CompletionKind, Lens, Location, Span, Symbol, SymbolKind, Text, Workspace,
};
use lsp_server::{ErrorCode, Request, ResponseError};
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, CodeLens, CodeLensParams, Command,
    CompletionItem, CompletionItemKind, CompletionList, CompletionParams, CompletionTextEdit,
    DocumentFormattingParams, DocumentRangeFormattingParams, DocumentSymbol, DocumentSymbolParams,
    Documentation, ExecuteCommandParams, GotoDefinitionParams, Hover, HoverContents, HoverParams,
    MarkupContent, MarkupKind, ReferenceParams, SymbolInformation, TextDocumentIdentifier,
    TextDocumentPositionParams, TextEdit, Uri, WorkspaceEdit, WorkspaceSymbolParams,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::capabilities::ClientFeatures;
use super::commands::{self, Prepared};
use super::{convert, uris};

/// What an answer is taken from.
pub(super) struct Scope<'s> {
    pub(super) workspace: &'s Workspace,
    pub(super) features: ClientFeatures,
    pub(super) token: &'s Cancellation,
}

/// The answer to a request.
pub(super) enum Reply {
    /// A result or an error.
    Result(Result<Value, ResponseError>),
    /// That of a command, which has to run first.
    Later(Prepared),
}

/// Answers a request.
pub(super) fn answer(scope: &Scope<'_>, request: Request) -> Reply {
    let Request { method, params, .. } = request;
    Reply::Result(match method.as_str() {
        "textDocument/hover" => with(params, |p: HoverParams| scope.hover(&p)),
        "textDocument/completion" => with(params, |p: CompletionParams| scope.complete(&p)),
        "textDocument/definition" => with(params, |p: GotoDefinitionParams| {
            let at = &p.text_document_position_params;
            let found = scope.at(at).map(|(name, offset)| scope.workspace.definitions(&name, offset));
            scope.locations(&found.unwrap_or_default())
        }),
        "textDocument/references" => with(params, |p: ReferenceParams| scope.references(&p)),
        "textDocument/documentSymbol" => with(params, |p: DocumentSymbolParams| scope.symbols(&p)),
        "workspace/symbol" => with(params, |p: WorkspaceSymbolParams| scope.workspace_symbols(&p.query)),
        "textDocument/codeAction" => with(params, |p: CodeActionParams| scope.actions(&p)),
        "textDocument/codeLens" => with(params, |p: CodeLensParams| scope.lenses(&p.text_document)),
        "textDocument/formatting" => {
            with(params, |p: DocumentFormattingParams| scope.format(&p.text_document, None))
        }
        "textDocument/rangeFormatting" => {
            with(params, |p: DocumentRangeFormattingParams| scope.format(&p.text_document, Some(p.range)))
        }
        "workspace/executeCommand" => match scope.command(params) {
            Ok(prepared) => return Reply::Later(prepared),
            Err(error) => Err(error),
        },
        _ => Err(error(ErrorCode::MethodNotFound, format!("no method `{method}`"))),
    })
}

fn error(code: ErrorCode, message: String) -> ResponseError {
    ResponseError { code: code as i32, message, data: None }
}

/// Answers with parameters.
fn with<P: DeserializeOwned, R: Serialize>(
    params: Value,
    answer: impl FnOnce(P) -> R,
) -> Result<Value, ResponseError> {
    let params =
        serde_json::from_value(params).map_err(|e| error(ErrorCode::InvalidParams, e.to_string()))?;
    serde_json::to_value(answer(params)).map_err(|e| error(ErrorCode::InternalError, e.to_string()))
}

impl Scope<'_> {
    fn text(&self, document: &TextDocumentIdentifier) -> Option<(String, &Text)> {
        let name = uris::name(&document.uri);
        let text = self.workspace.text(&name)?;
        Some((name, text))
    }

    /// The file and the byte of a position.
    fn at(&self, at: &TextDocumentPositionParams) -> Option<(String, usize)> {
        let (name, text) = self.text(&at.text_document)?;
        let offset = convert::offset(text, at.position, self.features.units);
        Some((name, offset))
    }

    fn locations(&self, all: &[Location]) -> Vec<lsp_types::Location> {
        let one = |at: &Location| convert::location(self.workspace, at, self.features.units);
        all.iter().filter_map(one).collect()
    }

    fn hover(&self, params: &HoverParams) -> Option<Hover> {
        let (name, offset) = self.at(&params.text_document_position_params)?;
        let found = self.workspace.hover(&name, offset)?;
        let text = self.workspace.text(&name)?;
        Some(Hover {
            contents: HoverContents::Markup(markdown(found.text)),
            range: Some(convert::range(text, found.span, self.features.units)),
        })
    }

    fn complete(&self, params: &CompletionParams) -> Option<CompletionList> {
        let (name, offset) = self.at(&params.text_document_position)?;
        let text = self.workspace.text(&name)?;
        let found = self.workspace.complete(&name, offset, self.token).ok()?;
        let items = found.into_iter().enumerate().map(|(rank, item)| {
            let range = convert::range(text, item.span, self.features.units);
            let edit = TextEdit { range, new_text: item.insert };
            CompletionItem {
                kind: Some(match item.kind {
                    CompletionKind::Field => CompletionItemKind::FIELD,
                    CompletionKind::Value => CompletionItemKind::ENUM_MEMBER,
                    CompletionKind::Kind => CompletionItemKind::CLASS,
                    CompletionKind::Function => CompletionItemKind::FUNCTION,
                    CompletionKind::Variable => CompletionItemKind::VARIABLE,
                    CompletionKind::Name => CompletionItemKind::REFERENCE,
                }),
                detail: item.detail,
                documentation: item.note.map(|note| Documentation::MarkupContent(markdown(note))),
                // The order is that of the schema.
                sort_text: Some(format!("{rank:04}")),
                filter_text: Some(item.label.clone()),
                text_edit: Some(CompletionTextEdit::Edit(edit)),
                label: item.label,
                ..CompletionItem::default()
            }
        });
        Some(CompletionList { is_incomplete: true, items: items.collect() })
    }

    fn references(&self, params: &ReferenceParams) -> Vec<lsp_types::Location> {
        let with_definitions = params.context.include_declaration;
        let found = self.at(&params.text_document_position).and_then(|(name, offset)| {
            self.workspace.references(&name, offset, with_definitions, self.token).ok()
        });
        self.locations(&found.unwrap_or_default())
    }

    fn symbols(&self, params: &DocumentSymbolParams) -> Value {
        let Some((name, text)) = self.text(&params.text_document) else { return Value::Null };
        let found = self.workspace.symbols(&name);
        let value = match self.features.nested_symbols {
            true => serde_json::to_value(found.iter().map(|s| self.nested(text, s)).collect::<Vec<_>>()),
            false => {
                let all = found.iter().flat_map(|symbol| [symbol].into_iter().chain(&symbol.children));
                let flat: Vec<_> = all
                    .filter_map(|symbol| self.flat(&params.text_document.uri, text, symbol.span, symbol))
                    .collect();
                serde_json::to_value(flat)
            }
        };
        value.unwrap_or_default()
    }

    #[allow(deprecated)]
    fn nested(&self, text: &Text, symbol: &Symbol) -> DocumentSymbol {
        let units = self.features.units;
        let children: Vec<DocumentSymbol> = symbol.children.iter().map(|s| self.nested(text, s)).collect();
        DocumentSymbol {
            name: named(symbol),
            detail: Some(symbol.detail.clone()).filter(|detail| !detail.is_empty()),
            kind: kind_of(symbol),
            tags: None,
            deprecated: None,
            range: convert::range(text, symbol.span, units),
            selection_range: convert::range(text, symbol.name_span, units),
            children: (!children.is_empty()).then_some(children),
        }
    }

    #[allow(deprecated)]
    fn flat(&self, uri: &Uri, text: &Text, span: Span, symbol: &Symbol) -> Option<SymbolInformation> {
        let range = convert::range(text, span, self.features.units);
        Some(SymbolInformation {
            name: named(symbol),
            kind: kind_of(symbol),
            tags: None,
            deprecated: None,
            location: lsp_types::Location { uri: uri.clone(), range },
            container_name: Some(symbol.detail.clone()).filter(|detail| !detail.is_empty()),
        })
    }

    fn workspace_symbols(&self, wanted: &str) -> Vec<SymbolInformation> {
        let one = |(at, symbol): (Location, Symbol)| {
            let text = self.workspace.text(&at.file)?;
            self.flat(&uris::uri(&at.file)?, text, at.span, &symbol)
        };
        self.workspace.workspace_symbols(wanted).into_iter().filter_map(one).collect()
    }

    fn actions(&self, params: &CodeActionParams) -> Vec<CodeActionOrCommand> {
        let Some((name, text)) = self.text(&params.text_document) else { return Vec::new() };
        let within = convert::span(text, params.range, self.features.units);
        let wanted = params.context.only.as_deref();
        let is_wanted = |kind: &CodeActionKind| {
            let below = |wanted: &CodeActionKind| kind.as_str().starts_with(wanted.as_str());
            wanted.is_none_or(|wanted| wanted.iter().any(below))
        };
        let found = self.workspace.actions(&name, within).into_iter();
        let all = found.map(|action| self.action(&params.text_document.uri, text, action));
        let wanted = all.filter(|action| action.kind.as_ref().is_none_or(is_wanted));
        wanted.map(CodeActionOrCommand::CodeAction).collect()
    }

    // The key of the map is a URI, whose hash does not change.
    #[allow(clippy::mutable_key_type)]
    fn action(&self, uri: &Uri, text: &Text, action: Action) -> CodeAction {
        let units = self.features.units;
        let edits = convert::edits(text, &action.edits, units);
        let changes: HashMap<Uri, Vec<TextEdit>> = HashMap::from([(uri.clone(), edits)]);
        let kind = match &action.diagnostic {
            Some(_) => CodeActionKind::QUICKFIX,
            None => CodeActionKind::SOURCE_FIX_ALL,
        };
        let mended = |found| vec![convert::diagnostic(self.workspace, text, found, units)];
        CodeAction {
            title: action.title,
            kind: Some(kind),
            diagnostics: action.diagnostic.as_ref().map(mended),
            edit: Some(WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }),
            is_preferred: action.is_preferred.then_some(true),
            ..CodeAction::default()
        }
    }

    fn lenses(&self, document: &TextDocumentIdentifier) -> Vec<CodeLens> {
        let Some((name, text)) = self.text(document) else { return Vec::new() };
        let one = |lens: Lens| {
            let (command, arguments) = commands::named(&lens.command);
            CodeLens {
                range: convert::range(text, lens.span, self.features.units),
                command: Some(Command::new(lens.title, command.into(), Some(vec![arguments]))),
                data: None,
            }
        };
        self.workspace.lenses(&name).into_iter().map(one).collect()
    }

    fn format(&self, document: &TextDocumentIdentifier, range: Option<lsp_types::Range>) -> Vec<TextEdit> {
        let Some((name, text)) = self.text(document) else { return Vec::new() };
        let within = range.map(|range| convert::span(text, range, self.features.units));
        let edits = self.workspace.format(&name, within);
        convert::edits(text, &edits, self.features.units)
    }

    /// The command that is to run.
    ///
    /// # Errors
    /// There is no such command, or something that it needs is not there.
    fn command(&self, params: Value) -> Result<Prepared, ResponseError> {
        let params: ExecuteCommandParams =
            serde_json::from_value(params).map_err(|e| error(ErrorCode::InvalidParams, e.to_string()))?;
        match commands::prepare(self.workspace, &params.command, &params.arguments) {
            None => Err(error(ErrorCode::InvalidParams, format!("no command `{}`", params.command))),
            Some(Err(text)) => Err(error(ErrorCode::RequestFailed, text)),
            Some(Ok(prepared)) => Ok(prepared),
        }
    }
}

fn markdown(value: String) -> MarkupContent {
    MarkupContent { kind: MarkupKind::Markdown, value }
}

/// The name of a symbol, which the protocol does not allow to be empty.
fn named(symbol: &Symbol) -> String {
    if symbol.name.is_empty() { "(without a name)".into() } else { symbol.name.clone() }
}

fn kind_of(symbol: &Symbol) -> lsp_types::SymbolKind {
    match symbol.kind {
        SymbolKind::Policy => lsp_types::SymbolKind::CLASS,
        SymbolKind::Rule => lsp_types::SymbolKind::METHOD,
        SymbolKind::Validation => lsp_types::SymbolKind::EVENT,
        SymbolKind::Variable => lsp_types::SymbolKind::VARIABLE,
        SymbolKind::Test => lsp_types::SymbolKind::MODULE,
        SymbolKind::Object => lsp_types::SymbolKind::OBJECT,
    }
}
