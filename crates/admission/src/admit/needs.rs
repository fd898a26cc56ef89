//! What policies need to know of the cluster besides the request.
//!
//! In: lowered policies and what the server [`Offers`]. Out: for each need that it cannot meet a
//! line for the operator ([`unmet`]), and for one request whether the labels of its namespace are
//! needed. What is needed and not known is an error of the rule, judged by the failure policy,
//! never "does not match" (`docs/reference/serve.md`, "External data").

use std::borrow::Cow;

use ephor_analysis::reach::{self, Reach};
use ephor_external::Offers;
use ephor_ir::matcher::{Filter, KindPattern};
use ephor_ir::{Matcher, Policy, Rule};
use ephor_matching::Target;
use ephor_matching::filter::kind_accepts;

/// Whether it is met, what it is, which policies have it, and what to give.
type Need = (bool, &'static str, fn(&Policy, &Reach) -> bool, &'static str);

const CLUSTER: &str = "--data or --cluster";

/// How many policies a line names.
const NAMED: usize = 5;

/// A line for each thing that policies need and the server does not offer.
pub fn unmet<'p>(policies: impl Iterator<Item = &'p Policy>, offers: Offers) -> Vec<String> {
    let policies: Vec<(&Policy, Reach)> = policies.map(|p| (p, reach::of_policy(p))).collect();
    let needs: [Need; 7] = [
        (
            offers.namespaces,
            "rules match by the labels of namespaces",
            |p, _| by_namespace_labels(p),
            CLUSTER,
        ),
        (offers.namespaces, "expressions of rules read namespaces", |p, _| reads_namespaces(p), CLUSTER),
        (offers.roles, "rules match by roles", |p, _| by_roles(p), CLUSTER),
        (offers.params, "rules have parameters", |_, r| r.params, CLUSTER),
        (offers.config_maps, "rules read ConfigMaps", |_, r| r.config_maps, CLUSTER),
        (offers.objects, "rules call the Kubernetes API", |_, r| r.cluster, CLUSTER),
        (offers.registry, "rules query image registries", |_, r| r.registry, "--registry"),
    ];
    let line = |(offered, what, needed, give): Need| {
        if offered {
            return None;
        }
        let found: Vec<String> =
            policies.iter().filter(|(p, reach)| needed(p, reach)).map(|(p, _)| p.key()).collect();
        let more =
            if found.len() > NAMED { format!(" and {} more", found.len() - NAMED) } else { String::new() };
        let named: Vec<&str> = found.iter().take(NAMED).map(|name| &**name).collect();
        (!found.is_empty()).then(|| {
            format!("{what}, which the server does not know: give {give} ({}{more})", named.join(", "))
        })
    };
    needs.into_iter().filter_map(line).collect()
}

/// All rules of a policy, generated ones included.
fn rules(policy: &Policy) -> impl Iterator<Item = &Rule> {
    policy.all_rules().map(AsRef::as_ref)
}

fn any_filter(rule: &Rule, test: fn(&Filter) -> bool) -> bool {
    rule.when.filters().iter().chain(rule.unless.filters()).any(test)
}

/// Whether a rule of the policy has a `namespaceSelector` in `match` or `exclude`.
pub(super) fn selects_namespaces(policy: &Policy) -> bool {
    rules(policy).any(|rule| any_filter(rule, |f| f.namespace_selector.is_some()))
}

fn by_namespace_labels(policy: &Policy) -> bool {
    let constrained = |rule: &Rule| match &rule.when {
        Matcher::Constraints(c) => c.namespace_selector.as_ref().is_some_and(|s| !s.is_empty()),
        _ => false,
    };
    let overridden = |rule: &Rule| rule.action.overrides.iter().any(|o| o.selector.is_some());
    selects_namespaces(policy)
        || policy.overrides.iter().any(|o| o.selector.is_some())
        || rules(policy).any(|rule| constrained(rule) || overridden(rule))
}

fn reads_namespaces(policy: &Policy) -> bool {
    rules(policy).any(|rule| rule.expressions.as_ref().is_some_and(|e| e.reads_namespace))
}

fn by_roles(policy: &Policy) -> bool {
    rules(policy).any(|rule| any_filter(rule, |f| !f.roles.is_empty() || !f.cluster_roles.is_empty()))
}

/// Whether a rule is for the kind of the target, whatever else it requires. Selectors of namespaces
/// never select namespaces themselves.
pub(super) fn is_for_kind(rule: &Rule, target: &Target) -> bool {
    let is_namespace = target.group.is_empty() && &*target.kind == "Namespace";
    !is_namespace
        && rule
            .when
            .filters()
            .iter()
            .any(|f| f.kinds.is_empty() || f.kinds.iter().any(|k| kind_accepts(k, target)))
}

/// What requests on the ephemeral containers of a Pod are sent to.
const EPHEMERAL: &str = "ephemeralcontainers";

/// Whether Kyverno looks a policy up for the resource and subresource of the target. Once found,
/// its rules match more: those on Pods the ephemeral containers of Pods whatever subresource they
/// name, those on `Kind/*` the kind itself.
pub(super) fn is_found_for(policy: &Policy, target: &Target) -> bool {
    let found: fn(&KindPattern) -> bool = match &*target.subresource {
        "" => is_for_resources,
        EPHEMERAL => |k| k.subresource.matches("") || k.subresource.matches(EPHEMERAL),
        _ => return true,
    };
    let fits = |k: &KindPattern| k.kind.matches(&target.kind) && found(k);
    let reaches = |f: &Filter| f.kinds.is_empty() || f.kinds.iter().any(fits);
    let is_for = |when: &Matcher| match when {
        // Constraints name subresources themselves.
        Matcher::Constraints(_) => true,
        filters => filters.filters().iter().any(reaches),
    };
    policy.rules_for(&target.kind).iter().any(|rule| is_for(&rule.when))
}

/// Whether a kind selector names resources, and not subresources alone: `Pod` and `*/*` do, `Pod/*`
/// does not.
fn is_for_resources(k: &KindPattern) -> bool {
    let names_none = k.subresource.pattern().is_empty();
    let any_kind = k.kind.matches("*") && k.kind.matches("");
    names_none || (any_kind && k.subresource.matches(""))
}

/// Identifies, with the path, which policies and rules are evaluated at a moment, and how; a part
/// of the cache key of results.
pub(super) fn moment(target: &Target, when: &'static str) -> Cow<'static, str> {
    let differences = [
        (&*target.subresource == EPHEMERAL, ", ephemeral containers"),
        (target.unknown.namespace, ", namespace unknown"),
        (target.unknown.roles, ", roles unknown"),
    ];
    let more = differences.into_iter().filter(|(on, _)| *on);
    more.fold(Cow::Borrowed(when), |name, (_, text)| name + text)
}

/// Why the labels of the target's namespace are not known, in Kyverno's words.
pub(super) fn no_namespace(target: &Target) -> String {
    format!("namespace \"{}\" not found", target.namespace)
}
