//! What expressions see at a place: a scalar, a part of a typed object, something they made.
//!
//! In: the fields of a kind. Out: [`Seen`], the form of a value with as much of its type as the
//! differences between releases depend on.

use std::sync::Arc;

use ephor_kubernetes::schema::{Leaf, Type, TypeDef, Types};

/// What a value is.
#[derive(Clone, Debug)]
pub(super) enum Seen {
    /// Nothing yet: the items of `[]`.
    Never,
    /// No parts.
    Scalar(Scalar),
    /// A structure of a schema, or of one of several.
    Struct(Vec<Arc<TypeDef>>),
    /// A structure of the request, whose fields are known by name.
    Known(&'static [(&'static str, KnownField)]),
    /// A list of a typed object.
    List(Box<Seen>),
    /// A map of a typed object.
    Map(Box<Seen>),
    /// A list or map that an expression made, with what its items or values are.
    Made(Form, Box<Seen>),
    /// A part of an object that no release shows with types: of a custom resource, of a mutation
    /// without conditions.
    Tree,
    /// Anything.
    Unknown,
}

/// What an expression made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A list.
    List,
    /// A map.
    Map,
    /// One of both.
    Either,
}

impl Form {
    fn or(self, other: Form) -> Form {
        if self == other { self } else { Form::Either }
    }
}

/// A value without parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    /// A text.
    Text,
    /// An integer.
    Whole,
    /// Null.
    Null,
    /// Another one, or one of several.
    Other,
}

/// A field of the request.
#[derive(Clone, Copy, Debug)]
pub(super) enum KnownField {
    /// A scalar.
    Scalar(Scalar),
    /// A list of texts.
    Texts,
    /// A structure.
    Struct(&'static [(&'static str, KnownField)]),
    /// Anything.
    Unknown,
}

const TEXT: KnownField = KnownField::Scalar(Scalar::Text);
const KIND: &[(&str, KnownField)] = &[("group", TEXT), ("version", TEXT), ("kind", TEXT)];
const RESOURCE: &[(&str, KnownField)] = &[("group", TEXT), ("version", TEXT), ("resource", TEXT)];
const USER: &[(&str, KnownField)] =
    &[("username", TEXT), ("uid", TEXT), ("groups", KnownField::Texts), ("extra", KnownField::Unknown)];

/// `request`.
pub(super) const REQUEST: &[(&str, KnownField)] = &[
    ("uid", TEXT),
    ("kind", KnownField::Struct(KIND)),
    ("resource", KnownField::Struct(RESOURCE)),
    ("subResource", TEXT),
    ("requestKind", KnownField::Struct(KIND)),
    ("requestResource", KnownField::Struct(RESOURCE)),
    ("requestSubResource", TEXT),
    ("name", TEXT),
    ("namespace", TEXT),
    ("operation", TEXT),
    ("userInfo", KnownField::Struct(USER)),
    ("dryRun", KnownField::Scalar(Scalar::Other)),
    ("options", KnownField::Unknown),
];

impl Seen {
    /// A value of a type.
    pub fn of(ty: &Type, types: &Types) -> Seen {
        match ty {
            Type::Leaf(leaf) => Seen::of_leaf(*leaf),
            Type::Named(name, _) => types.named(name).map_or(Seen::Unknown, Seen::of_def),
            Type::List(_, item) => Seen::List(Box::new(Seen::of(item, types))),
            Type::Map(value, _) => Seen::Map(Box::new(Seen::of(value, types))),
        }
    }

    /// A value of a description.
    pub fn of_def(def: &Arc<TypeDef>) -> Seen {
        match def.leaf {
            Some(leaf) => Seen::of_leaf(leaf),
            None if def.open => Seen::Unknown,
            None if def.custom => Seen::Tree,
            None => Seen::Struct(vec![def.clone()]),
        }
    }

    fn of_leaf(leaf: Leaf) -> Seen {
        Seen::Scalar(match leaf {
            Leaf::String | Leaf::Bytes | Leaf::Time | Leaf::MicroTime | Leaf::Quantity => Scalar::Text,
            Leaf::Int32 | Leaf::Int64 => Scalar::Whole,
            Leaf::IntOrString | Leaf::Double | Leaf::Bool => Scalar::Other,
            Leaf::Any => return Seen::Unknown,
        })
    }

    /// A value of the request.
    pub fn of_known(field: KnownField) -> Seen {
        match field {
            KnownField::Scalar(scalar) => Seen::Scalar(scalar),
            KnownField::Texts => Seen::List(Box::new(Seen::Scalar(Scalar::Text))),
            KnownField::Struct(fields) => Seen::Known(fields),
            KnownField::Unknown => Seen::Unknown,
        }
    }

    /// One of two values.
    pub fn or(self, other: Seen) -> Seen {
        match (self, other) {
            (Seen::Never, one) | (one, Seen::Never) => one,
            // Null is compared with everything alike.
            (Seen::Scalar(Scalar::Null), one) | (one, Seen::Scalar(Scalar::Null)) => one,
            (Seen::Scalar(a), Seen::Scalar(b)) => Seen::Scalar(if a == b { a } else { Scalar::Other }),
            (Seen::Struct(mut a), Seen::Struct(b)) => {
                a.extend(b);
                a.sort_by(|a, b| a.name.cmp(&b.name));
                a.dedup_by(|a, b| a.name == b.name);
                Seen::Struct(a)
            }
            (Seen::Known(a), Seen::Known(b)) if std::ptr::eq(a, b) => Seen::Known(a),
            (Seen::List(a), Seen::List(b)) => Seen::List(Box::new(a.or(*b))),
            (Seen::Map(a), Seen::Map(b)) => Seen::Map(Box::new(a.or(*b))),
            (Seen::Made(f, a), Seen::Made(g, b)) => Seen::Made(f.or(g), Box::new(a.or(*b))),
            // Comparisons take it for the typed one.
            (Seen::List(a), Seen::Made(Form::List, b)) | (Seen::Made(Form::List, b), Seen::List(a))
                if is_alike(&a, &b) =>
            {
                Seen::List(Box::new(a.or(*b)))
            }
            (Seen::Map(a), Seen::Made(Form::Map, b)) | (Seen::Made(Form::Map, b), Seen::Map(a))
                if is_alike(&a, &b) =>
            {
                Seen::Map(Box::new(a.or(*b)))
            }
            (Seen::Tree, Seen::Tree) => Seen::Tree,
            (Seen::Tree, Seen::Made(_, of)) | (Seen::Made(_, of), Seen::Tree) if !of.has_view() => Seen::Tree,
            (Seen::Tree, Seen::Scalar(_)) | (Seen::Scalar(_), Seen::Tree) => Seen::Tree,
            // A structure, or `{}` where there is none.
            (Seen::Struct(def), Seen::Made(Form::Map, of))
            | (Seen::Made(Form::Map, of), Seen::Struct(def))
                if matches!(*of, Seen::Never) =>
            {
                Seen::Struct(def)
            }
            _ => Seen::Unknown,
        }
    }

    /// What its items are, or the values of its keys.
    pub fn items(&self) -> Seen {
        match self {
            Seen::List(item) | Seen::Map(item) | Seen::Made(_, item) => (**item).clone(),
            Seen::Never => Seen::Never,
            Seen::Tree => Seen::Tree,
            Seen::Scalar(_) | Seen::Struct(_) | Seen::Known(_) | Seen::Unknown => Seen::Unknown,
        }
    }

    /// Whether it is a part of a typed object, or may be one.
    pub fn is_view(&self) -> bool {
        matches!(self, Seen::Struct(_) | Seen::Known(_) | Seen::List(_) | Seen::Map(_) | Seen::Unknown)
    }

    /// Whether there is such a part in it.
    pub fn has_view(&self) -> bool {
        self.is_view() || matches!(self, Seen::Made(_, of) if of.has_view())
    }

    /// Whether two values of it can differ in spelling and mean the same: there is a structure with
    /// a quantity.
    pub fn has_spellings(&self, types: &Types) -> bool {
        match self {
            Seen::Unknown => true,
            Seen::Struct(defs) => {
                let is_one = |ty: &Type| matches!(ty, Type::Leaf(Leaf::Quantity | Leaf::Any));
                defs.iter().any(|def| holds(def, types, &mut Vec::new(), &is_one))
            }
            Seen::List(of) | Seen::Map(of) | Seen::Made(_, of) => of.has_spellings(types),
            _ => false,
        }
    }
}

/// Whether items of a typed object and those of an expression are read alike.
fn is_alike(typed: &Seen, made: &Seen) -> bool {
    matches!(made, Seen::Never) || !made.has_view() && !typed.has_view()
}

/// Whether there is a part of a type in a structure.
fn holds(def: &TypeDef, types: &Types, open: &mut Vec<Arc<str>>, is_one: &dyn Fn(&Type) -> bool) -> bool {
    if open.contains(&def.name) {
        return false;
    }
    open.push(def.name.clone());
    let found = def.fields.iter().any(|field| in_type(&field.ty, types, open, is_one));
    open.pop();
    found
}

fn in_type(ty: &Type, types: &Types, open: &mut Vec<Arc<str>>, is_one: &dyn Fn(&Type) -> bool) -> bool {
    if is_one(ty) {
        return true;
    }
    match ty {
        Type::Leaf(_) => false,
        Type::List(_, of) | Type::Map(of, _) => in_type(of, types, open, is_one),
        Type::Named(name, _) => types.named(name).is_some_and(|def| match def.leaf {
            Some(leaf) => is_one(&Type::Leaf(leaf)),
            None => holds(def, types, open, is_one),
        }),
    }
}

/// The first field of a structure, or of one in it, that differs between two releases; `changed`
/// says so of a field of a type.
pub(super) fn changed_field(
    def: &TypeDef,
    types: &Types,
    changed: &dyn Fn(&str, &str) -> bool,
) -> Option<String> {
    fn of(
        def: &TypeDef,
        types: &Types,
        changed: &dyn Fn(&str, &str) -> bool,
        open: &mut Vec<Arc<str>>,
    ) -> Option<String> {
        if open.contains(&def.name) {
            return None;
        }
        open.push(def.name.clone());
        let found = def.fields.iter().find_map(|field| {
            if changed(&def.name, &field.name) {
                return Some(field.name.to_string());
            }
            let mut ty = &field.ty;
            let mut path = field.name.to_string();
            while let Type::List(_, inner) | Type::Map(inner, _) = ty {
                path.push_str("[]");
                ty = inner;
            }
            let Type::Named(name, _) = ty else { return None };
            let inner = of(types.named(name)?, types, changed, open)?;
            Some(format!("{path}.{inner}"))
        });
        open.pop();
        found
    }
    of(def, types, changed, &mut Vec::new())
}
