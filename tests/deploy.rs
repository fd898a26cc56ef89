//! The manifests of `deploy/` keep to the policies of `policies/`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;
use std::process::Command;

/// What `ephor apply` says of the manifests of the server under the policies of a folder.
fn applied(policies: &str) -> (Option<i32>, String) {
    applied_to("manifests/ephor.yaml", policies)
}

/// What it says of a file of `deploy/`.
fn applied_to(manifests: &str, policies: &str) -> (Option<i32>, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = Command::new(env!("CARGO_BIN_EXE_ephor"))
        .arg("apply")
        .arg(root.join("policies").join(policies))
        .arg("-r")
        .arg(root.join("deploy").join(manifests))
        .output()
        .unwrap();
    (out.status.code(), String::from_utf8_lossy(&out.stdout).into_owned())
}

fn counted(text: &str, what: &str) -> usize {
    let line = text.lines().rfind(|l| l.starts_with("pass: ")).unwrap();
    let part = line.split(", ").find_map(|p| p.trim().strip_prefix(&format!("{what}: "))).unwrap();
    part.trim().parse().unwrap()
}

#[test]
fn the_server_keeps_to_the_restricted_pod_security_standard() {
    for folder in ["pod-security-baseline", "pod-security-restricted"] {
        let (code, text) = applied(folder);
        assert_eq!(code, Some(0), "{text}");
        assert!(counted(&text, "pass") > 0, "{text}");
        assert_eq!((counted(&text, "fail"), counted(&text, "error")), (0, 0), "{text}");
    }
}

#[test]
fn the_server_has_probes_requests_replicas_and_a_tag() {
    for policy in [
        "disallow-latest-tag",
        "require-probes",
        "require-requests-limits",
        "require-replicas",
        "require-read-only-root-filesystem",
    ] {
        let (code, text) = applied(&format!("best-practices/{policy}/{policy}.yaml"));
        assert_eq!(code, Some(0), "{policy}: {text}");
        assert!(counted(&text, "pass") > 0, "{policy}: {text}");
    }
}

#[test]
fn the_scan_keeps_to_the_restricted_pod_security_standard_and_has_requests_and_a_tag() {
    for policies in [
        "pod-security-baseline",
        "pod-security-restricted",
        "best-practices/disallow-latest-tag/disallow-latest-tag.yaml",
        "best-practices/require-requests-limits/require-requests-limits.yaml",
        "best-practices/require-read-only-root-filesystem/require-read-only-root-filesystem.yaml",
    ] {
        let (code, text) = applied_to("scan/scan.yaml", policies);
        assert_eq!(code, Some(0), "{policies}: {text}");
        assert!(counted(&text, "pass") > 0, "{policies}: {text}");
    }
}

#[test]
fn the_policy_that_the_scan_begins_with_is_that_of_the_library() {
    let read =
        |path: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let library = "policies/best-practices/disallow-latest-tag/disallow-latest-tag.yaml";
    assert_eq!(read("deploy/scan/policies/disallow-latest-tag.yaml"), read(library));
}

/// Runs a script with a program folder in its path, some variables, and a policy and manifests in
/// its folder.
fn bash(script: &str, variables: &[(&str, &str)]) -> (Option<i32>, String, tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/sample/deployment.yaml");
    let policy = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("policies/best-practices/require-replicas/require-replicas.yaml");
    std::fs::copy(sample, dir.path().join("shop.yaml")).unwrap();
    std::fs::copy(policy, dir.path().join("policy.yaml")).unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_ephor")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let output = std::process::Command::new("bash")
        .args(["-c", script])
        .current_dir(dir.path())
        .env("PATH", path)
        .env("GITHUB_OUTPUT", dir.path().join("outputs"))
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8(output.stdout).unwrap(), dir)
}

/// The scalar at a path of a YAML document.
fn script(file: &str, document: usize, path: &[&str]) -> String {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let documents = ephor_document::parse_stream(file, &text, ephor_document::Duplicates::Error).unwrap();
    let value = documents.into_iter().nth(document).unwrap().unwrap().value;
    let found = path.iter().fold(&value, |value, key| match key.parse::<usize>() {
        Ok(at) => &value.as_list().unwrap()[at],
        Err(_) => value.get(key).unwrap(),
    });
    found.as_str().unwrap().to_owned()
}

#[test]
fn the_step_for_github_fails_on_a_violation_and_leaves_its_report() {
    let run = script("deploy/github/action.yml", 0, &["runs", "steps", "1", "run"]);
    let variables = |format| {
        [
            ("POLICIES", "policy.yaml"),
            ("RESOURCES", "shop.yaml"),
            ("FORMAT", format),
            ("REPORT", "r.out"),
            ("ARGUMENTS", ""),
        ]
    };
    let (code, annotations, _) = bash(&run, &variables("github"));
    assert_eq!(code, Some(1));
    assert!(annotations.contains("::warning file=shop.yaml,line=15,"), "{annotations}");
    let mut with_summary = variables("github").to_vec();
    with_summary.push(("GITHUB_STEP_SUMMARY", "summary.md"));
    let (_, _, dir) = bash(&run, &with_summary);
    let summary = std::fs::read_to_string(dir.path().join("summary.md")).unwrap();
    assert!(summary.starts_with("### ephor\n\n| Policy |") && summary.contains("fail: 1"), "{summary}");
    let (code, _, dir) = bash(&run, &variables("sarif"));
    assert_eq!(code, Some(1));
    assert_eq!(std::fs::read_to_string(dir.path().join("outputs")).unwrap(), "report=r.out\n");
    let report = std::fs::read_to_string(dir.path().join("r.out")).unwrap();
    assert!(report.contains("require-replicas"), "{report}");
}

#[test]
fn the_job_for_gitlab_fails_on_a_violation_and_leaves_its_report() {
    let run = script("deploy/gitlab/ephor.yml", 1, &["policies", "script", "0"]);
    let variables = [("POLICIES", "policy.yaml"), ("RESOURCES", "shop.yaml"), ("ARGUMENTS", "")];
    let (code, _, dir) = bash(&run, &variables);
    assert_eq!(code, Some(1));
    let report = std::fs::read_to_string(dir.path().join("policies.xml")).unwrap();
    assert!(report.contains("<testsuite") && report.contains("require-replicas"), "{report}");
}

#[test]
fn files_for_package_managers_have_the_checksums_of_a_release_or_are_not_written() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = tempfile::tempdir().unwrap();
    let (checksums, out) = (dir.path().join("SHA256SUMS"), dir.path().join("out"));
    let targets = [
        "x86_64-unknown-linux-musl",
        "aarch64-unknown-linux-musl",
        "x86_64-apple-darwin",
        "aarch64-apple-darwin",
        "x86_64-pc-windows-msvc",
    ];
    let line =
        |(i, target): (usize, &&str)| format!("{}  ephor-1.2.3-{target}.tar.gz\n", format!("{i}").repeat(64));
    let render = |count: usize| {
        std::fs::write(&checksums, targets.iter().take(count).enumerate().map(line).collect::<String>())
            .unwrap();
        let url = "https://example.test/ephor/releases/download/v1.2.3";
        let mut command = std::process::Command::new("bash");
        command.arg(root.join("deploy/packages/render.sh")).args(["1.2.3", url]).arg(&checksums).arg(&out);
        command.output().unwrap().status.success()
    };
    assert!(!render(4) && !out.join("ephor.yaml").exists() && !out.join("ephor.rb").exists());
    assert!(render(5));
    let plugin = std::fs::read_to_string(out.join("ephor.yaml")).unwrap();
    let plugin = ephor_document::yaml_value(&plugin).unwrap();
    let platforms = plugin.at(&["spec", "platforms"]).and_then(ephor_value::Value::as_list).unwrap();
    assert_eq!(platforms.len(), targets.len());
    for platform in platforms {
        let at = targets.iter().position(|target| platform.text_at(&["uri"]).contains(target)).unwrap();
        assert_eq!(platform.text_at(&["sha256"]), format!("{at}").repeat(64));
    }
    let formula = std::fs::read_to_string(out.join("ephor.rb")).unwrap();
    assert_eq!(formula.matches("sha256 \"").count(), 4);
}

#[test]
fn actions_of_workflows_are_pinned_to_a_commit_and_checkouts_leave_no_credentials() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![root.join("deploy/github/action.yml"), root.join("docs/guides/ci.md")];
    files.extend(
        std::fs::read_dir(root.join(".github/workflows")).unwrap().map(|entry| entry.unwrap().path()),
    );
    let uses = regex::Regex::new(r"^( *)(?:- )?uses: +(\S+)(.*)$").unwrap();
    let pinned = regex::Regex::new(r"^[\w.-]+/[\w./-]+@[0-9a-f]{40}$").unwrap();
    let mut seen = 0;
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (at, found) in lines.iter().enumerate().filter_map(|(at, line)| Some((at, uses.captures(line)?)))
        {
            let (action, comment) = (&found[2], &found[3]);
            assert!(pinned.is_match(action), "{}: {action} is not pinned", file.display());
            assert!(comment.trim().starts_with("# v"), "{}: which version is {action}?", file.display());
            if action.starts_with("actions/checkout@") {
                let next: Vec<&str> = lines.iter().skip(at + 1).take(2).map(|line| line.trim()).collect();
                assert_eq!(next, ["with:", "persist-credentials: false"], "{}", file.display());
            }
            seen += 1;
        }
    }
    assert!(seen > 12, "{seen}");
}

/// The files under version control that are text, but for recordings and what others have named.
fn texts() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = std::process::Command::new("git").arg("ls-files").current_dir(root).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let names = listed.lines().filter(|name| !name.starts_with("conformance/") && *name != "tests/deploy.rs");
    names.filter_map(|name| Some((name.into(), std::fs::read_to_string(root.join(name)).ok()?))).collect()
}

#[test]
fn no_file_names_a_place_of_ours_but_the_parameters_of_releases() {
    let place = regex::Regex::new(
        r"(?:ghcr\.io|quay\.io|docker\.io|github\.com|gitlab\.com|crates\.io/crates|npmjs\.com/package|pypi\.org/project)/(?:[\w-]+/)?ephor\b",
    )
    .unwrap();
    let found: Vec<String> = texts()
        .iter()
        .flat_map(|(name, text)| {
            place.find_iter(text).map(move |found| format!("{name}: {}", found.as_str()))
        })
        .collect();
    assert_eq!(found, Vec::<String>::new());
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let parameters = std::fs::read_to_string(root.join("deploy/release/parameters.env")).unwrap();
    for name in ["OWNER", "REGISTRY"] {
        assert!(parameters.lines().any(|line| line.starts_with(&format!("{name}="))), "{name}");
    }
}

#[test]
fn files_for_package_managers_name_the_targets_that_a_dry_run_has() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let dir = tempfile::tempdir().unwrap();
    let (checksums, out) = (dir.path().join("SHA256SUMS"), dir.path().join("out"));
    let target = "x86_64-unknown-linux-musl";
    std::fs::write(&checksums, format!("{}  ephor-1.2.3-{target}.tar.gz\n", "7".repeat(64))).unwrap();
    let mut command = std::process::Command::new("bash");
    command
        .arg(root.join("deploy/packages/render.sh"))
        .args(["1.2.3", "https://forge.invalid/o/ephor/releases/download/v1.2.3"]);
    let output = command.arg(&checksums).arg(&out).env("TARGETS", target).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let plugin = std::fs::read_to_string(out.join("ephor.yaml")).unwrap();
    assert_eq!(plugin.matches("uri: ").count(), 1, "{plugin}");
    let formula = std::fs::read_to_string(out.join("ephor.rb")).unwrap();
    assert!(!formula.contains("on_macos") && formula.matches("sha256 \"").count() == 1, "{formula}");
}

#[test]
fn every_alert_has_a_runbook_and_every_runbook_an_alert() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let rules = std::fs::read_to_string(root.join("deploy/helm/ephor/templates/monitoring.yaml")).unwrap();
    let page = std::fs::read_to_string(root.join("docs/guides/runbooks.md")).unwrap();
    let alerts: Vec<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    let mut sections: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(sections, alerts);
    for alert in &alerts {
        assert!(rules.contains(&format!("#{}\n", alert.to_lowercase())), "{alert} names no runbook");
    }
    sections.dedup();
    assert!(sections.len() == alerts.len() && alerts.len() > 10, "{alerts:?}");
}

/// What the converter of Kyverno's values prints; `None` without Python.
fn converted(arguments: &[&str], values: &str) -> Option<(String, bool)> {
    use std::io::Write;

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/helm/from-kyverno.py");
    let mut command = std::process::Command::new("python3");
    command.arg(script).args(arguments);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    command.stderr(std::process::Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        eprintln!("SKIPPED: python3 is not there, so values of Kyverno's chart are not converted");
        return None;
    };
    child.stdin.take().unwrap().write_all(values.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Some((String::from_utf8(output.stdout).unwrap(), output.status.success()))
}

#[test]
fn values_of_kyvernos_chart_become_values_of_ours_or_are_named() {
    let values = r#"{"config": {"resourceFilters": ["[Event,*,*]", "[ClusterRole,*,{{ template \"x\" }}]"],
        "excludeGroups": ["system:nodes", "team"], "webhooks": {"namespaceSelector": {}}},
        "admissionController": {"replicas": 3, "container": {"image": {"tag": "v1"}}},
        "features": {"logging": {"verbosity": 6}}, "unheard": {"of": 1}}"#;
    let Some((text, is_good)) = converted(&[], values) else { return };
    assert!(is_good, "{text}");
    let ours = ephor_document::yaml_value(&text).unwrap();
    let filters = ours.get("resourceFilters").and_then(ephor_value::Value::as_list).unwrap();
    assert_eq!(filters.iter().filter_map(|f| f.as_str()).collect::<Vec<_>>(), ["[Event,*,*]"]);
    assert_eq!(ours.text_at(&["settings", "excludeGroups"]), "system:nodes, team");
    assert_eq!(ours.text_at(&["settings", "webhooks"]), r#"{"namespaceSelector": {}}"#);
    assert_eq!(ours.get("replicas").and_then(ephor_value::Value::as_int), Some(3));
    assert_eq!(ours.text_at(&["log", "level"]), "debug");
    for named in ["admissionController.container.image.tag: another image", "unheard.of: unknown"] {
        assert!(text.contains(&format!("#   {named}")), "{text}");
    }
    let Some((_, is_good)) = converted(&[], "a: b") else { return };
    assert!(!is_good, "YAML is no JSON");
}

#[test]
fn the_page_about_kyvernos_values_has_the_table_of_the_converter_and_values_that_the_chart_has() {
    let Some((table, _)) = converted(&["--table"], "") else { return };
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join("docs/guides/kyverno-values.md")).unwrap();
    let (_, rest) = page.split_once("<!-- rows -->\n").unwrap();
    let (written, _) = rest.split_once("<!-- end of rows -->").unwrap();
    assert_eq!(written, table, "deploy/helm/from-kyverno.py --table prints it");
    let readme = std::fs::read_to_string(root.join("deploy/helm/ephor/README.md")).unwrap();
    for row in table.lines().skip(2).filter(|row| !row.contains("| none: ")) {
        let ours = row.split('`').nth(3).unwrap();
        let first = ours.split('.').next().unwrap();
        let is_known = readme.contains(&format!("| `{ours}` |"))
            || ["settings", "metricsSettings"].contains(&first) && readme.contains(&format!("| `{first}` |"));
        assert!(is_known, "the chart has no value {ours}");
    }
}
