//! Where in an object a rule is violated.
//!
//! In: a request on which rules of a policy fail. Out: for each of these rules the path of the field that decided. The rules are
//! evaluated once more while their decisions are recorded ([`crate::engine::trace`]); what an evaluation without violations
//! costs does not change.

use crate::engine::trace::{self, Event, EventKind, PatternVerdict, Step, TracedValue};
use crate::engine::{Request, RuleOutcome};
use crate::ir::{self, Expr};
use crate::policy_set::Engine;
use crate::value::place::{Path, PathPart, follow, parse};
use crate::value::{Fault, Str, Value};

mod reads;

/// What decided against an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule; empty for policies whose rules have no names.
    pub rule: Str,
    /// What it says: a rule may have several results.
    pub message: Str,
    /// The field of the object, where one decided.
    pub field: Option<Path>,
    /// The path in the policy's document of what decided: a pattern, a condition, an expression.
    pub decision: Option<Path>,
}

/// What decided against the object, by rule, for a policy by its position in the set.
pub fn violations(engine: &Engine, at: usize, request: &Request) -> Vec<Violation> {
    let (results, recorded) = trace::watch(|| engine.evaluate_policy(at, request));
    let failed = results.iter().filter(|r| r.status.is_violation());
    failed.map(|r| of_rule(r, &recorded.events, &request.object)).collect()
}

/// What decided against the object, of the decisions of all rules of a policy.
fn of_rule(result: &RuleOutcome, events: &[Event], object: &Value) -> Violation {
    let begins = |e: &&Event| matches!(&e.what, EventKind::Rule(name) if *name == result.rule);
    let own = events.iter().skip_while(|e| !begins(e)).skip(1);
    let own: Vec<&Event> = own.take_while(|e| !matches!(e.what, EventKind::Rule(_))).collect();
    let says =
        |event: &&Event| matches!(&event.what, EventKind::Failed(text) if result.message.contains(&**text));
    // Of several refusals of one rule that of this result; what is around the first one repeats it.
    let own = match own.iter().position(says) {
        Some(at) => own.get(..=at).unwrap_or_default().to_vec(),
        None => own,
    };
    let before = |at: usize| own.get(..at).unwrap_or_default();
    let decides = |(at, event): (usize, &&'_ Event)| Some((at, decided(event, before(at), object)?));
    let (at, field) = match own.iter().enumerate().rev().find_map(decides) {
        Some((at, field)) => (Some(at), Some(field)),
        None => {
            let at = own.iter().rposition(|event| is_against(event));
            let of_reads = |at: usize| reads::decisive(own.get(at)?, before(at), object);
            let of_element = |at: usize| before(at).iter().rev().find_map(|e| of_element(e, object));
            (at, at.and_then(|at| of_reads(at).or_else(|| of_element(at))))
        }
    };
    let decision = at.and_then(|at| Some(place_of(own.get(at)?, before(at), object)));
    let decision = decision.filter(|path| !path.is_empty());
    Violation { rule: result.rule.clone(), message: result.message.clone(), field, decision }
}

/// The path of what decided in the policy's document; of a pattern the part that the object differs from.
fn place_of(event: &Event, before: &[&Event], object: &Value) -> Path {
    match &event.what {
        EventKind::Pattern { at, path, .. } => {
            let base = at.map_or_else(|| event.origin.clone(), |at| event.origin.index(at));
            let element = element_of(event, before, object);
            let subject = element.as_ref().map_or(object, |path| follow(object, path).0);
            base.below(&steps_of(subject, path))
        }
        _ => event.origin.below(&[]),
    }
}

/// Whether a decision is against the object, or could not be taken.
fn is_against(event: &Event) -> bool {
    match &event.what {
        EventKind::Pattern { verdict, .. } => *verdict == PatternVerdict::Mismatch,
        EventKind::Condition { holds, .. } => *holds && is_of_deny(event),
        EventKind::Expression(_, value, _) => !is_true(value),
        EventKind::Data(_, value) => value.is_err(),
        EventKind::Fields(_) | EventKind::Failed(_) => true,
        _ => false,
    }
}

/// The path of the element that a decision of a loop is about, in the object; `before` are the decisions before it.
fn element_of(event: &Event, before: &[&Event], object: &Value) -> Option<Path> {
    let is_of_loop = event.origin.path.contains(".foreach");
    is_of_loop.then(|| before.iter().rev().find_map(|before| of_element(before, object))).flatten()
}

/// The path in the object of what a pattern differs from: a pattern of a loop has paths below its element. Empty when the element was computed, and
/// cannot be found in the object.
pub fn subject_of_pattern(event: &Event, before: &[&Event], path: &str, object: &Value) -> Path {
    let is_of_loop = event.origin.path.contains(".foreach");
    // Without `elementScope` the pattern of a loop is one of the whole object.
    let first = path.split('/').find(|key| !key.is_empty()).unwrap_or_default();
    let is_of_object = |part: &Value| object.get(first).is_some() && part.get(first).is_none();
    match element_of(event, before, object) {
        Some(element) if is_of_object(follow(object, &element).0) => steps_of(object, path),
        None if is_of_loop && is_of_object(&Value::Null) => steps_of(object, path),
        Some(mut element) => {
            let below = steps_of(follow(object, &element).0, path);
            element.extend(below);
            element
        }
        None if is_of_loop => Path::new(),
        None => steps_of(object, path),
    }
}

/// The field of a decision against the object; `before` are the decisions before it.
fn decided(event: &Event, before: &[&Event], object: &Value) -> Option<Path> {
    let path = match &event.what {
        EventKind::Pattern { verdict: PatternVerdict::Mismatch, path, .. } => {
            subject_of_pattern(event, before, path, object)
        }
        EventKind::Condition { key, holds: true, .. } if is_of_deny(event) => {
            path_of(key, object).or_else(|| reads::decisive(event, before, object))?
        }
        EventKind::Fields(fields) => parse(fields.first()?),
        EventKind::Failed(_) => reads::decisive(event, before, object)?,
        EventKind::Expression(_, value, steps)
            if !is_true(value) && !steps.iter().any(|step| reads::is_missing_elsewhere(step, object)) =>
        {
            let of_variables = || {
                let read = before.iter().rev().filter(|event| reads::reads_variable(steps, event));
                best(read.filter_map(|event| of_steps(&event.steps, &event.reads, object)), object)
            };
            of_steps(steps, &event.reads, object)
                .or_else(of_variables)
                .or_else(|| reads::decisive(event, before, object))?
        }
        _ => return None,
    };
    (!path.is_empty()).then_some(path)
}

/// Whether a condition is one that refuses, and no precondition.
fn is_of_deny(event: &Event) -> bool {
    event.origin.path.contains(".deny.")
}

/// The element of a loop: that of the object itself, or the one part of it that is equal to an element that was computed.
fn of_element(event: &Event, object: &Value) -> Option<Path> {
    let EventKind::Element(_, element) = &event.what else { return None };
    let of_equal = || {
        let mut found = Vec::new();
        equal_parts(object, &element.value, &mut Path::new(), &mut found);
        found.pop().filter(|path| found.is_empty() && !path.is_empty())
    };
    // An element that was computed is equal to what was read for it.
    let of_read = || {
        let paths = reads::paths(&event.reads, None, object);
        let is_equal = |path: &&Path| follow(object, path).0.strict_eq(&element.value);
        let below = || path_of_read(object, &paths, element.value.as_str()?);
        paths.iter().find(is_equal).cloned().or_else(below)
    };
    path_of(element, object).or_else(of_equal).or_else(of_read)
}

/// The paths of the objects in a value that are equal to one.
fn equal_parts(value: &Value, wanted: &Value, path: &mut Path, found: &mut Vec<Path>) {
    if !matches!(wanted, Value::Map(_)) {
        return;
    }
    crate::value::stack::deep(|| {
        if value.strict_eq(wanted) {
            return found.push(path.clone());
        }
        let mut below = |part: PathPart, value: &Value| {
            path.push(part);
            equal_parts(value, wanted, path, found);
            path.pop();
        };
        match value {
            Value::Map(fields) => fields.iter().for_each(|(k, v)| below(PathPart::Key(k.clone()), v)),
            Value::List(items) => {
                items.iter().enumerate().for_each(|(i, v)| below(PathPart::Index(i), v));
            }
            _ => {}
        }
    });
}

fn is_true(value: &Result<TracedValue, crate::value::Fault>) -> bool {
    value.as_ref().is_ok_and(|seen| seen.value.as_bool() == Some(true))
}

/// The field of the steps that decided an expression.
fn of_steps(steps: &[Step], reads: &[usize], object: &Value) -> Option<Path> {
    let of_parts = || best(steps.iter().rev().filter_map(|step| of_step(step, object)), object);
    let of_keys = || steps.iter().rev().find_map(|step| reads::key_of_step(step, reads, object));
    let of_texts = || steps.iter().rev().find_map(|step| of_computed(step, object));
    let of_missing = || steps.iter().rev().find_map(|step| of_missing(step, object));
    of_missing().or_else(of_parts).or_else(of_keys).or_else(of_texts)
}

/// The first of some paths; of items of one list one whose value is there says more than one that has none.
fn best(mut paths: impl Iterator<Item = Path>, object: &Value) -> Option<Path> {
    let first = paths.next()?;
    let has_value = |path: &Path| {
        let (value, followed) = follow(object, path);
        followed == path.len() && !matches!(value, Value::Map(_) | Value::List(_))
    };
    if has_value(&first) {
        return Some(first);
    }
    let is_other_item = |path: &Path| {
        let parts = first.iter().zip(path).find(|(own, other)| own != other);
        matches!(parts, Some((PathPart::Index(_), PathPart::Index(_))))
    };
    Some(paths.find(|path| is_other_item(path) && has_value(path)).unwrap_or(first))
}

fn of_step(step: &Step, object: &Value) -> Option<Path> {
    let operands = step.operands.iter().filter_map(|(_, value)| value.as_ref().ok());
    let own = operands.chain(step.value.as_ref().ok()).filter_map(|seen| path_of(seen, object));
    let read = step.reads.iter().filter_map(|address| trace::path_of(object, *address));
    // The deepest one: it says most.
    let found = own.chain(read.filter(|path| !path.is_empty())).max_by_key(Vec::len)?;
    Some(of_item(step, object, found))
}

/// Of a list or map the item or key that is equal to what a step compares it with.
fn of_item(step: &Step, object: &Value, path: Path) -> Path {
    let texts = step.operands.iter().filter_map(|(_, value)| value.as_ref().ok());
    let wanted: Vec<&Value> = texts.map(|seen| &seen.value).collect();
    let is_wanted = |value: &Value| wanted.iter().any(|wanted| wanted.strict_eq(value));
    let part = match follow(object, &path).0 {
        Value::List(items) => items.iter().position(is_wanted).map(PathPart::Index),
        Value::Map(fields) => {
            let mut keys = fields.iter().map(|(key, _)| key);
            keys.find(|key| is_wanted(&Value::Str((*key).clone()))).map(|key| PathPart::Key(key.clone()))
        }
        _ => None,
    };
    path.into_iter().chain(part).collect()
}

/// The path at which a field is missing that a step reads: the part that is there, and the first key that is not.
fn of_missing(step: &Step, object: &Value) -> Option<Path> {
    let (Expr::Walk(walk), Err(Fault::NotFound(_))) = (&step.expr, &step.value) else { return None };
    let base = step.operands.iter().rev().find(|(expr, _)| *expr == walk.base);
    let address = base.and_then(|(_, value)| value.as_ref().ok()?.address);
    let is_object =
        || matches!(&walk.base, Expr::Path { keys, .. } if keys.iter().map(|key| &**key).eq(["object"]));
    let of_object = || is_object().then(Path::new);
    let mut path = address.and_then(|address| trace::path_of(object, address)).or_else(of_object)?;
    for step in &walk.steps {
        let part = match step {
            ir::expr::Step::Key { key, .. } => match key {
                Value::Str(key) => PathPart::Key(key.clone()),
                Value::Int(index) => PathPart::Index(usize::try_from(*index).ok()?),
                _ => return None,
            },
            _ => return None,
        };
        path.push(part);
        if follow(object, &path).1 < path.len() {
            break;
        }
    }
    Some(path)
}

/// The first part of the object that is equal to a text that a step computed.
fn of_computed(step: &Step, object: &Value) -> Option<Path> {
    texts_of(step).find_map(|text| path_of_text(object, text, &mut Path::new()))
}

/// The texts that a step is about and that are no constants.
fn texts_of(step: &Step) -> impl Iterator<Item = &str> {
    let operands = step.operands.iter().filter(|(expr, _)| !matches!(expr, Expr::Const(_)));
    let texts = operands.filter_map(|(_, value)| value.as_ref().ok()?.value.as_str());
    texts.filter(|text| !text.is_empty())
}

/// The path of the first text below some parts of the object that is equal to one.
fn path_of_read(object: &Value, parts: &[Path], text: &str) -> Option<Path> {
    parts.iter().find_map(|part| path_of_text(follow(object, part).0, text, &mut part.clone()))
}

/// The path of the first text in a value that is equal to one; metadata aside, where names repeat what stands elsewhere.
fn path_of_text(value: &Value, wanted: &str, path: &mut Path) -> Option<Path> {
    crate::value::stack::deep(|| {
        let mut below = |part: PathPart, value: &Value| {
            path.push(part);
            let found = path_of_text(value, wanted, path);
            path.pop();
            found
        };
        match value {
            Value::Str(text) => (**text == *wanted).then(|| path.clone()),
            Value::Map(fields) => fields
                .iter()
                .filter(|(key, _)| !matches!(&***key, "apiVersion" | "kind"))
                .find_map(|(key, value)| match **key == *wanted {
                    // The text is a key that an expression looked at.
                    true => below(PathPart::Key(key.clone()), &Value::Null),
                    false => below(PathPart::Key(key.clone()), value),
                }),
            Value::List(items) => {
                items.iter().enumerate().find_map(|(at, item)| below(PathPart::Index(at), item))
            }
            _ => None,
        }
    })
}

fn path_of(seen: &TracedValue, object: &Value) -> Option<Path> {
    trace::path_of_value(object, seen).filter(|path| !path.is_empty())
}

/// The steps of a path as messages of patterns write it, `/spec/containers/0/image/`; keys may hold slashes themselves.
pub fn steps_of(object: &Value, path: &str) -> Path {
    let mut parts: Vec<&str> = path.trim_matches('/').split('/').filter(|p| !p.is_empty()).collect();
    let (mut at, mut steps) = (object, Path::new());
    while let Some(first) = parts.first().copied() {
        let key = (1..=parts.len()).rev().find_map(|n| {
            let key = parts.get(..n)?.join("/");
            at.get(&key).map(|below| (n, key, below))
        });
        match (at.as_list(), first.parse::<usize>(), key) {
            (Some(items), Ok(index), _) => {
                steps.push(PathPart::Index(index));
                at = items.get(index).unwrap_or(&Value::Null);
                parts.drain(..1);
            }
            (_, _, Some((n, key, below))) => {
                steps.push(PathPart::Key(key.into()));
                at = below;
                parts.drain(..n);
            }
            _ => {
                // What is missing has no place of its own.
                steps.push(PathPart::Key(first.into()));
                at = &Value::Null;
                parts.drain(..1);
            }
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::engine::Profile;
    use crate::engine::request::Parts;
    use crate::policy_set::PolicySet;
    use crate::value::place::dotted;

    const POD: &str =
        "{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {team: x}}, spec: {hostNetwork: true,
        containers: [{name: a, image: 'a:1'}, {name: b, image: 'b:latest'}]}}";

    fn found(policy: &str) -> Vec<String> {
        let profile = Profile::cluster();
        let engine = Engine::new(PolicySet::from_yaml(policy).unwrap()).with_profile(profile);
        let object = crate::document::yaml_value(POD).unwrap();
        let parts = Parts { object, ..Parts::default() };
        let request = Request::new(parts, profile, engine.functions()).unwrap();
        let found = violations(&engine, 0, &request);
        let text = |path: &Option<Path>| path.as_ref().map(|path| dotted(path)).unwrap_or_default();
        found.iter().map(|v| format!("{}: {} ({})", v.rule, text(&v.field), text(&v.decision))).collect()
    }

    fn classic(body: &str) -> String {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  background: false\n  rules:\n  - name: r\n    \
             match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    validate: {body}\n"
        )
    }

    #[test]
    fn a_pattern_names_the_field_that_differs() {
        let policy = classic("{message: m, pattern: {spec: {containers: [{image: '!*:latest'}]}}}");
        assert_eq!(
            found(&policy),
            ["r: spec.containers[1].image (spec.rules[0].validate.pattern.spec.containers[1].image)"]
        );
    }

    #[test]
    fn a_missing_field_has_the_path_at_which_it_is_missing() {
        let policy = classic("{message: m, pattern: {metadata: {labels: {owner: '?*'}}}}");
        assert_eq!(
            found(&policy),
            ["r: metadata.labels.owner (spec.rules[0].validate.pattern.metadata.labels.owner)"]
        );
    }

    #[test]
    fn a_pattern_of_a_loop_names_the_field_of_its_element() {
        let of = |check: &str| {
            found(&classic(&format!(
                "{{message: m, foreach: [{{list: request.object.spec.containers, {check}}}]}}"
            )))
        };
        assert_eq!(
            of("pattern: {image: '!*:latest'}"),
            ["r: spec.containers[1].image (spec.rules[0].validate.foreach[0].pattern.image)"]
        );
        assert_eq!(
            of("anyPattern: [{image: '!*:latest'}, {name: 'x'}]"),
            ["r: spec.containers[1].name (spec.rules[0].validate.foreach[0].anyPattern[1].name)"]
        );
        assert_eq!(
            of("pattern: {resources: {limits: {memory: '?*'}}}"),
            ["r: spec.containers[0].resources (spec.rules[0].validate.foreach[0].pattern.resources)"]
        );
    }

    #[test]
    fn an_expression_on_a_computed_list_names_the_part_that_its_item_came_from() {
        let policy = classic(
            "{cel: {variables: [{name: imgs, expression: 'object.spec.containers.map(c, c.image)'}], expressions: [{expression: \"variables.imgs.all(i, !i.endsWith(':latest'))\", message: m}]}}",
        );
        assert_eq!(
            found(&policy),
            ["r: spec.containers[1].image (spec.rules[0].validate.cel.expressions[0].expression)"]
        );
    }

    #[test]
    fn an_expression_without_its_field_names_the_part_around_it() {
        let policy =
            classic("{cel: {expressions: [{expression: 'object.spec.hostPID == false', message: m}]}}");
        assert_eq!(
            found(&policy),
            ["r: spec.hostPID (spec.rules[0].validate.cel.expressions[0].expression)"]
        );
    }

    #[test]
    fn a_deny_condition_names_the_field_of_its_key() {
        let policy = classic(
            "{message: m, deny: {conditions: {any: [{key: '{{ request.object.spec.hostNetwork }}', operator: Equals, value: true}]}}}",
        );
        assert_eq!(found(&policy), ["r: spec.hostNetwork (spec.rules[0].validate.deny.conditions.any[0])"]);
    }

    #[test]
    fn a_condition_on_what_is_computed_of_an_element_names_the_part_that_was_read() {
        let policy = classic(
            "{message: m, foreach: [{list: \"request.object.spec.containers[?image]\", deny: {conditions: {any: [{key: \"{{ length(element.image) }}\", operator: GreaterThan, value: 5}]}}}]}",
        );
        assert_eq!(
            found(&policy),
            ["r: spec.containers[1].image (spec.rules[0].validate.foreach[0].deny.conditions.any[0])"]
        );
    }

    fn denied(condition: &str) -> Vec<String> {
        let found = found(&classic(&format!("{{message: m, deny: {{conditions: {{any: [{condition}]}}}}}}")));
        found.iter().map(|line| line.split(" (").next().unwrap_or_default().to_string()).collect()
    }

    #[test]
    fn a_condition_on_the_keys_of_a_map_names_the_key_that_decides() {
        let keys = "'{{ request.object.metadata.labels.keys(@) }}'";
        let denied = |condition: &str| denied(&condition.replace("KEYS", keys));
        assert_eq!(denied("{key: KEYS, operator: AnyNotIn, value: [owner]}"), ["r: metadata.labels.team"]);
        assert_eq!(denied("{key: team, operator: AnyIn, value: KEYS}"), ["r: metadata.labels.team"]);
        // A key that is missing has no place: that of the map.
        assert_eq!(denied("{key: owner, operator: AnyNotIn, value: KEYS}"), ["r: metadata.labels"]);
    }

    #[test]
    fn an_expression_on_the_keys_of_a_map_names_the_key_that_decides() {
        let policy = classic(
            "{cel: {expressions: [{expression: \"object.metadata.?labels.orValue({}).all(k, k != 'team')\", message: m}]}}",
        );
        assert_eq!(
            found(&policy),
            ["r: metadata.labels.team (spec.rules[0].validate.cel.expressions[0].expression)"]
        );
    }

    #[test]
    fn a_condition_on_a_computed_list_names_the_part_that_its_item_came_from() {
        let images = "request.object.spec.containers[].image";
        let of = |expression: &str, rest: &str| {
            denied(&format!("{{key: \"{{{{ {expression} }}}}\", operator: {rest}}}"))
        };
        let latest = ["r: spec.containers[1].image"];
        assert_eq!(of(&format!("contains({images}, 'b:latest')"), "Equals, value: true"), latest);
        assert_eq!(of(&format!("{images} | contains(@, 'b:latest')"), "Equals, value: true"), latest);
        assert_eq!(of(&format!("{images}.ends_with(@, ':latest')"), "AnyIn, value: [true]"), latest);
        let of_value = format!(
            "{{key: [true], operator: AnyIn, value: \"{{{{ {images}.regex_match('latest$', @) }}}}\"}}"
        );
        assert_eq!(denied(&of_value), latest);
    }

    #[test]
    fn of_two_items_the_one_with_the_wrong_value_is_named_and_not_the_one_without_a_value() {
        let policy = classic(
            "{cel: {expressions: [{expression: \"object.spec.containers.all(c, c.name != 'b') || object.spec.containers.all(c, c.?tty.orValue(false))\", message: m}]}}",
        );
        assert_eq!(
            found(&policy),
            ["r: spec.containers[1].name (spec.rules[0].validate.cel.expressions[0].expression)"]
        );
    }

    #[test]
    fn a_precondition_is_never_what_decided() {
        let policy = classic(
            "{message: m, deny: {conditions: {any: [{key: \"{{ length(request.object.spec.containers) }}\", operator: Equals, value: 2}]}}}",
        );
        let policy = policy.replace(
            "validate:",
            "preconditions: {all: [{key: '{{ request.object.spec.hostNetwork }}', operator: Equals, value: true}]}\n    validate:",
        );
        assert_eq!(found(&policy), ["r: spec.containers (spec.rules[0].validate.deny.conditions.any[0])"]);
    }

    #[test]
    fn the_first_validation_of_a_native_policy_that_is_false_decides() {
        let policy = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: native}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations:
  - expression: object.metadata.name == 'a'
  - expression: object.spec.containers.all(c, !c.image.endsWith(':latest'))
  - expression: object.metadata.labels.team == 'y'
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: native}
spec: {policyName: native, validationActions: [Deny]}
";
        let expected = ["native: spec.containers[1].image (spec.validations[1].expression)"];
        assert_eq!(found(policy), expected);
        let (unbound, _) = policy.split_once("---").unwrap();
        assert_eq!(found(unbound), expected);
    }

    #[test]
    fn an_expression_names_the_field_that_makes_it_false() {
        let policy = classic(
            "{cel: {expressions: [{expression: \"object.spec.containers.all(c, !c.image.endsWith(':latest'))\", message: m}]}}",
        );
        assert_eq!(
            found(&policy),
            ["r: spec.containers[1].image (spec.rules[0].validate.cel.expressions[0].expression)"]
        );
    }

    #[test]
    fn pod_security_names_the_first_field_that_a_control_refuses() {
        assert_eq!(
            found(&classic("{podSecurity: {level: baseline}}")),
            ["r: spec.hostNetwork (spec.rules[0])"]
        );
    }

    #[test]
    fn a_satisfied_rule_names_no_field() {
        assert!(found(&classic("{message: m, pattern: {metadata: {labels: {team: x}}}}")).is_empty());
    }
}
