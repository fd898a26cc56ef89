//! Policies that delete objects on a schedule.
//!
//! In: a CleanupPolicy or DeletingPolicy, the objects of the kinds that it is about. Out: the
//! objects that it selects are deleted when its schedule says so, and its status says when that
//! was. A run that was missed happens once, late. A run with an error does not count: it is tried
//! again. Semantics: `docs/reference/cluster.md`, "Deletions".

use std::collections::HashMap;
use std::time::Duration;

use ephor_api::read::{filters, items, texts};
use ephor_cluster::live::namespaces;
use ephor_cluster::{Cluster, Failure};
use ephor_engine::expressions::deletion::DeletionSubject;
use ephor_engine::images::Images;
use ephor_engine::request::{NoObjects, Parts};
use ephor_engine::{Request, RuleOutcome, Status};
use ephor_kubernetes::{Kinds, Resource};
use ephor_matching::{Target, kinds};
use ephor_policies::Engine;
use ephor_value::cron::Cron;
use ephor_value::time::Time;
use ephor_value::{Map, Str, Value, wildcard};

use crate::field_manager::MANAGER;
use crate::in_use::{InUse, PolicyKey, StoredPolicy};
use crate::queue::Next;

/// The shortest time between two runs.
const SHORTEST: Duration = Duration::from_secs(1);
/// How long a policy waits at most before its schedule is read again: clocks change.
const LONGEST: Duration = Duration::from_secs(600);

/// Why a run is not complete.
#[derive(Debug, thiserror::Error)]
pub enum CleanupError {
    /// The cluster refuses.
    #[error(transparent)]
    Cluster(#[from] Failure),
    /// Some objects could not be judged or deleted.
    #[error("{}", all(.0))]
    Objects(Vec<ObjectError>),
}

/// Why an object, or those of a kind, could not be judged or deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// The cluster refuses.
    #[error(transparent)]
    Cluster(#[from] Failure),
    /// There is no request about the object that a deleting policy could decide.
    #[error(transparent)]
    Request(#[from] NoObjects),
    /// The policy cannot be evaluated, with the message of its result.
    #[error("{0}")]
    Outcome(Str),
}

fn all(errors: &[ObjectError]) -> String {
    errors.iter().map(ObjectError::to_string).collect::<Vec<_>>().join("; ")
}

/// Runs a policy if it is due; when to read it again.
///
/// # Errors
/// The run is not complete.
pub fn reconcile(cluster: &Cluster, policy: &StoredPolicy, in_use: &dyn InUse) -> Result<Next, CleanupError> {
    let document = &policy.document;
    let schedule = Cron::parse(document.text_at(&["spec", "schedule"])).filter(|_| policy.is_scheduled());
    let (Some(schedule), None) = (schedule, &policy.problem) else { return Ok(Next::Done) };
    let last = [&["status", "lastExecutionTime"], &["metadata", "creationTimestamp"]];
    let last = last.into_iter().find_map(|path| seconds(document.text_at(path)));
    let now = now();
    let Some(due) = schedule.next(last.unwrap_or(now)) else { return Ok(Next::Done) };
    if due > now {
        return Ok(Next::After(until(due, now)));
    }
    run(cluster, policy, in_use)?;
    written(cluster, document)?;
    // The new status comes as a change of the policy; this is for a watch that is late.
    Ok(Next::After(schedule.next(now).map_or(LONGEST, |next| until(next, now))))
}

fn until(moment: i64, now: i64) -> Duration {
    let seconds = u64::try_from(moment.saturating_sub(now)).unwrap_or_default();
    Duration::from_secs(seconds).clamp(SHORTEST, LONGEST)
}

fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

fn seconds(text: &str) -> Option<i64> {
    let time = Time::parse_rfc3339(text).ok()?;
    i64::try_from(time.unix_nanos().div_euclid(1_000_000_000)).ok()
}

/// Writes when the policy ran.
fn written(cluster: &Cluster, document: &Value) -> Result<(), Failure> {
    let Some(current) = cluster.current(document)? else { return Ok(()) };
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let status = current.get("status").cloned().unwrap_or_default();
    let current = current.with("status", status.with("lastExecutionTime", now.into()));
    match cluster.replace_part(&current, "status", MANAGER) {
        Err(e) if e.is_not_found() => Ok(()),
        done => done.map(drop),
    }
}

/// Deletes what a policy selects.
fn run(cluster: &Cluster, policy: &StoredPolicy, in_use: &dyn InUse) -> Result<(), CleanupError> {
    let served = cluster.kinds()?;
    let document = &policy.document;
    let own = document.text_at(&["metadata", "namespace"]);
    let labels: HashMap<Str, Map> = namespaces(cluster)?.into_iter().collect();
    let mut judge = Judge::of(policy, in_use);
    let propagation =
        Some(document.text_at(&["spec", "deletionPropagationPolicy"])).filter(|p| !p.is_empty());
    let mut faults = Vec::new();
    let is_left_out =
        |object: &Value| in_use.settings().is_some_and(|settings| settings.filters_object(object));
    for resource in resources(document, &served) {
        if !own.is_empty() && !resource.namespaced {
            continue;
        }
        let objects = match cluster.list(resource, own) {
            Ok(objects) => objects,
            // What may not be read, or is not there any more, is no reason to leave the others.
            Err(e) if matches!(e.code, 403..=405) => {
                tracing::warn!(policy = %policy.key(), kind = &*resource.kind, error = %e, "not listed");
                continue;
            }
            Err(e) => {
                faults.push(e.into());
                continue;
            }
        };
        for object in objects.iter().filter(|object| !is_left_out(object)) {
            let namespace = object.text_at(&["metadata", "namespace"]);
            match judge.selects(object, labels.get(namespace)) {
                Ok(false) => {}
                Ok(true) => match cluster.remove(object, propagation) {
                    Ok(()) => {
                        let name = object.text_at(&["metadata", "name"]);
                        let kind = &*resource.kind;
                        tracing::info!(policy = %policy.key(), kind, namespace, name, "deleted");
                    }
                    Err(e) if e.is_not_found() => {}
                    Err(e) => faults.push(e.into()),
                },
                Err(fault) => faults.push(fault),
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(CleanupError::Objects(faults)) }
}

/// Decides about the objects of a run.
enum Judge<'r> {
    /// By the filters and conditions of a cleanup policy.
    Sweep(Box<ephor_engine::cleanup::Sweep<'r>>, &'r Engine),
    /// By the expressions of a deleting policy.
    Deletions(PolicyKey, &'r Engine),
    /// The policy is not loaded yet.
    None,
}

impl<'r> Judge<'r> {
    fn of(policy: &StoredPolicy, in_use: &'r dyn InUse) -> Judge<'r> {
        let (key, engine) = (policy.key(), in_use.engine());
        if key.kind.ends_with("DeletingPolicy") {
            return Judge::Deletions(key, engine);
        }
        let own = in_use.cleanups().iter().find(|cleanup| {
            let namespace = cleanup.policy.namespace.as_deref().unwrap_or_default();
            *cleanup.policy.name == *key.name && namespace == key.namespace
        });
        own.map_or(Judge::None, |cleanup| Judge::Sweep(Box::new(engine.sweep(cleanup)), engine))
    }

    fn selects(&mut self, object: &Value, namespace: Option<&Map>) -> Result<bool, ObjectError> {
        match self {
            Judge::None => Ok(false),
            Judge::Sweep(sweep, engine) => {
                let mut target = Target::of(object);
                target.namespace_labels = namespace.cloned().unwrap_or_default();
                let images = Images::of(object.clone(), engine.functions());
                is_selected([&sweep.on(object, &target, &images)])
            }
            Judge::Deletions(key, engine) => {
                let name = object.text_at(&["metadata", "namespace"]);
                let known = namespace.map(|labels| {
                    let metadata =
                        Value::map([("name", name.into()), ("labels", Value::Map(labels.clone()))]);
                    Value::map([
                        ("apiVersion", "v1".into()),
                        ("kind", "Namespace".into()),
                        ("metadata", metadata),
                    ])
                });
                let parts = Parts {
                    object: object.clone(),
                    namespace: known.unwrap_or_default(),
                    ..Parts::default()
                };
                let request = Request::new(parts, engine.profile(), engine.functions())?;
                let outcomes = engine.deletions(&request, DeletionSubject::Object);
                let own = outcomes.iter().filter(|outcome| {
                    let namespace = outcome.policy.namespace.as_deref().unwrap_or_default();
                    *outcome.policy.name == *key.name && namespace == key.namespace
                });
                is_selected(own.flat_map(|outcome| &outcome.rules))
            }
        }
    }
}

/// Whether an object is selected, by the first result that says so or that is an error.
fn is_selected<'r>(results: impl IntoIterator<Item = &'r RuleOutcome>) -> Result<bool, ObjectError> {
    let says = |result: &RuleOutcome| match result.status {
        Status::Error => Some(Err(ObjectError::Outcome(result.message.clone()))),
        Status::Pass => Some(Ok(true)),
        _ => None,
    };
    results.into_iter().find_map(says).unwrap_or(Ok(false))
}

/// The resources that a policy is about, each once.
fn resources<'k>(document: &Value, served: &'k Kinds) -> Vec<&'k Resource> {
    let mut found = selected(document.at(&["spec", "match"]), served);
    let more = constrained(document.at(&["spec", "matchConstraints"]), served);
    more.into_iter().for_each(|resource| add(&mut found, resource));
    found
}

/// A resource, with a subresource of its objects; empty = they themselves.
pub type SweptPlace<'k> = (&'k Resource, String);

/// The resources that the rules of constraints are about, each once.
pub fn constrained<'k>(constraints: Option<&Value>, served: &'k Kinds) -> Vec<&'k Resource> {
    let places = placed(constraints, served).into_iter();
    places.filter(|(_, part)| part.is_empty()).map(|(resource, _)| resource).collect()
}

/// The same with the subresources that they name.
pub fn placed<'k>(constraints: Option<&Value>, served: &'k Kinds) -> Vec<SweptPlace<'k>> {
    let mut found: Vec<SweptPlace<'k>> = Vec::new();
    for rule in items(constraints.and_then(|constraints| constraints.get("resourceRules"))) {
        let has =
            |key: &'static str, own: &str| texts(rule, &[key]).any(|wanted| wildcard::matches(wanted, own));
        for (plural, part) in texts(rule, &["resources"]).map(|r| r.split_once('/').unwrap_or((r, ""))) {
            // What names all subresources also names the objects.
            let part = if part.contains('*') { "" } else { part };
            let fits = |r: &&Resource| {
                has("apiGroups", &r.group)
                    && has("apiVersions", &r.version)
                    && wildcard::matches(plural, &r.plural)
            };
            for resource in served.all().iter().filter(fits) {
                if !found.iter().any(|(other, of)| is_same(other, resource) && of == part) {
                    found.push((resource, part.to_string()));
                }
            }
        }
    }
    found
}

/// The resources that the filters of a `match` are about, each once.
pub fn selected<'k>(block: Option<&Value>, served: &'k Kinds) -> Vec<&'k Resource> {
    let mut found: Vec<&Resource> = Vec::new();
    for (_, filter) in filters(block) {
        for selector in texts(filter, &["resources", "kinds"]).map(kinds::parse) {
            let fits = |r: &&Resource| selector.matches(&r.group, &r.version, &r.kind, "");
            served.all().iter().filter(fits).for_each(|resource| add(&mut found, resource));
        }
    }
    found
}

/// Adds a resource, unless its objects are there in another version.
fn add<'k>(found: &mut Vec<&'k Resource>, resource: &'k Resource) {
    if !found.iter().any(|other| is_same(other, resource)) {
        found.push(resource);
    }
}

/// Whether two resources are one in two versions.
fn is_same(a: &Resource, b: &Resource) -> bool {
    a.group == b.group && a.kind == b.kind
}
