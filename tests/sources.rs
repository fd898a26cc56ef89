//! Where `ephor apply` gets policies and resources from, besides files.
#![allow(clippy::expect_used)]

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use crate::common::server::Server;
use crate::common::{Files, POLICY, RESOURCES, Ran};

fn files() -> Files {
    Files::new(&[("p.yaml", POLICY), ("r.yaml", RESOURCES)])
}

fn server() -> Server {
    let file = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
    Server::new(HashMap::from([
        file("p.yaml", POLICY),
        file("r.yaml", RESOURCES),
        file("no-policy.yaml", "kind: [\n"),
    ]))
}

/// The counts line shows that the policy met the two resources.
fn evaluated(ran: &Ran) -> bool {
    ran.out.contains("\nApplying 1 policy rule(s) to 2 resource(s)...\n")
        && ran.out.ends_with("\npass: 1, fail: 1, warn: 0, error: 0, skip: 0 \n")
}

#[test]
fn policies_come_from_standard_input() {
    let ran = files().run_on(POLICY, &["apply", "-", "-r", "r.yaml"]);
    assert!(evaluated(&ran), "{}", ran.out);
    assert!(ran.out.starts_with("Warning: -: kyverno.io/v1 ClusterPolicy is deprecated"), "{}", ran.out);
}

#[test]
fn resources_come_from_standard_input_and_other_entries_are_reported_as_ignored() {
    let ran = files().run_on(RESOURCES, &["apply", "p.yaml", "-r", "-", "-r", "r.yaml"]);
    assert!(evaluated(&ran), "{}", ran.out);
    assert_eq!(ran.err, "warning: r.yaml: ignored because of `-`\n");
}

#[test]
fn standard_input_cannot_be_both() {
    let ran = files().run_on(POLICY, &["apply", "-", "-r", "-"]);
    assert_eq!(ran.err, "Error: a stdin pipe can be used for either policies or resources, not both\n");
    assert_eq!(ran.code, Some(1));
}

#[test]
fn an_unreadable_resource_on_standard_input_ends_the_run() {
    let ran = files().run_on("metadata: {name: x}\n", &["apply", "p.yaml", "-r", "-"]);
    assert!(
        ran.err.ends_with(
            "Error: failed to load resources (Object 'Kind' is missing in 'metadata: {name: x}\n')\n"
        ),
        "{}",
        ran.err
    );
}

#[test]
fn policies_and_resources_are_downloaded() {
    let server = server();
    let ran = files().run(&["apply", &server.url("p.yaml"), "-r", &server.url("r.yaml")]);
    assert!(evaluated(&ran), "{} {}", ran.out, ran.err);
    assert!(ran.out.starts_with(&format!("Warning: {}: kyverno.io/v1", server.url("p.yaml"))));
}

#[test]
fn a_policy_that_cannot_be_downloaded_ends_the_run() {
    let url = server().url("gone.yaml");
    let ran = files().run(&["apply", &url, "-r", "r.yaml"]);
    assert_eq!(ran.err, format!("Error: failed to fetch resource from {url}: HTTP 404 Not Found\n"));
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
}

#[test]
fn the_first_resource_that_cannot_be_downloaded_ends_the_run() {
    let url = server().url("gone.yaml");
    let ran = files().run(&["apply", "p.yaml", "-r", &url]);
    let text = format!("failed to fetch resource from {url}: HTTP 404 Not Found");
    assert_eq!(ran.err, format!("Error: failed to load resources ({text})\n"));
    assert_eq!(ran.code, Some(1));
}

#[test]
fn a_later_resource_that_cannot_be_downloaded_is_reported_and_skipped() {
    let (url, nowhere) = (server().url("gone.yaml"), Server::nowhere());
    let closed = format!("http://{nowhere}/r.yaml");
    let ran = files().run(&["apply", "p.yaml", "-r", "r.yaml", "-r", &url, "-r", &closed]);
    let line = "-".repeat(70);
    let block = |url: &str, cause: &str| {
        format!("\n{line}\nfailed to load resources: {url}. \nerror: {cause}\n{line}\n")
    };
    let missing = block(&url, &format!("failed to fetch resource from {url}: HTTP 404 Not Found"));
    let refused =
        block(&closed, &format!("Get \"{closed}\": dial tcp {nowhere}: connect: connection refused"));
    assert!(ran.out.contains(&format!("{missing}{refused}")), "{}", ran.out);
    assert!(evaluated(&ran), "{}", ran.out);
    let quiet = files().run(&["apply", "p.yaml", "-r", "r.yaml", "-r", &url, "-p"]);
    assert!(!quiet.out.contains("failed to load resources"), "{}", quiet.out);
}

#[test]
fn a_download_that_is_no_policy_is_left_out() {
    let url = server().url("no-policy.yaml");
    let ran = files().run(&["apply", &url, "-r", "r.yaml"]);
    assert!(ran.out.contains("Applying 0 policy rule(s)"), "{}", ran.out);
    assert!(ran.err.starts_with(&format!("warning: {url}:1: ")), "{}", ran.err);
}

/// Runs `git`; false: there is no such program.
fn git(folder: &Path, args: &[&str]) -> bool {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    let ran = Command::new("git").args(identity).args(args).current_dir(folder).output();
    ran.is_ok_and(|r| r.status.success())
}

/// A server of the repository `acme/policies` with the branches `main` and `dev`; `None` where the
/// program `git` is missing.
fn repository() -> Option<Server> {
    let served = served_repository();
    if served.is_none() {
        println!("skipped: no git");
    }
    served
}

fn served_repository() -> Option<Server> {
    let policy = |name: &str| POLICY.replace("need-team", name);
    let work = Files::new(&[
        ("top.yaml", &policy("top")),
        ("sub/a.yml", &policy("inside")),
        ("sub/note.txt", "no policy"),
        ("other/config.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"),
    ]);
    let at = work.dir.path();
    let steps = [["init", "-q", "-b", "main", "."].as_slice(), &["add", "-A"], &["commit", "-qm", "one"]];
    steps.iter().all(|s| git(at, s)).then_some(())?;
    work.write("new.yaml", policy("new").as_bytes());
    let steps = [["checkout", "-qb", "dev"].as_slice(), &["add", "-A"], &["commit", "-qm", "two"]];
    steps.iter().all(|s| git(at, s)).then_some(())?;
    let served = Files::new(&[]);
    let bare = served.path("acme/policies");
    let clone = ["clone", "-q", "--bare", ".", bare.to_str().expect("a path")];
    (git(at, &clone) && git(&bare, &["update-server-info"])).then_some(())?;
    Some(Server::of_folder(served.dir.path()))
}

/// The names of the policies that failed, in order.
fn failed(ran: &Ran) -> Vec<&str> {
    ran.out.lines().filter_map(|l| l.strip_prefix("policy ")?.split(' ').next()).collect()
}

#[test]
fn policies_of_a_repository_are_those_of_the_branch() {
    let Some(server) = repository() else { return };
    let run = |address: &str, more: &[&str]| {
        let url = server.url(address);
        files().run(&[&["apply", &url, "-r", "r.yaml"], more].concat())
    };
    let main = run("acme/policies", &[]);
    assert_eq!(failed(&main), ["inside", "top"], "{}", main.err);
    assert!(main.out.starts_with("Warning: /sub/a.yml: kyverno.io/v1 ClusterPolicy"), "{}", main.out);
    // A file that is no policy is left out alone.
    assert!(main.err.contains("policy type not supported /v1, Kind=ConfigMap (the file is left out)"));
    assert_eq!(failed(&run("acme/policies/dev", &[])), ["new", "inside", "top"]);
    assert_eq!(failed(&run("acme/policies/sub", &["-b", "dev"])), ["inside"]);
    // A file is no directory.
    assert!(run("acme/policies/top.yaml", &["-b", "dev"]).out.contains("Applying 0 policy rule(s)"));
}

#[test]
fn a_repository_that_cannot_be_read_ends_the_run() {
    let Some(server) = repository() else { return };
    let error = |address: &str, more: &[&str]| {
        let url = server.url(address);
        let ran = files().run(&[&["apply", &url, "-r", "r.yaml"], more].concat());
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""));
        ran.err
    };
    assert_eq!(
        error("acme/policies/gone", &[]),
        "Error: failed to clone repository (couldn't find remote ref \"refs/heads/gone\")\n"
    );
    assert_eq!(error("acme/gone", &[]), "Error: failed to clone repository (repository not found: )\n");
    assert_eq!(
        error("acme/policies/gone", &["-b", "main"]),
        "Error: failed to list YAMLs in repository (file does not exist)\n"
    );
    assert_eq!(
        error("acme/policies/../../etc", &["-b", "main"]),
        "Error: failed to list YAMLs in repository (file does not exist)\n"
    );
    assert!(error("acme", &[]).starts_with("Error: failed to parse URL (invalid URL path /acme - expected "));
}
