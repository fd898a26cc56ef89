//! A run as text: for people, for build servers, for other programs.
//!
//! In: a [`Run`]. Out: one whole document, written as its results are read, in a format a file.
//! What a format has to know before it begins it looks for in a pass of its own, so that the size
//! of a document is not that of the memory. The formats are described in
//! `docs/reference/formats.md`.
//!
//! - [`azure_devops`]: logging commands of Azure Pipelines: an issue for each violation.
//! - `document`: a document as text.
//! - [`github`]: workflow commands of GitHub: an annotation for each violation that the baseline
//!   does not have.
//! - [`gitlab`]: Code Quality of GitLab: an issue for each violation that the baseline does not
//!   have, which merge requests show.
//! - [`html`]: A page that stands alone: counts, charts, filters and every violation with the line
//!   of the manifest and that of the policy.
//! - [`json`]: our own JSON, version 1: counts, and each result with its policy, resource and
//!   places (`docs/reference/formats.md`).
//! - [`jsonl`]: JSON lines, of which `ephor report merge` makes every other format.
//! - [`junit`]: jUnit's XML: a suite for each policy, a case for each rule and resource.
//! - `level`: levels of violations, for formats that have three.
//! - [`markdown`]: markdown: a table of everything that did not pass, each violation once, and the
//!   counts of all results.
//! - `merged`: violations as people read them: those that say the same are shown once, with every
//!   policy that says so.
//! - `message`: messages of results as formats show them.
//! - `objects`: results object by object, for formats that show them so.
//! - [`sarif`]: SARIF 2.1.0: a result for each violation, at the field that decided.
//! - [`text`]: for terminals: violations by resource, each once with the line of the manifest and
//!   the places in the policies, the counts of all results, and the command that explains a
//!   violation.
//! - `uri`: names of files as references of URIs (RFC 3986).
//! - `write_error`: why a document cannot be written.

pub mod azure_devops;
mod document;
pub mod github;
pub mod gitlab;
pub mod html;
pub mod json;
pub mod jsonl;
pub mod junit;
mod level;
pub mod markdown;
mod merged;
pub(crate) mod message;
mod objects;
pub mod sarif;
#[cfg(test)]
pub(crate) mod tests;
pub mod text;
pub(crate) mod uri;
mod write_error;

pub use document::Document;
pub use level::Level;
pub use write_error::WriteError;

use std::io::Write;

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
    /// JSON lines, for parts of a run.
    Jsonl,
    /// A table for comments on pull requests.
    Markdown,
    /// Workflow commands of GitHub.
    Github,
    /// Code Quality of GitLab.
    Gitlab,
    /// Logging commands of Azure Pipelines.
    AzureDevops,
    /// A page.
    Html,
}

impl Format {
    /// All, with their names.
    pub const ALL: [(&'static str, Format); 10] = [
        ("text", Format::Text),
        ("sarif", Format::Sarif),
        ("junit", Format::Junit),
        ("json", Format::Json),
        ("jsonl", Format::Jsonl),
        ("markdown", Format::Markdown),
        ("github", Format::Github),
        ("gitlab", Format::Gitlab),
        ("azuredevops", Format::AzureDevops),
        ("html", Format::Html),
    ];

    /// The format of a name.
    pub fn of(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, format)| format)
    }

    /// Writes the run in this format; `colour` is for text only. Returns what the document does not
    /// hold because its readers have limits: a sentence for the user.
    ///
    /// # Errors
    /// Results cannot be read, or the document cannot be written.
    pub fn write(self, run: &Run, colour: bool, out: &mut dyn Write) -> Result<Option<String>, WriteError> {
        match self {
            Format::Text => text::write(run, colour, out)?,
            Format::Sarif => return sarif::write(run, out),
            Format::Junit => junit::write(run, out)?,
            Format::Json => json::write(run, out)?,
            Format::Jsonl => jsonl::write(run, out)?,
            Format::Markdown => markdown::write(run, out)?,
            Format::Github => {
                if github::write(run, out)? == 0 {
                    out.write_all(text::counts(run).as_bytes())?;
                }
            }
            Format::Gitlab => gitlab::write(run, out)?,
            Format::AzureDevops => {
                if azure_devops::write(run, out)? == 0 {
                    out.write_all(text::counts(run).as_bytes())?;
                }
            }
            Format::Html => html::write(run, out)?,
        }
        Ok(None)
    }

    /// The run in this format as text, for runs that are small.
    ///
    /// # Errors
    /// Results cannot be read.
    pub fn document(self, run: &Run, colour: bool) -> Result<Document, WriteError> {
        Document::of(|out| self.write(run, colour, out))
    }
}
