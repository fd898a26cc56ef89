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

/// What a run over recorded cases gave.
#[derive(Default)]
struct Tally {
    lines: usize,
    wrong: Vec<String>,
    texts: usize,
    equal: usize,
}

impl Tally {
    fn add(&mut self, case: &Value) {
        let expected = case.at(&["expected", "policyError"]);
        let found = corpus::policies(case).iter().find_map(error_of);
        self.lines += 1;
        match (expected, found) {
            (None, None) => {}
            (Some(Value::Str(expected)), Some(found)) => {
                self.texts += 1;
                if **expected == *found {
                    self.equal += 1;
                } else {
                    println!("{}\n  - {expected}\n  + {found}", case.text_at(&["id"]));
                }
            }
            (Some(_), Some(_)) => {}
            (expected, found) => {
                self.wrong.push(format!("{}: {expected:?} {found:?}", case.text_at(&["id"])));
            }
        }
    }
}

#[test]
fn refuses_the_policies_that_the_reference_refuses() {
    let mut tally = Tally::default();
    for file in ["autogen", "conditions", "match", "mutate", "patterns", "realistic", "rules", "variables"] {
        corpus::cases(&format!("{file}.jsonl")).iter().for_each(|case| tally.add(case));
    }
    println!("{} lines, texts {} of {}", tally.lines, tally.equal, tally.texts);
    assert!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n"));
    // The stub parser above has texts of its own.
    assert!(tally.texts - tally.equal <= 14, "{} of {} texts", tally.equal, tally.texts);
}

#[test]
fn gives_the_texts_of_the_reference() {
    let mut tally = Tally::default();
    corpus::own_cases("policy-checks.jsonl").iter().for_each(|case| tally.add(case));
    assert!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n"));
    assert_eq!(tally.equal, tally.texts);
}
