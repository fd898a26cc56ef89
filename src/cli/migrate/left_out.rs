//! What new policies leave out, for `ephor diff`: `.ephor/ephor-diff.yaml` below the folder of
//! `--out`.
//!
//! In: the rows of the report. Out: the text of the file, an entry for each policy and class of
//! differences, with its reason.

use ephor_compare::Apart;
use ephor_migrate::report::MigrateRow;
use ephor_value::Value;
use ephor_value::print::json;

/// The text of the file; `None` = nothing is left out.
pub fn text(rows: &[MigrateRow<'_>]) -> Option<String> {
    let mut entries = Vec::new();
    for row in rows {
        for (class, reason) in row.left_out.iter().filter_map(|one| Some((one.class()?, reason(*one)))) {
            let [policy, class] = [row.key, &class.name()].map(|text| json(&Value::from(text)));
            let entry = format!("- policy: {policy}\n  class: {class}\n  reason: {reason}\n");
            if !entries.contains(&entry) {
                entries.push(entry);
            }
        }
    }
    (!entries.is_empty()).then(|| format!("{HEAD}ignore:\n{}", entries.concat()))
}

/// What a reader should know of the file.
const HEAD: &str = "# What the policies in this folder leave out: `ephor diff` accepts these differences.\n";

/// Why a policy leaves it out.
fn reason(one: Apart) -> &'static str {
    match one {
        Apart::Controllers => "left out by --leave-out replication-controllers",
        Apart::Deletions => "the old policy names no operations, the new one is for creations and updates",
        Apart::Errors => "on some objects one policy is violated, and the other one fails",
        _ => "where the old rule fails, the new one changes and generates nothing",
    }
}
