//! Circles of files: files of which each leads to each other by what they name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::imports::{Imports, ItemPath, imports};
use super::sources::{Module, Source};

/// Files of which each leads to each other.
pub struct Circle {
    /// The modules, in order.
    pub files: Vec<Module>,
    /// What ties them: who names what of whom.
    pub ties: Vec<(Module, Module, BTreeSet<String>)>,
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (from, to, names) in &self.ties {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            writeln!(f, "  {} -> {}: {}", from.join("::"), to.join("::"), names.join(", "))?;
        }
        Ok(())
    }
}

/// From file to file, with the names.
type Graph = BTreeMap<Module, BTreeMap<Module, BTreeSet<String>>>;

/// Which file names what of which other one. What a file exports of another counts as of the
/// file that defines it. The root is left out: it says what the crate is to others.
fn graph(sources: &[Source]) -> Graph {
    let modules: BTreeSet<&Module> = sources.iter().map(|source| &source.module).collect();
    let all: BTreeMap<&Module, Imports> =
        sources.iter().map(|source| (&source.module, imports(source, &modules))).collect();
    let mut graph = Graph::new();
    for (module, own) in all.iter().filter(|(module, _)| !module.is_empty()) {
        let ties = graph.entry((*module).clone()).or_default();
        for path in &own.paths {
            let to = defining_module(path, &all, 0);
            if !to.is_empty() && to != **module {
                let name =
                    path.get(to.len()..).filter(|rest| !rest.is_empty()).unwrap_or(&path[path.len() - 1..]);
                ties.entry(to).or_default().insert(name.join("::"));
            }
        }
    }
    graph
}

/// More re-exports than this do not follow one another.
const MAX_REEXPORTS: usize = 8;

/// The file that defines what a path leads to.
fn defining_module(path: &[String], all: &BTreeMap<&Module, Imports>, depth: usize) -> Module {
    let deepest = (0..=path.len()).rev().find(|n| all.contains_key(&path[..*n].to_vec())).unwrap_or(0);
    let (module, rest) = path.split_at(deepest);
    let module = module.to_vec();
    let (Some(name), Some(imports)) = (rest.first(), all.get(&module)) else { return module };
    if depth < MAX_REEXPORTS {
        let follow =
            |to: &ItemPath, rest: &[String]| defining_module(&[&to[..], rest].concat(), all, depth + 1);
        if let Some(to) = imports.exports.get(name) {
            return follow(to, &rest[1..]);
        }
        let of_glob = imports.glob_exports.iter().find(|to| {
            all.get(to).is_some_and(|below| below.exports.contains_key(name))
                || depth == 0 && is_only_glob(imports)
        });
        if let Some(to) = of_glob {
            return follow(to, rest);
        }
    }
    module
}

/// Whether a file makes nothing known but all of another.
fn is_only_glob(imports: &Imports) -> bool {
    imports.exports.is_empty() && imports.glob_exports.len() == 1
}

/// The circles of more than one file, the largest first.
pub fn circles(sources: &[Source]) -> Vec<Circle> {
    let graph = graph(sources);
    let reached: BTreeMap<&Module, BTreeSet<&Module>> =
        graph.keys().map(|module| (module, reached_from(module, &graph))).collect();
    let mut seen: BTreeSet<&Module> = BTreeSet::new();
    let mut out = Vec::new();
    for module in graph.keys() {
        let back = |other: &&&Module| reached.get(**other).is_some_and(|of| of.contains(module));
        let files: Vec<Module> = reached[module].iter().filter(back).map(|m| (*m).clone()).collect();
        if files.len() > 1 && seen.insert(module) && files.first() == Some(module) {
            let ties = files.iter().flat_map(|from| {
                let within = graph[from].iter().filter(|(to, _)| files.contains(to));
                within.map(|(to, names)| (from.clone(), to.clone(), names.clone()))
            });
            out.push(Circle { ties: ties.collect(), files: files.clone() });
        }
    }
    out.sort_by_key(|circle| std::cmp::Reverse(circle.files.len()));
    out
}

/// The files that a file leads to, in one step or more.
fn reached_from<'g>(module: &Module, graph: &'g Graph) -> BTreeSet<&'g Module> {
    let mut out = BTreeSet::new();
    let mut open: Vec<&Module> = graph[module].keys().collect();
    while let Some(next) = open.pop() {
        if out.insert(next) {
            open.extend(graph.get(next).into_iter().flat_map(BTreeMap::keys));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::sources::sources;

    /// The circles of a crate in the test.
    fn of(files: &[(&str, &str)]) -> Vec<String> {
        let files = files.iter().map(|(path, text)| ((*path).to_string(), (*text).to_string())).collect();
        let names = |c: &Circle| c.files.iter().map(|m| m.join("::")).collect::<Vec<_>>().join(" ");
        circles(&sources(files)).iter().map(names).collect()
    }

    #[test]
    fn imports_of_each_form_tie_files() {
        for (a, b) in [
            ("use crate::b::B;", "use crate::a::A;"),
            ("use super::b::{B, C};", "use super::a;\nfn f() { a::g() }"),
            ("use crate::{\n    b::B,\n};", "fn f() { crate::a::g() }"),
            ("use super::b as other;\nfn f() { other::g() }", "fn f() -> super::a::A { g!() }"),
            ("fn f() { use crate::b::B; }", "use crate::a::*;"),
        ] {
            assert_eq!(of(&[("lib.rs", "mod a;\nmod b;"), ("a.rs", a), ("b.rs", b)]), ["a b"], "{a} {b}");
        }
    }

    #[test]
    fn a_name_that_is_re_exported_is_of_the_file_that_defines_it() {
        let types = ("a/types.rs", "pub struct T;");
        let user = ("a/user.rs", "use super::T;");
        let of_mod = |text: &'static str| of(&[("lib.rs", "pub mod a;"), ("a/mod.rs", text), types, user]);
        // The user takes the type from the folder, which takes the user.
        let reexport = "mod types;\nmod user;\npub use types::T;\nfn f() { user::run() }";
        assert!(of_mod(reexport).is_empty());
        assert!(of_mod("mod types;\nmod user;\npub use types::*;\nfn f() { user::run() }").is_empty());
        assert_eq!(of_mod("mod types;\nmod user;\npub struct T;\nfn f() { user::run() }"), ["a a::user"]);
    }

    #[test]
    fn a_chain_of_names_made_known_leads_back_into_the_circle() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\npub use a::A;"),
            ("a/mod.rs", "mod own;\npub use own::A;\n"),
            ("a/own.rs", "pub struct A(crate::b::B);"),
            ("b.rs", "use crate::A;\npub struct B(Option<A>);"),
        ];
        assert_eq!(of(&files), ["a::own b"]);
    }

    #[test]
    fn tests_comments_and_other_crates_tie_nothing() {
        let b = "// use crate::a::A;\n/// [`crate::a`]\n#[cfg(test)]\nmod tests { use crate::a::A; }";
        for b in [
            b,
            "use other::a::A;",
            "fn f() { \"crate::a::A\" }",
            "#[cfg(test)]\nuse crate::a::A;\n",
            "pub(in crate::a) fn f() {}",
        ] {
            assert!(
                of(&[("lib.rs", "mod a;\nmod b;"), ("a.rs", "use crate::b::B;"), ("b.rs", b)]).is_empty()
            );
        }
        let files = [
            ("lib.rs", "mod a;"),
            ("a.rs", "fn f() {}\n#[cfg(test)]\nmod tests;"),
            ("a/tests.rs", "use super::*;\nuse crate::a::f;"),
        ];
        assert!(of(&files).is_empty());
    }

    #[test]
    fn circles_are_apart_and_the_largest_comes_first() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\nmod e;"),
            ("a.rs", "use crate::b::B;\nuse crate::c::C;"),
            ("b.rs", "use crate::a::A;"),
            ("c.rs", "use crate::d::D;"),
            ("d.rs", "use crate::e::E;"),
            ("e.rs", "use crate::c::C;"),
        ];
        assert_eq!(of(&files), ["c d e", "a b"]);
    }

    #[test]
    fn a_circle_is_shown_with_what_ties_it() {
        let files = [("lib.rs", ""), ("a.rs", "use crate::b::{B, C};"), ("b.rs", "fn f() { crate::a::g() }")];
        let files = files.iter().map(|(path, text)| ((*path).to_string(), (*text).to_string())).collect();
        assert_eq!(circles(&sources(files))[0].to_string(), "  a -> b: B, C\n  b -> a: g\n");
    }
}
