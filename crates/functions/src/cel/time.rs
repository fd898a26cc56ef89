//! Parts of points in time and durations.

use super::call::{Call, CallResult, fault, success};
use ephor_value::Value;
use ephor_value::number::strconv;
use ephor_value::time::{Civil, Time};

/// Why a text names no zone, in the words of Go's `time`.
#[derive(Debug, thiserror::Error)]
enum ZoneError {
    /// Of an offset, in the words of Go's `strconv`.
    #[error("{0}")]
    Offset(Box<str>),
    #[error("time: invalid location name")]
    Name,
    #[error("invalid argument")]
    Zero,
    #[error("is a directory")]
    Folder,
    #[error("unknown time zone {0}")]
    Unknown(Box<str>),
}

/// The point in time in the zone of the call.
fn in_zone(call: &Call<'_>) -> Option<Result<Time, ZoneError>> {
    let Value::Timestamp(t) = call.arg(0) else { return None };
    Some(if call.args.len() < 2 { Ok(t.utc()) } else { in_named_zone(call.text(1)?, t) })
}

/// A point in time in a zone: a name, or `+hh:mm`, whose numbers may be any. What they come to in
/// nanoseconds wraps around at 64 bits; of this, whole seconds count.
fn in_named_zone(zone: &str, t: &Time) -> Result<Time, ZoneError> {
    const MINUTE: i64 = 60 * SECOND;
    if let Some((hours, minutes)) = zone.split_once(':') {
        let number =
            |text| strconv("Atoi", text).map_err(|error| ZoneError::Offset(error.to_string().into()));
        let (h, m) = (number(hours)?, number(minutes)?);
        let m = if zone.starts_with('-') { m.wrapping_neg() } else { m };
        let east = h.wrapping_mul(60).wrapping_add(m).wrapping_mul(MINUTE);
        return Ok(t.utc().plus(east - east % SECOND));
    }
    if matches!(zone, "" | "UTC") {
        return Ok(t.utc());
    }
    if zone.starts_with(['/', '\\']) || zone.contains("..") {
        return Err(ZoneError::Name);
    }
    if zone.contains('\0') {
        return Err(ZoneError::Zero);
    }
    let unknown = || {
        let folder = format!("{}/", zone.trim_end_matches('/'));
        let is_folder = jiff::tz::db().available().any(|name| name.as_str().starts_with(&folder));
        if is_folder { ZoneError::Folder } else { ZoneError::Unknown(zone.into()) }
    };
    let found = match zone {
        "Local" => jiff::tz::TimeZone::system(),
        zone => jiff::tz::TimeZone::get(zone).map_err(|_| unknown())?,
    };
    if zone != "Local" && found.iana_name().is_some_and(|name| name != zone) {
        return Err(unknown());
    }
    let seconds = i64::try_from(t.unix_nanos().div_euclid(1_000_000_000)).map_err(|_| unknown())?;
    // The last day of the year 9999 has the offset of the day before.
    let at = jiff::Timestamp::from_second(seconds).unwrap_or(jiff::Timestamp::MAX);
    Ok(t.with_offset(found.to_offset(at).seconds()))
}

fn part(call: &Call<'_>, of: fn(&Civil, &Time) -> i64, nanos: Option<i64>) -> CallResult {
    if let (Value::Duration(d), Some(unit)) = (call.arg(0), nanos) {
        return success(d / unit);
    }
    match in_zone(call)? {
        Ok(t) => success(of(&t.civil(), &t)),
        Err(error) => fault(error.to_string()),
    }
}

const SECOND: i64 = 1_000_000_000;

pub fn full_year(call: &Call<'_>) -> CallResult {
    part(call, |c, _| c.year, None)
}

/// From 0.
pub fn month(call: &Call<'_>) -> CallResult {
    part(call, |c, _| i64::from(c.month) - 1, None)
}

/// From 0.
pub fn day_of_year(call: &Call<'_>) -> CallResult {
    part(
        call,
        |c, _| {
            let leap = c.year % 4 == 0 && (c.year % 100 != 0 || c.year % 400 == 0);
            const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
            let before = BEFORE.get(c.month as usize - 1).copied().unwrap_or(0);
            before + i64::from(c.day) - 1 + i64::from(leap && c.month > 2)
        },
        None,
    )
}

/// From 0.
pub fn day_of_month(call: &Call<'_>) -> CallResult {
    part(call, |c, _| i64::from(c.day) - 1, None)
}

/// From 1.
pub fn date(call: &Call<'_>) -> CallResult {
    part(call, |c, _| i64::from(c.day), None)
}

pub fn day_of_week(call: &Call<'_>) -> CallResult {
    part(call, |c, _| i64::from(c.weekday), None)
}

pub fn hours(call: &Call<'_>) -> CallResult {
    part(call, |c, _| i64::from(c.hour), Some(3600 * SECOND))
}

pub fn minutes(call: &Call<'_>) -> CallResult {
    part(call, |c, _| i64::from(c.minute), Some(60 * SECOND))
}

pub fn seconds(call: &Call<'_>) -> CallResult {
    part(call, |c, _| i64::from(c.second), Some(SECOND))
}

pub fn milliseconds(call: &Call<'_>) -> CallResult {
    part(
        call,
        |_, t| i64::try_from(t.unix_nanos().rem_euclid(SECOND.into()) / 1_000_000).unwrap_or(0),
        Some(1_000_000),
    )
}
