//! Mutations of objects that exist already (`targets`) → MutatingPolicies with `mutateExisting`.
//!
//! In: a rule as it is written. Out: a draft for each target: the rule's match selects the
//! requests, `targetMatchConstraints` the objects. Targets that depend on the request, or whose
//! change does, are found by an expression, which sees the request's object as `object`; in
//! mutations the target is `object`, and the request's object is `request.object`. Semantics:
//! `docs/semantics/mutate.md`, "Other objects", and `docs/semantics/cel-policies.md`, "Changes".

use ephor_ir::mutate::{Mutation as Body, MutationTarget};
use ephor_ir::{Origin, Rule};
use ephor_lower::matcher::matcher;
use ephor_value::{Map as Fields, Value};

use crate::cel::laid_out;
use crate::constraints::cel::literal;
use crate::constraints::model::Matching;
use crate::constraints::{add_condition, of_stored};
use crate::expressions::context::{Context, Trigger};
use crate::expressions::converted::NamedExpression;
use crate::expressions::holds;
use crate::expressions::refusal::{Refusal, Result};
use crate::kinds::mutating::{Changes, changes};
use crate::kinds::shared::{filled, own_conditions, preconditions};
use crate::model::draft::{Draft, ReturnedObjects, TargetsDraft};
use crate::model::migrated::Note;
use crate::model::source::Source;

/// What holds names in each request.
const NAMES: [&str; 6] = [
    "request.object.metadata.name",
    "request.object.metadata.namespace",
    "request.oldObject.metadata.name",
    "request.oldObject.metadata.namespace",
    "request.namespace",
    "request.name",
];

/// The drafts of a rule that changes other objects than that of the request.
pub(crate) fn drafts(
    source: &Source<'_>,
    at: usize,
    rule: &Rule,
    body: &Body,
    context: &Context,
    notes: &mut Vec<Note>,
) -> Result<Vec<Draft>> {
    let written = source.written(at, rule);
    let converted = preconditions(&written, None, at, context)?;
    let list = written.at(&["mutate", "targets"]).and_then(Value::as_list).unwrap_or_default();
    let mut out = Vec::new();
    for (position, (own, one)) in body.targets.iter().flat_map(|all| all.iter()).zip(list).enumerate() {
        let writer = TargetsWriter { source, rule, own, written: one, request: context };
        let matching = writer.matching()?;
        let trigger = Trigger { kinds: context.kinds.clone(), bindings: own.bindings.to_vec() };
        let kinds = matching.kinds.clone();
        let of_target = Context { kinds: kinds.clone(), trigger: Some(trigger), ..context.clone() };
        let Changes { mutations, pattern, tests } = changes(source, at, rule, body, &kinds, &of_target)?;
        let mut conditions = matching.conditions.clone();
        if let Some(admit) = &own.admit {
            let expression = holds(admit, rule, None, &of_target)?;
            add_condition(&mut conditions, NamedExpression::converted("preconditions", expression));
        }
        let bare = without_preconditions(&written);
        for condition in
            own_conditions(&preconditions(&bare, pattern, at, &of_target)?).into_iter().chain(tests)
        {
            add_condition(&mut conditions, condition);
        }
        let texts = mutations.iter().map(|m| &m.expression).chain(conditions.iter().map(|c| &c.expression));
        let reads_request = texts.into_iter().any(|text| text.contains("request."));
        let expression = match writer.is_variable() || reads_request {
            true => writer.expression(&matching)?,
            false => None,
        };
        let is_selected = expression.is_none();
        conditions.retain(|condition| is_selected || !writer.is_in_expression(&condition.name));
        if is_selected && reads_request {
            writer.note(
                "when the policy itself is created or changed, the new one changes its targets with the target as the object of the request",
                notes,
            );
        }
        out.push(Draft {
            rules: vec![(at, rule.name.to_string())],
            conditions: own_conditions(&converted),
            variables: converted.variables.clone(),
            mutations,
            targets: Some(TargetsDraft { at: position, expression, matching, conditions }),
            ..Draft::default()
        });
    }
    let is_any = rule.when.filters().iter().any(|filter| filter.operations.is_empty());
    if is_any && !context.operations.iter().any(|operation| **operation == *"DELETE") {
        note(
            source,
            &rule.origin.key("match"),
            "deletions: the old rule names no operation and changes its targets then, too; the new policy does not",
            notes,
        );
    }
    let of_rule = written.at(&["mutate", "mutateExistingOnPolicyUpdate"]).and_then(Value::as_bool);
    let of_policy = || source.document.at(&["spec", "mutateExistingOnPolicyUpdate"]).and_then(Value::as_bool);
    if of_rule.or_else(of_policy) != Some(true) {
        note(
            source,
            &rule.origin.key("mutate").key("targets"),
            "the new policy also changes its targets when it is created or changed itself, the old one does not (`mutateExistingOnPolicyUpdate`)",
            notes,
        );
    }
    Ok(out)
}

fn note(source: &Source<'_>, origin: &Origin, text: &str, notes: &mut Vec<Note>) {
    source.note(&origin.path, text, notes);
}

/// Whether variables of a text hold others than names of objects.
fn has_other_texts(text: &str) -> bool {
    let is_name = |part: &str| {
        let variable = part.split_once("}}").map_or(part, |(variable, _)| variable);
        NAMES.contains(&variable.trim())
    };
    text.split("{{").skip(1).any(|part| !is_name(part))
}

/// A rule whose conditions are about the request, without them.
fn without_preconditions(rule: &Value) -> Value {
    let fields = rule.as_map().into_iter().flat_map(|map| map.iter());
    Value::Map(
        fields.filter(|(key, _)| &***key != "preconditions").map(|(k, v)| (k.clone(), v.clone())).collect(),
    )
}

struct TargetsWriter<'w> {
    source: &'w Source<'w>,
    rule: &'w Rule,
    own: &'w MutationTarget,
    written: &'w Value,
    /// What is known of the request.
    request: &'w Context,
}

impl TargetsWriter<'_> {
    fn note(&self, text: &str, notes: &mut Vec<Note>) {
        note(self.source, &self.own.origin, text, notes);
    }

    fn part(&self, key: &str) -> &str {
        self.written.text_at(&[key])
    }

    /// Whether a variable says which objects they are.
    fn is_variable(&self) -> bool {
        ["namespace", "name"].iter().any(|key| self.part(key).contains("{{"))
    }

    /// The objects without what variables say.
    fn matching(&self) -> Result<Matching> {
        let refuse =
            |construct: &str, nearest: &str| Refusal::new(construct, self.own.origin.clone(), nearest);
        let (version, kind) = (self.part("apiVersion"), self.part("kind"));
        let is_variable =
            |key: &str| self.written.get(key).is_some_and(|v| v.any_text(&|t| t.contains("{{")));
        if ["apiVersion", "kind", "selector"].iter().any(|key| is_variable(key)) {
            return Err(refuse("a variable in the kind or selector of a target", "write it"));
        }
        if kind.contains(['*', '?']) || kind.is_empty() {
            return Err(refuse("a target without a kind", "name the kind"));
        }
        let kinds = match version {
            "" | "*" => kind.to_string(),
            version => format!("{version}/{kind}"),
        };
        let mut of = Fields::new();
        of.insert("kinds", Value::list(vec![Value::from(kinds)]));
        for (from, to) in [("name", "names"), ("namespace", "namespaces")] {
            let text = self.part(from);
            if !text.is_empty() && text != "*" && !text.contains("{{") {
                of.insert(to, Value::list(vec![Value::from(text)]));
            }
        }
        if let Some(selector) = self.written.get("selector").filter(|v| !v.is_null()) {
            of.insert("selector", selector.clone());
        }
        let block = Value::map([("resources", Value::Map(of))]);
        let mut found =
            of_stored(&matcher(Some(&block), &self.own.origin), None, &self.source.options.kinds)?;
        for rule in &mut found.rules {
            rule.operations = vec!["*".into()];
        }
        Ok(found)
    }

    /// What `expression` says already.
    fn is_in_expression(&self, condition: &str) -> bool {
        let is_exact = |key: &str| !self.part(key).contains(['*', '?']);
        (condition == "names" && is_exact("name")) || (condition == "namespaces" && is_exact("namespace"))
    }

    /// An expression that returns the objects; none for subresources, which only constraints can
    /// name.
    fn expression(&self, matching: &Matching) -> Result<Option<ReturnedObjects>> {
        let refuse =
            |construct: &str, nearest: &str| Refusal::new(construct, self.own.origin.clone(), nearest);
        let [only] = matching.rules.as_slice() else {
            return Err(refuse(
                "a target that depends on the request and is of several kinds",
                "write a rule for each kind: targets that are found by an expression are of one",
            ));
        };
        let of = &only.resources;
        let (Some(group), Some(version), [plural]) =
            (of.groups.first(), of.versions.last(), of.names.as_slice())
        else {
            return Err(refuse(
                "a target that depends on the request and is of several kinds",
                "write a rule for each kind: targets that are found by an expression are of one",
            ));
        };
        if plural.contains('/') {
            return match self.is_variable() {
                true => Err(refuse(
                    "a subresource of a target that depends on the request",
                    "change the object that has the subresource",
                )),
                false => Ok(None),
            };
        }
        if [group, version].into_iter().any(|part| part == "*") {
            return Err(Refusal::new(
                "a target whose group and version are not known",
                self.own.origin.clone(),
                "name the API version",
            ));
        }
        let api_version = if group.is_empty() { version.clone() } else { format!("{group}/{version}") };
        let is_one = |text: &str| !text.is_empty() && (text.contains("{{") || !text.contains(['*', '?']));
        let mut args = vec![literal(&api_version), literal(plural)];
        let mut by = Vec::new();
        if self.request.namespace.is_none() {
            args.push(match self.part("namespace") {
                text if is_one(text) => self.by("namespace", &mut by)?,
                _ => "''".into(),
            });
        }
        let function = if is_one(self.part("name")) { "get" } else { "list" };
        if function == "get" {
            args.push(self.by("name", &mut by)?);
        }
        let call = laid_out(&format!("resource.{function}({})", args.join(", ")));
        let is_open = by.iter().any(|(key, _)| has_other_texts(self.part(key)));
        Ok(Some(ReturnedObjects { call, by, is_open }))
    }

    /// A part of the target as an expression.
    fn by(&self, key: &'static str, all: &mut Vec<(&'static str, String)>) -> Result<String> {
        let text = self.text(self.part(key))?;
        all.push((key, text.clone()));
        Ok(text)
    }

    /// A text of the target, which is about the request.
    fn text(&self, written: &str) -> Result<String> {
        filled(written, self.rule, self.request)
    }
}
