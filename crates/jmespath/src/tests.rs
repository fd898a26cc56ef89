use super::{Ast, Comparator, parse};

fn error(text: &str) -> String {
    parse(text).unwrap_err().with_caret(text)
}

#[test]
fn commas_between_arguments_are_optional_and_one_may_trail() {
    for text in ["f(a b)", "f(a,)", "{a:b c:d}", "kind[:::]", "'length'(x)", "f(a)(b)"] {
        assert!(parse(text).is_ok(), "{text}");
    }
    assert_eq!(error("f(,)"), "SyntaxError: Invalid token: tComma\nf(,)\n  ^");
    assert_eq!(
        error("{a:b,}"),
        "SyntaxError: Expected tQuotedIdentifier or tUnquotedIdentifier\n{a:b,}\n     ^"
    );
}

#[test]
fn errors_stand_under_their_token() {
    assert_eq!(error("a["), "SyntaxError: Expected tStar, received: tEOF\na[\n  ^");
    assert_eq!(error("a.'b'"), "SyntaxError: Expected identifier, lbracket, or lbrace\na.'b'\n   ^");
    assert_eq!(error("a!b"), "SyntaxError: Unexpected token: tNot\na!b\n  ^");
    assert_eq!(error("'a"), "SyntaxError: Unclosed delimiter: '\n'a\n  ^");
    assert_eq!(error("a é"), "SyntaxError: Unknown char: '\\u00e9'\na é\n   ^");
    assert_eq!(
        error("a[99999999999999999999]"),
        "strconv.Atoi: parsing \"99999999999999999999\": value out of range"
    );
}

#[test]
fn negation_binds_tighter_than_a_dot() {
    let tree = parse("!a.b").unwrap().tree();
    assert!(tree.starts_with("ASTSubexpression {\n  children: {\n    ASTNotExpression {"), "{tree}");
}

#[test]
fn high_trees_are_refused() {
    for text in [
        format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000)),
        vec!["a"; 100_000].join("||"),
        vec!["a"; 100_000].join("."),
        "[".repeat(100_000),
        "!".repeat(100_000),
        format!("{}{}", "a[".repeat(100_000), "]".repeat(100_000)),
    ] {
        assert!(parse(&text).is_err());
    }
}

/// The tree on one line: `or(a, and(b, c))`.
fn shape(text: &str) -> String {
    of(&parse(text).unwrap_or_else(|e| panic!("{text}: {e}")))
}

fn of(ast: &Ast) -> String {
    let name = match ast {
        Ast::Current => return "@".into(),
        Ast::Identity => return "_".into(),
        Ast::Empty(_) => return "empty".into(),
        Ast::Field(name, _) => return name.clone(),
        Ast::Index(n) => return n.to_string(),
        Ast::Literal(v) => return format!("`{}`", ephor_value::print::json(v)),
        Ast::Slice(bounds, _) => {
            let shown = bounds.map(|b| b.map(|n| n.to_string()).unwrap_or_default());
            return format!("[{}]", shown.join(":"));
        }
        Ast::MultiSelectHash(pairs) => {
            let pairs: Vec<String> = pairs.iter().map(|(k, v)| format!("{k}: {}", of(v))).collect();
            return format!("{{{}}}", pairs.join(", "));
        }
        Ast::Function(name, ..) => name.as_deref().unwrap_or("<no name>"),
        Ast::Comparator(op, _) => match op {
            Comparator::Eq => "eq",
            Comparator::Ne => "ne",
            Comparator::Lt => "lt",
            Comparator::Lte => "lte",
            Comparator::Gt => "gt",
            Comparator::Gte => "gte",
        },
        Ast::Expref(_) => "ref",
        Ast::Filter(_) => "filter",
        Ast::Flatten(_) => "flatten",
        Ast::IndexExpression(_) => "index",
        Ast::MultiSelectList(_) => "list",
        Ast::Or(_) => "or",
        Ast::And(_) => "and",
        Ast::Not(_) => "not",
        Ast::Pipe(_) => "pipe",
        Ast::Projection(_) => "each",
        Ast::Subexpression(_) => "dot",
        Ast::ValueProjection(_) => "values",
    };
    let children: Vec<String> = ast.children().into_iter().map(of).collect();
    format!("{name}({})", children.join(", "))
}

#[track_caller]
fn check(rows: &[(&str, &str)]) {
    for (text, expected) in rows {
        assert_eq!(shape(text), *expected, "{text}");
    }
}

#[test]
fn operators_bind_by_strength_and_group_to_the_left() {
    check(&[
        ("a || b && c", "or(a, and(b, c))"),
        ("a && b || c", "or(and(a, b), c)"),
        ("a || b || c", "or(or(a, b), c)"),
        ("a | b | c", "pipe(pipe(a, b), c)"),
        ("a || b | c", "pipe(or(a, b), c)"),
        ("a == b && c < d", "and(eq(a, b), lt(c, d))"),
        ("a == b == c", "eq(eq(a, b), c)"),
        ("a.b == c.d", "eq(dot(a, b), dot(c, d))"),
        ("a && (b || c)", "and(a, or(b, c))"),
        ("!a == b", "eq(not(a), b)"),
        ("!a[0]", "not(index(a, 0))"),
        ("&a || b", "ref(or(a, b))"),
    ]);
}

#[test]
fn what_follows_a_projection_belongs_to_it_until_a_weaker_operator() {
    check(&[
        ("a[*].b.c", "each(a, dot(b, c))"),
        ("a[*].b[0]", "each(a, index(b, 0))"),
        ("a[*].b | c", "pipe(each(a, b), c)"),
        ("a[*].b == c", "eq(each(a, b), c)"),
        ("a[*] || b", "or(each(a, _), b)"),
        ("(a[*]).b", "dot(each(a, _), b)"),
        ("a[].b", "each(flatten(a), b)"),
        ("a[*][].b", "each(flatten(each(a, _)), b)"),
        ("a[?b].c", "filter(a, c, b)"),
        ("a[?b == c][]", "each(flatten(filter(a, _, eq(b, c))), _)"),
        ("a.*.b", "values(a, b)"),
        ("*.a", "values(_, a)"),
        ("[*].a", "each(_, a)"),
        ("a[1:2].b", "each(index(a, [1:2:]), b)"),
        ("a[1:2].b[?c]", "each(index(a, [1:2:]), filter(b, _, c))"),
        ("a[*].b[?c].d", "each(a, filter(b, d, c))"),
    ]);
}

#[test]
fn slices_take_what_is_written_of_their_bounds() {
    check(&[
        ("a[:]", "each(index(a, [::]), _)"),
        ("a[1:]", "each(index(a, [1::]), _)"),
        ("a[:-1]", "each(index(a, [:-1:]), _)"),
        ("a[::2]", "each(index(a, [::2]), _)"),
        ("a[-1]", "index(a, -1)"),
    ]);
    assert!(parse("a[1:2:3:4]").is_err());
    assert!(parse("a[x]").is_err());
}

#[test]
fn an_index_at_the_start_that_is_not_well_formed_is_an_empty_node() {
    check(&[
        ("[0]", "index(_, 0)"),
        ("[1:2]", "each(index(_, [1:2:]), _)"),
        ("[1", "empty"),
        ("[1:", "empty"),
        ("[1 || a", "or(empty, a)"),
    ]);
    // Behind something it is an error.
    assert!(parse("a[1").is_err());
}

#[test]
fn brackets_and_braces_after_a_dot_select_several() {
    check(&[
        ("a.[b, c]", "dot(a, list(b, c))"),
        ("a.{x: b, \"y z\": c}", "dot(a, {x: b, y z: c})"),
        ("[a, b.c]", "list(a, dot(b, c))"),
        ("a[*].{b: b}", "each(a, {b: b})"),
    ]);
}

#[test]
fn quotes_decide_between_names_texts_and_json() {
    check(&[
        (r#""a\u0062""#, "ab"),
        (r"'a\'b\n'", r#"`"a'b\\n"`"#),
        (r#"`{"a": [1, "x"]}`"#, r#"`{"a":[1,"x"]}`"#),
        (r#"`"a\`b"`"#, r#"`"a`b"`"#),
    ]);
    // No bare words between backticks.
    assert!(parse("`abc`").is_err());
}

#[test]
fn a_call_takes_the_name_of_whatever_is_before_its_parenthesis() {
    check(&[
        ("f()", "f()"),
        ("f(a, &b)", "f(a, ref(b))"),
        ("f(a)(b)", "f(b)"),
        ("'length'(a)", "length(a)"),
        ("a.f(b)", "dot(a, f(b))"),
        ("@(a)", "<no name>(a)"),
    ]);
    assert!(parse("\"f\"(a)").is_err());
}

#[test]
fn all_errors_of_tokens_come_before_those_of_the_grammar() {
    assert!(error("a[ #").starts_with("SyntaxError: Unknown char: '#'"));
    assert!(error("== 'x").starts_with("SyntaxError: Unclosed delimiter: '"));
}
