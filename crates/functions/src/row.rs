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
    /// What an analysis may know of it.
    pub meaning: Meaning,
    /// Whether classes of values describe its results, so that a comparison of rules that call it
    /// can be a proof.
    pub classes: Classes,
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
/// policies proves something only where every call is of the first two; each row has to say.
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

/// What an analysis may know of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meaning {
    /// An operation that an analysis can interpret.
    Interpreted(Operation),
    /// Equal arguments give the equal result; nothing else is known.
    Pure,
    /// The result depends on more than the arguments.
    DependsOn(Dependency),
}

/// Operations that analyses interpret, on operands in the order in which the function takes them.
/// Which values an operation takes and when values are equal is the language's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
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
    pub(super) const fn means(mut self, operation: Operation) -> Self {
        self.meaning = Meaning::Interpreted(operation);
        self
    }

    pub(super) const fn depends_on(mut self, dependency: Dependency) -> Self {
        self.meaning = Meaning::DependsOn(dependency);
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
        !matches!(self.meaning, Meaning::DependsOn(_))
    }

    /// The operation that it is to an analysis.
    pub fn operation(&self) -> Option<Operation> {
        match self.meaning {
            Meaning::Interpreted(operation) => Some(operation),
            Meaning::Pure | Meaning::DependsOn(_) => None,
        }
    }

    /// What its result depends on besides its arguments.
    pub fn dependency(&self) -> Option<Dependency> {
        match self.meaning {
            Meaning::DependsOn(dependency) => Some(dependency),
            Meaning::Pure | Meaning::Interpreted(_) => None,
        }
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
        matches!(self.operation(), Some(Operation::Equal | Operation::Unequal | Operation::Not))
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
