//! Evaluations that would continue for long after the answer is due.

use std::time::{Duration, Instant};

use ephor_admission::admit::{Deadline, Decision};

use super::{answer, cluster_policy, config_map, gate, validating_policy};

/// A list with this many items, as a text that expressions split.
fn long(items: usize) -> String {
    config_map(&format!(r#"{{"x": "{}", "y": "b"}}"#, "a,".repeat(items)))
}

/// The decision on an object that takes minutes without a deadline.
fn in_time(policies: &str, path: &str, object: &str) -> Decision {
    let gate = gate(policies);
    let deadline = Duration::from_millis(300);
    let began = Instant::now();
    let (decision, _) = answer(&gate, path, object, &Deadline::at(began + deadline));
    let took = began.elapsed();
    assert!(
        took >= deadline,
        "it took only {took:?}: nothing was interrupted\n{policies}\n{:?}",
        decision.answer.denial
    );
    // Tests are not optimised, and run side by side.
    assert!(took < deadline + Duration::from_secs(3), "{took:?}\n{policies}");
    decision
}

const LIST: &str = "split(request.object.data.x, ',')";

/// Rules that take minutes.
fn slow_rules() -> Vec<String> {
    let deny = |key: &str| {
        format!(
            "validate:\n  failureAction: Enforce\n  message: m\n  deny: {{conditions: {{any: [{{key: \"{key}\", operator: Equals, value: never}}]}}}}"
        )
    };
    let each = |inner: &str| {
        format!(
            "validate:\n  failureAction: Enforce\n  message: m\n  foreach:\n  - list: \"{LIST}\"\n{inner}"
        )
    };
    let nothing = "{any: [{key: a, operator: Equals, value: b}]}";
    vec![
        // Nested projections, and functions that run an expression for each item; a default absorbs
        // nothing. What does not depend on the item would be evaluated once.
        deny(&format!("{{{{ {LIST}[*].[length(SPLIT[*].[length(@)])] | length(@) }}}}").replace("SPLIT", "split(join('', [@, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa']), '')[*].split(join('', [@, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa']), '')[*].split(join('', [@, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa']), '')[]")),
        deny(&format!("{{{{ map(&length(map(&length(@), SPLIT)), {LIST}) || 'x' }}}}").replace("SPLIT", "split(join('', [@, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa']), '')[*].split(join('', [@, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa']), '')[]")),
        // Loops in loops, whose preconditions absorb nothing either.
        each(&format!("    foreach:\n    - list: \"{LIST}\"\n      deny: {{conditions: {nothing}}}")),
        each(&format!(
            "    preconditions: {{any: [{{key: \"{{{{ length({LIST}) }}}}\", operator: Equals, value: 1}}]}}\n    deny: {{conditions: {nothing}}}"
        )),
        // Two long lists that are compared with each other.
        format!(
            "validate:\n  failureAction: Enforce\n  message: m\n  deny: {{conditions: {{any: [{{key: \"{{{{ {LIST} }}}}\", operator: AllIn, value: \"{{{{ split(replace_all(request.object.data.x, 'a', '?b'), ',') }}}}\"}}, {{key: \"{{{{ split(replace_all(request.object.data.x, 'a', '*b'), ',') }}}}\", operator: AnyIn, value: \"{{{{ split(replace_all(request.object.data.x, 'a', '?c'), ',') }}}}\"}}]}}}}"
        ),
    ]
}

#[test]
fn slow_rules_are_interrupted_and_the_failure_policy_decides() {
    for rule in slow_rules() {
        let decision = in_time(&cluster_policy("Fail", &rule), "/validate", &long(50_000));
        let denial = decision.answer.denial.unwrap_or_else(|| panic!("{rule}"));
        assert_eq!(denial.code, 504, "{rule}: {}", denial.message);
        assert!(
            denial.message.contains("no time to evaluate policies that must not be left out: p"),
            "{}",
            denial.message
        );
        assert_eq!(
            decision.outcomes.results().count(),
            0,
            "a rule that was interrupted has no result: {rule}"
        );
        let decision = in_time(&cluster_policy("Ignore", &rule), "/validate", &long(50_000));
        assert!(decision.answer.denial.is_none(), "{rule}");
    }
}

#[test]
fn rules_before_the_one_that_is_interrupted_keep_their_results() {
    let first = "validate: {failureAction: Enforce, message: no b, pattern: {data: {y: \"!b\"}}}";
    let slow = slow_rules().remove(2);
    let both = cluster_policy("Ignore", first);
    let second = cluster_policy("Ignore", &slow);
    let second = second.split_once("  - name: r").expect("a rule").1;
    let decision = in_time(&format!("{both}  - name: slow{second}"), "/validate", &long(50_000));
    let denial = decision.answer.denial.expect("a refusal");
    assert!(denial.message.contains("no b"), "{}", denial.message);
}

#[test]
fn policies_behind_the_one_that_is_interrupted_are_left_out_by_their_failure_policy() {
    let slow = cluster_policy("Ignore", &slow_rules().remove(2)).replace("name: p}", "name: a}");
    let other =
        cluster_policy("Fail", "validate: {failureAction: Enforce, message: m, pattern: {data: {y: b}}}");
    let decision = in_time(&format!("{slow}\n---\n{other}"), "/validate", &long(50_000));
    let denial = decision.answer.denial.expect("a refusal");
    assert_eq!(denial.code, 504);
    assert!(denial.message.ends_with("left out: p"), "{}", denial.message);
}

#[test]
fn slow_expressions_are_interrupted() {
    // What is computed once is not computed again: each is another one.
    let variables: Vec<(String, String)> = [("l", "object.data.x.split(',')")]
        .into_iter()
        .chain((1..200).map(|_| ("", "")))
        .enumerate()
        .map(|(n, (name, text))| match name {
            "" => (format!("v{n}"), format!("variables.l.map(x, x + 'a{n}').size()")),
            name => (name.to_string(), text.to_string()),
        })
        .collect();
    let sum: Vec<String> = (1..200).map(|n| format!("variables.v{n} >= 0")).collect();
    let policy = validating_policy(&variables, &format!("{} || true", sum.join(" && ")));
    let decision = in_time(&policy, "/validate", &long(60_000));
    assert_eq!(decision.answer.denial.expect("a refusal").code, 504);
    let ignored = policy.replace("spec:\n", "spec:\n  failurePolicy: Ignore\n");
    assert!(in_time(&ignored, "/validate", &long(60_000)).answer.denial.is_none());
}

#[test]
fn slow_changes_are_interrupted_and_change_nothing() {
    for change in [
        format!(
            "foreach: [{{list: \"{LIST}\", patchStrategicMerge: {{data: {{\"k{{{{elementIndex}}}}\": \"{{{{element}}}}\"}}}}}}]"
        ),
        format!(
            "foreach: [{{list: \"{LIST}\", foreach: [{{list: \"{LIST}\", patchStrategicMerge: {{data: {{y: b}}}}}}]}}]"
        ),
    ] {
        let rule = format!("mutate:\n  {change}");
        let decision = in_time(&cluster_policy("Fail", &rule), "/mutate", &long(50_000));
        assert_eq!(decision.answer.denial.expect("a refusal").code, 504, "{change}");
        let decision = in_time(&cluster_policy("Ignore", &rule), "/mutate", &long(50_000));
        assert!(decision.answer.denial.is_none() && decision.answer.patch.is_empty(), "{change}");
    }
}

#[test]
fn slow_policies_of_kubernetes_are_interrupted() {
    let expression =
        "object.data.x.split(',').map(x, object.data.x.split(',').map(y, x + y).size()).size() >= 0";
    for (failure, denied) in [("Fail", true), ("Ignore", false)] {
        let policies: Vec<String> = (0..40)
            .map(|n| {
                format!(
                    "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {{name: p{n}}}\nspec:\n  failurePolicy: {failure}\n  matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}}]}}\n  validations: [{{expression: \"{expression}\"}}]\n---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {{name: b{n}}}\nspec: {{policyName: p{n}, validationActions: [Deny]}}\n"
                )
            })
            .collect();
        let gate = gate(&policies.join("---\n"));
        let deadline = Deadline::at(Instant::now() + Duration::from_millis(100));
        let (decision, took) = answer(&gate, "/validate", &long(100_000), &deadline);
        assert!(took < Duration::from_secs(3), "{took:?}");
        assert_eq!(decision.answer.denial.is_some(), denied, "{failure}: {:?}", decision.answer.denial);
    }
}

#[test]
fn an_interrupted_result_is_not_cached() {
    let rule = "validate:\n  failureAction: Enforce\n  message: m\n  deny: {conditions: {any: [{key: \"{{ length(map(&length(@), split(request.object.data.x, ','))) }}\", operator: Equals, value: 200001}]}}";
    let gate = gate(&cluster_policy("Fail", rule));
    let over = Deadline::at(Instant::now() + Duration::from_millis(1));
    let (decision, _) = answer(&gate, "/validate", &long(200_000), &over);
    assert_eq!(decision.answer.denial.expect("a refusal").code, 504);
    let (decision, _) = answer(&gate, "/validate", &long(200_000), &Deadline::never());
    let denial = decision.answer.denial.expect("a refusal");
    assert!(denial.code != 504 && decision.outcomes.results().count() == 1, "{denial:?}");
}
