//! Policies that change the object.
//!
//! Which policies run is settled on the incoming object; then each sees what those before it have
//! changed. Policies with `reinvocationPolicy: IfNeeded` run a second time when others have changed
//! the object after them.

use ephor_functions::Context;
use ephor_ir::expressions::{ExpressionPatch, PatchType};
use ephor_ir::facts::FailurePolicy;
use ephor_kubernetes::admitted::as_stored;
use ephor_kubernetes::convert::{changed_kind, with_kind};
use ephor_kubernetes::decode::{self, unknown_text};
use ephor_kubernetes::defaults::completed;
use ephor_value::{Str, Value, budget};

use ephor_patch::structured::Atomic;

use super::Review;
use super::answer::Denial;
use super::bound::BoundPolicy;
use super::change::{apply_literals, merge_literal};
use super::cluster_view::{ClusterView, converted};
use super::error::LiteralError;
use super::literal::{LiteralData, check_names};
use super::steps::{BoundStep, Run, steps};
use super::validate::{CONDITIONS, conditions_request, seen_namespace, seen_request};
use crate::expressions::Scope;
use crate::expressions::{Failure, OUT_OF_BUDGET};
use crate::view::admission::{self, AdmissionVariables};

/// What a change may cost.
const BUDGET: u64 = 10_000_000;

/// What became of the object.
#[derive(Clone, Debug, Default)]
pub struct Mutated {
    /// The object after all changes, also those before a failure.
    pub object: Value,
    /// Why the request does not pass.
    pub denial: Option<Denial>,
}

/// Runs policies on a request, in their order.
pub fn mutate(policies: &[BoundPolicy<'_>], review: &Review, cluster: &ClusterView<'_>) -> Mutated {
    let mut passes = Passes::new(review, cluster);
    let denial = match passes.run(policies, review, false) {
        Ok(()) if !passes.marked.is_empty() => passes.run(policies, review, true).err(),
        Ok(()) => None,
        Err(denial) => Some(denial),
    };
    Mutated { object: passes.object, denial: denial.map(|d| *d) }
}

/// An evaluation, for telling it from others: policy, binding, name and namespace of the parameter.
type RunKey = [Str; 4];

/// The passes of all policies over one request.
pub struct Passes<'w> {
    cluster: &'w ClusterView<'w>,
    cx: Context,
    /// The object as it is now.
    pub object: Value,
    /// Whether a policy has changed it.
    pub changed: bool,
    /// Evaluations that ran and may run again.
    ran: Vec<RunKey>,
    /// Evaluations that are to run again.
    marked: Vec<RunKey>,
}

/// Failures of policies: their texts, and the reason of the answer.
struct Failures {
    texts: Vec<String>,
    reason: Str,
}

/// What became of the mutations of a policy.
#[derive(Default)]
struct Done {
    /// Whether they were evaluated: its conditions hold, or fail.
    ran: bool,
    /// Whether one succeeded.
    changed: bool,
    errors: Vec<MutationError>,
}

impl Done {
    fn failed(error: MutationError) -> Done {
        Done { ran: true, changed: false, errors: vec![error] }
    }
}

enum MutationError {
    /// Handled by the policy's `failurePolicy`.
    Policy(String),
    /// Denies the request.
    Request(Box<Denial>),
}

impl<'w> Passes<'w> {
    /// Begins with the object of a request.
    pub fn new(review: &Review, cluster: &'w ClusterView<'w>) -> Passes<'w> {
        Passes {
            cluster,
            cx: cluster.functions(review),
            object: review.object().clone(),
            changed: false,
            ran: Vec::new(),
            marked: Vec::new(),
        }
    }

    /// Continues with an object that others may have changed: then all policies that may be
    /// reinvoked are.
    pub fn take_over(&mut self, object: Value) {
        if !object.json_eq(&self.object) {
            self.mark();
            self.object = object;
        }
    }

    /// One pass. A second one runs only policies that may be reinvoked and that other changes came
    /// after.
    ///
    /// # Errors
    /// The request does not pass.
    pub fn run(
        &mut self,
        policies: &[BoundPolicy<'_>],
        review: &Review,
        again: bool,
    ) -> Result<(), Box<Denial>> {
        if review.is_exempt() || &*review.attributes.operation == "DELETE" {
            return Ok(());
        }
        let review = review.with_object(self.object.clone());
        let mutating = policies.iter().filter(|policy| policy.mutates());
        let all: Vec<(BoundPolicy<'_>, Vec<BoundStep>)> =
            mutating.map(|policy| (*policy, steps(*policy, &review, self.cluster))).collect();
        let namespace = match all.iter().any(|(_, steps)| !steps.is_empty()) {
            true => seen_namespace(&review, self.cluster).map_err(Box::new)?,
            false => Value::Null,
        };
        let marked = std::mem::take(&mut self.marked);
        let mut failed: Option<Failures> = None;
        let mut dirty = false;
        for (policy, steps) in &all {
            let policy = *policy;
            for step in steps {
                let run = match step {
                    BoundStep::Broken { binding, text } => {
                        let text = message(policy, *binding, text);
                        note(&mut failed, text, "Forbidden");
                        continue;
                    }
                    BoundStep::Run(run) => run,
                };
                let key = run_key(policy, run);
                if again && !marked.contains(&key) {
                    continue;
                }
                let before = self.object.clone();
                let Done { ran, changed, errors } = self.bounded(policy, run, &review, &namespace);
                dirty |= changed;
                for error in errors {
                    match error {
                        MutationError::Request(denial) => return Err(denial),
                        MutationError::Policy(_) if *policy.failure_policy() == FailurePolicy::Ignore => {}
                        MutationError::Policy(text) => {
                            note(&mut failed, message(policy, Some(run.binding), &text), "Invalid");
                        }
                    }
                }
                if !before.json_eq(&self.object) {
                    self.changed = true;
                    self.mark();
                }
                // What did not run is not invoked again.
                if ran && policy.is_reinvoked() && !self.ran.contains(&key) {
                    self.ran.push(key);
                }
            }
        }
        if dirty {
            self.changed = true;
            self.mark();
        }
        match failed {
            Some(failed) => Err(Box::new(denial(failed, &review))),
            None => Ok(()),
        }
    }

    fn mark(&mut self) {
        for key in &self.ran {
            if !self.marked.contains(key) {
                self.marked.push(key.clone());
            }
        }
    }

    /// As [`Passes::evaluate`]; a policy that exceeds a bound fails, and changes nothing.
    fn bounded(&mut self, policy: BoundPolicy<'_>, run: &Run, review: &Review, namespace: &Value) -> Done {
        let before = self.object.clone();
        let (done, excess) = budget::spend(|| self.evaluate(policy, run, review, namespace));
        let text = match excess {
            None => return done,
            Some(excess) => excess.text().to_string(),
        };
        self.object = before;
        Done::failed(MutationError::Policy(text))
    }

    /// Runs the mutations of a policy.
    fn evaluate(&mut self, policy: BoundPolicy<'_>, run: &Run, review: &Review, namespace: &Value) -> Done {
        let seen = |object: &Value, namespace: Value| AdmissionVariables {
            object: converted(object, &run.accepted.kind),
            old_object: converted(&review.part("oldObject"), &run.accepted.kind),
            params: run.param.clone(),
            namespace,
            authorizer: true,
        };
        if !policy.expressions.conditions.is_empty() {
            let request = admission::request(&conditions_request(&run.accepted, review));
            let root = admission::root(&request, seen(&self.object, Value::Null), &review.request);
            let scope = Scope::of_rule(&root, policy.expressions, &self.cx).with_budget(CONDITIONS);
            match scope.admits(&policy.expressions.conditions) {
                Ok(true) => {}
                Ok(false) => return Done::default(),
                Err(error) => return Done::failed(MutationError::Policy(error.to_string())),
            }
        }
        let ran = true;
        if self.object.is_null() {
            return Done { ran, ..Done::default() };
        }
        let own = &review.attributes.kind;
        let built_in = |kind: &[Str; 3]| self.cluster.types().of_kind(kind).is_some_and(|d| !d.custom);
        let foreign = run.accepted.kind != *own && built_in(own);
        let (mut changed, mut errors) = (false, Vec::new());
        for patch in policy.patches() {
            let request = admission::request(&seen_request(&run.accepted, review));
            let root = admission::root(&request, seen(&self.object, namespace.clone()), &review.request);
            let current = converted(&self.object, &run.accepted.kind);
            match self.changed(policy, patch, &root, &current, &run.accepted.kind) {
                Ok(_) if foreign => {
                    let shown = |k: &[Str; 3]| format!("({}.{})", k[1], k[2]);
                    let (from, to) = (shown(&run.accepted.kind), shown(own));
                    errors.push(MutationError::Policy(format!(
                        "converting {from} to {to}: unknown conversion"
                    )));
                }
                Ok(None) => {}
                Ok(Some(object)) => {
                    self.object = converted(&object, own);
                    changed = true;
                }
                Err(error @ MutationError::Request(_)) => return Done { ran, changed, errors: vec![error] },
                Err(error) => errors.push(error),
            }
        }
        Done { ran, changed, errors }
    }

    /// The object after one change; `None` when it is left alone.
    fn changed(
        &self,
        policy: BoundPolicy<'_>,
        patch: &ExpressionPatch,
        root: &Value,
        object: &Value,
        kind: &[Str; 3],
    ) -> Result<Option<Value>, MutationError> {
        let scope = Scope::of_rule(root, policy.expressions, &self.cx).with_budget(BUDGET);
        let value = scope.value(&patch.source.program).map_err(|failure| {
            MutationError::Policy(match failure {
                Failure::OutOfBudget => OUT_OF_BUDGET.into(),
                // What does not compile is shown without the step.
                Failure::Compile(text) => text.to_string(),
                failure => scope.failed(&patch.source, failure).to_string(),
            })
        })?;
        match patch.patch_type {
            PatchType::ApplyConfiguration => self.applied(object, (&value, root), kind).map(Some),
            PatchType::JsonPatch => self.patched(object, &value, kind),
            PatchType::Unknown => Err(MutationError::Policy("unsupported patch type".into())),
        }
    }

    fn applied(
        &self,
        object: &Value,
        (value, root): (&Value, &Value),
        kind: &[Str; 3],
    ) -> Result<Value, MutationError> {
        check_names(value).map_err(|error| MutationError::Policy(error.to_string()))?;
        let [group, version, name] = kind;
        let types = self.cluster.types();
        let served = self.cluster.kinds().kind(group, version, name).is_some();
        let Some(def) = types.of_kind(kind).filter(|_| served) else {
            let api_version =
                if group.is_empty() { format!("/{version}") } else { format!("{group}/{version}") };
            return Err(MutationError::Policy(format!(
                "error applying patch: failed to convert patch object to typed object: no corresponding type \
                 for {api_version}, Kind={name}"
            )));
        };
        let merged = merge_literal(object, value, &LiteralData::of(root), def, types, Atomic::Refused)
            .map_err(|error| MutationError::Policy(error.to_string()))?;
        if def.custom {
            return Ok(with_kind(&completed(&merged, def, types), kind));
        }
        let typed = decode::converted(&merged, def, types).map_err(|why| {
            let group_version = format!("{group}/{version}").into();
            MutationError::Policy(
                LiteralError::Conversion { group_version, kind: name.clone(), why }.to_string(),
            )
        })?;
        Ok(with_kind(&as_stored(&typed, def, types), kind))
    }

    fn patched(
        &self,
        object: &Value,
        value: &Value,
        kind: &[Str; 3],
    ) -> Result<Option<Value>, MutationError> {
        let changed = apply_literals(object, value);
        match changed.map_err(|error| MutationError::Policy(error.to_string()))? {
            Some(now) => self.decoded(&now, kind).map(Some),
            None => Ok(None),
        }
    }

    /// A patched object, if it still is one of its kind.
    fn decoded(&self, object: &Value, kind: &[Str; 3]) -> Result<Value, MutationError> {
        let types = self.cluster.types();
        let kind = changed_kind(object, kind, types)
            .map_err(|e| MutationError::Request(Box::new(Denial::internal(&e.to_string()))))?;
        let Some(def) = types.of_kind(&kind) else { return Ok(with_kind(object, &kind)) };
        if !def.custom {
            let (typed, found) = decode::read(object, def, types);
            let text = match found.wrong {
                Some(error) => Some(error.to_string()),
                None if found.unknown.is_empty() => None,
                None => Some(format!("strict decoding error: {}", unknown_text(&found.unknown))),
            };
            if let Some(text) = text {
                return Err(MutationError::Request(Box::new(Denial::internal(&text))));
            }
            return Ok(with_kind(&as_stored(&typed, def, types), &kind));
        }
        Ok(with_kind(&completed(object, def, types), &kind))
    }
}

fn run_key(policy: BoundPolicy<'_>, run: &Run) -> RunKey {
    let param = |key: &str| Str::from(run.param.as_ref().map_or("", |p| p.text_at(&["metadata", key])));
    let binding = policy.bindings().get(run.binding).map(|binding| binding.name.clone());
    [policy.name().clone(), binding.unwrap_or_default(), param("name"), param("namespace")]
}

fn message(policy: BoundPolicy<'_>, binding: Option<usize>, text: &str) -> String {
    match binding.and_then(|at| policy.bindings().get(at)) {
        Some(b) => format!("policy '{}' with binding '{}' denied request: {text}", policy.name(), b.name),
        None => format!("policy \"{}\" denied request: {text}", policy.name()),
    }
}

fn note(failed: &mut Option<Failures>, text: String, reason: &str) {
    match failed {
        Some(failed) => failed.texts.push(text),
        None => *failed = Some(Failures { texts: vec![text], reason: reason.into() }),
    }
}

fn denial(failed: Failures, review: &Review) -> Denial {
    Denial {
        code: 403,
        reason: failed.reason,
        message: failed.texts.first().cloned().unwrap_or_default(),
        details: review.details(),
        causes: failed.texts.into_iter().map(Into::into).collect(),
        internal: false,
    }
}
