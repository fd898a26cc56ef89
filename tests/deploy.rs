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
    assert!(seen > 15, "{seen}");
}
