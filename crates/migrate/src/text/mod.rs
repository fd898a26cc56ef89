//! Documents as people write them: maps in their own order, comments, blocks for what is long.
//!
//! In: a tree of [`Node`]s. Out: YAML with two blanks a level. `ephor_document::write` prints as
//! Kyverno does, with sorted keys and without comments; this is for files that are committed. A
//! text reads back as the same text, except for [`Node::Code`], whose line breaks and blanks may
//! change.
//!
//! - `comments`: comments that would be lost
//! - `scalar`: texts as YAML scalars: plain where that is safe, else quoted, else a block

pub(crate) mod comments;
pub(crate) mod scalar;

use ephor_value::{Value, print};

/// A line of more characters is broken where that is possible.
pub const WIDTH: usize = 100;

/// A part of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A text, which reads back as it is.
    Text(String),
    /// An expression that is laid out already; its blanks and line breaks do not count.
    Code(String),
    /// A number, a boolean or null, as it is written.
    Plain(String),
    /// A list.
    List(Vec<Item>),
    /// A map.
    Map(Vec<Entry>),
}

/// An item of a list with the comments above it.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The comments, each with its `#`.
    pub comments: Vec<String>,
    /// The item.
    pub node: Node,
}

/// A member of a map with the comments above it.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The comments, each with its `#`.
    pub comments: Vec<String>,
    /// The key.
    pub key: String,
    /// The value.
    pub node: Node,
}

impl Node {
    /// A text.
    pub fn text(text: impl Into<String>) -> Node {
        Node::Text(text.into())
    }

    /// An expression: as it is where a person wrote it, else laid out already.
    pub fn expression(text: &str, is_verbatim: bool) -> Node {
        if is_verbatim { Node::text(text) } else { Node::Code(text.into()) }
    }

    /// A flag that is on or off.
    pub fn flag(is_on: bool) -> Node {
        Node::Plain(is_on.to_string())
    }

    /// `enabled`, on or off.
    pub fn enabled(is_on: bool) -> Node {
        Node::map([("enabled", Node::flag(is_on))])
    }

    /// A list of texts.
    pub fn texts<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Node {
        Node::list(texts.into_iter().map(|text| Node::text(text.as_ref())))
    }

    /// A list without comments.
    pub fn list(nodes: impl IntoIterator<Item = Node>) -> Node {
        Node::List(nodes.into_iter().map(|node| Item { comments: Vec::new(), node }).collect())
    }

    /// A map without comments.
    pub fn map<const N: usize>(entries: [(&str, Node); N]) -> Node {
        let mut map = Map::default();
        for (key, node) in entries {
            map.push(key, node);
        }
        map.into()
    }

    /// The same as a value.
    pub fn of(value: &Value) -> Node {
        match value {
            Value::Str(text) => Node::text(&**text),
            Value::List(items) => Node::list(items.iter().map(Node::of)),
            Value::Map(fields) => {
                let mut map = Map::default();
                fields.iter().for_each(|(key, value)| map.push(key, Node::of(value)));
                map.into()
            }
            scalar => Node::Plain(print::json(scalar)),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Node::List(items) => items.is_empty(),
            Node::Map(entries) => entries.is_empty(),
            _ => false,
        }
    }
}

/// A map that is being built.
#[derive(Clone, Debug, Default)]
pub struct Map(Vec<Entry>);

impl Map {
    /// Adds a member.
    pub fn push(&mut self, key: &str, node: Node) {
        self.0.push(Entry { comments: Vec::new(), key: key.into(), node });
    }

    /// Adds a member, if there is one.
    pub fn push_some(&mut self, key: &str, node: Option<Node>) {
        if let Some(node) = node {
            self.push(key, node);
        }
    }

    /// Adds a text, if it is not empty.
    pub fn push_text(&mut self, key: &str, text: &str) {
        if !text.is_empty() {
            self.push(key, Node::text(text));
        }
    }

    /// Adds a list, if it has items.
    pub fn push_list(&mut self, key: &str, nodes: impl IntoIterator<Item = Node>) {
        let list = Node::list(nodes);
        self.push_some(key, (!list.is_empty()).then_some(list));
    }

    /// Adds a map, if it has members.
    pub fn push_map(&mut self, key: &str, map: Map) {
        self.push_some(key, (!map.is_empty()).then(|| map.into()));
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Map> for Node {
    fn from(map: Map) -> Node {
        Node::Map(map.0)
    }
}

/// The members of a map as lines, each below `indent` blanks.
pub fn write(node: &Node, indent: usize) -> String {
    let mut out = String::new();
    block(node, indent, &mut out);
    out
}

fn blanks(indent: usize) -> String {
    " ".repeat(indent)
}

fn block(node: &Node, indent: usize, out: &mut String) {
    match node {
        Node::Map(entries) => {
            for entry in entries {
                comments(&entry.comments, indent, out);
                let key = scalar::key(&entry.key);
                out.push_str(&format!("{}{key}:", blanks(indent)));
                member(&entry.node, indent, indent + key.chars().count() + 1, out);
            }
        }
        Node::List(items) => {
            for item in items {
                comments(&item.comments, indent, out);
                out.push_str(&blanks(indent));
                out.push('-');
                inline_or_below(&item.node, indent, out);
            }
        }
        scalar => member(scalar, indent, indent, out),
    }
}

fn comments(all: &[String], indent: usize, out: &mut String) {
    for comment in all {
        out.push_str(&format!("{}{comment}\n", blanks(indent)));
    }
}

/// What stands behind a dash: maps begin on its line.
fn inline_or_below(node: &Node, indent: usize, out: &mut String) {
    match node {
        Node::Map(_) | Node::List(_) if !node.is_empty() => {
            let mut own = String::new();
            block(node, indent + 2, &mut own);
            let first = own.lines().next().unwrap_or_default();
            match first.trim_start().starts_with('#') {
                true => out.push_str(&format!("\n{own}")),
                false => out.push_str(&format!(" {}", own.trim_start())),
            }
        }
        _ => member(node, indent, indent + 1, out),
    }
}

/// What stands behind a colon, whose line has `column` characters already.
fn member(node: &Node, indent: usize, column: usize, out: &mut String) {
    match node {
        Node::Text(text) => {
            out.push(' ');
            out.push_str(&scalar::text(text, indent + 2, column + 1));
            out.push('\n');
        }
        Node::Code(text) => {
            out.push(' ');
            out.push_str(&scalar::code(text, indent + 2, column + 1));
            out.push('\n');
        }
        Node::Plain(text) => out.push_str(&format!(" {text}\n")),
        Node::List(items) if items.is_empty() => out.push_str(" []\n"),
        Node::Map(entries) if entries.is_empty() => out.push_str(" {}\n"),
        Node::List(items) => match flow(items, column) {
            Some(line) => out.push_str(&format!(" {line}\n")),
            None => {
                out.push('\n');
                block(node, indent + 2, out);
            }
        },
        Node::Map(_) => {
            out.push('\n');
            block(node, indent + 2, out);
        }
    }
}

/// A list of short texts on one line.
fn flow(items: &[Item], column: usize) -> Option<String> {
    let mut texts = Vec::new();
    for item in items {
        match &item.node {
            Node::Text(text) if item.comments.is_empty() => texts.push(scalar::flow(text)?),
            Node::Plain(text) if item.comments.is_empty() => texts.push(text.clone()),
            _ => return None,
        }
    }
    let line = format!("[{}]", texts.join(", "));
    (column + 1 + line.chars().count() <= WIDTH).then_some(line)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn read_back(node: &Node) -> Value {
        ephor_document::yaml_value_strict(&write(node, 0)).unwrap()
    }

    #[test]
    fn texts_read_back_as_they_were() {
        let long = "word ".repeat(40) + "end";
        let hard = [
            "",
            " ",
            "plain",
            "true",
            "1",
            "a: b",
            "a #b",
            "# a",
            "- a",
            "'q'",
            "\"q\"",
            "a\nb",
            "a\n",
            "a\n\n",
            "\na",
            "  a\nb",
            "a\\b",
            "{{ x }}",
            "*",
            "!x",
            "[a]",
            "a:",
            "@",
            "é",
            "a  b",
            "\ta",
            "a\n  b\nc",
            "null",
            "~",
            "0x1",
            "1:20",
            "yes",
            "a\r\nb",
            "a'b\"c: d",
            &long,
            "object.x == 'a: b'",
        ];
        for text in hard {
            let node = Node::map([
                ("a", Node::text(text)),
                ("b", Node::list([Node::map([("c", Node::text(text)), ("d", Node::text("x"))])])),
                ("e", Node::texts([text, "y"])),
            ]);
            let value = read_back(&node);
            assert_eq!(value.text_at(&["a"]), text, "{}", write(&node, 0));
            let items = |key: &str| value.get(key).and_then(Value::as_list).unwrap().to_vec();
            assert_eq!(items("b")[0].text_at(&["c"]), text, "{}", write(&node, 0));
            assert_eq!(items("e")[0].as_str(), Some(text), "{}", write(&node, 0));
        }
    }

    #[test]
    fn code_keeps_its_lines_and_short_code_is_quoted() {
        let node = Node::map([
            ("short", Node::Code("object.a == 'b: c'".into())),
            ("long", Node::Code("object.a.all(c,\n  c.x)".into())),
        ]);
        assert_eq!(write(&node, 0), "short: \"object.a == 'b: c'\"\nlong: >-\n  object.a.all(c,\n    c.x)\n");
    }

    #[test]
    fn short_lists_of_texts_stand_on_one_line_and_comments_above_their_item() {
        let item = Item { comments: vec!["# why".into()], node: Node::map([("x", Node::text("z"))]) };
        let node =
            Node::map([("operations", Node::texts(["CREATE", "UPDATE"])), ("list", Node::List(vec![item]))]);
        assert_eq!(write(&node, 0), "operations: [CREATE, UPDATE]\nlist:\n  # why\n  - x: z\n");
    }

    #[test]
    fn empty_maps_and_lists_are_written_as_such() {
        let node =
            Node::of(&ephor_document::yaml_value("{a: {}, b: [], c: [[], {}], d: 1, e: null}").unwrap());
        assert_eq!(write(&node, 0), "a: {}\nb: []\nc:\n  - []\n  - {}\nd: 1\ne: null\n");
    }
}
