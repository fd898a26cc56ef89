//! The thread that reads messages.
//!
//! It answers nothing but the beginning and the end of a session, and never waits for the worker.

use std::sync::Arc;

use ephor_editor::Cancellation;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::InitializeParams;

use super::capabilities::ClientFeatures;
use super::client::Client;
use super::queue::{Job, Queue};
use super::settings::ServerSettings;
use super::worker::{Session, Worker};

/// Serves a client until it ends; returns the exit code.
pub(super) fn serve(connection: &Connection, flags: ServerSettings) -> i32 {
    let client = Arc::new(Client::new(connection.sender.clone()));
    let Some((id, params)) = initialize(connection, &client) else { return 1 };
    let features = ClientFeatures::of(&params.capabilities);
    match serde_json::to_value(features.answer()) {
        Ok(answer) => client.send(Response { id, response_result: Ok(answer) }),
        Err(error) => client.send(refusal(id, ErrorCode::InternalError, &error.to_string())),
    }
    let queue = Arc::new(Queue::default());
    let session = Session { features, client: client.clone(), queue: queue.clone(), flags };
    let worker = std::thread::spawn(move || Worker::new(session, &params).run());
    let code = read(connection, &client, &queue);
    queue.close();
    let _ = worker.join();
    code
}

/// Waits for the first request.
fn initialize(connection: &Connection, client: &Client) -> Option<(RequestId, InitializeParams)> {
    for message in &connection.receiver {
        match message {
            Message::Request(Request { id, method, params }) if method == "initialize" => {
                match serde_json::from_value(params) {
                    Ok(params) => return Some((id, params)),
                    Err(error) => client.send(refusal(id, ErrorCode::InvalidParams, &error.to_string())),
                }
            }
            Message::Request(request) => {
                let text = "`initialize` comes first";
                client.send(refusal(request.id, ErrorCode::ServerNotInitialized, text));
            }
            Message::Notification(notification) if notification.method == "exit" => return None,
            _ => {}
        }
    }
    None
}

/// Reads messages until the client ends.
fn read(connection: &Connection, client: &Client, queue: &Queue) -> i32 {
    let mut is_shut_down = false;
    for message in &connection.receiver {
        match message {
            Message::Request(request) if is_shut_down => {
                client.send(refusal(request.id, ErrorCode::InvalidRequest, "the server is shut down"));
            }
            Message::Request(request) if request.method == "shutdown" => {
                is_shut_down = true;
                client.send(Response { id: request.id, response_result: Ok(serde_json::Value::Null) });
            }
            Message::Request(request) => queue.add(Job::Request(request, Cancellation::default())),
            Message::Response(response) => queue.add(Job::Response(response)),
            Message::Notification(Notification { method, params }) => match method.as_str() {
                "exit" => return i32::from(!is_shut_down),
                "$/cancelRequest" => {
                    let id = params.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
                    id.iter().for_each(|id| queue.cancel(id));
                }
                _ => queue.add(Job::Notification(Notification { method, params })),
            },
        }
    }
    // The client is gone without a word.
    1
}

/// The answer to a request that has no result.
pub(super) fn refusal(id: RequestId, code: ErrorCode, text: &str) -> Response {
    Response::new_err(id, code as i32, text.into())
}
