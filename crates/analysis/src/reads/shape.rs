//! What patterns read.

use ephor_ir::Template;
use ephor_ir::check::{Overlay, Overlays};
use ephor_ir::shape::{Anchor, Entry, ListShape, MapShape, Shape};
use ephor_ir::template::Part;
use ephor_value::wildcard::has_wildcard;
use ephor_value::{Str, Value};

use crate::reads::abstract_value::ValueSet;
use crate::reads::comparisons::By;
use crate::reads::expected_type::ExpectedType;
use crate::reads::footprint::Done;
use crate::reads::reader::Reader;

impl Reader {
    /// What a pattern reads of a subject.
    pub fn overlay(&mut self, overlay: &Overlay, subject: &ValueSet) -> Done {
        match overlay {
            Overlay::Ready(pattern) => self.shape(&pattern.root, subject),
            Overlay::Dynamic(template) => self.draft(template, subject),
            Overlay::Broken(_) => Ok(()),
        }
    }

    /// What patterns read of a subject.
    pub fn overlays(&mut self, overlays: &Overlays, subject: &ValueSet) -> Done {
        match overlays {
            Overlays::Ready(patterns) => patterns.iter().try_for_each(|p| self.shape(&p.root, subject)),
            Overlays::Dynamic(Template::List(items)) => {
                items.iter().try_for_each(|item| self.draft(item, subject))
            }
            Overlays::Dynamic(template) => {
                self.filled(template)?;
                self.consume(subject)
            }
            Overlays::Broken(_) => Ok(()),
        }
    }

    fn shape(&mut self, shape: &Shape, subject: &ValueSet) -> Done {
        match shape {
            Shape::Leaf(leaf) => {
                self.pattern(subject, &leaf.source);
                self.consume_as(subject, ExpectedType::SCALAR)
            }
            Shape::Map(map) => self.map(map, subject),
            Shape::List(list) => self.list(list, subject),
        }
    }

    fn map(&mut self, map: &MapShape, subject: &ValueSet) -> Done {
        if map.expand {
            self.pattern(subject, &map.source);
            return self.consume_as(subject, ExpectedType::MAP);
        }
        self.look_for(subject, ExpectedType::MAP);
        self.read_shape(subject)?;
        map.entries.iter().try_for_each(|entry| self.entry(entry, subject))
    }

    fn entry(&mut self, entry: &Entry, subject: &ValueSet) -> Done {
        if entry.anchor == Anchor::AddIfAbsent {
            self.raw_key(subject, &entry.raw)?;
        }
        if has_wildcard(&entry.key) {
            self.pattern(subject, &Value::Str(entry.key.clone()));
            self.consume_as(subject, ExpectedType::MAP)?;
            // What is below may be under any key.
            return if entry.anchor == Anchor::Negation {
                Ok(())
            } else {
                self.shape_below(&entry.shape, subject)
            };
        }
        let value = self.key(subject, &entry.key)?;
        self.read_shape(&value)?;
        // Whether it is there says all.
        let is_there = matches!(&entry.shape, Shape::Leaf(leaf) if leaf.source.as_str() == Some("*"))
            && entry.anchor == Anchor::None;
        if is_there || entry.anchor == Anchor::Negation { Ok(()) } else { self.shape(&entry.shape, &value) }
    }

    /// What the values at a place and below it are compared with.
    fn pattern(&mut self, subject: &ValueSet, pattern: &Value) {
        let pattern = self.constant(pattern);
        self.test(subject, &pattern, By::Pattern);
    }

    /// A pattern of a value somewhere below a subject.
    fn shape_below(&mut self, shape: &Shape, subject: &ValueSet) -> Done {
        match shape {
            Shape::Leaf(leaf) => self.pattern(subject, &leaf.source),
            Shape::Map(map) => self.pattern(subject, &map.source),
            Shape::List(_) => self.tests.iter_mut().for_each(|tests| tests.is_partial = true),
        }
        Ok(())
    }

    /// A key that is read with its anchor: all of its value counts, so that each pattern is looked
    /// at once.
    fn raw_key(&mut self, subject: &ValueSet, raw: &Str) -> Done {
        if has_wildcard(raw) {
            self.consume(subject)?;
        }
        let value = self.key(subject, raw)?;
        self.consume(&value)
    }

    fn list(&mut self, list: &ListShape, subject: &ValueSet) -> Done {
        self.look_for(subject, ExpectedType::LIST);
        self.read_shape(subject)?;
        if matches!(list, ListShape::Empty(_)) {
            return Ok(());
        }
        let items = self.items(subject)?;
        match list {
            ListShape::Positions(shapes) => shapes.iter().try_for_each(|shape| self.shape(shape, &items)),
            list => list.existence().flatten().try_for_each(|map| self.map(map, &items)),
        }?;
        match list {
            ListShape::Scalars(leaf, _) => {
                self.look_for(&items, ExpectedType::SCALAR);
                self.pattern(subject, &leaf.source);
                self.consume_as(subject, ExpectedType::LIST)
            }
            _ => Ok(()),
        }
    }

    /// A pattern that is still to be filled in: where variables stand, all of the subject counts.
    fn draft(&mut self, template: &Template, subject: &ValueSet) -> Done {
        match template {
            Template::Const(v) => match self.late.pattern(v) {
                Some(pattern) => self.shape(&pattern.root, subject),
                None => Ok(()),
            },
            Template::Object(pairs) => {
                self.look_for(subject, ExpectedType::MAP);
                self.read_shape(subject)?;
                for (key, value) in pairs {
                    let Template::Const(Value::Str(raw)) = key else {
                        self.filled(template)?;
                        return self.consume(subject);
                    };
                    let (anchor, inner) = Anchor::parse(raw);
                    // Their keys may hold wildcards, which only the whole pattern determines.
                    let is_expanded = has_wildcard(raw) || matches!(inner, "labels" | "annotations");
                    if anchor != Anchor::None {
                        self.raw_key(subject, raw)?;
                    }
                    let below = self.key(subject, &inner.into())?;
                    self.read_shape(&below)?;
                    if is_expanded {
                        self.filled(value)?;
                        self.consume(if has_wildcard(raw) { subject } else { &below })?;
                    } else {
                        self.draft(value, &below)?;
                    }
                }
                Ok(())
            }
            Template::List(items) => {
                self.look_for(subject, ExpectedType::LIST);
                let below = self.items(subject)?;
                items.iter().try_for_each(|item| self.draft(item, &below))?;
                // Which element of the pattern counts depends on what it becomes.
                if items.iter().any(|i| !matches!(i, Template::Object(_) | Template::Const(Value::Map(_)))) {
                    self.consume(subject)?;
                }
                Ok(())
            }
            hole => {
                self.filled(hole)?;
                for pattern in guesses(hole) {
                    self.pattern(subject, &Value::from(pattern));
                }
                self.consume(subject)
            }
        }
    }
}

/// What variables of a pattern may bring in, so that some values that are tried match it.
const BROUGHT_IN: [&str; 3] = ["1", "a", "default"];

/// What a pattern with variables may be.
fn guesses(template: &Template) -> Vec<String> {
    let of = |value: &str| -> Option<String> {
        Some(match template {
            Template::Whole(_) => value.into(),
            Template::Text(text) => text
                .parts
                .iter()
                .map(|part| match part {
                    Part::Literal(literal) => &**literal,
                    Part::Hole(_) => value,
                })
                .collect(),
            _ => return None,
        })
    };
    BROUGHT_IN.into_iter().filter_map(of).collect()
}
