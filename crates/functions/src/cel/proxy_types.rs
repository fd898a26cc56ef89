//! The messages of check requests: which fields they have, and what a field is that was not sent.
//!
//! In: JSON of a check request. Out: messages that hold the fields that were sent. Semantics:
//! `docs/semantics/cel-policies.md`, "Check requests".

use std::collections::HashMap;
use std::sync::OnceLock;

use base64::Engine;

use ephor_value::time::Time;
use ephor_value::{Map, Object, Str, Value};

/// Messages and their fields: `Name: field type, …`; a type with a dollar is a message.
pub const HTTP: &str = "\
http.CheckRequest: attributes $http.CheckRequestAttributes, mcp $http.MCPCheckData
http.CheckRequestAttributes: method string, header map<string, list<string>>, host string, protocol string, contentLength int, body bytes, scheme string, path string, query map<string, list<string>>, fragment string
http.MCPCheckData:
http.CheckResponse: ok $http.CheckResponseOk, denied $http.CheckResponseDenied
http.CheckResponseOk:
http.CheckResponseDenied: reason string";

/// Requests of the Model Context Protocol.
pub const MCP: &str = "\
mcp.MCPRequest: Method string, ToolCall $mcp.CallToolParams, ResourceRead $mcp.ReadResourceParams, PromptGet $mcp.GetPromptParams, Initialize $mcp.InitializeParams
mcp.CallToolParams: Name string
mcp.ReadResourceParams: URI string
mcp.GetPromptParams: Name string, Arguments map<string, string>
mcp.InitializeParams: ProtocolVersion string";

/// See [`HTTP`].
pub const ENVOY: &str = "\
envoy.service.auth.v3.CheckRequest: attributes $envoy.service.auth.v3.AttributeContext
envoy.service.auth.v3.AttributeContext: source $envoy.service.auth.v3.AttributeContext.Peer, destination $envoy.service.auth.v3.AttributeContext.Peer, request $envoy.service.auth.v3.AttributeContext.Request, context_extensions map<string, string>, metadata_context $envoy.config.core.v3.Metadata, route_metadata_context $envoy.config.core.v3.Metadata, tls_session $envoy.service.auth.v3.AttributeContext.TLSSession
envoy.service.auth.v3.AttributeContext.Peer: address $envoy.config.core.v3.Address, service string, labels map<string, string>, principal string, certificate string
envoy.service.auth.v3.AttributeContext.Request: time timestamp, http $envoy.service.auth.v3.AttributeContext.HttpRequest
envoy.service.auth.v3.AttributeContext.HttpRequest: id string, method string, headers map<string, string>, path string, host string, scheme string, query string, fragment string, size int, protocol string, body string, raw_body bytes
envoy.service.auth.v3.AttributeContext.TLSSession: sni string
envoy.config.core.v3.Address: socket_address $envoy.config.core.v3.SocketAddress
envoy.config.core.v3.SocketAddress: protocol int, address string, port_value int, named_port string, resolver_name string, ipv4_compat bool
envoy.config.core.v3.Metadata: filter_metadata map<string, dyn>
envoy.service.auth.v3.CheckResponse: status $google.rpc.Status, denied_response $envoy.service.auth.v3.DeniedHttpResponse, ok_response $envoy.service.auth.v3.OkHttpResponse, dynamic_metadata dyn
google.rpc.Status: code int, message string
envoy.service.auth.v3.OkHttpResponse: headers list$envoy.config.core.v3.HeaderValueOption, headers_to_remove list<string>, response_headers_to_add list$envoy.config.core.v3.HeaderValueOption, query_parameters_to_set list$envoy.config.core.v3.QueryParameter, query_parameters_to_remove list<string>
envoy.service.auth.v3.DeniedHttpResponse: status $envoy.type.v3.HttpStatus, headers list$envoy.config.core.v3.HeaderValueOption, body string
envoy.type.v3.HttpStatus: code int
envoy.config.core.v3.HeaderValueOption: header $envoy.config.core.v3.HeaderValue, keep_empty_value bool
envoy.config.core.v3.HeaderValue: key string, value string
envoy.config.core.v3.QueryParameter: key string, value string";

/// The deepest requests that are read.
const MAX_DEPTH: usize = 32;

/// The lines of a table: a message's name, and its fields with their types.
pub fn messages(
    table: &'static str,
) -> impl Iterator<Item = (&'static str, Vec<(&'static str, &'static str)>)> {
    table.lines().filter_map(|line| {
        let (name, fields) = line.split_once(':')?;
        Some((name, split(fields).into_iter().filter_map(|f| f.trim().split_once(' ')).collect()))
    })
}

/// Splits at commas outside of angle brackets.
fn split(text: &'static str) -> Vec<&'static str> {
    let (mut out, mut depth, mut start) = (Vec::new(), 0usize, 0);
    for (i, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                out.extend(text.get(start..i));
                start = i + 1;
            }
            _ => {}
        }
    }
    out.extend(text.get(start..));
    out
}

type Fields = HashMap<&'static str, (&'static str, Value)>;

fn known() -> &'static HashMap<&'static str, Fields> {
    static KNOWN: OnceLock<HashMap<&'static str, Fields>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let all = messages(HTTP).chain(messages(ENVOY)).chain(messages(MCP));
        all.map(|(name, fields)| (name, fields.into_iter().map(|(f, ty)| (f, (ty, zero_of(ty)))).collect()))
            .collect()
    })
}

/// A message of a type.
pub fn message(type_name: &str, fields: Map) -> Value {
    Value::object(Object::Struct(type_name.into(), fields))
}

fn zero_of(ty: &str) -> Value {
    match ty {
        "string" => Value::from(""),
        "int" => Value::Int(0),
        "bool" => Value::Bool(false),
        "bytes" => Value::Bytes(Vec::new().into()),
        "timestamp" => Value::Timestamp(Time::from_unix(0)),
        "dyn" => Value::Null,
        ty if ty.starts_with("list") => Value::list(Vec::new()),
        ty => match ty.strip_prefix('$') {
            Some(name) => message(name, Map::new()),
            None => Value::Map(Map::new()),
        },
    }
}

/// What a field is that was not set; `None` for other messages than these.
pub fn unset(type_name: &str, field: &str) -> Option<&'static Value> {
    known().get(type_name)?.get(field).map(|(_, zero)| zero)
}

/// Reads a check request: names are those of the fields, or their form with humps.
///
/// # Errors
/// What does not fit, with the path to it: `a.b`, and what was expected.
pub fn request(type_name: &'static str, json: &Value) -> Result<Value, Unfit> {
    typed(type_name, json, &mut Vec::new(), 0)
}

/// A part of a check request that does not fit its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// Where it stands.
    pub path: Vec<Str>,
    /// The type that is wanted; `None` = there is no such field.
    pub wanted: Option<&'static str>,
    /// The message that the field belongs to.
    pub holder: &'static str,
}

fn typed(name: &'static str, json: &Value, path: &mut Vec<Str>, depth: usize) -> Result<Value, Unfit> {
    let wrong = |path: &[Str]| Unfit { path: path.to_vec(), wanted: Some(name), holder: name };
    let Value::Map(m) = json else {
        return if json.is_null() { Ok(message(name, Map::new())) } else { Err(wrong(path)) };
    };
    if depth > MAX_DEPTH {
        return Err(wrong(path));
    }
    let none = Fields::new();
    let fields = known().get(name).unwrap_or(&none);
    let mut out = Map::new();
    for (key, value) in m.iter() {
        path.push(key.clone());
        let found = fields.iter().find(|(field, _)| ***field == **key || humped(field) == **key);
        match found {
            None if name.starts_with("http.") => {}
            None => return Err(Unfit { path: path.clone(), wanted: None, holder: name }),
            Some(_) if value.is_null() => {}
            Some((field, (ty, zero))) => {
                let v = field_value(ty, value, path, depth, name)?;
                if !v.strict_eq(zero) {
                    out.insert(*field, v);
                }
            }
        }
        path.pop();
    }
    Ok(message(name, out))
}

fn field_value(
    ty: &'static str,
    value: &Value,
    path: &mut Vec<Str>,
    depth: usize,
    holder: &'static str,
) -> Result<Value, Unfit> {
    if let Some(name) = ty.strip_prefix('$') {
        return typed(name, value, path, depth + 1);
    }
    let fits = match (ty, value) {
        ("string", Value::Str(_)) | ("bool", Value::Bool(_)) | ("int", Value::Int(_)) => Some(value.clone()),
        ("int", Value::Float(f)) if f.fract() == 0.0 && f.abs() < 9e15 => Some(Value::Int(*f as i64)),
        ("bytes", Value::Str(text)) => {
            base64::engine::general_purpose::STANDARD.decode(&**text).ok().map(|b| Value::Bytes(b.into()))
        }
        ("timestamp", Value::Str(text)) => Time::parse_rfc3339(text).ok().map(Value::Timestamp),
        ("map<string, string>", Value::Map(m)) => {
            m.iter().all(|(_, v)| v.as_str().is_some()).then(|| value.clone())
        }
        (ty, Value::Map(_)) if ty.starts_with("map") => Some(value.clone()),
        _ => None,
    };
    fits.ok_or_else(|| Unfit { path: path.clone(), wanted: Some(ty), holder })
}

/// `raw_body` → `rawBody`
fn humped(name: &str) -> String {
    let mut out = String::new();
    let mut up = false;
    for c in name.chars() {
        match c {
            '_' => up = true,
            c if std::mem::take(&mut up) => out.extend(c.to_uppercase()),
            c => out.push(c),
        }
    }
    out
}
