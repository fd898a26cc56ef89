//! The report as a page, in the style of the page of `apply`: counts, what the words mean, a table,
//! then each policy with old and new side by side.
//!
//! Lines are joined: where a line of the new text says from which line of the old one it comes, it
//! leads there. The page loads nothing and has no script.

use std::fmt::Write;

use ephor_migrate::report::{MigrateRow, Status, count, meanings};
use ephor_report::formats::html::{beginning, escape, table_head};

use super::text::{shown, summary};

const STYLE: &str = include_str!("page.css");

/// How a line of the new text begins that names a line of the old one.
const FROM: &str = "# from ";

/// The page.
pub fn page(rows: &[MigrateRow<'_>]) -> String {
    let title = format!("Migration to CEL: {}", summary(rows));
    let mut out = beginning(&title, "", STYLE);
    let _ = writeln!(
        out,
        "<header>\n<h1>Migration to CEL</h1>\n<p class=\"soft\">{}</p>\n</header>",
        escape(&summary(rows))
    );
    out.push_str(&share(rows));
    out.push_str("<ul class=\"counts\" aria-label=\"Counts\">\n");
    for status in Status::ALL {
        let number = count(rows, status);
        if number > 0 {
            let _ = writeln!(out, "<li class=\"{}\"><b>{number}</b>{}</li>", class(status), status.name());
        }
    }
    out.push_str("</ul>\n<ul>\n");
    for (word, meaning) in meanings(rows) {
        let _ = writeln!(out, "<li><b>{}</b>: {}</li>", escape(word), escape(meaning));
    }
    let _ = writeln!(out, "</ul>\n<table>{}", table_head(&["policy", "same meaning", "notes"]));
    for (at, row) in rows.iter().enumerate() {
        let _ = writeln!(
            out,
            "<tr><td><a href=\"#p{at}\">{}</a><br>{}</td><td class=\"is-{}\">{}</td><td>{}</td></tr>",
            escape(row.name),
            escape(&row.place()),
            class(row.status),
            escape(&row.word()),
            notes(row).join("<br>")
        );
    }
    out.push_str("</tbody></table>\n");
    for (at, row) in rows.iter().enumerate() {
        section(&mut out, at, row);
    }
    out.push_str("</main>\n</body></html>\n");
    out
}

/// How many policies move, and of how many it is proved that they mean the same.
fn share(rows: &[MigrateRow<'_>]) -> String {
    let moved = rows.iter().filter(|row| !row.new.is_empty()).count();
    let proved = count(rows, Status::Proved) + count(rows, Status::Relative);
    let all = rows.len();
    if all == 0 {
        return String::new();
    }
    format!(
        "<p>{moved} of {all} move ({} %), {proved} of them with a proof ({} %).\n\
         <meter min=\"0\" max=\"{all}\" value=\"{proved}\" aria-label=\"policies with a proof\">{proved} of {all}</meter></p>\n",
        moved * 100 / all,
        proved * 100 / all,
    )
}

/// A policy: what differs, and both texts.
fn section(out: &mut String, at: usize, row: &MigrateRow<'_>) {
    let _ = writeln!(
        out,
        "<section aria-labelledby=\"p{at}\">\n<h2 id=\"p{at}\">{} <span class=\"is-{}\">{}</span></h2>",
        escape(row.name),
        class(row.status),
        escape(&row.word())
    );
    for difference in row.differences {
        let name = format!("object on which {} differs, and what both policies say of it", row.name);
        out.push_str(&pane(&name, &escape(&shown(difference, ""))));
    }
    let _ = writeln!(
        out,
        "<div class=\"both\">\n<figure><figcaption>old</figcaption>{}</figure>\n<figure><figcaption>new</figcaption>{}</figure>\n</div>\n</section>",
        pane(&format!("old policy {}", row.name), &numbered(row.old_text, at, row.line)),
        pane(&format!("new policy {}", row.name), &joined(&row.new_text, at))
    );
}

/// A text that scrolls, with keys too: what has the focus needs a name.
fn pane(name: &str, text: &str) -> String {
    format!("<pre tabindex=\"0\" role=\"group\" aria-label=\"{}\">{text}</pre>", escape(name))
}

/// The lines of the old text with their numbers in its file, which links lead to.
fn numbered(text: &str, at: usize, first: usize) -> String {
    let last = first + text.lines().count();
    let width = last.to_string().len();
    let line = |(n, line): (usize, &str)| {
        let n = first + n;
        format!("<span class=\"at\" id=\"p{at}-{n}\">{n:width$}</span> {}\n", escape(line))
    };
    text.lines().enumerate().map(line).collect()
}

/// The lines of the new text; one that names a line of the old text leads to it.
fn joined(text: &str, at: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let place = line.trim_start().strip_prefix(FROM).and_then(|place| place.rsplit_once(':'));
        match place.and_then(|(_, number)| number.parse::<usize>().ok()) {
            Some(number) => {
                let _ = writeln!(out, "<a href=\"#p{at}-{number}\">{}</a>", escape(line));
            }
            None => {
                let _ = writeln!(out, "{}", escape(line));
            }
        }
    }
    out
}

fn notes(row: &MigrateRow<'_>) -> Vec<String> {
    let why = Some(&row.why).filter(|why| !why.is_empty());
    let mut out: Vec<String> = why.into_iter().chain(&row.remarks).map(|text| escape(text)).collect();
    out.extend(row.refused.iter().map(|refused| {
        escape(&format!("{}: {}. Nearest: {}.", refused.place, refused.construct, refused.nearest))
    }));
    out
}

/// The colours of the page of `apply`.
fn class(status: Status) -> &'static str {
    match status {
        Status::Proved | Status::Relative => "pass",
        Status::Tested | Status::NotCompared => "warn",
        Status::Differs | Status::Refused => "fail",
        Status::Failed => "error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_scrolls_in_the_page_has_the_focus_of_the_keyboard_and_a_name() {
        assert_eq!(
            pane("old policy \"a\"", &escape("x < 1\u{1b}")),
            "<pre tabindex=\"0\" role=\"group\" aria-label=\"old policy &quot;a&quot;\">x &lt; 1\u{fffd}</pre>"
        );
    }

    #[test]
    fn lines_of_the_new_text_lead_to_those_that_they_come_from() {
        assert_eq!(
            joined("a: 1\n  # from dir/p.yaml:12\n  b: <\n", 3),
            "a: 1\n<a href=\"#p3-12\">  # from dir/p.yaml:12</a>\n  b: &lt;\n"
        );
        assert_eq!(
            numbered("kind: A\nb: <\n", 3, 9),
            "<span class=\"at\" id=\"p3-9\"> 9</span> kind: A\n<span class=\"at\" id=\"p3-10\">10</span> b: &lt;\n"
        );
    }
}
