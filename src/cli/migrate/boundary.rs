//! Tests (`kyverno-test.yaml`) for migrated policies that no test names.
//!
//! In: the objects at the boundary between what a policy refuses and what it allows, which its
//! comparison found. Out: below the folder of `--out` a folder for each file, `.kyverno-test/NAME`,
//! with the objects and a test that expects what the new policies say of them, so that `ephor test`
//! and `kyverno test` pass.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ephor_document::write::{Style, to_string};
use ephor_migrate::{DocumentOutcome, File};
use ephor_value::{Map, Value};

use crate::cli::CommandError;
use crate::cli::console::warn;
use crate::cli::create::from_run;
use crate::cli::outputs::{Outputs, write_with_folders};

use super::out::Layout;

/// Where tests are, next to the file with policies.
const FOLDER: &str = ".kyverno-test";

/// The file with the objects.
const OBJECTS: &str = "objects.yaml";

/// The kind of policies whose verdicts are about one object alone.
const KINDS: [&str; 2] = ["ValidatingPolicy", "NamespacedValidatingPolicy"];

/// Writes the tests of what moved and is not among `tested`; a line for each.
///
/// # Errors
/// A file cannot be written.
pub fn write(
    layout: &Layout,
    files: &[File],
    tested: &[PathBuf],
    outputs: &mut Outputs,
) -> Result<Vec<String>, CommandError> {
    let is_tested = |file: &&File| std::fs::canonicalize(&file.name).is_ok_and(|path| tested.contains(&path));
    let mut out = Vec::new();
    for file in files.iter().filter(|file| file.has_moved() && !is_tested(file)) {
        let objects = distinct(objects(file));
        if !objects.is_empty() {
            out.extend(one(layout, file, &objects, outputs)?);
        }
    }
    Ok(out)
}

/// The objects at the boundaries of the policies of a file.
fn objects(file: &File) -> Vec<Value> {
    let mut out = Vec::new();
    for part in &file.parts {
        let DocumentOutcome::Moved(migrated, proof) = &part.outcome else { continue };
        let Ok(proof) = &**proof else { continue };
        if migrated.documents.iter().all(|document| KINDS.contains(&document.kind)) {
            out.extend(proof.boundary.iter().cloned());
        }
    }
    out
}

/// Writes the test of a file.
fn one(
    layout: &Layout,
    file: &File,
    objects: &[Value],
    outputs: &mut Outputs,
) -> Result<Option<String>, CommandError> {
    let policies = layout.target(&file.name);
    let name = policies.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = policies.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let tests = policies.with_file_name(FOLDER);
    // Files may differ in what is behind the last dot alone.
    let is_free = |name: &&String| !outputs.contains(&tests.join(name).join(OBJECTS));
    let own = tests.join([&stem, &name].into_iter().find(is_free).unwrap_or(&name));
    let texts: Vec<String> = objects.iter().map(|object| to_string(object, Style::Block)).collect();
    let (count, objects) = (texts.len(), texts.join("---\n"));
    let title = Value::from(stem.as_str());
    let head = format!(
        "# objects at the boundary between what the policies refuse and what they allow\napiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata:\n  name: {}policies:\n  - ../../{}resources:\n  - {OBJECTS}\n",
        to_string(&title, Style::Block),
        to_string(&Value::from(name.as_str()), Style::Block),
    );
    let path = own.join("kyverno-test.yaml");
    // The run reads the objects where they will be.
    write_with_folders(&outputs.readable(&own.join(OBJECTS)), &objects)?;
    match from_run::results(&head, &outputs.readable(&path).display().to_string(), &|_| false) {
        Ok(results) if results.text.is_empty() => Ok(None),
        Ok(results) => {
            outputs.add(&own.join(OBJECTS), &file.name, objects)?;
            outputs.add(&path, &file.name, format!("{head}results:\n{}", results.text))?;
            Ok(Some(format!("{}: {count} objects of the comparison", path.display())))
        }
        Err(cause) => {
            // Users see the folder that is written, not the one in which it is tried.
            let folder = layout.folder();
            let (tried, written) = (outputs.readable(folder), folder.display().to_string());
            let tried = tried.display().to_string();
            let cause = cause.to_string().replace(tried.trim_end_matches('/'), written.trim_end_matches('/'));
            let help = match cause.contains("policy type not supported") {
                true => {
                    " (Kyverno's command line reads no policy of a file with such an object: move it to another file)"
                }
                false => "",
            };
            warn(&format!("{}: no test: {cause}{help}", path.display()));
            Ok(None)
        }
    }
}

/// The objects, each with a name of its own: tests expect results by names alone.
fn distinct(objects: Vec<Value>) -> Vec<Value> {
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut all: Vec<Value> = Vec::new();
    let mut out: Vec<Value> = Vec::new();
    for object in objects {
        if all.contains(&object) {
            continue;
        }
        all.push(object.clone());
        let name = Some(object.text_at(&["metadata", "name"])).filter(|name| is_name(name)).unwrap_or("a");
        let numbered = (2..).map(|n| format!("{name}-{n}"));
        let free = std::iter::once(name.to_string()).chain(numbered).find(|name| !known.contains(name));
        let free = free.unwrap_or_default();
        known.insert(free.clone());
        let mut map = object.as_map().cloned().unwrap_or_default();
        let mut metadata: Map = object.get("metadata").and_then(Value::as_map).cloned().unwrap_or_default();
        metadata.insert("name", Value::from(free.as_str()));
        map.insert("metadata", Value::Map(metadata));
        out.push(Value::Map(map));
    }
    out
}

/// Whether a text may be the name of an object, so that a test finds it.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || ".:_-".contains(c))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn objects_of_one_name_get_others() {
        let of = |text: &str| ephor_document::yaml_value(text).unwrap();
        let pod = |labels: &str| {
            of(&format!("{{apiVersion: v1, kind: Pod, metadata: {{name: a, labels: {{x: {labels}}}}}}}"))
        };
        let found = distinct(vec![
            pod("b"),
            pod("c"),
            pod("b"),
            of("{apiVersion: v1, kind: Service, metadata: {name: a}}"),
            of("{apiVersion: v1, kind: Service, metadata: {name: b/}}"),
        ]);
        let names: Vec<&str> = found.iter().map(|object| object.text_at(&["metadata", "name"])).collect();
        assert_eq!(names, ["a", "a-2", "a-3", "a-4"]);
    }
}
