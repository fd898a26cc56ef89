//! Evaluating strict nodes: missing things are faults, every step has a cost.
//!
//! In: a node and its environment. Out: a value or a fault, and the cost on the environment's
//! meter. Costs, also of parts that fail, are those of cel-go and kube-apiserver
//! (`docs/expressions/cel.md`, "Cost").

use std::borrow::Cow;

use ephor_functions::cel::{self, Call, Charge};
use ephor_functions::registry::Operation;
use ephor_functions::{LevelRules, limits};
use ephor_ir::Expr;
use ephor_ir::expr::{Invoke, Make, Step, Test, Walk};
use ephor_ir::strict::map_of;
use ephor_value::object::is_mutation;
use ephor_value::{Fault, Object, Str, Value};

use super::comprehension::evaluate;
use super::eval::{Env, Evaluated, NULL, constant, value as eval};
use crate::admission::crossing;

pub(super) const OVERLOAD: &str = "no such overload";

pub(super) fn overload() -> Fault {
    Fault::new(OVERLOAD)
}

/// Evaluates a strict node.
pub fn strict<'a>(expr: &'a Expr, env: &Env<'_, 'a>) -> Evaluated<'a> {
    match expr {
        Expr::Walk(walk) => {
            let (found, optional) = walked(walk, env)?;
            Ok(match found {
                None => Cow::Owned(Value::optional(None)),
                Some(v) if optional => Cow::Owned(Value::optional(Some(v.into_owned()))),
                Some(v) => {
                    fits(&v)?;
                    v
                }
            })
        }
        Expr::Test(test) => tested(test, env).map(constant),
        Expr::Decide { all, sides } => decided(*all, sides, env).map(constant),
        Expr::Cond(parts) => {
            let [condition, then, other] = &**parts;
            match truth(condition, env)? {
                Some(true) => eval(then, env),
                Some(false) => eval(other, env),
                None => Err(overload()),
            }
        }
        Expr::Variable(n) => env.variable(*n).map(Cow::Borrowed),
        Expr::Folded(folded) => {
            folded.costs.iter().try_for_each(|amount| env.charge(*amount))?;
            Ok(Cow::Borrowed(&folded.value))
        }
        Expr::Invoke(invoke) => invoked(invoke, env),
        Expr::OneOf { value, set } => {
            let v = eval(value, env)?;
            Ok(constant(set.iter().any(|one| one.cel_eq(&v))))
        }
        Expr::Make(make) => construct(make, env).map(Cow::Owned),
        Expr::Comprehension(l) => evaluate(l, env),
        Expr::Bind(parts) => {
            let [value, body] = &**parts;
            env.bind_later(value, body).map(|v| Cow::Owned(crossing::bound(v)))
        }
        Expr::OrElse { sides, unwrap, eager } => or_else(sides, *unwrap, *eager, env),
        _ => Err(Fault::new("not a strict node")),
    }
}

/// The left side, or the right one where the left one holds nothing.
#[inline(never)]
fn or_else<'a>(sides: &'a [Expr; 2], unwrap: bool, eager: bool, env: &Env<'_, 'a>) -> Evaluated<'a> {
    if unwrap && eager {
        let left = maybe(&sides[0], env)?;
        let right = eval(&sides[1], env);
        if !right.as_ref().is_err_and(Fault::ends) {
            env.charge(1)?;
        }
        let right = right?;
        return match left {
            Maybe::Nothing => Ok(right),
            Maybe::Inside(v) | Maybe::Plain(v) => {
                fits(&v)?;
                Ok(v)
            }
        };
    }
    match maybe(&sides[0], env)? {
        Maybe::Nothing => eval(&sides[1], env),
        Maybe::Inside(v) if unwrap => {
            fits(&v)?;
            Ok(v)
        }
        Maybe::Inside(v) => Ok(Cow::Owned(Value::optional(Some(v.into_owned())))),
        Maybe::Plain(_) if rules(env).wants_optionals => Err(overload()),
        Maybe::Plain(v) => Ok(v),
    }
}

/// The truth of an expression; `None` = it is not a boolean. The nodes that decide anything hand
/// booleans to one another without building values.
pub(crate) fn truth<'a>(expr: &'a Expr, env: &Env<'_, 'a>) -> Result<Option<bool>, Fault> {
    match expr {
        // Who watches wants to see every node.
        Expr::Test(_) | Expr::Decide { .. } if env.is_sorting() => eval(expr, env).map(|v| v.as_bool()),
        Expr::Test(test) => tested(test, env).map(Some),
        Expr::Decide { all, sides } => decided(*all, sides, env).map(Some),
        expr => eval(expr, env).map(|v| v.as_bool()),
    }
}

/// A value that may be missing, without its wrapping.
enum Maybe<'a> {
    /// An optional value that holds nothing.
    Nothing,
    /// What an optional value holds.
    Inside(Cow<'a, Value>),
    /// A value that is not optional.
    Plain(Cow<'a, Value>),
}

/// Evaluates what is expected to be optional; what a walk finds is never wrapped.
fn maybe<'a>(expr: &'a Expr, env: &Env<'_, 'a>) -> Result<Maybe<'a>, Fault> {
    let v = match expr {
        Expr::Walk(walk) => match walked(walk, env)? {
            (None, _) => return Ok(Maybe::Nothing),
            (Some(v), true) => return Ok(Maybe::Inside(v)),
            (Some(v), false) => {
                fits(&v)?;
                v
            }
        },
        expr => eval(expr, env)?,
    };
    let inner = match v.as_optional() {
        None => return Ok(Maybe::Plain(v)),
        Some(inner) => inner.cloned(),
    };
    Ok(inner.map_or(Maybe::Nothing, |v| Maybe::Inside(Cow::Owned(v))))
}

/// Three-valued logic: the deciding value wins over faults, else the first fault.
fn decided<'a>(all: bool, sides: &'a [Expr; 2], env: &Env<'_, 'a>) -> Result<bool, Fault> {
    let mut first = None;
    for side in sides {
        match truth(side, env) {
            Ok(Some(b)) if b != all => return Ok(b),
            Ok(Some(_)) => {}
            Ok(None) => first = first.or_else(|| Some(overload())),
            Err(fault) if fault.ends() => return Err(fault),
            Err(fault) => first = first.or(Some(fault)),
        }
    }
    first.map_or(Ok(all), Err)
}

type Walked<'a> = Result<(Option<Cow<'a, Value>>, bool), Fault>;

/// What a walk finds (`None` = an optional step found nothing), and whether it had optional steps.
fn walked<'a>(walk: &'a Walk, env: &Env<'_, 'a>) -> Walked<'a> {
    let base = match &walk.base {
        Expr::Local(n) if !env.is_sorting() => env.local(*n).map(Cow::Borrowed),
        base => eval(base, env),
    };
    if walk.has_cost && !base.as_ref().is_err_and(Fault::ends) {
        env.charge(1)?;
    }
    let mut at = base?;
    fits(&at)?;
    let mut optional = false;
    if walk.steps.is_empty() {
        return Ok((Some(at), false));
    }
    if let Some(inner) = at.as_optional() {
        optional = true;
        at = match inner {
            None => return Ok((None, true)),
            Some(v) if rules(env).rereads_branches => Cow::Owned(cel::optional::reread(v)?),
            Some(v) => Cow::Owned(v.clone()),
        };
    }
    for (i, step) in walk.steps.iter().enumerate() {
        let computed;
        let (key, may_miss) = match step {
            Step::Key { key, optional } => (key, *optional),
            Step::At { index, optional: may } => {
                computed = match eval(index, env) {
                    Err(fault) if !fault.ends() => {
                        env.charge(u64::from(!optional && !*may))?;
                        return Err(fault);
                    }
                    result => result?,
                };
                if let Some(fault) = unfit_key(index, &computed) {
                    env.charge(u64::from(!optional && !*may))?;
                    return Err(fault);
                }
                (&*computed, *may)
            }
            Step::Field(name) => {
                let found = cel::messages::field(&at, name);
                env.charge(1)?;
                let found = found?.ok_or_else(|| Fault::NotFound(name.clone()))?;
                // The cost of reading from such a value is added before its fault is returned.
                if fits(&found).is_err() && i + 1 < walk.steps.len() {
                    env.charge(1)?;
                    fits(&found)?;
                }
                at = Cow::Owned(found);
                continue;
            }
        };
        optional |= may_miss;
        // Most steps are those of objects of the request, and need nothing else of what follows.
        if let (&Cow::Borrowed(Value::Map(m)), Value::Str(key)) = (&at, key)
            && let Some(found) = m.get(key)
        {
            env.charge(1)?;
            at = Cow::Borrowed(found);
            fits(&at)?;
            continue;
        }
        if !may_miss && let Some(fault) = unfit_index(&at, key) {
            env.charge(u64::from(!optional))?;
            return Err(fault);
        }
        let found = match at {
            Cow::Borrowed(v) => stepped(read(v, key), v, key, optional, env)?.map(Cow::Borrowed),
            Cow::Owned(v) => stepped(read(&v, key), &v, key, optional, env)?.map(|f| Cow::Owned(f.clone())),
        };
        match found {
            Some(found) => at = found,
            None => return Ok((None, true)),
        }
        fits(&at)?;
    }
    Ok((Some(at), optional))
}

/// Why a number that is no integer is no index of a list of a typed object. Optional steps take it.
fn unfit_index(base: &Value, key: &Value) -> Option<Fault> {
    let is_unfit = matches!(base, Value::List(items) if items.is_view())
        && matches!(key, Value::UInt(_) | Value::Float(_));
    is_unfit.then(|| Fault::new(format!("unsupported index type: {}", cel::go_type(key))))
}

/// What a step of a walk found, with its cost added; `None` = nothing, which an optional step
/// permits.
fn stepped<'v>(
    found: Result<Option<&'v Value>, Fault>,
    base: &Value,
    key: &Value,
    optional: bool,
    env: &Env<'_, '_>,
) -> Result<Option<&'v Value>, Fault> {
    match found {
        Ok(Some(found)) => env.charge(1).map(|()| Some(found)),
        Ok(None) if optional => Ok(None),
        Ok(None) => {
            env.charge(1)?;
            Err(missing(base, key))
        }
        Err(fault) => {
            env.charge(u64::from(!optional || rules(env).counts_misplaced_keys))?;
            Err(fault)
        }
    }
}

/// What does not fit its schema is a fault when it is read.
#[inline(always)]
fn fits(v: &Value) -> Result<(), Fault> {
    match v {
        Value::Object(o) => misfit(o).map_or(Ok(()), Err),
        _ => Ok(()),
    }
}

#[cold]
fn misfit(o: &Object) -> Option<Fault> {
    match o {
        Object::Invalid(text) => Some(Fault::new(text.to_string())),
        _ => None,
    }
}

/// The fault of a key or position that is not there.
fn missing(base: &Value, key: &Value) -> Fault {
    if matches!(base, Value::List(_)) {
        return Fault::new(format!("index out of bounds: {}", key_text(key)));
    }
    Fault::NotFound(key_text(key))
}

pub(super) fn key_text(key: &Value) -> Str {
    match key {
        Value::Str(s) => s.clone(),
        Value::Bool(b) => b.to_string().into(),
        Value::Int(i) => i.to_string().into(),
        Value::UInt(u) => u.to_string().into(),
        Value::Float(f) => ephor_value::number::float_v(*f).into(),
        other => other.cel_type().into(),
    }
}

/// The fault of a computed key that can be none.
fn unfit_key(index: &Expr, key: &Value) -> Option<Fault> {
    if matches!(key, Value::Bool(_) | Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Str(_)) {
        return None;
    }
    let kind = match (key, index) {
        (Value::Null, index) if is_read(index) => "<nil>",
        (Value::List(_) | Value::Map(_), index) if is_read(index) => cel::native_type(key),
        (Value::List(_), Expr::Invoke(call)) if call.function.operation == Operation::Add => {
            "*types.concatList"
        }
        _ => cel::go_type(key),
    };
    Some(Fault::new(format!("invalid qualifier type: {kind}")))
}

/// Whether an expression gives a value of the host as it is.
fn is_read(expr: &Expr) -> bool {
    match expr {
        Expr::Walk(walk) => matches!(walk.base, Expr::Path { .. }),
        Expr::Cond(parts) => is_read(&parts[1]) && is_read(&parts[2]),
        _ => false,
    }
}

/// What stands under a key or at a position; `None` when nothing does.
fn read<'v>(base: &'v Value, key: &Value) -> Result<Option<&'v Value>, Fault> {
    match base {
        Value::Map(m) => match key {
            Value::Str(key) => Ok(m.get(key)),
            _ if m.view().is_some() => {
                Err(Fault::new(format!("unsupported map key type: {}", cel::go_type(key))))
            }
            _ => Ok(None),
        },
        Value::List(items) => {
            let at = match key {
                Value::Int(i) => usize::try_from(*i).ok(),
                Value::UInt(u) => usize::try_from(*u).ok(),
                Value::Float(f) if f.fract() == 0.0 && f.is_finite() => {
                    if *f < 0.0 {
                        None
                    } else {
                        Some(*f as usize)
                    }
                }
                Value::Float(_) => {
                    return Err(Fault::new(format!("unsupported index value {} in list", key_text(key))));
                }
                other => {
                    let kind = other.cel_type();
                    return Err(Fault::new(format!("unsupported index type '{kind}' in list")));
                }
            };
            Ok(at.and_then(|i| items.get(i)))
        }
        Value::Object(o) => match &**o {
            Object::Keyed(_) => Ok(base.cel_entry(key).flatten()),
            Object::Struct(name, _) if is_mutation(name) => Ok(None),
            // A field that was not set is null.
            Object::Struct(name, fields) => Ok(key.as_str().map(|k| {
                let unset = || cel::proxy_types::unset(name, k).unwrap_or(&NULL);
                fields.get(k).unwrap_or_else(unset)
            })),
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The fields of a patch.
const PATCH: [&str; 4] = ["op", "path", "from", "value"];

fn tested<'a>(test: &'a Test, env: &Env<'_, 'a>) -> Result<bool, Fault> {
    let (found, optional) = walked(&test.walk, env)?;
    let Some(v) = found else { return Ok(false) };
    let (inner, optional) = match v.as_optional() {
        Some(None) => return Ok(false),
        Some(Some(inner)) => (inner, true),
        None => (&*v, optional),
    };
    let is_set = has_key(inner, &test.key);
    // A key that an optional value does not have has no cost.
    if !optional || !matches!(is_set, Ok(false)) {
        env.charge(1)?;
    }
    is_set
}

fn has_key(v: &Value, key: &Str) -> Result<bool, Fault> {
    fits(v)?;
    match v {
        Value::Map(m) => m.get(key).map_or(Ok(false), |found| fits(found).map(|()| true)),
        Value::Object(o) => match &**o {
            Object::Struct(name, _) if &**name == "JSONPatch" && !PATCH.contains(&&**key) => {
                Err(Fault::new(format!("unsupported field: {key}")))
            }
            Object::Struct(name, fields) => {
                let is_set = fields.contains_key(key);
                Ok(is_set && (!is_mutation(name) || cel::messages::field(v, key).is_ok()))
            }
            _ => Ok(read(v, &Value::Str(key.clone()))?.is_some()),
        },
        _ => Ok(read(v, &Value::Str(key.clone()))?.is_some()),
    }
}

fn invoked<'a>(invoke: &'a Invoke, env: &Env<'_, 'a>) -> Evaluated<'a> {
    match &*invoke.args {
        [one] => called(invoke, [eval(one, env)], env),
        [one, two] => {
            let left = eval(one, env);
            // The later runtime neither evaluates the right side nor adds the cost of the call.
            let rules = rules(env);
            let lazy = rules.ends_at_first_fault || invoke.is_lazy();
            if let Err(fault) = &left
                && (lazy || fault.ends())
            {
                if rules.failed_calls_are_free && invoke.function.counts_failed() && !fault.ends() {
                    charge_call(invoke, &[None, None], None, env)?;
                }
                return left;
            }
            called(invoke, [left, eval(two, env)], env)
        }
        args => {
            // With three arguments and more the first fault ends the call; the cost is added when
            // all were tried.
            let mut results: Vec<Evaluated<'a>> = Vec::with_capacity(args.len());
            for arg in args {
                match eval(arg, env) {
                    Err(fault) if results.len() + 1 < args.len() => return Err(fault),
                    result => results.push(result),
                }
            }
            called(invoke, results, env)
        }
    }
}

/// Calls a function with what its arguments gave; a failed argument costs as much as one of size 1.
fn called<'a, R: AsRef<[Evaluated<'a>]>>(invoke: &'a Invoke, results: R, env: &Env<'_, 'a>) -> Evaluated<'a> {
    // Most calls have one or two arguments, which need no list on the heap.
    match results.as_ref() {
        [Ok(one)] => run(invoke, &[one], env),
        [Ok(one), Ok(two)] => run(invoke, &[one, two], env),
        more => {
            let Some(first) = more.iter().find_map(|r| r.as_ref().err()) else {
                let args: Vec<&Value> = more.iter().filter_map(|r| Some(&**r.as_ref().ok()?)).collect();
                return run(invoke, &args, env);
            };
            if let Some(end) = more.iter().find_map(|r| r.as_ref().err().filter(|f| f.ends())) {
                return Err(end.clone());
            }
            let is_free = rules(env).failed_calls_are_free && !invoke.function.counts_failed();
            if env.is_metered() && !invoke.known.prepared && !is_free {
                let given: Vec<Option<&Value>> = more.iter().map(|r| r.as_ref().ok().map(|v| &**v)).collect();
                charge_call(invoke, &given, None, env)?;
            }
            Err(first.clone())
        }
    }
}

/// Runs a function on its arguments, and adds the cost of the call.
fn run<'a>(invoke: &'a Invoke, args: &[&Value], env: &Env<'_, 'a>) -> Evaluated<'a> {
    let call = Call { args, known: invoke.known, cx: env.functions };
    if invoke.function.is_counted_ahead() && env.is_metered() {
        let given: Vec<Option<&Value>> = args.iter().copied().map(Some).collect();
        let charge =
            Charge { args: &given, result: None, known: invoke.known, level: env.functions.cel_level };
        if !env.affords(invoke.function.amount(&charge)) {
            charge_call(invoke, &given, None, env)?;
        }
    }
    let outcome = match invoke.guards.iter().zip(args).all(|(guard, v)| guard.admits(v)) {
        true => cel::call(invoke.function, &call),
        false => Err(cel::no_overload(invoke.function, &call)),
    };
    if outcome.as_ref().is_err_and(Fault::ends) {
        return outcome.map(Cow::Owned);
    }
    if env.is_metered() {
        let result = outcome.as_ref().ok();
        match *args {
            [one] => charge_call(invoke, &[Some(one)], result, env),
            [one, two] => charge_call(invoke, &[Some(one), Some(two)], result, env),
            _ => charge_call(invoke, &args.iter().copied().map(Some).collect::<Vec<_>>(), result, env),
        }?;
    }
    let v = outcome?;
    fits(&v)?;
    Ok(match v {
        Value::Bool(b) => constant(b),
        v => Cow::Owned(v),
    })
}

fn charge_call(
    invoke: &Invoke,
    args: &[Option<&Value>],
    result: Option<&Value>,
    env: &Env<'_, '_>,
) -> Result<(), Fault> {
    let charge = Charge { args, result, known: invoke.known, level: env.functions.cel_level };
    env.charge(invoke.function.charge(&charge)?)
}

pub(super) const LIST_COST: u64 = 10;
const MAP_COST: u64 = 30;
const STRUCT_COST: u64 = 40;

#[inline(never)]
fn construct(make: &Make, env: &Env<'_, '_>) -> Result<Value, Fault> {
    match make {
        Make::List(items, optional) => charge_literal(list(items, optional, env), LIST_COST, env),
        Make::Map(entries) => charge_literal(map(entries, env), MAP_COST, env),
        // What cannot be built of its fields has its cost at every level.
        Make::Struct(name, fields) => charge_literal(values_of(fields, env), STRUCT_COST, env)
            .and_then(|fields| cel::messages::build(name, fields)),
    }
}

/// A literal of which a part is a fault has its cost at most levels.
fn charge_literal<T>(built: Result<T, Fault>, amount: u64, env: &Env<'_, '_>) -> Result<T, Fault> {
    let is_free = built.is_err() && rules(env).failed_calls_are_free;
    if !is_free && !built.as_ref().is_err_and(Fault::ends) {
        env.charge(amount)?;
    }
    built
}

/// The value of an optional part: `None` leaves it out.
fn part(v: Value, optional: bool, what: &str) -> Result<Option<Value>, Fault> {
    if !optional {
        return Ok(Some(v));
    }
    match v.as_optional() {
        Some(inner) => Ok(inner.cloned()),
        None => Err(Fault::new(format!("cannot initialize optional {what} from non-optional value"))),
    }
}

fn list(items: &[Expr], optional: &[usize], env: &Env<'_, '_>) -> Result<Value, Fault> {
    limits::list(items.len())?;
    let mut out = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        let v = eval(item, env)?.into_owned();
        out.extend(part(v, optional.contains(&i), "list element")?);
    }
    Ok(Value::list(out))
}

fn map(entries: &[(Expr, Expr, bool)], env: &Env<'_, '_>) -> Result<Value, Fault> {
    limits::list(entries.len())?;
    let mut out = Vec::with_capacity(entries.len());
    for (key, value, optional) in entries {
        let key = eval(key, env)?.into_owned();
        let v = eval(value, env)?.into_owned();
        if let Some(v) = part(v, *optional, &format!("entry '{}'", key_text(&key)))? {
            if let Some(end) = cel::unhashable(&key) {
                return Err(end);
            }
            out.push((key, v));
        }
    }
    Ok(map_of(out))
}

fn values_of(fields: &[(Str, Expr, bool)], env: &Env<'_, '_>) -> Result<Vec<(Str, Value)>, Fault> {
    let mut out = Vec::with_capacity(fields.len());
    for (field, value, optional) in fields {
        let v = eval(value, env)?.into_owned();
        if let Some(v) = part(v, *optional, &format!("field '{field}'"))? {
            out.push((field.clone(), v));
        }
    }
    Ok(out)
}

/// What the runtime's release does.
pub(super) fn rules(env: &Env<'_, '_>) -> &'static LevelRules {
    env.functions.cel_level.rules()
}
