//! Variations of objects: for what cannot be enumerated.
//!
//! In: objects for each kind of answer that was seen, and others. Out: the former with one part of
//! one of the others in its place. A change of a rule shows on objects near those that it decides
//! about: where all else is as it must be and one field is not.

use std::cell::OnceCell;

use ephor_value::place::{Path, PathPart, follow};
use ephor_value::{Str, Value, stack};

use crate::inputs::context_entries::INPUTS;
use crate::model::path::with;

/// An object with the ways to its parts, once they are wanted.
pub(crate) struct WithPaths<T> {
    pub whole: T,
    ways: OnceCell<Vec<Path>>,
}

impl<T> WithPaths<T> {
    /// Of what has an object.
    pub fn new(whole: T) -> WithPaths<T> {
        WithPaths { whole, ways: OnceCell::new() }
    }

    /// The ways to the parts of its object.
    pub fn ways(&self, object: &Value) -> &[Path] {
        self.ways.get_or_init(|| {
            let mut ways = Vec::new();
            paths(object, &mut Vec::new(), &mut ways);
            ways
        })
    }
}

/// The `at`-th variation of an object by parts of another one, each with the ways to its parts;
/// `None` when there is nothing to take.
pub(crate) fn varied(
    (base, own): (&Value, &[Path]),
    (donor, of_donor): (&Value, &[Path]),
    at: usize,
) -> Option<Value> {
    // One of four variations leaves a part out.
    if at.is_multiple_of(4) {
        let path = own.get((at / 4) % own.len().max(1))?;
        return with(base, path, None);
    }
    let path = of_donor.get((at - at.div_ceil(4)) % of_donor.len().max(1))?;
    let (part, _) = follow(donor, path);
    let part = part.clone();
    with(base, path, Some(part))
}

/// The object with each of its texts and integers replaced by each other one of a pool, one at a
/// time.
pub(crate) fn substituted<'v>(
    base: &'v Value,
    texts: &'v [Str],
    integers: &'v [i64],
) -> impl Iterator<Item = Value> + 'v {
    let mut own = Vec::new();
    paths(base, &mut Vec::new(), &mut own);
    own.into_iter().flat_map(move |path| {
        let pool: Vec<Value> = match follow(base, &path).0 {
            Value::Str(own) => texts.iter().filter(|text| *text != own).cloned().map(Value::Str).collect(),
            Value::Int(own) => integers.iter().filter(|n| *n != own).map(|n| Value::Int(*n)).collect(),
            Value::Bool(own) => vec![Value::Bool(!own)],
            _ => Vec::new(),
        };
        pool.into_iter().filter_map(move |value| with(base, &path, Some(value)))
    })
}

/// The ways to all parts that may be exchanged; what identifies an object stays.
fn paths(value: &Value, here: &mut Path, out: &mut Vec<Path>) {
    stack::deep(|| match value {
        Value::Map(map) => {
            for (key, below) in map.iter() {
                let is_head = here.is_empty() && matches!(&**key, "apiVersion" | "kind");
                if is_head {
                    continue;
                }
                here.push(PathPart::Key(key.clone()));
                let is_identity = here.len() == 1 && &**key == "metadata";
                if !is_identity {
                    out.push(here.clone());
                }
                match (&**key == INPUTS, below) {
                    // Answers of lookups are there as a whole.
                    (true, Value::Map(answers)) => {
                        out.extend(answers.keys().map(|answer| {
                            here.iter().cloned().chain([PathPart::Key(answer.clone())]).collect()
                        }));
                    }
                    _ => paths(below, here, out),
                }
                here.pop();
            }
        }
        Value::List(items) => {
            for (at, below) in items.iter().enumerate() {
                here.push(PathPart::Index(at));
                out.push(here.clone());
                paths(below, here, out);
                here.pop();
            }
        }
        _ => {}
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_and_number_takes_the_other_values() {
        let base = ephor_document::yaml_value("{kind: A, spec: {l: [{q: x}], max: 1}}").unwrap();
        let all: Vec<String> = substituted(&base, &["x".into(), "y".into()], &[1, 2])
            .map(|v| ephor_value::print::json(&v))
            .collect();
        assert_eq!(
            all,
            [
                r#"{"kind":"A","spec":{"l":[{"q":"y"}],"max":1}}"#,
                r#"{"kind":"A","spec":{"l":[{"q":"x"}],"max":2}}"#
            ]
        );
    }

    #[test]
    fn a_part_of_another_object_takes_its_place_or_goes() {
        let yaml = |text: &str| ephor_document::yaml_value(text).unwrap();
        let base = yaml("{kind: A, metadata: {name: a}, spec: {l: [{q: 1}], x: 1}}");
        let donor = yaml("{kind: A, metadata: {name: b}, spec: {l: [{q: 2}, {q: 3}], x: 2}}");
        let [own, of_donor] = [&base, &donor].map(|object| WithPaths::new(()).ways(object).to_vec());
        let all: Vec<String> = (0..80)
            .filter_map(|at| varied((&base, &own), (&donor, &of_donor), at))
            .map(|v| ephor_value::print::json(&v))
            .collect();
        for wanted in [
            r#"{"kind":"A","metadata":{"name":"a"},"spec":{"l":[{"q":1}],"x":2}}"#,
            r#"{"kind":"A","metadata":{"name":"a"},"spec":{"l":[{"q":1}]}}"#,
            r#"{"kind":"A","metadata":{"name":"a"},"spec":{"l":[{"q":1},{"q":3}],"x":1}}"#,
            r#"{"kind":"A","metadata":{"name":"b"},"spec":{"l":[{"q":1}],"x":1}}"#,
        ] {
            assert!(all.iter().any(|one| one == wanted), "{wanted}: {all:#?}");
        }
        assert!(all.iter().all(|one| one.contains(r#""kind":"A""#) && one.contains("metadata")));
    }
}
