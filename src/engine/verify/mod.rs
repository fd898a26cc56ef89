//! Rules about images: who signed them, and whether that was looked at.
//!
//! In: the rules of a policy and a request. First, when an object comes in, evidence is asked for and
//! what came out is written into annotations ([`policy`]); then, with all other verdicts, the object
//! is checked for digests and these annotations ([`check`]). No registry is asked: what needs one ends
//! as the reference ends without network. Texts and order are those of `docs/images.md`.

mod attestors;
mod options;
mod records;

use crate::ir::images::{ImageCheck, ImageChecks};
use crate::ir::rule::{Body, RuleKind};
use crate::ir::{Policy, Rule};
use crate::value::Value;
use crate::value::image::ImageRef;

use super::Request;
use super::outcome::{RuleOutcome, Status};
use super::run::{self, Entered, Surroundings, applies, enter, excepted, reported};
use records::Records;

/// What cannot be done here.
const OFFLINE: &str = "registries and transparency logs are not asked";

/// What the rules about images of a policy did when an object came in.
#[derive(Debug, Default)]
pub struct Verified {
    /// Their results: one an entry and image that there is something to say about.
    pub rules: Vec<RuleOutcome>,
    /// The object with what was found, when something was.
    pub object: Option<Value>,
}

/// An image of the object.
struct Image {
    /// `registry/path@digest`, or with the tag where there is no digest.
    reference: String,
    has_digest: bool,
}

/// Asks for the evidence that the rules of a policy want.
pub fn policy<'p>(
    policy: &Policy,
    rules: impl Iterator<Item = &'p Rule>,
    request: &Request,
    around: Surroundings<'_>,
) -> Verified {
    let mut out = Verified::default();
    if !run::concerns(policy, request) || request.deleting() {
        return out;
    }
    let mut records = Records::default();
    for rule in rules.filter(|r| r.kind == RuleKind::ImageVerification) {
        let Body::VerifyImages(checks) = &rule.body else { continue };
        let images = images(checks, request);
        if !applies(rule, request) || !concerns(checks, &images) {
            continue;
        }
        let Entered { mut data, properties, exceptions } =
            match enter(policy, rule, request, &request.root, around, None) {
                Ok(entered) => entered,
                Err(result) => {
                    out.rules.push(*result);
                    continue;
                }
            };
        if !exceptions.is_empty() {
            out.rules.push(reported(excepted(rule, &exceptions), properties));
            continue;
        }
        let mut tell = |status, text: String| {
            let result = RuleOutcome::new(&rule.name, rule.kind, status, text);
            out.rules.push(reported(result, properties.clone()));
        };
        match data.fill(&checks.evidence) {
            Err(e) => tell(Status::Error, format!("failed to substitute variables: {e}")),
            Ok(evidence) => {
                let evidence = evidence.get("verifyImages").and_then(Value::as_list).unwrap_or_default();
                // An image comes as often as entries name it, and each time to all of them.
                let named =
                    |e: &ImageCheck| images.iter().filter(|i| matches_any(&e.references, i)).collect();
                let matched: Vec<&Image> =
                    checks.entries.iter().flat_map(|e| -> Vec<&Image> { named(e) }).collect();
                for (entry, evidence) in checks.entries.iter().zip(evidence) {
                    for image in &matched {
                        let told = one(policy, rule, (entry, evidence), image, request, &mut records);
                        told.into_iter().for_each(|(status, text)| tell(status, text));
                    }
                }
            }
        }
        if policy.apply_one && out.rules.iter().any(|o| matches!(o.status, Status::Pass | Status::Fail)) {
            break;
        }
    }
    if !records.is_empty() {
        out.object = Some(records.on(&request.object));
    }
    out
}

/// What there is to say about an image when an object comes in.
fn one(
    policy: &Policy,
    rule: &Rule,
    (entry, evidence): (&ImageCheck, &Value),
    image: &Image,
    request: &Request,
    records: &mut Records,
) -> Vec<(Status, String)> {
    let reference = &image.reference;
    let before = records::status(&request.old_object, policy, &rule.name, reference);
    if matches!(before, Ok(Some("pass" | "skip"))) {
        records.add(policy, &rule.name, reference, "pass");
        return Vec::new();
    }
    let mut told = Vec::new();
    if entry.mutate_digest && !image.has_digest {
        let text = format!(
            "failed to update digest: failed to fetch image reference: {reference}, error: {OFFLINE}"
        );
        told.push((Status::Error, text));
    }
    if entry.attested {
        let answer = if !matches_any(&entry.references, image) || matches_any(&entry.skipped, image) {
            let text = format!(
                "skipping image reference image {reference}, policy {} ruleName {}",
                policy.name, rule.name
            );
            (Status::Skip, text)
        } else {
            attestors::ask(evidence, reference)
        };
        let status = match answer.0 {
            Status::Pass => "pass",
            Status::Skip | Status::Warn => "skip",
            _ => "fail",
        };
        records.add(policy, &rule.name, reference, status);
        told.push(answer);
    }
    told
}

/// Whether a rule has something to say of an object with these images.
fn concerns(checks: &ImageChecks, images: &[Image]) -> bool {
    images.iter().any(|i| checks.entries.iter().any(|e| matches_any(&e.references, i)))
}

fn matches_any(patterns: &[crate::value::wildcard::Wildcard], image: &Image) -> bool {
    patterns.iter().any(|p| p.matches(&image.reference))
}

/// Whether a rule checks an object with the other verdicts.
pub fn checks(rule: &Rule, request: &Request) -> bool {
    match &rule.body {
        Body::VerifyImages(checks) => {
            checks.checks_alone() && !request.deleting() && concerns(checks, &images(checks, request))
        }
        Body::Manifests(_) => !request.deleting(),
        _ => true,
    }
}

/// Checks digests and what is recorded of images.
pub fn check(checks: &ImageChecks, policy: &Policy, rule: &Rule, request: &Request) -> (Status, String) {
    let images = images(checks, request);
    let (mut passed, mut skipped) = (false, Vec::new());
    for entry in &checks.entries {
        for image in images.iter().filter(|i| matches_any(&entry.references, i)) {
            let reference = &image.reference;
            if entry.verify_digest && !image.has_digest {
                return (Status::Fail, format!("missing digest for {reference}"));
            }
            if !entry.required {
                continue;
            }
            match records::status(&request.object, policy, &rule.name, reference) {
                Err(e) => return (Status::Fail, format!("failed to parse scoped image metadata: {e}")),
                Ok(Some("pass")) => passed = true,
                Ok(Some("skip")) => skipped.push(reference.clone()),
                Ok(_) => return (Status::Fail, format!("unverified image {reference}")),
            }
        }
    }
    match (passed || skipped.is_empty(), skipped.is_empty()) {
        (true, true) => (Status::Pass, "image verified".into()),
        (true, false) => (Status::Pass, format!("image verified, skipped images: {}", skipped.join(" "))),
        (false, _) => (Status::Skip, format!("image skipped, skipped images: {}", skipped.join(" "))),
    }
}

/// The images of the request's object, in written order; none where one is not well-formed.
fn images(checks: &ImageChecks, request: &Request) -> Vec<Image> {
    let kind = request.object.text_at(&["kind"]);
    if let Some(places) = checks.extractors.get(kind).and_then(Value::as_list) {
        return extracted(places, request);
    }
    let Ok(Some(lists)) = request.images.get() else { return Vec::new() };
    let containers = lists.as_map().into_iter().flat_map(|m| m.values());
    let infos = containers.filter_map(Value::as_map).flat_map(|m| m.values());
    infos
        .map(|info| Image {
            reference: info.text_at(&["reference"]).to_owned(),
            has_digest: !info.text_at(&["digest"]).is_empty(),
        })
        .collect()
}

/// The images at the places that a rule names.
fn extracted(places: &[Value], request: &Request) -> Vec<Image> {
    let functions = &request.functions;
    let mut texts = Vec::new();
    for place in places {
        let steps: Vec<&str> = place.text_at(&["path"]).split('/').filter(|s| !s.is_empty()).collect();
        collect(&request.object, &steps, place.text_at(&["value"]), &mut texts);
    }
    texts
        .into_iter()
        .filter_map(|text| {
            ImageRef::parse(&text, &functions.default_registry, functions.mutate_registry).ok()
        })
        .map(|image| Image { reference: image.reference(), has_digest: !image.digest.is_empty() })
        .collect()
}

fn collect(value: &Value, steps: &[&str], field: &str, out: &mut Vec<String>) {
    match (steps, value) {
        ([], Value::Str(text)) if field.is_empty() => out.extend(Some(text.trim().to_owned())),
        ([], _) => out.extend(Some(value.text_at(&[field]).trim().to_owned()).filter(|s| !s.is_empty())),
        (["*", rest @ ..], Value::List(items)) => items.iter().for_each(|v| collect(v, rest, field, out)),
        (["*", rest @ ..], Value::Map(entries)) => {
            entries.values().for_each(|v| collect(v, rest, field, out))
        }
        ([step, rest @ ..], _) => {
            if let Some(inner) = value.get(step) {
                collect(inner, rest, field, out);
            }
        }
    }
}
