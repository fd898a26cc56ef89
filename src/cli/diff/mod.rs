//! `ephor diff`: whether policies mean the same; and what `equivalent` and `implies` share with it.

mod answered;
mod certificates;
mod formats;
mod options;
mod out;
mod replay;
mod rules;
mod sides;
mod text;

use clap::ValueHint;

use ephor_compare::{
    Answer, Certified, Claim, Collector, Difference, Ignored, MOST_WITH_MESSAGES, Mapping, Observer, Options,
    Pair, PairedBy, Side, compare_observed, equivalent, implies, messages, messages_after, pairs,
};
use ephor_document::yaml_value_strict;
use ephor_report::formats as run_formats;
use ephor_value::parallel;

use super::{Error, outputs, progress, use_threads};
use answered::{Answered, Compared, Found, name_place};
pub use options::Common;
use options::{FailOn, Format};
use replay::Replay;
pub use sides::Loaded;

/// The file with differences that are accepted.
const CONFIG: &str = "ephor-diff.yaml";

/// More objects of a pair are not in its certificate.
const MOST_IN_CERTIFICATE: usize = 500_000;

/// Says whether policies mean the same, or shows the smallest objects on which they differ
///
/// Each policy of OLD is compared with the one that takes its place in NEW, whatever the kinds of both: that of --map, that whose annotation
/// `ephor.dev/replaces` names it, that of its name, or the only one with a similar name; with one policy on each side, these two. Both are evaluated
/// on an object for every combination of what they can distinguish. When they agree on all of these they are equal, proved
/// for every object. Where something cannot be enumerated the answer is "tested", with the reason. Violations are compared
/// and what follows from them; deletions, and objects that exist in files only, are differences of their own.
/// `ephor-diff.yaml` in the working folder names differences that are accepted, with reasons.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # a ClusterPolicy and what was written in its place
  ephor diff old.yaml new.yaml

  # all policies of two folders, as a comment of a merge request
  ephor diff old/ new/ --output-format markdown

  # fail only where the new policies allow more, and store the objects with tests
  ephor diff old/ new/ --fail-on weaker --out differences/

  # store what was evaluated, and evaluate it again elsewhere
  ephor diff old/ new/ --certificate equal.json.gz
  ephor diff old/ new/ --check equal.json.gz

Exit codes:
  0  no difference that --fail-on names; the certificate holds
  1  there is one; the certificate does not hold
  2  a side cannot be read, or not be compared")]
pub struct Args {
    /// file or folder with the old policies
    #[arg(value_name = "OLD", value_hint = ValueHint::AnyPath)]
    old: String,
    /// file or folder with the new ones
    #[arg(value_name = "NEW", value_hint = ValueHint::AnyPath)]
    new: String,
    /// YAML file with names of old policies and of those that replace them
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    map: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Differences, pair by pair.
    Diff,
    /// Whether two sets have the same effects.
    Equivalent,
    /// Whether one set denies all that another one denies.
    Implies,
}

impl Question {
    /// The command that answers it.
    pub fn command(self) -> &'static str {
        match self {
            Question::Diff => "diff",
            Question::Equivalent => "equivalent",
            Question::Implies => "implies",
        }
    }

    /// What output calls the sides.
    pub fn labels(self) -> [&'static str; 2] {
        match self {
            Question::Diff => ["old", "new"],
            Question::Equivalent | Question::Implies => ["A", "B"],
        }
    }
}

/// Runs the command.
///
/// # Errors
/// A side cannot be read or used.
pub fn run(args: &Args) -> Result<i32, Error> {
    let all = || {
        let (old, new) = (Loaded::read(&args.old)?, Loaded::read(&args.new)?);
        let (mapping, ignored) = (mapping(args.map.as_deref())?, config(args.common.config.as_deref())?);
        let path = args.map.clone().unwrap_or_default();
        let pairs =
            pairs(&old.policies, &new.policies, &mapping).map_err(|cause| Error::Mapping { path, cause })?;
        let names = [&*args.old, &*args.new];
        let replay = Replay::of(&args.common, Question::Diff, names, args.map.as_deref(), [&old, &new]);
        answer(&args.common, Question::Diff, ([&old, &new], &replay), &pairs, &ignored)
    };
    all().map_err(|cause| Error::Diff(Box::new(cause)))
}

/// Answers a question about two sets, each as a whole.
///
/// # Errors
/// A side cannot be read or used.
pub fn of_sets(common: &Common, question: Question, a: &str, b: &str) -> Result<i32, Error> {
    let all = || {
        let (one, other) = (Loaded::read(a)?, Loaded::read(b)?);
        let word = if question == Question::Implies { "implies" } else { "and" };
        let pair = Pair {
            name: format!("{a} {word} {b}"),
            old: Some(one.policies.clone()),
            new: Some(other.policies.clone()),
            by: PairedBy::Alone,
        };
        let ignored = config(common.config.as_deref())?;
        let replay = Replay::of(common, question, [a, b], None, [&one, &other]);
        answer(common, question, ([&one, &other], &replay), &[pair], &ignored)
    };
    all().map_err(|cause| Error::Diff(Box::new(cause)))
}

/// Which new policies replace which old ones.
fn mapping(path: Option<&str>) -> Result<Mapping, Error> {
    let Some(path) = path else { return Ok(Mapping::default()) };
    let text = std::fs::read_to_string(path).map_err(|cause| Error::File { path: path.into(), cause })?;
    let written = yaml_value_strict(&text).map_err(|cause| Error::Yaml { path: path.into(), cause })?;
    Mapping::of(&written).map_err(|cause| Error::Mapping { path: path.into(), cause })
}

/// The differences that are accepted.
fn config(path: Option<&str>) -> Result<Ignored, Error> {
    let path = match path {
        Some(path) => path,
        None if std::path::Path::new(CONFIG).exists() => CONFIG,
        None => return Ok(Ignored::default()),
    };
    let text = std::fs::read_to_string(path).map_err(|cause| Error::File { path: path.into(), cause })?;
    Ok(Ignored::read(path, &text)?)
}

/// Compares pairs, or checks a certificate of them, and prints what came of it.
fn answer(
    common: &Common,
    question: Question,
    (loaded, replay): ([&Loaded; 2], &Replay),
    pairs: &[Pair],
    ignored: &Ignored,
) -> Result<i32, Error> {
    use_threads(common.threads);
    let named = [("--out", &common.out), ("--certificate", &common.certificate)];
    outputs::distinct(named.into_iter().filter_map(|(flag, path)| Some((flag, path.as_deref()?))))?;
    if let Some(file) = &common.check {
        return certificates::check(file, pairs);
    }
    let (options, records) = (common.options(), common.certificate.is_some());
    let bar = (pairs.len() > 1).then(|| progress::bar(pairs.len(), "policies")).flatten();
    let one = |pair: &Pair| {
        let found = of_pair(pair, question, (options, common.messages), ignored, records);
        if let Some(bar) = &bar {
            bar.set_message(pair.name.clone());
            bar.inc(1);
        }
        found
    };
    let found: Result<Vec<(Answered, Option<Certified>)>, Error> =
        parallel::map(pairs, one).into_iter().collect();
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let (mut found, certified): (Vec<Answered>, Vec<Option<Certified>>) = found?.into_iter().unzip();
    if let Some(file) = &common.certificate {
        certificates::write(file, certified.into_iter().flatten().collect())?;
    }
    if let Some(folder) = &common.out {
        out::write(folder, loaded, &mut found)?;
    }
    let run = || formats::run_of(&found, question);
    super::print(&match common.output_format {
        Format::Text => text::text(&found, question, replay, false),
        Format::Markdown => text::text(&found, question, replay, true),
        Format::Json => serde_json::to_string_pretty(&formats::json_of(&found))? + "\n",
        Format::Sarif => super::whole(run_formats::sarif::write(&run())),
        Format::Github => match run_formats::github::write(&run()) {
            annotations if annotations.is_empty() => text::summary(&found, question) + "\n",
            annotations => annotations,
        },
        Format::Junit => run_formats::junit::write(&run()),
    });
    if found.iter().any(|answered| fails(answered, common.fail_on, question)) {
        return Ok(1);
    }
    let is_incomparable = |answered: &Answered| match &answered.found {
        Found::Compared(compared) => matches!(compared.answer, Answer::Incomparable(_)),
        Found::Only { .. } => false,
    };
    Ok(if found.iter().any(is_incomparable) { 2 } else { 0 })
}

/// The comparison of a pair, or which side has no policy of the name; and its certificate, if it is wanted. `says`: also messages.
fn of_pair(
    pair: &Pair,
    question: Question,
    (options, says): (Options, bool),
    ignored: &Ignored,
    records: bool,
) -> Result<(Answered, Option<Certified>), Error> {
    let name = pair.name.clone();
    let (old, new) = match (&pair.old, &pair.new) {
        (Some(old), Some(new)) => (old, new),
        (one, other) => {
            let load = one.as_ref().or(other.as_ref());
            let place = load.and_then(|load| name_place(load.policies.first()?));
            return Ok((Answered { name, found: Found::Only { is_old: one.is_some(), place } }, None));
        }
    };
    let (before, after) = (Side::new(old.clone(), &name)?, Side::new(new.clone(), &name)?);
    // Messages are compared on the objects of a comparison both ways.
    let shares = says && !records && question != Question::Implies;
    let collector = Collector::new(if shares { MOST_WITH_MESSAGES } else { MOST_IN_CERTIFICATE });
    let observer: Option<&dyn Observer> = (records || shares).then_some(&collector as &dyn Observer);
    let comparison = match question {
        Question::Diff => compare_observed(&before, &after, options, observer),
        Question::Implies => implies(&before, &after, options, observer),
        Question::Equivalent => equivalent(&before, &after, options, observer),
    };
    let (recorded, shared) = if shares { (None, Some(collector)) } else { (Some(collector), None) };
    let certified = match (&comparison.answer, recorded.filter(|_| records)) {
        (Answer::Incomparable(_), _) | (_, None) => None,
        (_, Some(collector)) => {
            let evaluated = collector.into_objects();
            let certified = Certified::of(&name, [&before, &after], &comparison, evaluated);
            Some(certified.map_err(|cause| Error::Certificate { path: name.clone(), cause })?)
        }
    };
    let (reasons, relative_to) = (comparison.reasons.clone(), comparison.relative_to.clone());
    let mut compared = Compared::of(comparison, [&before, &after], [old, new], pair.by);
    // A proof of everything is the same claim, unless it is relative to what the claim takes for
    // granted. The claim cannot come first: it does not distinguish errors from violations, leaves
    // kinds out, and so says less than the answer.
    let is_whole =
        compared.answer == Answer::Proved && compared.existing.is_none() && !before.looks_at_one_key();
    let is_claimed =
        question == Question::Diff && !is_whole && !matches!(compared.answer, Answer::Incomparable(_));
    let claim = is_claimed.then(|| Claim::about(&before, &after, options, None));
    compared.ignore(&name, ignored, &reasons, &relative_to);
    compared.claim(claim.as_ref());
    if says && !matches!(compared.answer, Answer::Incomparable(_)) {
        compared.messages = Some(match shared {
            Some(seen) => messages_after(&before, &after, options, seen),
            None => messages(&before, &after, options),
        });
    }
    Ok((Answered { name, found: Found::Compared(Box::new(compared)) }, certified))
}

fn fails(answered: &Answered, on: FailOn, question: Question) -> bool {
    let compared = match (&answered.found, on) {
        (Found::Only { is_old, .. }, FailOn::Weaker) => return *is_old,
        (Found::Only { is_old, .. }, FailOn::Stricter) => return !*is_old,
        (Found::Only { .. }, _) => return true,
        (Found::Compared(compared), _) => compared,
    };
    // Sets of which one allows some updates are not equivalent; pairs of `diff` may be so.
    let allows_more = question != Question::Diff && compared.existing.is_some();
    match on {
        FailOn::Weaker => compared.has(Difference::is_weaker),
        FailOn::Stricter => compared.has(Difference::is_stricter),
        FailOn::Any => compared.answer == Answer::Differs || allows_more,
        FailOn::Tested => !compared.answer.is_proved() || !compared.differences.is_empty() || allows_more,
    }
}
