//! The part of a page that shows what was checked and what held.
//!
//! In: a [`Run`] with its policies and all results. Out: tables: by category and by standard with a
//! percentage, and one row for each policy, also where all of its results passed or there is none.
//! Of a run that shows violations alone nothing is known of what passed.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{escape, table_head};
use crate::about::Control;
use crate::formats::WriteError;
use crate::run::{Counts, Run};

/// How many policies are listed at once; more are behind a click.
const OPEN: usize = 20;

/// The tables of a run.
///
/// # Errors
/// Results cannot be read.
pub(super) fn section(run: &Run) -> Result<String, WriteError> {
    let controls = &run.about.controls;
    if controls.is_empty() {
        return Ok(String::new());
    }
    let mut by_policy: BTreeMap<(String, String), Counts> = BTreeMap::new();
    for finding in run.findings.iter() {
        let finding = finding?;
        if run.violations_only && !finding.is_violation() {
            continue;
        }
        let key = (finding.policy.kind.clone(), finding.policy.name.clone());
        by_policy.entry(key).or_default().add(&finding);
    }
    let counts = |control: &Control| {
        by_policy.get(&(control.kind.clone(), control.name.clone())).copied().unwrap_or_default()
    };
    let shown = |of: &Counts| if run.violations_only { "–".into() } else { share(of) };
    let mut out = String::from("<section aria-label=\"Controls\">\n");
    for (title, column) in
        [("By category", categories as fn(&Control) -> Vec<String>), ("By standard", standards)]
    {
        groups(&mut out, title, controls, column, &counts, &shown);
    }
    let open = if controls.len() <= OPEN { " open" } else { "" };
    let head =
        table_head(&["Policy", "Category", "Severity", "Version", "Passed", "Failed", "Errors", "Held"]);
    let _ = writeln!(
        out,
        "<details{open}><summary>Policies: {}</summary>\n<div class=\"wide\">\n<table>\n{head}",
        controls.len()
    );
    for control in controls {
        let of = counts(control);
        let title =
            if control.title.is_empty() { String::new() } else { format!("<br>{}", escape(&control.title)) };
        let version =
            if control.version.is_empty() { String::new() } else { format!("{} ", escape(&control.version)) };
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}{title}<br><span class=\"soft\">{}</span></th><td>{}</td><td>{}</td><td>{version}<code>{}</code></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(&control.name),
            escape(&control.kind),
            escape(&control.category),
            escape(&control.severity),
            escape(&control.digest),
            of.pass,
            of.fail + of.warn,
            of.error,
            shown(&of)
        );
    }
    out.push_str("</tbody>\n</table>\n</div>\n</details>\n</section>\n");
    Ok(out)
}

fn categories(control: &Control) -> Vec<String> {
    match control.category.trim() {
        "" => Vec::new(),
        category => vec![category.to_owned()],
    }
}

fn standards(control: &Control) -> Vec<String> {
    control.standards.clone()
}

/// A table of groups of policies, where there are some.
fn groups(
    out: &mut String,
    title: &str,
    controls: &[Control],
    column: fn(&Control) -> Vec<String>,
    counts: &dyn Fn(&Control) -> Counts,
    shown: &dyn Fn(&Counts) -> String,
) {
    let mut groups: BTreeMap<String, (usize, usize, Counts)> = BTreeMap::new();
    for control in controls {
        let of = counts(control);
        for name in column(control) {
            let (policies, held, all) = groups.entry(name).or_default();
            *policies += 1;
            *held += usize::from(of.fail + of.warn + of.error == 0);
            all.merge(&of);
        }
    }
    if groups.is_empty() {
        return;
    }
    let head = table_head(&["Name", "Policies", "Without a violation", "Passed", "Failed", "Errors", "Held"]);
    let _ = writeln!(out, "<div class=\"wide\">\n<table>\n<caption>{title}</caption>\n{head}");
    for (name, (policies, held, of)) in &groups {
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{policies}</td><td>{held}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(name),
            of.pass,
            of.fail + of.warn,
            of.error,
            shown(of)
        );
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
}

/// The share of results that passed, of those that count.
pub(super) fn share(of: &Counts) -> String {
    let all = of.pass + of.fail + of.warn + of.error;
    match all {
        0 => "–".into(),
        // Rounded down: 100 % is only said where all passed.
        all => format!("{:.1} %", (of.pass as f64 * 1000.0 / all as f64).floor() / 10.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_only_said_where_all_passed() {
        let of = |pass, fail| share(&Counts { pass, fail, ..Counts::default() });
        assert_eq!(of(0, 0), "–");
        assert_eq!(of(3, 0), "100.0 %");
        assert_eq!(of(9_999, 1), "99.9 %");
        assert_eq!(of(1, 2), "33.3 %");
    }
}
