//! `ephor fix`: repairs tests and policies with deprecated syntax.
//!
//! Only `--save` writes; documents of a file that are no policies stay as they are. Texts are the
//! reference's.

use std::path::Path;

use ephor_api::repair;
use ephor_document as document;
use ephor_document::Duplicates;
use ephor_document::write::{self as yaml, Style};
use ephor_policies::load;
use ephor_sources::files;
use ephor_testing::testing::find::find;
use ephor_testing::testing::repair::{self as repair_test, Repaired};
use ephor_value::Value;

use super::flags::{self, Parsed, Takes, flag};
use super::{Page, command_help, print, unknown_below, warn, write_whole};

/// The commands below `fix`.
pub(super) const PAGES: &[Page] = &[
    Page {
        name: "fix policy",
        arguments: "<file or folder>...",
        about: "Repairs policies with deprecated syntax.",
        flags: &[flag("save", Takes::Switch, "in-place repair of the files")],
        examples: "  # see what would be repaired\n  ephor fix policy policies/\n",
    },
    Page {
        name: "fix test",
        arguments: "<folder>...",
        about: "Repairs test files with deprecated syntax.",
        flags: &[
            flag("file-name", Takes::Text, "name of test files").short('f').default("kyverno-test.yaml"),
            flag("save", Takes::Switch, "in-place repair of the files"),
            flag("force", Takes::Switch, "in-place rewrite of well-formed files, too"),
            flag("compress", Takes::Switch, "one result for results that differ in their resources alone"),
        ],
        examples: "  # repair all tests below this folder\n  ephor fix test . --save\n",
    },
];

const ABOUT: &str = "Repairs files with deprecated syntax.";

/// Runs the command.
///
/// # Errors
/// Bad flags and arguments, a missing folder.
pub fn run(args: &[String]) -> Result<i32, String> {
    let Some((name, rest)) = args.split_first().filter(|(name, _)| !name.starts_with('-')) else {
        flags::parse(&[], args)?;
        print(&super::group_help("fix", ABOUT, PAGES));
        return Ok(0);
    };
    let full = format!("fix {name}");
    let Some(page) = PAGES.iter().find(|p| p.name == full) else {
        return Err(unknown_below("fix", name, PAGES));
    };
    let parsed = flags::parse(page.flags, rest)?;
    if parsed.on("help") {
        print(&command_help(page.name, page.arguments, page.about, page.flags, page.examples));
        return Ok(0);
    }
    if parsed.arguments.is_empty() {
        return Err("requires at least 1 arg(s), only received 0".into());
    }
    if name == "test" {
        tests(&parsed)?
    } else {
        policies(&parsed)?
    }
    print("Done.\n");
    Ok(0)
}

fn warnings(indent: &str, warnings: &[String]) {
    let lines: Vec<String> = warnings.iter().map(|w| format!("{indent}WARNING: {w}\n")).collect();
    print(&lines.concat());
}

/// Writes a file and prints whether that succeeded.
fn save(what: &str, path: &str, text: &str) {
    print(&format!("  Saving {what}file ({path})...\n"));
    match write_whole(path, text) {
        Ok(()) => print("    OK\n"),
        Err(e) => print(&format!("    ERROR: {e}\n")),
    }
}

fn yaml_of(value: &Value) -> String {
    yaml::to_string(&value.with_whole_numbers(), Style::Report)
}

fn tests(parsed: &Parsed) -> Result<(), String> {
    let name = parsed.text("file-name");
    if name.is_empty() {
        return Err("file-name must not be set to an empty string".into());
    }
    let found = find(&parsed.arguments, name, "")?;
    for source in &found.sources {
        let mut texts = Vec::new();
        let mut repaired_any = false;
        let documents = document::parse_stream(&source.name, &source.text, Duplicates::Error);
        for document in documents.map_err(|e| e.message)? {
            print(&format!("Processing test file ({})...\n", source.name));
            let base = Path::new(&source.name).file_name().map(|n| n.to_string_lossy().into_owned());
            let repaired = document
                .map_err(|e| format!("error converting YAML to JSON: {}", e.message))
                .and_then(|d| repair_test::test(&d.value, &base.unwrap_or_default(), parsed.on("compress")));
            match repaired {
                Ok(repaired) => {
                    warnings("  ", &repaired.warnings);
                    auxiliary(&source.name, &repaired.value, parsed);
                    repaired_any |= !repaired.warnings.is_empty();
                    texts.push(yaml_of(&repaired.value));
                    print("\n");
                }
                Err(e) => print(&format!("  ERROR: loading test file ({}): {e}\n", source.name)),
            }
        }
        let whole = texts.len() == document_count(&source.text);
        if parsed.on("save") && !texts.is_empty() && (repaired_any || parsed.on("force")) {
            if whole {
                save("test ", &source.name, &texts.join("---\n"));
            } else {
                warn(&format!("{}: not saved: a document of it would be lost", source.name));
            }
        }
    }
    Ok(())
}

fn document_count(text: &str) -> usize {
    document::split::split(text).map_or(0, |parts| parts.len())
}

/// Repairs the files that a test names.
fn auxiliary(test: &str, value: &Value, parsed: &Parsed) {
    type Repair = fn(&Value) -> Result<Repaired, String>;
    let files: [(&str, &str, &str, Repair); 2] = [
        ("userinfo", "user info", "user info", repair_test::user_info),
        ("variables", "values", "values", repair_test::values),
    ];
    for (key, what, error, repair) in files {
        let named = value.text_at(&[key]);
        if named.is_empty() {
            continue;
        }
        let path = Path::new(test).parent().unwrap_or(Path::new("")).join(named);
        let path = ephor_testing::testing::file::clean(&path);
        print(&format!("  Processing {what} file ({named})...\n"));
        let repaired = ephor_testing::inputs::read(&path)
            .and_then(|text| document::yaml_value_strict(&text))
            .and_then(|document| repair(&document));
        match repaired {
            Err(e) => print(&format!("    ERROR: failed to load {error}: {e}\n")),
            Ok(repaired) => {
                warnings("  ", &repaired.warnings);
                if parsed.on("save") && (!repaired.warnings.is_empty() || parsed.on("force")) {
                    save(&format!("{what} "), &path, &yaml_of(&repaired.value));
                }
            }
        }
    }
}

fn policies(parsed: &Parsed) -> Result<(), String> {
    for argument in &parsed.arguments {
        if !Path::new(argument).exists() {
            return Err(format!("lstat {argument}: no such file or directory"));
        }
    }
    let loaded = files::policies(&parsed.arguments);
    for source in &loaded.sources {
        let read = load::argument(std::slice::from_ref(source));
        for problem in read.problems.iter().filter(|p| p.fatal) {
            warn(&problem.to_string());
        }
        let own: Vec<_> = read
            .policies
            .iter()
            .filter(|p| matches!(p.document.text_at(&["kind"]), "ClusterPolicy" | "Policy"))
            .collect();
        if own.is_empty() {
            continue;
        }
        let mut texts = Vec::new();
        let mut repaired_any = false;
        for policy in &own {
            print(&format!("Processing file ({})...\n", source.name));
            let (value, notes) = repair::policy(&policy.document);
            warnings("  ", &notes);
            repaired_any |= !notes.is_empty();
            texts.push(format!("---\n{}", yaml_of(&value)));
        }
        // Everything else of the file is unchanged.
        let parts = document::split::split(&source.text).unwrap_or_default();
        let others = parts.iter().filter(|part| !own.iter().any(|p| p.line == part.line));
        texts.extend(others.map(|part| format!("---\n{}", part.text)));
        if parsed.on("save") && repaired_any {
            save("", &source.name, &texts.concat());
        }
    }
    Ok(())
}
