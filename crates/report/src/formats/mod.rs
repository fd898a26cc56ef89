//! A run as text: for people, for build servers, for other programs.
//!
//! In: a [`Run`]. Out: one whole document, in a format a file. The formats are described in
//! `docs/reference/formats.md`.
//!
//! - `document`: what a format writes.
//! - [`github`]: workflow commands of GitHub: an annotation for each violation that the baseline
//!   does not have.
//! - [`html`]: A page that stands alone: counts, charts, filters and every violation with the line
//!   of the manifest and that of the policy.
//! - [`json`]: our own JSON, version 1: counts, and each result with its policy, resource and
//!   places (`docs/reference/formats.md`).
//! - [`junit`]: jUnit's XML: a suite for each policy, a case for each rule and resource.
//! - `level`: levels of violations, for formats that have three.
//! - [`markdown`]: markdown: a table of everything that did not pass, each violation once, and the
//!   counts of all results.
//! - `merged`: violations as people read them: those that say the same are shown once, with every
//!   policy that says so.
//! - `message`: messages of results as formats show them.
//! - [`sarif`]: SARIF 2.1.0: a result for each violation, at the field that decided.
//! - [`text`]: for terminals: violations by resource, each once with the line of the manifest and
//!   the places in the policies, the counts of all results, and the command that explains a
//!   violation.
//! - `uri`: names of files as references of URIs (RFC 3986).

mod document;
pub mod github;
pub mod html;
pub mod json;
pub mod junit;
mod level;
pub mod markdown;
mod merged;
pub(crate) mod message;
pub mod sarif;
#[cfg(test)]
pub(crate) mod tests;
pub mod text;
pub(crate) mod uri;

pub use document::Document;
pub use level::Level;

use crate::run::Run;

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
