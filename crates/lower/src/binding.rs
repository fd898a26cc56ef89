//! Context entries → bindings.

use std::sync::Arc;

use ephor_ir::rule::{Binding, BindingSource, QuerySource};
use ephor_ir::{Origin, Template};
use ephor_value::{Str, Value};

use super::query::plain;
use super::template::document;

/// Lowers a `context` list that stands inside of a scope with the given names; returns the bindings
/// and the names that are in scope behind them.
pub fn bindings(
    list: Option<&Value>,
    outer: &Arc<[Str]>,
    origin: &Origin,
) -> (Box<[Arc<Binding>]>, Arc<[Str]>) {
    let entries = list.and_then(Value::as_list).unwrap_or_default();
    if entries.is_empty() {
        return (Box::default(), outer.clone());
    }
    let names: Arc<[Str]> =
        outer.iter().cloned().chain(entries.iter().map(|e| Str::from(e.text_at(&["name"])))).collect();
    let bindings = entries
        .iter()
        .enumerate()
        .map(|(i, e)| {
            let name = e.text_at(&["name"]).into();
            Arc::new(Binding { origin: origin.index(i), name, source: source(e, &names) })
        })
        .collect();
    (bindings, names)
}

fn source(entry: &Value, names: &Arc<[Str]>) -> BindingSource {
    let part = |v: &Value, key: &str| v.get(key).filter(|v| !v.is_null()).map(|v| document(v, names));
    let text = |v: &Value, key: &str| document(&Value::from(v.text_at(&[key])), names);
    if let Some(v) = entry.get("variable") {
        return BindingSource::Variable {
            value: part(v, "value"),
            query: query(v, names),
            default: part(v, "default"),
            raw: v.clone(),
        };
    }
    if let Some(v) = entry.get("configMap") {
        return BindingSource::ConfigMap {
            name: text(v, "name"),
            namespace: text(v, "namespace"),
            raw: v.clone(),
        };
    }
    if let Some(v) = entry.get("apiCall") {
        return BindingSource::ApiCall { call: document(v, names), raw: v.clone() };
    }
    if let Some(v) = entry.get("globalReference") {
        return BindingSource::Global { name: v.text_at(&["name"]).into(), query: query(v, names) };
    }
    if let Some(v) = entry.get("imageRegistry") {
        return BindingSource::Image {
            reference: text(v, "reference"),
            credentials: v.get("imageRegistryCredentials").cloned().unwrap_or_default(),
            query: query(v, names),
        };
    }
    BindingSource::Variable { value: None, query: None, default: None, raw: Value::Null }
}

/// The `jmesPath` of an entry. It is not subject to the renaming of objects that are deleted,
/// unless it stands in a variable.
fn query(v: &Value, names: &Arc<[Str]>) -> Option<QuerySource> {
    let text = v.get("jmesPath").filter(|v| v.as_str() != Some(""))?;
    Some(match document(text, names) {
        Template::Const(Value::Str(s)) => QuerySource::Ready(plain(&s, names)),
        text => QuerySource::Dynamic { text, names: names.clone() },
    })
}
