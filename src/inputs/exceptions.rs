//! Exception files.

use crate::ir::Exception;
use crate::ir::review::Exemption;
use crate::load::{self, Policies};
use crate::sources::files::SourceText;

/// The exceptions of a file, and what there is to say about their kinds.
#[derive(Clone, Debug, Default)]
pub struct Exceptions {
    /// In order.
    pub exceptions: Vec<Exception>,
    /// Exceptions from reviews, in order.
    pub exemptions: Vec<Exemption>,
    /// Deprecation warnings, one a document, with the file.
    pub deprecations: Vec<String>,
}

/// Reads a file in which every document must be an exception.
///
/// # Errors
/// The reference's text.
pub fn read(path: &str) -> Result<Exceptions, String> {
    let wrap = |cause: String| format!("failed to load exceptions ({cause})");
    let text = super::read(path).map_err(|cause| wrap(format!("unable to read yaml ({cause})")))?;
    let source = SourceText { name: path.to_string(), text };
    let loaded = load::argument(std::slice::from_ref(&source));
    let refused = |text: String| wrap(format!("unable to load exceptions ({text})"));
    if let Some(p) = loaded.problems.first() {
        return Err(refused(p.text.clone()));
    }
    if let Some(p) = loaded.policies.first() {
        let (version, kind) = (p.document.text_at(&["apiVersion"]), p.document.text_at(&["kind"]));
        return Err(refused(format!("policy exception type not supported {version}, Kind={kind}")));
    }
    let Policies { exceptions, exemptions, deprecations, .. } = loaded;
    Ok(Exceptions { exceptions, exemptions, deprecations })
}
