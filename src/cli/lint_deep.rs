//! `ephor lint --deep`: what rules do on all objects that they distinguish.

use ephor_compare::{Options, Remark, RemarkKind, Universe, remarks};
use ephor_inspect::lint::{Finding, Linted, Severity, drop_ignored};
use ephor_policies::load::{self, LoadedPolicy, Policies};
use ephor_sources::files::SourceText;
use ephor_value::print::json;

use ephor_inspect::places::policy_place;

/// The objects that are evaluated for one rule: fewer than when policies are compared, for each
/// rule is many comparisons.
const OBJECTS: usize = 4_000;

/// Adds the findings to those of the files; policies that cannot be used have some already. Out:
/// the documents that have none and cannot be read.
pub(super) fn add(sources: &[SourceText], found: &mut Linted) -> Vec<String> {
    let mut all = load::argument_for(sources, load::Reader::Scan);
    let has_error = |file: &str| {
        found.findings.iter().any(|finding| *finding.file == *file && finding.severity == Severity::Error)
    };
    let is_left = |problem: &load::Problem| !problem.foreign && !has_error(&problem.source);
    let problems = std::mem::take(&mut all.problems);
    let unread = problems.into_iter().filter(is_left).map(|problem| problem.to_string()).collect();
    add_remarks(sources, all, found);
    unread
}

fn add_remarks(sources: &[SourceText], mut all: Policies, found: &mut Linted) {
    all.policies.retain(|p| p.policy.is_some() && p.refused.is_none() && p.uncompiled.is_none());
    let options = Options { objects: OBJECTS, ..Options::default() };
    let Ok(remarks) = remarks(&all, options) else { return };
    let mut new: Vec<Finding> = remarks.iter().filter_map(|remark| finding(&all, remark)).collect();
    // What the checks of the text say of a rule already is not repeated.
    new.retain(|finding| {
        let is_known = |known: &Finding| known.id == finding.id && known.policy == finding.policy;
        finding.id != "never-matches" || !found.findings.iter().any(is_known)
    });
    let mut retained = Vec::new();
    for source in sources {
        let (mut own, rest): (Vec<Finding>, Vec<Finding>) =
            new.into_iter().partition(|finding| *finding.file == *source.name);
        new = rest;
        drop_ignored(&source.text, &mut own);
        retained.extend(own);
    }
    found.findings.extend(retained);
    let order = |finding: &Finding| sources.iter().position(|source| source.name == *finding.file);
    found.findings.sort_by_key(|finding| {
        (order(finding), finding.line, finding.column, std::cmp::Reverse(finding.severity))
    });
}

fn finding(load: &Policies, remark: &Remark) -> Option<Finding> {
    let is_it =
        |loaded: &&LoadedPolicy| loaded.policy.as_ref().is_some_and(|policy| policy.id() == remark.policy);
    let loaded = load.policies.iter().find(is_it)?;
    let place = policy_place(loaded, &remark.path)?;
    let rule = match &*remark.rule {
        "" => "the policy".to_string(),
        rule => format!("rule `{rule}`"),
    };
    let (id, severity, message, help) = match remark.kind {
        RemarkKind::MayError => {
            let (environment, object, universe) = remark.shown_by.as_ref()?;
            let severity = match universe {
                Universe::Cluster => Severity::Warning,
                Universe::Files | Universe::Any => Severity::Note,
            };
            let message = format!(
                "{rule} cannot be evaluated on some objects ({}, {}): {}",
                environment.name(),
                universe.name(),
                remark.message.replace('\n', " ")
            );
            ("may-error", severity, message, Some(format!("smallest object: {}", json(object))))
        }
        RemarkKind::MatchesNothing => {
            ("never-matches", Severity::Warning, format!("{rule} matches no request"), None)
        }
        RemarkKind::NeverDenies => {
            ("never-denies", Severity::Warning, format!("{rule} allows every request"), None)
        }
        RemarkKind::AlwaysDenies => {
            let message = format!("{rule} denies every request that it matches");
            ("always-denies", Severity::Note, message, None)
        }
        RemarkKind::RedundantRule => {
            let message = format!("other rules deny everything that {rule} denies");
            ("redundant-rule", Severity::Note, message, None)
        }
        RemarkKind::RedundantCondition => {
            let message = format!("without this part {rule} denies the same requests");
            ("redundant-condition", Severity::Note, message, None)
        }
    };
    let end = place.end_column();
    Some(Finding {
        id,
        severity,
        policy: loaded.name.clone(),
        file: place.file.as_str().into(),
        line: place.line,
        column: place.column,
        end,
        message,
        help,
        fixes: Vec::new(),
        excerpt: place.text,
    })
}
