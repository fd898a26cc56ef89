//! Changed and new objects of `apply`: as text between the results, or in files.
//!
//! In: the results of one resource. Out: what goes to standard output while resources are worked
//! on, and what goes to files under `--output`. Every policy with mutate rules shows the object,
//! whether it changed it or not, unless failures alone are wanted. Semantics:
//! `docs/reference/cli.md`, "Changed and new objects".

use std::io::Write;
use std::path::{Path, PathBuf};

use ephor_document::write as yaml;
use ephor_engine::Effect;
use ephor_ir::facts::Stage;
use ephor_policies::pitfalls;
use ephor_policies::policy_set::{Outcome, PolicySet};
use ephor_value::Value;

use super::super::object_path::path;
use crate::cli::CommandError;

/// Where objects are written.
#[derive(Clone, Debug)]
pub enum Destination {
    /// Standard output; with a line that names policy and resource in front, or without.
    Output {
        /// Whether there is such a line.
        named: bool,
        /// Whether objects that a policy did not change are left out (`--only-failures`).
        changed_only: bool,
    },
    /// One file for all objects.
    File(PathBuf),
    /// A folder with a file for each resource or policy.
    Folder(PathBuf),
}

/// What one resource adds.
#[derive(Debug, Default)]
pub struct Changes {
    /// For standard output.
    pub text: String,
    /// For files: name of the file in a folder, and what is appended.
    pub files: Vec<(String, String)>,
    /// What Kyverno is silent about, for standard error.
    pub warnings: Vec<String>,
    /// The same of policies, which is reported once in a run.
    pub once: Vec<String>,
}

/// Prepares the destination that `--output` names: creates it, or truncates an existing file.
///
/// # Errors
/// Kyverno's text.
pub fn destination(output: &str, named: bool, changed_only: bool) -> Result<Destination, CommandError> {
    if output.is_empty() {
        return Ok(Destination::Output { named, changed_only });
    }
    let target = Path::new(output);
    let failed = |cause: std::io::Error| CommandError::Create { cause };
    // What follows the last dot counts, and all of a name without one.
    if matches!(output.rsplit('.').next(), Some("yaml" | "yml")) {
        if let Some(parent) = target.parent().filter(|p| !p.as_os_str().is_empty()) {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        std::fs::write(target, "").map_err(|cause| CommandError::Truncate { path: output.into(), cause })?;
        return Ok(Destination::File(target.into()));
    }
    std::fs::create_dir_all(target).map_err(failed)?;
    Ok(Destination::Folder(target.into()))
}

impl Destination {
    /// Whether objects go to standard output.
    fn shows(&self) -> bool {
        matches!(self, Destination::Output { .. })
    }

    /// Whether objects that a policy did not change are left out.
    fn leaves_out_unchanged(&self) -> bool {
        matches!(self, Destination::Output { changed_only: true, .. })
    }

    /// Appends to the files.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn append(&self, files: &[(String, String)]) -> Result<(), CommandError> {
        for (name, text) in files {
            let file = match self {
                Destination::Output { .. } => continue,
                Destination::File(file) => file.clone(),
                // The name of an object is never used as a path.
                Destination::Folder(folder) => folder.join(name.replace(['/', '\\'], "_")),
            };
            let written = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(&file)
                .and_then(|mut f| f.write_all(text.as_bytes()));
            written.map_err(|cause| CommandError::Append { path: file, cause })?;
        }
        Ok(())
    }
}

fn document(object: &Value) -> String {
    match object {
        // A rule that failed lost it.
        Value::Null => "{}\n".into(),
        object => yaml::to_string(&object.with_whole_numbers(), yaml::Style::Object),
    }
}

/// What the results of a resource add.
pub fn render(set: &PolicySet, resource: &Value, outcome: &Outcome, to: &Destination) -> Changes {
    let mut changes = Changes::default();
    let said = pitfalls::of_outcome(set, resource, outcome);
    changes.warnings.extend(said.each.iter().map(ToString::to_string));
    changes.once.extend(said.once.iter().map(ToString::to_string));
    let mut current = resource;
    for policy in set.mutating() {
        let done = pitfalls::mutation_of(outcome, policy);
        // Of policies in CEL, Kyverno's and Kubernetes', only those that match an object show it.
        if matches!(policy.stage, Stage::ApiServer | Stage::Expressions) && done.is_none() {
            continue;
        }
        let before = current;
        current = outcome.left_by(policy, done).unwrap_or(current);
        let effects = done.into_iter().flat_map(|p| &p.rules).filter_map(|r| r.effect.as_deref());
        let targets = effects.filter_map(|e| match e {
            Effect::Target(object) => Some(document(object)),
            _ => None,
        });
        let (object, targets) = (document(current), targets.collect::<Vec<_>>());
        if to.leaves_out_unchanged() && targets.is_empty() && document(before) == object {
            continue;
        }
        changes.mutated(&policy.name, resource, &object, &targets, to);
    }
    for done in &outcome.policies {
        for result in &done.rules {
            if let Some(Effect::Generated(objects)) = result.effect.as_deref() {
                for object in objects {
                    changes.generated(&done.policy.name, resource, &document(object), to);
                }
            }
        }
        if let Some(why) = &done.failure {
            changes.warnings.push(format!(
                "policy {} generates nothing for {}: {why}",
                done.policy.name,
                path(resource)
            ));
        }
    }
    changes
}

impl Changes {
    fn heading(&mut self, policy: &str, resource: &Value, to: &Destination) {
        if matches!(to, Destination::Output { named: true, .. }) {
            self.text.push_str(&format!("\npolicy {policy} applied to {}:", path(resource)));
        }
    }

    fn mutated(
        &mut self,
        policy: &str,
        resource: &Value,
        object: &str,
        targets: &[String],
        to: &Destination,
    ) {
        self.heading(policy, resource, to);
        if to.shows() {
            self.text.push_str(&format!("\n{object}\n---\n"));
            if !targets.is_empty() {
                self.text.push_str("patched targets: \n");
            }
            for target in targets {
                self.text.push_str(&format!("\n{target}\n---\n\n"));
            }
        } else {
            let mut text = format!("{object}\n---\n\n");
            for target in targets {
                text.push_str(&format!("{target}\n---\n"));
            }
            let name = resource.text_at(&["metadata", "name"]);
            self.files.push((format!("{name}-mutated.yaml"), text));
        }
        self.text.push_str("\n\nMutation:\nMutation has been applied successfully.");
    }

    fn generated(&mut self, policy: &str, trigger: &Value, object: &str, to: &Destination) {
        self.heading(policy, trigger, to);
        if to.shows() {
            self.text.push_str(&format!("\n{object}\n---\n"));
        } else {
            self.files.push((format!("{policy}-generated.yaml"), format!("{object}\n---\n\n")));
        }
        self.text.push_str("\n\nGenerate:\nGeneration completed successfully.");
    }
}
