//! The function registry: its examples are true, its rows are complete.
#![allow(clippy::expect_used)]

use std::collections::BTreeSet;

use ephor_functions::page;
use ephor_search::Expression;
use ephor_value::{Map, Value};

#[test]
fn every_example_gives_what_it_says() {
    for f in ephor_functions::all() {
        for (expression, expected) in f.examples {
            let found = Expression::compile(expression).and_then(|e| e.search(&Value::Map(Map::new())));
            let shown = match found {
                Ok(value) => ephor_search::json(&value).expect("a result that can be printed"),
                Err(problem) => format!("error: {problem}"),
            };
            assert_eq!(shown, *expected, "{expression}");
        }
    }
}

#[test]
fn every_function_has_a_note_and_an_example_that_calls_it() {
    for f in ephor_functions::all() {
        assert!(f.note.ends_with('.') || f.note.contains("; "), "{}: {}", f.name, f.note);
        assert!(!f.examples.is_empty(), "{} has no example", f.name);
        for (expression, _) in f.examples {
            assert!(expression.contains(&format!("{}(", f.name)), "{expression} does not call {}", f.name);
        }
    }
}

#[test]
fn the_registry_has_the_functions_of_the_reference_once_each() {
    let names: BTreeSet<&str> = ephor_functions::all().iter().map(|f| f.name).collect();
    assert_eq!(names.len(), ephor_functions::all().len());
    assert_eq!(ephor_functions::all().iter().filter(|f| f.kyverno).count(), 51);
}

#[test]
fn functions_are_found_by_words_of_their_notes() {
    let names: Vec<&str> = page::search("CRON").iter().map(|f| f.name).collect();
    assert_eq!(names, ["time_to_cron"]);
    assert!(page::search("nothing has this").is_empty());
}
