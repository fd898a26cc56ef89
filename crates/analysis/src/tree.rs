//! Nodes as trees of names and scalars: for code that treats all kinds of nodes alike.
//!
//! In: anything that is written as `ir::json` writes it. Out: a [`Tree`] with the same parts, in
//! which nodes keep the names of their types, so that a constant never looks like a node. The
//! printer and `super::late::resolved_late` walk it.

use std::fmt::Display;

use serde::ser::{
    Error as _, Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleVariant, Serializer,
};

/// A node, or a part of one.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// Nothing: null, or no value.
    None,
    /// A number or a boolean, as JSON has it.
    Scalar(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Tree>),
    /// An object of a constant.
    Map(Vec<(String, Tree)>),
    /// A node.
    Node(Node),
}

/// A node: a struct, or a variant of an enum.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The name of its Rust type.
    pub kind: &'static str,
    /// The variant; empty for a struct.
    pub variant: &'static str,
    /// Its fields; those of tuples have no name. What is missing in JSON is missing here.
    pub fields: Vec<(&'static str, Tree)>,
}

impl Tree {
    /// The tree of a node; `None` when it cannot be written.
    pub fn of(node: &impl Serialize) -> Option<Tree> {
        node.serialize(Builder).ok()
    }

    /// The text, `None` for everything else.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Tree::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether a text in it, or a key of a constant, is such a one.
    pub fn any_text(&self, is: &impl Fn(&str) -> bool) -> bool {
        match self {
            Tree::None | Tree::Scalar(_) => false,
            Tree::Text(text) => is(text),
            Tree::List(parts) => parts.iter().any(|part| part.any_text(is)),
            Tree::Map(parts) => parts.iter().any(|(key, part)| is(key) || part.any_text(is)),
            Tree::Node(node) => node.fields.iter().any(|(_, part)| part.any_text(is)),
        }
    }

    /// The node, `None` for everything else.
    pub fn as_node(&self) -> Option<&Node> {
        match self {
            Tree::Node(node) => Some(node),
            _ => None,
        }
    }
}

impl Node {
    /// The field of this name.
    pub fn get(&self, name: &str) -> Option<&Tree> {
        self.fields.iter().find(|(field, _)| *field == name).map(|(_, tree)| tree)
    }

    /// The text of a field.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_text()
    }
}

/// Why there is no tree.
#[derive(Debug)]
struct Unwritable;

impl Display for Unwritable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("it cannot be written")
    }
}

impl std::error::Error for Unwritable {}

impl serde::ser::Error for Unwritable {
    fn custom<T: Display>(_: T) -> Self {
        Unwritable
    }
}

struct Builder;

/// What a list, object or node is built of.
#[derive(Default)]
struct NodeParts {
    kind: &'static str,
    variant: &'static str,
    fields: Vec<(&'static str, Tree)>,
    entries: Vec<(String, Tree)>,
}

impl NodeParts {
    fn add<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Unwritable> {
        self.fields.push((name, value.serialize(Builder)?));
        Ok(())
    }

    fn list(self) -> Result<Tree, Unwritable> {
        Ok(Tree::List(self.fields.into_iter().map(|(_, tree)| tree).collect()))
    }

    fn node(self) -> Result<Tree, Unwritable> {
        Ok(Tree::Node(Node { kind: self.kind, variant: self.variant, fields: self.fields }))
    }
}

fn node(kind: &'static str, variant: &'static str) -> Result<NodeParts, Unwritable> {
    Ok(NodeParts { kind, variant, ..NodeParts::default() })
}

macro_rules! scalars {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, v: $type) -> Result<Tree, Unwritable> {
            Ok(Tree::Scalar(v.to_string()))
        })*
    };
}

impl Serializer for Builder {
    type Ok = Tree;
    type Error = Unwritable;
    type SerializeSeq = NodeParts;
    type SerializeTuple = NodeParts;
    type SerializeTupleStruct = Impossible<Tree, Unwritable>;
    type SerializeTupleVariant = NodeParts;
    type SerializeMap = NodeParts;
    type SerializeStruct = NodeParts;
    type SerializeStructVariant = NodeParts;

    scalars! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_f32: f32
    }

    fn serialize_f64(self, v: f64) -> Result<Tree, Unwritable> {
        Ok(Tree::Scalar(format!("{v:?}")))
    }

    fn serialize_char(self, v: char) -> Result<Tree, Unwritable> {
        Ok(Tree::Text(v.to_string()))
    }

    fn serialize_str(self, v: &str) -> Result<Tree, Unwritable> {
        Ok(Tree::Text(v.to_string()))
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<Tree, Unwritable> {
        Err(Unwritable::custom("bytes"))
    }

    fn serialize_none(self) -> Result<Tree, Unwritable> {
        Ok(Tree::None)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, v: &T) -> Result<Tree, Unwritable> {
        v.serialize(self)
    }

    fn serialize_unit(self) -> Result<Tree, Unwritable> {
        Ok(Tree::None)
    }

    fn serialize_unit_struct(self, kind: &'static str) -> Result<Tree, Unwritable> {
        node(kind, "")?.node()
    }

    fn serialize_unit_variant(
        self,
        kind: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Tree, Unwritable> {
        node(kind, variant)?.node()
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        v: &T,
    ) -> Result<Tree, Unwritable> {
        v.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        kind: &'static str,
        _: u32,
        variant: &'static str,
        v: &T,
    ) -> Result<Tree, Unwritable> {
        let mut parts = node(kind, variant)?;
        parts.add("", v)?;
        parts.node()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<NodeParts, Unwritable> {
        Ok(NodeParts::default())
    }

    fn serialize_tuple(self, _: usize) -> Result<NodeParts, Unwritable> {
        Ok(NodeParts::default())
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, Unwritable> {
        Err(Unwritable::custom("a tuple struct"))
    }

    fn serialize_tuple_variant(
        self,
        kind: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<NodeParts, Unwritable> {
        node(kind, variant)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<NodeParts, Unwritable> {
        Ok(NodeParts::default())
    }

    fn serialize_struct(self, kind: &'static str, _: usize) -> Result<NodeParts, Unwritable> {
        node(kind, "")
    }

    fn serialize_struct_variant(
        self,
        kind: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<NodeParts, Unwritable> {
        node(kind, variant)
    }
}

macro_rules! parts {
    ($($trait:ident, $method:ident($($key:ident)?), $end:ident;)*) => {
        $(impl $trait for NodeParts {
            type Ok = Tree;
            type Error = Unwritable;

            fn $method<T: Serialize + ?Sized>(&mut self, $($key: &'static str,)? v: &T) -> Result<(), Unwritable> {
                parts!(@add self, v $(, $key)?)
            }

            fn end(self) -> Result<Tree, Unwritable> {
                self.$end()
            }
        })*
    };
    (@add $self:ident, $v:ident) => { $self.add("", $v) };
    (@add $self:ident, $v:ident, $key:ident) => { $self.add($key, $v) };
}

parts! {
    SerializeSeq, serialize_element(), list;
    SerializeTuple, serialize_element(), list;
    SerializeTupleVariant, serialize_field(), node;
    SerializeStruct, serialize_field(key), node;
    SerializeStructVariant, serialize_field(key), node;
}

impl SerializeMap for NodeParts {
    type Ok = Tree;
    type Error = Unwritable;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Unwritable> {
        let key = key.serialize(Builder)?;
        self.entries.push((key.as_text().unwrap_or_default().to_string(), Tree::None));
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Unwritable> {
        let value = value.serialize(Builder)?;
        if let Some(last) = self.entries.last_mut() {
            last.1 = value;
        }
        Ok(())
    }

    fn end(self) -> Result<Tree, Unwritable> {
        Ok(Tree::Map(self.entries))
    }
}
