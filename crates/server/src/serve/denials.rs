//! Denials in the log.
//!
//! In: a review and its decision. Out: at info, one line for each request that is denied: by which
//! policies and rules, whose request it was and about what, and why. Values of Secrets do not get
//! into the log.

use ephor_admission::admit::{Decision, Incoming};
use ephor_engine::{Consequence, RuleOutcome};
use ephor_ir::Policy;

/// How many characters of the reason the log has.
const LONGEST_REASON: usize = 300;

/// Logs a decision that denies.
pub fn log(path: &str, incoming: &Incoming, decision: &Decision) {
    if !tracing::enabled!(tracing::Level::INFO) {
        return;
    }
    let Some(reason) = ephor_admission::redact::message(incoming, decision) else { return };
    tracing::info!(
        rules = rules(decision),
        user = incoming.text(&["userInfo", "username"]),
        operation = incoming.text(&["operation"]),
        object = object(incoming),
        dry_run = incoming.dry_run(),
        uid = &*incoming.uid,
        path,
        reason = shortened(&reason),
        "denied"
    );
}

/// The rules that deny, as `POLICY/RULE`; empty when it is a policy of Kubernetes or the server
/// itself that does.
fn rules(decision: &Decision) -> String {
    let target = decision.prepared.as_ref().map(|prepared| &prepared.request.target);
    let denies = |(policy, rule): &(&Policy, &RuleOutcome)| Consequence::of(policy, rule, target).denies;
    let named = |(policy, rule): (&Policy, &RuleOutcome)| match &*rule.rule {
        "" => policy.key(),
        rule => format!("{}/{rule}", policy.key()),
    };
    decision.outcomes.results().filter(denies).map(named).collect::<Vec<_>>().join(", ")
}

/// `KIND NAMESPACE/NAME`, with the generated name's prefix when there is no name yet.
pub(super) fn object(incoming: &Incoming) -> String {
    let name = match incoming.text(&["name"]) {
        "" => match incoming.text(&["object", "metadata", "name"]) {
            "" => incoming.text(&["object", "metadata", "generateName"]),
            name => name,
        },
        name => name,
    };
    let kind = incoming.text(&["kind", "kind"]);
    match incoming.text(&["namespace"]) {
        "" => format!("{kind} {name}"),
        namespace => format!("{kind} {namespace}/{name}"),
    }
}

/// The reason on one line.
fn shortened(reason: &str) -> String {
    let line = reason.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_REASON) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_is_cut_and_has_one_line() {
        assert_eq!(shortened("a\n\n  b: c\n"), "a b: c");
        let long = shortened(&"ä ".repeat(400));
        assert_eq!(long.chars().count(), LONGEST_REASON + 1);
        assert!(long.ends_with('…'));
    }
}
