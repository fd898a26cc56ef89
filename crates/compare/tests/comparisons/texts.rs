//! Texts that are built of the text of a field: rules that read it in other words are proved equal,
//! near misses are found.

use ephor_compare::Answer;
use ephor_value::print::json;

use super::compared;

/// A policy of ConfigMaps that are created, with a condition on which it denies.
fn denying(key: &str, operator: &str, value: &str) -> String {
    let condition = format!("{{key: \"{{{{ {key} }}}}\", operator: {operator}, value: {value}}}");
    super::denying("ConfigMap", &condition)
}

/// A policy of the same objects in CEL.
fn requiring(expression: &str) -> String {
    super::requiring("configmaps", expression)
}

/// The annotation that these policies read.
const OLD: &str = "request.object.metadata.annotations.a || ''";
const NEW: &str = "object.metadata.?annotations[?'a'].orValue('')";

#[track_caller]
fn is_proved(old: &str, new: &str) {
    let found = compared(old, new);
    let objects: Vec<String> = found.differences.iter().map(|d| json(&d.object)).collect();
    assert_eq!(found.answer, Answer::Proved, "{objects:?}, {:?}", found.reasons);
}

#[track_caller]
fn differs(old: &str, new: &str) {
    assert_eq!(compared(old, new).answer, Answer::Differs);
}

#[test]
fn a_part_of_a_text_is_compared() {
    let old = |by: &str, at: &str, name: &str| {
        denying(&format!("({OLD}) | split(@, '{by}') | [{at}]"), "Equals", name)
    };
    let new = |by: &str, at: &str, name: &str| {
        requiring(&format!("{NEW}.split('{by}')[?{at}].orValue('') != '{name}'"))
    };
    is_proved(&old("/", "1", "data"), &new("/", "1", "data"));
    differs(&old("/", "1", "data"), &new("/", "2", "data"));
    differs(&old("/", "1", "data"), &new(":", "1", "data"));
    differs(&old("/", "1", "data"), &new("/", "1", "Data"));
    is_proved(&old("--", "2", "x"), &new("--", "2", "x"));
    differs(&old("--", "2", "x"), &new("-", "2", "x"));
    differs(&old("/", "-1", "x"), &new("/", "1", "x"));
}

#[test]
fn a_part_says_the_same_as_a_pattern_of_the_whole() {
    let part = requiring(&format!("{NEW}.split('/')[0] != 'docker.io'"));
    is_proved(&part, &requiring(&format!("{NEW} != 'docker.io' && !{NEW}.startsWith('docker.io/')")));
    differs(&part, &requiring(&format!("!{NEW}.startsWith('docker.io/')")));
    differs(&part, &requiring(&format!("!{NEW}.startsWith('docker.io')")));
}

#[test]
fn how_many_parts_there_are_is_counted() {
    let parts = |least: &str| requiring(&format!("size({NEW}.split('/')) > {least}"));
    is_proved(&parts("2"), &requiring(&format!("{NEW}.matches('/[^/]*/')")));
    differs(&parts("2"), &parts("3"));
    differs(&parts("2"), &requiring(&format!("{NEW}.matches('/.+/')")));
}

#[test]
fn the_case_of_letters_is_seen_as_functions_change_it() {
    let lower = |test: &str| requiring(&format!("!{NEW}.lowerAscii().{test}"));
    is_proved(&lower("matches('^ab')"), &requiring(&format!("!{NEW}.matches('^(ab|aB|Ab|AB)')")));
    differs(&lower("matches('^ab')"), &requiring(&format!("!{NEW}.matches('^(ab|AB)')")));
    differs(&lower("matches('^a')"), &lower("matches('^b')"));
    differs(&lower("matches('^A')"), &lower("matches('^a')"));
    let old = denying(&format!("to_upper({OLD})"), "Equals", "K");
    // The sign of Kelvin has another capital.
    is_proved(&old, &requiring(&format!("!({NEW} in ['k', 'K'])")));
    differs(
        &denying(&format!("to_lower({OLD})"), "Equals", "k"),
        &requiring(&format!("!({NEW} in ['k', 'K'])")),
    );
}

#[test]
fn texts_around_a_text_and_without_characters_are_compared() {
    is_proved(&requiring(&format!("('x-' + {NEW} + '-y') != 'x-a-y'")), &requiring(&format!("{NEW} != 'a'")));
    differs(&requiring(&format!("('x-' + {NEW}) != 'x-a'")), &requiring(&format!("{NEW} != 'b'")));
    differs(
        &requiring(&format!("('x-' + {NEW}).matches('^x-a')")),
        &requiring(&format!("{NEW}.matches('^b')")),
    );
    is_proved(
        &requiring(&format!("{NEW}.replace('.', '') != 'ab'")),
        &requiring(&format!("!{NEW}.matches(r'^[.]*a[.]*b[.]*$')")),
    );
    differs(&requiring(&format!("{NEW}.replace('.', '') != 'ab'")), &requiring(&format!("{NEW} != 'ab'")));
    differs(&requiring(&format!("{NEW}.trim() != 'a'")), &requiring(&format!("{NEW} != 'a'")));
}

#[test]
fn a_variable_in_quotes_is_its_text() {
    let old =
        |pattern: &str| denying(&format!("regex_match('{pattern}', '{{{{ {OLD} }}}}')"), "Equals", "false");
    let relative = Answer::ProvedRelative(vec!["no quotes or braces in metadata.annotations.a".into()]);
    let new = |pattern: &str| requiring(&format!("{NEW}.matches('{pattern}')"));
    assert_eq!(compared(&old("^v[0-9]"), &new("^v[0-9]")).answer, relative);
    differs(&old("^v[0-9]"), &new("^v[0-8]"));
    differs(&old("^v[0-9]"), &new("^v[0-9]$"));
    let joined = denying(&format!("starts_with('x-{{{{ {OLD} }}}}', 'x-a')"), "Equals", "true");
    assert_eq!(compared(&joined, &requiring(&format!("!{NEW}.startsWith('a')"))).answer, relative);
    differs(&joined, &requiring(&format!("!{NEW}.startsWith('b')")));
}

#[test]
fn what_is_built_of_texts_and_compared_otherwise_is_tested() {
    let is_open = |expression: &str, other: &str| {
        let answer = compared(&requiring(expression), &requiring(other)).answer;
        assert!(!matches!(answer, Answer::Proved | Answer::ProvedRelative(_)), "{expression}: {answer:?}");
    };
    // With another field, as a number, in another list.
    is_open(
        &format!("{NEW}.split('/')[0] != object.metadata.name"),
        &format!("{NEW}.split('/')[0] != object.metadata.name || {NEW} == 'q'"),
    );
    is_open(&format!("int({NEW}.split('/')[0]) < 5"), &format!("int({NEW}.split('/')[0]) < 6"));
    is_open(&format!("{NEW}.split('/').all(p, p != 'xyz')"), &format!("{NEW}.split('/').all(p, p != 'zyx')"));
    is_open(
        "object.metadata.name + object.metadata.namespace != 'ab'",
        "object.metadata.name + object.metadata.namespace != 'cd'",
    );
    is_open(
        "object.metadata.?finalizers[?1].orValue('') != 'x'",
        "object.metadata.?finalizers[?2].orValue('') != 'x'",
    );
}

#[test]
fn a_part_that_reads_as_a_quantity_is_a_part_and_no_number() {
    let pattern = |value: &str| {
        let pattern = format!("pattern: {{metadata: {{=(annotations): {{=(a): '{value}'}}}}}}");
        super::checking("ConfigMap", &pattern)
    };
    let new = requiring("!object.metadata.?annotations[?'a'].orValue('').contains('+')");
    let found = compared(&pattern("!*+*"), &new);
    assert_eq!(found.answer, Answer::Proved, "{:?}", found.reasons);
    for old in ["!*+", "!*-*", "!+*", "!+"] {
        assert_eq!(compared(&pattern(old), &new).answer, Answer::Differs, "{old}");
    }
}
