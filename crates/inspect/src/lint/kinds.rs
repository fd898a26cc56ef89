//! The kinds that rules are about: entries of `kinds` and resources of match constraints, with
//! their types.
//!
//! In: the entries as they are written. Out: the types of the kinds, or nothing when a kind is a
//! custom one, a pattern or unknown; and findings about kinds that are spelt almost like one that
//! exists. A kind that no API server has of its own may be a custom one and is no finding.

use ephor_api::read::{kinds_of, listed, texts};
use ephor_kubernetes::kinds::Resource;
use ephor_kubernetes::schema::{Type, Whole};
use ephor_kubernetes::{Kinds, Types};
use ephor_matching::kinds::{KindSelector, parse};
use ephor_value::place::{Path, PathPart, parse as parse_path};
use ephor_value::suggest::did_you_mean;
use ephor_value::{Str, Value, wildcard};

use super::finding::Severity;
use super::subject::{Spot, Subject};

/// What is known of kinds: those of every API server, and those of given definitions.
pub(super) struct Known {
    /// How they are served.
    pub(super) kinds: std::sync::Arc<Kinds>,
    /// Their fields.
    pub(super) types: std::sync::Arc<Types>,
    /// The definitions of custom ones.
    pub(super) definitions: Vec<Value>,
}

impl Known {
    /// The type of an object of a kind.
    fn type_of(&self, kind: &[Str; 3]) -> Option<Type> {
        self.types.of_kind(kind).map(|def| Type::Named(def.name.clone(), Whole::Merged))
    }

    /// The types of the objects that an entry of `kinds` selects; `None` when some of them are not
    /// known.
    pub(super) fn of_entry(&self, entry: &str) -> Option<Vec<Type>> {
        let selector = parse(entry);
        if is_open(&selector.kind) || is_open(&selector.subresource) {
            return None;
        }
        let served: Vec<[Str; 3]> =
            self.served(&selector).map(|r| r.kind_of(&selector.subresource)).collect::<Option<_>>()?;
        let types: Vec<Type> = served.iter().map(|kind| self.type_of(kind)).collect::<Option<_>>()?;
        Some(types).filter(|types| !types.is_empty())
    }

    fn served<'k>(&'k self, selector: &KindSelector) -> impl Iterator<Item = &'k Resource> {
        let (group, version) = (selector.group.clone(), selector.version.clone());
        let fits = move |r: &&Resource| {
            wildcard::matches(&group, &r.group) && wildcard::matches(&version, &r.version)
        };
        self.kinds.named(&selector.kind).filter(fits)
    }

    /// The types of the objects that a match block selects.
    pub(super) fn of_match(&self, block: Option<&Value>) -> Option<Vec<Type>> {
        let block = block?;
        let mut all = Vec::new();
        let filters: Vec<&Value> = ["any", "all"].iter().flat_map(|name| listed(block, name)).collect();
        let filters = if filters.is_empty() { vec![block] } else { filters };
        for filter in filters {
            let mut entries = kinds_of(filter).peekable();
            entries.peek()?;
            for entry in entries {
                all.extend(self.of_entry(entry)?);
            }
        }
        Some(all)
    }

    /// Group, version and kind of the objects that a match block selects; `None` when some of them
    /// are not known.
    pub(super) fn kinds_of_match(&self, block: Option<&Value>) -> Option<Vec<[Str; 3]>> {
        let mut found: Vec<[Str; 3]> = Vec::new();
        for (_, filter) in ephor_api::read::filters(block) {
            for entry in kinds_of(filter) {
                let selector = parse(entry);
                self.of_entry(entry)?;
                for resource in self.served(&selector) {
                    let kind = resource.kind_of(&selector.subresource)?;
                    if !found.contains(&kind) {
                        found.push(kind);
                    }
                }
            }
        }
        Some(found).filter(|found| !found.is_empty() && found.len() <= MAX_KINDS)
    }

    /// The types of the objects of a group, version and kind as they stand in an object.
    pub(super) fn of_object(&self, api_version: &str, kind: &str) -> Option<Vec<Type>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.type_of(&[group.into(), version.into(), kind.into()]).map(|ty| vec![ty])
    }

    /// Group, version and kind of all that resource rules select; `None` when some of it is not
    /// known.
    pub(super) fn of_constraints(&self, constraints: &Value) -> Option<Vec<[Str; 3]>> {
        let mut found: Vec<[Str; 3]> = Vec::new();
        for rule in listed(constraints, "resourceRules") {
            for group in texts(rule, &["apiGroups"]) {
                for version in texts(rule, &["apiVersions"]) {
                    for resource in texts(rule, &["resources"]) {
                        let (plural, subresource) = resource.split_once('/').unwrap_or((resource, ""));
                        if [group, version, resource].iter().any(|text| text.contains('*')) {
                            return None;
                        }
                        let kind = self.kinds.resource(group, version, plural)?.kind_of(subresource)?;
                        self.types.of_kind(&kind)?;
                        if !found.contains(&kind) {
                            found.push(kind);
                        }
                    }
                }
            }
        }
        Some(found).filter(|found| !found.is_empty() && found.len() <= MAX_KINDS)
    }
}

/// The most kinds with which expressions are checked.
const MAX_KINDS: usize = 12;

fn is_open(text: &str) -> bool {
    wildcard::has_wildcard(text) || text.contains("{{")
}

/// Whether a group is one of Kubernetes itself.
fn is_own(known: &Kinds, group: &str) -> bool {
    known.all().iter().any(|r| *r.group == *group)
}

/// Reports kinds below `path`, a rule, that are spelt almost like one that exists.
pub(super) fn check(subject: &mut Subject<'_>, known: &Known, rule: &Value, path: &Path) {
    for block in ["match", "exclude"] {
        for (below, filter) in ephor_api::read::filters(rule.get(block)) {
            for (i, entry) in kinds_of(filter).enumerate() {
                let mut at = path.clone();
                at.push(PathPart::Key(block.into()));
                at.extend(parse_path(&below));
                at.extend([
                    PathPart::Key("resources".into()),
                    PathPart::Key("kinds".into()),
                    PathPart::Index(i),
                ]);
                of_entry(subject, known, entry, &at);
            }
        }
    }
}

fn of_entry(subject: &mut Subject<'_>, known: &Known, entry: &str, at: &Path) {
    let selector = parse(entry);
    let kind = &*selector.kind;
    if kind.is_empty() || is_open(kind) || (selector.group != "*" && !is_own(&known.kinds, &selector.group)) {
        return;
    }
    if known.kinds.named(kind).next().is_some() {
        return wrong_version(subject, known, &selector, at);
    }
    let Some((meant, sure)) = near(known, kind) else { return };
    let severity = if sure { Severity::Error } else { Severity::Warning };
    let offset = entry.find(kind).map_or(0, |byte| entry.get(..byte).map_or(0, |s| s.chars().count()));
    let spot = Spot::Inside(offset, kind.chars().count());
    let text = format!("there is no kind `{kind}`: the rule never matches it");
    let remedy = subject.meant(at, spot, Some(meant));
    subject.report("unknown-kind", severity, at, spot, text, remedy);
}

/// A kind that exists, in a group and version that exist and do not have it.
fn wrong_version(subject: &mut Subject<'_>, known: &Known, selector: &KindSelector, at: &Path) {
    let (group, version, kind) = (&*selector.group, &*selector.version, &*selector.kind);
    if is_open(group) || is_open(version) || known.served(selector).next().is_some() {
        return;
    }
    let exists = known.kinds.all().iter().any(|r| *r.group == *group && *r.version == *version);
    let Some(right) = known.kinds.named(kind).next().filter(|_| exists) else { return };
    let of = |group: &str, version: &str| match group {
        "" => format!("{version}/{kind}"),
        group => format!("{group}/{version}/{kind}"),
    };
    let text = format!("{group}/{version} has no kind `{kind}`: the rule never matches it");
    let remedy = subject.meant(at, Spot::Value, Some(&of(&right.group, &right.version)));
    subject.report("unknown-kind", Severity::Error, at, Spot::Value, text, remedy);
}

/// The kind that was meant, and whether that is sure: a plural, or the same letters in another
/// case.
fn near<'k>(known: &'k Known, kind: &str) -> Option<(&'k str, bool)> {
    let all = known.kinds.all();
    let lower = kind.to_lowercase();
    if let Some(same) = all.iter().find(|r| *r.plural == *lower || r.kind.eq_ignore_ascii_case(kind)) {
        return Some((&same.kind, true));
    }
    // A short name, or one that is far away, may well be that of a custom kind.
    let names: Vec<&str> = all.iter().map(|r| &*r.kind).collect();
    let close = did_you_mean(kind, &names)?;
    let distance = ephor_value::suggest::distance(kind, close);
    let limit = if kind.chars().count() >= 10 { 2 } else { 1 };
    (kind.chars().count() >= 5 && distance <= limit).then_some((close, false))
}
