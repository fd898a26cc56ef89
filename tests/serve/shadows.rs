//! Policies in audit mode next to those that they may replace.

use crate::server::{Server, get, post, review, start, until};

const OLD: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: no-latest}
spec:
  rules:
  - name: tag
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      failureAction: Enforce
      message: no latest
      pattern: {spec: {containers: [{image: '!*:latest'}]}}
";

/// A shadow that reads the images of containers with this expression.
fn shadow(expression: &str) -> String {
    format!(
        "---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {{name: no-latest, annotations: {{ephor.dev/shadow-of: no-latest}}}}
spec:
  validationActions: [Audit]
  matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}}]}}
  validations:
  - expression: object.spec.containers.all(c, {expression})
"
    )
}

fn serving(text: &str) -> (tempfile::TempDir, Server) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.yaml"), text).unwrap();
    let server = start(dir.path(), &[]);
    (dir, server)
}

fn counted(server: &Server, result: &str, number: usize) {
    let line = format!("ephor_shadow_decisions_total{{policy=\"no-latest\",result=\"{result}\"}} {number}");
    until(&line, || get(server, "/metrics").body, |body| body.contains(&line));
}

fn lines(server: &Server) -> Vec<String> {
    let log = server.log.lock().unwrap();
    log.iter().filter(|line| line.contains("a shadow decides differently")).cloned().collect()
}

#[test]
fn a_shadow_that_means_the_same_is_counted_and_not_logged() {
    let (_dir, server) = serving(&format!("{OLD}{}", shadow("!c.image.endsWith(':latest')")));
    assert_eq!(post(&server, "/validate", &review("u", "nginx:latest"))["allowed"], false);
    assert_eq!(post(&server, "/validate", &review("v", "nginx:1"))["allowed"], true);
    counted(&server, "same", 2);
    assert!(lines(&server).is_empty());
}

#[test]
fn a_shadow_that_decides_differently_is_counted_and_logged_whatever_the_answer() {
    let (_dir, server) = serving(&format!("{OLD}{}", shadow("c.image == 'a:latest'")));
    // The API server sends requests of ClusterPolicies and of ValidatingPolicies to paths of their
    // own.
    assert_eq!(post(&server, "/validate/fail", &review("u", "nginx:latest"))["allowed"], false);
    assert_eq!(post(&server, "/vpol/no-latest", &review("u", "nginx:latest"))["allowed"], true);
    assert_eq!(post(&server, "/validate/fail", &review("v", "a:latest"))["allowed"], false);
    assert_eq!(post(&server, "/validate/fail", &review("w", "nginx:1"))["allowed"], true);
    counted(&server, "weaker", 1);
    counted(&server, "stricter", 1);
    until("both lines", || lines(&server), |lines| lines.len() == 2);
    let lines = lines(&server);
    for (uid, result, violated) in [("v", "weaker", "no-latest/tag"), ("w", "stricter", "no-latest")] {
        let line = lines.iter().find(|line| line.contains(&format!("\"uid\":\"{uid}\""))).unwrap();
        assert!(line.contains(&format!("\"result\":\"{result}\"")), "{line}");
        assert!(line.contains(&format!("\"violated\":\"{violated}\"")), "{line}");
        assert!(
            line.contains("\"object\":\"Pod shop/cart\"") && line.contains("\"user\":\"anna\""),
            "{line}"
        );
    }
}
