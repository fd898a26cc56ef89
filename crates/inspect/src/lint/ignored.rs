//! Comments that drop findings: `# ephor-lint: ignore=ID,ID` behind a line or above it,
//! `# ephor-lint: ignore-file=ID`.

use super::finding::Finding;

/// Drops the findings that comments of the file name.
pub fn drop_ignored(text: &str, findings: &mut Vec<Finding>) {
    if !text.contains(MARK) {
        return;
    }
    let lines: Vec<&str> = text.lines().collect();
    let of_file: Vec<&str> = lines.iter().flat_map(|line| ids(line, "ignore-file=")).collect();
    findings.retain(|finding| {
        let mut named = of_file.clone();
        let at = finding.line.saturating_sub(1);
        named.extend(lines.get(at).into_iter().flat_map(|line| ids(line, "ignore=")));
        let above = lines.get(..at).unwrap_or_default().iter().rev();
        for line in above.take_while(|line| line.trim_start().starts_with('#')) {
            named.extend(ids(line, "ignore="));
        }
        !named.contains(&finding.id)
    });
}

const MARK: &str = "# ephor-lint:";

fn ids<'t>(line: &'t str, word: &str) -> Vec<&'t str> {
    let Some((_, comment)) = line.split_once(MARK) else { return Vec::new() };
    match comment.trim().strip_prefix(word) {
        Some(list) => list.split([',', ' ']).map(str::trim).filter(|id| !id.is_empty()).collect(),
        None => Vec::new(),
    }
}
