//! Parts of points in time and durations.

use super::{Call, Given, fault, given};
use crate::value::Value;
use crate::value::time::{Civil, Time};

/// The point in time in the zone that the call asks for.
fn in_zone(call: &Call<'_>) -> Option<Result<Time, String>> {
    let Value::Timestamp(t) = call.arg(0) else { return None };
    if call.args.len() < 2 {
        return Some(Ok(t.utc()));
    }
    Some(offset(call.text(1)?, t).map(|seconds| t.with_offset(seconds)))
}

/// Seconds east of UTC of a zone at a point in time: a name, or `+hh:mm`.
fn offset(zone: &str, t: &Time) -> Result<i32, String> {
    if let Some((hours, minutes)) = zone.split_once(':') {
        let number = |text: &str| {
            text.parse::<i32>().map_err(|_| {
                format!("strconv.Atoi: parsing {}: invalid syntax", crate::value::quote::quote(text))
            })
        };
        let (h, m) = (number(hours)?, number(minutes)?);
        let total = h.saturating_mul(60);
        let total = if zone.starts_with('-') { total.saturating_sub(m) } else { total.saturating_add(m) };
        return Ok(total.saturating_mul(60));
    }
    if matches!(zone, "" | "UTC") {
        return Ok(0);
    }
    if zone.starts_with(['/', '\\']) || zone.contains("..") {
        return Err("time: invalid location name".into());
    }
    let unknown = || format!("unknown time zone {zone}");
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
    Ok(found.to_offset(at).seconds())
}

fn part(call: &Call<'_>, of: fn(&Civil, &Time) -> i64, nanos: Option<i64>) -> Given {
    if let (Value::Duration(d), Some(unit)) = (call.arg(0), nanos) {
        return given(d / unit);
    }
    match in_zone(call)? {
        Ok(t) => given(of(&t.civil(), &t)),
        Err(text) => fault(text),
    }
}

const SECOND: i64 = 1_000_000_000;

pub fn full_year(call: &Call<'_>) -> Given {
    part(call, |c, _| c.year, None)
}

/// From 0.
pub fn month(call: &Call<'_>) -> Given {
    part(call, |c, _| i64::from(c.month) - 1, None)
}

/// From 0.
pub fn day_of_year(call: &Call<'_>) -> Given {
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
pub fn day_of_month(call: &Call<'_>) -> Given {
    part(call, |c, _| i64::from(c.day) - 1, None)
}

/// From 1.
pub fn date(call: &Call<'_>) -> Given {
    part(call, |c, _| i64::from(c.day), None)
}

pub fn day_of_week(call: &Call<'_>) -> Given {
    part(call, |c, _| i64::from(c.weekday), None)
}

pub fn hours(call: &Call<'_>) -> Given {
    part(call, |c, _| i64::from(c.hour), Some(3600 * SECOND))
}

pub fn minutes(call: &Call<'_>) -> Given {
    part(call, |c, _| i64::from(c.minute), Some(60 * SECOND))
}

pub fn seconds(call: &Call<'_>) -> Given {
    part(call, |c, _| i64::from(c.second), Some(SECOND))
}

pub fn milliseconds(call: &Call<'_>) -> Given {
    part(
        call,
        |_, t| i64::try_from(t.unix_nanos().rem_euclid(SECOND.into()) / 1_000_000).unwrap_or(0),
        Some(1_000_000),
    )
}
