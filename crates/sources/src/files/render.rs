//! Charts and kustomizations, rendered by the programs that do so.
//!
//! In: a folder. Out: the text of the objects that `helm template`, `kustomize build` or `kubectl
//! kustomize` prints. The programs are those on the `PATH`; time and size are limited. Helm says of
//! each object which template it comes from (`# Source:`), which results show.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use ephor_value::parallel;

/// How long a program may take.
const MAX_TIME: Duration = Duration::from_secs(120);
/// How much a program may print.
const MAX_SIZE: u64 = 256 << 20;
/// How long it may take to close what errors are written to, once its output is closed.
const CLOSING: Duration = Duration::from_secs(5);

/// What other programs make objects of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rendered {
    /// A Helm chart.
    Chart,
    /// A kustomization.
    Kustomization,
}

/// Why there is no text.
#[derive(Debug, thiserror::Error)]
pub(super) enum RenderError {
    /// None of the programs is on the `PATH`.
    #[error("not rendered: {0} on the PATH")]
    NoProgram(&'static str),
    /// The program failed.
    #[error("not rendered: {program}: {text}")]
    Failed {
        /// The program and its arguments.
        program: String,
        /// The last line that it printed.
        text: String,
    },
}

impl Rendered {
    /// The programs that render it, with their arguments; the first one that is there is used.
    fn programs(self) -> &'static [(&'static str, &'static [&'static str])] {
        match self {
            Rendered::Chart => &[("helm", &["template"])],
            Rendered::Kustomization => &[("kustomize", &["build"]), ("kubectl", &["kustomize"])],
        }
    }

    fn missing(self) -> &'static str {
        match self {
            Rendered::Chart => "helm is not",
            Rendered::Kustomization => "neither kustomize nor kubectl is",
        }
    }

    /// The objects of a folder.
    pub(super) fn text(self, folder: &Path) -> Result<Vec<u8>, RenderError> {
        for (name, arguments) in self.programs() {
            let program = format!("{name} {} {}", arguments.join(" "), folder.display());
            let failed = |text: String| RenderError::Failed { program: program.clone(), text };
            // A folder that begins with a dash is no flag.
            let is_like_flag = folder.as_os_str().as_encoded_bytes().starts_with(b"-");
            let folder = if is_like_flag { Path::new(".").join(folder) } else { folder.to_path_buf() };
            let child = Command::new(name)
                .args(*arguments)
                .arg(folder)
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn();
            return match child {
                Ok(child) => printed(child).map_err(failed),
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => Err(failed(super::reason(&error))),
            };
        }
        Err(RenderError::NoProgram(self.missing()))
    }
}

/// What a program prints, within the limits.
fn printed(mut child: Child) -> Result<Vec<u8>, String> {
    let (Some(out), Some(err)) = (child.stdout.take(), child.stderr.take()) else {
        return Err("it has no output".into());
    };
    let ended = (|| {
        let (out, err) = (reading(out)?, reading(err)?);
        let late = || io::Error::other(format!("it did not end within {} s", MAX_TIME.as_secs()));
        let bytes = out.recv_timeout(MAX_TIME).map_err(|_| late())??;
        let errors = err.recv_timeout(CLOSING).map_err(|_| late())??;
        Ok::<_, io::Error>((bytes, errors))
    })();
    let (bytes, errors) = match ended {
        Ok(both) => both,
        Err(error) => {
            let _ = child.kill();
            let _ = child.wait();
            return Err(error.to_string());
        }
    };
    // Both ends are closed, so it ends now.
    if child.wait().is_ok_and(|status| status.success()) {
        return Ok(bytes);
    }
    let errors = String::from_utf8_lossy(&errors);
    let last = errors.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it failed");
    Err(last.trim_start_matches("Error: ").into())
}

/// Reads a stream on a thread of its own.
fn reading(stream: impl Read + Send + 'static) -> io::Result<Receiver<io::Result<Vec<u8>>>> {
    let (send, receive) = sync_channel(1);
    parallel::spawn("render", move || {
        let mut bytes = Vec::new();
        let read = stream.take(MAX_SIZE + 1).read_to_end(&mut bytes);
        let too_large = bytes.len() as u64 > MAX_SIZE;
        let _ = send.send(match read {
            Err(error) => Err(error),
            Ok(_) if too_large => Err(io::Error::other(format!("it printed more than {MAX_SIZE} bytes"))),
            Ok(_) => Ok(bytes),
        });
    })?;
    Ok(receive)
}
