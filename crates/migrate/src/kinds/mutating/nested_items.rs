//! Items of nested lists that are changed, as JSON pointers.
//!
//! In: the lists around a value, from the outermost to the innermost, each with what says which of
//! its items count. Out: where the value is in a JSON patch, and expressions that give patches for
//! each of the items.

use crate::kinds::mutating::constant::Place;
use crate::kinds::mutating::loops::over_items;

/// The name of an item in expressions.
pub const ITEM: &str = "item";

/// The name of an item of an item's list.
const INNER: &str = "inner";

/// Items of a list that are changed.
#[derive(Clone)]
pub struct ChangedItems {
    /// The list.
    list: Place,
    /// The name of an item in expressions.
    pub var: String,
    /// Which items count; empty = all.
    test: String,
    /// Whether they are elements of a loop, or belong to one.
    pub is_element: bool,
    /// The items that have the list.
    pub around: Option<Box<ChangedItems>>,
}

impl ChangedItems {
    /// Items of a list of the object for which a test holds.
    pub fn chosen(list: &Place, var: &str, test: String, is_element: bool) -> ChangedItems {
        ChangedItems { list: list.clone(), var: var.into(), test, is_element, around: None }
    }

    /// The item with a name, an expression, in a list of the object or of the items around.
    pub fn named(list: &Place, named: &str, around: Option<&ChangedItems>) -> ChangedItems {
        let var = ChangedItems::var_in(around);
        let prefix = around.map_or_else(|| list.prefix.clone(), ChangedItems::prefix);
        ChangedItems {
            list: Place { prefix, ..list.clone() },
            var: var.into(),
            test: format!("{var}.name == {named}"),
            is_element: around.is_some_and(|around| around.is_element),
            around: around.cloned().map(Box::new),
        }
    }

    /// The name of an item in a list of the object, or of the items around.
    pub fn var_in(around: Option<&ChangedItems>) -> &'static str {
        match around {
            None => ITEM,
            Some(_) => INNER,
        }
    }

    /// Whether expressions reach the items: the list is one of the object, or one of an item that
    /// is reached.
    pub fn is_reached(&self) -> bool {
        match &self.around {
            None => self.list.text == "object",
            Some(around) => around.around.is_none() && *self.list.text == *around.var && around.is_reached(),
        }
    }

    /// Where an item begins in a JSON patch, as an expression.
    pub fn prefix(&self) -> String {
        self.list.at(&self.var, self.position()).prefix
    }

    fn position(&self) -> &'static str {
        match self.around {
            None => "index",
            Some(_) => "innerIndex",
        }
    }

    /// The patches of a body for each item.
    pub fn each(&self, body: String) -> String {
        let own = over_items(&self.list.or_empty(), self.position(), &self.var, &self.test, &[body], false);
        match &self.around {
            None => own,
            Some(around) => around.each(own),
        }
    }
}
