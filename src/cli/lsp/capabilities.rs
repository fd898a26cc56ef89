//! What client and server can do.

use ephor_editor::Units;
use lsp_types::{
    ClientCapabilities, CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CodeLensOptions,
    CompletionOptions, ExecuteCommandOptions, HoverProviderCapability, InitializeResult, OneOf,
    PositionEncodingKind, SaveOptions, ServerCapabilities, ServerInfo, TextDocumentSyncCapability,
    TextDocumentSyncKind, TextDocumentSyncOptions, TextDocumentSyncSaveOptions,
    WorkspaceFoldersServerCapabilities, WorkspaceServerCapabilities,
};

use super::commands::COMMANDS;

/// What the server uses of the client.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClientFeatures {
    /// What columns count.
    pub(super) units: Units,
    /// Progress of the server's own work.
    pub(super) progress: bool,
    /// The client says by settings what it is set to when the server requests it.
    pub(super) configuration: bool,
    /// The client watches files when the server requests it.
    pub(super) watches: bool,
    /// The client opens documents for the server.
    pub(super) shows_documents: bool,
    /// The client takes `ephor/showText`.
    pub(super) shows_texts: bool,
    /// Symbols may be in one another.
    pub(super) nested_symbols: bool,
}

impl ClientFeatures {
    /// Of what a client says of itself.
    pub(super) fn of(client: &ClientCapabilities) -> ClientFeatures {
        let window = client.window.as_ref();
        let workspace = client.workspace.as_ref();
        let document = client.text_document.as_ref();
        let encodings =
            client.general.as_ref().and_then(|general| general.position_encodings.as_deref()).unwrap_or(&[]);
        // UTF-8 first: nothing has to be counted.
        let units = match () {
            () if encodings.contains(&PositionEncodingKind::UTF8) => Units::Utf8,
            () => Units::Utf16,
        };
        let own = client.experimental.as_ref().and_then(|own| own.get("ephor")?.get("showText")?.as_bool());
        ClientFeatures {
            units,
            progress: window.and_then(|w| w.work_done_progress).unwrap_or(false),
            configuration: workspace.and_then(|w| w.configuration).unwrap_or(false),
            watches: workspace
                .and_then(|w| w.did_change_watched_files?.dynamic_registration)
                .unwrap_or(false),
            shows_documents: window.and_then(|w| Some(w.show_document.as_ref()?.support)).unwrap_or(false),
            shows_texts: own.unwrap_or(false),
            nested_symbols: document
                .and_then(|d| d.document_symbol.as_ref()?.hierarchical_document_symbol_support)
                .unwrap_or(false),
        }
    }

    /// The answer to `initialize`.
    pub(super) fn answer(self) -> InitializeResult {
        let sync = TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions { include_text: Some(false) })),
            ..TextDocumentSyncOptions::default()
        };
        let triggers = [".", "\"", "'", "{", " ", ":", "-", "("];
        let capabilities = ServerCapabilities {
            position_encoding: Some(match self.units {
                Units::Utf8 => PositionEncodingKind::UTF8,
                _ => PositionEncodingKind::UTF16,
            }),
            text_document_sync: Some(TextDocumentSyncCapability::Options(sync)),
            hover_provider: Some(HoverProviderCapability::Simple(true)),
            completion_provider: Some(CompletionOptions {
                trigger_characters: Some(triggers.iter().map(ToString::to_string).collect()),
                ..CompletionOptions::default()
            }),
            definition_provider: Some(OneOf::Left(true)),
            references_provider: Some(OneOf::Left(true)),
            document_symbol_provider: Some(OneOf::Left(true)),
            workspace_symbol_provider: Some(OneOf::Left(true)),
            code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
                code_action_kinds: Some(vec![CodeActionKind::QUICKFIX, CodeActionKind::SOURCE_FIX_ALL]),
                ..CodeActionOptions::default()
            })),
            code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
            document_formatting_provider: Some(OneOf::Left(true)),
            document_range_formatting_provider: Some(OneOf::Left(true)),
            execute_command_provider: Some(ExecuteCommandOptions {
                commands: COMMANDS.iter().map(ToString::to_string).collect(),
                ..ExecuteCommandOptions::default()
            }),
            workspace: Some(WorkspaceServerCapabilities {
                workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                    supported: Some(true),
                    change_notifications: Some(OneOf::Left(true)),
                }),
                file_operations: None,
            }),
            ..ServerCapabilities::default()
        };
        let server_info =
            Some(ServerInfo { name: "ephor".into(), version: Some(env!("CARGO_PKG_VERSION").into()) });
        InitializeResult { capabilities, server_info }
    }
}
