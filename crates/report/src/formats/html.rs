//! A page that stands alone: counts, charts, filters and every violation with the line of the
//! manifest and that of the policy.
//!
//! It loads nothing: a content security policy forbids all requests, style and script are part of
//! it. Without the script everything is still there; the script filters, and moves between
//! violations by keys. Texts are escaped, so that neither policies nor manifests can add markup.
//!
//! - `controls`: the part of a page that shows what was checked and what held.

mod controls;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write;
use std::io;

use super::WriteError;
use super::merged::{Merged, extent, in_results, statement};
use super::objects::Objects;
use crate::run::{Finding, Place, Run, Severity};
use crate::spool::{Spool, SpoolError};
use crate::tally::Tally;
use ephor_engine::Status;

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// How many bars a chart has.
const BARS: usize = 10;

/// Writes the run as a page.
///
/// # Errors
/// Results cannot be read, or the page cannot be written.
pub fn write(run: &Run, out: &mut dyn io::Write) -> Result<(), WriteError> {
    let mut tallies: [Tally; KEYS.len()] = Default::default();
    let mut articles = Spool::default();
    let (mut violations, mut results) = (0, 0);
    let objects = Objects::of(|| run.violations())?;
    // Charts and filters stand before what they count.
    objects.each(run.violations(), |object| {
        let merged = object.merged();
        for violation in merged.iter().filter(|violation| object.position(violation).is_some()) {
            violations += 1;
            for (tally, (_, _, value)) in tallies.iter_mut().zip(&KEYS) {
                for value in violation.distinct(value) {
                    tally.add(value.as_bytes())?;
                }
            }
            let mut text = String::new();
            article(&mut text, violation);
            articles.push(text.as_bytes())?;
        }
        results += object.own.len();
        Ok::<_, SpoolError>(())
    })?;
    let title = format!("Policy results: {} failed", run.counts().fail);
    out.write_all(beginning(&title, "; script-src 'unsafe-inline'", "").as_bytes())?;
    out.write_all(head(run, in_results(violations, results)).as_bytes())?;
    let controls = controls::section(run)?;
    if violations == 0 {
        out.write_all(b"<p>No violations.</p>\n")?;
        out.write_all(controls.as_bytes())?;
    } else {
        charts(out, &tallies)?;
        out.write_all(controls.as_bytes())?;
        filters(out, &tallies)?;
        out.write_all(b"<section aria-label=\"Violations\">\n")?;
        articles.reader().copy(out)?;
        out.write_all(b"</section>\n")?;
    }
    write!(out, "</main>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n")?;
    Ok(())
}

/// What a page begins with: it may load nothing, and run what `sources` allows.
pub fn beginning(title: &str, sources: &str, style: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'{sources}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"generator\" content=\"ephor {}\">\n\
         <title>{}</title>\n<style>\n{STYLE}{style}</style>\n</head>\n<body>\n<main>\n",
        env!("CARGO_PKG_VERSION"),
        escape(title)
    )
}

fn head(run: &Run, in_results: Option<String>) -> String {
    let mut out = String::new();
    let shown = in_results.map(|shown| format!(": {shown}")).unwrap_or_default();
    let _ = writeln!(
        out,
        "<header>\n<h1>Policy results</h1>\n<p class=\"soft\">{}{shown}</p>{}\n</header>",
        extent(run),
        when(run)
    );
    let counts = run.counts();
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
    out
}

/// When the run was, and of which commit.
fn when(run: &Run) -> String {
    let about = &run.about;
    let mut parts = Vec::new();
    if !about.time.is_empty() {
        parts.push(format!("<time datetime=\"{0}\">{0}</time>", escape(&about.time)));
    }
    if let Some(commit) = &about.commit {
        let branch =
            if commit.branch.is_empty() { String::new() } else { format!(" ({})", escape(&commit.branch)) };
        let changed = if commit.is_changed { ", with changes" } else { "" };
        parts.push(format!("commit <code>{}</code>{branch}{changed}", escape(&commit.id)));
    }
    let held = controls::share(&run.counts());
    if held != "–" {
        parts.push(format!("{held} of the results passed"));
    }
    match parts.is_empty() {
        true => String::new(),
        false => format!("\n<p class=\"soft\">{}</p>", parts.join(" · ")),
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

/// The bars of a chart: the values with the most violations, the most first; severities by their
/// weight. A violation that several policies report counts for each.
#[derive(Default)]
struct Bars {
    shown: Vec<(String, u64)>,
    /// How many values have no bar, and how many violations these have.
    others: (usize, u64),
}

impl Bars {
    fn of(key: &str, tally: &Tally) -> Result<Bars, SpoolError> {
        // Of equal ones the first by name stays.
        let weight = |name: &str, number: u64| match key {
            "severity" => Severity::of(name).map_or(0, |severity| severity as u64 + 1),
            _ => number,
        };
        let mut most = BinaryHeap::new();
        let mut bars = Bars::default();
        for entry in tally.iter()? {
            let (name, number) = text(entry?);
            most.push((Reverse(weight(&name, number)), name, number));
            if most.len() > BARS
                && let Some((_, _, number)) = most.pop()
            {
                bars.others = (bars.others.0 + 1, bars.others.1 + number);
            }
        }
        bars.shown = most.into_sorted_vec().into_iter().map(|(_, name, number)| (name, number)).collect();
        Ok(bars)
    }
}

fn text((value, number): (Vec<u8>, u64)) -> (String, u64) {
    (String::from_utf8_lossy(&value).into_owned(), number)
}

fn charts(out: &mut dyn io::Write, tallies: &[Tally]) -> Result<(), WriteError> {
    out.write_all(b"<section class=\"charts\" aria-label=\"Charts\">\n")?;
    for ((name, title, _), tally) in KEYS.iter().zip(tallies).skip(1) {
        let bars = Bars::of(name, tally)?;
        let most = bars.shown.iter().map(|(_, n)| *n).max().unwrap_or(1).max(1);
        writeln!(out, "<div class=\"chart\">\n<h2>{title}</h2>")?;
        for (value, count) in &bars.shown {
            let value = escape(value);
            let class = if *name == "severity" { value.as_str() } else { "" };
            writeln!(
                out,
                "<button type=\"button\" class=\"bar\" aria-pressed=\"false\" data-key=\"{name}\" data-value=\"{value}\" title=\"{value}\">\
                 <span class=\"name\">{value}</span><span class=\"track\"><span class=\"fill {class}\" style=\"width:{}%\"></span></span>\
                 <span class=\"number\">{count}</span></button>",
                (count * 100).div_ceil(most)
            )?;
        }
        let (more, others) = bars.others;
        if others > 0 {
            writeln!(
                out,
                "<p class=\"bar soft\"><span class=\"name\">{more} others</span><span></span><span class=\"number\">{others}</span></p>"
            )?;
        }
        out.write_all(b"</div>\n")?;
    }
    out.write_all(b"</section>\n")?;
    Ok(())
}

fn filters(out: &mut dyn io::Write, tallies: &[Tally]) -> Result<(), WriteError> {
    out.write_all(b"<form aria-label=\"Filters\">\n<input type=\"search\" name=\"search\" placeholder=\"Search\" aria-label=\"Search\">\n")?;
    for ((name, title, _), tally) in KEYS.iter().zip(tallies) {
        write!(
            out,
            "<select name=\"{name}\" aria-label=\"{title}\"><option value=\"\">{title}: all</option>"
        )?;
        let mut option = |(value, count): (String, u64)| {
            let value = escape(&value);
            write!(out, "<option value=\"{value}\">{value} ({count})</option>").map_err(WriteError::from)
        };
        match *name {
            "severity" => Bars::of(name, tally)?.shown.into_iter().try_for_each(&mut option)?,
            _ => tally.iter()?.try_for_each(|entry| option(text(entry?)))?,
        }
        out.write_all(b"</select>\n")?;
    }
    out.write_all(
        "<button type=\"reset\">Reset</button>\n<output id=\"shown\" aria-live=\"polite\"></output>\n</form>\n\
         <p class=\"soft keys\"><kbd>/</kbd> search, <kbd>j</kbd> and <kbd>k</kbd> next and previous violation, <kbd>Esc</kbd> reset</p>\n"
            .as_bytes(),
    )?;
    Ok(())
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

/// The head of a table, with the titles of its columns, up to its first row.
pub fn table_head(columns: &[&str]) -> String {
    let cells: String =
        columns.iter().map(|title| format!("<th scope=\"col\">{}</th>", escape(title))).collect();
    format!("<thead><tr>{cells}</tr></thead>\n<tbody>")
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
