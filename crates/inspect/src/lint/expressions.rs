//! CEL expressions: those that do not compile, and those that do not fit the kinds that the policy
//! is about.
//!
//! For policies of Kubernetes the warnings are those that an API server writes into
//! `status.typeChecking`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ephor_api::admission::{check as validate, defaulted};
use ephor_cel::env::Env;
use ephor_cel::library::{Admission, KyvernoKind, admission, kyverno};
use ephor_functions::CelLevel;
use ephor_functions::registry::{Language, all};
use ephor_ir::check::Check;
use ephor_ir::rule::Body;
use ephor_lower::admission::{Judge, release_changes, warnings};
use ephor_lower::cel_policy::issues::{
    ExpressionIssue, KindTypes, issues, issues_of_mutations, issues_of_rule,
};
use ephor_lower::cel_policy::kind_of;
use ephor_policies::load::LoadedPolicy;
use ephor_value::place::{Path, follow, parse};
use ephor_value::release::Release;
use ephor_value::suggest::did_you_mean;
use ephor_value::{Str, Value};

use super::finding::{Finding, Severity};
use super::guards::{self, Expressions};
use super::kinds::Known;
use super::mistakes::{self, Mistake};
use super::rules::mentions;
use super::selections::check_constraints;
use super::subject::{Remedy, Spot, Subject, each_text, item, with};

/// The types of kinds by group, version and kind.
type Built = Mutex<HashMap<[Str; 3], Option<Arc<KindTypes>>>>;

/// The types of kinds, which are built once for all policies; those of built-in kinds once for all
/// runs.
#[derive(Default)]
pub(super) struct TypeCache(Built);

fn built_in() -> &'static Built {
    static BUILT_IN: OnceLock<Built> = OnceLock::new();
    BUILT_IN.get_or_init(Built::default)
}

impl TypeCache {
    fn of(&self, kinds: &[[Str; 3]], definitions: &[Value]) -> Vec<Arc<KindTypes>> {
        let cache = if definitions.is_empty() { built_in() } else { &self.0 };
        let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
        let found: Option<Vec<Arc<KindTypes>>> = kinds
            .iter()
            .map(|kind| {
                let build = || KindTypes::of(kind, definitions).map(Arc::new);
                cache.entry(kind.clone()).or_insert_with(build).clone()
            })
            .collect();
        found.unwrap_or_default()
    }
}

/// Checks the expressions of a policy of `policies.kyverno.io`; in one that `compiles`, they can
/// only not fit their kinds.
pub(super) fn check_kyverno(
    subject: &mut Subject<'_>,
    known: &Known,
    cache: &TypeCache,
    policy: &Value,
    compiles: bool,
) {
    let (Some((kind, namespaced)), Some(spec)) = (kind_of(policy.text_at(&["kind"])), policy.get("spec"))
    else {
        return;
    };
    if matches!(spec.text_at(&["evaluation", "mode"]), "" | "Kubernetes") {
        let constraints = spec.get("matchConstraints");
        let kinds = constraints.and_then(|c| known.of_constraints(c)).unwrap_or_default();
        let types = cache.of(&kinds, &known.definitions);
        for issue in issues(spec, kind, namespaced, &types).into_iter().filter(|i| i.is_type || !compiles) {
            of_expression(subject, policy, issue);
        }
        let has_targets = spec.get("targetMatchConstraints").is_some_and(|v| !v.is_null());
        let read = if has_targets { &[][..] } else { &kinds[..] };
        guards::check(subject, known, read, &expressions_of(spec, kind, namespaced));
        for name in ["matchConstraints", "targetMatchConstraints"] {
            if let Some(constraints) = spec.get(name) {
                check_constraints(subject, known, constraints, &with(&parse("spec"), name));
            }
        }
    }
    unused(subject, spec, &parse("spec"));
    constant(subject, spec);
}

/// The expressions of a policy of `policies.kyverno.io` in the order in which they are evaluated.
fn expressions_of(spec: &Value, kind: KyvernoKind, namespaced: bool) -> Expressions<'_> {
    let (conditions, consequence) = match kind {
        KyvernoKind::Deleting => ("conditions", ""),
        KyvernoKind::Generating => ("matchConditions", ""),
        _ => ("matchConditions", consequence(spec.text_at(&["failurePolicy"]))),
    };
    Expressions {
        holder: spec,
        path: "spec",
        conditions,
        checks: &[("validations", "expression", "messageExpression")],
        others: &[
            ("mutations", "jsonPatch.expression"),
            ("mutations", "applyConfiguration.expression"),
            ("generate", "expression"),
            ("auditAnnotations", "valueExpression"),
        ],
        env: kyverno(kind, namespaced),
        consequence,
    }
}

/// What an error of an expression does under a failure policy.
fn consequence(policy: &str) -> &'static str {
    match policy {
        "" | "Fail" => ", and `failurePolicy: Fail` refuses the request",
        "Ignore" => ", and `failurePolicy: Ignore` lets the request pass",
        _ => "",
    }
}

/// What expressions of the API server's own policies may use.
fn native_env(holder: &Value) -> Env {
    let params = holder.get("paramKind").is_some_and(|v| !v.is_null());
    let mutation = holder.get("mutations").is_some();
    let choice =
        Admission { params, authorizer: true, mutation, level: CelLevel::V26, ..Admission::default() };
    admission(Admission { backticks: true, ..choice })
}

/// Checks the types of the `cel` parts of rules.
pub(super) fn check_rules(subject: &mut Subject<'_>, known: &Known, cache: &TypeCache, policy: &Value) {
    let rules = policy.at(&["spec", "rules"]).and_then(Value::as_list).unwrap_or_default();
    for (i, rule) in rules.iter().enumerate() {
        let Some(cel) = rule.at(&["validate", "cel"]) else { continue };
        let path = format!("spec.rules[{i}].validate.cel");
        let kinds = known.kinds_of_match(rule.get("match")).unwrap_or_default();
        for issue in issues_of_rule(cel, &path, &cache.of(&kinds, &known.definitions)) {
            of_expression(subject, policy, issue);
        }
        let of = Expressions {
            holder: cel,
            path: &path,
            conditions: "",
            checks: &[("expressions", "expression", "messageExpression")],
            others: &[("auditAnnotations", "valueExpression")],
            env: native_env(cel),
            consequence: "",
        };
        guards::check(subject, known, &kinds, &of);
        unused(subject, cel, &parse(&path));
    }
}

fn of_expression(subject: &mut Subject<'_>, policy: &Value, mut issue: ExpressionIssue) {
    let path = parse(&issue.field);
    let source = follow(policy, &path).0.as_str().unwrap_or_default();
    if let Some(name) = undeclared(&issue.text) {
        issue.at = name_at(source, issue.at, name);
        issue.meant = meant(name);
    }
    let offset = source.get(..issue.at).unwrap_or(source).chars().count();
    let spot = Spot::Inside(offset, if issue.is_type { issue.length } else { word(source, offset) });
    let remedy = match mistake(source, issue.at, &issue.text) {
        Some(mistake) => remedy_of(subject, &path, source, mistake),
        None => subject.meant(&path, spot, issue.meant.as_deref()),
    };
    let (id, severity, message) = match issue.is_type {
        false => ("cel-expression", Severity::Error, format!("{}: {}", issue.field, issue.text)),
        true => (
            "cel-type",
            Severity::Warning,
            format!("{}: {} in the kinds of the policy", issue.field, issue.text),
        ),
    };
    subject.report(id, severity, &path, spot, message, remedy);
}

/// The usual mistake that an issue at a byte is about.
fn mistake(source: &str, at: usize, text: &str) -> Option<Mistake> {
    if let Some(name) = undeclared(text) {
        return mistakes::of_name(source, at, name);
    }
    if text.contains("does not support field selection") {
        return mistakes::of_field(source, at);
    }
    text.starts_with("Syntax error").then(|| mistakes::of_syntax(source)).flatten()
}

fn remedy_of(subject: &Subject<'_>, path: &Path, source: &str, mistake: Mistake) -> Remedy {
    let title = match mistake.edits.as_slice() {
        [(_, new)] => format!("write `{}`", new.trim()),
        _ => mistake.help.clone(),
    };
    let fix = subject.fix_inside(path, source, &mistake.edits, title, true);
    Remedy { help: Some(mistake.help), fixes: fix.into_iter().collect() }
}

/// The name of a variable or function that there is none of.
fn undeclared(text: &str) -> Option<&str> {
    text.strip_prefix("undeclared reference to '")?.split_once('\'').map(|(name, _)| name)
}

/// The byte of a name that stands at a byte or, for methods, directly before it.
fn name_at(source: &str, at: usize, name: &str) -> usize {
    let is_here = source.get(at..).is_some_and(|rest| rest.starts_with(name));
    let before =
        || source.get(..at).filter(|head| head.trim_end().ends_with(name)).and_then(|head| head.rfind(name));
    if is_here { at } else { before().unwrap_or(at) }
}

/// The variable, macro or function of CEL that was probably meant.
pub fn meant(name: &str) -> Option<String> {
    const NAMES: [&str; 18] = [
        "object",
        "oldObject",
        "request",
        "params",
        "namespaceObject",
        "authorizer",
        "variables",
        "images",
        "resource",
        "http",
        "globalContext",
        "all",
        "exists",
        "exists_one",
        "filter",
        "map",
        "has",
        "size",
    ];
    let functions = all().filter(|f| f.language == Language::Cel).map(|f| f.name);
    let names: Vec<&str> =
        NAMES.into_iter().chain(functions.filter(|name| name.starts_with(char::is_alphabetic))).collect();
    did_you_mean(name, &names).map(str::to_string)
}

/// How many characters the word at a character of a text has; at least one.
fn word(text: &str, offset: usize) -> usize {
    text.chars().skip(offset).take_while(|c| c.is_alphanumeric() || *c == '_').count().max(1)
}

/// What was found when the policy was loaded, unless the expression was reported before.
pub(super) fn check_loaded(subject: &mut Subject<'_>, policy: &Value, loaded: &LoadedPolicy) {
    for fault in &loaded.faults {
        if fault.detail.starts_with("output is expected") {
            // The loader says so, too.
            let own = format!("{}: the result must be", fault.field);
            let line = subject.line_of(&parse(&fault.field));
            subject.found.retain(|finding| {
                let is_choice = finding.message.ends_with(": the result must be a boolean");
                !(finding.message.starts_with(&own)
                    || is_choice && line.is_some_and(|line| finding.line >= line))
            });
        }
        from_text(subject, policy, &fault.field, &fault.detail, "cel-expression", Severity::Error);
    }
    for (field, text) in faults_of_rules(loaded) {
        from_text(subject, policy, &field, &text, "cel-expression", Severity::Error);
    }
}

/// Checks a policy of Kubernetes as an API server does; mutations also by the fields of their
/// kinds, which no API server does.
pub(super) fn check_native(subject: &mut Subject<'_>, known: &Known, cache: &TypeCache, policy: &Value) {
    let stored = defaulted(policy);
    if let Some(constraints) = policy.at(&["spec", "matchConstraints"]) {
        check_constraints(subject, known, constraints, &parse("spec.matchConstraints"));
    }
    let release = known.types.release();
    if let Err(refusal) = validate(&stored, &mut Judge::new(&stored, release)) {
        if refusal.causes.is_empty() {
            subject.add("admission-validation", Severity::Error, None, refusal.message, None);
        }
        for cause in &refusal.causes {
            let is_expression = cause.message.contains("ERROR: <input>:");
            let id = if is_expression { "cel-expression" } else { "admission-validation" };
            from_text(subject, policy, &cause.field, &cause.message, id, Severity::Error);
        }
        refused_selections(subject);
        return;
    }
    for warning in warnings(&stored, &known.definitions, release) {
        from_text(subject, policy, &warning.field, warning.text.trim_end(), "cel-type", Severity::Warning);
    }
    check_later_releases(subject, policy, (&stored, known));
    let spec = policy.get("spec").unwrap_or(&Value::Null);
    let kinds = spec.get("matchConstraints").and_then(|c| known.of_constraints(c)).unwrap_or_default();
    let of = Expressions {
        holder: spec,
        path: "spec",
        conditions: "matchConditions",
        checks: &[("validations", "expression", "messageExpression")],
        others: &[
            ("mutations", "jsonPatch.expression"),
            ("mutations", "applyConfiguration.expression"),
            ("auditAnnotations", "valueExpression"),
        ],
        env: native_env(spec),
        consequence: consequence(spec.text_at(&["failurePolicy"])),
    };
    guards::check(subject, known, &kinds, &of);
    compared_once(subject);
    if spec.get("mutations").is_some() {
        for issue in issues_of_mutations(spec, &cache.of(&kinds, &known.definitions)) {
            of_expression(subject, policy, issue);
        }
    }
    unused(subject, spec, &parse("spec"));
}

/// Comparisons of which the API server warns, and which are reported with a fix.
fn compared_once(subject: &mut Subject<'_>) {
    let is_compared =
        |f: &Finding| f.message.contains("for '_==_' applied") || f.message.contains("for '_!=_' applied");
    let own: Vec<(&str, usize, usize)> = subject
        .found
        .iter()
        .filter(|f| matches!(f.id, "never-equal" | "may-be-absent"))
        .map(|f| (f.id, f.line, f.column))
        .collect();
    let is_known = |f: &Finding| {
        own.iter().any(|(id, line, column)| {
            *line == f.line && (*column == f.column || *id == "may-be-absent" && f.message.contains("null"))
        })
    };
    let keep: Vec<bool> =
        subject.found.iter().map(|f| !(f.id == "cel-type" && is_compared(f) && is_known(f))).collect();
    let mut keep = keep.into_iter();
    subject.found.retain(|_| keep.next().unwrap_or(true));
}

/// What an API server refuses and selects nothing is reported once, with its fix.
fn refused_selections(subject: &mut Subject<'_>) {
    let place = |finding: &Finding| (finding.line, finding.column, finding.end);
    let (own, mut found): (Vec<Finding>, Vec<Finding>) =
        std::mem::take(&mut subject.found).into_iter().partition(|finding| finding.id == "selects-nothing");
    for one in own {
        let refused = found.iter_mut().find(|f| f.id == "admission-validation" && place(f) == place(&one));
        match refused {
            Some(refused) => (refused.help, refused.fixes) = (one.help, one.fixes),
            None => found.push(one),
        }
    }
    subject.found = found;
}

/// Notes what means something else on a later release, for the first one.
fn check_later_releases(subject: &mut Subject<'_>, policy: &Value, (stored, known): (&Value, &Known)) {
    let own = known.types.release();
    let mut seen: Vec<(String, usize)> = Vec::new();
    for later in Release::ALL.into_iter().filter(|release| *release > own) {
        for change in release_changes(stored, &known.definitions, [own, later]) {
            let at = (change.field.clone(), change.at);
            if !seen.contains(&at) {
                let text = format!("`{}` {}", change.part, change.text);
                from_text(subject, policy, &change.field, &text, "other-release", Severity::Note);
                seen.push(at);
            }
        }
    }
}

/// A finding about an expression whose text may begin with the place in the expression.
pub(super) fn from_text(
    subject: &mut Subject<'_>,
    policy: &Value,
    field: &str,
    text: &str,
    id: &'static str,
    severity: Severity,
) {
    let path = parse(field);
    let (place, text) = inner_place(text);
    let message = format!("{field}: {text}");
    let mut remedy = Remedy::default();
    if subject.found.iter().any(|f| f.message == message) {
        return;
    }
    let value = follow(policy, &path);
    let spot = match (place, value.0.as_str().filter(|_| value.1 == path.len())) {
        (Some((line, column)), Some(source)) => {
            let before: usize = source.split('\n').take(line - 1).map(|l| l.chars().count() + 1).sum();
            let mut offset = before + column.saturating_sub(1);
            let mut byte = source.char_indices().nth(offset).map_or(source.len(), |(byte, _)| byte);
            let mut close = None;
            if let Some(name) = undeclared(&text) {
                byte = name_at(source, byte, name);
                offset = source.get(..byte).map_or(offset, |s| s.chars().count());
                close = meant(name);
            }
            let spot = Spot::Inside(offset, word(source, offset));
            remedy = match mistake(source, byte, &text) {
                Some(mistake) => remedy_of(subject, &path, source, mistake),
                None => subject.meant(&path, spot, close.as_deref()),
            };
            spot
        }
        (_, Some(_)) => Spot::Value,
        _ => Spot::Key,
    };
    subject.report(id, severity, &path, spot, message, remedy);
}

/// The first place `<input>:LINE:COLUMN: ` of a text on an expression, and the text without it and
/// without the excerpt of the expression.
fn inner_place(text: &str) -> (Option<(usize, usize)>, String) {
    let Some((before, rest)) = text.split_once("ERROR: <input>:") else { return (None, text.to_string()) };
    let mut parts = rest.splitn(3, ':');
    let mut number = || parts.next().and_then(|n| n.trim().parse::<usize>().ok());
    let (Some(line @ 1..), Some(column)) = (number(), number()) else { return (None, text.to_string()) };
    let detail = parts.next().unwrap_or_default().lines().next().unwrap_or_default().trim();
    let before = before.trim().trim_end_matches("compilation failed:").trim();
    let text = if before.is_empty() { detail.to_string() } else { format!("{before} {detail}") };
    (Some((line, column)), text)
}

/// Expressions of `validate.cel` rules that do not compile: their path and what is wrong.
fn faults_of_rules(loaded: &LoadedPolicy) -> Vec<(String, String)> {
    let Some(lowered) = &loaded.policy else { return Vec::new() };
    let mut found = Vec::new();
    for (i, rule) in lowered.rules.iter().enumerate().filter(|(_, r)| r.generated.is_none()) {
        let (Some(e), Body::Validate { check: Check::Assert(validations), .. }) =
            (&rule.expressions, &rule.body)
        else {
            continue;
        };
        let cel = format!("spec.rules[{i}].validate.cel");
        for (j, validation) in validations.iter().enumerate() {
            if let Err(text) = &validation.check.program {
                found.push((format!("{cel}.expressions[{j}].expression"), text.to_string()));
            }
            if let Some(Err(text)) = &validation.message_program {
                found.push((format!("{cel}.expressions[{j}].messageExpression"), text.to_string()));
            }
        }
        for (j, variable) in e.variables.iter().enumerate() {
            if let Err(text) = &variable.program {
                found.push((format!("{cel}.variables[{j}].expression"), text.to_string()));
            }
        }
    }
    found
}

/// Variables that no expression reads.
fn unused(subject: &mut Subject<'_>, holder: &Value, path: &Path) {
    let variables = holder.get("variables").and_then(Value::as_list).unwrap_or_default();
    if variables.is_empty() {
        return;
    }
    let mut texts: Vec<(&str, Path)> = Vec::new();
    each_text(holder, &mut Path::new(), &mut |text, at| texts.push((text, at.clone())));
    for (i, variable) in variables.iter().enumerate() {
        let name = variable.text_at(&["name"]);
        let own = item(&Path::new(), "variables", i);
        let is_read = texts
            .iter()
            .any(|(text, at)| !at.starts_with(&own) && text.contains("variables") && mentions(text, name));
        if !is_read && !name.is_empty() {
            let at = with(&item(path, "variables", i), "name");
            let message = format!("no expression reads the variable `{name}`");
            subject.report("unused-variable", Severity::Warning, &at, Spot::Value, message, None);
        }
    }
}

/// Conditions that are a constant; a validation that is always met is meant so.
fn constant(subject: &mut Subject<'_>, spec: &Value) {
    for (text, what) in [
        ("true", "the condition is always met"),
        ("false", "the policy never runs: the condition is never met"),
    ] {
        let entries = spec.get("matchConditions").and_then(Value::as_list).unwrap_or_default();
        for (i, entry) in entries.iter().enumerate() {
            if entry.text_at(&["expression"]).trim() == text {
                let at = parse(&format!("spec.matchConditions[{i}].expression"));
                subject.report("constant-condition", Severity::Warning, &at, Spot::Value, what, None);
            }
        }
    }
}
