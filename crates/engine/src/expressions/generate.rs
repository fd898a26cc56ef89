//! Rules whose expressions generate objects.
//!
//! In: a rule and a request. Out: a result with the objects that expressions handed over and
//! templates gave, or none where the policy does not apply. Nothing is created here: objects get
//! the namespace that they were handed over for, and that is all. Semantics:
//! `docs/semantics/cel-policies.md`, "Generation".

use std::fmt::Display;
use std::sync::{Arc, Mutex};

use ephor_external::{ExternalData, LookupError};
use ephor_functions::{Context, cel::data};
use ephor_ir::expressions::Expressions;
use ephor_ir::generate::{Draft, Generator, Place, TextPart};
use ephor_value::print::display;
use ephor_value::{Map, Value};

use super::entered::{annotations, broken, enter};
use super::{DraftError, ExpressionGenerationError, Scope};
use crate::matched::MatchedRule;
use crate::outcome::{Effect, RuleOutcome, Status};
use crate::view::{self, request::Absent};

/// Runs the expressions and templates that generate objects.
pub(crate) fn run(
    matched: MatchedRule<'_, '_>,
    expressions: &Expressions,
    generators: &[Generator],
) -> Option<RuleOutcome> {
    let MatchedRule { policy, rule, request, .. } = matched;
    let collector = Arc::new(Collector { inner: request.functions.external.clone(), made: Mutex::default() });
    let functions = Context { external: Some(collector.clone()), ..request.functions.clone() };
    let root = view::request::root(request, Absent::Null);
    let failed =
        |error: &dyn Display| RuleOutcome { rule: policy.name.clone(), ..broken(rule, expressions, error) };
    let scope = match enter(matched, expressions, &root, &functions) {
        Ok(scope) => scope,
        // Where the conditions do not hold there is no result.
        Err(result) if result.status == Status::Skip && result.exceptions.is_empty() => return None,
        Err(mut result) => {
            if result.status == Status::Error {
                result.rule = policy.name.clone();
            }
            return Some(*result);
        }
    };
    let own = policy.namespace.as_deref();
    for generator in generators {
        let done = match generator {
            Generator::Expression(program) => {
                scope.is_true(program).map(|_| ()).map_err(ExpressionGenerationError::Expression)
            }
            Generator::Documents(documents) => filled(documents, &scope, own, &*collector),
        };
        if let Err(error) = done {
            return Some(failed(&error));
        }
    }
    let properties = match annotations(expressions, &scope, &scope.root) {
        Ok(properties) => properties,
        Err(error) => return Some(failed(&error)),
    };
    let mut result = RuleOutcome::new(&policy.name, rule.kind, Status::Pass, expressions.wording.passed);
    result.properties = properties;
    let made = collector.made.lock().map(|made| made.clone()).unwrap_or_default();
    if !made.is_empty() {
        result.effect = Some(Box::new(Effect::Generated(made)));
    }
    Some(result)
}

/// The external data of the request, and the objects that expressions generate.
struct Collector {
    inner: Option<Arc<dyn ExternalData>>,
    made: Mutex<Vec<Value>>,
}

impl ExternalData for Collector {
    fn inner(&self) -> Option<&dyn ExternalData> {
        self.inner.as_deref()
    }

    fn generate(&self, namespace: &str, objects: Vec<Value>) -> Result<(), LookupError> {
        let Ok(mut made) = self.made.lock() else { return Ok(()) };
        made.extend(objects.into_iter().flat_map(expanded).map(|o| placed(o, namespace)));
        Ok(())
    }
}

/// The items of a list, or the object itself.
fn expanded(object: Value) -> Vec<Value> {
    match object.get("items").and_then(Value::as_list) {
        Some(items) => items.to_vec(),
        None => vec![object],
    }
}

/// An object in a namespace; numbers without fraction are integers when they are shown.
fn placed(object: Value, namespace: &str) -> Value {
    let Value::Map(mut m) = object else { return object };
    let mut metadata = m.get("metadata").and_then(Value::as_map).cloned().unwrap_or_default();
    if namespace.is_empty() {
        metadata.remove("namespace");
    } else {
        metadata.insert("namespace", Value::from(namespace));
    }
    m.insert("metadata", Value::Map(metadata));
    Value::Map(m)
}

/// Fills in documents and hands them over.
fn filled(
    documents: &[Draft],
    scope: &Scope<'_>,
    own: Option<&str>,
    external: &dyn ExternalData,
) -> Result<(), ExpressionGenerationError> {
    for (i, draft) in documents.iter().enumerate() {
        let document = i + 1;
        let value =
            value(draft, scope).map_err(|cause| ExpressionGenerationError::Document { document, cause })?;
        if value.is_null() {
            continue;
        }
        if value.as_map().is_none() {
            return Err(ExpressionGenerationError::NoObject { document, found: value.cel_type().into() });
        }
        let namespace = value.text_at(&["metadata", "namespace"]).to_string();
        let namespace = match own {
            None => namespace,
            Some(own) if namespace.is_empty() || namespace == own => own.to_string(),
            Some(own) => {
                let (own, namespace) = (own.into(), namespace.into());
                return Err(ExpressionGenerationError::ForeignNamespace { own, namespace });
            }
        };
        let taken = external.generate(&namespace, vec![value]);
        taken.map_err(|e| ExpressionGenerationError::Refused(e.to_string().into()))?;
    }
    Ok(())
}

fn value(draft: &Draft, scope: &Scope<'_>) -> Result<Value, DraftError> {
    match draft {
        Draft::Ready(v) => Ok(v.clone()),
        Draft::Whole(place) => evaluated(place, scope).and_then(|v| {
            let plain = data::plain(&v).map_err(|e| DraftError::Plain(e.to_string().into()))?;
            let structured = matches!(plain, Value::Map(_) | Value::List(_));
            Ok(if structured { plain.with_float_numbers() } else { plain })
        }),
        Draft::Text(parts) => {
            let mut out = String::new();
            for part in parts {
                match part {
                    TextPart::Literal(text) => out.push_str(text),
                    TextPart::Place(place) => match evaluated(place, scope)? {
                        v @ (Value::Str(_)
                        | Value::Bool(_)
                        | Value::Int(_)
                        | Value::UInt(_)
                        | Value::Float(_)) => {
                            out.push_str(&display(&v));
                        }
                        other => {
                            let (placeholder, found) = (place.text.clone(), other.cel_type().into());
                            return Err(DraftError::Structured { placeholder, found });
                        }
                    },
                }
            }
            Ok(out.into())
        }
        Draft::List(items) => {
            let each =
                |(i, item)| value(item, scope).map_err(|e| DraftError::Item { at: i, cause: Box::new(e) });
            items.iter().enumerate().map(each).collect::<Result<Vec<_>, _>>().map(Value::list)
        }
        Draft::Map(entries) => {
            let mut m = Map::new();
            for (key, inner) in entries {
                let failed = |e| DraftError::Field { field: key.clone(), cause: Box::new(e) };
                let filled = value(inner, scope).map_err(failed)?;
                m.insert(key.clone(), filled);
            }
            Ok(Value::Map(m))
        }
    }
}

fn evaluated(place: &Place, scope: &Scope<'_>) -> Result<Value, DraftError> {
    scope
        .value(&place.program)
        .map_err(|failure| DraftError::Placeholder { placeholder: place.text.clone(), failure })
}
