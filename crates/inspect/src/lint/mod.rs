//! What there is to say about policies before they run.
//!
//! In: texts of files, definitions of custom kinds. Out: findings, each with the id of its check,
//! at line and column of the user's file, and what was counted. Documents of other kinds, and parts
//! of policies (`partial`), are counted alone. The checks of a policy, in order: YAML
//! ([`syntax`](self)), the schema, then everything that reads the document as it is written (kinds,
//! queries, patterns, conditions, expressions), then what the loader and Kyverno's policy check
//! refuse. A comment `# ephor-lint: ignore=ID` at the line, or above it, drops findings of that id;
//! `ignore-file=ID` drops those of the file.
//!
//! No false finding is worth a true one more: custom kinds, wildcards, fields of any name and what
//! is put together at run time count as known.
//!
//! - `broken`: where the mistake in a text is that is not YAML, and what mends it.
//! - `checks`: what Kyverno's policy check and its loader refuse, each finding at its place.
//! - `conditions`: conditions of rules: operators that do not exist, and conditions whose result
//!   does not depend on the request.
//! - `exceptions`: exceptions against the policies of the same run.
//! - `expressions`: CEL expressions: those that do not compile, and those that do not fit the
//!   kinds that the policy is about.
//! - `finding`: A finding: what it is, how bad, and where it stands.
//! - `fix`: changes of the user's text that mend findings.
//! - `fixing`: applies fixes to files until there is nothing left to apply.
//! - `guards`: fields that expressions read although they may be absent, and values that are
//!   never equal.
//! - `ignored`: comments that drop findings.
//! - `jmespath`: usual mistakes in JMESPath: names where literals are meant, keys that need quotes,
//!   constant arguments that functions cannot read.
//! - `kinds`: the kinds that rules are about: entries of `kinds` and resources of match
//!   constraints, with their types.
//! - `mistakes`: usual mistakes in expressions: words and signs of other languages, and what CEL
//!   has instead.
//! - `partial`: documents that are parts of policies: kustomize merges them into a whole policy,
//!   which is what can be checked.
//! - `patterns`: fields of patterns, overlays and generated objects that the kinds of the rule do
//!   not have.
//! - `place`: where a character of a value stands in the user's file.
//! - `queries`: variables and JMESPath queries of rules: syntax, functions, names, and fields
//!   that the kinds of the rule do not have.
//! - `rules`: rules of ClusterPolicy and Policy, and what cleanup policies share with them.
//! - `schema`: what the schema of a policy refuses, each part at its place and with what was
//!   probably meant.
//! - `selections`: entries of matches that select nothing: groups, versions, resources, operations
//!   and names that no request has.
//! - `shape`: what is known of a value before there is an object: the types that it may have.
//! - `silent`: what Kyverno 1.19.1 does with a policy without a word, as far as the policy shows
//!   it.
//! - `subject`: A policy while it is checked: its document, its file, and what was found.
//! - `syntax`: documents that are not YAML.
//! - `values`: values of patterns and overlays against the types of their fields.

mod broken;
mod checks;
mod conditions;
mod exceptions;
mod expressions;
mod finding;
mod fix;
mod fixing;
mod guards;
mod ignored;
mod jmespath;
mod kinds;
mod mistakes;
mod partial;
mod patterns;
mod place;
mod queries;
mod rules;
mod schema;
mod selections;
mod shape;
mod silent;
mod subject;
mod syntax;
#[cfg(test)]
mod tests;
mod values;

pub use checks::refused_part;
pub use exceptions::Rules;
pub use expressions::meant as meant_in_cel;
pub use finding::{CHECKS, Check, Finding, Severity};
pub use fix::{Fix, TextEdit, apply, line_and_column};
pub use fixing::{DoneFix, FixedFile, fix_all};
pub use ignored::drop_ignored;
pub use subject::each_text;

use std::collections::HashSet;
use std::sync::Arc;

use ephor_api::schema::{is_served, kinds as policy_kinds};
use ephor_document::{self, Document, Duplicates, LoadError, split};
use ephor_ir::json;
use ephor_kubernetes::{Kinds, Types, groups};
use ephor_policies::load::{Reader, argument_for, is_meant_as_policy};
use ephor_sources::files::SourceText;
use ephor_sources::kustomize::Patches;
use ephor_value::place::{Path, PathPart, parse};
use ephor_value::release::Release;
use ephor_value::suggest::did_you_mean;
use ephor_value::{Value, parallel};

use expressions::TypeCache;
use kinds::Known;
use place::Lookup;
use subject::{Remedy, Spot, Subject};
use syntax::Meant;

/// What a run found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linted {
    /// The findings, file by file and in the order of lines.
    pub findings: Vec<Finding>,
    /// How many policies and objects that belong to policies were checked.
    pub policies: usize,
    /// How many documents are parts of policies, for kustomize to merge.
    pub partial: usize,
    /// How many documents are of other kinds.
    pub others: usize,
    /// How many files hold nothing that was checked.
    pub other_files: usize,
    /// Files with templates, which are not YAML before they are filled in; their documents count as
    /// others.
    pub templates: Vec<Arc<str>>,
}

impl Linted {
    /// How many findings are this bad.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|f| f.severity == severity).count()
    }
}

/// What is known about files: which are parts of policies, and which the user names.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    /// Files that kustomize merges into others.
    pub patches: Patches,
    /// Files that the command line names, which are meant to be YAML: a template among them is a
    /// finding.
    pub named: HashSet<String>,
}

/// Checks the policies in files.
pub fn lint(sources: &[SourceText], definitions: &[Value], roles: &Roles) -> Linted {
    lint_on(Release::default(), sources, definitions, roles)
}

/// The same for clusters of a release.
pub fn lint_on(kubernetes: Release, sources: &[SourceText], definitions: &[Value], roles: &Roles) -> Linted {
    let linter = Linter::new(kubernetes, definitions);
    let rules = Rules::of(sources);
    let mut all = Linted::default();
    for one in parallel::map(sources, |source| linter.check(source, roles, &rules)) {
        let is_found = !one.findings.is_empty();
        all.findings.extend(one.findings);
        all.policies += one.policies;
        all.partial += one.partial;
        all.others += one.others;
        all.other_files += usize::from(one.policies + one.partial == 0 && !is_found);
        all.templates.extend(one.templates);
    }
    all
}

/// What checks know of a cluster, for callers that check files one by one: the tables of kinds and
/// types are built once.
pub struct Linter {
    known: Known,
    cache: TypeCache,
}

impl Linter {
    /// A linter for clusters of a release with custom kinds.
    pub fn new(kubernetes: Release, definitions: &[Value]) -> Linter {
        let known = Known {
            kinds: Kinds::of_release_with(kubernetes, definitions),
            types: Types::of_release_with(kubernetes, definitions),
            definitions: definitions.to_vec(),
        };
        Linter { known, cache: TypeCache::default() }
    }

    /// Checks the policies of one file, exceptions against the rules of policies that are known.
    pub fn check(&self, source: &SourceText, roles: &Roles, rules: &Rules) -> Linted {
        self.check_until(source, roles, rules, &|| false)
    }

    /// The same for callers that lose interest: where the check is over before a document, what was
    /// found until then is returned.
    pub fn check_until(
        &self,
        source: &SourceText,
        roles: &Roles,
        rules: &Rules,
        is_over: &dyn Fn() -> bool,
    ) -> Linted {
        of_source(&Context { known: &self.known, cache: &self.cache, roles, rules, is_over }, source)
    }
}

struct Context<'a> {
    known: &'a Known,
    cache: &'a TypeCache,
    roles: &'a Roles,
    rules: &'a Rules,
    /// Whether the caller no longer wants the findings.
    is_over: &'a dyn Fn() -> bool,
}

fn of_source(cx: &Context<'_>, source: &SourceText) -> Linted {
    let mut out = Linted::default();
    let file: Arc<str> = source.name.as_str().into();
    if json::is_written(&source.text) {
        out.policies = argument_for(std::slice::from_ref(source), Reader::Command).policies.len();
        return out;
    }
    match ephor_document::parse_stream(&source.name, &source.text, Duplicates::Error) {
        Err(error) => of_broken(cx, &file, (&source.text, 0), 1, &error, &mut out),
        Ok(documents) => {
            let mut lines = LineBytes::new(&source.text);
            for document in documents {
                if (cx.is_over)() {
                    return out;
                }
                match document {
                    Ok(mut document) => {
                        // Policies of our own groups are Kyverno's to all checks.
                        document.value = groups::read(&document.value).unwrap_or(document.value);
                        of_document(cx, &file, (&document, lines.byte(document.line)), &mut out);
                    }
                    Err(error) => {
                        let parts = split::split(&source.text).unwrap_or_default();
                        let text = parts.iter().find(|p| p.line == error.line).map_or("", |p| p.text);
                        let start = lines.byte(error.line);
                        of_broken(cx, &file, (text, start), error.line, &error, &mut out);
                    }
                }
            }
        }
    }
    out.findings.sort_by(|a, b| (a.line, a.column, b.severity).cmp(&(b.line, b.column, a.severity)));
    ignored::drop_ignored(&source.text, &mut out.findings);
    out
}

/// The bytes at which lines begin, of lines that come in order: a file may have thousands of
/// documents, so each search continues where the last one ended.
struct LineBytes<'t> {
    text: &'t str,
    line: usize,
    byte: usize,
}

impl<'t> LineBytes<'t> {
    fn new(text: &'t str) -> LineBytes<'t> {
        LineBytes { text, line: 1, byte: text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len() }
    }

    fn byte(&mut self, line: usize) -> usize {
        if line < self.line {
            *self = LineBytes::new(self.text);
        }
        while self.line < line {
            let rest = self.text.get(self.byte..).unwrap_or_default();
            self.byte += rest.find('\n').map_or(rest.len(), |at| at + 1);
            self.line += 1;
        }
        self.byte
    }
}

fn of_broken(
    cx: &Context<'_>,
    file: &Arc<str>,
    (text, start): (&str, usize),
    line: usize,
    error: &LoadError,
    out: &mut Linted,
) {
    let meant = syntax::meant(text);
    if !cx.roles.named.contains(&**file) {
        // JSON files are read for their policies; those of other programs may have comments.
        let is_foreign = meant != Meant::Policy && file.ends_with(".json");
        if is_foreign || meant == Meant::Template {
            out.others += 1;
            if !is_foreign && out.templates.is_empty() {
                out.templates.push(file.clone());
            }
            return;
        }
    }
    let mut subject = Subject {
        file: file.clone(),
        line,
        text,
        start,
        prefix: Path::new(),
        policy: String::new(),
        found: Vec::new(),
        places: HashSet::new(),
        renamed: Vec::new(),
        lookup: Lookup::default(),
    };
    syntax::check(&mut subject, error, meant);
    out.policies += usize::from(meant == Meant::Policy);
    out.findings.extend(subject.found);
}

fn of_document(cx: &Context<'_>, file: &Arc<str>, (document, start): (&Document, usize), out: &mut Linted) {
    let mut objects = Vec::new();
    unpack(&document.value, Path::new(), &mut objects);
    for (prefix, value) in objects {
        if !is_meant_as_policy(value) {
            out.others += usize::from(!value.is_null());
            continue;
        }
        if cx.roles.patches.has(file) || partial::is_part(value) {
            out.partial += 1;
            continue;
        }
        let mut subject = Subject {
            file: file.clone(),
            line: document.line,
            text: &document.text,
            start,
            prefix,
            policy: value.text_at(&["metadata", "name"]).to_string(),
            found: Vec::new(),
            places: HashSet::new(),
            renamed: Vec::new(),
            lookup: Lookup::default(),
        };
        of_policy(cx, &mut subject, value);
        out.policies += 1;
        out.findings.extend(subject.found);
    }
}

/// The objects of a document: those of a list one by one.
fn unpack<'v>(value: &'v Value, path: Path, out: &mut Vec<(Path, &'v Value)>) {
    let items = match value {
        Value::List(items) => Some((&**items, path.clone())),
        _ if value.text_at(&["kind"]).ends_with("List") => {
            let items = value.get("items").and_then(Value::as_list);
            items.map(|items| (items, subject::with(&path, "items")))
        }
        _ => None,
    };
    let Some((items, above)) = items else { return out.push((path, value)) };
    for (i, item) in items.iter().enumerate() {
        unpack(item, above.iter().cloned().chain([PathPart::Index(i)]).collect(), out);
    }
}

const NATIVE: &str = "admissionregistration.k8s.io/";

fn of_policy(cx: &Context<'_>, subject: &mut Subject<'_>, written: &Value) {
    let (api_version, kind) = (written.text_at(&["apiVersion"]), written.text_at(&["kind"]));
    let version = api_version.strip_prefix(NATIVE);
    if version.is_some_and(|v| matches!(v, "v1" | "v1beta1" | "v1alpha1")) && NATIVE_KINDS.contains(&kind) {
        return of_native(cx, subject, written);
    }
    if !is_served(api_version, kind) {
        return unknown_kind(subject, api_version, kind);
    }
    let checked = schema::check(subject, written);
    let document = &checked.document;
    let loaded = match checked.fits {
        true => load(subject, &checked.reduced, checked.repaired),
        false => ephor_policies::load::Policies::default(),
    };
    match kind {
        _ if api_version.starts_with("policies.kyverno.io/") => {
            let compiles = checked.is_whole() && loaded.policies.iter().all(|p| p.uncompiled.is_none());
            expressions::check_kyverno(subject, cx.known, cx.cache, document, compiles);
            silent::check_variants(subject, document);
        }
        "ClusterPolicy" | "Policy" => {
            rules::check(subject, cx.known, document);
            expressions::check_rules(subject, cx.known, cx.cache, document);
            silent::check_json_patches(subject, document);
        }
        "ClusterCleanupPolicy" | "CleanupPolicy" => rules::check_cleanup(subject, cx.known, document),
        "PolicyException" => {
            selections::check_filters(subject, document.get("spec").unwrap_or(&Value::Null), &parse("spec"));
            exceptions::check(subject, cx.rules, document);
        }
        _ => {}
    }
    if checked.is_whole() {
        checks::check_problems(subject, &loaded, document);
    }
    let is_of_rules = matches!(kind, "ClusterPolicy" | "Policy");
    if is_of_rules && loaded.policies.is_empty() && !checked.refused.is_empty() {
        checks::check(subject, &ephor_api::schema::with_defaults(&checked.reduced), &checked);
    }
    for policy in &loaded.policies {
        if checked.is_whole() {
            expressions::check_loaded(subject, document, policy);
        }
        if is_of_rules {
            checks::check(subject, &policy.document, &checked);
        }
        checks::check_matching(subject, policy, &checked);
    }
}

const NATIVE_KINDS: [&str; 4] = [
    "ValidatingAdmissionPolicy",
    "MutatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "MutatingAdmissionPolicyBinding",
];

fn of_native(cx: &Context<'_>, subject: &mut Subject<'_>, written: &Value) {
    let loaded = load(subject, written, false);
    if loaded.policies.is_empty() || written.text_at(&["kind"]).ends_with("Binding") {
        return checks::check_problems(subject, &loaded, written);
    }
    expressions::check_native(subject, cx.known, cx.cache, written);
    for policy in &loaded.policies {
        checks::check_matching(subject, policy, &schema::Checked::whole(written));
    }
}

/// The policy as the loader reads it.
fn load(subject: &Subject<'_>, document: &Value, repaired: bool) -> ephor_policies::load::Policies {
    let text = match repaired || !subject.prefix.is_empty() {
        true => schema::text(document),
        false => subject.text.to_string(),
    };
    argument_for(&[SourceText { name: subject.file.to_string(), text }], Reader::Server(Release::default()))
}

fn unknown_kind(subject: &mut Subject<'_>, api_version: &str, kind: &str) {
    let all: Vec<(&str, &str, Vec<&str>)> = policy_kinds()
        .chain(
            NATIVE_KINDS
                .iter()
                .map(|kind| ("admissionregistration.k8s.io", *kind, vec!["v1", "v1beta1", "v1alpha1"])),
        )
        .collect();
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    let of_group: Vec<&str> = all.iter().filter(|(g, ..)| *g == group).map(|(_, kind, _)| *kind).collect();
    let versions = all.iter().find(|(g, k, _)| *g == group && *k == kind).map(|(_, _, versions)| versions);
    let at = |field: &str| parse(field);
    let (field, message, remedy) = match versions {
        _ if kind.is_empty() => {
            let message = format!("a document of `{api_version}` has no `kind`");
            ("apiVersion", message, Remedy::default())
        }
        Some(versions) => {
            let right = versions.first().map(|version| format!("{group}/{version}"));
            let remedy = subject.instead(&at("apiVersion"), Spot::Value, right.as_deref());
            ("apiVersion", format!("`{kind}` has no version `{api_version}`"), remedy)
        }
        None => {
            let elsewhere = all.iter().find(|(_, k, _)| *k == kind);
            let versioned = |(group, _, versions): &(&str, &str, Vec<&str>)| match versions.first() {
                Some(version) => format!("`{kind}` is of `{group}/{version}`"),
                None => format!("`{kind}` is of `{group}`"),
            };
            let mut remedy = subject.meant(&at("kind"), Spot::Value, did_you_mean(kind, &of_group));
            remedy.help = remedy.help.or_else(|| elsewhere.map(versioned));
            let message = match api_version {
                "" => format!("a document of kind `{kind}` has no `apiVersion`"),
                _ => format!("{api_version} has no kind `{kind}`"),
            };
            ("kind", message, remedy)
        }
    };
    subject.report("unknown-policy-kind", Severity::Error, &parse(field), Spot::Value, message, remedy);
}
