//! Shapes: keys in checking order, leaves as they were compiled.

use super::{Node, literal, quoted};
use crate::ir::Origin;
use crate::ir::pattern::{Leaf, Operand, Term, TermOp};
use crate::ir::shape::{Anchor, Entry, ListShape, MapShape, Pattern, Shape};
use crate::value::place::{PathPart, parse};

/// A whole pattern under a name.
pub fn pattern(name: &str, p: &Pattern, origin: &Origin) -> Node {
    let mut walk = Walk { origin, steps: Vec::new() };
    let counted = if p.anchors == 0 { String::new() } else { format!(", {} anchors to be met", p.anchors) };
    let mut root = walk.shape(&p.root, false).labelled(name);
    root.head.push_str(&counted);
    root.inline = root.inline.map(|text| text + &counted);
    root.at(parse(&origin.path))
}

struct Walk<'o> {
    origin: &'o Origin,
    steps: Vec<PathPart>,
}

impl Walk<'_> {
    fn below<T>(&mut self, step: PathPart, f: impl FnOnce(&mut Self) -> T) -> T {
        self.steps.push(step);
        let result = f(self);
        self.steps.pop();
        result
    }

    fn shape(&mut self, shape: &Shape, existence: bool) -> Node {
        match shape {
            Shape::Leaf(l) => leaf(l),
            Shape::Map(m) => self.map(m),
            Shape::List(l) => self.list(l, existence),
        }
    }

    fn map(&mut self, m: &MapShape) -> Node {
        let expand = if m.expand { ", keys found for each object" } else { "" };
        let entries: Vec<Node> =
            m.entries.iter().enumerate().map(|(i, e)| self.entry(e, i < m.first)).collect();
        Node::new(format!("object{expand}")).with(entries)
    }

    fn entry(&mut self, e: &Entry, first: bool) -> Node {
        let what = match e.anchor {
            Anchor::None => String::new(),
            Anchor::Condition => "if ".into(),
            Anchor::Global => "if anywhere ".into(),
            Anchor::Equality => "when present ".into(),
            Anchor::Existence => "at least one of ".into(),
            Anchor::Negation => "absent ".into(),
            Anchor::AddIfAbsent => "add-if-absent ".into(),
        };
        let first = if first { "first " } else { "" };
        let counted = e.counted.map(|n| format!(" (anchor {n})")).unwrap_or_default();
        let label = format!("{first}{what}{}{counted}", quoted(&e.key));
        self.below(PathPart::Key(e.raw.clone()), |walk| {
            let place = walk.origin.below(&walk.steps);
            walk.shape(&e.shape, e.anchor == Anchor::Existence).labelled(&label).at(place)
        })
    }

    fn list(&mut self, l: &ListShape, existence: bool) -> Node {
        if existence && !matches!(l, ListShape::Empty(_)) {
            return self.existence(l);
        }
        match l {
            ListShape::Each(m, _) => {
                let item = self.below(PathPart::Index(0), |walk| walk.map(m));
                Node::new("list, each item").with([item])
            }
            ListShape::Scalars(l, _) => {
                let item = leaf(l);
                let inline = item.inline.as_ref().map(|text| format!("list, each item {text}"));
                Node { inline, ..Node::new("list, each item").with([item]) }
            }
            ListShape::Positions(shapes) => {
                let shapes: Vec<Node> = shapes
                    .iter()
                    .enumerate()
                    .map(|(i, s)| {
                        let node = self.below(PathPart::Index(i), |walk| walk.shape(s, false));
                        node.labelled(&format!("[{i}]"))
                    })
                    .collect();
                Node::new("list, item by item").with(shapes)
            }
            ListShape::Empty(_) => Node::new("empty list: satisfied by nothing"),
        }
    }

    fn existence(&mut self, list: &ListShape) -> Node {
        let items: Vec<Node> = list
            .existence()
            .enumerate()
            .map(|(i, item)| match item {
                Some(m) => self.below(PathPart::Index(i), |walk| walk.map(m)),
                None => Node::new("no object: an error"),
            })
            .collect();
        Node::new("list, some item for each of").with(items)
    }
}

fn leaf(l: &Leaf) -> Node {
    let source = literal(&l.source);
    let text = if l.any.is_empty() {
        source
    } else {
        let all = |terms: &[Term]| terms.iter().map(term).collect::<Vec<_>>().join(" and ");
        let any: Vec<String> = l.any.iter().map(|terms| all(terms)).collect();
        format!("{source}: {}", any.join(" or "))
    };
    Node { inline: Some(text.clone()), ..Node::new(text) }
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
    let mut text = quoted(o.wildcard.pattern());
    let forms = [
        (o.wildcard.is_wild(), "wildcard"),
        (o.duration.is_some(), "duration"),
        (o.quantity.is_some(), "quantity"),
    ];
    let forms: Vec<&str> = forms.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
    if !forms.is_empty() {
        text.push_str(&format!(" ({})", forms.join(", ")));
    }
    text
}
