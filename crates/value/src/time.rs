//! Points in time and Go's time layouts.
//!
//! In: texts with a layout such as `2006-01-02T15:04:05Z07:00`. Out: instants with an offset, RFC
//! 3339 text, and the reference's error texts. Arithmetic is on the absolute instant; the calendar
//! is the proleptic Gregorian one. The layout elements are those of `Element`; everything else in a
//! layout is literal text, where a run of spaces stands for one or more spaces or the end.

use std::fmt::{self, Write};

use super::duration::quote;

/// The layout of RFC 3339.
pub const RFC3339: &str = "2006-01-02T15:04:05Z07:00";

const NANOS: i128 = 1_000_000_000;
/// Seconds from 0001-01-01 to 1970-01-01; truncation counts from there.
const YEAR_ONE: i128 = 62_135_596_800;

/// Why a text is no time of a layout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TimeError {
    /// The text does not fit an element of the layout.
    #[error(
        "parsing time {} as {}: cannot parse {} as {}",
        quote(.text.as_bytes()), quote(.layout.as_bytes()), quote(.rest), quote(.element.as_bytes())
    )]
    Element {
        /// What was read.
        text: Box<str>,
        /// The layout.
        layout: Box<str>,
        /// What is left of the text.
        rest: Box<[u8]>,
        /// The element, or the literal text before one.
        element: Box<str>,
    },
    /// A number is too small or too large.
    #[error("parsing time {}: {what} out of range", quote(.text.as_bytes()))]
    Range {
        /// What was read.
        text: Box<str>,
        /// What the number counts.
        what: &'static str,
    },
    /// The day of the year is on another date.
    #[error("parsing time {}: day-of-year does not match {part}", quote(.text.as_bytes()))]
    YearDay {
        /// What was read.
        text: Box<str>,
        /// The part of the date that differs.
        part: &'static str,
    },
    /// The text is longer than the layout.
    #[error("parsing time {}: extra text: {}", quote(.text.as_bytes()), quote(.rest))]
    Extra {
        /// What was read.
        text: Box<str>,
        /// What is left of it.
        rest: Box<[u8]>,
    },
}

/// An instant, with the offset in which it is shown.
#[derive(Clone, Copy, Debug)]
pub struct Time {
    /// Seconds since 1970-01-01T00:00:00Z.
    secs: i64,
    /// Nanoseconds within the second.
    nanos: u32,
    /// Seconds east of UTC.
    offset: i32,
}

/// Date and clock of a [`Time`] in its own offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// Year; 0 is 1 BC.
    pub year: i64,
    /// Month from 1.
    pub month: u32,
    /// Day of the month from 1.
    pub day: u32,
    /// Hour.
    pub hour: u32,
    /// Minute.
    pub minute: u32,
    /// Second.
    pub second: u32,
    /// Day of the week, 0 = Sunday.
    pub weekday: u32,
}

/// Whether a second since 1970 is in the years 1 to 9999.
pub fn is_in_calendar(second: i128) -> bool {
    const LAST: i128 = 253_402_300_799;
    (-YEAR_ONE..=LAST).contains(&second)
}

impl Time {
    /// The instant `nanos` nanoseconds after 1970 in UTC; out of range saturates.
    pub fn from_unix_nanos(nanos: i128) -> Time {
        let secs = nanos.div_euclid(NANOS).clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        Time { secs, nanos: nanos.rem_euclid(NANOS) as u32, offset: 0 }
    }

    /// The instant `secs` seconds after 1970 in UTC.
    pub fn from_unix(secs: i64) -> Time {
        Time { secs, nanos: 0, offset: 0 }
    }

    /// Reads RFC 3339.
    ///
    /// # Errors
    /// As [`Time::parse`].
    pub fn parse_rfc3339(text: &str) -> Result<Time, TimeError> {
        Time::parse(RFC3339, text)
    }

    /// Reads `text` by a layout.
    ///
    /// # Errors
    /// The reference's text, for example `parsing time "x" as "2006": cannot parse "x" as "2006"`.
    pub fn parse(layout: &str, text: &str) -> Result<Time, TimeError> {
        super::time_layout::parse(layout, text)
    }

    /// The instant of a date and clock at an offset of `offset` seconds east.
    pub(super) fn from_civil(days: i64, clock: i64, nanos: u32, offset: i32) -> Time {
        Time { secs: days * 86_400 + clock - i64::from(offset), nanos, offset }
    }

    /// Seconds since 1970, nanoseconds within the second, seconds east of UTC.
    pub(super) fn parts(&self) -> (i64, u32, i32) {
        (self.secs, self.nanos, self.offset)
    }

    /// The time of its [`Time::parts`]; `None` when there is none, or none within a day of UTC.
    pub(super) fn of_parts((secs, nanos, offset): (i64, u32, i32)) -> Option<Time> {
        let exists = nanos < 1_000_000_000 && offset.unsigned_abs() < 86_400;
        exists.then_some(Time { secs, nanos, offset })
    }

    /// Nanoseconds since 1970.
    pub fn unix_nanos(&self) -> i128 {
        i128::from(self.secs) * NANOS + i128::from(self.nanos)
    }

    /// The same instant shown in the zone of the machine.
    pub fn local(self) -> Time {
        Time { offset: super::local_zone::offset_at(self.secs), ..self }
    }

    /// The same instant shown in UTC.
    pub fn utc(self) -> Time {
        Time { offset: 0, ..self }
    }

    /// The same instant shown `offset` seconds east of UTC.
    pub fn with_offset(self, offset: i32) -> Time {
        Time { offset, ..self }
    }

    /// How many seconds east of UTC it is shown.
    pub fn offset(&self) -> i32 {
        self.offset
    }

    /// The instant `ns` nanoseconds later.
    pub fn plus(self, ns: i64) -> Time {
        Time::from_unix_nanos(self.unix_nanos() + i128::from(ns)).with_offset(self.offset)
    }

    /// Nanoseconds from `earlier` to `self`, saturating at the 64-bit limits.
    pub fn since(&self, earlier: &Time) -> i64 {
        let d = self.unix_nanos() - earlier.unix_nanos();
        d.clamp(i64::MIN.into(), i64::MAX.into()) as i64
    }

    /// Down to a multiple of `ns` counted from 0001-01-01T00:00:00Z; unchanged when `ns` is not
    /// positive.
    pub fn truncate(self, ns: i64) -> Time {
        if ns <= 0 {
            return self;
        }
        let from_year_one = self.unix_nanos() + YEAR_ONE * NANOS;
        let down = self.unix_nanos() - from_year_one.rem_euclid(ns.into());
        Time::from_unix_nanos(down).with_offset(self.offset)
    }

    /// Date and clock in the own offset.
    pub fn civil(&self) -> Civil {
        let local = i128::from(self.secs) + i128::from(self.offset);
        let days = local.div_euclid(86_400) as i64;
        let clock = local.rem_euclid(86_400) as u32;
        let (year, month, day) = date_of(days);
        let weekday = (days + 4).rem_euclid(7) as u32;
        Civil { year, month, day, hour: clock / 3600, minute: clock / 60 % 60, second: clock % 60, weekday }
    }

    /// `minute hour day month weekday` in the own offset, the cron schedule of this moment.
    pub fn cron(&self) -> String {
        let c = self.civil();
        format!("{} {} {} {} {}", c.minute, c.hour, c.day, c.month, c.weekday)
    }

    /// RFC 3339 with the fraction of the second, without trailing zeros.
    pub fn rfc3339_nano(&self) -> String {
        self.text(true)
    }

    /// As Go prints it (`%v`): `2024-01-02 03:04:05.12 +0200 +0200`.
    pub fn go_text(&self) -> String {
        let text = self.text(true);
        let (clock, _) = text.split_at(text.rfind(['Z', '+', '-']).unwrap_or(text.len()));
        let minutes = self.offset / 60;
        let sign = if minutes < 0 { '-' } else { '+' };
        let zone = format!("{sign}{:02}{:02}", minutes.unsigned_abs() / 60, minutes.unsigned_abs() % 60);
        let name = if self.offset == 0 { "UTC" } else { &zone };
        format!("{} {zone} {name}", clock.replacen('T', " ", 1))
    }

    /// In Go syntax (`%#v`): `time.Date(2024, time.January, 2, 3, 4, 5, 120000000, time.UTC)`.
    pub fn go_syntax(&self) -> String {
        let Civil { year, month, day, hour, minute, second, .. } = self.civil();
        let at = usize::try_from(month).unwrap_or_default().wrapping_sub(1);
        let month = super::time_layout::MONTHS.get(at).copied().unwrap_or_default();
        let zone = if self.offset == 0 { "time.UTC" } else { "time.Location(\"\")" };
        format!("time.Date({year}, time.{month}, {day}, {hour}, {minute}, {second}, {}, {zone})", self.nanos)
    }

    /// RFC 3339 in UTC with six digits of the second.
    pub fn rfc3339_micro(&self) -> String {
        let text = self.utc().text(false);
        format!("{}.{:06}Z", text.trim_end_matches('Z'), self.nanos / 1_000)
    }

    /// RFC 3339 in UTC, in whole seconds.
    pub fn rfc3339(&self) -> String {
        self.utc().text(false)
    }

    fn text(&self, fraction: bool) -> String {
        let c = self.civil();
        let mut out = String::with_capacity(25);
        if c.year < 0 {
            out.push('-');
        }
        let year = c.year.unsigned_abs();
        let _ = write!(
            out,
            "{year:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            c.month, c.day, c.hour, c.minute, c.second
        );
        if fraction && self.nanos > 0 {
            let digits = format!("{:09}", self.nanos);
            let _ = write!(out, ".{}", digits.trim_end_matches('0'));
        }
        if self.offset == 0 {
            out.push('Z');
        } else {
            let minutes = self.offset / 60;
            let sign = if minutes < 0 { '-' } else { '+' };
            let minutes = minutes.unsigned_abs();
            let _ = write!(out, "{sign}{:02}:{:02}", minutes / 60, minutes % 60);
        }
        out
    }
}

/// RFC 3339 without the fraction of the second.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(false))
    }
}

/// Equality of instants; the offset takes no part.
impl PartialEq for Time {
    fn eq(&self, other: &Self) -> bool {
        self.unix_nanos() == other.unix_nanos()
    }
}

impl Eq for Time {}

impl PartialOrd for Time {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Time {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.unix_nanos().cmp(&other.unix_nanos())
    }
}

/// Days in a month of 1 to 12.
pub(super) fn days_in(month: i64, year: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

pub(super) fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days from 1970-01-01 to a date. Years are counted from March, so that the leap day comes last.
pub(super) fn days_from_date(year: i64, month: i64, day: i64) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (y.div_euclid(400), y.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn date_of(days: i64) -> (i64, u32, u32) {
    let z = days + 719_468;
    let (era, day_of_era) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month as u32, day as u32)
}
