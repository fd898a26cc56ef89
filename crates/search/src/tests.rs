use super::{Expression, json, read};

const DOCUMENT: &str = "{items: [{rank: 2, name: b}, {rank: 1, name: a}], text: abc}";

fn place(expression: &str) -> (String, Option<usize>) {
    let document = read(DOCUMENT).unwrap();
    let problem = Expression::compile(expression).and_then(|e| e.search(&document)).unwrap_err();
    (problem.text, problem.offset)
}

#[test]
fn a_fault_stands_at_the_part_that_failed() {
    let cases = [
        ("text.missing || nothing | abs(text)", 26),
        ("missing.text", 0),
        ("items[0].missing", 9),
        ("[text, abs(items)]", 7),
        ("items[*].abs(name)", 9),
        ("items[?abs(name) == rank]", 7),
        ("items[?rank == `1`].to_boolean(name)", 20),
        ("map(&to_boolean(name), items)", 5),
        ("sort_by(items, &abs(name))", 16),
        ("text && absent", 8),
        ("{a: {b: divide(`1`, `0`)}}", 8),
        ("items[::0]", 6),
        ("length(abs(text))", 7),
        ("*.abs(@)", 2),
    ];
    for (expression, at) in cases {
        assert_eq!(place(expression).1, Some(at), "{expression}: {}", place(expression).0);
    }
}

#[test]
fn an_unknown_function_comes_with_the_one_that_was_meant() {
    let problem = Expression::compile("lenght(@)").unwrap().search(&read("a: 1").unwrap()).unwrap_err();
    assert_eq!((problem.text.as_str(), problem.offset), ("unknown function: lenght", Some(0)));
    assert_eq!(problem.hint.as_deref(), Some("did you mean `length`?"));
}

#[test]
fn a_list_that_was_sorted_is_sorted_for_everybody_who_holds_it() {
    let document = read(DOCUMENT).unwrap();
    let result = |text: &str| json(&Expression::compile(text).unwrap().search(&document).unwrap()).unwrap();
    assert_eq!(result("[items[0].rank, sort_by(items, &rank)[0].rank, items[0].rank]"), "[2,1,1]");
    assert_eq!(result("[items, sort_by(items, &rank)] | [0][0].rank"), "1", "held before, read after");
    assert_eq!(
        result("[items[*], sort_by(items, &rank)] | [0][0].rank"),
        "2",
        "a projection is a list of its own"
    );
    assert_eq!(result("items == sort_by(items, &rank)"), "true");
    assert_eq!(result("`[2, 1]` | [sort_by(@, &@), [0]]"), "[[1,2],1]");
}

#[test]
fn a_document_stays_sorted_for_the_next_expression() {
    let mut document = read(DOCUMENT).unwrap();
    let before = document.clone();
    Expression::compile("sort_by(items, &rank)").unwrap().search_in(&mut document).unwrap();
    let first = Expression::compile("items[0].rank").unwrap();
    assert_eq!(json(&first.search(&document).unwrap()).unwrap(), "1");
    assert_eq!(
        json(&first.search(&before).unwrap()).unwrap(),
        "2",
        "other holders have a document of their own"
    );
}
