//! Answers to reviews.
//!
//! In: what was decided. Out: the AdmissionReview that goes back, as JSON text. A refusal has a
//! message and no code, as Kyverno's; the API server makes HTTP status 400 of it.

use base64::Engine;

use ephor_engine::admission::Denial;
use ephor_engine::admission::warnings::Warnings;
use ephor_patch::Operation;
use ephor_value::print::json;
use ephor_value::{Map, Str, Value};

use super::incoming::Incoming;

/// What is answered.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Why the request does not pass.
    pub denial: Option<Refusal>,
    /// Warnings for the client, in order.
    pub warnings: Vec<String>,
    /// What is to be changed.
    pub patch: Vec<Operation>,
    /// Audit annotations by key.
    pub annotations: Map,
}

/// Why a request does not pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The text.
    pub message: String,
    /// The HTTP status that the client gets; 0 = what the API server makes of none.
    pub code: u16,
    /// The reason in a word; empty = none.
    pub reason: Str,
}

impl From<Denial> for Refusal {
    /// What an API server would say itself, without what it says about every refusal of a webhook.
    fn from(denial: Denial) -> Refusal {
        let bare = !denial.internal && !denial.causes.is_empty();
        let causes = || denial.causes.iter().map(|c| &*c.message).collect::<Vec<_>>().join("; ");
        let message = if bare { causes() } else { denial.message };
        Refusal { message, code: denial.code, reason: denial.reason }
    }
}

impl Answer {
    /// A refusal with a text alone.
    pub fn denied(message: impl Into<String>) -> Answer {
        let denial = Refusal { message: message.into(), ..Refusal::default() };
        Answer { denial: Some(denial), ..Answer::default() }
    }

    /// Whether the request passes.
    pub fn allowed(&self) -> bool {
        self.denial.is_none()
    }

    /// The review that goes back.
    pub fn to_json(&self, of: &Incoming) -> String {
        let mut response = Map::new();
        response.insert("uid", Value::Str(of.uid.clone()));
        response.insert("allowed", Value::Bool(self.denial.is_none()));
        if let Some(denial) = &self.denial {
            let mut status = Map::new();
            status.insert("metadata", Value::Map(Map::new()));
            status.insert("status", "Failure".into());
            status.insert("message", Value::from(&*denial.message));
            if !denial.reason.is_empty() {
                status.insert("reason", Value::Str(denial.reason.clone()));
            }
            if denial.code != 0 {
                status.insert("code", Value::Int(denial.code.into()));
            }
            response.insert("status", Value::Map(status));
        }
        if !self.patch.is_empty() {
            let operations = Value::list(self.patch.iter().map(Operation::to_value).collect());
            let encoded = base64::engine::general_purpose::STANDARD.encode(json(&operations));
            response.insert("patch", encoded.into());
            response.insert("patchType", "JSONPatch".into());
        }
        let warnings = if self.warnings.is_empty() { Vec::new() } else { fitting(&self.warnings) };
        if !warnings.is_empty() {
            response.insert("warnings", Value::list(warnings.into_iter().map(Value::from).collect()));
        }
        if !self.annotations.is_empty() {
            // An API server puts the name of the webhook and a slash in front, and takes one slash
            // only.
            let keyed = self.annotations.iter().map(|(k, v)| (Str::from(k.replace('/', ".")), v.clone()));
            response.insert("auditAnnotations", Value::Map(keyed.collect()));
        }
        let mut review = Map::new();
        review.insert("kind", Value::Str(of.kind.clone()));
        review.insert("apiVersion", Value::Str(of.api_version.clone()));
        review.insert("response", Value::Map(response));
        json(&Value::Map(review))
    }
}

/// The warnings within an API server's limits.
fn fitting(all: &[String]) -> Vec<String> {
    let mut fitting = Warnings::default();
    all.iter().for_each(|text| fitting.add(text.clone()));
    fitting.into_texts()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn incoming() -> Incoming {
        Incoming {
            api_version: "admission.k8s.io/v1".into(),
            kind: "AdmissionReview".into(),
            uid: "a1".into(),
            request: Map::new(),
        }
    }

    #[test]
    fn an_answer_names_the_request_and_has_only_what_is_needed() {
        assert_eq!(
            Answer::default().to_json(&incoming()),
            r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"allowed":true,"uid":"a1"}}"#
        );
        assert_eq!(
            Answer::denied("no").to_json(&incoming()),
            r#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"allowed":false,"status":{"message":"no","metadata":{},"status":"Failure"},"uid":"a1"}}"#
        );
    }

    #[test]
    fn warnings_stay_within_the_limits_of_an_api_server() {
        let long = "x".repeat(1000);
        assert_eq!(fitting(&[long.clone(), "a".into(), "a".into()]), [long.clone(), "a".into()]);
        assert!(fitting(&vec![long; 2]).len() == 1 && fitting(&["a\nb".into()]).is_empty());
    }
}
