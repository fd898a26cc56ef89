//! Cron schedules: five fields, or a name such as `@daily`.
//!
//! In: a schedule and a moment. Out: the next moment of the schedule, in UTC. Fields are those of the
//! reference's standard parser: numbers, names of months and days, `*`, `?`, ranges, steps, lists. When
//! both days are restricted, either will do.

use super::time::Time;

/// A schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    weekdays: u64,
    /// Whether the day of the month, and the weekday, may be any.
    any: [bool; 2],
}

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const DAY: i64 = 86_400;
/// How far a schedule is followed: the longest time between two leap days, and some.
const HORIZON: i64 = 366 * 9;

impl Cron {
    /// Reads a schedule; `None` where it is none.
    pub fn parse(text: &str) -> Option<Cron> {
        let text = match text.trim() {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            other => other,
        };
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [minutes, hours, days, months, weekdays] = fields[..] else { return None };
        Some(Cron {
            minutes: field(minutes, 0, 59, &[])?,
            hours: field(hours, 0, 23, &[])?,
            days: field(days, 1, 31, &[])?,
            months: field(months, 1, 12, &MONTHS)?,
            weekdays: field(weekdays, 0, 6, &WEEKDAYS)?,
            any: [is_any(days), is_any(weekdays)],
        })
    }

    /// The first moment of the schedule after one in Unix seconds; `None` where there is none.
    pub fn next(&self, after: i64) -> Option<i64> {
        let first = after.checked_add(60)?.div_euclid(60).checked_mul(60)?;
        let today = first.div_euclid(DAY);
        for day in today..today.checked_add(HORIZON)? {
            let midnight = day.checked_mul(DAY)?;
            if !self.has_day(midnight) {
                continue;
            }
            let from = if day == today { first - midnight } else { 0 };
            let minutes = (from / 60)..(DAY / 60);
            if let Some(minute) =
                minutes.into_iter().find(|m| has(self.hours, m / 60) && has(self.minutes, m % 60))
            {
                return midnight.checked_add(minute * 60);
            }
        }
        None
    }

    fn has_day(&self, midnight: i64) -> bool {
        let date = Time::from_unix(midnight).utc().civil();
        let day = has(self.days, date.day.into());
        // The first day of 1970 was a Thursday.
        let weekday = has(self.weekdays, (midnight.div_euclid(DAY) + 4).rem_euclid(7));
        let fits = if self.any.contains(&true) { day && weekday } else { day || weekday };
        fits && has(self.months, date.month.into())
    }
}

fn has(set: u64, n: i64) -> bool {
    u32::try_from(n).is_ok_and(|n| n < 64 && set >> n & 1 == 1)
}

fn is_any(field: &str) -> bool {
    field.split(',').any(|part| matches!(part.split('/').next(), Some("*" | "?")))
}

/// A field as a set of numbers.
fn field(text: &str, low: u32, high: u32, names: &[&str]) -> Option<u64> {
    let number = |text: &str| {
        let named = names.iter().position(|n| text.eq_ignore_ascii_case(n));
        let n = match named {
            Some(at) => u32::try_from(at).ok()? + low,
            None => text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())??,
        };
        (low..=high).contains(&n).then_some(n)
    };
    let mut set = 0;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step.parse::<u32>().ok().filter(|s| *s > 0)?)),
            None => (part, None),
        };
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None if matches!(range, "*" | "?") => (low, high),
            None => (number(range)?, if step.is_some() { high } else { number(range)? }),
        };
        if first > last {
            return None;
        }
        (first..=last).step_by(usize::try_from(step.unwrap_or(1)).ok()?).for_each(|n| set |= 1u64 << n);
    }
    Some(set)
}

#[cfg(test)]
mod tests {
    use super::{Cron, Time};

    fn next(schedule: &str, after: &str) -> Option<String> {
        let after = Time::parse_rfc3339(after).unwrap().unix_nanos() / 1_000_000_000;
        let next = Cron::parse(schedule).unwrap().next(i64::try_from(after).unwrap())?;
        Some(Time::from_unix(next).utc().rfc3339_nano())
    }

    #[test]
    fn the_next_moment_of_a_schedule_is_strictly_later() {
        for (schedule, after, expected) in [
            ("*/5 * * * *", "2026-11-21T10:00:00Z", "2026-11-21T10:05:00Z"),
            ("0 0 * * *", "2026-11-21T10:00:30Z", "2026-11-22T00:00:00Z"),
            ("@monthly", "2026-12-31T23:59:59Z", "2027-01-01T00:00:00Z"),
            ("30 4 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T04:30:00Z"),
            ("0 9-17/4 * * MON-FRI", "2026-11-20T17:00:00Z", "2026-11-23T09:00:00Z"),
            ("0 0 13 * FRI", "2026-11-14T00:00:00Z", "2026-11-20T00:00:00Z"),
            ("15,45 22 ? jan,JUL 0", "2026-11-21T10:00:00Z", "2027-01-03T22:15:00Z"),
        ] {
            assert_eq!(next(schedule, after).as_deref(), Some(expected), "{schedule}");
        }
        assert_eq!(next("0 0 31 2 *", "2026-11-21T10:00:00Z"), None);
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for text in [
            "",
            "* * * *",
            "* * * * * *",
            "60 * * * *",
            "* 24 * * *",
            "* * 0 * *",
            "* * * 13 *",
            "* * * * 7",
            "5-1 * * * *",
            "*/0 * * * *",
            "a * * * *",
            "@never",
            "+1 * * * *",
            "1- * * * *",
        ] {
            assert_eq!(Cron::parse(text), None, "{text}");
        }
    }
}
