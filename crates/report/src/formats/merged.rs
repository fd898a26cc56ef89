//! Violations as people read them: those that say the same are shown once, with every policy that
//! says so.
//!
//! In: the results of a run. Out: [`Merged`] violations, in the order of their first results. A
//! control often has more than one form – a ClusterPolicy, and the CEL policy that replaces it –
//! and forms of one control say the same about the same place. Results are the same when resource,
//! status and statement are, and the field that decided as far as each of them names it; the
//! statement is the message without the words that Kyverno adds to it. Formats for programs have
//! each result of its own.

use std::collections::HashMap;
use std::iter::once;

use crate::formats::message::message;
use crate::run::{Finding, ResourceName, Run, Severity};
use ephor_engine::Status;

/// One violation, and the results that say so.
pub(super) struct Merged<'r> {
    /// The first result.
    pub first: &'r Finding,
    /// Where it stands among those that were merged.
    pub at: usize,
    /// The one that names the field most exactly, whose place is that of all.
    pub nearest: &'r Finding,
    /// The others, each of another rule.
    pub others: Vec<&'r Finding>,
}

/// What is equal in results that say the same.
#[derive(PartialEq, Eq, Hash)]
struct MergeKey<'r> {
    resource: &'r ResourceName,
    template: Option<&'r str>,
    file: &'r str,
    status: &'static str,
    is_known: bool,
    statement: &'r str,
}

impl<'r> Merged<'r> {
    /// The results.
    pub fn results(&self) -> impl Iterator<Item = &'r Finding> + use<'r, '_> {
        once(self.first).chain(self.others.iter().copied())
    }

    /// Whether a result with the same key is about the same place. A rule that says the same again
    /// says it about another field or object.
    fn fits(&self, finding: &Finding) -> bool {
        let (own, field) = (field_of(self.nearest), field_of(finding));
        (is_within(own, field) || is_within(field, own))
            && !self.results().any(|other| is_same_rule(other, finding))
    }

    fn add(&mut self, finding: &'r Finding) {
        if field_of(finding).len() > field_of(self.nearest).len() {
            self.nearest = finding;
        }
        self.others.push(finding);
    }

    /// The severity of the gravest of the policies.
    pub fn severity(&self) -> Option<Severity> {
        self.results().filter_map(|finding| finding.policy.severity).max()
    }

    /// What of each result is different, in the order of the results.
    pub fn distinct<T: PartialEq>(&self, of: impl Fn(&'r Finding) -> T) -> Vec<T> {
        let mut all = Vec::new();
        for value in self.results().map(of) {
            if !all.contains(&value) {
                all.push(value);
            }
        }
        all
    }
}

/// Results, each violation once.
pub(super) fn merged<'r>(results: impl IntoIterator<Item = &'r Finding>) -> Vec<Merged<'r>> {
    let mut all: Vec<Merged<'r>> = Vec::new();
    let mut known: HashMap<MergeKey<'r>, Vec<usize>> = HashMap::new();
    for (position, finding) in results.into_iter().enumerate() {
        let key = key(finding);
        let same = key.map(|key| known.entry(key).or_default());
        let fits = |at: &usize| all.get(*at).is_some_and(|group| group.fits(finding));
        let at = same.as_ref().and_then(|same| same.iter().copied().find(fits));
        match at.and_then(|at| all.get_mut(at)) {
            Some(group) => group.add(finding),
            None => {
                if let Some(same) = same {
                    same.push(all.len());
                }
                all.push(Merged { first: finding, at: position, nearest: finding, others: Vec::new() });
            }
        }
    }
    all
}

/// What a run was about: `2 resources, 1 policy`.
pub(super) fn extent(run: &Run) -> String {
    let resources = number(run.resources, "resource", "resources");
    format!("{resources}, {}", number(run.policies, "policy", "policies"))
}

/// How many violations there are, where their results are more: `1 violation in 2 results`.
pub(super) fn in_results(violations: usize, results: usize) -> Option<String> {
    (results != violations)
        .then(|| format!("{} in {results} results", number(violations, "violation", "violations")))
}

fn number(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Nothing where other results cannot be about the same: a policy that is refused, and data that is
/// in no file.
fn key(finding: &Finding) -> Option<MergeKey<'_>> {
    Some(MergeKey {
        resource: finding.resource.as_ref()?,
        template: finding.template.as_deref(),
        file: finding.place.as_ref()?.file.as_str(),
        status: finding.status.name(),
        is_known: finding.is_known,
        statement: statement(finding).trim_end_matches('.'),
    })
}

/// The path of the field that decided; empty for the whole object.
fn field_of(finding: &Finding) -> &str {
    finding.field.as_deref().unwrap_or_default()
}

/// Whether a path is that of a part, or of the same.
fn is_within(part: &str, whole: &str) -> bool {
    let rest = part.strip_prefix(whole);
    rest.is_some_and(|rest| whole.is_empty() || rest.is_empty() || rest.starts_with(['.', '[']))
}

fn is_same_rule(a: &Finding, b: &Finding) -> bool {
    a.rule == b.rule && a.policy.kind == b.policy.kind && a.policy.name == b.policy.name
}

/// What the policy says: the message without the words that Kyverno adds to it, where the place is
/// shown instead.
pub(super) fn statement(finding: &Finding) -> &str {
    let whole = message(finding).trim();
    let is_failure = matches!(finding.status, Status::Fail | Status::Warn);
    if finding.rule.is_empty() || finding.place.is_none() || !is_failure {
        return whole;
    }
    let mut own = whole;
    // A loop adds its words to those of what it repeats.
    while let Some(rest) = own.strip_prefix("validation failure: ") {
        own = rest;
    }
    if let Some(rest) = own.strip_prefix("validation error: ") {
        let end = [" failed at path ", "["]
            .iter()
            .filter_map(|after| rest.find(&format!("rule {}{after}", finding.rule)));
        own = match end.min() {
            Some(end) => rest.get(..end).unwrap_or(rest),
            None => own,
        };
    }
    match own.trim() {
        "" => whole,
        own => own,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use std::sync::Arc;

    use super::*;
    use crate::run::{Order, Place, PolicyInfo};

    fn finding(kind: &str, rule: &str, message: &str) -> Finding {
        Finding {
            order: Order::default(),
            policy: Arc::new(PolicyInfo { name: "pin".into(), kind: kind.into(), ..PolicyInfo::default() }),
            rule: rule.into(),
            status: Status::Fail,
            message: message.into(),
            resource: Some(ResourceName {
                kind: "Pod".into(),
                name: "cart".into(),
                ..ResourceName::default()
            }),
            field: Some("spec.image".into()),
            place: Some(Place {
                file: "pod.yaml".into(),
                line: 7,
                column: 12,
                length: 3,
                text: String::new(),
            }),
            template: None,
            decision: None,
            fix: None,
            is_known: false,
        }
    }

    #[test]
    fn the_statement_is_the_message_without_the_words_of_kyverno() {
        let of = |rule: &str, message: &str| statement(&finding("ClusterPolicy", rule, message)).to_owned();
        let pattern = "validation error: Pin the tag. rule tag failed at path /spec/containers/0/image/";
        assert_eq!(of("tag", pattern), "Pin the tag.");
        let any = "validation error: Be small. rule tag[0] failed at path /spec/a/ rule tag[1] failed at path /spec/b/";
        assert_eq!(of("tag", any), "Be small.");
        assert_eq!(of("tag", &format!("validation failure: validation failure: {pattern}")), "Pin the tag.");
        assert_eq!(of("tag", "validation failure: Pin; a does not"), "Pin; a does not");
        // What another rule, or the policy itself, writes in this form stays.
        assert_eq!(of("other", pattern), pattern);
        assert_eq!(of("", pattern), pattern);
        // A rule without a message has no other words.
        let bare = "validation error: rule tag failed at path /spec/";
        assert_eq!(of("tag", bare), bare);
        assert_eq!(of("tag", ""), "validation failed");
    }

    #[test]
    fn without_a_place_the_path_of_the_message_stays() {
        let message = "validation error: Pin. rule tag failed at path /spec/image/";
        let payload = Finding { place: None, ..finding("ClusterPolicy", "tag", message) };
        assert_eq!(statement(&payload), message);
    }

    #[test]
    fn policies_that_say_the_same_about_a_place_are_one_violation() {
        let classic =
            finding("ClusterPolicy", "tag", "validation error: Pin. rule tag failed at path /spec/image/");
        let cel = finding("ValidatingPolicy", "", "Pin");
        let others = [
            Finding { message: "Pin it".into(), ..cel.clone() },
            Finding { status: Status::Warn, ..cel.clone() },
            Finding { is_known: true, ..cel.clone() },
            Finding {
                place: Some(Place { file: "a.yaml".into(), ..cel.place.clone().unwrap() }),
                ..cel.clone()
            },
            Finding { field: Some("spec.images".into()), ..cel.clone() },
            Finding { resource: Some(ResourceName::default()), ..cel.clone() },
            Finding { template: Some("cart.yaml".into()), ..cel.clone() },
        ];
        let all: Vec<Finding> = [classic, cel].into_iter().chain(others).collect();
        let groups = merged(&all);
        let sizes: Vec<usize> = groups.iter().map(|group| group.results().count()).collect();
        assert_eq!(sizes, [2, 1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(groups[0].distinct(|f| f.policy.kind.as_str()), ["ClusterPolicy", "ValidatingPolicy"]);
        assert_eq!(groups[0].distinct(|f| f.policy.name.as_str()), ["pin"]);
    }

    #[test]
    fn the_place_of_a_violation_is_the_most_exact_of_its_results() {
        let of = |kind: &str, field: Option<&str>| Finding {
            field: field.map(String::from),
            ..finding(kind, "", "Pin")
        };
        let whole = [of("A", Some("spec.c[1]")), of("B", Some("spec.c[1].image")), of("C", None)];
        let groups = merged(&whole);
        assert_eq!((groups.len(), groups[0].nearest.field.as_deref()), (1, Some("spec.c[1].image")));
        // Other fields are other violations, also of the same policy.
        let two = [of("A", Some("spec.c[1]")), of("B", Some("spec.c[10]")), of("A", Some("spec.c[1].image"))];
        assert_eq!(merged(&two).len(), 3);
    }

    #[test]
    fn results_without_places_may_be_about_different_objects() {
        let of = |kind: &str| Finding { place: None, ..finding(kind, "", "Pin") };
        assert_eq!(merged(&["A", "B"].map(of)).len(), 2);
    }

    #[test]
    fn refused_policies_are_violations_of_their_own() {
        let of = |kind: &str| Finding { resource: None, ..finding(kind, "", "refused") };
        assert_eq!(merged(&["A", "B"].map(of)).len(), 2);
    }
}
