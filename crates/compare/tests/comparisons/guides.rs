//! Functions of CEL that guides name in place of those of Kyverno, and that say something else of
//! some texts.

use ephor_compare::{Answer, DifferenceKind};

use super::{compared, denying, requiring};

/// The kinds of differences between a condition about a ConfigMap and an expression, and what
/// `data.a` is on the first object.
fn found(key: &str, operator: &str, value: &str, expression: &str) -> (Vec<DifferenceKind>, String) {
    let old =
        denying("ConfigMap", &format!("{{key: \"{{{{ {key} }}}}\", operator: {operator}, value: {value}}}"));
    let found = compared(&old, &requiring("configmaps", expression));
    assert_eq!(found.answer, Answer::Differs, "{key}");
    let kinds = found.differences.iter().map(|one| one.kind).collect();
    (kinds, found.differences[0].object.text_at(&["data", "a"]).to_string())
}

const DATA: &str = "request.object.data.a || ''";
const READ: &str = "object.?data.?a.orValue('')";

#[test]
fn a_subset_of_labels_is_not_equality() {
    let key = r#"label_match(`{\"a\": \"b\"}`, request.object.metadata.labels || `{}`)"#;
    let (kinds, _) = found(key, "Equals", "true", "!(object.metadata.?labels.orValue({}) == {'a': 'b'})");
    assert_eq!(kinds, [DifferenceKind::Weaker]);
}

#[test]
fn texts_are_cut_and_read_in_other_ways() {
    use DifferenceKind::{Errors, Stricter, Weaker};
    let of = |function: &str, value: &str, expression: &str| {
        found(&function.replace("TEXT", DATA), "Equals", value, &expression.replace("TEXT", READ))
    };
    let trimmed = of("trim_prefix(TEXT, 'ab')", "x", "!(TEXT.replace('ab', '') == 'x')");
    assert_eq!(trimmed, (vec![Stricter], "xab".into()));
    // A shorter text has no part of this length.
    let (kinds, _) = of("truncate(TEXT, `5`)", "ab", "!(TEXT.substring(0, 5) == 'ab')");
    assert_eq!(kinds, [Stricter, Errors]);
    let upper = of("to_upper(TEXT)", "Ä", "!(TEXT.upperAscii() == 'Ä')");
    assert_eq!(upper, (vec![Weaker], "ä".into()));
    // There may be no second part.
    let (kinds, _) = of("split(TEXT, '/')[1]", "x", "!(TEXT.split('/')[1] == 'x')");
    assert_eq!(kinds, [Stricter]);
    let (kinds, text) = found(
        "to_boolean(request.object.data.a || 'false')",
        "Equals",
        "true",
        &format!("!({READ} == 'true')"),
    );
    assert!(kinds == [Weaker] && text != "true", "{kinds:?} {text}");
}

#[test]
fn an_amount_that_is_the_limit_is_not_less_than_it() {
    let amount = "object.?data.?a.orValue('0')";
    let expression = format!("!isQuantity({amount}) || quantity({amount}).isLessThan(quantity('2Gi'))");
    let (kinds, text) = found("request.object.data.a || '0'", "GreaterThan", "2Gi", &expression);
    assert_eq!((kinds, &*text), (vec![DifferenceKind::Stricter], "2Gi"));
}
