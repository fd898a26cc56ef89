//! A run as text: for people, for build servers, for other programs.
//!
//! In: a [`Run`]. Out: one whole document, in a format a file. The formats are described in
//! `docs/reference/formats.md`.

use crate::run::{Finding, Run, Severity};
use ephor_engine::Status;

pub mod github;
pub mod html;
pub mod json;
pub mod junit;
pub mod markdown;
mod merged;
pub mod sarif;
pub mod text;
pub(crate) mod uri;

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For terminals.
    Text,
    /// SARIF 2.1.0.
    Sarif,
    /// JUnit's XML.
    Junit,
    /// Own JSON.
    Json,
    /// A table for comments on pull requests.
    Markdown,
    /// Workflow commands of GitHub.
    Github,
    /// A page.
    Html,
}

impl Format {
    /// All, with their names.
    pub const ALL: [(&'static str, Format); 7] = [
        ("text", Format::Text),
        ("sarif", Format::Sarif),
        ("junit", Format::Junit),
        ("json", Format::Json),
        ("markdown", Format::Markdown),
        ("github", Format::Github),
        ("html", Format::Html),
    ];

    /// The format of a name.
    pub fn of(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, format)| format)
    }

    /// The run in this format; `colour` is for text only.
    pub fn write(self, run: &Run, colour: bool) -> Document {
        match self {
            Format::Text => text::write(run, colour).into(),
            Format::Sarif => sarif::write(run),
            Format::Junit => junit::write(run).into(),
            Format::Json => json::write(run).into(),
            Format::Markdown => markdown::write(run).into(),
            Format::Github => match github::write(run) {
                annotations if annotations.is_empty() => text::counts(run).into(),
                annotations => annotations.into(),
            },
            Format::Html => html::write(run).into(),
        }
    }
}

/// What a format writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// All of it.
    pub text: String,
    /// What it does not hold because its readers have limits; a sentence for the user.
    pub left_out: Option<String>,
}

impl From<String> for Document {
    /// A document of everything.
    fn from(text: String) -> Document {
        Document { text, left_out: None }
    }
}

/// How loud a result or a finding is where a format has three levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Wrong.
    Error,
    /// Probably wrong.
    Warning,
    /// Good to know.
    Note,
}

impl Level {
    /// The word of SARIF and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        }
    }
}

/// The level of a violation: failures by the severity of their policy, errors of rules always the
/// highest.
fn level(finding: &Finding) -> Option<Level> {
    match (finding.status, finding.policy.severity) {
        (Status::Pass | Status::Skip, _) => None,
        (Status::Error, _) => Some(Level::Error),
        (_, Some(Severity::Info | Severity::Low)) => Some(Level::Note),
        (Status::Warn, _) | (_, Some(Severity::Medium)) => Some(Level::Warning),
        (Status::Fail, _) => Some(Level::Error),
    }
}

/// The message, or a sentence where the policy has none.
fn message(finding: &Finding) -> &str {
    match (finding.message.as_str(), finding.status) {
        ("", Status::Error) => "the rule cannot be evaluated",
        ("", Status::Fail | Status::Warn) => "validation failed",
        (message, _) => message,
    }
}

/// The text without characters that a terminal or a parser would act on: control characters are
/// replaced, but those that are `retained`. Messages hold what policies and resources hold.
fn visible(text: &str, retained: &[char]) -> String {
    let is_hidden =
        |c: char| (c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}')) && !retained.contains(&c);
    text.chars().map(|c| if is_hidden(c) { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
pub(crate) mod tests;
