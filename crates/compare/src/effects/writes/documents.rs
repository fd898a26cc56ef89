//! What documents write: overlays, which are merged, and the constant operations of a JSON patch.
//!
//! In: the patch of a rule of a ClusterPolicy. Out: the places that it names. Of anchors those are
//! followed that add what is not there, and conditions about scalars: of the object, and of the
//! items of a list, which are then changed one by one. What such an item adds where it is not there
//! is left out for the items behind it, so that is not followed.

use ephor_analysis::reads::Step;
use ephor_ir::mutate::{Json, Layer, Member, Merge, Node, Patch};
use ephor_ir::shape::Anchor;
use ephor_patch::JsonPatch;
use ephor_patch::merge::DIRECTIVE;
use ephor_patch::operation::Action;
use ephor_patch::schema::Schema;
use ephor_value::{Map, Str, Value};

use crate::effects::writes::Positioned;
use crate::effects::writes::model::{Done, PlaceType, WriteCollector, Writes, Written, schema_of};
use crate::model::field_types::Resolved;
use crate::model::limits::MAX_WRITE_DEPTH;
use crate::model::unsupported::Unsupported;

/// In a JSON patch, in place of the position of the element: no list has this many items.
pub(crate) const POSITION: &str = "4242424242";

/// Whether a part of a document has an anchor.
fn has_anchor(node: &Node) -> bool {
    match node {
        Node::Scalar(_) => false,
        Node::List(items) => items.iter().any(has_anchor),
        Node::Map(members) => {
            members.iter().any(|member| member.anchor != Anchor::None || has_anchor(&member.value))
        }
    }
}

impl<'r> WriteCollector<'r> {
    pub(crate) fn patch(&mut self, patch: &'r Patch, kind: &[Str; 3], at: PlaceType<'r>) -> Done {
        match patch {
            Patch::Merge(Merge::Ready(layer)) => {
                self.found.merges = true;
                let schema = schema_of(kind);
                match &**layer {
                    Layer::Plain(value) => self.layer(value, schema, 0),
                    Layer::Anchored(node) => self.node(node, schema, 0),
                }
            }
            Patch::Json(Json::Ready(Ok(patch))) => self.json(patch, at),
            Patch::Merge(Merge::Dynamic(document)) => self.filled(document, schema_of(kind), at),
            Patch::Json(Json::Dynamic(_)) => Err(Unsupported::Computed),
            Patch::Json(Json::Ready(Err(_))) | Patch::Empty => Err(Unsupported::UnusablePatch),
        }
    }

    /// A document that is merged.
    pub(crate) fn layer(&mut self, value: &Value, schema: Schema, depth: usize) -> Done {
        if depth > MAX_WRITE_DEPTH {
            return Err(Unsupported::TooDeep);
        }
        match value {
            Value::Map(map) => {
                if map.contains_key(DIRECTIVE) {
                    return Err(Unsupported::Directives);
                }
                if depth > 0 {
                    self.add(Written::Shape);
                }
                map.iter().try_for_each(|(key, value)| {
                    self.below(key, |own| own.layer(value, schema.field(key), depth + 1))
                })
            }
            Value::List(items) => self.merged_list(items, schema, depth),
            Value::Null => {
                self.add(Written::Shape);
                Ok(())
            }
            scalar => self.scalar(scalar),
        }
    }

    /// The same of a document with anchors, of which only those that add what is not there are
    /// followed.
    fn node(&mut self, node: &Node, schema: Schema, depth: usize) -> Done {
        if depth > MAX_WRITE_DEPTH {
            return Err(Unsupported::TooDeep);
        }
        match node {
            Node::Scalar(value) => self.layer(value, schema, depth),
            Node::List(items) => match (schema, &**items) {
                _ if !items.iter().any(has_anchor) => {
                    let items: Vec<Value> = items.iter().map(Node::to_value).collect();
                    self.merged_list(&items, schema, depth)
                }
                // The items that are decided get the name of the item that they are for.
                (Schema::Keyed([key], item), [Node::Map(_)]) if **key == *"name" && !self.is_in_list() => {
                    self.items(|own| own.node(&items[0], Schema::of(item), depth + 1))
                }
                _ => Err(Unsupported::ItemsChanged),
            },
            Node::Map(members) => {
                if depth > 0 {
                    self.add(Written::Shape);
                }
                members.iter().try_for_each(|member| {
                    self.below(&member.key, |own| own.member(member, schema, depth + 1))
                })
            }
        }
    }

    fn member(&mut self, member: &Member, schema: Schema, depth: usize) -> Done {
        let is_name = matches!(&*self.path, [.., Step::Items, Step::Key(key)] if **key == *"name");
        match member.anchor {
            _ if *member.key == *DIRECTIVE => Err(Unsupported::Directives),
            Anchor::None if !is_name => self.node(&member.value, schema.field(&member.key), depth),
            // What is added for one item is left out for those behind it.
            Anchor::AddIfAbsent if !self.is_in_list() => {
                self.node(&member.value, schema.field(&member.key), depth)
            }
            Anchor::Condition => match &member.value {
                Node::Scalar(value) if !value.is_null() => {
                    self.add(Written::Shape);
                    self.found.patterns.push((self.path.clone(), value.clone()));
                    Ok(())
                }
                _ => Err(Unsupported::AnchorOnWhole),
            },
            Anchor::None | Anchor::AddIfAbsent => Err(Unsupported::ItemsChanged),
            _ => Err(Unsupported::AnchorDecidesWhole),
        }
    }

    /// Whether what is written is a part of an item.
    pub(crate) fn is_in_list(&self) -> bool {
        self.path.contains(&Step::Items)
    }

    /// Changes each item of the list at the place.
    pub(crate) fn items(&mut self, write: impl FnOnce(&mut Self) -> Done) -> Done {
        self.found.lists.insert(self.path.clone());
        self.path.push(Step::Items);
        let done = write(self);
        self.path.pop();
        done
    }

    pub(crate) fn scalar(&mut self, value: &Value) -> Done {
        match value {
            Value::Str(_) | Value::Int(_) | Value::Bool(_) => {
                self.add(Written::Scalar(value.clone()));
                Ok(())
            }
            _ => Err(Unsupported::OtherScalar),
        }
    }

    /// Constant operations.
    pub(crate) fn json(&mut self, patch: &JsonPatch, at: PlaceType<'r>) -> Done {
        if patch.written.is_some() {
            return Err(Unsupported::NumberForm);
        }
        patch.operations.iter().try_for_each(|operation| {
            let value = match &operation.action {
                Action::Add(value) | Action::Replace(value) => Some(value),
                Action::Remove => None,
                Action::Move(_) | Action::Copy(_) => return Err(Unsupported::Computed),
                Action::Test(_) => return Err(Unsupported::TestOperation),
            };
            let is_new = matches!(operation.action, Action::Add(_));
            self.at_path(&operation.path, at, is_new, |own| match value {
                Some(value) => own.constant(value),
                None => {
                    own.add(Written::Shape);
                    Ok(())
                }
            })
        })
    }

    /// Writes at a JSON pointer; `is_new`: it may name the end of a list.
    pub(crate) fn at_path(
        &mut self,
        path: &str,
        at: PlaceType<'r>,
        is_new: bool,
        write: impl FnOnce(&mut Self) -> Done,
    ) -> Done {
        let outside = self.path.clone();
        let done = self.enter(path, at, is_new).and_then(|is_item| match is_item {
            true => {
                // Its value is constant, too.
                let mut inner = WriteCollector {
                    found: Writes::default(),
                    path: Vec::new(),
                    elements: self.elements.clone(),
                    holes: Vec::new(),
                    loops: self.loops.clone(),
                    positioned: self.positioned.clone(),
                    ..*self
                };
                write(&mut inner)?;
                self.found.conditions.append(&mut inner.found.conditions);
                self.found.of_items.append(&mut inner.found.of_items);
                self.found.nests |= inner.found.nests;
                self.found.copied.append(&mut inner.found.copied);
                self.found.deciding.append(&mut inner.found.deciding);
                self.add(Written::Item);
                Ok(())
            }
            false => write(self),
        });
        self.path = outside;
        done
    }

    /// The steps of a JSON pointer; whether it names the end of a list.
    fn enter(&mut self, path: &str, at: PlaceType<'r>, is_new: bool) -> Result<bool, Unsupported> {
        let mut tokens = path.split('/');
        if tokens.next() != Some("") {
            return Err(Unsupported::UnusablePath);
        }
        let tokens: Vec<&str> = tokens.collect();
        let mut at = at;
        for (position, token) in tokens.iter().enumerate() {
            let is_last = position + 1 == tokens.len();
            match at.resolved(self.types) {
                // The first item stays the first one, and all others are as they were.
                Resolved::List(_, item) if *token == "0" && !is_last => {
                    self.found.is_first = true;
                    self.path.push(Step::Items);
                    at = PlaceType::Type(item);
                    continue;
                }
                // That of an element, in its own list or among those of several lists.
                Resolved::List(_, item)
                    if *token == POSITION
                        && !is_last
                        && self.elements.contains(&self.path)
                        && (is_new || self.elements.len() == 1) =>
                {
                    if self.elements.len() > 1 {
                        let (over, list) = (self.elements.clone(), self.path.clone());
                        self.positioned = Some(list.clone());
                        self.found.positioned.insert(Positioned { over, list });
                    }
                    self.found.lists.insert(self.path.clone());
                    self.path.push(Step::Items);
                    self.add(Written::Shape);
                    at = PlaceType::Type(item);
                    continue;
                }
                Resolved::List(..) => {
                    return match is_last && *token == "-" && is_new {
                        true => Ok(true),
                        false => Err(Unsupported::ItemByPosition),
                    };
                }
                // It may be a position.
                Resolved::Leaf | Resolved::Unknown if *token == "-" || token.parse::<i64>().is_ok() => {
                    return Err(Unsupported::ItemByPosition);
                }
                _ if token.is_empty() => return Err(Unsupported::UnusablePath),
                _ => {}
            }
            let key = Str::from(token.replace("~1", "/").replace("~0", "~"));
            at = at.field(self.types, &key);
            self.path.push(Step::Key(key));
        }
        Ok(false)
    }

    /// A constant in the place of all that is there.
    pub(crate) fn constant(&mut self, value: &Value) -> Done {
        match value {
            Value::Map(map) => {
                self.add(Written::Whole);
                self.lists_in(map);
                Ok(())
            }
            Value::List(_) => {
                self.add(Written::WholeList);
                Ok(())
            }
            scalar => self.scalar(scalar),
        }
    }

    /// The lists in a constant object take the place of others, too.
    pub(crate) fn lists_in(&mut self, map: &Map) {
        for (key, value) in map.iter() {
            self.path.push(Step::Key(key.clone()));
            match value {
                Value::Map(map) => self.lists_in(map),
                Value::List(_) => self.add(Written::WholeList),
                _ => _ = self.found.inside.insert(self.path.clone()),
            }
            self.path.pop();
        }
    }
}
