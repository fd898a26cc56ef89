//! What a shell completes: names of functions, rules and kinds.
//!
//! In: the letters that are typed. Out: candidates that begin with them.

use std::ffi::OsStr;

use clap_complete::engine::CompletionCandidate;
use ephor_policies::load;
use ephor_sources::files;

/// The functions of JMESPath whose names begin so.
pub(super) fn function_names(typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let all = ephor_functions::all().iter().filter(|f| f.name.starts_with(&*typed));
    all.map(|f| CompletionCandidate::new(f.name).help(Some(f.note.into()))).collect()
}

/// The names of the rules of the policies that the line names, so far as they begin so.
pub(super) fn rule_names(typed: &OsStr) -> Vec<CompletionCandidate> {
    of_policies(typed, |p| p.all_rules().map(|r| r.name.to_string()).collect())
}

pub(super) fn of_policies(
    typed: &OsStr,
    names: impl Fn(&ephor_ir::Policy) -> Vec<String>,
) -> Vec<CompletionCandidate> {
    // The words of the line follow `--`; those that are files may be policies.
    let words = std::env::args().skip_while(|word| word != "--").skip(3);
    let paths: Vec<String> = words.filter(|word| std::path::Path::new(word).exists()).collect();
    let loaded = load::argument(&files::policies(&paths).sources);
    let typed = typed.to_string_lossy();
    let all = loaded.policies.iter().filter_map(|p| p.policy.as_ref()).flat_map(|p| names(p));
    let mut all: Vec<String> = all.filter(|name| name.starts_with(&*typed)).collect();
    all.sort();
    all.dedup();
    all.into_iter().map(CompletionCandidate::new).collect()
}

/// The kinds of Kubernetes whose names begin so.
pub(super) fn kind_names(typed: &std::ffi::OsStr) -> Vec<clap_complete::CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let kinds = ephor_kubernetes::Kinds::with(&[]);
    let mut names: Vec<String> = kinds.all().iter().map(|r| r.kind.to_string()).collect();
    names.retain(|name| name.starts_with(&*typed));
    names.sort();
    names.dedup();
    names.into_iter().map(clap_complete::CompletionCandidate::new).collect()
}
