//! `ephor diff` and `equivalent` about policies that delete objects.

use crate::common::Files;

const CLEANUP: &str = "apiVersion: kyverno.io/v2
kind: ClusterCleanupPolicy
metadata: {name: clean}
spec:
  schedule: '*/5 * * * *'
  match: {any: [{resources: {kinds: [Deployment], selector: {matchLabels: {remove: 'true'}}}}]}
  conditions: {any: [{key: '{{ target.spec.replicas }}', operator: LessThan, value: 2}]}
";

const DELETING: &str = "apiVersion: policies.kyverno.io/v1
kind: DeletingPolicy
metadata: {name: clean}
spec:
  schedule: '*/5 * * * *'
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], resources: [deployments], operations: ['*']}]}
  conditions:
  - {name: labels, expression: \"object.metadata.?labels[?'remove'].orValue('') == 'true'\"}
  - {name: few, expression: object.spec.replicas < 2}
";

fn compared(old: &str, new: &str, more: &[&str]) -> (Option<i32>, String) {
    let files = Files::new(&[("old.yaml", old), ("new.yaml", new)]);
    let ran = files.run(&[&["diff", "old.yaml", "new.yaml"], more].concat());
    assert_eq!(ran.err, "");
    (ran.code, ran.out)
}

#[test]
fn a_cleanup_policy_is_compared_with_what_migrate_writes_for_it() {
    let (code, out) = compared(CLEANUP, DELETING, &[]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.starts_with("clean: equal, proved ("), "{out}");
    let migrated = Files::new(&[("old.yaml", CLEANUP)]).run(&["migrate", "old.yaml"]);
    assert!(migrated.err.starts_with("old.yaml:1: clean: proved\n"), "{}", migrated.err);
    let (code, out) = compared(CLEANUP, &migrated.out, &[]);
    assert_eq!(code, Some(0), "{out}");
}

#[test]
fn an_object_that_one_side_alone_deletes_is_a_difference() {
    let (code, out) = compared(CLEANUP, &DELETING.replace("< 2", "< 1"), &[]);
    assert_eq!(code, Some(1));
    assert!(out.contains("one side alone deletes it\n") && out.contains("      replicas: 1\n"), "{out}");
    assert!(out.contains("    old  deletes it\n") && out.contains("    new  leaves it\n"), "{out}");
    // Fewer deletions are weaker, more of them stricter.
    for (new, fail_on, code) in
        [("< 1", "weaker", 1), ("< 1", "stricter", 0), ("< 3", "weaker", 0), ("< 3", "stricter", 1)]
    {
        let new = DELETING.replace("< 2", new);
        assert_eq!(compared(CLEANUP, &new, &["--fail-on", fail_on]).0, Some(code), "{new} {fail_on}");
    }
}

#[test]
fn another_schedule_or_propagation_is_a_difference() {
    for (from, to, shown) in [
        ("'*/5 * * * *'", "'0 * * * *'", "  schedule: new  0 * * * *\n"),
        ("spec:\n", "spec:\n  deletionPropagationPolicy: Orphan\n", "  schedule: new  */5 * * * *, Orphan\n"),
    ] {
        let (code, out) = compared(CLEANUP, &DELETING.replace(from, to), &[]);
        assert_eq!(code, Some(1), "{out}");
        assert!(out.starts_with("clean: differs: schedule\n") && out.contains(shown), "{out}");
        assert!(out.ends_with("1 policy: 0 proved, 0 tested, 1 differ (1 schedule)\n"), "{out}");
    }
    assert_eq!(compared(CLEANUP, &DELETING.replace("'*/5 *", "'*/5  *"), &[]).0, Some(0));
}

#[test]
fn a_side_that_lacks_a_cleanup_policy_is_weaker() {
    const POLICY: &str = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: clean}\nspec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, \
                          validate: {message: m, deny: {}}}]}\n---\n";
    let with = format!("{POLICY}{CLEANUP}");
    let (code, out) = compared(&with, POLICY, &["--fail-on", "weaker"]);
    assert_eq!(code, Some(1));
    assert!(out.contains("clean: only in the old policies "), "{out}");
    assert_eq!(compared(POLICY, &with, &["--fail-on", "weaker"]).0, Some(0));
    // One of the same name that admits requests is none that deletes.
    assert_eq!(compared(&with, &format!("{POLICY}{DELETING}"), &[]).0, Some(0));
}

#[test]
fn an_exception_from_deletions_counts() {
    let exception = "---
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {name: e, namespace: d}
spec:
  policyRefs: [{name: clean, kind: DeletingPolicy}]
  matchConditions: [{name: a, expression: \"object.metadata.name == 'spared'\"}]
";
    let with = format!("{DELETING}{exception}");
    let (code, out) = compared(DELETING, &with, &["--fail-on", "weaker"]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("      name: spared\n") && out.contains("    new  leaves it\n"), "{out}");
    assert_eq!(compared(&with, &with, &[]).0, Some(0));
}

#[test]
fn sets_are_compared_by_what_they_delete_and_deletions_deny_nothing() {
    let files =
        Files::new(&[("a.yaml", CLEANUP), ("b.yaml", DELETING), ("c.yaml", &DELETING.replace("< 2", "< 3"))]);
    assert_eq!(files.run(&["equivalent", "a.yaml", "b.yaml"]).code, Some(0));
    assert_eq!(files.run(&["equivalent", "a.yaml", "c.yaml"]).code, Some(1));
    let ran = files.run(&["implies", "a.yaml", "b.yaml"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("not compared: ClusterCleanupPolicy clean: it denies nothing"), "{}", ran.err);
}
