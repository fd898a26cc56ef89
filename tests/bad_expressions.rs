//! Expressions that are wrong, hostile or huge give an error, with its place where there is one,
//! and never a panic or a hang.
#![allow(clippy::expect_used)]

use ephor_search::{Expression, json, read};
use ephor_value::Value;

fn document() -> Value {
    read("{a: {b: [1, 2, 3]}, s: text, big: 1e308}").expect("a document")
}

/// Text and place of the error; a result that is none in JSON counts as one without a place.
fn error(expression: &str) -> (String, Option<usize>) {
    let found = Expression::compile(expression).and_then(|e| e.search(&document()));
    match found {
        Err(problem) => (problem.text, problem.offset),
        Ok(value) => (json(&value).expect_err(expression).to_string(), None),
    }
}

#[test]
fn unfinished_texts_end_at_the_end() {
    for (expression, text, at) in [
        ("'abc", "SyntaxError: Unclosed delimiter: '", 4),
        ("\"abc", "SyntaxError: Unclosed delimiter: \"", 4),
        ("`1", "SyntaxError: Unclosed delimiter: `", 2),
        ("a.'b\\'", "SyntaxError: Unclosed delimiter: '", 6),
        ("a || ", "SyntaxError: Incomplete expression", 5),
        ("length(a", "SyntaxError: Incomplete expression", 8),
        ("a[?b", "SyntaxError: Expected tRbracket, received: tEOF", 4),
        ("`{\"a\":`", "unexpected end of JSON input", 1),
        (
            "a.b[99999999999999999999]",
            "strconv.Atoi: parsing \"99999999999999999999\": value out of range",
            4,
        ),
    ] {
        assert_eq!(error(expression), (text.into(), Some(at)), "{expression}");
    }
}

#[test]
fn calls_that_cannot_be_are_refused_where_they_stand() {
    for (expression, text, at) in [
        ("s | length()", "incorrect number of args", 4),
        ("[s, truncate(s)]", "incorrect number of args", 4),
        ("not_null()", "Invalid arity.", 0),
        ("a.nosuch(@)", "unknown function: nosuch", 2),
        ("abs(s)", "Invalid type for: text, expected: []jmespath.JpType{\"number\"}", 0),
        ("divide(`1`, `0`)", "JMESPath function 'divide': Zero divisor passed", 0),
        ("{x: modulo('1Gi', '0')}", "JMESPath function 'modulo': Zero divisor passed", 4),
        ("a.b[::0]", "Invalid slice, step cannot be 0", 4),
        ("sum(`[]`)", "JMESPath function 'sum': at least one element in the array is required", 0),
        (
            "time_add('yesterday', '1h')",
            "parsing time \"yesterday\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"yesterday\" as \"2006\"",
            0,
        ),
        ("time_utc('2024-02-30T00:00:00Z')", "parsing time \"2024-02-30T00:00:00Z\": day out of range", 0),
        ("time_add('2024-02-28T00:00:00Z', '1d')", "time: unknown unit \"d\" in duration \"1d\"", 0),
        ("regex_match('(', s)", "error parsing regexp: missing closing ): `(`", 0),
    ] {
        assert_eq!(error(expression), (text.into(), Some(at)), "{expression}");
    }
}

#[test]
fn numbers_beyond_json_are_errors_where_they_are_printed() {
    for (expression, text) in [
        ("avg(`[]`)", "json: unsupported value: NaN"),
        ("to_number('-inf')", "json: unsupported value: -Inf"),
        ("multiply(big, `10`)", "json: unsupported value: +Inf"),
        ("[round(`1.5`, `400`)]", "json: unsupported value: NaN"),
        ("to_string(avg(`[]`))", "json: unsupported value: NaN"),
        ("`1e400`", "json: cannot unmarshal number 1e400 into Go value of type float64"),
    ] {
        assert_eq!(error(expression).0, text, "{expression}");
    }
}

#[test]
fn deep_nesting_is_refused_with_a_place() {
    for (open, close) in [
        ("(", ")"),
        ("[", "]"),
        ("a[?", "]"),
        ("{a:", "}"),
        ("!", ""),
        ("&(", ")"),
        ("f(", ")"),
        ("[?", "]"),
        ("a.", ""),
        ("a|", ""),
        ("a==", ""),
        ("*.", ""),
    ] {
        let expression = format!("{}a{}", open.repeat(100_000), close.repeat(100_000));
        let problem = Expression::compile(&expression).expect_err(open);
        assert_eq!(problem.text, "SyntaxError: expression nests too deeply", "{open}");
        assert!(problem.offset.is_some_and(|at| at < 2_000), "{open}: {:?}", problem.offset);
    }
    let unclosed = Expression::compile(&"[".repeat(100_000)).expect_err("brackets");
    assert!(unclosed.offset.is_some());
    let literal = format!("`{}{}`", "[".repeat(100_000), "]".repeat(100_000));
    assert!(error(&literal).0.contains("exceeded max depth"), "{}", error(&literal).0);
    let call = format!("parse_json('{}')", "[".repeat(100_000));
    assert!(error(&call).0.contains("exceeded max depth"), "{}", error(&call).0);
}

#[test]
fn expressions_of_a_megabyte_are_read_or_refused() {
    let wide = format!("[{}]", vec!["a.b"; 250_000].join(","));
    let found = Expression::compile(&wide).and_then(|e| e.search(&document())).expect("a wide list");
    assert_eq!(found.as_list().map(<[Value]>::len), Some(250_000));
    let text = format!("'{}'", "x".repeat(1 << 20));
    assert!(Expression::compile(&text).is_ok());
    let name = "x".repeat(1 << 20);
    assert_eq!(error(&name).1, Some(0));
    assert!(Expression::compile(&vec!["a"; 500_000].join("|")).is_err());
    let arguments = format!("not_null({})", vec!["missing"; 130_000].join(","));
    let found = Expression::compile(&arguments).and_then(|e| e.search(&document()));
    assert!(found.is_ok_and(|v| v.is_null()));
}

#[test]
fn results_that_would_grow_without_end_are_refused() {
    let steps = |step: &str, n: usize| vec![step; n].join(" | ");
    for expression in [
        steps("[@, @]", 80),
        format!("a.b | {}", steps("[@, @][]", 80)),
        format!("{} == {}", steps("[@, @]", 60), steps("[@, @]", 61)),
        format!("s | {}", steps("replace_all(@, '', @)", 8)),
        format!("s | {}", steps("regex_replace_all('.+', @, '$0$0$0$0')", 40)),
        format!("s | {}", steps("to_string([@])", 80)),
        format!("s | {}", steps("base64_encode(@)", 80)),
        format!("s | {}", steps("join(@, split(@, ''))", 8)),
        format!("s | {}", steps("{a: @, b: @, c: @}", 80)),
        format!("`[1]` | {}", steps("[@, @][]", 80)),
    ] {
        let (text, at) = error(&expression);
        assert_eq!(text, "result is too large", "{}", &expression[..60]);
        assert!(at.is_some(), "{}", &expression[..60]);
    }
}

#[test]
fn regular_expressions_that_would_blow_up_are_refused_or_run_in_linear_time() {
    let text = "a".repeat(20_000);
    let matches = |pattern: &str| {
        let expression = format!("regex_match('{pattern}', '{text}!')");
        let found = Expression::compile(&expression).and_then(|e| e.search(&Value::Null));
        found.map(|v| v.as_bool()).map_err(|p| p.text)
    };
    assert_eq!(matches("^(a+)+$"), Ok(Some(false)));
    assert_eq!(matches("^(a|aa)+$"), Ok(Some(false)));
    assert_eq!(matches("(.*)(.*)(.*)(.*)x"), Ok(Some(false)));
    assert_eq!(matches("a{1001}"), Err("error parsing regexp: invalid repeat count: `{1001}`".into()));
    assert_eq!(
        matches("((a{100}){100}){100}"),
        Err("error parsing regexp: invalid repeat count: `{100}`".into())
    );
    assert!(matches(&"(".repeat(100_000)).is_err());
    assert!(matches(&format!("{}a{}", "(".repeat(5_000), ")".repeat(5_000))).is_err());
    assert!(error("random('((.{1000}){1000}){1000}')").0.starts_with("error parsing regexp: "));
}

#[test]
fn extreme_quantities_and_times_are_computed_or_refused() {
    for expression in [
        "add('1e999999999', '1')",
        "add('1e-999999999', '1')",
        "divide('1e18', '1e-999')",
        "multiply('1E', `1e300`)",
        "time_add('9999-12-31T23:59:59Z', '2562047h')",
        "time_parse('1', '9223372036854775807')",
        "time_diff('0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z')",
        "time_truncate('0001-01-01T00:00:00Z', '2562047h47m16.854775807s')",
        "truncate(s, `1e300`)",
        "replace(s, 't', 'x', `-1e300`)",
        "a.b[9223372036854775807:-9223372036854775808:-9223372036854775808]",
        "a.b[-9223372036854775808]",
    ] {
        // A result or an error: it ends, and nothing panics.
        let _ = Expression::compile(expression).and_then(|e| e.search(&document())).map(|v| json(&v));
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_anything_panic(text in "([\\[\\]{}()|&!<>=.,:*@?`'\"a-c0-9 -]|length\\(|sort_by\\(|to_string\\(|&a|é){0,40}") {
        if let Ok(expression) = Expression::compile(&text) {
            let _ = expression.ast().tree();
            let _ = expression.search(&document()).map(|v| json(&v));
        }
    }
}
