//! Reading times by a layout: the element scanner and the parser behind [`Time::parse`].
//!
//! In: layout and text. Out: a [`Time`] or the reference's error text. Semantics: Go's `time.Parse`
//! with UTC where the text names no zone; names match without regard to case, a fraction directly
//! after seconds is taken even when the layout has none, an abbreviation of the machine's zone has
//! its offset, an unknown one the offset 0.
//!
//! - `element`: the elements of a layout

mod element;

use element::{Element, ZoneShape, next_element};

use super::time::{Time, TimeError, days_from_date, days_in, is_leap};

/// Names of months.
pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Why an element was not read, or why elements are no date.
enum ElementError {
    Syntax,
    Range(&'static str),
    YearDay(&'static str),
}

type Read<T> = Result<T, ElementError>;

/// What was read so far.
#[derive(Default)]
struct Fields {
    year: i64,
    month: Option<i64>,
    day: Option<i64>,
    year_day: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    nanos: u32,
    afternoon: Option<bool>,
    utc: bool,
    offset: Option<i64>,
    zone: Option<i64>,
    zone_name: String,
}

/// Reads `text` by `layout`; see [`Time::parse`].
pub(super) fn parse(layout: &str, text: &str) -> Result<Time, TimeError> {
    let mut fields = Fields::default();
    let (mut format, mut value) = (layout, text.as_bytes());
    loop {
        let found = next_element(format.as_bytes());
        let (start, len) = found.map_or((format.len(), 0), |(start, len, _)| (start, len));
        let prefix = format.get(..start).unwrap_or_default();
        value = skip(value, prefix.as_bytes())
            .map_err(|at| error(text, layout, at, prefix, ElementError::Syntax))?;
        let Some((_, _, element)) = found else { break };
        let shown = format.get(start..start + len).unwrap_or_default();
        format = format.get(start + len..).unwrap_or_default();
        let hold = value;
        let read = fields.read(element, &mut value, format);
        read.map_err(|bad| error(text, layout, hold, shown, bad))?;
    }
    if !value.is_empty() {
        return Err(TimeError::Extra { text: text.into(), rest: value.into() });
    }
    fields.finish().map_err(|bad| error(text, layout, value, "", bad))
}

/// The error of a text whose `rest` does not fit an element of the layout.
fn error(text: &str, layout: &str, rest: &[u8], element: &str, bad: ElementError) -> TimeError {
    let text = text.into();
    match bad {
        ElementError::Syntax => {
            TimeError::Element { text, layout: layout.into(), rest: rest.into(), element: element.into() }
        }
        ElementError::Range(what) => TimeError::Range { text, what },
        ElementError::YearDay(part) => TimeError::YearDay { text, part },
    }
}

/// Skips literal text; on failure gives the place where it stopped.
fn skip<'a>(mut value: &'a [u8], mut prefix: &[u8]) -> Result<&'a [u8], &'a [u8]> {
    while let Some((c, rest)) = prefix.split_first() {
        match value.split_first() {
            Some((v, _)) if *c == b' ' && *v != b' ' => return Err(value),
            _ if *c == b' ' => {
                prefix = cut_spaces(prefix);
                value = cut_spaces(value);
            }
            Some((v, after)) if v == c => {
                prefix = rest;
                value = after;
            }
            _ => return Err(value),
        }
    }
    Ok(value)
}

fn cut_spaces(s: &[u8]) -> &[u8] {
    let n = s.iter().take_while(|b| **b == b' ').count();
    s.get(n..).unwrap_or_default()
}

impl Fields {
    fn read(&mut self, element: Element, value: &mut &[u8], layout_rest: &str) -> Read<()> {
        match element {
            Element::LongMonth => self.month = Some(name(value, &MONTHS, usize::MAX)?),
            Element::ShortMonth => self.month = Some(name(value, &MONTHS, 3)?),
            Element::LongWeekday => drop(name(value, &DAYS, usize::MAX)?),
            Element::ShortWeekday => drop(name(value, &DAYS, 3)?),
            Element::Month(two) => self.month = Some(ranged(number(value, two)?, 1..=12, "month")?),
            Element::Day(two) => self.day = Some(number(value, two)?),
            Element::UnderDay => {
                *value = value.strip_prefix(b" ").unwrap_or(value);
                self.day = Some(number(value, false)?);
            }
            Element::YearDay(zeros) => {
                for _ in 0..2 {
                    if !zeros {
                        *value = value.strip_prefix(b" ").unwrap_or(value);
                    }
                }
                self.year_day = Some(number3(value, zeros)?);
            }
            Element::Hour => self.hour = ranged(number(value, false)?, 0..=23, "hour")?,
            Element::Hour12(two) => self.hour = ranged(number(value, two)?, 0..=12, "hour")?,
            Element::Minute(two) => self.minute = ranged(number(value, two)?, 0..=59, "minute")?,
            Element::Second(two) => {
                self.second = ranged(number(value, two)?, 0..=59, "second")?;
                let next = next_element(layout_rest.as_bytes()).map(|(_, _, e)| e);
                if !matches!(next, Some(Element::Fraction(_) | Element::OptionalFraction)) {
                    self.optional_fraction(value)?;
                }
            }
            Element::LongYear => {
                if !value.first().is_some_and(u8::is_ascii_digit) {
                    return Err(ElementError::Syntax);
                }
                self.year = signed(take(value, 4)?)?;
            }
            Element::ShortYear => {
                let year = signed(take(value, 2)?)?;
                self.year = year + if year >= 69 { 1900 } else { 2000 };
            }
            Element::Half { upper } => {
                let (am, pm): (&[u8], &[u8]) = if upper { (b"AM", b"PM") } else { (b"am", b"pm") };
                let half = take(value, 2)?;
                self.afternoon = match half {
                    h if h == pm => Some(true),
                    // Once an afternoon is seen it stays.
                    h if h == am => self.afternoon.or(Some(false)),
                    _ => return Err(ElementError::Syntax),
                };
            }
            Element::Zone { z, shape } => {
                if z && value.starts_with(b"Z") {
                    *value = value.get(1..).unwrap_or_default();
                    self.utc = true;
                } else {
                    // The reference takes an offset of -1 second for none.
                    self.offset = Some(offset(value, shape)?).filter(|o| *o != -1);
                }
            }
            Element::ZoneName => {
                if let Some(rest) = value.strip_prefix(b"UTC") {
                    *value = rest;
                    self.utc = true;
                } else {
                    let zone = take(value, zone_name_len(value).ok_or(ElementError::Syntax)?)?;
                    let hours = zone.strip_prefix(b"GMT").and_then(|h| signed(h).ok()).unwrap_or(0);
                    self.zone = Some(hours * 3600);
                    self.zone_name = String::from_utf8_lossy(zone).into_owned();
                }
            }
            Element::Fraction(digits) => self.nanos = fraction(take(value, digits + 1)?)?,
            Element::OptionalFraction => self.optional_fraction(value)?,
        }
        Ok(())
    }

    fn optional_fraction(&mut self, value: &mut &[u8]) -> Read<()> {
        let point = matches!(value.first(), Some(b'.' | b','));
        let digits = value.iter().skip(1).take_while(|b| b.is_ascii_digit()).count();
        if point && digits > 0 {
            self.nanos = fraction(take(value, digits + 1)?)?;
        }
        Ok(())
    }

    fn finish(mut self) -> Read<Time> {
        match self.afternoon {
            Some(true) if self.hour < 12 => self.hour += 12,
            Some(false) if self.hour == 12 => self.hour = 0,
            _ => {}
        }
        if let Some(year_day) = self.year_day {
            let (month, day) =
                date_of_year_day(year_day, self.year).ok_or(ElementError::Range("day-of-year"))?;
            if self.month.is_some_and(|m| m != month) {
                return Err(ElementError::YearDay("month"));
            }
            if self.day.is_some_and(|d| d != day) {
                return Err(ElementError::YearDay("day"));
            }
            (self.month, self.day) = (Some(month), Some(day));
        }
        let (month, day) = (self.month.unwrap_or(1), self.day.unwrap_or(1));
        if day < 1 || day > days_in(month, self.year) {
            return Err(ElementError::Range("day"));
        }
        let offset = if self.utc { 0 } else { self.offset.unwrap_or(0) };
        let clock = self.hour * 3600 + self.minute * 60 + self.second;
        let days = days_from_date(self.year, month, day);
        let small = |offset| i32::try_from(offset).unwrap_or(0);
        let time = Time::from_civil(days, clock, self.nanos, small(offset));
        if !self.utc && self.offset.is_none() && self.zone.is_some() {
            let as_utc = days * 86_400 + clock;
            if let Some(offset) = super::local_zone::offset_of(&self.zone_name, as_utc) {
                return Ok(Time::from_civil(days, clock, self.nanos, offset).local());
            }
        }
        // The hours of `GMT-7` change only how the time is shown: the clock was read as UTC.
        let named = self.zone.filter(|_| !self.utc && self.offset.is_none());
        Ok(named.map_or(time, |zone| time.with_offset(small(zone))))
    }
}

fn date_of_year_day(year_day: i64, year: i64) -> Option<(i64, i64)> {
    let mut left = year_day;
    if left < 1 || left > 365 + i64::from(is_leap(year)) {
        return None;
    }
    for month in 1..=12 {
        let days = days_in(month, year);
        if left <= days {
            return Some((month, left));
        }
        left -= days;
    }
    None
}

fn take<'a>(value: &mut &'a [u8], n: usize) -> Read<&'a [u8]> {
    let (head, rest) = value.split_at_checked(n).ok_or(ElementError::Syntax)?;
    *value = rest;
    Ok(head)
}

/// The number (from 1) of the name that the value starts with.
fn name(value: &mut &[u8], names: &[&str], length: usize) -> Read<i64> {
    for (i, name) in (1..).zip(names) {
        let n = name.len().min(length);
        let same = |v: &[u8]| name.as_bytes().get(..n).is_some_and(|name| v.eq_ignore_ascii_case(name));
        if value.get(..n).is_some_and(same) {
            take(value, n)?;
            return Ok(i);
        }
    }
    Err(ElementError::Syntax)
}

/// One or two digits; exactly two when `two`.
fn number(value: &mut &[u8], two: bool) -> Read<i64> {
    let digits = value.iter().take(2).take_while(|b| b.is_ascii_digit()).count();
    if digits == 0 || two && digits < 2 {
        return Err(ElementError::Syntax);
    }
    Ok(decimal(take(value, digits)?))
}

/// One to three digits; exactly three when `three`.
fn number3(value: &mut &[u8], three: bool) -> Read<i64> {
    let digits = value.iter().take(3).take_while(|b| b.is_ascii_digit()).count();
    if digits == 0 || three && digits < 3 {
        return Err(ElementError::Syntax);
    }
    Ok(decimal(take(value, digits)?))
}

/// The value of at most nine digits.
fn decimal(digits: &[u8]) -> i64 {
    digits.iter().fold(0, |n, b| n * 10 + i64::from(b - b'0'))
}

/// A few digits with an optional sign, nothing else.
fn signed(s: &[u8]) -> Read<i64> {
    let digits = s.strip_prefix(b"-").or(s.strip_prefix(b"+")).unwrap_or(s);
    if !digits.iter().all(u8::is_ascii_digit) || digits.len() > 9 {
        return Err(ElementError::Syntax);
    }
    let n = decimal(digits);
    Ok(if s.starts_with(b"-") { -n } else { n })
}

fn ranged(n: i64, range: std::ops::RangeInclusive<i64>, what: &'static str) -> Read<i64> {
    if range.contains(&n) { Ok(n) } else { Err(ElementError::Range(what)) }
}

/// Point and digits as nanoseconds; digits beyond nine are dropped.
fn fraction(s: &[u8]) -> Read<u32> {
    if !matches!(s.first(), Some(b'.' | b',')) {
        return Err(ElementError::Syntax);
    }
    let digits = s.get(1..s.len().min(10)).unwrap_or_default();
    let mut n = signed(digits)?;
    if n < 0 {
        return Err(ElementError::Range("fractional second"));
    }
    for _ in digits.len()..9 {
        n *= 10;
    }
    u32::try_from(n).map_err(|_| ElementError::Syntax)
}

fn offset(value: &mut &[u8], shape: ZoneShape) -> Read<i64> {
    // Positions of the two digits of hour, minute and second, and of colons.
    let (len, parts, colons): (usize, &[usize], &[usize]) = match shape {
        ZoneShape::Hours => (3, &[1], &[]),
        ZoneShape::Minutes => (5, &[1, 3], &[]),
        ZoneShape::ColonMinutes => (6, &[1, 4], &[3]),
        ZoneShape::Seconds => (7, &[1, 3, 5], &[]),
        ZoneShape::ColonSeconds => (9, &[1, 4, 7], &[3, 6]),
    };
    let text = take(value, len)?;
    if colons.iter().any(|i| text.get(*i) != Some(&b':')) {
        return Err(ElementError::Syntax);
    }
    let mut hms = [0i64; 3];
    let mut syntax = false;
    for (slot, at) in hms.iter_mut().zip(parts) {
        match number(&mut text.get(*at..at + 2).unwrap_or_default(), true) {
            Ok(n) => *slot = n,
            Err(_) => {
                syntax = true;
                break;
            }
        }
    }
    let [h, m, s] = hms;
    // Of several parts out of range the last one is named, and before a syntax error.
    for (n, limit, what) in [
        (s, 60, "time zone offset second"),
        (m, 60, "time zone offset minute"),
        (h, 24, "time zone offset hour"),
    ] {
        ranged(n, 0..=limit, what)?;
    }
    match text.first() {
        _ if syntax => Err(ElementError::Syntax),
        Some(b'+') => Ok((h * 60 + m) * 60 + s),
        Some(b'-') => Ok(-((h * 60 + m) * 60 + s)),
        _ => Err(ElementError::Syntax),
    }
}

/// The length of the zone abbreviation that `value` starts with.
fn zone_name_len(value: &[u8]) -> Option<usize> {
    if value.len() < 3 {
        return None;
    }
    if value.starts_with(b"ChST") || value.starts_with(b"MeST") {
        return Some(4);
    }
    if let Some(rest) = value.strip_prefix(b"GMT") {
        return Some(3 + signed_offset_len(rest));
    }
    if matches!(value.first(), Some(b'+' | b'-')) {
        return Some(signed_offset_len(value)).filter(|n| *n > 0);
    }
    match value.iter().take(6).take_while(|b| b.is_ascii_uppercase()).count() {
        3 => Some(3),
        4 if value.get(3) == Some(&b'T') || value.starts_with(b"WITA") => Some(4),
        5 if value.get(4) == Some(&b'T') => Some(5),
        _ => None,
    }
}

/// The length of `±n` with n up to 23, else 0.
fn signed_offset_len(s: &[u8]) -> usize {
    if !matches!(s.first(), Some(b'+' | b'-')) {
        return 0;
    }
    let digits = s.iter().skip(1).take_while(|b| b.is_ascii_digit()).count();
    let value = s
        .iter()
        .skip(1)
        .take(digits)
        .fold(0u32, |n, b| n.saturating_mul(10).saturating_add(u32::from(b - b'0')));
    if digits == 0 || value > 23 { 0 } else { digits + 1 }
}

#[cfg(test)]
mod tests;
