#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;
use crate::formats::Document;
use crate::formats::tests::sarif_errors;

fn finished(fill: impl FnOnce(&mut Log<'_>)) -> (Value, Document) {
    let roots = Roots::default();
    let mut log = Log::new(&roots);
    fill(&mut log);
    let document = Document::of(|out| log.finish(&[], out)).unwrap();
    (serde_json::from_str(&document.text).unwrap(), document)
}

fn rule_of(id: &str, rule: Rule) -> Value {
    let (log, document) = finished(|log| {
        log.rule(id, || rule);
    });
    assert_eq!(sarif_errors(&document.text), [""; 0]);
    log["runs"][0]["tool"]["driver"]["rules"][0].clone()
}

fn number(log: &Value) -> usize {
    log["runs"][0]["results"].as_array().unwrap().len()
}

#[test]
fn a_rule_has_all_texts_however_little_is_known_of_it() {
    for (id, rule) in [
        ("p", Rule::default()),
        ("p/r", Rule { title: "T".into(), ..Rule::default() }),
        ("p/r", Rule { description: " D\n".into(), ..Rule::default() }),
        ("P", Rule { title: " ".into(), help: "H".into(), ..Rule::default() }),
    ] {
        let written = rule_of(id, rule);
        for key in ["shortDescription", "fullDescription", "help"] {
            assert!(written[key]["text"].as_str().is_some_and(|text| !text.is_empty()), "{key}: {written}");
        }
        assert_ne!(written["name"], written["id"]);
    }
    let written =
        rule_of("a\u{1b}b", Rule { help: "see [x](https://example.com)".into(), ..Rule::default() });
    assert_eq!(
        (&written["id"], &written["help"]["text"]),
        (&json!("a\u{fffd}b"), &json!(r"see \[x\](https://example.com)"))
    );
    let long = rule_of("p", Rule { description: "d".repeat(5_000), ..Rule::default() });
    assert_eq!(long["fullDescription"]["text"].as_str().unwrap().chars().count(), 1_024);
    assert_eq!(long["help"]["text"].as_str().unwrap().len(), 5_000);
}

#[test]
fn a_rule_has_at_most_twenty_tags_and_security_is_the_first() {
    let tags = || (0..30).map(|i| format!("t{}", i / 2)).chain(["  ".into(), "security".into()]);
    let rule = |severity, more: usize| {
        let tags = tags().chain((0..more).map(|i| format!("more {i}"))).collect();
        let written = rule_of("p", Rule { severity, tags, ..Rule::default() });
        written["properties"]["tags"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| t.as_str().unwrap().to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(rule(None, 0).len(), 16);
    let many = rule(Some(Severity::High), 9);
    assert_eq!(
        (many.len(), many[0].as_str(), many[1].as_str(), many[15].as_str()),
        (20, "security", "t0", "t14")
    );
    assert_eq!(many.iter().filter(|tag| *tag == "security").count(), 1);
}

#[test]
fn results_come_the_gravest_first_and_those_of_the_baseline_last() {
    let ranks = [
        Rank::of(false, Some(Level::Note), Some(Severity::Low)),
        Rank::of(true, Some(Level::Error), Some(Severity::Critical)),
        Rank::of(false, Some(Level::Error), None),
        Rank::of(false, Some(Level::Warning), Some(Severity::Medium)),
        Rank::of(false, Some(Level::Error), Some(Severity::Critical)),
        Rank::of(false, Some(Level::Error), None),
    ];
    let (log, _) = finished(|log| {
        for (i, rank) in ranks.into_iter().enumerate() {
            log.result(rank, |_| json!({"message": {"text": i.to_string()}})).unwrap();
        }
    });
    let order: Vec<&str> = log["runs"][0]["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["message"]["text"].as_str().unwrap())
        .collect();
    assert_eq!(order, ["4", "2", "5", "3", "0", "1"]);
}

#[test]
fn a_log_has_as_many_results_as_code_scanning_accepts_and_says_what_is_left_out() {
    let fill = |number: usize| {
        move |log: &mut Log<'_>| {
            for i in 0..number {
                let level = if i % 3 == 0 { Level::Note } else { Level::Error };
                log.result(Rank::of(false, Some(level), None), |_| json!({"level": level.word()})).unwrap();
            }
        }
    };
    let (log, document) = finished(fill(25_000));
    assert_eq!((number(&log), document.left_out), (25_000, None));
    assert!(log["runs"][0]["invocations"][0]["toolExecutionNotifications"].is_null());
    let (log, document) = finished(fill(30_000));
    assert_eq!(number(&log), 25_000);
    // 20,000 errors and 5,000 of the 10,000 notes.
    let notes = log["runs"][0]["results"].as_array().unwrap().iter().filter(|r| r["level"] == "note").count();
    assert_eq!(notes, 5_000);
    let said = "5000 of 30000 results are left out of the SARIF log, the least severe ones: code scanning accepts 25000 results of a run";
    assert_eq!(document.left_out.as_deref(), Some(said));
    let invocation = &log["runs"][0]["invocations"][0];
    assert_eq!(
        invocation["toolExecutionNotifications"],
        json!([{"level": "warning", "message": {"text": said}}])
    );
    assert_eq!(invocation["executionSuccessful"], true);
}

#[test]
fn a_log_is_as_long_as_an_upload_may_be() {
    const MOST: usize = 1_000_000;
    let roots = Roots::default();
    let within = |messages: &[String]| {
        let mut log = Log::new(&roots);
        for message in messages {
            log.result(Rank::of(false, Some(Level::Error), None), |_| json!({"message": {"text": message}}))
                .unwrap();
        }
        let document = Document::of(|out| log.finish_within(&[], MOST, out)).unwrap();
        (serde_json::from_str::<Value>(&document.text).unwrap(), document)
    };
    // Digits of a sequence without a period: they do not compress to less than a third.
    let mut state = 1_u64;
    let mut digits = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{:016x}", state.rotate_left(29) ^ state)
    };
    let messages: Vec<String> = (0..150).map(|_| (0..1_500).map(|_| digits()).collect()).collect();
    let (log, document) = within(&messages);
    let size = compressed(0, &mut |out| Ok(out.write_all(document.text.as_bytes())?)).unwrap();
    assert!((MOST * 8 / 10..=MOST).contains(&size), "{size}");
    let said = document.left_out.unwrap();
    assert!(said.starts_with(&format!("{} of 150 results are left out", 150 - number(&log))), "{said}");
    assert!(said.ends_with("code scanning accepts 1 MB, compressed"), "{said}");
    assert!(document.text.contains(&said));
    // What compresses well is accepted, and one that alone is too large is left out.
    let (log, document) = within(&vec!["all the same".repeat(2_000); 150]);
    assert_eq!((number(&log), document.left_out), (150, None));
    let (log, document) = within(&[messages.concat()]);
    assert_eq!(number(&log), 0);
    assert!(document.left_out.unwrap().starts_with("1 of 1 results"));
}

#[test]
fn rules_are_as_many_as_code_scanning_accepts() {
    let (log, _) = finished(|log| {
        for i in 0..25_010 {
            let index = log.rule(&format!("p/{i}"), Rule::default);
            let level = if i < 10 { Level::Note } else { Level::Error };
            log.result(
                Rank::of(false, Some(level), None),
                |_| json!({"ruleId": format!("p/{i}"), "ruleIndex": index}),
            )
            .unwrap();
        }
    });
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!((rules.len(), number(&log)), (25_000, 25_000));
    for result in log["runs"][0]["results"].as_array().unwrap() {
        assert_eq!(
            rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()]["id"],
            result["ruleId"]
        );
    }
}
