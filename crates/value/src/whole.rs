//! Whole numbers as an API server keeps them: an object that was written as JSON and read back
//! holds integers wherever a number is written without fraction and exponent and fits 64 bits, and
//! doubles everywhere else. Large doubles are written with as many digits as distinguish them, and
//! zeros.

use super::Value;
use super::number::{float_json, parse_int};

/// Doubles below 2^53 have digits for each of their integers.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Value {
    /// The value written as JSON and read back. Parts that stay as they are are shared.
    pub fn with_whole_numbers(&self) -> Value {
        self.whole().unwrap_or_else(|| self.clone())
    }

    /// The same, `None` when it stays as it is.
    fn whole(&self) -> Option<Value> {
        match self {
            Value::Float(f) if f.abs() < EXACT => (f.fract() == 0.0).then(|| Value::Int(*f as i64)),
            Value::Float(f) => parse_int(&float_json(*f)).map(Value::Int),
            Value::UInt(u) => Some(i64::try_from(*u).map_or(Value::Float(*u as f64), Value::Int)),
            Value::List(_) | Value::Map(_) => self.changed_inside(Value::whole),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_doubles_become_integers_and_huge_integers_doubles() {
        let inner = Value::list(vec![Value::Float(2.0), Value::Float(2.5), Value::Float(1e300)]);
        let got = inner.with_whole_numbers();
        assert!(got.strict_eq(&Value::list(vec![Value::Int(2), Value::Float(2.5), Value::Float(1e300)])));
        assert!(Value::UInt(u64::MAX).with_whole_numbers().strict_eq(&Value::Float(u64::MAX as f64)));
    }

    #[test]
    fn large_doubles_become_the_integers_that_they_are_written_as() {
        let limit = 9_223_372_036_854_775_808.0;
        for (double, wanted) in [
            (limit, Value::Float(limit)),
            (-limit, Value::Float(-limit)),
            (9_223_372_036_854_774_784.0, Value::Int(9_223_372_036_854_775_000)),
            (9_007_199_254_740_994.0, Value::Int(9_007_199_254_740_994)),
            (1e18, Value::Int(1_000_000_000_000_000_000)),
            (-0.0, Value::Int(0)),
        ] {
            assert!(Value::Float(double).with_whole_numbers().strict_eq(&wanted), "{double}");
        }
    }
}
