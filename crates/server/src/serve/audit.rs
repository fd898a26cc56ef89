//! The audit log: a line of JSON for every decision.
//!
//! A line is handed to the operating system before the decision is answered, so a crash of the
//! program loses none that a client has seen. Files that grow too large are renamed (`FILE.1` is
//! the youngest) and a new one is begun; the oldest are removed.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use prometheus::IntCounter;

use ephor_admission::admit::{Decision, Incoming};
use ephor_policies::policy_set::outcomes::Outcomes;
use ephor_value::print::json;
use ephor_value::{Map, Value};

use ephor_admission::redact::Redactor;

/// Where lines go.
pub struct Audit {
    path: PathBuf,
    largest: u64,
    max_backups: u32,
    has_objects: bool,
    open: Mutex<Open>,
}

struct Open {
    file: File,
    size: u64,
}

impl Audit {
    /// Creates a file or appends to it. A line that a crash cut short is ended first.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn open(path: &Path, largest: u64, max_backups: u32) -> io::Result<Audit> {
        let open = open(path)?;
        let (path, open) = (path.to_path_buf(), Mutex::new(open));
        Ok(Audit { path, largest, max_backups, has_objects: false, open })
    }

    /// Whether lines of decisions hold the object of the request.
    pub fn with_objects(self, has_objects: bool) -> Audit {
        Audit { has_objects, ..self }
    }

    /// Adds the object of a request to its line, where `ephor apply` reads it. Objects of Secrets
    /// are never written.
    pub fn add_object(&self, line: Value, incoming: &Incoming) -> Value {
        let object = incoming.object("object");
        match (line, object) {
            (Value::Map(mut line), object @ Value::Map(_))
                if self.has_objects && Redactor::of(incoming).is_none() =>
            {
                line.insert("object", object);
                Value::Map(line)
            }
            (line, _) => line,
        }
    }

    /// Writes a line.
    ///
    /// # Errors
    /// It could not be written.
    pub fn write(&self, line: &Value) -> io::Result<()> {
        let text = json(line) + "\n";
        let size = text.len() as u64;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.size > 0 && open.size + size > self.largest {
            self.rotate()?;
            *open = self::open(&self.path)?;
        }
        open.file.write_all(text.as_bytes())?;
        open.size += size;
        Ok(())
    }

    /// Writes a line; one that is lost is counted, and why is in the log.
    pub fn write_or_count(&self, line: &Value, lost: &IntCounter) {
        if let Err(e) = self.write(line) {
            lost.inc();
            tracing::error!(error = %e, "cannot write the audit log");
        }
    }

    fn numbered(&self, number: u32) -> PathBuf {
        let mut name = self.path.as_os_str().to_os_string();
        name.push(format!(".{number}"));
        name.into()
    }

    fn rotate(&self) -> io::Result<()> {
        for number in (1..self.max_backups).rev() {
            match std::fs::rename(self.numbered(number), self.numbered(number + 1)) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
                _ => {}
            }
        }
        if self.max_backups == 0 {
            return std::fs::remove_file(&self.path);
        }
        std::fs::rename(&self.path, self.numbered(1))
    }
}

fn open(path: &Path) -> io::Result<Open> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let mut size = file.metadata()?.len();
    if size > 0 && !ends_with_newline(path)? {
        file.write_all(b"\n")?;
        size += 1;
    }
    Ok(Open { file, size })
}

fn ends_with_newline(path: &Path) -> io::Result<bool> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = File::open(path)?;
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0u8; 1];
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

fn about(time: &str, stage: &str, path: &str, incoming: &Incoming) -> Map {
    let mut line = Map::new();
    line.insert("time", time.into());
    line.insert("stage", stage.into());
    line.insert("path", path.into());
    line.insert("uid", Value::Str(incoming.uid.clone()));
    for (key, at) in [
        ("operation", &["operation"][..]),
        ("user", &["userInfo", "username"]),
        ("group", &["kind", "group"]),
        ("version", &["kind", "version"]),
        ("kind", &["kind", "kind"]),
        ("resource", &["resource", "resource"]),
        ("subResource", &["subResource"]),
        ("namespace", &["namespace"]),
        ("name", &["name"]),
    ] {
        line.insert(key, incoming.text(at).into());
    }
    line.insert("dryRun", Value::Bool(incoming.dry_run()));
    line
}

fn results(outcomes: &Outcomes, redactor: Option<&Redactor>) -> Value {
    let message = |rule: &ephor_engine::RuleOutcome| match redactor {
        Some(redactor) => redactor.text(&rule.message).into(),
        None => Value::Str(rule.message.clone()),
    };
    let result = |(policy, rule): (&ephor_ir::Policy, &ephor_engine::RuleOutcome)| {
        Value::map([
            ("policyKind", Value::Str(policy.api.kind.clone())),
            ("policy", policy.key().into()),
            ("rule", Value::Str(rule.rule.clone())),
            ("result", rule.status.name().into()),
            ("message", message(rule)),
        ])
    };
    Value::list(outcomes.results().map(result).collect())
}

/// The line of a decision.
pub fn line(time: &str, path: &str, incoming: &Incoming, decision: &Decision, milliseconds: f64) -> Value {
    let mut line = about(time, "answer", path, incoming);
    let answer = &decision.answer;
    line.insert("allowed", Value::Bool(answer.allowed()));
    let redactor = Redactor::of(incoming);
    let redactor = redactor.as_ref();
    let text = |text: &str| redactor.map_or_else(|| text.into(), |r| Value::from(r.text(text)));
    if let Some(denial) = &answer.denial {
        line.insert("message", text(&denial.message));
    }
    let operation = |o: &ephor_patch::Operation| redactor.map_or_else(|| o.to_value(), |r| r.operation(o));
    line.insert("patch", Value::list(answer.patch.iter().map(operation).collect()));
    line.insert("warnings", Value::list(answer.warnings.iter().map(|w| text(w)).collect()));
    line.insert("milliseconds", Value::Float(milliseconds));
    line.insert("results", results(&decision.outcomes, redactor));
    Value::Map(line)
}

/// The line of results that came after the answer.
pub fn later(time: &str, path: &str, incoming: &Incoming, outcomes: &Outcomes) -> Value {
    let mut line = about(time, "audit", path, incoming);
    line.insert("results", results(outcomes, Redactor::of(incoming).as_ref()));
    Value::Map(line)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn full_files_are_renamed_and_the_oldest_goes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        let audit = Audit::open(&path, 20, 2).unwrap();
        for i in 0..4 {
            audit.write(&Value::map([("number", Value::Int(i))])).unwrap();
        }
        let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap_or_default();
        assert_eq!(read("audit.jsonl"), "{\"number\":3}\n");
        assert_eq!(read("audit.jsonl.1"), "{\"number\":2}\n");
        assert_eq!(read("audit.jsonl.2"), "{\"number\":1}\n");
        assert_eq!(read("audit.jsonl.3"), "");
    }

    #[test]
    fn a_line_that_was_cut_short_does_not_spoil_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("audit.jsonl");
        std::fs::write(&path, "{\"cut").unwrap();
        Audit::open(&path, 1000, 2).unwrap().write(&Value::map([("number", Value::Int(1))])).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"cut\n{\"number\":1}\n");
    }
}
