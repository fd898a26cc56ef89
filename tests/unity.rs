//! One engine for all languages and kinds of policies, and one loop that evaluates them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;

use ephor_analysis::print;
use ephor_document::{Duplicates, parse_stream};
use ephor_policies::policy_set::{Engine, PolicySet};
use ephor_sources::files::SourceText;
use ephor_value::Value;
use ephor_value::print::json;

use crate::layout::sources;

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

/// Something that leads to the evaluation of a policy.
struct Driver {
    /// The crate that is searched; empty = all.
    within: &'static str,
    /// What code has.
    words: &'static str,
    /// The files that may have it, each with how often.
    places: &'static [(&'static str, usize)],
    /// Why these.
    why: &'static str,
}

/// All of them. `Subject`, `MatchedRule` and `Scope` are private to the engine, so other crates
/// have only the entries at the end.
const DRIVERS: &[Driver] = &[
    Driver {
        within: "engine",
        words: r"\.evaluate\(&call\)",
        places: &[("engine/call", 1)],
        why: "the loop: it alone evaluates the calls of a subject",
    },
    Driver {
        within: "engine",
        words: r"\bimpl(?:<[^{]*>)? Subject for ",
        places: &[
            ("engine/admission/mutate", 1),
            ("engine/admission/validate", 1),
            ("engine/cleanup", 1),
            ("engine/run", 1),
        ],
        why: "the subjects: requests, requests as an API server has them (two), stored objects",
    },
    Driver {
        within: "engine",
        words: r"(?:\bcall::|[^\w.:])calls\(",
        places: &[
            ("engine/admission/mutate", 1),
            ("engine/admission/validate", 1),
            ("engine/cleanup", 1),
            ("engine/run", 2),
        ],
        why: "who hands a plan to the loop: each subject, requests with or without bindings",
    },
    Driver {
        within: "engine",
        words: r"\bbudget::spend\(",
        places: &[("engine/call", 1), ("engine/generate", 1), ("engine/run", 1)],
        why: "budgets: of a call, of the objects of all rules together, of match conditions of a policy",
    },
    Driver {
        within: "engine",
        words: r"\bMatchedRule \{(?:[^.}]|\.[^.]|\.\.[^ ])*\}",
        places: &[("engine/matched", 1), ("engine/run", 2)],
        why: "a rule with its request, without which no body runs: the call, the end of a policy, and the former object",
    },
    Driver {
        within: "engine",
        words: r"\.admits\(&?(?:\w+\.)*conditions\)",
        places: &[
            ("engine/admission/offline", 1),
            ("engine/admission/validate", 1),
            ("engine/expressions/answer", 1),
            ("engine/expressions/deletion", 1),
            ("engine/expressions/entered", 1),
            ("engine/expressions/images", 1),
            ("engine/expressions/matching", 1),
            ("engine/expressions/rule", 1),
        ],
        why: "conditions in CEL: bodies of calls, and match conditions of a policy",
    },
    Driver {
        within: "",
        words: r"\bcondition::evaluate\(",
        places: &[
            ("engine/cleanup", 1),
            ("engine/generate", 3),
            ("engine/generate/make", 1),
            ("engine/matched", 2),
            ("engine/mutate/existing", 1),
            ("engine/mutate/foreach", 1),
            ("engine/validate", 2),
            ("engine/verify/attestors", 2),
        ],
        why: "conditions in JMESPath: what comes before a body, and parts of bodies",
    },
    Driver {
        within: "",
        words: r"\brun::policy\(",
        places: &[("policies/policy_set/background", 2), ("policies/policy_set/engine", 1)],
        why: "requests: the set, and the work of controllers",
    },
    Driver {
        within: "",
        words: r"\bSweep::new\(",
        places: &[("policies/policy_set/engine", 1)],
        why: "stored objects: the set",
    },
    Driver {
        within: "",
        words: r"\b(?:admission::)?(?:verdict|mutate)\((?:policy, review|&policies, review)",
        places: &[("engine/admission/validate", 1), ("policies/policy_set/native", 2)],
        why: "requests as an API server has them: the set, and a list of policies",
    },
    Driver {
        within: "",
        words: r"\bPasses::new\(",
        places: &[("admission/webhooks", 1), ("engine/admission/mutate", 1)],
        why: "the same between the calls of webhooks",
    },
];

impl Driver {
    /// The files that have it, by crate and module, with how often.
    fn found(&self, code: &[(String, String)]) -> Vec<(String, usize)> {
        let words = regex::Regex::new(self.words).unwrap();
        let within = code.iter().filter(|(name, _)| name.starts_with(self.within));
        let counted = within.map(|(name, code)| (name.clone(), words.find_iter(code).count()));
        counted.filter(|(_, count)| *count > 0).collect()
    }
}

/// The product code of the workspace, by crate and module.
fn product_code() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = std::fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let all = crates.map(|dir| (dir.file_name().unwrap().to_string_lossy().into_owned(), dir.join("src")));
    let mut code: Vec<(String, String)> = all
        .chain([("ephor".into(), root.join("src"))])
        .filter(|(_, src)| src.is_dir())
        .flat_map(|(name, src)| {
            let of = move |source: sources::Source| {
                let module = source.module.iter().map(|part| format!("/{part}")).collect::<String>();
                (format!("{name}{module}"), source.code)
            };
            sources::product_sources(&src).into_iter().map(of)
        })
        .collect();
    code.sort();
    code
}

#[test]
fn one_loop_evaluates_the_policies_of_every_kind() {
    let code = product_code();
    assert!(code.len() > 900, "{} files", code.len());
    let mut wrong = Vec::new();
    for driver in DRIVERS {
        let found = driver.found(&code);
        let places = found.iter().map(|(name, count)| (&**name, *count));
        if places.ne(driver.places.iter().copied()) {
            let Driver { words, places, why, .. } = driver;
            wrong.push(format!("{why}\n  {words}\n  expected {places:?}\n  found    {found:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "policies are evaluated by `engine::call::calls` alone: a new kind is a subject or a phase of it, see \
         docs/architecture.md, \"One rule body\"\n{}",
        wrong.join("\n")
    );
}

#[test]
fn a_second_driver_is_seen() {
    let mut code = product_code();
    for more in [
        "fn all(s: &mut S) { for call in plan { s.evaluate(&call); } }",
        "impl Subject for Mine {}",
        "fn f() { calls(rules, &mut subject); }",
        "fn f() { let (a, b) = budget::spend(|| body(rule)); }",
        "fn f() { verdict::run(MatchedRule { policy, rule, request, context, later: None, sorted: None }) }",
        "fn f() { scope.admits(&expressions.conditions) }",
        "fn f() { if condition::evaluate(admit, data)?.holds {} }",
        "fn f() { run::policy(phase, policy, rules, request, context) }",
        "fn f() { Sweep::new(cleanup, world) }",
        "fn f() { verdict(policy, review, cluster, cx) }",
        "fn f() { Passes::new(review, cluster) }",
    ] {
        code.push(("engine/own".into(), more.into()));
        let seen = DRIVERS.iter().any(|driver| driver.found(&code).len() > driver.places.len());
        assert!(seen, "{more}");
        code.pop();
    }
}
