//! Policies of Kubernetes on two releases of it.
//!
//! In: texts with policies and bindings, and two releases. Out: for each policy whether it means
//! the same on both, with the object on which it does not; and what only one of them takes.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ephor_compare::{Answer, Ignored, Mapping, Options, pairs};
use ephor_inspect::compared::answered::Answered;
use ephor_inspect::compared::json::json_of;
use ephor_policies::load::{self, LoadedPolicy, Policies};
use ephor_sources::files::SourceText;
use ephor_value::parallel;
use ephor_value::release::Release;

use super::of_pair;
use super::question::Question;
use super::replay::Replay;
use super::text;
use crate::cli::CommandError;

/// Policies of Kubernetes on two releases.
pub struct OnReleases {
    releases: [Release; 2],
    found: Vec<Answered>,
    /// What a release refuses, each with the place, the name, the release and why.
    pub refused: Vec<String>,
    /// How many policies of Kyverno there are, which do not depend on the release.
    others: usize,
}

impl OnReleases {
    /// Compares the policies of texts with themselves, each in at most this time.
    ///
    /// # Errors
    /// A policy cannot be compared.
    pub fn of(
        sources: &[SourceText],
        releases: [Release; 2],
        options: &Options,
        limit: Option<Duration>,
    ) -> Result<OnReleases, CommandError> {
        let others = others(sources);
        let [mut old, mut new] = releases.map(|release| natives(sources, release));
        let mut refused: Vec<String> = Vec::new();
        // What cannot be read is no policy on either.
        let unread: BTreeSet<String> =
            [&old, &new].into_iter().flat_map(|side| &side.problems).map(ToString::to_string).collect();
        refused.extend(unread);
        let why = |policy: &LoadedPolicy| policy.refused.clone().or_else(|| policy.uncompiled.clone());
        for (before, after) in old.policies.iter().zip(&new.policies) {
            let said = |release: &str, verb: &str, why: &str| {
                let (place, line, name) = (&before.source, before.line, &before.name);
                format!("{place}:{line}: Kubernetes {release} {verb} {name}: {why}")
            };
            match (why(before), why(after)) {
                (Some(a), Some(b)) if a == b => {
                    refused.push(said(&format!("{} and {}", releases[0], releases[1]), "refuse", &a));
                }
                (a, b) => {
                    let each = [a, b].into_iter().zip(releases);
                    refused.extend(each.filter_map(|(why, on)| Some(said(on.name(), "refuses", &why?))));
                }
            }
        }
        // What one of them refuses is not there.
        let is_taken = |policy: &LoadedPolicy| policy.refused.is_none() && policy.uncompiled.is_none();
        let taken: Vec<bool> =
            old.policies.iter().zip(&new.policies).map(|(a, b)| is_taken(a) && is_taken(b)).collect();
        for side in [&mut old, &mut new] {
            side.problems.clear();
            let mut at = taken.iter();
            side.policies.retain(|_| *at.next().unwrap_or(&false));
        }
        let both = pairs(&old, &new, &Mapping::default())
            .map_err(|cause| CommandError::Mapping { path: String::new(), cause })?;
        let one = |pair: &_| {
            let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
            let options = Options { deadline, ..*options };
            of_pair(pair, Question::Diff, (options, false), &Ignored::default(), false)
                .map(|(found, _)| found)
        };
        let found: Result<Vec<Answered>, CommandError> = parallel::map(&both, one).into_iter().collect();
        Ok(OnReleases { releases, found: found?, refused, others })
    }

    /// Whether no policy means something else, and each is taken.
    pub fn is_same(&self) -> bool {
        self.refused.is_empty() && self.found.iter().all(|one| one.answer() != Some(&Answer::Differs))
    }

    /// The answers for people, as text or as Markdown.
    pub fn to_text(&self, markdown: bool) -> String {
        let [old, new] = self.releases;
        let mut out = match markdown {
            true => format!("# Policies of Kubernetes on {old} and on {new}\n\n"),
            false => format!("policies of Kubernetes on {old} (old) and on {new} (new)\n\n"),
        };
        for line in &self.refused {
            out.push_str(&if markdown { format!("- {line}\n") } else { format!("{line}\n") });
        }
        match self.found.is_empty() {
            true if self.refused.is_empty() => match self.others {
                0 => out + "There are no policies of Kubernetes.\n",
                others => {
                    let verb = if others == 1 { "policy does" } else { "policies do" };
                    out + &format!(
                        "There are no policies of Kubernetes; {others} Kyverno {verb} not depend on its release.\n"
                    )
                }
            },
            true => out,
            false => {
                let replay = Replay::on_releases(self.releases);
                out + &text::text(&self.found, Question::Diff, &replay, markdown)
            }
        }
    }

    /// The answers for programs.
    pub fn to_json(&self) -> serde_json::Value {
        let mut all = json_of(&self.found);
        if let Some(fields) = all.as_object_mut() {
            fields.insert("kubernetes".into(), self.releases.map(Release::name).to_vec().into());
            fields.insert("refused".into(), self.refused.clone().into());
        }
        all
    }
}

/// How many policies of other languages texts have.
fn others(sources: &[SourceText]) -> usize {
    let all = load::argument_for(sources, load::Reader::Scan);
    all.policies.iter().filter(|policy| !is_native(policy)).count()
}

fn is_native(policy: &LoadedPolicy) -> bool {
    policy.document.text_at(&["apiVersion"]).starts_with("admissionregistration.")
}

/// The policies and bindings of Kubernetes in texts, as a release reads them.
fn natives(sources: &[SourceText], release: Release) -> Policies {
    let all = load::argument_as(sources, load::Reader::Scan, Some(release));
    Policies {
        policies: all.policies.into_iter().filter(is_native).collect(),
        bindings: all.bindings,
        problems: all.problems.into_iter().filter(|problem| !problem.foreign).collect(),
        ..Policies::default()
    }
}
