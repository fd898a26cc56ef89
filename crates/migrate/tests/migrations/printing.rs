//! The printer of CEL: parsing what it prints gives the same tree, for generated expressions and
//! for those of recordings.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::{Path, PathBuf};

use ephor_cel::ast::Node;
use ephor_cel::library::general;
use ephor_cel::syntax::{Options, parse};
use ephor_migrate::cel::{WIDTH, print};
use ephor_samples::{Tape, data::folder_with};
use regex::Regex;

/// The syntax of Kyverno's policies and everything else that is parsed.
fn options() -> Options {
    Options { proto: true, ..general("").syntax }
}

/// The tree without its places.
struct Shapes(Regex);

impl Shapes {
    fn new() -> Shapes {
        Shapes(Regex::new(r"at: \d+").unwrap())
    }

    fn of(&self, tree: &Node) -> String {
        self.0.replace_all(&format!("{tree:?}"), "").into_owned()
    }

    /// What is wrong with the text of the tree of a text.
    fn check(&self, source: &str, options: Options) -> Option<String> {
        let tree = parse(source, options).ok()?;
        let shape = self.of(&tree);
        let mut texts = [WIDTH, 20].map(|width| print(&tree, width)).to_vec();
        texts.dedup();
        texts.into_iter().find_map(|text| match parse(&text, options) {
            Err(issues) => Some(format!("{source}\nbecame\n{text}\n{issues:?}")),
            Ok(again) if self.of(&again) != shape => Some(format!("{source}\nbecame another tree\n{text}")),
            Ok(_) => None,
        })
    }
}

/// An expression of every form of the grammar, with parentheses where they may stand.
fn expression(tape: &mut Tape<'_>, depth: usize) -> String {
    if depth == 0 {
        return leaf(tape);
    }
    let mut below = || expression(tape, depth - 1);
    let (a, b, c) = (below(), below(), below());
    let text = match tape.pick(24) {
        0..=2 => {
            format!("({a}) {} ({b})", tape.of(&["&&", "||", "&&", "||", "==", "in", "+", "-", "*", "%"]))
        }
        3..=5 => format!(
            "{} {} {}",
            leaf(tape),
            tape.of(&["&&", "||", "!=", "<", ">=", "+", "-", "/"]),
            leaf(tape)
        ),
        6 => format!("({a}) ? ({b}) : ({c})"),
        7 => format!("!({a})"),
        8 => format!("-({a})"),
        9 => format!("({a}).{}", tape.of(&["x", "`a-b`", "spec"])),
        10 => format!("({a}).?{}", tape.of(&["x", "`a.b/c`"])),
        11 => format!("({a})[{b}]"),
        12 => format!("({a})[?{b}]"),
        13 => format!("has(({a}).x)"),
        14 => format!("[{a}, ?{b}, {c}]"),
        15 => format!("{{{a}: {b}, ?'k': {c}}}"),
        16 => format!("Type.Name{{f: {a}, ?g: {b}}}"),
        17 => {
            format!("({a}).{}(x, {b})", tape.of(&["all", "exists", "exists_one", "map", "filter", "sortBy"]))
        }
        18 => format!("({a}).{}(i, x, {b})", tape.of(&["all", "exists", "transformList", "transformMap"])),
        19 => format!("({a}).map(x, {b}, {c})"),
        20 => format!("cel.bind(x, {a}, {b})"),
        21 => format!("{}.{}(y, {b})", leaf(tape), tape.of(&["optMap", "optFlatMap"])),
        22 => format!("({a}).orValue({b}) && ({c}).matches('^a\\\\.b$')"),
        _ => format!("math.{}({a}, {b}) + f({c}) - .g.h({a})", tape.of(&["greatest", "least"])),
    };
    match tape.flip() {
        true => format!("{text} {} {a}", tape.of(&["&&", "||", "&&", "=="])),
        false => text,
    }
}

fn leaf(tape: &mut Tape<'_>) -> String {
    tape.of(&[
        "a",
        "b.c",
        ".d",
        "1",
        "-1",
        "2u",
        "1.5",
        "-0.0",
        "1e300",
        "'it'",
        "\"it's\"",
        "'\\n\\\\'",
        "r'\\d+'",
        "b'\\x00a'",
        "true",
        "null",
        "object.spec",
        "[]",
        "{}",
    ])
    .to_string()
}

#[test]
fn printing_and_parsing_again_gives_the_tree_of_every_generated_expression() {
    let (shapes, options) = (Shapes::new(), options());
    let mut state = 1u64;
    let mut parsed = 0;
    while parsed < 100_000 {
        let bytes: Vec<u8> = (0..64)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 33) as u8
            })
            .collect();
        let mut tape = Tape(bytes.iter());
        let depth = tape.pick(4);
        let source = expression(&mut tape, depth);
        parsed += usize::from(parse(&source, options).is_ok());
        if let Some(problem) = shapes.check(&source, options) {
            panic!("{problem}");
        }
    }
}

/// The texts under the key `expression` in a file.
fn expressions(text: &str) -> Vec<String> {
    let quoted = Regex::new(r#""(?:expression|expr)":\s*("(?:[^"\\]|\\.)*")"#).unwrap();
    let all = quoted.captures_iter(text).filter_map(|found| ephor_document::json::parse(&found[1]).ok());
    all.filter_map(|v| v.as_str().map(String::from)).collect()
}

fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, out);
        } else if path.extension().is_some_and(|e| e == "json" || e == "jsonl") {
            out.push(path);
        }
    }
}

/// Whether a text has names that only tests of the language write.
fn is_numbered(source: &str) -> bool {
    ["cel.block", "cel.index", "cel.iterVar", "cel.accuVar"].iter().any(|word| source.contains(word))
}

#[test]
fn printing_and_parsing_again_gives_the_tree_of_every_recorded_expression() {
    let (shapes, options) = (Shapes::new(), options());
    let Some(shared) = folder_with(&["cel-spec", "kubernetes-cel"]).unwrap() else { return };
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let mut found = Vec::new();
    ["cel-random", "cel-edges"].iter().for_each(|suite| files(&own.join(suite), &mut found));
    ["cel-spec", "kubernetes-cel"].iter().for_each(|suite| files(&shared.join(suite), &mut found));
    let mut count = 0;
    for file in found {
        let text = std::fs::read_to_string(&file).unwrap();
        for source in expressions(&text).iter().filter(|source| !is_numbered(source)) {
            count += usize::from(parse(source, options).is_ok());
            if let Some(problem) = shapes.check(source, options) {
                panic!("{}: {problem}", file.display());
            }
        }
    }
    assert!(count > 5_000, "only {count} expressions");
}

#[test]
fn long_expressions_are_broken_at_their_operators_and_arguments() {
    let tree = |text: &str| parse(text, options()).unwrap();
    let text = "(object.spec.containers + object.spec.?initContainers.orValue([])).all(c, has(c.resources) && \
                c.resources.?limits[?'memory'].hasValue() && !c.image.endsWith(':latest'))";
    insta(
        &print(&tree(text), 80),
        "(object.spec.containers + object.spec.?initContainers.orValue([])).all(c,
  has(c.resources) &&
  c.resources.?limits[?'memory'].hasValue() &&
  !c.image.endsWith(':latest'))",
    );
    insta(
        &print(&tree("aaaaaaaaaaaaaaaaaaaaaaaa.b == 'cccccccccccc' ? ['dddddddd', 'eeeeeee'] : f(g, h)"), 30),
        "aaaaaaaaaaaaaaaaaaaaaaaa.b ==
  'cccccccccccc'
  ? ['dddddddd', 'eeeeeee']
  : f(g, h)",
    );
}

#[track_caller]
fn insta(found: &str, expected: &str) {
    assert_eq!(found, expected, "\n{found}\n");
}
