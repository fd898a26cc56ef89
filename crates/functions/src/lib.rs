//! The function library: one [`registry`] for every language, a row per function.
//!
//! In: evaluated arguments. Out: a value or a fault with the text that users see. The evaluator
//! looks a function up once, when an expression is lowered, and calls one of JMESPath through
//! [`call`], which checks the number and the types of the arguments first, and one of CEL through
//! [`cel::call`]. [`page`] makes `docs/expressions/functions.md` of the registry.
//!
//! - `args`: reading checked arguments
//! - `arithmetic`: arithmetic on numbers, Kubernetes quantities and durations
//! - [`cel`]: CEL's functions: what they compute and what they cost
//! - [`chance`]: the chance that functions draw from
//! - [`collections`]: functions of lists and objects, and the standard functions of any value
//! - [`encode`]: base64 and hash functions
//! - [`go_syntax`]: Go's regular expression syntax (RE2), translated to the syntax of the `regex`
//!   crate
//! - `json`: `parse_json` and `parse_yaml`
//! - `level`: releases of cel-go, and what differs between them
//! - [`limits`]: bounds on what functions make
//! - `misc`: functions of versions, images and addresses
//! - [`page`]: the registry as text: the page `docs/expressions/functions.md`, and what
//!   `jp function` shows of one function
//! - `random`: `random(pattern)`: text that matches a pattern
//! - [`regex`]: regular expression functions
//! - [`registry`]: the function registry: one row for each function of each language
//! - `remarks`: what functions do with arguments that they take for something else, without a word
//! - `row`: what a row of the registry is: a function of one language and all that is known of it
//! - `strings`: functions of strings
//! - `table`: JMESPath's rows of the registry, in the order of their names; see
//!   `functions::registry`
//! - `timefn`: functions of points in time and durations
//! - [`untracked`]: notes what makes results depend on more than the request: clocks, chance,
//!   external data, expressions that are composed at run time
//! - `url`: `is_external_url(url)`: whether a URL leads outside of private networks
//! - `x509`: `x509_decode(pem)` and `x509.decode(pem)`: the fields of a certificate or certificate
//!   request
#![forbid(unsafe_code)]

mod args;
mod arithmetic;
pub mod cel;
pub mod chance;
pub mod collections;
pub mod encode;
pub mod go_syntax;
mod json;
mod level;
pub mod limits;
mod misc;
pub mod page;
mod random;
pub mod regex;
pub mod registry;
mod remarks;
mod row;
mod strings;
mod table;
mod timefn;
pub mod untracked;
mod url;
mod x509;

use std::borrow::Cow;

use ephor_external::{Authorizer, ExternalData};
use ephor_value::{Fault, Value, budget, print};

pub use regex::go_regex;

pub use level::{CelLevel, LevelRules};
pub use remarks::Remarks;
use row::Overloads;
pub use row::{Arity, Cost, Function, Higher, Language, Run, Ty};
pub use strings::{lower, upper};
pub use table::BOUNDED;
pub use timefn::now;

/// What the functions may know of the world.
#[derive(Clone)]
pub struct Context {
    /// The moment that `time_now` and its like see: nanoseconds since 1970 in UTC; `None` = the
    /// clock.
    pub now: Option<i128>,
    /// Registry put before image names that name none.
    pub default_registry: String,
    /// Whether the default registry stays visible in normalised image references.
    pub mutate_registry: bool,
    /// The level of CEL's runtime.
    pub cel_level: CelLevel,
    /// The rights of the user; without them nothing is allowed.
    pub authorizer: Option<std::sync::Arc<dyn Authorizer>>,
    /// Objects, services, images and the like.
    pub external: Option<std::sync::Arc<dyn ExternalData>>,
    /// Where functions say what they take for something else.
    pub remarks: Option<std::sync::Arc<Remarks>>,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("now", &self.now).finish_non_exhaustive()
    }
}

impl Default for Context {
    fn default() -> Self {
        Context {
            now: None,
            default_registry: "docker.io".into(),
            mutate_registry: true,
            cel_level: CelLevel::default(),
            authorizer: None,
            external: None,
            remarks: None,
        }
    }
}

/// An evaluated argument.
#[derive(Clone, Debug)]
pub enum Arg<'a> {
    /// A value.
    Value(Cow<'a, Value>),
    /// An expression reference; the text is its syntax tree as type errors show it, for example
    /// `{{5 foo []}}`.
    Expref(&'a str),
}

impl Ty {
    /// The type's name in errors and signatures.
    pub fn name(self) -> &'static str {
        match self {
            Ty::Any => "any",
            Ty::Number => "number",
            Ty::String => "string",
            Ty::Array => "array",
            Ty::Object => "object",
            Ty::ArrayNumber => "array[number]",
            Ty::ArrayString => "array[string]",
            Ty::Expref => "expref",
        }
    }

    /// Whether an argument is of this type.
    fn accepts(self, arg: &Arg<'_>) -> bool {
        let Arg::Value(v) = arg else { return matches!(self, Ty::Any | Ty::Expref) };
        let each = |f: fn(&Value) -> bool| match v.as_ref() {
            Value::List(l) => !l.is_opaque() && l.iter().all(f),
            _ => false,
        };
        match self {
            Ty::Any => true,
            Ty::Number => matches!(**v, Value::Float(_)),
            Ty::String => matches!(**v, Value::Str(_)),
            Ty::Array => matches!(**v, Value::List(_)),
            Ty::Object => matches!(**v, Value::Map(_)),
            Ty::ArrayNumber => each(|v| matches!(v, Value::Float(_))),
            Ty::ArrayString => each(|v| matches!(v, Value::Str(_))),
            Ty::Expref => false,
        }
    }
}

impl Function {
    /// The signature as documentation shows it: `lookup(object|array, string|number) any`.
    pub fn signature(&self) -> String {
        let param = |tys: &&[Ty]| tys.iter().map(|t| t.name()).collect::<Vec<_>>().join("|");
        let params: Vec<String> = self.params().iter().map(param).collect();
        let returns = match self.overloads {
            Overloads::Checked { returns, .. } => returns,
            Overloads::Declared | Overloads::InPlaceOf(_) => "any",
        };
        format!("{}({}) {returns}", self.name, params.join(", "))
    }
}

/// JMESPath's function of this name.
pub fn find(name: &str) -> Option<&'static Function> {
    registry::find(Language::JmesPath, name).filter(|f| **f != BOUNDED)
}

/// JMESPath's functions in the order of their names.
pub fn all() -> &'static [Function] {
    table::TABLE
}

/// Checks the number and the types of arguments.
///
/// # Errors
/// `incorrect number of args`, `Invalid arity.` or `Invalid type for: <v>, expected: …`.
pub fn check(f: &Function, args: &[Arg<'_>]) -> Result<(), Fault> {
    let Overloads::Checked { params, arity, .. } = f.overloads else { return Ok(()) };
    match arity {
        Arity::Ignored => Ok(()),
        Arity::AtLeastOne if args.is_empty() => Err(Fault::new("Invalid arity.")),
        // The reference does not check the types of a variable number of arguments.
        Arity::AtLeastOne => Ok(()),
        Arity::Fixed if args.len() != params.len() => Err(Fault::new("incorrect number of args")),
        Arity::Fixed => {
            let wrong = args.iter().zip(params).find(|(arg, tys)| !tys.iter().any(|t| t.accepts(arg)));
            wrong.map_or(Ok(()), |(arg, tys)| Err(type_fault(arg, tys)))
        }
    }
}

/// Checks the arguments and runs a function that evaluates no expressions itself.
///
/// # Errors
/// Those of [`check`] and of the function. INVARIANT: never [`Fault::NotFound`], which is the fault
/// of reading a key; the optimiser relies on it. A [`Run::Higher`] function is the evaluator's to
/// run and fails here after its check.
pub fn call(f: &Function, cx: &Context, args: &[Arg<'_>]) -> Result<Value, Fault> {
    budget::step()?;
    check(f, args)?;
    match f.run {
        Run::Plain(body) => limits::result(body(cx, args)),
        Run::Higher(_) | Run::Strict(_) | Run::Node => {
            Err(Fault::new(format!("function {} needs the evaluator", f.name)))
        }
    }
}

fn type_fault(arg: &Arg<'_>, expected: &[Ty]) -> Fault {
    let shown = match arg {
        Arg::Value(v) => match limits::printable(v) {
            Ok(()) => print::display(v),
            Err(fault) => return fault,
        },
        Arg::Expref(tree) => (*tree).to_string(),
    };
    let names: Vec<String> = expected.iter().map(|t| format!("\"{}\"", t.name())).collect();
    Fault::new(format!("Invalid type for: {shown}, expected: []jmespath.JpType{{{}}}", names.join(", ")))
}

#[cfg(test)]
mod tests;
