//! Messages of the Model Context Protocol on standard input and output.
//!
//! In: lines of JSON. Out: a transport of `rmcp`. Its own one drops what is no message or too long
//! without an answer, on which a client waits; this one answers each such line with an error, with
//! the id of the request where it has one, and reading continues behind it. The input ends for
//! `rmcp` when all requests have their answers: it waits for calls that run for some seconds only.

use std::collections::HashSet;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::Value as Json;
use tokio::sync::Notify;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::cli::console::warn;

/// Bytes of a message at most: texts of a call with room for what JSON escapes. A larger number
/// only costs memory.
pub(super) const MAX_MESSAGE: usize = 2 * ephor_page::MAX_QUESTION;

/// Messages that are read ahead: more wait in the pipe.
const READ_AHEAD: usize = 16;

/// Standard input and output, or others.
pub(super) struct LineTransport<W> {
    incoming: Receiver<ClientJsonRpcMessage>,
    output: Arc<Mutex<W>>,
    pending: Arc<Pending>,
}

/// The requests that have no answer yet.
#[derive(Default)]
struct Pending {
    ids: Mutex<HashSet<RequestId>>,
    is_answered: Notify,
}

impl Pending {
    /// A message has come: a request, or the end of one that is not wanted any more.
    fn received(&self, message: &ClientJsonRpcMessage) {
        match message {
            JsonRpcMessage::Request(request) => {
                self.ids.lock().unwrap_or_else(PoisonError::into_inner).insert(request.id.clone());
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.ended(id);
                }
            }
            _ => {}
        }
    }

    /// A message is written.
    fn sent(&self, message: &ServerJsonRpcMessage) {
        match message {
            JsonRpcMessage::Response(response) => self.ended(&response.id),
            JsonRpcMessage::Error(error) => error.id.iter().for_each(|id| self.ended(id)),
            _ => {}
        }
    }

    fn ended(&self, id: &RequestId) {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        self.is_answered.notify_waiters();
    }

    /// Waits until each request has its answer.
    async fn none(&self) {
        loop {
            let mut answered = std::pin::pin!(self.is_answered.notified());
            // From here on an answer is noticed.
            answered.as_mut().enable();
            if self.ids.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
                return;
            }
            answered.await;
        }
    }
}

impl LineTransport<io::Stdout> {
    /// On standard input and output.
    ///
    /// # Errors
    /// The thread that reads cannot be started.
    pub(super) fn of_process() -> io::Result<LineTransport<io::Stdout>> {
        LineTransport::new(io::stdin(), io::stdout())
    }
}

impl<W: Write + Send + 'static> LineTransport<W> {
    fn new(input: impl Read + Send + 'static, output: W) -> io::Result<LineTransport<W>> {
        let output = Arc::new(Mutex::new(output));
        let (sender, incoming) = channel(READ_AHEAD);
        let replies = output.clone();
        // The reader is not waited for: it may wait for input for ever.
        let reader = thread::Builder::new().name("mcp-input".into());
        reader.spawn(move || read(&mut BufReader::new(input), &sender, &replies))?;
        Ok(LineTransport { incoming, output, pending: Arc::default() })
    }
}

impl<W: Write + Send + 'static> Transport<RoleServer> for LineTransport<W> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let (output, pending) = (self.output.clone(), self.pending.clone());
        async move {
            let written = write(&output, &item);
            pending.sent(&item);
            written
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let message = self.incoming.recv().await;
        match &message {
            Some(message) => self.pending.received(message),
            None => self.pending.none().await,
        }
        message
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.incoming.close();
        Ok(())
    }
}

fn write<W: Write>(output: &Mutex<W>, message: &ServerJsonRpcMessage) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
    output.write_all(&line)?;
    output.flush()
}

/// Reads lines until there are none, or nothing reads the messages.
fn read<W: Write>(input: &mut impl BufRead, incoming: &Sender<ClientJsonRpcMessage>, replies: &Mutex<W>) {
    while let Ok(Some(line)) = line(input) {
        let refused = match message(&line) {
            Ok(None) => continue,
            Ok(Some(message)) => match incoming.blocking_send(message) {
                Ok(()) => continue,
                Err(_) => return,
            },
            Err(refused) => *refused,
        };
        warn(&format!("a line of standard input is no message: {}", refused.error.message));
        if write(replies, &ServerJsonRpcMessage::error(refused.error, refused.id)).is_err() {
            return;
        }
    }
}

/// Why a line is no message, and the id of the request where it has one.
struct RefusedLine {
    error: ErrorData,
    id: Option<RequestId>,
}

/// The message of a line; none of a blank one, and of a notification that the protocol does not
/// have.
fn message(line: &Line) -> Result<Option<ClientJsonRpcMessage>, Box<RefusedLine>> {
    let refused = |error: ErrorData, id: Option<RequestId>| Box::new(RefusedLine { error, id });
    let text = match line {
        Line::Whole(text) => text.trim_ascii(),
        Line::TooLong => {
            let text = format!("a message has at most {MAX_MESSAGE} bytes");
            return Err(refused(ErrorData::invalid_request(text, None), None));
        }
    };
    if text.is_empty() {
        return Ok(None);
    }
    let unread = |error: serde_json::Error| refused(ErrorData::parse_error(error.to_string(), None), None);
    let value: Json = serde_json::from_slice(text).map_err(unread)?;
    let id: Option<RequestId> = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
    let is_notification = value.get("id").is_none() && value.get("method").is_some_and(Json::is_string);
    match serde_json::from_value(value) {
        Ok(message) => Ok(Some(message)),
        // Nothing answers a notification.
        Err(_) if is_notification => Ok(None),
        Err(error) => Err(refused(ErrorData::invalid_request(error.to_string(), None), id)),
    }
}

enum Line {
    Whole(Vec<u8>),
    TooLong,
}

/// The next line; `None` = there is none.
fn line(input: &mut impl BufRead) -> io::Result<Option<Line>> {
    let limit = MAX_MESSAGE as u64 + 1;
    let mut text = Vec::new();
    if input.by_ref().take(limit).read_until(b'\n', &mut text)? == 0 {
        return Ok(None);
    }
    if text.ends_with(b"\n") || (text.len() as u64) < limit {
        return Ok(Some(Line::Whole(text)));
    }
    // What is too long is skipped, so that what is behind it can be read.
    loop {
        text.clear();
        let read = input.by_ref().take(1 << 16).read_until(b'\n', &mut text)?;
        if read == 0 || text.ends_with(b"\n") {
            return Ok(Some(Line::TooLong));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::pin::pin;
    use std::task::Poll;

    use super::*;

    #[test]
    fn the_input_ends_when_each_request_has_its_answer() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let input: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
            let mut transport = LineTransport::new(input, Vec::new()).unwrap();
            assert!(transport.receive().await.is_some());
            while !transport.incoming.is_closed() {
                tokio::task::yield_now().await;
            }
            let error = ErrorData::invalid_params("no", None);
            let answer = transport.send(ServerJsonRpcMessage::error(error, Some(RequestId::Number(1))));
            let mut end = pin!(transport.receive());
            let is_pending =
                std::future::poll_fn(|context| Poll::Ready(end.as_mut().poll(context).is_pending())).await;
            assert!(is_pending, "an answer is missing");
            answer.await.unwrap();
            assert!(end.await.is_none());
        });
    }
}
