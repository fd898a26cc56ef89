use super::number::*;
use super::print::*;
use super::wildcard::{self, Wildcard};
use super::*;

#[test]
fn doubles_print_as_the_reference_prints_them() {
    for (f, text) in [
        (5.0, "5"),
        (2.5, "2.5"),
        (0.1, "0.1"),
        (100000.0, "100000"),
        (1000000.0, "1e+06"),
        (123456789.0, "1.23456789e+08"),
        (0.0000001, "1e-07"),
        (2.1e21, "2.1e+21"),
        (100000.5, "100000.5"),
        (0.00012, "0.00012"),
        (0.000012, "1.2e-05"),
        (1234567890123456789012.0, "1.2345678901234568e+21"),
    ] {
        assert_eq!(float_v(f), text);
    }
    for (f, text) in [
        (1e21, "1e+21"),
        (1e-7, "1e-7"),
        (1e-6, "0.000001"),
        (3.0, "3"),
        (1e20, "100000000000000000000"),
        (-0.0, "-0"),
    ] {
        assert_eq!(float_json(f), text);
    }
    for (f, text) in [(1.5, "1.5E+00"), (10.0, "1E+01"), (0.0000001, "1E-07")] {
        assert_eq!(float_e(f), text);
    }
}

#[test]
fn float_text_is_read_in_go_syntax() {
    for (text, f) in [
        ("1_0", 10.0),
        ("0x1p4", 16.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("-0x.8p1", -1.0),
        ("Inf", f64::INFINITY),
    ] {
        assert_eq!(parse_float(text), Some(f), "{text}");
    }
    for text in ["", "0x10", "1__0", "_1", "1_", " 1", "1e400", "abc", "+", "1d", "e5"] {
        assert_eq!(parse_float(text), None, "{text}");
    }
}

#[test]
fn wildcards_match_whole_texts() {
    for (p, t, yes) in [
        ("*", "", true),
        ("", "", true),
        ("", "a", false),
        ("?", "é", true),
        ("a*b?", "axxbc", true),
        ("a*", "b", false),
        ("*a*b", "xaxbxb", true),
        ("?*", "", false),
        ("*:latest", "x:latest", true),
        ("*mid*", "amidb", true),
        ("h??", "héé", true),
        ("**", "x", true),
        ("a**", "a", true),
    ] {
        assert_eq!(Wildcard::new(p).matches(t), yes, "{p} {t}");
        assert_eq!(wildcard::matches(p, t), yes, "{p} {t}");
    }
}

#[test]
fn large_objects_are_found_through_their_index() {
    let mut m: Map = (0..100).map(|i| (Str::from(format!("k{i}")), Value::Int(i))).collect();
    assert!(matches!(m.get("k77"), Some(Value::Int(77))));
    m.insert("k77", Value::Null);
    m.remove("k3");
    assert!(m.get("k77").is_some_and(Value::is_null));
    assert!(m.get("k3").is_none());
    assert_eq!(m.len(), 99);
}

#[test]
fn display_text_sorts_keys_and_shows_null() {
    let v = Value::list(vec![
        Value::Null,
        Value::Map([("b".into(), Value::Float(1e6)), ("a".into(), Value::from("x"))].into_iter().collect()),
    ]);
    assert_eq!(display(&v), "[<nil> map[a:x b:1e+06]]");
    assert_eq!(json(&v), r#"[null,{"a":"x","b":1000000}]"#);
    assert_eq!(json(&Value::from("a<b>&\u{2028}\u{1}")), "\"a\\u003cb\\u003e\\u0026\\u2028\\u0001\"");
}

#[test]
fn texts_that_are_no_integer_have_the_error_of_the_first_digit_or_character_that_does_not_fit() {
    for (text, why) in [
        ("", "invalid syntax"),
        ("+", "invalid syntax"),
        ("+-1", "invalid syntax"),
        ("++1", "invalid syntax"),
        ("1_0", "invalid syntax"),
        ("9223372036854775808", "value out of range"),
        ("-9223372036854775809", "value out of range"),
        ("9223372036854775808x", "invalid syntax"),
        ("99999999999999999999x", "value out of range"),
    ] {
        let text_of = strconv("Atoi", text).map_err(|e| e.to_string());
        assert_eq!(text_of, Err(format!("strconv.Atoi: parsing \"{text}\": {why}")));
    }
    assert_eq!(strconv("Atoi", "+9223372036854775807"), Ok(i64::MAX));
}
