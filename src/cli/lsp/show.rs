//! Commands: their threads, and their texts in the client.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use lsp_server::RequestId;
use lsp_types::notification::ShowMessage;
use lsp_types::request::ShowDocument;
use lsp_types::{MessageType, ShowDocumentParams, ShowMessageParams};

use super::capabilities::ClientFeatures;
use super::client::Client;
use super::commands::{CommandOutcome, Prepared};
use super::queue::{Job, Queue};
use super::uris;

/// Lines of a message at most: clients show messages in small windows.
const MAX_LINES: usize = 20;

/// Runs a command on a thread of its own; its outcome comes back through the queue.
pub(super) fn start(prepared: Prepared, id: RequestId, queue: Arc<Queue>) {
    std::thread::spawn(move || {
        let Prepared { title, work } = prepared;
        let fault = || Err("the command ended with a fault of the program".to_string());
        let text = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| fault());
        queue.add(Job::Finished(Box::new(CommandOutcome { id, title, text })));
    });
}

/// Shows a text in the way that the client has: a notification of its own, a document, or a
/// message.
pub(super) fn text(client: &Client, features: ClientFeatures, title: &str, text: &str) {
    if features.shows_texts {
        return client.notify_of("ephor/showText", serde_json::json!({"title": title, "text": text}));
    }
    if features.shows_documents
        && let Some(uri) = stored(title, text)
    {
        let (take_focus, selection) = (Some(true), None);
        let params = ShowDocumentParams { uri, external: Some(false), take_focus, selection };
        client.request::<ShowDocument>(params);
        return;
    }
    let mut lines: Vec<&str> = text.lines().collect();
    let left = lines.len().saturating_sub(MAX_LINES);
    lines.truncate(MAX_LINES);
    let rest = if left > 0 { format!("\n({left} more lines)") } else { String::new() };
    let message = format!("{title}\n{}{rest}", lines.join("\n"));
    client.notify::<ShowMessage>(ShowMessageParams { typ: MessageType::INFO, message });
}

/// A file with the text, which the client opens.
fn stored(title: &str, text: &str) -> Option<lsp_types::Uri> {
    let folder = std::env::temp_dir().join(format!("ephor-lsp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).ok()?;
    let name: String = title.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).collect();
    let path = folder.join(format!("{name}.txt"));
    std::fs::write(&path, text).ok()?;
    uris::uri(&path.to_string_lossy())
}
