//! Objects that are compared as a whole.
//!
//! In: an object of which nothing is read but whether it equals those at other places. Out: objects
//! that stand for all: different ones, which are the same at all of these places. What is equal to
//! what says all that such a comparison can depend on.

use std::collections::BTreeSet;

use ephor_analysis::reads::{ReadTree, Step};
use ephor_kubernetes::schema::{Leaf, Type, TypeDef};
use ephor_value::Value;

use crate::model::limits::MAX_WHOLE_DEPTH;
use crate::objects::choice::{Choice, plain};
use crate::objects::domain::Domain;

/// This many different objects are enough for two places in items of a list, and one more.
const DIFFERENT: usize = 3;

impl Domain<'_> {
    /// Different objects for all that are compared with each other; `None` where more is read, or
    /// with what they are compared is not known.
    pub(crate) fn compared_objects(
        &self,
        tree: &ReadTree,
        def: &TypeDef,
        depth: usize,
    ) -> Option<Vec<Choice>> {
        (tree.whole && tree.compared && self.is_plain(def, 0)).then_some(())?;
        let related: BTreeSet<_> = self.tested.related_to(&self.at).collect();
        let is_alike = |place: &&Vec<Step>| self.type_at(place) == Some(&*def.name);
        (!related.is_empty() && related.len() <= 2 && related.iter().all(is_alike)).then_some(())?;
        let found: Vec<Choice> = self.with_one_field(def, depth).into_iter().take(DIFFERENT).collect();
        (found.len() == DIFFERENT).then_some(found)
    }

    /// The lists and objects that a field is compared with as a whole, as far as it can have them.
    pub(crate) fn compared_constants(&self, tree: &ReadTree, ty: Option<&Type>) -> Vec<Choice> {
        if !tree.whole {
            return Vec::new();
        }
        let fits = |whole: &Value| {
            matches!(
                (ty, whole),
                (None, _) | (Some(Type::List(..)), Value::List(_)) | (Some(Type::Map(..)), Value::Map(_))
            )
        };
        self.tested.at(&self.at).wholes.iter().filter(|whole| fits(whole)).cloned().map(plain).collect()
    }

    /// The name of the type of the objects at a place.
    fn type_at(&self, place: &[Step]) -> Option<&str> {
        let mut def = self.types.of_object(&self.kind)?;
        let (last, way) = place.split_last()?;
        let mut ty: Option<&Type> = None;
        for step in way.iter().chain([last]) {
            ty = Some(match (step, ty) {
                (Step::Key(key), None) => &def.field(key)?.ty,
                (Step::Key(key), Some(Type::Named(name, _))) => {
                    def = self.types.named(name)?;
                    &def.field(key)?.ty
                }
                (Step::Items, Some(Type::List(_, item))) => item,
                _ => return None,
            });
        }
        match ty? {
            Type::Named(name, _) => Some(name),
            _ => None,
        }
    }

    /// Whether all languages find objects of a type equal when they are the same: numbers with and
    /// without a fraction are not.
    fn is_plain(&self, def: &TypeDef, depth: usize) -> bool {
        depth <= MAX_WHOLE_DEPTH
            && match def.leaf {
                Some(leaf) => !matches!(leaf, Leaf::Any | Leaf::Double),
                None => def.fields.iter().all(|field| self.is_plain_type(&field.ty, depth + 1)),
            }
    }

    fn is_plain_type(&self, ty: &Type, depth: usize) -> bool {
        match ty {
            Type::Leaf(leaf) => !matches!(leaf, Leaf::Any | Leaf::Double),
            Type::List(_, inner) | Type::Map(inner, _) => self.is_plain_type(inner, depth),
            Type::Named(name, _) => self.types.named(name).is_some_and(|def| self.is_plain(def, depth)),
        }
    }
}
