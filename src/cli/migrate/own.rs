//! Policies of our own groups: they move as Kyverno's do, and what takes their place is in our own
//! groups again.
//!
//! In: sources, then what came of them. Out: the same under the other names. Semantics:
//! `docs/guides/own-group.md`.

use std::collections::BTreeSet;

use ephor_kubernetes::groups::PolicyNames;
use ephor_migrate::{DocumentOutcome, File};
use ephor_sources::files::SourceText;

use crate::cli::CommandError;
use crate::cli::console::warn;
use crate::cli::convert::renamed;

/// Reads sources of our own groups as Kyverno's; their names. One that has policies of both groups
/// stays as it is, which a warning says.
pub fn as_kyverno(sources: &mut [SourceText]) -> BTreeSet<String> {
    let mut own = BTreeSet::new();
    for source in sources {
        // What cannot be read is refused where policies are read.
        let Ok(found) = renamed(&source.name, &source.text, PolicyNames::Kyverno) else { continue };
        if !found.objects.iter().any(|object| object.is_renamed) {
            continue;
        }
        let kyverno = renamed(&source.name, &source.text, PolicyNames::Own);
        if kyverno.is_ok_and(|other| other.objects.iter().any(|object| object.is_renamed)) {
            warn(&format!(
                "{}: policies of our own groups stay as they are next to Kyverno's: write them to a file of their own",
                source.name
            ));
            continue;
        }
        source.text = found.text;
        own.insert(source.name.to_string());
    }
    own
}

/// What came of these files is in our own groups.
///
/// # Errors
/// A document cannot be read.
pub fn as_own(files: &mut [File], own: &BTreeSet<String>) -> Result<(), CommandError> {
    for file in files.iter_mut().filter(|file| own.contains(&file.name)) {
        let name = file.name.clone();
        let rename = |text: &mut String| {
            *text = renamed(&name, text, PolicyNames::Own)?.text;
            Ok::<(), CommandError>(())
        };
        rename(&mut file.text)?;
        for part in &mut file.parts {
            rename(&mut part.text)?;
            if let DocumentOutcome::Moved(migrated, _) = &mut part.outcome {
                let written = migrated.documents.iter_mut().chain(&mut migrated.shadows);
                written.map(|document| &mut document.text).try_for_each(rename)?;
            }
        }
    }
    Ok(())
}
