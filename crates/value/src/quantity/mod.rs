//! Kubernetes resource quantities (`500m`, `1.5Gi`, `2e3`), the only quantity type of the program.
//!
//! In: text of a resource or a policy. Out: exact order, exact decimal arithmetic, canonical text.
//! Semantics' source: the reference's behaviour:
//!
//! * A parsed value is exact, rounded away from zero to 10⁻⁹; binary quantities are capped at
//!   ±(2⁶³−1).
//! * Digits may be absent: `m`, `+`, `.` are all zero (not so `Pi` and `Ei`). The exponent of `e…`
//!   is taken modulo 2³².
//! * Next to its value a quantity stores its format class and how many decimal places its text had,
//!   because quotients are rounded to those places.
//! * The canonical text omits the suffix where the decimal exponent has none (above 18, below −9).
//!
//! Values that fit in 128 bits of nano units, which is every quantity of practice, never allocate.
//! Texts with more than [`MAX_DIGITS`] digits are no quantities here, and a sum, product or
//! quotient that needs more than [`MAX_SHIFT`] digits has no value: the reference spends minutes on
//! them.
//!
//! - `decimal`: decimal numbers of any size: the values of quantities

mod decimal;

use std::cmp::Ordering;
use std::fmt;

use num_bigint::BigInt;
use num_traits::{Signed, ToPrimitive, Zero};
use serde::{Deserialize, Serialize};

use crate::Str;

pub use decimal::MAX_SHIFT;
use decimal::{Amount, Dec, NANO_PLACES, pow10, round_up_to_nano, small_amount, ten_to, text_as_f64};

/// Longest digit run that is read as a quantity.
pub const MAX_DIGITS: usize = 10_000;

const NANOS: i128 = 1_000_000_000;
const CAP: i128 = i64::MAX as i128 * NANOS;
/// Digit runs up to this long keep 2⁶⁰ times their value within 128 bits.
const FAST_DIGITS: usize = 19;

/// How a quantity is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Format {
    /// No suffix, or one of `n u m k M G T P E`.
    DecimalSi,
    /// One of `Ki Mi Gi Ti Pi Ei`.
    BinarySi,
    /// `e` or `E` and a number.
    DecimalExponent,
}

/// A quantity; see the module page. Comparison is by value alone: `1k` equals `1e3`.
#[derive(Clone, Debug)]
pub struct Quantity {
    amount: Amount,
    places: i32,
    format: Format,
    /// Whether the reference keeps it as a 64-bit number with a power of ten.
    small: bool,
    /// Its text, where the reference keeps that instead of printing one.
    written: Option<Str>,
    /// Whether CEL computed it: such a value equals nothing when it stands on the right.
    computed: bool,
}

/// The parts of a quantity; see [`Quantity::parts`].
pub(super) type Parted = (String, i64, i32, Format, bool);

impl Quantity {
    /// Reads a quantity; `None` when `text` is none.
    pub fn parse(text: &str) -> Option<Quantity> {
        let parts = QuantityParts::of(text)?;
        let (format, exp10, exp2) = suffix(parts.suffix)?;
        let stored = stored_places(&parts, format, exp10, exp2);
        if stored.is_none() && !parts.has_digits {
            return None;
        }
        let places = stored.unwrap_or(9);
        let small = stored.is_some();
        let exp = i64::from(exp10) - i64::try_from(parts.frac.len()).ok()?;
        let digits = parts.int.len() + parts.frac.len();
        if digits > MAX_DIGITS {
            return None;
        }
        let mut amount = if digits <= FAST_DIGITS {
            let m =
                parts.int.bytes().chain(parts.frac.bytes()).fold(0i128, |m, b| m * 10 + i128::from(b - b'0'));
            small_amount(m << exp2, exp)
        } else {
            let m: BigInt = format!("{}{}", parts.int, parts.frac).parse().ok()?;
            round_up_to_nano(Dec { mantissa: m << exp2, exp })
        };
        let (mut format, mut places) = (format, places);
        if format == Format::BinarySi {
            match amount {
                Amount::Nanos(n) if n <= CAP => {
                    if n > 0 && n < NANOS {
                        format = Format::DecimalSi;
                    }
                }
                _ => {
                    amount = Amount::Nanos(CAP);
                    places = 0;
                }
            }
        }
        if parts.negative {
            amount = amount.negated();
        }
        Some(Quantity { amount, places, format, small, written: None, computed: false })
    }

    /// As [`Quantity::parse`], and stores the text as far as the reference does: of small numbers
    /// that look as if they were written in the canonical way.
    pub fn written(text: &Str) -> Option<Quantity> {
        let mut made = Quantity::parse(text)?;
        let parts = QuantityParts::of(text)?;
        let digits = || parts.int.bytes().chain(parts.frac.bytes());
        let looks_canonical = match made.format {
            Format::BinarySi => {
                digits().last().is_some() && {
                    let value =
                        digits().fold(0u64, |n, b| n.wrapping_mul(10).wrapping_add(u64::from(b - b'0')));
                    value & 7 != 0
                }
            }
            _ => {
                let zeros = digits().rev().take_while(|b| *b == b'0').count();
                made.places % 3 == 0 && zeros < 3 && digits().next().is_some_and(|b| b != b'0')
            }
        };
        if made.small && looks_canonical {
            made.written = Some(text.clone());
        }
        Some(made)
    }

    /// All that a quantity is that was computed: the digits of its value, their power of ten, and
    /// how it is shown.
    pub(super) fn parts(&self) -> Parted {
        let Dec { mantissa, exp } = self.amount.to_dec();
        (mantissa.to_string(), exp, self.places, self.format, self.small)
    }

    /// The quantity of its [`Quantity::parts`]; `None` when there is none, or it is larger than a
    /// text can be.
    pub(super) fn of_parts((mantissa, exp, places, format, small): Parted) -> Option<Quantity> {
        let is_small = mantissa.len() <= MAX_DIGITS && exp.unsigned_abs() <= MAX_SHIFT;
        let mantissa = is_small.then(|| mantissa.parse().ok()).flatten()?;
        Some(Quantity {
            amount: Dec { mantissa, exp }.into_amount(),
            places,
            format,
            small,
            written: None,
            computed: false,
        })
    }

    /// The format class of the text or of the operand that a result took it from.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Whether the value is zero.
    pub fn is_zero(&self) -> bool {
        self.sign() == Ordering::Equal
    }

    /// The value's order relative to zero.
    pub fn sign(&self) -> Ordering {
        match &self.amount {
            Amount::Nanos(n) => n.cmp(&0),
            Amount::Big(d) => d.mantissa.cmp(&BigInt::zero()),
        }
    }

    /// The exact sum, in the left operand's format (the right one's when the left is zero); `None`
    /// when it needs more than [`MAX_SHIFT`] digits.
    pub fn add(&self, other: &Quantity) -> Option<Quantity> {
        let format = if self.is_zero() { other.format } else { self.format };
        let places = self.places.max(other.places);
        if let (Amount::Nanos(a), Amount::Nanos(b)) = (&self.amount, &other.amount)
            && let Some(sum) = a.checked_add(*b)
        {
            let small = self.small && other.small;
            return Some(Quantity {
                amount: Amount::Nanos(sum),
                places,
                format,
                small,
                written: None,
                computed: false,
            });
        }
        if self.is_zero() {
            return Some(Quantity { format, written: None, computed: false, ..other.clone() });
        }
        if other.is_zero() {
            return Some(Quantity { written: None, computed: false, ..self.clone() });
        }
        let (a, b) = (self.amount.to_dec(), other.amount.to_dec());
        let exp = a.exp.min(b.exp);
        let mantissa = a.shifted_to(exp)? + b.shifted_to(exp)?;
        let amount = Dec { mantissa, exp }.into_amount();
        Some(Quantity { amount, places, format, small: false, written: None, computed: false })
    }

    /// The exact difference; format and failure as for [`Quantity::add`].
    pub fn sub(&self, other: &Quantity) -> Option<Quantity> {
        self.add(&Quantity { amount: other.amount.clone().negated(), ..other.clone() })
    }

    /// The exact product, in the left operand's format; `None` when its exponent leaves 32 bits.
    pub fn mul(&self, other: &Quantity) -> Option<Quantity> {
        let (a, b) = (self.amount.to_dec(), other.amount.to_dec());
        let exp = a.exp + b.exp;
        i32::try_from(exp).ok()?;
        let amount = Dec { mantissa: a.mantissa * b.mantissa, exp }.into_amount();
        let places = self.places.saturating_add(other.places);
        Some(Quantity { amount, places, format: self.format, small: false, written: None, computed: false })
    }

    /// The quotient rounded toward zero to the larger number of decimal places of the operands, in
    /// the left operand's format. `None` for a zero divisor or more than [`MAX_SHIFT`] digits.
    pub fn div(&self, other: &Quantity) -> Option<Quantity> {
        if other.is_zero() {
            return None;
        }
        let places = self.places.max(other.places);
        let (a, b) = (self.amount.to_dec(), other.amount.to_dec());
        let shift = a.exp - b.exp + i64::from(places);
        let mantissa = if shift >= 0 {
            (a.mantissa * ten_to(shift)?) / b.mantissa
        } else if shift.unsigned_abs() > MAX_SHIFT + a.mantissa.bits() {
            BigInt::zero()
        } else {
            a.mantissa / (b.mantissa * ten_to(-shift)?)
        };
        let amount = Dec { mantissa, exp: -i64::from(places) }.into_amount();
        Some(Quantity { amount, places, format: self.format, small: false, written: None, computed: false })
    }

    /// The value as a double: the stored mantissa as a double times a double power of ten, which
    /// may differ from the nearest double in the last digit.
    pub fn approx(&self) -> f64 {
        let places = i64::from(self.places);
        let base = match &self.amount {
            Amount::Nanos(n) => {
                let shift = u32::try_from((places - NANO_PLACES).unsigned_abs()).unwrap_or(u32::MAX);
                let factor = 10i128.checked_pow(shift);
                let scaled = match factor {
                    _ if *n == 0 => Some(0),
                    Some(f) if places >= NANO_PLACES => n.checked_mul(f),
                    Some(f) => Some(n / f),
                    None => None,
                };
                match scaled {
                    Some(m) => m as f64,
                    None => return text_as_f64(&BigInt::from(*n), -NANO_PLACES),
                }
            }
            Amount::Big(d) => match d.shifted_to(-places) {
                Some(m) => text_as_f64(&m, 0),
                None => return text_as_f64(&d.mantissa, d.exp),
            },
        };
        if places == 0 { base } else { base * pow10(-places) }
    }

    /// A quantity with this whole value, in the format of `self`.
    pub fn with_value(&self, value: i64) -> Quantity {
        let amount = Amount::Nanos(i128::from(value) * NANOS);
        Quantity { amount, places: 0, format: self.format, small: true, written: None, computed: false }
    }

    /// The value where the reference takes it for a whole number: of quantities that it keeps as
    /// small numbers, and without decimal places, even when those are zero.
    pub fn as_integer(&self) -> Option<i64> {
        if self.small && self.places <= 0 { self.to_i64() } else { None }
    }

    /// As [`Quantity::as_integer`], 64-bit integers of 19 digits included.
    pub fn as_whole_integer(&self) -> Option<i64> {
        const LEAST: u64 = 1_000_000_000_000_000_000;
        let is_long = |n: &i64| !self.small && n.unsigned_abs() >= LEAST && self.format != Format::BinarySi;
        let is_whole = |n: &i64| matches!(self.amount, Amount::Nanos(all) if all == i128::from(*n) * NANOS);
        self.as_integer().or_else(|| self.to_i64().filter(|n| is_long(n) && is_whole(n)))
    }

    /// The value as a 64-bit integer, rounded toward zero; `None` when it does not fit.
    pub fn to_i64(&self) -> Option<i64> {
        match &self.amount {
            Amount::Nanos(n) => i64::try_from(n / NANOS).ok(),
            Amount::Big(d) if d.exp < 0 => (&d.mantissa / ten_to(-d.exp)?).to_i64(),
            Amount::Big(_) => None,
        }
    }
}

impl Quantity {
    /// The value in billionths; `None` where 128 bits have no room for it.
    pub fn nanos(&self) -> Option<i128> {
        match &self.amount {
            Amount::Nanos(nanos) => Some(*nanos),
            Amount::Big(_) => None,
        }
    }
}

impl Quantity {
    /// The same as a result of CEL's arithmetic.
    pub fn into_computed(self) -> Quantity {
        Quantity { computed: true, ..self }
    }

    /// Whether CEL's arithmetic gave it.
    pub fn is_computed(&self) -> bool {
        self.computed
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        match (&self.amount, &other.amount) {
            (Amount::Nanos(a), Amount::Nanos(b)) => a.cmp(b),
            (a, b) => a.to_dec().order(&b.to_dec()),
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = &self.written {
            return f.write_str(text);
        }
        if self.is_zero() {
            return f.write_str("0");
        }
        if self.format == Format::BinarySi
            && let Some((value, power)) = self.binary_parts()
        {
            let suffixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
            return write!(f, "{value}{}", suffixes.get(power).unwrap_or(&""));
        }
        let (digits, exp) = match &self.amount {
            Amount::Nanos(n) => (n.to_string(), -NANO_PLACES),
            Amount::Big(d) => (d.mantissa.to_string(), d.exp),
        };
        let significant = digits.trim_end_matches('0');
        let mut exp = exp + i64::try_from(digits.len() - significant.len()).unwrap_or(0);
        f.write_str(significant)?;
        while exp.rem_euclid(3) != 0 {
            f.write_str("0")?;
            exp -= 1;
        }
        match self.format {
            Format::DecimalExponent if exp == 0 => Ok(()),
            Format::DecimalExponent => write!(f, "e{exp}"),
            _ => f.write_str(si_suffix(exp)),
        }
    }
}

impl Quantity {
    /// Value and power of 1024 of a whole value of at least 1024.
    fn binary_parts(&self) -> Option<(BigInt, usize)> {
        let mut value = match &self.amount {
            Amount::Nanos(n) if n % NANOS == 0 => BigInt::from(n / NANOS),
            Amount::Nanos(_) => return None,
            Amount::Big(d) => {
                let whole = d.shifted_to(0)?;
                if d.exp < 0 && &whole * ten_to(-d.exp)? != d.mantissa {
                    return None;
                }
                whole
            }
        };
        if value.abs() < BigInt::from(1024) {
            return None;
        }
        let twos = value.trailing_zeros().unwrap_or(0);
        let power = usize::try_from(twos / 10).ok()?;
        value >>= power * 10;
        Some((value, power))
    }
}

fn si_suffix(exp: i64) -> &'static str {
    match exp {
        -9 => "n",
        -6 => "u",
        -3 => "m",
        3 => "k",
        6 => "M",
        9 => "G",
        12 => "T",
        15 => "P",
        18 => "E",
        _ => "",
    }
}

/// The pieces of a quantity's text. `int` is without leading zeros, but never empty.
struct QuantityParts<'a> {
    negative: bool,
    has_digits: bool,
    int: &'a str,
    frac: &'a str,
    suffix: &'a str,
}

impl<'a> QuantityParts<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let negative = text.starts_with('-');
        let body = text.strip_prefix(['-', '+']).unwrap_or(text);
        if text.is_empty() {
            return None;
        }
        let (int, rest) = split_digits(body);
        let (frac, suffix) = match rest.strip_prefix('.') {
            Some(rest) => split_digits(rest),
            None => ("", rest),
        };
        let has_digits = !(int.is_empty() && frac.is_empty());
        let int = int.trim_start_matches('0');
        Some(QuantityParts {
            negative,
            has_digits,
            int: if int.is_empty() { "0" } else { int },
            frac,
            suffix,
        })
    }
}

fn split_digits(s: &str) -> (&str, &str) {
    s.split_at(s.bytes().take_while(u8::is_ascii_digit).count())
}

/// Format, power of ten and power of two of a suffix.
fn suffix(s: &str) -> Option<(Format, i32, u32)> {
    let decimal = |e| Some((Format::DecimalSi, e, 0));
    let binary = |e| Some((Format::BinarySi, 0, e));
    match s {
        "" => decimal(0),
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        "Ki" => binary(10),
        "Mi" => binary(20),
        "Gi" => binary(30),
        "Ti" => binary(40),
        "Pi" => binary(50),
        "Ei" => binary(60),
        _ => {
            let exp = crate::number::parse_int(s.strip_prefix(['e', 'E'])?)?;
            // The reference keeps the low 32 bits.
            Some((Format::DecimalExponent, exp as i32, 0))
        }
    }
}

/// The decimal places that the text has where the value is small enough for them to be stored.
fn stored_places(parts: &QuantityParts<'_>, format: Format, exp10: i32, exp2: u32) -> Option<i32> {
    let digits = i64::try_from(parts.int.len() + parts.frac.len()).ok()?;
    if format == Format::BinarySi {
        let room = 14 - digits - i64::from(exp2 * 3 / 10);
        return (parts.frac.is_empty() && room >= 0).then_some(0);
    }
    let places = i64::try_from(parts.frac.len()).ok()? - i64::from(exp10);
    if digits <= 18 && places <= NANO_PLACES { i32::try_from(places).ok() } else { None }
}

#[cfg(test)]
mod tests;
