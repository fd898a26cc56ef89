//! What a report says about each policy.
//!
//! In: files that were migrated. Out: a row a policy: its status in one word, why, what the status
//! is not about, and both texts.

use ephor_compare::{Answer, Apart, Difference, but_for};

use crate::driver::files::{DocumentOutcome, File, FileDocument, Refused};
use crate::proof::prove::Proof;

/// A line of a report.
#[derive(Debug)]
pub struct MigrateRow<'f> {
    /// The file.
    pub file: &'f str,
    /// The line on which the policy begins.
    pub line: usize,
    /// Its name.
    pub name: &'f str,
    /// What came of it.
    pub status: MigrateStatus,
    /// Why, where that needs words.
    pub why: String,
    /// What the status is not about: deletions, ReplicationControllers and the like.
    pub but_for: Vec<&'static str>,
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
pub enum MigrateStatus {
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

impl MigrateStatus {
    /// All of them.
    pub const ALL: [MigrateStatus; 7] = [
        MigrateStatus::Proved,
        MigrateStatus::Relative,
        MigrateStatus::Tested,
        MigrateStatus::NotCompared,
        MigrateStatus::Differs,
        MigrateStatus::Refused,
        MigrateStatus::Failed,
    ];

    /// The words for it.
    pub fn name(self) -> &'static str {
        match self {
            MigrateStatus::Proved => "proved",
            MigrateStatus::Relative => "proved relative",
            MigrateStatus::Tested => "tested",
            MigrateStatus::NotCompared => "not compared",
            MigrateStatus::Differs => "differs",
            MigrateStatus::Refused => "refused",
            MigrateStatus::Failed => "cannot be used",
        }
    }
}

impl MigrateRow<'_> {
    /// Whether the policy moved and means the same, as far as anybody can say.
    pub fn is_good(&self) -> bool {
        matches!(self.status, MigrateStatus::Proved | MigrateStatus::Relative | MigrateStatus::Tested)
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
        status: MigrateStatus::Failed,
        why: String::new(),
        but_for: Vec::new(),
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
            row.status = MigrateStatus::Refused;
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
                    row.differences = &proof.claim.differences;
                    row.remarks.extend(remarks(proof));
                }
            }
        }
    }
    Some(row)
}

fn answer(answer: &Answer) -> (MigrateStatus, String) {
    match answer {
        Answer::Proved => (MigrateStatus::Proved, String::new()),
        Answer::ProvedRelative(to) => (MigrateStatus::Relative, to.join("; ")),
        Answer::Tested(why) => (MigrateStatus::Tested, why.join("; ")),
        Answer::Differs => (MigrateStatus::Differs, String::new()),
        Answer::Incomparable(why) => (MigrateStatus::NotCompared, why.clone()),
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
            Apart::Controllers => "; --replication-controllers writes a policy for them",
            _ => "",
        };
        out.push(format!("{}{more}", one.text()));
    }
    if claim.in_files > 0 {
        out.push(format!("{} differences on objects that exist in files only", claim.in_files));
    }
    out
}

/// How many rows have a status.
pub fn count(rows: &[MigrateRow<'_>], status: MigrateStatus) -> usize {
    rows.iter().filter(|row| row.status == status).count()
}
