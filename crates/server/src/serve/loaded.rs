//! Which policies are loaded, and what a reload changed.
//!
//! In: the policies of files. Out: [`Loaded`], kind and name of each with a digest of its document;
//! the [`Changes`] between two of them, which the server logs.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use ephor_policies::load::Policies;

/// How many names a line of the log has: more make lines that log stores cut. The count is of all.
const MAX_NAMES: usize = 20;

/// Kind and key of each policy, and a digest of its document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Loaded(BTreeMap<String, u64>);

impl Loaded {
    /// Policies, usable or not; those with the same kind and name count together.
    pub fn of(all: &Policies) -> Loaded {
        let digests = BuildHasherDefault::<DefaultHasher>::default();
        let mut loaded = BTreeMap::new();
        for document in all.policies.iter().map(|policy| &policy.document) {
            let at = |path: &[&str]| document.text_at(path);
            let name = match at(&["metadata", "namespace"]) {
                "" => format!("{} {}", at(&["kind"]), at(&["metadata", "name"])),
                namespace => format!("{} {namespace}/{}", at(&["kind"]), at(&["metadata", "name"])),
            };
            let digest: &mut u64 = loaded.entry(name).or_default();
            *digest = digests.hash_one((*digest, document));
        }
        Loaded(loaded)
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// What is different from what was loaded before.
    pub fn since(&self, before: &Loaded) -> Changes {
        let not_in = |these: &Loaded, those: &Loaded| {
            these.names().filter(|name| !those.0.contains_key(*name)).map(String::from).collect()
        };
        let is_changed =
            |(name, digest): (&String, &u64)| before.0.get(name).is_some_and(|former| former != digest);
        let changed =
            self.0.iter().filter(|entry| is_changed(*entry)).map(|(name, _)| name.clone()).collect();
        Changes {
            added: Names(not_in(self, before)),
            changed: Names(changed),
            removed: Names(not_in(before, self)),
        }
    }
}

/// What a reload changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// New ones.
    pub added: Names,
    /// Those with another document.
    pub changed: Names,
    /// Those that are gone.
    pub removed: Names,
}

impl Changes {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        [&self.added, &self.changed, &self.removed].into_iter().all(|names| names.0.is_empty())
    }
}

/// Names of policies, as a log shows them: after some, how many more there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(Vec<String>);

impl<'n> FromIterator<&'n str> for Names {
    fn from_iter<I: IntoIterator<Item = &'n str>>(names: I) -> Names {
        Names(names.into_iter().map(String::from).collect())
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, name) in self.0.iter().take(MAX_NAMES).enumerate() {
            let separator = if i > 0 { ", " } else { "" };
            write!(f, "{separator}{name}")?;
        }
        match self.0.len().saturating_sub(MAX_NAMES) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use ephor_policies::load::{self, Reader};
    use ephor_sources::files::SourceText;
    use ephor_value::release::Release;

    fn loaded(names: &[(&str, &str)]) -> Loaded {
        let policy = |(name, label): &(&str, &str)| {
            format!(
                "---\napiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: {name}}}\nspec:\n  rules:\n  - name: a\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    validate: {{pattern: {{metadata: {{labels: {{{label}: '?*'}}}}}}}}\n"
            )
        };
        let text: String = names.iter().map(policy).collect();
        let source = SourceText { name: "a.yaml".into(), text: text.as_str().into() };
        Loaded::of(&load::argument_for(&[source], Reader::Server(Release::default())))
    }

    #[test]
    fn a_reload_names_what_it_added_changed_and_removed() {
        let before = loaded(&[("team", "team"), ("cost", "cost"), ("gone", "x")]);
        let now = loaded(&[("cost", "cost-centre"), ("team", "team"), ("new", "x")]);
        let changes = now.since(&before);
        assert_eq!(changes.added.to_string(), "ClusterPolicy new");
        assert_eq!(changes.changed.to_string(), "ClusterPolicy cost");
        assert_eq!(changes.removed.to_string(), "ClusterPolicy gone");
    }

    #[test]
    fn the_same_policies_in_another_order_are_no_change() {
        let (a, b) = (loaded(&[("a", "x"), ("b", "y")]), loaded(&[("b", "y"), ("a", "x")]));
        assert!(a.since(&b).is_empty());
        assert!(a.names().eq(["ClusterPolicy a", "ClusterPolicy b"]));
    }

    #[test]
    fn a_long_list_of_names_ends_with_how_many_more_there_are() {
        let all: Vec<String> = (0..23).map(|i| format!("p{i}")).collect();
        let shown = all.iter().map(String::as_str).collect::<Names>().to_string();
        assert!(shown.starts_with("p0, p1, ") && shown.ends_with("p19 and 3 more"), "{shown}");
    }
}
