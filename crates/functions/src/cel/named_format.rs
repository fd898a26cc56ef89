//! Named formats: what Kubernetes requires of names and other texts.

use super::call::{Call, CallResult};
use super::cost::Charge;
use crate::regex;
use ephor_value::names::{
    is_lower_label, key_problems_of_server, old_label_problems, subdomain_problems, value_problems,
};
use ephor_value::time::Time;
use ephor_value::{Object, Value};

/// A format: its name in expressions, its name in texts, a quarter of its pattern's length, its
/// check.
struct Format {
    name: &'static str,
    shown: &'static str,
    pattern: u64,
    problems: fn(&str) -> Vec<String>,
}

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

const fn format(
    name: &'static str,
    shown: &'static str,
    pattern: u64,
    problems: fn(&str) -> Vec<String>,
) -> Format {
    Format { name, shown, pattern, problems }
}

static FORMATS: [Format; 13] = [
    format("dns1123Label", "DNS1123Label", 8, label),
    format("dns1123Subdomain", "DNS1123Subdomain", 15, subdomain),
    format("dns1035Label", "DNS1035Label", 8, old_label_problems),
    format("qualifiedName", "QualifiedName", 15, key_problems_of_server),
    format("dns1123LabelPrefix", "DNS1123LabelPrefix", 8, |t| label(&without_dash(t))),
    format("dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", 15, |t| subdomain(&without_dash(t))),
    format("dns1035LabelPrefix", "DNS1035LabelPrefix", 8, |t| old_label_problems(&without_dash(t))),
    format("labelValue", "LabelValue", 10, value_problems),
    format("uri", "URI", 276, uri),
    format("uuid", "uuid", 18, |t| problem_unless(is_uuid(t), "does not match the UUID format")),
    format("byte", "byte", 21, |t| problem_unless(is_base64(t), "invalid base64")),
    format("date", "date", 18, |t| problem_unless(is_date(t), "invalid date")),
    format("datetime", "datetime", 18, |t| problem_unless(is_datetime(t), "invalid datetime")),
];

fn problem_unless(fits: bool, text: &str) -> Vec<String> {
    if fits { Vec::new() } else { vec![text.into()] }
}

/// Names of this kind are measured in characters by the words of expressions.
fn subdomain(text: &str) -> Vec<String> {
    subdomain_problems(text).into_iter().map(|p| p.replacen("bytes", "characters", 1)).collect()
}

fn label(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 63 {
        problems.push("must be no more than 63 characters".into());
    }
    if text.contains('.') && text.split('.').all(is_lower_label) {
        problems.push("must not contain dots".into());
    } else if !is_lower_label(text) {
        problems.push(LABEL.into());
    }
    problems
}

/// A `generateName` prefix may end in a dash.
fn without_dash(text: &str) -> String {
    match text.strip_suffix('-') {
        Some(head) if head.len() + 1 > 1 => format!("{head}a"),
        _ => text.into(),
    }
}

fn uri(text: &str) -> Vec<String> {
    super::kubernetes::url_problem(text).into_iter().collect()
}

fn is_uuid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let hex = |p: &&str| p.bytes().all(|b| b.is_ascii_hexdigit());
    let bare = parts.len() == 1 && text.len() == 32;
    (bare || parts.iter().map(|p| p.len()).eq([8, 4, 4, 4, 12])) && parts.iter().all(hex)
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && Time::parse("2006-01-02", text).is_ok()
}

/// Groups of four, at least one; only the last may be padded. Bits that a padded group does not
/// need are not read.
fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    let is_digit = |b: u8| b.is_ascii_alphanumeric() || b == b'+' || b == b'/';
    !digits.is_empty() && padding <= 2 && text.len().is_multiple_of(4) && digits.bytes().all(is_digit)
}

/// A date and a time between `T`s: any character may begin the fraction, any digits are an offset,
/// and what follows a second `T` is not read.
fn is_datetime(text: &str) -> bool {
    const TIME: &str = "^([0-1][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})$";
    let text = text.to_lowercase();
    let mut parts = text.split('t');
    parts.next().is_some_and(is_date)
        && parts.next().is_some_and(|time| regex::compiled(TIME).is_ok_and(|r| r.regex.is_match(time)))
}

fn by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|f| f.name == name)
}

fn object(f: &'static Format) -> Value {
    Value::object(Object::Format(f.shown.into()))
}

/// `format.named('…')`
pub fn named(call: &Call<'_>) -> CallResult {
    Some(Ok(Value::optional(by_name(call.text(0)?).map(object))))
}

/// The function `format.<name>()`.
fn fixed(name: &str) -> CallResult {
    Some(Ok(by_name(name).map(object).unwrap_or_default()))
}

macro_rules! formats {
    ($($function:ident $name:literal)*) => {
        $(pub fn $function(_: &Call<'_>) -> CallResult {
            fixed($name)
        })*
    };
}

formats! {
    dns1123_label "dns1123Label"
    dns1123_subdomain "dns1123Subdomain"
    dns1035_label "dns1035Label"
    qualified_name "qualifiedName"
    dns1123_label_prefix "dns1123LabelPrefix"
    dns1123_subdomain_prefix "dns1123SubdomainPrefix"
    dns1035_label_prefix "dns1035LabelPrefix"
    label_value "labelValue"
    uri_format "uri"
    uuid_format "uuid"
    byte_format "byte"
    date_format "date"
    datetime_format "datetime"
}

fn of(v: &Value) -> Option<&'static Format> {
    match v {
        Value::Object(o) => match &**o {
            Object::Format(shown) => FORMATS.iter().find(|f| *f.shown == **shown),
            _ => None,
        },
        _ => None,
    }
}

/// None when the text is well-formed, else what is wrong.
pub fn validate(call: &Call<'_>) -> CallResult {
    let (format, text) = (of(call.arg(0))?, call.text(1)?);
    let problems = (format.problems)(text);
    if problems.is_empty() {
        return Some(Ok(Value::optional(None)));
    }
    Some(Ok(Value::optional(Some(Value::list(problems.into_iter().map(Value::from).collect())))))
}

/// Looks for the format's pattern in the text.
pub fn cost(c: &Charge<'_>) -> u64 {
    let Some(format) = c.args.first().copied().flatten().and_then(of) else { return 1 };
    let len = match c.args.get(1) {
        Some(Some(Value::Str(s))) => s.chars().count(),
        _ => 1,
    };
    (u64::try_from(len).unwrap_or(u64::MAX).saturating_add(1)).div_ceil(10).saturating_mul(format.pattern)
}
