//! Violations are marked where they are, for every form of rule: a measure over whole corpora.
//!
//! The objects of a corpus are written anew with one value on each line, so that a line is a path.
//! What a message is about is found without the code that finds marks: the path that the message
//! itself names, or an experiment. The value at the mark is replaced by others: usual ones,
//! constants of the policy, and what stands there in the other objects. When the result of the rule
//! never changes, the mark is wrong; where several parts are wrong, the others are taken out first,
//! as far as the rule says the same without them. Where nothing is marked, no replacement of any
//! value of the object may change the result's status.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use regex::Regex;
use serde::Deserialize;
use serde_json::{Value, json};

use ephor_conformance::data;

use crate::common::Files;

/// Policies with the objects that they are applied on.
struct Sample {
    name: String,
    policies: Vec<PathBuf>,
    objects: Vec<Value>,
    /// More arguments: values, users.
    more: Vec<String>,
}

/// A part of an object: keys, and positions as texts.
type Place = Vec<String>;

/// An object as text, with the path of each of its lines.
struct Written {
    text: String,
    lines: Vec<BTreeSet<Place>>,
}

/// What is right about the mark of a failure.
#[derive(Debug, PartialEq)]
enum Judgement {
    Right,
    /// Nothing of the object has an influence, and nothing is marked.
    Nothing,
    Wrong(String),
}

struct Failure {
    object: usize,
    policy: String,
    rule: String,
    status: String,
    message: String,
    field: Option<Place>,
    line: usize,
}

fn documents(path: &Path) -> Vec<Value> {
    let Ok(text) = std::fs::read_to_string(path) else { return Vec::new() };
    let all = serde_yaml_ng::Deserializer::from_str(&text).map(Value::deserialize);
    all.map_while(Result::ok).filter(|value| !value.is_null()).collect()
}

/// The objects of a document: those in it, when it is a list.
fn objects(document: Value) -> Vec<Value> {
    let is_list = document["kind"].as_str().is_some_and(|kind| kind.ends_with("List"));
    match document["items"].as_array() {
        Some(items) if is_list => items.clone(),
        _ => vec![document],
    }
}

/// The folders of tests below a folder.
fn tests_of(folder: &Path) -> Vec<Sample> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name == "kyverno-test.yaml") {
                found.extend(test(&path));
            }
        }
    }
    found.sort_by(|a: &Sample, b| a.name.cmp(&b.name));
    found
}

fn test(file: &Path) -> Option<Sample> {
    let folder = file.parent()?;
    let test = documents(file).into_iter().next()?;
    let files = |key: &str| -> Vec<PathBuf> {
        let names = test[key].as_array().into_iter().flatten().filter_map(Value::as_str);
        names.map(|name| folder.join(name)).filter(|path| path.is_file()).collect()
    };
    let flag = |flag: &str, key: &str| {
        let path = test[key].as_str().map(|name| folder.join(name)).filter(|path| path.is_file());
        path.map(|path| [flag.to_string(), path.display().to_string()])
    };
    let more = [flag("-f", "variables"), flag("-u", "userinfo"), flag("--context-file", "context")];
    let objects: Vec<Value> =
        files("resources").iter().flat_map(|path| documents(path)).flat_map(objects).collect();
    let sample = Sample {
        name: file.display().to_string(),
        policies: files("policies"),
        objects: objects.into_iter().filter(|object| object["metadata"]["name"].is_string()).collect(),
        more: more.into_iter().flatten().flatten().collect(),
    };
    (!sample.policies.is_empty() && !sample.objects.is_empty()).then_some(sample)
}

/// The cases of this repository, each policy with the objects of its cases.
fn cases(folder: &Path, scratch: &Path) -> Vec<Sample> {
    let mut files: Vec<PathBuf> = Vec::new();
    for area in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|p| p.is_dir()) {
        files.extend(std::fs::read_dir(area).unwrap().map(|entry| entry.unwrap().path()));
    }
    files.sort();
    let mut found = Vec::new();
    for file in files {
        for (number, case) in documents(&file).into_iter().enumerate() {
            if !case["policy"].is_object() {
                continue;
            }
            let policy = scratch.join(format!("{}-{number}.yaml", found.len()));
            std::fs::write(&policy, serde_yaml_ng::to_string(&case["policy"]).unwrap()).unwrap();
            let of_cases =
                case["cases"].as_array().into_iter().flatten().map(|case| case["resource"].clone());
            let objects: Vec<Value> = of_cases.filter(|o| o["metadata"]["name"].is_string()).collect();
            if !objects.is_empty() {
                let name = format!("{} {number}", file.display());
                found.push(Sample { name, policies: vec![policy], objects, more: Vec::new() });
            }
        }
    }
    found
}

/// Whether a value has none below it.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    }
}

impl Written {
    fn of(object: &Value) -> Written {
        let mut out = Written { text: String::new(), lines: vec![BTreeSet::new()] };
        out.value(object, &mut Place::new(), 0, true);
        out
    }

    fn mark(&mut self, path: &Place) {
        self.lines.last_mut().unwrap().insert(path.clone());
    }

    fn end(&mut self) {
        self.text.push('\n');
        self.lines.push(BTreeSet::new());
    }

    /// Writes a value behind its key or dash; of one in a list, and of a whole object, the first
    /// entry is on the same line.
    fn value(&mut self, value: &Value, path: &mut Place, depth: usize, is_inline: bool) {
        let entries: Vec<(String, &Value)> = match value {
            Value::Object(fields) if !fields.is_empty() => {
                fields.iter().map(|(key, value)| (key.clone(), value)).collect()
            }
            Value::Array(items) if !items.is_empty() => {
                items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect()
            }
            scalar => {
                let _ = write!(self.text, " {scalar}");
                return self.end();
            }
        };
        let is_list = value.is_array();
        if !is_inline {
            self.end();
        }
        for (number, (key, value)) in entries.into_iter().enumerate() {
            let indent = if is_inline && number == 0 { String::new() } else { "  ".repeat(depth) };
            let written = Value::String(key.clone());
            match is_list {
                true => write!(self.text, "{indent}-{}", if is_empty(value) { "" } else { " " }).unwrap(),
                false => write!(self.text, "{indent}{written}:").unwrap(),
            }
            path.push(key);
            self.mark(path);
            self.value(value, path, depth + 1, is_list);
            path.pop();
        }
    }

    /// The line of a part, or of the nearest one around it.
    fn line(&self, path: &[String]) -> usize {
        let line = |n: usize| self.lines.iter().position(|line| line.contains(&path[..n]));
        (1..=path.len()).rev().find_map(line).map_or(0, |at| at + 1)
    }
}

/// All objects as one file, and the first line of each.
fn file(objects: &[Value]) -> (String, Vec<(usize, Written)>) {
    let (mut text, mut all, mut line) = (String::new(), Vec::new(), 0);
    for object in objects {
        text.push_str("---\n");
        line += 1;
        let written = Written::of(object);
        all.push((line, Written { text: String::new(), ..written }));
        line += written.text.lines().count();
        text.push_str(&written.text);
    }
    (text, all)
}

/// A path as results name it, `spec.containers[0].image`: keys may have dots, of which the longest
/// counts that the object has.
fn parts(path: &str, object: &Value) -> Place {
    let words = Regex::new(r#"[^.\[\]]+"#).unwrap();
    let words: Vec<std::ops::Range<usize>> = words.find_iter(path).map(|word| word.range()).collect();
    let (mut out, mut first) = (Place::new(), 0);
    while let Some(word) = words.get(first) {
        let key = |last: usize| &path[word.start..words[last].end];
        let has = |last: &usize| at(object, &[out.as_slice(), &[key(*last).to_string()]].concat()).is_some();
        let last = (first..words.len()).rev().find(has);
        // What is missing may be one key with dots.
        let is_key = |text: &str| text.contains('/') && !text.contains('[');
        let last = last.or_else(|| is_key(key(words.len() - 1)).then_some(words.len() - 1)).unwrap_or(first);
        out.push(key(last).to_string());
        first = last + 1;
    }
    out
}

fn at<'v>(object: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(object, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        other => other.get(part),
    })
}

/// The object with another value at a path, or without it.
fn altered(object: &Value, path: &[String], to: Option<&Value>) -> Option<Value> {
    let (last, around) = path.split_last()?;
    let mut out = object.clone();
    let mut part = &mut out;
    for key in around {
        if !part.is_array() && !part.is_object() {
            *part = json!({});
        }
        part = match part {
            Value::Array(items) => {
                let index: usize = key.parse().ok()?;
                items.get_mut(index)?
            }
            Value::Object(fields) => fields.entry(key.clone()).or_insert_with(|| json!({})),
            _ => return None,
        };
    }
    match (&mut *part, to) {
        (Value::Array(items), Some(to)) => *items.get_mut(last.parse::<usize>().ok()?)? = to.clone(),
        (Value::Array(items), None) => {
            let index: usize = last.parse().ok()?;
            (index < items.len()).then(|| items.remove(index))?;
        }
        (Value::Object(fields), Some(to)) => {
            fields.insert(last.clone(), to.clone());
        }
        (Value::Object(fields), None) => {
            fields.remove(last)?;
        }
        (_, Some(to)) => *part = json!({ last: to }),
        (_, None) => return None,
    }
    (out != *object).then_some(out)
}

/// All values of an object that have none below them, without those that say which rules are about
/// it.
fn leaves(value: &Value, path: &mut Place, out: &mut Vec<Place>) {
    let below: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    let name: Vec<&str> = path.iter().map(String::as_str).collect();
    if below.is_empty() && !matches!(name[..], ["apiVersion" | "kind"] | ["metadata", "name" | "namespace"]) {
        out.push(path.clone());
    }
    for (key, value) in below {
        path.push(key);
        leaves(value, path, out);
        path.pop();
    }
}

/// The constants of the policies: what a value may have to be.
fn constants(policies: &[PathBuf]) -> Vec<Value> {
    let quoted = Regex::new(r#"'([^'\n]{0,40})'|"([^"\n]{0,40})""#).unwrap();
    let mut out = BTreeSet::new();
    let mut all = Vec::new();
    for document in policies.iter().flat_map(|path| documents(path)) {
        let mut paths = Vec::new();
        leaves(&document["spec"], &mut Place::new(), &mut paths);
        for value in paths.iter().filter_map(|path| at(&document["spec"], path)) {
            let mut add = |value: Value| {
                let is_new = out.insert(value.to_string());
                let is_short = value.as_str().is_none_or(|text| text.len() <= 40 && !text.contains("{{"));
                all.extend((is_new && is_short).then_some(value));
            };
            if let Some(text) = value.as_str() {
                for found in quoted.captures_iter(text) {
                    add(found.get(1).or(found.get(2)).unwrap().as_str().into());
                }
                text.split(['|', '&']).map(|word| word.trim().trim_start_matches('!')).for_each(|word| {
                    add(word.replace(['*', '?'], "a").into());
                });
            }
            add(value.clone());
        }
    }
    all.truncate(40);
    all
}

/// The values of an object that have none below them.
fn values_of(object: &Value) -> Vec<Value> {
    let mut paths = Vec::new();
    leaves(object, &mut Place::new(), &mut paths);
    let all: BTreeMap<String, Value> = paths
        .iter()
        .filter_map(|path| at(object, path))
        .map(|value| (value.to_string(), value.clone()))
        .collect();
    all.into_values().take(30).collect()
}

/// The words of the policies that may be names of fields.
fn words(policies: &[PathBuf]) -> BTreeSet<String> {
    let word = Regex::new(r"\b[a-z][A-Za-z]{2,30}(?:\.[a-z.]+/[a-z]+)?\b").unwrap();
    let texts = policies.iter().flat_map(std::fs::read_to_string);
    // Where signed objects have their manifest, which policies do not name.
    let domains = Regex::new(r"annotationDomain: *(\S+)").unwrap();
    let texts = texts.flat_map(|text| {
        let own = domains.captures_iter(&text).map(|found| format!("{}/message", &found[1]));
        own.chain([text.clone()]).collect::<Vec<_>>()
    });
    let texts = texts.chain(["cosign.sigstore.dev/message".to_string()]);
    texts
        .flat_map(|text| word.find_iter(&text).map(|found| found.as_str().to_string()).collect::<Vec<_>>())
        .collect()
}

/// What a failure's status and message are, by object, policy and rule.
type Results = BTreeMap<(usize, String, String), (String, String)>;

struct Measure<'s> {
    sample: &'s Sample,
    /// The names of fields that the policies hold.
    words: BTreeSet<String>,
    files: Files,
}

impl Measure<'_> {
    /// The results on objects, with the marks of the failures.
    fn run(&self, objects: &[Value]) -> (Results, Vec<Failure>, Vec<(usize, Written)>) {
        let (text, written) = file(objects);
        self.files.write("objects.yaml", text.as_bytes());
        let policies: Vec<String> = self.sample.policies.iter().map(|p| p.display().to_string()).collect();
        let mut args = vec!["apply"];
        args.extend(policies.iter().map(String::as_str));
        args.extend(["-r", "objects.yaml", "--output-format", "json", "--threads", "1"]);
        args.extend(self.sample.more.iter().map(String::as_str));
        let ran = self.files.run(&args);
        let report: Value = serde_json::from_str(&ran.out).unwrap_or_default();
        let (mut results, mut failures) = (Results::new(), Vec::new());
        for result in report["results"].as_array().into_iter().flatten() {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
            let line = result["place"]["line"].as_u64().unwrap_or_default() as usize;
            // A result without a violation stands at the line of the document, and one about what
            // is missing elsewhere at no line.
            let of_line = written.iter().rposition(|(first, _)| *first <= line);
            let own = &result["resource"];
            let is_own =
                |object: &&Value| object["kind"] == own["kind"] && object["metadata"]["name"] == own["name"];
            let of_name = || objects.iter().position(|object| is_own(&object));
            let Some(object) = of_line.or_else(of_name) else { continue };
            let status = text(&result["result"]);
            let message = text(&result["message"]);
            let key = (object, text(&result["policy"]), text(&result["rule"]));
            results.insert(key.clone(), (status.clone(), message.clone()));
            if matches!(&*status, "fail" | "error" | "warn") {
                failures.push(Failure {
                    object,
                    policy: key.1,
                    rule: key.2,
                    status,
                    message,
                    field: result["field"].as_str().map(|path| parts(path, &objects[object])),
                    line: line.saturating_sub(written[object].0),
                });
            }
        }
        (results, failures, written)
    }

    /// The marks of all failures.
    fn judged(&self) -> Vec<(Failure, Judgement)> {
        let objects = &self.sample.objects;
        // What a policy changes before others read it is not what the experiments change.
        let is_mutation = |policy: &PathBuf| {
            documents(policy).iter().any(|document| document["spec"].to_string().contains("\"mutate\":"))
        };
        if self.sample.policies.iter().any(is_mutation) {
            return Vec::new();
        }
        let (_, failures, written) = self.run(objects);
        let of_policies = constants(&self.sample.policies);
        let mut out = Vec::new();
        for failure in failures {
            let written = &written[failure.object].1;
            let mut constants = of_policies.clone();
            constants.extend(values_of(&objects[failure.object]));
            let object = &objects[failure.object];
            let mut paths = paths_of_message(&failure.message, object);
            if paths.is_empty()
                && matches!(&*form(self.sample, &failure), "verifyImages" | "ImageValidatingPolicy")
            {
                paths = images_of_message(&failure.message, object);
            }
            let judgement = match paths {
                paths if !paths.is_empty() => by_message(&failure, written, &paths),
                _ => self.by_experiment(&failure, written, &constants),
            };
            out.push((failure, judgement));
        }
        out
    }

    /// Whether another value at the mark changes the result.
    fn by_experiment(&self, failure: &Failure, written: &Written, constants: &[Value]) -> Judgement {
        let object = &self.sample.objects[failure.object];
        let name = written.line(&["metadata".into(), "name".into()]);
        // A field that the root of the object does not have is marked at its name.
        let line = match failure.field.as_deref().map_or(0, |field| written.line(field)) {
            0 => name,
            line => line,
        };
        let shown = failure.field.as_ref().map(|field| field.join("/")).unwrap_or_default();
        if failure.line != line && failure.field.is_some() {
            return Judgement::Wrong(format!("line {} is not that of {shown}", failure.line));
        }
        let mut values: Vec<Value> = vec![
            json!("zz"),
            json!(""),
            json!(0),
            json!(1_000_000),
            json!(true),
            json!(false),
            json!({}),
            json!([]),
            json!(["zz"]),
            json!([{}]),
        ];
        let number_of_usual = values.len();
        values.extend(constants.iter().cloned());
        values.extend(failure.field.iter().flat_map(|field| self.values_at(field)));
        let with = |path: &[String], values: &[Value]| -> Vec<Value> {
            let others = std::iter::once(None).chain(values.iter().map(Some));
            others.filter_map(|to| altered(object, path, to)).collect()
        };
        let Some(field) = &failure.field else {
            let mut paths = Vec::new();
            leaves(object, &mut Place::new(), &mut paths);
            let few = &values[..number_of_usual.min(7)];
            for path in paths.iter().take(80) {
                let changed = self.changes(failure, with(path, few), false);
                if let Some(changed) = changed {
                    return Judgement::Wrong(format!(
                        "nothing is marked, but {} decides: {changed}",
                        path.join("/")
                    ));
                }
            }
            return Judgement::Nothing;
        };
        // What is missing below the mark has no line of its own.
        let with_more = || -> Vec<Value> {
            let is_map = at(object, field).is_some_and(Value::is_object);
            let keys = self
                .words
                .iter()
                .filter(|_| is_map)
                .map(|key| [field.as_slice(), std::slice::from_ref(key)].concat());
            keys.flat_map(|path| with(&path, &values[..number_of_usual])).collect()
        };
        // Where several parts are wrong, another value of one of them changes nothing: the others
        // are left out.
        let of_alone = || {
            let is_item = |depth: &usize| at(object, &field[..*depth]).is_some_and(Value::is_array);
            let replacements = match (0..field.len()).rfind(is_item) {
                Some(depth) => self.values_at(&field[..=depth]),
                None => Vec::new(),
            };
            std::iter::once(json!({})).chain(replacements).find_map(|before| {
                let alone = self.alone(failure, field, &before);
                let others = std::iter::once(None).chain(values.iter().map(Some));
                let all = others.filter_map(|to| altered(&alone, field, to)).collect();
                self.changes_of(&alone, failure, all, true)
            })
        };
        if self.changes(failure, with(field, &values), true).is_none()
            && self.changes(failure, with_more(), true).is_none()
            && of_alone().is_none()
        {
            return Judgement::Wrong(format!("{shown} has no influence"));
        }
        // Of what is marked one part alone decides: that should be marked.
        let below: Vec<String> = match at(object, field) {
            Some(Value::Object(fields)) => fields.keys().cloned().collect(),
            Some(Value::Array(items)) => (0..items.len()).map(|at| at.to_string()).collect(),
            _ => Vec::new(),
        };
        let decides = |key: &&String| {
            let path: Place = field.iter().chain([*key]).cloned().collect();
            self.changes(failure, with(&path, &values[..number_of_usual]), false).is_some()
        };
        let deciding: Vec<&String> =
            if below.len() > 1 { below.iter().filter(decides).collect() } else { Vec::new() };
        match deciding[..] {
            // Unless it is the lack of another part.
            [_] if self.changes(failure, with_more(), false).is_some() => Judgement::Right,
            [only] => Judgement::Wrong(format!("of {shown} {only} alone decides")),
            _ => Judgement::Right,
        }
    }

    /// Whether the rule says something else about one of the objects than about the first: another
    /// status, or another message, too.
    fn changes(&self, failure: &Failure, objects: Vec<Value>, with_message: bool) -> Option<String> {
        self.changes_of(&self.sample.objects[failure.object], failure, objects, with_message)
    }

    /// What stands at a path in the objects of the sample, whatever the positions in lists: values
    /// that objects without the violation have.
    fn values_at(&self, path: &[String]) -> Vec<Value> {
        fn of<'v>(value: &'v Value, path: &[String], out: &mut Vec<&'v Value>) {
            let Some((first, rest)) = path.split_first() else { return out.push(value) };
            match value {
                Value::Array(items) => items.iter().for_each(|item| of(item, rest, out)),
                other => other.get(first).into_iter().for_each(|below| of(below, rest, out)),
            }
        }
        let mut found = Vec::new();
        self.sample.objects.iter().for_each(|object| of(object, path, &mut found));
        let all: BTreeMap<String, &Value> =
            found.into_iter().map(|value| (value.to_string(), value)).collect();
        all.into_values().take(20).cloned().collect()
    }

    /// The object without what can be left out, but for a field and what is around it, so that the
    /// rule says the same. Another item stands instead of those before the marked one, which would
    /// move without them.
    fn alone(&self, failure: &Failure, field: &[String], before: &Value) -> Value {
        let object = &self.sample.objects[failure.object];
        let mut without: Vec<(Place, Option<Value>)> = Vec::new();
        for depth in 0..field.len() {
            let around = &field[..depth];
            let (others, is_list): (Vec<String>, bool) = match at(object, around) {
                Some(Value::Object(fields)) => (fields.keys().cloned().collect(), false),
                Some(Value::Array(items)) => ((0..items.len()).map(|at| at.to_string()).collect(), true),
                _ => break,
            };
            for other in others.iter().rev().filter(|key| **key != field[depth]) {
                let path: Place = around.iter().chain([other]).cloned().collect();
                let is_name = path.join("/") == "metadata/name";
                let is_before = is_list && other.parse::<usize>().ok() < field[depth].parse().ok();
                without.extend((!is_name).then(|| (path, is_before.then(|| before.clone()))));
            }
        }
        let says_the_same = |objects: &[Value]| -> Vec<bool> {
            let found = self.results_of(object, failure, objects);
            let own = |found: &Option<(String, String)>| {
                found
                    .as_ref()
                    .is_some_and(|(status, message)| *status == failure.status && *message == failure.message)
            };
            found.iter().map(own).collect()
        };
        let less = |object: &Value, (path, to): &(Place, Option<Value>)| {
            altered(object, path, to.as_ref()).unwrap_or_else(|| object.clone())
        };
        let each: Vec<Value> = without.iter().map(|one| less(object, one)).collect();
        let is_free = says_the_same(&each);
        let free: Vec<_> =
            without.iter().zip(is_free).filter(|(_, is_free)| *is_free).map(|(one, _)| one).collect();
        // All of them, or as many as can go together.
        let firsts: Vec<Value> = (1..=free.len())
            .map(|n| free[..n].iter().fold(object.clone(), |object, one| less(&object, one)))
            .collect();
        let last = says_the_same(&firsts).iter().rposition(|same| *same);
        last.map_or_else(|| object.clone(), |at| firsts[at].clone())
    }

    /// What the rule says of objects that have other names than `own`, in whose text its name
    /// stands instead.
    fn results_of(&self, own: &Value, failure: &Failure, objects: &[Value]) -> Vec<Option<(String, String)>> {
        let name = own["metadata"]["name"].as_str().unwrap_or_default();
        let renamed = |(at, object): (usize, &Value)| {
            let mut object = object.clone();
            if object["metadata"]["name"].is_string() {
                object["metadata"]["name"] = format!("{name}-v{at}").into();
            }
            object
        };
        let all: Vec<Value> = objects.iter().enumerate().map(renamed).collect();
        if all.is_empty() {
            return Vec::new();
        }
        let (results, ..) = self.run(&all);
        let of = |at: usize| {
            let found = results.get(&(at, failure.policy.clone(), failure.rule.clone()))?;
            Some((found.0.clone(), found.1.replace(&format!("{name}-v{at}"), name)))
        };
        (0..all.len()).map(of).collect()
    }

    fn changes_of(
        &self,
        own: &Value,
        failure: &Failure,
        objects: Vec<Value>,
        with_message: bool,
    ) -> Option<String> {
        if objects.is_empty() {
            return None;
        }
        // Two objects of one name are one: each has another name, and the text of the message
        // counts without it.
        let all: Vec<Value> = std::iter::once(own).chain(&objects).cloned().collect();
        let mut results = self.results_of(own, failure, &all);
        let usual = results.remove(0).filter(|(status, _)| *status == failure.status);
        if usual.is_none() {
            // The name decides: one after the other.
            let one = |object: &Value| {
                let (results, ..) = self.run(std::slice::from_ref(object));
                results.get(&(0, failure.policy.clone(), failure.rule.clone())).cloned()
            };
            results = objects.iter().take(30).map(one).collect();
        }
        let usual = usual.unwrap_or((failure.status.clone(), failure.message.clone()));
        let is_other = |(status, message): &(String, String)| {
            // What decides whether the rule is evaluated is not what it is about.
            let is_of_rule = status != "skip" && !message.contains("preconditions");
            is_of_rule && (*status != usual.0 || with_message && *message != usual.1)
        };
        let found = results.into_iter().flatten().find(is_other)?;
        Some(format!("{} {}", found.0, found.1))
    }
}

/// The paths of the images that a message names.
fn images_of_message(message: &str, object: &Value) -> Vec<Place> {
    let mut paths = Vec::new();
    leaves(object, &mut Place::new(), &mut paths);
    let is_named = |path: &Place| {
        let image = at(object, path)
            .and_then(Value::as_str)
            .filter(|_| path.last().is_some_and(|key| key == "image"));
        image.is_some_and(|image| message.contains(image.split('@').next().unwrap_or(image)))
    };
    paths.retain(is_named);
    paths
}

/// The paths that a message of Kyverno names.
fn paths_of_message(message: &str, object: &Value) -> Vec<Place> {
    let pattern = Regex::new(r"at path (/\S*/)(?:\s|$|\.|;)").unwrap();
    let slashes = |found: &str| found.split('/').filter(|part| !part.is_empty()).map(String::from).collect();
    let paths: Vec<Place> = pattern.captures_iter(message).map(|found| slashes(&found[1])).collect();
    // Keys of labels and annotations have slashes themselves, and those of elements begin in them.
    let is_whole = |path: &&Place| {
        path.first()
            .is_some_and(|first| object.get(first).is_some() || matches!(&**first, "metadata" | "spec"))
    };
    let mut paths: Vec<Place> = paths.iter().filter(is_whole).cloned().collect();
    // The annotation with the signed manifest is missing, whatever its domain.
    if message.contains("YAML manifest not found for this resource: message not found") {
        paths.push(["metadata", "annotations", "cosign.sigstore.dev/message"].map(String::from).to_vec());
    }
    paths
}

fn by_message(failure: &Failure, written: &Written, paths: &[Place]) -> Judgement {
    // Where nothing of a path is there, the nearest part is the object, which its name stands for.
    let name = written.line(&["metadata".to_string(), "name".to_string()]);
    let line = |path: &Place| match written.line(&joined(written, path)) {
        0 => name,
        line => line,
    };
    let lines: Vec<usize> = paths.iter().map(line).collect();
    match lines.contains(&failure.line) {
        true => Judgement::Right,
        false => Judgement::Wrong(format!("line {} is marked, not {lines:?} of {paths:?}", failure.line)),
    }
}

/// A path of a message whose keys may have slashes: the longest key that the object has.
fn joined(written: &Written, path: &[String]) -> Place {
    let known: BTreeSet<&Place> = written.lines.iter().flatten().collect();
    let mut out = Place::new();
    let mut rest = path;
    while !rest.is_empty() {
        let longest = (1..=rest.len()).rev().find(|n| {
            let mut longer = out.clone();
            longer.push(rest[..*n].join("/"));
            known.contains(&longer)
        });
        let n = longest.unwrap_or(1);
        out.push(rest[..n].join("/"));
        rest = &rest[n..];
    }
    out
}

/// The form of the rule that failed: the key of what it checks.
fn form(sample: &Sample, failure: &Failure) -> String {
    let name = failure.rule.trim_start_matches("autogen-").trim_start_matches("cronjob-");
    for document in sample.policies.iter().flat_map(|path| documents(path)) {
        if document["metadata"]["name"].as_str() != failure.policy.rsplit('/').next() {
            continue;
        }
        let rules = document["spec"]["rules"].as_array().cloned().unwrap_or_default();
        let Some(rule) = rules.iter().find(|rule| rule["name"].as_str() == Some(name)) else {
            return document["kind"].as_str().unwrap_or_default().to_string();
        };
        let is = |value: &Value, key: &str| value.get(key).is_some();
        let keys = ["pattern", "anyPattern", "deny", "podSecurity", "cel", "manifests", "assert"];
        let of = |value: &Value| keys.iter().find(|key| is(value, key)).map(ToString::to_string);
        if let Some(each) = rule["validate"]["foreach"].get(0) {
            return format!("foreach {}", of(each).unwrap_or_else(|| "foreach".into()));
        }
        let kinds = ["mutate", "generate", "verifyImages"];
        let of_kind = || kinds.iter().find(|key| is(rule, key)).map(ToString::to_string);
        return of(&rule["validate"]).or_else(of_kind).unwrap_or_default();
    }
    "?".into()
}

/// How many marks of failures are right, with those that are not, by form.
fn measured(samples: &[Sample]) -> (usize, usize, String) {
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let next = std::sync::atomic::AtomicUsize::new(0);
    let found = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let Some(sample) = samples.get(at) else { break };
                    let measure = Measure { sample, words: words(&sample.policies), files: Files::new(&[]) };
                    for (failure, judgement) in measure.judged() {
                        found.lock().unwrap().push((at, form(sample, &failure), failure, judgement));
                    }
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap();
    found.sort_by_key(|(at, _, failure, _)| (*at, failure.object));
    let mut counts: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    let mut list = String::new();
    for (at, form, failure, judgement) in &found {
        let count = counts.entry(form.clone()).or_default();
        match judgement {
            Judgement::Right => count[0] += 1,
            Judgement::Nothing => count[1] += 1,
            Judgement::Wrong(why) => {
                count[2] += 1;
                let Failure { policy, rule, status, message, .. } = failure;
                let name = &samples[*at].objects[failure.object]["metadata"]["name"];
                let _ = writeln!(
                    list,
                    "{form}: {}: {policy}/{rule} on {name}: {status}: {why}\n    {message}",
                    samples[*at].name
                );
            }
        }
    }
    let wrong: usize = counts.values().map(|count| count[2]).sum();
    let right: usize = counts.values().map(|count| count[0]).sum();
    for (form, [right, nothing, wrong]) in &counts {
        let _ = writeln!(
            list,
            "{form:24} {right:5} right, {nothing:4} about nothing in the object, {wrong:4} wrong"
        );
    }
    let _ = writeln!(list, "{} failures, {right} marked right, {wrong} wrong", found.len());
    (right, wrong, list)
}

/// At least this many of a hundred marks are right.
fn assert_right(samples: &[Sample], least: usize) {
    let (right, wrong, list) = measured(samples);
    eprintln!("{list}");
    assert!(right > 0 && right * 100 >= (right + wrong) * least, "{list}");
}

/// Each `step`-th sample; `EPHOR_PLACES_STEP=1` takes all, which is some minutes of work.
fn some(samples: Vec<Sample>, step: usize) -> Vec<Sample> {
    let given = std::env::var("EPHOR_PLACES_STEP").ok().and_then(|step| step.parse().ok());
    samples.into_iter().step_by(given.unwrap_or(step)).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn marks_are_at_what_the_messages_are_about_in_our_own_corpora() {
    let scratch = tempfile::tempdir().unwrap();
    let mut samples = tests_of(&root().join("policies"));
    samples.extend(cases(&root().join("conformance/cases"), scratch.path()));
    assert_right(&some(samples, 3), 99);
}

#[test]
fn marks_are_at_what_the_messages_are_about_in_the_public_suites() {
    let suites = ["kyverno-policies", "kyverno-cli"].into_iter();
    let mut samples: Vec<Sample> = suites
        .filter_map(|suite| data::recorded(suite).unwrap())
        .flat_map(|suite| tests_of(&suite))
        .collect();
    if samples.is_empty() {
        return;
    }
    // Images of registries cannot be read.
    samples.retain(|sample| !sample.name.contains("/registry/"));
    assert_right(&some(samples, 8), 99);
}
