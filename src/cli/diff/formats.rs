//! Answers for programs: JSON, and as a run of the report formats (SARIF, GitHub, JUnit).

use std::sync::Arc;

use ephor_compare::{Answer, Universe};
use ephor_engine::Status;
use ephor_inspect::compared::answered::{Answered, Compared, DecidingPlace, PairOutcome, Shown, name_place};
use ephor_report::run::{Finding, Order, PolicyInfo, ResourceName, Run};

use super::rules::texts;
use super::text::{headline, meaning, verdict};
use crate::cli::diff::question::Question;
use crate::cli::roots;

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
            order: Order::default(),
            policy: Arc::new(policy(rule)),
            rule: rule.into(),
            status,
            message,
            resource: None,
            field: None,
            place: None,
            template: None,
            decision: None,
            fix: None,
            is_known: false,
        };
        match &answered.found {
            PairOutcome::Only { is_old, place } => {
                let rule = if *is_old { "removed" } else { "added" };
                let message = headline(answered, question);
                findings.push(Finding { place: place.clone(), ..finding(rule, Status::Warn, message) });
            }
            PairOutcome::Compared(compared) => {
                let status = match compared.answer {
                    Answer::Incomparable(_) => Some(Status::Error),
                    Answer::Differs => None,
                    _ => Some(Status::Pass),
                };
                if let Some(status) = status {
                    let place = compared.policies.get(1).and_then(|all| name_place(all.first()?));
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
        policies: found.len(),
        resources: findings.iter().filter(|finding| finding.resource.is_some()).count(),
        findings: findings.into(),
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
    let at = |decided: &DecidingPlace| decided.place.as_ref().map(|place| format!(" ({})", place.display()));
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
    let place = compared.policies.get(1).and_then(|all| name_place(all.first()?));
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
