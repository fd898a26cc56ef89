//! The bodies of rules: which parts go together, anchors, CEL fields.
//!
//! Semantics: section 5.8 of the policy object specification, 1.1 of the specification of validate
//! rules.

use super::generate::is_loop;
use super::subject::{ComputedRule, Finding, Outcome};
use crate::read::{Body, entries, is_unwritten, listed, member};
use ephor_value::place::{self, Path, PathPart};
use ephor_value::{Value, wildcard};

/// Where below the body something is wrong in the words of messages, what, and the place.
type BodyProblem = (String, String, Path);

const CEL_ONLY: &str = "celPrecondition can only be used with validate.cel";

/// Checks the body of a computed rule.
pub fn check(rule: &ComputedRule<'_>) -> Outcome {
    let refuse = |body: &str, (below, detail, place): BodyProblem| {
        let mut finding = Finding::path(&format!("{}.{body}.{below}.", rule.place()), detail);
        finding.path = place::parse(&format!("spec.rules[{}].{body}", rule.written));
        finding.path.extend(place);
        finding
    };
    if rule.has(Body::Mutate)
        && let Some(body) = member(rule.value, "mutate")
    {
        mutate(rule.value, body).map_err(|problem| refuse("mutate", problem))?;
    }
    if rule.has(Body::Validate)
        && let Some(body) = member(rule.value, "validate")
    {
        validate(rule.value, body).map_err(|problem| refuse("validate", problem))?;
    }
    if rule.has(Body::Generate)
        && let Some(body) = member(rule.value, "generate")
    {
        generate(body).map_err(|problem| refuse("generate", problem))?;
        if is_loop(rule.value) {
            let text = "generation kind and match resource kind should not be the same";
            return Err(Finding::at(&format!("spec.rules[{}].generate.kind", rule.written), text));
        }
    }
    Ok(())
}

fn problem<T>(below: impl Into<String>, detail: impl Into<String>) -> Result<T, BodyProblem> {
    let below = below.into();
    let place = place::parse(&below);
    Err((below, detail.into(), place))
}

/// A problem with an anchor, `part` above it.
fn below(part: String) -> impl FnOnce(BodyProblem) -> BodyProblem {
    move |(path, detail, mut place)| {
        place.splice(0..0, place::parse(&part));
        (format!("{part}.{path}"), detail, place)
    }
}

fn mutate(rule: &Value, body: &Value) -> Result<(), BodyProblem> {
    let has = |value: &Value, name: &str| member(value, name).is_some_and(|v| v.as_str() != Some(""));
    let (overlay, json) = ("patchStrategicMerge", "patchesJson6902");
    let loops = listed(body, "foreach");
    if !loops.is_empty() {
        if has(body, overlay) || has(body, json) {
            let detail = "only one of `foreach`, `patchStrategicMerge`, or `patchesJson6902` is allowed";
            return problem("foreach", detail);
        }
        return mutate_loops(loops, "");
    }
    if has(body, overlay) && has(body, json) {
        return problem("foreach", "only one of `patchStrategicMerge` or `patchesJson6902` is allowed");
    }
    if member(rule, "celPreconditions").is_some() {
        return problem("", CEL_ONLY);
    }
    Ok(())
}

fn mutate_loops(loops: &[Value], above: &str) -> Result<(), BodyProblem> {
    let has = |value: &Value, name: &str| member(value, name).is_some_and(|v| v.as_str() != Some(""));
    // The places of the entries before stay in front; the reference does the same.
    let mut place = above.to_owned();
    for (i, entry) in loops.iter().enumerate() {
        place.push_str(&format!("foreach[{i}]"));
        let patches = ["patchStrategicMerge", "patchesJson6902"].iter().filter(|name| has(entry, name));
        let patches = patches.count();
        let nested = listed(entry, "foreach");
        if !nested.is_empty() {
            let others = ["context", "preconditions"].iter().any(|name| has(entry, name));
            if patches > 0 || others {
                return problem(place, "a nested foreach cannot contain other declarations");
            }
            mutate_loops(nested, &place)?;
        } else if patches != 1 {
            return problem(place, "only one of `patchStrategicMerge` or `patchesJson6902` is allowed");
        }
    }
    Ok(())
}

/// What a validate body may consist of; one of them.
const ELEMENTS: [&str; 6] = ["pattern", "anyPattern", "deny", "foreach", "podSecurity", "cel"];

fn validate(rule: &Value, body: &Value) -> Result<(), BodyProblem> {
    let elements = ELEMENTS.iter().filter(|name| member(body, name).is_some()).count();
    let attested = body.get("manifests").is_some_and(|manifests| !listed(manifests, "attestors").is_empty());
    match elements + usize::from(attested) {
        0 => return problem("", "one of pattern, anyPattern, deny, foreach, cel must be specified"),
        1 => {}
        _ => return problem("", "only one of pattern, anyPattern, deny, foreach, cel can be specified"),
    }
    if let Some(pattern) = member(body, "pattern") {
        anchors(pattern, "/", &mut Path::new(), validate_anchor).map_err(below("pattern".to_owned()))?;
    }
    match member(body, "anyPattern") {
        Some(Value::List(patterns)) => {
            for (i, pattern) in patterns.iter().enumerate() {
                anchors(pattern, "/", &mut Path::new(), validate_anchor)
                    .map_err(below(format!("anyPattern[{i}]")))?;
            }
        }
        Some(other) => {
            let found = other.json_type();
            let detail = format!(
                "failed to deserialize anyPattern, expect array: json: cannot unmarshal {found} into Go value of type []interface {{}}"
            );
            return problem("anyPattern", detail);
        }
        None => {}
    }
    for entry in listed(body, "foreach") {
        validate_loop(entry)?;
    }
    if member(rule, "celPreconditions").is_some() && member(body, "cel").is_none() {
        return problem("", CEL_ONLY);
    }
    member(body, "cel").map_or(Ok(()), cel)
}

fn validate_loop(entry: &Value) -> Result<(), BodyProblem> {
    if entry.text_at(&["list"]).is_empty() {
        return problem("", "foreach.list is required");
    }
    let names = ["pattern", "anyPattern", "deny", "foreach"];
    match names.iter().filter(|name| member(entry, name).is_some()).count() {
        0 => problem("", "one of pattern, anyPattern, deny, or a nested foreach must be specified"),
        1 => Ok(()),
        _ => problem("", "only one of pattern, anyPattern, deny, or a nested foreach can be specified"),
    }
}

fn cel(cel: &Value) -> Result<(), BodyProblem> {
    let required = |value: &Value, name: &str, of: &str| match value.text_at(&[name]) {
        "" => problem("", format!("cel.{of}.{name} is required")),
        _ => Ok(()),
    };
    for expression in listed(cel, "expressions") {
        required(expression, "expression", "expressions")?;
    }
    let (kind, reference) = (member(cel, "paramKind"), member(cel, "paramRef"));
    if let Some(kind) = kind {
        required(kind, "apiVersion", "paramKind")?;
        required(kind, "kind", "paramKind")?;
        if reference.is_none() {
            return problem("", "cel.paramRef is required");
        }
    }
    if let Some(reference) = reference {
        if reference.text_at(&["name"]).is_empty() == member(reference, "selector").is_none() {
            return problem("", "one of cel.paramRef.name or cel.paramRef.selector must be set");
        }
        required(reference, "parameterNotFoundAction", "paramRef")?;
        if kind.is_none() {
            return problem("", "cel.paramKind is required");
        }
    }
    for annotation in listed(cel, "auditAnnotations") {
        required(annotation, "key", "auditAnnotation")?;
        required(annotation, "valueExpression", "auditAnnotation")?;
    }
    Ok(())
}

fn generate(body: &Value) -> Result<(), BodyProblem> {
    let selector = body.at(&["cloneList", "selector"]).filter(|selector| !is_unwritten(selector));
    let is_wild = |text: &str| wildcard::has_wildcard(text);
    let wild = selector.is_some_and(|selector| {
        entries(selector, "matchLabels").any(|(k, v)| is_wild(k) || v.as_str().is_some_and(is_wild))
    });
    if wild {
        return problem("selector", "wildcard characters `*/?` not supported");
    }
    let refuse = |key: &str, _: &Value| {
        Some(format!("anchors not supported on generate resources: unsupported anchor {key}"))
    };
    member(body, "data")
        .map_or(Ok(()), |data| anchors(data, "/", &mut Path::new(), refuse).map_err(below("data".to_owned())))
}

/// Reads the anchors of a pattern, keys in ascending order, and gives the first one that `judge`
/// objects to. The index of a list item follows the path of its list without a separator.
fn anchors(
    pattern: &Value,
    path: &str,
    at: &mut Path,
    judge: fn(&str, &Value) -> Option<String>,
) -> Result<(), BodyProblem> {
    match pattern {
        Value::Map(fields) => {
            for (key, value) in fields.sorted() {
                let place = format!("{path}/{key}");
                at.push(PathPart::Key(key.clone()));
                if modifier(key).is_some()
                    && let Some(detail) = judge(key, value)
                {
                    return Err((place, detail, at.clone()));
                }
                anchors(value, &place, at, judge)?;
                at.pop();
            }
        }
        Value::List(items) => {
            for (index, item) in items.iter().enumerate() {
                at.push(PathPart::Index(index));
                anchors(item, &format!("{path}{index}/"), at, judge)?;
                at.pop();
            }
        }
        _ => {}
    }
    Ok(())
}

fn validate_anchor(key: &str, value: &Value) -> Option<String> {
    match (modifier(key)?, value) {
        ("+", _) => Some(format!("unsupported anchor {key}")),
        ("^", Value::List(items)) if items.is_empty() => {
            Some("existence anchor: should have at least one value".to_owned())
        }
        ("^", Value::List(_)) => None,
        ("^", _) => Some("existence anchor should have value of type list".to_owned()),
        _ => None,
    }
}

/// The modifier of an anchored key, empty for a plain one; `None` for other keys.
fn modifier(key: &str) -> Option<&str> {
    let key = key.trim();
    let inner = key.strip_prefix(['+', '<', '=', 'X', '^']).unwrap_or(key);
    let is_anchor =
        inner.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')).is_some_and(|k| !k.is_empty());
    is_anchor.then(|| key.get(..key.len() - inner.len()).unwrap_or(""))
}
