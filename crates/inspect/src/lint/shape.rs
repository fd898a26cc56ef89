//! What is known of a value before there is an object: the types that it may have.
//!
//! In: the types of the kinds that a rule is about. Out: those of fields, items and results of
//! JMESPath expressions, with the fields that none of the types has. What is not known is
//! [`Shape::Any`], of which nothing is reported.
use ephor_jmespath::Ast;
use ephor_kubernetes::Types;
use ephor_kubernetes::schema::{Type, Whole};
use ephor_value::suggest::did_you_mean;

/// See the module page.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// Anything.
    Any,
    /// What expressions begin with: variables by name.
    Root,
    /// The admission request.
    Request,
    /// An object of a kind that is not known: it has metadata like all others.
    Object,
    /// One of these.
    Types(Vec<Type>),
    /// A list that an expression builds.
    List(Box<Shape>),
}

/// What a field of a shape is.
pub(super) enum FieldShape {
    /// This.
    Known(Shape),
    /// There is none; the names that there are.
    Missing(Vec<String>),
}

impl Shape {
    /// Of types, or anything when there are none.
    pub(super) fn of(types: Option<Vec<Type>>) -> Shape {
        types.filter(|t| !t.is_empty()).map_or(Shape::Any, Shape::Types)
    }

    /// Of the objects that a rule is about.
    pub(super) fn of_objects(types: Option<Vec<Type>>) -> Shape {
        types.filter(|t| !t.is_empty()).map_or(Shape::Object, Shape::Types)
    }

    /// The field of a name.
    pub(super) fn field(&self, name: &str, types: &Types) -> FieldShape {
        const ANY: FieldShape = FieldShape::Known(Shape::Any);
        if matches!(self, Shape::Object) && name == "metadata" {
            let metadata = Type::Named("meta/v1.ObjectMeta".into(), Whole::Merged);
            return FieldShape::Known(Shape::Types(vec![metadata]));
        }
        let Shape::Types(all) = self else { return ANY };
        let (mut found, mut names) = (Vec::new(), Vec::new());
        for ty in all {
            match ty {
                Type::Named(of, _) => {
                    let Some(def) = types.named(of).filter(|def| def.leaf.is_none() && !def.open) else {
                        return ANY;
                    };
                    names.extend(def.fields.iter().map(|f| f.name.to_string()));
                    found.extend(def.field(name).map(|f| f.ty.clone()));
                }
                Type::Map(values, _) => found.push((**values).clone()),
                Type::List(..) | Type::Leaf(_) => return ANY,
            }
        }
        match found.is_empty() {
            true => FieldShape::Missing(names),
            false => FieldShape::Known(Shape::Types(found)),
        }
    }

    /// The items of a list.
    pub(super) fn items(&self) -> Shape {
        match self {
            Shape::List(item) => (**item).clone(),
            Shape::Types(all) => {
                let items = all.iter().map(|ty| match ty {
                    Type::List(_, item) => Some((**item).clone()),
                    _ => None,
                });
                Shape::of(items.collect())
            }
            _ => Shape::Any,
        }
    }

    /// Either of two.
    fn or(self, other: Shape) -> Shape {
        match (self, other) {
            (Shape::Types(mut a), Shape::Types(b)) => {
                a.extend(b.into_iter().filter(|ty| !a.contains(ty)).collect::<Vec<_>>());
                Shape::Types(a)
            }
            (Shape::List(a), Shape::List(b)) => Shape::List(Box::new(a.or(*b))),
            _ => Shape::Any,
        }
    }

    /// The items of a flattened list: those of lists in it, and others as they are.
    fn flattened(&self) -> Shape {
        match self.items() {
            Shape::Types(all) => {
                let inner = all.into_iter().map(|ty| match ty {
                    Type::List(_, item) => *item,
                    other => other,
                });
                Shape::Types(inner.collect())
            }
            Shape::List(item) => *item,
            _ => Shape::Any,
        }
    }
}

/// Something in an expression that is not known, at a byte of it.
#[derive(Clone, Debug)]
pub(super) enum Unknown {
    /// A function.
    Function(String, usize),
    /// A variable.
    Variable(String, usize),
    /// A field, and the one that was probably meant.
    Field(String, usize, Option<String>),
}

impl Unknown {
    /// The byte at which it stands.
    pub(super) fn byte(&self) -> usize {
        match self {
            Unknown::Function(_, byte) | Unknown::Variable(_, byte) | Unknown::Field(_, byte, _) => *byte,
        }
    }
}

/// What the names in an expression stand for.
#[derive(Clone)]
pub(super) struct Names<'a> {
    /// The types.
    pub(super) types: &'a Types,
    /// The object of the request.
    pub(super) object: Shape,
    /// The element of the innermost loop.
    pub(super) element: Shape,
    /// The variables that there are next to the built-in ones; `None` when it is not known which.
    pub(super) defined: Option<&'a [String]>,
}

/// Variables that need no context entry.
pub(super) const BUILT_IN: [&str; 8] = [
    "request",
    "serviceAccountName",
    "serviceAccountNamespace",
    "element",
    "elementIndex",
    "images",
    "image",
    "target",
];

/// The shape of an expression's result; what is not known is added to `unknown`.
pub(super) fn evaluate(ast: &Ast, current: &Shape, names: &Names<'_>, unknown: &mut Vec<Unknown>) -> Shape {
    let mut eval = |ast: &Ast, current: &Shape| evaluate(ast, current, names, unknown);
    match ast {
        Ast::Current | Ast::Identity => match current {
            Shape::Root => Shape::Any,
            other => other.clone(),
        },
        Ast::Field(name, at) => field(name, *at, current, names, unknown),
        Ast::Subexpression(pair) | Ast::Pipe(pair) => {
            let left = eval(&pair[0], current);
            eval(&pair[1], &left)
        }
        Ast::IndexExpression(pair) => {
            let left = eval(&pair[0], current);
            eval(&pair[1], &left)
        }
        Ast::Index(_) => current.items(),
        Ast::Slice(..) => current.clone(),
        Ast::Projection(pair) => {
            let left = eval(&pair[0], current);
            let right = eval(&pair[1], &left.items());
            Shape::List(Box::new(right))
        }
        Ast::Flatten(inner) => {
            let inner = eval(inner, current);
            Shape::List(Box::new(inner.flattened()))
        }
        Ast::ValueProjection(pair) => {
            eval(&pair[0], current);
            eval(&pair[1], &Shape::Any);
            Shape::Any
        }
        Ast::Filter(parts) => {
            let left = eval(&parts[0], current);
            let item = left.items();
            eval(&parts[2], &item);
            let right = eval(&parts[1], &item);
            Shape::List(Box::new(right))
        }
        Ast::Or(pair) => {
            let left = eval(&pair[0], current);
            let right = eval(&pair[1], current);
            left.or(right)
        }
        Ast::MultiSelectList(items) => {
            let shapes: Vec<Shape> = items.iter().map(|item| eval(item, current)).collect();
            Shape::List(Box::new(shapes.into_iter().reduce(Shape::or).unwrap_or(Shape::Any)))
        }
        Ast::MultiSelectHash(pairs) => {
            for (_, value) in pairs {
                eval(value, current);
            }
            Shape::Any
        }
        Ast::And(pair) | Ast::Comparator(_, pair) => {
            eval(&pair[0], current);
            eval(&pair[1], current);
            Shape::Any
        }
        Ast::Not(inner) => {
            eval(inner, current);
            Shape::Any
        }
        // What an expression of an argument begins with depends on the function.
        Ast::Expref(inner) => {
            eval(inner, &Shape::Any);
            Shape::Any
        }
        Ast::Function(name, arguments, at) => {
            for argument in arguments {
                eval(argument, current);
            }
            if let Some(name) = name.as_deref().filter(|name| ephor_functions::find(name).is_none()) {
                unknown.push(Unknown::Function(name.to_string(), *at));
            }
            Shape::Any
        }
        Ast::Literal(_) | Ast::Empty(_) => Shape::Any,
    }
}

fn field(name: &str, at: usize, current: &Shape, names: &Names<'_>, unknown: &mut Vec<Unknown>) -> Shape {
    match current {
        Shape::Any | Shape::List(_) => Shape::Any,
        Shape::Root => match name {
            "request" => Shape::Request,
            "element" => names.element.clone(),
            _ => {
                let is_defined = |defined: &[String]| {
                    // A name without a value, which is written where null is meant.
                    BUILT_IN.contains(&name)
                        || name == "null"
                        || name.starts_with("element")
                        || defined.iter().any(|d| d == name || d.split('.').next() == Some(name))
                };
                if names.defined.is_some_and(|defined| !is_defined(defined)) {
                    unknown.push(Unknown::Variable(name.to_string(), at));
                }
                Shape::Any
            }
        },
        Shape::Request => match name {
            "object" | "oldObject" => names.object.clone(),
            _ => {
                let meant = did_you_mean(name, &REQUEST).filter(|_| !REQUEST.contains(&name));
                if let Some(meant) = meant {
                    unknown.push(Unknown::Field(name.to_string(), at, Some(meant.to_string())));
                }
                Shape::Any
            }
        },
        Shape::Types(_) | Shape::Object => match current.field(name, names.types) {
            FieldShape::Known(shape) => shape,
            FieldShape::Missing(fields) => {
                let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
                let meant = did_you_mean(name, &fields).map(str::to_string);
                unknown.push(Unknown::Field(name.to_string(), at, meant));
                Shape::Any
            }
        },
    }
}

/// The fields of an admission request.
const REQUEST: [&str; 18] = [
    "uid",
    "kind",
    "resource",
    "subResource",
    "requestKind",
    "requestResource",
    "requestSubResource",
    "name",
    "namespace",
    "operation",
    "userInfo",
    "roles",
    "clusterRoles",
    "object",
    "oldObject",
    "dryRun",
    "options",
    "namespaceLabels",
];
