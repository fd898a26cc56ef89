//! Which values that are compared may be lists, or objects with any keys.
//!
//! In: what is read of an object, and its schema. Out: whether an expression gives one. Of two that
//! are compared with each other each item that stays needs the same one in the other list.

use std::collections::BTreeSet;

use ephor_analysis::reads::{ReadTree, Step};
use ephor_ir::Expr;
use ephor_kubernetes::Types;
use ephor_kubernetes::schema::{Leaf, Type, TypeDef};
use ephor_value::Str;

use crate::lists::small_model::model::key_of;
use crate::model::field_types::type_at;

/// The kind of the objects, and what is known of what is read of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shapes {
    kind: [Str; 3],
    /// Whether some list, or what may be one, is read as a whole.
    has_whole_lists: bool,
    /// The names of fields that are read so, in objects of any kind; `None`: they are not known.
    whole_lists: Option<BTreeSet<Str>>,
}

impl Shapes {
    /// Of the objects of a kind; `None`: what is read is not known.
    pub fn new(kind: &[Str; 3], reads: Option<[&ReadTree; 3]>) -> Shapes {
        let types = Types::built_in();
        let def = types.of_object(kind).map(|def| &**def);
        let has_whole_lists =
            reads.is_none_or(|all| all.into_iter().any(|tree| fields_may_be_lists(tree, def, types)));
        let mut found = BTreeSet::new();
        for tree in reads.into_iter().flatten() {
            names_of_lists(tree, def, types, &mut found);
        }
        Shapes { kind: kind.clone(), has_whole_lists, whole_lists: reads.map(|_| found) }
    }

    /// Whether some list, or what may be one, is read as a whole.
    pub(crate) fn has_whole_lists(&self) -> bool {
        self.has_whole_lists
    }

    /// Whether an expression may give a list that is read as a whole.
    pub(crate) fn may_be_list(&self, expr: &Expr) -> bool {
        self.has_whole_lists
            && match (keys(expr), last_key(expr)) {
                (Some(keys), _) => self.may_be_list_at(&keys),
                (None, Some(key)) => self.whole_lists.as_ref().is_none_or(|known| known.contains(key)),
                (None, None) => true,
            }
    }

    /// Whether an expression reads a field that is no list, whatever stands for it where it is
    /// missing.
    pub(crate) fn is_scalar(&self, expr: &Expr) -> bool {
        keys(expr).is_some_and(|keys| !self.may_be_list_at(&keys))
    }

    fn may_be_list_at(&self, keys: &[&str]) -> bool {
        let types = Types::built_in();
        let place: Vec<Step> = keys.iter().map(|key| Step::Key(Str::from(*key))).collect();
        match type_at(types, &self.kind, &place) {
            Some(Type::Leaf(leaf)) => *leaf == Leaf::Any,
            Some(Type::Named(name, _)) => types.named(name).is_none_or(|def| def.open),
            _ => true,
        }
    }
}

/// The fields of the object that an expression reads one below the other.
fn keys(expr: &Expr) -> Option<Vec<&str>> {
    match expr {
        Expr::Once { expr, .. } | Expr::Rescue { expr, .. } => keys(expr),
        // What stands for a missing one is no list of the object.
        Expr::Or(sides) | Expr::OrElse { sides, .. } => match &**sides {
            [first, Expr::Const(_)] => keys(first),
            _ => None,
        },
        Expr::Walk(walk) => {
            let mut all = keys(&walk.base)?;
            for step in &walk.steps {
                all.push(key_of(step)?);
            }
            Some(all)
        }
        Expr::Path { base, keys, .. } if **base == Expr::Root => {
            let keys: Vec<&str> = keys.iter().map(|key| &**key).collect();
            let keys = keys.strip_prefix(&["request"]).unwrap_or(&keys);
            match keys {
                ["object" | "oldObject", rest @ ..] => Some(rest.to_vec()),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The last of the fields that an expression reads, of whatever it reads them.
fn last_key(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Once { expr, .. } | Expr::Rescue { expr, .. } => last_key(expr),
        Expr::Path { keys, .. } => keys.last().map(|key| &**key),
        Expr::Walk(walk) => walk.steps.last().map_or_else(|| last_key(&walk.base), key_of),
        _ => None,
    }
}

/// Whether objects may have a field: an API server drops what their kind does not have.
fn may_have(def: Option<&TypeDef>, key: &str) -> bool {
    def.is_none_or(|def| def.open || def.field(key).is_some())
}

/// The names of fields that may be lists and are read as a whole, or below which something is that
/// may be one.
fn names_of_lists(tree: &ReadTree, def: Option<&TypeDef>, types: &Types, out: &mut BTreeSet<Str>) {
    for (key, below) in tree.keys.iter().filter(|(key, _)| may_have(def, key)) {
        let ty = def.and_then(|def| def.field(key)).map(|field| &field.ty);
        if may_be_list(below, ty, types) {
            out.insert(key.clone());
        }
        let mut own = ty;
        while let Some(Type::List(_, inner) | Type::Map(inner, _)) = own {
            own = Some(inner);
        }
        let def = match own {
            Some(Type::Named(name, _)) => types.named(name).map(|def| &**def),
            _ => None,
        };
        let items = below.items.as_deref().into_iter().chain(below.nested.as_deref());
        for tree in std::iter::once(below).chain(items) {
            names_of_lists(tree, def, types, out);
        }
    }
}

fn fields_may_be_lists(tree: &ReadTree, def: Option<&TypeDef>, types: &Types) -> bool {
    tree.keys.iter().filter(|(key, _)| may_have(def, key)).any(|(key, below)| {
        let ty = def.and_then(|def| def.field(key)).map(|field| &field.ty);
        may_be_list(below, ty, types)
    })
}

fn may_be_list(tree: &ReadTree, ty: Option<&Type>, types: &Types) -> bool {
    let below = |ty: Option<&Type>| {
        let entries = tree.keys.iter().map(|(_, below)| below);
        let items = tree.items.as_deref().into_iter().chain(tree.nested.as_deref());
        entries.chain(items).any(|below| may_be_list(below, ty, types))
    };
    match ty {
        Some(Type::Leaf(leaf)) if *leaf != Leaf::Any => false,
        Some(Type::List(_, inner) | Type::Map(inner, _)) => tree.whole || below(Some(inner)),
        Some(Type::Named(name, _)) => match types.named(name) {
            Some(def) if def.leaf.is_some() => false,
            Some(def) if !def.open => fields_may_be_lists(tree, Some(def), types),
            _ => tree.whole || below(None),
        },
        _ => tree.whole || below(None),
    }
}
