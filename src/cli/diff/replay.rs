//! Commands that show a difference once more.
//!
//! In: a difference, the files that `--out` wrote of it, and the arguments of the command. Out: a
//! command for each side, for Kyverno's program or this one called so, that shows what the side
//! decides; where one command cannot hold all that counts, the command that writes it into files.

use ephor_inspect::compared::answered::{Compared, Shown};

use ephor_report::invocation::argument;
use ephor_value::print::json;
use ephor_value::release::Release;

use super::options::Common;
use super::out;
use super::sides::Loaded;
use crate::cli::diff::question::Question;

/// The folder that a suggested command writes into.
const FOLDER: &str = "differences";

/// What commands are built from.
pub(super) struct Replay {
    /// The arguments with which the same is compared.
    again: String,
    /// Whether a side has exceptions or bindings, which count and are in other documents.
    has_more: bool,
    /// The releases of both sides.
    releases: [Option<Release>; 2],
}

impl Replay {
    /// Of the arguments of a command and the documents of both sides.
    pub fn of(
        common: &Common,
        question: Question,
        names: [&str; 2],
        map: Option<&str>,
        loaded: [&Loaded; 2],
    ) -> Replay {
        let mut words = vec!["ephor".to_string(), question.command().to_string()];
        words.extend(names.map(argument));
        words.extend(map.into_iter().flat_map(|file| ["--map".to_string(), argument(file)]));
        words.extend(common.arguments().iter().map(|word| argument(word)));
        words.extend(["--out".to_string(), FOLDER.to_string()]);
        let has_more =
            loaded.iter().any(|loaded| !loaded.exceptions.is_empty() || !loaded.bindings.is_empty());
        Replay { again: words.join(" "), has_more, releases: common.releases() }
    }

    /// For policies that are compared with themselves on two releases.
    pub fn on_releases(releases: [Release; 2]) -> Replay {
        Replay { again: String::new(), has_more: false, releases: releases.map(Some) }
    }

    /// For policies that are no files: nothing is written of what counts.
    pub fn without_files() -> Replay {
        Replay { again: String::new(), has_more: false, releases: [None, None] }
    }

    /// The program that shows what a side decides, and the flag that it needs: Kyverno's knows no
    /// releases.
    fn program(&self, side: usize) -> (&'static str, String) {
        match self.releases.get(side).copied().flatten() {
            Some(release) => ("ephor", format!(" --kubernetes {release}")),
            None => ("kyverno", String::new()),
        }
    }

    /// The commands that show a difference.
    pub fn commands(&self, compared: &Compared, shown: &Shown) -> Vec<String> {
        let flag = |flag: &str, file: &Option<String>| {
            file.as_ref().map(|file| format!(" {flag} {}", argument(file))).unwrap_or_default()
        };
        let mut flags = flag("--values-file", &shown.values_file) + &flag("--userinfo", &shown.user_file);
        if compared.policies.iter().flatten().any(|policy| policy.text.contains("imageRegistry")) {
            flags.push_str(" --registry");
        }
        let test = |folder: &str| {
            [(0, "old"), (1, "new")]
                .map(|(side, name)| {
                    let (program, flag) = self.program(side);
                    format!("{program} test {}{flag}", argument(&format!("{folder}/{name}")))
                })
                .to_vec()
        };
        let apply = |side: usize| {
            let files: Vec<String> = compared.sources(side).into_iter().map(argument).collect();
            let (program, flag) = self.program(side);
            format!("{program} apply {}{flag}", files.join(" "))
        };
        let folder = shown.file.as_ref().and_then(|file| Some(file.rsplit_once('/')?.0));
        match (&shown.tests, folder, &shown.file) {
            (Some(folder), ..) => test(folder),
            (None, Some(folder), _) if self.has_more => test(folder),
            (None, _, Some(file)) => {
                [0, 1].map(|side| format!("{} -r {}{flags}", apply(side), argument(file))).to_vec()
            }
            (None, _, None) if self.has_more || out::needs_files(compared, &shown.difference) => {
                vec![self.again.clone()]
            }
            (None, _, None) => {
                let object = argument(&json(&shown.difference.object));
                [0, 1].map(|side| format!("printf %s {object} | {} -r -{flags}", apply(side))).to_vec()
            }
        }
    }
}
