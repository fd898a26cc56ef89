//! What a row of the registry is: a function of one language and all that is known of it.
//!
//! Types alone; the rows are in `functions::table` (JMESPath) and `functions::cel::table` (CEL),
//! and [`super::registry`] finds them.

use serde::{Deserialize, Serialize};

use super::cel::call::{Call, CallResult};
use super::cel::cost::Charge;
use super::{Arg, Context};
use ephor_value::Fault;

/// A language of expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Language {
    /// JMESPath as Kyverno extends it.
    JmesPath,
    /// CEL.
    Cel,
}

/// One row of the registry.
pub struct Function {
    /// The language whose expressions call it.
    pub language: Language,
    /// Its name, once for each language.
    pub name: &'static str,
    /// What faults call it.
    pub shown: &'static str,
    /// Its overloads.
    pub overloads: Overloads,
    /// What it is to an analysis.
    pub operation: Operation,
    /// What its result depends on besides its arguments.
    pub dependency: Option<Dependency>,
    /// Whether a call with arguments of an overload's types can fail; bounds on time and memory
    /// aside.
    pub fails: bool,
    /// What a call costs.
    pub cost: Cost,
    /// Whether a call of constants may be computed when an expression is optimised: it takes little
    /// time, and its result depends on the arguments alone.
    pub folds: bool,
    /// What is done with constant arguments when an expression is compiled.
    pub constants: Constants,
    /// When a fault of the first argument ends the call.
    pub dispatch: Dispatch,
    /// What it computes.
    pub run: Run,
    /// Whether it is one of Kyverno's own functions of JMESPath (listed by `jp function`).
    pub kyverno: bool,
    /// One sentence for the documentation of JMESPath's functions; those of CEL are in the library
    /// texts.
    pub note: &'static str,
    /// Expressions with the JSON of their results, or with `error: ` and the text; tests run them.
    pub examples: &'static [(&'static str, &'static str)],
}

/// Whether classes of values describe what a function makes of its arguments. A comparison of
/// policies proves something only where every call is of the first two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Classes {
    /// Its result depends on texts, numbers and lists only through the constants that they are
    /// compared with (`ephor_compare::predicates`).
    Described,
    /// The same where it makes a text of the text of one field, which the classes of that field
    /// follow (`ephor_analysis::reads::texts`).
    Followed,
    /// It computes values that no class describes.
    Computed,
}

/// Argument types as the JMESPath dialect names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ty {
    /// Anything.
    Any,
    /// A double.
    Number,
    /// Text.
    String,
    /// A list, opaque ones included.
    Array,
    /// An object.
    Object,
    /// A list of doubles; an empty list too.
    ArrayNumber,
    /// A list of strings; an empty list too.
    ArrayString,
    /// An expression reference (`&expr`).
    Expref,
}

/// How many arguments a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// As many as there are parameters.
    Fixed,
    /// One or more, of any type.
    AtLeastOne,
    /// Any number, ignored.
    Ignored,
}

/// The overloads of a function.
#[derive(Clone, Copy, Debug)]
pub enum Overloads {
    /// One, whose types are checked when it is called.
    Checked {
        /// The types that each parameter accepts, in the order in which errors list them.
        params: &'static [&'static [Ty]],
        /// Number of arguments.
        arity: Arity,
        /// Result type as documentation shows it.
        returns: &'static str,
    },
    /// Those that the library texts declare under its name, see [`super::cel::overload::of`]; the
    /// checker chooses.
    Declared,
    /// None: lowering puts it in the place of a function that expressions name.
    InPlaceOf(&'static str),
}

/// What functions are to analyses, on operands in the order in which the function takes them.
/// Which values an operation takes and when values are equal is the language's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Equal arguments give the equal result, unless it depends on more; nothing else is known.
    Opaque,
    /// Whether all operands are true.
    And,
    /// Whether some operand is.
    Or,
    /// Negation.
    Not,
    /// The second operand if the first is true, else the third.
    Choose,
    /// Equality.
    Equal,
    /// Its negation.
    Unequal,
    /// The first operand comes before the second.
    Less,
    /// It does, or they are equal.
    LessOrEqual,
    /// The first operand comes behind the second.
    Greater,
    /// It does, or they are equal.
    GreaterOrEqual,
    /// Sum; texts and lists are added too.
    Add,
    /// Difference.
    Subtract,
    /// Product.
    Multiply,
    /// Quotient.
    Divide,
    /// What a division leaves.
    Remainder,
    /// The number of the other sign.
    Negate,
    /// What stands in the first operand under the second, which must exist.
    Index,
    /// The same; it need not exist.
    OptionalIndex,
    /// The first operand if it holds something, else the second.
    OrElse,
    /// Whether the first operand is an item or key of the second.
    Member,
    /// The entries of the second operand added to the first.
    Insert,
    /// The number of characters, bytes, items, entries.
    Size,
    /// The keys of an object.
    Keys,
    /// The operand, of unknown type.
    Unchanged,
    /// The name of a value's type.
    TypeOf,
    /// Whether the optional operand holds something.
    Present,
    /// Whether the first text begins with the second.
    StartsWith,
    /// Whether the first text ends with the second.
    EndsWith,
    /// Whether the first text contains the second; JMESPath's `contains` takes lists too.
    Contains,
    /// Whether the regular expression that is the second operand matches somewhere in the first.
    Matches,
    /// Whether the second operand matches the regular expression that is the first.
    MatchedBy,
    /// The first operand with the second one's items in the place of its clauses.
    Format,
    /// Conversion to a duration.
    Duration,
    /// Conversion to a point in time.
    Timestamp,
    /// -1, 0 or 1 as the first quantity or version comes before, with or behind the second.
    CompareTo,
    /// Whether the first quantity or version comes before the second.
    IsLessThan,
    /// Whether it comes behind it.
    IsGreaterThan,
    /// Conversion to an integer.
    ToInt,
    /// Conversion to a double.
    ToDouble,
    /// The number that a text reads as; null where it is none.
    ToNumber,
    /// Conversion to a quantity.
    ToQuantity,
    /// Whether a text is a quantity.
    IsQuantity,
    /// The text of a scalar.
    ToText,
    /// A text as it is, any other value as JSON.
    ToJson,
    /// The value that JSON is the text of.
    ParseJson,
    /// Letters as capitals.
    Upper,
    /// Letters as small ones.
    Lower,
    /// Letters of ASCII as capitals.
    UpperAscii,
    /// Letters of ASCII as small ones.
    LowerAscii,
    /// A text without some characters at both ends.
    Trim,
    /// A text without another one at its start.
    TrimPrefix,
    /// A text with a third one for each occurrence of a second one.
    Replace,
    /// A text with another one for each match of a regular expression.
    ReplaceMatches,
    /// The parts of a text between the occurrences of another one.
    Split,
    /// Texts with another one between them.
    Join,
    /// An optional value that holds the operand.
    OptionalOf,
    /// The same, unless the operand is the zero of its type.
    OptionalOfNonZero,
    /// An optional value that holds nothing.
    OptionalNone,
    /// What an optional value holds.
    OptionalValue,
    /// The same, or the second operand where it holds nothing.
    ValueOr,
    /// The first operand that is not null.
    FirstPresent,
    /// What an object has under a key, or a list at a position; null where there is nothing.
    LookUpKey,
    /// The values of an object.
    Values,
    /// A list with an object for each entry.
    Entries,
    /// The items of the lists of a list.
    Flatten,
    /// The sum of a list.
    Sum,
    /// Arithmetic on numbers, and on texts that are quantities or durations.
    Arithmetic,
    /// A number near another one, or of its magnitude.
    Round,
    /// Whether an object has all labels of another one.
    LabelMatch,
    /// The time between two points, of which the second may be now.
    TimeSince,
    /// This moment.
    Now,
    /// The parts of an image reference.
    ParseImage,
    /// The repository of a reference.
    Repository,
    /// The tag of a reference.
    Tag,
    /// The digest of a reference.
    Digest,
    /// An object, an answer or an entry that a library looks up.
    LookUp,
    /// A list of objects that a library looks up.
    ListObjects,
    /// What a registry says of an image.
    LookUpImage,
    /// The answer of a service to what is sent to it.
    Post,
    /// Objects are generated.
    Apply,
}

/// What a function's result depends on besides its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dependency {
    /// The clock.
    Clock,
    /// Chance.
    Chance,
    /// What the engine was set to: the default registry of images.
    Settings,
    /// The API server.
    Cluster,
    /// Services, and servers of names.
    Services,
    /// Registries of images.
    Registry,
    /// Whom its receiver stands for.
    Receiver,
}

/// What a call costs.
#[derive(Clone, Copy)]
pub enum Cost {
    /// Constant time; not counted, as the next two.
    Constant,
    /// Grows with the argument's size.
    Linear,
    /// Parsing, hashing, regular expressions.
    Heavy,
    /// Counted on the meter of CEL.
    Counted {
        /// The amount.
        amount: fn(&Charge<'_>) -> u64,
        /// Whether a call that costs more than may be spent is not even tried: it takes as long as
        /// it costs, which its arguments alone determine.
        ahead: bool,
        /// The fault of a call whose charge cannot be computed, in Kubernetes' words.
        aborts: Option<fn(&Charge<'_>) -> Option<Fault>>,
    },
}

/// What is done with constant arguments when an expression is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Constants {
    /// Nothing.
    Unprepared,
    /// A call of a constant is computed, at no cost later; its fault is an error of compilation.
    Converted,
    /// The second argument is a regular expression, which is compiled. Where parts fail late,
    /// `late` ones fail when they are evaluated.
    Pattern {
        /// See above.
        late: bool,
    },
}

/// When a fault of the first of two arguments ends the call without a read the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// Unless the checker chose one overload: each has a body of its own.
    ByOverload,
    /// Never: there is one body for all overloads, which reads all arguments. They need no
    /// guards.
    Operator,
    /// Always.
    Receiver,
}

/// The body of a function.
#[derive(Clone, Copy)]
pub enum Run {
    /// A function of its arguments, whose number and types are checked.
    Plain(fn(&Context, &[Arg<'_>]) -> Result<ephor_value::Value, Fault>),
    /// A function that evaluates an expression for each item; the evaluator runs it.
    Higher(Higher),
    /// A function of its arguments, which finds out whether an overload takes them.
    Strict(fn(&Call<'_>) -> CallResult),
    /// None: calls are lowered to nodes of their own.
    Node,
}

/// Functions that take an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Higher {
    /// `map(&e, array)`
    Map,
    /// `sort_by(array, &e)`
    SortBy,
    /// `max_by(array, &e)`
    MaxBy,
    /// `min_by(array, &e)`
    MinBy,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Rows are equal when they are the same row.
impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        (self.language, self.name) == (other.language, other.name)
    }
}

impl Eq for Function {}

impl std::hash::Hash for Function {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// The columns that rows of a table add to its constructors.
impl Function {
    pub(super) const fn depends_on(mut self, dependency: Dependency) -> Self {
        self.dependency = Some(dependency);
        self.folds = false;
        self
    }

    /// Never fails on arguments of an overload's types.
    pub(super) const fn total(mut self) -> Self {
        self.fails = false;
        self
    }

    pub(super) const fn folded(mut self) -> Self {
        self.folds = true;
        self
    }
}

impl Operation {
    /// Whether classes of values describe its results.
    pub fn classes(self) -> Classes {
        use Operation::*;
        match self {
            And | Or | Not | Choose | Equal | Unequal | Less | LessOrEqual | Greater | GreaterOrEqual
            | CompareTo | IsLessThan | IsGreaterThan | Add | OrElse | Member | Size | Keys | Values
            | Entries | Unchanged | TypeOf | Present | StartsWith | EndsWith | Contains | Matches
            | MatchedBy | Duration | ToInt | ToDouble | ToNumber | ToQuantity | IsQuantity | ToText
            | ToJson | Upper | Lower | UpperAscii | LowerAscii | OptionalOf | OptionalNone
            | OptionalValue | ValueOr | FirstPresent => Classes::Described,
            Trim | TrimPrefix | Replace | Split | Join | LookUpKey => Classes::Followed,
            Opaque | Subtract | Multiply | Divide | Remainder | Negate | Index | OptionalIndex | Insert
            | Format | Timestamp | ParseJson | ReplaceMatches | OptionalOfNonZero | Flatten | Sum
            | Arithmetic | Round | LabelMatch | TimeSince | Now | ParseImage | Repository | Tag | Digest
            | LookUp | ListObjects | LookUpImage | Post | Apply => Classes::Computed,
        }
    }

    /// Whether what it gives is a number, or the text of an amount. The sum of one item is that
    /// item, whatever it is.
    pub fn gives_number(self) -> bool {
        use Operation::{Arithmetic, Round, Size, ToNumber};
        matches!(self, Size | Arithmetic | Round | ToNumber)
    }

    /// Whether it changes the case of texts.
    pub fn changes_case(self) -> bool {
        use Operation::{Lower, LowerAscii, Upper, UpperAscii};
        matches!(self, Upper | Lower | UpperAscii | LowerAscii)
    }

    /// Whether it looks for one text in another one.
    pub fn searches_text(self) -> bool {
        use Operation::{Contains, EndsWith, StartsWith};
        matches!(self, StartsWith | EndsWith | Contains)
    }

    /// Whether it looks for a regular expression in a text.
    pub fn searches_pattern(self) -> bool {
        matches!(self, Operation::Matches | Operation::MatchedBy)
    }

    /// Whether it adds or orders values.
    pub fn is_sum_or_order(self) -> bool {
        use Operation::{Add, Greater, GreaterOrEqual, Less, LessOrEqual};
        matches!(self, Add | Less | LessOrEqual | Greater | GreaterOrEqual)
    }

    /// Whether it compares two values.
    pub fn is_comparison(self) -> bool {
        use Operation::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, Unequal};
        matches!(self, Equal | Unequal | Less | LessOrEqual | Greater | GreaterOrEqual)
    }
}

impl Function {
    /// Whether equal arguments always give the equal result.
    pub fn is_pure(&self) -> bool {
        self.dependency.is_none()
    }

    /// The types that its parameters accept, where they are checked when it is called.
    pub fn params(&self) -> &'static [&'static [Ty]] {
        match self.overloads {
            Overloads::Checked { params, .. } => params,
            Overloads::Declared | Overloads::InPlaceOf(_) => &[],
        }
    }

    /// The cost of a call; 0 where calls are not counted.
    pub fn amount(&self, charge: &Charge<'_>) -> u64 {
        match self.cost {
            Cost::Counted { amount, .. } => amount(charge),
            Cost::Constant | Cost::Linear | Cost::Heavy => 0,
        }
    }

    /// As [`Function::amount`].
    ///
    /// # Errors
    /// The cost cannot be computed.
    pub fn charge(&self, charge: &Charge<'_>) -> Result<u64, Fault> {
        match self.cost {
            Cost::Counted { aborts: Some(aborts), .. } => {
                aborts(charge).map_or_else(|| Ok(self.amount(charge)), Err)
            }
            _ => Ok(self.amount(charge)),
        }
    }

    /// Whether equal arguments give equal results at equal cost, whatever was spent before: charges
    /// of a function whose cost cannot always be computed may wrap.
    pub fn is_repeatable(&self) -> bool {
        self.is_pure() && !matches!(self.cost, Cost::Counted { aborts: Some(_), .. })
    }

    /// Whether it is a node of its own in cel-go, not a call: equality and negation. Of a failed
    /// operand these cost the same at every level.
    pub fn counts_failed(&self) -> bool {
        matches!(self.operation, Operation::Equal | Operation::Unequal | Operation::Not)
            || matches!(self.overloads, Overloads::InPlaceOf("_==_" | "_!=_"))
    }

    /// Whether a call that costs more than may be spent is not even tried.
    pub fn is_counted_ahead(&self) -> bool {
        matches!(self.cost, Cost::Counted { ahead: true, .. })
    }
}

/// What the checker knows of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Known {
    /// Exactly one form of the function fits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub one_form: bool,
    /// Called on a receiver.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub member: bool,
    /// A constant argument was prepared beforehand; a call whose other argument fails costs
    /// nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub prepared: bool,
    /// The one form that fits walks its second argument: a text that is parsed, or the list of
    /// `in`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub walked: bool,
}

impl Cost {
    /// The class in words.
    pub fn name(self) -> &'static str {
        match self {
            Cost::Constant => "constant",
            Cost::Linear => "linear",
            Cost::Heavy => "heavy",
            Cost::Counted { .. } => "counted",
        }
    }
}
