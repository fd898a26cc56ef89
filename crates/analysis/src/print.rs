//! The IR as text that people read.
//!
//! In: a rule or a part of one. Out: a [`PrintedNode`] tree, laid out as indented lines. It has the
//! same fields as the JSON ([`crate::tree`]), so that rules that differ print differently; what is
//! missing in JSON is missing here. Passes of the optimiser are tested by it, `ephor explain` shows
//! it. A node is its name, its flags and its fields, below each other or on one line; patterns,
//! documents with variables and expressions (`expr`) have a form of their own. A line ends in
//! `# PLACE` where the piece is known to stand in the policy document; the caller says how a place
//! is shown.
//!
//! - `expr`: expressions: `node[parameters](operands)`, or the operands under the node when that is
//!   too long

mod expr;

use ephor_ir::origin::Origin;
use ephor_ir::pattern::{Leaf, Operand, Term, TermOp};
use ephor_ir::shape::Anchor;
use ephor_ir::{Expr, Rule};
use ephor_value::place::{Path, PathPart, dotted, parse};
use ephor_value::{Value, stack};
use serde::Serialize;

use crate::tree::{Node as Part, Tree};

/// Expressions that fit into this many columns stay on one line.
const WIDTH: usize = 96;

/// A printed piece: a line, and what stands indented under it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrintedNode {
    /// The line.
    pub head: String,
    /// The same piece on one line, where it has such a form.
    pub inline: Option<String>,
    /// Where it stands in the policy document.
    pub place: Option<Path>,
    /// What it consists of.
    pub below: Vec<PrintedNode>,
}

impl PrintedNode {
    fn new(head: impl Into<String>) -> PrintedNode {
        PrintedNode { head: head.into(), ..PrintedNode::default() }
    }

    fn with(mut self, below: impl IntoIterator<Item = PrintedNode>) -> PrintedNode {
        self.below.extend(below);
        self
    }

    /// A piece that is one line.
    fn line(text: impl Into<String>) -> PrintedNode {
        let text = text.into();
        PrintedNode { inline: Some(text.clone()), ..PrintedNode::new(text) }
    }

    /// The piece under the name of a field or variant, if it has one: on the same line when it is
    /// short.
    fn labelled(self, name: &str) -> PrintedNode {
        if name.is_empty() { self } else { self.under(&words(name)) }
    }

    fn under(mut self, label: &str) -> PrintedNode {
        self.head = format!("{label}: {}", self.head);
        self.inline = self.inline.map(|text| format!("{label}: {text}"));
        self
    }

    /// The piece with more said on its line.
    fn also(&mut self, text: &str) {
        self.head.push_str(text);
        self.inline = self.inline.take().map(|line| line + text);
    }

    fn write(&self, depth: usize, show: &dyn Fn(&[PathPart]) -> String, out: &mut String) {
        let inline = self.inline.as_ref().filter(|text| depth * 2 + text.chars().count() <= WIDTH);
        out.push_str(&"  ".repeat(depth));
        out.push_str(inline.unwrap_or(&self.head));
        if let Some(place) = &self.place {
            out.push_str("  # ");
            out.push_str(&show(place));
        }
        out.push('\n');
        if inline.is_none() {
            for node in &self.below {
                node.write(depth + 1, show, out);
            }
        }
    }

    /// The node on one line; of a long one without its operands.
    pub fn short(self) -> String {
        let cut = |head| format!("{head}(…)");
        self.inline.filter(|text| text.chars().count() <= WIDTH).unwrap_or_else(|| cut(self.head))
    }

    /// The lines, with places as `show` writes them.
    pub fn text(&self, show: &dyn Fn(&[PathPart]) -> String) -> String {
        let mut out = String::new();
        self.write(0, show, &mut out);
        out
    }
}

/// Lines with places as paths.
impl std::fmt::Display for PrintedNode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text(&|place| dotted(place)))
    }
}

/// A rule with everything it holds.
pub fn rule(rule: &Rule) -> PrintedNode {
    to_node(rule)
}

/// An expression.
pub fn expression(expr: &Expr) -> PrintedNode {
    to_node(expr)
}

/// A constant as JSON in which number kinds stay apart: `1`, `1u`, `1.0`.
pub fn literal(v: &Value) -> String {
    Tree::of(v).map_or_else(|| v.cel_type().to_string(), |tree| constant(&tree))
}

fn to_node(node: &impl Serialize) -> PrintedNode {
    match Tree::of(node) {
        Some(tree) => PrintedPlace::default().tree("", &tree),
        None => PrintedNode::new("a constant that only a run of expressions has"),
    }
}

/// A text in quotes, on one line.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// A key without quotes, if it is plain.
fn key(k: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    if !k.is_empty() && k.bytes().all(plain) { k.to_string() } else { quoted(k) }
}

/// `camelCase` as words.
fn words(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.extend(c.to_lowercase());
    }
    out
}

fn constant(tree: &Tree) -> String {
    match tree {
        Tree::None => "null".into(),
        Tree::Scalar(text) => text.clone(),
        Tree::Text(text) => quoted(text),
        Tree::List(items) => {
            let items: Vec<String> = stack::deep(|| items.iter().map(constant).collect());
            format!("[{}]", items.join(","))
        }
        Tree::Map(entries) => match &entries[..] {
            [(tag, Tree::Scalar(n))] if tag == "$uint" => format!("{n}u"),
            [(tag, list)] if tag == "$opaque" => format!("opaque{}", constant(list)),
            _ => {
                let entry = |(k, v): &(String, Tree)| format!("{}:{}", quoted(k), constant(v));
                let entries: Vec<String> = stack::deep(|| entries.iter().map(entry).collect());
                format!("{{{}}}", entries.join(","))
            }
        },
        Tree::Node(node) => node.variant.into(),
    }
}

/// Where a piece stands: the nearest origin around it, and the steps from there.
#[derive(Clone, Debug, Default)]
struct PrintedPlace {
    origin: Origin,
    steps: Vec<PathPart>,
}

impl PrintedPlace {
    fn below(&self, step: PathPart) -> PrintedPlace {
        let mut steps = self.steps.clone();
        steps.push(step);
        PrintedPlace { origin: self.origin.clone(), steps }
    }

    fn of(origin: Origin) -> PrintedPlace {
        PrintedPlace { origin, steps: Vec::new() }
    }

    /// The place of a piece below an origin, where there is one.
    fn path(&self) -> Option<Path> {
        (!self.origin.path.is_empty() && !self.steps.is_empty()).then(|| self.origin.below(&self.steps))
    }

    /// A part under a name, which may be empty.
    fn tree(&self, name: &str, tree: &Tree) -> PrintedNode {
        match tree {
            Tree::Node(node) => self.node(name, node),
            Tree::List(items)
                if items.is_empty() || items.iter().any(|i| matches!(i, Tree::Node(_) | Tree::List(_))) =>
            {
                self.list(name, items)
            }
            plain => PrintedNode::line(constant(plain)).labelled(name),
        }
    }

    fn list(&self, name: &str, items: &[Tree]) -> PrintedNode {
        let below: Vec<PrintedNode> = items.iter().map(|item| self.tree("", item)).collect();
        let head = if name.is_empty() { "list".into() } else { words(name) };
        let inline = inline(&below).map(|items| format!("[{}]", items.join(", ")));
        let inline =
            inline.map(|text| if name.is_empty() { text } else { format!("{}: {text}", words(name)) });
        PrintedNode { inline, ..PrintedNode::new(head).with(below) }
    }

    fn node(&self, name: &str, node: &Part) -> PrintedNode {
        match (node.kind, node.variant, &node.fields[..]) {
            ("Expr", ..) => expr::expression(node).labelled(name),
            ("Result", "Ok", [(_, inner)]) | ("Template", "const", [(_, inner)]) => self.tree(name, inner),
            ("Result", _, [(_, why)]) => {
                PrintedNode::line(format!("broken {}", constant(why))).labelled(name)
            }
            ("KindPattern", ..) => PrintedNode::line(kind(node)).labelled(name),
            ("Template", "object", [(_, Tree::List(pairs))]) => self.object(name, pairs),
            ("Template", "list", [(_, Tree::List(items))]) => {
                let item = |(i, t): (usize, &Tree)| self.below(PathPart::Index(i)).tree("", t);
                let below: Vec<PrintedNode> = items.iter().enumerate().map(item).collect();
                titled(name, "list", "").with(below)
            }
            ("Rounds", ..) => {
                PrintedNode::line(rounds(node)).labelled(if name == "rounds" { "" } else { name })
            }
            ("Member", ..) => {
                let value = node.get("value").map_or_else(PrintedNode::default, |value| self.tree("", value));
                let value = value.under(&member(node));
                let test = node.get("test").map(|test| self.tree("test", test));
                let inline = value.inline.clone().filter(|_| test.is_none());
                PrintedNode { inline, ..value.with(test) }
            }
            ("Shape", "leaf", [(_, source)]) => PrintedNode::line(leaf(source)).labelled(name),
            ("MapShape", ..) => self.map(name, node),
            ("ListShape", ..) => self.list_shape(name, node),
            ("Pattern", ..) => self.pattern(name, node),
            ("Shape", _, [(_, inner)]) => self.tree(name, inner),
            _ => self.plain(name, node),
        }
    }

    /// A node by its name, flags and fields.
    fn plain(&self, name: &str, node: &Part) -> PrintedNode {
        let origin = node.fields.iter().find_map(|(_, field)| origin(field));
        let here = origin.clone().map_or_else(|| self.clone(), PrintedPlace::of);
        let mut flags = String::new();
        let mut below = Vec::new();
        for (field, tree) in &node.fields {
            match tree {
                Tree::Node(inner) if inner.kind == "Origin" => {}
                Tree::Scalar(on) if on == "true" && !field.is_empty() => {
                    flags.push_str(&format!(", {}", words(field)))
                }
                Tree::Text(text) if text.is_empty() => {}
                Tree::Text(text) if *field == "name" || (*field == "text" && node.kind == "Query") => {
                    flags.insert_str(0, &format!(" {}", quoted(text)))
                }
                Tree::Node(inner) if !inner.variant.is_empty() || !inner.fields.is_empty() => {
                    below.push(here.at(node, field).tree(field, tree));
                }
                Tree::Node(_) => {}
                Tree::List(items) if node.kind == "Overlays" || field.is_empty() => {
                    let item = |(i, t): (usize, &Tree)| match node.kind {
                        "Overlays" => PrintedPlace::of(here.origin.index(i)).tree("", t),
                        _ => here.tree("", t),
                    };
                    below.extend(items.iter().enumerate().map(item));
                }
                other => below.push(here.tree(field, other)),
            }
        }
        if let Some(inserted) = origin.as_ref().map(|o| o.inserted).filter(|n| *n > 0) {
            flags.push_str(&format!(", {inserted} steps generated"));
        }
        if node.kind == "Matcher" && below.is_empty() {
            flags.push_str(" of none");
        }
        let place = origin.filter(|o| !o.path.is_empty()).map(|o| parse(&o.path));
        let is_template = node.kind == "Template";
        let place = place.or_else(|| here.path().filter(|_| is_template));
        let title = if node.variant.is_empty() { node.kind } else { node.variant };
        let mut printed = match (&mut below[..], node.variant.is_empty() || !flags.is_empty()) {
            // A variant of one part is a line with it.
            ([one], false) if place.is_none() || one.place.is_none() => {
                let one = std::mem::take(one).labelled(title);
                let place = place.or(one.place.clone());
                return PrintedNode { place, ..if name.is_empty() { one } else { one.labelled(name) } };
            }
            _ => titled(name, title, &flags),
        };
        if below.is_empty() {
            printed.inline = Some(printed.head.clone());
        } else if let Some(parts) = inline(&below).filter(|_| node.variant.is_empty() && place.is_none()) {
            printed.inline = Some(format!("{} {{{}}}", printed.head, parts.join(", ")));
        }
        PrintedNode { place, ..printed.with(below) }
    }

    /// Where a field of a node stands, if it does not stand where the node does.
    fn at(&self, node: &Part, field: &str) -> PrintedPlace {
        match (node.kind, node.variant, field) {
            ("Condition", _, "key" | "value") => PrintedPlace::of(self.origin.key(field)),
            ("BindingSource", "variable", "value" | "default") => {
                PrintedPlace::of(self.origin.key("variable").key(field))
            }
            ("BindingSource", "apiCall", "call") => PrintedPlace::of(self.origin.key("apiCall")),
            _ => self.clone(),
        }
    }

    /// A document with variables.
    fn object(&self, name: &str, pairs: &[Tree]) -> PrintedNode {
        let entry = |pair: &Tree| {
            let Tree::List(pair) = pair else { return Vec::new() };
            let [key, value] = &pair[..] else { return Vec::new() };
            let text = key.as_node().filter(|k| k.variant == "const").and_then(|k| k.get("")?.as_text());
            match text {
                Some(text) => {
                    let here = self.below(PathPart::Key(text.into()));
                    vec![here.tree("", value).under(&quoted(text))]
                }
                None => vec![self.tree("", key).under("key"), self.tree("", value).under("value")],
            }
        };
        titled(name, "object", "").with(pairs.iter().flat_map(entry))
    }

    /// A pattern: what is not seen in its shape is seen in its source.
    fn pattern(&self, name: &str, node: &Part) -> PrintedNode {
        let mut root = node.get("root").map_or_else(PrintedNode::default, |root| self.tree(name, root));
        let anchors = node.get("anchors").map(constant).filter(|n| n != "0");
        root.also(&anchors.map(|n| format!(", {n} anchors to be met")).unwrap_or_default());
        let source = node.get("source").filter(|source| has_long_list(source));
        root.with(source.map(|source| PrintedNode::line(constant(source)).labelled("written")))
    }

    fn map(&self, name: &str, node: &Part) -> PrintedNode {
        let Some(Tree::List(entries)) = node.get("entries") else { return titled(name, "object", "") };
        let first = node.get("first").map(constant).and_then(|n| n.parse().ok()).unwrap_or(0);
        let expand = if node.get("expand").is_some() { ", keys found for each object" } else { "" };
        let entries =
            entries.iter().enumerate().filter_map(|(i, e)| Some(self.entry(e.as_node()?, i < first)));
        titled(name, "object", expand).with(entries)
    }

    fn entry(&self, entry: &Part, first: bool) -> PrintedNode {
        let first = if first { "first " } else { "" };
        let counted = entry.get("counted").map(|n| format!(" (anchor {})", constant(n))).unwrap_or_default();
        let label = format!("{first}{}{counted}", member(entry));
        let here = self.below(PathPart::Key(entry.text("raw").unwrap_or_default().into()));
        let shape =
            entry.get("shape").map_or_else(PrintedNode::default, |shape| here.tree("", shape)).under(&label);
        PrintedNode { place: here.path(), ..shape }
    }

    fn list_shape(&self, name: &str, node: &Part) -> PrintedNode {
        let item = |(i, t): (usize, &Tree)| self.below(PathPart::Index(i)).tree("", t);
        match (node.variant, &node.fields[..]) {
            ("each", [(_, first), (_, Tree::List(rest))]) => {
                let node = titled(name, "list, each item", "").with([item((0, first))]);
                existence(node, rest, item)
            }
            ("scalars", [(_, first), (_, Tree::List(rest))]) => {
                let node = PrintedNode::line(format!("list, each item {}", leaf(first))).labelled(name);
                existence(node, rest, item)
            }
            ("positions", [(_, Tree::List(shapes))]) => {
                titled(name, "list, item by item", "").with(shapes.iter().enumerate().map(item))
            }
            _ => PrintedNode::line("empty list: satisfied by nothing").labelled(name),
        }
    }
}

/// The items of a list behind its first one, which only an existence anchor reads.
fn existence(
    mut node: PrintedNode,
    rest: &[Tree],
    item: impl Fn((usize, &Tree)) -> PrintedNode,
) -> PrintedNode {
    if rest.is_empty() {
        return node;
    }
    node.inline = None;
    let others = rest.iter().enumerate().map(|(i, t)| match t {
        Tree::None => PrintedNode::line("no object: an error"),
        map => item((i + 1, map)),
    });
    node.with([PrintedNode::new("below an existence anchor also").with(others)])
}

/// A node's first line: the name that it is found under, or what it is.
fn titled(name: &str, title: &str, flags: &str) -> PrintedNode {
    let is_kind = title.chars().next().is_some_and(char::is_uppercase);
    match (name.is_empty(), is_kind) {
        (true, _) => PrintedNode::new(format!("{}{flags}", words(title))),
        (false, true) => PrintedNode::new(format!("{}{flags}", words(name))),
        (false, false) => PrintedNode::new(format!("{}: {}{flags}", words(name), words(title))),
    }
}

/// The parts on one line, when all have such a form and none has a place of its own.
fn inline(below: &[PrintedNode]) -> Option<Vec<&str>> {
    let all: Option<Vec<&str>> =
        below.iter().map(|n| n.inline.as_deref().filter(|_| n.place.is_none())).collect();
    // Longer texts are never shown on one line, so they need not be put together.
    all.filter(|parts| parts.iter().map(|p| p.len()).sum::<usize>() <= 4 * WIDTH)
}

fn origin(tree: &Tree) -> Option<Origin> {
    let node = tree.as_node().filter(|n| n.kind == "Origin")?;
    let inserted = node.get("inserted").map(constant).and_then(|n| n.parse().ok()).unwrap_or(0);
    Some(Origin::new(node.text("path")?).with_inserted(inserted))
}

/// A key with its anchor.
fn member(entry: &Part) -> String {
    let text = |field: &str| entry.text(field).unwrap_or_default();
    let anchor = entry.get("anchor").and_then(Tree::as_node).map_or("none", |a| a.variant);
    let (parsed, inner) = Anchor::parse(text("raw"));
    let as_parsed = inner == text("key") && format!("{parsed:?}").eq_ignore_ascii_case(anchor);
    let raw = if as_parsed { String::new() } else { format!(" written {}", quoted(text("raw"))) };
    format!("{}{}{raw}", anchor_words(anchor), quoted(text("key")))
}

/// A text that is resolved in rounds, on a line.
fn rounds(rounds: &Part) -> String {
    let texts = |field: &str| rounds.get(field).map(constant).filter(|text| text != "\"\"");
    let with =
        |name: &str, field: &str| texts(field).map(|text| format!(", {name} {text}")).unwrap_or_default();
    let source = texts("source").unwrap_or_default();
    format!("rounds {source}{}{}{}", with("at", "path"), with("names", "names"), with("@ is", "current"))
}

/// `group/version/Kind/subresource`, without what is left open.
fn kind(node: &Part) -> String {
    let text = |field: &str| node.text(field).unwrap_or_default();
    let api = match (text("group"), text("version")) {
        ("*", "*") => String::new(),
        (group, version) => format!("{group}/{version}/"),
    };
    let subresource = Some(text("subresource")).filter(|s| !s.is_empty()).map(|s| format!("/{s}"));
    format!("{api}{}{}", text("kind"), subresource.unwrap_or_default())
}

fn anchor_words(anchor: &str) -> &'static str {
    match anchor {
        "condition" => "if ",
        "global" => "if anywhere ",
        "equality" => "when present ",
        "existence" => "at least one of ",
        "negation" => "absent ",
        "addIfAbsent" => "add-if-absent ",
        _ => "",
    }
}

fn has_long_list(tree: &Tree) -> bool {
    match tree {
        Tree::List(items) => items.len() > 1 || items.iter().any(has_long_list),
        Tree::Map(entries) => entries.iter().any(|(_, v)| has_long_list(v)),
        _ => false,
    }
}

/// A leaf and what it was compiled to.
fn leaf(source: &Tree) -> String {
    let text = constant(source);
    let Tree::Text(written) = source else { return text };
    let all = |terms: &[Term]| terms.iter().map(term).collect::<Vec<_>>().join(" and ");
    let any: Vec<String> = Leaf::new(Value::from(&**written)).any.iter().map(|terms| all(terms)).collect();
    format!("{text}: {}", any.join(" or "))
}

fn term(t: &Term) -> String {
    match t {
        Term::Compare(op, operand) => {
            let op = match op {
                TermOp::Equal => "equal",
                TermOp::NotEqual => "not-equal",
                TermOp::Greater => "gt",
                TermOp::GreaterOrEqual => "ge",
                TermOp::Less => "lt",
                TermOp::LessOrEqual => "le",
            };
            format!("{op} {}", self::operand(operand))
        }
        Term::Range { low, high, negated } => {
            let word = if *negated { "outside" } else { "between" };
            format!("{word} {} and {}", operand(low), operand(high))
        }
    }
}

/// The operand and in which forms it can be compared besides its text.
fn operand(o: &Operand) -> String {
    let forms = [
        (o.wildcard.is_wild(), "wildcard"),
        (o.duration.is_some(), "duration"),
        (o.quantity.is_some(), "quantity"),
    ];
    let forms: Vec<&str> = forms.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
    let forms = if forms.is_empty() { String::new() } else { format!(" ({})", forms.join(", ")) };
    format!("{}{forms}", quoted(o.wildcard.pattern()))
}
