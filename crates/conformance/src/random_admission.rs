//! Random requests of admission, recorded from an API server of one release.
//!
//! In: a file `RELEASE.jsonl.gz`: a line with definitions of custom resources by kind, then a case
//! a line: objects, policies and requests, with what the API answered about the policies and to
//! the requests (`conformance/reference/admission_random.py`). Out: a report. An answer may have
//! `others`: those that the server gives when it runs policies in another order.

use std::path::Path;

use ephor_value::Value;
use ephor_value::release::Release;

use super::admission::{Cluster, list, observed, taken};
use super::{Failure, Report, gz_lines};

/// What the names of files end in.
pub const ENDING: &str = ".jsonl.gz";

/// Runs the cases of a file.
///
/// # Errors
/// The file cannot be read, or its name is no release.
pub fn run(name: &str, file: &Path) -> std::io::Result<Report> {
    let mut report = Report::new(name);
    let release = name.rsplit('/').next().unwrap_or_default();
    let release = Release::choose(release).map_err(std::io::Error::other)?.release;
    let lines = gz_lines(file)?;
    let (head, cases) = lines.split_first().unwrap_or((&Value::Null, &[]));
    for case in cases {
        report.count(one(&with_definitions(case, head), release));
    }
    Ok(report)
}

/// A case with the definitions that it names, behind its other objects, whose places count.
fn with_definitions(case: &Value, head: &Value) -> Value {
    let mut setup = list(case, "setup").to_vec();
    let named = list(case, "definitions").iter().filter_map(Value::as_str);
    setup.extend(named.filter_map(|kind| head.at(&["definitions", kind]).cloned()));
    case.with("setup", Value::list(setup))
}

fn one(case: &Value, release: Release) -> Result<(), Failure> {
    let failed = |expected: Value, got: Value| Failure { id: case.text_at(&["id"]).into(), expected, got };
    let (expected, got) = taken(case, release);
    if !expected.json_eq(&got) {
        return Err(failed(expected, got));
    }
    if let Some((expected, got)) = observed(case, release)
        && !expected.json_eq(&got)
    {
        return Err(failed(expected, got));
    }
    let cluster = Cluster::new(case, release);
    for wanted in list(case, "expected") {
        let mut requests = list(case, "requests").iter();
        let sent = requests.find(|r| r.text_at(&["name"]) == wanted.text_at(&["name"]));
        let sent = sent.and_then(|r| r.get("object"));
        let (expected, got) = cluster.answer(wanted, sent);
        let is_other = |other: &Value| {
            let (other, got) = cluster.answer(other, sent);
            other.json_eq(&got)
        };
        if !expected.json_eq(&got) && !list(wanted, "others").iter().any(is_other) {
            return Err(failed(expected, got));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use ephor_document::json;

    #[test]
    fn definitions_that_a_case_names_stand_behind_its_objects() {
        let head =
            json::parse(r#"{"definitions": {"Part": {"kind": "P"}, "Loose": {"kind": "L"}}}"#).unwrap();
        let case = json::parse(r#"{"setup": [{"kind": "a"}], "definitions": ["Loose", "None"]}"#).unwrap();
        let kinds: Vec<String> = list(&with_definitions(&case, &head), "setup")
            .iter()
            .map(|object| object.text_at(&["kind"]).to_string())
            .collect();
        assert_eq!(kinds, ["a", "L"]);
    }
}
