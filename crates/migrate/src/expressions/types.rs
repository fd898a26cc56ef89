//! What is known of the values at a path: the schemas of the kinds that a rule is about.
//!
//! In: a type and a key. Out: the type of the field and whether it is always there. Where the kinds
//! disagree, nothing is known.

use std::sync::{Arc, LazyLock};

use ephor_kubernetes::admitted::{always, is_shown_as_null, may_be, needed};
use ephor_kubernetes::any_object;
use ephor_kubernetes::schema::{Leaf, Type, TypeDef, Types};
use ephor_value::{Str, Value};

/// The type of a value.
#[derive(Clone, Debug)]
pub enum Ty {
    /// Text.
    Text,
    /// Text of a quantity.
    Quantity,
    /// A number or text.
    IntOrText,
    /// A whole number.
    Int,
    /// A number.
    Double,
    /// A truth value.
    Bool,
    /// A list.
    List(Box<Ty>),
    /// An object with any keys.
    Map(Box<Ty>),
    /// An object with fields, of one of these descriptions; with the smallest objects of its kind,
    /// whose fields are always there.
    Object(Vec<(Arc<TypeDef>, Option<Value>)>),
    /// A duration of CEL, which is text in the old expression.
    Duration,
    /// A quantity that was computed, as the number of its thousandths, which is a text in the old
    /// expression.
    Thousandths,
    /// What the API lists: objects of this type under `items`.
    Listing(Box<Ty>),
    /// What a registry says of an image.
    Image,
    /// The configuration of an image: on its own, and as it is run.
    ImageConfig {
        /// How it is run.
        inner: bool,
    },
    /// Nothing is known.
    Any,
}

impl PartialEq for Ty {
    fn eq(&self, other: &Ty) -> bool {
        match (self, other) {
            (Ty::List(a), Ty::List(b)) | (Ty::Map(a), Ty::Map(b)) | (Ty::Listing(a), Ty::Listing(b)) => {
                a == b
            }
            (Ty::Object(a), Ty::Object(b)) => {
                let names = |all: &[(Arc<TypeDef>, Option<Value>)]| -> Vec<Str> {
                    all.iter().map(|(def, _)| def.name.clone()).collect()
                };
                names(a) == names(b)
            }
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        }
    }
}

/// An object of a kind without a schema.
static ANY_OBJECT: LazyLock<Arc<TypeDef>> = LazyLock::new(|| Arc::new(any_object()));

/// A field of an object.
pub struct FieldOf {
    /// Its type.
    pub ty: Ty,
    /// Whether it is always there.
    pub required: bool,
    /// Whether a missing one is shown as null.
    pub nullable: bool,
    /// Whether it, or an item of it, may be the text `*`.
    pub wild: bool,
}

impl Ty {
    /// Objects of these kinds, or of any kind where there are none. Of kinds without a schema is
    /// known what every object has.
    pub fn of_kinds(kinds: &[[Str; 3]], types: &Types) -> Ty {
        let described = |kind: &[Str; 3]| match types.of_kind(kind) {
            Some(def) => (def.clone(), always(kind)),
            None => (ANY_OBJECT.clone(), None),
        };
        Ty::Object(match kinds {
            [] => vec![(ANY_OBJECT.clone(), None)],
            kinds => kinds.iter().map(described).collect(),
        })
    }

    /// Objects that have a field, which is at least this.
    #[must_use]
    pub fn with(self, key: &str, field: Value) -> Ty {
        let of = |(def, smallest): (Arc<TypeDef>, Option<Value>)| {
            let mut own = smallest.as_ref().and_then(Value::as_map).cloned().unwrap_or_default();
            own.insert(key, field.clone());
            (def, Some(Value::Map(own)))
        };
        match self {
            Ty::Object(all) => Ty::Object(all.into_iter().map(of).collect()),
            other => other,
        }
    }

    /// The type of a field, as far as all descriptions agree.
    pub fn field(&self, key: &str, types: &Types) -> FieldOf {
        match self {
            Ty::Map(value) => FieldOf { ty: (**value).clone(), required: false, nullable: false, wild: true },
            Ty::Listing(item) if key == "items" => {
                FieldOf { ty: Ty::List(item.clone()), required: true, nullable: false, wild: true }
            }
            Ty::Object(all) => {
                let mut found: Option<FieldOf> = None;
                // Where one kind has the field, it is missing in objects of kinds that have none of
                // that name.
                let is_known = all.iter().any(|(def, _)| def.field(key).is_some());
                let mut is_missing = false;
                for (def, smallest) in all {
                    if is_known && !def.open && def.field(key).is_none() {
                        is_missing = true;
                        continue;
                    }
                    let below = smallest.as_ref().and_then(|v| v.get(key));
                    // Some that schemas require are null where they are missing.
                    let nullable =
                        def.field(key).is_some_and(is_shown_as_null) && !needed(&def.name).contains(&key);
                    let own = match def.field(key) {
                        Some(field) => FieldOf {
                            ty: of_type(&field.ty, below.cloned(), types),
                            required: field.required && !nullable || below.is_some(),
                            nullable,
                            wild: ["*", "*.a"].iter().any(|text| may_be(&def.name, key, text)),
                        },
                        None => FieldOf { ty: Ty::Any, required: false, nullable: false, wild: true },
                    };
                    found = Some(match found {
                        None => own,
                        Some(before) => FieldOf {
                            required: before.required && own.required,
                            nullable: before.nullable || own.nullable,
                            wild: before.wild || own.wild,
                            ty: both(before.ty, own.ty),
                        },
                    });
                }
                let found =
                    found.unwrap_or(FieldOf { ty: Ty::Any, required: false, nullable: false, wild: true });
                FieldOf { required: found.required && !is_missing, ..found }
            }
            Ty::Image => {
                let (ty, required) = match key {
                    "configData" => (Ty::ImageConfig { inner: false }, true),
                    "image" | "registry" | "repository" => (Ty::Text, true),
                    "manifest" => (Ty::Any, true),
                    _ => (Ty::Any, false),
                };
                FieldOf { ty, required, nullable: false, wild: false }
            }
            Ty::ImageConfig { inner } => {
                let texts = || Ty::List(Box::new(Ty::Text));
                let ty = match (inner, key) {
                    (false, "config") => Ty::ImageConfig { inner: true },
                    (false, "architecture" | "os" | "variant" | "author") => Ty::Text,
                    (true, "Env" | "Cmd" | "Entrypoint" | "OnBuild" | "Shell") => texts(),
                    (true, "Volumes" | "ExposedPorts") => Ty::Map(Box::new(Ty::Any)),
                    (true, "Labels") => Ty::Map(Box::new(Ty::Text)),
                    (true, "User" | "WorkingDir" | "StopSignal") => Ty::Text,
                    _ => Ty::Any,
                };
                // Docker writes null for what is not set.
                FieldOf { ty, required: false, nullable: *inner, wild: true }
            }
            _ => FieldOf { ty: Ty::Any, required: false, nullable: false, wild: true },
        }
    }

    /// The name of a field in CEL, where it is another one.
    pub fn named<'k>(&self, key: &'k str) -> &'k str {
        match (self, key) {
            (Ty::Image, "configData") => "config",
            (Ty::Image, "manifestList") => "imageIndex",
            _ => key,
        }
    }

    /// The type of a list's items.
    pub fn item(&self) -> Ty {
        match self {
            Ty::List(item) => (**item).clone(),
            _ => Ty::Any,
        }
    }

    /// The type of an object's values.
    pub fn value(&self) -> Ty {
        match self {
            Ty::Map(value) => (**value).clone(),
            _ => Ty::Any,
        }
    }

    /// Whether values are objects.
    pub fn is_object(&self) -> bool {
        matches!(self, Ty::Map(_) | Ty::Object(_))
    }
}

impl Ty {
    /// The type of what is one or the other.
    pub fn common(self, other: Ty) -> Ty {
        both(self, other)
    }
}

fn both(a: Ty, b: Ty) -> Ty {
    match (a, b) {
        (Ty::Object(mut a), Ty::Object(b)) => {
            for (def, smallest) in b {
                match a.iter_mut().find(|(known, _)| known.name == def.name) {
                    // What only one of them always has is not always there.
                    Some((_, known)) if *known != smallest => *known = common(known.take(), smallest),
                    Some(_) => {}
                    None => a.push((def, smallest)),
                }
            }
            Ty::Object(a)
        }
        (Ty::List(a), Ty::List(b)) => Ty::List(Box::new(both(*a, *b))),
        (Ty::Map(a), Ty::Map(b)) => Ty::Map(Box::new(both(*a, *b))),
        (a, b) if a == b => a,
        (Ty::Int, Ty::Double) | (Ty::Double, Ty::Int) => Ty::Double,
        _ => Ty::Any,
    }
}

/// What two objects have both.
fn common(a: Option<Value>, b: Option<Value>) -> Option<Value> {
    let (a, b) = (a?, b?);
    match (a.as_map(), b.as_map()) {
        (Some(left), Some(right)) => {
            let both = left
                .iter()
                .filter_map(|(k, v)| Some((k.clone(), common(Some(v.clone()), right.get(k).cloned())?)));
            Some(Value::Map(both.collect()))
        }
        _ => Some(a),
    }
}

/// The type of a schema's type.
fn of_type(ty: &Type, smallest: Option<Value>, types: &Types) -> Ty {
    match ty {
        Type::Leaf(leaf) => of_leaf(*leaf),
        Type::List(_, item) => Ty::List(Box::new(of_type(item, None, types))),
        Type::Map(value, _) => Ty::Map(Box::new(of_type(value, None, types))),
        Type::Named(name, _) => match types.named(name) {
            Some(def) => match def.leaf {
                Some(leaf) => of_leaf(leaf),
                None => Ty::Object(vec![(def.clone(), smallest)]),
            },
            None => Ty::Any,
        },
    }
}

fn of_leaf(leaf: Leaf) -> Ty {
    match leaf {
        Leaf::String | Leaf::Bytes | Leaf::Time | Leaf::MicroTime => Ty::Text,
        Leaf::Quantity => Ty::Quantity,
        Leaf::IntOrString => Ty::IntOrText,
        Leaf::Int32 | Leaf::Int64 => Ty::Int,
        Leaf::Double => Ty::Double,
        Leaf::Bool => Ty::Bool,
        Leaf::Any => Ty::Any,
    }
}
