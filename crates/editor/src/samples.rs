//! Objects on which a policy can be tried: those that its tests name, then any of its kinds.

use std::path::Path as FilePath;
use std::sync::Arc;

use ephor_value::Value;

use crate::entry::{Part, Role};
use crate::fields::kinds_of;
use crate::index::Index;

/// The object on which expressions of a policy are evaluated, with the name of its file.
pub(crate) fn sample_for<'i>(
    index: &'i Index,
    policy_file: &str,
    policy: &Part,
) -> Option<(&'i Value, String)> {
    let (file, part) = *objects_for(index, policy_file, policy).first()?;
    let name = FilePath::new(&**file).file_name().map(|name| name.to_string_lossy().into_owned());
    Some((&part.value, format!("{} {} of {}", part.kind(), part.name(), name.unwrap_or_default())))
}

/// The objects that a policy is about, the likeliest ones first: those of files that tests of the
/// policy name, those of the folder of the policy, then others.
pub(crate) fn objects_for<'i>(
    index: &'i Index,
    policy_file: &str,
    policy: &Part,
) -> Vec<(&'i Arc<str>, &'i Part)> {
    let mut kinds: Vec<String> = Vec::new();
    let rules = policy.value.at(&["spec", "rules"]).and_then(Value::as_list).map_or(0, <[Value]>::len);
    let paths = (0..rules).map(|i| ephor_value::place::parse(&format!("spec.rules[{i}].match")));
    for path in paths.chain([Vec::new()]) {
        kinds.extend(kinds_of(index, &policy.value, &path).iter().map(|kind| kind[2].to_string()));
    }
    let of_tests: Vec<String> = index
        .files()
        .filter(|(_, file)| file.good.of_role(Role::Test).any(|test| names_policy(test, policy.name())))
        .flat_map(|(name, file)| file.good.samples(name))
        .collect();
    let folder = FilePath::new(policy_file).parent();
    let rank = |file: &str| match () {
        () if of_tests.iter().any(|name| name == file) => 0,
        () if FilePath::new(file).parent() == folder => 1,
        () if folder.is_some_and(|folder| FilePath::new(file).starts_with(folder)) => 2,
        () => 3,
    };
    let is_about = |part: &Part| kinds.iter().any(|kind| kind == part.kind());
    let mut found: Vec<(usize, &Arc<str>, &Part)> = index
        .parts(Role::Object)
        .filter(|(.., part)| is_about(part))
        .map(|(file, _, part)| (rank(file), file, part))
        .collect();
    found.sort_by_key(|(rank, ..)| *rank);
    found.into_iter().map(|(_, file, part)| (file, part)).collect()
}

/// Whether a test has expected results of a policy.
pub(crate) fn names_policy(test: &Part, policy: &str) -> bool {
    let results = test.value.get("results").and_then(Value::as_list).unwrap_or_default();
    results.iter().any(|result| result.text_at(&["policy"]).rsplit('/').next() == Some(policy))
}
