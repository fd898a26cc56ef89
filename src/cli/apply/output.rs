//! What `apply` prints: one of Kyverno's outputs, or one of our formats.

use ephor_report::formats::Format;

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyOutput {
    /// Failed rules as text.
    Plain,
    /// A table.
    Table,
    /// Report objects as YAML.
    ReportYaml,
    /// Report objects as JSON.
    ReportJson,
    /// Exceptions for failures as YAML.
    ExceptionsYaml,
    /// Exceptions for failures as JSON.
    ExceptionsJson,
    /// One of our own formats, written when everything is evaluated.
    Own(Format),
}

impl ApplyOutput {
    /// Whether it is objects for a cluster, which Kyverno prints among other things.
    pub fn is_document_of_kyverno(self) -> bool {
        self.is_json() || matches!(self, ApplyOutput::ReportYaml | ApplyOutput::ExceptionsYaml)
    }

    /// Whether these objects are JSON.
    pub fn is_json(self) -> bool {
        matches!(self, ApplyOutput::ReportJson | ApplyOutput::ExceptionsJson)
    }
}
