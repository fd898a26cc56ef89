//! Kubernetes' own types: URLs, quantities, versions.

use super::call::{Call, CallResult, fault, success};
use ephor_value::quantity::Quantity;
use ephor_value::quote::quote;
use ephor_value::semver::Version;
use ephor_value::url::{UrlParts, split, split_request, unescaped_query};
use ephor_value::{Map, Object, Value};

/// What is wrong with a text that should be a URL: an absolute one, or an absolute path.
pub fn url_problem(text: &str) -> Option<String> {
    split_request(text).err().map(|why| format!("parse {}: {why}", quote(text)))
}

pub(crate) fn url(call: &Call<'_>) -> CallResult {
    let text = call.text(0)?;
    // It is read a second time, with a fragment.
    match split_request(text).and_then(|_| split(text)) {
        Ok(parts) => Some(Ok(Value::object(Object::Url(parts.to_string().into())))),
        Err(why) => {
            fault(format!("URL parse error during conversion from string: parse {}: {why}", quote(text)))
        }
    }
}

pub(crate) fn is_url(call: &Call<'_>) -> CallResult {
    success(url_problem(call.text(0)?).is_none())
}

fn url_part(call: &Call<'_>, of: fn(&UrlParts<'_>) -> Value) -> CallResult {
    match call.arg(0) {
        Value::Object(o) => match &**o {
            Object::Url(text) => Some(Ok(split(text).map(|p| of(&p)).unwrap_or_default())),
            _ => None,
        },
        _ => None,
    }
}

pub(crate) fn scheme(call: &Call<'_>) -> CallResult {
    url_part(call, |p| Value::from(p.scheme.to_ascii_lowercase()))
}

pub(crate) fn host(call: &Call<'_>) -> CallResult {
    url_part(call, |p| Value::from(&*p.host))
}

pub(crate) fn hostname(call: &Call<'_>) -> CallResult {
    url_part(call, |p| Value::from(&*p.host_name))
}

pub(crate) fn port(call: &Call<'_>) -> CallResult {
    url_part(call, |p| {
        let tail = match p.host.rfind(']') {
            Some(at) => p.host.get(at + 1..).unwrap_or_default(),
            None => &*p.host,
        };
        Value::from(tail.rsplit_once(':').map_or("", |(_, port)| port))
    })
}

pub(crate) fn path(call: &Call<'_>) -> CallResult {
    url_part(call, |p| Value::from(&*p.escaped_path))
}

pub(crate) fn query(call: &Call<'_>) -> CallResult {
    url_part(call, |p| {
        let mut all = Map::new();
        for pair in p.query.unwrap_or_default().split('&') {
            if pair.is_empty() || pair.contains(';') {
                continue;
            }
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Some(key), Some(value)) = (unescaped_query(key), unescaped_query(value)) else { continue };
            let mut values = all.get(&key).and_then(Value::as_list).unwrap_or_default().to_vec();
            values.push(Value::from(value));
            all.insert(key, Value::list(values));
        }
        Value::Map(all)
    })
}

fn quantity_arg<'a>(call: &Call<'a>, at: usize) -> Option<&'a Quantity> {
    match call.arg(at) {
        Value::Object(o) => match &**o {
            Object::Quantity(q) => Some(q),
            _ => None,
        },
        _ => None,
    }
}

const FORM: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// Why a text is no quantity.
fn quantity_problem(text: &str) -> &'static str {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = |t: &str| t.bytes().take_while(u8::is_ascii_digit).count();
    let mut rest = unsigned.get(digits(unsigned)..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix('.') {
        rest = fraction.get(digits(fraction)..).unwrap_or_default();
    }
    let letters = rest.bytes().take_while(|b| b"eEinumkKMGTP".contains(b)).count();
    let tail = rest.get(letters..).unwrap_or_default();
    let exponent = tail.strip_prefix(['+', '-']).unwrap_or(tail);
    if text.is_empty() || digits(exponent) < exponent.len() {
        return FORM;
    }
    if Quantity::parse(&format!("0{rest}")).is_none() {
        return "unable to parse quantity's suffix";
    }
    "unable to parse numeric part of quantity"
}

pub(crate) fn quantity(call: &Call<'_>) -> CallResult {
    let Value::Str(text) = call.arg(0) else { return None };
    match Quantity::written(text) {
        Some(q) => Some(Ok(Value::object(Object::Quantity(q)))),
        None => fault(quantity_problem(text)),
    }
}

pub(crate) fn is_quantity(call: &Call<'_>) -> CallResult {
    success(Quantity::parse(call.text(0)?).is_some())
}

fn ordered(call: &Call<'_>) -> Option<std::cmp::Ordering> {
    match (quantity_arg(call, 0), quantity_arg(call, 1)) {
        (Some(a), Some(b)) => Some(a.cmp(b)),
        _ => Some(version_arg(call, 0)?.cmp(version_arg(call, 1)?)),
    }
}

pub(crate) fn is_less_than(call: &Call<'_>) -> CallResult {
    success(ordered(call)?.is_lt())
}

pub(crate) fn is_greater_than(call: &Call<'_>) -> CallResult {
    success(ordered(call)?.is_gt())
}

pub(crate) fn compare_to(call: &Call<'_>) -> CallResult {
    success(ordered(call)? as i64)
}

pub(crate) fn sign(call: &Call<'_>) -> CallResult {
    success(quantity_arg(call, 0)?.sign() as i64)
}

pub(crate) fn approximate_float(call: &Call<'_>) -> CallResult {
    let quantity = quantity_arg(call, 0)?;
    match integer(call, quantity) {
        // Shorter numbers are the same either way.
        Some(n) if quantity.as_integer().is_none() => success(n as f64),
        _ => success(quantity.approx()),
    }
}

/// The integer that a quantity is taken for.
fn integer(call: &Call<'_>, quantity: &Quantity) -> Option<i64> {
    match call.cx.cel_level.rules().has_whole_integer_quantities {
        true => quantity.as_whole_integer(),
        false => quantity.as_integer(),
    }
}

pub(crate) fn as_integer(call: &Call<'_>) -> CallResult {
    match integer(call, quantity_arg(call, 0)?) {
        Some(n) => success(n),
        None => fault("cannot convert value to integer"),
    }
}

pub(crate) fn is_integer(call: &Call<'_>) -> CallResult {
    success(integer(call, quantity_arg(call, 0)?).is_some())
}

fn combined(call: &Call<'_>, with: fn(&Quantity, &Quantity) -> Option<Quantity>) -> CallResult {
    let left = quantity_arg(call, 0)?;
    let right = match call.arg(1) {
        Value::Int(n) => left.with_value(*n),
        _ => quantity_arg(call, 1)?.clone(),
    };
    match with(left, &right) {
        Some(q) => Some(Ok(Value::object(Object::Quantity(q.into_computed())))),
        None => fault("quantity overflow"),
    }
}

pub(crate) fn add(call: &Call<'_>) -> CallResult {
    combined(call, Quantity::add)
}

pub(crate) fn sub(call: &Call<'_>) -> CallResult {
    // The least integer is its own negative.
    let least = matches!(call.arg(1), Value::Int(i64::MIN));
    combined(call, if least { Quantity::add } else { Quantity::sub })
}

fn version_arg<'a>(call: &Call<'a>, at: usize) -> Option<&'a Version> {
    match call.arg(at) {
        Value::Object(o) => match &**o {
            Object::Semver(v) => Some(v),
            _ => None,
        },
        _ => None,
    }
}

/// Why a text is no version.
#[derive(Debug, thiserror::Error)]
enum VersionError {
    #[error("short version cannot contain PreRelease/Build meta data")]
    Short,
    /// In the words of the reader of versions.
    #[error("{0}")]
    Invalid(Box<str>),
}

/// A version that is written in full.
fn parsed_version(text: &str) -> Result<Version, VersionError> {
    Version::parse(text).map_err(|error| VersionError::Invalid(error.to_string().into()))
}

/// A short or prefixed version in full.
fn normalised(text: &str) -> Result<String, VersionError> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let trimmed = |part: &str| {
        let bare = part.trim_start_matches('0');
        // A zero that stands alone, or before what is no number, stays.
        if part.len() > 1 {
            if bare.bytes().next().is_some_and(|b| b.is_ascii_digit()) {
                bare.into()
            } else {
                format!("0{bare}")
            }
        } else {
            part.to_string()
        }
    };
    let mut parts: Vec<String> = text.splitn(3, '.').map(trimmed).collect();
    if parts.len() < 3 {
        if parts.last().is_some_and(|p| p.contains(['+', '-'])) {
            return Err(VersionError::Short);
        }
        while parts.len() < 3 {
            parts.push("0".into());
        }
    }
    Ok(parts.join("."))
}

fn read_version(call: &Call<'_>) -> Option<Result<Version, VersionError>> {
    let text = call.text(0)?;
    let normalise = match call.args.len() {
        1 => false,
        _ => call.arg(1).as_bool()?,
    };
    Some(if normalise { normalised(text).and_then(|t| parsed_version(&t)) } else { parsed_version(text) })
}

pub(crate) fn semver(call: &Call<'_>) -> CallResult {
    match read_version(call)? {
        Ok(v) => Some(Ok(Value::object(Object::Semver(v)))),
        Err(e) => fault(e.to_string()),
    }
}

pub(crate) fn is_semver(call: &Call<'_>) -> CallResult {
    success(read_version(call)?.is_ok())
}

fn number(n: u64) -> CallResult {
    success(i64::try_from(n).unwrap_or(i64::MAX))
}

pub(crate) fn major(call: &Call<'_>) -> CallResult {
    number(version_arg(call, 0)?.numbers()[0])
}

pub(crate) fn minor(call: &Call<'_>) -> CallResult {
    number(version_arg(call, 0)?.numbers()[1])
}

pub(crate) fn patch(call: &Call<'_>) -> CallResult {
    number(version_arg(call, 0)?.numbers()[2])
}
