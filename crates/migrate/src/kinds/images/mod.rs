//! Rules that verify images → ImageValidatingPolicies.
//!
//! In: a rule as it is written. Out: a draft for each entry of `verifyImages`: its patterns are
//! `matchImageReferences`, each set of attestors and each attestation a validation. Semantics:
//! `docs/semantics/images.md` and `docs/semantics/cel-policies.md`, "Images".
//!
//! - `attestors`: who must have signed
//! - `extractors`: where objects have images
//! - `references`: patterns of images

pub(crate) mod attestors;
pub(crate) mod extractors;
pub(crate) mod references;

use ephor_ir::images::{Claim, ImageCheck, ImageChecks};
use ephor_ir::{Conditions, Origin, Rule};
use ephor_value::Value;

use crate::cel::build::is_field;
use crate::cel::laid_out;
use crate::constraints::cel::literal;
use crate::constraints::{cel, conditions, constraints};
use crate::expressions::context::{Context, Payload};
use crate::expressions::converted::NamedExpression;
use crate::expressions::fails_not;
use crate::expressions::refusal::{Refusal, Result};
use crate::kinds::images::attestors::{Attestors, Verified};
use crate::kinds::shared;
use crate::kinds::shared::{common, own_conditions, preconditions};
use crate::model::actions::Action;
use crate::model::draft::{Check, Draft, ImagesDraft};
use crate::model::migrated::{Document, Note};
use crate::model::original::NewMetadata;
use crate::model::source::Source;
use crate::text::{Map, Node};

/// The drafts of a rule that verifies images.
pub fn drafts(
    source: &Source<'_>,
    at: usize,
    rule: &Rule,
    body: &ImageChecks,
    context: &Context,
    notes: &mut Vec<Note>,
) -> Result<Vec<Draft>> {
    let written = source.written(at, rule);
    let converted = preconditions(&written, None, at, context)?;
    let list = written.get("verifyImages").and_then(Value::as_list).unwrap_or_default();
    let mut out = Vec::new();
    for (i, (own, entry)) in body.entries.iter().zip(list).enumerate() {
        let origin = rule.origin.key("verifyImages").index(i);
        let extractors = extractors::extractors(written.get("imageExtractors"), &rule.origin)?;
        let writer = ImagesWriter { source, rule, context, entry, origin: &origin, extractors: &extractors };
        let mut draft = writer.draft(own, extractors.clone(), notes)?;
        draft.rules = vec![(at, rule.name.to_string())];
        draft.conditions = own_conditions(&converted);
        draft.variables.extend(converted.variables.iter().cloned());
        if let Some(check) = draft.checks.first_mut() {
            check.comments.splice(0..0, source.original.comments(&format!("spec.rules[{at}]")));
        }
        out.push(draft);
    }
    Ok(out)
}

struct ImagesWriter<'w> {
    source: &'w Source<'w>,
    rule: &'w Rule,
    context: &'w Context,
    entry: &'w Value,
    origin: &'w Origin,
    extractors: &'w [(String, String)],
}

impl ImagesWriter<'_> {
    fn refuse(&self, construct: &str, nearest: &str) -> Refusal {
        Refusal::new(construct, self.origin.clone(), nearest)
    }

    fn note(&self, text: &str, notes: &mut Vec<Note>) {
        self.source.note(&self.origin.path, text, notes);
    }

    fn draft(
        &self,
        own: &ImageCheck,
        extractors: Vec<(String, String)>,
        notes: &mut Vec<Note>,
    ) -> Result<Draft> {
        let entry = self.entry;
        let is_notary = entry.text_at(&["type"]) == "Notary";
        let references = references::references(&own.references, &own.skipped);
        references.notes.iter().for_each(|text| self.note(text, notes));
        let fill = |written: &str| shared::filled(written, self.rule, self.context);
        let mut attestors = Attestors { entry, origin: self.origin, fill: &fill, found: Vec::new() };
        let former = former(entry);
        let list =
            |value: &Value, key: &str| value.get(key).and_then(Value::as_list).unwrap_or_default().to_vec();
        let mut checks = Vec::new();
        let claims = list(entry, "attestations");
        for set in list(entry, "attestors").iter().chain(former.iter().filter(|_| claims.is_empty())) {
            let test = attestors.test(set, Verified::Signatures)?;
            checks.push(self.check(&test, "the signature of an image is not verified", "attestors"));
        }
        let mut attestations = Vec::new();
        for (i, (claim, written)) in own.claims.iter().zip(&claims).enumerate() {
            let kind = match written.text_at(&["type"]) {
                "" => written.text_at(&["predicateType"]),
                kind => kind,
            };
            let name = match &*claim.name {
                name if is_field(name) => name.to_string(),
                _ => format!("attestation{}", i + 1),
            };
            attestations.push((name.clone(), kind.to_string(), is_notary));
            let of = format!("the attestation `{kind}` of an image is not verified");
            let verified = Verified::Attestation(&name);
            let sets = list(written, "attestors");
            for set in &sets {
                let test = attestors.test(set, verified)?;
                checks.push(self.check(&test, &of, "attestations"));
            }
            if sets.is_empty() {
                if is_notary {
                    return Err(
                        self.refuse("an attestation without attestors", "name who must have signed it")
                    );
                }
                let test = format!(
                    "verifyAttestationSignatures(image, attestations.{name}, [attestors.{}]) > 0",
                    attestors.anyone()
                );
                checks.push(self.check(&test, &of, "attestations"));
            }
            if !claim.blocks.is_empty() {
                let test = self.claim(claim, &name, is_notary)?;
                let message = format!("the attestation `{kind}` of an image does not say what it must");
                checks.push(self.check(&test, &message, "attestations"));
                self.note(
                    "of several statements of one type the old rule looks at each, the new policy at the one that it reads",
                    notes,
                );
            }
        }
        if let Some(deny) = &own.deny {
            let payloads: Vec<Payload> = own
                .claims
                .iter()
                .zip(&attestations)
                .map(|(claim, (name, ..))| Payload {
                    name: Some(claim.name.clone()),
                    expression: payload(name, is_notary),
                })
                .collect();
            let test = self.holds(deny, &payloads, true)?;
            let message = entry.text_at(&["validate", "message"]);
            let message =
                if message.is_empty() || message.contains("{{") { "an image is denied" } else { message };
            checks.push(self.check(&test, message, "validate"));
        }
        if checks.is_empty() {
            // A policy has an attestor, also where it reads digests alone.
            attestors.anyone();
            checks.push(Check {
                expression: "true".into(),
                message: None,
                ..self.check("true", "", "imageReferences")
            });
        }
        if own.mutate_digest {
            self.note(
                "tags get digests behind the full name of the image: `index.docker.io/library/a:1@…`, where the old rule writes `docker.io/a:1@…`",
                notes,
            );
        }
        let mut variables = Vec::new();
        if checks.len() > 1 && checks.iter().all(|check| check.expression != "true") {
            let expression = laid_out(&self.all_images());
            variables.push(NamedExpression::converted("allImages", expression));
            for check in &mut checks {
                check.expression = check.expression.replacen(IMAGES, "variables.allImages", 1);
            }
        } else {
            let all = format!("({})", self.all_images());
            checks.iter_mut().for_each(|check| check.expression = check.expression.replacen(IMAGES, &all, 1));
        }
        checks.iter_mut().for_each(|check| check.expression = laid_out(&check.expression));
        let written = entry.text_at(&["failureAction"]);
        let images = ImagesDraft {
            references,
            extractors,
            attestors: attestors.found,
            attestations,
            credentials: credentials(entry),
            off: [
                ("mutateDigest", own.mutate_digest),
                ("verifyDigest", own.verify_digest),
                ("required", own.required),
            ]
            .into_iter()
            .filter_map(|(key, on)| (!on).then_some(key))
            .collect(),
            action: (!written.is_empty()).then(|| Action::of(written, self.source.policy)),
        };
        Ok(Draft { checks, variables, images: Some(images), ..Draft::default() })
    }

    /// A validation of all images.
    fn check(&self, test: &str, message: &str, key: &str) -> Check {
        Check {
            comments: vec![format!(
                "# from {}",
                self.source.original.short_place(&self.origin.key(key).path)
            )],
            expression: format!("{IMAGES}.all(image, {test})"),
            message: Some(message.into()),
            ..Check::default()
        }
    }

    /// All images of an object.
    fn all_images(&self) -> String {
        let own: Vec<&str> = match self.extractors.is_empty() {
            true => vec!["containers", "initContainers", "ephemeralContainers"],
            false => self.extractors.iter().map(|(name, _)| name.as_str()).collect(),
        };
        let list = |name: &&str| match is_field(name) {
            true => format!("images.{name}"),
            false => format!("images[{}]", literal(name)),
        };
        own.iter().map(list).collect::<Vec<_>>().join(" + ")
    }

    /// Whether a statement says what it must.
    fn claim(&self, claim: &Claim, name: &str, is_notary: bool) -> Result<String> {
        let data = [Payload { name: None, expression: payload(name, is_notary) }];
        let tests: Result<Vec<String>> =
            claim.blocks.iter().map(|block| self.holds(block, &data, false)).collect();
        Ok(cel::all(&tests?))
    }

    fn holds(&self, own: &Conditions, payloads: &[Payload], negated: bool) -> Result<String> {
        fails_not(own, self.rule, payloads, negated, self.context)
    }
}

/// Stands for the lists of all images.
const IMAGES: &str = "ALL_IMAGES";

/// What a statement of an image says.
fn payload(name: &str, is_notary: bool) -> String {
    let whole = format!("extractPayload(image, attestations.{name})");
    if is_notary { whole } else { format!("{whole}.predicate") }
}

/// The attestors of a former version.
fn former(entry: &Value) -> Option<Value> {
    let text = |key: &str| Some(Value::from(entry.text_at(&[key]))).filter(|v| v.as_str() != Some(""));
    let own = match (text("key"), text("issuer")) {
        (Some(key), _) => Value::map([("keys", Value::map([("publicKeys", key)]))]),
        (None, Some(issuer)) => {
            let of = |key: &str| text(key).unwrap_or_default();
            let keyless = [("issuer", issuer), ("subject", of("subject")), ("roots", of("roots"))];
            Value::map([("keyless", Value::map(keyless))])
        }
        (None, None) => return None,
    };
    Some(Value::map([("entries", Value::list(vec![own]))]))
}

pub(crate) fn credentials(entry: &Value) -> Option<Node> {
    let own = entry.get("imageRegistryCredentials").filter(|v| !v.is_null())?;
    let mut out = Map::default();
    for key in ["allowInsecureRegistry", "providers", "secrets"] {
        out.push_some(key, own.get(key).filter(|v| !v.is_null()).map(Node::of));
    }
    (!out.is_empty()).then(|| out.into())
}

/// The document of a draft.
pub fn document(
    source: &Source<'_>,
    draft: &Draft,
    images: &ImagesDraft,
    named: &NewMetadata<'_>,
) -> Document {
    let kind = match named.namespace {
        Some(_) => "NamespacedImageValidatingPolicy",
        None => "ImageValidatingPolicy",
    };
    let mut spec = Map::default();
    spec.push("validationActions", draft.action.node());
    common(source, None, &mut spec);
    spec.push_some("autogen", draft.autogen());
    let mut flags = Map::default();
    images.off.iter().for_each(|key| flags.push(key, Node::flag(false)));
    spec.push_map("validationConfigurations", flags);
    spec.push_some("credentials", images.credentials.clone());
    spec.push("matchConstraints", constraints(&draft.matching));
    spec.push_some("matchConditions", conditions(&draft.conditions));
    spec.push_some("matchImageReferences", images.references.node());
    let extractor = |(name, text): &(String, String)| {
        Node::map([("name", Node::text(name)), ("expression", Node::Code(laid_out(text)))])
    };
    spec.push_list("images", images.extractors.iter().map(extractor));
    spec.push_list("variables", draft.variables.iter().map(NamedExpression::node));
    let attestor = |(name, node): &(String, Node)| {
        let Node::Map(entries) = node else { return node.clone() };
        let mut map = Map::default();
        map.push("name", Node::text(name));
        entries.iter().for_each(|entry| map.push(&entry.key, entry.node.clone()));
        map.into()
    };
    spec.push_list("attestors", images.attestors.iter().map(attestor));
    let attestation = |(name, kind, refers): &(String, String, bool)| {
        let of = Node::map([("type", Node::text(kind))]);
        Node::map([("name", Node::text(name)), (if *refers { "referrer" } else { "intoto" }, of)])
    };
    spec.push_list("attestations", images.attestations.iter().map(attestation));
    spec.push("validations", Node::List(draft.checks.iter().map(Check::item).collect()));
    shared::document(source.original, kind, named, spec)
}
