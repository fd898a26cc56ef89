//! Documents that are not YAML.
//!
//! The parser's line is where it gave up; a tab or a key that comes twice has a place of its own,
//! as [`broken`](super::broken) finds for other mistakes. A template is filled in before it is
//! YAML, so it is no finding in a folder; a file that is given by name is meant to be YAML.

use ephor_document::locate::Position;
use ephor_document::yaml::YamlError;
use ephor_document::{LoadError, Problem};

use super::broken::{self, Mend};
use super::finding::Severity;
use super::subject::{Remedy, Subject};

/// What a document is that is not YAML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meant {
    /// A policy: Kyverno's variables, which need quotes, are no template.
    Policy,
    /// A template of Helm or another language.
    Template,
    /// Anything else.
    Other,
}

/// What a text that does not parse was meant to be.
pub(super) fn meant(text: &str) -> Meant {
    // Templates of Helm, which Kyverno's variables do not look like.
    const HELM: [&str; 10] =
        ["{{-", "{{ -", ".Values", ".Release", "{{ include", "{{ template", "{{ if", "{{if", "{{ .", "{{."];
    let parts: Vec<&str> = text.lines().filter_map(template_part).collect();
    let is_helm = |part: &&str| part.starts_with("{%") || HELM.iter().any(|mark| part.contains(mark));
    match is_policy(text) {
        true if parts.iter().any(is_helm) => Meant::Template,
        true => Meant::Policy,
        false if parts.is_empty() => Meant::Other,
        false => Meant::Template,
    }
}

/// The rest of a line from its first `{{` or `{%` on that is in no quotes and no comment.
fn template_part(line: &str) -> Option<&str> {
    let (mut quote, mut before) = (None, None);
    for (at, c) in line.char_indices() {
        let rest = line.get(at..)?;
        let begins = before.is_none_or(|b: char| b.is_whitespace() || "[{,:(-".contains(b));
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '#' && before.is_none_or(char::is_whitespace) => return None,
            None if rest.starts_with("{{") || rest.starts_with("{%") => return Some(rest),
            None if matches!(c, '"' | '\'') && begins => quote = Some(c),
            None => {}
        }
        before = Some(c);
    }
    None
}

/// Whether a text names a group and a kind of policies, at any depth, in YAML or JSON.
fn is_policy(text: &str) -> bool {
    let groups = ["kyverno.io/", "policies.kyverno.io/", "admissionregistration.k8s.io/"];
    let (mut group, mut kind) = (false, false);
    for field in text.split(['\n', ',', '{']) {
        let mut field = field.splitn(2, ':');
        let mut part =
            || field.next().unwrap_or("").trim_matches(|c: char| c.is_whitespace() || "\"'}]".contains(c));
        let (name, value) = (part(), part());
        let name = name.trim_start_matches(['-', ' ', '"']);
        group |= name == "apiVersion" && groups.iter().any(|g| value.starts_with(g));
        kind |= name == "kind" && value.contains("Policy");
    }
    group && kind
}

/// Reports what is wrong with a document.
pub(super) fn check(subject: &mut Subject<'_>, error: &LoadError, meant: Meant) {
    if meant == Meant::Template {
        let at = subject.text.lines().enumerate().find_map(|(i, line)| {
            let part = template_part(line)?;
            let before = line.get(..line.len() - part.len())?.chars().count();
            Some(Position { line: i + 1, col: before + 1, len: part.trim_end().chars().count() })
        });
        let help = "fill it in before it is checked, for example `helm template CHART | ephor lint -`".into();
        return subject.add("yaml-syntax", Severity::Error, at, "a template is not YAML".into(), Some(help));
    }
    if let Problem::Yaml(YamlError::DuplicateKeys(keys)) = &error.problem {
        for key in keys.iter() {
            let at = line_of(subject.text, key.line as usize, &key.name);
            let message = format!("the key `{}` comes twice", key.name);
            subject.add("yaml-syntax", Severity::Error, at, message, None);
        }
        return;
    }
    if let Some(at) = tab(subject.text) {
        let mend = broken::without_tabs(subject.text);
        let remedy = remedy(subject, Some("indent with blanks"), mend);
        return subject.add(
            "yaml-syntax",
            Severity::Error,
            Some(at),
            "a tab cannot indent YAML".into(),
            remedy,
        );
    }
    if meant == Meant::Policy
        && let Some((at, mend)) = broken::unquoted(subject.text)
    {
        let remedy = remedy(subject, Some("write quotes around it"), Some(mend));
        let message = "a variable or wildcard without quotes is no text in YAML".into();
        return subject.add("yaml-syntax", Severity::Error, Some(at), message, remedy);
    }
    if let Problem::Yaml(YamlError::Syntax(syntax)) = &error.problem
        && let Some(at) = broken::place(subject.text, syntax)
    {
        let (help, mend) = broken::mend(subject.text, at, syntax.problem);
        let remedy = remedy(subject, help, mend);
        let message = syntax.problem.to_string();
        return subject.add("yaml-syntax", Severity::Error, Some(at), message, remedy);
    }
    let (line, message) = match &error.problem {
        Problem::Yaml(YamlError::Syntax(syntax)) => {
            (syntax.line.map_or(1, |n| n.get() as usize), syntax.problem.to_string())
        }
        Problem::Separator(separator) => (separator.line, separator.to_string()),
        other => (1, other.to_string()),
    };
    // The decoder counts lines from 0 for some problems; the place is the first line that is not
    // blank from there.
    let lines: Vec<&str> = subject.text.lines().collect();
    let line = line.clamp(1, lines.len().max(1));
    let at = lines.get(line - 1).map(|l| {
        let blanks = l.chars().take_while(|c| c.is_whitespace()).count();
        Position { line, col: blanks + 1, len: l.trim().chars().count().max(1) }
    });
    subject.add("yaml-syntax", Severity::Error, at, message, None);
}

fn remedy(subject: &Subject<'_>, help: Option<&str>, mend: Option<Mend>) -> Remedy {
    let fix = mend.map(|mend| subject.edits(mend.edits, mend.title, mend.is_safe));
    Remedy { help: help.map(str::to_string), fixes: fix.into_iter().collect() }
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
