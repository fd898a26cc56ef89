//! `ephor diff`: whether policies mean the same.

use std::fmt::Write;

use clap::{ValueEnum, ValueHint};
use serde_json::{Value as Json, json};

use ephor_compare::{
    Answer, Comparison, Difference, DifferenceKind, Effect, Judgement, Options, Pair, Side, Universe,
    compare, pairs,
};
use ephor_document::json::to_serde;
use ephor_document::write::{Style, to_string};
use ephor_policies::load::{self, Policies};
use ephor_sources::files;
use ephor_value::parallel;

use super::Error;

/// Says whether policies mean the same, or shows the smallest objects on which they differ
///
/// Each policy of OLD is compared with the one of its name in NEW, whatever the kinds of both; with one policy on each
/// side, these two. Both are evaluated on an object for every combination of what they can distinguish. When they agree
/// on all of these they are equal, proved for every object. Where something cannot be enumerated the answer is "tested",
/// with the reason. Violations are compared whatever the policies' actions; deletions, and objects that exist in files
/// only, are differences of their own.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # a ClusterPolicy and what was written in its place
  ephor diff old.yaml new.yaml

  # all policies of two folders, as a comment of a merge request
  ephor diff old/ new/ --output-format markdown

  # fail only where the new policies allow more, and store the objects
  ephor diff old/ new/ --fail-on weaker --out differences/

Exit codes:
  0  no difference that --fail-on names
  1  there is one
  2  a side cannot be read, or not be compared")]
pub struct Args {
    /// file or folder with the old policies
    #[arg(value_name = "OLD", value_hint = ValueHint::AnyPath)]
    old: String,
    /// file or folder with the new ones
    #[arg(value_name = "NEW", value_hint = ValueHint::AnyPath)]
    new: String,
    /// differences with which the exit code is 1
    #[arg(long, value_name = "DIFFERENCE", default_value = "any")]
    fail_on: FailOn,
    /// form of the answer
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    output_format: Format,
    /// folder for the objects on which policies differ, one file each
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<String>,
    /// most objects that are evaluated for one rule
    #[arg(long, value_name = "NUMBER", default_value_t = Options::default().objects)]
    objects: usize,
}

/// Differences with which the exit code is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// The new policy allows what the old one denies
    Weaker,
    /// The new policy denies what the old one allows
    Stricter,
    /// Any difference in clusters
    Any,
    /// Any difference, also in files only, or equality that is not proved
    Tested,
}

/// The forms of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines and manifests, for people
    Text,
    /// One object
    Json,
    /// For pull requests
    Markdown,
}

/// The answer about a pair.
struct Answered {
    name: String,
    found: Result<Comparison, String>,
    /// The files of the objects, in the order of the differences.
    files: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// A side cannot be read or used.
pub fn run(args: &Args) -> Result<i32, Error> {
    let side = |path: &str| load(path).map_err(|cause| Error::Diff(Box::new(cause)));
    let (old, new) = (side(&args.old)?, side(&args.new)?);
    let options = Options { objects: args.objects.max(1), ..Options::default() };
    let pairs = pairs(&old, &new);
    let answer = |pair: &Pair| {
        Ok::<_, Error>(Answered {
            name: pair.name.clone(),
            found: of_pair(pair, options)?,
            files: Vec::new(),
        })
    };
    let found: Vec<Result<Answered, Error>> = parallel::map(&pairs, answer);
    let found: Result<Vec<Answered>, Error> = found.into_iter().collect();
    let mut found = found.map_err(|cause| Error::Diff(Box::new(cause)))?;
    if let Some(folder) = &args.out {
        write_objects(folder, &mut found)?;
    }
    super::print(&match args.output_format {
        Format::Text => text(&found, false),
        Format::Markdown => text(&found, true),
        Format::Json => serde_json::to_string_pretty(&json_of(&found))? + "\n",
    });
    let is_incomparable = |a: &Answered| match &a.found {
        Ok(found) => matches!(found.answer, Answer::Incomparable(_)),
        Err(_) => false,
    };
    if found.iter().any(|a| fails(a, args.fail_on)) {
        return Ok(1);
    }
    Ok(if found.iter().any(is_incomparable) { 2 } else { 0 })
}

/// The policies of a file or folder.
fn load(path: &str) -> Result<Policies, Error> {
    super::explain::exists(path)?;
    let loaded = files::policies(&[path.to_string()]);
    let policies = load::argument_for(&loaded.sources, load::Reader::Scan);
    if policies.policies.is_empty() {
        return Err(Error::NoPolicyFound { arguments: path.to_string(), causes: Vec::new() });
    }
    Ok(policies)
}

/// The comparison of a pair, or which side has no policy of the name.
fn of_pair(pair: &Pair, options: Options) -> Result<Result<Comparison, String>, Error> {
    match (&pair.old, &pair.new) {
        (Some(old), Some(new)) => {
            let (old, new) = (Side::new(old.clone(), &pair.name)?, Side::new(new.clone(), &pair.name)?);
            Ok(Ok(compare(&old, &new, options)))
        }
        (Some(_), None) => Ok(Err("only in the old policies".into())),
        _ => Ok(Err("only in the new policies".into())),
    }
}

fn fails(answered: &Answered, on: FailOn) -> bool {
    let Ok(found) = &answered.found else {
        let is_removed = answered.found.as_ref().is_err_and(|why| why.contains("old"));
        return match on {
            FailOn::Weaker => is_removed,
            FailOn::Stricter => !is_removed,
            FailOn::Any | FailOn::Tested => true,
        };
    };
    let has = |is_such: fn(&Difference) -> bool| {
        found.differences.iter().any(|d| is_such(d) && d.universe != Universe::Files)
    };
    match on {
        FailOn::Weaker => has(Difference::is_weaker),
        FailOn::Stricter => has(Difference::is_stricter),
        FailOn::Any => found.answer == Answer::Differs,
        FailOn::Tested => !is_proved(&found.answer) || !found.differences.is_empty(),
    }
}

/// Writes each object to a file of its own.
fn write_objects(folder: &str, found: &mut [Answered]) -> Result<(), Error> {
    let io = |path: &str, cause: std::io::Error| Error::File { path: path.into(), cause };
    std::fs::create_dir_all(folder).map_err(|cause| io(folder, cause))?;
    for answered in found {
        let Ok(comparison) = &answered.found else { continue };
        for (at, difference) in comparison.differences.iter().enumerate() {
            let name = answered.name.replace('/', "_");
            let path = format!("{folder}/{name}-{}.yaml", at + 1);
            super::write_whole(&path, &to_string(&difference.object, Style::Block))?;
            answered.files.push(path);
        }
    }
    Ok(())
}

fn text(found: &[Answered], markdown: bool) -> String {
    let mut out = String::new();
    for answered in found {
        let (name, bold) = (&answered.name, if markdown { "**" } else { "" });
        let comparison = match &answered.found {
            Ok(comparison) => comparison,
            Err(why) => {
                let _ = writeln!(out, "{}{bold}{name}{bold}: {why}", if markdown { "- " } else { "" });
                continue;
            }
        };
        let _ =
            writeln!(out, "{}{bold}{name}{bold}: {}", if markdown { "- " } else { "" }, headline(comparison));
        for (at, difference) in comparison.differences.iter().enumerate() {
            of_difference(&mut out, difference, answered.files.get(at), markdown);
        }
        if let Some(side) = comparison.existing {
            let _ = writeln!(
                out,
                "  the {side} policy alone allows updates of objects that are violations already"
            );
        }
    }
    let _ = writeln!(out, "{}", summary(found));
    out
}

/// The answer about a pair in one line.
fn headline(comparison: &Comparison) -> String {
    let counted = format!("{} objects of {}", comparison.objects, kinds(comparison));
    let files = match comparison.differences.iter().filter(|d| d.universe == Universe::Files).count() {
        0 => String::new(),
        _ => "; different in files".into(),
    };
    match &comparison.answer {
        Answer::Proved if files.is_empty() => format!("equal, proved ({counted})"),
        Answer::Proved => format!("equal in clusters, proved ({counted}){files}"),
        Answer::ProvedRelative(to) => {
            format!("equal, proved relative to {} ({counted}){files}", to.join(", "))
        }
        Answer::Tested(why) => format!("no difference in {counted}, tested ({}){files}", why.join("; ")),
        Answer::Incomparable(why) => format!("not compared: {why}"),
        Answer::Differs => {
            let mut kinds: Vec<&str> = Vec::new();
            for difference in comparison.differences.iter().filter(|d| d.universe != Universe::Files) {
                if !kinds.contains(&difference.kind.name()) {
                    kinds.push(difference.kind.name());
                }
            }
            format!("differs: {}", kinds.join(", "))
        }
    }
}

fn is_proved(answer: &Answer) -> bool {
    matches!(answer, Answer::Proved | Answer::ProvedRelative(_))
}

fn kinds(comparison: &Comparison) -> String {
    match &*comparison.kinds {
        [] => "no kind".into(),
        [one] => one.clone(),
        [first, second] => format!("{first} and {second}"),
        [first, rest @ ..] => format!("{first} and {} other kinds", rest.len()),
    }
}

fn of_difference(out: &mut String, difference: &Difference, file: Option<&String>, markdown: bool) {
    let what = match difference.kind {
        DifferenceKind::Weaker => "no violation where there was one",
        DifferenceKind::Stricter => "a violation where there was none",
        DifferenceKind::Action => {
            let [old, new] = difference.effects().map(Effect::name);
            &*format!("the request was {old}, and is {new} now")
        }
        DifferenceKind::Result => "the results are not the same",
        DifferenceKind::Errors => {
            "denies because of an error where there was a violation, or the other way round"
        }
    };
    let at = format!("{}, {}: {what}", difference.environment.name(), difference.universe.name());
    let _ = writeln!(out, "{}{at}", if markdown { "  - " } else { "  " });
    let manifest = to_string(&difference.object, Style::Block);
    let indent = "    ";
    if markdown {
        let _ = writeln!(out, "\n{indent}```yaml");
    }
    for line in manifest.lines() {
        let _ = writeln!(out, "{indent}{line}");
    }
    if markdown {
        let _ = writeln!(out, "{indent}```\n");
    }
    for (side, judgement) in [("old", &difference.old), ("new", &difference.new)] {
        let _ = writeln!(out, "{indent}{side}  {}", said(judgement));
    }
    if let Some(file) = file {
        let _ = writeln!(out, "{indent}reproduce: ephor apply POLICY -r {file}");
    }
}

fn said(judgement: &Judgement) -> String {
    let Some((policy, rule)) = &judgement.by else { return "does not apply".into() };
    if !judgement.verdict.is_violation() {
        return judgement.verdict.name().to_string();
    }
    let rule = if rule.is_empty() { String::new() } else { format!("/{rule}") };
    let message = judgement.message.replace('\n', " ");
    format!("{}  {policy}{rule}: {message}", judgement.verdict.name())
}

/// `37 policies: 21 proved, 3 tested, 4 differ (2 weaker, 1 stricter)`
fn summary(found: &[Answered]) -> String {
    let count = |test: &dyn Fn(&Comparison) -> bool| {
        found.iter().filter(|a| a.found.as_ref().is_ok_and(test)).count()
    };
    let proved = count(&|c| is_proved(&c.answer));
    let tested = count(&|c| matches!(c.answer, Answer::Tested(_)));
    let differ = count(&|c| c.answer == Answer::Differs);
    let not = count(&|c| matches!(c.answer, Answer::Incomparable(_)));
    let single = found.iter().filter(|a| a.found.is_err()).count();
    let mut parts = vec![format!("{proved} proved"), format!("{tested} tested"), format!("{differ} differ")];
    if not > 0 {
        parts.push(format!("{not} not compared"));
    }
    if single > 0 {
        parts.push(format!("{single} on one side only"));
    }
    let policies = if found.len() == 1 { "1 policy".into() } else { format!("{} policies", found.len()) };
    format!("{policies}: {}", parts.join(", "))
}

fn json_of(found: &[Answered]) -> Json {
    let side = |judgement: &Judgement| {
        let (policy, rule) = judgement.by.clone().unwrap_or_default();
        json!({
            "verdict": judgement.verdict.name(), "policy": &*policy, "rule": &*rule, "message": &*judgement.message,
        })
    };
    let difference = |d: &Difference| {
        json!({
            "kind": d.kind.name(), "universe": d.universe.name(), "operation": d.environment.operation,
            "object": to_serde(&d.object), "oldObject": d.old_object.as_ref().map(to_serde),
            "old": side(&d.old), "new": side(&d.new),
        })
    };
    let pairs = found.iter().map(|answered| match &answered.found {
        Err(why) => json!({"name": answered.name, "answer": why}),
        Ok(c) => json!({
            "name": answered.name, "answer": c.answer.name(), "objects": c.objects, "kinds": c.kinds,
            "reasons": match &c.answer {
                Answer::Tested(why) | Answer::ProvedRelative(why) => json!(why),
                Answer::Incomparable(why) => json!([why]),
                Answer::Proved | Answer::Differs => json!([]),
            },
            "allowsExistingViolations": c.existing,
            "differences": c.differences.iter().map(difference).collect::<Vec<_>>(),
        }),
    });
    json!({"policies": pairs.collect::<Vec<_>>()})
}
