//! Names like one that is not known.
//!
//! In: an environment and a name. Out: what messages suggest in its place: at most two names, the
//! nearest. The rules were measured with cel-go 0.33.2 and names at every distance:
//!
//! - a name is near that [`edits`] reach within [`most_edits`]; of near ones the nearest count
//! - where none is near, names that begin with it are suggested
//! - names with a dot are suggested for names with a dot alone, and others for others
//! - a path that begins with no known name is reported as a whole when its whole is near, or known
//!   as a name of another sort; else its first part is

use super::{Checker, Kind, Node, Place, Type, qualified};
use crate::env::Env;
use ephor_value::suggest::edits;

/// How many names are suggested.
const MOST: usize = 2;

/// Functions and types that are known by name in every environment, besides those it declares.
const ALWAYS: [&str; 18] = [
    "@not_strictly_false",
    "bool",
    "bytes",
    "double",
    "duration",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
    "in",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "timestamp",
    "type",
    "uint",
    "has",
    "dyn",
];

/// Macros of receivers.
const MACROS: [&str; 5] = ["all", "exists", "exists_one", "filter", "map"];

/// Macros, and what they use, of two variables.
const TWO_VARIABLES: [&str; 5] =
    ["existsOne", "transformList", "transformMap", "transformMapEntry", "cel.@mapInsert"];

/// Macros of optionals.
const OPTIONALS: [&str; 2] = ["optFlatMap", "optMap"];

/// The names that are suggested for one that is not known.
pub(super) fn near<'e>(env: &'e Env, name: &str) -> Vec<&'e str> {
    let has_dot = name.contains('.');
    if is_known(env, name) {
        return Vec::new();
    }
    let candidates = || names(env).filter(|candidate| candidate.contains('.') == has_dot);
    let distances = candidates().filter_map(|candidate| Some((distance(name, candidate)?, candidate)));
    let mut nearest = usize::MAX;
    let mut found: Vec<&str> = Vec::new();
    for (distance, candidate) in distances {
        if distance < nearest {
            nearest = distance;
            found.clear();
        }
        if distance == nearest {
            found.push(candidate);
        }
    }
    if found.is_empty() {
        let is_longer =
            |candidate: &str| candidate.starts_with(name) && (name.len() > 1 || candidate.len() == 2);
        found = candidates().filter(|candidate| is_longer(candidate)).collect();
    }
    found.sort_unstable_by_key(|found| (found.len(), *found));
    found.dedup();
    found.truncate(MOST);
    found
}

/// All names that an environment knows, of any sort.
fn names(env: &Env) -> impl Iterator<Item = &str> {
    let of = |is_there: bool, names: &'static [&'static str]| if is_there { names } else { &[] };
    let macros = [
        of(true, &MACROS),
        of(env.syntax.two_variables, &TWO_VARIABLES),
        of(env.syntax.optional, &OPTIONALS),
        of(env.syntax.sort_by, &["sortBy"]),
    ];
    let declared = env.functions.keys().copied().chain(env.variables.keys().map(|name| &**name));
    declared.chain(ALWAYS).chain(macros.into_iter().flatten().copied())
}

fn is_known(env: &Env, name: &str) -> bool {
    names(env).any(|known| known == name)
}

/// How far a candidate is from a name, where it is near.
fn distance(name: &str, candidate: &str) -> Option<usize> {
    let (long, short) = (name.len(), candidate.len());
    // The reference takes every candidate for near that is shorter than a long name by a third.
    if long >= 18 && short * 3 == long * 2 {
        return Some(long - short);
    }
    let most = most_edits(long, short);
    if long.abs_diff(short) > most {
        return None;
    }
    Some(edits(name, candidate)).filter(|edits| *edits <= most)
}

/// How many edits lead from a name to one that is near.
fn most_edits(name: usize, candidate: usize) -> usize {
    (name.max(candidate) / 3).min((name / 3).max(2))
}

impl Checker<'_> {
    /// Reports a name that is not known.
    pub(super) fn undeclared(&mut self, at: Place, name: &str) -> Type {
        let rules = self.env.level.rules();
        let mut text = format!("undeclared reference to '{name}'");
        if rules.names_containers {
            text.push_str(&format!(" (in container '{}')", self.env.container));
        }
        if rules.suggests_names {
            let near: Vec<String> =
                near(self.env, name).into_iter().map(|name| format!("'{name}'")).collect();
            if !near.is_empty() {
                text.push_str(&format!(" (did you mean {}?)", near.join(" or ")));
            }
        }
        self.issue(at, text)
    }

    /// Whether a path that is not known is reported as a whole, and not by its first part.
    pub(super) fn is_reported_whole(&self, path: &Node, name: &str) -> bool {
        self.env.level.rules().suggests_names
            && first(path).is_some_and(|first| self.lookup(&first).is_none())
            && (is_known(self.env, name) || !near(self.env, name).is_empty())
    }
}

/// The first part of a path.
fn first(path: &Node) -> Option<String> {
    match &path.kind {
        Kind::Select { operand, .. } => first(operand),
        _ => qualified(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::{Admission, admission};
    use ephor_functions::CelLevel;

    #[test]
    fn a_third_of_the_letters_may_differ_of_a_shorter_name_two_or_a_third_of_its_own() {
        let known = |name: usize, candidate: usize, edits: usize| edits <= most_edits(name, candidate);
        for (name, candidate, edits, is_near) in [
            (2, 2, 1, false),
            (3, 3, 1, true),
            (5, 5, 2, false),
            (6, 6, 2, true),
            (21, 21, 7, true),
            (2, 3, 1, true),
            (1, 2, 1, false),
            (4, 6, 2, true),
            (3, 5, 2, false),
            (6, 9, 3, false),
            (9, 12, 3, true),
            (11, 15, 4, false),
            (12, 16, 4, true),
            (15, 10, 5, true),
            (14, 9, 5, false),
        ] {
            assert_eq!(known(name, candidate, edits), is_near, "{name} {candidate} {edits}");
        }
    }

    #[test]
    fn suggestions_are_those_of_the_reference() {
        let env = admission(Admission { params: true, level: CelLevel::V33, ..Admission::default() });
        for (name, wanted) in [
            ("objec", "object"),
            ("Object", "object"),
            ("OBJECT", ""),
            ("requ", "request"),
            ("old", "oldObject"),
            ("namespaceObj", "namespace namespaceObject"),
            ("new", ""),
            ("pram", "params"),
            ("authorizer", ""),
            ("i", "in ip"),
            ("o", "or"),
            ("a", ""),
            ("is", "isIP isURL"),
            ("nul", "null_type"),
            ("inn", "in int"),
            ("sin", "in @in"),
            ("match", "patch"),
            ("lower", "lowerAscii"),
            ("beginsWith", ""),
            ("hass", "has"),
            ("isLinkLocal", "isLinkLocalUnicast isLinkLocalMulticast"),
            ("exist_one", "exists_one"),
            ("sets.contain", "sets.contains"),
            ("spec.containers", "sets.contains"),
            ("setscontains", "contains"),
            ("jsonpatchescapeKey", "containsCIDR getDayOfWeek"),
            ("size", ""),
            ("fals", ""),
            ("ab", ""),
            ("google.protobuf.Duratio", "google.protobuf.Duration"),
            ("transformLis", "transformList"),
            ("sortByAssociatedKey", "@sortByAssociatedKeys"),
            ("optap", "optMap"),
            (".objec", ""),
            ("isMsk", "isMask"),
        ] {
            assert_eq!(near(&env, name).join(" "), wanted, "{name}");
        }
    }
}
