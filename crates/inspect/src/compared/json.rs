//! Answers about pairs of policies, for programs.
//!
//! In: [`Answered`]. Out: one object, as `ephor diff --output-format json` prints it.

use serde_json::{Value as Json, json};

use ephor_compare::{Answer, Judgement, MessagePair, OtherMessages, PairedBy};
use ephor_document::json::to_serde;
use ephor_report::run::Place;
use ephor_value::Value;

use super::answered::{Answered, DecidingPlace, PairOutcome, Shown};

/// The answers as one object.
pub fn json_of(found: &[Answered]) -> Json {
    json!({"policies": found.iter().map(of_pair).collect::<Vec<_>>()})
}

fn of_pair(answered: &Answered) -> Json {
    let c = match &answered.found {
        PairOutcome::Only { is_old, place } => {
            let answer = if *is_old { "only in the old policies" } else { "only in the new policies" };
            return json!({"name": answered.name, "answer": answer, "place": place.as_ref().map(of_place)});
        }
        PairOutcome::Compared(compared) => compared,
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
    let side = |judgement: &Judgement, decided: &DecidingPlace| {
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
