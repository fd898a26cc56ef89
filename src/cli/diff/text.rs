//! Answers for people: lines and manifests, and the same as Markdown.

use std::fmt::Write;

use ephor_compare::{
    Answer, Difference, DifferenceKind, Effect, Judgement, OtherMessages, PairedBy, RequestContext, Universe,
    Verdict, but_for,
};
use ephor_document::write::{Style, to_string};
use ephor_inspect::compared::answered::{Answered, Compared, DecidingPlace, PairOutcome, Shown};
use ephor_report::diff::{lines, without_colour};
use ephor_report::run::Place;
use ephor_value::Value;
use ephor_value::print::json;

use super::replay::Replay;
use super::rules::KINDS;
use crate::cli::diff::question::Question;

/// Where the place behind a headline begins, if the headline is shorter.
const PLACES: usize = 70;

/// The answers as text, or as Markdown.
pub fn text(found: &[Answered], question: Question, replay: &Replay, markdown: bool) -> String {
    let mut out = String::new();
    for answered in found {
        let head = headline(answered, question);
        let head = match markdown {
            true => format!("- **{}**: {head}", answered.name),
            false => format!("{}: {head}", answered.name),
        };
        match first_place(answered) {
            Some(place) if markdown => {
                let _ = writeln!(out, "{head} (`{}`)", place.display());
            }
            Some(place) => {
                let _ = writeln!(out, "{head:PLACES$}  {}", place.display());
            }
            None => {
                let _ = writeln!(out, "{head}");
            }
        }
        if let PairOutcome::Compared(compared) = &answered.found {
            of_pair(&mut out, compared, question, replay, markdown);
        }
    }
    let _ = writeln!(out, "{}{}", if markdown { "\n" } else { "" }, summary(found, question));
    for line in ignored(found) {
        let _ = writeln!(out, "{}{line}", if markdown { "\n" } else { "" });
    }
    out
}

fn of_pair(out: &mut String, compared: &Compared, question: Question, replay: &Replay, markdown: bool) {
    for shown in &compared.differences {
        of_difference(out, shown, question, &replay.commands(compared, shown), markdown);
    }
    let bullet = if markdown { "  - " } else { "  " };
    let label = |side: &str| question.labels()[usize::from(side == "new")];
    if let Some(side) = compared.existing {
        let side = label(side);
        let _ = writeln!(out, "{bullet}{side} alone allows updates of objects that are violations already");
    }
    if let Some(times) = &compared.times {
        for (label, text) in question.labels().iter().zip(times) {
            let _ = writeln!(out, "{bullet}schedule: {label}  {text}");
        }
    }
    match compared.messages.as_deref() {
        None => {}
        Some([]) => {
            let _ = writeln!(out, "{bullet}messages: the same");
        }
        Some(all) => all.iter().for_each(|one| of_messages(out, one, question, markdown)),
    }
}

fn of_messages(out: &mut String, one: &OtherMessages, question: Question, markdown: bool) {
    let (bullet, below) = if markdown { ("  - ", "    - ") } else { ("  ", "    ") };
    let _ =
        writeln!(out, "{bullet}messages: {}: the violations say different things", one.environment.name());
    for (label, all) in question.labels().iter().zip([&one.old, &one.new]) {
        for said in all {
            let by = if said.rule.is_empty() {
                said.policy.clone()
            } else {
                format!("{}/{}", said.policy, said.rule)
            };
            let _ = writeln!(out, "{below}{label}  {by}: {}", said.message.replace('\n', " "));
        }
    }
}

/// Where the first difference was decided in the new policy.
fn first_place(answered: &Answered) -> Option<&Place> {
    match &answered.found {
        PairOutcome::Only { place, .. } => place.as_ref(),
        PairOutcome::Compared(compared) => {
            let [_, new] = &compared.differences.first()?.decided;
            new.place.as_ref()
        }
    }
}

/// The answer about a pair in one line.
pub fn headline(answered: &Answered, question: Question) -> String {
    let compared = match &answered.found {
        PairOutcome::Only { is_old: true, .. } => return "only in the old policies".into(),
        PairOutcome::Only { is_old: false, .. } => return "only in the new policies".into(),
        PairOutcome::Compared(compared) => compared,
    };
    let counted = match compared.is_same {
        true => format!("the same rules, for {}", kinds(compared)),
        false => format!("{} objects of {}", compared.objects, kinds(compared)),
    };
    let is_in_files = compared.differences.iter().any(|s| s.difference.universe == Universe::Files);
    let files = if is_in_files { "; different in files" } else { "" };
    let but = match compared.ignored.iter().map(|(.., count)| count).sum::<usize>() {
        0 => String::new(),
        1 => " but for 1 ignored difference".into(),
        count => format!(" but for {count} ignored differences"),
    };
    let by = match compared.by {
        PairedBy::SimilarName | PairedBy::Annotation | PairedBy::Mapping => {
            let names: Vec<&str> =
                compared.policies.iter().skip(1).flatten().map(|policy| policy.name.as_str()).collect();
            format!(" [{}]", names.join(", "))
        }
        _ => String::new(),
    };
    let holds = match question {
        Question::Equivalent | Question::Implies if compared.existing.is_some() => {
            "equal but for updates of what violates already"
        }
        Question::Implies => "implied",
        Question::Diff | Question::Equivalent => "equal",
    };
    let but = &format!("{}{but}", but_for(&compared.but_for));
    let text = match &compared.claimed {
        Answer::Proved if is_in_files => format!("{holds} in clusters{but}, proved ({counted}){files}"),
        Answer::Proved => format!("{holds}{but}, proved ({counted})"),
        Answer::ProvedRelative(to) => {
            let to = to.join(", ");
            let only = if is_in_files { " in clusters" } else { "" };
            format!("{holds}{only}{but}, proved relative to {to} ({counted}){files}")
        }
        Answer::Tested(why) => {
            format!("no difference{but} in {counted}, tested ({}){files}", why.join("; "))
        }
        Answer::Incomparable(why) => format!("not compared: {why}"),
        Answer::Differs => {
            let mut kinds: Vec<&str> = Vec::new();
            for difference in compared.in_clusters() {
                if !kinds.contains(&difference.kind.name()) {
                    kinds.push(difference.kind.name());
                }
            }
            if compared.times.is_some() {
                kinds.push("schedule");
            }
            match question {
                Question::Implies => "not implied".into(),
                _ => format!("differs: {}", kinds.join(", ")),
            }
        }
    };
    format!("{text}{by}")
}

fn kinds(compared: &Compared) -> String {
    match &*compared.kinds {
        [] => "no kind".into(),
        [one] => one.clone(),
        [first, second] => format!("{first} and {second}"),
        [first, rest @ ..] => format!("{first} and {} other kinds", rest.len()),
    }
}

/// What a difference means.
pub fn meaning(shown: &Shown, question: Question) -> String {
    let difference = &shown.difference;
    if shown.deletes {
        return "one side alone deletes it".into();
    }
    if question != Question::Diff {
        return meaning_for_sets(difference);
    }
    match difference.kind {
        DifferenceKind::Weaker => "no violation where there was one".into(),
        DifferenceKind::Stricter => "a violation where there was none".into(),
        DifferenceKind::Action => {
            let [old, new] = difference.effects().map(Effect::name);
            format!("the request was {old}, and is {new} now")
        }
        DifferenceKind::Result => "the results are not the same".into(),
        DifferenceKind::Errors => {
            "denies because of an error where there was a violation, or the other way round".into()
        }
    }
}

/// What a difference between sets means.
fn meaning_for_sets(difference: &Difference) -> String {
    match difference.kind {
        DifferenceKind::Weaker => "violates A, not B".into(),
        DifferenceKind::Stricter => "violates B, not A".into(),
        DifferenceKind::Action => {
            let [a, b] = difference.effects().map(Effect::name);
            format!("the request is {a} by A, {b} by B")
        }
        DifferenceKind::Result => "the results are not the same".into(),
        DifferenceKind::Errors => "violates both, one because of an error".into(),
    }
}

fn of_difference(out: &mut String, shown: &Shown, question: Question, replay: &[String], markdown: bool) {
    let difference = &shown.difference;
    let Difference { kind, environment, universe, .. } = difference;
    let what = meaning(shown, question);
    let head = match question {
        Question::Diff => format!("{}: ", kind.name()),
        _ => String::new(),
    };
    let bullet = if markdown { "  - " } else { "  " };
    let also = match difference.also.len() {
        0 => String::new(),
        1..=3 => format!(" (and {})", difference.also.join(", ")),
        more => format!(" (and {more} other kinds)"),
    };
    let _ = writeln!(out, "{bullet}{head}{}{also}, {}: {what}", environment.name(), universe.name());
    let indent = "    ";
    if markdown {
        let _ = writeln!(out, "\n{indent}```yaml");
    }
    for line in manifest(difference).lines() {
        let _ = writeln!(out, "{indent}{line}");
    }
    if markdown {
        let _ = writeln!(out, "{indent}```\n");
    }
    let end = if markdown { "  " } else { "" };
    if !difference.around.is_usual() {
        for line in around(&difference.around) {
            let _ = writeln!(out, "{indent}{line}{end}");
        }
    }
    let said = [&difference.old, &difference.new];
    for ((label, said), decided) in question.labels().into_iter().zip(said).zip(&shown.decided) {
        let line = format!("{label}  {}", verdict(shown, said));
        // One line of Markdown would run into the next.
        let _ = writeln!(out, "{indent}{line}{}", if markdown { "  " } else { "" });
        let places = places(decided);
        if !places.is_empty() {
            let _ = writeln!(out, "{indent}     {places}{}", if markdown { "  " } else { "" });
        }
    }
    for line in changes(difference) {
        let _ = writeln!(out, "{indent}{line}{end}");
    }
    match shown.is_replayable() {
        true => commands(out, replay, markdown),
        false => {
            let _ = writeln!(out, "{indent}reproduce: with an API server, which commands do without{end}");
        }
    }
    if markdown {
        out.push('\n');
    }
}

/// How the objects differ that both sides leave: the lines of a comparison.
pub fn changes(difference: &Difference) -> Vec<String> {
    if difference.kind != DifferenceKind::Result {
        return Vec::new();
    }
    let changes = without_colour(&lines(&results(&difference.old), &results(&difference.new)));
    changes.lines().map(str::to_string).collect()
}

/// The commands that show both verdicts.
fn commands(out: &mut String, commands: &[String], markdown: bool) {
    let indent = "    ";
    for (at, command) in commands.iter().enumerate() {
        let _ = match (at, markdown) {
            (0, false) => writeln!(out, "{indent}reproduce: {command}"),
            (_, false) => writeln!(out, "{indent}           {command}"),
            (_, true) => writeln!(out, "{indent}`{command}`  "),
        };
    }
}

/// The objects of a difference as YAML: the former one of an update first.
pub fn manifest(difference: &Difference) -> String {
    let object = to_string(&difference.object, Style::Block);
    match &difference.old_object {
        None => object,
        Some(old) => format!("# before the update:\n{}---\n{object}", to_string(old, Style::Block)),
    }
}

/// The objects that a side leaves, as YAML.
fn results(judgement: &Judgement) -> String {
    let changed = judgement.changed.iter().chain(&judgement.generated);
    changed.map(|object| to_string(object, Style::Block)).collect::<Vec<_>>().join("---\n")
}

/// Who sends the request, and the labels of the namespace, where they are not the usual ones.
fn around(of: &RequestContext) -> Vec<String> {
    let [labels, annotations] = &of.namespace;
    let mut out = Vec::new();
    let mut user = json(&of.user.info);
    for (what, roles) in [("roles", &of.user.roles), ("cluster roles", &of.user.cluster_roles)] {
        if !roles.is_empty() {
            let _ = write!(user, ", {what} {}", roles.join(", "));
        }
    }
    out.push(format!("sent by {user}"));
    for (what, map) in [("labels", labels), ("annotations", annotations)] {
        if !map.is_empty() {
            out.push(format!("{what} of the namespace: {}", json(&Value::Map(map.clone()))));
        }
    }
    out
}

/// `fail  policy/rule: message`
pub fn verdict(shown: &Shown, judgement: &Judgement) -> String {
    if shown.deletes {
        return if judgement.verdict == Verdict::Pass { "deletes it" } else { "leaves it" }.into();
    }
    let Some((policy, rule)) = &judgement.by else { return "does not apply".into() };
    if !judgement.verdict.is_violation() {
        return judgement.verdict.name().to_string();
    }
    let rule = if rule.is_empty() { String::new() } else { format!("/{rule}") };
    let message = judgement.message.replace('\n', " ");
    format!("{}  {policy}{rule}: {message}", judgement.verdict.name())
}

/// `policy.yaml:3:5, because of spec.hostNetwork`
fn places(decided: &DecidingPlace) -> String {
    let place = decided.place.as_ref().map(Place::display);
    match (place, &decided.field) {
        (Some(place), Some(field)) => format!("{place}, because of {field}"),
        (Some(place), None) => place,
        (None, field) => field.clone().unwrap_or_default(),
    }
}

/// `12 proved (5 but for what is named)`: how many answers there are of a word, and of how many the
/// word has an exception.
pub fn counted(count: usize, word: &str, apart: usize) -> String {
    match apart {
        0 => format!("{count} {word}"),
        some => format!("{count} {word} ({some} but for what is named)"),
    }
}

/// `37 policies: 21 proved, 3 tested, 4 differ (2 weaker, 1 stricter, 1 on DELETE only)`
pub fn summary(found: &[Answered], question: Question) -> String {
    let compared: Vec<&Compared> = found
        .iter()
        .filter_map(|answered| match &answered.found {
            PairOutcome::Compared(compared) => Some(&**compared),
            PairOutcome::Only { .. } => None,
        })
        .collect();
    let count = |test: &dyn Fn(&Compared) -> bool| compared.iter().filter(|c| test(c)).count();
    let differ = count(&|c| c.claimed == Answer::Differs);
    let with_apart = |word: &str, is_such: &dyn Fn(&Compared) -> bool| {
        counted(count(is_such), word, count(&|c| is_such(c) && !c.but_for.is_empty()))
    };
    let mut parts = vec![
        with_apart("proved", &|c| c.claimed.is_proved()),
        with_apart("tested", &|c| matches!(c.claimed, Answer::Tested(_))),
        format!("{differ} differ{}", ways(&compared)),
    ];
    let is_incomparable = |c: &Compared| matches!(c.answer, Answer::Incomparable(_));
    for (count, words) in
        [(count(&is_incomparable), "not compared"), (found.len() - compared.len(), "on one side only")]
    {
        if count > 0 {
            parts.push(format!("{count} {words}"));
        }
    }
    let ignored: usize = compared.iter().flat_map(|c| &c.ignored).map(|(.., count)| count).sum();
    if ignored > 0 {
        parts.push(format!("{ignored} ignored"));
    }
    let of = match (question, found.len()) {
        (Question::Diff, 1) => "1 policy".to_string(),
        (Question::Diff, count) => format!("{count} policies"),
        (Question::Equivalent, _) => "equivalent".into(),
        (Question::Implies, _) => "implies".into(),
    };
    format!("{of}: {}", parts.join(", "))
}

/// ` (2 weaker, 1 stricter, 1 on DELETE only)`
fn ways(compared: &[&Compared]) -> String {
    let mut counts: Vec<(String, usize)> = Vec::new();
    for one in compared.iter().filter(|c| c.claimed == Answer::Differs) {
        let is_deletion = one.in_clusters().all(|d| d.environment.operation == "DELETE")
            && one.in_clusters().next().is_some();
        let found = KINDS
            .into_iter()
            .filter(|kind| one.has(|shown| shown.difference.kind == *kind))
            .map(|kind| kind.name());
        let names: Vec<&str> = found.chain(one.times.as_ref().map(|_| "schedule")).collect();
        let way = if is_deletion { "on DELETE only".to_string() } else { names.join(" and ") };
        match counts.iter_mut().find(|(known, _)| *known == way) {
            Some((_, count)) => *count += 1,
            None => counts.push((way, 1)),
        }
    }
    match counts.is_empty() {
        true => String::new(),
        false => {
            let words: Vec<String> = counts.iter().map(|(way, count)| format!("{count} {way}")).collect();
            format!(" ({})", words.join(", "))
        }
    }
}

/// A line for each class and reason that was ignored.
fn ignored(found: &[Answered]) -> Vec<String> {
    let mut all: Vec<(&str, &str, usize, Vec<&str>)> = Vec::new();
    for answered in found {
        let PairOutcome::Compared(compared) = &answered.found else { continue };
        for (class, reason, count) in &compared.ignored {
            match all.iter_mut().find(|known| known.0 == class && known.1 == reason) {
                Some((.., total, names)) => {
                    *total += count;
                    names.push(&answered.name);
                }
                None => all.push((class, reason, *count, vec![&answered.name])),
            }
        }
    }
    let line = |(class, reason, count, names): (&str, &str, usize, Vec<&str>)| {
        format!("ignored: {count} {class} of {} ({reason})", names.join(", "))
    };
    all.into_iter().map(line).collect()
}
