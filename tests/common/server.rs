//! A web server of files on this machine.
#![allow(dead_code, clippy::expect_used)]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

/// Serves until the test's process ends.
pub struct Server {
    address: String,
}

impl Server {
    /// A server of `files`: path without the first slash, and content.
    pub fn new(files: HashMap<String, Vec<u8>>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address").to_string();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = answer(stream, &files);
            }
        });
        Server { address }
    }

    /// A server of everything in a folder.
    pub fn of_folder(folder: &Path) -> Server {
        let mut files = HashMap::new();
        let mut waiting = vec![folder.to_path_buf()];
        while let Some(path) = waiting.pop() {
            if path.is_dir() {
                let inside = std::fs::read_dir(&path).expect("a folder");
                waiting.extend(inside.flatten().map(|e| e.path()));
            } else {
                let name = path.strip_prefix(folder).expect("inside").to_string_lossy().into_owned();
                files.insert(name, std::fs::read(&path).expect("a file"));
            }
        }
        Server::new(files)
    }

    /// The address of a file.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// An address without a listener.
    pub fn nowhere() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.local_addr().expect("an address").to_string()
    }
}

fn answer(mut stream: TcpStream, files: &HashMap<String, Vec<u8>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    reader.read_line(&mut first)?;
    let mut line = first.clone();
    while !line.trim().is_empty() {
        line.clear();
        reader.read_line(&mut line)?;
    }
    let path = first.split(' ').nth(1).unwrap_or("/").trim_start_matches('/');
    let path = path.split('?').next().unwrap_or("");
    let (status, body): (&str, &[u8]) = match files.get(path) {
        Some(body) => ("200 OK", body),
        None => ("404 Not Found", b"no such file"),
    };
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len())?;
    stream.write_all(body)
}
