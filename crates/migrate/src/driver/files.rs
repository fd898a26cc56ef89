//! Files of policies → files of migrated ones.
//!
//! In: the text of a file. Out: [`File`]: each document moved, refused or left as it is. Documents
//! that are not of a deprecated kind are the same byte for byte, so a second migration changes
//! nothing; a policy that is refused stays as it was, so that a folder of migrated files still
//! protects what the old one did.

use std::borrow::Cow;
use std::time::Duration;

use ephor_compare::{Answer, Apart, Side, SideError};
use ephor_document::comments::Comment;
use ephor_document::split::split;
use ephor_document::{Duplicates, yaml};
use ephor_policies::kinds;
use ephor_policies::load::{Reader, argument_for};
use ephor_sources::files::SourceText;
use ephor_value::Value;
use ephor_value::clock;
use ephor_value::release::Release;

use crate::constraints::roles::as_groups;
use crate::constraints::without_roles;
use crate::driver::policy::{migrate, migrate_in};
use crate::expressions::refusal::Refusal;
use crate::kinds::exceptions::{Moved, SOME_RULES};
use crate::kinds::{deleting, exceptions};
use crate::model::lists::{ListedObject, items, list_of};
use crate::model::migrated::{AutogenStrategy, Migrated, Note, Options, SEPARATOR};
use crate::model::original::Original;
use crate::model::pair::Pair;
use crate::proof::paired::{joined, prove_apart, prove_pairs, together};
use crate::proof::prove::{Limits, Proof, policies, prove, usable};
use crate::text::comments::{missing, moved as moved_comment};

/// What came of a file.
#[derive(Debug)]
pub struct File {
    /// Its name.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Its documents.
    pub parts: Vec<FileDocument>,
}

/// A document of a file.
#[derive(Debug)]
pub struct FileDocument {
    /// The line on which it begins.
    pub line: usize,
    /// Its text.
    pub text: String,
    /// Kind and name, where it has some.
    pub id: (String, String),
    /// The name by which exceptions name it, with its namespace.
    pub key: String,
    /// What came of it.
    pub outcome: DocumentOutcome,
    /// Whether it is an object of a list.
    pub in_list: bool,
    /// How long that took.
    pub time: Duration,
}

/// What came of a document.
#[derive(Debug)]
pub enum DocumentOutcome {
    /// It is of no kind that is migrated.
    Unchanged,
    /// It moved; and whether what takes its place means the same.
    Moved(Box<Migrated>, Box<Result<Proof, SideError>>),
    /// It has parts that cannot be expressed in CEL.
    Refused(Vec<Refused>),
    /// It is of a kind that is migrated, and cannot be read.
    Unreadable(String),
}

/// A construct that cannot be expressed in CEL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// `file:line`.
    pub place: String,
    /// What it is.
    pub construct: String,
    /// The nearest rewrite.
    pub nearest: String,
}

impl File {
    /// The file as it is written: the old text, if nothing moved.
    pub fn migrated(&self) -> String {
        if !self.has_moved() {
            return self.text.clone();
        }
        let new = self.written(&[]);
        match missing(&self.text, &new).as_slice() {
            [] => new,
            missing => self.written(missing),
        }
    }

    /// The documents in their order, with comments of the old file above the parts in which they
    /// stood.
    fn written(&self, missing: &[Comment<'_>]) -> String {
        let texts_of = |at: usize| -> Vec<String> {
            let mut texts = self.parts.get(at).map(FileDocument::texts).unwrap_or_default();
            let own = missing.iter().filter(|one| (self.begin(at)..self.begin(at + 1)).contains(&one.line));
            if let Some(first) = texts.first_mut() {
                first.insert_str(0, &own.map(|one| moved_comment(&self.name, *one)).collect::<String>());
            }
            texts
        };
        let mut texts = Vec::new();
        let mut at = 0;
        // As documents of their own, objects that are no policies would leave out their file
        // (`docs/semantics/policies.md`, "Loading").
        for run in self.parts.chunk_by(|a, b| a.stays_in_list() && b.stays_in_list()) {
            let own = (at..at + run.len()).flat_map(texts_of);
            match run.first() {
                Some(first) if first.stays_in_list() => texts.push(list_of(own)),
                _ => texts.extend(own),
            }
            at += run.len();
        }
        texts.join(SEPARATOR)
    }

    /// The line from which comments belong to a part: those right above it are its own.
    fn begin(&self, at: usize) -> usize {
        let Some(part) = self.parts.get(at) else { return usize::MAX };
        if at == 0 {
            return 0;
        }
        let lines: Vec<&str> = self.text.lines().take(part.line.saturating_sub(1)).collect();
        let own = lines.iter().rev().take_while(|line| line.trim_start().starts_with('#')).count();
        part.line.saturating_sub(own)
    }

    /// Whether a document moved.
    pub fn has_moved(&self) -> bool {
        self.parts.iter().any(|part| matches!(part.outcome, DocumentOutcome::Moved(..)))
    }

    /// Whether it has policies, migrated or not.
    pub fn has_policies(&self) -> bool {
        self.parts
            .iter()
            .any(|part| !matches!(part.outcome, DocumentOutcome::Unchanged) || is_policy(&part.id.0))
    }
}

impl FileDocument {
    /// Whether it is of a kind that is migrated, and has a part of a policy without rules.
    pub fn is_patch(&self) -> bool {
        let value = yaml::parse(&self.text, Duplicates::LastWins).unwrap_or_default();
        let is_policy = value.text_at(&["apiVersion"]).starts_with("kyverno.io/")
            && matches!(value.text_at(&["kind"]), "ClusterPolicy" | "Policy");
        is_policy && matches!(self.outcome, DocumentOutcome::Unchanged) && value.get("spec").is_some()
    }

    /// Whether it is an object of a list that is no policy.
    fn stays_in_list(&self) -> bool {
        self.in_list && matches!(self.outcome, DocumentOutcome::Unchanged) && !is_policy(&self.id.0)
    }

    fn texts(&self) -> Vec<String> {
        match &self.outcome {
            DocumentOutcome::Moved(migrated, _) => {
                migrated.documents.iter().map(|d| d.text.clone()).collect()
            }
            _ => vec![format!("{}\n", self.text.trim_start_matches(SEPARATOR).trim_end())],
        }
    }
}

/// Whether a kind is one of a policy, or belongs to some.
fn is_policy(kind: &str) -> bool {
    kind.ends_with("Policy") || kind.ends_with("PolicyBinding") || kind == "PolicyException"
}

/// Migrates the documents of a file.
///
/// # Errors
/// The text cannot be cut into documents.
pub fn file(
    name: &str,
    text: &str,
    options: &Options,
    limits: Limits,
) -> Result<File, ephor_document::split::SeparatorError> {
    let mut parts = Vec::new();
    for part in split(text)? {
        // Policies in a list move one by one.
        match items(part.text, part.line).filter(|all| all.iter().any(|item| has_policy(&item.text))) {
            Some(all) => {
                let one = |item: &ListedObject| document(name, &item.text, item.line, options, limits);
                parts.extend(all.iter().map(|item| FileDocument { in_list: true, ..one(item) }));
            }
            None => parts.push(document(name, part.text, part.line, options, limits)),
        }
    }
    Ok(File { name: name.into(), text: text.into(), parts })
}

/// Whether a document is, or belongs to, a policy.
fn has_policy(text: &str) -> bool {
    yaml::parse(text, Duplicates::LastWins).is_ok_and(|value| is_policy(value.text_at(&["kind"])))
}

/// Migrates a document.
pub fn document(name: &str, text: &str, line: usize, options: &Options, limits: Limits) -> FileDocument {
    let start = clock::now();
    let value = yaml::parse(text, Duplicates::LastWins);
    let read = |path: &[&str]| value.as_ref().map_or(String::new(), |v| v.text_at(path).to_string());
    let id = (read(&["kind"]), read(&["metadata", "name"]));
    let outcome = match value.as_ref() {
        Ok(value) if is_migrated(value) => outcome(name, text, line, options, limits),
        Ok(value) if is_cleanup(value) => deleting(name, text, line, options, limits),
        Ok(value) if is_known(value) => DocumentOutcome::Unchanged,
        _ => unread(text).map_or(DocumentOutcome::Unchanged, DocumentOutcome::Unreadable),
    };
    let namespace = read(&["metadata", "namespace"]);
    let key = match id.0.starts_with("Cluster") || namespace.is_empty() {
        true => id.1.clone(),
        false => format!("{namespace}/{}", id.1),
    };
    FileDocument { line, text: text.into(), id, key, outcome, in_list: false, time: start.elapsed() }
}

/// Whether a document is of a kind of policies, in the letters and the group of its API.
fn is_known(document: &Value) -> bool {
    let kind = document.text_at(&["kind"]);
    let (group, _) = document.text_at(&["apiVersion"]).split_once('/').unwrap_or_default();
    group == "admissionregistration.k8s.io" || kinds::all().any(|known| known == (group, kind))
}

/// Why a document that may be a policy cannot be read, as a server says it.
fn unread(text: &str) -> Option<String> {
    let source = SourceText { name: String::new(), text: text.into() };
    let problems = argument_for(&[source], Reader::Server(Release::default())).problems;
    problems.into_iter().find(|problem| !problem.foreign).map(|problem| problem.text)
}

/// Whether a document is of one of Kyverno's kinds, and has a field.
fn is_one_of(document: &Value, kinds: &[&str], field: &str) -> bool {
    document.text_at(&["apiVersion"]).starts_with("kyverno.io/")
        && kinds.contains(&document.text_at(&["kind"]))
        && document.at(&["spec", field]).is_some()
}

/// Whether a document is of a kind that is migrated.
fn is_migrated(document: &Value) -> bool {
    // Assertions of test suites name a policy without its rules.
    is_one_of(document, &["ClusterPolicy", "Policy"], "rules")
}

/// Whether a document is a policy that deletes objects.
fn is_cleanup(document: &Value) -> bool {
    is_one_of(document, &["CleanupPolicy", "ClusterCleanupPolicy"], "schedule")
}

/// A document and where it stands.
fn original(name: &str, text: &str, line: usize, value: Value) -> Original {
    Original { file: name.into(), line, text: text.into(), value }
}

/// What came of a policy that deletes objects.
fn deleting(name: &str, text: &str, line: usize, options: &Options, limits: Limits) -> DocumentOutcome {
    let loaded = policies(name, text);
    if let Some(problem) = loaded.problems.iter().find(|problem| !problem.foreign) {
        return DocumentOutcome::Unreadable(problem.to_string());
    }
    let original = original(name, text, line, ephor_document::yaml_value(text).unwrap_or_default());
    match deleting::migrate(&original, options) {
        Ok(migrated) => {
            let proof = prove_pairs(name, &migrated.pairs, limits);
            DocumentOutcome::Moved(Box::new(migrated), Box::new(proof))
        }
        Err(refusals) => refused(&original, &refusals),
    }
}

/// Migrates policies again of which exceptions name some rules, each rule as a policy of its own.
fn take_apart(files: &mut [File], options: &Options, limits: Limits) {
    let moved = moved_of(files);
    let is_some_rules = |part: &FileDocument| {
        let value = yaml::parse(&part.text, Duplicates::LastWins).unwrap_or_default();
        let original = original("", &part.text, part.line, value.clone());
        let found = exceptions::migrate(&original, &moved, options);
        let is_it = found.is_err_and(|all| all.iter().any(|one| *one.construct == *SOME_RULES));
        is_it.then_some(value)
    };
    let exceptions: Vec<Value> = files
        .iter()
        .flat_map(|file| &file.parts)
        .filter(|part| is_exception(part))
        .filter_map(is_some_rules)
        .collect();
    let own = Options { apart: true, ..options.clone() };
    for file in files {
        for part in &mut file.parts {
            let is_named = exceptions.iter().any(|exception| names(exception, &part.key));
            if is_named && !is_exception(part) && matches!(part.outcome, DocumentOutcome::Moved(..)) {
                let start = clock::now();
                let found = outcome(&file.name, &part.text, part.line, &own, limits);
                part.outcome = found;
                part.time += start.elapsed();
            }
        }
    }
}

fn is_exception(part: &FileDocument) -> bool {
    part.id.0 == "PolicyException"
}

/// Whether an exception names a policy.
fn names(exception: &Value, key: &str) -> bool {
    let all = exception.at(&["spec", "exceptions"]).and_then(Value::as_list).unwrap_or_default();
    all.iter().any(|one| one.text_at(&["policyName"]) == key)
}

/// The policies that moved.
fn moved_of(files: &[File]) -> Vec<Moved<'_>> {
    let parts = files.iter().flat_map(|file| &file.parts);
    parts
        .filter_map(|one| match &one.outcome {
            DocumentOutcome::Moved(migrated, _) => {
                Some(Moved { key: &one.key, migrated, has_generated: migrated.has_generated })
            }
            _ => None,
        })
        .collect()
}

/// Migrates the exceptions of files whose policies moved.
pub fn exceptions(files: &mut [File], options: &Options, limits: Limits) {
    take_apart(files, options, limits);
    let mut found = Vec::new();
    for (at, file) in files.iter().enumerate() {
        for (part_at, part) in file.parts.iter().enumerate() {
            let value = yaml::parse(&part.text, Duplicates::LastWins).unwrap_or_default();
            if is_exception(part) && value.text_at(&["apiVersion"]).starts_with("kyverno.io/") {
                let start = clock::now();
                let outcome = exception(&file.name, part, value, files, options, limits);
                found.push((at, part_at, outcome, start.elapsed()));
            }
        }
    }
    for (at, part_at, outcome, time) in found {
        if let Some(part) = files.get_mut(at).and_then(|file| file.parts.get_mut(part_at)) {
            (part.outcome, part.time) = (outcome, time);
        }
    }
}

/// Puts policies in audit mode in the place of those that moved; what has no such mode is refused.
/// Exceptions stay.
pub fn shadows(files: &mut [File]) {
    for file in files {
        for part in &mut file.parts {
            if is_exception(part) {
                continue;
            }
            let DocumentOutcome::Moved(migrated, _) = &mut part.outcome else { continue };
            match std::mem::take(&mut migrated.shadows) {
                found if found.is_empty() => {
                    part.outcome = DocumentOutcome::Refused(vec![Refused {
                        place: format!("{}:{}", file.name, part.line),
                        construct: "a policy without audit mode".into(),
                        nearest: "migrate it without `--shadow`".into(),
                    }]);
                }
                found => migrated.documents = found,
            }
        }
    }
}

fn exception(
    name: &str,
    part: &FileDocument,
    value: Value,
    files: &[File],
    options: &Options,
    limits: Limits,
) -> DocumentOutcome {
    let moved = moved_of(files);
    let named = |key: &str| names(&value, key);
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for one in files.iter().flat_map(|file| &file.parts).filter(|one| named(&one.key)) {
        if let DocumentOutcome::Moved(migrated, _) = &one.outcome {
            old.push(one.text.trim_start_matches(SEPARATOR));
            new.extend(migrated.documents.iter().map(|d| d.text.as_str()));
        }
    }
    let original = original(name, &part.text, part.line, value.clone());
    match exceptions::migrate(&original, &moved, options) {
        Ok(migrated) => {
            old.push(part.text.trim_start_matches(SEPARATOR));
            new.extend(migrated.documents.iter().map(|d| d.text.as_str()));
            let separator = format!("\n{SEPARATOR}");
            let proof = prove(name, &old.join(&separator), &new.join(&separator), limits);
            DocumentOutcome::Moved(Box::new(migrated), Box::new(proof))
        }
        Err(refusals) => refused(&original, &refusals),
    }
}

fn outcome(name: &str, text: &str, line: usize, options: &Options, limits: Limits) -> DocumentOutcome {
    let mut loaded = policies(name, text);
    let problem = loaded.problems.iter().find(|problem| !problem.foreign).map(ToString::to_string);
    let Some(policy) = loaded.policies.first_mut() else {
        return DocumentOutcome::Unreadable(
            problem.or_else(|| unread(text)).unwrap_or_else(|| "no policy".into()),
        );
    };
    policy.line += line - 1;
    if let Some(why) = policy.refused.as_ref().or(policy.uncompiled.as_ref()) {
        return DocumentOutcome::Unreadable(why.clone());
    }
    match migrate(policy, options) {
        Ok(migrated) => {
            let mut rules = policy.policy.iter().flat_map(|policy| policy.rules.iter());
            let is_about_roles = rules.any(|rule| without_roles(rule).is_err());
            let compared = Compared { name, text, is_about_roles, options, limits };
            let proof = compared.proof(&migrated, AutogenStrategy::Autogen);
            let place = format!("{name}:{line}");
            let own = || Side::new(policies(name, text), name);
            if let (Err(SideError::Unusable(_)), Ok(_)) = (&proof, own()) {
                return DocumentOutcome::Refused(vec![Refused {
                    place,
                    construct: "a rule that CEL does not take: its types say that a value cannot be used so"
                        .into(),
                    nearest:
                        "give both sides of each comparison one type, as with `to_string` or `to_number`"
                            .into(),
                }]);
            }
            if matches!(&proof, Ok(proof) if proof.claim.answer != Answer::Differs) {
                return moved(migrated, proof, &place);
            }
            // The generation of rules for pod controllers replaces texts, which is not always what
            // the old one does.
            let expanded = migrate_in(policy, options, AutogenStrategy::Expanded)
                .ok()
                .filter(|other| *other != migrated);
            let other = expanded.map(|other| (compared.proof(&other, AutogenStrategy::Expanded), other));
            match other {
                Some((Ok(better), other)) if better.claim.answer != Answer::Differs => {
                    moved(other, Ok(better), &place)
                }
                _ => moved(migrated, proof, &place),
            }
        }
        Err(refusals) => refused(&Original::of(policy), &refusals),
    }
}

/// A policy that moved, with notes for what its proof counts apart.
fn moved(mut migrated: Migrated, proof: Result<Proof, SideError>, place: &str) -> DocumentOutcome {
    let apart = proof.iter().flat_map(|proof| &proof.claim.apart);
    let apart = apart.filter(|one| !matches!(one, Apart::Deletions | Apart::Existing | Apart::Controllers));
    migrated.notes.extend(apart.map(|one| Note { place: place.into(), text: one.text().into() }));
    DocumentOutcome::Moved(Box::new(migrated), Box::new(proof))
}

/// A policy that is compared with what takes its place.
struct Compared<'c> {
    name: &'c str,
    text: &'c str,
    is_about_roles: bool,
    options: &'c Options,
    limits: Limits,
}

impl Compared<'_> {
    /// The proof; where the policy is about roles, of the same policy about groups, as no object
    /// says who has a role.
    fn proof(&self, migrated: &Migrated, way: AutogenStrategy) -> Result<Proof, SideError> {
        let own = || proof(self.name, self.text, migrated, self.limits);
        if !self.is_about_roles {
            return own();
        }
        let value = ephor_document::yaml_value(self.text).ok();
        let Some(groups) = value.as_ref().and_then(as_groups) else { return own() };
        let text = ephor_value::print::json(&groups);
        let loaded = policies(self.name, &text);
        let other = loaded.policies.first().and_then(|policy| migrate_in(policy, self.options, way).ok());
        let Some(other) = other else { return own() };
        let new: Vec<&str> = migrated.documents.iter().map(|d| d.text.as_str()).collect();
        usable(self.name, self.text, &new.join(SEPARATOR))?;
        let mut proof = proof(self.name, &text, &other, self.limits)?;
        proof.claim.answer = joined(proof.claim.answer, Answer::ProvedRelative(vec![ROLES.into()]));
        Ok(proof)
    }
}

/// What is assumed where policies about roles are compared as policies about groups.
const ROLES: &str = "the roles of users are those of the role bindings in the cluster";

fn proof(name: &str, old: &str, migrated: &Migrated, limits: Limits) -> Result<Proof, SideError> {
    let new: Vec<&str> = migrated.documents.iter().map(|d| d.text.as_str()).collect();
    let reasons = || migrated.not_compared.iter().map(|what| format!("{what} are not compared"));
    let new = new.join(SEPARATOR);
    let has_random = [old, &new].iter().any(|text| text.contains(RANDOM));
    if has_random {
        usable(name, old, &new)?;
    }
    let (old, new) = (&*certain(old, RANDOM_THERE), certain(&new, RANDOM_HERE).into_owned());
    let of_pair = |pair: &Pair| Pair {
        old: certain(&pair.old, RANDOM_THERE).into_owned(),
        new: certain(&pair.new, RANDOM_HERE).into_owned(),
        says: pair.says,
    };
    let pairs: Vec<Pair> = migrated.pairs.iter().map(of_pair).collect();
    let mut proof = match migrated.is_apart {
        true => {
            usable(name, old, &new)?;
            prove_pairs(name, &pairs, limits)?
        }
        false => {
            let whole = match migrated.apart.is_empty() {
                true => prove(name, old, &new, limits)?,
                false => {
                    usable(name, old, &new)?;
                    let of_random = |(old, new): &(String, String)| {
                        [certain(old, RANDOM_THERE), certain(new, RANDOM_HERE)].map(String::from)
                    };
                    let all: Vec<[String; 2]> = migrated.apart.iter().map(of_random).collect();
                    prove_apart(name, &all, limits)?
                }
            };
            together(whole, prove_pairs(name, &pairs, limits)?)
        }
    };
    if has_random {
        proof.claim.answer =
            joined(proof.claim.answer, Answer::Tested(vec!["random texts are compared as one text".into()]));
    }
    if !migrated.assumed.is_empty() {
        proof.claim.answer = joined(proof.claim.answer, Answer::ProvedRelative(migrated.assumed.clone()));
    }
    if !migrated.not_compared.is_empty() {
        proof.claim.answer = joined(proof.claim.answer, Answer::Tested(reasons().collect()));
    }
    Ok(proof)
}

/// The function that gives random texts.
const RANDOM: &str = "random(";

/// What stands for a random text in old policies, and in new ones.
const RANDOM_THERE: &str = "to_upper('random')";
const RANDOM_HERE: &str = "'RANDOM'";

/// A policy with one text in the place of those that are random: `to_upper('random')` where only
/// functions may be called.
fn certain<'t>(text: &'t str, other: &str) -> Cow<'t, str> {
    if !text.contains(RANDOM) {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(RANDOM) {
        let call = after.split_once(['\'', '"', '`']).and_then(|(_, after)| after.split_once(')'));
        out.push_str(before);
        match call {
            Some((_, after)) => {
                out.push_str(other);
                rest = after;
            }
            None => {
                out.push_str(RANDOM);
                rest = after;
            }
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// What came of a document that cannot move.
fn refused(original: &Original, refusals: &[Refusal]) -> DocumentOutcome {
    let one = |refusal: &Refusal| Refused {
        place: original.place(&refusal.place.path),
        construct: refusal.construct.to_string(),
        nearest: refusal.nearest.to_string(),
    };
    DocumentOutcome::Refused(refusals.iter().map(one).collect())
}
