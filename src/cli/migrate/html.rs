//! The report as a page: a table, then each policy with old and new side by side.

use std::fmt::Write;

use ephor_document::write::{Style, to_string};
use ephor_migrate::report::{MigrateRow, Status, meanings};
use ephor_report::formats::html::escape;

use super::text::summary;

const STYLE: &str = include_str!("page.css");

/// The page.
pub fn page(rows: &[MigrateRow<'_>]) -> String {
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>Migration to CEL</title><style>{STYLE}</style></head><body>\n<main>\n<h1>Migration to CEL</h1>\n<p>{}</p>\n\
         <table><tr><th scope=\"col\">policy</th><th scope=\"col\">same meaning</th><th scope=\"col\">notes</th></tr>\n",
        escape(&summary(rows))
    );
    for (at, row) in rows.iter().enumerate() {
        let _ = writeln!(
            out,
            "<tr><td><a href=\"#p{at}\">{}</a><br>{}</td><td class=\"{}\">{}</td><td>{}</td></tr>",
            escape(row.name),
            escape(&row.place()),
            class(row.status),
            escape(&row.word()),
            notes(row).join("<br>")
        );
    }
    out.push_str("</table>\n<ul>\n");
    for (word, meaning) in meanings(rows) {
        let _ = writeln!(out, "<li><em>{}</em>: {}</li>", escape(word), escape(meaning));
    }
    out.push_str("</ul>\n");
    for (at, row) in rows.iter().enumerate() {
        let _ = writeln!(
            out,
            "<h2 id=\"p{at}\">{} <small class=\"{}\">{}</small></h2>",
            escape(row.name),
            class(row.status),
            escape(&row.word())
        );
        for difference in row.differences {
            let _ = writeln!(
                out,
                "<p>{} {}: old {}, new {}</p>{}",
                difference.kind.name(),
                escape(&difference.environment.name()),
                difference.old.verdict.name(),
                difference.new.verdict.name(),
                text(
                    &format!("object on which {} differs", row.name),
                    &to_string(&difference.object, Style::Block)
                )
            );
        }
        let _ = writeln!(
            out,
            "<div class=\"both\">{}{}</div>",
            text(&format!("old policy {}", row.name), row.old_text),
            text(&format!("new policy {}", row.name), &row.new_text)
        );
    }
    out.push_str("</main>\n</body></html>\n");
    out
}

/// A text that scrolls, with keys too: what has the focus needs a name.
fn text(name: &str, text: &str) -> String {
    format!("<pre tabindex=\"0\" role=\"group\" aria-label=\"{}\">{}</pre>", escape(name), escape(text))
}

fn notes(row: &MigrateRow<'_>) -> Vec<String> {
    let why = Some(&row.why).filter(|why| !why.is_empty());
    let mut out: Vec<String> = why.into_iter().chain(&row.remarks).map(|text| escape(text)).collect();
    out.extend(row.refused.iter().map(|refused| {
        escape(&format!("{}: {}. Nearest: {}.", refused.place, refused.construct, refused.nearest))
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

#[cfg(test)]
mod tests {
    #[test]
    fn what_scrolls_in_the_page_has_the_focus_of_the_keyboard_and_a_name() {
        assert_eq!(
            super::text("old policy \"a\"", "x < 1\u{1b}"),
            "<pre tabindex=\"0\" role=\"group\" aria-label=\"old policy &quot;a&quot;\">x &lt; 1\u{fffd}</pre>"
        );
    }
}
