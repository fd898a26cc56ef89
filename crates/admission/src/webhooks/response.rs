//! The response in an answer: its fields with their types, as an API server's decoder refuses
//! others.
//!
//! In: a review that came back. Out: the decoder's text on the first value of a wrong type. Source:
//! answers of kube-apiserver 1.36.3, recorded in `conformance/admission/webhook-answers`.

use ephor_value::Value;
use ephor_value::bytes::decode_base64;
use ephor_value::print::json;

/// What a field takes. Null is nothing, whatever is wanted.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Bool,
    Int32,
    Int64,
    /// Text in base64.
    Bytes,
    /// A list of texts.
    Texts,
    /// Texts by key.
    TextMap,
    Struct(&'static Struct),
    /// A list of objects.
    Structs(&'static Struct),
}

/// A type with fields: its name, and its fields with the names of their types in the decoder's
/// language.
struct Struct {
    name: &'static str,
    fields: &'static [(&'static str, &'static str, Shape)],
}

static RESPONSE: Struct = Struct {
    name: "AdmissionResponse",
    fields: &[
        ("uid", "types.UID", Shape::Text),
        ("allowed", "bool", Shape::Bool),
        ("status", "v1.Status", Shape::Struct(&STATUS)),
        ("patch", "[]uint8", Shape::Bytes),
        ("patchType", "v1.PatchType", Shape::Text),
        ("auditAnnotations", "map[string]string", Shape::TextMap),
        ("warnings", "[]string", Shape::Texts),
    ],
};

static STATUS: Struct = Struct {
    name: "Status",
    fields: &[
        ("kind", "string", Shape::Text),
        ("apiVersion", "string", Shape::Text),
        ("metadata", "v1.ListMeta", Shape::Struct(&LIST_META)),
        ("status", "string", Shape::Text),
        ("message", "string", Shape::Text),
        ("reason", "v1.StatusReason", Shape::Text),
        ("details", "v1.StatusDetails", Shape::Struct(&DETAILS)),
        ("code", "int32", Shape::Int32),
    ],
};

static LIST_META: Struct = Struct {
    name: "ListMeta",
    fields: &[
        ("selfLink", "string", Shape::Text),
        ("resourceVersion", "string", Shape::Text),
        ("continue", "string", Shape::Text),
        ("remainingItemCount", "int64", Shape::Int64),
    ],
};

static DETAILS: Struct = Struct {
    name: "StatusDetails",
    fields: &[
        ("name", "string", Shape::Text),
        ("group", "string", Shape::Text),
        ("kind", "string", Shape::Text),
        ("uid", "types.UID", Shape::Text),
        ("causes", "[]v1.StatusCause", Shape::Structs(&CAUSE)),
        ("retryAfterSeconds", "int32", Shape::Int32),
    ],
};

static CAUSE: Struct = Struct {
    name: "StatusCause",
    fields: &[
        ("reason", "v1.CauseType", Shape::Text),
        ("message", "string", Shape::Text),
        ("field", "string", Shape::Text),
    ],
};

/// The first value of a wrong type in a review. `written` is the review with numbers as they are
/// written.
pub(super) fn wrong_type(review: &Value, written: &Value) -> Option<String> {
    let response = review.get("response").filter(|r| !r.is_null())?;
    let written = written.get("response").unwrap_or(&Value::Null);
    if response.as_map().is_none() {
        return Some(cannot(response, written, ("AdmissionReview", "response"), "v1.AdmissionResponse"));
    }
    fields(&RESPONSE, response, written, "response")
}

fn fields(of: &Struct, v: &Value, written: &Value, path: &str) -> Option<String> {
    v.as_map()?.iter().find_map(|(key, v)| {
        let (name, ty, shape) = of.fields.iter().find(|(name, ..)| *name == &**key)?;
        let written = written.get(name).unwrap_or(&Value::Null);
        value(*shape, v, written, (of.name, &format!("{path}.{name}")), ty)
    })
}

/// What is wrong with a value; `at` is the type that holds it, and the path.
fn value(shape: Shape, v: &Value, written: &Value, at: (&str, &str), ty: &str) -> Option<String> {
    let whole = |fits: fn(i64) -> bool| matches!(v, Value::Int(i) if fits(*i));
    let fits = match shape {
        Shape::Text | Shape::Bytes => v.as_str().is_some(),
        Shape::Bool => v.as_bool().is_some(),
        Shape::Int32 => whole(|i| i32::try_from(i).is_ok()),
        Shape::Int64 => whole(|_| true),
        Shape::Texts | Shape::Structs(_) => v.as_list().is_some(),
        Shape::TextMap | Shape::Struct(_) => v.as_map().is_some(),
    };
    if v.is_null() {
        return None;
    }
    if !fits {
        return Some(cannot(v, written, at, ty));
    }
    let item = |i: usize| written.as_list().and_then(|l| l.get(i)).unwrap_or(&Value::Null);
    let inner = |shape: Shape, v: &Value, i: usize, ty: &str| value(shape, v, item(i), at, ty);
    match (shape, v) {
        (Shape::Struct(of), _) => fields(of, v, written, at.1),
        (Shape::Structs(of), Value::List(items)) => {
            let ty = ty.trim_start_matches("[]");
            items.iter().enumerate().find_map(|(i, v)| inner(Shape::Struct(of), v, i, ty))
        }
        (Shape::Texts, Value::List(items)) => {
            items.iter().enumerate().find_map(|(i, v)| inner(Shape::Text, v, i, "string"))
        }
        (Shape::TextMap, Value::Map(m)) => {
            m.iter().find_map(|(k, v)| value(Shape::Text, v, written.get(k)?, at, "string"))
        }
        (Shape::Bytes, Value::Str(s)) => {
            let at = decode_base64(s.as_bytes()).err()?;
            Some(format!("illegal base64 data at input byte {at}"))
        }
        _ => None,
    }
}

fn cannot(v: &Value, written: &Value, (holder, path): (&str, &str), ty: &str) -> String {
    // Only a number in the place of another number is shown.
    let kind = match v.as_number().filter(|_| ty.starts_with("int")) {
        Some(_) => format!("number {}", written.as_str().map_or_else(|| json(v), str::to_string)),
        None => v.json_type().to_string(),
    };
    format!("json: cannot unmarshal {kind} into Go struct field {holder}.{path} of type {ty}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use ephor_document::spelling::spelling;

    fn found(text: &str) -> Option<String> {
        wrong_type(&ephor_document::json::parse(text).unwrap(), &spelling(text))
    }

    #[test]
    fn values_of_wrong_types_are_named_at_every_depth() {
        let text =
            |status: &str| found(&format!("{{\"response\":{{\"status\":{status}}}}}")).unwrap_or_default();
        let field = |holder: &str, path: &str| {
            format!("into Go struct field {holder}.response.status{path} of type ")
        };
        let begins = "json: cannot unmarshal ";
        assert_eq!(
            text("5"),
            format!(
                "{begins}number into Go struct field AdmissionResponse.response.status of type v1.Status"
            )
        );
        assert_eq!(
            text(r#"{"code":409.0}"#),
            format!("{begins}number 409.0 {}int32", field("Status", ".code"))
        );
        assert_eq!(text(r#"{"code":"409"}"#), format!("{begins}string {}int32", field("Status", ".code")));
        assert_eq!(
            text(r#"{"details":{"causes":[{},null,{"reason":1}]}}"#),
            format!("{begins}number {}v1.CauseType", field("StatusCause", ".details.causes.reason"))
        );
        assert_eq!(
            text(r#"{"details":{"causes":["x"]}}"#),
            format!("{begins}string {}v1.StatusCause", field("StatusDetails", ".details.causes"))
        );
    }

    #[test]
    fn nulls_and_unknown_fields_are_no_matter() {
        assert_eq!(found(r#"{"response":{"status":{"details":{"causes":null,"other":5}},"more":[]}}"#), None);
        assert_eq!(found(r#"{"response":null}"#), None);
    }
}
