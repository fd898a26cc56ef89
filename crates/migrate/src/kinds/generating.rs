//! Generate rules → GeneratingPolicies.
//!
//! In: a rule as it is written. Out: a draft with a template of each object, in which variables are
//! placeholders `(( … ))` of CEL, or with an expression that copies an object. Semantics:
//! `docs/semantics/generate.md` and `docs/semantics/cel-policies.md`.
//!
//! - `copies`: copies of objects, and objects for the elements of lists → expressions that hand
//!   them over

pub(crate) mod copies;

use ephor_ir::Rule;
use ephor_value::{Map as Fields, Value};

use crate::expressions::context::Context;
use crate::expressions::converted::NamedExpression;
use crate::expressions::outer_variables;
use crate::expressions::refusal::{Refusal, Result};
use crate::kinds::shared;
use crate::kinds::shared::preconditions;
use crate::model::draft::{Draft, GenerateFlags, GeneratedBody, GeneratedDraft};
use crate::model::migrated::Document;
use crate::model::original::NewMetadata;
use crate::model::source::Source;
use crate::text::{Map, Node, write};

/// The draft of a generate rule.
pub fn draft(source: &Source<'_>, at: usize, rule: &Rule, context: &Context) -> Result<Draft> {
    let written = source.written(at, rule);
    let origin = rule.origin.key("generate");
    let refuse = |what: &str, nearest: &str, key: &str| Refusal::new(what, origin.key(key), nearest);
    let part = |key: &str| written.at(&["generate", key]).filter(|v| !v.is_null());
    let filled = FilledObject { rule, context };
    let bodies = match (part("data"), part("clone"), part("cloneList")) {
        _ if part("foreach").is_some() => copies::loops(&written, rule, context)?,
        (Some(data), ..) => vec![filled.data(data, &part)?],
        (None, None, None) => {
            return Err(refuse("a generate rule without data", "write `data`, `clone` or `cloneList`", ""));
        }
        _ => vec![GeneratedBody::Expression(copies::copy(
            written.get("generate").unwrap_or(&Value::Null),
            &origin,
            context,
            &|text| filled.text(text),
        )?)],
    };
    let flag = |key: &str| part(key).and_then(Value::as_bool);
    let of_policy = |key: &str| source.document.at(&["spec", key]).and_then(Value::as_bool);
    let flags = GenerateFlags {
        synchronize: flag("synchronize").unwrap_or_default(),
        existing: flag("generateExisting").or_else(|| of_policy("generateExisting")).unwrap_or_default(),
        orphan: flag("orphanDownstreamOnPolicyDelete").unwrap_or_default(),
    };
    let mut comments = source.original.comments(&format!("spec.rules[{at}]"));
    comments.push(format!("# from {}", source.original.short_place(&origin.path)));
    let one = |body| GeneratedDraft { comments: std::mem::take(&mut comments), body, flags };
    let mut draft = Draft {
        rules: vec![(at, rule.name.to_string())],
        generated: bodies.into_iter().map(one).collect(),
        ..Draft::default()
    };
    let converted = preconditions(&written, None, at, context)?;
    (draft.conditions, draft.variables) = (converted.conditions, converted.variables);
    if let Some(expression) = copies::is_another(&written, context, &|text| filled.text(text))? {
        draft.conditions.push(NamedExpression::converted("another-object", expression));
    }
    Ok(draft)
}

struct FilledObject<'f> {
    rule: &'f Rule,
    context: &'f Context,
}

impl FilledObject<'_> {
    /// An object of its own: the data below what names it.
    fn data<'v>(&self, data: &Value, part: &dyn Fn(&str) -> Option<&'v Value>) -> Result<GeneratedBody> {
        let filled = self.value(&object(data, part))?;
        Ok(GeneratedBody::Template(write(&Node::of(&filled), 0)))
    }

    /// A text as an expression.
    fn text(&self, written: &str) -> Result<String> {
        shared::filled(written, self.rule, self.context)
    }

    /// A document with placeholders for variables.
    fn value(&self, v: &Value) -> Result<Value> {
        Ok(match v {
            Value::Str(text) => Value::from(self.placeholders(text)?),
            Value::List(items) => {
                let items: Result<Vec<Value>> = items.iter().map(|item| self.value(item)).collect();
                Value::list(items?)
            }
            Value::Map(fields) => {
                let mut out = Fields::new();
                for (key, value) in fields.iter() {
                    if key.contains("{{") {
                        return Err(Refusal::new(
                            "a variable in a key",
                            self.rule.origin.key("generate"),
                            "write the key: keys of an object in CEL that is generated are constants",
                        ));
                    }
                    out.insert(key.clone(), self.value(value)?);
                }
                Value::Map(out)
            }
            other => other.clone(),
        })
    }

    fn placeholders(&self, written: &str) -> Result<String> {
        let literal = |text: &str| text.replace("((", "\\((");
        let mut out = String::new();
        let mut from = 0;
        for hole in outer_variables(written) {
            out.push_str(&literal(written.get(from..hole.start).unwrap_or_default()));
            let expression = self.text(written.get(hole.clone()).unwrap_or_default())?;
            out.push_str(&format!("(( {expression} ))"));
            from = hole.end;
        }
        out.push_str(&literal(written.get(from..).unwrap_or_default()));
        Ok(out)
    }
}

/// The document of a draft.
pub fn document(source: &Source<'_>, draft: &Draft, named: &NewMetadata<'_>) -> Document {
    let kind = if named.namespace.is_some() { "NamespacedGeneratingPolicy" } else { "GeneratingPolicy" };
    let mut spec = Map::default();
    let flags = draft.generated.first().map(|one| one.flags).unwrap_or_default();
    let mut evaluation = Map::default();
    let all = [
        ("generateExisting", flags.existing),
        ("synchronize", flags.synchronize),
        ("orphanDownstreamOnPolicyDelete", flags.orphan),
    ];
    for (key, _) in all.into_iter().filter(|(_, on)| *on) {
        evaluation.push(key, Node::enabled(true));
    }
    spec.push_map("evaluation", evaluation);
    draft.write_selection(&mut spec);
    spec.push("generate", Node::List(draft.generated.iter().map(GeneratedDraft::item).collect()));
    shared::document(source.original, kind, named, spec)
}

/// The object that a rule describes: its data below what names it.
pub(crate) fn object<'v>(data: &Value, part: &dyn Fn(&str) -> Option<&'v Value>) -> Value {
    let named = ["name", "namespace"].into_iter();
    let mut metadata: Fields = named.filter_map(|key| Some((key.into(), part(key)?.clone()))).collect();
    for (key, value) in data.get("metadata").and_then(Value::as_map).into_iter().flat_map(|m| m.iter()) {
        if !metadata.contains_key(key) {
            metadata.insert(key.clone(), value.clone());
        }
    }
    let mut object = Fields::new();
    object.insert("apiVersion", part("apiVersion").cloned().unwrap_or_default());
    // Kyverno generates the kind that the data names, where it does.
    let own = data.get("kind").filter(|kind| !kind.is_empty());
    object.insert("kind", own.or(part("kind")).cloned().unwrap_or_default());
    object.insert("metadata", Value::Map(metadata));
    for (key, value) in data.as_map().into_iter().flat_map(|m| m.iter()) {
        if !object.contains_key(key) {
            object.insert(key.clone(), value.clone());
        }
    }
    Value::Map(object)
}
