//! What else is wrong with a text that parsed in parts.
//!
//! In: the tree that remains. Out: the issues of the syntax together with those that cel-go finds
//! when it turns what it has into an expression: literals, words that are no names, macros.

use super::{Item, Rule, Tree};
use crate::ast::{Entry, Kind, Node, Place};
use crate::issue::{BEFORE, Issue, NOWHERE};
use crate::syntax::builder::{Builder, operator};
use crate::syntax::lexer::{Tok, Token};
use crate::syntax::options::Options;
use crate::syntax::{literal, macros};
use ephor_value::names::RESERVED_WORDS;
use ephor_value::{Str, Value};

/// Searches a tree; `issues` are those found so far.
pub fn visit(tree: &Tree<'_>, issues: Vec<Issue>, options: Options) -> Vec<Issue> {
    let mut visitor = Visitor { builder: Builder { issues, options } };
    visitor.sub(tree, "e");
    visitor.builder.issues
}

struct Visitor {
    builder: Builder,
}

/// What stands for a part that is not there.
fn missing() -> Node {
    Node::constant(NOWHERE, Value::Null)
}

impl<'s> Tree<'s> {
    fn tree(&self, label: &str) -> Option<&Tree<'s>> {
        self.trees(label).next()
    }

    fn trees(&self, label: &str) -> impl Iterator<Item = &Tree<'s>> {
        self.items.iter().filter(move |(l, _)| *l == label).filter_map(|(_, item)| match item {
            Item::Tree(tree) => Some(tree),
            _ => None,
        })
    }

    /// The text and place of a token.
    fn token(&self, label: &str) -> Option<(&str, Place)> {
        self.tokens(label).next()
    }

    fn tokens(&self, label: &str) -> impl Iterator<Item = (&str, Place)> {
        self.items.iter().filter(move |(l, _)| *l == label).filter_map(|(_, item)| match item {
            Item::Token(token) => Some((token.text, token.at)),
            Item::Made(text, at) => Some((&**text, *at)),
            Item::Tree(_) => None,
        })
    }

    fn literal(&self) -> Option<&Token<'s>> {
        self.items.iter().find_map(|(label, item)| match item {
            Item::Token(token) if *label == "tok" => Some(token),
            _ => None,
        })
    }
}

impl Visitor {
    /// A part of a tree.
    fn sub(&mut self, tree: &Tree<'_>, label: &str) -> Node {
        match tree.tree(label) {
            Some(inner) => self.node(inner),
            None => missing(),
        }
    }

    fn issue(&mut self, at: Place, text: impl Into<String>) -> Node {
        self.builder.issue(at, text);
        missing()
    }

    fn node(&mut self, tree: &Tree<'_>) -> Node {
        let mut node = self.written(tree);
        // What is missing is placed where it should have begun.
        if node.at == NOWHERE {
            node.at = tree.at;
        }
        node
    }

    fn written(&mut self, tree: &Tree<'_>) -> Node {
        match tree.rule {
            Rule::Start => self.sub(tree, "e"),
            Rule::Expr => match tree.token("op") {
                None => self.sub(tree, "e"),
                Some((_, at)) => {
                    let parts = ["e", "e1", "e2"].map(|label| self.sub(tree, label));
                    Node::call(at, "_?_:_", parts.into())
                }
            },
            Rule::Or | Rule::And => {
                let name = if tree.rule == Rule::Or { "_||_" } else { "_&&_" };
                let mut all = self.sub(tree, "e");
                let sides: Vec<&Tree<'_>> = tree.trees("e1").collect();
                for (i, (_, at)) in tree.tokens("op").enumerate() {
                    let Some(side) = sides.get(i) else {
                        return self.issue(NOWHERE, "unexpected character, wanted '||'");
                    };
                    let side = self.node(side);
                    all = Node::call(at, name, vec![all, side]);
                }
                all
            }
            Rule::Relation | Rule::Calc => match tree.token("op") {
                None => self.sub(tree, "e"),
                Some((text, at)) => {
                    let left = self.sub(tree, "left");
                    let Some(name) = operator(text) else { return self.issue(tree.at, "operator not found") };
                    let right = self.sub(tree, "e1");
                    Node::call(at, name, vec![left, right])
                }
            },
            Rule::Unary => {
                let inner = self.sub(tree, "e");
                let places: Vec<Place> = tree.tokens("op").map(|(_, at)| at).collect();
                match places.first() {
                    Some(at) if places.len() % 2 == 1 => {
                        let name = if tree.name == "not" { "!_" } else { "-_" };
                        Node::call(*at, name, vec![inner])
                    }
                    _ => inner,
                }
            }
            Rule::Member => self.member(tree),
            Rule::Primary => self.primary(tree),
            Rule::Literal => self.literal(tree),
            Rule::OptExpr => self.sub(tree, "e"),
            _ => missing(),
        }
    }

    fn member(&mut self, tree: &Tree<'_>) -> Node {
        if tree.tree("left").is_none() {
            return self.sub(tree, "e");
        }
        let left = self.sub(tree, "left");
        let Some((_, at)) = tree.token("op") else { return missing() };
        let optional = tree.token("opt").is_some();
        match tree.name {
            "select" => {
                let Some(id) = tree.tree("id") else { return missing() };
                let name = self.field_name(id, id.at);
                if optional && !self.builder.options.optional {
                    return self.issue(at, "unsupported syntax '.?'");
                }
                self.builder.select(at, optional, left, name)
            }
            "call" => {
                let Some((name, _)) = tree.token("id") else { return missing() };
                let name = name.to_string();
                let args = self.arguments(tree);
                let open = tree.token("open").map_or(at, |(_, at)| at);
                macros::method(&mut self.builder, at, open, left, &name, args)
            }
            "index" => {
                let index = self.sub(tree, "index");
                if optional && !self.builder.options.optional {
                    return self.issue(at, "unsupported syntax '[?'");
                }
                Node::call(at, if optional { "_[?_]" } else { "_[_]" }, vec![left, index])
            }
            _ => missing(),
        }
    }

    fn arguments(&mut self, tree: &Tree<'_>) -> Vec<Node> {
        match tree.tree("args") {
            Some(list) => list.trees("e").map(|e| self.node(e)).collect(),
            None => Vec::new(),
        }
    }

    /// The name of a field.
    fn field_name(&mut self, id: &Tree<'_>, at: Place) -> Str {
        let text = match (id.name, id.token("id")) {
            ("simple", Some((text, _))) => return text.into(),
            ("escaped", Some((text, _))) => text,
            _ => {
                self.builder.issue(at, "unsupported ident kind");
                return "".into();
            }
        };
        if !self.builder.options.backticks {
            self.builder.issue(at, "unsupported syntax: '`'");
        }
        text.trim_matches('`').into()
    }

    fn primary(&mut self, tree: &Tree<'_>) -> Node {
        let lead = if tree.token("dot").is_some() { "." } else { "" };
        match tree.name {
            "nested" | "literal" => self.sub(tree, "e"),
            "ident" | "global" => {
                let Some((name, at)) = tree.token("id") else { return missing() };
                if RESERVED_WORDS.contains(&name) {
                    return self.issue(tree.at, format!("reserved identifier: {name}"));
                }
                let name = format!("{lead}{name}");
                if tree.name == "ident" {
                    return Node::ident(at, &name);
                }
                let open = tree.token("op").map_or(at, |(_, at)| at);
                let args = self.arguments(tree);
                macros::function(&mut self.builder, open, &name, args)
            }
            "list" => {
                let at = tree.token("op").map_or(tree.at, |(_, at)| at);
                let (mut items, mut optional) = (Vec::new(), Vec::new());
                for e in tree.tree("elems").into_iter().flat_map(|l| l.trees("e")) {
                    items.push(self.node(e));
                    if let Some((_, mark)) = e.token("opt") {
                        if self.builder.options.optional {
                            optional.push(items.len() - 1);
                        } else {
                            self.issue(mark, "unsupported syntax '?'");
                        }
                    }
                }
                Node::new(at, Kind::List { items, optional })
            }
            "map" => {
                let at = tree.token("op").map_or(tree.at, |(_, at)| at);
                let mut entries = Vec::new();
                if let Some(list) = tree.tree("entries") {
                    let keys: Vec<&Tree<'_>> = list.trees("key").collect();
                    let values: Vec<&Tree<'_>> = list.trees("value").collect();
                    let colons: Vec<Place> = list.tokens("colon").map(|(_, at)| at).collect();
                    for (i, colon) in colons.iter().enumerate() {
                        let (Some(key), Some(value)) = (keys.get(i), values.get(i)) else { break };
                        let optional = key.token("opt").is_some();
                        if optional && !self.builder.options.optional {
                            self.issue(key.at, "unsupported syntax '?'");
                            continue;
                        }
                        let (key, value) = (self.node(key), self.node(value));
                        entries.push(Entry { at: *colon, key, value, optional });
                    }
                }
                Node::new(at, Kind::Map(entries))
            }
            "message" => self.message(tree, lead),
            // No form of it fits.
            _ => Node::constant(BEFORE, Value::Null),
        }
    }

    fn message(&mut self, tree: &Tree<'_>, lead: &str) -> Node {
        let names: Vec<&str> = tree.tokens("id").map(|(text, _)| text).collect();
        let at = tree.token("op").map_or(tree.at, |(_, at)| at);
        let mut fields = Vec::new();
        if let Some(list) = tree.tree("entries") {
            let keys: Vec<&Tree<'_>> = list.trees("key").collect();
            let values: Vec<&Tree<'_>> = list.trees("value").collect();
            let colons: Vec<Place> = list.tokens("colon").map(|(_, at)| at).collect();
            for (i, key) in keys.iter().enumerate() {
                let (Some(colon), Some(value)) = (colons.get(i), values.get(i)) else { break };
                let optional = key.token("opt").is_some();
                if optional && !self.builder.options.optional {
                    self.issue(key.at, "unsupported syntax '?'");
                    continue;
                }
                let Some(id) = key.tree("id") else {
                    self.issue(list.at, "unsupported ident kind");
                    continue;
                };
                let before = self.builder.issues.len();
                let name = self.field_name(id, list.at);
                if self.builder.issues.len() > before {
                    continue;
                }
                let value = self.node(value);
                fields.push(Entry { at: *colon, key: name, value, optional });
            }
        }
        Node::new(at, Kind::Struct { name: format!("{lead}{}", names.join(".")).into(), fields })
    }

    fn literal(&mut self, tree: &Tree<'_>) -> Node {
        let Some(token) = tree.literal() else { return missing() };
        let negative = tree.token("sign").is_some() && matches!(token.kind, Tok::Int | Tok::Float);
        match literal::value(token.kind, token.text, negative) {
            Ok(value) => Node::constant(tree.at, value),
            Err(text) => self.issue(tree.at, text),
        }
    }
}
