//! The schemas of results.
//!
//! They name what every result has, and what of an item is always there; a result may have more.

use serde_json::{Value as Json, json};

/// An object with members, all of them required.
fn object(members: &[(&str, Json)]) -> Json {
    let required: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    let properties: serde_json::Map<String, Json> =
        members.iter().map(|(name, schema)| ((*name).to_string(), schema.clone())).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

/// An object with further members that may be absent.
fn with(mut object: Json, optional: &[(&str, Json)]) -> Json {
    for (name, schema) in optional {
        object["properties"][*name] = schema.clone();
    }
    object
}

fn list(items: &Json) -> Json {
    json!({"type": "array", "items": items})
}

fn text() -> Json {
    json!({"type": "string"})
}

fn number() -> Json {
    json!({"type": "integer"})
}

fn flag() -> Json {
    json!({"type": "boolean"})
}

/// A text, or null.
fn text_or_null() -> Json {
    json!({"type": ["string", "null"]})
}

/// What was not read, and what else is worth knowing.
fn notes() -> (&'static str, Json) {
    ("notes", list(&text()))
}

fn words(words: &[&str]) -> Json {
    json!({"type": "string", "enum": words})
}

/// Results of `lint`.
pub(super) fn lint() -> Json {
    let finding = object(&[
        ("id", text()),
        ("severity", words(&["error", "warning", "note"])),
        ("policy", text()),
        ("file", text()),
        ("line", number()),
        ("column", number()),
        ("message", text()),
        ("help", text_or_null()),
        ("fixes", list(&json!({"type": "object"}))),
    ]);
    let done = object(&[("line", number()), ("id", text()), ("title", text())]);
    let fixed = object(&[("name", text()), ("text", text()), ("done", list(&done))]);
    let result = object(&[
        ("findings", list(&finding)),
        ("policies", number()),
        ("partial", number()),
        ("others", number()),
        notes(),
    ]);
    with(result, &[("fixed", list(&fixed)), ("written", list(&text()))])
}

/// Results of `explain`.
pub(super) fn explain() -> Json {
    let rule = object(&[("policy", text()), ("rule", text()), ("place", text()), ("text", text())]);
    let decision = object(&[
        ("place", text()),
        ("text", text()),
        ("tone", words(&["good", "bad", "neutral"])),
        ("depth", number()),
        ("detail", flag()),
    ]);
    let decided = object(&[
        ("policy", text()),
        ("rule", text()),
        ("place", text()),
        ("status", text_or_null()),
        ("decisions", list(&decision)),
    ]);
    let resource =
        object(&[("name", text()), ("file", text()), ("line", number()), ("decisions", list(&decided))]);
    object(&[("rules", list(&rule)), ("resources", list(&resource)), notes()])
}

/// Results of `apply`.
pub(super) fn apply() -> Json {
    let status = words(&["pass", "fail", "warn", "error", "skip"]);
    let place = with(object(&[("file", text())]), &[("line", number()), ("column", number())]);
    let result = with(
        object(&[("result", status)]),
        &[
            ("policy", text()),
            ("rule", text()),
            ("message", text()),
            ("place", place.clone()),
            ("policyPlace", place),
        ],
    );
    let policy = object(&[
        ("name", text()),
        ("kind", text()),
        ("file", text()),
        ("line", number()),
        ("refused", text_or_null()),
        ("uncompiled", text_or_null()),
    ]);
    let resource = object(&[
        ("name", text()),
        ("file", text()),
        ("line", number()),
        ("results", list(&result)),
        ("mutated", text_or_null()),
        ("difference", text_or_null()),
        ("generated", list(&text())),
        ("targets", list(&text())),
    ]);
    let counts = ["pass", "fail", "warn", "error", "skip"].map(|status| (status, number()));
    object(&[
        ("policies", list(&policy)),
        ("refused", list(&result)),
        ("resources", list(&resource)),
        ("summary", object(&counts)),
        ("isInterrupted", flag()),
        notes(),
    ])
}

/// Results of `test`.
pub(super) fn test() -> Json {
    let row = object(&[
        ("file", text()),
        ("line", number()),
        ("policy", text()),
        ("rule", text()),
        ("resource", text()),
        ("expected", text_or_null()),
        ("verdict", words(&["pass", "fail", "skip"])),
        ("reason", text()),
        ("message", text()),
        ("isVacuous", flag()),
    ]);
    let counts = ["tests", "pass", "fail", "skip"].map(|name| (name, number()));
    object(&[("results", list(&row)), ("summary", object(&counts)), notes()])
}

/// An object on which two sides differ.
fn difference() -> Json {
    let side = object(&[("verdict", text()), ("message", text())]);
    object(&[("kind", text()), ("object", json!({})), ("old", side.clone()), ("new", side)])
}

/// Results of `diff`.
pub(super) fn diff() -> Json {
    let policy = with(
        object(&[("name", text()), ("answer", text())]),
        &[
            ("butFor", list(&text())),
            ("objects", number()),
            ("reasons", list(&text())),
            ("differences", list(&difference())),
        ],
    );
    object(&[("policies", list(&policy)), ("isSame", flag()), notes()])
}

/// Results of `migrate`.
pub(super) fn migrate() -> Json {
    let refused = object(&[("place", text()), ("construct", text()), ("nearest", text())]);
    let new = object(&[("kind", text()), ("name", text())]);
    let policy = object(&[
        ("file", text()),
        ("line", number()),
        ("policy", text()),
        ("status", text()),
        ("reason", text()),
        ("butFor", list(&text())),
        ("remarks", list(&text())),
        ("refused", list(&refused)),
        ("differences", list(&difference())),
        ("new", list(&new)),
        ("text", text()),
    ]);
    let file = object(&[("name", text()), ("text", text())]);
    object(&[
        ("policies", list(&policy)),
        ("summary", json!({"type": "object", "additionalProperties": number()})),
        ("files", list(&file)),
        ("written", list(&text())),
        notes(),
    ])
}
