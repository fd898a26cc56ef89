//! Entries of maps under keys that are put together, one for each container.
//!
//! In: a loop over the containers of a pod that gives an entry whose key has the name of the
//! container as a part. Out: that entries are written into the map. All have the same value, so it
//! does not matter whether the key of one is that of another.

use ephor_analysis::reads::Step;
use ephor_ir::strict::{Comprehension, ComprehensionKind, Make};
use ephor_ir::template::Part;
use ephor_ir::{Expr, Template};
use ephor_value::{Str, Value};

use crate::effects::writes::model::{CopyKind, Done, PlaceType, WriteCollector, Written, in_items};
use crate::effects::writes::places::{has_plain_names, lists_in_turn};
use crate::model::field_types::Resolved;
use crate::model::unsupported::Unsupported;

impl<'r> WriteCollector<'r> {
    /// A map that a loop puts together.
    pub(crate) fn made_entries(&mut self, l: &'r Comprehension, at: PlaceType<'r>) -> Done {
        let lists = lists_in_turn(&l.range).ok_or(Unsupported::Computed)?;
        let is_map = matches!(at.resolved(self.types), Resolved::Map(..)) && !self.is_whole(at);
        let is_loop = l.kind == ComprehensionKind::Entries && l.two;
        if !is_map || !is_loop || !self.loops.is_empty() || self.is_in_list() {
            return Err(Unsupported::Computed);
        }
        self.loops.push((&l.range, true));
        let done = match &l.keep {
            Some(keep) => self.condition(keep),
            None => Ok(()),
        };
        let done = done.and_then(|()| {
            let Expr::Make(make) = self.plain(&l.body) else { return Err(Unsupported::Computed) };
            let Make::Map(entries) = &**make else { return Err(Unsupported::Computed) };
            let [(key, value, false)] = &**entries else { return Err(Unsupported::Computed) };
            let value = self.plain(value).constant().ok_or(Unsupported::Computed)?;
            self.taken(key, CopyKind::Text)?;
            self.entry(value, &lists)
        });
        self.loops.pop();
        done
    }

    /// A member of a document whose key has variables.
    pub(crate) fn filled_key(&mut self, key: &'r Template, value: &Template, at: PlaceType<'r>) -> Done {
        let Template::Text(text) = key else { return Err(Unsupported::Computed) };
        // What a key starts with may be an anchor.
        let is_plain = matches!(text.parts.first(), Some(Part::Literal(text))
            if text.starts_with(|c: char| c.is_ascii_lowercase()) && !text.contains('('));
        let is_map = matches!(at.resolved(self.types), Resolved::Map(..)) && !self.is_in_list();
        let Some(value) = value.as_const().filter(|_| is_plain && is_map) else {
            return Err(Unsupported::Computed);
        };
        self.is_key = true;
        let done = self.filled_in(key, CopyKind::Scalar);
        self.is_key = false;
        done?;
        let lists = self.elements.clone();
        self.entry(value, &lists)
    }

    fn entry(&mut self, value: &Value, lists: &[Vec<Step>]) -> Done {
        let is_known = !lists.is_empty() && lists.iter().all(|list| has_plain_names(list));
        if !is_known || !matches!(value, Value::Str(text) if !text.is_empty()) {
            return Err(Unsupported::Computed);
        }
        self.add(Written::Shape);
        self.found.entries.push((self.path.clone(), value.clone()));
        self.are_apart(lists, &"name".into());
        Ok(())
    }

    /// Items of these lists are taken to have different names.
    pub(crate) fn are_apart(&mut self, lists: &[Vec<Step>], key: &Str) {
        let named = |list: &Vec<Step>| in_items(list, &[Step::Key(key.clone())]);
        self.found.named.extend(lists.iter().cloned());
        self.found.apart.insert(lists.iter().map(named).collect());
    }
}

/// Whether entries under keys that are put together are the only ones that are written into their
/// maps, and all the same.
pub(crate) fn are_alike(
    entries: &[(Vec<Step>, Value)],
    places: &[(Vec<Step>, Written)],
) -> Result<(), Unsupported> {
    for (map, value) in entries {
        let is_below = |(place, _): &(Vec<Step>, Written)| place.len() > map.len() && place.starts_with(map);
        let is_other = |(other, own): &(Vec<Step>, Value)| other == map && own != value;
        let replaces = |(place, written): &(Vec<Step>, Written)| {
            map.starts_with(place) && !matches!(written, Written::Shape)
        };
        if places.iter().any(|one| is_below(one) || replaces(one)) || entries.iter().any(is_other) {
            return Err(Unsupported::SameKeys);
        }
    }
    Ok(())
}
