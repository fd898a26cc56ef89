//! `ephor explain`: the rules of policies as the engine sees them.

/// Runs the command.
///
/// # Errors
/// Bad flags, no policy.
pub fn run(_args: &[String]) -> Result<i32, String> {
    Err("not yet".into())
}
