//! Generate bodies → [`Generation`]s.

use std::sync::Arc;

use ephor_ir::Origin;
use ephor_ir::generate::{Described, Generation, GenerationLoop};
use ephor_value::{Map, Str, Value};

use super::binding::bindings;
use super::condition::conditions;
use super::query;
use super::template::document;

/// Lowers the generate body of a rule; `names` are the bindings in its scope.
pub fn generation(body: &Value, names: &Arc<[Str]>, origin: &Origin) -> Generation {
    let synchronize = body.get("synchronize").and_then(Value::as_bool).unwrap_or(false);
    match body.get("foreach").and_then(Value::as_list) {
        Some(loops) => {
            let origin = origin.key("foreach");
            let loops = loops.iter().enumerate();
            Generation::ForEach(loops.map(|(i, l)| each(l, names, origin.index(i), synchronize)).collect())
        }
        None => Generation::One(described(body, names, origin.clone(), synchronize)),
    }
}

fn described(body: &Value, names: &Arc<[Str]>, origin: Origin, synchronize: bool) -> Described {
    const PARTS: [&str; 7] = ["apiVersion", "kind", "namespace", "name", "data", "clone", "cloneList"];
    let part = |key: &str| Some((Str::from(key), body.get(key)?.clone()));
    let parts: Map = PARTS.into_iter().filter_map(part).collect();
    Described { origin, template: document(&Value::Map(parts), names), synchronize }
}

fn each(v: &Value, outer: &Arc<[Str]>, origin: Origin, synchronize: bool) -> GenerationLoop {
    let (bindings, names) = bindings(v.get("context"), outer, &origin.key("context"));
    GenerationLoop {
        list: query::plain(v.text_at(&["list"]), outer),
        bindings,
        admit: conditions(v.get("preconditions"), &names, origin.key("preconditions")),
        described: described(v, &names, origin.clone(), synchronize),
        origin,
    }
}
