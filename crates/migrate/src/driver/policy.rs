//! ClusterPolicies and Policies → policies in CEL.
//!
//! In: a policy as it was loaded. Out: [`Migrated`]: one document where all rules match the same,
//! else one for each distinct match, or the constructs that cannot be expressed. A policy moves as
//! a whole or not at all: what is left behind would be dropped silently.

use std::collections::BTreeSet;
use std::sync::Arc;

use ephor_api::autogen::written_rules;
use ephor_compare::{LEFT_KIND, REPLACES};
use ephor_ir::policy::SHADOW_OF;
use ephor_ir::rule::Body;
use ephor_ir::{Origin, Policy, Rule};
use ephor_policies::load::LoadedPolicy;
use ephor_value::{Str, Value};

use crate::constraints::cel::literal;
use crate::constraints::model::Matching;
use crate::constraints::{Deletions, add_condition, matching, without_roles};
use crate::expressions::context::{Context, GeneratedVariants, Target};
use crate::expressions::convert;
use crate::expressions::converted::NamedExpression;
use crate::expressions::refusal::{Refusal, Result};
use crate::kinds::{admission_policy, generating, images, mutating, validate_cel, validating};
use crate::model::actions::{Action, NamespacePart};
use crate::model::draft::{Draft, MutationDraft, merge};
use crate::model::migrated::{AutogenStrategy, Document, Migrated, Note, Options, TargetApi};
use crate::model::names::{Names, dns};
use crate::model::original::{NewMetadata, Original};
use crate::model::pair::Pair;
use crate::model::source::Source;
use crate::model::{actions, operations};
use crate::notes::{calls, wildcards};
use crate::proof::split;

/// What takes the place of a ClusterPolicy or Policy.
///
/// # Errors
/// What cannot be expressed in CEL, a refusal for each rule that has some.
pub fn migrate(loaded: &LoadedPolicy, options: &Options) -> Result<Migrated, Vec<Refusal>> {
    migrate_in(loaded, options, AutogenStrategy::Autogen)
}

/// What takes the place of a ClusterPolicy or Policy, with pod controllers in one of the ways.
///
/// # Errors
/// As [`migrate`].
pub fn migrate_in(
    loaded: &LoadedPolicy,
    options: &Options,
    way: AutogenStrategy,
) -> Result<Migrated, Vec<Refusal>> {
    let original = Original::of(loaded);
    let policy = ephor_lower::policy::policy_as_lowered(&loaded.document);
    let source = Source { original: &original, policy: &policy, document: &loaded.document, options, way };
    let (mut drafts, mut refusals, mut notes) = (Vec::new(), refused_as_whole(&source), Vec::new());
    for (at, rule) in policy.rules.iter().enumerate() {
        match of_rule(&source, at, rule, &mut notes) {
            Ok(own) => {
                drafts.extend(own);
                notes.extend(wildcards::notes(rule, &original));
                notes.extend(calls::notes(rule, &original));
                let written = source.written(at, rule);
                let patch = written.at(&["mutate", "patchStrategicMerge"]);
                if let Some(key) = patch.and_then(mutating::anchors::without_meaning) {
                    let place = format!("spec.rules[{at}].mutate.patchStrategicMerge");
                    source.note(
                        &place,
                        format!(
                            "`{key}` is no anchor in mutations: both policies write a field of this name"
                        ),
                        &mut notes,
                    );
                }
            }
            Err(refusal) => refusals.push(refusal),
        }
    }
    if !refusals.is_empty() {
        return Err(refusals);
    }
    if policy.namespace.as_deref() == Some("") && options.to == TargetApi::Kyverno {
        source.note("kind", NO_NAMESPACE, &mut notes);
    }
    let pairs: Vec<Pair> = (0..policy.rules.len())
        .flat_map(|at| {
            let is_of = |draft: &&Draft| draft.rules.iter().any(|(own, _)| *own == at);
            let own: Vec<&Draft> = drafts.iter().filter(is_of).collect();
            let rule = written_rules(&original.value).get(at).cloned().unwrap_or_default();
            split::pairs(&source, &rule, &own)
        })
        .collect();
    let drafts = if options.apart { drafts } else { merge(drafts) };
    if drafts.is_empty() {
        return Err(vec![Refusal::new("a policy without rules", Origin::new("spec.rules"), "delete it")]);
    }
    let with_targets = drafts.iter().filter(|draft| draft.targets.is_some()).count();
    let verified = drafts.iter().filter(|draft| draft.images.is_some()).count();
    let mut out = Migrated { notes, ..Migrated::default() };
    // Where images are verified no object says what a registry does.
    out.is_apart = verified > 0 || with_targets == drafts.len();
    if verified > 0 {
        out.not_compared.push("signatures of images".into());
    }
    let is_found_on_deletions = |draft: &&Draft| {
        let is_found = draft.targets.as_ref().is_some_and(|targets| targets.expression.is_some());
        is_found && draft.matching.deletions() == Deletions::Some
    };
    if drafts.iter().any(|draft| is_found_on_deletions(&draft)) {
        out.not_compared.push("targets that depend on the object that is deleted".into());
    }
    let targets = || drafts.iter().filter_map(|draft| draft.targets.as_ref());
    if targets().any(|targets| targets.expression.as_ref().is_some_and(|found| found.is_open)) {
        out.assumed.push("texts that say which objects are changed are names, without wildcards".into());
    }
    out.pairs = pairs;
    if verified == 0 {
        out.apart = split::apart(&source, &drafts);
    }
    out.documents = documents(&source, &drafts, &mut out.rules, REPLACES);
    if options.shadows {
        out.shadows = shadows(&source, drafts);
    }
    out.has_generated = !policy.by_kind.is_empty();
    Ok(out)
}

/// What concerns all rules and has no counterpart.
fn refused_as_whole(source: &Source<'_>) -> Vec<Refusal> {
    let mut out = Vec::new();
    if source.options.to == TargetApi::Kubernetes && !source.policy.admission {
        out.push(Refusal::new(
            "`admission: false`",
            Origin::new("spec.admission"),
            "an API server evaluates its policies at admission only: write a ValidatingPolicy with `--to vpol`",
        ));
    }
    if source.policy.apply_one && source.policy.rules.len() > 1 {
        out.push(Refusal::new(
            "`applyRules: One`",
            Origin::new("spec.applyRules"),
            "add to each rule a precondition that the rules before it do not apply",
        ));
    }
    for (at, rule) in source.policy.rules.iter().enumerate() {
        let Some(properties) = &rule.properties else { continue };
        if properties.written.any_text(&|text| text.contains("{{")) {
            out.push(Refusal::new(
                "`reportProperties` with variables",
                Origin::new(format!("spec.rules[{at}].reportProperties")),
                "write an auditAnnotation with an expression, or leave them out",
            ));
        }
    }
    out
}

/// What a reader should know where roles are looked up.
const ROLES: &str = "roles: the new policy looks them up in the role bindings of the cluster, and fails where there is none, as in `kyverno apply`";

/// What a reader should know of a policy of a namespace that its file does not name.
const NO_NAMESPACE: &str = "the policy names no namespace, and has the one in a cluster that it is created in: Kyverno's command line reads the old policy as one of `default`, and applies the new one to objects of all namespaces";

/// The drafts of a rule: one, or several where a policy cannot have them all.
fn of_rule(source: &Source<'_>, at: usize, rule: &Arc<Rule>, notes: &mut Vec<Note>) -> Result<Vec<Draft>> {
    let generated = generated(source.policy, rule);
    let kinds: BTreeSet<&str> = generated.iter().flat_map(|(kinds, _)| kinds.iter().map(|k| &**k)).collect();
    let default = operations(source, at);
    // Policies of one namespace look up objects of it alone.
    if source.options.to == TargetApi::Kubernetes || source.policy.namespace.is_some() {
        without_roles(rule)?;
    } else if without_roles(rule).is_err() {
        source.note(&format!("spec.rules[{at}].match"), ROLES, notes);
    }
    let mut found = matching(rule, &default, &source.options.kinds)?;
    let is_pods = found.is_pods && source.options.to == TargetApi::Kyverno;
    // `none` is no kind.
    let are_kinds = |kinds: &[Str]| kinds.iter().any(|kind| &**kind != "none");
    // Other objects have no controllers.
    let is_whole = |draft: &Draft| {
        draft.targets.is_some() || draft.mutations.iter().any(MutationDraft::is_of_pods_alone)
    };
    if is_pods && source.way == AutogenStrategy::Autogen && !kinds.is_empty() {
        let mut out = with_autogen(source, at, rule, found.clone(), actions::controllers(&kinds), notes)?;
        if kinds.contains(LEFT_KIND) && source.options.replication_controllers {
            let own = generated.iter().find(|(kinds, _)| kinds.iter().any(|kind| &**kind == LEFT_KIND));
            if let Some((_, rule)) = own {
                out.extend(of_controllers(source, at, rule, &default, notes)?);
            }
        }
        if !generated.iter().any(|(kinds, _)| are_kinds(kinds)) || !out.iter().any(is_whole) {
            return Ok(out);
        }
    }
    if found.is_pods && !matches!(rule.body, Body::Mutate(_)) {
        found.add_ephemeral();
    }
    // Without the subresource it would have the controllers that policies on pods usually have.
    let none = is_pods && found.is_pods;
    let mut out = one(source, at, rule, found, none.then(Vec::new), notes)?;
    for (_, rule) in generated.into_iter().filter(|(kinds, _)| are_kinds(kinds)) {
        let found = matching(rule, &default, &source.options.kinds)?;
        out.extend(one(source, at, rule, found, None, notes)?);
    }
    Ok(out)
}

/// The drafts of a generated rule for ReplicationControllers alone.
fn of_controllers(
    source: &Source<'_>,
    at: usize,
    rule: &Rule,
    default: &[&str],
    notes: &mut Vec<Note>,
) -> Result<Vec<Draft>> {
    let mut found = matching(rule, default, &source.options.kinds)?;
    found.kinds.retain(|[_, _, kind]| &**kind == LEFT_KIND);
    found.rules.retain_mut(|rule| {
        rule.resources.names.retain(|name| name == "replicationcontrollers");
        !rule.resources.names.is_empty()
    });
    let mut out = one(source, at, rule, found, None, notes)?;
    out.iter_mut().for_each(|draft| draft.add_suffix("replicationcontrollers"));
    Ok(out)
}

/// The drafts of a rule on pods that pod controllers have, too: the policy's own generation of
/// rules covers them.
fn with_autogen(
    source: &Source<'_>,
    at: usize,
    rule: &Rule,
    found: Matching,
    controllers: Option<Vec<String>>,
    notes: &mut Vec<Note>,
) -> Result<Vec<Draft>> {
    let ephemeral = found.of_ephemeral();
    let mut out = one(source, at, rule, found, controllers, notes)?;
    if let Some(found) = ephemeral.filter(|_| out.iter().any(Draft::reads_ephemeral)) {
        for mut draft in one(source, at, rule, found, None, notes)? {
            draft.add_suffix("ephemeral-containers");
            out.push(draft);
        }
    }
    Ok(out)
}

/// The rules that were generated from a rule, with the kinds that have them.
pub(crate) fn generated<'p>(policy: &'p Policy, rule: &Rule) -> Vec<(&'p [Str], &'p Rule)> {
    let own = policy.by_kind.iter().flat_map(|own| own.rules.iter().map(move |rule| (&*own.kinds, &**rule)));
    own.filter(|(_, other)| other.generated.is_some() && other.origin.path == rule.origin.path).collect()
}

/// The operations of a rule whose match names none.
fn operations(source: &Source<'_>, at: usize) -> Vec<&'static str> {
    let rules = source.document.at(&["spec", "rules"]).and_then(Value::as_list).unwrap_or_default();
    rules.get(at).map(operations::of_rule).unwrap_or_default()
}

/// The drafts of a rule for the requests that it matches.
pub(crate) fn one(
    source: &Source<'_>,
    at: usize,
    rule: &Rule,
    found: Matching,
    controllers: Option<Vec<String>>,
    notes: &mut Vec<Note>,
) -> Result<Vec<Draft>> {
    for text in &found.notes {
        source.note(&format!("spec.rules[{at}].match"), text, notes);
    }
    let parts = actions::parts(source.policy, rule, &found)?;
    let drafts = match &rule.body {
        Body::Validate { .. } if rule.expressions.is_some() => vec![validate_cel::draft(source, at, rule)?],
        Body::Validate { .. } => {
            let has = |test: &dyn Fn(&[String]) -> bool| controllers.as_deref().is_none_or(test);
            let variants = GeneratedVariants {
                any: has(&|all| !all.is_empty()),
                cron_jobs: has(&|all| all.iter().any(|one| one == "cronjobs")),
            };
            vec![of_validate(source, at, rule, (&found, variants), notes)?]
        }
        Body::Mutate(body) if source.options.to == TargetApi::Kyverno => {
            let context = context(source, &found);
            match body.targets.is_some() {
                true => mutating::targets::drafts(source, at, rule, body, &context, notes)?,
                false => vec![mutating::draft(source, at, rule, body, &found, &context)?],
            }
        }
        Body::Generate(_) if source.options.to == TargetApi::Kyverno => {
            vec![generating::draft(source, at, rule, &context(source, &found))?]
        }
        Body::VerifyImages(body) if source.options.to == TargetApi::Kyverno => {
            images::drafts(source, at, rule, body, &context(source, &found), notes)?
        }
        other => return Err(not_yet(rule, other)),
    };
    let mut out = Vec::new();
    let each = drafts.iter().flat_map(|draft| parts.iter().map(move |part| (draft, part.clone())));
    for (draft, NamespacePart { action, namespaces, conditions, suffix }) in each {
        let mut own = Draft { action, suffix, controllers: controllers.clone(), ..draft.clone() };
        if let Some(action) = own.images.as_ref().and_then(|images| images.action) {
            own.action = action;
        }
        own.matching = found.clone();
        own.matching.namespaces.extend(namespaces);
        let mut all = requests(source.document);
        if let Some(namespace) = of_namespace(source) {
            add_condition(&mut all, namespace);
        }
        let of_match = std::mem::take(&mut own.matching.conditions);
        for condition in of_match.into_iter().chain(conditions).chain(own.conditions) {
            add_condition(&mut all, condition);
        }
        own.conditions = all;
        out.push(own);
    }
    Ok(out)
}

/// That a request is in the namespace of the policy: Kyverno's command line applies a policy in CEL
/// of one namespace to objects of all namespaces, a cluster to those of its own. Where the file
/// names no namespace, the cluster's is the one that counts, and no text can name it.
fn of_namespace(source: &Source<'_>) -> Option<NamedExpression> {
    let namespace = source.policy.namespace.as_deref().filter(|namespace| !namespace.is_empty())?;
    if source.options.to != TargetApi::Kyverno {
        return None;
    }
    let expression = format!("request.?namespace.orValue('') == {}", literal(namespace));
    Some(NamedExpression::converted("namespace", expression))
}

/// `webhookConfiguration.matchConditions`, which are in CEL already.
fn requests(document: &Value) -> Vec<NamedExpression> {
    NamedExpression::written(document.at(&["spec", "webhookConfiguration", "matchConditions"]))
}

fn not_yet(rule: &Rule, body: &Body) -> Refusal {
    let (construct, section) = match body {
        Body::Mutate(_) => ("a rule that changes objects", "mutate"),
        Body::Generate(_) => ("a rule that generates objects", "generate"),
        Body::VerifyImages(_) | Body::ValidateImages(_) => ("a rule that verifies images", "verifyImages"),
        Body::Manifests(_) => ("signatures of manifests", "validate.manifests"),
        _ => ("a rule", ""),
    };
    Refusal::new(construct, rule.origin.key(section), "keep the ClusterPolicy for it")
}

/// A validate rule with patterns or conditions.
fn of_validate(
    source: &Source<'_>,
    at: usize,
    rule: &Rule,
    (found, variants): (&Matching, GeneratedVariants),
    notes: &mut Vec<Note>,
) -> Result<Draft> {
    let is_generating =
        found.is_pods && source.way == AutogenStrategy::Autogen && source.options.to == TargetApi::Kyverno;
    let generated = if is_generating { variants } else { GeneratedVariants::default() };
    let own = Context { generated, ..context(source, found) };
    let converted = convert(rule, &own)?;
    Ok(validating::draft(source, at, rule, converted, notes))
}

/// What the conversion of expressions may know.
fn context(source: &Source<'_>, found: &Matching) -> Context {
    Context {
        target: match source.options.to {
            TargetApi::Kyverno => Target::Kyverno,
            TargetApi::Kubernetes => Target::Kubernetes,
        },
        kinds: found.kinds.clone(),
        operations: found.operations(),
        types: source.options.types.clone(),
        namespace: source.policy.namespace.clone(),
        trigger: None,
        generated: GeneratedVariants::default(),
    }
}

/// The documents of drafts in audit mode; none, if one of them has no such mode.
pub(crate) fn shadows(source: &Source<'_>, mut drafts: Vec<Draft>) -> Vec<Document> {
    let validates = |draft: &Draft| draft.mutations.is_empty() && draft.generated.is_empty();
    if source.options.to != TargetApi::Kyverno || !drafts.iter().all(validates) {
        return Vec::new();
    }
    drafts.iter_mut().for_each(|draft| draft.action = Action::default());
    documents(source, &drafts, &mut Vec::new(), SHADOW_OF)
}

/// The documents of drafts, with an annotation of this name where they do not have the name of the
/// policy; notes for each rule the policies that have it.
pub(crate) fn documents(
    source: &Source<'_>,
    drafts: &[Draft],
    rules: &mut Vec<(String, Vec<String>)>,
    annotation: &'static str,
) -> Vec<Document> {
    let mut out = Vec::new();
    let name = source.original.value.text_at(&["metadata", "name"]);
    let key = source.policy.key();
    let mut names = Names::default();
    for draft in drafts {
        let is_one = drafts.iter().filter(|other| other.suffix == draft.suffix).count() == 1;
        let rule = draft.rules.first().map(|(_, name)| name.as_str()).unwrap_or_default();
        let suffix = draft.suffix.as_deref().map(|suffix| format!("-{suffix}")).unwrap_or_default();
        let own = match is_one {
            true if suffix.is_empty() => name.to_string(),
            true => names.free(&dns(&format!("{name}{suffix}"))),
            false => names.free(&dns(&format!("{name}-{rule}{suffix}"))),
        };
        let namespace = source.policy.namespace.as_deref();
        let origin = match annotation {
            SHADOW_OF => Some((annotation, key.as_str())),
            _ => (drafts.len() > 1 || own != name).then_some((annotation, name)),
        };
        let named = NewMetadata { name: &own, namespace, origin };
        for (_, rule) in &draft.rules {
            match rules.iter_mut().find(|(known, _)| known == rule) {
                Some((_, policies)) => policies.push(own.clone()),
                None => rules.push((rule.clone(), vec![own.clone()])),
            }
        }
        if let Some(images) = &draft.images {
            out.push(images::document(source, draft, images, &named));
            continue;
        }
        out.push(match (source.options.to, draft.mutations.is_empty()) {
            (TargetApi::Kubernetes, _) => admission_policy::document(source, draft, &named),
            (TargetApi::Kyverno, _) if !draft.generated.is_empty() => {
                generating::document(source, draft, &named)
            }
            (TargetApi::Kyverno, true) => validating::document(source, draft, &named),
            (TargetApi::Kyverno, false) => mutating::document(source, draft, &named),
        });
    }
    out
}
