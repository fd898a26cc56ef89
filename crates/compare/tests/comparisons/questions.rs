//! Questions about sides as a whole, certificates, limits, and remarks about one policy.

use std::time::Instant;

use ephor_compare::{
    Answer, Certificate, Certified, Collector, Comparison, DifferenceKind, MAX_WITH_MESSAGES, MessagePair,
    Observer, Options, RemarkKind, compare, compare_observed, equivalent, implies, is_equivalent, messages,
    messages_after, remarks, traces,
};
use ephor_value::place::dotted;

use super::{compared, denying, load, side};

/// A policy with rules, each a name and what stands below `match`.
fn policy(name: &str, action: &str, rules: &[(&str, &str)]) -> String {
    let rules: String = rules
        .iter()
        .map(|(rule, body)| {
            format!("  - name: {rule}\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n{body}")
        })
        .collect();
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}, annotations: {{pod-policies.kyverno.io/autogen-controllers: none}}}}\nspec:\n  background: false\n  validationFailureAction: {action}\n  rules:\n{rules}"
    )
}

fn pattern(spec: &str) -> String {
    format!("    validate: {{message: m, pattern: {{spec: {spec}}}}}\n")
}

const NETWORK: &str = "{=(hostNetwork): false}";
const PID: &str = "{=(hostPID): false}";

fn options() -> Options {
    Options::default()
}

#[test]
fn one_policy_is_equivalent_to_several_that_check_its_parts() {
    let whole = policy("all", "Enforce", &[("r", &pattern("{=(hostNetwork): false, =(hostPID): false}"))]);
    let parts = [
        policy("a", "Enforce", &[("r", &pattern(NETWORK))]),
        policy("b", "Enforce", &[("r", &pattern(PID))]),
    ]
    .join("---\n");
    let found = equivalent(&side(&whole), &side(&parts), options(), None);
    assert!(is_equivalent(&found), "{found:?}");
    assert_eq!(found.answer, Answer::Proved);
}

#[test]
fn sets_with_other_consequences_are_not_equivalent() {
    let of = |action: &str| side(&policy("a", action, &[("r", &pattern(NETWORK))]));
    let found = equivalent(&of("Enforce"), &of("Audit"), options(), None);
    assert!(!is_equivalent(&found), "{found:?}");
    assert!(found.differences.iter().all(|d| d.kind == DifferenceKind::Action), "{found:?}");
    // A rule that only reports allows what one that enforces denies.
    assert_eq!(implies(&of("Audit"), &of("Enforce"), options(), None).answer, Answer::Proved);
    assert_eq!(implies(&of("Enforce"), &of("Audit"), options(), None).answer, Answer::Differs);
}

#[test]
fn a_stricter_policy_implies_a_weaker_one_and_not_the_other_way_round() {
    let weak = side(&policy("a", "Enforce", &[("r", &pattern(NETWORK))]));
    let strict = side(&policy("b", "Enforce", &[("r", &pattern(NETWORK)), ("s", &pattern(PID))]));
    let found = implies(&weak, &strict, options(), None);
    assert_eq!(found.answer, Answer::Proved, "{found:?}");
    let found = implies(&strict, &weak, options(), None);
    assert_eq!(found.answer, Answer::Differs);
    assert!(found.differences.iter().all(|d| d.kind == DifferenceKind::Weaker), "{found:?}");
}

#[test]
fn a_comparison_that_is_cut_short_is_tested_and_says_why() {
    let whole =
        side(&policy("a", "Enforce", &[("r", &pattern("{=(hostNetwork): false, =(hostPID): false}"))]));
    let parts = side(&policy("a", "Enforce", &[("r", &pattern(PID)), ("s", &pattern(NETWORK))]));
    let limited = Options { deadline: Some(Instant::now()), ..options() };
    let found = implies(&whole, &parts, limited, None);
    assert_eq!(found.answer, Answer::Tested(vec!["the time limit was reached".into()]));
}

#[test]
fn traces_name_the_field_and_the_part_of_the_policy_that_decided() {
    let old = side(&policy("a", "Enforce", &[("r", &pattern(NETWORK))]));
    let new = side(&policy("a", "Enforce", &[("r", &pattern(PID))]));
    let found = implies(&old, &new, options(), None);
    let difference = found.differences.first().unwrap();
    let [denied, allowed] = [traces(&old, difference), traces(&new, difference)];
    let field = denied.first().and_then(|trace| trace.field.as_ref()).map(|path| dotted(path));
    assert_eq!(field.as_deref(), Some("spec.hostNetwork"));
    assert!(dotted(&denied[0].decision).starts_with("spec.rules[0].validate.pattern"), "{denied:?}");
    assert_eq!(dotted(&allowed[0].decision), "spec.rules[0]");
}

fn certified(old: &str, new: &str) -> Certificate {
    let (old, new) = (side(old), side(new));
    let collector = Collector::new(10_000);
    let observer: &dyn Observer = &collector;
    let found = compare_observed(&old, &new, options(), Some(observer));
    let one = Certified::of("a", [&old, &new], &found, collector.into_objects()).unwrap();
    let text = Certificate { version: "1".into(), policies: vec![one] }.write();
    Certificate::read(&text).unwrap()
}

#[test]
fn a_certificate_holds_for_the_policies_that_it_is_about_however_they_are_written() {
    let old = policy("a", "Enforce", &[("r", &pattern(NETWORK))]);
    let new = policy("a", "Enforce", &[("r", &pattern("{=(hostNetwork): '!true'}"))]);
    let certificate = certified(&old, &new);
    let [one] = &*certificate.policies else { panic!("one pair") };
    let written = "{message: m, pattern: {spec: {=(hostNetwork): false}}}";
    let rewritten = old.replace(written, "{pattern: {spec: {=(hostNetwork): false}}, message: m}");
    assert_ne!(old, rewritten);
    let held = one.check([&side(&rewritten), &side(&new)]).unwrap();
    assert!(held.problems.is_empty() && held.objects > 2, "{held:?}");
}

#[test]
fn a_certificate_does_not_hold_for_changed_policies_or_another_answer() {
    let old = policy("a", "Enforce", &[("r", &pattern(NETWORK))]);
    let new = policy("a", "Enforce", &[("r", &pattern(PID))]);
    let certificate = certified(&old, &new);
    let [one] = &*certificate.policies else { panic!("one pair") };
    let held = one.check([&side(&old), &side(&old)]).unwrap();
    assert_eq!(held.problems, ["a: the new policy is another one, or changed"]);
    let mut claims = one.clone();
    claims.answer = "proved".into();
    let held = claims.check([&side(&old), &side(&new)]).unwrap();
    assert!(held.problems[0].starts_with("a: proved, but the policies differ on "), "{held:?}");
}

#[test]
fn what_is_no_certificate_is_an_error() {
    assert!(Certificate::read("{").is_err());
    let error = Certificate::read("{\"apiVersion\": \"x\"}").unwrap_err().to_string();
    assert_eq!(error, "the certificate is of the form `x`; this program reads `ephor.dev/comparison/v1`");
}

/// Kind, rule and path of each remark.
fn said(text: &str) -> Vec<(RemarkKind, String, String)> {
    let all = remarks(&load(text), options()).unwrap();
    all.into_iter().map(|remark| (remark.kind, remark.rule.to_string(), dotted(&remark.path))).collect()
}

#[test]
fn a_sound_policy_has_no_remarks() {
    let text = policy("a", "Enforce", &[("r", &pattern(NETWORK)), ("s", &pattern(PID))]);
    assert_eq!(said(&text), []);
}

#[test]
fn rules_that_never_or_always_deny_are_found() {
    let never = "    validate: {message: m, deny: {conditions: {all: [{key: '{{ request.object.spec.hostPID || `false` }}', operator: Equals, value: true}, {key: '{{ request.object.spec.hostPID || `false` }}', operator: Equals, value: false}]}}}\n";
    let found = said(&policy("a", "Enforce", &[("r", &pattern(NETWORK)), ("s", never)]));
    assert_eq!(found, [(RemarkKind::NeverDenies, "s".into(), "spec.rules[1]".into())]);
    let always = "    validate: {message: m, deny: {conditions: {all: [{key: '{{ request.object.kind }}', operator: Equals, value: Pod}]}}}\n";
    let found = said(&policy("a", "Enforce", &[("s", always)]));
    assert!(found.iter().any(|one| one.0 == RemarkKind::AlwaysDenies), "{found:?}");
}

#[test]
fn expressions_that_are_always_or_never_false_are_found() {
    let of = |expression: &str| {
        format!(
            "apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {{name: p}}
spec:
  autogen: {{podControllers: {{controllers: []}}}}
  matchConstraints:
    resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]
  validations:
  - expression: {expression}
    message: m
"
        )
    };
    let kinds =
        |expression: &str| said(&of(expression)).into_iter().map(|(kind, ..)| kind).collect::<Vec<_>>();
    assert_eq!(kinds("object.spec.?hostPID.orValue(false) == false"), []);
    assert_eq!(kinds("object.kind == 'Node'"), [RemarkKind::AlwaysDenies]);
    assert_eq!(kinds("object.kind == 'Pod'"), [RemarkKind::NeverDenies]);
}

#[test]
fn redundant_rules_and_conditions_are_found() {
    let both = pattern("{=(hostNetwork): false, =(hostPID): false}");
    let found = said(&policy("a", "Enforce", &[("r", &both), ("s", &pattern(PID))]));
    assert_eq!(found, [(RemarkKind::RedundantRule, "s".into(), "spec.rules[1]".into())]);
    let condition = "{key: '{{ request.object.spec.hostPID || `false` }}', operator: Equals, value: true}";
    let twice =
        format!("    validate: {{message: m, deny: {{conditions: {{any: [{condition}, {condition}]}}}}}}\n");
    let found = said(&policy("a", "Enforce", &[("r", &twice)]));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|one| one.0 == RemarkKind::RedundantCondition), "{found:?}");
    assert_eq!(found[0].2, "spec.rules[0].validate.deny.conditions.any[0]");
}

#[test]
fn errors_are_found_with_the_smallest_object() {
    let text = "apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: p}
spec:
  autogen: {podControllers: {controllers: []}}
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations:
  - expression: object.spec.hostNetwork == false
    message: m
";
    let all = remarks(&load(text), options()).unwrap();
    let error = all.iter().find(|remark| remark.kind == RemarkKind::MayError).expect("an error");
    let (environment, object, _) = error.shown_by.as_ref().unwrap();
    assert_eq!(environment.name(), "Pod CREATE");
    assert!(object.at(&["spec", "hostNetwork"]).is_none(), "{object:?}");
    assert!(error.message.contains("hostNetwork"), "{}", error.message);
}

#[test]
fn other_messages_are_shown_and_change_no_answer() {
    let policy = |message: &str, value: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [ConfigMap], operations: [CREATE]}}}}]}}\n    validate: {{message: '{message}', pattern: {{data: {{a: '{value}'}}}}}}\n"
        )
    };
    let said = |old: &str, new: &str| {
        assert_eq!(compared(old, new).answer, Answer::Proved);
        let all = messages(&side(old), &side(new), Options::default());
        let text =
            |said: &[MessagePair]| said.iter().map(|s| s.message.clone()).collect::<Vec<_>>().join("; ");
        all.iter().map(|one| format!("{} -> {}", text(&one.old), text(&one.new))).collect::<Vec<_>>()
    };
    let old = policy("needs x", "x");
    // What Kyverno says around them does not count, nor how the pattern is written.
    assert_eq!(said(&old, &policy("needs x.", "x")), Vec::<String>::new());
    assert_eq!(said(&old, &policy("no", "x")), ["needs x -> no"]);
    assert_eq!(said(&old, &policy("no", "x | x")), ["needs x -> no"]);
    let named = policy("no {{ request.object.metadata.name }}", "x");
    assert_eq!(said(&old, &named), ["needs x -> no a"]);
}

#[test]
fn where_a_proof_alone_counts_the_answer_is_a_proof_or_not_as_before_and_ends_sooner() {
    let names = |name: &str| {
        format!("{{key: '{{{{request.object.metadata.name}}}}', operator: Equals, value: {name}}}")
    };
    let labels = "{key: '{{request.object.metadata.labels.a || `0`}}', operator: Equals, value: b}";
    let policies = [
        denying("Pod, Service", &names("a")),
        denying("Pod, Service", &names("b")),
        denying("Pod, Service", labels),
    ];
    let mut objects = (0, 0);
    for (i, old) in policies.iter().enumerate() {
        for (k, new) in policies.iter().enumerate() {
            let with =
                |proof_only| compare(&side(old), &side(new), Options { proof_only, ..Options::default() });
            let (whole, proof) = (with(false), with(true));
            let is_proved = |found: &Comparison| found.answer.is_proved() && found.differences.is_empty();
            assert_eq!((is_proved(&proof), is_proved(&whole)), (i == k, i == k), "{old}{new}");
            objects = (objects.0 + proof.objects, objects.1 + whole.objects);
        }
    }
    assert!(objects.0 < objects.1, "{objects:?}");
}

#[test]
fn messages_are_compared_on_the_objects_of_the_comparison_and_on_those_of_rules_that_it_skipped() {
    let rule = |name: &str, key: &str, message: &str| {
        format!(
            "  - name: {name}\n    match: {{any: [{{resources: {{kinds: [ConfigMap], operations: [CREATE]}}}}]}}\n    validate: {{message: '{message}', pattern: {{data: {{{key}: x}}}}}}\n"
        )
    };
    let policy = |rules: &[String]| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n{}",
            rules.concat()
        )
    };
    for (old, new, is_partial) in [
        (policy(&[rule("r", "a", "needs x")]), policy(&[rule("r", "a", "no")]), true),
        (policy(&[rule("r", "a", "needs x")]), policy(&[rule("r", "b", "no")]), false),
    ] {
        let (old, new) = (side(&old), side(&new));
        let seen = Collector::new(MAX_WITH_MESSAGES);
        compare_observed(&old, &new, Options::default(), Some(&seen));
        assert_eq!(seen.is_partial(), is_partial);
        let after = messages_after(&old, &new, Options::default(), seen);
        assert!(!after.is_empty());
        assert_eq!(format!("{after:?}"), format!("{:?}", messages(&old, &new, Options::default())));
        let over = Options { deadline: Some(std::time::Instant::now()), ..Options::default() };
        assert!(messages(&old, &new, over).is_empty());
    }
}
