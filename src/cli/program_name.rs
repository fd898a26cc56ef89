//! The name under which the program was called: its own, or Kyverno's.

/// The name under which the program was called.
pub(super) fn program() -> String {
    let called = std::env::args().next().unwrap_or_default();
    let stem = std::path::Path::new(&called).file_stem().map(|s| s.to_string_lossy().into_owned());
    match stem.as_deref() {
        Some(name @ ("kyverno" | "kubectl-kyverno")) => name.trim_start_matches("kubectl-").to_string(),
        _ => "ephor".into(),
    }
}

/// Whether the program was called by Kyverno's name, and answers as it does.
pub(super) fn is_kyverno() -> bool {
    program() == "kyverno"
}
