//! `docs/internals/ir-json.md` names every node and field of the IR's JSON, as the types have them.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fmt::Write;
use std::path::{Path, PathBuf};

use regex::Regex;

/// The files with types that are written, in the order of the page.
const FILES: [&str; 30] = [
    "crates/ir/src/json.rs",
    "crates/ir/src/policy.rs",
    "crates/ir/src/facts.rs",
    "crates/ir/src/rule.rs",
    "crates/ir/src/binding.rs",
    "crates/ir/src/origin.rs",
    "crates/ir/src/matcher.rs",
    "crates/ir/src/selector.rs",
    "crates/ir/src/constraints.rs",
    "crates/ir/src/admission.rs",
    "crates/ir/src/condition.rs",
    "crates/ir/src/template.rs",
    "crates/ir/src/check.rs",
    "crates/ir/src/shape.rs",
    "crates/ir/src/mutate.rs",
    "crates/patch/src/operation.rs",
    "crates/ir/src/generate.rs",
    "crates/ir/src/images.rs",
    "crates/ir/src/manifests.rs",
    "crates/ir/src/image_validation.rs",
    "crates/ir/src/expressions.rs",
    "crates/ir/src/cel_exception.rs",
    "crates/ir/src/expr.rs",
    "crates/ir/src/strict.rs",
    "crates/functions/src/lib.rs",
    "crates/functions/src/row.rs",
    "crates/ir/src/pattern.rs",
    "crates/value/src/release.rs",
    "crates/value/src/wildcard.rs",
    "crates/value/src/quantity/mod.rs",
];

fn read(path: &str) -> String {
    std::fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// As `rename_all = "camelCase"` does it: of variants the first letter, of fields letters behind
/// underscores.
fn name(rust: &str) -> String {
    let mut out = String::new();
    let mut upper = false;
    for (i, c) in rust.chars().enumerate() {
        match c {
            '_' => upper = true,
            c if upper => {
                out.extend(c.to_uppercase());
                upper = false;
            }
            c if i == 0 => out.extend(c.to_lowercase()),
            c => out.push(c),
        }
    }
    out
}

/// A Rust type as the page shows it: what is shared or boxed is not seen in JSON.
fn render(rust: &str) -> String {
    let mut text = rust.replace("crate::value::wildcard::", "").replace("super::", "");
    text = Regex::new(r"\w+::").unwrap().replace_all(&text, "").into_owned();
    text = text.replace("&'static ", "").replace("dyn ", "");
    let boxed = Regex::new(r"\b(?:Box|Arc|Vec)<(\[[^<>]*\]|[^<>\[\]]*)>").unwrap();
    let list = Regex::new(r"\bVec<([^<>]*)>").unwrap();
    let plain = Regex::new(r"\b(Option|Result)<([^<>]*)>").unwrap();
    loop {
        let before = text.clone();
        text = list.replace_all(&text, "[$1]").into_owned();
        text = boxed.replace_all(&text, "$1").into_owned();
        text = plain
            .replace_all(&text, |c: &regex::Captures<'_>| match &c[1] {
                "Option" => format!("{}?", &c[2]),
                _ => format!("Ok {} / Err text", c[2].split(',').next().unwrap_or_default()),
            })
            .into_owned();
        if text == before {
            break;
        }
    }
    for (from, to) in [
        ("Str", "text"),
        ("String", "text"),
        ("Wildcard", "wildcard"),
        ("Wording", "text"),
        ("Function", "text"),
    ] {
        text = Regex::new(&format!(r"\b{from}\b")).unwrap().replace_all(&text, to).into_owned();
    }
    for whole in ["usize", "u32", "i64", "u64", "i128", "i32"] {
        text = Regex::new(&format!(r"\b{whole}\b")).unwrap().replace_all(&text, "int").into_owned();
    }
    text
}

/// The tables of all types that are written by derive.
fn tables() -> String {
    let item = Regex::new(
        r"(?ms)^((?:/// [^\n]*\n|///\n)*)#\[derive\(([^)]*)\)\]\n((?:#\[[^\n]*\n)*)pub (struct|enum) (\w+)(\([^\n]*\);|;| \{\n.*?^\})",
    )
    .unwrap();
    let member = Regex::new(
        r"(?m)^(    |        )((?:/// [^\n]*\n *)+)((?:#\[[^\n]*\n *)*)(?:pub )?(\w+)(?:: ([^\n]*),|(\([^\n]*\)),|,| \{)$",
    )
    .unwrap();
    let into = Regex::new(r#"into = "([^"]*)""#).unwrap();
    let mut out = String::new();
    for file in FILES {
        let text = read(file);
        for c in item.captures_iter(&text) {
            let (derives, attributes, kind, type_name, body) = (&c[2], &c[3], &c[4], &c[5], &c[6]);
            if !derives.contains("Serialize") {
                continue;
            }
            let about = |doc: &str| {
                let lines: Vec<&str> =
                    doc.lines().map(|l| l.trim().trim_start_matches("///").trim()).collect();
                lines.join(" ").trim().replace('|', "\\|")
            };
            writeln!(out, "### {type_name}\n\n{}\n", about(&c[1])).unwrap();
            if attributes.contains("into = ") {
                let shown_as = into.captures(attributes).unwrap()[1].to_string();
                writeln!(out, "Written as {}.\n", render(&shown_as)).unwrap();
                continue;
            }
            writeln!(
                out,
                "| {} | holds | meaning |\n|---|---|---|",
                if kind == "enum" { "variant" } else { "field" }
            )
            .unwrap();
            for m in member.captures_iter(body) {
                if m[3].contains("serde(skip)") {
                    continue;
                }
                let indent = if kind == "enum" && m[1].len() == 8 { "· " } else { "" };
                let holds = m.get(5).or(m.get(6)).map(|t| render(t.as_str())).unwrap_or_default();
                writeln!(
                    out,
                    "| {indent}`{}` | {} | {} |",
                    name(&m[4]),
                    holds.replace('|', "\\|"),
                    about(&m[2])
                )
                .unwrap();
            }
            out.push('\n');
        }
    }
    out.trim_end().to_string()
}

const MARK: &str = "<!-- The tables below are compared with the types; `EPHOR_WRITE_DOCS=1 cargo test --test program ir_schema` writes them. -->";

#[test]
fn the_page_has_every_node_and_field_of_the_types() {
    let tables = crate::prose::one_sentence_a_line(&tables());
    for part in ["### Bundle", "`apiVersion`", "### Expr", "| · `base` |", "### Pattern", "| `source` |"] {
        assert!(tables.contains(part), "{part}");
    }
    assert!(!tables.contains("`prepared` | Prepared"));
    let page = read("docs/internals/ir-json.md");
    let (head, written) = page.split_once(MARK).unwrap();
    if std::env::var_os("EPHOR_WRITE_DOCS").is_some() {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/internals/ir-json.md");
        std::fs::write(path, format!("{head}{MARK}\n\n{tables}\n")).unwrap();
        return;
    }
    let differs = written.trim().lines().zip(tables.lines()).find(|(a, b)| a != b);
    assert!(
        written.trim() == tables,
        "docs/internals/ir-json.md is not as the types are (EPHOR_WRITE_DOCS=1 writes it): {differs:?}"
    );
}

#[test]
fn every_type_that_is_written_is_in_a_file_of_the_page() {
    let mut found = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("src"), root.join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            // What a language server and an editor send to each other is no IR, nor is a recording.
            if path.ends_with("cli/lsp") || path.ends_with("crates/recording") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if std::fs::read_to_string(&path)
                .unwrap_or_default()
                .contains(", Serialize, Deserialize)]")
            {
                found.push(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }
    let missing: Vec<&String> = found.iter().filter(|f| !FILES.contains(&f.as_str())).collect();
    assert!(missing.is_empty(), "files with types that are written: {missing:?}");
}
