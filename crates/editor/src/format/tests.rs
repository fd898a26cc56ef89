use super::*;
use crate::fixture::{CEL_POLICY, fixture, with};

fn formatted(text: &str) -> String {
    let fixture = fixture(&[("p.yaml", text)]);
    let edits = fixture.workspace.format("p.yaml", None);
    fixture.edited("p.yaml", &edits)
}

#[test]
fn an_expression_of_several_lines_is_laid_out_again() {
    let text = with(
        CEL_POLICY,
        "variables.count > 1\n",
        ">-\n      object.spec.template.spec.containers.all(c,   has(c.image) &&\n        !c.image.endsWith(':latest')) && object.metadata.name.startsWith('a-very-long-name-of-something')\n",
    );
    let out = formatted(&text);
    assert!(out.contains("expression: |-\n      object"), "{out}");
    assert!(out.contains("    message: too few"), "{out}");
    assert_eq!(formatted(&out), out, "a second run changes nothing");
    let before = ephor_document::yaml_value(&text).unwrap();
    let after = ephor_document::yaml_value(&out).unwrap();
    assert_eq!(before.at(&["spec", "variables"]), after.at(&["spec", "variables"]));
}

#[test]
fn short_expressions_and_comments_stay() {
    assert_eq!(formatted(CEL_POLICY), CEL_POLICY);
    let text = with(CEL_POLICY, "variables.count > 1\n", "|-\n      // many\n      variables.count   > 1\n");
    assert_eq!(formatted(&text), text);
    let text = with(CEL_POLICY, "variables.count > 1\n", "|-\n      variables.count ..  > 1\n");
    assert_eq!(formatted(&text), text, "what does not parse");
}

/// The expressions of the policies of this repository.
fn all() -> Vec<String> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies");
    let mut out = Vec::new();
    let mut open = vec![std::path::PathBuf::from(root)];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        if path.extension().is_none_or(|end| end != "yaml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for document in ephor_document::parse_new_stream("x", &text).unwrap().into_iter().flatten() {
            let mut found = Vec::new();
            expressions(&document.value, &mut Path::new(), &mut found);
            out.extend(found.iter().filter_map(|path| {
                ephor_value::place::follow(&document.value, path).0.as_str().map(String::from)
            }));
        }
    }
    out
}

/// The tree of an expression without its places.
fn tree(expression: &str) -> Option<String> {
    let node = parse(expression, general("").syntax).ok()?;
    let shown = format!("{node:?}");
    let mut out = String::new();
    let mut rest = shown.as_str();
    while let Some((before, after)) = rest.split_once("at: ") {
        out.push_str(before);
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    Some(out + rest)
}

#[test]
fn a_laid_out_expression_is_the_same_tree() {
    let expressions = all();
    assert!(expressions.len() > 100, "{}", expressions.len());
    for expression in expressions {
        let Some(before) = tree(&expression) else { continue };
        for width in [40, 96] {
            let Some(laid_out) = layout(&expression, width) else { continue };
            assert_eq!(tree(&laid_out), Some(before.clone()), "{expression}\n{laid_out}");
            assert_eq!(layout(&laid_out, width).as_deref(), Some(laid_out.as_str()));
        }
    }
}
