//! Whole numbers as an API server keeps them: an object that was written as JSON and read back holds
//! integers wherever a number has no fraction and fits 64 bits, and doubles everywhere else.

use super::Value;

/// Doubles from here on (2^63) do not fit a signed integer.
const LIMIT: f64 = 9_223_372_036_854_775_808.0;

impl Value {
    /// The value written as JSON and read back. Parts that stay as they are are shared.
    pub fn with_whole_numbers(&self) -> Value {
        self.whole().unwrap_or_else(|| self.clone())
    }

    /// The same, `None` when it stays as it is.
    fn whole(&self) -> Option<Value> {
        match self {
            Value::Float(f) => is_whole(*f).then(|| Value::Int(*f as i64)),
            Value::UInt(u) => Some(i64::try_from(*u).map_or(Value::Float(*u as f64), Value::Int)),
            Value::List(_) | Value::Map(_) => self.changed_inside(Value::whole),
            _ => None,
        }
    }
}

fn is_whole(f: f64) -> bool {
    f.fract() == 0.0 && (-LIMIT..LIMIT).contains(&f)
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
        assert!(Value::Float(LIMIT).with_whole_numbers().strict_eq(&Value::Float(LIMIT)));
        assert!(Value::Float(-LIMIT).with_whole_numbers().strict_eq(&Value::Int(i64::MIN)));
    }
}
