//! Rows as text: table, JSON, YAML, Markdown, JUnit.
//!
//! In: rows. Out: Kyverno's text of each format; where that is no well-formed XML, ours is.

use ephor_document::write as yaml;
use ephor_report::diff::without_colour;
use ephor_report::table;
use ephor_value::print::write_json_string;
use ephor_value::{Map, Str, Value};

use super::rows::{Row, Verdict};

/// A format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A table.
    Table,
    /// A JSON list.
    Json,
    /// A YAML list.
    Yaml,
    /// A Markdown table.
    Markdown,
    /// JUnit's XML.
    Junit,
}

/// How rows are shown.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// The format.
    pub format: Format,
    /// With messages.
    pub detailed: bool,
    /// Headers of tables and diffs are coloured.
    pub colour: bool,
    /// Cells are coloured as well.
    pub cells: bool,
}

const CYAN: &str = "36";
const GREEN: &str = "32";
const RED: &str = "31";
const YELLOW: &str = "33";

/// Rows as text, numbered from 1. A table without rows is no text at all.
pub fn render(rows: &[Row], style: Style) -> String {
    match style.format {
        Format::Table => as_table(rows, style),
        Format::Json => json(rows, style.detailed),
        Format::Yaml => as_yaml(rows, style.detailed),
        Format::Markdown => markdown(rows, style.detailed),
        Format::Junit => junit(rows, style.detailed),
    }
}

fn as_table(rows: &[Row], style: Style) -> String {
    let paint = |text: &str, code: &str| match style.cells && !text.is_empty() {
        true => format!("\u{1b}[{code};1m{text}\u{1b}[0;22m"),
        false => text.to_owned(),
    };
    let mut headers = vec!["ID", "POLICY", "RULE", "RESOURCE", "RESULT", "REASON"];
    if style.detailed {
        headers.push("MESSAGE");
    }
    let cells: Vec<Vec<String>> = rows
        .iter()
        .enumerate()
        .map(|(i, r)| {
            let code = match r.verdict {
                Verdict::Pass => GREEN,
                Verdict::Fail => RED,
                Verdict::Skip => CYAN,
            };
            let reason = match &*r.reason {
                "Excluded" | "Not found" | "Invalid Policy" => paint(&r.reason, YELLOW),
                reason => reason.to_owned(),
            };
            let mut row = vec![
                (i + 1).to_string(),
                paint(&r.policy, CYAN),
                paint(&r.rule, CYAN),
                paint(&r.resource, CYAN),
                paint(r.verdict.name(), code),
                reason,
            ];
            if style.detailed {
                row.push(if style.colour { r.message.clone() } else { without_colour(&r.message) });
            }
            row
        })
        .collect();
    table::render(&headers, &cells, style.colour)
}

/// The fields of a row as JSON and YAML name them, in their order.
fn fields(i: usize, r: &Row, detailed: bool) -> Vec<(&'static str, Value)> {
    let mut all = vec![("ID", Value::Int(i64::try_from(i).unwrap_or(0).saturating_add(1)))];
    if detailed {
        all.push(("Message", Value::from(without_colour(&r.message))));
    }
    all.extend([
        ("POLICY", Value::from(&*r.policy)),
        ("REASON", Value::from(&*r.reason)),
        ("RESOURCE", Value::from(&*r.resource)),
        ("RESULT", Value::from(r.verdict.name())),
        ("RULE", Value::from(&*r.rule)),
    ]);
    all
}

fn json(rows: &[Row], detailed: bool) -> String {
    if rows.is_empty() {
        return "[]".into();
    }
    let one = |(i, r): (usize, &Row)| {
        let entries = fields(i, r, detailed).into_iter().map(|(key, value)| {
            let mut text = format!("    \"{key}\": ");
            match value {
                Value::Str(s) => write_json_string(&mut text, &s),
                other => text.push_str(&ephor_value::print::json(&other)),
            }
            text
        });
        format!("  {{\n{}\n  }}", entries.collect::<Vec<_>>().join(",\n"))
    };
    format!("[\n{}\n]", rows.iter().enumerate().map(one).collect::<Vec<_>>().join(",\n"))
}

fn as_yaml(rows: &[Row], detailed: bool) -> String {
    let one = |(i, r): (usize, &Row)| {
        let entries = fields(i, r, detailed).into_iter().map(|(k, v)| (Str::from(k), v));
        Value::Map(entries.collect::<Map>())
    };
    yaml::to_string(&Value::list(rows.iter().enumerate().map(one).collect()), yaml::Style::Object)
}

fn markdown(rows: &[Row], detailed: bool) -> String {
    let mut out = String::from("| ID | POLICY | RULE | RESOURCE | RESULT | REASON | ");
    if detailed {
        out.push_str("MESSAGE | ");
    }
    out.push_str("\n|----|----|----|----|----|----|");
    if detailed {
        out.push_str("----|");
    }
    out.push('\n');
    for (i, r) in rows.iter().enumerate() {
        out.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} |",
            i + 1,
            r.policy,
            r.rule,
            r.resource,
            r.verdict.name(),
            r.reason
        ));
        if detailed {
            out.push_str(&format!(" {} |", without_colour(&r.message)));
        }
        out.push('\n');
    }
    out
}

fn escaped(text: &str) -> String {
    without_colour(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

fn junit(rows: &[Row], detailed: bool) -> String {
    let failures = |rows: &[&Row]| rows.iter().filter(|r| r.verdict == Verdict::Fail).count();
    let all: Vec<&Row> = rows.iter().collect();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"{}\" failures=\"{}\">\n",
        rows.len(),
        failures(&all)
    );
    let mut policies: Vec<&str> = Vec::new();
    for r in rows {
        if !policies.contains(&&*r.policy) {
            policies.push(&r.policy);
        }
    }
    for policy in policies {
        let own: Vec<&Row> = rows.iter().filter(|r| r.policy == policy).collect();
        out.push_str(&format!(
            " <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\">\n",
            escaped(policy),
            own.len(),
            failures(&own)
        ));
        own.iter().for_each(|r| case(&mut out, r, detailed));
        out.push_str(" </testsuite>\n");
    }
    out.push_str("</testsuites>");
    out
}

fn case(out: &mut String, r: &Row, detailed: bool) {
    let message = match detailed {
        true => format!("    Message: {}", without_colour(&r.message)),
        false => String::new(),
    };
    let about = |escape: &dyn Fn(&str) -> String| {
        format!(
            "    Policy: {}\n    Rule: {}\n    Resource: {}\n",
            escape(&r.policy),
            escape(&r.rule),
            escape(&r.resource)
        )
    };
    out.push_str(&format!(
        "  <testcase classname=\"{}\" name=\"{}\">\n",
        escaped(&r.rule),
        escaped(&r.resource)
    ));
    if r.verdict == Verdict::Fail {
        out.push_str(&format!(
            "   <failure message=\"{}\">\n{}    Result: Fail{}\n   </failure>\n",
            escaped(&r.reason),
            about(&escaped),
            escaped(&message)
        ));
    } else {
        // What ends such a section is cut in two.
        let plain = |text: &str| text.replace("]]>", "]]]]><![CDATA[>");
        out.push_str(&format!(
            "   <system-out><![CDATA[\n    Reason: {}\n{}",
            plain(&r.reason),
            about(&plain)
        ));
        if detailed {
            out.push_str(&format!("{}\n", plain(&message)));
        }
        out.push_str("   ]]></system-out>\n");
    }
    out.push_str("  </testcase>\n");
}
