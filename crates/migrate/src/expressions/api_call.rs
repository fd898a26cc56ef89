//! Calls of the Kubernetes API → `resource.get` and `resource.list`.
//!
//! In: an `apiCall` of a context. Out: the object, or the list, that its path names. Calls of services are refused: their answers
//! are of any form. Semantics: `docs/variables.md`, "apiCall".

use crate::cel::build::{binary, text};
use crate::cel_tree::Node;
use crate::ir::Template;
use crate::ir::rule::QuerySource;
use crate::ir::template::Part;
use crate::value::{Str, Value};

use super::Refusal;
use super::bindings::{arguments, fetched, queried};
use super::scope::Scope;
use super::template::{as_text, query};
use super::term::{Faults, Val};
use super::types::Ty;

/// The value of a call.
///
/// # Errors
/// The path is none that names objects, or a service is called.
pub fn api_call(own: &Str, call: &Template, raw: &Value, scope: &mut Scope<'_>) -> Result<Val, Refusal> {
    scope.needs_kyverno("a call of the API in the context")?;
    if raw.get("service").is_some_and(|s| !s.is_null()) {
        return Err(scope.refuse("a call of a service", "use `http.get` or `http.post` and read the answer"));
    }
    let method = raw.get("method").and_then(Value::as_str).unwrap_or("GET");
    if method != "GET" {
        return Err(
            scope.refuse(format!("a call with method {method}"), "use `resource.post` and read the answer")
        );
    }
    let path =
        member(call, "urlPath").ok_or_else(|| scope.refuse("a call without a path", "give it a path"))?;
    let segments = segments(&path, scope)?;
    let mut faults = Faults::new();
    let mut words: Vec<Node> = Vec::new();
    for segment in &segments.path {
        let (node, more) = segment.clone();
        words.push(node);
        faults.extend(more);
    }
    let word = |i: usize| words.get(i).and_then(as_word);
    let (api_version, rest) = match (word(0).as_deref(), word(1), word(2)) {
        (Some("api"), Some(version), _) => (version, 2),
        (Some("apis"), Some(group), Some(version)) => (format!("{group}/{version}"), 3),
        _ => return Err(scope.refuse("a path of the API that names no objects", "name the kind in the path")),
    };
    let rest = words.get(rest..).unwrap_or_default();
    let (namespace, rest) = match rest {
        [first, namespace, more @ ..]
            if as_word(first).as_deref() == Some("namespaces") && !more.is_empty() =>
        {
            (namespace.clone(), more)
        }
        rest => (text(""), rest),
    };
    let found = match rest {
        [plural] => {
            let args = arguments(&api_version, plural.clone(), namespace, segments.labels, scope)?;
            let ty = Ty::Listing(Box::new(served(&api_version, plural, scope)));
            fetched(own, "resource", "list", args, ty, faults, scope)
        }
        [plural, name] => {
            let args = arguments(&api_version, plural.clone(), namespace, Some(name.clone()), scope)?;
            let ty = served(&api_version, plural, scope);
            fetched(own, "resource", "get", args, ty, faults, scope)
        }
        _ => return Err(scope.refuse("a path of the API to a subresource", "read the object itself")),
    };
    let text_of = |key: &str| raw.get(key).and_then(Value::as_str).filter(|s| !s.is_empty());
    match text_of("jmesPath") {
        None => Ok(found),
        Some(own) if own.contains("{{") => {
            super::template::resolved_in(own, &std::sync::Arc::from([]), found, scope)
        }
        Some(own) => {
            let own = QuerySource::Ready(crate::lower::query::plain(own, &[]));
            queried(&own, Some(found), scope)
        }
    }
}

/// The type of the objects that are served under a plural.
fn served(api_version: &str, plural: &Node, scope: &Scope<'_>) -> Ty {
    let Some(plural) = as_word(plural) else { return Ty::Any };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    match crate::kubernetes::Kinds::built_in().resource(group, version, &plural) {
        Some(found) => {
            let kind = [found.group.clone(), found.version.clone(), found.kind.clone()];
            Ty::of_kinds(std::slice::from_ref(&kind), &scope.cx.types)
        }
        None => Ty::Any,
    }
}

fn member(template: &Template, key: &str) -> Option<Template> {
    match template {
        Template::Const(v) => Some(Template::Const(v.get(key)?.clone())),
        Template::Object(pairs) => pairs.iter().find_map(|(k, v)| match k {
            Template::Const(Value::Str(k)) if **k == *key => Some(v.clone()),
            _ => None,
        }),
        _ => None,
    }
}

fn as_word(node: &Node) -> Option<String> {
    match &node.kind {
        crate::cel_tree::Kind::Const(Value::Str(s)) => Some(s.to_string()),
        _ => None,
    }
}

/// The parts of a path, and the labels of its query.
struct Segments {
    path: Vec<(Node, Faults)>,
    labels: Option<Node>,
}

fn segments(path: &Template, scope: &mut Scope<'_>) -> Result<Segments, Refusal> {
    let parts: Vec<Part> = match path {
        Template::Const(Value::Str(s)) => vec![Part::Literal(s.clone())],
        Template::Whole(hole) => vec![Part::Hole(hole.query.clone())],
        Template::Text(text) => text.parts.to_vec(),
        Template::Rounds(rounds) => {
            let found = crate::value::variables::find_all_variables(&rounds.source);
            let mut parts = Vec::new();
            let mut at = 0;
            for range in found {
                parts.push(Part::Literal(rounds.source.get(at..range.start).unwrap_or_default().into()));
                let written = rounds.source.get(range.clone()).unwrap_or_default();
                let own = crate::value::variables::expression(written);
                parts.push(Part::Hole(crate::lower::query::compile(&own, &rounds.names)));
                at = range.end;
            }
            parts.push(Part::Literal(rounds.source.get(at..).unwrap_or_default().into()));
            parts
        }
        _ => return Err(scope.refuse("a path that is computed", "write the path")),
    };
    let mut all: Vec<(Node, Faults)> = Vec::new();
    let mut current: Option<(Node, Faults)> = None;
    let mut is_query = false;
    let mut tail = String::new();
    for part in parts {
        match part {
            Part::Literal(s) => {
                let (before, after) = match s.split_once('?') {
                    Some((before, after)) if !is_query => {
                        is_query = true;
                        (before.to_string(), after.to_string())
                    }
                    _ if is_query => (String::new(), s.to_string()),
                    _ => (s.to_string(), String::new()),
                };
                for (i, word) in before.split('/').enumerate() {
                    if i > 0 {
                        all.extend(current.take());
                    }
                    if !word.is_empty() {
                        current = Some(match current.take() {
                            None => (text(word), Faults::new()),
                            Some((node, faults)) => (binary("+", node, text(word)), faults),
                        });
                    }
                }
                tail.push_str(&after);
            }
            Part::Hole(own) if !is_query => {
                let found = query(&own, scope)?;
                let (node, faults) = as_text(&found, scope)?;
                current = Some(match current.take() {
                    None => (node, faults),
                    Some((before, more)) => {
                        (binary("+", before, node), faults.into_iter().chain(more).collect())
                    }
                });
            }
            Part::Hole(_) => {
                return Err(scope.refuse("a variable in the query of a path", "filter the list that is read"));
            }
        }
    }
    all.extend(current.take());
    let labels = match &*tail {
        "" => None,
        query => Some(labels(query, scope)?),
    };
    Ok(Segments { path: all, labels })
}

/// `labelSelector=a%3Db` as an object.
fn labels(query: &str, scope: &Scope<'_>) -> Result<Node, Refusal> {
    let refused = || scope.refuse(format!("the query `{query}` of a path"), "filter the list that is read");
    let selector = query.strip_prefix("labelSelector=").filter(|s| !s.contains('&')).ok_or_else(refused)?;
    let selector = selector.replace("%3D", "=").replace("%3d", "=").replace("%2C", ",").replace("%2F", "/");
    let mut pairs = Vec::new();
    for one in selector.split(',') {
        let (key, value) = one.split_once('=').ok_or_else(refused)?;
        let value = value.trim_start_matches('=');
        if key.ends_with('!') || key.is_empty() {
            return Err(refused());
        }
        pairs.push((text(key), text(value)));
    }
    Ok(crate::cel::build::object(pairs))
}
