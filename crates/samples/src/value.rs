//! Generated values.

use ephor_value::{Str, Value};

use crate::Tape;

fn scalar(tape: &mut Tape<'_>) -> Value {
    match tape.pick(9) {
        0 => Value::Null,
        1 => Value::Bool(true),
        2 => Value::Bool(false),
        3 => Value::from(tape.of(&["", "a", "b", "10Mi", "1.2.3", "a,b"])),
        4 => Value::Int(tape.pick(3) as i64 - 1),
        5 => Value::UInt(u64::MAX),
        _ => Value::Float(tape.of(&[0.0, 1.0, -1.5, 2.0])),
    }
}

/// A JSON value of at most this depth.
pub fn value(tape: &mut Tape<'_>, depth: usize) -> Value {
    match tape.pick(4) {
        2 if depth > 0 => Value::list((0..tape.pick(4)).map(|_| value(tape, depth - 1)).collect()),
        3 if depth > 0 => Value::Map(
            (0..tape.pick(4)).map(|_| (Str::from(tape.of(KEYS)), value(tape, depth - 1))).collect(),
        ),
        _ => scalar(tape),
    }
}

/// The keys of generated data.
pub const KEYS: &[&str] = &["a", "b", "c", "d e"];
