//! Calls of the Kubernetes API → `resource.get`, `resource.list` and `resource.post`; calls of
//! services → `http.get` and `http.post`.
//!
//! In: an `apiCall` of a context. Out: the object, the list or the answer that its path names, or
//! what a service answers: an object, for others have no fields to read. Semantics:
//! `docs/semantics/variables.md`, "apiCall".

use ephor_ir::Template;
use ephor_ir::rule::QuerySource;
use ephor_ir::template::Part;
use ephor_value::{Str, Value};

use crate::cel::build;
use crate::cel::build::{
    binary, call as cel_call, choose, constant, equals, index, int, list, method, name, object, optional_of,
    or_value, over, select, select_optional, text,
};
use crate::expressions::refusal::Result;
use crate::expressions::scope::Scope;
use crate::expressions::term::{Faults, Val};
use crate::expressions::translate::bindings::{arguments, fetched, outside, queried};
use crate::expressions::translate::forms::{default_for, plain, ty_of};
use crate::expressions::translate::template::{as_text, query, resolved_in, template};
use crate::expressions::types::Ty;
use ephor_cel::ast::{Entry, Kind, Node};

/// The value of a call.
///
/// # Errors
/// The path is none that names objects, or a service is called.
pub fn api_call(own: &Str, call: &Template, raw: &Value, scope: &mut Scope<'_>) -> Result<Val> {
    scope.needs_kyverno("a call of the API in the context")?;
    let default = raw.get("default").filter(|default| !default.is_null());
    let found = match raw.get("service").is_some_and(|s| !s.is_null()) {
        true => service(own, call, raw, scope)?,
        false => of_path(own, call, raw, scope)?,
    };
    if default.is_none() {
        return projected(found, raw, scope);
    }
    if !scope.unanswered.iter().any(|known| known.path == scope.place.path) {
        scope.unanswered.push(scope.place.clone());
    }
    // A list of a kind that every API server has is always there.
    if is_listing(&found) {
        return projected(found, raw, scope);
    }
    let Some(object) = object_of(&found) else {
        return Err(scope.refuse(
            "a default for a call that fails",
            "leave it out: no expression sees that a call fails",
        ));
    };
    // An object that does not exist fails the old call, and is null in CEL.
    let default = template(&member(call, "default").unwrap_or(Template::Const(Value::Null)), scope)?;
    let projected = projected(found, raw, scope)?;
    let ty = ty_of(&projected);
    let (other, more) = default_for(&ty, &default, scope)?;
    // An empty object has values of any type.
    let ty = if matches!((&ty, &default), (Ty::Map(_), Val::Const(c)) if c.is_empty()) {
        ty
    } else {
        ty.common(ty_of(&default))
    };
    let is_missing = equals(object, constant(Value::Null));
    // What the query does not find is null, and not the default.
    if let Val::Optional { node, faults, rescued: None, .. } = &projected {
        let other = optional_of(other);
        let faults = faults.iter().cloned().chain(more).collect();
        return Ok(Val::Optional {
            node: choose(is_missing, other, node.clone()),
            ty,
            faults,
            rescued: None,
        });
    }
    let (node, mut faults) = plain(&projected, scope)?;
    faults.extend(more);
    Ok(Val::Node { node: choose(is_missing, other, node), ty, faults })
}

/// Whether a call lists objects of a kind that is built in.
fn is_listing(found: &Val) -> bool {
    matches!(found, Val::Path(path) if matches!(&path.ty, Ty::Listing(item) if **item != Ty::Any))
}

/// The object that a call reads, if it reads one.
fn object_of(found: &Val) -> Option<Node> {
    let Val::Path(path) = found else { return None };
    let reads_one = path.ty != Ty::Any && !matches!(path.ty, Ty::Listing(_));
    (path.steps.is_empty() && reads_one).then(|| path.base.clone())
}

/// What a call's own query finds in its answer.
fn projected(found: Val, raw: &Value, scope: &mut Scope<'_>) -> Result<Val> {
    let text_of = |key: &str| raw.get(key).and_then(Value::as_str).filter(|s| !s.is_empty());
    match text_of("jmesPath") {
        None => Ok(found),
        Some(own) if own.contains("{{") => resolved_in(own, &std::sync::Arc::from([]), Some(found), scope),
        Some(own) => {
            let own = QuerySource::Ready(ephor_lower::query::plain(own, &[]));
            queried(&own, Some(found), scope)
        }
    }
}

/// Whether a call sends data.
fn is_post(raw: &Value, scope: &Scope<'_>) -> Result<bool> {
    match raw.get("method").and_then(Value::as_str).unwrap_or("GET") {
        "GET" => Ok(false),
        "POST" => Ok(true),
        other => Err(scope.refuse(format!("a call with method {other}"), "use GET or POST")),
    }
}

/// What a call sends: an object of its data.
fn data(call: &Template, scope: &mut Scope<'_>) -> Result<(Node, Faults)> {
    let mut all = Vec::new();
    for one in items(member(call, "data"), scope)? {
        let (Some(Template::Const(Value::Str(key))), Some(value)) =
            (member(&one, "key"), member(&one, "value"))
        else {
            return Err(scope.refuse("data of a call under a key with variables", "write the key"));
        };
        all.push((key, template(&value, scope)?));
    }
    let (node, faults) = plain(&Val::Record(all), scope)?;
    Ok((with_free_values(node), faults))
}

/// A map whose values may be of several types: the checker wants one, unless nothing is known of
/// any.
fn with_free_values(node: Node) -> Node {
    let Kind::Map(entries) = node.kind else { return node };
    let is_text = |entry: &Entry<Node>| build::as_text(&entry.value).is_some();
    let is_free = entries.len() > 1 && !entries.iter().all(is_text);
    let of = |entry: Entry<Node>| {
        let value = with_free_values(entry.value);
        Entry { value: if is_free { cel_call("dyn", vec![value]) } else { value }, ..entry }
    };
    Node::new(0, Kind::Map(entries.into_iter().map(of).collect()))
}

/// The items of a list.
fn items(list: Option<Template>, scope: &Scope<'_>) -> Result<Vec<Template>> {
    match list {
        None | Some(Template::Const(Value::Null)) => Ok(Vec::new()),
        Some(Template::Const(Value::List(items))) => Ok(items.iter().cloned().map(Template::Const).collect()),
        Some(Template::List(items)) => Ok(items.to_vec()),
        Some(_) => Err(scope.refuse("a list of a call that is computed", "write the list")),
    }
}

/// What a service answers. An answer that is no success fails the old rule, and is an object with
/// its status in CEL: no item is left of it.
fn service(own: &Str, call: &Template, raw: &Value, scope: &mut Scope<'_>) -> Result<Val> {
    if scope.cx.namespace.is_some() {
        return Err(scope.refuse("a call of a service in a policy of a namespace", "write a ClusterPolicy"));
    }
    let service = member(call, "service").unwrap_or(Template::Const(Value::Null));
    let part = |key: &str, scope: &mut Scope<'_>| match member(&service, key) {
        Some(own) => as_text(&template(&own, scope)?, scope),
        None => Ok((text(""), Faults::new())),
    };
    let (url, mut faults) = part("url", scope)?;
    let mut args = vec![url];
    let is_post = is_post(raw, scope)?;
    if is_post {
        let (body, more) = data(call, scope)?;
        args.push(body);
        faults.extend(more);
    }
    let mut headers = Vec::new();
    for one in items(member(&service, "headers"), scope)? {
        let mut text_of = |key: &str| {
            as_text(&template(&member(&one, key).unwrap_or(Template::Const("".into())), scope)?, scope)
        };
        let ((key, more), (value, others)) = (text_of("key")?, text_of("value")?);
        faults.extend(more.into_iter().chain(others));
        let is_written = build::as_text(&value).is_some();
        headers.push((key, if is_written { value } else { cel_call("string", vec![value]) }));
    }
    if !headers.is_empty() {
        args.push(object(headers));
    }
    let client = match part("caBundle", scope)? {
        (node, _) if build::as_text(&node).is_some_and(|word| word.is_empty()) => name("http"),
        (node, more) => {
            faults.extend(more);
            method(name("http"), "client", vec![node])
        }
    };
    let answer = method(client, if is_post { "post" } else { "get" }, args);
    let is_success = binary("<", select(name("answer"), "statusCode"), int(300));
    let answer = index(over(list(vec![answer]), "filter", "answer", is_success), int(0));
    Ok(outside(own, answer, Ty::Any, faults, scope))
}

/// What a path of the Kubernetes API names.
fn of_path(own: &Str, call: &Template, raw: &Value, scope: &mut Scope<'_>) -> Result<Val> {
    let is_post = is_post(raw, scope)?;
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
    let is = |i: usize, wanted: &str| words.get(i).and_then(build::as_text) == Some(wanted);
    let (api_version, rest) = match &words[..] {
        [_, version, ..] if is(0, "api") => (version.clone(), 2),
        // A variable with group and version.
        [_, both, ..] if is(0, "apis") && build::as_text(both).is_none() && is(2, "namespaces") => {
            (both.clone(), 2)
        }
        [_, group, version, ..] if is(0, "apis") => {
            (concatenated([group.clone(), text("/"), version.clone()]), 3)
        }
        _ => return Err(scope.refuse("a path of the API that names no objects", "name the kind in the path")),
    };
    let rest = words.get(rest..).unwrap_or_default();
    let (namespace, rest) = match rest {
        [first, namespace, more @ ..] if build::as_text(first) == Some("namespaces") && !more.is_empty() => {
            (namespace.clone(), more)
        }
        rest => (text(""), rest),
    };
    Ok(match rest {
        [plural] if is_post => {
            let (body, more) = data(call, scope)?;
            faults.extend(more);
            let args = arguments(api_version.clone(), plural.clone(), namespace, Some(body), scope)?;
            let ty = served(&api_version, plural, scope);
            fetched(own, "resource", "post", args, ty, faults, scope)
        }
        _ if is_post => return Err(scope.refuse("data for one object of the API", "read the object")),
        [plural] => {
            let Selectors { labels, fields } = segments.selectors;
            faults.extend(segments.faults);
            let args = arguments(api_version.clone(), plural.clone(), namespace, labels, scope)?;
            let ty = Ty::Listing(Box::new(served(&api_version, plural, scope)));
            if fields.is_empty() {
                return Ok(fetched(own, "resource", "list", args, ty, faults, scope));
            }
            let all = cel_call("dyn", vec![method(name("resource"), "list", args)]);
            let item = scope.item_name(None);
            let test = |(path, value): (Vec<String>, Node)| match &path[..] {
                [metadata, field] if *metadata == "metadata" => {
                    equals(select(select(name(&item), metadata), field), value)
                }
                path => {
                    let found = path.iter().fold(name(&item), |node, key| select_optional(node, key));
                    equals(or_value(found, text("")), value)
                }
            };
            let test = build::all(fields.into_iter().map(test).collect());
            let items = over(select(all, "items"), "filter", &item, test);
            outside(own, cel_call("dyn", vec![object(vec![(text("items"), items)])]), ty, faults, scope)
        }
        _ if !segments.selectors.is_empty() => {
            return Err(scope.refuse("a query of a path to one object", "leave it out"));
        }
        [plural, name] => {
            let args = arguments(api_version.clone(), plural.clone(), namespace, Some(name.clone()), scope)?;
            let ty = served(&api_version, plural, scope);
            fetched(own, "resource", "get", args, ty, faults, scope)
        }
        _ => return Err(scope.refuse("a path of the API to a subresource", "read the object itself")),
    })
}

/// The type of the objects that are served under a plural.
fn served(api_version: &Node, plural: &Node, scope: &Scope<'_>) -> Ty {
    let (Some(api_version), Some(plural)) = (build::as_text(api_version), build::as_text(plural)) else {
        return Ty::Any;
    };
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    match ephor_kubernetes::Kinds::built_in().resource(group, version, plural) {
        Some(found) => {
            let kind = [found.group.clone(), found.version.clone(), found.kind.clone()];
            Ty::of_kinds(std::slice::from_ref(&kind), &scope.cx.types)
        }
        None => Ty::Any,
    }
}

/// Texts one after the other.
fn concatenated(parts: [Node; 3]) -> Node {
    let words: Option<String> = parts.iter().map(build::as_text).collect();
    match words {
        Some(written) => text(&written),
        None => {
            parts.into_iter().reduce(|before, part| binary("+", before, part)).unwrap_or_else(|| text(""))
        }
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

/// The parts of a path, and what its query selects.
struct Segments {
    path: Vec<(Node, Faults)>,
    selectors: Selectors,
    faults: Faults,
}

/// What the objects of a list must have.
#[derive(Default)]
struct Selectors {
    /// Labels, as an object.
    labels: Option<Node>,
    /// Fields, each with its value.
    fields: Vec<(Vec<String>, Node)>,
}

impl Selectors {
    fn is_empty(&self) -> bool {
        self.labels.is_none() && self.fields.is_empty()
    }
}

fn segments(path: &Template, scope: &mut Scope<'_>) -> Result<Segments> {
    let parts: Vec<Part> = match path {
        Template::Const(Value::Str(s)) => vec![Part::Literal(s.clone())],
        Template::Whole(hole) => vec![Part::Hole(hole.query.clone())],
        Template::Text(text) => text.parts.to_vec(),
        Template::Rounds(rounds) => {
            let found = ephor_value::variables::find_all_variables(&rounds.source);
            let mut parts = Vec::new();
            let mut at = 0;
            for range in found {
                parts.push(Part::Literal(rounds.source.get(at..range.start).unwrap_or_default().into()));
                let written = rounds.source.get(range.clone()).unwrap_or_default();
                let own = ephor_value::variables::expression(written);
                parts.push(Part::Hole(ephor_lower::query::compile(&own, &rounds.names)));
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
    let mut tail: Vec<Result<String, Node>> = Vec::new();
    let mut of_tail = Faults::new();
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
                tail.push(Ok(after));
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
            Part::Hole(own) => {
                let found = query(&own, scope)?;
                let (node, faults) = as_text(&found, scope)?;
                of_tail.extend(faults);
                tail.push(Err(node));
            }
        }
    }
    all.extend(current.take());
    let is_empty = tail.iter().all(|part| part.as_ref().is_ok_and(String::is_empty));
    let selectors = if is_empty { Selectors::default() } else { selectors(&tail, scope)? };
    Ok(Segments { path: all, selectors, faults: of_tail })
}

/// Fields by which an API server selects objects, as texts that are empty where they are missing.
const FIELDS: [&str; 8] = [
    "metadata.name",
    "metadata.namespace",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "status.phase",
    "type",
];

/// `labelSelector=a%3Db` and `fieldSelector=metadata.name=a`; a variable may be the whole value of
/// a label or field.
fn selectors(query: &[Result<String, Node>], scope: &Scope<'_>) -> Result<Selectors> {
    // Variables stand as a character that no query has.
    const HOLE: char = '\u{0}';
    let written: String = query
        .iter()
        .map(|part| match part {
            Ok(text) => text.clone(),
            Err(_) => HOLE.to_string(),
        })
        .collect();
    let refused = || {
        let shown = written.replace(HOLE, "{{…}}");
        // The API gives no more than this many objects, of which the old rule sees no others.
        let nearest = match written.split('&').any(|parameter| parameter.starts_with("limit=")) {
            true => "leave `limit` out: with it the rule sees the first objects alone",
            false => "filter the list that is read",
        };
        scope.refuse(format!("the query `{shown}` of a path"), nearest)
    };
    let mut holes = query.iter().filter_map(|part| part.as_ref().err());
    let mut out = Selectors::default();
    for parameter in written.split('&') {
        let (kind, selector) = parameter.split_once('=').ok_or_else(refused)?;
        let selector =
            selector.replace("%3D", "=").replace("%3d", "=").replace("%2C", ",").replace("%2F", "/");
        let mut pairs = Vec::new();
        for one in selector.split(',') {
            let (key, value) = one.split_once('=').ok_or_else(refused)?;
            let value = value.trim_start_matches('=');
            if key.ends_with('!') || key.is_empty() || key.contains(HOLE) {
                return Err(refused());
            }
            let value = match value.contains(HOLE) {
                true if value.chars().eq([HOLE]) => holes.next().cloned().ok_or_else(refused)?,
                true => return Err(refused()),
                false => text(value),
            };
            pairs.push((key.to_string(), value));
        }
        match kind {
            "labelSelector" if out.labels.is_none() => {
                let pairs = pairs.into_iter().map(|(key, value)| (text(&key), value));
                out.labels = Some(object(pairs.collect()));
            }
            "fieldSelector" if pairs.iter().all(|(key, _)| FIELDS.contains(&&**key)) => {
                let path = |key: &str| key.split('.').map(String::from).collect();
                out.fields.extend(pairs.into_iter().map(|(key, value)| (path(&key), value)));
            }
            _ => return Err(refused()),
        }
    }
    Ok(out)
}
