//! The policies of a side, and the documents that belong to them.

use ephor_document::{Duplicates, parse_stream};
use ephor_policies::load::{self, Policies};
use ephor_sources::files::{self, SourceText};

use crate::cli::Error;

/// What was read for a side.
#[derive(Debug)]
pub struct Loaded {
    /// The policies.
    pub policies: Policies,
    /// The documents of exceptions.
    pub exceptions: Vec<String>,
    /// The documents of bindings.
    pub bindings: Vec<String>,
}

impl Loaded {
    /// The policies of a file or folder.
    ///
    /// # Errors
    /// There is no such file, or no policy in it.
    pub fn read(path: &str) -> Result<Loaded, Error> {
        crate::cli::explain::exists(path)?;
        let loaded = files::policies(&[path.to_string()]);
        let policies = load::argument_for(&loaded.sources, load::Reader::Scan);
        if policies.policies.is_empty() {
            return Err(Error::NoPolicyFound { arguments: path.to_string(), causes: Vec::new() });
        }
        let of = |is_wanted: fn(&str) -> bool| documents(&loaded.sources, is_wanted);
        Ok(Loaded {
            exceptions: of(|kind| kind == "PolicyException"),
            bindings: of(|kind| kind.ends_with("AdmissionPolicyBinding")),
            policies,
        })
    }
}

/// The texts of the documents of some kinds.
fn documents(sources: &[SourceText], is_wanted: fn(&str) -> bool) -> Vec<String> {
    let mut out = Vec::new();
    for source in sources {
        let Ok(documents) = parse_stream(&source.name, &source.text, Duplicates::Error) else { continue };
        let wanted = documents.into_iter().flatten();
        let wanted = wanted.filter(|document| is_wanted(document.value.text_at(&["kind"])));
        out.extend(wanted.map(|document| document.text.to_string()));
    }
    out
}
