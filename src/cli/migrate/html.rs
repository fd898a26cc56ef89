//! The report as a page: a table, then each policy with old and new side by side.

use std::fmt::Write;

use ephor_document::write::{Style, to_string};

use super::rows::{Row, Status};
use super::text::summary;

const STYLE: &str = "body{font:14px/1.45 system-ui,sans-serif;margin:2rem;color:#1f2328}
table{border-collapse:collapse}td,th{padding:.3rem .7rem;border:1px solid #d0d7de;text-align:left;vertical-align:top}
.both{display:grid;grid-template-columns:1fr 1fr;gap:1rem}pre{background:#f6f8fa;padding:.8rem;overflow:auto;margin:0;font-size:12px}
.proved,.relative{color:#1a7f37}.tested{color:#9a6700}.differs,.refused,.failed{color:#cf222e}
h2{margin-top:2.5rem}";

/// The page.
pub fn page(rows: &[Row<'_>]) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Migration to CEL</title><style>{STYLE}</style></head><body>\n<h1>Migration to CEL</h1>\n<p>{}</p>\n<table><tr><th>policy</th><th>same meaning</th><th>notes</th></tr>\n",
        escaped(&summary(rows))
    );
    for (at, row) in rows.iter().enumerate() {
        let _ = writeln!(
            out,
            "<tr><td><a href=\"#p{at}\">{}</a><br>{}</td><td class=\"{}\">{}</td><td>{}</td></tr>",
            escaped(row.name),
            escaped(&row.place()),
            class(row.status),
            row.status.name(),
            notes(row).join("<br>")
        );
    }
    out.push_str("</table>\n");
    for (at, row) in rows.iter().enumerate() {
        let _ = writeln!(
            out,
            "<h2 id=\"p{at}\">{} <small class=\"{}\">{}</small></h2>",
            escaped(row.name),
            class(row.status),
            row.status.name()
        );
        for difference in row.differences {
            let _ = writeln!(
                out,
                "<p>{} {}: old {}, new {}</p><pre>{}</pre>",
                difference.kind.name(),
                escaped(&difference.environment.name()),
                difference.old.verdict.name(),
                difference.new.verdict.name(),
                escaped(&to_string(&difference.object, Style::Block))
            );
        }
        let _ = writeln!(
            out,
            "<div class=\"both\"><pre>{}</pre><pre>{}</pre></div>",
            escaped(row.old_text),
            escaped(&row.new_text)
        );
    }
    out.push_str("</body></html>\n");
    out
}

fn notes(row: &Row<'_>) -> Vec<String> {
    let why = Some(&row.why).filter(|why| !why.is_empty());
    let mut out: Vec<String> = why.into_iter().chain(&row.remarks).map(|text| escaped(text)).collect();
    out.extend(row.refused.iter().map(|refused| {
        escaped(&format!("{}: {}. Nearest: {}.", refused.place, refused.construct, refused.nearest))
    }));
    out
}

fn class(status: Status) -> &'static str {
    match status {
        Status::Proved => "proved",
        Status::Relative => "relative",
        Status::Tested | Status::NotCompared => "tested",
        Status::Differs => "differs",
        Status::Refused => "refused",
        Status::Failed => "failed",
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
