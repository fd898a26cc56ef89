//! What values keep alive on the heap, for caches that have a limit.
//!
//! In: texts, lists and values that a cache keeps. Out: copies that share nothing with the
//! documents they came from, without spare room, and the bytes that these were allocated with. What
//! an allocator adds is not in it.

use std::sync::Arc;

use super::{List, Map, Str, Value};

/// The two counters in front of what an [`Arc`] shares.
pub const COUNTERS: usize = 2 * size_of::<usize>();

/// The bytes of a shared thing of this size.
pub const fn shared(bytes: usize) -> usize {
    (COUNTERS + bytes).next_multiple_of(align_of::<usize>())
}

/// The bytes that the list itself needs, not what its items lead to.
pub fn of_vec<T>(items: &Vec<T>) -> usize {
    items.capacity() * size_of::<T>()
}

/// Takes the spare room from a list. A shrunk allocation may stay as large as it was, so that the
/// items move to another one.
pub fn fit<T>(items: &mut Vec<T>) {
    if items.capacity() > items.len() {
        let mut exact = Vec::with_capacity(items.len());
        exact.append(items);
        *items = exact;
    }
}

/// The same for a text.
pub fn fit_text(text: &mut String) {
    if text.capacity() > text.len() {
        *text = String::from(&**text);
    }
}

/// The bytes of a text that nothing else holds; 0 when something does.
pub fn of_own(text: &Str) -> usize {
    if Arc::strong_count(text) > 1 { 0 } else { shared(text.len()) }
}

/// Makes a text one that nothing else holds.
pub fn detach(text: &mut Str) {
    if Arc::strong_count(text) > 1 {
        *text = Str::from(&**text);
    }
}

impl Value {
    /// A copy that shares nothing with this value.
    #[must_use]
    pub fn detached(&self) -> Value {
        match self {
            Value::Str(text) => Value::Str(Str::from(&**text)),
            Value::List(list) => Value::List(list.with_items(list.iter().map(Value::detached).collect())),
            Value::Map(map) => {
                let mut items = Vec::with_capacity(map.len());
                items.extend(map.iter().map(|(k, v)| (Str::from(&**k), v.detached())));
                Value::Map(Map::from_unique(items))
            }
            Value::Bytes(bytes) => Value::Bytes(Arc::from(&**bytes)),
            other => other.clone(),
        }
    }

    /// The bytes on the heap that the value leads to, each part counted wherever it is held.
    pub fn footprint(&self) -> usize {
        match self {
            Value::Str(text) => shared(text.len()),
            Value::List(list) => {
                List::OWN + size_of_val::<[Value]>(list) + list.iter().map(Value::footprint).sum::<usize>()
            }
            Value::Map(map) => {
                let entries = map.iter().map(|(k, v)| shared(k.len()) + v.footprint());
                Map::OWN + map.len() * size_of::<(Str, Value)>() + entries.sum::<usize>()
            }
            Value::Bytes(bytes) => shared(bytes.len()),
            Value::Object(_) => shared(size_of::<super::Object>()),
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detached_value_is_equal_and_shares_nothing() {
        let value = Value::map([("a", Value::list(vec!["b".into(), Value::Int(1), Value::Null]))]);
        let copy = value.detached();
        assert_eq!(copy, value);
        let text = |of: &Value| match of.get("a").and_then(Value::as_list).and_then(<[Value]>::first) {
            Some(Value::Str(text)) => Some(text.as_ptr()),
            _ => None,
        };
        assert!(text(&copy).is_some());
        assert_ne!(text(&copy), text(&value));
    }

    #[test]
    fn lists_lose_their_spare_room() {
        let mut list = Vec::with_capacity(100);
        list.push(1u64);
        fit(&mut list);
        assert_eq!((list.capacity(), of_vec(&list)), (1, 8));
        let mut text = String::with_capacity(100);
        text.push('a');
        fit_text(&mut text);
        assert_eq!(text.capacity(), 1);
    }

    #[test]
    fn a_text_that_others_hold_is_theirs_until_it_is_copied() {
        let mut text: Str = "a text".into();
        let other = text.clone();
        assert_eq!(of_own(&text), 0);
        detach(&mut text);
        assert_eq!((of_own(&text), &*text), (24, &*other));
    }
}
