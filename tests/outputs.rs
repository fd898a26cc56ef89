//! The formats and choices of `ephor apply` as users and build servers meet them.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

use crate::common::{Files, POLICY, RESOURCES, Ran};
use serde_json::Value;

const CEL: &str = "apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata:
  name: no-latest
  annotations:
    policies.kyverno.io/title: No latest tag
    policies.kyverno.io/description: See https://example.com/tags.
    policies.kyverno.io/severity: high
spec:
  autogen: {podControllers: {controllers: []}}
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations:
  - expression: object.spec.containers.all(c, !c.image.endsWith(':latest'))
    message: no latest
";

const POD: &str = "---
# Source: shop/templates/cart.yaml
apiVersion: v1
kind: Pod
metadata:
  name: cart
spec:
  containers:
  - name: a
    image: a:1
  - name: b
    image: nginx:latest
";

fn files() -> Files {
    Files::new(&[
        ("p.yaml", POLICY),
        ("r.yaml", RESOURCES),
        ("cel.yaml", CEL),
        ("pod.yaml", &POD[POD.find("api").unwrap()..]),
    ])
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

#[test]
fn machine_formats_hold_nothing_else_on_standard_output() {
    let files = files();
    for extra in [&[][..], &["-p"], &["-v", "1"]] {
        let run = |format: &str| {
            let mut arguments =
                vec!["apply", "p.yaml", "cel.yaml", "-r", "r.yaml", "--output-format", format];
            arguments.extend(extra);
            let ran = files.run(&arguments);
            assert_eq!(ran.code, Some(1), "{format}: {}", ran.err);
            assert!(ran.err.contains("deprecated"), "{}", ran.err);
            ran.out
        };
        assert_eq!(json(&run("sarif"))["version"], "2.1.0");
        assert!(run("junit").starts_with("<?xml"));
        assert!(run("github").starts_with("::error file=r.yaml,line=3,"));
        assert!(run("markdown").starts_with("| Policy |"));
        assert!(run("html").starts_with("<!DOCTYPE html>"));
        assert!(run("text").starts_with("ConfigMap default/bad (r.yaml)\n"));
    }
    let own = files.run(&["apply", "p.yaml", "-r", "r.yaml", "--output-format", "json"]);
    assert_eq!(json(&own.out)["summary"]["fail"], 1);
}

#[test]
fn a_violation_points_at_the_field_and_at_the_expression() {
    let ran = files().run(&["apply", "cel.yaml", "-r", "pod.yaml", "--output-format", "text"]);
    insta::assert_snapshot!(ran.out, @r"
    Pod default/cart (pod.yaml)
      FAIL no-latest (high)
        no latest
        ┌ pod.yaml:10:12
        │     image: nginx:latest
        │            ^^^^^^^^^^^^
        = policy cel.yaml:14:17

    1 resource, 1 policy: 1 failed, 0 errors, 0 warnings, 0 passed, 0 skipped
    why: ephor explain cel.yaml -r pod.yaml
    ");
    let sarif = files().run(&["apply", "cel.yaml", "-r", "./pod.yaml", "--output-format", "sarif"]);
    let sarif = json(&sarif.out);
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!((&result["ruleId"], &result["level"]), (&"no-latest".into(), &"error".into()));
    let place = &result["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "pod.yaml");
    assert_eq!((&place["region"]["startLine"], &place["region"]["startColumn"]), (&10.into(), &12.into()));
    let rule = &sarif["runs"][0]["tool"]["driver"]["rules"][0];
    assert_eq!(
        (&rule["helpUri"], &rule["shortDescription"]["text"]),
        (&"https://example.com/tags".into(), &"No latest tag".into())
    );
}

#[test]
fn items_of_a_list_are_found_at_their_own_lines() {
    let pod = |name: &str, image: &str| {
        format!(
            "- apiVersion: v1\n  kind: Pod\n  metadata: {{name: {name}}}\n  spec:\n    containers:\n    - name: c\n      image: {image}\n"
        )
    };
    let list = format!("apiVersion: v1\nkind: List\nitems:\n{}{}", pod("a", "x:1"), pod("b", "x:latest"));
    let files = files();
    files.write("list.yaml", list.as_bytes());
    let ran = files.run(&["apply", "cel.yaml", "-r", "list.yaml", "--output-format", "github"]);
    assert!(
        ran.out.starts_with("::error file=list.yaml,line=17,endLine=17,col=14,endColumn=22,"),
        "{}",
        ran.out
    );
}

#[test]
fn findings_of_rendered_charts_name_the_template() {
    let files = files();
    let run =
        |format: &str| files.run_on(POD, &["apply", "cel.yaml", "-r", "-", "--output-format", format]).out;
    assert!(run("github").starts_with("::error file=shop/templates/cart.yaml,line=1,"));
    assert!(run("text").starts_with("Pod default/cart (shop/templates/cart.yaml)\n"), "{}", run("text"));
    assert!(run("junit").contains("file=\"shop/templates/cart.yaml\""));
}

#[test]
fn errors_come_with_reason_and_place_where_kyverno_is_silent() {
    let policy = CEL.replace("c.image.endsWith", "c.imag.endsWith");
    let files = Files::new(&[("cel.yaml", &policy), ("pod.yaml", POD)]);
    let ran = files.run(&["apply", "cel.yaml", "-r", "pod.yaml"]);
    assert!(ran.out.ends_with("pass: 0, fail: 0, warn: 0, error: 1, skip: 0 \n"), "{}", ran.out);
    assert!(ran.err.starts_with("error: no-latest (cel.yaml:14:17): "), "{}", ran.err);
    assert!(ran.err.contains("no such key: imag: Pod default/cart at pod.yaml:"), "{}", ran.err);
}

#[test]
fn a_report_goes_into_a_file_and_the_run_is_shown_as_text() {
    let files = files();
    let all = ["apply", "p.yaml", "-r", "r.yaml", "--output-format", "sarif", "--report-file", "out.sarif"];
    let ran = files.run(&all);
    assert!(ran.out.contains("1 failed"), "{}", ran.out);
    let written = std::fs::read_to_string(files.path("out.sarif")).expect("the report");
    assert_eq!(json(&written)["runs"][0]["results"].as_array().map(Vec::len), Some(1));
    let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml", "--report-file", "no/such/folder.html"]);
    assert!(ran.err.contains("failed to write no/such/folder.html"), "{}", ran.err);
    let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml", "--output-format", "sarif", "-o", "x.sarif"]);
    assert!(ran.err.contains("help: write the report with `--report-file x.sarif`"), "{}", ran.err);
    assert!(!files.path("x.sarif").exists());
}

#[test]
fn a_baseline_keeps_known_violations_from_failing_the_run() {
    let files = files();
    let base = ["apply", "p.yaml", "-r", "r.yaml", "--baseline", "known.json"];
    let ran = files.run(&base);
    assert!(ran.err.contains("--write-baseline"), "{}", ran.err);
    let with = |more: &[&str]| files.run(&[&base[..], more].concat());
    assert_eq!(with(&["--write-baseline"]).code, Some(0));
    assert_eq!(with(&[]).code, Some(0));
    assert!(with(&["--output-format", "text"]).out.contains("KNOWN need-team/team"));
    let sarif = json(&with(&["--output-format", "sarif"]).out);
    assert_eq!(sarif["runs"][0]["results"][0]["baselineState"], "unchanged");
    files.write("r.yaml", RESOURCES.replace("name: bad", "name: worse").as_bytes());
    assert_eq!(with(&[]).code, Some(1));
}

#[test]
fn only_failures_of_a_severity_fail_the_run() {
    let files = files();
    let code = |severity: &str| {
        let ran = files.run(&["apply", "cel.yaml", "-r", "pod.yaml", "--fail-on", severity]);
        ran.code
    };
    assert_eq!((code("high"), code("critical"), code("low")), (Some(1), Some(0), Some(1)));
    // A policy that says nothing of its severity always counts.
    assert_eq!(files.run(&["apply", "p.yaml", "-r", "r.yaml", "--fail-on", "critical"]).code, Some(1));
}

#[test]
fn strict_runs_refuse_what_cannot_be_used() {
    let files = files();
    files.write("cm.yaml", b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
    files.write("empty.yaml", b"# nothing\n");
    files.write("good.yaml", RESOURCES.split_once("---\n").unwrap().1.as_bytes());
    let code = |arguments: &[&str]| files.run(&[&["apply"], arguments, &["--strict"]].concat()).code;
    assert_eq!(code(&["p.yaml", "-r", "good.yaml"]), Some(0));
    assert_eq!(code(&["p.yaml", "missing.yaml", "-r", "good.yaml"]), Some(2));
    assert_eq!(code(&["p.yaml", "empty.yaml", "-r", "good.yaml"]), Some(2));
    assert_eq!(code(&["cm.yaml", "-r", "good.yaml"]), Some(2));
    assert_eq!(code(&["p.yaml", "-r", "empty.yaml"]), Some(2));
    assert_eq!(code(&["p.yaml", "-r", "missing.yaml"]), Some(2));
    assert_eq!(files.run(&["apply", "p.yaml", "missing.yaml", "-r", "good.yaml"]).code, Some(0));
}

#[test]
fn files_without_policies_are_one_line_unless_they_are_listed() {
    let files = files();
    for i in 0..5 {
        files.write(&format!("lib/{i}/artifacthub-pkg.yml"), b"name: x\n");
    }
    files.write("lib/p.yaml", POLICY.as_bytes());
    let run = |more: &[&str]| files.run(&[&["apply", "lib", "-r", "r.yaml"], more].concat()).err;
    assert_eq!(run(&[]), "warning: 5 files or documents without policies are left out (-v 1 lists them)\n");
    assert_eq!(run(&["-v", "1"]).lines().count(), 5);
    assert_eq!(run(&["--quiet"]), "");
}

#[test]
fn folders_patterns_and_documents_that_are_no_objects_can_be_resources() {
    let files = files();
    files.write("all/a/r.yaml", RESOURCES.as_bytes());
    files.write("all/a/values.yaml", b"replicas: 1\n");
    let count = |arguments: &[&str]| {
        let ran = files.run(&[&["apply", "p.yaml", "--output-format", "json"], arguments].concat());
        json(&ran.out)["resources"].as_u64()
    };
    assert_eq!(count(&["-R", "-r", "all"]), Some(2));
    assert_eq!(count(&["-r", "all/*/r.yaml"]), Some(2));
    let ran = files.run(&["apply", "p.yaml", "-r", "all"]);
    assert!(ran.err.contains("--recursive"), "{}", ran.err);
    // Kyverno ends the run.
    let ran = files.run(&["apply", "p.yaml", "-r", "all/a/values.yaml"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("Object 'Kind' is missing"), "{}", ran.err);
}

#[test]
fn colours_follow_the_flag_and_the_environment() {
    let files = files();
    let run = |name: &str, value: &str, more: &[&str]| {
        let mut program =
            files.program(&[&["apply", "p.yaml", "-r", "r.yaml", "--output-format", "text"], more].concat());
        program.env_remove("NO_COLOR").env(name, value);
        String::from_utf8_lossy(&program.output().expect("it runs").stdout).contains('\u{1b}')
    };
    assert!(run("FORCE_COLOR", "1", &[]) && run("CLICOLOR_FORCE", "1", &[]));
    assert!(!run("FORCE_COLOR", "0", &[]) && !run("FORCE_COLOR", "1", &["--color", "never"]));
    assert!(run("NO_COLOR", "1", &["--color", "always"]) && !run("NO_COLOR", "1", &[]));
}

/// The program on the arguments that the README's first command has, in this repository, and more.
fn first_command(more: &[&str]) -> crate::common::Ran {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).expect("the README");
    let command = readme.lines().find_map(|line| line.strip_prefix("cargo run --release -- "));
    let arguments: Vec<&str> =
        command.expect("the first command").split_whitespace().chain(more.to_vec()).collect();
    let mut program = files().program(&arguments);
    crate::common::Ran::new(program.current_dir(root).output().expect("it runs"))
}

/// Policies of the repository in all of their forms on the sample of the README.
fn all_forms(more: &[&str]) -> crate::common::Ran {
    let groups =
        ["policies/best-practices", "policies/pod-security-baseline", "policies/pod-security-restricted"];
    let sample = ["-r", "docs/sample/deployment.yaml"];
    let arguments: Vec<&str> =
        std::iter::once("apply").chain(groups).chain(sample).chain(more.iter().copied()).collect();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut program = files().program(&arguments);
    crate::common::Ran::new(program.current_dir(root).output().expect("it runs"))
}

#[test]
fn the_first_command_of_the_readme_shows_violations_and_nothing_else() {
    let ran = first_command(&["--color", "never", "--output-format", "text"]);
    assert_eq!((ran.code, &*ran.err), (Some(1), ""));
    assert!(ran.out.contains("FAIL disallow-latest-tag (medium)"), "{}", ran.out);
}

#[test]
fn each_violation_is_shown_once_with_all_forms_of_its_policy() {
    let ran = all_forms(&["--color", "never", "--output-format", "text"]);
    assert_eq!(ran.code, Some(1));
    // Nothing but the violations: all that is deprecated has its successor in the same folder.
    assert_eq!(ran.err, "");
    insta::assert_snapshot!(ran.out);
    let run = json(&all_forms(&["--output-format", "json"]).out);
    let results = run["results"].as_array().expect("results");
    let policies_of = |kind: &str| {
        let own = results.iter().filter(|result| result["policyKind"] == kind);
        own.filter_map(|result| result["policy"].as_str()).collect::<std::collections::BTreeSet<_>>()
    };
    let classic = policies_of("ClusterPolicy");
    assert!(classic.len() > 20, "{classic:?}");
    assert_eq!(policies_of("ValidatingPolicy"), classic);
    // Those of Kubernetes have policies of their own for what makes pods.
    let kubernetes = policies_of("ValidatingAdmissionPolicy");
    let whole = |name: &&str| {
        let name =
            name.strip_suffix("-controllers").or_else(|| name.strip_suffix("-cronjobs")).unwrap_or(name);
        classic.contains(name)
    };
    assert!(!kubernetes.is_empty() && kubernetes.iter().all(whole), "{kubernetes:?}");
}

/// A browser without a window, if there is one.
fn browser() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let runs = |name: &&str| std::process::Command::new(name).arg("--version").output().is_ok();
    names.into_iter().find(runs)
}

#[test]
fn a_browser_opens_the_page_and_its_script_counts_the_violations() {
    let files = files();
    let ran = files.run(&["apply", "p.yaml", "cel.yaml", "-r", "r.yaml", "--output-format", "html"]);
    files.write("page.html", ran.out.as_bytes());
    let Some(browser) = browser() else {
        eprintln!("no browser: the page is not opened");
        return;
    };
    let output = std::process::Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg(format!("file://{}", files.path("page.html").display()))
        .env("HOME", files.dir.path())
        .output()
        .expect("the browser runs");
    let page = String::from_utf8_lossy(&output.stdout);
    // The page is written without the count: the script adds it.
    assert!(page.contains("<output id=\"shown\" aria-live=\"polite\">1 of 1</output>"), "{page}");
    assert!(!ran.out.contains("1 of 1"));
}

#[test]
fn standard_output_without_room_is_an_error_and_a_reader_that_has_gone_is_none() {
    let files = files();
    let formats: [&[&str]; 5] =
        [&[], &["-t"], &["-p"], &["--output-format", "json"], &["--output-format", "html"]];
    for format in formats {
        let mut arguments = vec!["apply", "p.yaml", "-r", "r.yaml"];
        arguments.extend(format);
        let ran_into = |out: std::process::Stdio| {
            let mut program = files.program(&arguments);
            Ran::new(program.stdout(out).output().expect("the program starts"))
        };
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a full device");
        let full = ran_into(full.into());
        assert_eq!(full.code, Some(1), "{format:?}");
        assert!(
            full.err.contains("failed to write standard output (No space left"),
            "{format:?}: {}",
            full.err
        );

        let usual = files.run(&arguments);
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let gone = ran_into(writer.into());
        assert_eq!((gone.code, &*gone.err), (usual.code, &*usual.err), "{format:?}");
    }
}

#[test]
fn violations_of_a_baseline_that_are_gone_are_named_and_taken_out_with_a_flag() {
    let files = files();
    let run = |more: &[&str]| {
        files.run(&[&["apply", "p.yaml", "-r", "r.yaml", "--output-format", "text"][..], more].concat())
    };
    assert_eq!(run(&["--baseline", "b.json", "--write-baseline"]).code, Some(0));
    let known = run(&["--baseline", "b.json"]);
    assert_eq!(known.code, Some(0), "{}", known.err);
    // What is known is one line.
    let lines: Vec<&str> = known.out.lines().skip_while(|line| !line.contains("KNOWN")).collect();
    assert!(lines[1].is_empty(), "{}", known.out);

    files.write("r.yaml", RESOURCES.replace("{name: bad}", "{name: bad, labels: {team: a}}").as_bytes());
    let fixed = run(&["--baseline", "b.json"]);
    let says = "1 entry of the baseline `b.json` no longer occurs: need-team/team on default/ConfigMap/bad";
    assert!(fixed.err.contains(says) && fixed.err.contains("--prune-baseline"), "{}", fixed.err);
    let before = json(&std::fs::read_to_string(files.path("b.json")).unwrap());
    assert_eq!(before["violations"].as_array().map(Vec::len), Some(1));
    let pruned = run(&["--baseline", "b.json", "--prune-baseline"]);
    assert!(pruned.err.contains(says) && pruned.err.contains("taken out"), "{}", pruned.err);
    let after = json(&std::fs::read_to_string(files.path("b.json")).unwrap());
    assert_eq!(after["violations"].as_array().map(Vec::len), Some(0));
    assert!(!run(&["--baseline", "b.json"]).err.contains("no longer"));
}

#[test]
fn several_reports_are_written_and_the_run_looks_the_same_in_a_pipe() {
    let files = files();
    let ran = files.run(&[
        "apply",
        "p.yaml",
        "-r",
        "r.yaml",
        "--report-file",
        "a.sarif",
        "--report-file",
        "gl-code-quality-report.json",
        "--report-file",
        "b.xml",
    ]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.out.starts_with("ConfigMap default/bad (r.yaml)\n"), "{}", ran.out);
    let read = |name: &str| std::fs::read_to_string(files.path(name)).unwrap();
    assert_eq!(json(&read("a.sarif"))["version"], "2.1.0");
    assert!(json(&read("gl-code-quality-report.json"))[0]["fingerprint"].is_string());
    assert!(read("b.xml").starts_with("<?xml"));
}

#[test]
fn a_run_of_our_own_formats_that_checks_nothing_ends_with_2_and_kyvernos_as_it_does() {
    let files = files();
    files.write("empty/x.txt", b"");
    for (arguments, why) in [
        (&["apply", "gone.yaml", "-r", "r.yaml"][..], "no policy"),
        (&["apply", "p.yaml", "-r", "empty"], "no resource"),
    ] {
        for format in ["text", "json", "sarif", "junit", "html", "github", "gitlab", "markdown"] {
            let ran = files.run(&[arguments, &["--output-format", format]].concat());
            assert_eq!(ran.code, Some(2), "{arguments:?} {format}: {}", ran.err);
            assert!(ran.err.contains(&format!("error: {why}: nothing is checked")), "{}", ran.err);
        }
        assert_ne!(files.run(arguments).code, Some(2), "{arguments:?}");
    }
    let empty = files.run_on("", &["apply", "p.yaml", "-r", "-", "--output-format", "json"]);
    assert_eq!(empty.code, Some(2), "{}", empty.err);
}

#[test]
fn a_page_shows_what_held_and_what_it_was_a_run_of() {
    let policy = crate::common::POLICY.replace(
        "name: need-team",
        "name: need-team\n  annotations: {policies.kyverno.io/category: Naming, ephor.dev/standards: 'ACME 1, ACME 2', policies.kyverno.io/version: 1.4.0}",
    );
    let held = crate::common::POLICY.replace("need-team", "never-fails").replace("[ConfigMap]", "[Secret]");
    let files =
        Files::new(&[("p/a.yaml", &policy), ("p/b.yaml", &held), ("r.yaml", crate::common::RESOURCES)]);
    let arguments = ["apply", "p", "-r", "r.yaml", "--output-format", "html"];
    let ran = files
        .program(&arguments)
        .env("GITHUB_SHA", "0123abcd")
        .env("GITHUB_REF_NAME", "main")
        .output()
        .unwrap();
    let page = String::from_utf8_lossy(&ran.stdout).into_owned();
    for part in [
        "<time datetime=\"20",
        "commit <code>0123abcd</code> (main)",
        "50.0 % of the results passed",
        "<caption>By category</caption>",
        "<tr><th scope=\"row\">ACME 1</th><td>1</td><td>0</td><td>1</td><td>1</td><td>0</td><td>50.0 %</td></tr>",
        "1.4.0 <code>",
        "<tr><th scope=\"row\">never-fails<br><span class=\"soft\">ClusterPolicy</span></th>",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let only = files.run(&[&arguments[..], &["--only-failures"]].concat());
    assert!(!only.out.contains("50.0 %</td>") && only.out.contains("never-fails"));
    let sarif = files.run(&["apply", "p", "-r", "r.yaml", "--output-format", "sarif"]);
    assert!(sarif.out.contains(r#""automationDetails":{"id":"ephor apply p r.yaml/"}"#), "{}", sarif.out);
}

#[test]
fn annotations_are_the_gravest_and_as_many_as_are_shown() {
    let policy = |name: &str, severity: &str| {
        crate::common::POLICY
            .replace("need-team", name)
            .replace("name: need", "name: x")
            .replace("spec:", &format!("  annotations: {{policies.kyverno.io/severity: {severity}}}\nspec:"))
    };
    let map = |n: usize| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{n}}}\n");
    let objects = (0..8).map(map).collect::<Vec<_>>().join("---\n");
    let files = Files::new(&[
        ("p/a.yaml", &policy("low", "low")),
        ("p/b.yaml", &policy("critical", "critical")),
        ("r.yaml", &objects),
    ]);
    let ran = files.run(&["apply", "p", "-r", "r.yaml", "--output-format", "github"]);
    let of = |start: &str| ran.out.lines().filter(|line| line.starts_with(start)).count();
    let (errors, all) = (of("::error"), of("::error") + of("::warning") + of("::notice"));
    assert_eq!((errors, all), (8, 16), "{}", ran.out);
    let many = (0..30).map(map).collect::<Vec<_>>().join("---\n");
    files.write("r.yaml", many.as_bytes());
    let ran = files.run(&["apply", "p", "-r", "r.yaml", "--output-format", "github"]);
    let of = |start: &str| ran.out.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!(
        (of("::error"), of("::group::40 more violations"), of("error r.yaml:")),
        (10, 1, 20),
        "{}",
        ran.out
    );
}

#[test]
fn a_table_for_comments_says_what_does_not_fit() {
    let map = |n: usize| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a-map-with-a-long-name-{n}}}\n")
    };
    let objects = (0..2000).map(map).collect::<Vec<_>>().join("---\n");
    let files = Files::new(&[("p.yaml", POLICY), ("r.yaml", &objects)]);
    let table = files.run(&["apply", "p.yaml", "-r", "r.yaml", "--output-format", "markdown"]).out;
    assert!(table.chars().count() < 65_536, "{}", table.chars().count());
    let rows = table.lines().filter(|line| line.starts_with("| need-team")).count();
    assert!(table.contains(&format!("\n{} more are left out: ", 2000 - rows)), "{rows}");
}
