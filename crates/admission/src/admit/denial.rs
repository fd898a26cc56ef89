//! Texts of refusals and warnings, as Kyverno words them.

use ephor_document::write::{self as yaml, Style};
use ephor_engine::{RuleOutcome, Status};
use ephor_ir::Policy;
use ephor_value::{Map, Str, Value};

use super::incoming::Incoming;

/// What was refused: kind, namespace and name of the object as messages name it.
pub struct DeniedObject<'s> {
    /// Its kind.
    pub kind: &'s str,
    /// Its namespace.
    pub namespace: &'s str,
    /// Its name; empty when the server is to generate one.
    pub name: &'s str,
}

impl<'s> DeniedObject<'s> {
    /// Of a review.
    pub fn of(incoming: &'s Incoming) -> DeniedObject<'s> {
        let name = match incoming.text(&["name"]) {
            "" => incoming.text(&["object", "metadata", "name"]),
            name => name,
        };
        DeniedObject {
            kind: incoming.text(&["kind", "kind"]),
            namespace: incoming.text(&["namespace"]),
            name,
        }
    }
}

/// The block that lists failed rules that count: by policy and rule, in the order of their names.
pub fn block<'p>(
    subject: &DeniedObject<'_>,
    results: impl Iterator<Item = (&'p Policy, &'p [RuleOutcome])>,
    counts: impl Fn(&Policy, &RuleOutcome) -> bool,
) -> String {
    let mut policies = Map::new();
    for (policy, rules) in results {
        let failed =
            rules.iter().filter(|r| !matches!(r.status, Status::Pass | Status::Skip) && counts(policy, r));
        let rules: Map = failed.map(|r| (r.rule.clone(), Value::Str(r.message.clone()))).collect();
        if !rules.is_empty() {
            // A policy of the same name takes the place of the former one, as in Kyverno.
            policies.insert(Str::clone(&policy.name), Value::Map(rules));
        }
    }
    let DeniedObject { kind, namespace, name } = subject;
    // A request about a namespace carries its name; the object is in none.
    let namespace = if *kind == "Namespace" { "" } else { namespace };
    let mut text =
        format!("\n\nresource {kind}/{namespace}/{name} was blocked due to the following policies \n\n");
    yaml::write(&mut text, &Value::Map(policies), Style::Block);
    text
}

/// A warning about a rule.
pub fn warning(policy: &Policy, rule: &RuleOutcome) -> String {
    format!("policy {}.{}: {}", policy.name, rule.rule, rule.message)
}

/// The message about a CEL policy.
pub fn verdict(policy: &Policy, rule: &RuleOutcome) -> String {
    let how = if rule.status == Status::Error { "error" } else { "failed" };
    format!("Policy {} {how}: {}", policy.name, rule.message)
}

/// Why a mutation that failed denies the request.
pub fn unchanged(policy: &Policy, rules: &[RuleOutcome]) -> String {
    let failed = rules.iter().filter(|r| matches!(r.status, Status::Fail | Status::Error));
    let texts: Vec<String> = failed.map(|r| format!("{}: {}", r.rule, r.message)).collect();
    let name = &policy.name;
    format!("mutation policy {name} error: failed to apply policy {name} rules [{}]", texts.join(" "))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use ephor_ir::rule::RuleKind;

    fn failed(rule: &str, message: &str) -> RuleOutcome {
        RuleOutcome::new(&rule.into(), RuleKind::Validation, Status::Fail, message)
    }

    /// The keys and texts of the recorded answers of Kyverno.
    #[test]
    fn the_block_has_the_layout_of_kyverno() {
        let set = ephor_policies::PolicySet::from_yaml(
            "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: deny-latest}, spec: {rules: [{name: a, match: {any: [{resources: {kinds: [ConfigMap]}}]}, validate: {message: m, pattern: {data: {a: b}}}}]}}",
        )
        .unwrap();
        let rules = [
            failed("two-lines", "first\nsecond"),
            failed("no-latest", "use a fixed tag: latest is refused"),
            failed("rule-10", &"long ".repeat(40)),
            failed("rule-2", ""),
            failed("y", "12"),
            failed("list", "- a"),
            failed("tab", "a\tb"),
            failed("blank", "a \nb"),
            failed("emoji", "ok \u{1F600}"),
            failed("indented", "  a\nb\n"),
        ];
        let subject = DeniedObject { kind: "Pod", namespace: "shop", name: "cart" };
        let policy = set.policies().first().unwrap();
        insta::assert_snapshot!(block(&subject, std::iter::once((&**policy, &rules[..])), |_, _| true));
    }
}
