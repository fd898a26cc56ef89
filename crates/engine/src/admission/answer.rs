//! What follows for a request: whether it is allowed, warnings, audit annotations.
//!
//! In: the results of native policies. Out: an [`AdmissionOutcome`]. What each result leads to is
//! its [`Consequence`]; here are the texts, and the order in which they count.

use ephor_ir::Policy;
use ephor_ir::admission::PolicyBinding;
use ephor_kubernetes::release::ServerRules;
use ephor_value::number::float_v;
use ephor_value::print::write_json_string;
use ephor_value::release::Release;
use ephor_value::{Map, Str, Value};

use super::bound::BoundPolicy;
use super::{Cause, Review};
use crate::consequences::Consequence;
use crate::outcome::RuleOutcome;

/// The key under which the audit log gets failures.
const FAILURE_KEY: &str = "validation.policy.admission.k8s.io/validation_failure";

/// What follows for a request.
#[derive(Clone, Debug, Default)]
pub struct AdmissionOutcome {
    /// Why it does not pass.
    pub denial: Option<Denial>,
    /// Warnings for the client, within the limits of [`super::warnings`].
    pub warnings: Vec<String>,
    /// Audit annotations by key.
    pub annotations: Map,
}

/// Why a request does not pass.
#[derive(Clone, Debug, Default)]
pub struct Denial {
    /// The code of the HTTP answer.
    pub code: u16,
    /// The reason in a word.
    pub reason: Str,
    /// The message.
    pub message: String,
    /// Group, kind and name of the requested object; null when they are not reported.
    pub details: Value,
    /// The causes.
    pub causes: Vec<Cause>,
    /// Whether no policy decided this: something in the server failed.
    pub internal: bool,
}

impl Denial {
    /// There is no namespace of that name.
    pub fn no_namespace(name: &str) -> Denial {
        let details = [("kind", "namespaces"), ("name", name)];
        Denial {
            code: 404,
            reason: "NotFound".into(),
            message: format!("namespaces \"{name}\" not found"),
            details: Value::Map(details.into_iter().map(|(k, v)| (Str::from(k), v.into())).collect()),
            ..Denial::default()
        }
    }

    /// The object has a number that JSON does not have.
    pub(super) fn no_json(number: f64) -> Denial {
        let message = format!("json: unsupported value: {}", float_v(number));
        Denial { code: 500, message, internal: true, ..Denial::default() }
    }

    /// The reason and code of an answer that is not subject to policies.
    pub fn internal(text: &str) -> Denial {
        let message = format!("Internal error occurred: {text}");
        Denial {
            code: 500,
            reason: "InternalError".into(),
            message,
            causes: vec![text.to_string().into()],
            internal: true,
            ..Denial::default()
        }
    }
}

/// What follows for a request from the results of policies in their order, in an API server of a
/// release.
pub fn answer<'r>(
    review: &Review,
    policies: impl Iterator<Item = (&'r Policy, &'r [RuleOutcome])>,
    release: Release,
) -> AdmissionOutcome {
    let most = if ServerRules::of(release).audits_all_failures { ServerRules::MAX_AUDITED } else { 1 };
    let mut audited: Vec<String> = Vec::new();
    let mut out = AdmissionOutcome::default();
    for (policy, results) in policies {
        let Some(bound) = BoundPolicy::of(policy) else { continue };
        let mut values: Vec<(&Str, Vec<&str>)> = Vec::new();
        for result in results {
            let Some(row) = result.binding.as_deref() else { continue };
            if let Some(denial) = &row.denial {
                out.denial = Some((**denial).clone());
                return out;
            }
            let binding = row.binding.and_then(|at| bound.bindings().get(at));
            let follows = Consequence::of(policy, result, None);
            if follows.denies && out.denial.is_none() {
                out.denial = Some(denial(bound, binding, result, review));
            }
            if let Some(binding) = binding {
                if follows.warns {
                    let text = &result.message;
                    out.warnings.push(format!(
                        "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {text}",
                        bound.name(),
                        binding.name
                    ));
                }
                if follows.audits {
                    let at = row.validation.unwrap_or_default();
                    if audited.len() < most {
                        audited.push(failure(bound, binding, &result.message, at));
                    }
                }
            }
            row.annotations.iter().for_each(|(key, value)| note(&mut values, key, value));
        }
        for (key, values) in values {
            out.annotate(&format!("{}/{key}", bound.name()), values.join(", "));
        }
    }
    if !audited.is_empty() {
        out.annotate(FAILURE_KEY, format!("[{}]", audited.join(",")));
    }
    out
}

fn note<'r>(values: &mut Vec<(&'r Str, Vec<&'r str>)>, key: &'r Str, value: &'r str) {
    match values.iter_mut().find(|(k, _)| *k == key) {
        Some((_, values)) if values.contains(&value) => {}
        Some((_, values)) => values.push(value),
        None => values.push((key, vec![value])),
    }
}

impl AdmissionOutcome {
    /// The first value of a key counts.
    fn annotate(&mut self, key: &str, value: String) {
        if !self.annotations.contains_key(key) {
            self.annotations.insert(key, Value::from(value));
        }
    }
}

/// The denial because of a result.
fn denial(
    policy: BoundPolicy<'_>,
    binding: Option<&PolicyBinding>,
    result: &RuleOutcome,
    review: &Review,
) -> Denial {
    let with = binding.map(|b| format!(" with binding '{}'", b.name)).unwrap_or_default();
    let text = &result.message;
    let cause = format!("ValidatingAdmissionPolicy '{}'{with} denied request: {text}", policy.name());
    let (code, reason) = match result.binding.as_deref().map_or("", |row| &*row.reason) {
        "Forbidden" => (403, "Forbidden"),
        "Unauthorized" => (401, "Unauthorized"),
        "RequestEntityTooLarge" => (413, "RequestEntityTooLarge"),
        "" => (422, "Invalid"),
        other => (422, other),
    };
    let (resource, name) = (review.resource_name(), review.shown_name());
    Denial {
        code,
        reason: reason.into(),
        message: format!("{resource} \"{name}\" is forbidden: {cause}"),
        details: review.details(),
        causes: vec![cause.into()],
        internal: false,
    }
}

/// A failure as the audit log shows it.
fn failure(policy: BoundPolicy<'_>, binding: &PolicyBinding, text: &str, index: usize) -> String {
    let text_json = |text: &str| {
        let mut out = String::new();
        write_json_string(&mut out, text);
        out
    };
    let actions: Vec<String> = binding.actions.iter().map(|a| text_json(a)).collect();
    format!(
        "{{\"message\":{},\"policy\":{},\"binding\":{},\"expressionIndex\":{index},\"validationActions\":[{}]}}",
        text_json(text),
        text_json(policy.name()),
        text_json(&binding.name),
        actions.join(",")
    )
}
