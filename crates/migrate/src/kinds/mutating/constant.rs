//! Values and paths of patches as CEL.

use ephor_kubernetes::admitted::always;
use ephor_kubernetes::schema::{Leaf, ListKind, Type, TypeDef, Types, Whole};
use ephor_value::{Str, Value, print};

use crate::constraints::cel::literal;
use crate::expressions::refusal::Result;
use crate::kinds::shared::Fill;
use ephor_cel::ast::{Kind, Node};

/// A value as a literal; members of different types are dynamic, which lists and maps of mixed
/// types need.
pub fn constant(value: &Value, fill: Fill<'_>) -> Result<String> {
    Ok(match value {
        Value::Str(text) if text.contains("{{") => fill(text)?,
        Value::Str(text) => literal(text),
        Value::List(items) => format!("[{}]", mixed(items.iter(), fill)?.join(", ")),
        Value::Map(fields) => {
            let values = mixed(fields.iter().map(|(_, value)| value), fill)?;
            let all: Vec<String> =
                fields.keys().zip(values).map(|(key, value)| format!("{}: {value}", literal(key))).collect();
            format!("{{{}}}", all.join(", "))
        }
        scalar => print::json(scalar),
    })
}

fn mixed<'v>(values: impl Iterator<Item = &'v Value> + Clone, fill: Fill<'_>) -> Result<Vec<String>> {
    let mut types = values.clone().map(Value::json_type);
    let first = types.next();
    let is_scalar = values.clone().all(|v| !matches!(v, Value::Map(_) | Value::List(_)));
    let is_one = types.all(|one| Some(one) == first) && (is_scalar || values.clone().count() < 2);
    let texts: Vec<String> = values.map(|v| constant(v, fill)).collect::<Result<_, _>>()?;
    let is_one = is_one && (!is_scalar || are_alike(&texts));
    Ok(texts.into_iter().map(|text| if is_one { text } else { format!("dyn({text})") }).collect())
}

/// What the checker knows of an expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// It is a text.
    Text,
    /// Nothing.
    Nothing,
    /// That is not said here.
    Unknown,
}

/// Whether the checker takes expressions for values of one type, as members of a map or a list have
/// to be.
pub fn are_alike(texts: &[String]) -> bool {
    let mut all = texts.iter().map(|text| known(text));
    let first = all.next();
    texts.len() < 2 || (first != Some(Known::Unknown) && all.all(|one| Some(one) == first))
}

fn known(text: &str) -> Known {
    let syntax = ephor_cel::library::general("").syntax;
    ephor_cel::syntax::parse(text, syntax).map_or(Known::Unknown, |node| known_of(&node))
}

fn known_of(node: &Node) -> Known {
    match &node.kind {
        Kind::Const(_) => Known::Text,
        Kind::Ident(name) => {
            if matches!(&**name, "object" | "oldObject") {
                Known::Nothing
            } else {
                Known::Unknown
            }
        }
        Kind::Select { operand, field, .. } => match operand.as_ident() {
            // Objects of requests are of any type, and other fields have theirs.
            Some(name) if **name == *"request" && !matches!(&**field, "object" | "oldObject") => Known::Text,
            Some(name) if **name == *"request" => Known::Nothing,
            _ => known_of(operand),
        },
        Kind::Call { function, target: None, args } => match (&**function, &args[..]) {
            ("string", _) => Known::Text,
            ("dyn", _) => Known::Nothing,
            ("_[_]" | "_?._" | "_[?_]", [operand, ..]) => known_of(operand),
            ("_?_:_", [_, then, other]) => match [known_of(then), known_of(other)] {
                [Known::Text, Known::Text] => Known::Text,
                [Known::Unknown, _] | [_, Known::Unknown] => Known::Unknown,
                _ => Known::Nothing,
            },
            ("_+_", [left, right]) if [left, right].map(known_of).contains(&Known::Text) => Known::Text,
            _ => Known::Unknown,
        },
        Kind::Call { function, target: Some(target), .. } => match &**function {
            "orValue" | "value" => known_of(target),
            "replace" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "join" | "find" => Known::Text,
            _ => Known::Unknown,
        },
        _ => Known::Unknown,
    }
}

/// Whether a field can be selected by its name.
pub fn is_name(key: &str) -> bool {
    const RESERVED: [&str; 12] =
        ["namespace", "in", "true", "false", "null", "as", "break", "const", "if", "for", "let", "package"];
    let mut chars = key.chars();
    let begins = chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    begins && chars.all(|c| c.is_ascii_alphanumeric() || c == '_') && !RESERVED.contains(&key)
}

/// A value of an object, and what is known of it.
#[derive(Clone, Debug)]
pub struct Place {
    /// The expression: `object.spec`.
    pub text: String,
    /// Whether each step, from the object, is always there.
    pub steps: Vec<(String, bool)>,
    /// Its type, where that is known.
    pub ty: Option<Type>,
    /// Where it begins in a JSON patch, as an expression; empty = at the object.
    pub prefix: String,
    /// What must hold for it to be there at all, as a test.
    pub exists: Option<String>,
    /// What is in it at least in each object that an API server admits.
    pub smallest: Option<Value>,
}

impl Place {
    /// An object of a kind.
    pub fn object(kind: &[ephor_value::Str; 3], types: &Types) -> Place {
        let ty = types.of_kind(kind).map(|def| Type::Named(def.name.clone(), Whole::Merged));
        let mut smallest = always(kind);
        // Names may be generated later.
        if let Some(Value::Map(fields)) = &mut smallest {
            fields.remove("metadata");
        }
        Place { text: "object".into(), steps: Vec::new(), ty, prefix: String::new(), exists: None, smallest }
    }

    /// An item of a list.
    pub fn item(name: &str, ty: &Type) -> Place {
        let (prefix, exists) = (String::new(), None);
        Place { text: name.into(), steps: Vec::new(), ty: Some(ty.clone()), prefix, exists, smallest: None }
    }

    /// An item of this list, as `text`, at a position that is an expression.
    pub fn at(&self, text: &str, position: &str) -> Place {
        let ty = match &self.ty {
            Some(Type::List(_, item)) => Some((**item).clone()),
            _ => None,
        };
        let prefix = match position.parse::<usize>() {
            Ok(_) => joined(&self.path(), &format!("/{position}")),
            Err(_) => format!("{} + string({position})", joined(&self.path(), "/")),
        };
        Place {
            text: text.into(),
            steps: Vec::new(),
            ty,
            prefix,
            exists: self.exists.clone(),
            smallest: None,
        }
    }

    /// The value of a list, or none of its items.
    pub fn or_empty(&self) -> String {
        self.or("[]")
    }

    /// The value, or another one where it is missing.
    pub fn or(&self, other: &str) -> String {
        match self.first_open() {
            None => self.value(),
            Some(first) => format!("{}.orValue({other})", self.read(self.steps.len(), first)),
        }
    }

    /// The first step that may be missing.
    fn first_open(&self) -> Option<usize> {
        self.steps.iter().position(|(_, is_there)| !is_there)
    }

    /// The expression of its first steps: from the step `open` on they may be missing, and it
    /// is an optional.
    fn read(&self, many: usize, open: usize) -> String {
        let mut text = self.text.clone();
        for (at, (key, _)) in self.steps.iter().take(many).enumerate() {
            let mark = if at < open { "" } else { "?" };
            text += &match is_name(key) {
                true => format!(".{mark}{key}"),
                false => format!("[{mark}{}]", literal(key)),
            };
        }
        text
    }

    /// Its place in a JSON patch, as an expression.
    pub fn path(&self) -> String {
        if self.prefix.is_empty() { literal(&self.pointer()) } else { joined(&self.prefix, &self.pointer()) }
    }

    /// What it is described by, if it has fields.
    pub fn fields<'t>(&self, types: &'t Types) -> Option<&'t TypeDef> {
        match &self.ty {
            Some(Type::Named(name, Whole::Merged)) => {
                let def = types.named(name)?;
                (def.whole == Whole::Merged && def.leaf.is_none()).then_some(&**def)
            }
            _ => None,
        }
    }

    /// Its member of a key.
    pub fn key(&self, key: &str, types: &Types) -> Place {
        let field = self.fields(types).and_then(|def| def.field(key));
        let ty = match (&self.ty, field) {
            (_, Some(field)) => Some(field.ty.clone()),
            (Some(Type::Map(value, _)), None) => Some((**value).clone()),
            _ => None,
        };
        // An API server writes these, whatever the schema says; it writes no spec of a custom
        // resource.
        let is_first = self.steps.is_empty() && self.text == "object";
        let is_written = is_first && (key == "metadata" || (key == "spec" && self.ty.is_some()));
        let is_there = field.is_some_and(|field| field.required) || is_written;
        // What every admitted object of the kind has.
        let smallest = self.smallest.as_ref().and_then(|smallest| smallest.get(key)).cloned();
        let mut steps = self.steps.clone();
        steps.push((key.into(), is_there || smallest.is_some()));
        Place { steps, ty, smallest, ..self.clone() }
    }

    /// Whether it is there, as a test; `None` = always.
    pub fn is_there(&self) -> Option<String> {
        match (&self.exists, self.steps_are_there()) {
            (None, test) => test,
            (Some(exists), None) => Some(exists.clone()),
            (Some(exists), Some(test)) => Some(format!("{exists} && {test}")),
        }
    }

    fn steps_are_there(&self) -> Option<String> {
        let last = self.steps.iter().rposition(|(_, is_there)| !is_there)?;
        let (first, (key, _)) = (self.first_open()?, self.steps.get(last)?);
        if first < last {
            return Some(format!("{}.hasValue()", self.read(last + 1, first)));
        }
        let above = self.read(last, last);
        Some(if is_name(key) {
            format!("has({above}.{key})")
        } else {
            format!("{} in {above}", literal(key))
        })
    }

    /// Whether it must be there where what it belongs to is.
    pub fn is_required(&self) -> bool {
        self.steps.last().is_none_or(|(_, is_there)| *is_there)
    }

    /// The value, for where it is there.
    pub fn value(&self) -> String {
        self.read(self.steps.len(), self.steps.len())
    }

    /// Its place in a JSON patch.
    pub fn pointer(&self) -> String {
        self.steps.iter().map(|(key, _)| format!("/{}", key.replace('~', "~0").replace('/', "~1"))).collect()
    }

    /// The place above it.
    pub fn above(&self) -> Option<Place> {
        let (_, above) = self.steps.split_last()?;
        (!above.is_empty()).then(|| Place { steps: above.to_vec(), ty: None, smallest: None, ..self.clone() })
    }

    /// The last key.
    pub fn last(&self) -> &str {
        self.steps.last().map(|(key, _)| key.as_str()).unwrap_or_default()
    }
}

/// A text, as an expression, with another text behind it.
pub fn joined(expression: &str, text: &str) -> String {
    match (expression.strip_suffix('\''), text) {
        (_, "") => expression.into(),
        (Some(open), text) => format!("{open}{}", literal(text).trim_start_matches('\'')),
        (None, text) => format!("{expression} + {}", literal(text)),
    }
}

/// Whether a value of a type is merged by its keys, and has text, numbers or truth values for them.
pub fn is_map(ty: Option<&Type>) -> bool {
    matches!(ty, Some(Type::Map(_, Whole::Merged)))
}

/// The type of the items of a list that is merged by keys of its items, and whether that is their
/// name.
pub fn keyed_items(ty: Option<&Type>) -> Option<(&Type, bool, &[Str])> {
    match ty {
        Some(Type::List(ListKind::Keyed(keys), item)) => {
            Some((item, matches!(&**keys, [one] if **one == *"name"), keys))
        }
        _ => None,
    }
}

/// Whether a type has no parts.
pub fn is_scalar(ty: Option<&Type>) -> bool {
    matches!(ty, Some(Type::Leaf(leaf)) if *leaf != Leaf::Any)
}
