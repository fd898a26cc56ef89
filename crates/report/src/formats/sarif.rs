//! SARIF 2.1.0: a result for each violation, at the field that decided.
//!
//! In: a [`Run`]; findings about files come in through `lint_formats`. Out: one log, written by
//! `log::Log` for all commands, so that what code scanning requires of rules and results is met in
//! one place. A violation of the baseline is `unchanged` and suppressed.
//!
//! - `log`: A log of SARIF as code scanning accepts it: rules with all their texts, results the
//!   gravest first, none above the limits.
//! - `message_text`: texts of SARIF: messages that hold what users wrote, and names of rules.

pub(crate) mod log;
mod message_text;

use std::io::Write;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::WriteError;
use super::uri::Uris;
use crate::formats::level::level;
use crate::formats::message::message;
use crate::hex::hex;
use crate::run::{Finding, Place, Run};

use log::{Log, Rank, Region, Rule, word};
pub(crate) use message_text::message_text;

/// Writes the run as SARIF, in one line. Returns what was left out of it.
///
/// # Errors
/// Results cannot be read, or the log cannot be written.
pub fn write(run: &Run, out: &mut dyn Write) -> Result<Option<String>, WriteError> {
    let mut log = Log::new(&run.roots);
    log.automation = automation("apply", &run.invocation.policies, &run.invocation.resources);
    for finding in run.violations() {
        let finding = &*finding?;
        let index = log.rule(&finding.rule_id(), || rule(finding));
        let rank = Rank::of(finding.is_known, level(finding), finding.policy.severity);
        let of_rule = |uris: &Uris<'_>| {
            let mut value = result(uris, finding);
            value["ruleIndex"] = index.into();
            value
        };
        log.result(rank, of_rule)?;
    }
    log.finish(&run.notes, out)
}

/// Most characters of what a run is of.
const MAX_AUTOMATION: usize = 200;

/// What a run is of, for code scanning, which shows the last log of each: the command and its
/// arguments, which stay the same from commit to commit.
pub(crate) fn automation(command: &str, policies: &[String], resources: &[String]) -> String {
    let joined = |all: &[String]| all.join(" ");
    let mut text = format!("ephor {command}");
    for part in [joined(policies), joined(resources)].iter().filter(|part| !part.is_empty()) {
        text.push_str(&format!(" {part}"));
    }
    let shown: String = message_text(&text).chars().take(MAX_AUTOMATION).collect();
    format!("{}/", shown.trim())
}

fn rule(finding: &Finding) -> Rule {
    let policy = &finding.policy;
    let subjects = policy.category.split(',').chain(policy.subject.split(','));
    let help = match policy.help.is_empty() {
        true => policy.description.trim().to_string(),
        false => policy.help.clone(),
    };
    Rule {
        title: policy.title.clone(),
        description: match policy.description.trim() {
            "" => described(finding),
            description => description.into(),
        },
        help,
        address: policy.address().map(String::from),
        level: level(finding),
        severity: policy.severity,
        tags: subjects.map(|tag| tag.trim().to_string()).collect(),
        kind: policy.kind.clone(),
    }
}

/// What a rule is about whose policy has no description.
fn described(finding: &Finding) -> String {
    let (policy, kind) = (&finding.policy.name, &finding.policy.kind);
    match (finding.rule.as_str(), kind.as_str()) {
        ("", "") => format!("What policy `{policy}` requires."),
        ("", kind) => format!("What {kind} `{policy}` requires."),
        (rule, "") => format!("What rule `{rule}` of policy `{policy}` requires."),
        (rule, kind) => format!("What rule `{rule}` of {kind} `{policy}` requires."),
    }
}

fn result(uris: &Uris<'_>, finding: &Finding) -> Value {
    let mut location = Map::new();
    let place = finding.place.as_ref().or(finding.decision.as_ref());
    let mut related = Vec::new();
    match (&finding.template, place) {
        (Some(template), place) => {
            // Lines of rendered text are not those of the template.
            location.insert("physicalLocation".into(), log::physical(uris, template, &Region::top()));
            related.extend(place.map(|place| (place, "rendered manifest")));
        }
        (None, Some(place)) => {
            location.insert("physicalLocation".into(), of_place(uris, place));
        }
        // Data that came from no file, as a policy without a file decided. Code scanning refuses
        // results without an artifact.
        (None, None) => {
            location.insert("physicalLocation".into(), log::physical(uris, "-", &Region::top()));
        }
    }
    if let Some(resource) = &finding.resource {
        let path = message_text(&resource.path());
        let mut logical = Map::from_iter([
            ("name".to_string(), Value::from(message_text(&resource.name))),
            ("fullyQualifiedName".to_string(), Value::from(path.as_str())),
            ("kind".to_string(), Value::from("resource")),
        ]);
        if let Some(field) = &finding.field {
            logical.insert("decoratedName".into(), format!("{path}:{}", message_text(field)).into());
        }
        location.insert("logicalLocations".into(), json!([logical]));
    }
    related
        .extend(finding.decision.iter().filter(|_| finding.place.is_some()).map(|place| (place, "policy")));
    let related: Vec<Value> = related
        .into_iter()
        .enumerate()
        .map(|(i, (place, what))| {
            json!({"id": i + 1, "message": {"text": what}, "physicalLocation": of_place(uris, place)})
        })
        .collect();
    let mut out = json!({
        "ruleId": log::visible_id(&finding.rule_id()),
        "ruleIndex": 0,
        "level": word(level(finding)),
        "message": {"text": message_text(message(finding))},
        "locations": [location],
        "partialFingerprints": {"ephorViolation/v1": fingerprint(finding)},
        "properties": {"result": finding.status.name()},
    });
    if !related.is_empty() {
        out["relatedLocations"] = related.into();
    }
    if let Some((fix, place)) = finding.fix.as_ref().zip(finding.place.as_ref()) {
        out["fixes"] = json!([fix.sarif(uris, &place.file)]);
    }
    if finding.is_known {
        out["baselineState"] = "unchanged".into();
        out["suppressions"] = json!([{"kind": "external", "justification": "known from the baseline"}]);
    }
    out
}

fn of_place(uris: &Uris<'_>, place: &Place) -> Value {
    let region =
        Region { line: place.line, column: place.column, end: place.end_column(), text: &place.text };
    log::physical(uris, &place.file, &region)
}

/// What stays the same when files move and messages change.
fn fingerprint(finding: &Finding) -> String {
    let digest = Sha256::digest(finding.identity().join("\n").as_bytes());
    hex(digest.iter().take(16))
}
