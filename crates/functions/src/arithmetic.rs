//! Arithmetic on numbers, Kubernetes quantities and durations.
//!
//! An operand is a scalar (a double), a quantity (text that reads as one, tried first) or a
//! duration. Results of quantities and durations are text. Which kinds go together and how
//! quotients round is the reference's rule; see [`ephor_value::quantity`] for the exact decimals.

use super::args::{FunctionResult, failure, list, number, value};
use super::{Arg, Context};
use ephor_value::quantity::Quantity;
use ephor_value::{Value, duration, number::float_v};

/// What stands in the way, without the name of the function.
type Outcome = Result<Value, &'static str>;

const MISMATCH: &str = "Types mismatch";
const ZERO: &str = "Zero divisor passed";
const NOT_WHOLE: &str = "Non-integer argument(s) passed for modulo";
const TOO_LARGE: &str = "result has too many digits";
const BAD_QUANTITY: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

enum Operand {
    Scalar(f64),
    Quantity(Quantity),
    Duration(i64),
}

use Operand::{Duration, Quantity as Amount, Scalar};

fn operand(v: &Value) -> Result<Operand, &'static str> {
    match v {
        Value::Float(f) => Ok(Scalar(*f)),
        Value::Str(s) => {
            let found = Quantity::parse(s).map(Amount).or_else(|| duration::parse_ok(s).map(Duration));
            found.ok_or("invalid operand")
        }
        _ => Err("invalid operand"),
    }
}

fn binary(name: &str, args: &[Arg<'_>], run: fn(Operand, Operand) -> Outcome) -> FunctionResult {
    let result = operand(value(args, 0)).and_then(|a| run(a, operand(value(args, 1))?));
    result.map_err(|why| failure(name, why))
}

fn amount(q: Option<Quantity>) -> Outcome {
    q.map(|q| q.to_string().into()).ok_or(TOO_LARGE)
}

fn span(ns: i64) -> Outcome {
    Ok(duration::format(ns).into())
}

pub(super) fn add(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    binary("add", args, plus)
}

fn plus(a: Operand, b: Operand) -> Outcome {
    match (a, b) {
        (Scalar(a), Scalar(b)) => Ok(Value::Float(a + b)),
        (Amount(a), Amount(b)) => amount(a.add(&b)),
        (Duration(a), Duration(b)) => span(a.wrapping_add(b)),
        _ => Err(MISMATCH),
    }
}

pub(super) fn subtract(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    binary("subtract", args, |a, b| match (a, b) {
        (Scalar(a), Scalar(b)) => Ok(Value::Float(a - b)),
        (Amount(a), Amount(b)) => amount(a.sub(&b)),
        (Duration(a), Duration(b)) => span(a.wrapping_sub(b)),
        _ => Err(MISMATCH),
    })
}

/// A scalar enters quantity arithmetic through its display text.
fn scalar_quantity(f: f64) -> Result<Quantity, &'static str> {
    Quantity::parse(&float_v(f)).ok_or(BAD_QUANTITY)
}

/// Seconds as a double: whole seconds plus the fraction.
fn seconds(ns: i64) -> f64 {
    (ns / duration::SECOND) as f64 + (ns % duration::SECOND) as f64 / 1e9
}

/// Seconds as nanoseconds; out of range gives the smallest duration.
fn from_seconds(s: f64) -> Outcome {
    span(super::args::cut(s * 1e9))
}

pub(super) fn multiply(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    binary("multiply", args, |a, b| match (a, b) {
        (Scalar(a), Scalar(b)) => Ok(Value::Float(a * b)),
        (Amount(q), Scalar(f)) | (Scalar(f), Amount(q)) => amount(q.mul(&scalar_quantity(f)?)),
        (Duration(d), Scalar(f)) | (Scalar(f), Duration(d)) => from_seconds(seconds(d) * f),
        _ => Err(MISMATCH),
    })
}

pub(super) fn divide(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    binary("divide", args, |a, b| {
        let zero = match (&a, &b) {
            (Scalar(_) | Amount(_) | Duration(_), Scalar(f)) => *f == 0.0,
            (Amount(_), Amount(q)) => q.is_zero(),
            (Duration(_), Duration(d)) => *d == 0,
            _ => return Err(MISMATCH),
        };
        if zero {
            return Err(ZERO);
        }
        match (a, b) {
            (Scalar(a), Scalar(b)) => Ok(Value::Float(a / b)),
            (Amount(a), Amount(b)) => Ok(Value::Float(a.approx() / b.approx())),
            (Amount(q), Scalar(f)) => amount(q.div(&scalar_quantity(f)?)),
            (Duration(a), Duration(b)) => Ok(Value::Float(seconds(a) / seconds(b))),
            (Duration(d), Scalar(f)) => from_seconds(seconds(d) / f),
            _ => Err(MISMATCH),
        }
    })
}

fn whole(f: f64) -> Result<i64, &'static str> {
    let fits = f.fract() == 0.0 && f >= -(2f64.powi(63)) && f < 2f64.powi(63);
    if fits { Ok(f as i64) } else { Err(NOT_WHOLE) }
}

fn remainder(a: i64, b: i64) -> Result<i64, &'static str> {
    if b == 0 { Err(ZERO) } else { Ok(a.wrapping_rem(b)) }
}

pub(super) fn modulo(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    binary("modulo", args, |a, b| match (a, b) {
        (Scalar(a), Scalar(b)) => {
            let (a, b) = (whole(a)?, whole(b)?);
            remainder(a, b).map(|r| Value::Float(r as f64))
        }
        (Amount(a), Amount(b)) => {
            let (x, y) = (whole(a.approx())?, whole(b.approx())?);
            amount(Some(a.with_value(remainder(x, y)?)))
        }
        (Duration(a), Duration(b)) => span(remainder(a, b)?),
        _ => Err(MISMATCH),
    })
}

pub(super) fn sum(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    if matches!(value(args, 0), Value::List(l) if l.is_opaque()) {
        return Err(failure("sum", MISMATCH));
    }
    let mut items = list(args, 0).iter();
    let Some(first) = items.next() else {
        return Err(failure("sum", "at least one element in the array is required"));
    };
    // The running total is read anew each time, so its text decides its kind.
    items.try_fold(first.clone(), |total, item| {
        let result = operand(&total).and_then(|a| plus(a, operand(item)?));
        result.map_err(|why| failure("sum", why))
    })
}

pub(super) fn round(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let (x, digits) = (number(args, 0), number(args, 1));
    let Ok(places) = whole(digits) else {
        return Err(failure("round", "Non-integer argument(s) passed for round off"));
    };
    if places < 0 {
        // The reference omits the arguments of its own message.
        return Err(failure("round", "%!d(MISSING) argument is out of bounds (%!d(MISSING))"));
    }
    let shift = ten_to(places);
    Ok(Value::Float((x * shift).round() / shift))
}

/// A power of ten by repeated squaring of the mantissa, whose last digit can differ from the
/// nearest double; rounding shows it.
fn ten_to(exponent: i64) -> f64 {
    let (mut square, mut square_exp) = (0.625, 4i32);
    let (mut power, mut power_exp) = (1.0, 0i32);
    let mut left = exponent;
    while left != 0 {
        if square_exp > 1 << 12 {
            return f64::INFINITY;
        }
        if left & 1 == 1 {
            power *= square;
            power_exp += square_exp;
        }
        square *= square;
        square_exp *= 2;
        if square < 0.5 {
            square += square;
            square_exp -= 1;
        }
        left >>= 1;
    }
    // In two steps, because the power of two alone may be out of range.
    power * 2f64.powi(power_exp / 2) * 2f64.powi(power_exp - power_exp / 2)
}
