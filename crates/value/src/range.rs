//! Range texts of condition values: `1-10`, `128Mi-1Gi`, `10s!-1m`.
//!
//! In: the text of a condition value. Out: its two ends as text and whether it is negated; what the
//! ends mean is decided by the comparison (durations first, then quantities).
//!
//! Both ends match `[-+|]?digits(.digits)?letters?` (ASCII) and fill the whole text. A text that
//! starts with a comparison operator or `!` is no range.

/// A range; `left` and `right` are as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The lower end.
    pub left: String,
    /// The upper end.
    pub right: String,
    /// Whether it was written with `!-`: outside instead of inside.
    pub negated: bool,
}

impl Range {
    /// Reads a range; `None` when `text` is none.
    pub fn parse(text: &str) -> Option<Range> {
        let (left, rest) = text.split_at(end_of_number(text)?);
        let (negated, right) = match rest.strip_prefix("!-") {
            Some(r) => (true, r),
            None => (false, rest.strip_prefix('-')?),
        };
        (end_of_number(right)? == right.len()).then(|| Range {
            left: left.into(),
            right: right.into(),
            negated,
        })
    }
}

/// The length of the number with its optional suffix that `s` starts with.
fn end_of_number(s: &str) -> Option<usize> {
    let b = s.as_bytes();
    let run = |from: usize, f: fn(&u8) -> bool| from + b.iter().skip(from).take_while(|c| f(c)).count();
    let start = usize::from(matches!(b.first(), Some(b'-' | b'+' | b'|')));
    let mut end = run(start, u8::is_ascii_digit);
    if end == start {
        return None;
    }
    if b.get(end) == Some(&b'.') {
        let frac = run(end + 1, u8::is_ascii_digit);
        if frac == end + 1 {
            return None;
        }
        end = frac;
    }
    Some(run(end, u8::is_ascii_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_two_ends_and_nothing_else() {
        for (text, left, right, negated) in [
            ("1-10", "1", "10", false),
            ("128Mi-1Gi", "128Mi", "1Gi", false),
            ("10s!-1m", "10s", "1m", true),
            ("-10--1", "-10", "-1", false),
            ("+1.5--2.5k", "+1.5", "-2.5k", false),
        ] {
            assert_eq!(Range::parse(text), Some(Range { left: left.into(), right: right.into(), negated }));
        }
        for text in
            ["", "1", "1-", "-1", " 1-10", "1 - 10", ">1-2", "!1-2", "1-2-3", "a-b", "1.-2", "1-2 ", "1-é"]
        {
            assert_eq!(Range::parse(text), None, "{text}");
        }
    }
}
