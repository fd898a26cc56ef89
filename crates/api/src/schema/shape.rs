//! The vocabulary of the schema tables: what a field may hold.
//!
//! A table is data: one line a field, in the order in which Kyverno 1.19.1 prints the fields of its
//! typed objects. The order and the `always` marks serve messages that quote a decoded rule.

use ephor_value::Value;

/// A field of an object.
#[derive(Clone, Copy)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether the schema requires it (null counts as missing).
    pub required: bool,
    /// What is filled in when it is missing.
    pub default: Option<Literal>,
    /// What an API server fills in when it is missing, and no reader of files.
    pub stored_default: Option<Literal>,
    /// Whether it must not be empty in an API server.
    pub is_filled: bool,
    /// Whether an API server lets it be null.
    pub is_nullable: bool,
    /// Whether a printed object shows it also when it is empty or missing.
    pub always: bool,
}

/// A default value.
#[derive(Clone, Copy)]
pub enum Literal {
    /// A boolean.
    Bool(bool),
    /// A text.
    Text(&'static str),
    /// An integer.
    Int(i64),
    /// An object without fields.
    Empty,
}

/// What a field or an item may hold.
#[derive(Clone, Copy)]
pub enum Kind {
    /// Any text.
    Text,
    /// A text of at most this many bytes.
    Short(usize),
    /// A text of a form.
    Shaped(&'static Shape),
    /// A moment.
    DateTime,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// A boolean whose `false` means the same as its absence.
    Flag,
    /// A boolean that is true, false or absent.
    Switch,
    /// A 32-bit integer.
    Int32,
    /// An integer, perhaps with a least value.
    Whole(Option<i64>),
    /// Free JSON.
    Any,
    /// Free JSON that must decode as a list of conditions or as an object with `any` and `all`.
    Conditions,
    /// Free JSON that must decode as a list of nested validate loops.
    ValidateLoops,
    /// Free JSON that must decode as a list of nested mutate loops.
    MutateLoops,
    /// An object of any fields.
    Open,
    /// A text with a length of time.
    Duration,
    /// A 64-bit integer.
    Int64,
    /// Names and texts.
    TextMap,
    /// A 64-bit integer that is not negative.
    Count,
    /// Names and values of a kind.
    MapOf(&'static Kind),
    /// A list.
    List(&'static Kind),
    /// A list that server-side apply replaces as a whole.
    Atomic(&'static Kind),
    /// A list of different items.
    Set(&'static Kind),
    /// A list of objects with different names.
    Named(&'static Kind),
    /// An object.
    Object(&'static Object),
}

/// The form of a text.
pub struct Shape {
    /// Whether it must not be empty.
    pub filled: bool,
    /// How many bytes it may have.
    pub most: usize,
    /// A regular expression that it matches.
    pub pattern: &'static str,
}

/// The fields of an object, and what must hold among them.
pub struct Object {
    /// The fields, in printing order.
    pub fields: &'static [Field],
    /// What must hold among them.
    pub rule: Rule,
    /// Whether server-side apply replaces the object as a whole.
    pub is_atomic: bool,
}

/// What must hold among the fields of an object.
#[derive(Clone, Copy)]
pub enum Rule {
    /// Nothing.
    Free,
    /// The two fields must not both be there.
    NotBoth(&'static str, &'static str),
    /// Exactly one of the fields must be there.
    OneOf(&'static [&'static str]),
    /// Unknown fields pass the schema, but not the decoding that follows.
    LateUnknown,
}

impl Literal {
    /// The default as a value.
    pub fn value(self) -> Value {
        match self {
            Literal::Bool(set) => Value::Bool(set),
            Literal::Text(text) => Value::from(text),
            Literal::Int(number) => Value::Int(number),
            Literal::Empty => Value::map([]),
        }
    }
}

impl Object {
    /// The field `name`.
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|f| f.name == name)
    }
}

/// An object whose fields are independent.
pub const fn object(fields: &'static [Field]) -> Object {
    ruled(fields, Rule::Free)
}

/// An object with a rule among its fields.
pub const fn ruled(fields: &'static [Field], rule: Rule) -> Object {
    Object { fields, rule, is_atomic: false }
}

/// An object with independent fields that server-side apply replaces as a whole.
pub const fn atomic(fields: &'static [Field]) -> Object {
    Object { fields, rule: Rule::Free, is_atomic: true }
}

/// An optional field.
pub const fn field(name: &'static str, kind: Kind) -> Field {
    Field {
        name,
        kind,
        required: false,
        default: None,
        stored_default: None,
        is_filled: false,
        is_nullable: false,
        always: false,
    }
}

/// An optional text.
pub const fn text(name: &'static str) -> Field {
    field(name, Kind::Text)
}

/// A list of texts that server-side apply replaces as a whole.
pub const fn atomic_texts(name: &'static str) -> Field {
    field(name, Kind::Atomic(&Kind::Text))
}

/// A list of texts.
pub const fn texts(name: &'static str) -> Field {
    field(name, Kind::List(&Kind::Text))
}

impl Field {
    /// The field, required.
    pub const fn required(self) -> Field {
        Field { required: true, always: true, ..self }
    }

    /// The field, always printed.
    pub const fn always(self) -> Field {
        Field { always: true, ..self }
    }

    /// The field with a default.
    pub const fn default(self, value: bool) -> Field {
        Field { default: Some(Literal::Bool(value)), ..self }
    }

    /// The field with a default text.
    pub const fn default_text(self, value: &'static str) -> Field {
        Field { default: Some(Literal::Text(value)), ..self }
    }

    /// The field with a default of the API server alone.
    pub const fn stored_default(self, value: Literal) -> Field {
        Field { stored_default: Some(value), ..self }
    }

    /// The field, not empty in an API server.
    pub const fn filled(self) -> Field {
        Field { is_filled: true, ..self }
    }

    /// The field, which an API server lets be null.
    pub const fn nullable(self) -> Field {
        Field { is_nullable: true, ..self }
    }
}
