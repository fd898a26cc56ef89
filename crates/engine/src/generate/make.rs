//! Builds the objects that a generate rule describes.
//!
//! In: a description, the data of a rule, what exists. Out: the objects that were not there before,
//! with the labels by which they are found again. Semantics: `docs/generate.md`.

use crate::condition;
use crate::data::Data;
use crate::external::ExternalData;
use crate::ir::generate::{Described, Generation, GenerationLoop};
use crate::ir::late::Late;
use crate::ir::{Policy, Rule};
use crate::matching::Target;
use crate::matching::filter::selects;
use crate::request::{Request, resource_name};
use crate::validate::{bind_element, elements};
use crate::value::{Str, Value};

use super::error::{ElementError, GenerationError};

const LABEL: &str = "generate.kyverno.io/";

/// What exists, and the policy and trigger that objects are generated for.
pub struct Store<'s> {
    policy: &'s Policy,
    trigger: &'s Value,
    sources: &'s [Value],
    /// With the kind under which each is stored, which its content need not agree with.
    made: Vec<(String, Value)>,
}

/// What identifies an object.
#[derive(PartialEq, Eq)]
struct Key<'k> {
    api_version: &'k str,
    kind: &'k str,
    namespace: &'k str,
    name: &'k str,
}

fn key(object: &Value) -> Key<'_> {
    Key {
        api_version: object.text_at(&["apiVersion"]),
        kind: object.text_at(&["kind"]),
        namespace: object.text_at(&["metadata", "namespace"]),
        name: object.text_at(&["metadata", "name"]),
    }
}

impl<'s> Store<'s> {
    /// What exists when a request comes in.
    pub fn new(policy: &'s Policy, request: &'s Request, sources: &'s dyn ExternalData) -> Store<'s> {
        Store { policy, trigger: &request.object, sources: sources.clone_sources(), made: Vec::new() }
    }

    /// Builds what a rule describes.
    ///
    /// # Errors
    /// A variable has no value, or an object that is to be copied does not exist.
    pub fn run(
        &mut self,
        generation: &Generation,
        rule: &Rule,
        data: &mut Data<'_>,
    ) -> Result<Vec<Value>, GenerationError> {
        match generation {
            Generation::One(described) => self.described(described, rule, data),
            Generation::ForEach(loops) => {
                let mut made = Vec::new();
                for (i, l) in loops.iter().enumerate() {
                    made.extend(self.each(i, l, rule, data)?);
                }
                Ok(made)
            }
            // Rules with expressions have a runner of their own.
            Generation::Expressions(_) => Ok(Vec::new()),
        }
    }

    fn each(
        &mut self,
        i: usize,
        l: &GenerationLoop,
        rule: &Rule,
        data: &mut Data<'_>,
    ) -> Result<Vec<Value>, GenerationError> {
        let list = data.query(&l.list).map_err(|cause| GenerationError::List { at: i, cause })?;
        let items = elements(&list);
        let before = data.snapshot();
        let (mut made, mut failed) = (Vec::new(), Vec::new());
        for (index, item) in items.iter().enumerate().filter(|(_, v)| !v.is_null()) {
            data.reset(&before);
            match self.element(index, item, l, rule, data) {
                Ok(objects) => made.extend(objects),
                Err(cause) => failed.push(ElementError { index, cause }),
            }
        }
        data.reset(&before);
        if failed.is_empty() {
            return Ok(made);
        }
        Err(GenerationError::Loop { at: i, rule: rule.name.clone(), failed })
    }

    fn element(
        &mut self,
        index: usize,
        item: &Value,
        l: &GenerationLoop,
        rule: &Rule,
        data: &mut Data<'_>,
    ) -> Result<Vec<Value>, GenerationError> {
        bind_element(0, index, item, data);
        data.register(&l.bindings);
        if let Some(admit) = &l.admit
            && !condition::evaluate(admit, data).map_err(GenerationError::Preconditions)?.holds
        {
            return Ok(Vec::new());
        }
        self.described(&l.described, rule, data)
    }

    fn described(
        &mut self,
        d: &Described,
        rule: &Rule,
        data: &mut Data<'_>,
    ) -> Result<Vec<Value>, GenerationError> {
        let filled = data.fill(&d.template).map_err(GenerationError::Fill)?;
        let text = |path: &[&str]| filled.text_at(path);
        let place = Key {
            api_version: text(&["apiVersion"]),
            kind: text(&["kind"]),
            namespace: text(&["namespace"]),
            name: text(&["name"]),
        };
        if !text(&["clone", "name"]).is_empty() {
            return self.copy(&place, &filled, rule).map(|made| made.into_iter().collect());
        }
        let kinds = filled.at(&["cloneList", "kinds"]).and_then(Value::as_list).unwrap_or_default();
        if !kinds.is_empty() {
            return Ok(self.copies(kinds, &filled, rule, data.world.late));
        }
        let data = filled.get("data").cloned().unwrap_or_default();
        let object = self.labelled(&data, &place, rule, None);
        Ok(self.create(place.kind, object).into_iter().collect())
    }

    /// Copies one object.
    fn copy(
        &mut self,
        place: &Key<'_>,
        filled: &Value,
        rule: &Rule,
    ) -> Result<Option<Value>, GenerationError> {
        let from = Key {
            namespace: filled.text_at(&["clone", "namespace"]),
            name: filled.text_at(&["clone", "name"]),
            ..*place
        };
        if from == *place {
            return Ok(None);
        }
        let Some(source) = self.all().find(|(k, _)| *k == from).map(|(_, o)| o) else {
            let Key { api_version, kind, namespace, name } = place;
            // The text names the object that would have been generated.
            return Err(GenerationError::NoSource {
                target: format!("{api_version}/{kind}/{namespace}/{name}").into(),
                resource: resource_name(api_version, kind).into(),
                name: from.name.into(),
            });
        };
        let copied = self.copied(source, place, rule);
        Ok(self.create(place.kind, copied))
    }

    /// Copies all objects of some kinds.
    fn copies(&mut self, kinds: &[Value], filled: &Value, rule: &Rule, late: &dyn Late) -> Vec<Value> {
        let from = filled.text_at(&["cloneList", "namespace"]);
        let into = filled.text_at(&["namespace"]);
        if from == into {
            return Vec::new();
        }
        let selector =
            filled.at(&["cloneList", "selector"]).filter(|s| !s.is_null()).and_then(|s| late.selector(s));
        let mut made = Vec::new();
        for written in kinds.iter().filter_map(Value::as_str) {
            let (api_version, kind) = written.rsplit_once('/').unwrap_or(("", written));
            let labels = |o: &Value| {
                o.at(&["metadata", "labels"]).and_then(Value::as_map).cloned().unwrap_or_default()
            };
            let mut sources: Vec<Value> = self
                .all()
                .filter(|(k, o)| {
                    k.api_version == api_version
                        && k.kind == kind
                        && k.namespace == from
                        && selector.as_ref().is_none_or(|s| selects(s, &labels(o)))
                })
                .map(|(_, o)| o.clone())
                .collect();
            sources.sort_by(|a, b| key(a).name.cmp(key(b).name));
            for source in &sources {
                let name = source.text_at(&["metadata", "name"]);
                let copied = self.copied(source, &Key { api_version, kind, namespace: into, name }, rule);
                made.extend(self.create(kind, copied));
            }
        }
        made
    }

    fn copied(&self, source: &Value, place: &Key<'_>, rule: &Rule) -> Value {
        let mut copy = source.clone();
        if let Value::Map(m) = &mut copy
            && let Some(Value::Map(meta)) = m.get_mut("metadata")
        {
            for own in ["uid", "selfLink", "creationTimestamp", "managedFields", "resourceVersion"] {
                meta.remove(own);
            }
            if source.text_at(&["metadata", "namespace"]) != place.namespace {
                meta.remove("ownerReferences");
            }
        }
        self.labelled(&copy, place, rule, Some(source))
    }

    /// The object at its place, with the labels that lead back to its policy, its trigger and, for a
    /// copy, its source.
    fn labelled(&self, content: &Value, place: &Key<'_>, rule: &Rule, source: Option<&Value>) -> Value {
        let mut object = content.as_map().cloned().unwrap_or_default();
        object.insert("apiVersion", Value::from(place.api_version));
        if object.get("kind").and_then(Value::as_str).is_none_or(str::is_empty) {
            object.insert("kind", Value::from(place.kind));
        }
        let mut meta = object.get("metadata").and_then(Value::as_map).cloned().unwrap_or_default();
        meta.insert("name", Value::from(place.name));
        if place.namespace.is_empty() {
            meta.remove("namespace");
        } else {
            meta.insert("namespace", Value::from(place.namespace));
        }
        let mut labels = meta.get("labels").and_then(Value::as_map).cloned().unwrap_or_default();
        labels.insert("app.kubernetes.io/managed-by", Value::from("kyverno"));
        let mut label = |name: &str, value: &str| {
            labels.insert(Str::from(format!("{LABEL}{name}")), Value::from(value));
        };
        label("policy-name", &self.policy.name);
        label("policy-namespace", self.policy.namespace.as_deref().unwrap_or_default());
        label("rule-name", &rule.name);
        let mut origin = |what: &str, object: &Value| {
            let target = Target::of(object);
            label(&format!("{what}-version"), &target.version);
            label(&format!("{what}-group"), &target.group);
            label(&format!("{what}-kind"), &target.kind);
            label(&format!("{what}-namespace"), &target.namespace);
            label(&format!("{what}-uid"), object.text_at(&["metadata", "uid"]));
        };
        origin("trigger", self.trigger);
        if let Some(source) = source {
            origin("source", source);
            label("clone-source", "");
        }
        meta.insert("labels", Value::Map(labels));
        object.insert("metadata", Value::Map(meta));
        Value::Map(object).with_whole_numbers()
    }

    /// All objects that exist, with what they are found by.
    fn all(&self) -> impl Iterator<Item = (Key<'_>, &Value)> {
        let given = std::iter::once(self.trigger).chain(self.sources).map(|o| (key(o), o));
        given.chain(self.made.iter().map(|(kind, o)| (Key { kind, ..key(o) }, o)))
    }

    /// Adds an object, unless it exists.
    fn create(&mut self, kind: &str, object: Value) -> Option<Value> {
        let wanted = Key { kind, ..key(&object) };
        if self.all().any(|(k, _)| k == wanted) {
            return None;
        }
        self.made.push((kind.to_string(), object.clone()));
        Some(object)
    }
}
