//! Compares pairs of policy files, one `OLD NEW` a line of standard input, and prints the answer
//! and the time of each.
//!
//! `--time-limit SECONDS`: the longest that one pair takes. `--objects`: with the objects on which
//! they differ. `--check FILE`: with the objects or requests of a file on which both sides differ
//! though they were proved equal (`false proof`) or no difference was found (`missed`);
//! `--classes FILE` writes the classes of texts that the comparisons distinguished, as JSON, one a
//! line. `(files)`: only as written, not as an API server shows them to webhooks, and the answer
//! does not say so. Custom resources that have the name of a built-in kind are left out:
//! comparisons do not read them (`docs/reference/diff.md`).

use std::collections::BTreeSet;
use std::io::BufRead;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ephor_compare::{
    Answer, Environment, Observer, Options, RequestContext, Side, TextClasses, Universe, compare_observed,
};
use ephor_engine::request::UserParts;
use ephor_kubernetes::admitted::{admitted, kind_of};
use ephor_kubernetes::kinds::Kinds;
use ephor_policies::load::argument;
use ephor_sources::files::SourceText;
use ephor_value::print::json;
use ephor_value::{Map, Value};

fn side(path: &str) -> Result<Side, String> {
    let text = std::fs::read_to_string(path).map_err(|cause| format!("{path}: {cause}"))?;
    let source = SourceText { name: path.into(), text };
    Side::new(argument(&[source]), path).map_err(|cause| cause.to_string())
}

/// What is judged: an object in each operation, or a request.
#[derive(Clone)]
struct Sent {
    object: Value,
    old: Option<Value>,
    operation: Option<&'static str>,
    around: Arc<RequestContext>,
}

const OPERATIONS: [&str; 3] = ["CREATE", "UPDATE", "DELETE"];

impl Sent {
    /// An object, or `request` with `operation`, `object`, `oldObject`, `user`, `roles`,
    /// `clusterRoles` and `namespaceLabels`.
    fn of(document: Value) -> Option<Sent> {
        let Some(request) = document.get("request") else {
            let sent = Sent { object: document, old: None, operation: None, around: Arc::default() };
            return sent.is_evaluated().then_some(sent);
        };
        let texts = |key: &str| {
            let all = request.get(key).and_then(Value::as_list).into_iter().flatten();
            all.filter_map(|text| Some(text.as_str()?.to_string())).collect::<Vec<String>>()
        };
        let info = request.get("user").cloned().unwrap_or_default();
        let user = UserParts { info, roles: texts("roles"), cluster_roles: texts("clusterRoles") };
        let labels = request.get("namespaceLabels").and_then(Value::as_map).cloned().unwrap_or_default();
        let around = Arc::new(RequestContext::new(user, [labels, Map::default()]));
        let operation = OPERATIONS.into_iter().find(|one| *one == request.text_at(&["operation"]));
        let sent = Sent {
            object: request.get("object")?.clone(),
            old: request.get("oldObject").cloned(),
            operation,
            around,
        };
        sent.is_evaluated().then_some(sent)
    }

    fn is_evaluated(&self) -> bool {
        self.object.get("kind").is_some() && !is_namesake(&self.object)
    }

    /// The same as an API server shows it to webhooks; itself where this is not known; nothing when
    /// it is refused.
    fn shown(&self) -> Option<Sent> {
        let old = match &self.old {
            Some(old) => Some(shown(old)?),
            None => None,
        };
        Some(Sent { object: shown(&self.object)?, old, ..self.clone() })
    }
}

/// What is in a file with several YAML documents.
fn all_sent(path: &str) -> Vec<Sent> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split("\n---").filter_map(|one| Sent::of(ephor_document::yaml_value(one).ok()?)).collect()
}

/// Whether an object is a custom resource of a kind that Kubernetes has under the same name:
/// comparisons do not read these.
fn is_namesake(object: &Value) -> bool {
    let group = object.text_at(&["apiVersion"]).split_once('/').map_or("", |(group, _)| group);
    let mut named = Kinds::built_in().named(object.text_at(&["kind"])).peekable();
    named.peek().is_some() && named.all(|kind| *kind.group != *group)
}

/// An object as an API server shows it to webhooks; the object itself where this is not known;
/// nothing when it is refused.
fn shown(object: &Value) -> Option<Value> {
    match kind_of(object).and_then(|kind| admitted(&kind, object)) {
        Some(shown) => shown.ok(),
        None => Some(object.clone()),
    }
}

/// The objects on which both sides differ.
fn differing(old: &Side, new: &Side, all: &[Sent]) -> Vec<String> {
    let mut found = Vec::new();
    for sent in all {
        for operation in OPERATIONS.into_iter().filter(|one| sent.operation.is_none_or(|own| own == *one)) {
            let [a, b] = [old, new]
                .map(|side| side.judge_sent((&sent.object, sent.old.as_ref()), operation, &sent.around));
            let (Some(a), Some(b)) = (a, b) else { continue };
            let is_same = match a.verdict.is_violation() || b.verdict.is_violation() {
                true => (a.verdict, a.effect) == (b.verdict, b.effect),
                false => true,
            };
            if !is_same || a.changed != b.changed {
                let name = sent.object.text_at(&["metadata", "name"]);
                found.push(format!("{operation} {} {name}", sent.object.text_at(&["kind"])));
            }
        }
    }
    found
}

/// The classes of texts of all comparisons, each once, as lines of JSON.
#[derive(Default)]
struct Classes(Mutex<BTreeSet<String>>);

impl Observer for Classes {
    fn evaluated(&self, _: &Environment, _: &Value, _: Option<&Value>, _: &Arc<RequestContext>) {}

    fn texts(&self, classes: &TextClasses) {
        let list = |texts: &[String]| texts.iter().map(|text| text.as_str().into()).collect::<Vec<Value>>();
        let found = classes.found.as_ref().map(|all| all.iter().map(|text| (&**text).into()).collect());
        let line = json(&Value::map([
            ("globs", list(&classes.globs).into()),
            ("texts", list(&classes.texts).into()),
            ("regexes", list(&classes.regexes).into()),
            ("found", found.map_or(Value::Null, |all: Vec<Value>| all.into())),
        ]));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(line);
    }
}

fn main() {
    let classes = Classes::default();
    let is_long = std::env::args().any(|arg| arg == "--objects");
    let value = |flag: &str| std::env::args().skip_while(|arg| arg != flag).nth(1);
    let checked = value("--check");
    let limit = value("--time-limit").and_then(|seconds| seconds.parse().ok()).map(Duration::from_secs);
    let pool = checked.map(|path| all_sent(&path)).unwrap_or_default();
    let as_shown: Vec<Sent> = pool.iter().filter_map(Sent::shown).collect();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Some((old, new)) = line.split_once(' ') else { continue };
        let start = Instant::now();
        let (old, new) = match (side(old), side(new)) {
            (Ok(old), Ok(new)) => (old, new),
            (Err(why), _) | (_, Err(why)) => {
                println!("{line}\tunusable\t{why}");
                continue;
            }
        };
        let deadline = limit.and_then(|limit| start.checked_add(limit));
        let options = Options { deadline, ..Options::default() };
        let found = compare_observed(&old, &new, options, Some(&classes));
        let time = start.elapsed().as_millis();
        if found.answer != Answer::Differs && !pool.is_empty() {
            let is_proved = matches!(found.answer, Answer::Proved | Answer::ProvedRelative(_));
            let word = if is_proved { "false proof" } else { "missed" };
            let of_clusters = differing(&old, &new, &as_shown);
            // The answer may say that they differ in files only.
            let is_named = found.differences.iter().any(|one| one.universe == Universe::Files);
            let is_clear = !of_clusters.is_empty() || is_named;
            let of_files = if is_clear { Vec::new() } else { differing(&old, &new, &pool) };
            for one in of_clusters.iter().take(3) {
                println!("!! {word}: {line} {one}");
            }
            for one in of_files.iter().take(3) {
                println!("!! {word} (files): {line} {one}");
            }
        }
        let why = match &found.answer {
            Answer::Tested(why) | Answer::ProvedRelative(why) => why.join("; "),
            Answer::Incomparable(why) => why.clone(),
            Answer::Proved | Answer::Differs => String::new(),
        };
        println!("{line}\t{}\t{time} ms\t{} objects\t{why}", found.answer.name(), found.objects);
        for d in found.differences.iter().filter(|_| is_long) {
            let said = |verdict: ephor_compare::Verdict| verdict.name();
            let object = json(&d.object);
            println!(
                "  {} {} {}: {} -> {}\n    {object}",
                d.kind.name(),
                d.universe.name(),
                d.environment.name(),
                said(d.old.verdict),
                said(d.new.verdict)
            );
        }
    }
    if let Some(path) = value("--classes") {
        let lines = classes.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        let text: String = lines.into_iter().map(|line| line + "\n").collect();
        if let Err(cause) = std::fs::write(&path, text) {
            eprintln!("{path}: {cause}");
        }
    }
}
