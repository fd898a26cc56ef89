//! Changes to documents: a part is removed, doubled, exchanged for a part of another document or
//! for something that parts are rarely replaced with, a key gets an anchor, a text is changed.

use ephor_value::{Map, Str, Value};

use crate::random::Random;
use crate::texts;

/// Lists and objects in each other.
fn deep(levels: usize, random: &mut Random) -> Value {
    let form = random.below(5);
    (0..levels).fold(Value::from("x"), |v, i| match form {
        0 => Value::list(vec![v]),
        1 => Value::Map([("a".into(), v)].into_iter().collect()),
        2 => Value::Map([(if i % 2 == 0 { "labels" } else { "metadata" }.into(), v)].into_iter().collect()),
        3 if i % 2 == 0 => Value::Map([("^(a)".into(), v)].into_iter().collect()),
        _ if i % 2 == 0 => Value::Map([("a".into(), v)].into_iter().collect()),
        _ => Value::list(vec![v]),
    })
}

/// Values that are rare in documents.
fn odd(random: &mut Random) -> Value {
    match random.below(16) {
        0 => Value::Null,
        1 => Value::Bool(random.below(2) == 0),
        2 => Value::Int([0, -1, 1, i64::MAX, i64::MIN, 1 << 53][random.below(6)]),
        3 => Value::Float([0.0, -0.5, 1e300, 1e-300, 1.0][random.below(5)]),
        4 => Value::list(Vec::new()),
        5 => Value::Map(Map::new()),
        6 => Value::from("a".repeat(1 << random.below(18))),
        7 => {
            let levels = [random.below(80), random.below(300), random.below(5000)][random.below(3)];
            deep(levels, random)
        }
        8 => Value::list((0..random.below(300)).map(|i| Value::Int(i as i64)).collect()),
        9 => Value::list(vec![Value::Map(Map::new()); random.below(3000)]),
        10 => Value::UInt(u64::MAX),
        _ => Value::from(*random.of(&texts::ODD)),
    }
}

/// All parts of a value.
fn parts<'v>(v: &'v Value, out: &mut Vec<&'v Value>) {
    out.push(v);
    match v {
        Value::List(l) => l.iter().for_each(|v| parts(v, out)),
        Value::Map(m) => m.values().for_each(|v| parts(v, out)),
        _ => {}
    }
}

/// The value with its n-th part changed.
fn with_change(v: &Value, n: &mut usize, change: &mut dyn FnMut(&Value) -> Option<Value>) -> Option<Value> {
    if *n == 0 {
        *n = usize::MAX;
        return change(v);
    }
    *n -= usize::from(*n != usize::MAX);
    match v {
        Value::List(l) => Some(Value::list(l.iter().filter_map(|v| with_change(v, n, change)).collect())),
        Value::Map(m) => {
            let entries = m.iter().filter_map(|(k, v)| Some((k.clone(), with_change(v, n, change)?)));
            Some(Value::Map(entries.collect()))
        }
        other => Some(other.clone()),
    }
}

/// A value with one of its texts changed.
pub fn with_text(v: &Value, others: &[String], random: &mut Random) -> Value {
    let mut all = Vec::new();
    parts(v, &mut all);
    let places: Vec<usize> = (0..all.len()).filter(|at| all[*at].as_str().is_some()).collect();
    if places.is_empty() {
        return v.clone();
    }
    // Expressions and patterns rather than names and kinds.
    let says_more =
        |at: usize| all[at].as_str().is_some_and(|s| s.contains([' ', '(', '{', '*', '=', '<', '>', '&']));
    let mut at = *random.of(&places);
    for _ in 0..4 {
        if !says_more(at) {
            at = *random.of(&places);
        }
    }
    let text = texts::changed(all[at].as_str().unwrap_or_default(), others, random);
    with_change(v, &mut at, &mut |_| Some(Value::from(&*text))).unwrap_or_default()
}

/// A value with one part changed.
pub fn mutate(v: &Value, donor: &Value, random: &mut Random) -> Value {
    let mut all = Vec::new();
    parts(v, &mut all);
    let mut at = random.below(all.len());
    let kind = random.below(11);
    let mut pool = Vec::new();
    parts(donor, &mut pool);
    let part = (*random.of(&pool)).clone();
    let strange = odd(random);
    let anchor = *random.of(&["(", "=(", "X(", "^(", "<(", "+("]);
    let chosen = random.below(1 << 20);
    let mut change = |old: &Value| match (kind, old) {
        (0, _) => None,
        (1 | 2, _) => Some(part.clone()),
        (3, Value::List(l)) => Some(Value::list(l.iter().chain(l.iter()).cloned().collect())),
        (4, Value::Map(m)) if !m.is_empty() => {
            let renamed = |(i, (k, v)): (usize, (&Str, &Value))| match i == chosen % m.len() {
                true => (Str::from(format!("{anchor}{k})")), v.clone()),
                false => (k.clone(), v.clone()),
            };
            Some(Value::Map(m.iter().enumerate().map(renamed).collect()))
        }
        (5, Value::Str(s)) if !s.is_empty() => {
            let cut = s.char_indices().nth(chosen % s.chars().count()).map_or(0, |(i, _)| i);
            let (head, tail) = s.split_at(cut);
            Some(Value::from(match chosen % 3 {
                0 => head.to_string(),
                1 => format!("{head}{tail}{tail}"),
                _ => format!("{head}{}{tail}", strange.as_str().unwrap_or("'")),
            }))
        }
        (6, old) => Some(Value::list(vec![old.clone(), part.clone()])),
        (7, Value::Map(m)) => {
            let key = Str::from(["*", "a*", "(a)", "metadata", "labels", ""][chosen % 6]);
            Some(Value::Map(
                m.iter().map(|(k, v)| (k.clone(), v.clone())).chain([(key, part.clone())]).collect(),
            ))
        }
        (8, old @ (Value::Map(_) | Value::List(_))) => {
            // The same part inside of itself.
            Some((0..chosen % 6).fold(old.clone(), |v, i| match i % 2 {
                0 => Value::list(vec![v]),
                _ => Value::Map([("a".into(), v)].into_iter().collect()),
            }))
        }
        _ => Some(strange.clone()),
    };
    with_change(v, &mut at, &mut change).unwrap_or_default()
}
