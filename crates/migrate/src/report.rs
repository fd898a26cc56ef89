//! What a report says about each policy.
//!
//! In: migrated files. Out: a row for each policy, and all of them as an object.

use serde_json::json;

use crate::driver::files::{DocumentOutcome, File, FileDocument, Refused};
use crate::proof::prove::Proof;
use ephor_compare::{Answer, Apart, Difference, Universe, but_for};
use ephor_document::json::to_serde;

/// A line of a report.
#[derive(Debug)]
pub struct MigrateRow<'f> {
    /// The file.
    pub file: &'f str,
    /// The line on which the policy begins.
    pub line: usize,
    /// Its name.
    pub name: &'f str,
    /// Its name with its namespace.
    pub key: &'f str,
    /// What came of it.
    pub status: Status,
    /// Why, where that needs words.
    pub why: String,
    /// What the status is not about: deletions, ReplicationControllers and the like.
    pub but_for: Vec<&'static str>,
    /// The same, as what the comparison counts apart.
    pub left_out: Vec<Apart>,
    /// Where the answer is not about every request that the old policy is evaluated on.
    pub remarks: Vec<String>,
    /// What cannot be expressed.
    pub refused: &'f [Refused],
    /// The objects on which old and new differ.
    pub differences: &'f [Difference],
    /// Kinds and names of what takes its place.
    pub new: Vec<(&'f str, &'f str)>,
    /// The old text.
    pub old_text: &'f str,
    /// The new text.
    pub new_text: String,
    /// For each rule its name and the policies that have it now.
    pub rules: &'f [(String, Vec<String>)],
    /// How long it took, in milliseconds.
    pub time: u128,
}

/// What came of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// It means the same for every object.
    Proved,
    /// The same when external data is the same for both.
    Relative,
    /// No object was found on which it does not.
    Tested,
    /// It moved; there is no comparison of its kind.
    NotCompared,
    /// It differs on an object.
    Differs,
    /// It cannot be written in CEL.
    Refused,
    /// It cannot be read, or what was written cannot be used.
    Failed,
}

impl Status {
    /// All of them.
    pub const ALL: [Status; 7] = [
        Status::Proved,
        Status::Relative,
        Status::Tested,
        Status::NotCompared,
        Status::Differs,
        Status::Refused,
        Status::Failed,
    ];

    /// The words for it.
    pub fn name(self) -> &'static str {
        match self {
            Status::Proved => "proved",
            Status::Relative => "proved relative",
            Status::Tested => "tested",
            Status::NotCompared => "not compared",
            Status::Differs => "differs",
            Status::Refused => "refused",
            Status::Failed => "cannot be used",
        }
    }

    /// What it means, in a sentence.
    pub fn meaning(self) -> &'static str {
        match self {
            Status::Proved => {
                "Every combination of what old and new policy can distinguish was evaluated, and both agree on each: no object has two verdicts."
            }
            Status::Relative => {
                "The same, where what is named holds: data from elsewhere are the same for both, or fields without a schema have the types that rules look for."
            }
            Status::Tested => {
                "No object was found on which both differ; what is named has too many values to try them all."
            }
            Status::NotCompared => "It moved, and there is no comparison of its kind.",
            Status::Differs => {
                "Old and new policy differ on the objects that are shown: decide whether that is wanted."
            }
            Status::Refused => {
                "It stays as it is: CEL cannot say what is named, and the nearest text that it can say is next to it."
            }
            Status::Failed => "It cannot be read, or what was written cannot be used.",
        }
    }
}

impl MigrateRow<'_> {
    /// Whether the policy moved and means the same, as far as anybody can say.
    pub fn is_good(&self) -> bool {
        matches!(self.status, Status::Proved | Status::Relative | Status::Tested)
    }

    /// The status, and what it is not about: `proved but for deletions and ReplicationControllers`.
    pub fn word(&self) -> String {
        format!("{}{}", self.status.name(), but_for(&self.but_for))
    }

    /// `file:line`
    pub fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }
}

/// The rows of a file.
pub fn rows(file: &File) -> Vec<MigrateRow<'_>> {
    file.parts.iter().filter_map(|part| row(file, part)).collect()
}

fn row<'f>(file: &'f File, part: &'f FileDocument) -> Option<MigrateRow<'f>> {
    let mut row = MigrateRow {
        file: &file.name,
        line: part.line,
        name: if part.id.1.is_empty() { "a document without a name" } else { &part.id.1 },
        key: &part.key,
        status: Status::Failed,
        why: String::new(),
        but_for: Vec::new(),
        left_out: Vec::new(),
        remarks: Vec::new(),
        refused: &[],
        differences: &[],
        new: Vec::new(),
        old_text: &part.text,
        new_text: String::new(),
        rules: &[],
        time: part.time.as_millis(),
    };
    match &part.outcome {
        DocumentOutcome::Unchanged => return None,
        DocumentOutcome::Unreadable(why) => row.why.clone_from(why),
        DocumentOutcome::Refused(all) => {
            row.status = Status::Refused;
            row.refused = all;
        }
        DocumentOutcome::Moved(migrated, proof) => {
            row.new = migrated.documents.iter().map(|d| (d.kind, d.name.as_str())).collect();
            let texts: Vec<&str> = migrated.documents.iter().map(|d| d.text.as_str()).collect();
            row.new_text = texts.join("---\n");
            row.rules = &migrated.rules;
            row.remarks =
                migrated.notes.iter().map(|note| format!("{}: {}", note.place, note.text)).collect();
            match &**proof {
                Err(cause) => row.why = cause.to_string(),
                Ok(proof) => {
                    (row.status, row.why) = answer(&proof.claim.answer);
                    row.but_for = proof.claim.but_for();
                    row.left_out = proof.claim.left_out().collect();
                    row.differences = &proof.claim.differences;
                    row.remarks.extend(remarks(proof));
                }
            }
        }
    }
    Some(row)
}

fn answer(answer: &Answer) -> (Status, String) {
    match answer {
        Answer::Proved => (Status::Proved, String::new()),
        Answer::ProvedRelative(to) => (Status::Relative, to.join("; ")),
        Answer::Tested(why) => (Status::Tested, why.join("; ")),
        Answer::Differs => (Status::Differs, String::new()),
        Answer::Incomparable(why) => (Status::NotCompared, why.clone()),
    }
}

/// What the answer is not about.
fn remarks(proof: &Proof) -> Vec<String> {
    let claim = &proof.claim;
    let mut out = Vec::new();
    for one in [Apart::Deletions, Apart::Existing, Apart::Controllers] {
        if !claim.apart.contains(&one) {
            continue;
        }
        let more = match one {
            Apart::Controllers => "; without --leave-out there is a policy for them",
            _ => "",
        };
        out.push(format!("{}{more}", one.text()));
    }
    if claim.in_files > 0 {
        out.push(format!("{} differences on objects that exist in files only", claim.in_files));
    }
    out
}

/// What the words of rows mean: each that there is, with its sentence.
pub fn meanings(rows: &[MigrateRow<'_>]) -> impl Iterator<Item = (&'static str, &'static str)> {
    let statuses = Status::ALL.into_iter().filter(|status| count(rows, *status) > 0);
    statuses.map(|status| (status.name(), status.meaning()))
}

/// How many rows have a status.
pub fn count(rows: &[MigrateRow<'_>], status: Status) -> usize {
    rows.iter().filter(|row| row.status == status).count()
}

/// The report as an object.
pub fn json(rows: &[MigrateRow<'_>], tests: &[String]) -> serde_json::Value {
    let difference = |d: &Difference| {
        json!({
            "kind": d.kind.name(),
            "request": d.environment.name(),
            "where": d.universe.name(),
            "object": to_serde(&d.object),
            "old": {"verdict": d.old.verdict.name(), "message": &*d.old.message},
            "new": {"verdict": d.new.verdict.name(), "message": &*d.new.message},
        })
    };
    let row = |row: &MigrateRow<'_>| {
        json!({
            "file": row.file,
            "line": row.line,
            "policy": row.name,
            "status": row.status.name(),
            "reason": row.why,
            "butFor": row.but_for,
            "remarks": row.remarks,
            "refused": row.refused.iter().map(|r| json!({"place": r.place, "construct": r.construct, "nearest": r.nearest})).collect::<Vec<_>>(),
            "differences": row.differences.iter().map(difference).collect::<Vec<_>>(),
            "new": row.new.iter().map(|(kind, name)| json!({"kind": kind, "name": name})).collect::<Vec<_>>(),
            "text": row.new_text,
            "milliseconds": row.time,
        })
    };
    let counts: serde_json::Map<String, serde_json::Value> =
        Status::ALL.iter().map(|status| (status.name().to_string(), count(rows, *status).into())).collect();
    json!({"policies": rows.iter().map(row).collect::<Vec<_>>(), "summary": counts, "tests": tests})
}

/// Where an object of a difference exists, unless that is usual.
pub fn universe(difference: &Difference) -> String {
    match difference.universe {
        Universe::Cluster => String::new(),
        other => format!(", {}", other.name()),
    }
}
