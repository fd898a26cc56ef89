//! Cron schedules, as Kyverno 1.19.1 computes the next run of cleanup and deleting policies.
//!
//! In: a schedule and a moment. Out: the next moment of the schedule, in UTC, until 2099. The
//! grammar is that of supercronic's `cronexpr`: five fields (minute, hour, day of the month, month,
//! day of the week), six (and a year) or seven (a second before them); what follows is ignored. A
//! field is a list of `*`, `?`, numbers, names, ranges and steps; days of the month also know `L`
//! (the last one), `LW` (the last workday) and `15W` (the workday nearest to the 15th); days of the
//! week `FRIL` (the last Friday) and `FRI#2` (the second one). Days are those of either field where
//! both are restricted, which every field is that has no `*` or `?` standing alone. Recorded:
//! `conformance/reference/schedules.tsv`.

use super::time::Time;

/// A schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    seconds: u64,
    minutes: u64,
    hours: u64,
    days: Days,
    months: u64,
    /// Years after 1970.
    years: Box<[bool]>,
}

/// Which days of a month.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Days {
    /// Days of the month.
    numbers: u64,
    /// Days whose nearest workdays are meant.
    workdays: u64,
    last: bool,
    last_workday: bool,
    /// Whether the field of days of the month is restricted.
    by_number: bool,
    weekdays: u64,
    /// The n-th such weekday of the month: bit `7 * (n - 1) + weekday`.
    nth: u64,
    last_weekdays: u64,
    /// Whether the field of days of the week is restricted.
    by_weekday: bool,
}

const NAMED: [(&str, &str); 6] = [
    ("@yearly", "0 0 0 1 1 * *"),
    ("@annually", "0 0 0 1 1 * *"),
    ("@monthly", "0 0 0 1 * * *"),
    ("@weekly", "0 0 0 * * 0 *"),
    ("@daily", "0 0 0 * * * *"),
    ("@hourly", "0 0 * * * * *"),
];
const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const YEARS: (u32, u32) = (1970, 2099);
const DAY: i64 = 86_400;

/// The numbers that a field may have.
#[derive(Clone, Copy)]
struct Kind {
    low: u32,
    high: u32,
    names: &'static [&'static str],
    /// How many digits a number may have at least and at most.
    digits: (usize, usize),
}

const SIXTY: Kind = Kind { low: 0, high: 59, names: &[], digits: (1, 2) };
const HOURS: Kind = Kind { low: 0, high: 23, names: &[], digits: (1, 2) };
const NUMBERS: Kind = Kind { low: 1, high: 31, names: &[], digits: (1, 2) };
const MONTH: Kind = Kind { low: 1, high: 12, names: &MONTHS, digits: (1, 2) };
const WEEKDAY: Kind = Kind { low: 0, high: 6, names: &WEEKDAYS, digits: (1, 2) };
const YEAR: Kind = Kind { low: YEARS.0, high: YEARS.1, names: &[], digits: (4, 4) };

/// A part of a field.
enum CronPart<'t> {
    /// Anything.
    Any,
    /// From, to, step.
    Span(u32, u32, u32),
    /// Something that only this field has.
    Other(&'t str),
}

impl Kind {
    /// A number or a name.
    fn value(self, text: &str) -> Option<u32> {
        let named = self.names.iter().position(|n| text == *n || Some(text) == n.get(..3));
        if let Some(at) = named {
            return Some(u32::try_from(at).ok()? + self.low);
        }
        let (least, most) = self.digits;
        let is_number = (least..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
        let n: u32 = is_number.then(|| text.parse().ok())??;
        // Days of the week: 7 is Sunday too, and so is every number with a zero before it.
        let n = if self.high == 6 && (n == 7 || (n < 7 && text.len() == 2)) { 0 } else { n };
        (self.low..=self.high).contains(&n).then_some(n)
    }

    fn part(self, text: &str) -> Option<CronPart<'_>> {
        if matches!(text, "*" | "?") {
            return Some(CronPart::Any);
        }
        let (range, step) = match text.split_once('/') {
            None => (text, None),
            Some((range, step)) => (range, Some(step)),
        };
        let span = match range.split_once('-') {
            _ if range == "*" => step.map(|_| (self.low, self.high)),
            Some((first, last)) => self.value(first).zip(self.value(last)),
            None => self.value(range).map(|n| (n, if step.is_some() { self.high } else { n })),
        };
        let Some((first, last)) = span else { return Some(CronPart::Other(text)) };
        // A range with a step may end before it begins: it has no numbers then, and such a schedule
        // is never due.
        let Some(step) = step else { return (first <= last).then_some(CronPart::Span(first, last, 1)) };
        if step.is_empty() || !step.bytes().all(|b| b.is_ascii_digit()) {
            return Some(CronPart::Other(text));
        }
        let step = step.parse::<u32>().ok()?;
        (1..=self.high).contains(&step).then_some(CronPart::Span(first, last, step))
    }
}

/// Reads a field: calls `add` with every number, `other` with what only the field itself knows;
/// whether any is meant.
fn read(
    text: &str,
    kind: Kind,
    mut add: impl FnMut(u32),
    mut other: impl FnMut(&str) -> Option<()>,
) -> Option<bool> {
    let mut any = false;
    let is_of_days = kind.high == NUMBERS.high || kind.high == WEEKDAY.high;
    let mut parts = text.split(',').filter(|part| !part.is_empty()).peekable();
    parts.peek()?;
    for part in parts {
        match kind.part(part)? {
            CronPart::Any => any = true,
            CronPart::Span(first, last, step) => (first..=last).step_by(step as usize).for_each(&mut add),
            // Behind a `*` only fields of days read it.
            CronPart::Other(_) if any && !is_of_days => {}
            CronPart::Other(text) => other(text)?,
        }
    }
    if any {
        (kind.low..=kind.high).for_each(add);
    }
    Some(any)
}

fn bits(text: &str, kind: Kind) -> Option<u64> {
    let mut set = 0;
    read(text, kind, |n| set |= 1u64 << n, |_| None)?;
    Some(set)
}

impl Days {
    fn read(numbers: &str, weekdays: &str) -> Option<Days> {
        let mut days = Days::default();
        let (mut set, mut workdays, mut last, mut last_workday) = (0u64, 0u64, false, false);
        let any = read(
            numbers,
            NUMBERS,
            |n| set |= 1 << n,
            |text| {
                match text {
                    "l" => last = true,
                    "lw" => last_workday = true,
                    text => workdays |= 1 << NUMBERS.value(text.strip_suffix('w')?)?,
                }
                Some(())
            },
        )?;
        days.by_number = !any;
        (days.numbers, days.workdays, days.last, days.last_workday) = (set, workdays, last, last_workday);
        let (mut set, mut nth, mut last) = (0u64, 0u64, 0u64);
        let any = read(
            weekdays,
            WEEKDAY,
            |n| set |= 1 << n,
            |text| {
                if let Some((day, n)) = text.split_once('#') {
                    let n = n.parse::<u32>().ok().filter(|_| n.len() == 1).filter(|n| (1..=5).contains(n))?;
                    nth |= 1 << (7 * (n - 1) + WEEKDAY.value(day)?);
                } else {
                    last |= 1 << WEEKDAY.value(text.strip_suffix('l')?)?;
                }
                Some(())
            },
        )?;
        days.by_weekday = !any;
        (days.weekdays, days.nth, days.last_weekdays) = (set, nth, last);
        Some(days)
    }

    /// The days of a month that begins on a weekday and has this many days.
    fn of_month(&self, first_weekday: u32, length: u32) -> u64 {
        let all = (1..=length).fold(0u64, |set, n| set | 1 << n);
        if !self.by_number && !self.by_weekday {
            return all;
        }
        let weekday = |n: u32| (first_weekday + n - 1) % 7;
        let nearest_workday = |n: u32| match weekday(n) {
            6 => {
                if n > 1 {
                    n - 1
                } else {
                    n + 2
                }
            }
            0 => {
                if n < length {
                    n + 1
                } else {
                    n - 2
                }
            }
            _ => n,
        };
        let mut set = 0u64;
        if self.by_number {
            set |= self.numbers;
            if self.last {
                set |= 1 << length;
            }
            if self.last_workday {
                set |= 1 << nearest_workday(length);
            }
            for n in (1..=length).filter(|n| has(self.workdays, *n)) {
                set |= 1 << nearest_workday(n);
            }
        }
        if self.by_weekday {
            for n in 1..=length {
                let is_last = n + 7 > length && has(self.last_weekdays, weekday(n));
                if has(self.weekdays, weekday(n)) || has(self.nth, 7 * ((n - 1) / 7) + weekday(n)) || is_last
                {
                    set |= 1 << n;
                }
            }
        }
        set & all
    }
}

impl Cron {
    /// Reads a schedule; `None` where it is none.
    pub fn parse(text: &str) -> Option<Cron> {
        let text = match text.starts_with('@') || text.trim_start().starts_with('@') {
            true => NAMED.iter().fold(text.to_owned(), |text, (name, fields)| text.replace(name, fields)),
            false => text.to_owned(),
        };
        let text = text.to_ascii_lowercase();
        let fields: Vec<&str> = text.split_ascii_whitespace().take(7).collect();
        let (seconds, fields, year) = match *fields.as_slice() {
            [a, b, c, d, e] => ("0", [a, b, c, d, e], "*"),
            [a, b, c, d, e, year] => ("0", [a, b, c, d, e], year),
            [seconds, a, b, c, d, e, year] => (seconds, [a, b, c, d, e], year),
            _ => return None,
        };
        let [minutes, hours, numbers, months, weekdays] = fields;
        let mut years = vec![false; (YEARS.1 - YEARS.0 + 1) as usize];
        let add = |n: u32| {
            if let Some(slot) = years.get_mut((n - YEARS.0) as usize) {
                *slot = true;
            }
        };
        read(year, YEAR, add, |_| None)?;
        Some(Cron {
            seconds: bits(seconds, SIXTY)?,
            minutes: bits(minutes, SIXTY)?,
            hours: bits(hours, HOURS)?,
            days: Days::read(numbers, weekdays)?,
            months: bits(months, MONTH)?,
            years: years.into(),
        })
    }

    /// The first moment of the schedule after one in Unix seconds; `None` where there is none.
    pub fn next(&self, after: i64) -> Option<i64> {
        let first = after.checked_add(1)?.max(0);
        let today = first.div_euclid(DAY);
        let date = Time::from_unix(first).utc().civil();
        let (mut year, mut month) = (u32::try_from(date.year).ok()?, date.month);
        let mut begin = today - (i64::from(date.day) - 1);
        while year <= YEARS.1 {
            let length = length_of(year, month);
            if self.years.get((year - YEARS.0) as usize) == Some(&true) && has(self.months, month) {
                // The first day of 1970 was a Thursday.
                let weekday = u32::try_from((begin + 4).rem_euclid(7)).ok()?;
                let days = self.days.of_month(weekday, length);
                for n in (1..=length).filter(|n| has(days, *n)) {
                    let day = begin + i64::from(n) - 1;
                    let from = if day == today { first - day * DAY } else { 0 };
                    if day >= today
                        && let Some(second) = self.second_of_day(from)
                    {
                        return Some(day * DAY + second);
                    }
                }
            }
            begin += i64::from(length);
            (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
        }
        None
    }

    /// The first second of a day that is not before one.
    fn second_of_day(&self, from: i64) -> Option<i64> {
        let from = u32::try_from(from).ok()?;
        for hour in (from / 3600..24).filter(|n| has(self.hours, *n)) {
            let begin = if hour == from / 3600 { from % 3600 / 60 } else { 0 };
            for minute in (begin..60).filter(|n| has(self.minutes, *n)) {
                let at = hour * 3600 + minute * 60;
                if let Some(second) = (0..60).find(|n| has(self.seconds, *n) && at + n >= from) {
                    return Some(i64::from(at + second));
                }
            }
        }
        None
    }
}

/// How many days a month has.
fn length_of(year: u32, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        _ => 31,
    }
}

fn has(set: u64, n: u32) -> bool {
    set.checked_shr(n).is_some_and(|set| set & 1 == 1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn next(schedule: &str, after: &str) -> Option<String> {
        let after = Time::parse_rfc3339(after).unwrap().unix_nanos() / 1_000_000_000;
        let next = Cron::parse(schedule).unwrap().next(i64::try_from(after).unwrap())?;
        Some(Time::from_unix(next).utc().rfc3339_nano())
    }

    #[test]
    fn the_next_moment_of_a_schedule_is_strictly_later() {
        for (schedule, after, expected) in [
            ("*/5 * * * *", "2026-11-21T10:00:00Z", "2026-11-21T10:05:00Z"),
            ("@monthly", "2026-12-31T23:59:59Z", "2027-01-01T00:00:00Z"),
            ("30 4 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T04:30:00Z"),
            ("0 9-17/4 * * MON-FRI", "2026-11-20T17:00:00Z", "2026-11-23T09:00:00Z"),
            ("15 30 4 * * * 2030", "2026-11-20T17:00:00Z", "2030-01-01T04:30:15Z"),
        ] {
            assert_eq!(next(schedule, after).as_deref(), Some(expected), "{schedule}");
        }
        assert_eq!(next("0 0 31 2 *", "2026-11-21T10:00:00Z"), None);
    }

    #[test]
    fn days_of_both_fields_count_unless_one_is_any() {
        let after = "2026-11-14T00:00:00Z";
        for (schedule, expected) in [
            ("0 0 13 * FRI", "2026-11-20T00:00:00Z"),
            ("0 0 */2 * MON", "2026-11-15T00:00:00Z"),
            ("0 0 * * MON", "2026-11-16T00:00:00Z"),
            ("0 0 13 * *", "2026-12-13T00:00:00Z"),
        ] {
            assert_eq!(next(schedule, after).as_deref(), Some(expected), "{schedule}");
        }
    }

    #[test]
    fn last_days_workdays_and_counted_weekdays_are_known() {
        let after = "2026-10-30T12:00:00Z";
        for (schedule, expected) in [
            ("0 0 L * *", "2026-10-31T00:00:00Z"),
            ("0 0 LW * *", "2026-11-30T00:00:00Z"),
            ("0 0 1W * *", "2026-11-02T00:00:00Z"),
            ("0 0 15W 11 *", "2026-11-16T00:00:00Z"),
            ("0 0 * * FRIL", "2026-11-27T00:00:00Z"),
            ("0 0 * * FRI#2", "2026-11-13T00:00:00Z"),
        ] {
            assert_eq!(next(schedule, after).as_deref(), Some(expected), "{schedule}");
        }
    }

    /// Lines of a moment, the next one, and a schedule: what supercronic 0.2.48 gives.
    #[test]
    fn recorded_schedules_are_due_when_the_reference_says() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance/reference/schedules.tsv");
        let recorded = std::fs::read_to_string(path).unwrap();
        let mut count = 0;
        for line in recorded.lines() {
            let mut parts = line.splitn(3, '\t');
            let (after, expected, schedule) =
                (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
            let found = match Cron::parse(schedule) {
                None => "error".to_string(),
                Some(cron) => cron.next(after.parse().unwrap()).map_or("never".into(), |n| n.to_string()),
            };
            assert_eq!(found, expected, "{schedule:?} after {after}");
            count += 1;
        }
        assert!(count > 1_500, "{count}");
    }
}
