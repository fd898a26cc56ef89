//! What a run was: when, of which commit, with which policies.
//!
//! In: the policies of a run, and the repository of the current folder. Out: an [`About`] for
//! reports that are filed. Build servers name the commit in their environment; else git does.

use std::process::{Command, Stdio};

use ephor_policies::load::LoadedPolicy;
use ephor_report::about::{About, Commit, Control};
use ephor_value::environment::{CI_COMMIT_REF_NAME, CI_COMMIT_SHA, GITHUB_REF_NAME, GITHUB_SHA, Variable};
use ephor_value::time::Time;
use ephor_value::{clock, print};

/// The run of these policies, now and here.
pub(super) fn about<'p>(policies: impl Iterator<Item = &'p LoadedPolicy>) -> About {
    let seconds = i64::try_from(clock::since_epoch().as_secs()).unwrap_or_default();
    About {
        time: Time::from_unix(seconds).to_string(),
        commit: commit(),
        controls: policies.map(control).collect(),
    }
}

fn control(policy: &LoadedPolicy) -> Control {
    let document = &policy.document;
    let annotation = |key: &str| document.text_at(&["metadata", "annotations", key]);
    let ours = |key: &str| annotation(&format!("policies.kyverno.io/{key}")).trim().to_owned();
    let version = match ours("version").as_str() {
        "" => document.text_at(&["metadata", "labels", "app.kubernetes.io/version"]).to_owned(),
        version => version.to_owned(),
    };
    let standards = annotation("ephor.dev/standards").split(',').map(str::trim).filter(|s| !s.is_empty());
    let namespace = document.text_at(&["metadata", "namespace"]);
    let key = match (namespace, &policy.policy) {
        (_, Some(lowered)) => lowered.key().to_string(),
        ("", None) => policy.name.clone(),
        (namespace, None) => format!("{namespace}/{}", policy.name),
    };
    Control {
        kind: document.text_at(&["kind"]).to_owned(),
        name: key,
        title: ours("title"),
        category: ours("category"),
        severity: ours("severity"),
        version,
        digest: Control::digest_of(&print::json(document)),
        standards: standards.map(String::from).collect(),
    }
}

/// The commit of the current folder.
fn commit() -> Option<Commit> {
    let of = |variables: [Variable; 2]| {
        variables.iter().find_map(|variable| variable.text().filter(|text| !text.is_empty()))
    };
    let by_server = of([GITHUB_SHA, CI_COMMIT_SHA]);
    let id = by_server.clone().or_else(|| git(&["rev-parse", "HEAD"]))?;
    let branch = match by_server {
        Some(_) => of([GITHUB_REF_NAME, CI_COMMIT_REF_NAME]),
        None => git(&["symbolic-ref", "--short", "-q", "HEAD"]),
    };
    let is_changed = git(&["status", "--porcelain", "--untracked-files=no"]).is_some();
    Some(Commit { id, branch: branch.unwrap_or_default(), is_changed })
}

/// What `git` prints, if it is there and prints something.
fn git(arguments: &[&str]) -> Option<String> {
    let ran = Command::new("git").args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&ran.stdout).trim().to_owned();
    (ran.status.success() && !text.is_empty()).then_some(text)
}
