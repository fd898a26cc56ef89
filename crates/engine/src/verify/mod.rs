//! `verifyImages` rules: signatures and attestations of images, and whether they were checked.
//!
//! In: a rule and a request. First, when an object comes in, signatures are verified and
//! what came out is written into annotations (`run`); then, with all other verdicts, the object
//! is checked for digests and these annotations ([`check`]). Without a registry what needs one ends
//! as Kyverno ends without network. Texts and order are those of `docs/semantics/images.md`.
//!
//! - `attestors`: verifies the signatures of an image: sets of attestors that must reach their
//!   counts, and statements that they must have signed
//! - `records`: what is recorded of images: annotations that say which were verified, by policy and
//!   rule
//! - `verification`: the result of verifying the signatures of an image

#[cfg(feature = "signatures")]
mod attestors;
mod records;
mod verification;

use std::collections::HashMap;

use ephor_ir::images::{ImageCheck, ImageChecks};
use ephor_ir::rule::Body;
use ephor_ir::{Policy, Rule};
use ephor_value::Value;
use ephor_value::image::ImageRef;

use super::Request;
use super::data::Data;
use super::matched::{MatchedRule, reported};
use super::outcome::Status;
use super::results::{RuleEffect, RuleRun};
use super::trace;
#[cfg(not(feature = "signatures"))]
use super::unverified as attestors;
use ephor_external::facts;
use ephor_external::registry::OFFLINE;
use ephor_external::registry::{Registry, for_policy};
pub(super) use records::Records;
pub use verification::ImageVerification;

/// How many results a rule may have: entries that name the same images report each of them as often
/// as there are entries. A rule with more is an error.
const MAX_RESULTS: usize = 10_000;

/// An image of the object.
struct Image {
    /// `registry/path@digest`, or with the tag where there is no digest.
    reference: String,
    has_digest: bool,
    /// Where it is written.
    pointer: String,
}

/// What an image has come to be.
#[derive(Default)]
struct ImageState {
    /// Its reference with the digest that was found.
    digest: Option<String>,
}

/// Verifies the signatures that a rule requires: a result for each entry and image that has one.
pub(super) fn run(matched: MatchedRule<'_, '_>) -> RuleRun {
    let MatchedRule { policy, rule, request, context, .. } = matched;
    let Body::VerifyImages(checks) = &rule.body else { return RuleRun::default() };
    let mut data = matched.data(request.root.get());
    let properties = match matched.enter_unexcepted(&mut data) {
        Ok(properties) => properties,
        Err(result) => return Some(*result).into(),
    };
    let result = |status, text: String| reported(matched.result(status, text), properties.clone());
    let filled = match data.fill(&checks.verification) {
        Ok(filled) => filled,
        Err(e) => {
            return Some(result(Status::Error, format!("failed to substitute variables: {e}"))).into();
        }
    };
    let filled = filled.get("verifyImages").and_then(Value::as_list).unwrap_or_default();
    let images = images(checks, request);
    // An image comes as often as entries name it, and each time to all of them.
    let named = |e: &ImageCheck| images.iter().filter(|i| matches_any(&e.references, i)).collect();
    let named_images: Vec<&Image> = checks.entries.iter().flat_map(|e| -> Vec<&Image> { named(e) }).collect();
    if named_images.len().saturating_mul(checks.entries.len()) > MAX_RESULTS {
        let text = format!(
            "failed to verify images: {} images for {} entries are more than {MAX_RESULTS}",
            named_images.len(),
            checks.entries.len()
        );
        return Some(result(Status::Error, text)).into();
    }
    let (mut results, mut records) = (Vec::new(), Records::default());
    let mut states: HashMap<&str, ImageState> = HashMap::new();
    for (entry, filled) in checks.entries.iter().zip(filled) {
        let credentials = filled.get("credentials").unwrap_or(&Value::Null);
        let registry = context.sources.registry().map(|r| for_policy(r, credentials));
        let registry = registry.as_deref();
        for image in &named_images {
            let state = states.entry(&*image.pointer).or_default();
            let verification = Verification { policy, rule, entry, filled, request, registry };
            let found = verification.one(image, state, &mut data, &mut records);
            let refused = found.iter().filter(|(status, _)| !matches!(status, Status::Pass | Status::Skip));
            refused.for_each(|(_, text)| image.emit(rule, request, text));
            results.extend(found.into_iter().map(|(status, text)| result(status, text)));
        }
    }
    RuleRun { results, effect: RuleEffect::Verified(records) }
}

impl Image {
    /// Emits a trace event that says why the image is refused.
    fn emit(&self, rule: &Rule, request: &Request, text: &str) {
        if trace::is_on() {
            let keys: Vec<&str> = self.pointer.split('/').filter(|key| !key.is_empty()).collect();
            let part = keys.iter().try_fold(&request.object, |value, key| match value {
                Value::List(items) => items.get(key.parse::<usize>().ok()?),
                other => other.get(key),
            });
            trace::emit_part(&rule.origin, text, part);
        }
    }
}

/// A check that verifies the signatures of images.
struct Verification<'a> {
    policy: &'a Policy,
    rule: &'a Rule,
    entry: &'a ImageCheck,
    /// The entry with its variables substituted.
    filled: &'a Value,
    request: &'a Request,
    registry: Option<&'a dyn Registry>,
}

impl Verification<'_> {
    /// What there is to say about an image when an object comes in.
    fn one(
        &self,
        image: &Image,
        state: &mut ImageState,
        data: &mut Data<'_>,
        records: &mut Records,
    ) -> Vec<(Status, String)> {
        let Verification { policy, rule, entry, .. } = *self;
        let reference = &image.reference;
        let before = records::status(&self.request.old_object, policy, &rule.name, reference);
        if matches!(before, Ok(Some("pass" | "skip"))) {
            records.add(policy, &rule.name, reference, "pass");
            return Vec::new();
        }
        let mut results = Vec::new();
        let mut answer = None;
        if entry.attested {
            let skips = !matches_any(&entry.references, image) || matches_any(&entry.skipped, image);
            answer = Some(match skips {
                true => ImageVerification {
                    status: Status::Skip,
                    text: format!(
                        "skipping image reference image {reference}, policy {} ruleName {}",
                        policy.name, rule.name
                    ),
                    digest: None,
                },
                false => attestors::verify(entry, self.filled, reference, self.registry, &rule.name, data),
            });
        }
        let mut found = answer.as_ref().and_then(|a| a.digest.clone());
        if entry.mutate_digest && !image.has_digest && state.digest.is_none() {
            let fetched = match (found.take(), self.registry) {
                (Some(digest), _) => Ok(digest),
                (None, Some(registry)) => facts::digest(registry, reference).map_err(|f| f.text),
                (None, None) => Err(OFFLINE.to_owned()),
            };
            match fetched {
                Ok(digest) => {
                    records.pin(&image.pointer, format!("{reference}@{digest}"));
                    state.digest = Some(digest);
                    if answer.is_none() {
                        results.push((Status::Pass, "mutated image digest".to_owned()));
                    }
                }
                Err(e) => {
                    let text = format!(
                        "failed to update digest: failed to fetch image reference: {reference}, error: {e}"
                    );
                    results.push((Status::Error, text));
                }
            }
        }
        if let Some(answer) = answer {
            let status = match answer.status {
                Status::Pass => "pass",
                Status::Skip | Status::Warn => "skip",
                _ => "fail",
            };
            let digest = state.digest.as_ref().or(found.as_ref());
            records.add(policy, &rule.name, &with_digest(image, digest), status);
            results.push((answer.status, answer.text));
        }
        results
    }
}

/// `registry/path@digest` of an image whose digest was found.
fn with_digest(image: &Image, digest: Option<&String>) -> String {
    let Some(digest) = digest.filter(|_| !image.has_digest) else { return image.reference.clone() };
    let name = image.reference.rsplit_once(':').map_or(&*image.reference, |(name, _)| name);
    format!("{name}@{digest}")
}

/// Whether a rule has something to say of the images of the object.
pub(super) fn concerns(rule: &Rule, request: &Request) -> bool {
    let Body::VerifyImages(checks) = &rule.body else { return false };
    let named = |i: &Image| checks.entries.iter().any(|e| matches_any(&e.references, i));
    images(checks, request).iter().any(named)
}

fn matches_any(patterns: &[ephor_value::wildcard::Wildcard], image: &Image) -> bool {
    patterns.iter().any(|p| p.matches(&image.reference))
}

/// Whether a rule checks an object with the other verdicts.
pub fn checks(rule: &Rule, request: &Request) -> bool {
    match &rule.body {
        Body::VerifyImages(checks) => checks.checks_alone() && !request.deleting() && concerns(rule, request),
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
            let refused = |text: String| {
                image.emit(rule, request, &text);
                (Status::Fail, text)
            };
            if entry.verify_digest && !image.has_digest {
                return refused(format!("missing digest for {reference}"));
            }
            if !entry.required {
                continue;
            }
            match records::status(&request.object, policy, &rule.name, reference) {
                Err(error) => return refused(error.to_string()),
                Ok(Some("pass")) => passed = true,
                Ok(Some("skip")) => skipped.push(reference.clone()),
                Ok(_) => return refused(format!("unverified image {reference}")),
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
            pointer: info.text_at(&["jsonPointer"]).to_owned(),
        })
        .collect()
}

/// The images at the places that a rule names.
fn extracted(places: &[Value], request: &Request) -> Vec<Image> {
    let functions = &request.functions;
    let mut texts = Vec::new();
    for place in places {
        let steps: Vec<&str> = place.text_at(&["path"]).split('/').filter(|s| !s.is_empty()).collect();
        collect(&request.object, &steps, place.text_at(&["value"]), String::new(), &mut texts);
    }
    texts
        .into_iter()
        .filter_map(|(pointer, text)| {
            let image = ImageRef::parse(&text, &functions.default_registry, functions.mutate_registry);
            let image = image.ok()?;
            Some(Image { reference: image.reference(), has_digest: !image.digest.is_empty(), pointer })
        })
        .collect()
}

fn collect(value: &Value, steps: &[&str], field: &str, at: String, out: &mut Vec<(String, String)>) {
    match (steps, value) {
        ([], Value::Str(text)) if field.is_empty() => out.push((at, text.trim().to_owned())),
        ([], _) => {
            let text = value.text_at(&[field]).trim().to_owned();
            out.extend(Some((format!("{at}/{field}"), text)).filter(|(_, text)| !text.is_empty()));
        }
        (["*", rest @ ..], Value::List(items)) => {
            let below = items.iter().enumerate();
            below.for_each(|(i, v)| collect(v, rest, field, format!("{at}/{i}"), out));
        }
        (["*", rest @ ..], Value::Map(entries)) => {
            entries.iter().for_each(|(k, v)| collect(v, rest, field, format!("{at}/{k}"), out));
        }
        ([step, rest @ ..], _) => {
            if let Some(inner) = value.get(step) {
                collect(inner, rest, field, format!("{at}/{step}"), out);
            }
        }
    }
}
