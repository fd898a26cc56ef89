//! A document and a JSON patch: running it must end, without a panic; so must merging the patch and
//! telling both apart.
#![no_main]
use ephor_document::{json, spelling};
use ephor_patch::{apply, diff, merge};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let (document, patch) = text.split_once('\n').unwrap_or((r#"{"a":{"b":[1,{"c":2}]},"d":"e"}"#, text));
    let text = patch;
    let (Ok(document), Ok(patch)) = (json::parse(document), json::parse(patch)) else { return };
    if let Some(operations) = patch.as_list() {
        let written = spelling::spelling(text);
        let _ = apply::apply_in_order(&document, written.as_list().unwrap_or_default());
        let decoded: Result<Vec<_>, _> = operations.iter().map(ephor_patch::operation::operation).collect();
        if let Ok(operations) = decoded {
            let _ = apply::apply(&document, &operations);
        }
    }
    let _ = merge::merge(&document, &patch);
    let changes = diff::diff(&document, &patch);
    assert!(apply::apply(&document, &changes).is_err() || !changes.is_empty() || document.json_eq(&patch));
});
