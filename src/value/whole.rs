//! Whole numbers as an API server keeps them: an object that was written as JSON and read back holds
//! integers wherever a number has no fraction and fits 64 bits, and doubles everywhere else.

use super::Value;

/// Doubles from here on (2^63) do not fit a signed integer.
const LIMIT: f64 = 9_223_372_036_854_775_808.0;

impl Value {
    /// The value written as JSON and read back. Parts that stay as they are are shared.
    pub fn with_whole_numbers(&self) -> Value {
        match self {
            Value::List(l) if l.iter().any(Value::changes_when_read_back) => {
                Value::List(l.iter().map(Value::with_whole_numbers).collect())
            }
            Value::Map(m) if m.values().any(Value::changes_when_read_back) => {
                Value::Map(m.iter().map(|(k, v)| (k.clone(), v.with_whole_numbers())).collect())
            }
            Value::Float(f) if is_whole(*f) => Value::Int(*f as i64),
            Value::UInt(u) => i64::try_from(*u).map_or(Value::Float(*u as f64), Value::Int),
            other => other.clone(),
        }
    }

    fn changes_when_read_back(&self) -> bool {
        match self {
            Value::Float(f) => is_whole(*f),
            Value::UInt(_) => true,
            Value::List(l) => l.iter().any(Value::changes_when_read_back),
            Value::Map(m) => m.values().any(Value::changes_when_read_back),
            _ => false,
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
