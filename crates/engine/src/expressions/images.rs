//! ImageValidatingPolicies.
//!
//! In: a policy and a request. Out: a result with the images that it verified, from which
//! [`settle`] finds out whether every image that must be verified was: by this policy or by another
//! one. Order: conditions, exceptions, the images, their digests, what registries know of them,
//! verdicts, texts for reports. Semantics: `docs/semantics/cel-policies.md`, "Images".

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;

use crate::matched::MatchedRule;
use crate::outcome::{Effect, RuleOutcome, Status};
use crate::trace;
use ephor_external::reference;
use ephor_external::registry::for_policy;
use ephor_functions::cel::image_verification;
use ephor_functions::{CelLevel, Context};
use ephor_ir::Rule;
use ephor_ir::expressions::Expressions;
use ephor_ir::image_validation::ImageValidation;
use ephor_ir::pod_security::pod_spec_path;
use ephor_value::{Str, Value, stack};

use super::cel_exceptions::{excepted, exempt};
use super::entered::{annotations, broken};
use super::inquiry::{AttestorValue, Inquiry, matches};
use super::verified_images::VerifiedImages;
use super::{AttestorError, AttestorFieldError, ExtractionError, Scope};
use crate::view::request::limited_to;

/// What is evaluated.
pub struct ImageSubject<'a> {
    /// What expressions see.
    pub root: &'a Value,
    /// The kind of the object, which decides where its images are; empty = it has none of its own.
    pub kind: &'a str,
    /// It is data of any form.
    pub payload: bool,
}

/// Validates the images that expressions see.
pub(super) fn run(
    matched: MatchedRule<'_, '_>,
    expressions: &Expressions,
    checks: &Arc<Result<ImageValidation, Str>>,
    subject: &ImageSubject<'_>,
) -> Option<RuleOutcome> {
    let MatchedRule { policy, rule, request, context, .. } = matched;
    let result = |status, text: Str| RuleOutcome::new(&policy.name, rule.kind, status, text);
    let failed = |error: &dyn Display| Some(broken(rule, expressions, error));
    let parts = match &**checks {
        Ok(parts) => parts,
        Err(text) => return Some(RuleOutcome { message: text.clone(), ..broken(rule, expressions, &"") }),
    };
    let mut root = subject.root.as_map().cloned().unwrap_or_default();
    if let Some(namespace) = &policy.namespace
        && let Value::Map(limited) = limited_to(&Value::Map(root.clone()), namespace)
    {
        root = limited;
    }
    root.remove("exceptions");
    let functions = Context { cel_level: CelLevel::V30, ..request.functions.clone() };
    let plain = Value::Map(root.clone());
    let counts = expressions.failure_policy.is_fail();
    let scope = Scope::of_rule(&plain, expressions, &functions);
    match scope.admits(&expressions.conditions) {
        Ok(true) => {}
        Ok(false) => return None,
        Err(_) if !counts => return None,
        Err(error) => return failed(&error),
    }
    if !subject.payload {
        match excepted(policy, &plain, &functions, context.cel_exceptions) {
            Ok(found) if found.iter().any(|e| e.is_full()) => {
                let mut result = exempt(rule, &found);
                if result.status == Status::Pass {
                    result.status = Status::Skip;
                    result.message =
                        result.message.replace("rule is passed due", "rule is skipped due").into();
                }
                return Some(result);
            }
            Err(error) if counts => return failed(&error),
            _ => {}
        }
    }
    let images = match extracted(parts, checks, subject, &scope) {
        Ok(images) => images,
        Err(error) => return failed(&error),
    };
    let all: Vec<String> = images.values().flatten().cloned().collect();
    if parts.verify_digest {
        for image in &all {
            match reference::parse(image) {
                None => {
                    let text = format!(
                        "failed to parse image reference {image}: could not parse reference: {image}"
                    );
                    emit(rule, subject, &text, image);
                    return failed(&text);
                }
                Some(r) if r.digest.is_empty() => {
                    let text = format!("image {image} does not have a digest");
                    emit(rule, subject, &text, image);
                    return Some(result(Status::Fail, text.into()));
                }
                Some(_) => {}
            }
        }
    }
    let attestors: BTreeMap<String, AttestorValue> = parts
        .attestors
        .iter()
        .map(|a| (a.name.to_string(), filled(&a.name, &a.written, &a.computed, &scope)))
        .collect();
    let registry = context.sources.registry().map(|r| for_policy(r, &parts.credentials));
    let inquiry =
        Arc::new(Inquiry::new(request.functions.external.clone(), registry, checks.clone(), attestors));
    for image in &all {
        if let Err(error) = inquiry.fetch(image) {
            emit(rule, subject, &error.to_string(), image);
            return failed(&error);
        }
    }
    let list = |images: &[String]| Value::list(images.iter().map(|i| Value::from(&**i)).collect());
    let object = |entries: Vec<(Str, Value)>| Value::Map(entries.into_iter().collect());
    root.insert("images", object(images.iter().map(|(k, v)| (Str::from(&**k), list(v))).collect()));
    let named = |name: &Str| (name.clone(), image_verification::attestor(name));
    root.insert("attestors", object(parts.attestors.iter().map(|a| named(&a.name)).collect()));
    let stated = |name: &Str| (name.clone(), Value::Str(name.clone()));
    root.insert("attestations", object(parts.attestations.iter().map(|a| stated(&a.name)).collect()));
    let whole = Value::Map(root);
    let functions = Context { external: Some(inquiry.clone()), ..functions.clone() };
    let scope = Scope::of_rule(&whole, expressions, &functions);
    let mut outcome = result(Status::Pass, expressions.wording.passed.into());
    for (i, validation) in parts.validations.iter().enumerate() {
        match scope.decides(&validation.check) {
            Ok(true) => {}
            Ok(false) => {
                outcome = result(Status::Fail, scope.message(validation, i));
                break;
            }
            Err(failure) => return failed(&failure),
        }
    }
    match annotations(expressions, &scope, &whole) {
        Ok(properties) => outcome.properties = properties,
        Err(error) => return failed(&error),
    }
    let required = if parts.required && !subject.payload { all } else { Vec::new() };
    outcome.effect =
        Some(Box::new(Effect::VerifiedImages(VerifiedImages { required, images: inquiry.verified() })));
    Some(outcome)
}

/// Emits a trace event: an image is the reason of a refusal.
fn emit(rule: &Rule, subject: &ImageSubject<'_>, text: &str, image: &str) {
    if trace::is_on() {
        let object = ["object", "oldObject"].into_iter().filter_map(|key| subject.root.get(key));
        let part = object.filter(|object| !object.is_null()).find_map(|object| part_with_text(object, image));
        trace::emit_part(&rule.origin, text, part);
    }
}

/// The first text in a value that is equal to one.
fn part_with_text<'v>(value: &'v Value, text: &str) -> Option<&'v Value> {
    stack::deep(|| match value {
        Value::Str(own) => (**own == *text).then_some(value),
        Value::Map(fields) => fields.iter().find_map(|(_, below)| part_with_text(below, text)),
        Value::List(items) => items.iter().find_map(|below| part_with_text(below, text)),
        _ => None,
    })
}

/// The images by list: those of containers and those of the policy's own extractors, as far as the
/// policy is about them.
fn extracted(
    parts: &ImageValidation,
    checks: &Result<ImageValidation, Str>,
    subject: &ImageSubject<'_>,
    scope: &Scope<'_>,
) -> Result<BTreeMap<String, Vec<String>>, ExtractionError> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    if let Some(path) = pod_spec_path(subject.kind).filter(|_| subject.kind != "ReplicationController") {
        let mut spec = match scope.root.get("object") {
            Some(object) if !object.is_null() => object,
            _ => scope.root.get("oldObject").unwrap_or(&Value::Null),
        };
        for step in path {
            spec = spec.get(step).ok_or(ExtractionError::NoKey(step))?;
        }
        for list in ["containers", "initContainers", "ephemeralContainers"] {
            let all = spec.get(list).and_then(Value::as_list).unwrap_or_default();
            let image = |c: &Value| c.get("image").cloned().ok_or(ExtractionError::NoKey("image"));
            let all: Vec<Value> = all.iter().map(image).collect::<Result<_, _>>()?;
            found.insert(list.into(), texts(&all)?);
        }
    }
    for (name, program) in &parts.extractors {
        let value = scope.value(program).map_err(ExtractionError::Expression)?;
        let all = match &value {
            Value::List(all) => texts(all)?,
            other => {
                let kind = ephor_functions::cel::native_type(other);
                return Err(ExtractionError::NoList(kind.to_string().into()));
            }
        };
        found.insert(name.to_string(), all);
    }
    for images in found.values_mut() {
        let mut matched = Vec::new();
        for image in std::mem::take(images) {
            if matches(checks, &image).map_err(ExtractionError::Expression)? {
                matched.push(image);
            }
        }
        *images = matched;
    }
    Ok(found)
}

fn texts(all: &[Value]) -> Result<Vec<String>, ExtractionError> {
    let text = |v: &Value| match v.as_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(ExtractionError::NoText(v.cel_type().into())),
    };
    all.iter().map(text).collect()
}

/// An attestor with what its expressions give in place.
fn filled(
    name: &Str,
    written: &Value,
    computed: &[(Box<[Str]>, ephor_ir::expressions::Program)],
    scope: &Scope<'_>,
) -> AttestorValue {
    let mut attestor = written.clone();
    for (path, program) in computed {
        let what = path.get(1).map_or("key", |s| &**s);
        let attestor_name = || name.clone();
        let failed = |cause| AttestorError { field: what.into(), attestor: attestor_name(), cause };
        let value = scope
            .value(program)
            .map_err(|failure| failed(AttestorFieldError::Failed { attestor: attestor_name(), failure }))?;
        let Value::Str(text) = value else {
            let found = value.cel_type().into();
            return Err(failed(AttestorFieldError::NoText { attestor: attestor_name(), found }));
        };
        let (parent, field) = match &**path {
            [_, key] if &**key == "key" => (&path[..], "data"),
            [.., last] if last.parse::<usize>().is_ok() => (&path[..], "subject"),
            _ => (&path[..], "value"),
        };
        attestor = put(&attestor, parent, field, &text);
    }
    Ok(attestor)
}

/// The value with a text under a key of the object at a path.
fn put(value: &Value, path: &[Str], field: &str, text: &Str) -> Value {
    match (value, path.split_first()) {
        (Value::Map(m), None) => {
            let mut m = m.clone();
            m.insert(field, Value::Str(text.clone()));
            Value::Map(m)
        }
        (Value::Map(m), Some((first, rest))) => {
            let mut m = m.clone();
            let inner = m.get(first).cloned().unwrap_or_default();
            m.insert(first.clone(), put(&inner, rest, field, text));
            Value::Map(m)
        }
        (Value::List(items), Some((first, rest))) => {
            let at = first.parse::<usize>().ok();
            let items = items.iter().enumerate();
            let items = items.map(|(i, v)| if Some(i) == at { put(v, rest, field, text) } else { v.clone() });
            Value::list(items.collect())
        }
        (other, _) => other.clone(),
    }
}

/// Whether every image that must be verified was verified by one of the policies: else a result
/// that would pass fails.
pub fn settle<'o>(all: impl Iterator<Item = &'o mut RuleOutcome>) {
    let mut outcomes: Vec<&mut RuleOutcome> =
        all.filter(|o| matches!(o.effect.as_deref(), Some(Effect::VerifiedImages(_)))).collect();
    let mut checked: BTreeMap<String, bool> = BTreeMap::new();
    for outcome in &outcomes {
        if let Some(Effect::VerifiedImages(own)) = outcome.effect.as_deref() {
            own.images
                .iter()
                .for_each(|(image, verified)| *checked.entry(image.clone()).or_default() |= verified);
        }
    }
    for outcome in &mut outcomes {
        let Some(Effect::VerifiedImages(own)) = outcome.effect.as_deref() else { continue };
        if outcome.status != Status::Pass {
            continue;
        }
        let why = own.required.iter().find_map(|image| match checked.get(image) {
            Some(true) => None,
            Some(false) => Some(format!("image {image} failed signature or attestation verification")),
            None => Some(format!(
                "image {image} is not verified: no policy performed a signature or attestation check on it"
            )),
        });
        if let Some(why) = why {
            outcome.status = Status::Fail;
            outcome.message = why.into();
        }
    }
}
