use super::parse;

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
