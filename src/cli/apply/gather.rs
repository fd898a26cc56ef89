//! What `apply` reads: policies, resources and exceptions, with everything worth a line on standard
//! error.
//!
//! In: arguments and flags. Out: loaded policies, resource documents and exceptions. Which failures
//! end the run is Kyverno's choice (`docs/cli.md`); the others are printed as warnings and change nothing.

use ephor_document::Document;
use ephor_engine::Profile;
use ephor_policies::load::{self, Policies};
use ephor_sources::download::is_url;
use ephor_sources::files::{self, Cause, Loaded};
use ephor_sources::git::Access;
use ephor_testing::inputs::exceptions::{self, Exceptions};
use ephor_testing::inputs::resources;
use ephor_value::Value;

use crate::cli::flags::Parsed;
use crate::cli::{print, warn};

use super::results;

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
        let Loaded { sources, notices, .. } = match is_git {
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
        // A bad file of a repository is skipped alone, other arguments are skipped as a whole.
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
        for (line, text) in load::never_matching(p) {
            warn(&format!("{}:{line}: {text}", p.source));
        }
    }
    Ok(all)
}

/// Prints deprecation warnings.
///
/// # Errors
/// Such warnings count as errors.
pub(super) fn deprecations(lines: &[String], fatal: bool) -> Result<(), String> {
    let mut text = String::new();
    let warnings = lines.iter().filter(|l| !l.is_empty());
    for line in warnings.clone() {
        text.push_str(line);
        text.push('\n');
    }
    print(&text);
    match warnings.count() {
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
    let loaded = resources::read(arguments, profile, "resources").map_err(|(text, place)| {
        place.iter().for_each(|place| warn(place));
        text
    })?;
    if !quiet {
        loaded.failed.iter().for_each(|block| print(block));
    }
    loaded.warnings.iter().for_each(|text| warn(text));
    Ok(loaded.documents)
}

/// Whether an object is a global context entry.
pub(super) fn is_global(v: &Value) -> bool {
    v.text_at(&["kind"]) == "GlobalContextEntry" && v.text_at(&["apiVersion"]).starts_with("kyverno.io/")
}

/// Kyverno crashes on two objects of one identity; the first one counts.
pub(super) fn without_duplicates(documents: Vec<Document>) -> Vec<Document> {
    let (unique, duplicates) = resources::without_duplicates(documents);
    for d in duplicates {
        warn(&format!("{}:{}: duplicate of {}: left out", d.source, d.line, results::path(&d.value)));
    }
    unique
}

/// The exceptions from all the places that flags name.
///
/// # Errors
/// A file that cannot be read, or holds something else.
pub(super) fn load_exceptions(
    parsed: &Parsed,
    policies: &Policies,
    resources: &[Document],
) -> Result<Exceptions, String> {
    let mut all = Exceptions::default();
    if parsed.on("exceptions-with-resources") {
        resources.iter().for_each(|d| all.take(&d.value));
    } else {
        for path in parsed.list("exception") {
            let loaded = exceptions::read(path).map_err(|text| format!("Error: {text}"))?;
            deprecations(&loaded.deprecations, parsed.on("warnings-as-errors"))?;
            all.extend(loaded);
        }
    }
    if parsed.on("exceptions-within-policies") {
        all.exceptions.extend(policies.exceptions.iter().cloned());
        all.cel_exceptions.extend(policies.cel_exceptions.iter().cloned());
    }
    Ok(all)
}
