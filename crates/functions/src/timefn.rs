//! Functions of points in time and durations.
//!
//! Times are RFC 3339 unless a layout is given; results show whole seconds in the offset of the
//! input.

use super::args::{FunctionResult, text};
use super::{Arg, Context};
use ephor_value::number::{parse_int, strconv};
use ephor_value::time::Time;
use ephor_value::{Fault, Value, clock, duration};

fn time(args: &[Arg<'_>], i: usize) -> Result<Time, Fault> {
    Time::parse_rfc3339(text(args, i)).map_err(Fault::from_error)
}

fn span(args: &[Arg<'_>], i: usize) -> Result<i64, Fault> {
    duration::parse(text(args, i)).map_err(Fault::from_error)
}

fn show(t: Time) -> FunctionResult {
    Ok(t.to_string().into())
}

/// The current moment.
pub fn now(cx: &Context) -> Time {
    super::untracked::note();
    Time::from_unix_nanos(cx.now.unwrap_or_else(clock::unix_nanos))
}

pub(super) fn time_now(cx: &Context, _: &[Arg<'_>]) -> FunctionResult {
    show(now(cx).local())
}

pub(super) fn time_now_utc(cx: &Context, _: &[Arg<'_>]) -> FunctionResult {
    show(now(cx).utc())
}

pub(super) fn time_since(cx: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let layout = text(args, 0);
    let read = |s: &str| match layout {
        "" => Time::parse_rfc3339(s),
        _ => Time::parse(layout, s),
    };
    let from = read(text(args, 1)).map_err(Fault::from_error)?;
    let to = match text(args, 2) {
        "" => now(cx),
        s => read(s).map_err(Fault::from_error)?,
    };
    Ok(duration::format(to.since(&from)).into())
}

pub(super) fn time_diff(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let (from, to) = (time(args, 0)?, time(args, 1)?);
    Ok(duration::format(to.since(&from)).into())
}

pub(super) fn time_to_cron(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    Ok(time(args, 0)?.cron().into())
}

pub(super) fn time_add(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let (t, d) = (time(args, 0)?, span(args, 1)?);
    show(t.plus(d))
}

pub(super) fn time_parse(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let (layout, s) = (text(args, 0), text(args, 1));
    // A layout that is a number means Unix seconds, even `2006`.
    if parse_int(layout).is_some() {
        let secs = strconv("ParseInt", s).map_err(Fault::from_error)?;
        return show(Time::from_unix(secs));
    }
    show(Time::parse(layout, s).map_err(Fault::from_error)?)
}

pub(super) fn time_utc(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    show(time(args, 0)?.utc())
}

pub(super) fn time_before(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let (a, b) = (time(args, 0)?, time(args, 1)?);
    Ok(Value::Bool(a < b))
}

pub(super) fn time_after(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let (a, b) = (time(args, 0)?, time(args, 1)?);
    Ok(Value::Bool(a > b))
}

pub(super) fn time_between(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let (t, start, end) = (time(args, 0)?, time(args, 1)?, time(args, 2)?);
    Ok(Value::Bool(t > start && t < end))
}

pub(super) fn time_truncate(_: &Context, args: &[Arg<'_>]) -> FunctionResult {
    let (t, d) = (time(args, 0)?, span(args, 1)?);
    show(t.truncate(d))
}
