//! Copies of objects, and objects for the elements of lists → expressions that hand them over.
//!
//! In: `clone`, `cloneList` or `foreach` of a generate rule as written. Out: calls of
//! `generator.Apply`. A copy under another name is written out field by field, as the schema names
//! them; with the version of its source it follows it. Semantics: `docs/semantics/generate.md`,
//! `docs/semantics/cel-policies.md`, "Generation".

use std::sync::Arc;

use ephor_ir::generate::Generation;
use ephor_ir::rule::Body as RuleBody;
use ephor_ir::{Origin, Rule};
use ephor_kubernetes::Kinds;
use ephor_lower::matcher::selector;
use ephor_lower::template::text;
use ephor_value::{Str, Value, print, wildcard};

use crate::cel::laid_out;
use crate::constraints::cel::{all, literal, selects};
use crate::expressions::context::Context;
use crate::expressions::each::{InLoop, Reading};
use crate::expressions::outer_variables;
use crate::expressions::refusal::{Refusal, Result};
use crate::kinds::generating;
use crate::kinds::shared::Fill;
use crate::model::draft::GeneratedBody;

struct Copy<'c> {
    /// `generate`, or an item of its `foreach`.
    own: &'c Value,
    origin: &'c Origin,
    context: &'c Context,
    fill: Fill<'c>,
}

/// The expression that hands over a copy, or copies, of objects.
pub fn copy(own: &Value, origin: &Origin, context: &Context, fill: Fill<'_>) -> Result<String> {
    Copy { own, origin, context, fill }.expression().map(|text| laid_out(&text))
}

/// Whether a copy is another object than its source, where it may be the same: that one is not
/// generated.
pub fn is_another(written: &Value, context: &Context, fill: Fill<'_>) -> Result<Option<String>> {
    let part = |path: &[&str]| written.at(&["generate"]).map_or("", |own| own.text_at(path));
    let mut tests = Vec::new();
    let pairs =
        match ["clone", "cloneList"].map(|key| !written.at(&["generate", key]).is_none_or(Value::is_null)) {
            [true, _] => vec![
                (part(&["namespace"]), part(&["clone", "namespace"])),
                (part(&["name"]), part(&["clone", "name"])),
            ],
            [_, true] => vec![(part(&["namespace"]), part(&["cloneList", "namespace"]))],
            _ => return Ok(None),
        };
    for (target, source) in pairs.into_iter().filter(|(target, source)| target != source) {
        let pattern = |text: &str| {
            let mut all = text.to_string();
            for variable in outer_variables(text).into_iter().rev() {
                all.replace_range(variable, "*");
            }
            all
        };
        let may_be_same = match [target, source].map(|text| text.contains("{{")) {
            [true, true] => true,
            [true, false] => wildcard::matches(&pattern(target), source),
            [false, true] => wildcard::matches(&pattern(source), target),
            [false, false] => false,
        };
        if !may_be_same || context.namespace.is_some() {
            return Ok(None);
        }
        tests.push(format!("{} != {}", fill(target)?, fill(source)?));
    }
    Ok((!tests.is_empty()).then(|| tests.join(" || ")))
}

impl Copy<'_> {
    fn refuse(&self, construct: &str, nearest: &str, key: &str) -> Refusal {
        Refusal::new(construct, self.origin.key(key), nearest)
    }

    fn part(&self, key: &str) -> &str {
        self.own.text_at(&[key])
    }

    fn expression(&self) -> Result<String> {
        let given = |key: &str| self.own.get(key).filter(|v| !v.is_null());
        let objects = match (given("data"), given("clone"), given("cloneList")) {
            (Some(data), ..) => format!("[{}]", self.data(data)?),
            (None, Some(clone), _) => format!("[{}]", self.one(clone)?),
            (None, None, Some(list)) => self.several(list)?,
            (None, None, None) => {
                return Err(self.refuse(
                    "a generate rule without data",
                    "write `data`, `clone` or `cloneList`",
                    "",
                ));
            }
        };
        Ok(match self.context.namespace {
            Some(_) => format!("generator.Apply({objects})"),
            None => format!("generator.Apply({}, {objects})", (self.fill)(self.part("namespace"))?),
        })
    }

    /// A call that reads objects.
    fn read(
        &self,
        function: &str,
        api_version: &str,
        plural: &str,
        namespace: &str,
        last: Option<&str>,
    ) -> Result<String> {
        let mut args = vec![literal(api_version), literal(plural)];
        if self.context.namespace.is_none() {
            args.push((self.fill)(namespace)?);
        }
        args.extend(last.map(ToString::to_string));
        Ok(format!("resource.{function}({})", args.join(", ")))
    }

    /// The object that `clone` names, under its new name.
    fn one(&self, clone: &Value) -> Result<String> {
        let (api_version, kind) = (self.part("apiVersion"), self.part("kind"));
        if [api_version, kind].iter().any(|text| text.contains("{{")) {
            return Err(self.refuse("a variable in the kind of a copy", "write the kind", "kind"));
        }
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let plural = Kinds::built_in().plural_of(group, version, kind).to_string();
        let (name, source) = (self.part("name"), clone.text_at(&["name"]));
        let read = self.read(
            "Get",
            api_version,
            &plural,
            clone.text_at(&["namespace"]),
            Some(&(self.fill)(source)?),
        )?;
        if name == source {
            return Ok(read);
        }
        let id: [Str; 3] = [group.into(), version.into(), kind.into()];
        let Some(def) = self.context.types.of_kind(&id) else {
            return Err(self.refuse("a copy under another name, of a kind without a schema", "name the copy as its source, or write its fields under `data`: CEL cannot rename what it has no fields of", "clone"));
        };
        let object = "source";
        let fields = def.fields.iter().map(|field| field.name.to_string());
        let fields =
            fields.filter(|field| !matches!(field.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
        let others = fields.map(|field| format!(", ?{}: {object}.?{field}", literal(&field)));
        let metadata = format!(
            "{{'name': {}, 'uid': {object}.metadata.uid, 'resourceVersion': {object}.metadata.resourceVersion, \
             ?'labels': {object}.metadata.?labels, ?'annotations': {object}.metadata.?annotations}}",
            (self.fill)(name)?
        );
        let copy = format!(
            "{{'apiVersion': {}, 'kind': {}, 'metadata': {metadata}{}}}",
            literal(api_version),
            literal(kind),
            others.collect::<String>()
        );
        Ok(format!("cel.bind({object}, dyn({read}), {copy})"))
    }

    /// The objects that `cloneList` selects, as a list.
    fn several(&self, list: &Value) -> Result<String> {
        let namespace = list.text_at(&["namespace"]);
        if namespace == self.part("namespace") {
            return Err(Refusal::new(
                "copies in the namespace of their sources, of which the old rule generates none",
                self.origin.key("cloneList"),
                "leave the rule out",
            ));
        }
        let selected = list.get("selector").filter(|v| !v.is_null()).and_then(selector);
        let labels = selected.as_ref().map(|s| &s.labels[..]).unwrap_or_default();
        let is_exact = selected.as_ref().is_none_or(|s| s.expressions.is_empty());
        if labels.iter().any(|(key, value)| [key, value].iter().any(|text| text.contains("{{"))) {
            return Err(self.refuse(
                "a variable in the selector of a list of copies",
                "write the labels: a list of the API is selected by constants",
                "cloneList",
            ));
        }
        let pairs: Vec<String> =
            labels.iter().map(|(key, value)| format!("{}: {}", literal(key), literal(value))).collect();
        let pairs = (is_exact && !pairs.is_empty()).then(|| format!("{{{}}}", pairs.join(", ")));
        let mut out = Vec::new();
        for kind in list.get("kinds").and_then(Value::as_list).unwrap_or_default() {
            let written = kind.as_str().unwrap_or_default();
            let parts: Vec<&str> = written.split('/').collect();
            let (group, version, kind) = match parts.as_slice() {
                [group, version, kind] => (*group, *version, *kind),
                [version, kind] => ("", *version, *kind),
                _ => {
                    return Err(self.refuse(
                        "a kind without a version in a list of copies",
                        "write `group/version/kind`",
                        "cloneList",
                    ));
                }
            };
            let plural = Kinds::built_in().plural_of(group, version, kind).to_string();
            let api_version =
                if group.is_empty() { version.to_string() } else { format!("{group}/{version}") };
            let read = self.read("List", &api_version, &plural, namespace, pairs.as_deref())?;
            out.push(match selected.as_ref().filter(|_| !is_exact) {
                None => read,
                Some(selector) => {
                    let tests = all(&selects("item.metadata.?labels", selector));
                    return Ok(format!("dyn({read}).items.filter(item, {tests})"));
                }
            });
        }
        match out.is_empty() {
            true => Err(self.refuse("a list of copies without kinds", "name the kinds", "cloneList")),
            false => Ok(format!("[{}]", out.join(", "))),
        }
    }

    /// An object with its data, as a literal.
    fn data(&self, data: &Value) -> Result<String> {
        let object = generating::object(data, &|key| self.own.get(key).filter(|v| !v.is_null()));
        self.literal(&object)
    }

    fn literal(&self, value: &Value) -> Result<String> {
        Ok(match value {
            Value::Str(text) if text.contains("{{") => (self.fill)(text)?,
            Value::Str(text) => literal(text),
            Value::List(items) => {
                let items: Result<Vec<String>> = items.iter().map(|item| self.literal(item)).collect();
                format!("[{}]", items?.join(", "))
            }
            Value::Map(fields) => {
                let one = |(key, value): (&Str, &Value)| {
                    let key = if key.contains("{{") { (self.fill)(key)? } else { literal(key) };
                    Ok(format!("{key}: {}", self.literal(value)?))
                };
                let fields: Result<Vec<String>> = fields.iter().map(one).collect();
                format!("{{{}}}", fields?.join(", "))
            }
            scalar => print::json(scalar),
        })
    }
}

/// Expressions that hand over objects for the elements of lists.
pub fn loops(written: &Value, rule: &Rule, context: &Context) -> Result<Vec<GeneratedBody>> {
    let list = written.at(&["generate", "foreach"]).and_then(Value::as_list).unwrap_or_default();
    let RuleBody::Generate(body) = &rule.body else { return Ok(Vec::new()) };
    let Generation::ForEach(all) = &**body else { return Ok(Vec::new()) };
    let mut out = Vec::new();
    for (own, written) in all.iter().zip(list) {
        let names: Arc<[Str]> =
            rule.bindings.iter().chain(own.bindings.iter()).map(|b| b.name.clone()).collect();
        let reads_position = written.any_text(&|text| text.contains("elementIndex"));
        let reading = if reads_position { Reading::Positioned } else { Reading::Named };
        let mut each = InLoop::new(rule, context, reading);
        let text = each.within(&own.list, &own.bindings, &own.origin, &mut |each, entered| {
            let test = own.admit.as_ref().map(|admit| each.holds(admit)).transpose()?;
            let each = std::cell::RefCell::new(each);
            let fill = |written: &str| each.borrow_mut().value(&text(&written.into(), &names));
            let handed = Copy { own: written, origin: &own.origin, context, fill: &fill }.expression()?;
            let (over, var) = match reading {
                Reading::Named => (entered.list.clone(), &entered.var),
                Reading::Positioned => (format!("lists.range({}.size())", entered.list), &entered.position),
            };
            let over = match test {
                Some(test) if test != "true" => format!("{over}.filter({var}, {test})"),
                _ => over,
            };
            Ok(format!("{over}.all({var}, {handed})"))
        })?;
        out.push(GeneratedBody::Expression(laid_out(&text)));
    }
    Ok(out)
}
