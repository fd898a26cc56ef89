//! Expressions: `node[parameters](operands)`, or the operands under the node when that is too long.
//!
//! Keys are read with the separator that says what reading from anything but an object gives: `.`
//! null, `!.` a fault. A key that an object does not have is a fault.

use super::{Part, PrintedNode, Tree, constant, inline, key, words};

/// An expression: a line with its operands below it.
pub(super) fn expression(expr: &Part) -> PrintedNode {
    let mut form = Form::default();
    let (head, postfix) = form.head(expr);
    let below: Vec<PrintedNode> =
        form.operands.iter().map(|(label, e)| expression(e).labelled(label)).collect();
    let inline = inline(&below).map(|parts| match (postfix, &parts[..]) {
        (true, [base]) => format!("{base}{head}"),
        (_, []) => head.clone(),
        _ => format!("{head}({})", parts.join(", ")),
    });
    let head = if postfix { format!("{head} of") } else { head };
    PrintedNode { head, inline, place: None, below }
}

/// What an expression consists of.
#[derive(Default)]
struct Form<'e> {
    parameters: Vec<String>,
    operands: Vec<(&'static str, &'e Part)>,
}

impl<'e> Form<'e> {
    /// The text of the node, and whether it stands behind its only operand.
    fn head(&mut self, expr: &'e Part) -> (String, bool) {
        match expr.variant {
            "const" => (expr.get("").map(constant).unwrap_or_default(), false),
            "local" | "variable" => {
                (format!("{}{}", expr.variant, expr.get("").map(constant).unwrap_or_default()), false)
            }
            "path" => {
                self.operand("", expr.get("base"));
                let is_null = expr.get("scalar").and_then(Tree::as_node).is_some_and(|n| n.variant == "null");
                let separator = if is_null { "." } else { "!." };
                let keys = items(expr.get("keys")).iter().filter_map(Tree::as_text);
                (keys.map(|k| format!("{separator}{}", key(k))).collect(), true)
            }
            "index" => {
                self.operand("", expr.get("base"));
                (format!("[{}]", expr.get("index").map(constant).unwrap_or_default()), true)
            }
            "slice" => {
                self.operand("", expr.get("base"));
                let bound = |b: &Tree| if *b == Tree::None { String::new() } else { constant(b) };
                (
                    format!(
                        "[{}]",
                        items(expr.get("bounds")).iter().map(bound).collect::<Vec<_>>().join(":")
                    ),
                    true,
                )
            }
            "list" if items(expr.get("")).is_empty() => ("list()".into(), false),
            "compare" => {
                self.parts(expr, &["op"]);
                let op = expr.get("op").and_then(Tree::as_node).map_or("compare", |op| op.variant);
                (op.into(), false)
            }
            "folded" => {
                let inner = expr.get("").and_then(Tree::as_node);
                let costs = items(inner.and_then(|c| c.get("costs")));
                let costs = costs.iter().map(constant).collect::<Vec<_>>().join(", ");
                let value = inner.and_then(|c| c.get("value")).map(constant).unwrap_or_default();
                (format!("folded[{costs}: {value}]"), false)
            }
            "decide" => {
                self.parts(expr, &["all"]);
                (format!("decide[{}]", if expr.get("all").is_some() { "all" } else { "any" }), false)
            }
            variant => {
                self.parts(expr, &[]);
                let mut parameters = std::mem::take(&mut self.parameters);
                if variant == "higher" {
                    // The function that an expression is handed to has the name of what it does.
                    parameters.dedup();
                }
                let parameters = parameters.join(", ");
                let name = if variant == "test" { "has".into() } else { words(variant) };
                (if parameters.is_empty() { name } else { format!("{name}[{parameters}]") }, false)
            }
        }
    }

    fn operand(&mut self, label: &'static str, tree: Option<&'e Tree>) {
        self.operands.extend(tree.and_then(Tree::as_node).map(|e| (label, e)));
    }

    /// The fields of a node: expressions are operands, everything else is a parameter.
    fn parts(&mut self, node: &'e Part, without: &[&str]) {
        if node.kind == "Walk" {
            return self.walk(node, "");
        }
        if node.kind == "Test" {
            let key = node.text("key").map(|k| format!(".{}", key(k))).unwrap_or_default();
            return node.get("walk").and_then(Tree::as_node).map_or((), |walk| self.walk(walk, &key));
        }
        for (field, tree) in node.fields.iter().filter(|(field, _)| !without.contains(field)) {
            self.part(node, field, tree);
        }
    }

    fn part(&mut self, node: &'e Part, field: &'static str, tree: &'e Tree) {
        match tree {
            Tree::Node(e) if e.kind == "Expr" => self.operands.push((label(node, field), e)),
            Tree::Node(inner) => {
                if !inner.variant.is_empty() {
                    self.parameters.push(match inner.kind {
                        "Higher" => words(inner.variant).replace('-', "_"),
                        "Faults" => inner.variant.trim_end_matches("AsNull").into(),
                        _ => words(inner.variant),
                    });
                }
                self.parts(inner, &[]);
            }
            Tree::List(pair) if node.kind == "Make" && matches!(pair.last(), Some(Tree::Scalar(_))) => {
                // Entries and fields of literals, the last part of which says whether they are
                // optional.
                let is_optional = pair.last().is_some_and(|last| *last == Tree::Scalar("true".into()));
                for part in pair {
                    match part {
                        Tree::Node(e) => self.operands.push((if is_optional { "optional" } else { "" }, e)),
                        Tree::Text(name) => self.parameters.push(key(name)),
                        _ => {}
                    }
                }
            }
            Tree::List(items) => items.iter().for_each(|item| self.part(node, field, item)),
            Tree::Scalar(on) if on == "true" && !matches!(field, "" | "set") => {
                self.parameters.push(words(field))
            }
            Tree::Text(name) if field == "function" => self.parameters.push(name.clone()),
            Tree::Text(name) if field.is_empty() && node.variant != "lambda" => {
                self.parameters.push(key(name));
            }
            other => self.parameters.push(constant(other)),
        }
    }

    /// The steps of a walk; computed ones become operands.
    fn walk(&mut self, walk: &'e Part, last: &str) {
        self.operand("", walk.get("base"));
        let mut text = String::new();
        for step in items(walk.get("steps")).iter().filter_map(Tree::as_node) {
            let optional = if step.get("optional").is_some() { "?" } else { "" };
            match (step.variant, step.get("key").or(step.get(""))) {
                ("at", _) => {
                    self.operand("at", step.get("index"));
                    text.push_str(&format!("[{optional}_]"));
                }
                ("field", Some(Tree::Text(name))) => text.push_str(&format!(".field {}", key(name))),
                (_, Some(Tree::Text(k))) => text.push_str(&format!(".{optional}{}", key(k))),
                (_, Some(other)) => text.push_str(&format!("[{optional}{}]", constant(other))),
                _ => {}
            }
        }
        text.push_str(last);
        let cost = if walk.get("hasCost").is_some() { "+" } else { "" };
        self.parameters.push(format!("{cost}{text}"));
    }
}

fn items(tree: Option<&Tree>) -> &[Tree] {
    match tree {
        Some(Tree::List(items)) => items,
        _ => &[],
    }
}

fn label(node: &Part, field: &str) -> &'static str {
    match (node.kind, node.variant, field) {
        ("Comprehension", _, "keep") | (_, "project", "keep") => "keep",
        ("Comprehension", _, "body") | (_, "project", "body") => "body",
        (_, "let", "body") => "in",
        _ => "",
    }
}
