//! What the server sends on its own account.

use std::sync::atomic::{AtomicI32, Ordering};

use crossbeam_channel::Sender;
use lsp_server::{Message, Notification, Request};
use serde::Serialize;

/// The sending end of a connection.
pub(super) struct Client {
    sender: Sender<Message>,
    next: AtomicI32,
}

impl Client {
    pub(super) fn new(sender: Sender<Message>) -> Client {
        Client { sender, next: AtomicI32::new(1) }
    }

    /// Sends a message; one that cannot be sent has no reader any more.
    pub(super) fn send(&self, message: impl Into<Message>) {
        let _ = self.sender.send(message.into());
    }

    /// Notifies the client.
    pub(super) fn notify<N: lsp_types::notification::Notification>(&self, params: N::Params)
    where
        N::Params: Serialize,
    {
        self.notify_of(N::METHOD, params);
    }

    /// Notifies the client by a method that is not of the protocol.
    pub(super) fn notify_of(&self, method: &str, params: impl Serialize) {
        if let Ok(params) = serde_json::to_value(params) {
            self.send(Notification { method: method.into(), params });
        }
    }

    /// Requests something; the id is that of the answer.
    pub(super) fn request<R: lsp_types::request::Request>(&self, params: R::Params) -> i32
    where
        R::Params: Serialize,
    {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        if let Ok(params) = serde_json::to_value(params) {
            self.send(Request { id: id.into(), method: R::METHOD.into(), params });
        }
        id
    }
}
