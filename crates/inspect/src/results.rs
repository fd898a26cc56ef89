//! Results with their places: what report formats show of a run.
//!
//! In: the results of one resource. Out: [`Finding`]s with the field that decided in the resource
//! and what decided in the policy. Both are located only where a rule is violated: the policy is
//! evaluated once more while its decisions are recorded.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ephor_document::Document;
use ephor_document::locate::{self, Item, Places};
use ephor_engine::{Request, RuleOutcome, Status};
use ephor_ir::Policy;
use ephor_policies::PolicyOutcome;
use ephor_policies::by_policy::ByPolicy;
use ephor_policies::load::LoadedPolicy;
use ephor_policies::pitfalls;
use ephor_policies::policy_set::Engine;
use ephor_policies::violation::{self, Violation};
use ephor_report::fix::FileFix;
use ephor_report::policy_report::report_message;
use ephor_report::run::{Finding, Order, Place, PolicyInfo, ResourceName, Severity};
use ephor_value::Value;
use ephor_value::place::{Path, PathPart, dotted, parse};

use crate::annotations::file_fix;
use crate::lint::refused_part;
use crate::places::{nearest, place, policy_place};
use crate::remedy::{WrittenObject, remedy};

/// The request on which a policy decides about an object, if one can be built.
pub type RequestOf<'r> = &'r (dyn Fn(&Policy, &Value) -> Option<Request> + Sync);

/// The text of a list, and where its items begin.
type ListItems = (Arc<str>, Arc<Vec<Item>>);

/// What the places of results are found with.
pub struct Collector<'r> {
    engine: &'r Engine,
    requests: RequestOf<'r>,
    policies: &'r [LoadedPolicy],
    /// Only violations are wanted, not what passed.
    violations_only: bool,
    /// A change that mends a violation is wanted with it.
    wants_fixes: bool,
    infos: ByPolicy<Arc<PolicyInfo>>,
    /// The positions of the policies of the set.
    loaded: ByPolicy<usize>,
    /// The text of the list that was read last, and where its items begin.
    items: Mutex<Option<ListItems>>,
    /// Places in policies, by policy and path.
    decisions: Mutex<HashMap<(usize, String), Option<Place>>>,
}

/// An error that is located only when it is shown: that evaluates its policy once more.
#[derive(Clone, Debug)]
pub struct Unlocated {
    document: Option<Document>,
    object: Value,
    outcome: PolicyOutcome,
}

impl Unlocated {
    /// The error of a rule on an object, which stands in a document if it was in a file.
    pub fn of(
        document: Option<&Document>,
        object: &Value,
        of: &PolicyOutcome,
        error: &RuleOutcome,
    ) -> Unlocated {
        let outcome = PolicyOutcome::of(&of.policy, vec![error.clone()]);
        Unlocated { document: document.cloned(), object: object.clone(), outcome }
    }
}

impl<'r> Collector<'r> {
    /// What the results of an engine over these policies are located with.
    pub fn new(
        engine: &'r Engine,
        requests: RequestOf<'r>,
        policies: &'r [LoadedPolicy],
        violations_only: bool,
    ) -> Collector<'r> {
        let lowered = || {
            let with_policy = |(i, p): (usize, &'r LoadedPolicy)| Some((i, p.policy.as_ref()?));
            policies.iter().enumerate().filter_map(with_policy)
        };
        Collector {
            engine,
            requests,
            policies,
            violations_only,
            wants_fixes: false,
            infos: lowered().map(|(_, p)| (p, Arc::new(info(p)))).collect(),
            loaded: lowered().map(|(i, p)| (p, i)).collect(),
            items: Mutex::default(),
            decisions: Mutex::default(),
        }
    }

    /// The same, with changes of files that mend violations.
    #[must_use]
    pub fn with_fixes(mut self) -> Collector<'r> {
        self.wants_fixes = true;
        self
    }

    /// The results of a policy on an object, which stands in a document if it was in a file.
    pub fn collect(
        &self,
        document: Option<&Document>,
        object: &Value,
        outcome: &PolicyOutcome,
        status: impl Fn(&RuleOutcome) -> Status,
    ) -> Vec<Finding> {
        let policy = &outcome.policy;
        let is_violated = outcome.rules.iter().any(|r| r.status.is_violation());
        let violations = if is_violated { self.violations(policy, object) } else { Vec::new() };
        let info = self.infos.get(policy).cloned().unwrap_or_else(|| Arc::new(info(policy)));
        let template = document.and_then(|document| template(&document.text));
        // An object of a cluster has no text, and no place.
        let document = document.filter(|document| !document.text.is_empty());
        let shown = outcome.rules.iter().map(|r| (r, status(r)));
        let wanted = shown.filter(|(_, status)| !self.violations_only || is_violation(*status));
        let finding = |(r, status): (&RuleOutcome, Status)| {
            let of_rule = || violations.iter().filter(|v| r.status.is_violation() && v.rule == r.rule);
            let found = of_rule().find(|v| v.message == r.message).or_else(|| of_rule().next());
            let field = found.and_then(|v| v.field.as_ref());
            Finding {
                order: Order::default(),
                policy: info.clone(),
                rule: if policy.report.names_rules { r.rule.to_string() } else { String::new() },
                status,
                message: report_message(r).to_string(),
                resource: Some(ResourceName::of(object)),
                field: field.map(|path| dotted(path)),
                place: document.map(|document| match is_violation(status) {
                    // What the command line does not know is no part of the object.
                    true if field.is_none() && pitfalls::of_missing_data(policy, r).is_some() => {
                        Place { file: document.source.to_string(), ..Place::default() }
                    }
                    true => self.place(document, object, field),
                    false => {
                        Place { file: document.source.to_string(), line: document.line, ..Place::default() }
                    }
                }),
                template: template.clone(),
                decision: is_violation(status).then(|| self.decision(policy, object, r, found)).flatten(),
                fix: match (document, found) {
                    (Some(document), Some(found)) if self.wants_fixes => {
                        self.fix(policy, document, object, found)
                    }
                    _ => None,
                },
                is_known: false,
            }
        };
        wanted.map(finding).collect()
    }

    /// An error with its place.
    pub fn located(&self, error: &Unlocated) -> Vec<Finding> {
        self.collect(error.document.as_ref(), &error.object, &error.outcome, |_| Status::Error)
    }

    /// The policies that the check refused: errors without a resource.
    pub fn refused(&self) -> Vec<Finding> {
        let refused = self.policies.iter().filter_map(|loaded| Some((loaded, loaded.refused.as_ref()?)));
        let finding = |(loaded, why): (&LoadedPolicy, &String)| {
            let text = |path: &[&str]| loaded.document.text_at(path).to_string();
            let namespace = text(&["metadata", "namespace"]);
            let key = if namespace.is_empty() {
                loaded.name.clone()
            } else {
                format!("{namespace}/{}", loaded.name)
            };
            let annotations = loaded.document.at(&["metadata", "annotations"]).and_then(Value::as_map);
            let annotation = |key: &str| annotations.and_then(|a| a.get(key)?.as_str()).unwrap_or_default();
            Finding {
                order: Order::default(),
                policy: Arc::new(described(key, text(&["kind"]), annotation)),
                rule: String::new(),
                status: Status::Error,
                message: format!("the policy is refused: {why}"),
                resource: None,
                field: None,
                place: None,
                template: None,
                fix: None,
                decision: policy_place(loaded, &refused_part(&loaded.document, why).unwrap_or_default()),
                is_known: false,
            }
        };
        refused.map(finding).collect()
    }

    fn violations(&self, policy: &Arc<Policy>, object: &Value) -> Vec<Violation> {
        let at = self.engine.set().policies().iter().position(|p| Arc::ptr_eq(p, policy));
        let request = (self.requests)(policy, object);
        match (at, request) {
            (Some(at), Some(request)) => violation::violations(self.engine, at, &request),
            _ => Vec::new(),
        }
    }

    /// The place of a field, or of the name of the object.
    fn place(&self, document: &Document, object: &Value, field: Option<&Path>) -> Place {
        let of_name = parse("metadata.name");
        let item = document.item.and_then(|at| self.items(&document.text).get(at).copied());
        let locate = |path: &[PathPart], want_key: bool| match (&item, document.item) {
            (Some(item), _) => item.locate(&document.text, path, want_key),
            (None, Some(_)) => None,
            (None, None) => places(&document.text, |known| match want_key {
                true => known.locate_key(path),
                false => known.locate(path),
            }),
        };
        let paths = field.into_iter().chain([&of_name]);
        let found = paths.into_iter().find_map(|path| nearest(object, path, locate));
        let place = place(&document.source, document.line, &document.text, found);
        match document.is_inside && place.line == document.line {
            // The text of the line is not known, nor are its columns.
            true => Place { file: place.file, line: place.line, ..Place::default() },
            false => place,
        }
    }

    /// The change of the file that mends a violation, where the policy says it. Items of lists and
    /// rendered manifests have no text that a user could change.
    fn fix(
        &self,
        policy: &Arc<Policy>,
        document: &Document,
        object: &Value,
        found: &Violation,
    ) -> Option<Box<FileFix>> {
        let loaded = self.policies.get(*self.loaded.get(policy)?)?;
        let is_file = document.item.is_none() && !document.is_inside && template(&document.text).is_none();
        let (decision, field) = (found.decision.as_ref()?, found.field.as_ref()?);
        let written = WrittenObject { text: &document.text, prefix: &[], value: object };
        let fix = is_file.then(|| remedy(written, loaded, decision, field)).flatten()?;
        Some(Box::new(file_fix(&fix, &document.text, document.line.saturating_sub(1))))
    }

    fn items(&self, text: &Arc<str>) -> Arc<Vec<Item>> {
        let mut known = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((of, items)) if Arc::ptr_eq(of, text) => items.clone(),
            _ => known.insert((text.clone(), Arc::new(locate::items(text)))).1.clone(),
        }
    }

    /// The place of what decided in the policy, or of the rule.
    fn decision(
        &self,
        policy: &Arc<Policy>,
        object: &Value,
        result: &RuleOutcome,
        found: Option<&Violation>,
    ) -> Option<Place> {
        let at = *self.loaded.get(policy)?;
        let loaded = self.policies.get(at)?;
        let path = found.and_then(|v| v.decision.clone()).unwrap_or_else(|| {
            let rules = policy.rules_for(object.text_at(&["kind"]));
            let rule = rules.iter().find(|rule| rule.name == result.rule);
            rule.map(|rule| rule.origin.below(&[])).unwrap_or_default()
        });
        let key = (at, dotted(&path));
        let mut known = self.decisions.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(key).or_insert_with(|| policy_place(loaded, &path)).clone()
    }
}

/// Something that the places of a document's parts show. A document is read once for its
/// violations, which a thread locates one after another.
fn places<T>(text: &Arc<str>, find: impl FnOnce(&Places) -> T) -> T {
    thread_local! {
        static LAST: RefCell<Option<(Arc<str>, Places)>> = const { RefCell::new(None) };
    }
    LAST.with_borrow_mut(|last| {
        let known = last.take().filter(|(known, _)| Arc::ptr_eq(known, text));
        let (_, places) = last.insert(known.unwrap_or_else(|| (text.clone(), Places::of(text))));
        find(places)
    })
}

fn is_violation(status: Status) -> bool {
    matches!(status, Status::Fail | Status::Warn | Status::Error)
}

/// The template that Helm names in the comments at the head of a rendered document.
fn template(text: &str) -> Option<String> {
    let head = text.lines().take_while(|line| line.is_empty() || line.starts_with(['#', '-']));
    let source = head.filter_map(|line| line.strip_prefix("# Source: ")).next()?;
    Some(source.trim().to_string()).filter(|source| !source.is_empty())
}

fn info(policy: &Policy) -> PolicyInfo {
    let annotation = |key: &str| policy.annotations.get(key).and_then(Value::as_str).unwrap_or_default();
    described(policy.key(), policy.api.kind.to_string(), annotation)
}

fn described<'a>(name: String, kind: String, annotation: impl Fn(&str) -> &'a str) -> PolicyInfo {
    let text = |key: &str| annotation(&format!("policies.kyverno.io/{key}")).to_string();
    PolicyInfo {
        name,
        kind,
        title: text("title"),
        description: text("description"),
        help: String::new(),
        category: text("category"),
        subject: text("subject"),
        severity: Severity::of(annotation("policies.kyverno.io/severity")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn helm_names_the_template_in_the_first_comments_only() {
        let of = |text: &str| template(text);
        assert_eq!(of("# Source: shop/templates/a.yaml\nkind: A\n"), Some("shop/templates/a.yaml".into()));
        assert_eq!(
            of("---\n# x\n\n# Source: s/templates/b.yaml\nkind: A\n"),
            Some("s/templates/b.yaml".into())
        );
        assert_eq!(of("kind: A\n# Source: s/templates/b.yaml\n"), None);
        assert_eq!(of("# Source: \nkind: A\n"), None);
    }
}
