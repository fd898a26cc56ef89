//! One engine for all languages and kinds of policies.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use ephor_analysis::print;
use ephor_document::{Duplicates, parse_stream};
use ephor_policies::policy_set::{Engine, PolicySet};
use ephor_sources::files::SourceText;
use ephor_value::Value;
use ephor_value::print::json;

/// The same requirement in five forms: a ConfigMap whose `mode` is `strict` has a label `team` with
/// a text.
const PATTERN: &str = "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: pattern}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    preconditions: {all: [{key: \"{{ request.object.data.mode || '' }}\", operator: Equals, value: strict}]}
    validate: {message: needs a team, pattern: {metadata: {labels: {team: '?*'}}}}
";

const DENY: &str = "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: deny}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    preconditions: {all: [{key: \"{{ request.object.data.mode || '' }}\", operator: Equals, value: strict}]}
    validate:
      message: needs a team
      deny: {conditions: {all: [{key: \"{{ request.object.metadata.labels.team || '' }}\", operator: Equals, value: ''}]}}
";

const CEL: &str = "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: cel}
spec:
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    celPreconditions: [{name: strict, expression: \"object.?data.?mode.orValue('') == 'strict'\"}]
    validate:
      cel: {expressions: [{expression: \"object.metadata.?labels.?team.orValue('') != ''\", message: needs a team}]}
";

const KUBERNETES: &str = "\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: kubernetes}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  matchConditions: [{name: strict, expression: \"object.?data.?mode.orValue('') == 'strict'\"}]
  validations: [{expression: \"object.metadata.?labels.?team.orValue('') != ''\", message: needs a team}]
";

const REVIEW: &str = "\
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: review}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}
  matchConditions: [{name: strict, expression: \"object.?data.?mode.orValue('') == 'strict'\"}]
  validations: [{expression: \"object.metadata.?labels.?team.orValue('') != ''\", message: needs a team}]
";

const FORMS: [&str; 5] = [PATTERN, DENY, CEL, KUBERNETES, REVIEW];

fn engine(texts: &[&str]) -> Engine {
    let sources: Vec<SourceText> =
        texts.iter().map(|t| SourceText { name: "-".into(), text: (*t).into() }).collect();
    let mut loaded = ephor_policies::load::argument(&sources);
    assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
    loaded.bind(Vec::new());
    let policies = loaded.policies.into_iter().map(|p| p.policy.expect("a usable policy")).collect();
    Engine::new(PolicySet::new(policies, Vec::new()))
}

/// ConfigMaps of all forms that the requirement distinguishes, and an object of another kind.
fn pool() -> Vec<Value> {
    let mut text =
        String::from("{apiVersion: v1, kind: Secret, metadata: {name: other, namespace: default}}\n");
    let labels =
        ["", ", labels: {}", ", labels: {team: ''}", ", labels: {team: web}", ", labels: {app: web}"];
    for (i, data) in ["", ", data: {}", ", data: {mode: strict}", ", data: {mode: open}"].iter().enumerate() {
        for (j, labels) in labels.iter().enumerate() {
            text.push_str(&format!(
                "---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: c{i}{j}, namespace: default{labels}}}{data}}}\n"
            ));
        }
    }
    let all = parse_stream("-", &text, Duplicates::Error).unwrap();
    all.into_iter().map(|d| d.unwrap().value).collect()
}

/// Policy, status and message of every result, in order.
fn results(engine: &Engine, resource: &Value) -> Vec<[String; 3]> {
    let outcome = engine.check_yaml(&json(resource)).unwrap();
    let all = outcome.results();
    all.map(|(p, r)| [p.name.to_string(), format!("{:?}", r.status), r.message.to_string()]).collect()
}

#[test]
fn one_requirement_in_five_forms_gives_the_same_verdicts() {
    let engines: Vec<Engine> = FORMS.iter().map(|text| engine(&[text])).collect();
    let (mut failed, mut passed) = (0, 0);
    for resource in pool() {
        // What is skipped by one form is not evaluated by another; both are no verdict.
        let verdict = |engine: &Engine| -> Vec<String> {
            let all = results(engine, &resource).into_iter().map(|[_, status, _]| status);
            all.filter(|status| status != "Skip").collect()
        };
        let verdicts: Vec<Vec<String>> = engines.iter().map(verdict).collect();
        assert!(verdicts.iter().all(|v| *v == verdicts[0]), "{verdicts:?} of {}", json(&resource));
        failed += usize::from(verdicts[0] == ["Fail"]);
        passed += usize::from(verdicts[0] == ["Pass"]);
    }
    assert_eq!((failed, passed), (4, 1));
}

#[test]
fn no_printed_rule_names_a_language_or_a_kind_of_policy() {
    let engine = engine(&FORMS);
    for policy in engine.set().policies() {
        assert_eq!(policy.rules.len(), 1, "{}", policy.name);
        let printed = print::rule(&policy.rules[0]).to_string();
        for word in ["jmespath", "JMESPath", "CEL", "ClusterPolicy", "AdmissionPolicy"] {
            assert!(!printed.contains(word), "{word} in {printed}");
        }
    }
}

#[test]
fn a_set_of_all_kinds_gives_what_each_policy_gives_alone() {
    let together = engine(&FORMS);
    let alone: Vec<Engine> = FORMS.iter().map(|text| engine(&[text])).collect();
    let mut count = 0;
    for resource in pool() {
        let mut expected: Vec<[String; 3]> = alone.iter().flat_map(|e| results(e, &resource)).collect();
        let mut got = results(&together, &resource);
        expected.sort();
        got.sort();
        assert_eq!(got, expected, "{}", json(&resource));
        count += got.len();
    }
    assert!(count > 50, "{count}");
}
