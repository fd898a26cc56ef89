//! Names and dates of certificates as Kyverno prints them.
//!
//! In: a certificate or a moment. Out: its subject by RFC 2253, or the moment by RFC 1123 with a
//! numeric zone.

use x509_parser::prelude::X509Certificate;

use ephor_value::time::{Civil, Time};

/// The subject as RFC 2253 writes it: the last part first.
pub fn subject(parsed: &X509Certificate<'_>) -> String {
    let part = |a: &x509_parser::x509::AttributeTypeAndValue<'_>| {
        let oid = a.attr_type().to_id_string();
        let known = SHORT.iter().find(|(own, _)| *own == oid).map_or(&*oid, |(_, short)| short);
        let text = String::from_utf8_lossy(a.attr_value().data);
        format!("{known}={}", escaped(&text))
    };
    let set = |r: &x509_parser::x509::RelativeDistinguishedName<'_>| -> String {
        r.iter().map(part).collect::<Vec<_>>().join("+")
    };
    let all: Vec<String> = parsed.subject().iter().map(set).collect();
    all.into_iter().rev().collect::<Vec<_>>().join(",")
}

const SHORT: [(&str, &str); 9] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.5", "SERIALNUMBER"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.9", "STREET"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.17", "POSTALCODE"),
];

fn escaped(text: &str) -> String {
    let mut out = String::new();
    let last = text.chars().count().saturating_sub(1);
    for (i, c) in text.chars().enumerate() {
        let special = matches!(c, ',' | '+' | '"' | '\\' | '<' | '>' | ';');
        if special || (c == ' ' && (i == 0 || i == last)) || (c == '#' && i == 0) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// `Mon, 02 Jan 2006 15:04:05 +0000`
pub fn mail_date(time: &Time) -> String {
    const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let Civil { year, month, day, hour, minute, second, weekday } = time.civil();
    let of = |names: &[&'static str], at: u32| {
        usize::try_from(at).ok().and_then(|at| names.get(at)).copied().unwrap_or_default()
    };
    let (offset, sign) = (time.offset().abs() / 60, if time.offset() < 0 { '-' } else { '+' });
    let (weekday, month) = (of(&DAYS, weekday), of(&MONTHS, month.saturating_sub(1)));
    format!(
        "{weekday}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} {sign}{:02}{:02}",
        offset / 60,
        offset % 60
    )
}
