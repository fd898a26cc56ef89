//! Policy sources → policies, ready to be evaluated.
//!
//! In: texts of policy files. Out: lowered policies and exceptions in order, and the reasons why
//! documents were left out: they do not parse, break their schema, fail the policy
//! check, or are no policies. Which of these leave out the whole file follows Kyverno
//! (`docs/semantics/policies.md`, "Loading").
//!
//! - `checks`: the languages and kinds that the policy check of a reader knows
//! - `foreign`: documents of a policy file that are no policies
//! - `list`: the items of a `v1 List` as Kyverno's command line reads them
//! - `loaded`: what loading gives: policies with what is known of them, and what was left out
//! - `lowered`: files with the IR of policies, as `ephor explain --output json` prints it
//! - [`manifests`]: static manifests of an API server
//! - `served`: how a server reads a document, and what says something about policies as a whole:
//!   nothing that may be a policy is left out silently

use std::borrow::Cow;
use std::sync::Arc;

use ephor_api::admission::{check, defaulted};
use ephor_api::{lint, schema};
use ephor_document::{self, Document, Duplicates};
use ephor_ir::json;
use ephor_kubernetes::groups;
use ephor_lower::admission::{Judge, Place, offline};
use ephor_sources::files::SourceText;
use ephor_value::place::{Path, PathPart};
use ephor_value::release::Release;
use ephor_value::{Str, Value, parallel};

mod checks;
mod foreign;
mod list;
mod loaded;
mod lowered;
pub mod manifests;
mod served;

pub use checks::CHECKS;
pub use foreign::NO_DEFINITIONS;
use foreign::foreign;
use loaded::{Item, PlacedReader};
pub use loaded::{LoadedPolicy, Policies, Problem, Purpose, Reader};
pub use served::{is_about_policies, is_meant_as_policy, objects};

/// Rules of a policy that no request can ever match: the line in the file, and why.
pub fn never_matching(loaded: &LoadedPolicy) -> Vec<(usize, String)> {
    let described = never_matching_rules(loaded).into_iter().map(|(i, name, why)| {
        let path = [
            PathPart::Key("spec".into()),
            PathPart::Key("rules".into()),
            PathPart::Index(i),
            PathPart::Key("match".into()),
        ];
        let line = ephor_document::locate::locate_key(&loaded.text, &loaded.path_in_text(&path))
            .map_or(loaded.line, |p| loaded.line + p.line.saturating_sub(1));
        (line, format!("rule `{name}` of `{}` can never match: {why}", loaded.name))
    });
    described.collect()
}

/// Rules of a policy that no request can ever match: their numbers, their names, and why.
pub fn never_matching_rules(loaded: &LoadedPolicy) -> Vec<(usize, Str, String)> {
    let Some(policy) = &loaded.policy else { return Vec::new() };
    let rules = policy.rules.iter().enumerate();
    rules.filter_map(|(i, rule)| Some((i, rule.name.clone(), why_never(&rule.when)?))).collect()
}

fn why_never(when: &ephor_ir::Matcher) -> Option<String> {
    if matches!(when, ephor_ir::Matcher::Constraints(_)) {
        return None;
    }
    let reasons: Vec<Option<String>> = when
        .filters()
        .iter()
        .map(|f| {
            if !f.has_resource && !f.has_user {
                return Some("its filter is empty".to_string());
            }
            let invalid = [&f.selector, &f.namespace_selector].into_iter().flatten().any(|s| !s.valid);
            if invalid {
                return Some("its label selector is not well-formed".to_string());
            }
            let first = f.kinds.first()?;
            let lower = |k: &ephor_ir::matcher::KindPattern| {
                !k.kind.is_wild() && k.kind.pattern().chars().next().is_none_or(char::is_lowercase)
            };
            f.kinds.iter().all(lower).then(|| {
                format!("kinds are written with a capital letter, not as `{}`", first.kind.pattern())
            })
        })
        .collect();
    let any = matches!(when, ephor_ir::Matcher::Any(_));
    if reasons.is_empty() {
        return Some("it has no filter".into());
    }
    if any && reasons.iter().any(Option::is_none) {
        return None;
    }
    reasons.into_iter().flatten().next()
}

/// Loads the texts of one argument; a fatal problem in one of them empties it whole.
pub fn argument(sources: &[SourceText]) -> Policies {
    argument_for(sources, Reader::Command)
}

/// Loads the texts of one argument for a reader; Kubernetes' own policies as it evaluates them
/// unless another place is named.
pub fn argument_for(sources: &[SourceText], reader: Reader) -> Policies {
    argument_as(sources, reader, None)
}

/// The same where Kubernetes' own policies are read as an API server of a release reads and
/// evaluates them.
pub fn argument_as(sources: &[SourceText], reader: Reader, kubernetes: Option<Release>) -> Policies {
    let place = match reader {
        Reader::Server(release) => Place::Server(release),
        _ => kubernetes.map_or(Place::Kyverno, Place::Server),
    };
    let reading = PlacedReader { reader, place };
    let loaded: Vec<Vec<Item>> = parallel::map(sources, |s| source(&s.name, &s.text, reading));
    let mut out = Policies::default();
    let items: Vec<Item> = loaded.into_iter().flatten().collect();
    let fatal = items.iter().any(|i| matches!(i, Item::Left(p) if p.fatal));
    for item in items {
        match item {
            Item::Left(p) => out.problems.push(p),
            _ if fatal => {}
            Item::Policy(p, deprecation) => {
                out.deprecations.extend(Some(deprecation).filter(|d| !d.is_empty()));
                out.policies.push(*p);
            }
            Item::Exception(e, deprecation) => {
                out.deprecations.extend(Some(deprecation).filter(|d| !d.is_empty()));
                out.exceptions.push(*e);
            }
            Item::CelException(e) => out.cel_exceptions.push(*e),
            Item::Binding(b) => out.bindings.push(*b),
            Item::Cleanup(c, deprecation) => {
                out.deprecations.extend(Some(deprecation).filter(|d| !d.is_empty()));
                out.cleanups.push(*c);
            }
            Item::Lowered(all) => out.extend(*all),
        }
    }
    out
}

fn source(name: &str, text: &str, reading: PlacedReader) -> Vec<Item> {
    let name: Arc<str> = name.into();
    if json::is_written(text) {
        return vec![lowered::item(name, text, reading.reader)];
    }
    // Of what is no YAML, as templates of other objects, nothing is known but its words.
    let is_foreign = |text: &str| reading.reader == Reader::Scan && !served::may_be_about_policies(text);
    match ephor_document::parse_stream(&name, text, Duplicates::Error) {
        Err(e) => vec![Item::Left(Problem {
            source: name,
            line: e.line,
            column: None,
            text: e.to_string(),
            fatal: !is_foreign(text),
            foreign: is_foreign(text),
            fail_closed: true,
            policy: None,
        })],
        Ok(documents) => documents
            .into_iter()
            .flat_map(|d| match d {
                Ok(d) => named(d, reading),
                Err(e) => vec![Item::Left(Problem {
                    source: e.source.clone(),
                    line: e.line + inner_line(&e).map_or(0, |line| line - 1),
                    column: None,
                    text: format!(
                        "failed to parse document (failed to parse yaml: error converting YAML to JSON: {e})"
                    ),
                    fatal: false,
                    foreign: is_foreign(&text_at(text, e.line)),
                    fail_closed: true,
                    policy: None,
                })],
            })
            .collect(),
    }
}

/// The text of the document that begins on a line; all, where none does.
fn text_at(whole: &str, line: usize) -> Cow<'_, str> {
    let parts = ephor_document::split::split(whole).unwrap_or_default();
    parts.iter().find(|part| part.line == line).map_or(whole, |part| part.text).into()
}

/// The items of a document; one of our own groups is read as Kyverno's, and is not deprecated.
fn named(mut d: Document, reading: PlacedReader) -> Vec<Item> {
    let Some(read) = groups::read(&d.value) else { return one(&d, reading) };
    d.value = read;
    let current = |item| match item {
        Item::Policy(policy, _) => Item::Policy(policy, String::new()),
        Item::Exception(exception, _) => Item::Exception(exception, String::new()),
        Item::Cleanup(cleanup, _) => Item::Cleanup(cleanup, String::new()),
        other => other,
    };
    one(&d, reading).into_iter().map(current).collect()
}

fn one(d: &Document, reading: PlacedReader) -> Vec<Item> {
    if d.value.is_null() {
        return Vec::new();
    }
    if !matches!(reading.reader, Reader::Command | Reader::AllExceptions) {
        return served::items(d, reading);
    }
    if d.value.text_at(&["apiVersion"]) == "v1" && d.value.text_at(&["kind"]) == "List" {
        return list::items(d, reading);
    }
    vec![item(d, &d.value, true, reading)]
}

/// The line of a document at which the decoder gave up, from 1, as far as it names one.
fn inner_line(error: &ephor_document::LoadError) -> Option<usize> {
    match &error.problem {
        ephor_document::Problem::Yaml(ephor_document::yaml::YamlError::Syntax(syntax)) => {
            syntax.line.map(|line| line.get() as usize)
        }
        _ => None,
    }
}

fn left(d: &Document, path: &[PathPart], text: String, fatal: bool) -> Item {
    left_at(d, ephor_document::locate::locate(&d.text, path).filter(|_| !path.is_empty()), text, fatal)
}

fn left_at(d: &Document, place: Option<ephor_document::locate::Position>, text: String, fatal: bool) -> Item {
    let line = d.line + place.as_ref().map_or(0, |p| p.line.saturating_sub(1));
    Item::Left(Problem {
        source: d.source.clone(),
        line,
        column: place.map(|p| p.col),
        text,
        fatal,
        foreign: false,
        fail_closed: true,
        policy: None,
    })
}

/// A document that cannot be read as a policy; unless its group or kind says that it was meant to
/// be one, it is foreign.
fn skipped(d: &Document, text: String) -> Item {
    let foreign = |p: Problem| Problem { foreign: !is_meant_as_policy(&d.value), ..p };
    match left(d, &[], text, false) {
        Item::Left(p) => Item::Left(foreign(p)),
        item => item,
    }
}

fn item(d: &Document, value: &Value, with_schema: bool, reading: PlacedReader) -> Item {
    let (api_version, kind) = match (type_field(value, "apiVersion"), type_field(value, "kind")) {
        (Ok(api_version), Ok(kind)) => (api_version, kind),
        (Err(e), _) | (_, Err(e)) => return skipped(d, format!("failed to parse document ({e})")),
    };
    let (api_version, kind) = (&*api_version, &*kind);
    if api_version.is_empty() && kind.is_empty() {
        return skipped(d, "failed to parse document (GVK cannot be empty)".into());
    }
    if let Some(item) = admission(d, value, reading) {
        return item;
    }
    if !schema::is_served(api_version, kind) {
        return match with_schema {
            true => foreign(d, api_version, kind),
            // Of items without schema only those count that are policies; no other one leaves out
            // the file.
            false => skipped(d, format!("policy type not supported {api_version}, Kind={kind}")),
        };
    }
    let doc = match schema::check(value) {
        Ok(doc) if with_schema => doc,
        Ok(_) => value.clone(),
        Err(e) if !with_schema && !e.is_fatal() => value.clone(),
        Err(e) => {
            let path = e.problems().first().map(|p| p.path.clone()).unwrap_or_default();
            // A field that should not be there is wrong itself, whatever its value.
            let place = match &e {
                schema::SchemaError::UnknownFields(_) => ephor_document::locate::locate_key(&d.text, &path),
                _ if path.is_empty() => None,
                _ => ephor_document::locate::locate(&d.text, &path),
            };
            return left_at(d, place, e.to_string(), e.is_fatal());
        }
    };
    let deprecation = match schema::deprecation(api_version, kind) {
        Some(text) => format!("Warning: {}: {text}", d.source),
        None => String::new(),
    };
    if api_version.starts_with("policies.kyverno.io/") {
        return review(d, &doc, with_schema, reading.reader).unwrap_or_else(|| foreign(d, api_version, kind));
    }
    match kind {
        "ClusterPolicy" | "Policy" => {
            let refused = lint::lint(&doc, reading.reader.checks()).error.map(|e| e.text);
            let policy = ephor_lower::policy::policy(&doc);
            let rule_count = policy.rule_count;
            let policy = refused.is_none().then_some(policy);
            let loaded = LoadedPolicy { rule_count, refused, ..loaded(d, &doc, policy) };
            Item::Policy(Box::new(loaded), deprecation)
        }
        "PolicyException" => Item::Exception(Box::new(ephor_lower::policy::exception(&doc)), deprecation),
        _ => Item::Cleanup(Box::new(ephor_lower::policy::cleanup(&doc)), deprecation),
    }
}

/// A policy with one rule, or none that can be used, as it is in a file.
fn loaded(d: &Document, value: &Value, policy: Option<ephor_ir::Policy>) -> LoadedPolicy {
    LoadedPolicy {
        name: value.text_at(&["metadata", "name"]).into(),
        policy: policy.map(Arc::new),
        document: value.clone(),
        source: d.source.clone(),
        line: d.line,
        text: d.text.clone(),
        prefix: Path::new(),
        rule_count: 1,
        refused: None,
        uncompiled: None,
        faults: Vec::new(),
    }
}

/// A policy or exception of group `policies.kyverno.io`.
fn review(d: &Document, value: &Value, with_schema: bool, reader: Reader) -> Option<Item> {
    let kind = value.text_at(&["kind"]);
    if kind == "PolicyException" {
        let api_version = value.text_at(&["apiVersion"]);
        let version = api_version.rsplit('/').next().unwrap_or_default();
        // Next to policies Kyverno's command line reads this version alone, and leaves out their
        // file or folder with others.
        if reader == Reader::Command && version != "v1beta1" {
            let text = format!("policy type not supported {api_version}, Kind={kind}");
            return Some(if with_schema { left(d, &[], text, true) } else { skipped(d, text) });
        }
        return Some(match ephor_lower::cel_policy::exception(value) {
            Ok(exception) => Item::CelException(Box::new(exception)),
            Err(failed) => left(d, &[], failed.to_string(), false),
        });
    }
    let (kind, namespaced) = ephor_lower::cel_policy::kind_of(kind)?;
    let lowered = ephor_lower::cel_policy::policy(value, kind, namespaced);
    let loaded = LoadedPolicy {
        uncompiled: lowered.error,
        faults: lowered.faults,
        ..loaded(d, value, Some(lowered.policy))
    };
    Some(Item::Policy(Box::new(loaded), String::new()))
}

/// An admission policy of Kubernetes or its binding, in the versions that the reader takes.
fn admission(d: &Document, value: &Value, PlacedReader { reader, place }: PlacedReader) -> Option<Item> {
    let refused = || ephor_api::admission::readable(value).err();
    let version = value.text_at(&["apiVersion"]).strip_prefix("admissionregistration.k8s.io/")?;
    let kind = value.text_at(&["kind"]);
    let takes = match (reader, place) {
        (Reader::Server(_) | Reader::Scan, _) | (_, Place::Server(_)) => {
            matches!(version, "v1" | "v1beta1" | "v1alpha1")
        }
        (Reader::Command | Reader::AllExceptions, Place::Kyverno) => match kind.starts_with("Mutating") {
            true => version == "v1alpha1",
            false => version == "v1",
        },
    };
    match kind {
        _ if !takes => None,
        "ValidatingAdmissionPolicy" | "MutatingAdmissionPolicy" => {
            if let Some(text) = refused() {
                return Some(left(d, &[], text.to_string(), false));
            }
            let (policy, refused) = match place {
                Place::Server(release) => {
                    (offline::policy(&defaulted(value), place), refusal(value, release))
                }
                Place::Kyverno => (offline::policy(value, place), None),
            };
            let loaded = LoadedPolicy { refused, ..loaded(d, value, Some(policy)) };
            Some(Item::Policy(Box::new(loaded), String::new()))
        }
        "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding" => {
            if let Some(text) = refused() {
                return Some(left(d, &[], text.to_string(), false));
            }
            let binding = match place {
                Place::Kyverno => offline::binding(value),
                Place::Server(release) => match refusal(value, release) {
                    Some(text) => return Some(left(d, &[], text, false)),
                    None => ephor_lower::admission::binding(&defaulted(value)),
                },
            };
            Some(Item::Binding(Box::new(binding)))
        }
        _ => None,
    }
}

/// Why an API server refuses a policy or binding.
fn refusal(value: &Value, release: Release) -> Option<String> {
    let stored = defaulted(value);
    check(&stored, &mut Judge::new(&stored, release)).err().map(|refusal| refusal.message)
}

/// The version of the objects that only the command line reads.
const COMMAND_VERSION: &str = "cli.kyverno.io/v1alpha1";
const COMMAND_KINDS: [&str; 5] = ["Test", "Values", "UserInfo", "Context", "ClusterResource"];

/// Why a document is of no kind that is read where only Kyverno's own are; `None` when it is of
/// such a kind.
pub fn unserved(document: &Value) -> Option<String> {
    let (api_version, kind) = (document.text_at(&["apiVersion"]), document.text_at(&["kind"]));
    if schema::is_served(api_version, kind) {
        return None;
    }
    if api_version == COMMAND_VERSION {
        return Some(match COMMAND_KINDS.contains(&kind) {
            true => format!("policy exception type not supported {api_version}, Kind={kind}"),
            false => format!(
                "failed to parse document (failed to retrieve validator: kind {kind} not found in {api_version} groupversion)"
            ),
        });
    }
    schema::check(document).err().map(|e| e.to_string())
}

/// `apiVersion` or `kind` is a list or an object.
#[derive(Debug, thiserror::Error)]
#[error(
    "failed to parse yaml: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go struct field TypeMeta.{name} of type string"
)]
struct NoText {
    name: &'static str,
    found: &'static str,
}

/// `apiVersion` or `kind` as text; scalars are taken for what they print.
///
/// # Errors
/// See [`NoText`].
fn type_field<'v>(value: &'v Value, name: &'static str) -> Result<Cow<'v, str>, NoText> {
    match value.get(name) {
        None | Some(Value::Null) => Ok(Cow::Borrowed("")),
        Some(Value::Str(text)) => Ok(Cow::Borrowed(text)),
        Some(v @ (Value::List(_) | Value::Map(_))) => Err(NoText { name, found: v.json_type() }),
        Some(scalar) => Ok(Cow::Owned(ephor_value::print::display(scalar))),
    }
}

/// An object that is an exception, wherever it came from; others and those that are not well-formed
/// give nothing.
pub fn exception(object: &Value) -> Policies {
    let mut found = Policies::default();
    if object.text_at(&["kind"]) != "PolicyException" {
        return found;
    }
    if object.text_at(&["apiVersion"]).starts_with("policies.kyverno.io/") {
        found.cel_exceptions.extend(ephor_lower::cel_policy::exception(object).ok());
    } else if let Ok(checked) = schema::check(object) {
        found.exceptions.push(ephor_lower::policy::exception(&checked));
    }
    found
}

#[cfg(test)]
mod tests;
