//! Semantic versions and the range language of `semver_compare`.
//!
//! In: texts. Out: ordered versions, compiled ranges, or Kyverno 1.19.1's error texts.
//!
//! A version is strict SemVer 2.0 (`X.Y.Z[-pre][+build]`, 64-bit numbers, no leading zeros); build
//! data takes no part in the order. A range is a list of terms: blanks join with AND, a `||`
//! standing alone joins with OR and binds weaker. A term is an operator (`> >= < <= = == ! !=` or
//! none) and a version in which a lower-case `x` may stand for minor or patch. Pre-releases get no
//! special treatment.

use std::cmp::Ordering;
use std::sync::LazyLock;

use regex::Regex;

use super::number::{self, NumberReason};
use super::quote::quote;

/// Why a text is no version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SemverError {
    /// There is no text.
    #[error("Version string empty")]
    Empty,
    /// Less than three parts between points.
    #[error("No Major.Minor.Patch elements found")]
    NoElements,
    /// One of the three parts is no number.
    #[error("Invalid character(s) found in {} number {}", .part.to_string().to_ascii_lowercase(), quote(.text))]
    Character {
        /// Which one.
        part: VersionPart,
        /// What is there.
        text: Box<str>,
    },
    /// One of the three parts starts with a zero.
    #[error("{part} number must not contain leading zeroes {}", quote(.text))]
    LeadingZero {
        /// Which one.
        part: VersionPart,
        /// What is there.
        text: Box<str>,
    },
    /// A number is empty, or more than 64 bits have room for.
    #[error(transparent)]
    Number(#[from] number::NumberError),
    /// An identifier of the pre-release is empty.
    #[error("Prerelease is empty")]
    EmptyPreRelease,
    /// A number of the pre-release starts with a zero.
    #[error("Numeric PreRelease version must not contain leading zeroes {}", quote(.0))]
    PreReleaseLeadingZero(Box<str>),
    /// An identifier of the pre-release has other characters than letters, digits and `-`.
    #[error("Invalid character(s) found in prerelease {}", quote(.0))]
    PreReleaseCharacter(Box<str>),
    /// An identifier of the build is empty.
    #[error("Build meta data is empty")]
    EmptyBuild,
    /// An identifier of the build has other characters than letters, digits and `-`.
    #[error("Invalid character(s) found in build meta data {}", quote(.0))]
    BuildCharacter(Box<str>),
}

/// The numbers of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VersionPart {
    /// The first one.
    #[error("Major")]
    Major,
    /// The second one.
    #[error("Minor")]
    Minor,
    /// The third one.
    #[error("Patch")]
    Patch,
}

/// Why a text is no range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RangeError {
    /// Nothing stands before the first `||`.
    #[error("First element in range is '||'")]
    StartsWithOr,
    /// Nothing stands after the last `||`, or there is no term at all.
    #[error("Last element in range is '||'")]
    EndsWithOr,
    /// A term without a digit.
    #[error("Could not get version from string: {}", quote(.0))]
    NoVersion(Box<str>),
    /// What stands before the version of a term is no operator.
    #[error(
        "Could not parse Range {}: Could not parse comparator {} in {}",
        quote(.word), quote(.operator), both(.operator, .version)
    )]
    Comparator {
        /// The term.
        word: Box<str>,
        /// What stands before the first digit.
        operator: Box<str>,
        /// What follows.
        version: Box<str>,
    },
    /// The version of a term is none.
    #[error(
        "Could not parse Range {}: Could not parse version {} in {}: {cause}",
        quote(.word), quote(.version), both(.operator, .version)
    )]
    Version {
        /// The term.
        word: Box<str>,
        /// What stands before the first digit.
        operator: Box<str>,
        /// What follows.
        version: Box<str>,
        /// Why it is no version.
        #[source]
        cause: SemverError,
    },
}

/// Operator and version without the blanks between them.
fn both(operator: &str, version: &str) -> String {
    quote(&format!("{operator}{version}"))
}

/// A version. Build data takes no part in the order and in equality.
#[derive(Clone, Debug, Default)]
pub struct Version {
    major: u64,
    minor: u64,
    patch: u64,
    pre: PreRelease,
    build: Box<str>,
}

impl Version {
    fn key(&self) -> (u64, u64, u64, &PreRelease) {
        (self.major, self.minor, self.patch, &self.pre)
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Version {}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        for (i, part) in self.pre.0.iter().enumerate() {
            f.write_str(if i == 0 { "-" } else { "." })?;
            match part {
                Identifier::Number(n) => write!(f, "{n}")?,
                Identifier::Word(w) => f.write_str(w)?,
            }
        }
        if self.build.is_empty() { Ok(()) } else { write!(f, "+{}", self.build) }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PreRelease(Vec<Identifier>);

/// Numbers order before words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Word(String),
}

impl Ord for PreRelease {
    fn cmp(&self, other: &Self) -> Ordering {
        // A release follows all its pre-releases.
        match (self.0.is_empty(), other.0.is_empty()) {
            (false, false) => self.0.cmp(&other.0),
            (a, b) => a.cmp(&b),
        }
    }
}

impl PartialOrd for PreRelease {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Version {
    /// Reads a version.
    ///
    /// # Errors
    /// Kyverno's text, for example `No Major.Minor.Patch elements found`.
    pub fn parse(text: &str) -> Result<Version, SemverError> {
        if text.is_empty() {
            return Err(SemverError::Empty);
        }
        let mut parts = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(SemverError::NoElements);
        };
        let major = number(major, VersionPart::Major)?;
        let minor = number(minor, VersionPart::Minor)?;
        let (rest, build) = split_at_sign(rest, '+');
        let (patch, pre) = split_at_sign(rest, '-');
        let patch = number(patch, VersionPart::Patch)?;
        let mut identifiers = Vec::new();
        for part in pre.into_iter().flat_map(|p| p.split('.')) {
            identifiers.push(identifier(part)?);
        }
        for part in build.into_iter().flat_map(|b| b.split('.')) {
            if part.is_empty() {
                return Err(SemverError::EmptyBuild);
            }
            if !part.bytes().all(is_identifier_byte) {
                return Err(SemverError::BuildCharacter(part.into()));
            }
        }
        let build = build.unwrap_or_default().into();
        Ok(Version { major, minor, patch, pre: PreRelease(identifiers), build })
    }

    /// Major, minor and patch.
    pub fn numbers(&self) -> [u64; 3] {
        [self.major, self.minor, self.patch]
    }

    /// Reads a version; `None` when `text` is none.
    pub fn parse_ok(text: &str) -> Option<Version> {
        // Most texts that are compared start with something else.
        text.bytes().next().filter(u8::is_ascii_digit)?;
        Version::parse(text).ok()
    }
}

fn split_at_sign(s: &str, sign: char) -> (&str, Option<&str>) {
    s.split_once(sign).map_or((s, None), |(a, b)| (a, Some(b)))
}

fn is_identifier_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'-'
}

fn is_number(s: &str) -> bool {
    s.bytes().all(|b| b.is_ascii_digit())
}

fn has_leading_zero(s: &str) -> bool {
    s.len() > 1 && s.starts_with('0')
}

fn number(s: &str, part: VersionPart) -> Result<u64, SemverError> {
    if !is_number(s) {
        return Err(SemverError::Character { part, text: s.into() });
    }
    if has_leading_zero(s) {
        return Err(SemverError::LeadingZero { part, text: s.into() });
    }
    parse_u64(s)
}

fn parse_u64(digits: &str) -> Result<u64, SemverError> {
    digits.parse().map_err(|_| {
        let why = if digits.is_empty() { NumberReason::Syntax } else { NumberReason::Range };
        number::NumberError { function: "ParseUint", text: digits.into(), why }.into()
    })
}

fn identifier(s: &str) -> Result<Identifier, SemverError> {
    if s.is_empty() {
        return Err(SemverError::EmptyPreRelease);
    }
    if is_number(s) {
        if has_leading_zero(s) {
            return Err(SemverError::PreReleaseLeadingZero(s.into()));
        }
        return parse_u64(s).map(Identifier::Number);
    }
    if !s.bytes().all(is_identifier_byte) {
        return Err(SemverError::PreReleaseCharacter(s.into()));
    }
    Ok(Identifier::Word(s.into()))
}

/// A compiled range: branches, of which one must hold with all its terms.
#[derive(Clone, Debug)]
pub struct SemverRange(Vec<Vec<Term>>);

#[derive(Clone, Debug)]
struct Term {
    op: Op,
    version: Version,
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Eq,
    Ne,
    Gt,
    Ge,
    Lt,
    Le,
}

impl SemverRange {
    /// Compiles a range.
    ///
    /// # Errors
    /// Kyverno's text, for example `Could not parse Range "^1.0.0": Could not parse comparator
    /// "^" in "^1.0.0"`.
    pub fn parse(text: &str) -> Result<SemverRange, RangeError> {
        let mut branches = vec![Vec::new()];
        let words = words(text);
        for (i, word) in words.iter().enumerate() {
            if word == "||" {
                if i == 0 {
                    return Err(RangeError::StartsWithOr);
                }
                branches.push(Vec::new());
            } else if let Some(branch) = branches.last_mut() {
                branch.push(word.as_str());
            }
        }
        if branches.last().is_none_or(Vec::is_empty) {
            return Err(RangeError::EndsWithOr);
        }
        // Wildcards are expanded in every branch before any term is read: this decides which error
        // wins.
        let mut expanded = Vec::new();
        for branch in branches {
            let mut terms = Vec::new();
            for word in branch {
                expand(word, &mut terms)?;
            }
            expanded.push(terms);
        }
        let compile = |terms: Vec<String>| terms.iter().map(|t| term(t)).collect::<Result<Vec<_>, _>>();
        expanded.into_iter().map(compile).collect::<Result<_, _>>().map(SemverRange)
    }

    /// Whether `version` lies in the range. An empty branch (`a || || b`) holds for nothing.
    pub fn contains(&self, version: &Version) -> bool {
        self.0.iter().any(|terms| !terms.is_empty() && terms.iter().all(|t| t.holds(version)))
    }
}

impl Term {
    fn holds(&self, version: &Version) -> bool {
        let order = version.cmp(&self.version);
        match self.op {
            Op::Eq => order.is_eq(),
            Op::Ne => order.is_ne(),
            Op::Gt => order.is_gt(),
            Op::Ge => order.is_ge(),
            Op::Lt => order.is_lt(),
            Op::Le => order.is_le(),
        }
    }
}

/// Splits at blanks that do not follow a comparison sign. Words of one byte get lost, as in the
/// reference.
fn words(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let (mut start, mut last) = (0, b' ');
    let mut push = |from: usize, to: usize| {
        if from + 1 < to {
            out.push(text.get(from..to).unwrap_or_default().replace(' ', ""));
        }
    };
    for (i, b) in text.bytes().enumerate() {
        if b != b' ' {
            last = b;
        } else if !matches!(last, b'>' | b'<' | b'=') {
            push(start, i);
            start = i + 1;
        }
    }
    push(start, text.len());
    out
}

static DIGIT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\p{Nd}").ok());

fn split_operator(word: &str) -> Result<(&str, &str), RangeError> {
    let at = DIGIT.as_ref().and_then(|r| r.find(word)).map(|m| m.start());
    let at = at.ok_or_else(|| RangeError::NoVersion(word.into()))?;
    let (op, version) = word.split_at(at);
    Ok((op.trim(), version))
}

/// Replaces a term with the wildcard `x` by terms without.
fn expand(word: &str, out: &mut Vec<String>) -> Result<(), RangeError> {
    if !word.contains('x') {
        out.push(word.into());
        return Ok(());
    }
    let (op, version) = split_operator(word)?;
    let lower = version.replacen(".x.x", ".x", 1).replacen(".x", ".0", 1);
    let lower = if lower.split('.').count() == 2 { lower + ".0" } else { lower };
    // A text that cannot be incremented leaves a bare operator, whose reading fails.
    let upper = || {
        let wild = version.rsplit('.').next() == Some("x");
        match version.split('.').count() {
            2 if wild => increment(&lower, 0),
            3 if wild => increment(&lower, 1),
            _ => String::new(),
        }
    };
    let last = match op {
        ">" => format!(">={}", upper()),
        ">=" => format!(">={lower}"),
        "<" => format!("<{lower}"),
        "<=" => format!("<{}", upper()),
        "" | "=" | "==" => {
            out.push(format!(">={lower}"));
            format!("<{}", upper())
        }
        "!" | "!=" => {
            out.push(format!("<{lower}"));
            format!(">={}", upper())
        }
        _ => lower.clone(),
    };
    out.push(last);
    Ok(())
}

fn increment(version: &str, part: usize) -> String {
    let mut parts: Vec<String> = version.split('.').map(String::from).collect();
    let next =
        parts.get(part).and_then(|p| super::number::parse_int(p)).map(|i| i.wrapping_add(1).to_string());
    match (next, parts.get_mut(part)) {
        (Some(next), Some(slot)) => *slot = next,
        _ => return String::new(),
    }
    parts.join(".")
}

fn term(word: &str) -> Result<Term, RangeError> {
    let (op_text, version_text) = split_operator(word)?;
    let op = match op_text {
        "" | "=" | "==" => Op::Eq,
        "!" | "!=" => Op::Ne,
        ">" => Op::Gt,
        ">=" => Op::Ge,
        "<" => Op::Lt,
        "<=" => Op::Le,
        _ => {
            return Err(RangeError::Comparator {
                word: word.into(),
                operator: op_text.into(),
                version: version_text.into(),
            });
        }
    };
    let version = Version::parse(version_text).map_err(|cause| RangeError::Version {
        word: word.into(),
        operator: op_text.into(),
        version: version_text.into(),
        cause,
    })?;
    Ok(Term { op, version })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn versions_order_by_semver_precedence() {
        let order =
            ["0.9.9", "1.0.0-1", "1.0.0-2", "1.0.0-a", "1.0.0-a.1", "1.0.0-b", "1.0.0", "1.0.1", "1.10.0"];
        for pair in order.windows(2) {
            let read = |i: usize| Version::parse(pair[i]).unwrap();
            assert!(read(0) < read(1), "{pair:?}");
        }
        assert_eq!(Version::parse("1.0.0+a"), Version::parse("1.0.0+b"));
    }

    #[test]
    fn wildcards_stand_for_intervals() {
        let v = Version::parse("1.2.3").unwrap();
        for (range, holds) in [
            ("1.x", true),
            ("1.2.x", true),
            ("1.x.x", false),
            (">1.x", false),
            ("<=1.x", true),
            ("!1.x", false),
            ("> = 1.0.0", true),
            (">2.0.0 || || 1.2.3", true),
        ] {
            assert_eq!(SemverRange::parse(range).unwrap().contains(&v), holds, "{range}");
        }
        assert_eq!(SemverRange::parse("1 2 3").unwrap_err(), RangeError::EndsWithOr);
    }

    #[test]
    fn errors_have_the_text_of_the_reference() {
        for (range, text) in [
            ("1 2 3", "Last element in range is '||'"),
            ("|| 1.0.0", "First element in range is '||'"),
            (">>", "Could not get version from string: \">>\""),
            ("^1.0.0", "Could not parse Range \"^1.0.0\": Could not parse comparator \"^\" in \"^1.0.0\""),
            (
                "> 1.a.0",
                "Could not parse Range \">1.a.0\": Could not parse version \"1.a.0\" in \">1.a.0\": Invalid character(s) found in minor number \"a\"",
            ),
        ] {
            assert_eq!(SemverRange::parse(range).unwrap_err().to_string(), text);
        }
        assert_eq!(
            Version::parse("01.0.0").unwrap_err().to_string(),
            "Major number must not contain leading zeroes \"01\""
        );
    }
}
