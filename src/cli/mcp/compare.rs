//! `diff`: whether two sets of policies mean the same.

use serde_json::{Value as Json, json};

use ephor_page::answered;
use ephor_page::question::{Diff, Question};

use super::answer::{ToolAnswer, items, noted, taken, text};
use super::arguments::ToolCall;
use super::error::ToolError;
use super::files;

/// Compares two sets of policies.
///
/// # Errors
/// A side cannot be read or used, or holds no policy.
pub(super) fn diff(call: &ToolCall<'_>) -> Result<ToolAnswer, ToolError> {
    let (old, new) = (files::read(call, "old")?, files::read(call, "new")?);
    let question = Diff {
        old: old.as_question(),
        new: new.as_question(),
        kubernetes: call.text("kubernetes").into(),
        milliseconds: proof_time(call),
    };
    let mut answer = answered(&Question::Diff(question))?;
    let policies = taken(&mut answer, "policies");
    let notes: Vec<String> = old.notes.into_iter().chain(new.notes).collect();
    let lines: String = policies.iter().map(lines).collect();
    let is_same = |policy: &Json| matches!(text(policy, "answer"), "proved" | "tested" | "proved relative");
    let result = json!({
        "policies": policies,
        "isSame": policies.iter().all(is_same),
        "notes": notes,
    });
    Ok(ToolAnswer { result, text: lines + &noted(&notes) })
}

/// The time for a proof: that of the call, or what the questions have.
pub(super) fn proof_time(call: &ToolCall<'_>) -> u64 {
    /// Of a proof for which the call gives none, in milliseconds.
    const DEFAULT: u64 = 20_000;
    match call.seconds("seconds") {
        Some(milliseconds) => milliseconds,
        None => DEFAULT.min(call.limit()),
    }
}

/// The answer about a policy, and the differences.
fn lines(policy: &Json) -> String {
    let reasons: Vec<&str> = items(policy, "reasons").filter_map(Json::as_str).collect();
    let reasons = if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join("; ")) };
    let mut out = format!("{}: {}{reasons}\n", text(policy, "name"), text(policy, "answer"));
    out.extend(items(policy, "differences").map(difference));
    out
}

/// A difference: what each side says, and the object.
pub(super) fn difference(one: &Json) -> String {
    let side = |name: &str| {
        let side = one.get(name).unwrap_or(&Json::Null);
        let message = text(side, "message");
        let message = if message.is_empty() { String::new() } else { format!(": {message}") };
        format!("    {name}: {}{message}\n", text(side, "verdict"))
    };
    let object = one.get("object").map(ToString::to_string).unwrap_or_default();
    format!("  {}\n{}{}    object: {object}\n", text(one, "kind"), side("old"), side("new"))
}
