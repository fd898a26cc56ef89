//! A replayed log as text, JSON or a page.
//!
//! In: a [`Replayed`]. Out: the document: how many requests would have been denied, audited and
//! changed, by rule, user, namespace and hour, and what the log does not hold. The page loads
//! nothing.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::formats::html::{beginning, escape, table_head};
use crate::formats::json::pretty;
use crate::printable::printable;
use crate::replayed::{Answers, Effect, Example, Replayed, RuleId, RuleTally};

/// How many rows a table for people has.
const ROWS: usize = 10;
/// How many hours it has.
const HOURS: usize = 48;

/// Rows of a table, the largest first.
fn largest<T>(rows: &BTreeMap<String, T>, weight: impl Fn(&T) -> u64) -> Vec<(&str, &T)> {
    let mut all: Vec<(&str, &T)> = rows.iter().map(|(name, row)| (name.as_str(), row)).collect();
    all.sort_by_key(|(name, row)| (std::cmp::Reverse(weight(row)), *name));
    all
}

/// A count with its word.
fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// What the whole log says, in one sentence.
fn summary(all: &Replayed) -> String {
    let answers = &all.answers;
    let span = all.span.as_ref().map_or_else(String::new, |(first, last)| format!(" from {first} to {last}"));
    format!(
        "{}{span}: {} denied ({} of them admitted then), {} audited, {} warned, {} changed",
        counted(answers.requests, "request", "requests"),
        answers.denied,
        all.denied_then_admitted,
        answers.audited,
        answers.warned,
        answers.changed
    )
}

/// What was not evaluated, a line each.
fn left_out(all: &Replayed) -> Vec<String> {
    let mut lines: Vec<String> = all
        .left_out
        .missing
        .iter()
        .map(|(why, (count, first))| format!("{count} {} (first: {first})", why.text()))
        .collect();
    if all.undecided.0 > 0 {
        lines.push(format!(
            "{} could not be decided on in whole: rules need data that --data gives (first: {})",
            counted(all.undecided.0, "request", "requests"),
            all.undecided.1
        ));
    }
    if all.left_out.without_before > 0 {
        lines.push(format!(
            "{} were evaluated without the object as it was before",
            counted(all.left_out.without_before, "update", "updates")
        ));
    }
    lines
}

/// Whether anything happened to requests.
fn touched(answers: &Answers) -> u64 {
    answers.denied + answers.audited + answers.warned + answers.changed
}

/// A table for terminals: a name, then numbers below their words.
fn table<const N: usize>(
    out: &mut String,
    title: &str,
    words: [&str; N],
    rows: &[(String, [u64; N], String)],
) {
    if rows.is_empty() {
        return;
    }
    let longest = rows.iter().map(|(name, ..)| name.chars().count() + 2).max().unwrap_or_default();
    let width = longest.max(title.len());
    let _ = write!(out, "\n{title:<width$}");
    for word in words {
        let _ = write!(out, " {word:>9}");
    }
    out.push('\n');
    for (name, numbers, below) in rows {
        let _ = write!(out, "  {name:<rest$}", rest = width - 2);
        for number in numbers {
            let _ = write!(out, " {number:>9}");
        }
        out.push('\n');
        if !below.is_empty() {
            let _ = writeln!(out, "    {below}");
        }
    }
}

/// Text for terminals.
pub fn text(all: &Replayed) -> String {
    let mut out = format!("{}\n", summary(all));
    rules_text(&mut out, "rules", &all.rules);
    for (title, rows) in [("users", &all.users), ("namespaces", &all.namespaces), ("hours", &all.hours)] {
        let chosen: Vec<_> = match title {
            "hours" => rows.iter().map(|(name, row)| (name.as_str(), row)).take(HOURS).collect(),
            _ => largest(rows, touched).into_iter().filter(|(_, row)| touched(row) > 0).take(ROWS).collect(),
        };
        let row = |(name, a): &(&str, &Answers)| {
            let name = if name.is_empty() { "(none)" } else { name };
            (printable(name), [a.requests, a.denied, a.audited, a.warned, a.changed], String::new())
        };
        let words = ["requests", "denied", "audited", "warned", "changed"];
        table(&mut out, title, words, &chosen.iter().map(row).collect::<Vec<_>>());
    }
    if let Some(difference) = &all.difference {
        let _ = writeln!(
            out,
            "\ncompared with {}: {} newly denied, {} no longer denied, {} denied by both",
            printable(&all.others.join(", ")),
            difference.newly_denied,
            difference.no_longer_denied,
            difference.both
        );
        rules_text(&mut out, "only these policies", &difference.only_these);
        rules_text(&mut out, "only the others", &difference.only_others);
    }
    let left_out = left_out(all);
    if !left_out.is_empty() {
        out.push_str("\nnot in the log:\n");
        for line in &left_out {
            let _ = writeln!(out, "  {}", printable(line));
        }
    }
    out
}

fn rules_text(out: &mut String, title: &str, rules: &BTreeMap<RuleId, RuleTally>) {
    let row = |(id, tally): (&RuleId, &RuleTally)| {
        let first = tally.examples.first().map_or_else(String::new, |first| {
            let message = first.message.lines().next().unwrap_or_default();
            let colon = if message.is_empty() { "" } else { ": " };
            let Example { log, line, operation, object, user, .. } = first;
            printable(&format!("{log}:{line}: {operation} {object} by {user}{colon}{message}"))
        });
        (printable(&id.shown()), tally.counts, first)
    };
    let words = Effect::ALL.map(Effect::name);
    table(out, title, words, &rules.iter().map(row).collect::<Vec<(String, [u64; 4], String)>>());
}

/// Our own JSON.
pub fn json(all: &Replayed) -> String {
    let answers = |a: &Answers| json!({"requests": a.requests, "denied": a.denied, "audited": a.audited, "warned": a.warned, "changed": a.changed});
    let by_name = |rows: &BTreeMap<String, Answers>| {
        Value::Object(rows.iter().map(|(name, row)| (name.clone(), answers(row))).collect::<Map<_, _>>())
    };
    let missing: Vec<Value> = all
        .left_out
        .missing
        .iter()
        .map(|(why, (count, first))| json!({"reason": why.text(), "count": count, "first": first}))
        .collect();
    let mut document = json!({
        "version": 1,
        "tool": {"name": "ephor", "version": env!("CARGO_PKG_VERSION")},
        "logs": all.logs,
        "policies": all.policies,
        "from": all.span.as_ref().map(|(first, _)| first),
        "until": all.span.as_ref().map(|(_, last)| last),
        "summary": answers(&all.answers),
        "deniedThenAdmitted": all.denied_then_admitted,
        "rules": rules_json(&all.rules),
        "users": by_name(&all.users),
        "namespaces": by_name(&all.namespaces),
        "hours": by_name(&all.hours),
        "notEvaluated": {
            "lines": all.left_out.events,
            "otherStages": all.left_out.other_stages,
            "reads": all.left_out.reads,
            "missing": missing,
        },
        "undecided": all.undecided.0,
        "updatesWithoutObjectBefore": all.left_out.without_before,
        "notes": all.notes,
    });
    if let Some(difference) = &all.difference {
        document["comparedWith"] = json!({
            "policies": all.others,
            "newlyDenied": difference.newly_denied,
            "noLongerDenied": difference.no_longer_denied,
            "deniedByBoth": difference.both,
            "onlyThese": rules_json(&difference.only_these),
            "onlyOthers": rules_json(&difference.only_others),
        });
    }
    pretty(&document)
}

fn rules_json(rules: &BTreeMap<RuleId, RuleTally>) -> Value {
    let example = |e: &Example| {
        json!({
            "log": e.log, "line": e.line, "auditID": e.id, "time": e.time, "user": e.user, "operation": e.operation,
            "object": e.object, "message": e.message,
        })
    };
    let row = |(id, tally): (&RuleId, &RuleTally)| {
        let mut row = json!({"policyKind": id.kind, "policy": id.policy, "rule": id.rule});
        for (effect, count) in Effect::ALL.into_iter().zip(tally.counts) {
            row[effect.name()] = count.into();
        }
        row["examples"] = tally.examples.iter().map(example).collect();
        row
    };
    rules.iter().map(row).collect()
}

/// What tables and the chart add to the style of pages.
const STYLE: &str = "td.n { text-align: right; }\nsvg.hours { width: 100%; height: auto; max-width: 900px; background: var(--card); border: 1px solid var(--line); }\nsvg.hours text { fill: currentColor; font: 11px system-ui, sans-serif; }\nsection { margin-top: 20px; overflow-x: auto; }\n";

/// A page that stands alone.
pub fn html(all: &Replayed) -> String {
    let summary = summary(all);
    let mut out = beginning(&format!("Replayed audit log: {} denied", all.answers.denied), "", STYLE);
    let _ = writeln!(
        out,
        "<header>\n<h1>Replayed audit log</h1>\n<p class=\"soft\">{}</p>\n<p class=\"soft\">Logs: {}. Policies: {}.</p>\n</header>",
        escape(&summary),
        escape(&all.logs.join(", ")),
        escape(&all.policies.join(", "))
    );
    let counts = [
        ("pass", "requests", all.answers.requests),
        ("fail", "denied", all.answers.denied),
        ("warn", "audited", all.answers.audited),
        ("warn", "warned", all.answers.warned),
        ("skip", "changed", all.answers.changed),
        ("error", "not evaluated", all.left_out.total()),
    ];
    out.push_str("<ul class=\"counts\" aria-label=\"Counts\">\n");
    for (class, word, count) in counts {
        let _ = writeln!(out, "<li class=\"{class}\"><b>{count}</b>{word}</li>");
    }
    out.push_str("</ul>\n");
    chart(&mut out, &all.hours);
    rules_html(&mut out, "By rule", &all.rules);
    if let Some(difference) = &all.difference {
        let _ = writeln!(
            out,
            "<section aria-label=\"Comparison\">\n<h2>Compared with {}</h2>\n<p>{} newly denied, {} no longer denied, {} denied by both.</p>",
            escape(&all.others.join(", ")),
            difference.newly_denied,
            difference.no_longer_denied,
            difference.both
        );
        rules_html(&mut out, "Only these policies", &difference.only_these);
        rules_html(&mut out, "Only the others", &difference.only_others);
        out.push_str("</section>\n");
    }
    for (title, rows) in [("By user", &all.users), ("By namespace", &all.namespaces)] {
        answers_html(&mut out, title, rows);
    }
    let left_out = left_out(all);
    if !left_out.is_empty() || !all.notes.is_empty() {
        out.push_str("<section aria-label=\"Not in the log\">\n<h2>Not in the log</h2>\n<ul>\n");
        for line in left_out.iter().chain(&all.notes) {
            let _ = writeln!(out, "<li>{}</li>", escape(line));
        }
        out.push_str("</ul>\n</section>\n");
    }
    out.push_str("</main>\n</body>\n</html>\n");
    out
}

fn rules_html(out: &mut String, title: &str, rules: &BTreeMap<RuleId, RuleTally>) {
    if rules.is_empty() {
        return;
    }
    let head = table_head(&["Rule", "Denied", "Audited", "Changed", "Errors", "First requests"]);
    let _ = writeln!(out, "<section aria-label=\"{title}\">\n<table>\n<caption>{title}</caption>\n{head}");
    for (id, tally) in rules {
        let counts: String = tally.counts.iter().map(|n| format!("<td class=\"n\">{n}</td>")).collect();
        let examples: Vec<String> = tally
            .examples
            .iter()
            .map(|e| {
                format!(
                    "<b>{} {}</b> by {}, {} ({}:{})<br>{}",
                    escape(&e.operation),
                    escape(&e.object),
                    escape(&e.user),
                    escape(&e.time),
                    escape(&e.log),
                    e.line,
                    escape(&e.message)
                )
            })
            .collect();
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th>{counts}<td><details><summary>{}</summary>{}</details></td></tr>",
            escape(&id.shown()),
            counted(examples.len() as u64, "request", "requests"),
            examples.join("<br>")
        );
    }
    out.push_str("</tbody>\n</table>\n</section>\n");
}

fn answers_html(out: &mut String, title: &str, rows: &BTreeMap<String, Answers>) {
    let shown: Vec<_> = largest(rows, touched).into_iter().filter(|(_, row)| touched(row) > 0).collect();
    if shown.is_empty() {
        return;
    }
    let head = table_head(&["Name", "Requests", "Denied", "Audited", "Warned", "Changed"]);
    let _ = writeln!(out, "<section aria-label=\"{title}\">\n<table>\n<caption>{title}</caption>\n{head}");
    for (name, row) in shown {
        let name = if name.is_empty() { "(none)" } else { name };
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            escape(name),
            row.requests,
            row.denied,
            row.audited,
            row.warned,
            row.changed
        );
    }
    out.push_str("</tbody>\n</table>\n</section>\n");
}

/// Bars of the hours: all requests, and those that would have been denied.
fn chart(out: &mut String, hours: &BTreeMap<String, Answers>) {
    const WIDTH: usize = 900;
    const HEIGHT: usize = 220;
    const BASE: usize = 180;
    let Some(most) = hours.values().map(|row| row.requests).max().filter(|most| *most > 0) else { return };
    let step = (WIDTH as f64 - 20.0) / hours.len() as f64;
    let height = |count: u64| count as f64 * (BASE as f64 - 30.0) / most as f64;
    let _ = writeln!(
        out,
        "<section aria-label=\"By hour\">\n<h2>By hour</h2>\n<svg class=\"hours\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"Requests and denials by hour\">"
    );
    let labels = hours.len().div_ceil(12);
    for (at, (hour, row)) in hours.iter().enumerate() {
        let x = 10.0 + step * at as f64;
        let width = (step * 0.8).max(1.0);
        let _ = writeln!(
            out,
            "<g><title>{hour}: {} requests, {} denied</title><rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"#7a8ba8\"/><rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"#c0392b\"/></g>",
            row.requests,
            row.denied,
            BASE as f64 - height(row.requests),
            height(row.requests),
            BASE as f64 - height(row.denied),
            height(row.denied),
            hour = escape(hour)
        );
        if at % labels == 0 {
            let _ = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{}\">{}</text>",
                BASE + 16,
                escape(hour.get(5..).unwrap_or(hour))
            );
        }
    }
    let _ = writeln!(
        out,
        "<text x=\"10\" y=\"16\">most in an hour: {most}; red: denied</text>\n</svg>\n</section>"
    );
}
