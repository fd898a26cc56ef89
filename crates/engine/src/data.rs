//! The data that a rule's expressions see, loaded when it is first mentioned.
//!
//! The root is an object: `request` and whatever the rule's bindings, loops and injected values
//! add. Bindings are registered in declaration order and loaded when an expression mentions them; a
//! loop takes a snapshot and goes back to it before every element. The semantics' source is
//! `docs/semantics/variables.md`.

use std::borrow::Cow;
use std::sync::Arc;

use ephor_external::{Address, Answer, ApiRequest, ExternalData, Reader, ServiceCall};
use ephor_external::{facts, registry};
use ephor_ir::late::Late;
use ephor_ir::rule::{Binding, BindingSource, QuerySource};
use ephor_ir::template::Needs;
use ephor_ir::{Query, Template};
use ephor_value::print::{display_s, json};
use ephor_value::{Map, Str, Value, budget, stack};

use super::error::{ApiCallError, ConfigMapError, EntryError, EntryQueryError, FillError, QueryError};
use super::eval::{Env, eval};
use super::fill::Expansion;
use super::sorted::Sorted;
use super::trace::{self, DataError, EventKind};

/// What does not change while a rule runs.
#[derive(Clone, Copy)]
pub struct World<'r> {
    /// What functions may know.
    pub functions: &'r ephor_functions::Context,
    /// Where data comes from.
    pub sources: &'r dyn ExternalData,
    /// Lowers what is put together at run time.
    pub late: &'static dyn Late,
    /// The request deletes the object.
    pub deleting: bool,
    /// The image references of the object.
    pub images: &'r super::images::Images,
    /// Namespace of the policy, `None` for cluster-wide ones.
    pub policy_namespace: Option<&'r str>,
    /// Values put in each time a scope's bindings are registered: path and value.
    pub injected: &'r [(Vec<Str>, Value)],
    /// Lists that expressions of the policy have sorted, where that is of interest.
    pub sorted: Option<&'r Sorted>,
    /// Whether entries that no source answers are dropped; else they are errors
    /// (`Profile::unanswered_entries_are_dropped`).
    pub drops_unanswered: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EntryState {
    Pending,
    Loaded,
    Failed,
}

#[derive(Clone)]
struct Entry {
    binding: Arc<Binding>,
    state: EntryState,
    /// The response of a remote source, which is called only once.
    fetched: Option<Value>,
}

/// A state to come back to.
pub struct Snapshot {
    overlay: Vec<(Str, Value)>,
    states: Vec<EntryState>,
    images: bool,
    /// What [`Data::replaced_from`] was for the snapshot around this one.
    outer: usize,
}

/// The data of one rule.
pub struct Data<'r> {
    /// What does not change.
    pub world: World<'r>,
    root: &'r Value,
    /// `request.object` of the root, as long as no other `request` was added.
    object: Option<&'r Value>,
    /// Top-level names that were added; the last of equal names counts.
    overlay: Vec<(Str, Value)>,
    /// The first position of `overlay` that was replaced since the last snapshot was taken or gone
    /// back to.
    replaced_from: usize,
    entries: Vec<Entry>,
    /// Only entries before this position may be loaded now.
    limit: usize,
    images_loaded: bool,
    /// How many entries are being loaded, each for the one before it.
    loading: usize,
    /// What its variables have expanded to.
    pub(super) expansion: Expansion,
}

impl<'r> Data<'r> {
    /// The data of a request without any binding.
    pub fn new(root: &'r Value, world: World<'r>) -> Self {
        Data {
            world,
            root,
            object: root.at(&["request", "object"]).filter(|o| !o.is_null()),
            overlay: Vec::new(),
            replaced_from: usize::MAX,
            entries: Vec::new(),
            limit: usize::MAX,
            images_loaded: false,
            loading: 0,
            expansion: Expansion::default(),
        }
    }

    /// Adds a scope's bindings, and the injected values on top.
    pub fn register(&mut self, bindings: &[Arc<Binding>]) {
        self.entries.extend(bindings.iter().map(|b| Entry {
            binding: b.clone(),
            state: EntryState::Pending,
            fetched: None,
        }));
        for (path, value) in self.world.injected {
            self.put(path, value.clone());
        }
    }

    /// How many bindings are in scope.
    pub fn bound(&self) -> usize {
        self.entries.len()
    }

    /// The names of the bindings in scope, outermost first.
    pub fn names(&self) -> Arc<[Str]> {
        self.entries.iter().map(|e| e.binding.name.clone()).collect()
    }

    /// Sets a top-level name, replacing what was there.
    pub fn set(&mut self, name: &Str, value: Value) {
        if &**name == "request" {
            self.object = None;
        }
        match self.overlay.iter_mut().enumerate().find(|(_, (k, _))| k == name) {
            Some((at, slot)) => {
                slot.1 = value;
                self.replaced_from = self.replaced_from.min(at);
            }
            None => self.overlay.push((name.clone(), value)),
        }
    }

    /// Adds a value at a path; objects are merged.
    pub fn put(&mut self, path: &[Str], value: Value) {
        let Some((name, rest)) = path.split_first() else { return };
        let added = self.overlay.iter().find(|(k, _)| k == name).map(|(_, v)| v);
        let mut whole = added.or_else(|| self.root.get(name)).cloned().unwrap_or_default();
        merge_at(&mut whole, rest, value);
        self.set(name, whole);
    }

    /// Shows another object as that of the request.
    pub fn replace_object(&mut self, object: Value) {
        let name = Str::from("request");
        let added = self.overlay.iter().find(|(k, _)| *k == name).map(|(_, v)| v);
        let Some(mut request) = added.or_else(|| self.root.get(&name)).cloned() else { return };
        if let Value::Map(m) = &mut request {
            m.insert("object", object);
        }
        self.set(&name, request);
    }

    /// The state as it is now.
    pub fn snapshot(&mut self) -> Snapshot {
        let outer = std::mem::replace(&mut self.replaced_from, usize::MAX);
        Snapshot {
            outer,
            overlay: self.overlay.clone(),
            states: self.entries.iter().map(|e| e.state).collect(),
            images: self.images_loaded,
        }
    }

    /// Goes back to a snapshot. Entries that were loaded since are loaded again; one that fails now
    /// counts as loaded and has no value (Kyverno's behaviour).
    pub fn reset(&mut self, to: &Snapshot) {
        if self.replaced_from < to.overlay.len() {
            self.overlay.clear();
            self.overlay.extend_from_slice(&to.overlay);
        } else {
            self.overlay.truncate(to.overlay.len());
        }
        self.replaced_from = usize::MAX;
        self.entries.truncate(to.states.len());
        self.images_loaded = to.images;
        for at in 0..to.states.len() {
            let Some(entry) = self.entries.get_mut(at) else { break };
            let before = to.states.get(at).copied().unwrap_or(EntryState::Pending);
            match (before, entry.state) {
                (EntryState::Pending, EntryState::Loaded) => {
                    let _ = self.load(at);
                    if let Some(entry) = self.entries.get_mut(at) {
                        entry.state = EntryState::Loaded;
                    }
                }
                (EntryState::Pending, EntryState::Failed) => entry.state = EntryState::Pending,
                _ => {}
            }
        }
    }

    /// Takes over the values of entries that another run of the same bindings has loaded.
    pub fn adopt_loaded(&mut self, from: &Data<'_>) {
        for at in 0..self.entries.len().min(from.entries.len()) {
            let (Some(own), Some(other)) = (self.entries.get_mut(at), from.entries.get(at)) else { return };
            if other.state != EntryState::Loaded || !Arc::ptr_eq(&own.binding, &other.binding) {
                continue;
            }
            own.state = EntryState::Loaded;
            let name = own.binding.name.clone();
            if let Some((_, value)) = from.overlay.iter().find(|(known, _)| *known == name) {
                let value = value.clone();
                self.set(&name, value);
            }
        }
    }

    /// Gives up a snapshot that was just gone back to.
    pub fn release(&mut self, snapshot: Snapshot) {
        self.replaced_from = self.replaced_from.min(snapshot.outer);
    }

    /// Runs a query on the data; loads first what it mentions.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub fn query(&mut self, query: &Query) -> Result<Value, QueryError> {
        self.look(query).map(Cow::into_owned)
    }

    /// As [`Data::query`], without a copy of what stands in the data.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub fn look<'q>(&'q mut self, query: &'q Query) -> Result<Cow<'q, Value>, QueryError> {
        let query = match &query.on_delete {
            Some(other) if self.world.deleting => other,
            _ => query,
        };
        if !query.needs.is_empty() {
            self.ensure(&query.needs)?;
        }
        let expr = query.expr.as_ref().map_err(|text| QueryError::Expression(text.clone()))?;
        budget::steps(16).map_err(QueryError::Eval)?;
        let env =
            Env::new(self.root, self.world.functions).with_overlay(&self.overlay).with_object(self.object);
        let env = self.sorting(query, env);
        eval(expr, env).map_err(QueryError::Eval)
    }

    /// Runs a query on a value instead of the data; its error text has no prefix.
    fn query_on(&self, query: &Query, input: &Value) -> Result<Value, EntryQueryError> {
        let expr = query.expr.as_ref().map_err(|text| EntryQueryError::Expression(text.clone()))?;
        let env = self.sorting(query, Env::new(input, self.world.functions));
        eval(expr, env).map(Cow::into_owned).map_err(EntryQueryError::Eval)
    }

    /// Has an expression see lists that were sorted, and others those that it sorts.
    fn sorting<'f>(&'f self, query: &Query, env: Env<'f, 'f>) -> Env<'f, 'f> {
        match self.world.sorted {
            // A trace notes the values of nodes where lists are.
            Some(sorted) if query.sorts || sorted.any() || trace::is_on() => env.sorting(sorted),
            _ => env,
        }
    }

    fn ensure(&mut self, needs: &Needs) -> Result<(), QueryError> {
        if needs.images && !self.images_loaded {
            self.images_loaded = true;
            match self.world.images.get() {
                Ok(Some(images)) => self.put(&["images".into()], images.clone()),
                Ok(None) => {}
                Err(error) => {
                    self.images_loaded = false;
                    return Err(QueryError::Images(Box::new(error.clone())));
                }
            }
        }
        for at in needs.bindings.iter().map(|b| *b as usize) {
            let pending = self.entries.get(at).is_some_and(|e| e.state == EntryState::Pending);
            if pending && at < self.limit {
                self.load(at).map_err(QueryError::Entry)?;
            }
        }
        Ok(())
    }

    /// Loads the entries from a position on; one that fails has no value.
    pub fn load_from(&mut self, first: usize) {
        for at in first..self.entries.len() {
            let pending = self.entries.get(at).is_some_and(|e| e.state == EntryState::Pending);
            if pending {
                let _ = self.load(at);
            }
        }
    }

    /// Loads the entry at a position; while it loads, only earlier ones can be loaded.
    fn load(&mut self, at: usize) -> Result<(), Box<EntryError>> {
        let Some(entry) = self.entries.get_mut(at) else { return Ok(()) };
        entry.state = EntryState::Loaded;
        let binding = entry.binding.clone();
        let fetched = entry.fetched.clone();
        let outer = std::mem::replace(&mut self.limit, at);
        self.loading += 1;
        let before = if trace::is_on() { trace::nodes() } else { 0 };
        let result = match self.loading {
            ..=stack::MAX_CHAIN => stack::deep(|| self.load_binding(&binding, fetched, at)),
            _ => Err(EntryError::Chain(stack::MAX_CHAIN)),
        };
        let result = result.map_err(Box::new);
        self.loading -= 1;
        self.limit = outer;
        trace::emit_reading(&binding.origin, || {
            let loaded = self.overlay.iter().find(|(known, _)| *known == binding.name);
            let value = loaded.map(|(_, value)| value.clone()).unwrap_or_default();
            let result = result.clone().map(|()| value).map_err(DataError::Entry);
            (EventKind::Data(binding.name.clone(), result), trace::reads_since(before))
        });
        if result.is_err()
            && let Some(entry) = self.entries.get_mut(at)
        {
            entry.state = EntryState::Failed;
        }
        result
    }

    fn load_binding(&mut self, b: &Binding, fetched: Option<Value>, at: usize) -> Result<(), EntryError> {
        let name = &b.name;
        if let BindingSource::Variable { value, query, default, raw } = &b.source {
            let value = self.variable(name, value.as_ref(), query.as_ref(), default.as_ref(), raw)?;
            // It is written as JSON and read back.
            self.set(name, value.with_plain_lists().with_float_numbers());
            return Ok(());
        }
        let found = match (fetched, &b.source) {
            (Some(v), _) => Some(v),
            (None, BindingSource::Given { answer, query, default, .. }) => {
                Some(self.given(name, answer, query.as_ref(), default.as_ref())?)
            }
            (None, _) => match self.fetch(b)? {
                // A value that is put in for the entry needs no source.
                None if !self.world.drops_unanswered && self.world.injected.is_empty() => {
                    return Err(unanswered(b));
                }
                found => found,
            },
        };
        if let Some(v) = found {
            let v = v.with_float_numbers();
            if let Some(entry) = self.entries.get_mut(at) {
                entry.fetched = Some(v.clone());
            }
            self.put(std::slice::from_ref(name), v);
        }
        Ok(())
    }

    fn variable(
        &mut self,
        name: &Str,
        value: Option<&Template>,
        query: Option<&QuerySource>,
        default: Option<&Template>,
        raw: &Value,
    ) -> Result<Value, EntryError> {
        let query = query.map(|q| self.ready(q, name, raw)).transpose()?;
        let mut part = |template: Option<&Template>, key: &str| match template {
            None => Ok(None),
            Some(t) => self.fill(t).map(Some).map_err(|cause| {
                let written = display_s(&raw.get(key).unwrap_or(&Value::Null).with_float_numbers());
                EntryError::Fill { entry: name.clone(), written: written.into(), cause }
            }),
        };
        let default = part(default, "default")?.filter(|v| !v.is_null());
        let value = part(value, "value")?;
        let output = match (&value, &query) {
            (Some(v), None) => v.clone(),
            (_, Some(q)) => {
                let result = match &value {
                    Some(v) => self.query_on(q, &v.with_float_numbers()),
                    None => self.query(q).map_err(EntryQueryError::Data),
                };
                match (result, default) {
                    (Ok(Value::Null), Some(default)) if value.is_none() => default,
                    (Ok(v), _) => v,
                    (Err(_), Some(default)) => default,
                    (Err(cause), None) => {
                        return Err(EntryError::VariableQuery { query: q.text.clone(), cause });
                    }
                }
            }
            (None, None) => default.unwrap_or_default(),
        };
        if output.is_null() {
            return Err(EntryError::Nil(name.clone()));
        }
        Ok(output)
    }

    fn ready(&mut self, source: &QuerySource, name: &Str, raw: &Value) -> Result<Query, EntryError> {
        match source {
            QuerySource::Ready(q) => Ok(q.clone()),
            QuerySource::Dynamic { text, names } => {
                ephor_functions::untracked::note();
                let (entry, written) = (|| name.clone(), || raw.text_at(&["jmesPath"]).into());
                match self.fill(text) {
                    Ok(Value::Str(s)) => Ok(self.world.late.plain_query(&s, names)),
                    Ok(_) => Err(EntryError::QueryNoString { entry: entry(), written: written() }),
                    Err(cause) => Err(EntryError::Fill { entry: entry(), written: written(), cause }),
                }
            }
        }
    }

    /// Loads the value from its source; `None` = no source has it.
    fn fetch(&mut self, b: &Binding) -> Result<Option<Value>, EntryError> {
        ephor_functions::untracked::note();
        let name = &b.name;
        let entry = || name.clone();
        let text = |v: Result<Value, FillError>, field: &'static str, raw: &str| match v {
            Ok(Value::Str(s)) => Ok(s),
            Ok(_) => Err(EntryError::NoString { entry: entry(), field }),
            Err(cause) => Err(EntryError::FillField { entry: entry(), field, written: raw.into(), cause }),
        };
        match &b.source {
            BindingSource::Variable { .. } | BindingSource::Given { .. } => Ok(None),
            BindingSource::ConfigMap { name: cm, namespace, raw } => {
                let failed = |cause| EntryError::ConfigMap { entry: entry(), cause };
                let failed_field = |error| failed(ConfigMapError::Field(Box::new(error)));
                let cm =
                    text(self.fill(cm), "configMap.name", raw.text_at(&["name"])).map_err(failed_field)?;
                let ns = text(self.fill(namespace), "configMap.namespace", raw.text_at(&["namespace"]))
                    .map_err(failed_field)?;
                let ns = match (&*ns, self.world.policy_namespace) {
                    ("", Some(own)) => own.into(),
                    ("", None) => "default".into(),
                    (given, Some(own)) if given != own => {
                        let (namespace, own) = (given.into(), own.into());
                        return Err(EntryError::ForeignConfigMap { entry: entry(), namespace, own });
                    }
                    _ => ns.clone(),
                };
                match self.world.sources.config_map(&ns, &cm) {
                    None => Ok(None),
                    Some(Ok(v)) => Ok(Some(config_map_data(&v))),
                    Some(Err(e)) => {
                        let text = e.to_string().into();
                        Err(failed(ConfigMapError::Lookup { namespace: ns, name: cm, text }))
                    }
                }
            }
            BindingSource::ApiCall { call, raw } => self.api_call(name, call, raw),
            BindingSource::Global { name: reference, query } => {
                if self.world.policy_namespace.is_some() {
                    return Err(EntryError::GlobalInNamespaced(entry()));
                }
                let mut parts = reference.split('.');
                let (global, projection) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
                let found = self.world.sources.global(global, projection, Reader::Entry(name));
                let Some(found) = found else { return Ok(None) };
                let found =
                    found.map_err(|e| EntryError::Global { entry: entry(), text: e.to_string().into() })?;
                let failed = |query, cause| EntryError::GlobalQuery { entry: entry(), query, cause };
                self.apply(query.as_ref(), found, name, failed).map(Some)
            }
            BindingSource::Image { reference, credentials, query } => {
                let reference = text(self.fill(reference), "imageRegistry.reference", "")?;
                let Some(registry) = self.world.sources.registry() else { return Ok(None) };
                let registry = registry::for_policy(registry, credentials);
                let found = facts::for_rules(&*registry, &reference)
                    .map_err(|e| EntryError::Image { reference, text: e.to_string().into() })?;
                let failed = |query, cause| EntryError::ImageQuery { entry: entry(), query, cause };
                self.apply(query.as_ref(), found, name, failed).map(Some)
            }
        }
    }

    /// What stands for an answer, treated as one of the Kubernetes API.
    fn given(
        &mut self,
        name: &Str,
        answer: &Query,
        query: Option<&QuerySource>,
        default: Option<&Value>,
    ) -> Result<Value, EntryError> {
        let failed = |text: String| EntryError::ApiCall(ApiCallError::Call(text.into()));
        let answer = match self.query(answer) {
            Ok(Value::Null) => Err(failed("not found".into())),
            Ok(answer) => Ok(answer),
            Err(error) => Err(failed(error.to_string())),
        };
        let answer = match (answer, default) {
            (Ok(answer), _) => answer,
            (Err(_), Some(default)) => default.clone(),
            (Err(error), None) => return Err(error),
        };
        if default.is_some_and(|default| json(default) == json(&answer)) {
            return Ok(answer);
        }
        let failed = |query, cause| EntryError::ApiCallQuery { entry: name.clone(), query, cause };
        self.apply(query, answer, name, failed)
    }

    fn apply(
        &mut self,
        query: Option<&QuerySource>,
        data: Value,
        name: &Str,
        failed: impl FnOnce(Str, EntryQueryError) -> EntryError,
    ) -> Result<Value, EntryError> {
        match query {
            None => Ok(data),
            Some(q) => {
                let q = self.ready(q, name, &Value::Null)?;
                let data = data.with_float_numbers();
                self.query_on(&q, &data).map_err(|cause| failed(q.text.clone(), cause))
            }
        }
    }

    fn api_call(&mut self, name: &Str, call: &Template, raw: &Value) -> Result<Option<Value>, EntryError> {
        if !raw.text_at(&["urlPath"]).is_empty() && !self.world.sources.reaches_api() {
            return Ok(None);
        }
        let failed = |error| Err(EntryError::ApiCall(error));
        let filled = match self.fill(call) {
            Ok(filled) => filled,
            Err(cause) => {
                let path = raw.text_at(&["urlPath"]).into();
                return failed(ApiCallError::Fill { entry: name.clone(), path, cause });
            }
        };
        let data: Map = filled
            .get("data")
            .and_then(Value::as_list)
            .unwrap_or_default()
            .iter()
            .map(|d| (Str::from(d.text_at(&["key"])), d.get("value").cloned().unwrap_or_default()))
            .collect();
        let headers = filled.at(&["service", "headers"]).and_then(Value::as_list).unwrap_or_default();
        let path = filled.text_at(&["urlPath"]);
        if let Some(own) = self.world.policy_namespace {
            check_namespace(path, own).map_err(EntryError::ApiCall)?;
        }
        if path.is_empty() && filled.get("service").is_none() {
            return failed(ApiCallError::NoService(name.clone()));
        }
        let body = match filled.text_at(&["method"]) {
            "" | "GET" => None,
            "POST" => Some(Value::Map(data)),
            method => {
                return failed(ApiCallError::Method { entry: name.clone(), method: method.into() });
            }
        };
        let answer = match path {
            "" => self.world.sources.service(&ServiceCall {
                answer: Answer::Json(Reader::Entry(name)),
                url: filled.text_at(&["service", "url"]),
                body,
                headers: headers
                    .iter()
                    .map(|h| (h.text_at(&["key"]).into(), h.text_at(&["value"]).into()))
                    .collect(),
                ca_bundle: filled.text_at(&["service", "caBundle"]),
            }),
            path => {
                let request = ApiRequest { at: Address::Path { path, entry: name }, body: body.as_ref() };
                self.world.sources.api(&request).map(|answer| answer.map_err(Into::into))
            }
        };
        let Some(answer) = answer else { return Ok(None) };
        let default = raw.get("default").filter(|d| !d.is_null());
        let answer = match (answer, default) {
            (Ok(v), _) => v,
            (Err(_), Some(default)) => default.clone(),
            (Err(e), None) => return failed(ApiCallError::Call(e.to_string().into())),
        };
        let path = filled.text_at(&["jmesPath"]);
        if path.is_empty() || default.is_some_and(|d| json(d) == json(&answer)) {
            return Ok(Some(answer));
        }
        let query = self.world.late.plain_query(path, &[]);
        let answer = answer.with_float_numbers();
        self.query_on(&query, &answer).map(Some).map_err(|cause| EntryError::ApiCallQuery {
            entry: name.clone(),
            query: path.into(),
            cause,
        })
    }
}

/// Why an entry that no source provides has no value.
fn unanswered(b: &Binding) -> EntryError {
    let entry = b.name.clone();
    match &b.source {
        BindingSource::Variable { .. } | BindingSource::Given { .. } => EntryError::NoValue(entry),
        BindingSource::ConfigMap { .. } => EntryError::ConfigMap { entry, cause: ConfigMapError::NoSource },
        BindingSource::ApiCall { .. } => EntryError::ApiCall(ApiCallError::NoCluster(entry)),
        BindingSource::Global { .. } => EntryError::NoGlobalEntries(entry),
        BindingSource::Image { .. } => EntryError::NoRegistry(entry),
    }
}

/// A request path of a namespaced policy must stay in its namespace. What counts is the path alone
/// – a query or fragment may say anything –, percent-decoded and without `.` and `..`, and where
/// the API has its namespace: `/api/VERSION/namespaces/NAME/…` or
/// `/apis/GROUP/VERSION/namespaces/NAME/…`.
fn check_namespace(path: &str, own: &str) -> Result<(), ApiCallError> {
    let missing = || {
        // Calls of services have no path.
        let shown = if path.is_empty() { "." } else { path };
        Err(ApiCallError::NoNamespace(shown.into()))
    };
    let bare = path.split(['?', '#']).next().unwrap_or_default();
    let decoded = percent_encoding::percent_decode_str(bare).decode_utf8_lossy();
    let mut steps: Vec<&str> = Vec::new();
    // The server may decode an encoded slash or mark in another way.
    if decoded.contains(['?', '#', '\\']) || decoded.chars().any(char::is_control) {
        return missing();
    }
    for step in decoded.split('/') {
        match step {
            "" | "." => {}
            ".." => drop(steps.pop()),
            step => steps.push(step),
        }
    }
    let rest = match &steps[..] {
        ["api", _, rest @ ..] | ["apis", _, _, rest @ ..] => rest,
        _ => return missing(),
    };
    match rest {
        ["namespaces", namespace, ..] if *namespace == own => Ok(()),
        ["namespaces", namespace, ..] => Err(ApiCallError::ForeignNamespace {
            path: path.into(),
            namespace: (*namespace).into(),
            own: own.into(),
        }),
        _ => missing(),
    }
}

fn config_map_data(v: &Value) -> Value {
    let part = |key: &str| (Str::from(key), v.get(key).cloned().unwrap_or_default());
    Value::Map([part("data"), part("metadata")].into_iter().collect())
}

/// Puts `value` at `path` below `target`; objects on both sides are merged, all else replaced.
pub fn merge_at(target: &mut Value, path: &[Str], value: Value) {
    let Some((first, rest)) = path.split_first() else {
        merge(target, value);
        return;
    };
    if !matches!(target, Value::Map(_)) {
        *target = Value::Map(Map::new());
    }
    if let Value::Map(m) = target {
        if !m.contains_key(first) {
            m.insert(first.clone(), if rest.is_empty() { Value::Null } else { Value::Map(Map::new()) });
        }
        if let Some(slot) = m.get_mut(first) {
            merge_at(slot, rest, value);
        }
    }
}

fn merge(target: &mut Value, value: Value) {
    match (target, value) {
        (Value::Map(into), Value::Map(from)) => {
            for (k, v) in from.iter() {
                match into.get_mut(k) {
                    Some(slot) => stack::deep(|| merge(slot, v.clone())),
                    None => {
                        into.insert(k.clone(), v.clone());
                    }
                }
            }
        }
        (target, value) => *target = value,
    }
}
