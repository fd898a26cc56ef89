//! Repositories as they are: what of them is evaluated, and what is skipped, each named once.

use std::fmt::Write;

use crate::common::{Files, POLICY, Ran};

/// A ConfigMap that violates the policy, at line 3.
const BAD: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bad}\n";

/// A run on all of a repository.
struct Checked {
    code: Option<i32>,
    /// `FILE:LINE` of each violation.
    violations: Vec<String>,
    /// The lines of standard error, deprecations aside.
    lines: Vec<String>,
}

fn repository(files: &[(&str, &str)]) -> Files {
    let all = Files::new(files);
    all.write("policies/team.yaml", POLICY.as_bytes());
    all.write(".git/HEAD", b"ref: refs/heads/main\n");
    all
}

fn checked(files: &Files, more: &[&str]) -> Checked {
    let arguments =
        [&["apply", "policies", "-R", "-r", "."][..], &["--output-format", "json"], more].concat();
    results_of(&files.run(&arguments))
}

fn results_of(ran: &Ran) -> Checked {
    let report: serde_json::Value = serde_json::from_str(&ran.out).unwrap_or_default();
    let of = |place: &serde_json::Value| {
        format!("{}:{}", place["file"].as_str().unwrap_or_default(), place["line"])
    };
    let results = report["results"].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_deprecation = |line: &&str| line.contains("deprecated kind");
    Checked {
        code: ran.code,
        violations: results.iter().filter(|r| r["result"] != "pass").map(|r| of(&r["place"])).collect(),
        lines: ran.err.lines().filter(|line| !is_deprecation(line)).map(String::from).collect(),
    }
}

#[test]
fn a_chart_is_named_with_the_command_that_renders_it_and_its_files_are_skipped() {
    let files = repository(&[
        ("charts/shop/Chart.yaml", "apiVersion: v2\nname: shop\n"),
        ("charts/shop/values.yaml", "team: a\n"),
        (
            "charts/shop/templates/map.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Values.team }}}\n",
        ),
        ("deploy/map.yaml", BAD),
    ]);
    let run = checked(&files, &[]);
    assert_eq!((run.code, run.violations), (Some(1), vec!["./deploy/map.yaml:3".into()]));
    assert_eq!(
        run.lines,
        [
            "warning: ./charts/shop: a Helm chart; `helm template ./charts/shop | ephor apply … -r -` applies the policies to its objects"
        ]
    );
}

#[test]
fn a_kustomization_and_its_patches_are_skipped() {
    let files = repository(&[
        ("base/kustomization.yaml", "resources: [map.yaml]\n"),
        ("base/map.yaml", BAD),
        ("prod/kustomization.yaml", "resources: [../base]\npatches: [{path: patch.yaml}]\n"),
        ("prod/patch.yaml", BAD),
    ]);
    let run = checked(&files, &[]);
    assert_eq!((run.code, run.violations), (Some(1), vec!["./base/map.yaml:3".into()]));
    assert_eq!(run.lines.len(), 2, "{:?}", run.lines);
    assert!(run.lines.iter().all(|line| line.contains("a kustomization; `kubectl kustomize ./")));
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_does_not_end_the_run_whatever_is_quiet() {
    for (name, text, says) in [
        ("a/broken.yaml", "a: [1\nb: 2\n", "error: ./a/broken.yaml:"),
        ("a/map.yaml", "metadata: {name: {{ .Values.name }}}\n", "a template, which `helm template`"),
        ("a/tabs.yaml", "a:\n\tb: 1\n", "error: ./a/tabs.yaml:2:"),
        ("a/latin.yaml", "", "error: ./a/latin.yaml:1: invalid UTF-8"),
    ] {
        let files = repository(&[(name, text), ("z/map.yaml", BAD)]);
        if text.is_empty() {
            files.write(name, b"a: \xe9\n");
        }
        let is_error = says.starts_with("error: ");
        let quiet = if is_error { &["--quiet"][..] } else { &["-v", "1"] };
        for more in [&[], quiet] {
            let run = checked(&files, more);
            assert_eq!(
                (run.code, &*run.violations),
                (Some(1), &["./z/map.yaml:3".to_string()][..]),
                "{name}"
            );
            assert_eq!(
                run.lines.iter().filter(|line| line.contains(says)).count(),
                1,
                "{name}: {:?}",
                run.lines
            );
        }
        // What was not read is not known to pass; a template is no object.
        std::fs::remove_file(files.path("z/map.yaml")).unwrap();
        files.write("z/map.yaml", BAD.replace("bad}", "good, labels: {team: a}}").as_bytes());
        let codes = [&[][..], &["--strict"]].map(|more| checked(&files, more).code);
        assert_eq!(codes, if is_error { [Some(1), Some(2)] } else { [Some(0), Some(0)] }, "{name}");
    }
}

#[test]
fn documents_around_a_broken_one_are_evaluated() {
    let files =
        repository(&[("all.yaml", &format!("{BAD}---\na: [1\n---\n{}", BAD.replace("bad", "other")))]);
    let run = checked(&files, &[]);
    assert_eq!(run.violations, ["./all.yaml:3", "./all.yaml:9"]);
    assert!(run.lines.iter().any(|line| line.starts_with("error: ./all.yaml:5")), "{:?}", run.lines);
}

#[test]
fn files_of_other_programs_are_no_objects_of_a_cluster() {
    let files = repository(&[
        (
            "e2e/chainsaw-test.yaml",
            "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\nspec: {steps: []}\n",
        ),
        ("tests/kyverno-test.yaml", "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\n"),
        ("values.yaml", "replicas: 2\n"),
        ("README.md", "# Read me\n"),
        ("logo.png", "\u{89}PNG"),
        ("map.yaml", BAD),
    ]);
    let run = checked(&files, &["-v", "1"]);
    assert_eq!(run.violations, ["./map.yaml:3"]);
    for named in [
        "e2e/chainsaw-test.yaml:1: a file of Chainsaw",
        "tests/kyverno-test.yaml:1: a file of tests",
        "values.yaml:1: no Kubernetes object",
        "README.md: ignored",
        "logo.png: ignored",
    ] {
        assert_eq!(
            run.lines.iter().filter(|line| line.contains(named)).count(),
            1,
            "{named}: {:?}",
            run.lines
        );
    }
    let summed = checked(&files, &[]);
    assert_eq!(
        summed.lines,
        ["warning: 5 files or documents without resources are left out (-v 1 lists them)"]
    );
}

#[test]
fn what_ignore_files_and_patterns_name_is_left_out_without_a_word() {
    let files = repository(&[
        (".gitignore", "build/\n"),
        (".ephorignore", "drafts/\n"),
        ("build/map.yaml", BAD),
        ("drafts/map.yaml", BAD),
        ("old/map.yaml", BAD),
        ("map.yaml", BAD),
    ]);
    let run = checked(&files, &["--exclude", "old", "--exclude", "*.md"]);
    assert_eq!((run.violations, run.lines), (vec!["./map.yaml:3".to_string()], vec![]));
    let refused = files.run(&["apply", "policies", "-r", ".", "--exclude", "["]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("`[` is no pattern") && refused.err.contains("help: "), "{}", refused.err);
}

#[cfg(unix)]
#[test]
fn links_to_folders_are_not_followed_and_links_to_files_are_read() {
    let files = repository(&[("real/map.yaml", BAD)]);
    std::os::unix::fs::symlink(files.path("real"), files.path("linked")).unwrap();
    std::os::unix::fs::symlink(files.path("."), files.path("real/loop")).unwrap();
    std::os::unix::fs::symlink(files.path("real/map.yaml"), files.path("again.yaml")).unwrap();
    let run = checked(&files, &[]);
    // The second one is the same object.
    assert_eq!(run.violations, ["./again.yaml:3"]);
    assert!(run.lines.iter().any(|line| line.contains("duplicate of")), "{:?}", run.lines);
}

#[test]
fn a_repository_within_another_has_ignore_files_of_its_own() {
    let files = repository(&[
        ("vendor/lib/.git", "gitdir: ../../.git/modules/lib\n"),
        ("vendor/lib/.gitignore", "out.yaml\n"),
        ("vendor/lib/out.yaml", BAD),
        ("vendor/lib/map.yaml", BAD),
        (".gitignore", "*.tmp.yaml\n"),
        ("x.tmp.yaml", BAD),
    ]);
    assert_eq!(checked(&files, &[]).violations, ["./vendor/lib/map.yaml:3"]);
}

#[test]
fn ten_thousand_files_have_their_violations_in_order() {
    let files = repository(&[]);
    for i in 0..10_000 {
        let mut text = String::new();
        let team = if i % 100 == 0 { "" } else { ", labels: {team: a}" };
        write!(text, "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{i}{team}}}\n").unwrap();
        files.write(&format!("apps/{:02}/{i:05}.yaml", i % 50), text.as_bytes());
    }
    let run = checked(&files, &[]);
    assert_eq!((run.code, run.violations.len()), (Some(1), 100));
    assert!(run.violations.is_sorted() && run.lines.is_empty(), "{:?}", run.lines);
}

#[test]
fn kyvernos_own_outputs_still_end_at_a_file_that_cannot_be_read() {
    let files = repository(&[("a/broken.yaml", "a: [1\nb: 2\n")]);
    let ran = files.run(&["apply", "policies", "-r", "a/broken.yaml", "--quiet"]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.contains("a/broken.yaml") && ran.err.contains("Error: failed to load resources"),
        "{}",
        ran.err
    );
}

/// A program on the `PATH` of the runs of a repository.
fn program(files: &Files, name: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    files.write(&format!("bin/{name}"), format!("#!/bin/sh\n{script}\n").as_bytes());
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(files.path(&format!("bin/{name}")), executable).unwrap();
}

/// A run with the programs of the repository alone, next to those of the system.
fn checked_with_programs(files: &Files, more: &[&str]) -> Checked {
    let arguments =
        [&["apply", "policies", "-R", "-r", ".", "--exclude", "bin", "--output-format", "json"][..], more]
            .concat();
    let path = format!("{}:/nowhere", files.path("bin").display());
    let ran = files.program(&arguments).env("PATH", path).output().unwrap();
    results_of(&Ran::new(ran))
}

/// A program that prints a file.
fn prints(file: &str) -> String {
    format!("while IFS= read -r line; do printf '%s\\n' \"$line\"; done < {file}")
}

#[test]
fn charts_and_kustomizations_are_rendered_where_the_flag_says_so() {
    let files = repository(&[
        ("charts/shop/Chart.yaml", "apiVersion: v2\nname: shop\n"),
        ("charts/shop/templates/map.yaml", "metadata: {name: {{ .Values.team }}}\n"),
        ("base/kustomization.yaml", "resources: [map.yaml]\n"),
        ("base/map.yaml", BAD),
        ("prod/kustomization.yaml", "resources: [../base]\n"),
        ("out/helm", &format!("---\n# Source: shop/templates/map.yaml\n{BAD}")),
        ("out/kustomize", &format!("{}\n", BAD.replace("bad", "prod-bad"))),
    ]);
    program(
        &files,
        "helm",
        &format!("[ \"$1 $2\" = 'template ./charts/shop' ] || exit 3\n{}", prints("out/helm")),
    );
    program(
        &files,
        "kubectl",
        &format!("[ \"$1 $2\" = 'kustomize ./prod' ] || exit 3\n{}", prints("out/kustomize")),
    );
    let run = checked_with_programs(&files, &["--render", "--exclude", "out"]);
    assert_eq!(run.lines, [""; 0]);
    assert_eq!((run.code, run.violations), (Some(1), vec!["./charts/shop:5".into(), "./prod:3".into()]));
}

#[test]
fn what_cannot_be_rendered_is_an_error_that_names_it_and_does_not_end_the_run() {
    let files = repository(&[
        ("charts/shop/Chart.yaml", "apiVersion: v2\nname: shop\n"),
        ("prod/kustomization.yaml", "resources: [../base]\n"),
        ("map.yaml", BAD),
    ]);
    program(&files, "helm", "echo 'Error: missing dependencies' >&2\nexit 1");
    let run = checked_with_programs(&files, &["--render"]);
    assert_eq!((run.code, run.violations), (Some(1), vec!["./map.yaml:3".into()]));
    assert_eq!(
        run.lines,
        [
            "error: ./charts/shop: not rendered: helm template ./charts/shop: missing dependencies",
            "error: ./prod: not rendered: neither kustomize nor kubectl is on the PATH",
        ]
    );
}

/// `git` in a repository, without the configuration of who runs the tests.
fn git(files: &Files, arguments: &[&str]) {
    let ran = std::process::Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(files.path(""))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn only_resources_of_changed_files_are_evaluated() {
    let files = Files::new(&[
        ("policies/team.yaml", POLICY),
        ("same.yaml", BAD),
        ("changed.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, labels: {team: a}}\n"),
        ("gone.yaml", BAD),
        ("charts/shop/Chart.yaml", "apiVersion: v2\nname: shop\n"),
        ("charts/shop/templates/map.yaml", "a: {{ b }}\n"),
        ("charts/other/Chart.yaml", "apiVersion: v2\nname: other\n"),
        ("prod/kustomization.yaml", "resources: [../base]\n"),
        ("base/kustomization.yaml", "resources: [map.yaml]\n"),
        ("base/map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y, labels: {team: a}}\n"),
    ]);
    git(&files, &["init", "-q"]);
    git(&files, &["add", "."]);
    git(&files, &["commit", "-qm", "first"]);
    git(&files, &["checkout", "-qb", "work"]);
    files.write("changed.yaml", BAD.replace("bad", "changed").as_bytes());
    git(&files, &["commit", "-qam", "second"]);
    files.write("new folder/new.yaml", BAD.replace("bad", "new").as_bytes());
    files.write("charts/shop/templates/map.yaml", b"a: {{ c }}\n");
    files.write("base/map.yaml", BAD.as_bytes());
    std::fs::remove_file(files.path("gone.yaml")).unwrap();
    let run = checked(&files, &["--changed-since", "main"]);
    assert_eq!(run.violations, ["./base/map.yaml:3", "./changed.yaml:3", "./new folder/new.yaml:3"]);
    let named: Vec<&str> = run.lines.iter().filter_map(|line| line.split(": ").nth(1)).collect();
    assert_eq!(named, ["./base/kustomization.yaml", "./charts/shop", "./prod/kustomization.yaml"]);
    // Files that are named count the same way, and below another folder of the repository.
    let named = files.run(&[
        "apply",
        "policies",
        "-r",
        "same.yaml,changed.yaml",
        "--changed-since",
        "main",
        "--output-format",
        "text",
    ]);
    assert!(named.out.contains("1 resource") && named.code == Some(1), "{}{}", named.out, named.err);
}

#[test]
fn where_nothing_changed_a_run_is_good_and_says_so() {
    let files = Files::new(&[("policies/team.yaml", POLICY), ("same.yaml", BAD)]);
    git(&files, &["init", "-q"]);
    git(&files, &["add", "."]);
    git(&files, &["commit", "-qm", "first"]);
    let run = checked(&files, &["--changed-since", "HEAD"]);
    assert_eq!((run.code, run.lines), (Some(0), vec!["warning: no resource changed since HEAD".into()]));
    files.write("policies/team.yaml", POLICY.replace("team is", "TEAM is").as_bytes());
    let run = checked(&files, &["--changed-since", "HEAD"]);
    assert_eq!(
        run.lines.first().map(String::as_str),
        Some("warning: policies changed since HEAD, too: resources of other files are not evaluated")
    );
    let unknown = files.run(&["apply", "policies", "-r", ".", "--changed-since", "no-such"]);
    assert!(unknown.err.contains("--changed-since no-such: Needed a single revision"), "{}", unknown.err);
    assert_ne!(unknown.code, Some(0));
    let flag = files.run(&["apply", "policies", "-r", ".", "--changed-since=--upload-pack=x"]);
    assert!(flag.err.contains("a commit, a branch or a tag is wanted"), "{}", flag.err);
}

#[test]
fn of_two_teams_in_one_repository_each_has_its_own_configuration() {
    let files = Files::new(&[
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".gitignore", "rendered/\n"),
        ("ephor.yaml", "policies: [policies]\nresources: [apps]\nrecursive: true\nexclude: [drafts]\n"),
        ("policies/team.yaml", POLICY),
        ("apps/a/map.yaml", BAD),
        ("apps/a/drafts/map.yaml", BAD),
        ("apps/a/rendered/map.yaml", BAD),
        ("apps/b/ephor.yaml", "policies: [../../policies]\nresources: [.]\nrecursive: true\n"),
        ("apps/b/deep/er/map.yaml", &BAD.replace("bad", "other")),
    ]);
    let root = results_of(&files.run(&["apply", "--output-format", "json"]));
    assert_eq!(
        (root.code, root.violations),
        (Some(1), vec!["apps/a/map.yaml:3".into(), "apps/b/deep/er/map.yaml:3".into()])
    );
    let ran = files
        .program(&["apply", "--output-format", "json"])
        .current_dir(files.path("apps/b"))
        .output()
        .unwrap();
    let team = results_of(&Ran::new(ran));
    assert_eq!((team.code, team.violations), (Some(1), vec!["./deep/er/map.yaml:3".into()]));
}

#[test]
fn files_with_other_line_ends_and_marks_have_their_violations_at_the_right_line() {
    let files = repository(&[
        ("crlf.yaml", &BAD.replace('\n', "\r\n")),
        ("mark.yaml", &format!("\u{feff}{}", BAD.replace("bad", "mark"))),
        ("comments.yaml", &format!("# one\n\n---\n# two\n---\n{}...\n---\n", BAD.replace("bad", "comments"))),
        (
            "list.yaml",
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: item}\n",
        ),
    ]);
    let run = checked(&files, &[]);
    assert_eq!(run.violations, ["./comments.yaml:8", "./crlf.yaml:3", "./list.yaml:6", "./mark.yaml:3"]);
    assert_eq!((run.code, run.lines), (Some(1), Vec::new()));
}

#[test]
fn junk_is_named_once_each_and_the_rest_is_evaluated() {
    let files = repository(&[
        ("empty.yaml", ""),
        ("only-comments.yaml", "# nothing\n"),
        ("map.yaml", BAD),
        ("Makefile", "all:\n"),
    ]);
    files.write("binary.yaml", b"\x00\x01\x02\xff\xfe");
    files.write("wide.yaml", &[0xff, 0xfe, b'k', 0, b'i', 0, b'n', 0, b'd', 0]);
    files.write("logo.png", b"\x89PNG\r\n\x1a\n");
    let run = checked(&files, &[]);
    assert_eq!((run.code, run.violations), (Some(1), vec!["./map.yaml:3".into()]));
    let words = [("binary", "error: "), ("wide", "error: "), ("/empty", "warning: "), ("only", "warning: ")];
    for (name, word) in words {
        let named: Vec<&String> = run.lines.iter().filter(|line| line.contains(name)).collect();
        assert!(named.len() == 1 && named[0].starts_with(word), "{name}: {:?}", run.lines);
    }
}

#[test]
fn definitions_stand_next_to_their_objects_and_both_are_objects_of_a_cluster() {
    let files = repository(&[
        (
            "crds/shop.yaml",
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: shops.example.com}\nspec:\n  group: example.com\n  names: {kind: Shop, plural: shops}\n  scope: Namespaced\n  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n",
        ),
        ("shop.yaml", "apiVersion: example.com/v1\nkind: Shop\nmetadata: {name: cart}\n"),
        ("deploy/map.yaml", BAD),
    ]);
    files.write(
        "policies/shops.yaml",
        POLICY.replace("ConfigMap", "Shop").replace("need-team", "shop-team").as_bytes(),
    );
    let run = checked(&files, &[]);
    assert_eq!(
        (run.code, run.violations),
        (Some(1), vec!["./deploy/map.yaml:3".into(), "./shop.yaml:3".into()])
    );
    assert_eq!(run.lines, Vec::<String>::new());
}

#[test]
fn tags_anchors_and_encrypted_values_of_other_programs_end_no_run() {
    let files = repository(&[
        ("mkdocs.yml", "site_name: x\nextra:\n- emoji: !!python/name:material.extensions.emoji.twemoji\n"),
        ("template.yaml", "Resources:\n  Bucket: {Name: !Sub 'x-${AWS::Region}', Arn: !GetAtt a.b}\n"),
        ("values.enc.yaml", "data: ENC[AES256_GCM,data:x,type:str]\nsops: {version: 3.7.3}\n"),
        ("rules.yaml", "base: &base {expr: up}\ngroups:\n- <<: *base\n  alert: a\n"),
        ("map.yaml", BAD),
    ]);
    let run = checked(&files, &["-v", "1"]);
    assert_eq!((run.code, run.violations), (Some(1), vec!["./map.yaml:3".into()]));
    for name in ["mkdocs.yml", "template.yaml", "values.enc.yaml", "rules.yaml"] {
        let named: Vec<&String> = run.lines.iter().filter(|line| line.contains(name)).collect();
        assert!(named.len() == 1 && named[0].contains("no Kubernetes object"), "{name}: {:?}", run.lines);
    }
}

#[test]
fn a_submodule_is_checked_with_the_repository_and_its_own_ignore_file() {
    let files = repository(&[
        ("lib/.git", "gitdir: ../.git/modules/lib\n"),
        (".git/modules/lib/HEAD", "ref: refs/heads/main\n"),
        ("lib/.gitignore", "build/\n"),
        ("lib/map.yaml", &BAD.replace("bad", "of-lib")),
        ("lib/build/map.yaml", &BAD.replace("bad", "built")),
        ("build/map.yaml", BAD),
    ]);
    let run = checked(&files, &[]);
    assert_eq!(run.violations, ["./build/map.yaml:3", "./lib/map.yaml:3"]);
    assert_eq!((run.code, run.lines), (Some(1), Vec::new()));
}

#[test]
fn workflows_and_compositions_of_other_programs_are_counted() {
    let files = repository(&[
        (".github/workflows/ci.yaml", "on: push\njobs: {}\n"),
        ("docker-compose.yaml", "services: {web: {image: x}}\n"),
        ("mkdocs.yml", "site_name: x\n"),
        ("app/skaffold.yaml", "apiVersion: skaffold/v4beta11\nkind: Config\n"),
        ("map.yaml", BAD),
    ]);
    let run = checked(&files, &[]);
    assert_eq!((run.code, run.violations), (Some(1), vec!["./map.yaml:3".into()]));
    assert_eq!(run.lines.len(), 1, "{:?}", run.lines);
    assert!(!run.lines[0].contains(".github"), "{:?}", run.lines);
}

#[test]
fn objects_of_argo_cd_and_flux_are_objects_of_a_cluster() {
    let files = repository(&[
        (
            "argo.yaml",
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: a}\nspec: {source: {helm: {values: 'a: 1'}}}\n",
        ),
        (
            "flux.yaml",
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\nspec: {path: ./prod}\n",
        ),
        (
            "crd.yaml",
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: shops.acme.io}\nspec: {group: acme.io, scope: Namespaced, names: {kind: Shop, plural: shops}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n",
        ),
        ("shop.yaml", "apiVersion: acme.io/v1\nkind: Shop\nmetadata: {name: s}\n"),
    ]);
    let kinds = "[ConfigMap, Application, Kustomization, CustomResourceDefinition, Shop]";
    files.write("policies/team.yaml", POLICY.replace("[ConfigMap]", kinds).as_bytes());
    let run = checked(&files, &["--exclude", "policies"]);
    assert_eq!(run.violations, ["./argo.yaml:3", "./crd.yaml:3", "./flux.yaml:3", "./shop.yaml:3"]);
    assert_eq!((run.code, run.lines), (Some(1), Vec::new()));
}

#[test]
fn links_that_lead_nowhere_or_in_a_circle_are_named_or_left_alone() {
    let files = repository(&[("map.yaml", BAD), ("sub/.keep", "")]);
    std::os::unix::fs::symlink("missing.yaml", files.path("dangling.yaml")).unwrap();
    std::os::unix::fs::symlink("..", files.path("sub/circle")).unwrap();
    std::os::unix::fs::symlink("self.yaml", files.path("self.yaml")).unwrap();
    let run = checked(&files, &[]);
    assert_eq!(run.violations, ["./map.yaml:3"]);
    for name in ["dangling.yaml", "self.yaml"] {
        assert_eq!(run.lines.iter().filter(|line| line.contains(name)).count(), 1, "{name}: {:?}", run.lines);
    }
}

#[test]
fn a_chart_in_a_chart_and_a_folder_of_templates_alone_are_skipped() {
    let files = repository(&[
        ("shop/Chart.yaml", "apiVersion: v2\nname: shop\n"),
        ("shop/charts/db/Chart.yaml", "apiVersion: v2\nname: db\n"),
        ("shop/charts/db/templates/a.yaml", "{{ fail }}\n"),
        ("old/templates/_helpers.tpl", "{{ define }}\n"),
        ("old/templates/map.yaml", "{{- if .Values.on }}\napiVersion: v1\nkind: ConfigMap\n{{- end }}\n"),
        ("old/values.yaml", "on: true\n"),
        ("map.yaml", BAD),
    ]);
    let run = checked(&files, &[]);
    assert_eq!((run.code, run.violations), (Some(1), vec!["./map.yaml:3".into()]));
    assert_eq!(
        run.lines.iter().filter(|line| line.contains("./shop: a Helm chart")).count(),
        1,
        "{:?}",
        run.lines
    );
    assert_eq!(
        run.lines.iter().filter(|line| line.contains("old/templates/map.yaml")).count(),
        1,
        "{:?}",
        run.lines
    );
}

#[test]
fn the_folder_of_policies_may_be_part_of_what_is_checked() {
    let files = repository(&[
        ("map.yaml", BAD),
        (
            "policies/kyverno-test.yaml",
            "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\npolicies: [team.yaml]\n",
        ),
    ]);
    let run = checked(&files, &[]);
    assert_eq!((run.code, run.violations), (Some(1), vec!["./map.yaml:3".into()]));
}
