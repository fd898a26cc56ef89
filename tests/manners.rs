//! What all commands of our own have in common: names of flags, exit codes, colours, warnings.

#![allow(clippy::expect_used)]

use super::common::{Files, POLICY, RESOURCES, Ran};

const OWN: [&str; 20] = [
    "admission",
    "cel eval",
    "cluster-check",
    "config",
    "conformance",
    "convert",
    "crds",
    "diff",
    "equivalent",
    "explain",
    "implies",
    "lint",
    "mcp",
    "migrate",
    "play",
    "replay",
    "report",
    "schema",
    "serve",
    "webhook-config",
];

const MUTATION: &str = "apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: label}
spec:
  rules:
  - name: label
    match: {any: [{resources: {kinds: [ConfigMap], names: [good]}}]}
    mutate: {patchStrategicMerge: {metadata: {labels: {changed: yes-it-is}}}}
";

fn files() -> Files {
    Files::new(&[("p.yaml", POLICY), ("r.yaml", RESOURCES), ("ephor.yaml", "policies: [p.yaml]\n")])
}

fn run(files: &Files, command: &str) -> Ran {
    files.run(&command.split(' ').collect::<Vec<_>>())
}

#[test]
fn a_format_has_one_flag_with_a_letter_and_a_former_name() {
    let files = files();
    for command in [
        "version",
        "crds wgpolicyk8s.io",
        "explain p.yaml",
        "explain p.yaml -r r.yaml",
        "webhook-config p.yaml",
        "lint p.yaml",
        "diff p.yaml p.yaml",
        "equivalent p.yaml p.yaml",
        "implies p.yaml p.yaml",
        "config",
    ] {
        let of = |flag: &str| run(&files, &format!("{command} {flag}"));
        let expected = of("--output-format json");
        assert_eq!(expected.code, Some(0), "{command}: {}", expected.err);
        serde_json::from_str::<serde_json::Value>(&expected.out).expect(command);
        for flag in ["-o json", "-ojson", "--output json"] {
            assert_eq!(of(flag).out, expected.out, "{command} {flag}");
        }
    }
    let migrated = run(&files, "migrate p.yaml -o json").out;
    assert!(migrated.contains("\"status\": \"proved\""), "{migrated}");
    for command in ["migrate", "cluster-check", "report", "report merge", "replay"] {
        let help = run(&files, &format!("{command} --help")).out;
        assert!(help.contains("-o, --output-format <FORMAT>"), "{command}: {help}");
    }
    // The variable of the former name still counts, after that of the present one.
    let with = |variables: &[(&str, &str)]| {
        let mut program = files.program(&["version"]);
        Ran::new(program.envs(variables.iter().copied()).output().expect("it starts")).out
    };
    assert!(with(&[("EPHOR_VERSION_OUTPUT", "json")]).starts_with('{'));
    assert!(with(&[("EPHOR_VERSION_OUTPUT_FORMAT", "json")]).starts_with('{'));
    let both = [("EPHOR_VERSION_OUTPUT", "json"), ("EPHOR_VERSION_OUTPUT_FORMAT", "text")];
    assert!(!with(&both).starts_with('{'));
}

#[test]
fn a_command_of_our_own_that_cannot_run_ends_with_2_and_says_so_on_its_page() {
    let files = files();
    for command in OWN {
        let ran = run(&files, &format!("{command} --nonsense"));
        assert_eq!(ran.code, Some(2), "{command}: {}", ran.err);
        let help = run(&files, &format!("{command} --help")).out;
        let codes = help.split("Exit codes:\n").nth(1).expect(command);
        assert!(codes.starts_with("  0  ") && codes.contains("\n  2  "), "{command}: {codes}");
    }
    for command in ["lint none.yaml", "explain none.yaml", "convert none.yaml", "webhook-config none.yaml"] {
        assert_eq!(run(&files, command).code, Some(2), "{command}");
    }
    // Kyverno's commands, and the program itself.
    for command in ["apply --nonsense", "test --nonsense", "jp query --nonsense", "nonsense"] {
        assert_eq!(run(&files, command).code, Some(1), "{command}");
    }
    // What was found.
    assert_eq!(run(&files, "cel eval 1+'a'").code, Some(1));
    assert_eq!(run(&files, "lint p.yaml --fail-on note").code, Some(0));
    files.write("bad.yaml", POLICY.replace("ConfigMap", "ConfigMaps").as_bytes());
    assert_eq!(run(&files, "lint bad.yaml --fail-on warning").code, Some(1));
    assert_eq!(run(&files, "diff p.yaml bad.yaml").code, Some(1));
}

#[test]
fn results_have_colours_where_the_flag_or_the_environment_says_so() {
    let files = files();
    files.write("bad.yaml", POLICY.replace("ConfigMap", "ConfigMaps").as_bytes());
    let has_colours = |command: &str, variables: &[(&str, &str)]| {
        let arguments: Vec<&str> = command.split(' ').collect();
        let mut program = files.program(&arguments);
        for name in ["NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"] {
            program.env_remove(name);
        }
        let ran = Ran::new(program.envs(variables.iter().copied()).output().expect("it starts"));
        ran.out.contains("\u{1b}[")
    };
    for command in ["lint bad.yaml", "diff p.yaml bad.yaml", "migrate p.yaml --out out"] {
        assert!(!has_colours(command, &[]), "{command}");
        assert!(has_colours(&format!("{command} --color always"), &[("NO_COLOR", "1")]), "{command}");
        assert!(has_colours(command, &[("FORCE_COLOR", "1")]), "{command}");
        assert!(has_colours(command, &[("CLICOLOR_FORCE", "1")]), "{command}");
        assert!(!has_colours(command, &[("FORCE_COLOR", "1"), ("NO_COLOR", "1")]), "{command}");
        assert!(!has_colours(&format!("{command} --color never"), &[("FORCE_COLOR", "1")]), "{command}");
    }
    assert!(!has_colours("lint bad.yaml -o json --color always", &[]));
    let ran = run(&files, "lint p.yaml --color sometimes");
    assert!(ran.err.contains("sometimes"), "{}", ran.err);
}

#[test]
fn quiet_leaves_out_warnings_and_nothing_else() {
    let files = files();
    files.write("d/p.yaml", POLICY.as_bytes());
    files.write("d/t.yaml", b"{{ if .Values.x }}\na: b\n{{ end }}\n");
    let (loud, quiet) = (run(&files, "lint d"), run(&files, "lint d --quiet"));
    assert!(loud.err.starts_with("warning: "), "{}", loud.err);
    assert_eq!((quiet.err.as_str(), &quiet.out), ("", &loud.out));
    assert!(run(&files, "lint none.yaml --quiet").err.starts_with("Error: "));
}

#[test]
fn the_page_of_the_program_lists_environment_variables() {
    let help = run(&files(), "--help").out;
    let (_, section) = help.split_once("Environment:\n").expect("a section");
    for name in
        ["KUBECONFIG", "NO_COLOR", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_SERVICE_NAME", "OTEL_SDK_DISABLED"]
    {
        assert!(section.lines().any(|line| line.trim_start().starts_with(name)), "{name}: {section}");
    }
}

#[cfg(unix)]
#[test]
fn kubectl_completes_commands_and_flags_through_a_script() {
    let files = files();
    let script = run(&files, "completion kubectl");
    assert_eq!(script.code, Some(0));
    files.write("bin/kubectl_complete-ephor", script.out.as_bytes());
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_ephor"), files.path("bin/kubectl-ephor")).expect("a link");
    let completed = |words: &[&str]| {
        let path = format!("{}:/usr/bin:/bin", files.path("bin").display());
        let mut shell = std::process::Command::new("/bin/sh");
        shell.arg(files.path("bin/kubectl_complete-ephor")).args(words).env("PATH", path);
        Ran::new(shell.output().expect("it starts")).out
    };
    let lines = completed(&["equi"]);
    assert!(lines.starts_with("equivalent\tSays whether ") && lines.ends_with("\n:4\n"), "{lines}");
    let lines = completed(&["lint", "--fail-on", "w"]);
    assert!(lines.starts_with("warning"), "{lines}");
    assert!(completed(&["lint", ""]).lines().any(|line| line.starts_with("p.yaml") || line.starts_with(':')));
}

#[test]
fn objects_that_no_rule_changed_are_not_printed_among_failures() {
    let files = files();
    files.write("m.yaml", MUTATION.as_bytes());
    let ran = run(&files, "apply p.yaml m.yaml -r r.yaml --only-failures --output-format text");
    assert!(ran.out.contains("need-team"), "{}{}", ran.out, ran.err);
    assert!(!ran.out.contains("policy label applied to default/ConfigMap/bad"), "{}", ran.out);
    assert!(ran.out.contains("policy label applied to web/ConfigMap/good"), "{}", ran.out);
    let all = run(&files, "apply p.yaml m.yaml -r r.yaml --output-format text").out;
    assert!(all.contains("policy label applied to default/ConfigMap/bad"), "{all}");
}
