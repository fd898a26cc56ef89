//! Items with constant keys that are merged into lists.
//!
//! In: the items of a list in a document or in an `Object` literal. Out: what is written into an
//! item that has these keys; where there is none, it is added. All other items of the list stay as
//! they are.

use ephor_ir::Expr;
use ephor_ir::strict::Make;
use ephor_kubernetes::schema::{ListKind, Type};
use ephor_patch::schema::Schema;
use ephor_value::{Map, Object, Str, Value};

use crate::effects::writes::model::{Done, PlaceType, WriteCollector, Written};
use crate::model::field_types::{Resolved, keyed_at};
use crate::model::unsupported::Unsupported;

/// The fields of an item in a literal.
fn fields_of(item: &Value) -> Result<&Map, Unsupported> {
    match item {
        Value::Map(map) => Ok(map),
        Value::Object(object) => match &**object {
            Object::Struct(_, fields) => Ok(fields),
            _ => Err(Unsupported::Computed),
        },
        _ => Err(Unsupported::ItemsChanged),
    }
}

/// The values of the keys of an item.
fn known_keys(keys: &[Str], key: impl Fn(&Str) -> Option<Value>) -> Result<Vec<(&Str, Value)>, Unsupported> {
    let all = keys.iter().map(|name| Some((name, key(name)?)));
    all.collect::<Option<_>>().ok_or(Unsupported::ItemsChanged)
}

impl<'r> WriteCollector<'r> {
    /// The items of a list in a document that is merged.
    pub(crate) fn merged_list(&mut self, items: &[Value], schema: Schema, depth: usize) -> Done {
        match schema {
            Schema::Keyed(keys, item) => {
                // Another item may be meant where a server knows items by more keys.
                let is_known =
                    keyed_at(self.types, self.kind, &self.path).is_some_and(|(own, _)| own == keys);
                if items.is_empty() || !is_known {
                    return Err(Unsupported::ItemsChanged);
                }
                items.iter().try_for_each(|one| {
                    let fields = fields_of(one)?;
                    self.constant_item(fields, keys, |own, key, value| {
                        own.layer(value, Schema::of(item).field(key), depth + 1)
                    })
                })
            }
            Schema::Set => Err(Unsupported::ItemsChanged),
            // Whatever it holds takes the place of the other one; nested lists and objects are no
            // patches of their own.
            Schema::Unknown | Schema::Object(_) => {
                self.add(Written::WholeList);
                Ok(())
            }
        }
    }

    /// The items of a constant list of an `Object` literal.
    pub(crate) fn applied_items(&mut self, items: &[Value], at: PlaceType<'r>, depth: usize) -> Done {
        let Resolved::List(ListKind::Keyed(keys), item) = at.resolved(self.types) else {
            return Err(Unsupported::ItemsChanged);
        };
        (!items.is_empty()).then_some(()).ok_or(Unsupported::ItemsChanged)?;
        items.iter().try_for_each(|one| self.applied_item(one, (keys, item), depth))
    }

    /// A constant item of an `Object` literal.
    fn applied_item(&mut self, one: &Value, (keys, item): (&[Str], &'r Type), depth: usize) -> Done {
        self.constant_item(fields_of(one)?, keys, |own, key, value| {
            let at = PlaceType::Type(item).field(own.types, key);
            own.applied_value(value, at, own.is_whole(at), depth + 1)
        })
    }

    /// The items of a list of an `Object` literal.
    pub(crate) fn made_items(&mut self, items: &'r [Expr], at: PlaceType<'r>, depth: usize) -> Done {
        let Resolved::List(ListKind::Keyed(keys), item) = at.resolved(self.types) else {
            return Err(Unsupported::ItemsChanged);
        };
        (!items.is_empty()).then_some(()).ok_or(Unsupported::ItemsChanged)?;
        items.iter().try_for_each(|one| {
            let one = self.plain(one);
            if let Some(value) = one.constant() {
                return self.applied_item(value, (keys, item), depth);
            }
            let Expr::Make(make) = one else { return Err(Unsupported::ItemsChanged) };
            let Make::Struct(_, fields) = &**make else { return Err(Unsupported::ItemsChanged) };
            let key = |key: &Str| {
                let mut own = fields.iter().filter(|(name, _, is_optional)| name == key && !is_optional);
                own.next().and_then(|(_, value, _)| self.plain(value).constant()).and_then(known)
            };
            let known = known_keys(keys, key)?;
            self.items(|own| {
                own.keyed(&known)?;
                fields.iter().filter(|(name, ..)| !keys.contains(name)).try_for_each(
                    |(name, value, is_optional)| {
                        let at = PlaceType::Type(item).field(own.types, name);
                        own.below(name, |own| match is_optional {
                            true => own.optional(value, at, depth + 1),
                            false => own.applied(value, at, depth + 1),
                        })
                    },
                )
            })
        })
    }

    fn constant_item(
        &mut self,
        fields: &Map,
        keys: &[Str],
        mut write: impl FnMut(&mut Self, &Str, &Value) -> Done,
    ) -> Done {
        let key = |key: &'_ Str| fields.get(key).and_then(known);
        let known = known_keys(keys, key)?;
        self.items(|own| {
            own.keyed(&known)?;
            fields
                .iter()
                .filter(|(name, _)| !keys.contains(name))
                .try_for_each(|(name, value)| own.below(name, |own| write(own, name, value)))
        })
    }

    /// The keys of an item.
    fn keyed(&mut self, keys: &[(&Str, Value)]) -> Done {
        self.add(Written::Shape);
        keys.iter().try_for_each(|(key, value)| {
            self.below(key, |own| {
                own.add(Written::Key(value.clone()));
                Ok(())
            })
        })
    }
}

/// A value that identifies an item.
fn known(value: &Value) -> Option<Value> {
    match value {
        Value::Str(text) => (!text.is_empty() && !text.contains(['*', '?'])).then(|| value.clone()),
        Value::Int(_) => Some(value.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_known_by_texts_and_numbers() {
        assert!(known(&Value::from("a")).is_some() && known(&Value::Int(80)).is_some());
        for other in [Value::from(""), Value::from("a*"), Value::Null, Value::map([("a", Value::Null)])] {
            assert_eq!(known(&other), None);
        }
        assert_eq!(fields_of(&Value::from("a")), Err(Unsupported::ItemsChanged));
        assert!(matches!(fields_of(&Value::map([("name", Value::from("a"))])), Ok(map) if map.len() == 1));
    }
}
