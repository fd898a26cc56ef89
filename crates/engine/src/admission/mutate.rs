//! Policies that change the object.
//!
//! Which policies run is settled on the incoming object; then each sees what those before it have
//! changed. Policies with `reinvocationPolicy: IfNeeded` run a second time when others have changed
//! the object after them.

use ephor_functions::Context;
use ephor_ir::expressions::{ExpressionPatch, PatchType};
use ephor_kubernetes::admitted::as_stored;
use ephor_kubernetes::convert::{changed_kind, with_kind};
use ephor_kubernetes::decode::{self, unknown_text};
use ephor_kubernetes::defaults::completed;
use ephor_value::budget::Excess;
use ephor_value::print::first_non_finite;
use ephor_value::{Str, Value};

use ephor_patch::structured::Atomic;

use super::Review;
use super::answer::Denial;
use super::binding_row::BindingRow;
use super::bound::BoundPolicy;
use super::change::{apply_literals, merge_literal};
use super::cluster_view::{ClusterView, converted};
use super::error::LiteralError;
use super::literal::{LiteralData, check_names};
use super::plan::{BoundCall, BoundView, plan};
use super::validate::{admits, entered, result, seen, seen_namespace, seen_request};
use crate::call::{CallMatch, Subject, calls};
use crate::consequences::Consequence;
use crate::expressions::Scope;
use crate::expressions::{Failure, OUT_OF_BUDGET};
use crate::outcome::{RuleOutcome, Status};
use crate::results::{Results, RuleEffect, RuleRun};
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
        if &*review.attributes.operation == "DELETE" {
            return Ok(());
        }
        let review = review.with_object(self.object.clone());
        let mutating = policies.iter().copied().filter(|p| p.mutates() && p.sees(&review));
        let all: Vec<(BoundPolicy<'_>, Vec<BoundCall>)> =
            mutating.map(|policy| (policy, plan(policy, &review, self.cluster))).collect();
        let namespace = match all.iter().any(|(_, calls)| !calls.is_empty()) {
            true => seen_namespace(&review, self.cluster).map_err(Box::new)?,
            false => Value::Null,
        };
        let marked = again.then(|| std::mem::take(&mut self.marked));
        self.marked.clear();
        let mut failed: Option<Denial> = None;
        let mut is_changed = false;
        for (policy, plan) in all {
            let mut subject = ChangedRequest {
                policy,
                review: &review,
                namespace: &namespace,
                passes: self,
                marked: &marked,
                has_run: false,
            };
            let Results { rules, object, .. } = calls(plan, &mut subject);
            is_changed |= object.is_some();
            for result in &rules {
                let Some(row) = result.binding.as_deref() else { continue };
                if let Some(denial) = &row.denial {
                    return Err(denial.clone());
                }
                if Consequence::of(policy.policy, result, None).denies {
                    note(&mut failed, message(policy, row.binding, &result.message), &row.reason, &review);
                }
            }
        }
        if is_changed {
            self.changed = true;
            self.mark();
            if failed.is_none()
                && let Some(number) = first_non_finite(&self.object)
            {
                return Err(Box::new(Denial::no_json(number)));
            }
        }
        failed.map_or(Ok(()), |denial| Err(Box::new(denial)))
    }

    fn mark(&mut self) {
        for key in &self.ran {
            if !self.marked.contains(key) {
                self.marked.push(key.clone());
            }
        }
    }
}

/// A request whose object a policy changes.
struct ChangedRequest<'c, 'w> {
    policy: BoundPolicy<'c>,
    review: &'c Review,
    namespace: &'c Value,
    passes: &'c mut Passes<'w>,
    /// The evaluations that run; `None` = all.
    marked: &'c Option<Vec<RunKey>>,
    /// Whether the mutations of the last call were evaluated: its conditions hold, or fail.
    has_run: bool,
}

impl Subject for ChangedRequest<'_, '_> {
    type Call = BoundCall;

    fn enter(&mut self, call: &BoundCall) -> CallMatch {
        let is_marked = |marked: &Vec<RunKey>| match &call.with {
            Ok(view) => marked.contains(&run_key(self.policy, call, view)),
            Err(_) => true,
        };
        match self.marked.as_ref().is_none_or(is_marked) {
            true => entered(self.policy, call, "Forbidden"),
            false => CallMatch::Miss,
        }
    }

    fn evaluate(&mut self, call: &BoundCall) -> RuleRun {
        let Ok(view) = &call.with else { return RuleRun::default() };
        let found = self.changes(view);
        self.has_run = found.is_some();
        let (object, errors) = found.unwrap_or_default();
        let results = errors.into_iter().map(|error| self.failed(call, error)).collect();
        RuleRun { results, effect: object.map_or(RuleEffect::Same, RuleEffect::Changed) }
    }

    /// It fails, and changes nothing.
    fn exceeded(&mut self, call: &BoundCall, _: RuleRun, excess: Excess) -> Option<RuleRun> {
        let error = MutationError::Policy(excess.text().to_string());
        Some(Some(self.failed(call, error)).into())
    }

    fn leave(&mut self, call: &BoundCall, effect: RuleEffect, so_far: &mut Results) {
        if let RuleEffect::Changed(object) = effect {
            let former = std::mem::replace(&mut self.passes.object, object);
            if !former.json_eq(&self.passes.object) {
                self.passes.changed = true;
                self.passes.mark();
            }
            so_far.object = Some(self.passes.object.clone());
        }
        // What did not run is not invoked again.
        if let Ok(view) = &call.with
            && self.has_run
            && self.policy.is_reinvoked()
        {
            let key = run_key(self.policy, call, view);
            if !self.passes.ran.contains(&key) {
                self.passes.ran.push(key);
            }
        }
    }

    fn is_over(&self, results: &[RuleOutcome]) -> bool {
        let row = results.last().and_then(|result| result.binding.as_deref());
        row.is_some_and(|row| row.denial.is_some())
    }
}

impl ChangedRequest<'_, '_> {
    /// The result of a mutation that failed.
    fn failed(&self, call: &BoundCall, error: MutationError) -> RuleOutcome {
        let row = BindingRow { binding: call.binding, reason: "Invalid".into(), ..BindingRow::default() };
        match error {
            MutationError::Policy(text) => result(self.policy, Status::Error, text, row),
            MutationError::Request(denial) => {
                let row = BindingRow { denial: Some(denial), ..row };
                result(self.policy, Status::Error, "", row)
            }
        }
    }

    /// Runs the mutations of a policy: the object, if one succeeded, and the errors; `None` where
    /// its conditions do not hold.
    fn changes(&self, view: &BoundView) -> Option<(Option<Value>, Vec<MutationError>)> {
        let (policy, review, kind) = (self.policy, self.review, &view.accepted.kind);
        let mut object = self.passes.object.clone();
        let policy_error = |error: String| MutationError::Policy(error);
        let release = self.passes.cluster.release();
        let seen = |object: &Value| seen(&view.accepted, view.param.clone(), review, object, release);
        match admits(policy, view, review, &seen(&object), &self.passes.cx) {
            Ok(true) if !object.is_null() => {}
            Ok(true) => return Some((None, Vec::new())),
            Ok(false) => return None,
            Err(error) => return Some((None, vec![policy_error(error.to_string())])),
        }
        let own = &review.attributes.kind;
        let types = self.passes.cluster.types();
        let built_in = |kind: &[Str; 3]| types.of_kind(kind).is_some_and(|d| !d.custom);
        let foreign = kind != own && built_in(own);
        let (mut is_changed, mut errors) = (false, Vec::new());
        for patch in policy.patches() {
            let request = admission::request(&seen_request(&view.accepted, review));
            let mut seen = AdmissionVariables { namespace: self.namespace.clone(), ..seen(&object) };
            // Only where there are conditions does the server decode the object to its type.
            if policy.expressions.conditions.is_empty() {
                seen.object = converted(&object, kind);
                seen.old_object = converted(review.old_object(), kind);
            }
            let root = admission::root(&request, seen, &review.request);
            let now = converted(&object, kind);
            // An operation may have made it another kind.
            let name = now.get("kind").and_then(Value::as_str).filter(|name| !name.is_empty());
            let of = [kind[0].clone(), kind[1].clone(), name.map_or_else(|| kind[2].clone(), Str::from)];
            match self.patch(patch, &root, &now, &of) {
                Ok(_) if foreign => {
                    let shown = |k: &[Str; 3]| format!("({}.{})", k[1], k[2]);
                    let (from, to) = (shown(kind), shown(own));
                    errors.push(policy_error(format!("converting {from} to {to}: unknown conversion")));
                }
                Ok(None) => {}
                Ok(Some(changed)) => {
                    object = converted(&changed, own);
                    is_changed = true;
                }
                Err(error @ MutationError::Request(_)) => {
                    return Some((is_changed.then_some(object), vec![error]));
                }
                Err(error) => errors.push(error),
            }
        }
        Some((is_changed.then_some(object), errors))
    }

    /// The object after one change; `None` when it is left alone.
    fn patch(
        &self,
        patch: &ExpressionPatch,
        root: &Value,
        object: &Value,
        kind: &[Str; 3],
    ) -> Result<Option<Value>, MutationError> {
        let scope = Scope::of_rule(root, self.policy.expressions, &self.passes.cx).with_budget(BUDGET);
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
        let types = self.passes.cluster.types();
        let served = self.passes.cluster.kinds().kind(group, version, name).is_some();
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
        if self.is_of_custom_resource(kind) {
            let [group, version, _] = kind;
            return Err(MutationError::Policy(format!(
                "request to convert CR to an invalid group/version: {group}/{version}"
            )));
        }
        let changed = apply_literals(object, value);
        match changed.map_err(|error| MutationError::Policy(error.to_string()))? {
            Some(now) => self.decoded(&now, kind).map(Some),
            None => Ok(None),
        }
    }

    /// Whether this is a kind of the API server's own that a custom resource has for its
    /// subresource, such as its scale.
    fn is_of_custom_resource(&self, kind: &[Str; 3]) -> bool {
        let a = &self.review.attributes;
        let types = self.passes.cluster.types();
        let is_custom = |kind: &[Str; 3]| types.of_kind(kind).is_some_and(|def| def.custom);
        let parent = self.passes.cluster.kinds().resource(&a.group, &a.version, &a.resource);
        let parent = parent.map(|parent| [a.group.clone(), a.version.clone(), parent.kind.clone()]);
        !a.subresource.is_empty() && !is_custom(kind) && parent.is_some_and(|parent| is_custom(&parent))
    }

    /// A patched object, if it still is one of its kind.
    fn decoded(&self, object: &Value, kind: &[Str; 3]) -> Result<Value, MutationError> {
        let types = self.passes.cluster.types();
        let kind = changed_kind(object, kind, types)
            .map_err(|e| MutationError::Request(Box::new(Denial::internal(&e.to_string()))))?;
        let Some(def) = types.of_object(&kind) else { return Ok(with_kind(object, &kind)) };
        if !def.custom {
            // What is sent to a subresource has no metadata; rules see in it where that is.
            let added = self.review.object().get("metadata").filter(|_| def.field("metadata").is_none());
            let bare = added.map(|_| {
                let mut bare = object.as_map().cloned().unwrap_or_default();
                bare.remove("metadata");
                Value::Map(bare)
            });
            let (typed, found) = decode::read_patched(bare.as_ref().unwrap_or(object), def, types);
            let text = match found.wrong {
                Some(error) => Some(error.to_string()),
                None if found.unknown.is_empty() => None,
                None => Some(format!("strict decoding error: {}", unknown_text(&found.unknown))),
            };
            if let Some(text) = text {
                return Err(MutationError::Request(Box::new(Denial::internal(&text))));
            }
            let stored = with_kind(&as_stored(&typed, def, types), &kind);
            return Ok(match added {
                Some(metadata) => stored.with("metadata", metadata.clone()),
                None => stored,
            });
        }
        Ok(with_kind(&completed(object, def, types), &kind))
    }
}

fn run_key(policy: BoundPolicy<'_>, call: &BoundCall, view: &BoundView) -> RunKey {
    let param = |key: &str| Str::from(view.param.as_ref().map_or("", |p| p.text_at(&["metadata", key])));
    let binding = call.binding.and_then(|at| policy.bindings().get(at)).map(|binding| binding.name.clone());
    [policy.name().clone(), binding.unwrap_or_default(), param("name"), param("namespace")]
}

fn message(policy: BoundPolicy<'_>, binding: Option<usize>, text: &str) -> String {
    match binding.and_then(|at| policy.bindings().get(at)) {
        Some(b) => format!("policy '{}' with binding '{}' denied request: {text}", policy.name(), b.name),
        None => format!("policy \"{}\" denied request: {text}", policy.name()),
    }
}

/// Adds a failure: the message and reason of a denial are those of the first.
fn note(failed: &mut Option<Denial>, text: String, reason: &Str, review: &Review) {
    let denial = failed.get_or_insert_with(|| Denial {
        code: 403,
        reason: reason.clone(),
        message: text.clone(),
        details: review.details(),
        ..Denial::default()
    });
    denial.causes.push(text.into());
}
