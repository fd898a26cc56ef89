//! `--cluster` where there is no cluster.
//!
//! In: flags, environment and home folder. Out: the diagnostics of the reference, which goes on
//! without resources when nobody answers. A cluster that could be asked is refused: to find nothing
//! in it would look like a good result.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::flags::Parsed;

/// Where the reference looks when nothing names a cluster.
const DEFAULT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);

/// Looks for a cluster; the text tells that there is none.
///
/// # Errors
/// The configuration that flags name is not there, or there may be a cluster.
pub(super) fn absent(parsed: &Parsed) -> Result<String, String> {
    let unsupported = || Err("--cluster is not supported yet: pass resource files with -r".to_owned());
    match parsed.text("kubeconfig") {
        "" => {}
        path if Path::new(path).exists() => return unsupported(),
        path => return Err(format!("stat {path}: no such file or directory")),
    }
    if configurations().iter().any(|path| path.exists())
        || std::env::var_os("KUBERNETES_SERVICE_HOST").is_some()
    {
        return unsupported();
    }
    match parsed.text("context") {
        "" => {}
        context => return Err(format!("context \"{context}\" does not exist")),
    }
    let cause = match TcpStream::connect_timeout(&DEFAULT, Duration::from_secs(5)) {
        Ok(_) => return unsupported(),
        Err(e) if e.kind() == std::io::ErrorKind::ConnectionRefused => "connect: connection refused".into(),
        Err(e) => e.to_string(),
    };
    Ok(format!(
        "couldn't get current server API group list: Get \"http://localhost:8080/api\": dial tcp {DEFAULT}: {cause}"
    ))
}

/// The configuration files that are read when no flag names one.
fn configurations() -> Vec<PathBuf> {
    match std::env::var_os("KUBECONFIG").filter(|v| !v.is_empty()) {
        Some(list) => std::env::split_paths(&list).collect(),
        None => std::env::home_dir().map(|home| home.join(".kube/config")).into_iter().collect(),
    }
}

/// The names that `-r` gives are searched in the cluster: none is there.
///
/// # Errors
/// The reference's text for the first of them; it wants a file of that name first.
pub(super) fn find(names: &[String]) -> Result<(), String> {
    let Some(first) = names.first() else { return Ok(()) };
    if !Path::new(first).exists() {
        return Err(format!("failed to load resources (stat {first}: no such file or directory)"));
    }
    let line = "-".repeat(70);
    crate::cli::print(&format!("\n{line}\nresource {first} not found in cluster\n{line}\n"));
    Err(format!("failed to load resources ({first} not found in cluster)"))
}
