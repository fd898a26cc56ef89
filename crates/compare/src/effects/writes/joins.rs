//! Texts that join a value of each item of a list, or of those that are chosen.
//!
//! In: an expression of either language. Out: that the values are copied, and what decides about an
//! item. Such a text has a part for each item, in their order, and nothing else that depends on
//! them. So sides that put such texts together alike for no item, for each item and for each two do
//! so for all lists: two items show what stands between them.

use ephor_analysis::reads::Step;
use ephor_functions::registry::Operation;
use ephor_ir::Expr;
use ephor_ir::strict::{Comprehension, ComprehensionKind};
use ephor_kubernetes::schema::Leaf;
use ephor_value::Value;

use crate::effects::writes::model::{CopyKind, WriteCollector, in_items};
use crate::effects::writes::places::{in_item, lists_in_turn, lists_of, unfiltered};
use crate::model::unsupported::Unsupported;

impl<'r> WriteCollector<'r> {
    /// The list of texts that is joined, if an expression does so with a constant between them.
    pub(crate) fn joined_list(&self, expr: &'r Expr) -> Option<&'r Expr> {
        let (list, between) = match (expr.invoked(), expr.applied()) {
            (Some((Operation::Join, [list, between])), _) => (list, between),
            (_, Some((Operation::Join, [between, list]))) => (list, between),
            _ => return None,
        };
        self.plain(between).constant().and_then(Value::as_str).map(|_| self.plain(list))
    }

    /// What is joined: the same for every item.
    pub(crate) fn join(&mut self, list: &'r Expr, wanted: CopyKind) -> Result<bool, Unsupported> {
        let is_one = matches!(wanted, CopyKind::Scalar | CopyKind::Text | CopyKind::Any);
        // Two in one text may stand in another order than their items.
        if !is_one
            || !self.loops.is_empty()
            || !self.elements.is_empty()
            || self.found.joins.contains(&self.path)
        {
            return Err(Unsupported::Computed);
        }
        let (lists, below) = match (self.is_document, list) {
            (false, Expr::Comprehension(l)) => self.mapped(l)?,
            (true, Expr::Project { source, body: Some(body), .. }) => {
                let source = if let Expr::Rescue { expr, .. } = &**source { expr } else { source };
                (lists_of(source).ok_or(Unsupported::Computed)?, in_item(body).ok_or(Unsupported::Computed)?)
            }
            _ => return Err(Unsupported::Computed),
        };
        for list in lists {
            let place = in_items(&list, &below);
            if self.leaf(&place) != Some(Leaf::String) {
                return Err(Unsupported::Computed);
            }
            if self.is_document {
                self.found.quoted.insert(place.clone());
            }
            self.found.copied.insert(place);
            self.found.named.insert(list);
        }
        self.found.joins.insert(self.path.clone());
        Ok(false)
    }

    /// The lists of a loop in CEL, and the place in an item.
    fn mapped(&mut self, l: &'r Comprehension) -> Result<(Vec<Vec<Step>>, Vec<Step>), Unsupported> {
        let (range, chosen) = unfiltered(&l.range);
        let range = self.plain(range);
        let lists = lists_in_turn(range).ok_or(Unsupported::Computed)?;
        let below = in_item(&l.body).ok_or(Unsupported::Computed)?;
        if l.kind != ComprehensionKind::List || l.two {
            return Err(Unsupported::Computed);
        }
        self.loops.push((range, false));
        let done = chosen.into_iter().chain(&l.keep).try_for_each(|keep| self.condition(keep));
        self.loops.pop();
        done?;
        Ok((lists, below))
    }
}
