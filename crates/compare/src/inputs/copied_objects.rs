//! The object that a lookup of a rule copies.
//!
//! In: an API call of a rule that generates objects. Out: the object or the list that it names,
//! where that is known before there is a request.

use std::collections::BTreeMap;

use ephor_ir::Template;
use ephor_ir::generate::Described;
use ephor_value::{Str, Value};

use crate::model::unsupported::Unsupported;
use crate::model::world::Copied;

/// The constant member of a description.
pub(crate) fn member<'t>(template: &'t Template, name: &str) -> Option<&'t Template> {
    let Template::Object(pairs) = template else { return None };
    let is_it = |(key, _): &&(Template, Template)| key.as_const().and_then(Value::as_str) == Some(name);
    pairs.iter().find(is_it).map(|(_, value)| value)
}

pub(crate) fn constant(template: &Template, name: &str) -> Option<Value> {
    match template {
        Template::Const(value) => value.get(name).cloned(),
        other => member(other, name)?.as_const().cloned(),
    }
}

/// Whether a description has a member, or may have it.
pub(crate) fn may_have(template: &Template, name: &str) -> bool {
    match template {
        Template::Const(value) => value.get(name).is_some(),
        Template::Object(pairs) => {
            pairs.iter().any(|(key, _)| key.as_const().is_none_or(|key| key.as_str() == Some(name)))
        }
        _ => true,
    }
}

/// Group, version and kind.
pub(crate) fn kind_of(api_version: &str, kind: &str) -> Option<[Str; 3]> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    (!version.is_empty() && !kind.is_empty()).then(|| [group, version, kind].map(Str::from))
}

/// The objects that a description copies; none where it has data of its own.
///
/// # Errors
/// They are not known.
pub(crate) fn copied_by(described: &Described) -> Result<Vec<Copied>, Unsupported> {
    let template = &described.template;
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(Str::from);
    match ["clone", "cloneList"].map(|name| may_have(template, name)) {
        [false, false] => Ok(Vec::new()),
        [true, false] => {
            let one = || {
                let source = constant(template, "clone")?;
                let [api_version, kind] = ["apiVersion", "kind"].map(|name| constant(template, name));
                Some(Copied {
                    kind: kind_of(api_version?.as_str()?, kind?.as_str()?)?,
                    namespace: text(source.get("namespace")).unwrap_or_default(),
                    name: Some(text(source.get("name"))?),
                    labels: BTreeMap::new(),
                })
            };
            one().map(|one| vec![one]).ok_or(Unsupported::UnknownSource)
        }
        [false, true] => {
            let all = || {
                let source = constant(template, "cloneList")?;
                let namespace = text(source.get("namespace"))?;
                let labels = labels_of(source.get("selector"))?;
                let kinds = source.get("kinds").and_then(Value::as_list)?;
                let of = |written: &Value| {
                    let (api_version, kind) = written.as_str()?.rsplit_once('/')?;
                    let (namespace, labels) = (namespace.clone(), labels.clone());
                    Some(Copied { kind: kind_of(api_version, kind)?, namespace, name: None, labels })
                };
                kinds.iter().map(of).collect::<Option<Vec<_>>>()
            };
            all().ok_or(Unsupported::UnknownSource)
        }
        [true, true] => Err(Unsupported::UnknownSource),
    }
}

/// The labels that a selector wants, where it wants nothing else.
pub(crate) fn labels_of(selector: Option<&Value>) -> Option<BTreeMap<Str, Str>> {
    let Some(selector) = selector.filter(|selector| !selector.is_null()) else {
        return Some(BTreeMap::new());
    };
    let fields = selector.as_map()?;
    let labels = fields.get("matchLabels").and_then(Value::as_map)?;
    let of = |(key, value): (&Str, &Value)| {
        let text = value.as_str().filter(|text| !text.contains(['*', '?']) && !key.contains(['*', '?']))?;
        Some((key.clone(), text.into()))
    };
    labels.iter().map(of).collect::<Option<_>>().filter(|_| fields.len() == 1)
}
