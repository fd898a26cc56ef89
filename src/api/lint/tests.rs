#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use crate::api::{corpus, schema};

/// Knows the mistakes that occur in the recordings.
fn parse_jmespath(text: &str) -> Result<(), String> {
    let broken = text.is_empty()
        || text.ends_with(['.', '[', '(', '|'])
        || text.contains("..")
        || text.starts_with("{ ")
        || text.contains('\n')
        || text.matches('[').count() != text.matches(']').count();
    if broken { Err("SyntaxError: stub".to_owned()) } else { Ok(()) }
}

/// Reads JSON, and of YAML only flat lists of `key: value` items.
fn parse_yaml(text: &str) -> Result<Value, String> {
    if let Ok(json) = serde_json::from_str::<serde_json::Value>(text) {
        return Ok(corpus::parse(&json.to_string()));
    }
    let lines: Vec<&str> = text.lines().map(|line| line.split(" # ").next().unwrap_or("")).collect();
    let lines: Vec<&str> = lines.into_iter().filter(|line| !line.starts_with('#')).collect();
    let text = &lines.join("\n");
    let is_list = text.trim_start().starts_with("- ");
    let mut items: Vec<crate::value::Map> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if items.is_empty() || line.starts_with("- ") {
            items.push(crate::value::Map::new());
        }
        if let Some((key, value)) = line.trim_start_matches(['-', ' ']).split_once(':') {
            let value = value.trim().trim_matches(['"', '\'']);
            items.last_mut().unwrap().insert(key.trim(), Value::from(value));
        } else if !is_list {
            return Ok(Value::from(text.as_str()));
        }
    }
    match is_list {
        true => Ok(Value::list(items.into_iter().map(Value::Map).collect())),
        false => Ok(items.into_iter().next().map(Value::Map).unwrap_or_default()),
    }
}

const CHECKS: Checks = Checks { parse_jmespath, parse_yaml };

fn error_of(policy: &Value) -> Option<String> {
    let policy = schema::check(policy).unwrap_or_else(|error| panic!("{error}"));
    lint(&policy, &CHECKS).error.map(|finding| finding.text)
}

#[test]
fn refuses_the_policies_that_the_reference_refuses() {
    let (mut lines, mut equal, mut texts, mut wrong) = (0, 0, 0, Vec::new());
    for file in ["autogen", "conditions", "match", "mutate", "patterns", "realistic", "rules", "variables"] {
        for case in corpus::cases(&format!("{file}.jsonl")) {
            let expected = case.at(&["expected", "policyError"]);
            let found = corpus::policies(&case).iter().find_map(error_of);
            lines += 1;
            match (expected, found) {
                (None, None) => {}
                (Some(Value::Str(expected)), Some(found)) => {
                    texts += 1;
                    if **expected == *found {
                        equal += 1;
                    } else if std::env::var_os("EPHOR_SHOW").is_some() {
                        println!("{}\n  - {expected}\n  + {found}", case.text_at(&["id"]));
                    }
                }
                (Some(_), Some(_)) => {}
                (expected, found) => {
                    wrong.push(format!("{}: {expected:?} {found:?}", case.text_at(&["id"])));
                }
            }
        }
    }
    println!("{lines} lines, {} wrong, texts {equal} of {texts}", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
