//! Builds the objects that a generate rule describes.
//!
//! In: a description, the data of a rule, what exists. Out: the objects that were not there before,
//! with the labels by which they are found again. Semantics: `docs/semantics/generate.md`.

use crate::condition;
use crate::data::Data;
use crate::request::{Request, resource_name};
use crate::validate::{bind_element, elements};
use ephor_external::LookupError;
use ephor_ir::generate::{Described, Generation, GenerationLoop};
use ephor_ir::late::Late;
use ephor_ir::{Policy, Rule};
use ephor_matching::Target;
use ephor_matching::filter::selects;
use ephor_value::{Map, Str, Value};

use super::error::{ElementError, GenerationError};
use super::present::{Key, Present};

const LABEL: &str = "generate.kyverno.io/";

/// An object that a rule wants to exist.
#[derive(Clone, Debug)]
pub struct WantedObject {
    /// The object, with the labels by which it is found again.
    pub object: Value,
    /// The object that it is a copy of.
    pub source: Option<Value>,
    /// Whether it is synchronised when it exists.
    pub synchronize: bool,
}

/// What exists, and the policy and trigger that objects are generated for.
pub struct Store<'s> {
    policy: &'s Policy,
    trigger: &'s Value,
    present: &'s dyn Present,
    /// With the kind under which each is stored, which its content need not agree with.
    made: Vec<(String, WantedObject)>,
}

impl<'s> Store<'s> {
    /// What exists when a request comes in.
    pub fn new(policy: &'s Policy, request: &'s Request, present: &'s dyn Present) -> Store<'s> {
        Store { policy, trigger: &request.object, present, made: Vec::new() }
    }

    /// What the rules so far want.
    pub fn into_wanted(self) -> Vec<WantedObject> {
        self.made.into_iter().map(|(_, wanted)| wanted).collect()
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
            return self.copy(&place, &filled, rule, d.synchronize).map(|made| made.into_iter().collect());
        }
        let kinds = filled.at(&["cloneList", "kinds"]).and_then(Value::as_list).unwrap_or_default();
        if !kinds.is_empty() {
            return self.copies(kinds, &filled, rule, d.synchronize, data.world.late);
        }
        let data = filled.get("data").cloned().unwrap_or_default();
        let object = self.labelled(&data, &place, rule, None);
        let wanted = WantedObject { object, source: None, synchronize: d.synchronize };
        Ok(self.create(place.kind, wanted)?.into_iter().collect())
    }

    /// Copies one object.
    fn copy(
        &mut self,
        place: &Key<'_>,
        filled: &Value,
        rule: &Rule,
        synchronize: bool,
    ) -> Result<Option<Value>, GenerationError> {
        let from = Key {
            namespace: filled.text_at(&["clone", "namespace"]),
            name: filled.text_at(&["clone", "name"]),
            ..*place
        };
        if from == *place {
            return Ok(None);
        }
        let Key { api_version, kind, namespace, name } = place;
        // The text names the object that would have been generated.
        let target = || format!("{api_version}/{kind}/{namespace}/{name}").into();
        let found = self.find(&from).map_err(|cause| GenerationError::Source { target: target(), cause })?;
        let Some(source) = found else {
            return Err(GenerationError::NoSource {
                target: target(),
                resource: resource_name(api_version, kind).into(),
                name: from.name.into(),
            });
        };
        let wanted =
            WantedObject { object: self.copied(&source, place, rule), source: Some(source), synchronize };
        self.create(place.kind, wanted)
    }

    /// Copies all objects of some kinds.
    fn copies(
        &mut self,
        kinds: &[Value],
        filled: &Value,
        rule: &Rule,
        synchronize: bool,
        late: &dyn Late,
    ) -> Result<Vec<Value>, GenerationError> {
        let from = filled.text_at(&["cloneList", "namespace"]);
        let into = filled.text_at(&["namespace"]);
        if from == into {
            return Ok(Vec::new());
        }
        let selector =
            filled.at(&["cloneList", "selector"]).filter(|s| !s.is_null()).and_then(|s| late.selector(s));
        let mut made = Vec::new();
        for written in kinds.iter().filter_map(Value::as_str) {
            let (api_version, kind) = written.rsplit_once('/').unwrap_or(("", written));
            let labels = |o: &Value| {
                o.at(&["metadata", "labels"]).and_then(Value::as_map).cloned().unwrap_or_default()
            };
            let failed = |cause| GenerationError::Sources {
                kind: format!("{api_version} {kind}/{from}").into(),
                cause,
            };
            let mut sources = self.list(api_version, kind, from).map_err(failed)?;
            sources.retain(|o| selector.as_ref().is_none_or(|s| selects(s, &labels(o))));
            sources.sort_by(|a, b| Key::of(a).name.cmp(Key::of(b).name));
            for source in sources {
                let name = source.text_at(&["metadata", "name"]).to_string();
                let place = Key { api_version, kind, namespace: into, name: &name };
                let object = self.copied(&source, &place, rule);
                made.extend(self.create(kind, WantedObject { object, source: Some(source), synchronize })?);
            }
        }
        Ok(made)
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

    /// The object at its place, with the labels that lead back to its policy, its trigger and, for
    /// a copy, its source.
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
        // Kyverno reads labels as texts, all or none; an API server refuses others.
        if !self.present.only_new() && labels.values().any(|label| label.as_str().is_none()) {
            labels = Map::new();
        }
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

    /// An object that exists, or is wanted already.
    fn find(&self, at: &Key<'_>) -> Result<Option<Value>, LookupError> {
        let made = self.made.iter().find(|(kind, w)| Key { kind, ..Key::of(&w.object) } == *at);
        match self.present.get(at)? {
            Some(found) => Ok(Some(found)),
            None => Ok(made.map(|(_, wanted)| wanted.object.clone())),
        }
    }

    /// The objects of a kind that exist, or are wanted already.
    fn list(&self, api_version: &str, kind: &str, namespace: &str) -> Result<Vec<Value>, LookupError> {
        let mut found = self.present.of_kind(api_version, kind, namespace)?;
        if self.present.only_new() {
            let made = self.made.iter().filter(|(of, w)| {
                let key = Key::of(&w.object);
                key.api_version == api_version && of == kind && key.namespace == namespace
            });
            found.extend(made.map(|(_, wanted)| wanted.object.clone()));
        }
        Ok(found)
    }

    /// Adds an object, unless it exists and only new ones are wanted.
    fn create(&mut self, kind: &str, wanted: WantedObject) -> Result<Option<Value>, GenerationError> {
        let at = Key { kind, ..Key::of(&wanted.object) };
        if self.present.only_new() && self.find(&at).map_err(GenerationError::Lookup)?.is_some() {
            return Ok(None);
        }
        let object = wanted.object.clone();
        self.made.push((kind.to_string(), wanted));
        Ok(Some(object))
    }
}
