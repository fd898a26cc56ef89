//! PolicyExceptions of `kyverno.io` → those of `policies.kyverno.io`.
//!
//! In: the document as written, and what became of the policies that it names. Out: an exception
//! with references to the new policies and conditions. A new exception exempts from a policy as a
//! whole, so one that names some rules of a policy that has others, too, is refused.

use ephor_ir::{Exception, Origin};
use ephor_value::{Map as Fields, Value};

use crate::constraints::{add_condition, as_conditions, conditions};
use crate::expressions::context::{Context, Target};
use crate::expressions::converted::NamedExpression;
use crate::expressions::refusal::{Refusal, Result};
use crate::kinds::shared::{conditions_of, document_of};
use crate::model::migrated::{Migrated, Options, TargetApi};
use crate::model::original::{NewMetadata, Original};
use crate::text::{Map, Node};

/// An exception names some rules of a policy whose rules are one policy now.
pub const SOME_RULES: &str = "an exception from some rules of a policy that is one now";

/// The version in which Kyverno's command line reads exceptions next to policies.
const VERSION: &str = "policies.kyverno.io/v1beta1";

/// A policy that moved.
#[derive(Clone, Copy, Debug)]
pub struct Moved<'m> {
    /// Its name; `namespace/name` in namespaces.
    pub key: &'m str,
    /// What takes its place.
    pub migrated: &'m Migrated,
    /// Whether rules for pod controllers are generated from its rules.
    pub has_generated: bool,
}

/// What takes the place of a PolicyException.
///
/// # Errors
/// What cannot be expressed, or a policy that did not move.
pub fn migrate(
    original: &Original,
    moved: &[Moved<'_>],
    options: &Options,
) -> Result<Migrated, Vec<Refusal>> {
    exception(original, moved, options).map_err(|refusal| vec![refusal])
}

fn exception(original: &Original, moved: &[Moved<'_>], options: &Options) -> Result<Migrated> {
    let document = &original.value;
    let refuse =
        |what: String, path: &str, nearest: &str| Err(Refusal::new(what, Origin::new(path), nearest));
    if options.to == TargetApi::Kubernetes {
        return refuse("an exception".into(), "spec", "add its conditions to the policy of Kubernetes");
    }
    let lowered = ephor_lower::policy::exception(document);
    if !lowered.pod_security.is_null() {
        let controls = lowered.pod_security.as_list().unwrap_or_default().iter();
        let names: Vec<String> = controls.map(|one| format!("`{}`", one.text_at(&["controlName"]))).collect();
        return refuse(
            format!(
                "an exception from the Pod Security control {} alone: it would be one from all controls of the policy",
                names.join(", ")
            ),
            "spec.podSecurity",
            "write a second rule for these objects that excludes the control, and exclude the objects from the first one",
        );
    }
    let mut all = as_conditions(&lowered.when, &options.kinds)?;
    let mut references: Vec<(String, String)> = Vec::new();
    for (at, (key, _)) in lowered.covers.iter().enumerate() {
        let path = format!("spec.exceptions[{at}]");
        let Some(policy) = moved.iter().find(|one| one.key == &**key) else {
            return refuse(
                format!("an exception from the policy `{key}`, which is not among those that moved"),
                &path,
                "migrate the policy together with it",
            );
        };
        let (own, condition) = covered(&lowered, policy, &path)?;
        references.extend(own.into_iter().filter(|one| !references.contains(one)).collect::<Vec<_>>());
        if let Some(expression) = condition.filter(|text| !all.iter().any(|c| c.expression == *text)) {
            add_condition(&mut all, NamedExpression::converted("kinds", expression));
        }
    }
    preconditions(document, options)?.into_iter().for_each(|one| add_condition(&mut all, one));
    let mut spec = Map::default();
    let reference =
        |(kind, name): &(String, String)| Node::map([("name", Node::text(name)), ("kind", Node::text(kind))]);
    spec.push("policyRefs", Node::list(references.iter().map(reference)));
    spec.push_some("matchConditions", conditions(&all));
    let name = document.text_at(&["metadata", "name"]);
    let namespace = Some(document.text_at(&["metadata", "namespace"])).filter(|text| !text.is_empty());
    let named = NewMetadata { name, namespace, origin: None };
    let document = document_of(VERSION, original, "PolicyException", &named, spec);
    Ok(Migrated { documents: vec![document], ..Migrated::default() })
}

/// Kinds and names of policies, and a condition about the kinds of objects.
type Covered = (Vec<(String, String)>, Option<String>);

/// The new policies of which an exception covers every rule, and the kinds that it is for.
fn covered(exception: &Exception, policy: &Moved<'_>, path: &str) -> Result<Covered> {
    let refuse = |what: &str, nearest: &str| Err(Refusal::new(what, Origin::new(path), nearest));
    let rules: Vec<(&str, &[String])> =
        policy.migrated.rules.iter().map(|(name, policies)| (name.as_str(), policies.as_slice())).collect();
    let covers = |rule: &str| exception.covers(policy.key, rule);
    let mut own = Vec::new();
    let (mut on_pods, mut on_controllers) = (false, false);
    for document in &policy.migrated.documents {
        let mut has: Vec<&str> = Vec::new();
        has.extend(rules.iter().filter(|(_, all)| all.contains(&document.name)).map(|(name, _)| *name));
        let generated = |rule: &str| covers(&format!("autogen-{rule}"));
        let exempt = |rule: &&str| covers(rule) || (policy.has_generated && generated(rule));
        match has.iter().filter(|rule| exempt(rule)).count() {
            0 => continue,
            some if some < has.len() => {
                return refuse(SOME_RULES, "write a policy for each of these rules");
            }
            _ => {}
        }
        on_pods |= has.iter().any(|rule| covers(rule));
        on_controllers |= !policy.has_generated || has.iter().any(|rule| generated(rule));
        own.push((document.kind.to_string(), document.name.clone()));
    }
    if own.is_empty() {
        return refuse("an exception from rules that the policy does not have", "correct `ruleNames`");
    }
    let condition = match (on_pods, on_controllers) {
        (true, true) => None,
        (true, false) => Some("request.kind.kind == 'Pod'".to_string()),
        _ => Some("request.kind.kind != 'Pod'".to_string()),
    };
    Ok((own, condition))
}

/// `conditions` of an exception in CEL.
fn preconditions(document: &Value, options: &Options) -> Result<Vec<NamedExpression>> {
    let Some(written) = document.at(&["spec", "conditions"]).filter(|v| !v.is_null()) else {
        return Ok(Vec::new());
    };
    let mut rule = Fields::new();
    rule.insert("name", Value::from("exception"));
    rule.insert("preconditions", written.clone());
    let context = Context::new(Target::Kyverno, Vec::new(), options.types.clone());
    let converted = conditions_of(rule, 0, &context).map_err(|refusal| Refusal {
        place: Origin::new(refusal.place.path.replace("spec.rules[0].preconditions", "spec.conditions")),
        ..refusal
    })?;
    if !converted.variables.is_empty() {
        return Err(Refusal::new(
            "conditions that share data",
            Origin::new("spec.conditions"),
            "write them as one expression",
        ));
    }
    Ok(converted.conditions)
}
