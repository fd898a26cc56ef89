//! Functions of policies about images: who signed them, what is stated about them.
//!
//! Attestors are messages that hold their name; the [`ImageVerifier`] resolves the name. Semantics:
//! `docs/semantics/cel-policies.md`, "Images".

use super::call::{Call, CallResult, fault, fields, success};
use super::type_names::native_type;
use ephor_external::ImageVerifier;
use ephor_value::{Map, Object, Str, Value};

/// Type name of attestors.
pub const ATTESTOR: &str = "v1alpha1.Attestor";

/// An attestor of a name.
pub fn attestor(name: &str) -> Value {
    let fields: Map = [(Str::from("name"), Value::from(name))].into_iter().collect();
    Value::object(Object::Struct(ATTESTOR.into(), fields))
}

/// The name of an attestor.
pub fn name_of(attestor: &Value) -> &str {
    fields(attestor, ATTESTOR).and_then(|f| f.get("name")).and_then(Value::as_str).unwrap_or_default()
}

fn image_verifier<'c>(call: &Call<'c>) -> Option<&'c dyn ImageVerifier> {
    crate::untracked::note();
    call.cx.external.as_deref()?.image_verifier()
}

/// A value that is no attestor; its type.
#[derive(Debug, thiserror::Error)]
#[error("unsupported native conversion from {0} to '{attestor}'", attestor = ATTESTOR)]
struct NoAttestor(Box<str>);

fn attestors<'v>(call: &Call<'v>, at: usize) -> Option<Result<&'v [Value], NoAttestor>> {
    let all = call.arg(at).as_list()?;
    let stranger = all.iter().find(|a| fields(a, ATTESTOR).is_none());
    Some(match stranger {
        None => Ok(all),
        Some(a) => Err(NoAttestor(native_type(a).into())),
    })
}

fn answered<T: Into<Value>>(answer: Result<T, impl std::fmt::Display>) -> CallResult {
    match answer {
        Ok(v) => success(v),
        Err(e) => fault(e.to_string()),
    }
}

/// `verifyImageSignatures`
pub fn signatures(call: &Call<'_>) -> CallResult {
    let image = call.text(0)?;
    match attestors(call, 1)? {
        Ok(all) => answered(image_verifier(call)?.signatures(image, all).map(Value::Int)),
        Err(e) => fault(e.to_string()),
    }
}

/// `verifyAttestationSignatures`
pub fn statements(call: &Call<'_>) -> CallResult {
    let (image, statement) = (call.text(0)?, call.text(1)?);
    match attestors(call, 2)? {
        Ok(all) => answered(image_verifier(call)?.statements(image, statement, all).map(Value::Int)),
        Err(e) => fault(e.to_string()),
    }
}

/// `getImageData`
pub fn data(call: &Call<'_>) -> CallResult {
    answered(image_verifier(call)?.data(call.text(0)?))
}

/// `extractPayload`
pub fn payload(call: &Call<'_>) -> CallResult {
    let (image, statement) = (call.text(0)?, call.text(1)?);
    answered(image_verifier(call)?.payload(image, statement))
}
