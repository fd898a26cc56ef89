//! Where tokens begin and end, and what is none.

use super::*;

/// The tokens of a text without the end: kind and text of each.
fn tokens(source: &str) -> Vec<(Tok, &str)> {
    let (tokens, issues) = tokenize(source);
    assert_eq!(issues, [], "{source}");
    tokens.iter().filter(|t| t.kind != Tok::Eof).map(|t| (t.kind, t.text)).collect()
}

/// The texts that are no tokens, and where they begin.
fn refused(source: &str) -> Vec<(u32, String)> {
    let of = |issue: Issue| {
        let text = issue.text.strip_prefix("Syntax error: token recognition error at: '").unwrap();
        (issue.at, text.strip_suffix('\'').unwrap().to_string())
    };
    tokenize(source).1.into_iter().map(of).collect()
}

#[test]
fn the_longest_token_wins() {
    use Tok::*;
    for (source, kinds) in [
        ("a<=b", &[Ident, LessEquals, Ident][..]),
        ("a<-b", &[Ident, Less, Minus, Ident]),
        ("!==", &[NotEquals]),
        ("!!=", &[Exclam, NotEquals]),
        ("inner in in_", &[Ident, In, Ident]),
        ("truest true", &[Ident, True]),
        ("1.5", &[Float]),
        ("1.a", &[Int, Dot, Ident]),
        (".5", &[Float]),
        ("a.5", &[Ident, Float]),
        ("1e3", &[Float]),
        ("1e", &[Int, Ident]),
        ("1e+", &[Int, Ident, Plus]),
        ("0x1Fu", &[Uint]),
        ("0x", &[Int, Ident]),
        ("12U", &[Uint]),
        ("1.5u", &[Float, Ident]),
    ] {
        let found: Vec<Tok> = tokenize(source).0.iter().map(|t| t.kind).filter(|k| *k != Eof).collect();
        assert_eq!(found, kinds, "{source}");
    }
}

#[test]
fn prefixes_of_strings_are_letters_of_any_case_before_a_quote() {
    for (source, kind) in [
        ("r'a'", Tok::Str),
        ("R\"a\"", Tok::Str),
        ("b'a'", Tok::Bytes),
        ("B'a'", Tok::Bytes),
        ("bR'a'", Tok::Bytes),
        ("br\"\"\"a\"\"\"", Tok::Bytes),
    ] {
        assert_eq!(tokens(source), [(kind, source)]);
    }
    // Only in this order, and only these letters.
    assert_eq!(tokens("rb'a'"), [(Tok::Ident, "rb"), (Tok::Str, "'a'")]);
    assert_eq!(tokens("x'a'"), [(Tok::Ident, "x"), (Tok::Str, "'a'")]);
}

#[test]
fn a_backslash_escapes_nothing_in_raw_strings() {
    assert_eq!(tokens(r"'a\'b'"), [(Tok::Str, r"'a\'b'")]);
    assert_eq!(tokens(r"r'a\'"), [(Tok::Str, r"r'a\'")]);
}

#[test]
fn only_three_quotes_hold_line_breaks_and_lone_quotes() {
    assert_eq!(tokens("'''a\n'b'''"), [(Tok::Str, "'''a\n'b'''")]);
    assert_eq!(refused("'a\nb'"), [(0, "'a\n".to_string()), (4, "'".to_string())]);
    // Three quotes without their end are an empty string and the start of another one.
    assert_eq!(tokens("'''a'"), [(Tok::Str, "''"), (Tok::Str, "'a'")]);
}

#[test]
fn escape_sequences_have_their_exact_number_of_digits() {
    for source in [r"'\x4f'", r"'\u00e9'", r"'\U0001F600'", r"'\377'", r"'\a\b\f\n\r\t\v\?\`'"] {
        assert_eq!(tokens(source), [(Tok::Str, source)]);
    }
    // What is skipped ends behind the character that breaks the sequence.
    for (source, skipped) in [
        (r"'\x4g'", r"'\x4g"),
        (r"'\u00'", r"'\u00'"),
        (r"'\37'", r"'\37'"),
        (r"'\477'", r"'\4"),
        (r"'\q'", r"'\q"),
    ] {
        assert_eq!(refused(source)[0], (0, skipped.to_string()), "{source}");
    }
}

#[test]
fn names_in_backticks_hold_dots_dashes_slashes_and_blanks() {
    let name = "`b-c.d/e f`";
    let source = format!("a.{name}");
    assert_eq!(tokens(&source), [(Tok::Ident, "a"), (Tok::Dot, "."), (Tok::EscIdent, name)]);
    assert_eq!(refused("``"), [(0, "``".to_string())]);
    assert_eq!(refused("`a$`")[0], (0, "`a$".to_string()));
}

#[test]
fn white_space_and_comments_stand_between_tokens() {
    let (tokens, issues) = tokenize("a // == b\n\t+\u{c}b // end");
    assert_eq!(issues, []);
    let found: Vec<_> = tokens.iter().map(|t| (t.at, t.text)).collect();
    assert_eq!(found, [(0, "a"), (11, "+"), (13, "b"), (21, "<EOF>")]);
}

#[test]
fn what_is_no_token_is_skipped_with_the_character_that_follows() {
    assert_eq!(refused("a = b"), [(2, "= ".to_string())]);
    assert_eq!(refused("a & b | c"), [(2, "& ".to_string()), (6, "| ".to_string())]);
    assert_eq!(refused("é#"), [(0, "é".to_string()), (2, "#".to_string())]);
    assert_eq!(refused("|"), [(0, "|".to_string())]);
}

#[test]
fn kinds_are_listed_in_their_order_and_each_has_a_name_of_its_own() {
    assert!(Tok::ALL.is_sorted());
    let names: std::collections::HashSet<_> = Tok::ALL.iter().map(|t| t.name()).collect();
    assert_eq!(names.len(), Tok::ALL.len());
}
