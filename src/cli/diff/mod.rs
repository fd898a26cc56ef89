//! `ephor diff`: whether policies mean the same; and what `equivalent` and `implies` share with it.
//!
//! - `certificates`: `--certificate` and `--check`: what was evaluated, written and evaluated
//!   again.
//! - `formats`: answers for programs.
//! - [`on_releases`]: policies of Kubernetes on two releases of it.
//! - `options`: flags of the commands that compare policies.
//! - `out`: `--out`: a folder for each difference, with the object and a test for each side.
//! - [`question`]: what is compared: pairs of policies, or two sets.
//! - `replay`: commands that show a difference once more.
//! - `rules`: what the results of comparisons mean, in the words of code scanning: a rule for
//!   each way in which two sides differ.
//! - `sides`: the policies of a side, and the documents that belong to them.
//! - `text`: answers for people: lines and manifests, and the same as Markdown.

mod certificates;
mod formats;
pub mod on_releases;
mod options;
mod out;
pub mod question;
mod replay;
mod rules;
mod sides;
mod text;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::ValueHint;

use ephor_compare::{
    Answer, Apart, Certified, Collector, Ignored, MAX_WITH_MESSAGES, Mapping, Observer, Options, Pair,
    PairedBy, Side, compare_observed, equivalent, implies, messages, messages_after, pairs, policy_name,
};
use ephor_document::yaml_value_strict;
use ephor_inspect::compared::answered::{Answered, Compared, PairOutcome, Shown, name_place};
use ephor_inspect::compared::json::json_of;
use ephor_migrate::compare_acting;
use ephor_policies::load::{LoadedPolicy, Policies};
use ephor_report::formats as run_formats;
use ephor_value::parallel;

use super::{CommandError, outputs, progress};
use crate::cli::arguments::use_threads;
use crate::cli::console;
use crate::cli::console::warn;
use crate::cli::diff::question::Question;
pub use crate::cli::policy_files::why_unread;
pub use options::Common;
use options::{DiffFailOn, DiffFormat};
use replay::Replay;
pub use sides::Loaded;
pub use text::{changes, counted};

/// The file with differences that are accepted.
pub const CONFIG: &str = "ephor-diff.yaml";

/// A folder next to policies that no command takes for one of policies.
pub const OWN_FOLDER: &str = ".ephor";

/// More objects of a pair are not in its certificate: they are held in memory until it is written.
/// The answer is the same for any number.
const MAX_IN_CERTIFICATE: usize = 500_000;

/// Says whether policies mean the same, or shows the smallest objects on which they differ
///
/// Each policy of OLD is compared with the one that takes its place in NEW, whatever the kinds of
/// both: that of --map, that whose annotation `ephor.dev/replaces` names it, that of its name, or
/// the only one with a similar name; with one policy on each side, these two. Both are evaluated on
/// an object for every combination of what they can distinguish. When they agree on all of these
/// they are equal, proved for every object. Where something cannot be enumerated the answer is
/// "tested", with the reason. Violations are compared and what follows from them; deletions, and
/// objects that exist in files only, are differences of their own. `ephor-diff.yaml` in the working
/// folder, or in `.ephor` in a folder with NEW, names differences that are accepted, with reasons.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # a ClusterPolicy and what was written in its place
  ephor diff old.yaml new.yaml

  # all policies of two folders, as a comment of a merge request
  ephor diff old/ new/ --output-format markdown

  # fail only where the new policies allow more, and store the objects with tests
  ephor diff old/ new/ --fail-on weaker --out differences/

  # does a policy of Kubernetes mean the same after an upgrade of the API server?
  ephor diff vap.yaml vap.yaml --kubernetes 1.36,1.37

  # store what was evaluated, and evaluate it again elsewhere
  ephor diff old/ new/ --certificate equal.json.gz
  ephor diff old/ new/ --check equal.json.gz

Exit codes:
  0  no difference that --fail-on names; the certificate holds
  1  there is one; the certificate does not hold
  2  a side cannot be read, or not be compared")]
pub struct DiffArgs {
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

/// Runs the command.
///
/// # Errors
/// A side cannot be read or used.
pub fn run(args: &DiffArgs) -> Result<i32, CommandError> {
    let all = || {
        let common = args.common.configured()?;
        let [of_old, of_new] = common.releases();
        let (old, new) = (Loaded::read(&args.old, of_old)?, Loaded::read(&args.new, of_new)?);
        let mapping = mapping(args.map.as_deref())?;
        let ignored = config(common.accepted.as_deref(), &args.new)?;
        let path = args.map.clone().unwrap_or_default();
        let (of_deletions, mapping) = apart(mapping, &old, &new);
        let failed = |cause| CommandError::Mapping { path: path.clone(), cause };
        let own = pairs(&old.policies, &new.policies, &mapping).map_err(failed)?;
        let deletions = pairs(&old.deletions, &new.deletions, &of_deletions).map_err(failed)?;
        let names = [&*args.old, &*args.new];
        let replay = Replay::of(&common, Question::Diff, names, args.map.as_deref(), [&old, &new]);
        answer(&common, Question::Diff, ([&old, &new], &replay), [&own, &deletions], &ignored)
    };
    all().map_err(|cause| CommandError::Diff(Box::new(cause)))
}

/// Answers a question about two sets, each as a whole.
///
/// # Errors
/// A side cannot be read or used.
pub fn of_sets(common: &Common, question: Question, a: &str, b: &str) -> Result<i32, CommandError> {
    let all = || {
        let common = &common.configured()?;
        let [of_one, of_other] = common.releases();
        let (one, other) = (Loaded::read(a, of_one)?, Loaded::read(b, of_other)?);
        let word = if question == Question::Implies { "implies" } else { "and" };
        let pair = |old: &Policies, new: &Policies, what: &str| {
            let some = |load: &Policies| (!load.policies.is_empty()).then(|| load.clone());
            let name = format!("{a} {word} {b}{what}");
            let pair = Pair { name, old: some(old), new: some(new), by: PairedBy::Alone };
            Vec::from_iter((pair.old.is_some() || pair.new.is_some()).then_some(pair))
        };
        let own = pair(&one.policies, &other.policies, "");
        let deletions = match question {
            // They deny nothing.
            Question::Implies => Vec::new(),
            _ => pair(&one.deletions, &other.deletions, ", what is deleted"),
        };
        if question == Question::Implies {
            let all = one.deletions.policies.iter().chain(&other.deletions.policies);
            for policy in all {
                warn(&format!(
                    "{}:{}: not compared: {} {}: it denies nothing",
                    policy.source,
                    policy.line,
                    policy.document.text_at(&["kind"]),
                    policy.name
                ));
            }
            if let Some(at) = [&one, &other].iter().position(|side| side.policies.policies.is_empty()) {
                let arguments = [a, b].into_iter().nth(at).unwrap_or_default().to_string();
                let causes = vec!["policies that delete objects deny nothing".to_string()];
                return Err(CommandError::NoPolicyFound { arguments, causes });
            }
        }
        let ignored = config(common.accepted.as_deref(), b)?;
        let replay = Replay::of(common, question, [a, b], None, [&one, &other]);
        answer(common, question, ([&one, &other], &replay), [&own, &deletions], &ignored)
    };
    all().map_err(|cause| CommandError::Diff(Box::new(cause)))
}

/// Compares two policies as `ephor diff` does, within a time; the answer as Markdown.
///
/// # Errors
/// A side cannot be used.
pub fn text_of_pair(
    name: &str,
    [old, new]: [Policies; 2],
    limit: Option<Duration>,
) -> Result<String, CommandError> {
    let pair = Pair { name: name.into(), old: Some(old), new: Some(new), by: PairedBy::Alone };
    let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
    let options = Options { deadline, ..Options::default() };
    let (answered, _) = of_pair(&pair, Question::Diff, (options, false), &Ignored::default(), false)?;
    Ok(text::text(&[answered], Question::Diff, &Replay::without_files(), true))
}

/// Which new policies replace which old ones.
fn mapping(path: Option<&str>) -> Result<Mapping, CommandError> {
    let Some(path) = path else { return Ok(Mapping::default()) };
    let text =
        std::fs::read_to_string(path).map_err(|cause| CommandError::File { path: path.into(), cause })?;
    let written =
        yaml_value_strict(&text).map_err(|cause| CommandError::Yaml { path: path.into(), cause })?;
    Mapping::of(&written).map_err(|cause| CommandError::Mapping { path: path.into(), cause })
}

/// The differences that are accepted: those of a file that is named, else those of the working
/// folder and of the nearest folder that has the new policies, where `ephor migrate` writes them.
fn config(path: Option<&str>, new: &str) -> Result<Ignored, CommandError> {
    let paths: Vec<PathBuf> = match path {
        Some(path) => vec![path.into()],
        None => {
            let own = PathBuf::from(CONFIG);
            let of_folder = |folder: &Path| [folder.join(CONFIG), folder.join(OWN_FOLDER).join(CONFIG)];
            let above = Path::new(new).ancestors().flat_map(of_folder);
            let nearest = above.filter(|path| path.is_file()).find(|path| *path != own);
            Some(own).filter(|own| own.is_file()).into_iter().chain(nearest).collect()
        }
    };
    let mut all = Ignored::default();
    for path in paths {
        let name = path.display().to_string();
        let failed = |cause| CommandError::File { path: name.clone(), cause };
        let text = std::fs::read_to_string(&path).map_err(failed)?;
        all.entries.extend(Ignored::read(&name, &text)?.entries);
    }
    Ok(all)
}

/// Compares pairs, or checks a certificate of them, and prints what came of it.
fn answer(
    common: &Common,
    question: Question,
    (loaded, replay): ([&Loaded; 2], &Replay),
    [pairs, deletions]: [&[Pair]; 2],
    ignored: &Ignored,
) -> Result<i32, CommandError> {
    common.console.apply();
    use_threads(common.threads);
    let named = [("--out", &common.out), ("--certificate", &common.certificate)];
    outputs::distinct(named.into_iter().filter_map(|(flag, path)| Some((flag, path.as_deref()?))))?;
    if let Some(file) = &common.check {
        return certificates::check(file, pairs);
    }
    let (options, records) = (common.options(), common.certificate.is_some());
    if let Some(file) = common.certificate.as_ref().filter(|_| !deletions.is_empty()) {
        warn(&format!("{file}: policies that delete objects are left out"));
    }
    let of_deletions = deletions.iter().map(|pair| (pair, true));
    let all: Vec<(&Pair, bool)> = pairs.iter().map(|pair| (pair, false)).chain(of_deletions).collect();
    let bar = (all.len() > 1).then(|| progress::bar(all.len(), "policies")).flatten();
    let one = |(pair, deletes): &(&Pair, bool)| {
        let found = match deletes {
            true => of_deletion(pair, question, options, ignored).map(|answered| (answered, None)),
            false => of_pair(pair, question, (options, common.messages), ignored, records),
        };
        if let Some(bar) = &bar {
            bar.set_message(pair.name.clone());
            bar.inc(1);
        }
        found
    };
    let found: Result<Vec<(Answered, Option<Certified>)>, CommandError> =
        parallel::map(&all, one).into_iter().collect();
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
    if common.format() == DiffFormat::Text {
        console::print_results(&text::text(&found, question, replay, false));
    }
    console::print(&match common.format() {
        DiffFormat::Text => String::new(),
        DiffFormat::Markdown => text::text(&found, question, replay, true),
        DiffFormat::Json => serde_json::to_string_pretty(&json_of(&found))? + "\n",
        DiffFormat::Sarif => console::whole(|out| run_formats::sarif::write(&run(), out))?,
        DiffFormat::Github => {
            match console::whole(|out| run_formats::github::write(&run(), out).map(|_| None))? {
                annotations if annotations.is_empty() => text::summary(&found, question) + "\n",
                annotations => annotations,
            }
        }
        DiffFormat::Junit => console::whole(|out| run_formats::junit::write(&run(), out).map(|()| None))?,
    });
    if found.iter().any(|answered| fails(answered, common.fail_on, question)) {
        return Ok(1);
    }
    let is_incomparable = |answered: &Answered| match &answered.found {
        PairOutcome::Compared(compared) => matches!(compared.answer, Answer::Incomparable(_)),
        PairOutcome::Only { .. } => false,
    };
    Ok(if found.iter().any(is_incomparable) { 2 } else { 0 })
}

/// The comparison of a pair, or which side has no policy of the name; and its certificate, if it is
/// wanted. `says`: also messages.
fn of_pair(
    pair: &Pair,
    question: Question,
    (options, says): (Options, bool),
    ignored: &Ignored,
    records: bool,
) -> Result<(Answered, Option<Certified>), CommandError> {
    let name = pair.name.clone();
    let (Some(old), Some(new)) = (&pair.old, &pair.new) else { return Ok((only(pair), None)) };
    let (before, after) = (Side::new(old.clone(), &name)?, Side::new(new.clone(), &name)?);
    // Messages are compared on the objects of a comparison both ways.
    let shares = says && !records && question != Question::Implies;
    let collector = Collector::new(if shares { MAX_WITH_MESSAGES } else { MAX_IN_CERTIFICATE });
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
            Some(certified.map_err(|cause| CommandError::Certificate { path: name.clone(), cause })?)
        }
    };
    let claims = (options, ignored, question == Question::Diff);
    let mut compared =
        Compared::answered(&name, comparison, [&before, &after], ([old, new], pair.by), claims);
    let moves_items = before.may_order_otherwise(&after);
    if question == Question::Equivalent && moves_items && compared.claimed.is_proved() {
        compared.but_for.extend(Apart::Order.name());
    }
    if says && !matches!(compared.answer, Answer::Incomparable(_)) {
        compared.messages = Some(match shared {
            Some(seen) => messages_after(&before, &after, options, seen),
            None => messages(&before, &after, options),
        });
    }
    Ok((Answered { name, found: PairOutcome::Compared(Box::new(compared)) }, certified))
}

/// The answer about a policy that only one side has.
fn only(pair: &Pair) -> Answered {
    let load = pair.old.as_ref().or(pair.new.as_ref());
    let place = load.and_then(|load| name_place(load.policies.first()?));
    Answered { name: pair.name.clone(), found: PairOutcome::Only { is_old: pair.old.is_some(), place } }
}

/// The comparison of policies that delete objects: what they delete, and when.
fn of_deletion(
    pair: &Pair,
    question: Question,
    options: Options,
    ignored: &Ignored,
) -> Result<Answered, CommandError> {
    let name = pair.name.clone();
    let (Some(old), Some(new)) = (&pair.old, &pair.new) else { return Ok(only(pair)) };
    let (before, after) = (Side::new(old.clone(), &name)?, Side::new(new.clone(), &name)?);
    let (comparison, claim) = compare_acting(&before, &after, options);
    let (reasons, relative_to) = (comparison.reasons.clone(), comparison.relative_to.clone());
    let mut compared = Compared::of(comparison, [&before, &after], [old, new], pair.by);
    compared.differences.iter_mut().for_each(|shown| shown.deletes = true);
    compared.ignore(&name, ignored, Some(&claim), (&reasons, &relative_to));
    compared.claim(Some(&claim).filter(|_| question == Question::Diff));
    let [times, other] = [old, new].map(times);
    if times != other {
        compared.times = Some([times, other].map(|all| all.join("; ")));
        (compared.answer, compared.claimed, compared.but_for) =
            (Answer::Differs, Answer::Differs, Vec::new());
    }
    Ok(Answered { name, found: PairOutcome::Compared(Box::new(compared)) })
}

/// When policies delete objects, and how.
fn times(load: &Policies) -> Vec<String> {
    let of = |policy: &LoadedPolicy| {
        let text = |key: &str| policy.document.text_at(&["spec", key]).to_string();
        let schedule = text("schedule").split_whitespace().collect::<Vec<_>>().join(" ");
        match text("deletionPropagationPolicy") {
            own if own.is_empty() => schedule,
            own => format!("{schedule}, {own}"),
        }
    };
    let mut all: Vec<String> = load.policies.iter().map(of).collect();
    all.sort();
    all.dedup();
    all
}

/// What a mapping says of policies that delete objects, and the rest of it.
fn apart(mapping: Mapping, old: &Loaded, new: &Loaded) -> (Mapping, Mapping) {
    let has =
        |load: &Policies, name: &String| load.policies.iter().any(|policy| policy_name(policy) == *name);
    let is_apart = |(from, to): &(String, String)| has(&old.deletions, from) && has(&new.deletions, to);
    let (apart, rest) = mapping.entries.into_iter().partition(is_apart);
    (Mapping { entries: apart }, Mapping { entries: rest })
}

fn fails(answered: &Answered, on: DiffFailOn, question: Question) -> bool {
    let compared = match (&answered.found, on) {
        (PairOutcome::Only { is_old, .. }, DiffFailOn::Weaker) => return *is_old,
        (PairOutcome::Only { is_old, .. }, DiffFailOn::Stricter) => return !*is_old,
        (PairOutcome::Only { .. }, _) => return true,
        (PairOutcome::Compared(compared), _) => compared,
    };
    // Sets of which one allows some updates are not equivalent; pairs of `diff` may be so.
    let allows_more = question != Question::Diff && compared.existing.is_some();
    match on {
        DiffFailOn::Weaker => compared.has(Shown::is_weaker),
        DiffFailOn::Stricter => compared.has(Shown::is_stricter),
        DiffFailOn::Any => compared.answer == Answer::Differs || allows_more,
        DiffFailOn::Tested => !compared.answer.is_proved() || !compared.differences.is_empty() || allows_more,
    }
}
