//! Applies fixes to files until there is nothing left to apply.
//!
//! In: the texts of files, and what finds something in them. Out: the new texts with what was done.
//! Fixes that overlap come one after the other, in rounds. What is applied is checked again: a fix
//! that leaves its finding, or after which a file has more errors, is taken back, unless the file
//! was not YAML before it.

use std::collections::HashSet;
use std::ops::Range;

use ephor_sources::files::SourceText;

use super::finding::{Finding, Severity};
use super::fix::{Fix, apply};

/// Rounds of fixes at most: a file that is changed is checked again, and may have others.
const ROUNDS: usize = 12;

/// A file after its fixes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedFile {
    /// The file.
    pub name: String,
    /// Its text.
    pub before: String,
    /// Its text with all fixes.
    pub after: String,
    /// What was done.
    pub done: Vec<DoneFix>,
}

/// A fix that was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoneFix {
    /// The line on which the finding was, in the text of its round.
    pub line: usize,
    /// The check.
    pub id: &'static str,
    /// What the fix does.
    pub title: String,
}

/// What makes a fix known again in a later round, when lines have moved.
type FixKey = (&'static str, String, String);

/// Applies the first fix of each finding: the safe ones, or with `all` others, too. `find` gives
/// the findings of all texts that it is given. Out: the files that have changed.
pub fn fix_all(
    sources: &[SourceText],
    find: &dyn Fn(&[SourceText]) -> Vec<Finding>,
    all: bool,
) -> Vec<FixedFile> {
    let mut files: Vec<FixedFile> = sources
        .iter()
        .map(|source| FixedFile {
            name: source.name.clone(),
            before: source.text.clone(),
            after: source.text.clone(),
            done: Vec::new(),
        })
        .collect();
    let mut refused: HashSet<(String, FixKey)> = HashSet::new();
    for _ in 0..ROUNDS {
        let found = find(&texts(&files));
        let mut changed = false;
        for i in 0..files.len() {
            changed |= round(&mut files, i, &found, find, (all, &mut refused));
        }
        if !changed {
            break;
        }
    }
    files.retain(|file| file.before != file.after);
    files
}

fn texts(files: &[FixedFile]) -> Vec<SourceText> {
    files.iter().map(|file| SourceText { name: file.name.clone(), text: file.after.clone() }).collect()
}

/// Applies what does not overlap in one file; whether it has changed.
fn round(
    files: &mut [FixedFile],
    index: usize,
    found: &[Finding],
    find: &dyn Fn(&[SourceText]) -> Vec<Finding>,
    (all, refused): (bool, &mut HashSet<(String, FixKey)>),
) -> bool {
    let Some(file) = files.get(index) else { return false };
    let own: Vec<&Finding> = found.iter().filter(|finding| *finding.file == *file.name).collect();
    let mut planned: Vec<(&Finding, &Fix)> = Vec::new();
    let mut taken: Vec<Range<usize>> = Vec::new();
    for finding in &own {
        let is_wanted =
            |fix: &&Fix| (fix.is_safe || all) && !refused.contains(&(file.name.clone(), key(finding, fix)));
        let Some(fix) = finding.fixes.iter().find(is_wanted) else { continue };
        let clashes = |range: &Range<usize>| taken.iter().any(|other| overlaps(range, other));
        if fix.edits.iter().any(|edit| clashes(&edit.range)) {
            continue;
        }
        taken.extend(fix.edits.iter().map(|edit| edit.range.clone()));
        planned.push((finding, fix));
    }
    if planned.is_empty() {
        return false;
    }
    let errors = errors_of(own.iter().copied());
    let is_better = |text: &str, fixed: &[(&Finding, &Fix)]| {
        // Only exceptions are compared with other files.
        let mut all = match text.contains("PolicyException") {
            true => texts(files),
            false => Vec::new(),
        };
        let changed = SourceText { name: file.name.clone(), text: text.to_string() };
        match all.get_mut(index) {
            Some(one) => *one = changed,
            None => all.push(changed),
        }
        let after = find(&all);
        let own_after: Vec<&Finding> = after.iter().filter(|finding| *finding.file == *file.name).collect();
        let mends = fixed.iter().all(|(finding, _)| {
            let is_same = |other: &Finding| other.id == finding.id && other.message == finding.message;
            let with_others = fixed.iter().filter(|(other, _)| is_same(other)).count();
            let left = own_after.iter().filter(|other| is_same(other)).count();
            left + with_others <= own.iter().filter(|other| is_same(other)).count()
        });
        let is_yaml = fixed.iter().any(|(finding, _)| finding.id == "yaml-syntax");
        mends && (is_yaml || errors_of(own_after.iter().copied()) <= errors)
    };
    let text_of = |fixes: &[(&Finding, &Fix)], text: &str| {
        let edits: Vec<_> = fixes.iter().flat_map(|(_, fix)| fix.edits.iter().cloned()).collect();
        apply(text, &edits)
    };
    let mut applied: Vec<(&Finding, &Fix)> = Vec::new();
    match text_of(&planned, &file.after).filter(|text| is_better(text, &planned)) {
        Some(_) => applied = planned,
        None => {
            for one in planned {
                let mut next = applied.clone();
                next.push(one);
                match text_of(&next, &file.after).filter(|text| is_better(text, &next)) {
                    Some(_) => applied = next,
                    None => drop(refused.insert((file.name.clone(), key(one.0, one.1)))),
                }
            }
        }
    }
    let Some(text) = text_of(&applied, &file.after).filter(|text| *text != file.after) else { return false };
    let done: Vec<DoneFix> = applied
        .iter()
        .map(|(finding, fix)| DoneFix { line: finding.line, id: finding.id, title: fix.title.clone() })
        .collect();
    if let Some(file) = files.get_mut(index) {
        file.after = text;
        file.done.extend(done);
    }
    true
}

fn key(finding: &Finding, fix: &Fix) -> FixKey {
    (finding.id, finding.message.clone(), fix.title.clone())
}

fn errors_of<'f>(findings: impl Iterator<Item = &'f Finding>) -> usize {
    findings.filter(|finding| finding.severity == Severity::Error).count()
}

fn overlaps(a: &Range<usize>, b: &Range<usize>) -> bool {
    // Two that insert at one place would come in no order.
    a == b
        || (a.start < b.end && b.start < a.end)
        || (a.is_empty() && b.contains(&a.start))
        || (b.is_empty() && a.contains(&b.start))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::fix::TextEdit;
    use super::*;

    /// Finds words that are to be replaced; an exclamation mark is an error.
    fn find(sources: &[SourceText]) -> Vec<Finding> {
        let mut found = Vec::new();
        for source in sources {
            let file: Arc<str> = source.name.as_str().into();
            for (word, new, is_safe) in
                [("teh", "the", true), ("bad", "bad!", true), ("maybe", "sure", false)]
            {
                for (at, _) in source.text.match_indices(word) {
                    let edits = vec![TextEdit { range: at..at + word.len(), text: new.into() }];
                    found.push(finding(&file, word, vec![Fix { title: new.into(), is_safe, edits }]));
                }
            }
            for _ in source.text.matches('!') {
                found.push(Finding { severity: Severity::Error, ..finding(&file, "!", Vec::new()) });
            }
        }
        found
    }

    fn finding(file: &Arc<str>, message: &str, fixes: Vec<Fix>) -> Finding {
        Finding {
            id: "x",
            severity: Severity::Warning,
            policy: String::new(),
            file: file.clone(),
            line: 1,
            column: 1,
            end: 2,
            message: message.into(),
            help: None,
            fixes,
            excerpt: String::new(),
        }
    }

    fn fixed(text: &str, all: bool) -> String {
        let source = SourceText { name: "f".into(), text: text.into() };
        let files = fix_all(&[source], &find, all);
        files.first().map_or_else(|| text.to_string(), |file| file.after.clone())
    }

    #[test]
    fn safe_fixes_are_applied_and_others_when_all_are() {
        assert_eq!(fixed("teh maybe teh", false), "the maybe the");
        assert_eq!(fixed("teh maybe teh", true), "the sure the");
    }

    #[test]
    fn a_fix_that_makes_an_error_or_leaves_its_finding_is_taken_back_alone() {
        assert_eq!(fixed("bad teh", false), "bad the");
    }

    #[test]
    fn a_file_that_has_nothing_to_fix_is_not_among_the_changed() {
        let sources = ["a", "teh"].map(|text| SourceText { name: text.into(), text: text.into() });
        let files = fix_all(&sources, &find, false);
        let names: Vec<&str> = files.iter().map(|file| &*file.name).collect();
        assert_eq!(names, ["teh"]);
        assert!(files[0].done.len() == 1 && files[0].before == "teh");
    }

    #[test]
    fn ranges_that_touch_do_not_overlap_and_two_insertions_at_one_place_do() {
        assert!(!overlaps(&(0..2), &(2..3)) && overlaps(&(1..1), &(1..1)) && overlaps(&(1..1), &(0..2)));
    }
}
