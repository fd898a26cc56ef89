//! Reading AdmissionReviews.
//!
//! In: the body of a request and its content type. Out: the `request` of the review, or the status
//! and text of a refusal. Versions `v1` and `v1beta1` of a review have the same form.

use ephor_document::json;
use ephor_kubernetes::groups::PolicyNames;
use ephor_value::{Map, Str, Value};

/// How deeply a review may nest. An API server takes objects of 10,000 levels, and a review has
/// them below others. A thread that decodes and evaluates reviews needs a stack that is large
/// enough for that.
pub const DEPTH: usize = 10_100;

/// A review as it came.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// `apiVersion` of the review.
    pub api_version: Str,
    /// `kind` of the review.
    pub kind: Str,
    /// `request.uid`.
    pub uid: Str,
    /// `request`.
    pub request: Map,
}

/// Why a body is no review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecodable {
    /// The HTTP status of the answer.
    pub status: u16,
    /// Its text.
    pub text: String,
}

impl Undecodable {
    /// A refusal.
    pub fn new(status: u16, text: impl Into<String>) -> Undecodable {
        Undecodable { status, text: text.into() }
    }
}

impl std::fmt::Display for Undecodable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Undecodable {}

/// Members of a request that must be texts, and those that must be objects.
const TEXTS: [&str; 6] = ["uid", "name", "namespace", "operation", "subResource", "requestSubResource"];
const OBJECTS: [&str; 5] = ["kind", "resource", "requestKind", "requestResource", "userInfo"];

/// Reads a review.
///
/// # Errors
/// The response to the API server instead of an answer.
pub fn decode(content_type: &str, body: &[u8]) -> Result<Incoming, Undecodable> {
    if body.is_empty() {
        return Err(Undecodable::new(400, "empty body"));
    }
    if content_type != "application/json" {
        return Err(Undecodable::new(415, "invalid Content-Type"));
    }
    let unreadable = |text: String| Undecodable::new(417, text);
    let text = std::str::from_utf8(body).map_err(|e| unreadable(format!("the body is not UTF-8: {e}")))?;
    let review = json::parse_deep(text, DEPTH).map_err(|e| unreadable(e.to_string()))?;
    let Value::Map(review) = review else {
        return Err(unreadable(format!(
            "json: cannot unmarshal {} into an AdmissionReview",
            review.json_type()
        )));
    };
    let wrong = |key: &str, v: &Value| {
        unreadable(format!("json: cannot unmarshal {} into request.{key}", v.json_type()))
    };
    let request = match review.get("request") {
        None | Some(Value::Null) => return Err(Undecodable::new(400, "AdmissionReview request is nil")),
        Some(Value::Map(request)) => request.clone(),
        Some(other) => {
            return Err(unreadable(format!("json: cannot unmarshal {} into request", other.json_type())));
        }
    };
    for key in TEXTS {
        if let Some(v) = request.get(key).filter(|v| !v.is_null() && v.as_str().is_none()) {
            return Err(wrong(key, v));
        }
    }
    for key in OBJECTS.into_iter().chain(["object", "oldObject"]) {
        if let Some(v) = request.get(key).filter(|v| !v.is_null() && v.as_map().is_none()) {
            return Err(wrong(key, v));
        }
    }
    let request = in_kyvernos_group(request);
    let of_review = |key: &str| review.get(key).and_then(Value::as_str).unwrap_or_default().into();
    let uid = request.get("uid").and_then(Value::as_str).unwrap_or_default().into();
    Ok(Incoming { api_version: of_review("apiVersion"), kind: of_review("kind"), uid, request })
}

/// A request about a policy of our own groups as one about Kyverno's: policies in both are the same
/// to all that reads them.
fn in_kyvernos_group(request: Map) -> Map {
    let is_own = ["kind", "requestKind"].into_iter().any(|key| {
        let group = request.get(key).and_then(|kind| kind.get("group")).and_then(Value::as_str);
        group.is_some_and(|group| PolicyNames::Kyverno.of_group(group).is_some())
    });
    if !is_own {
        return request;
    }
    PolicyNames::Kyverno.of_object(&Value::Map(request)).as_map().cloned().unwrap_or_default()
}

impl Incoming {
    /// A text of the request.
    pub fn text(&self, path: &[&str]) -> &str {
        let Some((first, rest)) = path.split_first() else { return "" };
        self.request.get(first).and_then(|v| v.at(rest)).and_then(Value::as_str).unwrap_or_default()
    }

    /// An object of the request; null when it has none.
    pub fn object(&self, key: &str) -> Value {
        self.request.get(key).cloned().unwrap_or_default()
    }

    /// Whether nothing may be changed elsewhere.
    pub fn dry_run(&self) -> bool {
        self.request.get("dryRun").and_then(Value::as_bool).unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn refused(content_type: &str, body: &str) -> (u16, String) {
        let refusal = decode(content_type, body.as_bytes()).unwrap_err();
        (refusal.status, refusal.text)
    }

    #[test]
    fn a_request_about_a_policy_of_our_own_group_is_one_about_kyvernos() {
        let review = |group: &str| {
            format!(
                r#"{{"request":{{"uid":"u","kind":{{"group":"{group}","version":"v1","kind":"Policy"}},"object":{{"apiVersion":"{group}/v1","kind":"Policy"}}}}}}"#
            )
        };
        let read = |group: &str| decode("application/json", review(group).as_bytes()).unwrap();
        let of = read("ephor.dev");
        assert_eq!(of.text(&["kind", "group"]), "kyverno.io");
        assert_eq!(of.object("object").text_at(&["apiVersion"]), "kyverno.io/v1");
        assert_eq!(read("ephor.dev").request, read("kyverno.io").request);
        assert_eq!(read("example.com").text(&["kind", "group"]), "example.com");
    }

    #[test]
    fn a_body_that_is_no_review_gets_the_status_and_text_of_kyverno() {
        assert_eq!(refused("application/json", ""), (400, "empty body".into()));
        assert_eq!(refused("application/json; charset=utf-8", "{}"), (415, "invalid Content-Type".into()));
        assert_eq!(refused("application/json", "{}"), (400, "AdmissionReview request is nil".into()));
        assert_eq!(refused("application/json", r#"{"request":null}"#).0, 400);
        assert_eq!(refused("application/json", "{\"request\":{").0, 417);
        assert_eq!(refused("application/json", "[]").0, 417);
    }

    /// A review with an object of this many levels.
    fn deep(levels: usize) -> String {
        format!(
            "{{\"request\":{{\"uid\":\"u\",\"object\":{{\"a\":{}1{}}}}}}}",
            "{\"b\":[".repeat(levels / 2),
            "]}".repeat(levels / 2)
        )
    }

    #[test]
    fn what_an_api_server_may_send_can_be_read_and_what_is_deeper_is_refused() {
        let work = || {
            let text = deep(10_000);
            let review = decode("application/json", text.as_bytes()).unwrap();
            let object = review.object("object");
            assert!(object.json_eq(&object.with_float_numbers()));
            assert!(ephor_value::print::json(&object).len() > 30_000);
            drop((review, object));
            let refusal = decode("application/json", deep(20_000).as_bytes()).unwrap_err();
            assert_eq!((refusal.status, refusal.text.starts_with("exceeded max depth")), (417, true));
            assert_eq!(decode("application/json", "[".repeat(1 << 20).as_bytes()).unwrap_err().status, 417);
        };
        let stack = std::env::var("STACK_KB").map_or(16 << 20, |s| s.parse::<usize>().unwrap() << 10);
        std::thread::Builder::new().stack_size(stack).spawn(work).unwrap().join().unwrap();
    }

    #[test]
    fn members_of_another_type_are_named() {
        let (status, text) = refused("application/json", r#"{"request":{"uid":1}}"#);
        assert_eq!((status, text.as_str()), (417, "json: cannot unmarshal number into request.uid"));
        let (status, text) = refused("application/json", r#"{"request":{"uid":"a","object":[]}}"#);
        assert_eq!((status, text.as_str()), (417, "json: cannot unmarshal array into request.object"));
    }
}
