//! Grammar and macros: which tree a text has.

mod written;

use super::*;
use crate::ast::{Entry, Kind, Node, Shape};
use crate::issue::{self, Issue, NOWHERE};
use ephor_value::Value;

const ALL: Options = Options {
    optional: true,
    backticks: true,
    two_variables: true,
    sort_by: true,
    bind: true,
    untyped_or_value: false,
    block: true,
    math: true,
    proto: true,
};

const NONE: Options = Options {
    optional: false,
    backticks: false,
    two_variables: false,
    sort_by: false,
    bind: false,
    untyped_or_value: false,
    block: false,
    math: false,
    proto: false,
};

fn literal(v: &Value) -> String {
    match v {
        Value::Int(n) => n.to_string(),
        Value::UInt(n) => format!("{n}u"),
        Value::Float(n) => format!("{n:?}"),
        Value::Str(s) => format!("'{s}'"),
        Value::Bool(b) => b.to_string(),
        Value::Null => "null".into(),
        other => format!("{other:?}"),
    }
}

fn joined(items: impl IntoIterator<Item = String>) -> String {
    items.into_iter().collect::<Vec<_>>().join(", ")
}

/// The tree with every call spelled out: `_+_(a, b)`, `size<receiver>()`.
fn shape(node: &Node) -> String {
    fn entry<K>(e: &Entry<K>, key: String) -> String {
        format!("{}{key}: {}", if e.optional { "?" } else { "" }, shape(&e.value))
    }
    match &node.kind {
        Kind::Const(v) => literal(v),
        Kind::Ident(name) => name.to_string(),
        Kind::Select { operand, field, test } => {
            let path = format!("{}.{field}", shape(operand));
            if *test { format!("has({path})") } else { path }
        }
        Kind::Call { function, target, args } => {
            let receiver = target.as_ref().map(|t| format!("<{}>", shape(t))).unwrap_or_default();
            format!("{function}{receiver}({})", joined(args.iter().map(shape)))
        }
        Kind::List { items, optional } => {
            let mark = |i| if optional.contains(&i) { "?" } else { "" };
            format!("[{}]", joined(items.iter().enumerate().map(|(i, n)| mark(i).to_string() + &shape(n))))
        }
        Kind::Map(entries) => format!("{{{}}}", joined(entries.iter().map(|e| entry(e, shape(&e.key))))),
        Kind::Struct { name, fields } => {
            format!("{name}{{{}}}", joined(fields.iter().map(|e| entry(e, e.key.to_string()))))
        }
        Kind::Fold(f) if f.shape == Shape::Bind => {
            format!(
                "let {} = {} in {}",
                f.var2.as_deref().unwrap_or_default(),
                shape(&f.init),
                shape(&f.result)
            )
        }
        Kind::Fold(f) => {
            let second = f.var2.as_ref().map(|v| format!(", {v}")).unwrap_or_default();
            let [range, init, condition, step, result] =
                [&f.range, &f.init, &f.condition, &f.step, &f.result].map(shape);
            format!("for {}{second} in {range}: {init}; {condition}; {step}; {result}", f.var)
        }
    }
}

fn tree(source: &str) -> String {
    shape(&parse(source, ALL).unwrap_or_else(|issues| panic!("{source}: {issues:?}")))
}

fn refused(source: &str, options: Options) -> String {
    issue::report(source, &parse(source, options).unwrap_err())
}

#[test]
fn operators_bind_by_strength_and_group_to_the_left() {
    for (source, expected) in [
        ("a || b && c", "_||_(a, _&&_(b, c))"),
        ("a && b || c", "_||_(_&&_(a, b), c)"),
        ("a == b && c < d", "_&&_(_==_(a, b), _<_(c, d))"),
        ("a < b == c", "_==_(_<_(a, b), c)"),
        ("a == b in c", "@in(_==_(a, b), c)"),
        ("a + b < c * d", "_<_(_+_(a, b), _*_(c, d))"),
        ("a + b * c - d", "_-_(_+_(a, _*_(b, c)), d)"),
        ("a / b % c", "_%_(_/_(a, b), c)"),
        ("a - b - c", "_-_(_-_(a, b), c)"),
        ("(a - (b - c))", "_-_(a, _-_(b, c))"),
        ("!a.b", "!_(a.b)"),
        ("-a.b[c]", "-_(_[_](a.b, c))"),
        ("!a == b", "_==_(!_(a), b)"),
        ("-a * b", "_*_(-_(a), b)"),
    ] {
        assert_eq!(tree(source), expected, "{source}");
    }
}

#[test]
fn a_choice_groups_to_the_right_and_is_the_weakest() {
    assert_eq!(tree("a ? b : c ? d : e"), "_?_:_(a, b, _?_:_(c, d, e))");
    assert_eq!(tree("a || b ? c : d || e"), "_?_:_(_||_(a, b), c, _||_(d, e))");
    assert_eq!(tree("(a ? b : c) ? d : e"), "_?_:_(_?_:_(a, b, c), d, e)");
    // Between the marks a choice needs parentheses.
    assert!(parse("a ? b ? c : d : e", ALL).is_err());
}

#[test]
fn repeated_signs_cancel_out_in_pairs() {
    for (source, expected) in
        [("!!a", "a"), ("!!!a", "!_(a)"), ("--a", "a"), ("---a", "-_(a)"), ("a - -b", "_-_(a, -_(b))")]
    {
        assert_eq!(tree(source), expected, "{source}");
    }
}

#[test]
fn a_sign_before_a_number_is_part_of_it() {
    for (source, expected) in [
        ("-1", "-1"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("a -1", "_-_(a, 1)"),
        ("a - -1", "_-_(a, -1)"),
        ("-1.5", "-1.5"),
        ("-(1)", "-_(1)"),
        ("-1.f()", "f<-1>()"),
    ] {
        assert_eq!(tree(source), expected, "{source}");
    }
}

#[test]
fn chains_of_and_and_or_are_balanced_trees() {
    for (source, expected) in [
        ("a && b && c", "_&&_(_&&_(a, b), c)"),
        ("a && b && c && d", "_&&_(_&&_(a, b), _&&_(c, d))"),
        ("a || b || c || d || e", "_||_(_||_(_||_(a, b), c), _||_(d, e))"),
        // Parentheses begin a chain of their own.
        ("a && (b && c)", "_&&_(a, _&&_(b, c))"),
        ("(a && b) && c && d", "_&&_(_&&_(_&&_(a, b), c), d)"),
    ] {
        assert_eq!(tree(source), expected, "{source}");
    }
}

#[test]
fn a_balanced_chain_stands_at_its_middle_operator() {
    // Each row: how many terms, and which operator, from 0, is the root's.
    for (terms, middle) in [(2, 0), (3, 1), (4, 1), (5, 2), (6, 2), (9, 4)] {
        let source = vec!["a"; terms].join("&&");
        let root = parse(&source, ALL).unwrap();
        assert_eq!(root.at, 1 + 3 * middle, "{source}");
    }
}

#[test]
fn a_node_stands_where_messages_point_to() {
    // The caret under each text is the place of the root.
    for (source, caret) in [
        ("abc", "^"),
        (".abc", " ^"),
        ("-1", "^"),
        ("a + b", "  ^"),
        ("a + b * c", "  ^"),
        ("a ? b : c", "  ^"),
        ("a.b.c", "   ^"),
        ("a[b]", " ^"),
        ("a.?b", " ^"),
        ("size(a)", "    ^"),
        ("a.size()", "      ^"),
        ("has(a.b)", "   ^"),
        ("a.all(x, x)", "     ^"),
        ("[a, b]", "^"),
        ("{a: b}", "^"),
        ("a.T{b: c}", "   ^"),
        ("!!!a", "^"),
        ("((a)) + b", "      ^"),
    ] {
        assert_eq!(parse(source, ALL).unwrap().at as usize, caret.len() - 1, "{source}");
    }
    let entries = |source| match parse(source, ALL).unwrap().kind {
        Kind::Map(entries) => entries.into_iter().map(|e| e.at).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(entries("{a: b, ?c : d}"), [2, 10]);
}

#[test]
fn names_before_a_brace_are_the_name_of_a_message() {
    for (source, expected) in [
        ("a.b.C{d: e, ?f: g}", "a.b.C{d: e, ?f: g}"),
        (".a.C{}", ".a.C{}"),
        ("a.b.c", "a.b.c"),
        ("C{`x-y`: 1}", "C{x-y: 1}"),
    ] {
        assert_eq!(tree(source), expected, "{source}");
    }
}

#[test]
fn one_comma_may_trail_in_literals_but_not_in_calls() {
    for source in ["[a,]", "[,]", "{a: b,}", "{,}", "T{a: b,}", "T{,}", "[]", "{}", "T{}"] {
        assert!(parse(source, ALL).is_ok(), "{source}");
    }
    for source in ["f(a,)", "f(,)", "[a,,]", "[,a]", "{a: b,,}"] {
        assert!(parse(source, ALL).is_err(), "{source}");
    }
}

#[test]
fn optional_parts_are_marked() {
    assert_eq!(tree("a.?b[?c]"), "_[?_](_?._(a, 'b'), c)");
    assert_eq!(tree("[a, ?b, ?c]"), "[a, ?b, ?c]");
    assert_eq!(tree("{?a: b}"), "{?a: b}");
}

#[test]
fn reserved_words_are_fields_but_no_names() {
    assert_eq!(tree("a.if.while"), "a.if.while");
    assert_eq!(refused("if", ALL), "ERROR: <input>:1:1: reserved identifier: if\n | if\n | ^");
    assert_eq!(
        refused("a + for(b)", ALL),
        "ERROR: <input>:1:5: reserved identifier: for\n | a + for(b)\n | ....^"
    );
}

#[test]
fn parts_of_the_syntax_are_refused_where_the_environment_has_them_not() {
    for (source, at, text) in [
        ("a.?b", 1, "unsupported syntax '.?'"),
        ("a[?b]", 1, "unsupported syntax '[?'"),
        ("[?a]", 1, "unsupported syntax '?'"),
        ("{?a: b}", 3, "unsupported syntax '?'"),
        ("a.`b`", 2, "unsupported syntax: '`'"),
        ("A{b: 1, `c`: 2}", 2, "unsupported syntax: '`'"),
    ] {
        let issues = parse(source, NONE).unwrap_err();
        assert_eq!(issues, [Issue::new(at, text)], "{source}");
        assert!(parse(source, ALL).is_ok(), "{source}");
    }
}

#[test]
fn all_issues_of_a_text_are_reported() {
    let issues = parse("if + a.?b + [?while]", NONE).unwrap_err();
    assert_eq!(issues.len(), 4, "{issues:?}");
}

#[test]
fn loops_are_folds_with_an_accumulator() {
    for (source, expected) in [
        ("a.all(x, p)", "for x in a: true; @not_strictly_false(__result__); _&&_(__result__, p); __result__"),
        (
            "a.exists(x, p)",
            "for x in a: false; @not_strictly_false(!_(__result__)); _||_(__result__, p); __result__",
        ),
        (
            "a.exists_one(x, p)",
            "for x in a: 0; true; _?_:_(p, _+_(__result__, 1), __result__); _==_(__result__, 1)",
        ),
        ("a.map(x, e)", "for x in a: []; true; _+_(__result__, [e]); __result__"),
        ("a.map(x, p, e)", "for x in a: []; true; _?_:_(p, _+_(__result__, [e]), __result__); __result__"),
        ("a.filter(x, p)", "for x in a: []; true; _?_:_(p, _+_(__result__, [x]), __result__); __result__"),
        (
            "a.all(i, x, p)",
            "for i, x in a: true; @not_strictly_false(__result__); _&&_(__result__, p); __result__",
        ),
        ("a.transformList(i, x, e)", "for i, x in a: []; true; _+_(__result__, [e]); __result__"),
        (
            "a.transformMap(k, v, p, e)",
            "for k, v in a: {}; true; _?_:_(p, cel.@mapInsert(__result__, k, e), __result__); __result__",
        ),
        (
            "a.transformMapEntry(k, v, e)",
            "for k, v in a: {}; true; cel.@mapInsert(__result__, e); __result__",
        ),
    ] {
        assert_eq!(tree(source), expected, "{source}");
    }
}

#[test]
fn other_macros_are_what_they_stand_for() {
    for (source, expected) in [
        ("has(a.b.c)", "has(a.b.c)"),
        ("cel.bind(x, a, x + x)", "let x = a in _+_(x, x)"),
        ("a.optMap(x, e)", "_?_:_(hasValue<a>(), optional.of(let x = value<a>() in e), optional.none())"),
        ("a.optFlatMap(x, e)", "_?_:_(hasValue<a>(), let x = value<a>() in e, optional.none())"),
        (
            "a.sortBy(x, e)",
            "let @__sortBy_input__ = a in @sortByAssociatedKeys<@__sortBy_input__>(for x in @__sortBy_input__: []; true; _+_(__result__, [e]); __result__)",
        ),
        (
            "cel.block([a, cel.index(0)], cel.index(1))",
            "let @index:0 = a in let @index:1 = @index:0 in @index:1",
        ),
        ("math.greatest(a, b)", "math.@max(a, b)"),
        ("math.least(a, b, c)", "math.@min([a, b, c])"),
        ("proto.getExt(a, b.c)", "a.b.c"),
        ("proto.hasExt(a, b.c)", "has(a.b.c)"),
    ] {
        assert_eq!(tree(source), expected, "{source}");
    }
}

#[test]
fn a_call_with_another_number_of_arguments_is_no_macro() {
    for (source, expected) in [
        ("a.all(p)", "all<a>(p)"),
        ("a.map(x)", "map<a>(x)"),
        ("has(a.b, c)", "has(a.b, c)"),
        ("a.filter(i, x, p)", "filter<a>(i, x, p)"),
        ("b.bind(x, a, x)", "bind<b>(x, a, x)"),
        ("all(x, p)", "all(x, p)"),
    ] {
        assert_eq!(tree(source), expected, "{source}");
    }
    let plain = |source| shape(&parse(source, NONE).unwrap());
    assert_eq!(plain("a.all(i, x, p)"), "all<a>(i, x, p)");
    assert_eq!(plain("cel.bind(x, a, x)"), "bind<cel>(x, a, x)");
    assert_eq!(plain("a.optMap(x, e)"), "optMap<a>(x, e)");
    assert_eq!(plain("a.sortBy(x, e)"), "sortBy<a>(x, e)");
}

#[test]
fn macros_refuse_what_is_no_variable() {
    for (source, at, text) in [
        ("has(a)", 4, "invalid argument to has() macro"),
        ("has(a[0])", 5, "invalid argument to has() macro"),
        ("a.all(b.c, true)", 7, "argument must be a simple name"),
        ("a.map(1, true)", 6, "argument is not an identifier"),
        ("a.all(__result__, true)", 6, "iteration variable overwrites accumulator variable"),
        ("a.all(x, x, true)", 9, "duplicate variable name: x"),
        ("cel.bind(a.b, 1, 2)", 10, "cel.bind() variable names must be simple identifiers"),
        ("a.optMap(1, 2)", 9, "optMap() variable name must be a simple identifier"),
        ("math.greatest()", 0, "math.greatest() requires at least one argument"),
        ("math.least('a')", 11, "math.least() invalid single argument value"),
        ("math.least([])", 11, "math.least() invalid single argument value"),
        ("math.least(1, 'a')", 14, "math.least() simple literal arguments must be numeric"),
        ("proto.getExt(a, b[0])", 17, "invalid extension field"),
        ("cel.block(a, b)", 10, "cel.block() requires a list of expressions"),
    ] {
        assert_eq!(parse(source, ALL).unwrap_err(), [Issue::new(at, text)], "{source}");
    }
}

#[test]
fn what_an_optional_macro_copies_has_a_bound() {
    let mut source = "a".to_string();
    for _ in 0..4 {
        source.push_str(".optMap(x, x)");
    }
    assert!(parse(&source, ALL).is_ok());
    for _ in 0..40 {
        source.push_str(".optMap(x, x)");
    }
    let issues = parse(&source, ALL).unwrap_err();
    assert!(
        issues.iter().all(|i| i.text == "optMap() is called on an expression that is too large"),
        "{issues:?}"
    );
}

/// Whether a text is an expression, else its only issue, which has no place.
fn limit(source: &str) -> Result<(), String> {
    parse(source, ALL).map(drop).map_err(|issues| match issues.as_slice() {
        [Issue { at: NOWHERE, text }] => text.clone(),
        other => panic!("{other:?}"),
    })
}

#[test]
fn nesting_has_a_limit() {
    let nested = |open: &str, n: usize, close: &str| format!("{}a{}", open.repeat(n), close.repeat(n));
    let too_deep = Err("expression recursion limit exceeded: 250".to_string());
    for (open, close) in [("(", ")"), ("[", "]"), ("{1:", "}"), ("f(", ")"), ("a[", "]"), ("T{b:", "}")] {
        assert_eq!(limit(&nested(open, 249, close)), Ok(()), "{open}");
        assert_eq!(limit(&nested(open, 250, close)), too_deep, "{open}");
    }
    assert_eq!(limit(&nested("a ? b : ", 249, "")), Ok(()));
    assert_eq!(limit(&nested("a ? b : ", 250, "")), too_deep);
}

#[test]
fn chains_that_nest_have_a_limit_and_balanced_ones_have_none() {
    assert_eq!(limit(&vec!["a"; 5000].join("&&")), Ok(()));
    assert_eq!(limit(&vec!["a"; 5000].join("||")), Ok(()));
    assert_eq!(limit(&format!("{}a", "!".repeat(5000))), Ok(()));
    for operator in ["+", "*", "==", "."] {
        assert_eq!(limit(&vec!["a"; 200].join(operator)), Ok(()), "{operator}");
        assert!(limit(&vec!["a"; 300].join(operator)).is_err(), "{operator}");
    }
}

#[test]
fn texts_have_a_limit_in_characters() {
    let text = |n: usize| format!("'{}'", "é".repeat(n - 2));
    assert_eq!(limit(&text(100_000)), Ok(()));
    let refusal = "expression code point size exceeds limit: size: 100001, limit 100000";
    assert_eq!(limit(&text(100_001)), Err(refusal.to_string()));
}

#[test]
fn a_name_is_mentioned_wherever_it_stands_for_a_value() {
    let mentions = |source: &str| parse(source, ALL).unwrap().mentions("x");
    for source in ["x", ".x", "x.y", "f(x)", "x.f()", "[1, x]", "{x: 1}", "{1: x}", "T{a: x}", "a.map(b, x)"]
    {
        assert!(mentions(source), "{source}");
    }
    for source in ["a.x", "'x'", "T{x: 1}", "x()", "a.x()", "has(a.x)"] {
        assert!(!mentions(source), "{source}");
    }
}

#[test]
fn every_form_of_the_table_of_macros_is_expanded() {
    for (form, _) in MACROS {
        let head = form.split('(').next().unwrap_or_default();
        let name = head.rsplit('.').next().unwrap_or_default();
        let tree = tree(form);
        assert!(!tree.contains(&format!("{name}<")), "{form}: {tree}");
    }
}
