//! A page that stands alone: counts, charts, filters and every violation with the line of the
//! manifest and that of the policy.
//!
//! It loads nothing: a content security policy forbids all requests, style and script are part of
//! it. Without the script everything is still there; the script filters, and moves between
//! violations by keys. Texts are escaped, so that neither policies nor manifests can add markup.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::merged::{Merged, extent, in_results, merged, statement};
use crate::run::{Finding, Place, Run, Severity};
use ephor_engine::Status;

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// How many bars a chart has.
const BARS: usize = 10;

/// The run as a page.
pub fn write(run: &Run) -> String {
    let violations = merged(run.violations());
    let mut out = String::with_capacity(violations.len() * 1_024 + STYLE.len() + SCRIPT.len());
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"generator\" content=\"ephor {}\">\n\
         <title>Policy results: {} failed</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n",
        env!("CARGO_PKG_VERSION"),
        run.counts.fail
    );
    head(&mut out, run, &violations);
    if violations.is_empty() {
        out.push_str("<p>No violations.</p>\n");
    } else {
        charts(&mut out, &violations);
        filters(&mut out, &violations);
        out.push_str("<section aria-label=\"Violations\">\n");
        violations.iter().for_each(|violation| article(&mut out, violation));
        out.push_str("</section>\n");
    }
    let _ = write!(out, "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n");
    out
}

fn head(out: &mut String, run: &Run, violations: &[Merged<'_>]) {
    let shown = in_results(violations).map(|shown| format!(": {shown}")).unwrap_or_default();
    let _ = writeln!(
        out,
        "<header>\n<h1>Policy results</h1>\n<p class=\"soft\">{}{shown}</p>\n</header>",
        extent(run)
    );
    let counts = run.counts;
    let all = [
        ("fail", "failed", counts.fail),
        ("error", "errors", counts.error),
        ("warn", "warnings", counts.warn),
        ("pass", "passed", counts.pass),
        ("skip", "skipped", counts.skip),
        ("known", "known", counts.known),
    ];
    out.push_str("<ul class=\"counts\" aria-label=\"Counts\">\n");
    for (class, word, count) in all.into_iter().filter(|(class, _, n)| *class != "known" || *n > 0) {
        let _ = writeln!(out, "<li class=\"{class}\"><b>{count}</b>{word}</li>");
    }
    out.push_str("</ul>\n");
    if !run.notes.is_empty() {
        out.push_str("<details><summary>Left out</summary>\n<ul>\n");
        for note in &run.notes {
            let _ = writeln!(out, "<li>{}</li>", escape(&note.text));
        }
        out.push_str("</ul>\n</details>\n");
    }
}

fn severity(finding: &Finding) -> &'static str {
    finding.policy.severity.map_or("none", Severity::name)
}

fn namespace(finding: &Finding) -> &str {
    match &finding.resource {
        Some(resource) if !resource.namespace.is_empty() => &resource.namespace,
        _ => "(cluster)",
    }
}

fn resource(finding: &Finding) -> String {
    finding.resource.as_ref().map_or_else(|| "(policy)".to_string(), |resource| resource.display())
}

fn status(finding: &Finding) -> &'static str {
    if finding.is_known { "known" } else { finding.status.name() }
}

/// What violations are counted and filtered by.
type FilterColumn = (&'static str, &'static str, fn(&Finding) -> String);

const KEYS: [FilterColumn; 5] = [
    ("status", "Result", |f| status(f).to_string()),
    ("severity", "Severity", |f| severity(f).to_string()),
    ("policy", "Policy", |f| f.policy.name.clone()),
    ("namespace", "Namespace", |f| namespace(f).to_string()),
    ("resource", "Resource", resource),
];

/// How many violations there are by a key, the most first; severities by their weight. One that
/// several policies report counts for each.
fn numbers(violations: &[Merged<'_>], (key, _, value): &FilterColumn) -> Vec<(String, usize)> {
    let mut by_value: BTreeMap<String, usize> = BTreeMap::new();
    for value in violations.iter().flat_map(|violation| violation.distinct(value)) {
        *by_value.entry(value).or_default() += 1;
    }
    let mut all: Vec<(String, usize)> = by_value.into_iter().collect();
    match *key {
        "severity" => all.sort_by_key(|(name, _)| std::cmp::Reverse(Severity::of(name))),
        _ => all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0))),
    }
    all
}

fn charts(out: &mut String, violations: &[Merged<'_>]) {
    out.push_str("<section class=\"charts\" aria-label=\"Charts\">\n");
    for key in KEYS.iter().skip(1) {
        let (name, title, _) = key;
        let all = numbers(violations, key);
        let most = all.iter().map(|(_, n)| *n).max().unwrap_or(1).max(1);
        let _ = writeln!(out, "<div class=\"chart\">\n<h2>{title}</h2>");
        for (value, count) in all.iter().take(BARS) {
            let value = escape(value);
            let class = if *name == "severity" { value.as_str() } else { "" };
            let _ = writeln!(
                out,
                "<button type=\"button\" class=\"bar\" aria-pressed=\"false\" data-key=\"{name}\" data-value=\"{value}\" title=\"{value}\">\
                 <span class=\"name\">{value}</span><span class=\"track\"><span class=\"fill {class}\" style=\"width:{}%\"></span></span>\
                 <span class=\"number\">{count}</span></button>",
                (count * 100).div_ceil(most)
            );
        }
        let others: usize = all.iter().skip(BARS).map(|(_, n)| n).sum();
        if others > 0 {
            let more = all.len() - BARS;
            let _ = writeln!(
                out,
                "<p class=\"bar soft\"><span class=\"name\">{more} others</span><span></span><span class=\"number\">{others}</span></p>"
            );
        }
        out.push_str("</div>\n");
    }
    out.push_str("</section>\n");
}

fn filters(out: &mut String, violations: &[Merged<'_>]) {
    out.push_str("<form aria-label=\"Filters\">\n<input type=\"search\" name=\"search\" placeholder=\"Search\" aria-label=\"Search\">\n");
    for key in &KEYS {
        let (name, title, _) = key;
        let _ = write!(
            out,
            "<select name=\"{name}\" aria-label=\"{title}\"><option value=\"\">{title}: all</option>"
        );
        let mut values = numbers(violations, key);
        if *name != "severity" {
            values.sort();
        }
        for (value, count) in values {
            let value = escape(&value);
            let _ = write!(out, "<option value=\"{value}\">{value} ({count})</option>");
        }
        out.push_str("</select>\n");
    }
    out.push_str(
        "<button type=\"reset\">Reset</button>\n<output id=\"shown\" aria-live=\"polite\"></output>\n</form>\n\
         <p class=\"soft keys\"><kbd>/</kbd> search, <kbd>j</kbd> and <kbd>k</kbd> next and previous violation, <kbd>Esc</kbd> reset</p>\n",
    );
}

fn article(out: &mut String, violation: &Merged<'_>) {
    let finding = violation.first;
    let _ = write!(out, "<article tabindex=\"0\" class=\"{}\"", status(finding));
    for (key, _, value) in &KEYS {
        // One on each line, as the script splits them.
        let _ = write!(out, " data-{key}=\"{}\"", escape(&violation.distinct(value).join("\n")));
    }
    let weight = match violation.severity() {
        Some(severity) => format!("<span class=\"tag {0}\">{0}</span>", severity.name()),
        None => String::new(),
    };
    let tone = match finding.status {
        Status::Error => "is-error",
        Status::Warn => "is-warn",
        _ => "is-fail",
    };
    let tone = if finding.is_known { "soft" } else { tone };
    let _ = writeln!(
        out,
        ">\n<h3><span class=\"tag {tone}\">{}</span>{weight}{}</h3>",
        status(finding),
        escape(&violation.distinct(Finding::rule_id).join(", "))
    );
    let title = &finding.policy.title;
    let title = if title.is_empty() { String::new() } else { format!("{} · ", escape(title)) };
    let _ = writeln!(out, "<div class=\"soft\">{title}{}</div>", escape(&resource(finding)));
    let _ = writeln!(out, "<p>{}</p>", escape(statement(finding)));
    if let Some(template) = &finding.template {
        let _ = writeln!(out, "<div class=\"soft\">template {}</div>", escape(template));
    }
    let field =
        violation.nearest.field.as_deref().map(|field| format!(" · {}", escape(field))).unwrap_or_default();
    figure(out, "manifest", "", violation.nearest.place.as_ref(), &field);
    for result in violation.results() {
        let who = if violation.others.is_empty() { "policy" } else { &result.policy.kind };
        figure(out, "policy", who, result.decision.as_ref(), "");
    }
    out.push_str("</article>\n");
}

/// The line at a place, with the part that is meant marked.
fn figure(out: &mut String, class: &str, what: &str, place: Option<&Place>, more: &str) {
    let Some(place) = place else { return };
    let at = escape(format!("{what} {}", place.display()).trim_start());
    let _ = write!(out, "<figure class=\"{class}\"><figcaption>{at}{more}</figcaption>");
    if !place.text.is_empty() {
        let part = |from: usize, n: usize| escape(&place.text.chars().skip(from).take(n).collect::<String>());
        // Long lines scroll, with keys too: what has the focus needs a name.
        let _ = write!(
            out,
            "<pre tabindex=\"0\" role=\"group\" aria-label=\"{class} {}\"><span class=\"at\">{} │ </span>",
            escape(&place.display()),
            place.line
        );
        match place.column {
            0 => out.push_str(&escape(&place.text)),
            column => {
                let _ = write!(
                    out,
                    "{}<mark>{}</mark>{}",
                    part(0, column - 1),
                    part(column - 1, place.length),
                    part(column - 1 + place.length, usize::MAX)
                );
            }
        }
        out.push_str("</pre>");
    }
    out.push_str("</figure>\n");
}

/// The text as text of a page, or as a value of an attribute in quotes.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && !matches!(c, '\n' | '\t') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
