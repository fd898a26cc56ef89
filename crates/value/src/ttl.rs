//! The label `cleanup.kyverno.io/ttl`: how long an object may live, or until when.

use super::duration;

/// What the label says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ttl {
    /// Nanoseconds after the object was created.
    After(i64),
    /// A moment in Unix seconds.
    At(i64),
}

/// Units by their names; a word that is the beginning of the last name counts as well.
const UNITS: [(&[&str], i64); 8] = [
    (&["ns", "nanoseconds"], 1),
    (&["us", "µs", "microseconds"], 1_000),
    (&["ms", "milliseconds"], 1_000_000),
    (&["s", "sec", "seconds"], 1_000_000_000),
    (&["m", "min", "minutes"], 60_000_000_000),
    (&["h", "hr", "hours"], 3_600_000_000_000),
    (&["d", "days"], 86_400_000_000_000),
    (&["w", "wk", "weeks"], 604_800_000_000_000),
];

impl Ttl {
    /// Reads a label: a duration, `YYYY-MM-DDThhmmssZ` or `YYYY-MM-DD`.
    pub fn parse(text: &str) -> Option<Ttl> {
        if let Some(length) = duration::parse_ok(text).or_else(|| sum_of_numbers(text)) {
            return Some(Ttl::After(length));
        }
        let date = ["2006-01-02T150405Z", "2006-01-02"]
            .iter()
            .find_map(|layout| super::time::Time::parse(layout, text).ok())?;
        i64::try_from(date.unix_nanos().div_euclid(1_000_000_000)).ok().map(Ttl::At)
    }
}

/// Adds up every number that is followed by a unit, whatever else there is.
fn sum_of_numbers(text: &str) -> Option<i64> {
    let mut rest = text;
    let mut sum: Option<i64> = None;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        rest = rest.get(at..)?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (digits, after) = rest.split_at(end);
        let word = after.trim_start();
        let end = word.find(|c: char| !c.is_alphabetic()).unwrap_or(word.len());
        let (word, after) = word.split_at(end);
        rest = after;
        let word = word.to_lowercase();
        let is_unit = |names: &[&str]| {
            names.contains(&&*word) || names.last().is_some_and(|n| word.len() > 1 && n.starts_with(&*word))
        };
        if let Some((_, size)) = UNITS.iter().find(|(names, _)| !word.is_empty() && is_unit(names)) {
            let length = digits.parse::<i64>().ok()?.checked_mul(*size)?;
            sum = Some(sum.unwrap_or(0).checked_add(length)?);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::Ttl;

    #[test]
    fn durations_and_dates_are_distinguished() {
        let hours = |n: i64| Some(Ttl::After(n * 3_600_000_000_000));
        assert_eq!(Ttl::parse("2h"), hours(2));
        assert_eq!(Ttl::parse("-2h"), hours(-2));
        assert_eq!(Ttl::parse("3days"), hours(72));
        assert_eq!(Ttl::parse("2w1d"), hours(360));
        assert_eq!(Ttl::parse("-5d"), hours(120));
        assert_eq!(Ttl::parse("1M"), Some(Ttl::After(60_000_000_000)));
        assert_eq!(Ttl::parse("2031-05-06"), Some(Ttl::At(1_935_792_000)));
        assert_eq!(Ttl::parse("2031-05-06T070809Z"), Some(Ttl::At(1_935_817_689)));
        assert_eq!(Ttl::parse("soon"), None);
        assert_eq!(Ttl::parse(""), None);
        assert_eq!(Ttl::parse("999999999999999999d"), None);
    }
}
