//! Where objects have images (`imageExtractors`) → `images`.
//!
//! In: extractors as written: paths with `*` for all items of a list. Out: expressions that give a
//! list of texts. Semantics: `docs/semantics/images.md`, "Images".

use ephor_ir::Origin;
use ephor_value::{Map, Value};

use crate::constraints::cel::literal;
use crate::expressions::refusal::{Refusal, Result};
use crate::model::names::numbered;

/// The extractors of a rule: names and expressions, in the order of the kinds.
///
/// # Errors
/// One that changes what it finds.
pub fn extractors(written: Option<&Value>, origin: &Origin) -> Result<Vec<(String, String)>> {
    let kinds = written.and_then(Value::as_map).into_iter().flat_map(Map::iter);
    let mut out: Vec<(String, String)> = Vec::new();
    for (kind, list) in kinds {
        let origin = origin.key("imageExtractors").key(kind);
        for one in list.as_list().unwrap_or_default() {
            if !one.text_at(&["jmesPath"]).is_empty() {
                return Err(Refusal::new(
                    "an image that is computed (`jmesPath`)",
                    origin,
                    "write `images` with an expression that gives the texts of the images",
                ));
            }
            let keys = one.text_at(&["path"]).split('/').chain([one.text_at(&["value"])]);
            let keys: Vec<&str> = keys.filter(|key| !key.is_empty()).collect();
            let name = match one.text_at(&["name"]) {
                "" => "custom",
                name => name,
            };
            let name = numbered(name, "", |name| out.iter().any(|(known, _)| known == name));
            out.push((name, texts("object", &keys, 0)));
        }
    }
    Ok(out)
}

fn optional(base: &str, keys: &[&str]) -> String {
    let is_name = |key: &str| {
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && key != "in"
    };
    let step = |text: String, key: &&str| match is_name(key) {
        true => format!("{text}.?{key}"),
        false => format!("{text}[?{}]", literal(key)),
    };
    keys.iter().fold(base.to_string(), step)
}

/// The texts at a path below a value.
fn texts(base: &str, keys: &[&str], depth: usize) -> String {
    match keys.iter().position(|key| *key == "*").map(|at| keys.split_at(at)) {
        None => format!("{}.optMap(image, [string(image)]).orValue([])", optional(base, keys)),
        Some((before, after)) => {
            let item = if depth == 0 { "item".to_string() } else { format!("item{}", depth + 1) };
            let list = format!("{}.orValue([])", optional(base, before));
            match after.get(1..).unwrap_or_default() {
                [] => format!("{list}.map({item}, string({item}))"),
                rest => format!("{list}.map({item}, {}).flatten()", texts(&item, rest, depth + 1)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_path_becomes_an_expression_that_gives_a_list() {
        let written =
            ephor_document::yaml_value("Task: [{path: '/spec/steps/*', value: image, name: steps}]");
        let found = extractors(Some(&written.unwrap()), &Origin::default()).unwrap();
        let wanted = "object.?spec.?steps.orValue([]).map(item, item.?image.optMap(image, [string(image)]).orValue([])).flatten()";
        assert_eq!(found, [("steps".to_string(), wanted.to_string())]);
    }
}
