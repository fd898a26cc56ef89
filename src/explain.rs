//! Why policies decide as they do.

use std::sync::Arc;

use ephor_document::Document;
use ephor_inspect::explain::decisions::{self, Decided, Tone};
use ephor_policies::load::LoadedPolicy;
use ephor_policies::policy_set::{Engine, PolicySet as Rules};

use crate::{Error, PolicySet, Profile, Request, Status};

/// What a rule decided about an object, decision by decision.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// The policy's name.
    pub policy: String,
    /// The rule; empty for policies whose rules have no names.
    pub rule: String,
    /// Where the rule is written, `FILE:LINE`.
    pub place: String,
    /// The result; `None` = the rule says nothing about the object.
    pub status: Option<Status>,
    /// The decisions, in their order.
    pub decisions: Vec<Decision>,
    text: String,
}

/// A decision of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// What of the policy decides, `FILE:LINE`.
    pub place: String,
    /// What is decided on which value; of values of the object with their place.
    pub text: String,
    /// What it means: `Some(true)` = the rule continues or is satisfied, `Some(false)` = it is
    /// violated or cannot be evaluated, `None` = nothing follows yet.
    pub holds: Option<bool>,
    /// How many loops and expressions are around it.
    pub depth: usize,
    /// Whether a brief answer leaves it out.
    pub detail: bool,
}

impl std::fmt::Display for Explanation {
    /// The lines that `ephor explain` prints.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// Explains what each rule of a set decides about a request: the decisions with file and line, as
/// `ephor explain POLICY -r RESOURCE` prints them. Each policy is evaluated on the object of the
/// request; what others of the set would change first is not applied.
///
/// ```
/// let policies = ephor::PolicySet::from_text("p.yaml", r#"
/// apiVersion: kyverno.io/v1
/// kind: ClusterPolicy
/// metadata: {name: no-latest}
/// spec:
///   rules:
///   - name: tag
///     match: {any: [{resources: {kinds: [Pod]}}]}
///     validate: {message: pin the tag, pattern: {spec: {containers: [{image: "!*:latest"}]}}}
/// "#)?;
/// let pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: 'x:latest'}]}}";
/// let all = ephor::explain(&policies, &ephor::Request::from_yaml(pod)?)?;
/// let tag = all.first().ok_or("no rule")?;
/// assert_eq!((&*tag.rule, tag.status), ("tag", Some(ephor::Status::Fail)));
/// assert!(tag.decisions.iter().any(|d| d.text.contains("x:latest") && d.holds == Some(false)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The data for rules cannot be built of the request.
pub fn explain(policies: &PolicySet, request: &Request) -> Result<Vec<Explanation>, Error> {
    let mut loaded = policies.loaded.clone();
    loaded.bind(Vec::new());
    let (exceptions, of_cel) = (loaded.exceptions, loaded.cel_exceptions);
    let parts = request.clone().into_parts();
    let mut all = Vec::new();
    for one in &loaded.policies {
        let Some(policy) = &one.policy else { continue };
        let set = Rules::new(vec![policy.clone()], exceptions.clone());
        let set = set.with_cel_exceptions(of_cel.clone());
        let engine = Engine::new(set).with_profile(Profile::cluster());
        let prepared = ephor_engine::Request::new(parts.clone(), engine.profile(), engine.functions());
        let prepared = prepared.map_err(|error| Error::Request(error.to_string()))?;
        all.extend(decided(one, &engine, &prepared, request).into_iter().map(Explanation::from));
    }
    Ok(all)
}

fn decided(
    policy: &LoadedPolicy,
    engine: &Engine,
    prepared: &ephor_engine::Request,
    request: &Request,
) -> Vec<Decided> {
    let of_value = || Document {
        value: request.parts.object.clone(),
        source: Arc::from("-"),
        line: 1,
        text: Arc::from(""),
        item: None,
        is_inside: false,
    };
    let document = request.document.clone().unwrap_or_else(of_value);
    decisions::decide(policy, engine, prepared, &document)
}

impl From<Decided> for Explanation {
    fn from(decided: Decided) -> Explanation {
        let text = decided.text(false, true);
        let decisions = decided.lines.into_iter().map(|line| Decision {
            place: line.place,
            text: line.text,
            holds: match line.tone {
                Tone::Good => Some(true),
                Tone::Bad => Some(false),
                Tone::Neutral => None,
            },
            depth: line.depth,
            detail: line.detail,
        });
        Explanation {
            decisions: decisions.collect(),
            policy: decided.policy,
            rule: decided.rule,
            place: decided.place,
            status: decided.status,
            text,
        }
    }
}
