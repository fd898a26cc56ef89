//! Decimal numbers of any size: the values of quantities.
//!
//! A number is a 128-bit count of nanos where it fits, which needs no memory, and else a mantissa
//! of any size with a power of ten. Work on huge exponents is bounded by [`MAX_SHIFT`].

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use num_traits::{Pow, Signed, ToPrimitive, Zero};

/// Decimal places of a nano.
pub(super) const NANO_PLACES: i64 = 9;

/// A decimal number. Invariant: `Nanos` whenever the value is a whole number of nanos in 128 bits.
#[derive(Clone, Debug)]
pub(super) enum Amount {
    Nanos(i128),
    Big(Box<Dec>),
}

/// `mantissa × 10^exp`.
#[derive(Clone, Debug)]
pub(super) struct Dec {
    pub mantissa: BigInt,
    pub exp: i64,
}

/// `m × 10^exp` for a non-negative `m`, rounded up to nanos.
pub(super) fn small_amount(m: i128, exp: i64) -> Amount {
    let shift = exp + NANO_PLACES;
    let factor = u32::try_from(shift.unsigned_abs()).ok().and_then(|s| 10i128.checked_pow(s));
    if m == 0 {
        return Amount::Nanos(0);
    }
    if shift < 0 {
        return Amount::Nanos(factor.map_or(1, |f| m / f + i128::from(m % f != 0)));
    }
    match factor.and_then(|f| m.checked_mul(f)) {
        Some(n) => Amount::Nanos(n),
        None => Dec { mantissa: BigInt::from(m), exp }.into_amount(),
    }
}

pub(super) fn round_up_to_nano(d: Dec) -> Amount {
    let shift = -(d.exp + NANO_PLACES);
    if shift <= 0 || d.mantissa.is_zero() {
        return d.into_amount();
    }
    if shift.unsigned_abs() > d.mantissa.bits() {
        return Amount::Nanos(1);
    }
    let Some(factor) = ten_to(shift) else { return Amount::Nanos(1) };
    let quotient = &d.mantissa / &factor;
    let exact = (&quotient * &factor) == d.mantissa;
    let mantissa = if exact { quotient } else { quotient + 1 };
    Dec { mantissa, exp: -NANO_PLACES }.into_amount()
}

impl Amount {
    pub fn negated(self) -> Amount {
        match self {
            // i128::MIN nanos is no value of `into_amount`, which takes symmetric bounds.
            Amount::Nanos(n) => Amount::Nanos(n.saturating_neg()),
            Amount::Big(d) => Amount::Big(Box::new(Dec { mantissa: -d.mantissa, exp: d.exp })),
        }
    }

    pub fn to_dec(&self) -> Dec {
        match self {
            Amount::Nanos(n) => Dec { mantissa: BigInt::from(*n), exp: -NANO_PLACES },
            Amount::Big(d) => (**d).clone(),
        }
    }
}

impl Dec {
    /// The mantissa for the exponent `exp`; exact for a smaller exponent, rounded toward zero for a
    /// larger one. `None` beyond [`MAX_SHIFT`].
    pub fn shifted_to(&self, exp: i64) -> Option<BigInt> {
        let shift = self.exp - exp;
        if self.mantissa.is_zero() {
            Some(BigInt::zero())
        } else if shift >= 0 {
            Some(&self.mantissa * ten_to(shift)?)
        } else {
            Some(&self.mantissa / ten_to(-shift)?)
        }
    }

    /// The canonical amount of this value.
    pub fn into_amount(self) -> Amount {
        if self.mantissa.is_zero() {
            return Amount::Nanos(0);
        }
        let shift = self.exp + NANO_PLACES;
        let small = self.mantissa.to_i128();
        let factor = u32::try_from(shift.unsigned_abs()).ok().and_then(|s| 10i128.checked_pow(s));
        let nanos = match (small, factor) {
            (Some(m), Some(f)) if shift >= 0 => m.checked_mul(f),
            (Some(m), Some(f)) if m % f == 0 => Some(m / f),
            (None, Some(f)) if shift < 0 => {
                let q = &self.mantissa / f;
                if &q * f == self.mantissa { q.to_i128() } else { None }
            }
            _ => None,
        };
        match nanos {
            Some(n) if n != i128::MIN => Amount::Nanos(n),
            _ => Amount::Big(Box::new(self)),
        }
    }

    pub fn order(&self, other: &Dec) -> Ordering {
        let by_sign = sign_rank(&self.mantissa).cmp(&sign_rank(&other.mantissa));
        if by_sign != Ordering::Equal || self.mantissa.is_zero() {
            return by_sign;
        }
        let by_size = self.magnitude().cmp(&other.magnitude()).then_with(|| {
            let exp = self.exp.min(other.exp);
            // Equal magnitudes differ in exponent by at most the digits they have.
            match (self.shifted_to(exp), other.shifted_to(exp)) {
                (Some(a), Some(b)) => a.abs().cmp(&b.abs()),
                _ => self.exp.cmp(&other.exp),
            }
        });
        if self.mantissa.is_negative() { by_size.reverse() } else { by_size }
    }

    /// The decimal exponent of the leading digit.
    fn magnitude(&self) -> i64 {
        let digits = self.mantissa.abs().to_string().len();
        self.exp + i64::try_from(digits).unwrap_or(i64::MAX / 2)
    }
}

fn sign_rank(m: &BigInt) -> i8 {
    match m.sign() {
        Sign::Minus => -1,
        Sign::NoSign => 0,
        Sign::Plus => 1,
    }
}

pub(super) fn ten_to(exp: i64) -> Option<BigInt> {
    let exp = u64::try_from(exp).ok().filter(|e| *e <= MAX_SHIFT)?;
    Some(BigInt::from(10).pow(exp))
}

pub(super) fn text_as_f64(m: &BigInt, exp: i64) -> f64 {
    format!("{m}e{exp}").parse().unwrap_or(f64::NAN)
}

/// Powers of ten as Kyverno 1.19.1 computes them: one rounding within ±31, a product of two beyond.
pub(super) fn pow10(n: i64) -> f64 {
    let power = |e: i64| format!("1e{e}").parse().unwrap_or(f64::NAN);
    match n {
        0..=308 => power(n / 32 * 32) * power(n % 32),
        -323..0 => power(-(-n / 32 * 32)) / power(-n % 32),
        309.. => f64::INFINITY,
        _ => 0.0,
    }
}

/// Largest number of digits that arithmetic adds to a value.
pub const MAX_SHIFT: u64 = 100_000;
