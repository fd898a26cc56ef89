//! Kyverno's functions that read external data: objects of the cluster, services, global data,
//! image data.
//!
//! The receivers are messages that say for which policy they speak: a `namespace` that is set
//! limits the questions to it. Semantics: `docs/expressions/cel.md`, "What is supported".

use super::call::{Call, CallResult, fault, fields};
use super::data::NativeError;
use crate::x509::is_certificate;
use ephor_external::{
    Address, Answer, ApiError, ApiRequest, ExternalData, Found, NoData, Place, Reader, ServiceCall,
};
use ephor_value::{Map, Object, Str, Value};

/// Type names of the receivers.
pub const RESOURCE: &str = "resource.Context";
/// See [`RESOURCE`].
pub const HTTP: &str = "http.Context";
/// See [`RESOURCE`].
pub const GLOBAL: &str = "globalcontext.Context";
/// See [`RESOURCE`].
pub const IMAGE_DATA: &str = "imagedata.Context";
/// The reference's text where an operation has no implementation.
const NOT_THERE: &str = "internal error: not implemented";
const RESOURCE_NAME: &str = "schema.GroupVersionResource";

/// A receiver of the type, limited to a namespace if one is given.
pub fn receiver(type_name: &str, namespace: Option<&str>) -> Value {
    let fields = namespace.map(|n| (Str::from("namespace"), Value::from(n)));
    message(type_name, fields.into_iter().collect())
}

fn message(type_name: &str, fields: Map) -> Value {
    Value::object(Object::Struct(type_name.into(), fields))
}

fn text<'v>(fields: &'v Map, key: &str) -> &'v str {
    fields.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The external data that a call reads, which static analysis does not see.
pub(super) fn external<'c>(call: &Call<'c>) -> &'c dyn ExternalData {
    crate::untracked::note();
    call.cx.external.as_deref().unwrap_or(&NoData)
}

/// What the Kubernetes API gives; the group and version of a place have one slash between them at
/// most.
fn api(call: &Call<'_>, at: &Place<'_>, body: Option<&Value>) -> Found<ApiError> {
    if at.api_version.matches('/').count() > 1 {
        return Some(Err(format!("unexpected GroupVersion string: {}", at.api_version).into()));
    }
    external(call).api(&ApiRequest { at: Address::Objects(at), body })
}

fn type_of_receiver<'v>(call: &Call<'v>) -> Option<(&'v str, &'v Map)> {
    match call.arg(0) {
        Value::Object(o) => match &**o {
            Object::Struct(name, fields) => Some((name, fields)),
            _ => None,
        },
        _ => None,
    }
}

/// `get` of all receivers.
pub fn get(call: &Call<'_>) -> CallResult {
    let (name, fields) = type_of_receiver(call)?;
    match name {
        RESOURCE => object(call, fields),
        HTTP => request(call, fields, "GET"),
        GLOBAL => global(call, fields),
        _ => None,
    }
}

/// `post` of all receivers.
pub fn post(call: &Call<'_>) -> CallResult {
    let (name, fields) = type_of_receiver(call)?;
    match name {
        RESOURCE => create(call, fields),
        HTTP => request(call, fields, "POST"),
        _ => None,
    }
}

/// The arguments after the receiver that name a place: `apiVersion, resource` or one value for
/// both.
struct Named<'v> {
    api_version: String,
    resource: &'v str,
    /// The position of the next argument.
    next: usize,
}

fn named<'v>(call: &Call<'v>) -> Option<Named<'v>> {
    if let Some(known) = fields(call.arg(1), RESOURCE_NAME) {
        let (group, version) = (text(known, "group"), text(known, "version"));
        let api_version = if group.is_empty() { version.to_string() } else { format!("{group}/{version}") };
        return Some(Named { api_version, resource: text(known, "resource"), next: 2 });
    }
    Some(Named { api_version: call.text(1)?.to_string(), resource: call.text(2)?, next: 3 })
}

/// The namespace: the receiver's own, or the next argument.
fn namespace<'v>(call: &Call<'v>, limits: &'v Map, next: &mut usize) -> Option<&'v str> {
    if let Some(own) = limits.get("namespace") {
        return own.as_str();
    }
    *next += 1;
    call.text(*next - 1)
}

fn object(call: &Call<'_>, limits: &Map) -> CallResult {
    let Named { api_version, resource, mut next } = named(call)?;
    let namespace = namespace(call, limits, &mut next)?;
    let name = call.text(next)?;
    if name.is_empty() {
        return fault("failed to get resource: name is required");
    }
    let at = Place { api_version: &api_version, resource, namespace, name };
    match api(call, &at, None) {
        None => Some(Ok(Value::Null)),
        Some(Ok(v)) => Some(Ok(v)),
        Some(Err(e)) if e.not_found => Some(Ok(Value::Null)),
        Some(Err(e)) => fault(format!("failed to get resource: {}", e.text)),
    }
}

/// `resource.list`; labels select in a cluster, and are not read by the reference's stand-in
/// for one.
pub fn list(call: &Call<'_>) -> CallResult {
    let limits = fields(call.arg(0), RESOURCE)?;
    let Named { api_version, resource, mut next } = named(call)?;
    let namespace = namespace(call, limits, &mut next)?;
    if call.args.get(next).is_some_and(|labels| !is_map(labels)) {
        return None;
    }
    let at = Place { api_version: &api_version, resource, namespace, name: "" };
    let answer = api(call, &at, None);
    let labels = match call.args.get(next) {
        Some(labels) if external(call).selects_by_labels() => Some(super::data::plain(labels).ok()?),
        _ => None,
    };
    let found = match answer {
        Some(Ok(found)) => found,
        Some(Err(e)) => return fault(format!("failed to list resource: {}", e.text)),
        None => {
            let group = api_version.split_once('/').map(|(group, _)| format!(".{group}"));
            let group = group.unwrap_or_default();
            return fault(format!("failed to list resource: {resource}{group} resource not found"));
        }
    };
    match &labels {
        None => Some(Ok(found)),
        Some(labels) => Some(Ok(with_labels(&found, labels.as_map()?))),
    }
}

/// A list with those items that have all labels.
fn with_labels(list: &Value, wanted: &Map) -> Value {
    let Value::Map(m) = list else { return list.clone() };
    let items = m.get("items").and_then(Value::as_list).unwrap_or_default();
    let has_all = |item: &&Value| {
        let labels = item.at(&["metadata", "labels"]);
        let is = |key: &Str| labels.and_then(|l| l.get(key)).and_then(Value::as_str);
        wanted.iter().all(|(key, value)| value.as_str().is_some() && is(key) == value.as_str())
    };
    let mut out = m.clone();
    out.insert("items", Value::list(items.iter().filter(has_all).cloned().collect()));
    Value::Map(out)
}

fn is_map(v: &Value) -> bool {
    match v {
        Value::Map(_) => true,
        Value::Object(o) => matches!(&**o, Object::Keyed(_)),
        _ => false,
    }
}

fn create(call: &Call<'_>, limits: &Map) -> CallResult {
    let Named { api_version, resource, mut next } = named(call)?;
    let namespace = match call.text(next) {
        Some(named) if limits.get("namespace").is_none() => {
            next += 1;
            named
        }
        _ => text(limits, "namespace"),
    };
    if !is_map(call.arg(next)) {
        return None;
    }
    let at = Place { api_version: &api_version, resource, namespace, name: "" };
    match api(call, &at, Some(call.arg(next))) {
        Some(Ok(v)) => Some(Ok(v)),
        Some(Err(e)) => fault(format!("failed to create resource: {}", e.text)),
        None => fault(NOT_THERE),
    }
}

/// `resource.toGVR`
pub fn resource_name(call: &Call<'_>) -> CallResult {
    fields(call.arg(0), RESOURCE)?;
    let (api_version, kind) = (call.text(1)?, call.text(2)?);
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let failed = |text: String| fault(format!("failed to map kind to resource: {text}"));
    let kinds = match external(call).kinds() {
        None => return fault(NOT_THERE),
        Some(Err(e)) => return failed(e.to_string()),
        Some(Ok(kinds)) => kinds,
    };
    let Some(found) = kinds.kind(group, version, kind) else {
        return failed(format!("no matches for kind \"{kind}\" in version \"{api_version}\""));
    };
    let entries = [("group", &found.group), ("version", &found.version), ("resource", &found.plural)];
    let fields = entries.into_iter().map(|(k, v)| (Str::from(k), Value::Str(v.clone()))).collect();
    Some(Ok(message(RESOURCE_NAME, fields)))
}

fn global(call: &Call<'_>, limits: &Map) -> CallResult {
    if limits.get("namespace").is_some() {
        return fault(
            "failed to get global reference: globalContext.* is not allowed in namespaced policies",
        );
    }
    let projection = if call.args.len() > 2 { call.text(2)? } else { "" };
    match external(call).global(call.text(1)?, projection, Reader::Expression) {
        None => Some(Ok(Value::Null)),
        Some(Ok(v)) => Some(Ok(v)),
        Some(Err(e)) => fault(format!("failed to get global reference: {e}")),
    }
}

fn request(call: &Call<'_>, limits: &Map, method: &'static str) -> CallResult {
    if limits.get("namespace").is_some() {
        return fault(
            "http calls are not allowed in namespaced policies: set --allowHTTPInNamespacedPolicies to enable",
        );
    }
    let url = call.text(1)?;
    let (body, headers) = match method {
        "POST" => (Some(call.arg(2).clone()), call.arg(3)),
        _ => (None, call.arg(2)),
    };
    let is_text_map = |v: &Value| v.as_map().is_some_and(|m| m.iter().all(|(_, v)| v.as_str().is_some()));
    let given_at = if method == "POST" { 3 } else { 2 };
    if call.args.get(given_at).is_some_and(|headers| !is_text_map(headers)) {
        return None;
    }
    let header = |(k, v): (&Str, &Value)| Some((k.to_string(), v.as_str()?.to_string()));
    let headers = headers.as_map().into_iter().flat_map(Map::iter).filter_map(header).collect();
    if let Some(f) = body.as_ref().and_then(ephor_value::print::first_non_finite) {
        let (short, long) = match (f.is_nan(), f > 0.0) {
            (true, _) => ("nan", "NaN"),
            (_, true) => ("inf", "+Inf"),
            _ => ("-inf", "-Inf"),
        };
        return fault(format!(
            "request failed: failed to encode request data: failed to encode HTTP POST data number_value:{short}: json: error calling MarshalJSON for type *structpb.Value: proto: google.protobuf.Value.number_value: invalid {long} value"
        ));
    }
    if matches!(&body, Some(Value::Object(o)) if matches!(**o, Object::Type(_))) {
        return fault("invalid arg 2: type conversion not supported for 'type'");
    }
    let body = match body.as_ref().map(super::data::plain) {
        Some(Err(NativeError(cause))) => return fault(format!("invalid arg 2: {cause}")),
        Some(Ok(v)) => Some(v),
        None => None,
    };
    let answer = Answer::Json(Reader::Expression);
    match external(call).service(&ServiceCall { answer, url, body, headers, ca_bundle: text(limits, "ca") }) {
        Some(Ok(v)) => Some(Ok(v)),
        Some(Err(e)) => fault(format!("request failed: {e}")),
        None => fault("request failed: no network"),
    }
}

/// `http.client`
pub fn client(call: &Call<'_>) -> CallResult {
    let limits = fields(call.arg(0), HTTP)?;
    let ca = call.text(1)?;
    if ca.is_empty() {
        return Some(Ok(call.arg(0).clone()));
    }
    if !is_certificate(ca) {
        return fault("request failed: failed to parse PEM CA bundle for APICall");
    }
    let mut fields = limits.clone();
    fields.insert("ca", Value::from(ca));
    Some(Ok(message(HTTP, fields)))
}

/// `image.getMetadata`
pub fn image_data(call: &Call<'_>) -> CallResult {
    fields(call.arg(0), IMAGE_DATA)?;
    let external = call.cx.external.as_deref().unwrap_or(&NoData);
    // What a registry says may change.
    if external.registry().is_some() {
        crate::untracked::note();
    }
    let reference = call.text(1)?;
    match external.image(reference) {
        Some(Ok(v)) => Some(Ok(v)),
        Some(Err(e)) => fault(format!("failed to get image data: {e}")),
        None => {
            fault(format!("failed to get image data: image data for {reference} not found in the context"))
        }
    }
}

/// `generator.apply`: objects, lists expanded, to a namespace.
pub fn apply(call: &Call<'_>) -> CallResult {
    let limits = fields(call.arg(0), "generator.Context")?;
    let mut next = 1;
    let namespace = namespace(call, limits, &mut next)?;
    let mut objects = Vec::new();
    for item in call.arg(next).as_list()? {
        let item = super::data::plain(item).ok()?;
        item.as_map()?;
        match item.get("items").and_then(Value::as_list) {
            Some(items) if item.text_at(&["kind"]).ends_with("List") => objects.extend_from_slice(items),
            _ => objects.push(item),
        }
    }
    match external(call).generate(namespace, objects) {
        Ok(()) => Some(Ok(Value::Bool(true))),
        Err(e) => fault(format!("failed to generate resources: {e}")),
    }
}
