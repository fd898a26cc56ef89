#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::Arc;

use ephor_engine::Status;

use super::*;
use crate::roots::Roots;
use crate::run::{Finding, Severity};
use crate::run::{Note, Order, Place, PolicyInfo, ResourceName, Shard};

/// A run with every status, texts that need escaping, a policy without rule names, a template and a
/// known violation.
fn run() -> Run {
    let place = |file: &str, line, column, length, text: &str| {
        Some(Place { file: file.into(), line, column, length, text: text.into() })
    };
    let tag = Arc::new(PolicyInfo {
        name: "pin-tag".into(),
        kind: "ClusterPolicy".into(),
        title: "Pin the tag".into(),
        description: "A tag that moves is no version, see https://example.com/tags.".into(),
        help: String::new(),
        category: "Best Practices, Images".into(),
        subject: "Pod".into(),
        severity: Some(Severity::Medium),
    });
    let cel = Arc::new(PolicyInfo {
        name: "shop/no-root".into(),
        kind: "ValidatingPolicy".into(),
        severity: Some(Severity::Critical),
        ..PolicyInfo::default()
    });
    let pod = Some(ResourceName {
        api_version: "v1".into(),
        kind: "Pod".into(),
        namespace: "shop".into(),
        name: "cart".into(),
        generate_name: String::new(),
    });
    let base = Finding {
        order: Order::default(),
        policy: tag.clone(),
        rule: "tag".into(),
        status: Status::Fail,
        message: "pin <tag> | \"now\" ]]> &\n100%\u{1b}".into(),
        resource: pod.clone(),
        field: Some("spec.containers[0].image".into()),
        place: place("deploy/my pod.yaml", 7, 12, 7, "    image: x:<late>"),
        template: None,
        decision: place("policies/pin.yaml", 14, 20, 3, "        image: \"!*:latest\""),
        fix: None,
        is_known: false,
    };
    let findings = vec![
        base.clone(),
        Finding { status: Status::Pass, message: "ok".into(), ..base.clone() },
        Finding { status: Status::Skip, message: String::new(), ..base.clone() },
        Finding { status: Status::Warn, is_known: true, ..base.clone() },
        Finding {
            policy: cel.clone(),
            rule: String::new(),
            status: Status::Error,
            message: "no such key: spec".into(),
            field: None,
            template: Some("shop/templates/cart.yaml".into()),
            ..base.clone()
        },
        Finding {
            policy: cel,
            rule: String::new(),
            status: Status::Error,
            message: "the policy is refused".into(),
            resource: None,
            field: None,
            place: None,
            ..base
        },
    ];
    Run {
        findings: findings.into(),
        violations_only: false,
        resources: 1,
        policies: 2,
        seconds: 0.25,
        notes: vec![Note { text: "bad.yaml:1: no policy".into(), is_error: true }],
        roots: Roots::default(),
        invocation: crate::run::Invocation::default(),
        about: crate::about::About::default(),
        fails: true,
        shard: Shard::default(),
        id: "a1".into(),
    }
}

fn text_of(format: Format, run: &Run, colour: bool) -> String {
    format.document(run, colour).unwrap().text
}

/// What the schema of OASIS refuses of a SARIF log.
pub(crate) fn sarif_errors(log: &str) -> Vec<String> {
    let validator = sarif_validator();
    let document: serde_json::Value = serde_json::from_str(log).unwrap();
    validator.iter_errors(&document).map(|e| e.to_string()).collect()
}

fn sarif_validator() -> jsonschema::Validator {
    let mut schema: serde_json::Value =
        serde_json::from_str(include_str!("../../tests/schemas/sarif-2.1.0.json")).unwrap();
    // The published schema has one bracket too many in this pattern, which concerns nothing that is
    // written here.
    for definition in ["run", "toolComponent"] {
        schema["definitions"][definition]["properties"]["language"]["pattern"] =
            "^[a-zA-Z]{2}(-[a-zA-Z]{2})?$".into();
    }
    jsonschema::options().should_validate_formats(true).build(&schema).unwrap()
}

#[test]
fn sarif_is_valid_by_the_schema_of_oasis() {
    for run in [run(), Run::default()] {
        assert_eq!(sarif_errors(&text_of(Format::Sarif, &run, false)), [""; 0]);
    }
    let broken = serde_json::json!({"version": "2.1.0", "runs": [{"tool": {}}]});
    assert!(!sarif_validator().is_valid(&broken), "the schema refuses nothing");
}

#[test]
fn sarif_results_point_at_the_field_and_at_rules_with_what_code_scanning_shows() {
    let document: serde_json::Value = serde_json::from_str(&text_of(Format::Sarif, &run(), false)).unwrap();
    let own = &document["runs"][0];
    let results = own["results"].as_array().unwrap();
    // The error stands before the warnings.
    let first = &results[2];
    let physical = &first["locations"][0]["physicalLocation"];
    assert_eq!(physical["artifactLocation"]["uri"], "deploy/my%20pod.yaml");
    assert_eq!(
        physical["region"],
        serde_json::json!({"startLine": 7, "startColumn": 12, "endColumn": 19, "snippet": {"text": "    image: x:<late>"}})
    );
    assert_eq!(first["relatedLocations"][0]["physicalLocation"]["region"]["startLine"], 14);
    assert_eq!((&first["ruleId"], &first["level"]), (&"pin-tag/tag".into(), &"warning".into()));
    let rules = own["tool"]["driver"]["rules"].as_array().unwrap();
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(!result["ruleId"].as_str().unwrap().is_empty());
    }
    let rule = &rules[0];
    assert_eq!(rule["shortDescription"]["text"], "Pin the tag");
    assert_eq!(rule["helpUri"], "https://example.com/tags");
    assert_eq!(rule["properties"]["security-severity"], "5.5");
    assert_eq!(
        rule["properties"]["tags"],
        serde_json::json!(["security", "Best Practices", "Images", "Pod"])
    );
    assert_eq!(rules[1]["id"], "shop/no-root");
    assert_eq!(results[3]["baselineState"], "unchanged");
    let of_template = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(of_template["artifactLocation"]["uri"], "shop/templates/cart.yaml");
    assert_eq!(results[0]["level"], "error");
    // What does not change with places and messages is the same for the same violation.
    assert_eq!(first["partialFingerprints"], results[3]["partialFingerprints"]);
    assert_ne!(first["partialFingerprints"], results[0]["partialFingerprints"]);
    assert_eq!(own["invocations"][0]["executionSuccessful"], false);
}

#[test]
fn junit_is_strict_xml_whose_counts_are_those_of_its_cases() {
    let text = text_of(Format::Junit, &run(), false);
    let document = roxmltree::Document::parse(&text).unwrap();
    let root = document.root_element();
    let children = |node: roxmltree::Node<'_, '_>, name: &str| {
        node.descendants().filter(|n| n.has_tag_name(name)).count().to_string()
    };
    let suites: Vec<_> = root.children().filter(|n| n.is_element()).collect();
    assert_eq!(suites.len(), 2);
    for node in suites.iter().copied().chain([root]) {
        for (attribute, element) in [("tests", "testcase"), ("failures", "failure"), ("errors", "error")] {
            assert_eq!(node.attribute(attribute), Some(&*children(node, element)), "{attribute}\n{text}");
        }
        assert!(node.attribute("time").unwrap().parse::<f64>().is_ok());
    }
    for suite in suites {
        assert_eq!(suite.attribute("skipped"), Some(&*children(suite, "skipped")));
    }
    let cases: Vec<_> = document.descendants().filter(|n| n.has_tag_name("testcase")).collect();
    for case in &cases {
        assert!(["name", "classname", "file"].iter().all(|a| !case.attribute(*a).unwrap().is_empty()));
    }
    assert_eq!(
        (cases[0].attribute("file"), cases[0].attribute("line")),
        (Some("deploy/my pod.yaml"), Some("7"))
    );
    let failure = cases[0].first_element_child().unwrap();
    assert_eq!(failure.attribute("message"), Some("pin <tag> | \"now\" ]]> &\n100%\u{fffd}"));
    assert!(failure.text().unwrap().contains("at: deploy/my pod.yaml:7:12\npolicy: policies/pin.yaml:14:20"));
    assert_eq!(cases[4].attribute("name"), Some("shop/no-root"));
    assert!(roxmltree::Document::parse(&text_of(Format::Junit, &Run::default(), false)).is_ok());
}

#[test]
fn no_two_cases_of_junit_have_class_and_name_in_common() {
    let of = |run: &Run| {
        let text = text_of(Format::Junit, run, false);
        let document = roxmltree::Document::parse(&text).unwrap();
        let cases = document.descendants().filter(|n| n.has_tag_name("testcase"));
        let name = |n: roxmltree::Node<'_, '_>, key| n.attribute(key).unwrap().to_owned();
        cases.map(|n| [name(n, "classname"), name(n, "name")]).collect::<Vec<_>>()
    };
    let names: Vec<String> = of(&two_forms()).into_iter().map(|[_, name]| name).collect();
    assert_eq!(names, ["ClusterPolicy pin-tag/tag", "ValidatingPolicy pin-tag"]);
    let all = of(&run());
    let different: std::collections::HashSet<_> = all.iter().collect();
    assert_eq!(different.len(), all.len(), "{all:?}");
    assert_eq!(all[0], ["shop/Pod/cart", "pin-tag/tag"]);
}

#[test]
fn the_own_json_names_its_version_and_every_place() {
    let document: serde_json::Value = serde_json::from_str(&text_of(Format::Json, &run(), false)).unwrap();
    assert_eq!(document["version"], 1);
    assert_eq!(
        document["summary"],
        serde_json::json!({"pass": 1, "fail": 1, "warn": 1, "error": 2, "skip": 1, "known": 1})
    );
    insta::assert_snapshot!(format!("{:#}", document["results"][0]));
}

#[test]
fn annotations_of_github_hold_no_line_end_and_no_separator_of_their_own() {
    insta::assert_snapshot!(text_of(Format::Github, &run(), false));
}

#[test]
fn markdown_has_a_row_for_everything_that_did_not_pass() {
    insta::assert_snapshot!(text_of(Format::Markdown, &run(), false));
}

#[test]
fn text_shows_the_line_of_the_manifest_and_the_place_of_the_policy() {
    insta::assert_snapshot!(text_of(Format::Text, &run(), false));
    let coloured = text_of(Format::Text, &run(), true);
    assert!(coloured.contains("\u{1b}[33;1m") || coloured.contains("\u{1b}[31;1mFAIL"), "{coloured:?}");
    // Nothing of a message reaches the terminal as a control character.
    assert!(!text_of(Format::Text, &run(), false).contains('\u{1b}'));
}

#[test]
fn the_page_loads_nothing_and_shows_every_violation_escaped() {
    let page = text_of(Format::Html, &run(), false);
    assert_eq!(page.matches("<article ").count(), 4);
    assert!(page.contains("default-src 'none'"));
    for outside in ["src=\"", "href=\"", "url(", "@import", "fetch("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("pin &lt;tag&gt; | &quot;now&quot; ]]&gt; &amp;"));
    assert!(page.contains("    image: <mark>x:&lt;late</mark>&gt;"), "{page}");
    assert!(text_of(Format::Html, &Run::default(), false).contains("No violations."));
}

#[test]
fn what_scrolls_in_the_page_has_the_focus_of_the_keyboard_and_a_name() {
    let page = text_of(Format::Html, &run(), false);
    let regions: Vec<&str> = page.split("<pre").skip(1).filter_map(|rest| rest.split('>').next()).collect();
    assert!(regions.len() >= 4, "{}", regions.len());
    for region in &regions {
        assert!(region.contains("tabindex=\"0\" role=\"group\" aria-label=\""), "{region}");
    }
    assert!(
        regions.contains(&" tabindex=\"0\" role=\"group\" aria-label=\"manifest deploy/my pod.yaml:7:12\""),
        "{regions:?}"
    );
}

/// The run with the first violation only, which two forms of a policy report.
fn two_forms() -> Run {
    let classic = run().findings.iter().next().unwrap().unwrap().into_owned();
    let message = "validation error: Pin the tag. rule tag failed at path /spec/containers/0/image/";
    let classic = Finding { message: message.into(), ..classic };
    let policy = Arc::new(PolicyInfo { kind: "ValidatingPolicy".into(), ..(*classic.policy).clone() });
    let decision = Some(Place { file: "policies/pin.vpol.yaml".into(), line: 20, ..Place::default() });
    let cel =
        Finding { policy, rule: String::new(), message: "Pin the tag".into(), decision, ..classic.clone() };
    let findings = vec![classic, cel];
    Run { findings: findings.into(), ..run() }
}

#[test]
fn people_see_a_violation_once_with_all_policies_and_programs_see_each_result() {
    insta::assert_snapshot!(text_of(Format::Text, &two_forms(), false), @r"
    Pod shop/cart (deploy/my pod.yaml)
      FAIL pin-tag (medium)
        Pin the tag.
        ┌ deploy/my pod.yaml:7:12
        │     image: x:<late>
        │            ^^^^^^^
        = ClusterPolicy rule tag policies/pin.yaml:14:20
        = ValidatingPolicy policies/pin.vpol.yaml:20

    1 resource, 2 policies: 2 failed, 0 errors, 0 warnings, 0 passed, 0 skipped (1 violation in 2 results)
    why: ephor explain policies/pin.yaml -r 'deploy/my pod.yaml'
    ");
    let table = text_of(Format::Markdown, &two_forms(), false);
    let row = "| ClusterPolicy pin-tag<br>ValidatingPolicy pin-tag | tag | shop/Pod/cart | fail | medium | deploy/my pod.yaml:7:12 | Pin the tag. |";
    assert_eq!(table.lines().nth(2), Some(row), "{table}");
    assert!(table.ends_with("\npass: 0, fail: 2, warn: 0, error: 0, skip: 0\n"), "{table}");
    let page = text_of(Format::Html, &two_forms(), false);
    assert_eq!(page.matches("<article ").count(), 1);
    assert!(page.contains("1 resource, 2 policies: 1 violation in 2 results</p>"), "{page}");
    assert!(page.contains("ClusterPolicy policies/pin.yaml:14:20"), "{page}");
    assert!(page.contains("ValidatingPolicy policies/pin.vpol.yaml:20"), "{page}");
    assert_eq!(text_of(Format::Github, &two_forms(), false).lines().count(), 2);
    let sarif: serde_json::Value =
        serde_json::from_str(&text_of(Format::Sarif, &two_forms(), false)).unwrap();
    assert_eq!(sarif["runs"][0]["results"].as_array().unwrap().len(), 2);
}

#[test]
fn issues_of_gitlab_have_what_its_form_requires_and_fingerprints_of_their_own() {
    let text = text_of(Format::Gitlab, &run(), false);
    let issues: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
    let shown = |issue: &serde_json::Value| {
        let path = issue["location"]["path"].as_str().unwrap().to_string();
        assert!(!path.starts_with('.') && issue["description"].as_str().is_some_and(|text| !text.is_empty()));
        (path, issue["location"]["lines"]["begin"].as_u64().unwrap(), issue["severity"].clone())
    };
    let known =
        run().findings.iter().filter(|f| f.as_ref().is_ok_and(|f| f.is_violation() && !f.is_known)).count();
    assert_eq!(issues.len(), known);
    assert!(issues.iter().map(shown).all(|(path, line, severity)| {
        !path.is_empty()
            && line > 0
            && ["info", "minor", "major", "critical", "blocker"].contains(&severity.as_str().unwrap())
    }));
    let prints: std::collections::BTreeSet<&str> =
        issues.iter().map(|issue| issue["fingerprint"].as_str().unwrap()).collect();
    assert_eq!(prints.len(), issues.len());
    assert_eq!(text_of(Format::Gitlab, &Run::default(), false), "[]\n");
}

#[test]
fn issues_of_azure_pipelines_are_a_line_each_whatever_their_texts_hold() {
    let text = text_of(Format::AzureDevops, &run(), false);
    assert!(text.lines().count() > 1);
    for line in text.lines() {
        let (head, message) = line.split_once(']').unwrap();
        assert!(
            head.starts_with("##vso[task.logissue type=error;")
                || head.starts_with("##vso[task.logissue type=warning;"),
            "{line}"
        );
        assert!(head.contains(";code=") && !message.is_empty(), "{line}");
    }
}
