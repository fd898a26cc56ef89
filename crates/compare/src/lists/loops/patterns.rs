//! Patterns of lists, taken out of patterns.
//!
//! In: a pattern. Out: the patterns of its lists, each alone, and the pattern without them.

use ephor_analysis::reads::Step;
use ephor_ir::check::Check;
use ephor_ir::shape::{Anchor, Pattern};
use ephor_lower::LATE;
use ephor_value::{Map, Str, Value};

use crate::lists::iteration::{List, Range};
use crate::lists::loops::conditions::is_scalar;
use crate::lists::loops::{CutPart, LoopCutter};
use crate::normal::patterns::has_global_anchor;

impl LoopCutter<'_> {
    /// Takes out the patterns of lists.
    pub(crate) fn pattern(&mut self, pattern: &Pattern, again: &dyn Fn(Pattern) -> Check) -> Option<Pattern> {
        if has_global_anchor(&pattern.source) {
            return None;
        }
        let chain = chain(&pattern.source);
        if self.is_inner {
            let lists = chain.filter(|lists| lists.len() > 1)?;
            let rest = LATE.pattern(&without_last(&pattern.source, lists.len()))?;
            self.found.push(CutPart { check: again(pattern.clone()), lists, by_key: false });
            return Some(rest);
        }
        let mut lists = Vec::new();
        let rest = without_lists(&pattern.source, &mut Vec::new(), &mut lists);
        // What anchors decide is known of the whole alone.
        if lists.is_empty() || (pattern.anchors > 0 && chain.is_none()) {
            return None;
        }
        for (path, key, of_items) in lists {
            let list = Range { lists: vec![path.clone()], outer: Vec::new(), is_plain: true };
            let single = |key: Str, below: Value| Value::Map([(key, below)].into_iter().collect());
            let above = path.iter().rev().skip(1).filter_map(|step| match step {
                Step::Key(key) => Some(key.clone()),
                _ => None,
            });
            let alone = above.fold(single(key, of_items), |below, key| single(key, below));
            let alone = if chain.is_some() { &pattern.source } else { &alone };
            self.add(again(LATE.pattern(alone)?), &list);
        }
        LATE.pattern(&rest)
    }
}

/// A pattern without its lists, which are given with the fields that lead there, the key as written
/// and the pattern.
fn without_lists(of: &Value, path: &mut List, lists: &mut Vec<(List, Str, Value)>) -> Value {
    let Value::Map(map) = of else { return of.clone() };
    let mut rest = Map::new();
    for (raw, below) in map.iter() {
        let (anchor, key) = Anchor::parse(raw);
        path.push(Step::Key(key.into()));
        // Of what must not be there no more is read.
        let is_field = !key.contains(['*', '?']) && !matches!(anchor, Anchor::Negation);
        match below {
            Value::List(_) if is_field && item(below).is_some() => {
                let key = if matches!(anchor, Anchor::Existence) { raw.clone() } else { key.into() };
                lists.push((path.clone(), key, below.clone()));
            }
            Value::Map(_) if is_field => {
                rest.insert::<Str>(raw.clone(), without_lists(below, path, lists));
            }
            other => {
                rest.insert::<Str>(raw.clone(), other.clone());
            }
        }
        path.pop();
    }
    Value::Map(rest)
}

/// What each item of a list must look like.
fn item(pattern: &Value) -> Option<&Value> {
    match pattern.as_list()? {
        [one] if is_scalar(one) || one.as_map().is_some() => Some(one),
        _ => None,
    }
}

/// The lists of a pattern that is one field, or one list, below the other, without conditions on
/// the way; the innermost last.
fn chain(pattern: &Value) -> Option<Vec<List>> {
    let (mut at, mut path, mut lists) = (pattern, List::new(), Vec::new());
    loop {
        match at {
            Value::Map(map) => {
                let mut entries = map.iter();
                let (Some((raw, below)), None) = (entries.next(), entries.next()) else { break };
                let (anchor, key) = Anchor::parse(raw);
                let is_free = matches!(anchor, Anchor::None | Anchor::Equality)
                    || (matches!(anchor, Anchor::Existence) && item(below).is_some());
                if !is_free || key.contains(['*', '?']) {
                    break;
                }
                path.push(Step::Key(key.into()));
                at = below;
            }
            Value::List(_) => {
                let Some(one) = item(at) else { break };
                lists.push(path.clone());
                path.push(Step::Items);
                at = one;
            }
            _ => break,
        }
    }
    (!lists.is_empty()).then_some(lists)
}

/// A pattern that is one field or list below the other without the innermost of this many lists.
fn without_last(pattern: &Value, lists: usize) -> Value {
    match pattern {
        Value::Map(map) => {
            let inner = map.iter().filter(|(_, below)| lists > 1 || below.as_list().is_none());
            Value::Map(inner.map(|(key, below)| (key.clone(), without_last(below, lists))).collect())
        }
        Value::List(_) => item(pattern)
            .map_or_else(|| pattern.clone(), |one| Value::list(vec![without_last(one, lists - 1)])),
        other => other.clone(),
    }
}
