//! Requests for external data, in words that are the same in every language.
//!
//! In: a context entry, or a call of an expression. Out: a [`Request`]: which objects of a cluster,
//! or which image, and the values of the request that it names. Two requests with equal words get
//! the same answer in one cluster. What cannot be written in these words is none.

use std::collections::BTreeMap;
use std::sync::Arc;

use ephor_functions::registry::Operation;
use ephor_ir::matcher::Matcher;
use ephor_ir::rule::{Binding, BindingSource};
use ephor_ir::strict::{Make, Step as Walked};
use ephor_ir::{Expr, Rule, Template};
use ephor_kubernetes::Kinds;
use ephor_lower::LATE;
use ephor_value::variables::{expression, find_all_variables};
use ephor_value::{Str, Value};

/// What is requested.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Request {
    /// What is looked up.
    pub lookup: Lookup,
    /// Group, version, and the resource; empty for images.
    pub resource: [Str; 3],
    /// Where: the namespace of objects, and their name, or the image.
    pub words: Vec<Word>,
    /// The labels that the objects of a list have.
    pub labels: BTreeMap<Str, Str>,
}

/// What is looked up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Lookup {
    /// An object.
    Get,
    /// The objects of a kind.
    List,
    /// A ConfigMap, by a context entry.
    ConfigMap,
    /// What a registry says about an image.
    Image,
}

/// A part of a request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Word {
    /// A text that is known.
    Text(Str),
    /// The namespace of the request.
    Namespace,
    /// Its name: that of the object, or of the one to whose subresource something is sent.
    Name,
    /// A field of the object.
    Field(Vec<Str>),
    /// A field of a value that a loop walks: the way to the object that has it, and its name.
    OfItem(Box<Expr>, Vec<Str>, Str),
}

impl Word {
    /// The word, the same in every language.
    pub fn text(&self) -> String {
        match self {
            Word::Text(text) => format!("{text:?}"),
            Word::Namespace => "its namespace".into(),
            Word::Name => "name of the request".into(),
            Word::Field(keys) => format!("object.{}", keys.join(".")),
            Word::OfItem(_, _, key) => format!("item.{key}"),
        }
    }
}

impl Request {
    /// Its words, behind the kind of the objects: `v1/Secret get …`.
    pub fn text(&self) -> String {
        let [group, version, resource] = &self.resource;
        let known = Kinds::built_in().resource(group, version, resource);
        let kind = known.map_or("", |known| &*known.kind);
        let lookup = match self.lookup {
            Lookup::Get | Lookup::ConfigMap => "get",
            Lookup::List => "list",
            Lookup::Image => "image",
        };
        let words: Vec<String> = self.words.iter().map(Word::text).collect();
        let labels: Vec<String> = self.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
        format!("{lookup}|{group}|{version}|{kind}|{resource}|{}|{}", words.join("|"), labels.join(","))
    }

    /// The way to the object of a loop that its words name a field of; `None` also where they name
    /// several.
    pub fn item(&self) -> Option<(&Expr, &[Str])> {
        self.words.iter().find_map(|word| match word {
            Word::OfItem(base, keys, _) => Some((&**base, &**keys)),
            _ => None,
        })
    }

    /// Whether its words name fields of at most one object of a loop.
    fn has_one_item(&self) -> bool {
        let items = self.words.iter().filter(|word| matches!(word, Word::OfItem(..)));
        items.count() < 2
    }
}

/// What a context entry requests; `in_loop`: it is loaded for each element of one.
pub(crate) fn of_binding(binding: &Binding, in_loop: bool) -> Option<Request> {
    let found = match &binding.source {
        BindingSource::ConfigMap { name, namespace, .. } => {
            let namespace = match word(namespace)? {
                Word::Text(text) if text.is_empty() => Word::Text("default".into()),
                other => other,
            };
            let resource = ["", "v1", "configmaps"].map(Str::from);
            let words = vec![namespace, word(name)?];
            Request { lookup: Lookup::ConfigMap, resource, words, labels: BTreeMap::new() }
        }
        BindingSource::ApiCall { call, raw } => of_path(call, raw)?,
        BindingSource::Image { reference, credentials, .. }
            if credentials.is_null() || credentials.is_empty() =>
        {
            let words = vec![word(reference)?];
            Request { lookup: Lookup::Image, resource: Default::default(), words, labels: BTreeMap::new() }
        }
        _ => return None,
    };
    let is_known = found.words.iter().enumerate().all(|(at, word)| match word {
        // Objects without a namespace are in none.
        Word::Text(text) if text.is_empty() => at == 0 && matches!(found.lookup, Lookup::Get | Lookup::List),
        Word::Text(text) => is_name(text) || found.lookup == Lookup::Image,
        Word::OfItem(..) => in_loop,
        _ => true,
    });
    (is_known && found.has_one_item()).then_some(found)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'))
}

/// The text of a template as it is written.
fn written(template: &Template) -> Option<&Str> {
    match template {
        Template::Const(Value::Str(text)) => Some(text),
        Template::Whole(hole) => Some(&hole.rounds.source),
        Template::Text(text) => Some(&text.rounds.source),
        Template::Rounds(rounds) => Some(&rounds.source),
        _ => None,
    }
}

fn names(template: &Template) -> Arc<[Str]> {
    match template {
        Template::Whole(hole) => Arc::clone(&hole.rounds.names),
        Template::Text(text) => Arc::clone(&text.rounds.names),
        Template::Rounds(rounds) => Arc::clone(&rounds.names),
        _ => Arc::from([]),
    }
}

/// A text that is one variable, or has none.
fn word(template: &Template) -> Option<Word> {
    word_of(written(template)?, &names(template))
}

pub(crate) fn word_of(text: &str, names: &[Str]) -> Option<Word> {
    if !text.contains("{{") {
        return Some(Word::Text(text.into()));
    }
    let found = find_all_variables(text);
    let [all] = &*found else { return None };
    (all.len() == text.len()).then_some(())?;
    let query = LATE.plain_query(&expression(text), names);
    let Ok(Expr::Path { base, keys, .. }) = &query.expr else { return None };
    (query.needs.is_empty() && matches!(**base, Expr::Root)).then_some(())?;
    match &**keys {
        [request, namespace] if **request == *"request" && **namespace == *"namespace" => {
            Some(Word::Namespace)
        }
        [request, name] if **request == *"request" && **name == *"name" => Some(Word::Name),
        [request, object, rest @ ..]
            if **request == *"request" && **object == *"object" && !rest.is_empty() =>
        {
            Some(Word::Field(rest.to_vec()))
        }
        [element, way @ .., last] if **element == *"element" => {
            let base = Expr::Path {
                base: Box::new(Expr::Root),
                keys: [element.clone()].into(),
                scalar: ephor_ir::expr::Missing::Null,
            };
            Some(Word::OfItem(Box::new(base), way.to_vec(), last.clone()))
        }
        _ => None,
    }
}

/// The member of a template for an object.
pub(crate) fn member(template: &Template, key: &str) -> Option<Template> {
    match template {
        Template::Const(value) => Some(Template::Const(value.get(key)?.clone())),
        Template::Object(pairs) => pairs
            .iter()
            .find(|(own, _)| matches!(own, Template::Const(Value::Str(own)) if **own == *key))
            .map(|(_, value)| value.clone()),
        _ => None,
    }
}

/// What a path of the API requests.
fn of_path(call: &Template, raw: &Value) -> Option<Request> {
    let is_plain = |key: &Str, value: &Value| match &**key {
        "urlPath" | "jmesPath" | "default" | "name" => true,
        "method" => value.as_str() == Some("GET"),
        _ => value.is_null(),
    };
    raw.as_map()?.iter().all(|(key, value)| is_plain(key, value)).then_some(())?;
    let path = member(call, "urlPath")?;
    let (text, names) = (written(&path)?, names(&path));
    let (path, query) = match split_query(text) {
        Some((path, query)) => (path, Some(query)),
        None => (&**text, None),
    };
    let labels = query.map_or(Some(BTreeMap::new()), labels)?;
    let segments: Vec<Word> =
        path.strip_prefix('/')?.split('/').map(|one| word_of(one, &names)).collect::<Option<_>>()?;
    let text_of = |word: &Word| match word {
        Word::Text(text) if is_name(text) => Some(text.clone()),
        _ => None,
    };
    let (group, version, rest) = match &*segments {
        [api, version, rest @ ..] if *text_of(api)? == *"api" => (Str::default(), text_of(version)?, rest),
        [apis, group, version, rest @ ..] if *text_of(apis)? == *"apis" => {
            (text_of(group)?, text_of(version)?, rest)
        }
        _ => return None,
    };
    let is_namespaces = |word: &Word| matches!(word, Word::Text(text) if **text == *"namespaces");
    let none = Word::Text("".into());
    let (namespace, rest) = match rest {
        [first, namespace, more @ ..] if is_namespaces(first) && !more.is_empty() => {
            (namespace.clone(), more)
        }
        rest => (none, rest),
    };
    match rest {
        [plural] => {
            let resource = [group, version, text_of(plural)?];
            Some(Request { lookup: Lookup::List, resource, words: vec![namespace], labels })
        }
        [plural, name] if labels.is_empty() && query.is_none() => {
            let resource = [group, version, text_of(plural)?];
            Some(Request { lookup: Lookup::Get, resource, words: vec![namespace, name.clone()], labels })
        }
        _ => None,
    }
}

/// A path and its query; expressions in it may hold question marks.
fn split_query(text: &str) -> Option<(&str, &str)> {
    let variables = find_all_variables(text);
    let at =
        text.match_indices('?').map(|(at, _)| at).find(|at| !variables.iter().any(|own| own.contains(at)))?;
    Some((text.get(..at)?, text.get(at + 1..)?))
}

/// The labels of a selector that is about equality alone.
fn labels(query: &str) -> Option<BTreeMap<Str, Str>> {
    let selector = query.strip_prefix("labelSelector=").filter(|s| !s.contains(['&', '{', ' ', '(']))?;
    let mut selector = selector.to_string();
    for (code, text) in [("%3D", "="), ("%3d", "="), ("%2C", ","), ("%2c", ","), ("%2F", "/"), ("%2f", "/")] {
        selector = selector.replace(code, text);
    }
    let mut found = BTreeMap::new();
    for one in selector.split(',') {
        let (key, value) = one.split_once("==").or_else(|| one.split_once('='))?;
        let is_label = |text: &str| {
            text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/'))
        };
        // Two values of one label select nothing.
        let is_new = !key.is_empty() && is_label(key) && is_label(value) && !found.contains_key(key);
        is_new.then_some(())?;
        found.insert(Str::from(key), Str::from(value));
    }
    Some(found)
}

/// What a call of an expression requests; `variable`: the programs of composed variables.
pub(crate) fn of_call<'v>(call: &Expr, variable: &dyn Fn(u32) -> Option<&'v Expr>) -> Option<Request> {
    let Expr::Invoke(call) = call else { return None };
    let (receiver, args) = call.args.split_first()?;
    let library = match plain(receiver) {
        Expr::Path { base, keys, .. } if matches!(**base, Expr::Root) => {
            keys.first().filter(|_| keys.len() == 1)?
        }
        _ => return None,
    };
    let text = |e: &Expr| e.constant().and_then(Value::as_str).map(Str::from);
    let word = |e: &Expr| of_argument(e, variable);
    let found = match (&**library, call.function.operation, args) {
        ("resource", Operation::LookUp, [api_version, resource, namespace, name]) => {
            let resource = named(&text(api_version)?, text(resource)?)?;
            let words = vec![word(namespace)?, word(name)?];
            Request { lookup: Lookup::Get, resource, words, labels: BTreeMap::new() }
        }
        ("resource", Operation::ListObjects, [api_version, resource, namespace, rest @ ..])
            if rest.len() < 2 =>
        {
            let resource = named(&text(api_version)?, text(resource)?)?;
            let labels = rest.first().map_or(Some(BTreeMap::new()), wanted_labels)?;
            Request { lookup: Lookup::List, resource, words: vec![word(namespace)?], labels }
        }
        ("image", Operation::LookUpImage, [reference]) => {
            let words = vec![word(reference)?];
            Request { lookup: Lookup::Image, resource: Default::default(), words, labels: BTreeMap::new() }
        }
        _ => return None,
    };
    let is_known = found.words.iter().enumerate().all(|(at, word)| match word {
        Word::Text(text) => is_name(text) || (at == 0 && text.is_empty()) || found.lookup == Lookup::Image,
        _ => true,
    });
    (is_known && found.has_one_item()).then_some(found)
}

fn named(api_version: &str, resource: Str) -> Option<[Str; 3]> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    (is_name(version) && is_name(&resource) && !group.contains('/'))
        .then(|| [group.into(), version.into(), resource])
}

fn wanted_labels(e: &Expr) -> Option<BTreeMap<Str, Str>> {
    let text = |e: &Expr| e.constant().and_then(Value::as_str).map(Str::from);
    match (e.constant(), e) {
        (Some(Value::Map(map)), _) => {
            map.iter().map(|(key, value)| Some((key.clone(), value.as_str()?.into()))).collect()
        }
        (None, Expr::Make(make)) => match &**make {
            Make::Map(entries) => entries
                .iter()
                .map(|(key, value, optional)| (!optional).then(|| Some((text(key)?, text(value)?)))?)
                .collect(),
            _ => None,
        },
        _ => None,
    }
}

/// An expression without what reads nothing.
pub(crate) fn plain(e: &Expr) -> &Expr {
    match e {
        Expr::Walk(walk) if walk.steps.is_empty() => plain(&walk.base),
        Expr::Once { expr, .. } => plain(expr),
        e => match e.invoked() {
            Some((Operation::Unchanged, [one])) => plain(one),
            _ => e,
        },
    }
}

/// The base of a value that is read by keys alone, and the keys.
pub(crate) fn keys(e: &Expr) -> (&Expr, Vec<Str>) {
    match plain(e) {
        Expr::Path { base, keys: own, .. } => {
            let (base, mut all) = keys(base);
            all.extend(own.iter().cloned());
            (base, all)
        }
        Expr::Walk(walk) => {
            let steps: Option<Vec<Str>> = walk
                .steps
                .iter()
                .map(|step| match step {
                    Walked::Key { key: Value::Str(key), optional: false } => Some(key.clone()),
                    _ => None,
                })
                .collect();
            match steps {
                Some(steps) => {
                    let (base, mut all) = keys(&walk.base);
                    all.extend(steps);
                    (base, all)
                }
                None => (e, Vec::new()),
            }
        }
        other => (other, Vec::new()),
    }
}

fn of_argument<'v>(e: &Expr, variable: &dyn Fn(u32) -> Option<&'v Expr>) -> Option<Word> {
    if let Some(constant) = e.constant() {
        return Some(Word::Text(constant.as_str()?.into()));
    }
    let (base, all) = keys(e);
    match (base, &*all) {
        (Expr::Root, [request, namespace]) if **request == *"request" && **namespace == *"namespace" => {
            Some(Word::Namespace)
        }
        (Expr::Root, [request, name]) if **request == *"request" && **name == *"name" => Some(Word::Name),
        (Expr::Root, [object, rest @ ..]) if **object == *"object" && !rest.is_empty() => {
            Some(Word::Field(rest.to_vec()))
        }
        (Expr::Local(n), [way @ .., last]) => {
            Some(Word::OfItem(Box::new(Expr::Local(*n)), way.to_vec(), last.clone()))
        }
        (Expr::Variable(n), []) => match of_argument(variable(*n)?, variable)? {
            // Locals of a variable are its own.
            Word::OfItem(..) => None,
            word => Some(word),
        },
        _ => None,
    }
}

/// The value of a member that is no template.
pub(crate) fn constant_member(raw: &Value, key: &str) -> Option<Value> {
    raw.get(key).filter(|value| !value.is_null()).cloned()
}

/// Whether a rule may be evaluated on deletions.
pub(crate) fn sees_deletions(rule: &Rule) -> bool {
    match &rule.when {
        Matcher::Constraints(constraints) => {
            constraints.rules.iter().any(|rule| rule.operations.has("DELETE"))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str) -> Option<String> {
        let raw = Value::map([("urlPath", Value::from(path))]);
        let names: Arc<[Str]> = Arc::from([]);
        let source = BindingSource::ApiCall { call: LATE.document(&raw, &names), raw };
        let binding = Binding { origin: Default::default(), name: "x".into(), source };
        of_binding(&binding, true).map(|found| found.text())
    }

    #[test]
    fn paths_of_the_api_are_requests_for_objects() {
        let secret = text("/api/v1/namespaces/{{request.namespace}}/secrets/{{element.name}}");
        assert_eq!(secret.unwrap(), "get||v1|Secret|secrets|its namespace|item.name|");
        let list = text("/apis/apps/v1/deployments?labelSelector=a%3Db,c==d");
        assert_eq!(list.unwrap(), "list|apps|v1|Deployment|deployments|\"\"|a=b,c=d");
        assert_eq!(
            text("/api/v1/namespaces/{{ request.namespace }}").unwrap(),
            "get||v1|Namespace|namespaces|\"\"|its namespace|"
        );
    }

    #[test]
    fn paths_that_say_more_are_none() {
        for path in [
            "/api/v1/namespaces/{{request.namespace}}/pods/{{element.name}}/log",
            "/api/v1/pods?limit=1",
            "/api/v1/pods?labelSelector=a!=b",
            "/api/v1/pods?labelSelector=a",
            "/api/v1/pods?labelSelector=a=b,a=c",
            "/api/v1/namespaces/x-{{request.namespace}}/pods",
            "/api/v1/{{element.kind}}",
            "/healthz",
            "/api/v1/pods/",
            "/api/v1/namespaces/{{request.namespace || 'a'}}/pods",
        ] {
            assert_eq!(text(path), None, "{path}");
        }
    }
}
