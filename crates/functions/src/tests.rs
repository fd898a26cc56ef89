#![allow(clippy::unwrap_used, clippy::panic)]

use std::borrow::Cow;

use proptest::prelude::*;

use super::*;
use ephor_document::decode_json;
use ephor_samples::data;
use ephor_value::Map;

/// Evaluates the small part of the language that the recorded cases of functions mostly use: nested
/// calls of texts, literals, `@` and top-level fields. `None`: the expression needs more than that.
struct Reader<'a> {
    rest: &'a str,
    input: &'a Value,
}

type Eval = Option<Result<Value, Fault>>;

impl<'a> Reader<'a> {
    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\n', '\t', '\r']);
    }

    fn delimited(&mut self, quote: char) -> Option<String> {
        let mut out = String::new();
        let mut chars = self.rest.chars();
        chars.next();
        loop {
            match chars.next()? {
                '\\' => match chars.next()? {
                    c if c == quote => out.push(c),
                    c => {
                        out.push('\\');
                        out.push(c);
                    }
                },
                c if c == quote => break,
                c => out.push(c),
            }
        }
        self.rest = chars.as_str();
        Some(out)
    }

    fn value(&mut self) -> Eval {
        self.space();
        match self.rest.chars().next()? {
            '\'' => self.delimited('\'').map(|s| Ok(s.into())),
            '`' => Some(Ok(decode_json(&self.delimited('`')?).ok()?)),
            '@' => {
                self.rest = &self.rest[1..];
                Some(Ok(self.input.clone()))
            }
            _ => {
                let end = self
                    .rest
                    .find(|c: char| c != '_' && !c.is_ascii_alphanumeric())
                    .unwrap_or(self.rest.len());
                let (name, rest) = self.rest.split_at(end);
                self.rest = rest;
                if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
                    return None;
                }
                if rest.starts_with('(') {
                    return self.call(name);
                }
                Some(match self.input {
                    Value::Map(m) => m.get(name).cloned().ok_or(Fault::NotFound(name.into())),
                    _ => Ok(Value::Null),
                })
            }
        }
    }

    fn call(&mut self, name: &str) -> Eval {
        self.rest = &self.rest[1..];
        let f = find(name)?;
        if matches!(f.run, Run::Higher(_)) {
            return None;
        }
        let mut args = Vec::new();
        self.space();
        while !self.rest.starts_with(')') {
            let arg = match self.value()? {
                Err(fault) if !fault.is_not_found() => Err(fault),
                other => Ok(other.unwrap_or_default()),
            };
            args.push(arg);
            self.space();
            if let Some(rest) = self.rest.strip_prefix(',') {
                self.rest = rest;
            } else if !self.rest.starts_with(')') {
                return None;
            }
            self.space();
        }
        self.rest = &self.rest[1..];
        let args: Result<Vec<Value>, Fault> = args.into_iter().collect();
        Some(args.and_then(|args| {
            let args: Vec<Arg<'_>> = args.into_iter().map(|v| Arg::Value(Cow::Owned(v))).collect();
            call(f, &Context::default(), &args)
        }))
    }

    /// A whole expression: a value and perhaps `.field` or `.[a,b]` after it.
    fn expression(&mut self) -> Eval {
        let mut result = self.value()?;
        self.space();
        while let Some(rest) = self.rest.strip_prefix('.') {
            if let Some(list) = rest.strip_prefix('[') {
                let (names, rest) = list.split_once(']')?;
                self.rest = rest;
                result = result.map(|v| match v {
                    Value::Null => Value::Null,
                    v => Value::list(
                        names.split(',').map(|n| v.get(n.trim()).cloned().unwrap_or_default()).collect(),
                    ),
                });
                continue;
            }
            let end = rest.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
            let (name, rest) = rest.split_at(end);
            self.rest = rest;
            result = result.and_then(|v| match v {
                Value::Map(m) => m.get(name).cloned().ok_or(Fault::NotFound(name.into())),
                _ => Ok(Value::Null),
            });
        }
        self.rest.trim().is_empty().then_some(result)
    }
}

#[test]
fn functions_answer_as_the_reference_recorded() {
    let Some(file) = data::recorded("jmespath-kyverno/cases.jsonl").unwrap() else { return };
    let text = std::fs::read_to_string(file).unwrap();
    let (mut compared, mut all, mut wrong) = (0, 0, Vec::new());
    for line in text.lines() {
        let case = decode_json(line).unwrap();
        all += 1;
        let expression = case.text_at(&["expression"]);
        if case.get("function").is_none() || expression.contains("time_now") {
            continue;
        }
        let input = case.get("input").cloned().unwrap_or_default();
        let mut reader = Reader { rest: expression, input: &input };
        let Some(got) = reader.expression() else { continue };
        compared += 1;
        let want = match case.get("error") {
            Some(e) => Err(e.clone()),
            None => Ok(case.get("result").cloned().unwrap_or_default()),
        };
        let same = match (&got, &want) {
            (Ok(a), Ok(b)) => a.json_eq(b),
            (Err(a), Err(b)) => Some(a.to_string().as_str()) == b.as_str(),
            _ => false,
        };
        if !same {
            let got = got.map(|v| print::json(&v)).map_err(|e| e.to_string());
            let want = want.map(|v| print::json(&v)).map_err(|e| print::display(&e));
            wrong.push(format!("{} {expression}\n   got {got:?}\n  want {want:?}", case.text_at(&["id"])));
        }
    }
    println!("{compared} of {all} cases compared, {} differ", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_table_is_sorted_and_documented() {
    assert!(all().windows(2).all(|w| w[0].name < w[1].name));
    assert_eq!(all().iter().filter(|f| f.kyverno).count(), 51);
    assert!(all().iter().all(|f| f.note.ends_with('.') && find(f.name).is_some()));
    assert_eq!(find("lookup").unwrap().signature(), "lookup(object|array, string|number) any");
}

fn run(name: &str, args: &[Value]) -> Result<String, String> {
    let args: Vec<Arg<'_>> = args.iter().map(|v| Arg::Value(Cow::Borrowed(v))).collect();
    call(find(name).unwrap(), &Context::default(), &args).map(|v| print::json(&v)).map_err(|e| e.to_string())
}

#[test]
fn host_integers_are_no_numbers() {
    let five = Value::Int(5);
    assert_eq!(run("type", std::slice::from_ref(&five)), Err("unknown type".into()));
    assert_eq!(run("to_number", std::slice::from_ref(&five)), Err("unknown type".into()));
    assert_eq!(run("to_string", std::slice::from_ref(&five)), Ok("\"5\"".into()));
    assert_eq!(
        run("abs", std::slice::from_ref(&five)),
        Err("Invalid type for: 5, expected: []jmespath.JpType{\"number\"}".into())
    );
    assert_eq!(
        run("add", &[five.clone(), Value::Float(1.0)]),
        Err("JMESPath function 'add': invalid operand".into())
    );
    assert_eq!(run("sum", &[Value::list(vec![five])]), Ok("5".into()));
}

#[test]
fn opaque_lists_are_no_arrays_for_some() {
    let object = Value::Map([("a".into(), Value::Float(1.0))].into_iter().collect::<Map>());
    let args: Vec<Arg<'_>> =
        [object, "k".into(), "v".into()].into_iter().map(|v| Arg::Value(Cow::Owned(v))).collect();
    let items = call(find("items").unwrap(), &Context::default(), &args).unwrap();
    assert_eq!(run("type", std::slice::from_ref(&items)), Err("unknown type".into()));
    assert_eq!(run("to_array", std::slice::from_ref(&items)), Ok("[[{\"k\":\"a\",\"v\":1}]]".into()));
    assert_eq!(run("length", std::slice::from_ref(&items)), Ok("1".into()));
    assert_eq!(
        run("sum", std::slice::from_ref(&items)),
        Err("JMESPath function 'sum': Types mismatch".into())
    );
    assert_eq!(
        run("sort", std::slice::from_ref(&items)),
        Err("Invalid type for: [map[k:a v:1]], expected: []jmespath.JpType{\"array[string]\", \"array[number]\"}".into())
    );
    assert_eq!(
        run("lookup", &[items.clone(), Value::Float(0.0)]),
        Err("JMESPath function 'lookup': argument #1 is not of type Object or Array".into())
    );
    assert_eq!(run("reverse", &[items]), Ok("[{\"k\":\"a\",\"v\":1}]".into()));
}

#[test]
fn every_function_has_an_answer_or_an_error_for_values_of_every_type() {
    let values = [
        Value::Null,
        Value::Bool(true),
        Value::Float(-1.5),
        Value::Float(f64::NAN),
        "".into(),
        "1.0.0".into(),
        Value::list(vec![Value::Null]),
        Value::list(vec![Value::list(vec![Value::Float(1.0)])]),
        Value::map([("a", Value::list(Vec::new()))]),
    ];
    let mut answers = 0;
    for f in all().iter().filter(|f| !matches!(f.name, "is_external_url" | "random")) {
        for first in &values {
            for second in &values {
                let others = [second, first, second].into_iter();
                let args: Vec<Value> =
                    [first].into_iter().chain(others).take(f.params().len()).cloned().collect();
                answers += usize::from(run(f.name, &args).is_ok());
            }
        }
    }
    assert!(answers > 0);
}

#[test]
fn numbers_that_json_does_not_have_are_errors_where_they_become_json() {
    assert_eq!(run("to_string", &[Value::Float(f64::NAN)]), Err("json: unsupported value: NaN".into()));
}

#[test]
fn random_texts_match_their_pattern() {
    for pattern in ["[a-z0-9]{8}", "(ab|c)+x?", "[^a]{3}", "x{2,5}|y", "[[:digit:]]+"] {
        let Ok(text) = run("random", &[pattern.into()]) else { panic!("{pattern}") };
        let text = decode_json(&text).unwrap();
        let whole = go_regex(&format!("^(?:{pattern})$")).unwrap();
        assert!(whole.is_match(text.as_str().unwrap()), "{pattern}: {text:?}");
    }
}

#[test]
fn deep_json_is_refused_and_dropped_without_overflow() {
    let deep = |n: usize| "[".repeat(n) + &"]".repeat(n);
    assert!(decode_json(&deep(ephor_document::MAX_DEPTH)).is_ok());
    assert_eq!(
        decode_json(&deep(ephor_document::MAX_DEPTH + 1)).unwrap_err().to_string(),
        "invalid character '[' exceeded max depth"
    );
}

#[test]
fn findings_of_random_comparison_stay_fixed() {
    let text = |s: &str| Value::from(s);
    for (name, args, want) in [
        ("multiply", [Value::Float(1e19), text("998.56Ei")], "\"90071992547409919990234375000000000Ki\""),
        ("round", [Value::Float(0.1), Value::Float(45.0)], "0.1"),
        ("time_parse", [text("15:04 MST"), text("10:00 GMT-7")], "\"0000-01-01T03:00:00-07:00\""),
    ] {
        assert_eq!(run(name, &args), Ok(want.into()), "{name}");
    }
    assert_eq!(
        run("modulo", &["250.03M".into(), "+.e-29".into()]),
        Err("JMESPath function 'modulo': invalid operand".into())
    );
}

proptest! {
    #[test]
    fn a_url_that_is_written_is_split_into_the_same_parts(
        text in "(http|A\\+b)?:?/{0,4}([a:%@?]{1,3}@)?([a-cü]{0,2}|\\[::1(%25[a%25]{1,2})?\\])(:8)?/?([a-c:/?#%%41%C3 ü!'\\[&=]{0,12})",
    ) {
        if let Ok(parts) = ephor_value::url::split(&text) {
            let written = parts.to_string();
            let Ok(again) = ephor_value::url::split(&written) else { panic!("{text}: {written}") };
            prop_assert_eq!(again.to_string(), &*written, "{}", text);
            prop_assert_eq!(
                (again.host, again.host_name, again.escaped_path, again.query, again.escaped_fragment),
                (parts.host, parts.host_name, parts.escaped_path, parts.query, parts.escaped_fragment)
            );
        }
    }
}

proptest! {
    #[test]
    fn no_text_makes_a_function_panic(
        a in "[-+0-9a-zA-Z.:/\\\\{}()\\[\\]*?|^$\"' éß\u{1f600}]{0,24}",
        b in "[-+0-9a-zTZ.:,/@\\\\{}()\\[\\]*?|<>=!%# é]{0,24}",
        n in proptest::num::f64::ANY,
    ) {
        let (a, b, n) = (Value::from(a), Value::from(b), Value::Float(n));
        // These two reach for the network and for megabytes.
        for f in all().iter().filter(|f| !matches!(f.name, "is_external_url" | "random")) {
            for args in [[&a, &b, &a, &n], [&b, &a, &b, &n], [&a, &n, &b, &n], [&n, &n, &a, &b]] {
                let args: Vec<Value> = args.into_iter().take(f.params().len()).cloned().collect();
                let _ = run(f.name, &args);
            }
        }
        if let (Some(a), Some(b)) = (a.as_str(), b.as_str()) {
            let _ = (ephor_value::url::split(a), ephor_value::url::split(b), decode_json(b));
        }
    }
}
