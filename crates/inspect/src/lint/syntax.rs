//! Documents that are not YAML.
//!
//! The parser's line is where it gave up; a tab or a key that comes twice has a place of its own. A file that
//! does not parse is reported only when its text names a kind of policies.

use crate::document::locate::Position;
use crate::document::yaml::Error;
use crate::document::{LoadError, Problem};

use super::finding::Severity;
use super::subject::Subject;

/// Whether a text that does not parse was meant to be a policy.
pub(super) fn is_policy(text: &str) -> bool {
    let (mut group, mut kind) = (false, false);
    for line in text.lines() {
        let mut field = line.splitn(2, ':');
        let (name, value) = (field.next().unwrap_or(""), field.next().unwrap_or("").trim().trim_matches('"'));
        group |= name == "apiVersion"
            && ["kyverno.io/", "policies.kyverno.io/", "admissionregistration.k8s.io/"]
                .iter()
                .any(|g| value.starts_with(g));
        kind |= name == "kind" && value.contains("Policy");
    }
    // Templates of Helm are filled in before they are YAML.
    let is_template = ["{{-", ".Values", ".Release", "{{ include", "{{ template", "{{ if", "{{if"];
    group && kind && !is_template.iter().any(|part| text.contains(part))
}

/// Reports what is wrong with a document.
pub(super) fn check(subject: &mut Subject<'_>, error: &LoadError) {
    if let Problem::Yaml(Error::DuplicateKeys(keys)) = &error.problem {
        for key in keys.iter() {
            let at = line_of(subject.text, key.line as usize, &key.name);
            let message = format!("the key `{}` comes twice", key.name);
            subject.add("yaml-syntax", Severity::Error, at, message, None);
        }
        return;
    }
    if let Some(at) = tab(subject.text) {
        let help = "indent with blanks".to_string();
        return subject.add(
            "yaml-syntax",
            Severity::Error,
            Some(at),
            "a tab cannot indent YAML".into(),
            Some(help),
        );
    }
    let (line, message) = match &error.problem {
        Problem::Yaml(Error::Syntax(syntax)) => {
            (syntax.line.map_or(1, |n| n.get() as usize), syntax.problem.to_string())
        }
        other => (1, other.to_string()),
    };
    // The decoder counts lines from 0 for some problems; the place is the first line that is not blank from there.
    let lines: Vec<&str> = subject.text.lines().collect();
    let line = line.clamp(1, lines.len().max(1));
    let at = lines.get(line - 1).map(|l| {
        let blanks = l.chars().take_while(|c| c.is_whitespace()).count();
        Position { line, col: blanks + 1, len: l.trim().chars().count().max(1) }
    });
    subject.add("yaml-syntax", Severity::Error, at, message, None);
}

/// The first tab that indents a line.
fn tab(text: &str) -> Option<Position> {
    text.lines().enumerate().find_map(|(i, line)| {
        let before = line.chars().take_while(|c| c.is_whitespace()).position(|c| c == '\t')?;
        (!line.trim().is_empty()).then_some(Position { line: i + 1, col: before + 1, len: 1 })
    })
}

fn line_of(text: &str, line: usize, key: &str) -> Option<Position> {
    let found = text.lines().nth(line.checked_sub(1)?)?;
    let col = found.find(key).map_or(1, |byte| found.get(..byte).unwrap_or("").chars().count() + 1);
    Some(Position { line, col, len: key.chars().count().max(1) })
}
