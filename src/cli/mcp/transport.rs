//! Messages of the Model Context Protocol on standard input and output.
//!
//! In: lines of JSON. Out: a transport of `rmcp`. Its own one drops what is no message or too long
//! without an answer, on which a client waits; this one answers each such line with an error, with
//! the id of the request where it has one, and reading continues behind it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value as Json;
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
        Ok(LineTransport { incoming, output })
    }
}

impl<W: Write + Send + 'static> Transport<RoleServer> for LineTransport<W> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let output = self.output.clone();
        async move { write(&output, &item) }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.incoming.recv().await
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
