//! Which external systems a policy may call: services, the cluster, registries of images.
//!
//! In: a lowered policy. Out: [`Reach`]. Every expression, template and context entry of every rule
//! is read; words in messages mean nothing. A call whose receiver is computed may be one to
//! anybody. Semantics: `docs/reference/serve.md`, "Answers".

use ephor_functions::registry::Dependency;
use ephor_functions::{self, Function};
use ephor_ir::check::{Check, ForEach, Overlay, Overlays};
use ephor_ir::expressions::{Program, Source, Validation, Variable};
use ephor_ir::generate::{Described, Draft, Generation, Generator, TextPart};
use ephor_ir::image_validation::{ImageValidation, Reference};
use ephor_ir::images::ImageChecks;
use ephor_ir::mutate::{Change, Json, Merge, Patch};
use ephor_ir::rule::{Binding, BindingSource, Body, QuerySource};
use ephor_ir::template::Part;
use ephor_ir::walk::children;
use ephor_ir::{Conditions, Expr, Policy, Query, Rule, Template};

/// The external systems that may be called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// Services, and servers of names.
    pub services: bool,
    /// The API server of a cluster, for anything but what has a field of its own.
    pub cluster: bool,
    /// The API server of a cluster, for ConfigMaps.
    pub config_maps: bool,
    /// The API server of a cluster, for parameters of policies.
    pub params: bool,
    /// Registries of images.
    pub registry: bool,
}

/// The external systems that a policy may call.
pub fn of_policy(policy: &Policy) -> Reach {
    let mut reach = Reach::default();
    reach.sources(&policy.admit);
    policy.all_rules().for_each(|rule| reach.rule(rule));
    reach
}

impl Reach {
    fn anybody(self) -> Reach {
        Reach { services: true, cluster: true, registry: true, ..self }
    }

    /// Whether the API server of a cluster may be called.
    pub fn any_cluster(&self) -> bool {
        self.cluster || self.config_maps || self.params
    }

    fn rule(&mut self, rule: &Rule) {
        self.bindings(rule.bindings.iter().map(AsRef::as_ref));
        self.conditions(rule.admit.iter());
        if let Some(properties) = &rule.properties {
            self.template(&properties.template);
        }
        if let Some(e) = &rule.expressions {
            self.sources(&e.conditions);
            self.variables(&e.variables);
            e.annotations.iter().for_each(|a| self.program(&a.value.program));
            self.params |= e.params.is_some();
        }
        self.params |= rule.bound.as_ref().is_some_and(|b| b.param_kind.is_some());
        match &rule.body {
            Body::Validate { check, message } => {
                self.check(check);
                self.template(&message.template);
            }
            Body::Mutate(mutation) => {
                mutation.other_templates.iter().for_each(|t| self.template(t));
                self.change(&mutation.change);
                for target in mutation.targets.iter().flatten() {
                    self.template(&target.wanted);
                    self.bindings(target.bindings.iter().map(AsRef::as_ref));
                    self.conditions(target.admit.iter());
                }
                if let Some(existing) = &mutation.existing {
                    self.rule(&existing.rule);
                    existing.returned_by.iter().for_each(|source| self.program(&source.program));
                }
            }
            Body::Generate(generation) => self.generation(generation),
            Body::Delete => {}
            Body::Answer(programs) => programs.iter().for_each(|p| self.program(p)),
            Body::ValidateImages(images) => {
                self.registry = true;
                if let Ok(images) = &**images {
                    self.image_validation(images);
                }
            }
            Body::VerifyImages(checks) => self.images(checks),
            // Its keys and the object itself are all that it reads, with a dry run in a cluster.
            Body::Manifests(_) => self.cluster = true,
        }
    }

    fn image_validation(&mut self, images: &ImageValidation) {
        images.extractors.iter().for_each(|(_, p)| self.program(p));
        images.attestors.iter().flat_map(|a| &a.computed).for_each(|(_, p)| self.program(p));
        for reference in &images.references {
            if let Reference::Expression(program) = reference {
                self.program(program);
            }
        }
        self.validations(&images.validations);
    }

    fn images(&mut self, checks: &ImageChecks) {
        self.registry = true;
        self.template(&checks.verification);
        for entry in &checks.entries {
            self.conditions(entry.deny.iter());
            for claim in &entry.claims {
                self.conditions(claim.blocks.iter());
                self.template(&claim.text);
            }
        }
    }

    fn draft(&mut self, draft: &Draft) {
        match draft {
            Draft::Ready(_) => {}
            Draft::Whole(place) => self.program(&place.program),
            Draft::Text(parts) => {
                for part in parts {
                    if let TextPart::Place(place) = part {
                        self.program(&place.program);
                    }
                }
            }
            Draft::List(items) => items.iter().for_each(|d| self.draft(d)),
            Draft::Map(entries) => entries.iter().for_each(|(_, d)| self.draft(d)),
        }
    }

    fn generation(&mut self, generation: &Generation) {
        let described = |reach: &mut Reach, d: &Described| reach.template(&d.template);
        match generation {
            Generation::One(d) => described(self, d),
            Generation::ForEach(loops) => {
                for l in loops {
                    self.query(&l.list);
                    self.bindings(l.bindings.iter().map(AsRef::as_ref));
                    self.conditions(l.admit.iter());
                    described(self, &l.described);
                }
            }
            Generation::Expressions(generators) => {
                for generator in generators {
                    match generator {
                        Generator::Expression(program) => self.program(program),
                        Generator::Documents(drafts) => drafts.iter().for_each(|d| self.draft(d)),
                    }
                }
            }
        }
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::Patch(Patch::Merge(Merge::Dynamic(t)), _)
            | Change::Patch(Patch::Json(Json::Dynamic(t)), _) => self.template(t),
            Change::Patch(..) => {}
            Change::Expressions { patches, .. } => {
                patches.iter().for_each(|p| self.program(&p.source.program));
            }
            Change::ForEach(loops) => {
                for l in loops {
                    self.query(&l.list);
                    self.bindings(l.bindings.iter().map(AsRef::as_ref));
                    self.conditions(l.admit.iter());
                    self.change(&l.change);
                }
            }
        }
    }

    fn check(&mut self, check: &Check) {
        match check {
            Check::Deny(conditions) => self.conditions([conditions]),
            Check::Pattern(Overlay::Dynamic(t), _) | Check::AnyPattern(Overlays::Dynamic(t), _) => {
                self.template(t);
            }
            Check::Pattern(..) | Check::AnyPattern(..) | Check::PodSecurity(_) | Check::Nothing => {}
            Check::Assert(validations) => self.validations(validations),
            Check::ForEach(loops) => {
                for ForEach { list, bindings, admit, check, .. } in loops {
                    self.query(list);
                    self.bindings(bindings.iter().map(AsRef::as_ref));
                    self.conditions(admit.iter());
                    self.check(check);
                }
            }
        }
    }

    fn bindings<'b>(&mut self, bindings: impl IntoIterator<Item = &'b Binding>) {
        for binding in bindings {
            match &binding.source {
                BindingSource::Variable { value, query, default, .. } => {
                    value.iter().chain(default).for_each(|t| self.template(t));
                    query.iter().for_each(|q| self.query_source(q));
                }
                BindingSource::Given { answer, query, .. } => {
                    self.query(answer);
                    query.iter().for_each(|q| self.query_source(q));
                }
                BindingSource::ConfigMap { name, namespace, .. } => {
                    self.config_maps = true;
                    self.template(name);
                    self.template(namespace);
                }
                BindingSource::ApiCall { call, raw, .. } => {
                    let is_service = raw.text_at(&["urlPath"]).is_empty();
                    *self = if is_service {
                        Reach { services: true, ..*self }
                    } else {
                        Reach { cluster: true, ..*self }
                    };
                    self.template(call);
                }
                BindingSource::Global { query, .. } => {
                    self.cluster = true;
                    query.iter().for_each(|q| self.query_source(q));
                }
                BindingSource::Image { reference, query, .. } => {
                    self.registry = true;
                    self.template(reference);
                    query.iter().for_each(|q| self.query_source(q));
                }
            }
        }
    }

    fn conditions<'c>(&mut self, all: impl IntoIterator<Item = &'c Conditions>) {
        for conditions in all {
            for condition in conditions.any.iter().flatten().chain(&conditions.all) {
                self.template(&condition.key);
                self.template(&condition.value);
            }
        }
    }

    fn template(&mut self, template: &Template) {
        match template {
            Template::Const(_) | Template::Fail(_) => {}
            Template::Whole(hole) => self.query(&hole.query),
            Template::Text(text) => {
                for part in &text.parts {
                    if let Part::Hole(query) = part {
                        self.query(query);
                    }
                }
            }
            // Which variables it has is known only when it is filled in.
            Template::Rounds(rounds) => {
                let named = ephor_functions::all().iter().filter(|f| rounds.source.contains(f.name));
                named.for_each(|f| self.call(f, None));
            }
            Template::List(items) => items.iter().for_each(|t| self.template(t)),
            Template::Object(entries) => {
                for (key, value) in entries {
                    self.template(key);
                    self.template(value);
                }
            }
        }
    }

    fn query_source(&mut self, query: &QuerySource) {
        match query {
            QuerySource::Ready(query) => self.query(query),
            QuerySource::Dynamic { text, .. } => self.template(text),
        }
    }

    fn query(&mut self, query: &Query) {
        if let Ok(expr) = &query.expr {
            self.expr(expr);
        }
        query.on_delete.iter().for_each(|q| self.query(q));
    }

    fn sources(&mut self, sources: &[Source]) {
        sources.iter().for_each(|s| self.program(&s.program));
    }

    fn variables(&mut self, variables: &[Variable]) {
        variables.iter().for_each(|v| self.program(&v.program));
    }

    fn validations(&mut self, validations: &[Validation]) {
        for validation in validations {
            self.program(&validation.check.program);
            validation.message_program.iter().for_each(|p| self.program(p));
        }
    }

    fn program(&mut self, program: &Program) {
        if let Ok(expr) = program {
            self.expr(expr);
        }
    }

    fn expr(&mut self, expr: &Expr) {
        match expr {
            Expr::Call { function, .. } => self.call(function, None),
            Expr::Invoke(invoke) => self.call(invoke.function, invoke.args.first()),
            _ => {}
        }
        children(expr, &mut |e, _| self.expr(e));
    }

    /// A call of a function, perhaps of a receiver.
    fn call(&mut self, function: &Function, receiver: Option<&Expr>) {
        match function.dependency() {
            Some(Dependency::Receiver) => match receiver.and_then(root_key) {
                Some("resource" | "globalContext") => self.cluster = true,
                Some("http") => self.services = true,
                _ => *self = self.anybody(),
            },
            Some(Dependency::Cluster) => self.cluster = true,
            Some(Dependency::Services) => self.services = true,
            Some(Dependency::Registry) => self.registry = true,
            Some(Dependency::Clock | Dependency::Chance | Dependency::Settings) | None => {}
        }
    }
}

/// The name of the variable that an expression is.
fn root_key(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Path { base, keys, .. } if matches!(**base, Expr::Root) && keys.len() == 1 => {
            keys.first().map(|k| &**k)
        }
        Expr::Walk(walk) if walk.steps.is_empty() => root_key(&walk.base),
        _ => None,
    }
}
