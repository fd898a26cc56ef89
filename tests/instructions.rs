//! What CI says about instruction counts that grow: `benches/instructions.sh --compare`.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

const RECORD: &str = "# a record\ncompiler = \"1.95.0\"\n\n[instructions]\napply = 1000000\ndiff = 2000000\n";

/// Whether these counts are accepted next to the record, and what is printed.
fn compare(counts: &str) -> (bool, String) {
    let dir = TempDir::new().unwrap();
    let [record, counted] = ["record.toml", "counts"].map(|name| dir.path().join(name));
    std::fs::write(&record, RECORD).unwrap();
    std::fs::write(&counted, counts).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/instructions.sh");
    let output = Command::new("bash").arg(script).arg("--compare").arg(record).arg(counted).output().unwrap();
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_count_that_grew_by_more_than_three_percent_fails() {
    let (accepted, printed) = compare("apply 1031000\ndiff 2000000\n");
    assert!(!accepted && printed.contains("apply needs more than 3 % more than its record"), "{printed}");
    assert!(!printed.contains("diff needs"), "{printed}");
}

#[test]
fn counts_that_shrink_or_grow_less_than_that_are_accepted() {
    let (accepted, printed) = compare("apply 1029000\ndiff 1500000\n");
    assert!(accepted && printed.contains("+2.90 %") && printed.contains("-25.00 %"), "{printed}");
}

#[test]
fn a_workload_without_a_record_and_a_record_without_a_workload_fail() {
    let (accepted, printed) = compare("apply 1000000\ndiff 2000000\nlint 5\n");
    assert!(!accepted && printed.contains("no record"), "{printed}");
    let (accepted, printed) = compare("apply 1000000\n");
    assert!(!accepted && printed.contains("diff has a record and was not counted"), "{printed}");
}

#[test]
fn every_recorded_workload_is_one_of_the_script() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches");
    let record: toml::Table =
        std::fs::read_to_string(root.join("instructions.toml")).unwrap().parse().unwrap();
    let script = std::fs::read_to_string(root.join("instructions.sh")).unwrap();
    let recorded = record["instructions"].as_table().unwrap();
    assert!(recorded.len() >= 10);
    for (name, count) in recorded {
        assert!(script.contains(&format!("\n    \"{name} ")) && count.as_integer() > Some(0), "{name}");
    }
}
