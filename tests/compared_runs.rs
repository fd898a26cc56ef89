//! Runs one after the other: what is new, and what is fixed.

use crate::common::{Files, POLICY};

fn map(name: &str, team: bool) -> String {
    let labels = if team { ", labels: {team: a}" } else { "" };
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: '{name}'{labels}}}\n---\n")
}

/// Three runs, of which each has another form: `a` and `b` violate first, then `b` and `c`, then
/// `c`.
fn runs() -> Files {
    let files = Files::new(&[("p.yaml", POLICY)]);
    for (file, bad) in [("1.json", ["a", "b"]), ("2.jsonl", ["b", "c"]), ("3.json", ["c", "c"])] {
        let objects: String = ["a", "b", "c"].iter().map(|name| map(name, !bad.contains(name))).collect();
        files.write("r.yaml", objects.as_bytes());
        let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml", "--report-file", file]);
        assert_eq!(ran.code, Some(1), "{}", ran.err);
    }
    files
}

#[test]
fn a_violation_is_new_fixed_or_unchanged_by_policy_rule_and_object() {
    let files = runs();
    let ran = files.run(&["report", "1.json", "2.jsonl"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    insta::assert_snapshot!(ran.out, @r"
    new:
      need-team/team: ConfigMap default/c (r.yaml:11)
        validation error: label team is needed. rule team failed at path /metadata/labels/
    fixed:
      need-team/team: ConfigMap default/a (r.yaml:3)
        validation error: label team is needed. rule team failed at path /metadata/labels/
    1 new, 1 fixed, 1 unchanged
    ");
    let better = files.run(&["report", "2.jsonl", "3.json"]);
    assert_eq!(better.code, Some(0));
    assert!(better.out.ends_with("0 new, 1 fixed, 1 unchanged\n"), "{}", better.out);
    let same = files.run(&["report", "3.json", "3.json"]);
    assert_eq!((same.code, &*same.out), (Some(0), "0 new, 0 fixed, 1 unchanged\n"));
}

#[test]
fn over_many_runs_each_has_its_counts_in_every_form() {
    let files = runs();
    let all = ["report", "1.json", "2.jsonl", "3.json"];
    let text = files.run(&all).out;
    assert!(
        text.contains("  2.jsonl: 1 new, 1 fixed, 1 unchanged\n  3.json: 0 new, 1 fixed, 1 unchanged\n"),
        "{text}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&files.run(&[&all[..], &["--output-format", "json"]].concat()).out).unwrap();
    let runs = json["runs"].as_array().unwrap();
    assert_eq!(runs.iter().map(|run| run["violations"].as_u64().unwrap()).collect::<Vec<_>>(), [2, 2, 1]);
    assert_eq!((&json["new"][0]["resource"], &runs[2]["fixed"]), (&"ConfigMap default/c".into(), &1.into()));
    for (file, begins) in [("t.html", "<!DOCTYPE html>"), ("t.md", "**1 new, 2 fixed, 0 unchanged**")] {
        let ran = files.run(&[&all[..], &["--report-file", file]].concat());
        assert_eq!((ran.code, &*ran.out), (Some(1), ""), "{}", ran.err);
        let text = std::fs::read_to_string(files.path(file)).unwrap();
        assert!(text.starts_with(begins), "{text}");
    }
    let page = std::fs::read_to_string(files.path("t.html")).unwrap();
    assert!(
        page.matches("<meter ").count() == 3 && !page.contains("src=") && page.contains("default-src 'none'")
    );
}

#[test]
fn texts_of_objects_add_no_markup_to_the_page() {
    let files = Files::new(&[("p.yaml", POLICY), ("good.yaml", &map("x", true))]);
    files.write("bad.yaml", map("<script>alert(1)</script>", false).as_bytes());
    for (objects, report) in [("good.yaml", "1.json"), ("bad.yaml", "2.json")] {
        files.run(&["apply", "p.yaml", "-r", objects, "--report-file", report]);
    }
    for form in ["html", "markdown"] {
        let out = files.run(&["report", "1.json", "2.json", "--output-format", form]).out;
        assert!(out.contains("&lt;script&gt;") && !out.contains("<script"), "{out}");
    }
}

#[test]
fn what_has_no_results_of_a_run_is_an_error_with_exit_code_2() {
    let files = runs();
    files.write("not.json", b"{\"a\": 1}");
    files.run(&["apply", "p.yaml", "-r", "r.yaml", "--shard", "1/2", "--report-file", "s.jsonl"]);
    for (other, says) in [
        ("not.json", "not.json: no results of a run"),
        ("gone.json", "gone.json: no results of a run"),
        ("s.jsonl", "s.jsonl: these are the results of a shard"),
    ] {
        let ran = files.run(&["report", "1.json", other]);
        assert_eq!((ran.code, &*ran.out), (Some(2), ""), "{other}");
        assert!(ran.err.contains(says) && ran.err.contains("help: "), "{}", ran.err);
    }
    assert_eq!(files.run(&["report", "1.json"]).code, Some(2));
}
