//! Policies that together have each construct that is migrated, and what is written for them:
//! `golden/NAME.yaml` and `golden/NAME.migrated.yaml`.
//!
//! The second begins with what the proof says and the notes of the report. Files whose names begin
//! with `vap-` become policies of Kubernetes. A change of what is written shows here, where people
//! read it: `EPHOR_WRITE_GOLDEN=1 cargo test --workspace --test migrations golden` writes the files
//! anew.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fmt::Write;
use std::path::{Path, PathBuf};

use ephor_migrate::{DocumentOutcome, File, Limits, Options, TargetApi, exceptions, file};
use ephor_value::parallel;

/// What the files of migrated policies end with.
const MIGRATED: &str = ".migrated.yaml";

fn policies() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut all: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.retain(|path| !path.to_string_lossy().ends_with(MIGRATED));
    all.sort();
    all
}

fn migrated(path: &Path) -> String {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    let to = if name.starts_with("vap-") { TargetApi::Kubernetes } else { TargetApi::Kyverno };
    let options = Options { to, ..Options::default() };
    let limits = Limits { objects: 2_000, ..Limits::default() };
    let mut files = vec![file(&name, &std::fs::read_to_string(path).unwrap(), &options, limits).unwrap()];
    exceptions(&mut files, &options, limits);
    let file = files.remove(0);
    said(&file) + &file.migrated()
}

/// What the report says, as comments.
fn said(file: &File) -> String {
    let mut out = String::new();
    for part in &file.parts {
        match &part.outcome {
            DocumentOutcome::Unchanged => writeln!(out, "#= {}: unchanged", part.id.1).unwrap(),
            DocumentOutcome::Unreadable(why) => panic!("{}: {why}", file.name),
            DocumentOutcome::Refused(all) => panic!("{}: {all:?}", file.name),
            DocumentOutcome::Moved(migrated, proof) => {
                let proof = proof.as_ref().as_ref().unwrap();
                writeln!(out, "#= {}: {}", part.id.1, proof.claim.answer.name()).unwrap();
                for one in &proof.claim.differences {
                    let (kind, place) = (one.kind.name(), one.environment.name());
                    writeln!(out, "#= {kind}: {place}: {}", one.new.message).unwrap();
                }
                for note in &migrated.notes {
                    writeln!(out, "#= {}: {}", note.place, note.text).unwrap();
                }
            }
        }
    }
    out
}

#[test]
fn what_is_written_for_each_construct_is_what_people_have_read() {
    let all = policies();
    assert!(all.len() >= 30, "{}", all.len());
    let texts = parallel::map(&all, |path| migrated(path));
    let writes = std::env::var_os("EPHOR_WRITE_GOLDEN").is_some();
    let mut differ = Vec::new();
    for (path, text) in all.iter().zip(texts) {
        let golden = path.with_extension("migrated.yaml");
        if writes {
            std::fs::write(&golden, text).unwrap();
        } else if std::fs::read_to_string(&golden).unwrap_or_default() != text {
            differ.push(format!("{}:\n{text}", golden.display()));
        }
    }
    assert!(differ.is_empty(), "EPHOR_WRITE_GOLDEN=1 writes what is new:\n{}", differ.join("\n"));
}
