//! The fields of test files.

use ephor_value::Value;
use ephor_value::place::{PathPart, dotted};

use super::{FieldInfo, plain};

/// The fields of a test, and of its expected results: name and type.
const TEST: [(&str, &str); 17] = [
    ("apiVersion", "text"),
    ("kind", "text"),
    ("metadata", "object"),
    ("policies", "list of texts"),
    ("resources", "list of texts"),
    ("targetResources", "list of texts"),
    ("paramResources", "list of texts"),
    ("exceptions", "list of texts"),
    ("clusterResources", "list of texts"),
    ("variables", "text"),
    ("userinfo", "text"),
    ("context", "text"),
    ("values", "object"),
    ("checks", "list of objects"),
    ("results", "list of objects"),
    ("apiCallResponses", "list of objects"),
    ("globalContextEntries", "list of objects"),
];

const RESULT: [(&str, &str); 13] = [
    ("policy", "text"),
    ("rule", "text"),
    ("resources", "list of texts"),
    ("resourceSpecs", "list of objects"),
    ("kind", "text"),
    ("result", "one of some texts"),
    ("patchedResources", "text"),
    ("patchedResource", "text"),
    ("generatedResource", "text"),
    ("cloneSourceResource", "text"),
    ("operation", "one of some texts"),
    ("isValidatingAdmissionPolicy", "boolean"),
    ("isValidatingPolicy", "boolean"),
];

fn is_test(document: &Value) -> bool {
    document.text_at(&["apiVersion"]).starts_with("cli.kyverno.io/") && document.text_at(&["kind"]) == "Test"
}

/// The fields at a path of a test; `None` = the document is none, or the path leads elsewhere.
pub(super) fn fields(document: &Value, path: &[PathPart]) -> Option<Vec<FieldInfo>> {
    let table: &[(&str, &str)] = match path {
        _ if !is_test(document) => return None,
        [] => &TEST,
        [PathPart::Key(key), PathPart::Index(_)] if &**key == "results" => &RESULT,
        _ => return Some(Vec::new()),
    };
    Some(table.iter().map(|(name, kind)| plain(name, kind, path)).collect())
}

/// The texts that a value of a test may be.
pub(super) fn choices(document: &Value, path: &[PathPart]) -> Option<Vec<String>> {
    if !is_test(document) {
        return None;
    }
    let path = dotted(path);
    let texts: &[&str] = match path.rsplit('.').next() {
        Some("result") => &["pass", "fail", "warn", "error", "skip"],
        Some("operation") => &["CREATE", "UPDATE", "DELETE", "CONNECT"],
        Some("isValidatingAdmissionPolicy" | "isValidatingPolicy") => &["true", "false"],
        _ => &[],
    };
    Some(texts.iter().map(ToString::to_string).collect())
}
