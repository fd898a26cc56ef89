//! Findings about files in the formats of code scanners: SARIF 2.1.0, annotations of GitHub workflows, JSON.
//!
//! In: annotations, each at a place of a file. Out: the text. File names become relative URIs with slashes; columns count
//! characters from 1, and the end of a region is the column behind it.

use serde_json::{Value, json};

pub use crate::formats::Level;
use crate::formats::github::{command, escaped, escaped_property};
use crate::formats::sarif::{self, Region};
use crate::formats::uri::reference;

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
}

impl Annotation<'_> {
    fn text(&self) -> String {
        match self.help {
            Some(help) => format!("{}; {help}", self.message),
            None => self.message.to_string(),
        }
    }
}

/// A SARIF log; `rules` are ids and what they find.
pub fn sarif(annotations: &[Annotation<'_>], rules: &[(&str, &str)]) -> String {
    let described = rules.iter().map(|(id, text)| json!({"id": id, "shortDescription": {"text": text}}));
    let results = annotations.iter().map(|a| {
        let region = Region { line: a.line.max(1), column: a.column, end: a.end, text: "" };
        let mut result = json!({
            "ruleId": a.id,
            "level": a.level.word(),
            "message": {"text": a.text()},
            "locations": [{"physicalLocation": sarif::physical(&reference(a.file, None), &region)}],
        });
        if let Some(index) = rules.iter().position(|(id, _)| *id == a.id) {
            result["ruleIndex"] = index.into();
        }
        if !a.policy.is_empty() {
            result["properties"] = json!({"policy": a.policy});
        }
        result
    });
    sarif::log(described.collect(), results.collect(), &[])
}

/// One object an annotation.
pub fn json(annotations: &[Annotation<'_>]) -> String {
    let all = annotations.iter().map(|a| {
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
        })
    });
    format!("{:#}\n", Value::Array(all.collect()))
}

/// Commands that a GitHub workflow shows at the lines of a change.
pub fn github(annotations: &[Annotation<'_>]) -> String {
    let one = |a: &Annotation<'_>| {
        let command = command(a.level);
        let mut place = format!("file={},line={}", escaped_property(a.file.trim_start_matches("./")), a.line);
        if a.column > 0 {
            place.push_str(&format!(",col={},endColumn={}", a.column, a.end.saturating_sub(1).max(a.column)));
        }
        format!("::{command} {place},title={}::{}\n", escaped_property(a.id), escaped(&a.text()))
    };
    annotations.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
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
    };

    #[test]
    fn a_sarif_result_has_a_rule_a_relative_uri_and_a_region() {
        let text = sarif(&[ONE], &[("other", "x"), ("unknown-field", "y")]);
        let log: Value = serde_json::from_str(&text).unwrap_or_default();
        let result = &log["runs"][0]["results"][0];
        assert_eq!((&result["ruleIndex"], &result["level"]), (&json!(1), &json!("error")));
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "a%20b/p.yaml");
        assert_eq!(place["region"], json!({"startLine": 3, "startColumn": 5, "endColumn": 9}));
        assert_eq!(result["message"]["text"], "unknown field `mach`; did you mean `match`?");
    }

    #[test]
    fn sarif_is_valid_by_the_schema_of_oasis() {
        let all = [
            ONE,
            Annotation { column: 0, end: 0, policy: "", file: "-", help: None, ..ONE },
            Annotation { line: 0, level: Level::Note, file: "https://example.com/a b.yaml", ..ONE },
            Annotation { id: "of no table", end: 0, file: "/etc/p.yaml", ..ONE },
        ];
        for annotations in [&all[..], &[]] {
            assert_eq!(sarif_errors(&sarif(annotations, &[("unknown-field", "y")])), [""; 0]);
        }
    }

    #[test]
    fn github_commands_escape_what_ends_them() {
        let odd =
            Annotation { level: Level::Note, file: "a,b:c.yaml", message: "50%\nmore", help: None, ..ONE };
        assert_eq!(
            github(&[odd]),
            "::notice file=a%2Cb%3Ac.yaml,line=3,col=5,endColumn=8,title=unknown-field::50%25%0Amore\n"
        );
    }
}
