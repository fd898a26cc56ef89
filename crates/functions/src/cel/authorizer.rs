//! The authorizer: questions put together step by step, and answers.

use super::call::{Call, CallResult, fault, success};
use ephor_value::object::{About, Check, Decision};
use ephor_value::{Object, Str, Value};

fn check<'a>(call: &Call<'a>, about: About) -> Option<&'a Check> {
    match call.arg(0) {
        Value::Object(o) => match &**o {
            Object::Check(c) if c.about == about => Some(c),
            _ => None,
        },
        _ => None,
    }
}

fn checked(check: Check) -> CallResult {
    Some(Ok(Value::object(Object::Check(check))))
}

pub fn path(call: &Call<'_>) -> CallResult {
    let (from, path) = (check(call, About::Anything)?, call.text(1)?);
    if path.trim().is_empty() {
        return fault("path must not be empty");
    }
    checked(Check { about: About::Path, path: path.into(), ..from.clone() })
}

pub fn group(call: &Call<'_>) -> CallResult {
    let (from, group) = (check(call, About::Anything)?, call.text(1)?);
    checked(Check { about: About::Group, group: group.into(), ..from.clone() })
}

fn is_label(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    !text.is_empty()
        && text.len() <= 63
        && text.bytes().all(|b| inner(b) || b == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

pub fn service_account(call: &Call<'_>) -> CallResult {
    let (from, namespace, name) = (check(call, About::Anything)?, call.text(1)?, call.text(2)?);
    if !(name.len() <= 253 && name.split('.').all(is_label)) {
        return fault("Invalid service account name");
    }
    if !is_label(namespace) {
        return fault("Invalid service account namespace");
    }
    checked(Check { service_account: Some((namespace.into(), name.into())), ..from.clone() })
}

pub fn resource(call: &Call<'_>) -> CallResult {
    let (from, resource) = (check(call, About::Group)?, call.text(1)?);
    if resource.trim().is_empty() {
        return fault("resource must not be empty");
    }
    checked(Check { about: About::Resource, resource: resource.into(), ..from.clone() })
}

fn with(call: &Call<'_>, set: fn(&mut Check, Str)) -> CallResult {
    let mut changed = check(call, About::Resource)?.clone();
    set(&mut changed, call.text(1)?.into());
    checked(changed)
}

pub fn subresource(call: &Call<'_>) -> CallResult {
    with(call, |c, v| c.subresource = v)
}

pub fn namespace(call: &Call<'_>) -> CallResult {
    with(call, |c, v| c.namespace = v)
}

pub fn name(call: &Call<'_>) -> CallResult {
    with(call, |c, v| c.name = v)
}

pub fn field_selector(call: &Call<'_>) -> CallResult {
    with(call, |c, v| c.fields = v)
}

pub fn label_selector(call: &Call<'_>) -> CallResult {
    with(call, |c, v| c.labels = v)
}

pub fn decide(call: &Call<'_>) -> CallResult {
    let about = check(call, About::Resource).or_else(|| check(call, About::Path))?;
    let verb = call.text(1)?;
    crate::untracked::note();
    let decision = match &call.cx.authorizer {
        Some(authorizer) => authorizer.decide(about, verb),
        None => Decision::default(),
    };
    Some(Ok(Value::object(Object::Decision(decision))))
}

fn decision<'a>(call: &Call<'a>) -> Option<&'a Decision> {
    match call.arg(0) {
        Value::Object(o) => match &**o {
            Object::Decision(d) => Some(d),
            _ => None,
        },
        _ => None,
    }
}

pub fn allowed(call: &Call<'_>) -> CallResult {
    success(decision(call)?.allowed)
}

pub fn reason(call: &Call<'_>) -> CallResult {
    success(&*decision(call)?.reason)
}

pub fn errored(call: &Call<'_>) -> CallResult {
    success(!decision(call)?.error.is_empty())
}

pub fn error(call: &Call<'_>) -> CallResult {
    success(&*decision(call)?.error)
}
