//! Runs one after the other as text, JSON, Markdown or a page.
//!
//! In: a [`Comparison`]. Out: the document: the counts of each run, what is new since the first one
//! and what is gone. The page loads nothing, and has a bar for each run.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::compared::{ComparedViolation, Comparison};
use crate::formats::html::{beginning, escape, table_head};
use crate::formats::json::pretty;
use crate::printable::printable;

/// Text for terminals.
pub fn text(all: &Comparison) -> String {
    let whole = all.whole();
    let mut out = String::new();
    for (title, violations) in [("new", &whole.new), ("fixed", &whole.fixed)] {
        if !violations.is_empty() {
            let _ = writeln!(out, "{title}:");
        }
        for violation in violations {
            let place = match &*violation.place {
                "" => String::new(),
                place => format!(" ({})", printable(place)),
            };
            let _ = writeln!(
                out,
                "  {}: {}{place}\n    {}",
                printable(&violation.id),
                printable(&violation.resource),
                printable(violation.message.lines().next().unwrap_or_default())
            );
        }
    }
    let _ = writeln!(out, "{}", summary(all));
    if all.runs.len() > 2 {
        for (run, change) in all.runs.iter().skip(1).zip(all.changes()) {
            let (new, fixed, unchanged) = (change.new.len(), change.fixed.len(), change.unchanged);
            let _ =
                writeln!(out, "  {}: {new} new, {fixed} fixed, {unchanged} unchanged", printable(&run.name));
        }
    }
    out
}

fn summary(all: &Comparison) -> String {
    let whole = all.whole();
    format!("{} new, {} fixed, {} unchanged", whole.new.len(), whole.fixed.len(), whole.unchanged)
}

/// Our own JSON.
pub fn json(all: &Comparison) -> String {
    let whole = all.whole();
    let list = |violations: &[&ComparedViolation]| violations.iter().map(|v| entry(v)).collect::<Vec<_>>();
    let changes = all.changes();
    let runs = all.runs.iter().enumerate().map(|(at, run)| {
        let mut shown = json!({
            "name": run.name,
            "summary": {
                "pass": run.counts.pass, "fail": run.counts.fail, "warn": run.counts.warn,
                "error": run.counts.error, "skip": run.counts.skip, "known": run.counts.known,
            },
            "violations": run.violations.len(),
        });
        if let Some(change) = at.checked_sub(1).and_then(|before| changes.get(before)) {
            shown["new"] = change.new.len().into();
            shown["fixed"] = change.fixed.len().into();
        }
        shown
    });
    let document = json!({
        "version": 1,
        "tool": {"name": "ephor", "version": env!("CARGO_PKG_VERSION")},
        "runs": runs.collect::<Vec<_>>(),
        "unchanged": whole.unchanged,
        "new": list(&whole.new),
        "fixed": list(&whole.fixed),
    });
    pretty(&document) + "\n"
}

fn entry(violation: &ComparedViolation) -> Value {
    json!({
        "id": violation.id,
        "resource": violation.resource,
        "severity": violation.severity.map(|severity| severity.name()),
        "message": violation.message,
        "place": violation.place,
    })
}

/// Markdown for comments.
pub fn markdown(all: &Comparison) -> String {
    let whole = all.whole();
    let cell = |text: &str| escape(text).replace('|', "\\|").replace(['\n', '\r'], " ");
    let mut out = format!("**{}**\n", summary(all));
    for (title, violations) in [("New", &whole.new), ("Fixed", &whole.fixed)] {
        if violations.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n### {title}\n\n| Rule | Resource | Place | Message |\n|---|---|---|---|");
        for violation in violations {
            let parts = [&violation.id, &violation.resource, &violation.place, &violation.message];
            let _ = writeln!(out, "| {} |", parts.map(|part| cell(part)).join(" | "));
        }
    }
    out
}

/// What the table of runs adds to the style of pages.
const STYLE: &str = "meter { width: 180px; }\nsection { margin-top: 20px; }\nli { margin-bottom: 8px; overflow-wrap: anywhere; }\n";

/// A page that stands alone.
pub fn html(all: &Comparison) -> String {
    let whole = all.whole();
    let summary = summary(all);
    let mut out = beginning(&format!("Results over time: {summary}"), "", STYLE);
    let _ = writeln!(out, "<header>\n<h1>Results over time</h1>\n<p class=\"soft\">{summary}</p>\n</header>");
    runs(&mut out, all);
    for (title, violations) in [("New", &whole.new), ("Fixed", &whole.fixed)] {
        let _ = writeln!(out, "<section aria-label=\"{title}\">\n<h2>{title}: {}</h2>", violations.len());
        if !violations.is_empty() {
            out.push_str("<ul>\n");
        }
        for violation in violations {
            let place = match &*violation.place {
                "" => String::new(),
                place => format!(" <code>{}</code>", escape(place)),
            };
            let _ = writeln!(
                out,
                "<li><b>{}</b> {}{place}<br>{}</li>",
                escape(&violation.id),
                escape(&violation.resource),
                escape(&violation.message)
            );
        }
        if !violations.is_empty() {
            out.push_str("</ul>\n");
        }
        out.push_str("</section>\n");
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

/// A table of the runs, with a bar for the violations of each.
fn runs(out: &mut String, all: &Comparison) {
    let most = all.runs.iter().map(|run| run.violations.len()).max().unwrap_or_default().max(1);
    let changes = all.changes();
    out.push_str("<div class=\"wide\">\n<table>\n<caption>Runs, the oldest first</caption>\n");
    out.push_str(&table_head(&["Run", "Violations", "New", "Fixed", "Passed"]));
    out.push('\n');
    for (at, run) in all.runs.iter().enumerate() {
        let change = at.checked_sub(1).and_then(|before| changes.get(before));
        let number = |of: Option<usize>| of.map_or_else(|| "–".to_string(), |n| n.to_string());
        let (new, fixed) = (change.map(|c| c.new.len()), change.map(|c| c.fixed.len()));
        let checked = run.counts.pass + run.counts.fail + run.counts.warn + run.counts.error;
        let passed = match checked {
            0 => "–".to_string(),
            all => format!("{:.1} %", run.counts.pass as f64 * 100.0 / all as f64),
        };
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td><meter min=\"0\" max=\"{most}\" value=\"{}\">{}</meter> {}</td><td>{}</td><td>{}</td><td>{passed}</td></tr>",
            escape(&run.name),
            run.violations.len(),
            run.violations.len(),
            run.violations.len(),
            number(new),
            number(fixed)
        );
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
}
