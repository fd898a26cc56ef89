//! stub
use crate::value::Value;
pub fn decode_json(text: &str) -> Result<Value, String> {
    serde_json::from_str::<serde_json::Value>(text)
        .map(|v| crate::document::json::from_serde(v).with_float_numbers())
        .map_err(|e| e.to_string())
}
