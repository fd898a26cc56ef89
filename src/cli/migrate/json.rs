//! The report of a migration as an object.

use serde_json::json;

use ephor_compare::{Difference, Universe};
use ephor_document::json::to_serde;
use ephor_migrate::rows::{MigrateRow, MigrateStatus, count};

/// The report as an object.
pub fn report(rows: &[MigrateRow<'_>], tests: &[String]) -> serde_json::Value {
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
    let counts: serde_json::Map<String, serde_json::Value> = MigrateStatus::ALL
        .iter()
        .map(|status| (status.name().to_string(), count(rows, *status).into()))
        .collect();
    json!({"policies": rows.iter().map(row).collect::<Vec<_>>(), "summary": counts, "tests": tests})
}

/// Where an object of a difference exists, unless that is usual.
pub fn universe(difference: &Difference) -> String {
    match difference.universe {
        Universe::Cluster => String::new(),
        other => format!(", {}", other.name()),
    }
}
