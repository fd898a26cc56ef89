//! What is known of a rule that changes objects: the words that the other files share.
//!
//! [`Writes`] is what a rule may write, [`WriteCollector`] the visitor that collects it,
//! [`Written`] what is written at one place.

use std::collections::BTreeSet;
use std::sync::Arc;

use ephor_analysis::reads::Step;
use ephor_ir::Expr;
use ephor_ir::check::ForEach;
use ephor_ir::condition::Condition;
use ephor_ir::expressions::Variable;
use ephor_ir::rule::Binding;
use ephor_ir::template::Hole;
use ephor_kubernetes::Types;
use ephor_kubernetes::convert::api_version;
use ephor_kubernetes::schema::{Type, TypeDef, Whole};
use ephor_patch::schema::Schema;
use ephor_value::{Str, Value};

use crate::effects::writes::made::DerivedValue;
use crate::model::field_types::{Resolved, resolved};
use crate::model::path::Place;
use crate::model::unsupported::Unsupported;
use crate::model::world::Copied;

/// What is written at a place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Written {
    /// A value without parts.
    Scalar(Value),
    /// The value of another place, or a text that has it as a part.
    Copied,
    /// What an item of a list is merged by.
    Key(Value),
    /// Something with parts in the place of all that is there.
    Whole,
    /// A list in the place of all that is there.
    WholeList,
    /// An item behind those of a list.
    Item,
    /// An object that is there for the sake of its fields, or nothing: it is removed.
    Shape,
}

/// What a rule writes.
#[derive(Default)]
pub(crate) struct Writes {
    /// The places, with what is written there.
    pub places: Vec<(Place, Written)>,
    /// What decides which of it is written.
    pub conditions: Vec<Expr>,
    /// What decides about an item by itself, in a loop over all.
    pub of_items: Vec<Expr>,
    /// Whether some of it reads lists of the item.
    pub nests: bool,
    /// The same of a document with anchors: what must match a leaf of a pattern at a place.
    pub patterns: Vec<(Place, Value)>,
    /// Lists of which each item is changed by itself.
    pub lists: BTreeSet<Place>,
    /// Whether a loop may fail for one element, and so for all of them.
    pub may_fail: bool,
    /// Whether the item of an element is found by its name as a pattern.
    pub by_pattern: bool,
    /// Whether something is written into the first item of a list.
    pub is_first: bool,
    /// Places whose values are copied.
    pub copied: BTreeSet<Place>,
    /// Places that are copied with all that is there.
    pub wholes: BTreeSet<Place>,
    /// Those of them that become parts of documents, in which variables and anchors are
    /// searched.
    pub quoted: BTreeSet<Place>,
    /// Places with names that must not be the same for the items of several lists.
    pub apart: BTreeSet<Vec<Place>>,
    /// The lists of these names.
    pub named: BTreeSet<Place>,
    /// Places at which is written what a function makes of another one.
    pub made: Vec<(Place, DerivedValue)>,
    /// Maps into which entries are written whose keys are put together, with their value.
    pub entries: Vec<(Place, Value)>,
    /// Variables that are filled in, whatever the rule does.
    pub holes: Vec<Hole>,
    /// Places at which a text is written with a part for each item of a list.
    pub joins: BTreeSet<Place>,
    /// The number of the items that are chosen for these, in documents; whether what is chosen says
    /// the item alone.
    pub chosen: Vec<(Hole, bool)>,
    /// Objects that exist, of which copies are generated.
    pub cloned: BTreeSet<Copied>,
    /// The same in the namespace of a policy: their kind, and the name of one.
    pub cloned_here: BTreeSet<([Str; 3], Option<Str>)>,
    /// What is generated: kind, namespace and name, as far as they are constant; `None`: copies of
    /// all objects of a list.
    pub generated: Vec<Option<[Option<Str>; 3]>>,
    /// What is compared besides, in documents.
    pub compared: Vec<Condition>,
    /// Whether the name of the user is copied.
    pub is_of_user: bool,
    /// Loops of a ClusterPolicy, as checks of what decides about an item; whether this is in the
    /// item alone.
    pub each: Vec<(ForEach, bool)>,
    /// Whether a strategic merge walks over the whole object.
    pub merges: bool,
    /// Lists into whose items loops over several lists write.
    pub positioned: BTreeSet<Positioned>,
    /// The places in the elements of these loops that decide.
    pub deciding: BTreeSet<Place>,
    /// Whether the order or the number of the items of a list there may say something.
    pub has_order: bool,
    /// The places of values in objects that are written as a whole.
    pub inside: BTreeSet<Place>,
}

/// The type of a place.
#[derive(Clone, Copy)]
pub(crate) enum PlaceType<'t> {
    Type(&'t Type),
    /// Of the object itself.
    Kind(&'t TypeDef),
    Unknown,
}

impl<'t> PlaceType<'t> {
    pub(crate) fn resolved(self, types: &'t Types) -> Resolved<'t> {
        match self {
            PlaceType::Type(ty) => resolved(types, ty),
            PlaceType::Kind(def) => Resolved::Object(def, Whole::Merged),
            PlaceType::Unknown => Resolved::Unknown,
        }
    }

    pub(crate) fn field(self, types: &'t Types, key: &str) -> PlaceType<'t> {
        match self.resolved(types) {
            Resolved::Object(def, _) => {
                def.field(key).map_or(PlaceType::Unknown, |field| PlaceType::Type(&field.ty))
            }
            Resolved::Map(value, _) => PlaceType::Type(value),
            _ => PlaceType::Unknown,
        }
    }
}

/// A place in the items of a list.
pub(crate) fn in_items(list: &[Step], below: &[Step]) -> Place {
    list.iter().chain([&Step::Items]).chain(below).cloned().collect()
}

/// What merges know of objects of a kind.
pub(crate) fn schema_of(kind: &[Str; 3]) -> Schema {
    Schema::of_object(&Value::map([
        ("apiVersion", Value::from(api_version(kind))),
        ("kind", Value::Str(kind[2].clone())),
    ]))
}

pub(crate) struct WriteCollector<'r> {
    pub(crate) types: &'r Types,
    pub(crate) variables: &'r [Variable],
    /// The entries of the context of a document.
    pub(crate) bindings: &'r [Arc<Binding>],
    /// The kind of the object.
    pub(crate) kind: &'r [Str; 3],
    pub(crate) path: Place,
    /// Whether it is a document of a ClusterPolicy, where variables are queries.
    pub(crate) is_document: bool,
    /// Whether the key of an entry is read.
    pub(crate) is_key: bool,
    /// The lists whose items the loop of a document walks over.
    pub(crate) elements: Vec<Place>,
    /// The variables of a document.
    pub(crate) holes: Vec<Hole>,
    /// The loops around what is read: over what, and whether they have positions.
    pub(crate) loops: Vec<(&'r Expr, bool)>,
    /// The list into whose items the loop writes by the positions of its elements.
    pub(crate) positioned: Option<Place>,
    pub(crate) found: Writes,
}

pub(crate) type Done = Result<(), Unsupported>;

impl<'r> WriteCollector<'r> {
    pub(crate) fn add(&mut self, written: Written) {
        self.found.places.push((self.path.clone(), written));
    }

    pub(crate) fn below(&mut self, key: &Str, write: impl FnOnce(&mut Self) -> Done) -> Done {
        self.path.push(Step::Key(key.clone()));
        let done = write(self);
        self.path.pop();
        done
    }
}

impl Writes {
    /// Adds what another rule writes.
    pub fn merge(&mut self, other: Writes) {
        self.places.extend(other.places);
        self.conditions.extend(other.conditions);
        self.of_items.extend(other.of_items);
        self.nests |= other.nests;
        self.patterns.extend(other.patterns);
        self.lists.extend(other.lists);
        self.may_fail |= other.may_fail;
        self.by_pattern |= other.by_pattern;
        self.is_first |= other.is_first;
        self.copied.extend(other.copied);
        self.wholes.extend(other.wholes);
        self.quoted.extend(other.quoted);
        self.apart.extend(other.apart);
        self.named.extend(other.named);
        self.made.extend(other.made);
        self.entries.extend(other.entries);
        self.positioned.extend(other.positioned);
        self.deciding.extend(other.deciding);
        self.has_order |= other.has_order;
        self.inside.extend(other.inside);
        self.holes.extend(other.holes);
        self.joins.extend(other.joins);
        self.chosen.extend(other.chosen);
        self.cloned.extend(other.cloned);
        self.cloned_here.extend(other.cloned_here);
        self.generated.extend(other.generated);
        self.compared.extend(other.compared);
        self.is_of_user |= other.is_of_user;
        self.each.extend(other.each);
        self.merges |= other.merges;
    }

    /// The texts that are written.
    pub fn texts(&self) -> BTreeSet<&str> {
        let texts = self.places.iter().filter_map(|(_, written)| match written {
            Written::Scalar(value) => value.as_str(),
            _ => None,
        });
        texts.collect()
    }
}

/// A list into whose items a loop writes by positions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Positioned {
    /// The lists whose elements have these positions, one after the other.
    pub over: Vec<Place>,
    /// The list, one of them.
    pub list: Place,
}

/// What a copied value may be.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum CopyKind {
    /// Any scalar.
    Scalar,
    /// A text, which becomes a part of one.
    Text,
    /// The same, or nothing.
    Optional,
    /// A scalar, or something with parts that is copied as a whole.
    Any,
}
