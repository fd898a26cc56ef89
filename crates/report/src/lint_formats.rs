//! Findings about files in the formats of code scanners: SARIF 2.1.0, annotations of GitHub
//! workflows, JSON.
//!
//! In: annotations, each at a place of a file. Out: the text. File names become relative URIs with
//! slashes; columns count characters from 1, and the end of a region is the column behind it.

use std::io::Write;

use serde_json::{Value, json};

use crate::fix::FileFix;
pub use crate::formats::Level;
use crate::formats::WriteError;
use crate::formats::github::{command, data, property};
use crate::formats::sarif::log::{Log, Rank, Region, Rule, physical};
use crate::formats::sarif::{automation, message_text};
use crate::formats::uri::Uris;
use crate::roots::Roots;

/// Something about a place of a file.
#[derive(Clone, Copy, Debug)]
pub struct Annotation<'a> {
    /// The rule.
    pub id: &'a str,
    /// How bad it is.
    pub level: Level,
    /// The policy that it is about; empty when none is known.
    pub policy: &'a str,
    /// The file.
    pub file: &'a str,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1; 0 = the whole line.
    pub column: usize,
    /// The column behind it; 0 = not known.
    pub end: usize,
    /// What it is.
    pub message: &'a str,
    /// What to do.
    pub help: Option<&'a str>,
    /// The text of the line; empty when it is not at hand.
    pub excerpt: &'a str,
    /// Changes of the file that mend it.
    pub fixes: &'a [FileFix],
}

impl Annotation<'_> {
    fn text(&self) -> String {
        match self.help {
            Some(help) => format!("{}; {help}", self.message),
            None => self.message.to_string(),
        }
    }
}

/// A check of the table: an id, what it finds, and what to do.
pub type CheckText = (&'static str, &'static str, &'static str);

/// Writes a SARIF log; rules are the checks, whether they found something or not. Returns what was
/// left out of it.
///
/// # Errors
/// The log cannot be written.
pub fn sarif(
    annotations: &[Annotation<'_>],
    checks: &[CheckText],
    roots: &Roots,
    out: &mut dyn Write,
) -> Result<Option<String>, WriteError> {
    let mut log = Log::new(roots);
    log.automation = automation("lint", &[], &[]);
    for (id, text, help) in checks {
        let worst = annotations.iter().filter(|a| a.id == *id).map(|a| a.level).min();
        log.rule(id, || Rule {
            title: (*text).into(),
            description: format!("{text} {help}"),
            help: (*help).into(),
            level: worst.or(Some(Level::Warning)),
            ..Rule::default()
        });
    }
    for a in annotations {
        let index = log.rule(a.id, Rule::default);
        let region = Region { line: a.line.max(1), column: a.column, end: a.end, text: a.excerpt };
        let describe = |uris: &Uris<'_>| {
            let mut result = json!({
                "ruleId": a.id,
                "ruleIndex": index,
                "level": a.level.word(),
                "message": {"text": message_text(&a.text())},
                "locations": [{"physicalLocation": physical(uris, a.file, &region)}],
            });
            if !a.policy.is_empty() {
                result["properties"] = json!({"policy": a.policy});
            }
            if !a.fixes.is_empty() {
                result["fixes"] = a.fixes.iter().map(|fix| fix.sarif(uris, a.file)).collect();
            }
            result
        };
        log.result(Rank::of(false, Some(a.level), None), describe)?;
    }
    log.finish(&[], out)
}

/// One object an annotation.
pub fn json(annotations: &[Annotation<'_>]) -> String {
    format!("{:#}\n", Value::Array(annotations.iter().map(object).collect()))
}

/// An annotation as an object.
pub fn object(a: &Annotation<'_>) -> Value {
    json!({
        "id": a.id,
        "severity": a.level.word(),
        "policy": a.policy,
        "file": a.file,
        "line": a.line,
        "column": a.column,
        "endColumn": a.end,
        "message": a.message,
        "help": a.help,
        "fixes": a.fixes,
    })
}

/// Commands that a GitHub workflow shows at the lines of a change.
pub fn github(annotations: &[Annotation<'_>], roots: &Roots) -> String {
    let one = |a: &Annotation<'_>| {
        let command = command(a.level);
        let mut place = format!("file={},line={}", property(&roots.name(a.file)), a.line);
        if a.column > 0 {
            place.push_str(&format!(",col={},endColumn={}", a.column, a.end.saturating_sub(1).max(a.column)));
        }
        format!("::{command} {place},title={}::{}\n", property(a.id), data(&a.text()))
    };
    annotations.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]

    use super::*;
    use crate::fix::FileEdit;
    use crate::formats::Document;
    use crate::formats::tests::sarif_errors;

    const ONE: Annotation<'_> = Annotation {
        id: "unknown-field",
        level: Level::Error,
        policy: "p",
        file: "./a b/p.yaml",
        line: 3,
        column: 5,
        end: 9,
        message: "unknown field `mach`",
        help: Some("did you mean `match`?"),
        excerpt: "    mach:",
        fixes: &[],
    };
    const CHECKS: [CheckText; 2] = [
        ("other", "Finds x.", "Write y."),
        ("unknown-field", "Finds fields that are unknown.", "Write one that exists."),
    ];

    fn log(annotations: &[Annotation<'_>], checks: &[CheckText]) -> Value {
        let document = Document::of(|out| sarif(annotations, checks, &Roots::default(), out));
        let text = document.map(|document| document.text).unwrap_or_default();
        assert_eq!(sarif_errors(&text), [""; 0]);
        serde_json::from_str(&text).unwrap_or_default()
    }

    #[test]
    fn a_sarif_result_has_a_rule_a_relative_uri_and_a_region() {
        let log = log(&[ONE], &CHECKS);
        let result = &log["runs"][0]["results"][0];
        assert_eq!((&result["ruleIndex"], &result["level"]), (&json!(1), &json!("error")));
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "a%20b/p.yaml");
        assert_eq!(
            place["region"],
            json!({"startLine": 3, "startColumn": 5, "endColumn": 9, "snippet": {"text": "    mach:"}})
        );
        assert_eq!(result["message"]["text"], "unknown field `mach`; did you mean `match`?");
    }

    #[test]
    fn each_check_says_in_sarif_what_it_finds_and_what_to_do() {
        let log = log(&[ONE, Annotation { id: "of no table", ..ONE }], &CHECKS);
        let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().cloned().unwrap_or_default();
        assert_eq!(rules.len(), 3);
        for rule in &rules {
            for key in ["shortDescription", "fullDescription", "help"] {
                assert!(rule[key]["text"].as_str().is_some_and(|text| !text.is_empty()), "{key}: {rule}");
            }
            assert_ne!(rule["id"], rule["name"]);
        }
        assert_eq!(
            rules[1]["fullDescription"]["text"],
            "Finds fields that are unknown. Write one that exists."
        );
        assert_eq!(rules[1]["help"]["text"], "Write one that exists.");
        assert_eq!(rules[1]["defaultConfiguration"]["level"], "error");
    }

    fn fix() -> FileFix {
        let edit = FileEdit { line: 3, column: 5, end_line: 3, end_column: 9, text: "match".into() };
        FileFix { title: "write `match`".into(), is_safe: true, edits: vec![edit] }
    }

    #[test]
    fn a_fix_says_what_it_replaces_by_lines_and_columns() {
        let fixes = [fix()];
        let one = Annotation { fixes: &fixes, ..ONE };
        let log = log(&[one], &CHECKS);
        let change = &log["runs"][0]["results"][0]["fixes"][0]["artifactChanges"][0];
        assert_eq!(change["artifactLocation"]["uri"], "a%20b/p.yaml");
        assert_eq!(
            change["replacements"][0],
            json!({
                "deletedRegion": {"startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 9},
                "insertedContent": {"text": "match"},
            })
        );
        let all: Value = serde_json::from_str(&json(&[one, ONE])).unwrap_or_default();
        assert_eq!(
            all[0]["fixes"],
            json!([{"title": "write `match`", "safe": true, "edits": [
                {"line": 3, "column": 5, "endLine": 3, "endColumn": 9, "text": "match"},
            ]}])
        );
        assert_eq!(all[1]["fixes"], json!([]));
    }

    #[test]
    fn sarif_is_valid_by_the_schema_of_oasis() {
        let fixes = [fix()];
        let all = [
            ONE,
            Annotation { fixes: &fixes, ..ONE },
            Annotation { column: 0, end: 0, policy: "", file: "-", help: None, excerpt: "", ..ONE },
            Annotation { line: 0, level: Level::Note, file: "https://example.com/a b.yaml", ..ONE },
            Annotation { id: "of no table", end: 0, file: "/etc/p.yaml", ..ONE },
        ];
        for annotations in [&all[..], &[]] {
            log(annotations, &CHECKS);
        }
    }

    #[test]
    fn findings_of_a_log_come_in_the_order_of_their_levels() {
        let of = |level, line| Annotation { level, line, ..ONE };
        let log = log(
            &[of(Level::Note, 1), of(Level::Warning, 2), of(Level::Error, 3), of(Level::Error, 4)],
            &CHECKS,
        );
        let results = log["runs"][0]["results"].as_array().cloned().unwrap_or_default();
        let line = |r: &Value| r["locations"][0]["physicalLocation"]["region"]["startLine"].as_u64();
        assert_eq!(results.iter().filter_map(line).collect::<Vec<_>>(), [3, 4, 2, 1]);
    }

    #[test]
    fn github_commands_escape_what_ends_them_and_what_a_terminal_would_act_on() {
        let odd = Annotation {
            level: Level::Note,
            file: "a,b:c.yaml",
            message: "50%\nmore\u{1b}",
            help: None,
            ..ONE
        };
        assert_eq!(
            github(&[odd], &Roots::default()),
            "::notice file=a%2Cb%3Ac.yaml,line=3,col=5,endColumn=8,title=unknown-field::50%25%0Amore\u{fffd}\n"
        );
    }

    #[test]
    fn annotations_name_files_from_the_root_of_the_repository() {
        use std::path::Path;
        let roots = Roots::of(Path::new("/w/shop/sub"), None, |path| path == Path::new("/w/shop"));
        assert!(github(&[ONE], &roots).starts_with("::error file=sub/a b/p.yaml,line=3"));
    }
}
