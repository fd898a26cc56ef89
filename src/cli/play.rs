//! `ephor play`: the page on loopback, with the engine of the program behind it.

use std::io::{BufRead, Write};
use std::net::SocketAddr;

use ephor_page::{MAX_QUESTION, answer};
use ephor_server::play::{PageFile, listen, run as serve};

use super::CommandError;
use crate::cli::console;

include!(concat!(env!("OUT_DIR"), "/page_files.rs"));

/// Opens a page that evaluates policies while they are written
///
/// The page is the one that runs in browsers alone; here the program answers it. It listens on
/// loopback, answers its own page only, and reads no cluster: what is evaluated is what the page
/// holds. Files that a policy names, such as that of a public key, are not read. It ends with
/// Ctrl+C.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # the page at http://127.0.0.1:8087/
  ephor play

  # at a free port
  ephor play --address 127.0.0.1:0

Exit codes:
  0  it was interrupted
  2  the address cannot be used, or the program was built without the page")]
pub struct PlayArgs {
    /// address on loopback
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:8087")]
    address: SocketAddr,
    /// answer the questions of standard input, one a line, instead
    #[arg(long, hide = true)]
    stdin: bool,
}

/// Runs the command.
///
/// # Errors
/// The address cannot be used, or the page is not there.
pub fn run(args: &PlayArgs) -> Result<i32, CommandError> {
    if args.stdin {
        return answers().map(|()| 0).map_err(CommandError::StandardInput);
    }
    if !args.address.ip().is_loopback() {
        return Err(CommandError::NotLoopback { address: args.address });
    }
    let failed = |cause| CommandError::PlayAddress { address: args.address, cause };
    let files = files();
    if files.is_empty() {
        return Err(CommandError::NoPage);
    }
    let listener = listen(args.address).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    console::print(&format!("http://{address}/\n"));
    serve(listener, files, answer, MAX_QUESTION).map_err(failed)?;
    Ok(0)
}

/// The files of the page; none when the program was built without them.
fn files() -> Vec<PageFile> {
    let of = |(path, bytes): &(&'static str, &'static [u8])| match *path {
        // The page sends its questions here instead of loading a module.
        "index.html" => {
            let page =
                String::from_utf8_lossy(bytes).replace("data-engine=\"wasm\"", "data-engine=\"native\"");
            PageFile { path: "", media_type: "text/html; charset=utf-8", bytes: page.into() }
        }
        path => {
            let media_type = match path.ends_with(".css") {
                true => "text/css; charset=utf-8",
                false => "text/javascript; charset=utf-8",
            };
            PageFile { path, media_type, bytes: (*bytes).into() }
        }
    };
    PAGE_FILES.iter().map(of).collect()
}

/// Answers the questions of standard input.
fn answers() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for question in std::io::stdin().lock().lines() {
        writeln!(out, "{}", answer(&question?))?;
    }
    Ok(())
}
