//! Answers for programs: JSON, and as a run of the report formats (SARIF, GitHub, JUnit).

use std::sync::Arc;

use serde_json::{Value as Json, json};

use ephor_compare::{Answer, Judgement, MessagePair, OtherMessages, PairedBy, Universe};
use ephor_document::json::to_serde;
use ephor_engine::Status;
use ephor_report::run::{Counts, Finding, Place, PolicyInfo, ResourceName, Run};
use ephor_value::Value;

use super::answered::{Answered, Compared, Decided, Found, Shown};
use super::rules::texts;
use super::text::{headline, meaning, verdict};
use crate::cli::diff::question::Question;
use crate::cli::roots;

/// The answers as one object.
pub fn json_of(found: &[Answered]) -> Json {
    json!({"policies": found.iter().map(of_pair).collect::<Vec<_>>()})
}

fn of_pair(answered: &Answered) -> Json {
    let c = match &answered.found {
        Found::Only { is_old, place } => {
            let answer = if *is_old { "only in the old policies" } else { "only in the new policies" };
            return json!({"name": answered.name, "answer": answer, "place": place.as_ref().map(of_place)});
        }
        Found::Compared(compared) => compared,
    };
    let ignored = c
        .ignored
        .iter()
        .map(|(class, reason, count)| json!({"class": class, "reason": reason, "count": count}));
    json!({
        "name": answered.name,
        "answer": c.claimed.name(),
        "butFor": c.but_for,
        "objects": c.objects,
        "kinds": c.kinds,
        "reasons": match &c.claimed {
            Answer::Tested(why) | Answer::ProvedRelative(why) => json!(why),
            Answer::Incomparable(why) => json!([why]),
            Answer::Proved | Answer::Differs => json!([]),
        },
        "old": c.policies.first().map(|all| all.iter().map(|p| &p.name).collect::<Vec<_>>()),
        "new": c.policies.get(1).map(|all| all.iter().map(|p| &p.name).collect::<Vec<_>>()),
        "pairedBy": paired_by(c.by),
        "allowsExistingViolations": c.existing,
        "schedules": c.times,
        "differences": c.differences.iter().map(of_difference).collect::<Vec<_>>(),
        "messages": c.messages.as_ref().map(|all| all.iter().map(of_messages).collect::<Vec<_>>()),
        "ignored": ignored.collect::<Vec<_>>(),
    })
}

fn of_messages(one: &OtherMessages) -> Json {
    let side = |all: &[MessagePair]| {
        let of = |s: &MessagePair| json!({"policy": s.policy, "rule": s.rule, "message": s.message});
        all.iter().map(of).collect::<Vec<_>>()
    };
    json!({
        "kind": one.environment.resource.kind.to_string(),
        "operation": one.environment.operation,
        "object": to_serde(&one.object),
        "old": side(&one.old),
        "new": side(&one.new),
    })
}

fn paired_by(by: PairedBy) -> &'static str {
    match by {
        PairedBy::Alone => "alone",
        PairedBy::Mapping => "mapping",
        PairedBy::Annotation => "annotation",
        PairedBy::Name => "name",
        PairedBy::SimilarName => "similarName",
        PairedBy::Overlap => "overlap",
        PairedBy::Nothing => "nothing",
    }
}

fn of_place(place: &Place) -> Json {
    json!({"file": place.file, "line": place.line, "column": place.column})
}

fn of_difference(shown: &Shown) -> Json {
    let d = &shown.difference;
    let [labels, _] = &d.around.namespace;
    let is_usual = d.around.is_usual();
    let side = |judgement: &Judgement, decided: &Decided| {
        let (policy, rule) = judgement.by.clone().unwrap_or_default();
        json!({
            "verdict": judgement.verdict.name(),
            "effect": judgement.effect.name(),
            "changed": judgement.changed.as_ref().map(to_serde),
            "generated": judgement.generated.iter().map(to_serde).collect::<Vec<_>>(),
            "policy": &*policy,
            "rule": &*rule,
            "message": &*judgement.message,
            "place": decided.place.as_ref().map(of_place),
            "field": decided.field,
        })
    };
    let [old, new] = &shown.decided;
    json!({
        "kind": d.kind.name(),
        "universe": d.universe.name(),
        "operation": d.environment.operation,
        "resource": &*d.environment.resource.kind,
        "subresource": &*d.environment.subresource,
        "also": d.also,
        "object": to_serde(&d.object),
        "oldObject": d.old_object.as_ref().map(to_serde),
        "user": (!is_usual).then(|| to_serde(&d.around.user.info)),
        "namespaceLabels": (!is_usual).then(|| to_serde(&Value::Map(labels.clone()))),
        "file": shown.file,
        "old": side(&d.old, old),
        "new": side(&d.new, new),
    })
}

/// The answers as results of a run: a pair that is equal passes, each difference is a violation at
/// the place of the new policy with that of the old one, differences in files only are skipped.
pub fn run_of(found: &[Answered], question: Question) -> Run {
    let mut findings = Vec::new();
    for answered in found {
        let policy = |rule: &str| {
            let (title, help) = texts(rule, question);
            PolicyInfo {
                name: answered.name.clone(),
                kind: "comparison".into(),
                title: format!("{title}: {}", answered.name),
                description: help.clone(),
                help,
                ..PolicyInfo::default()
            }
        };
        let finding = |rule: &str, status, message| Finding {
            policy: Arc::new(policy(rule)),
            rule: rule.into(),
            status,
            message,
            resource: None,
            field: None,
            place: None,
            template: None,
            decision: None,
            is_known: false,
        };
        match &answered.found {
            Found::Only { is_old, place } => {
                let rule = if *is_old { "removed" } else { "added" };
                let message = headline(answered, question);
                findings.push(Finding { place: place.clone(), ..finding(rule, Status::Warn, message) });
            }
            Found::Compared(compared) => {
                let status = match compared.answer {
                    Answer::Incomparable(_) => Some(Status::Error),
                    Answer::Differs => None,
                    _ => Some(Status::Pass),
                };
                if let Some(status) = status {
                    let place =
                        compared.policies.get(1).and_then(|all| super::answered::name_place(all.first()?));
                    let message = headline(answered, question);
                    findings.push(Finding { place, ..finding("equal", status, message) });
                }
                let each = compared.differences.iter();
                findings.extend(each.map(|shown| of_shown(shown, question, &finding)));
                findings.extend(others(compared, &finding));
            }
        }
    }
    Run {
        counts: Counts::of(&findings),
        policies: found.len(),
        resources: findings.iter().filter(|finding| finding.resource.is_some()).count(),
        findings,
        roots: roots::here(),
        ..Run::default()
    }
}

fn of_shown(
    shown: &Shown,
    question: Question,
    finding: &impl Fn(&str, Status, String) -> Finding,
) -> Finding {
    let d = &shown.difference;
    let status = match d.universe {
        Universe::Files => Status::Skip,
        _ if shown.is_weaker() => Status::Fail,
        _ => Status::Warn,
    };
    let [old, new] = &shown.decided;
    let at = |decided: &Decided| decided.place.as_ref().map(|place| format!(" ({})", place.display()));
    let [first, second] = match question {
        Question::Diff => ["old", "new"],
        Question::Equivalent | Question::Implies => ["A", "B"],
    };
    let message = format!(
        "{}, {}: {}; {first}{}: {}; {second}{}: {}",
        d.environment.name(),
        d.universe.name(),
        meaning(shown, question),
        at(old).unwrap_or_default(),
        verdict(shown, &d.old),
        at(new).unwrap_or_default(),
        verdict(shown, &d.new),
    );
    Finding {
        resource: Some(ResourceName::of(&d.object)),
        field: old.field.clone().or_else(|| new.field.clone()),
        place: new.place.clone(),
        decision: old.place.clone(),
        ..finding(d.kind.name(), status, message)
    }
}

/// What differs without an object.
fn others(compared: &Compared, finding: &impl Fn(&str, Status, String) -> Finding) -> Vec<Finding> {
    let place = compared.policies.get(1).and_then(|all| super::answered::name_place(all.first()?));
    let mut out = Vec::new();
    if let Some([old, new]) = &compared.times {
        let message = format!("objects are deleted at other times: old {old}; new {new}");
        out.push(Finding { place: place.clone(), ..finding("schedule", Status::Warn, message) });
    }
    if let Some(side) = compared.existing {
        let message =
            format!("the {side} policy alone allows updates of objects that are violations already");
        out.push(Finding { place, ..finding("existing", Status::Warn, message) });
    }
    out
}
