//! The manifests of `deploy/` keep to the policies of `policies/`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;
use std::process::Command;

/// What `ephor apply` says of the manifests under the policies of a folder.
fn applied(policies: &str) -> (Option<i32>, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = Command::new(env!("CARGO_BIN_EXE_ephor"))
        .arg("apply")
        .arg(root.join("policies").join(policies))
        .arg("-r")
        .arg(root.join("deploy/manifests/ephor.yaml"))
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
