//! The product code of a crate: files by module, without comments, texts and what is compiled for
//! tests alone.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// A module's place below the root of its crate: `a::b` is `["a", "b"]`.
pub type Module = Vec<String>;

/// A file of product code.
pub struct Source {
    /// The module that it is.
    pub module: Module,
    /// The text as it is written.
    pub text: String,
    /// The text without comments, contents of literals, and tests.
    pub code: String,
}

/// The sources below a folder, or those of a crate in the test: paths relative to it, with their
/// texts.
pub fn sources(files: Vec<(String, String)>) -> Vec<Source> {
    let all = files.into_iter().map(|(path, text)| {
        let mut module: Module = path.trim_end_matches(".rs").split('/').map(String::from).collect();
        if matches!(module.last().map(String::as_str), Some("lib" | "main" | "mod")) {
            module.pop();
        }
        (module, text)
    });
    let all: Vec<(Module, String)> = all.collect();
    let for_tests: BTreeSet<Module> = all
        .iter()
        .flat_map(|(module, text)| {
            let names = modules_for_tests(&without_literals(text));
            names.into_iter().map(|name| [&module[..], &[name]].concat())
        })
        .collect();
    all.into_iter()
        .filter(|(module, _)| (1..=module.len()).all(|n| !for_tests.contains(&module[..n])))
        .map(|(module, text)| {
            let code = without_tests(&without_literals(&text));
            Source { module, text, code }
        })
        .collect()
}

/// The product code below `src` of a crate.
pub fn product_sources(src: &Path) -> Vec<Source> {
    fn read(dir: &Path, below: &str, out: &mut Vec<(String, String)>) {
        for entry in std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap()) {
            let name = format!("{below}{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                read(&entry.path(), &format!("{name}/"), out);
            } else if name.ends_with(".rs") {
                out.push((name, std::fs::read_to_string(entry.path()).unwrap()));
            }
        }
    }
    let mut files = Vec::new();
    read(src, "", &mut files);
    files.sort();
    sources(files)
}

impl Source {
    /// The module as it is written; `crate` for the root.
    pub fn name(&self) -> String {
        if self.module.is_empty() { "crate".into() } else { self.module.join("::") }
    }

    /// The names of types that the file defines, but for those inside of functions and of modules
    /// that are written in it.
    pub fn types(&self) -> Vec<&str> {
        let of_type =
            Regex::new(r"(?m)^(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|type|union) (\w+)").unwrap();
        of_type.captures_iter(&self.code).map(|c| c.get(1).unwrap().as_str()).collect()
    }

    /// The modules that have files of their own below this one.
    pub fn declared_modules(&self) -> Vec<&str> {
        static DECLARED: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"(?m)^(?:pub(?:\([^)]*\))? )?mod (\w+);").unwrap());
        DECLARED.captures_iter(&self.code).map(|c| c.get(1).unwrap().as_str()).collect()
    }

    /// The lines of the module's page.
    pub fn page(&self) -> String {
        self.text.lines().filter(|line| line.starts_with("//!")).collect::<Vec<_>>().join("\n")
    }
}

/// The beginning of a raw text.
static RAW: LazyLock<Regex> = LazyLock::new(|| Regex::new(r##"^b?r(#*)""##).unwrap());
/// A character in quotation marks.
static CHARACTER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[^}]*\}|.)|[^\\'])'").unwrap());

/// The text with comments, and the contents of texts and characters, replaced by nothing.
fn without_literals(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_in_word = false;
    while let Some(c) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            comment_length(rest)
        } else if let Some(found) =
            matches!(c, 'r' | 'b').then(|| RAW.captures(rest)).flatten().filter(|_| !is_in_word)
        {
            let end = format!("\"{}", &found[1]);
            let begin = found[0].len();
            out.push_str("\"\"");
            rest[begin..].find(&end).map_or(rest.len(), |at| begin + at + end.len())
        } else if c == '"' {
            out.push_str("\"\"");
            text_length(rest)
        } else if let Some(found) =
            matches!(c, '\'' | 'b').then(|| CHARACTER.find(rest)).flatten().filter(|_| !is_in_word)
        {
            out.push_str("' '");
            found.end()
        } else {
            out.push(c);
            c.len_utf8()
        };
        is_in_word = c.is_alphanumeric() || c == '_';
        rest = &rest[skipped..];
    }
    out
}

/// The length of a comment that may hold others.
fn comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    while at < text.len() {
        match &text.as_bytes()[at..text.len().min(at + 2)] {
            b"/*" => {
                depth += 1;
                at += 2;
            }
            b"*/" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    text.len()
}

/// The length of a text in quotation marks.
fn text_length(text: &str) -> usize {
    let mut is_escaped = true;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// `#[cfg(test)]` and other attributes of the same item.
const FOR_TESTS: &str = r"#\[cfg\(test\)\]\s*(?:#!?\[[^\]]*\]\s*)*";

/// The modules with files of their own that are compiled for tests alone.
fn modules_for_tests(code: &str) -> Vec<String> {
    static DECLARED: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(&format!(r"{FOR_TESTS}(?:pub(?:\([^)]*\))? )?mod (\w+);")).unwrap());
    DECLARED.captures_iter(code).map(|c| c[1].to_string()).collect()
}

/// The code without items that are compiled for tests alone.
fn without_tests(code: &str) -> String {
    static BEGIN: LazyLock<Regex> = LazyLock::new(|| Regex::new(FOR_TESTS).unwrap());
    static IMPORT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^(?:pub(?:\([^)]*\))? )?use ").unwrap());
    let (mut out, mut rest) = (String::with_capacity(code.len()), code);
    while let Some(found) = BEGIN.find(rest) {
        out.push_str(&rest[..found.start()]);
        rest = &rest[found.end()..];
        let end = if IMPORT.is_match(rest) { rest.find(';').map(|at| at + 1) } else { end_of_item(rest) };
        rest = &rest[end.unwrap_or(rest.len())..];
    }
    out + rest
}

/// The end of an item: its semicolon, or the brace that closes its body.
fn end_of_item(code: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, c) in code.char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            '}' if depth <= 1 => return Some(at + 1),
            '}' => depth -= 1,
            ';' if depth == 0 => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[test]
fn comments_texts_and_tests_are_no_code() {
    let code = |text: &str| without_tests(&without_literals(text));
    assert_eq!(code("a // use crate::b;\nc /* d /* e */ f */ g"), "a \nc  g");
    assert_eq!(code(r#"let a = "crate::b \" c"; d"#), r#"let a = ""; d"#);
    assert_eq!(code("r#\"crate::b \" c\"# 'x' '\\'' 'a: &'b str"), "\"\" ' ' ' ' 'a: &'b str");
    assert_eq!(code("a #[cfg(test)]\n#[allow(x)]\nmod tests { fn b() { c } } d"), "a  d");
    assert_eq!(code("#[cfg(test)]\nuse crate::{a, b};\nc"), "\nc");
    assert_eq!(code("#[cfg(test)]\npub(crate) fn a(b: [u8; 2]) -> C { d }\ne"), "\ne");
    assert_eq!(code("#[cfg(not(test))]\nfn a() {}"), "#[cfg(not(test))]\nfn a() {}");
}

#[test]
fn files_of_modules_for_tests_are_left_out_with_what_is_below() {
    let of = |path: &str, text: &str| (path.to_string(), text.to_string());
    let all = sources(vec![
        of("lib.rs", "mod a;\n#[cfg(test)]\nmod tests;\npub mod b;"),
        of("a.rs", "#[cfg(test)]\n#[allow(clippy::unwrap_used)]\nmod laws;"),
        of("a/laws.rs", ""),
        of("b/mod.rs", "mod tests;"),
        of("b/tests.rs", ""),
        of("tests.rs", "mod deep;"),
        of("tests/deep.rs", ""),
    ]);
    let names: Vec<String> = all.iter().map(Source::name).collect();
    assert_eq!(names, ["crate", "a", "b", "b::tests"]);
    assert_eq!(all[0].declared_modules(), ["a", "b"]);
}

#[test]
fn types_are_those_of_the_file_itself() {
    let text =
        "pub struct A<'a> {\n}\n    struct Inner;\npub(crate) enum B {}\ntype C = A;\nfn d() {}\nimpl A {}";
    let all = sources(vec![("lib.rs".into(), text.into())]);
    assert_eq!(all[0].types(), ["A", "B", "C"]);
}
