#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn layouts_read_what_the_reference_reads() {
    for (layout, text, want) in [
        ("2006-01-02", "2023-04-05", "2023-04-05T00:00:00Z"),
        ("3:04PM", "3:04PM", "0000-01-01T15:04:00Z"),
        ("Mon Jan _2 15:04:05 2006", "tue feb  3 04:05:06 2009", "2009-02-03T04:05:06Z"),
        ("02 Jan 06 15:04 MST", "02 Jan 06 15:04 GMT-7", "2006-01-02T08:04:00-07:00"),
        ("2006 002", "2024 366", "2024-12-31T00:00:00Z"),
        ("2006-01-02T15:04:05Z07:00", "2020-02-29T23:59:59.5+05:30", "2020-02-29T23:59:59+05:30"),
        ("_2006", "_1999", "1999-01-01T00:00:00Z"),
    ] {
        assert_eq!(Time::parse(layout, text).map(|t| t.to_string()), Ok(want.to_string()), "{layout}");
    }
}

#[test]
fn errors_name_the_element_that_failed() {
    for (text, want) in [
        ("2020-05-06", r#"parsing time "2020-05-06" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "T""#),
        ("2020-13-06T00:00:00Z", r#"parsing time "2020-13-06T00:00:00Z": month out of range"#),
        ("2021-02-29T00:00:00Z", r#"parsing time "2021-02-29T00:00:00Z": day out of range"#),
        ("2020-01-01T00:00:00Zx", r#"parsing time "2020-01-01T00:00:00Zx": extra text: "x""#),
    ] {
        let shown = Time::parse_rfc3339(text).map(|t| t.to_string()).map_err(|e| e.to_string());
        assert_eq!(shown, Err(want.to_string()));
    }
}

#[test]
fn instants_are_counted_from_the_year_one() {
    let t = |s| Time::parse_rfc3339(s).unwrap();
    let week = 168 * 3600 * 1_000_000_000;
    assert_eq!(t("2024-05-08T10:00:00+02:00").truncate(week).to_string(), "2024-05-06T02:00:00+02:00");
    assert_eq!(t("2020-05-06T07:08:09+02:00").cron(), "8 7 6 5 3");
    assert_eq!(t("0000-01-01T00:00:00Z").plus(-1_000_000_000).to_string(), "-0001-12-31T23:59:59Z");
    assert_eq!(t("9999-12-31T23:59:59Z").since(&t("0001-01-01T00:00:00Z")), i64::MAX);
    assert!(t("2020-01-01T00:00:00Z") == t("2020-01-01T01:00:00+01:00"));
}
