//! What a file names of its own crate: imports, and paths in code.
//!
//! Macros are read as the code that they hold; what a macro of another crate makes is not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::sources::{Module, Source};

/// A path below the root of the crate: modules, then items.
pub type ItemPath = Vec<String>;

/// What a file names.
#[derive(Default)]
pub struct Imports {
    /// Every path, of imports and of code.
    pub paths: BTreeSet<ItemPath>,
    /// What it makes known to others under a name.
    pub exports: BTreeMap<String, ItemPath>,
    /// Modules of which it makes all known.
    pub glob_exports: Vec<Module>,
}

/// An import: its visibility and its paths.
static IMPORT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^[ \t]*(pub(?:\([^)]*\))? )?use ([^;]+);").unwrap());
/// Who may name an item: that ties no files.
static VISIBILITY: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"pub\(in [^)]*\)").unwrap());
/// A path in code whose first part may be a module.
static PATH: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?:^|[^\w:$])((?:[a-z_]\w*)(?:::\w+)+)").unwrap());

/// What a file names of the modules of its crate.
pub fn imports(source: &Source, modules: &BTreeSet<&Module>) -> Imports {
    let mut out = Imports::default();
    let mut aliases: BTreeMap<String, ItemPath> = BTreeMap::new();
    for found in IMPORT.captures_iter(&source.code) {
        for (path, alias) in leaves(&found[2].split_whitespace().collect::<Vec<_>>().join(" ")) {
            let Some(mut path) = absolute(&path, &source.module, modules) else { continue };
            if path.last().is_some_and(|last| last == "self") {
                path.pop();
            }
            if path.last().is_some_and(|last| last == "*") {
                path.pop();
                if found.get(1).is_some() {
                    out.glob_exports.push(path.clone());
                }
                out.paths.insert(path);
                continue;
            }
            let name = alias.or_else(|| path.last().cloned()).unwrap_or_default();
            if found.get(1).is_some() {
                out.exports.insert(name.clone(), path.clone());
            }
            // A module alone is nothing yet: what counts is named below.
            if !modules.contains(&path) {
                out.paths.insert(path.clone());
            }
            aliases.insert(name, path);
        }
    }
    let code = IMPORT.replace_all(&source.code, "");
    let code = VISIBILITY.replace_all(&code, "pub");
    for found in PATH.captures_iter(&code) {
        let path: Vec<String> = found[1].split("::").map(String::from).collect();
        let of_alias = |alias: &ItemPath| [&alias[..], &path[1..]].concat();
        let known = aliases.get(&path[0]).map(of_alias);
        out.paths.extend(known.or_else(|| absolute(&path, &source.module, modules)));
    }
    out
}

/// The path below the root of the crate that a path means in a module; `None` for one that leads to
/// another crate or is none of modules.
fn absolute(path: &[String], module: &Module, modules: &BTreeSet<&Module>) -> Option<ItemPath> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some([module, rest].concat()),
        "super" => {
            let above = path.iter().take_while(|part| *part == "super").count();
            let base = module.get(..module.len().checked_sub(above)?)?;
            Some([base, &path[above..]].concat())
        }
        _ => {
            let below = [&module[..], &path[..1]].concat();
            modules.contains(&below).then(|| [module, path].concat())
        }
    }
}

/// The paths of an import, `a::{b, c::{d as e, self}}`, each with the name that it is given.
fn leaves(text: &str) -> Vec<(ItemPath, Option<String>)> {
    let text = text.trim();
    let Some((before, list)) = text.split_once('{') else {
        let (path, alias) = text.split_once(" as ").map_or((text, None), |(path, alias)| (path, Some(alias)));
        return vec![(
            path.split("::")
                .map(|part| part.trim().into())
                .filter(|part: &String| !part.is_empty())
                .collect(),
            alias.map(|alias| alias.trim().to_string()),
        )];
    };
    let list = list.trim_end().strip_suffix('}').unwrap_or(list);
    let before: Vec<String> =
        before.split("::").map(|p| p.trim().to_string()).filter(|p| !p.is_empty()).collect();
    let mut depth = 0usize;
    let parts = list.split(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts
        .filter(|part| !part.trim().is_empty())
        .flat_map(leaves)
        .map(|(path, alias)| ([&before[..], &path].concat(), alias))
        .collect()
}

#[test]
fn imports_are_taken_apart_to_their_names() {
    let shown = |text: &str| -> Vec<String> {
        let show = |(path, alias): (ItemPath, Option<String>)| {
            path.join("::") + &alias.map_or(String::new(), |a| format!(" as {a}"))
        };
        leaves(text).into_iter().map(show).collect()
    };
    assert_eq!(shown("crate::a"), ["crate::a"]);
    assert_eq!(
        shown("super::{a, b::{self, c as d, e::{f, g}}, h::*}"),
        ["super::a", "super::b::self", "super::b::c as d", "super::b::e::f", "super::b::e::g", "super::h::*"]
    );
    assert_eq!(shown("{crate::a, crate::b}"), ["crate::a", "crate::b"]);
}
