//! The elements of a layout.

/// What a piece of a layout stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    LongMonth,
    ShortMonth,
    /// `1`, or `01` when the flag is set.
    Month(bool),
    LongWeekday,
    ShortWeekday,
    /// `2`, or `02`.
    Day(bool),
    /// `_2`
    UnderDay,
    /// `__2`, or `002`.
    YearDay(bool),
    /// `15`
    Hour,
    /// `3`, or `03`.
    Hour12(bool),
    Minute(bool),
    Second(bool),
    LongYear,
    ShortYear,
    /// `PM`, or `pm`.
    Half {
        upper: bool,
    },
    /// `MST`
    ZoneName,
    Zone {
        z: bool,
        shape: ZoneShape,
    },
    /// `.000`, with the number of digits.
    Fraction(usize),
    /// `.999`
    OptionalFraction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ZoneShape {
    /// `07`
    Hours,
    /// `0700`
    Minutes,
    /// `07:00`
    ColonMinutes,
    /// `070000`
    Seconds,
    /// `07:00:00`
    ColonSeconds,
}

/// The first element of a layout: where it starts and its length.
pub(super) fn next_element(layout: &[u8]) -> Option<(usize, usize, Element)> {
    (0..layout.len()).find_map(|i| {
        let rest = layout.get(i..)?;
        let skip = usize::from(rest.starts_with(b"_2006"));
        let (len, element) = element_at(rest)?;
        Some((i + skip, len, element))
    })
}

fn element_at(s: &[u8]) -> Option<(usize, Element)> {
    let lower_after = |n: usize| s.get(n).is_some_and(u8::is_ascii_lowercase);
    let fixed: &[(&[u8], Element)] = &[
        (b"January", Element::LongMonth),
        (b"Monday", Element::LongWeekday),
        (b"MST", Element::ZoneName),
        (b"01", Element::Month(true)),
        (b"02", Element::Day(true)),
        (b"03", Element::Hour12(true)),
        (b"04", Element::Minute(true)),
        (b"05", Element::Second(true)),
        (b"06", Element::ShortYear),
        (b"002", Element::YearDay(true)),
        (b"15", Element::Hour),
        (b"1", Element::Month(false)),
        (b"2006", Element::LongYear),
        (b"2", Element::Day(false)),
        (b"_2", Element::UnderDay),
        (b"__2", Element::YearDay(false)),
        (b"3", Element::Hour12(false)),
        (b"4", Element::Minute(false)),
        (b"5", Element::Second(false)),
        (b"PM", Element::Half { upper: true }),
        (b"pm", Element::Half { upper: false }),
    ];
    match s.first()? {
        b'J' | b'M' if !lower_after(3) && s.starts_with(b"Jan") => return Some((3, Element::ShortMonth)),
        b'J' | b'M' if !lower_after(3) && s.starts_with(b"Mon") => return Some((3, Element::ShortWeekday)),
        b'_' if s.starts_with(b"_2006") => return Some((4, Element::LongYear)),
        b'-' | b'Z' => return zone_at(s),
        b'.' | b',' => return fraction_at(s),
        _ => {}
    }
    fixed.iter().find(|(text, _)| s.starts_with(text)).map(|(text, e)| (text.len(), *e))
}

fn zone_at(s: &[u8]) -> Option<(usize, Element)> {
    let z = s.first() == Some(&b'Z');
    let shapes: &[(&[u8], ZoneShape)] = &[
        (b"070000", ZoneShape::Seconds),
        (b"07:00:00", ZoneShape::ColonSeconds),
        (b"0700", ZoneShape::Minutes),
        (b"07:00", ZoneShape::ColonMinutes),
        (b"07", ZoneShape::Hours),
    ];
    let body = s.get(1..)?;
    let (text, shape) = shapes.iter().find(|(text, _)| body.starts_with(text))?;
    Some((text.len() + 1, Element::Zone { z, shape: *shape }))
}

fn fraction_at(s: &[u8]) -> Option<(usize, Element)> {
    let digit = *s.get(1).filter(|b| matches!(b, b'0' | b'9'))?;
    let count = s.iter().skip(1).take_while(|b| **b == digit).count();
    if s.get(count + 1).is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let element = if digit == b'0' { Element::Fraction(count) } else { Element::OptionalFraction };
    Some((count + 1, element))
}
