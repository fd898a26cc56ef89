//! What `apply` reads: policies, resources and exceptions, with everything worth a line on standard
//! error.
//!
//! In: arguments and flags. Out: loaded policies, resource documents and exceptions. Which failures
//! end the run is the reference's choice (`docs/cli.md`); the others are told and change nothing.

use crate::document::{self, Document, ResourceOptions};
use crate::engine::Profile;
use crate::ir::Exception;
use crate::load::{self, Policies};
use crate::sources::download::is_url;
use crate::sources::files::{self, Cause, Loaded};
use crate::sources::git::Access;
use crate::value::Value;

use crate::cli::flags::Parsed;
use crate::cli::{print, warn};

use super::{inputs, results};

/// The policies that the arguments mean.
///
/// # Errors
/// An address at which there are none.
pub(super) fn load_policies(parsed: &Parsed) -> Result<Policies, String> {
    let text = |flag: &str| parsed.text(flag).to_owned();
    let access =
        Access { branch: text("git-branch"), username: text("username"), password: text("password") };
    let mut all = Policies::default();
    for argument in &parsed.arguments {
        let is_git = access.means_repository(argument);
        let Loaded { sources, notices } = match is_git {
            true => access.policies(argument)?,
            false => files::policies(std::slice::from_ref(argument)),
        };
        if let Some(n) = notices.iter().find(|n| is_url(&n.place) && n.cause == Cause::Unreadable) {
            return Err(n.text.clone());
        }
        for n in &notices {
            warn(&n.to_string());
        }
        if sources.is_empty() && notices.is_empty() {
            warn(&format!("{argument}: no policy file"));
        }
        // A file of a repository falls away alone, other arguments as a whole.
        for part in sources.chunks(if is_git { 1 } else { sources.len().max(1) }) {
            let loaded = load::argument(part);
            for p in &loaded.problems {
                let what = match (p.fatal, is_git) {
                    (true, false) => format!("all of `{argument}` is left out"),
                    (true, true) => "the file is left out".into(),
                    (false, _) => "left out".into(),
                };
                warn(&format!("{p} ({what})"));
            }
            all.extend(loaded);
        }
    }
    for p in &all.policies {
        for text in load::never_matching(p) {
            warn(&text);
        }
    }
    Ok(all)
}

/// Tells that kinds are deprecated.
///
/// # Errors
/// Such warnings count as errors.
pub(super) fn deprecations(lines: &[String], fatal: bool) -> Result<(), String> {
    let mut text = String::new();
    let told = lines.iter().filter(|l| !l.is_empty());
    for line in told.clone() {
        text.push_str(line);
        text.push('\n');
    }
    print(&text);
    match told.count() {
        n if n > 0 && fatal => {
            Err(format!("found {n} deprecation warning(s) and --warnings-as-errors is set"))
        }
        _ => Ok(()),
    }
}

/// The resources that the arguments mean.
///
/// # Errors
/// The first argument cannot be read, or a document is no Kubernetes object.
pub(super) fn load_resources(
    arguments: &[String],
    profile: Profile,
    quiet: bool,
) -> Result<Vec<Document>, String> {
    let Loaded { sources, notices } = files::resources(arguments);
    for n in notices {
        let first = arguments.first().is_some_and(|a| *a == n.place);
        match n.cause {
            Cause::Missing | Cause::Unreadable if first => {
                return Err(format!("failed to load resources ({})", n.text));
            }
            Cause::Missing | Cause::Unreadable if !quiet => {
                let line = "-".repeat(70);
                print(&format!(
                    "\n{line}\nfailed to load resources: {}. \nerror: {}\n{line}\n",
                    n.place, n.text
                ));
            }
            _ => warn(&n.to_string()),
        }
    }
    let options = ResourceOptions { float_numbers: profile.float_resources };
    let mut all = Vec::new();
    for s in &sources {
        let documents = document::resources(&s.name, &s.text, options).map_err(|e| {
            warn(&format!("{}:{}: this document stops the run", e.source, e.line));
            format!("failed to load resources ({e})")
        })?;
        if documents.is_empty() {
            warn(&format!("{}: no resource", s.name));
        }
        all.extend(documents);
    }
    Ok(all)
}

/// Whether an object is a global context entry.
pub(super) fn is_global(v: &Value) -> bool {
    v.text_at(&["kind"]) == "GlobalContextEntry" && v.text_at(&["apiVersion"]).starts_with("kyverno.io/")
}

/// The reference crashes on two objects of one identity; the first one counts.
pub(super) fn without_duplicates(resources: Vec<Document>) -> Vec<Document> {
    let mut seen = std::collections::HashSet::new();
    resources
        .into_iter()
        .filter(|d| {
            let group = d.value.text_at(&["apiVersion"]).split_once('/').map_or("", |(g, _)| g).to_string();
            let name = d.value.text_at(&["metadata", "name"]);
            let new = name.is_empty() || seen.insert((group, results::path(&d.value)));
            if !new {
                warn(&format!("{}:{}: duplicate of {}: left out", d.source, d.line, results::path(&d.value)));
            }
            new
        })
        .collect()
}

/// The exceptions from all the places that flags name.
///
/// # Errors
/// A file that cannot be read, or holds something else.
pub(super) fn load_exceptions(
    parsed: &Parsed,
    policies: &Policies,
    resources: &[Document],
) -> Result<Vec<Exception>, String> {
    let mut all = Vec::new();
    if parsed.on("exceptions-with-resources") {
        let candidates = resources.iter().filter(|d| d.value.text_at(&["kind"]) == "PolicyException");
        all.extend(
            candidates
                .filter_map(|d| crate::api::schema::check(&d.value).ok())
                .map(|doc| crate::lower::policy::exception(&doc)),
        );
    } else {
        let wrap = |cause: String| format!("Error: failed to load exceptions ({cause})");
        for path in parsed.list("exception") {
            let text = std::fs::read_to_string(path)
                .map_err(|e| wrap(format!("unable to read yaml ({})", inputs::read_error(path, &e))))?;
            let source = files::SourceText { name: path.clone(), text };
            let loaded = load::argument(std::slice::from_ref(&source));
            let refused = |text: String| wrap(format!("unable to load exceptions ({text})"));
            if let Some(p) = loaded.problems.first() {
                return Err(refused(p.text.clone()));
            }
            if let Some(p) = loaded.policies.first() {
                let (version, kind) = (p.document.text_at(&["apiVersion"]), p.document.text_at(&["kind"]));
                return Err(refused(format!("policy exception type not supported {version}, Kind={kind}")));
            }
            deprecations(&loaded.deprecations, parsed.on("warnings-as-errors"))?;
            all.extend(loaded.exceptions);
        }
    }
    if parsed.on("exceptions-within-policies") {
        all.extend(policies.exceptions.iter().cloned());
    }
    Ok(all)
}
