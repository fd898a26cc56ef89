//! Which external systems a policy may call: services, the cluster, registries of images.
//!
//! In: a lowered policy. Out: [`Reach`]. Every expression, template and context entry of every rule
//! is read; words in messages mean nothing. A call whose receiver is computed may be one to
//! anybody. Semantics: `docs/reference/serve.md`, "Answers".

use ephor_functions::registry::Dependency;
use ephor_functions::{self, Function};
use ephor_ir::parts::{HasParts, RulePart};
use ephor_ir::rule::{BindingSource, Body};
use ephor_ir::{Expr, Policy, Template};

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
    HasParts::each(policy, &mut |part| reach.part(part));
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

    fn part(&mut self, part: RulePart) {
        use RulePart::*;
        match part {
            Rule(rule) => self.body(&rule.body),
            Expressions(own) => self.params |= own.params.is_some(),
            Bound(bound) => self.params |= bound.param_kind.is_some(),
            BindingSource(source) => self.source(source),
            Template(template) => self.template(template),
            Expr(expr) | MessageProgram(expr) => self.expr(expr),
            Filter(_) | Constraints(_) | ResourceRule(_) | Selector(_) | ActionOverride(_) | Binding(_)
            | QuerySource(_) | Query(_) | Conditions(_) | Condition(_) | Variable(_) | Source(_)
            | AuditAnnotation(_) | Properties(_) | Message(_) | Check(_) | ForEach(_) | Overlay(_)
            | Overlays(_) | Shape(_) | MapShape(_) | Entry(_) | Leaf(_) | PodSecurity(_) | Change(_)
            | Merge(_) | Json(_) | PatchLoop(_) | MutationTarget(_) | Described(_) | GenerationLoop(_)
            | Place(_) | Claim(_) | OnDelete(_) => {}
        }
        part.parts(&mut |below| self.part(below));
    }

    fn body(&mut self, body: &Body) {
        match body {
            // The keys and the object itself are all that it reads, with a dry run in a cluster.
            Body::Manifests(_) => self.cluster = true,
            Body::ValidateImages(_) | Body::VerifyImages(_) => self.registry = true,
            Body::Validate { .. } | Body::Mutate(_) | Body::Generate(_) | Body::Delete | Body::Answer(_) => {}
        }
    }

    fn source(&mut self, source: &BindingSource) {
        match source {
            BindingSource::ConfigMap { .. } => self.config_maps = true,
            BindingSource::ApiCall { raw, .. } if raw.text_at(&["urlPath"]).is_empty() => {
                self.services = true
            }
            BindingSource::ApiCall { .. } | BindingSource::Global { .. } => self.cluster = true,
            BindingSource::Image { .. } => self.registry = true,
            BindingSource::Variable { .. } | BindingSource::Given { .. } => {}
        }
    }

    fn template(&mut self, template: &Template) {
        match template {
            // Which variables it has is known only when it is filled in.
            Template::Rounds(rounds) => {
                let named = ephor_functions::all().iter().filter(|f| rounds.source.contains(f.name));
                named.for_each(|f| self.call(f, None));
            }
            Template::Const(_)
            | Template::Fail(_)
            | Template::Whole(_)
            | Template::Text(_)
            | Template::List(_)
            | Template::Object(_) => {}
        }
    }

    fn expr(&mut self, expr: &Expr) {
        if let Some(function) = expr.called() {
            let receiver = expr.invoked().and_then(|(_, args)| args.first());
            self.call(function, receiver);
        }
    }

    /// A call of a function, perhaps of a receiver.
    fn call(&mut self, function: &Function, receiver: Option<&Expr>) {
        match function.dependency {
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
        Expr::Walk(walk) if walk.steps.is_empty() => root_key(&walk.base),
        expr => expr.of_root().filter(|(_, below)| below.is_empty()).map(|(key, _)| &**key),
    }
}
