//! The evaluator of expressions: the only one, for every language.
//!
//! In: an expression, the root and the values of enclosing binders. Out: a value, borrowed from the
//! root or from the expression's constants wherever nothing has to be computed (reading fields and
//! comparing allocates nothing), or a fault.

use std::borrow::Cow;
use std::cell::OnceCell;

use ephor_functions::{self, Arg, limits};
use ephor_ir::expr::{Expr, Faults, Missing};
use ephor_ir::ops::{compare, item, slice, truthy, walk};
use ephor_value::{Fault, List, Map, Str, Value, budget};

use super::cells::{Cells, Used};
use super::lists::{self, higher};
use super::meter::{ComposedVariables, Meter};
use super::sorted::Sorted;
use super::strict::{strict, truth};
use super::trace;

/// The result of an expression.
pub type Evaluated<'a> = Result<Cow<'a, Value>, Fault>;

pub(super) const NULL: Value = Value::Null;
const TRUE: Value = Value::Bool(true);
const FALSE: Value = Value::Bool(false);

/// What an expression can see.
#[derive(Clone, Copy)]
pub struct Env<'f, 'a> {
    /// The data of the request.
    root: &'a Value,
    /// Top-level names on top of it; the last of equal names counts.
    overlay: &'a [(Str, Value)],
    /// What `request.object` reads, where that is known and there.
    object: Option<&'a Value>,
    /// What functions may know of the world.
    pub functions: &'a ephor_functions::Context,
    /// Where sorted lists are noted; without it only the caller of `sort_by` sees the order.
    sorted: Option<&'f Sorted>,
    locals: Option<&'f Frame<'f, 'a>>,
    meter: Option<&'a Meter>,
    variables: Option<&'a ComposedVariables<'a>>,
    cells: Option<&'a Cells>,
    /// Whether lists that are built from other lists are built one by one.
    one_by_one: bool,
}

/// The value of a binder and the binders around it.
struct Frame<'f, 'a> {
    value: &'a Value,
    /// What computes the value when it is first read, and where it is stored then.
    later: Option<(&'a Expr, &'a OnceCell<Result<Value, Fault>>)>,
    outer: Option<&'f Frame<'f, 'a>>,
}

impl<'f, 'a> Env<'f, 'a> {
    /// An environment without binders.
    pub fn new(root: &'a Value, functions: &'a ephor_functions::Context) -> Self {
        Env {
            root,
            overlay: &[],
            object: None,
            functions,
            sorted: None,
            locals: None,
            meter: None,
            variables: None,
            cells: None,
            one_by_one: false,
        }
    }

    /// With a meter for the cost of strict nodes.
    #[must_use]
    pub fn with_meter(mut self, meter: &'a Meter) -> Self {
        self.meter = Some(meter);
        self
    }

    /// With composed variables.
    #[must_use]
    pub fn with_variables(mut self, variables: &'a ComposedVariables<'a>) -> Self {
        self.variables = Some(variables);
        self
    }

    /// The n-th composed variable.
    ///
    /// # Errors
    /// Its fault.
    pub fn variable(&self, n: u32) -> Result<&'a Value, Fault> {
        let variables = self.variables.ok_or_else(|| Fault::new("no such variable"))?;
        variables.get(n, self)
    }

    /// The same without binders.
    #[must_use]
    pub fn without_locals(self) -> Env<'f, 'a> {
        Env { locals: None, ..self }
    }

    /// Adds to the cost.
    ///
    /// # Errors
    /// The meter's limit is exceeded.
    pub fn charge(&self, amount: u64) -> Result<(), Fault> {
        self.meter.map_or(Ok(()), |m| m.charge(amount))
    }

    /// Whether the cost stays within the meter's limit after such an addition.
    pub fn affords(&self, amount: u64) -> bool {
        self.meter.is_none_or(|m| m.affords(amount))
    }

    /// The limit of the meter, if there is one.
    pub fn limit(&self) -> Option<u64> {
        self.meter.map(Meter::limit)
    }

    /// Whether there is a meter.
    pub fn is_metered(&self) -> bool {
        self.meter.is_some()
    }

    /// Where everything that holds a list sees it sorted once `sort_by` has sorted it.
    #[must_use]
    pub fn sorting(mut self, sorted: &'f Sorted) -> Self {
        self.sorted = Some(sorted);
        self
    }

    /// Whether it is noted which lists get sorted.
    pub(super) fn is_sorting(&self) -> bool {
        self.sorted.is_some()
    }

    /// Whether a list that is built from another list may be built in one pass.
    pub(super) fn fuses(&self) -> bool {
        !self.one_by_one && !self.is_sorting()
    }

    /// The same, but every list is built before another one is built from it.
    #[must_use]
    pub(super) fn unfused(&self) -> Self {
        Env { one_by_one: true, ..*self }
    }

    /// Notes that a list was sorted, where that is of interest.
    pub(super) fn note_sorted(&self, from: &List, to: &List) {
        if let Some(table) = self.sorted {
            table.note(from, to);
        }
    }

    /// A value that was held while others were evaluated, as it is by now.
    fn settle(&self, value: Cow<'a, Value>) -> Cow<'a, Value> {
        match self.sorted {
            Some(sorted) => sorted.settle(value),
            None => value,
        }
    }

    /// Evaluates `body` with cells for what is evaluated once.
    fn with_cells(&self, count: u32, body: &Expr) -> Result<Value, Fault> {
        let cells = Cells::new(count);
        eval(body, Env { cells: Some(&cells), ..*self }).map(Cow::into_owned)
    }

    /// Evaluates an expression, unless a cell knows what it gives. Who watches lists being sorted,
    /// or which fault comes first, evaluates it every time.
    fn once(&self, cell: u32, expr: &'a Expr) -> Evaluated<'a> {
        match self.cells.filter(|_| self.fuses()).and_then(|cells| cells.get(cell)) {
            Some(cell) => cell.read(self, || value(expr, self)),
            None => value(expr, self),
        }
    }

    /// What evaluation has used so far: cost, memory, and the number of computed variables.
    pub(super) fn used(&self) -> Used {
        let computed = self.variables.map_or(0, ComposedVariables::computed);
        Used { cost: self.meter.map_or(0, Meter::spent), bytes: budget::left(), computed }
    }

    /// With top-level names on top of the root.
    #[must_use]
    pub fn with_overlay(mut self, overlay: &'a [(Str, Value)]) -> Self {
        self.overlay = overlay;
        self
    }

    /// With what `request.object` reads, which most paths begin with.
    #[must_use]
    pub fn with_object(mut self, object: Option<&'a Value>) -> Self {
        self.object = object;
        self
    }

    fn root(&self) -> Cow<'a, Value> {
        match (self.root, self.overlay) {
            (root, []) => Cow::Borrowed(root),
            (Value::Map(m), overlay) => {
                let entries = m.iter().map(|(k, v)| (k.clone(), v.clone()));
                Cow::Owned(Value::Map(entries.chain(overlay.iter().cloned()).collect()))
            }
            (root, _) => Cow::Borrowed(root),
        }
    }

    /// Reads keys from the root without putting it together.
    fn read_root(&self, keys: &'a [Str], scalar: Missing) -> Evaluated<'a> {
        if let (Some(object), [request, part, rest @ ..]) = (self.object, keys)
            && &**request == "request"
            && &**part == "object"
        {
            return read_path(Cow::Borrowed(object), rest, scalar);
        }
        if let Some((first, rest)) = keys.split_first()
            && let Some((_, v)) = self.overlay.iter().rev().find(|(name, _)| name == first)
        {
            return read_path(Cow::Borrowed(v), rest, scalar);
        }
        let found = read_path(Cow::Borrowed(self.root), keys, scalar);
        match (&found, keys.first()) {
            // Of a variable that is declared but has no value here, CEL speaks otherwise than of a
            // key.
            (Err(Fault::NotFound(key)), Some(first))
                if key == first && self.is_metered() && self.root.get(first).is_none() =>
            {
                Err(Fault::new(format!("no such attribute(s): {first}")))
            }
            _ => found,
        }
    }

    pub(super) fn local(&self, n: u32) -> Result<&'a Value, Fault> {
        let unbound = || Fault::new("unbound local");
        let mut frame = self.locals.ok_or_else(unbound)?;
        for _ in 0..n {
            frame = frame.outer.ok_or_else(unbound)?;
        }
        match frame.later {
            None => Ok(frame.value),
            Some((expr, cell)) => {
                let compute = || eval(expr, Env { locals: frame.outer, ..*self }).map(Cow::into_owned);
                cell.get_or_init(compute).as_ref().map_err(Clone::clone)
            }
        }
    }

    /// Evaluates `body` with `value` as the innermost local.
    pub fn bind(&self, value: &'a Value, body: &'a Expr) -> Evaluated<'a> {
        if let Expr::Path { base, keys, scalar } = body
            && matches!(**base, Expr::Local(0))
        {
            return read_path(Cow::Borrowed(value), keys, *scalar).map(|v| self.settle(v));
        }
        let frame = Frame { value, later: None, outer: self.locals };
        self::value(body, &Env { locals: Some(&frame), ..*self })
    }

    /// Evaluates `body` with a value that is computed when it is first read, if it ever is.
    pub fn bind_later(&self, value: &'a Expr, body: &'a Expr) -> Result<Value, Fault> {
        let cell = OnceCell::new();
        self.bind_cell(value, &cell, body)
    }

    fn bind_cell<'b>(
        &self,
        value: &'b Expr,
        cell: &'b OnceCell<Result<Value, Fault>>,
        body: &'b Expr,
    ) -> Result<Value, Fault>
    where
        'a: 'b,
    {
        let env: Env<'_, 'b> = *self;
        let frame = Frame { value: &NULL, later: Some((value, cell)), outer: env.locals };
        eval(body, Env { locals: Some(&frame), ..env }).map(Cow::into_owned)
    }

    /// Evaluates `body` with two locals, the second one innermost.
    pub fn bind_two<'b>(&self, first: &'b Value, second: &'b Value, body: &'b Expr) -> Result<Value, Fault>
    where
        'a: 'b,
    {
        let env: Env<'_, 'b> = *self;
        let outer = Frame { value: first, later: None, outer: env.locals };
        let inner = Frame { value: second, later: None, outer: Some(&outer) };
        eval(body, Env { locals: Some(&inner), ..env }).map(Cow::into_owned)
    }

    /// The truth of `body` with one local, or with two of which the second is innermost; `None` =
    /// it is not a boolean.
    pub(super) fn bound_truth<'b>(
        &self,
        first: Option<&'b Value>,
        second: &'b Value,
        body: &'b Expr,
    ) -> Result<Option<bool>, Fault>
    where
        'a: 'b,
    {
        let env: Env<'_, 'b> = *self;
        let outer = first.map(|value| Frame { value, later: None, outer: env.locals });
        let inner = Frame { value: second, later: None, outer: outer.as_ref().or(env.locals) };
        truth(body, &Env { locals: Some(&inner), ..env })
    }

    fn bind_cow(&self, value: Cow<'a, Value>, body: &'a Expr) -> Evaluated<'a> {
        match value {
            Cow::Borrowed(v) => self.bind(v, body),
            Cow::Owned(v) => self.bind_short(&v, body).map(Cow::Owned),
        }
    }

    /// As [`Env::bind`] for a value that does not live as long as the root.
    pub fn bind_short<'b>(&self, value: &'b Value, body: &'b Expr) -> Result<Value, Fault>
    where
        'a: 'b,
    {
        let env: Env<'_, 'b> = *self;
        env.bind(value, body).map(Cow::into_owned)
    }
}

pub(super) fn constant<'a>(b: bool) -> Cow<'a, Value> {
    Cow::Borrowed(if b { &TRUE } else { &FALSE })
}

/// Evaluates `expr`.
pub fn eval<'a>(expr: &'a Expr, env: Env<'_, 'a>) -> Evaluated<'a> {
    value(expr, &env)
}

/// Evaluates the nodes of which most expressions consist; the others are a call away, so that the
/// stack and the registers that they need are no burden here.
pub(crate) fn value<'a>(expr: &'a Expr, env: &Env<'_, 'a>) -> Evaluated<'a> {
    let found = match expr {
        Expr::Const(v) => Ok(Cow::Borrowed(v)),
        Expr::Local(n) => env.local(*n).map(Cow::Borrowed),
        Expr::Path { base, keys, scalar } => match &**base {
            Expr::Root => env.read_root(keys, *scalar),
            Expr::Local(n) => read_path(Cow::Borrowed(env.local(*n)?), keys, *scalar),
            base => read_path(value(base, env)?, keys, *scalar),
        },
        Expr::Rescue { expr, faults } => match (value(expr, env), faults) {
            (Err(Fault::NotFound(_)), _) => Ok(Cow::Borrowed(&NULL)),
            (Err(fault), Faults::AllAsNull) if !fault.ends() => Ok(Cow::Borrowed(&NULL)),
            (result, _) => result,
        },
        Expr::Compare { op, sides } => {
            let (left, right) = (value(&sides[0], env)?, value(&sides[1], env)?);
            let left = env.settle(left);
            Ok(compare(*op, &left, &right).map_or(Cow::Borrowed(&NULL), constant))
        }
        Expr::Walk(_)
        | Expr::Test(_)
        | Expr::Cond(_)
        | Expr::Decide { .. }
        | Expr::Invoke(_)
        | Expr::Variable(_)
        | Expr::Folded(_)
        | Expr::OneOf { .. }
        | Expr::Make(_)
        | Expr::Comprehension(_)
        | Expr::Bind(_)
        | Expr::OrElse { .. } => strict(expr, env),
        other => node(other, env),
    };
    match env.sorted {
        None => found,
        Some(sorted) => {
            let found = found.map(|v| sorted.settle(v));
            if trace::is_on() {
                trace::node(expr, &found);
            }
            found
        }
    }
}

#[inline(never)]
fn node<'a>(expr: &'a Expr, env: &Env<'_, 'a>) -> Evaluated<'a> {
    match expr {
        Expr::Root => Ok(env.root()),
        Expr::Index { base, index } => Ok(match value(base, env)? {
            Cow::Borrowed(v) => item(v, *index).map_or(Cow::Borrowed(&NULL), Cow::Borrowed),
            Cow::Owned(v) => Cow::Owned(item(&v, *index).cloned().unwrap_or_default()),
        }),
        Expr::Slice { base, bounds } => {
            let base = value(base, env)?;
            match base.as_list() {
                Some(items) => limits::result(slice(items, bounds)).map(Cow::Owned),
                None => Ok(Cow::Borrowed(&NULL)),
            }
        }
        Expr::Let { value: bound, body } => env.bind_cow(value(bound, env)?, body),
        Expr::Not(operand) => Ok(constant(!truthy(&*value(operand, env)?))),
        Expr::Or(sides) => {
            let left = value(&sides[0], env)?;
            if truthy(&left) { Ok(left) } else { value(&sides[1], env) }
        }
        Expr::And(sides) => {
            let left = value(&sides[0], env)?;
            if truthy(&left) { value(&sides[1], env) } else { Ok(left) }
        }
        Expr::Project { .. } | Expr::Flatten(_) => lists::build(expr, env),
        Expr::List(items) => {
            limits::list(items.len())?;
            let values: Result<Vec<Value>, Fault> =
                items.iter().map(|e| Ok(value(e, env)?.into_owned())).collect();
            Ok(Cow::Owned(Value::list(values?)))
        }
        Expr::Object(pairs) => {
            limits::list(pairs.len())?;
            let entries: Result<Map, Fault> =
                pairs.iter().map(|(k, e)| Ok((k.clone(), value(e, env)?.into_owned()))).collect();
            Ok(Cow::Owned(Value::Map(entries?)))
        }
        Expr::Once { cell, expr } => env.once(*cell, expr),
        Expr::Cells { count, body } => env.with_cells(*count, body).map(Cow::Owned),
        Expr::UnlessNull(pair) => {
            if value(&pair[0], env)?.is_null() {
                return Ok(Cow::Borrowed(&NULL));
            }
            value(&pair[1], env)
        }
        Expr::Call { function, args } => {
            let made = match &**args {
                [one] => ephor_functions::call(function, env.functions, &[argument(one, env)?]),
                [one, two] if env.sorted.is_none() => ephor_functions::call(
                    function,
                    env.functions,
                    &[argument(one, env)?, argument(two, env)?],
                ),
                args => ephor_functions::call(function, env.functions, &arguments(args, env)?),
            };
            made.map(Cow::Owned)
        }
        Expr::Higher { kind, function, args } => {
            let values = arguments(args, env)?;
            ephor_functions::check(function, &values)?;
            let body = args.iter().find_map(|e| match e {
                Expr::Lambda { body, .. } => Some(&**body),
                _ => None,
            });
            let list = values.into_iter().find_map(|a| match a {
                Arg::Value(v) => Some(v),
                Arg::Expref(_) => None,
            });
            match (list, body) {
                (Some(list), Some(body)) => higher(*kind, list, body, env).map(Cow::Owned),
                _ => Err(Fault::new("invalid node value type")),
            }
        }
        // These are evaluated where most nodes are.
        Expr::Const(_)
        | Expr::Local(_)
        | Expr::Path { .. }
        | Expr::Rescue { .. }
        | Expr::Compare { .. }
        | Expr::Walk(_)
        | Expr::Test(_)
        | Expr::Cond(_)
        | Expr::Decide { .. }
        | Expr::Invoke(_)
        | Expr::Variable(_)
        | Expr::Folded(_)
        | Expr::OneOf { .. }
        | Expr::Make(_)
        | Expr::Comprehension(_)
        | Expr::Bind(_)
        | Expr::OrElse { .. } => value(expr, env),
        // An expression reference that is no argument has no value of its own.
        Expr::Lambda { .. } => Ok(Cow::Owned(Value::Map(Map::new()))),
        Expr::Fail { args, text } => {
            arguments(args, env)?;
            Err(Fault::new(&**text))
        }
    }
}

fn arguments<'a>(args: &'a [Expr], env: &Env<'_, 'a>) -> Result<Vec<Arg<'a>>, Fault> {
    let values: Vec<Arg<'a>> = args.iter().map(|arg| argument(arg, env)).collect::<Result<_, _>>()?;
    let Some(sorted) = env.sorted else { return Ok(values) };
    let settled = |arg| match arg {
        Arg::Value(v) => Arg::Value(sorted.settle(v)),
        other => other,
    };
    Ok(values.into_iter().map(settled).collect())
}

fn argument<'a>(arg: &'a Expr, env: &Env<'_, 'a>) -> Result<Arg<'a>, Fault> {
    match arg {
        Expr::Lambda { text, .. } => Ok(Arg::Expref(text)),
        arg => value(arg, env).map(Arg::Value),
    }
}

fn read_path<'a>(base: Cow<'a, Value>, keys: &'a [Str], scalar: Missing) -> Evaluated<'a> {
    match base {
        Cow::Borrowed(v) => walk(v, keys, scalar).map(|v| Cow::Borrowed(v.unwrap_or(&NULL))),
        Cow::Owned(v) => walk(&v, keys, scalar).map(|v| Cow::Owned(v.cloned().unwrap_or_default())),
    }
}
