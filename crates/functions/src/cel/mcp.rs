//! Requests of the Model Context Protocol: `mcp.Parse` and the arguments of tool calls.
//!
//! In: the JSON of a request. Out: a message with the method and the parameters of the usual
//! methods. Arguments are read with a value for those that are absent or of another kind.
//! Semantics: `docs/semantics/cel-policies.md`, "Check requests".

use super::call::{Call, CallResult, fault, fields, success};
use super::proxy_types::message;
use super::type_names::native_type;
use ephor_document::decode_json;
use ephor_value::{Map, Str, Value};

const REQUEST: &str = "mcp.MCPRequest";
/// The field that holds the arguments, which expressions cannot name.
const ARGUMENTS: &str = " arguments";

/// What the parameters of a method are called, their type, and their text and key.
const METHODS: [(&str, &str, &str, &str, &str); 4] = [
    ("tools/call", "ToolCall", "mcp.CallToolParams", "name", "Name"),
    ("resources/read", "ResourceRead", "mcp.ReadResourceParams", "uri", "URI"),
    ("prompts/get", "PromptGet", "mcp.GetPromptParams", "name", "Name"),
    ("initialize", "Initialize", "mcp.InitializeParams", "protocolVersion", "ProtocolVersion"),
];

/// `mcp.Parse`
pub fn parse(call: &Call<'_>) -> CallResult {
    fields(call.arg(0), "mcp.MCP")?;
    let Some(text) = call.text(1) else { return fault(super::data::no_text(call.arg(1))) };
    match parsed(text) {
        Ok(v) => success(v),
        Err(e) => fault(e.to_string()),
    }
}

/// Why a text is no request.
#[derive(Debug, thiserror::Error)]
enum McpError {
    /// It is no JSON, in the words of its decoder.
    #[error("{0}")]
    Json(Box<str>),
    #[error("json: cannot unmarshal {0} into Go value of type mcp.JSONRPCRequest")]
    NoObject(&'static str),
    #[error("json: cannot unmarshal {found} into Go struct field {place} of type {wanted}")]
    Field { found: &'static str, place: Box<str>, wanted: &'static str },
}

fn parsed(text: &str) -> Result<Value, McpError> {
    let whole = decode_json(text).map_err(|error| McpError::Json(error.to_string().into()))?;
    if whole.as_map().is_none() && !whole.is_null() {
        return Err(McpError::NoObject(whole.json_type()));
    }
    let field = |of: &Value, key: &str, place: &str| match of.get(key) {
        None | Some(Value::Null) => Ok(Str::from("")),
        Some(Value::Str(text)) => Ok(text.clone()),
        Some(other) => {
            Err(McpError::Field { found: other.json_type(), place: place.into(), wanted: "string" })
        }
    };
    let method = field(&whole, "method", "JSONRPCRequest.Request.method")?;
    let mut fields: Map = [(Str::from("Method"), Value::Str(method.clone()))].into_iter().collect();
    let known = METHODS.iter().find(|(name, ..)| *name == &*method);
    if let Some((_, field_name, type_name, key, shown)) = known {
        let none = Value::Map(Map::new());
        let params = whole.get("params").filter(|p| !p.is_null()).unwrap_or(&none);
        if params.as_map().is_none() {
            return Err(McpError::Field {
                found: params.json_type(),
                place: ".params".into(),
                wanted: type_name,
            });
        }
        let bare = type_name.trim_start_matches("mcp.");
        let text = field(params, key, &format!("{bare}.params.{key}"))?;
        let mut own: Map = [(Str::from(*shown), Value::Str(text))].into_iter().collect();
        let arguments = params.get("arguments").filter(|a| a.as_map().is_some());
        if let (Some(Value::Map(arguments)), "PromptGet") = (arguments, *field_name) {
            let texts = arguments.iter().filter(|(_, v)| v.as_str().is_some());
            own.insert("Arguments", Value::Map(texts.map(|(k, v)| (k.clone(), v.clone())).collect()));
        }
        fields.insert(*field_name, message(type_name, own));
        if let (Some(arguments), "ToolCall") = (arguments, *field_name) {
            fields.insert(ARGUMENTS, arguments.clone());
        }
    }
    Ok(message(REQUEST, fields))
}

/// The argument that a call names, and the value for when there is none.
fn argument<'v>(call: &Call<'v>) -> Option<(Option<&'v Value>, &'v Value)> {
    let fields = fields(call.arg(0), REQUEST)?;
    let named = fields.get(ARGUMENTS).and_then(|a| a.get(call.text(1)?));
    Some((named, call.arg(2)))
}

fn or_else(found: Option<Value>, other: &Value) -> CallResult {
    success(found.unwrap_or_else(|| other.clone()))
}

/// `GetStringArgument`
pub fn text(call: &Call<'_>) -> CallResult {
    let (found, other) = argument(call)?;
    or_else(found.filter(|v| v.as_str().is_some()).cloned(), other)
}

/// `GetIntArgument`
pub fn int(call: &Call<'_>) -> CallResult {
    let (found, other) = argument(call)?;
    let whole = |f: f64| (f.abs() < 9e18).then_some(Value::Int(f as i64));
    let found = found.and_then(|v| match v {
        Value::Str(text) => text.parse().ok().map(Value::Int),
        v => whole(v.as_number()?),
    });
    or_else(found, other)
}

/// `GetFloatArgument`
pub fn float(call: &Call<'_>) -> CallResult {
    let (found, other) = argument(call)?;
    let found = found.and_then(|v| match v {
        Value::Str(text) => text.parse().ok(),
        v => v.as_number(),
    });
    or_else(found.map(Value::Float), other)
}

/// `GetBoolArgument`
pub fn bool(call: &Call<'_>) -> CallResult {
    let (found, other) = argument(call)?;
    let found = found.and_then(|v| match v {
        Value::Bool(b) => Some(*b),
        Value::Str(text) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
            _ => None,
        },
        v => Some(v.as_number()? != 0.0),
    });
    or_else(found.map(Value::Bool), other)
}

/// `GetStringSliceArgument`
pub fn texts(call: &Call<'_>) -> CallResult {
    let (found, other) = argument(call)?;
    let found = found.and_then(Value::as_list);
    let texts = found.map(|all| all.iter().filter(|v| native_type(v) == "string").cloned().collect());
    or_else(texts.map(Value::list), other)
}
