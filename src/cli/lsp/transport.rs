//! Messages of the Language Server Protocol on standard input and output.
//!
//! In: frames of JSON. Out: a connection of `lsp-server`. What is no message is answered with an
//! error, and reading continues behind it; a frame whose length is not readable ends the
//! connection, for nothing behind it can be found.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, unbounded};
use lsp_server::{Connection, ErrorCode, Message};

/// Bytes of a message at most. Clients send whole texts when a file is opened; the largest text
/// that is read of a disk is smaller than this by far. A larger number only costs memory.
const MAX_MESSAGE: usize = 64 << 20;

/// The connection, and the thread that writes what is still to be sent.
pub(super) struct Transport {
    pub(super) connection: Connection,
    writer: JoinHandle<()>,
}

impl Transport {
    /// On standard input and output.
    pub(super) fn of_process() -> Transport {
        Transport::new(io::stdin(), io::stdout())
    }

    /// On any input and output.
    fn new(input: impl Read + Send + 'static, output: impl Write + Send + 'static) -> Transport {
        let output = Arc::new(Mutex::new(output));
        let (incoming, receiver): (Sender<Message>, Receiver<Message>) = unbounded();
        let (sender, outgoing): (Sender<Message>, Receiver<Message>) = unbounded();
        let replies = output.clone();
        // The reader is not waited for: it may wait for input for ever.
        thread::spawn(move || read(&mut BufReader::new(input), &incoming, &replies));
        let writer = thread::spawn(move || {
            for message in outgoing {
                let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
                if message.write(&mut *output).is_err() {
                    break;
                }
            }
        });
        Transport { connection: Connection { sender, receiver }, writer }
    }

    /// Writes what is still to be sent.
    pub(super) fn close(self) {
        let Transport { connection, writer } = self;
        drop(connection);
        let _ = writer.join();
    }
}

fn read<W: Write>(input: &mut impl BufRead, incoming: &Sender<Message>, replies: &Mutex<W>) {
    while let Ok(Some(text)) = frame(input) {
        let refused = match serde_json::from_slice::<serde_json::Value>(&text) {
            Err(error) => Some((ErrorCode::ParseError, error)),
            Ok(value) => match serde_json::from_value::<Message>(value) {
                Err(error) => Some((ErrorCode::InvalidRequest, error)),
                Ok(message) => {
                    let is_last = matches!(&message, Message::Notification(n) if n.method == "exit");
                    if incoming.send(message).is_err() || is_last {
                        return;
                    }
                    None
                }
            },
        };
        if let Some((code, error)) = refused {
            let error = serde_json::json!({"code": code as i32, "message": error.to_string()});
            let reply = serde_json::json!({"jsonrpc": "2.0", "id": null, "error": error}).to_string();
            let mut output = replies.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = write!(output, "Content-Length: {}\r\n\r\n{reply}", reply.len());
            let _ = output.flush();
        }
    }
}

/// The text of the next message; `None` = there is none.
fn frame(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut length = None;
    loop {
        let mut line = Vec::new();
        if input.by_ref().take(4096).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        if line.is_empty() {
            // Blank lines before a head are no end of it.
            match length {
                Some(length) => return body(input, length).map(Some),
                None => continue,
            }
        }
        if let Some((name, value)) = line.split_once(':')
            && name.trim().eq_ignore_ascii_case("content-length")
        {
            length = Some(value.trim().parse::<usize>().map_err(io::Error::other)?);
        }
    }
}

fn body(input: &mut impl BufRead, length: usize) -> io::Result<Vec<u8>> {
    if length > MAX_MESSAGE {
        // What is too long is skipped, so that what is behind it can be read.
        io::copy(&mut input.by_ref().take(length as u64), &mut io::sink())?;
        return Ok(Vec::new());
    }
    let mut text = vec![0; length];
    input.read_exact(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Output(Arc<Mutex<Vec<u8>>>);

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn framed(text: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{text}", text.len())
    }

    #[test]
    fn what_is_no_message_is_answered_with_an_error_and_the_next_one_is_read() {
        let input = [
            framed("{no json"),
            framed("[1, 2]"),
            "\r\n\r\nX-Other: 1\r\n".into(),
            framed(r#"{"jsonrpc":"2.0","id":1,"method":"shutdown"}"#),
            framed(r#"{"jsonrpc":"2.0","method":"exit"}"#),
        ]
        .concat();
        let output = Output::default();
        let transport = Transport::new(io::Cursor::new(input.into_bytes()), output.clone());
        let methods: Vec<String> = transport
            .connection
            .receiver
            .iter()
            .map(|message| match message {
                Message::Request(request) => request.method,
                Message::Notification(notification) => notification.method,
                Message::Response(_) => "response".into(),
            })
            .collect();
        transport.close();
        assert_eq!(methods, ["shutdown", "exit"]);
        let written = String::from_utf8(output.0.lock().unwrap().clone()).unwrap();
        assert!(written.contains("\"code\":-32700") && written.contains("\"code\":-32600"), "{written}");
    }
}
