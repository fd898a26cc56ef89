//! Commands that users copy into build servers: a path that is misspelt fails them, and what is
//! wrong has a file and a line.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::Command;

use regex::Regex;

use crate::common::{Files, POLICY, RESOURCES, Ran};

const TEST: &str = "apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {name: team}
policies: [../team.yaml]
resources: [../../manifests/good.yaml]
results:
- {policy: need-team, rule: team, resources: [web/good], kind: ConfigMap, result: pass}
";

fn text(file: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

/// A repository with policies, their test, and manifests that keep to them.
fn repository() -> Files {
    let good = RESOURCES.split_once("---\n").unwrap().1;
    let files = Files::new(&[
        ("policies/team.yaml", POLICY),
        ("policies/.kyverno-test/kyverno-test.yaml", TEST),
        ("manifests/good.yaml", good),
    ]);
    std::fs::create_dir(files.path(".git")).unwrap();
    files
}

/// A script with the program in the path, as a build server runs it.
fn bash(files: &Files, script: &str, variables: &[(&str, &str)]) -> Ran {
    let program = Path::new(env!("CARGO_BIN_EXE_ephor")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut command = Command::new("bash");
    command.args(["-e", "-o", "pipefail", "-c", script]).current_dir(files.dir.path());
    command.env("PATH", path).env("HOME", files.dir.path()).env("GITHUB_OUTPUT", files.path("output"));
    command.envs(variables.iter().copied());
    Ran::new(command.output().unwrap())
}

/// Commands of pages that name the folder `policies/`, from the name of the program on; what comes
/// before is their input.
fn commands_of_pages() -> Vec<(String, String)> {
    let blocks = Regex::new(r"(?ms)^```(?:sh|yaml)[^\n]*\n(.*?)^```$").unwrap();
    let command = Regex::new(r"(.*)\b(ephor (?:apply|lint|test) .*policies/.*)").unwrap();
    let mut all = Vec::new();
    for page in [
        "README.md",
        "docs/guides/ci.md",
        "docs/start/install.md",
        "docs/reference/formats.md",
        "deploy/README.md",
    ] {
        let text = text(page);
        let lines = blocks
            .captures_iter(&text)
            .flat_map(|block| block[1].lines().map(String::from).collect::<Vec<_>>());
        for found in
            lines.filter_map(|line| command.captures(&line).map(|c| [c[1].to_string(), c[2].to_string()]))
        {
            let [before, command] = found;
            let input = if before.trim_end().ends_with('|') { "cat manifests/*.yaml | " } else { "" };
            all.push((page.to_string(), format!("{input}{command}")));
        }
    }
    all
}

/// The block of a YAML file behind the first `KEY: |` or `- |` that follows `after`, without its
/// indentation.
fn block(file: &str, after: &str) -> String {
    let text = text(file);
    let rest = &text[text.find(after).unwrap()..];
    let mut lines = rest.lines().skip_while(|line| !line.ends_with('|')).skip(1).peekable();
    let indent = lines.peek().map(|line| line.len() - line.trim_start().len()).unwrap();
    let own = lines.take_while(|line| line.trim().is_empty() || line.starts_with(&" ".repeat(indent)));
    own.map(|line| format!("{}\n", line.get(indent..).unwrap_or_default())).collect()
}

#[test]
fn commands_of_the_pages_pass_on_good_manifests_and_fail_on_a_misspelt_path() {
    let all = commands_of_pages();
    assert!(all.len() >= 8, "{all:?}");
    for (page, command) in &all {
        let files = repository();
        // The report of a good run is no reason to fail.
        let ran = bash(&files, command, &[]);
        assert_eq!(ran.code, Some(0), "{page}: {command}: {}{}", ran.out, ran.err);
        let misspelt = command.replace("policies/", "polices/");
        let ran = bash(&files, &misspelt, &[]);
        // The report is what is written, it is no check.
        assert!(ran.code != Some(0) || command.contains(" -p "), "{page}: {misspelt} passes: {}", ran.err);
        assert!(format!("{}{}", ran.out, ran.err).contains("polices"), "{page}: {misspelt}: {}", ran.err);
    }
}

#[test]
fn the_action_and_the_component_pass_on_good_manifests_and_fail_on_misspelt_paths() {
    let action = block("deploy/github/action.yml", "id: apply");
    let component = block("deploy/gitlab/ephor.yml", "script:");
    let good = ("policies/", "manifests/");
    for (script, formats) in [(&action, &["github", "sarif", "junit"][..]), (&component, &["junit"])] {
        for format in formats.iter().copied() {
            let code = |(policies, resources)| {
                let variables = [
                    ("POLICIES", policies),
                    ("RESOURCES", resources),
                    ("FORMAT", format),
                    ("REPORT", "report"),
                    ("ARGUMENTS", ""),
                    ("EPHOR", ""),
                ];
                let ran = bash(&repository(), script, &variables);
                assert!(!ran.err.contains("unbound variable"), "{}", ran.err);
                ran.code
            };
            assert_eq!(code(good), Some(0), "{format}: {script}");
            for bad in [
                ("polices/", good.1),
                (good.0, "manifest/"),
                ("policies/ more/", good.1),
                ("manifests/", good.1),
            ] {
                assert_eq!(code(bad), Some(2), "{format}: {bad:?}: {script}");
            }
        }
    }
}

/// The command of a hook with its own arguments.
fn hook(id: &str) -> (String, String) {
    let text = text(".pre-commit-hooks.yaml");
    let rest = &text[text.find(&format!("- id: {id}\n")).unwrap()..];
    let rest = rest.split("\n- id: ").next().unwrap();
    let field = |key: &str| rest.lines().find_map(|line| line.trim().strip_prefix(key).map(str::trim));
    let arguments = field("args:").unwrap_or("[]").trim_matches(['[', ']']).replace(',', " ");
    (field("entry:").unwrap().to_string(), arguments)
}

#[test]
fn hooks_check_what_is_there_without_arguments() {
    let files = repository();
    for id in ["ephor-test", "ephor-lint"] {
        let (entry, arguments) = hook(id);
        let ran = bash(&files, &format!("{entry} {arguments}"), &[]);
        assert_eq!(ran.code, Some(0), "{id}: {}{}", ran.out, ran.err);
    }
    files.write(
        "policies/.kyverno-test/kyverno-test.yaml",
        TEST.replace("result: pass", "result: fail").as_bytes(),
    );
    files.write("more/bad.yaml", POLICY.replace("pattern:", "patern:").as_bytes());
    for (id, place) in [("ephor-test", "Fail"), ("ephor-lint", "more/bad.yaml:11:7: error")] {
        let (entry, arguments) = hook(id);
        let ran = bash(&files, &format!("{entry} {arguments}"), &[]);
        assert_eq!(ran.code, Some(1), "{id}: {}{}", ran.out, ran.err);
        assert!(ran.out.contains(place), "{id}: {}", ran.out);
    }
}

#[test]
fn the_hook_of_manifests_shows_file_and_line_and_fails_on_a_misspelt_path() {
    let (entry, _) = hook("ephor-apply");
    let files = repository();
    let run = |arguments: &str| bash(&files, &format!("{entry} {arguments}"), &[]);
    assert_eq!(run("policies/ -r manifests/").code, Some(0));
    assert_eq!(run("polices/ -r manifests/").code, Some(2));
    files.write("manifests/bad.yaml", RESOURCES.as_bytes());
    let ran = run("policies/ -r manifests/");
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.out.contains("manifests/bad.yaml:3:"), "{}", ran.out);
}
