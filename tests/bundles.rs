//! Bundles: policies as artifacts of a registry, pushed, pulled, pinned, and only used when they
//! are what was meant.
#![allow(clippy::expect_used)]

use std::io::Write;

use crate::common::oci::{self, Oci, TEAM_KEY};
use crate::common::{Files, POLICY, RESOURCES, Ran};

const TITLE: &str = "org.opencontainers.image.title";
const LAYER: &str = "application/vnd.cncf.kyverno.policy.layer.v1+yaml";

/// The same policy for another label.
fn other_policy() -> String {
    POLICY.replace("need-team", "need-owner").replace("team", "owner")
}

/// A folder with policies, resources and the key of the team.
fn files() -> Files {
    Files::new(&[
        ("policies/team.yaml", POLICY),
        ("policies/more/owner.yml", &other_policy()),
        ("policies/README.md", "# Policies\n"),
        ("other/owner.yaml", &other_policy()),
        ("r.yaml", RESOURCES),
        ("cosign.pub", TEAM_KEY),
    ])
}

fn reference(oci: &Oci, tag: &str) -> String {
    format!("oci://{}/acme:{tag}", oci.host)
}

/// Pushes a folder; the digest.
fn pushed(files: &Files, reference: &str, folder: &str) -> String {
    let ran = files.run(&["bundle", "push", reference, folder]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let printed = ran.out.trim_end().strip_prefix(reference).expect("the reference").to_owned();
    printed.strip_prefix('@').expect("a digest").to_owned()
}

fn refused(ran: &Ran, why: &str) {
    assert_eq!(ran.code, Some(2), "{}{}", ran.out, ran.err);
    assert!(ran.err.starts_with("Error: ") && ran.err.contains(why), "{why}: {}", ran.err);
}

#[test]
fn the_same_files_are_the_same_bundle_and_come_back_as_they_were() {
    let (files, oci) = (files(), Oci::start());
    let digest = pushed(&files, &reference(&oci, "v1"), "policies");
    assert_eq!(digest, pushed(&files, &reference(&oci, "v2"), "policies"));
    assert_eq!(digest, oci.digest("acme", "v1"));
    let ran = files.run(&["bundle", "pull", &reference(&oci, "v1"), "--out", "out"]);
    assert_eq!((ran.code, &*ran.out), (Some(0), "out/more/owner.yml\nout/team.yaml\n"), "{}", ran.err);
    for name in ["team.yaml", "more/owner.yml"] {
        let read = |folder: &str| std::fs::read(files.path(&format!("{folder}/{name}"))).expect("a file");
        assert_eq!(read("out"), read("policies"), "{name}");
    }
    assert!(!files.path("out/README.md").exists());
    assert_eq!(digest, pushed(&files, &reference(&oci, "v3"), "out"));
    assert_ne!(digest, pushed(&files, &reference(&oci, "v4"), "other"));
}

#[test]
fn what_a_bundle_holds_is_shown() {
    let (files, oci) = (files(), Oci::start());
    let digest = pushed(&files, &reference(&oci, "v1"), "policies");
    let text = files.run(&["bundle", "inspect", &reference(&oci, "v1")]).out;
    assert!(text.contains(&digest) && text.contains("ClusterPolicy need-team"), "{text}");
    let json = files.run(&["bundle", "inspect", &reference(&oci, "v1"), "--output-format", "json"]).out;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["digest"], *digest);
    assert_eq!(json["files"][1]["policies"][0]["name"], "need-team");
    assert_eq!((&json["signedBy"], &json["pinnedBy"]), (&serde_json::Value::Null, &serde_json::Value::Null));
}

#[test]
fn every_command_that_takes_policies_takes_bundles() {
    let (files, oci) = (files(), Oci::start());
    pushed(&files, &reference(&oci, "v1"), "policies");
    pushed(&files, &reference(&oci, "owner"), "other");
    let bundle = &*reference(&oci, "v1");
    let apply = |policies: &str| files.run(&["apply", policies, "-r", "r.yaml", "--output-format", "json"]);
    let (of_bundle, of_folder) = (apply(bundle), apply("policies"));
    assert_eq!(of_bundle.code, Some(1), "{}", of_bundle.err);
    let results = |ran: &Ran| {
        let json: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
        json["results"].as_array().map(Vec::len)
    };
    assert_eq!(results(&of_bundle), results(&of_folder));
    // Messages name a file of it so that it can be named in turn.
    let text = files.run(&["apply", bundle, "-r", "r.yaml", "--output-format", "text"]);
    let team = format!("{bundle}#team.yaml");
    assert!(text.out.contains(&format!("policy {team}:11:")), "{}", text.out);
    let explained = files.run(&["explain", &team]).out;
    assert!(explained.contains("need-team") && !explained.contains("need-owner"), "{explained}");
    refused(&files.run(&["explain", &format!("{bundle}#gone.yaml")]), "the bundle has no such file");
    let lint = files.run(&["lint", bundle, "--notes"]);
    assert_eq!(lint.code, Some(0), "{}{}", lint.out, lint.err);
    assert!(lint.out.contains("2 policies"), "{}", lint.out);
    assert!(files.run(&["explain", bundle]).out.contains("need-owner"));
    assert_eq!(files.run(&["diff", bundle, "policies"]).code, Some(0));
    let difference = files.run(&["diff", bundle, &reference(&oci, "owner")]);
    assert_eq!(difference.code, Some(1), "{}{}", difference.out, difference.err);
    let serve = files.run(&["serve", bundle, "--check", "--plain-http"]);
    assert_eq!(serve.code, Some(0), "{}{}", serve.out, serve.err);
    assert!(serve.out.contains("need-team") || serve.out.contains("2 "), "{}", serve.out);
    let test = format!(
        "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {{name: t}}\npolicies: ['{bundle}']\nresources: [../r.yaml]\nresults:\n- {{policy: need-team, rule: team, resources: [good], result: pass}}\n"
    );
    files.write("t/kyverno-test.yaml", test.as_bytes());
    let test = files.run(&["test", "t"]);
    assert_eq!(test.code, Some(0), "{}{}", test.out, test.err);
}

#[test]
fn a_bundle_that_is_not_there_ends_every_run() {
    let (files, oci) = (files(), Oci::start());
    pushed(&files, &reference(&oci, "v1"), "policies");
    let other = format!("{}@sha256:{}", reference(&oci, "v1"), "0".repeat(64));
    let nowhere = "oci://localhost:1/acme:v1".to_string();
    files.write(
        "t/kyverno-test.yaml",
        format!("name: t\npolicies: ['{}']\nresources: [../r.yaml]\nresults: []\n", reference(&oci, "v2"))
            .as_bytes(),
    );
    refused(&files.run(&["test", "t"]), "MANIFEST_UNKNOWN");
    for (bundle, why) in [
        (reference(&oci, "v2"), "MANIFEST_UNKNOWN"),
        (other, "MANIFEST_UNKNOWN"),
        (nowhere, "the registry was not reached"),
        ("oci://Acme:v1".into(), "is no reference of a bundle"),
    ] {
        let is_pinnable = !bundle.contains('@');
        let commands = [
            &["apply", &*bundle, "policies", "-r", "r.yaml"][..],
            &["lint", "policies", &bundle],
            &["explain", &bundle],
            &["diff", "policies", &bundle],
            &["serve", &bundle, "--check", "--plain-http"],
            &["bundle", "pull", &bundle],
            &["bundle", "lock", &bundle],
        ];
        for command in commands.into_iter().take(if is_pinnable { 7 } else { 6 }) {
            let ran = files.run(command);
            refused(&ran, why);
            assert!(ran.err.contains("\nhelp: "), "{command:?}: {}", ran.err);
        }
    }
}

#[test]
fn a_pinned_tag_means_its_digest_wherever_it_has_moved() {
    let (files, mut oci) = (files(), Oci::start());
    let (v1, digest) = (reference(&oci, "v1"), pushed(&files, &reference(&oci, "v1"), "policies"));
    pushed(&files, &reference(&oci, "owner"), "other");
    files.write("ephor.yaml", format!("policies: ['{v1}']\nresources: [r.yaml]\n").as_bytes());
    let lock = files.run(&["bundle", "lock"]);
    assert_eq!((lock.code, lock.out), (Some(0), format!("{v1} {digest} (new)\n")), "{}", lock.err);
    assert_eq!(files.run(&["bundle", "lock"]).out, format!("{v1} {digest} (unchanged)\n"));
    assert_eq!(files.run(&["bundle", "lock", "--check"]).code, Some(0));
    oci.retag("acme", "owner", "v1");
    let apply = files.run(&["apply", "--output-format", "json"]);
    assert!(apply.out.contains("need-team"), "{}{}", apply.out, apply.err);
    assert!(apply.err.contains(&format!("note: {v1} is {digest}, pinned by ephor.lock")), "{}", apply.err);
    let check = files.run(&["bundle", "lock", "--check"]);
    assert_eq!(check.code, Some(1));
    assert!(check.out.contains(&format!("(was {digest})")), "{}", check.out);
    // Another tag is not pinned, which is a warning.
    let other = files.run(&["lint", &reference(&oci, "owner")]);
    assert!(other.err.contains("not pinned by ephor.lock"), "{}", other.err);
    assert_eq!(files.run(&["bundle", "lock"]).code, Some(0));
    let moved = files.run(&["apply", "--output-format", "json"]);
    assert!(!moved.out.contains("need-team") && moved.out.contains("need-owner"), "{}", moved.out);
    // What cannot be read pins nothing, so nothing runs.
    files.write("ephor.lock", b"bundles: [{reference: a}]\n");
    refused(&files.run(&["apply"]), "ephor.lock: bundles[0]: want an object");
}

#[test]
fn the_file_with_pins_follows_its_schema() {
    let (files, oci) = (files(), Oci::start());
    pushed(&files, &reference(&oci, "v1"), "policies");
    assert_eq!(files.run(&["bundle", "lock", &reference(&oci, "v1")]).code, Some(0));
    assert_eq!(files.run(&["schema", "--out", "s"]).code, Some(0));
    let schema = std::fs::read_to_string(files.path("s/ephor-lock.json")).expect("a schema");
    let schema = serde_json::from_str(&schema).expect("JSON");
    let lock = std::fs::read_to_string(files.path("ephor.lock")).expect("the file");
    let lock = ephor_document::json::to_serde(&ephor_document::yaml_value(&lock).expect("YAML"));
    assert!(jsonschema::is_valid(&schema, &lock), "{lock}");
    assert!(!jsonschema::is_valid(&schema, &serde_json::json!({"bundles": [{"reference": "a"}]})));
}

#[test]
fn with_a_key_only_what_is_signed_by_it_is_used() {
    let (files, mut oci) = (files(), Oci::start());
    let digest = pushed(&files, &reference(&oci, "v1"), "policies");
    let v1 = &*reference(&oci, "v1");
    let apply = || files.run(&["apply", v1, "-r", "r.yaml", "--bundle-key", "cosign.pub"]);
    refused(&apply(), "is not signed by the key `cosign.pub`: no signatures found");
    oci.sign("acme", &digest, &oci::stranger(), &digest, None);
    refused(&apply(), "no matching signatures");
    // A signature about something else.
    oci.sign("acme", &digest, &oci::team(), &format!("sha256:{}", "1".repeat(64)), None);
    refused(&apply(), "no matching signatures");
    files.write(
        "t/kyverno-test.yaml",
        format!("name: t\npolicies: ['{v1}']\nresources: [../r.yaml]\nresults: []\n").as_bytes(),
    );
    for command in [
        &["lint", v1][..],
        &["test", "t"],
        &["serve", v1, "--check", "--plain-http"],
        &["bundle", "pull", v1, "--out", "out"],
        &["bundle", "lock", v1],
        &["diff", v1, "policies"],
    ] {
        let mut command = command.to_vec();
        command.extend(["--bundle-key", "cosign.pub"]);
        refused(&files.run(&command), "is not signed by the key");
    }
    assert!(!files.path("out").exists() && !files.path("ephor.lock").exists());
    oci.sign("acme", &digest, &oci::team(), &digest, None);
    let ran = apply();
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let shown = files.run(&["bundle", "inspect", v1, "--bundle-key", "cosign.pub"]).out;
    assert!(shown.contains("signed by  cosign.pub"), "{shown}");
    // The configuration of the repository wants it, too.
    files.write("ephor.yaml", b"bundleKey: cosign.pub\n");
    assert_eq!(files.run(&["lint", v1]).code, Some(0));
    pushed(&files, &reference(&oci, "owner"), "other");
    refused(&files.run(&["lint", &reference(&oci, "owner")]), "is not signed by the key");
}

#[test]
fn a_signature_counts_in_both_forms_of_cosign() {
    let (files, mut oci) = (files(), Oci::start());
    let lint =
        |tag: &str, oci: &Oci| files.run(&["lint", &reference(oci, tag), "--bundle-key", "cosign.pub"]);
    for (tag, folder, listed) in [
        ("typed", "policies", "application/vnd.dev.sigstore.bundle.v0.3+json"),
        // Where a registry keeps no lists of referrers.
        ("untyped", "other", "application/vnd.oci.empty.v1+json"),
    ] {
        let digest = pushed(&files, &reference(&oci, tag), folder);
        oci.sign_as_bundle("acme", &digest, &oci::stranger(), listed);
        refused(&lint(tag, &oci), "is not signed by the key");
        oci.sign_as_bundle("acme", &digest, &oci::team(), listed);
        let ran = lint(tag, &oci);
        assert_eq!(ran.code, Some(0), "{tag}: {}", ran.err);
    }
}

#[test]
fn a_statement_about_a_bundle_is_no_signature_of_it() {
    let (files, mut oci) = (files(), Oci::start());
    let digest = pushed(&files, &reference(&oci, "v1"), "policies");
    oci.bundle("acme", &digest, &oci::team(), &digest);
    let ran = files.run(&["lint", &reference(&oci, "v1"), "--bundle-key", "cosign.pub"]);
    refused(&ran, "is not signed by the key");
}

#[test]
fn a_key_that_cannot_be_read_verifies_nothing() {
    let (files, mut oci) = (files(), Oci::start());
    let digest = pushed(&files, &reference(&oci, "v1"), "policies");
    oci.sign("acme", &digest, &oci::team(), &digest, None);
    let lint = |key: &str| files.run(&["lint", &reference(&oci, "v1"), "--bundle-key", key]);
    for (key, why) in [
        ("gone.pub", "cannot be read"),
        ("r.yaml", "is no public key in PEM"),
        ("awskms:///alias/x", "is in a key service"),
        ("env://NO_SUCH_VARIABLE", "is not set"),
    ] {
        refused(&lint(key), why);
    }
    let mut by_variable = files.program(&["lint", &reference(&oci, "v1"), "--bundle-key", "env://TEAM_KEY"]);
    let ran = Ran::new(by_variable.env("TEAM_KEY", TEAM_KEY).output().expect("it runs"));
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

#[test]
fn an_artifact_that_is_not_to_be_trusted_is_refused_as_a_whole() {
    let (files, mut oci) = (files(), Oci::start());
    let policy = POLICY.as_bytes();
    let tar = "application/vnd.oci.image.layer.v1.tar+gzip";
    let good: oci::Layer<'_> = (LAYER, &[(TITLE, "a.yaml")], policy);
    oci.artifact("acme", "outside", &[good, (LAYER, &[(TITLE, "../b.yaml")], policy)]);
    oci.artifact("acme", "absolute", &[good, (LAYER, &[(TITLE, "/tmp/b.yaml")], policy)]);
    oci.artifact("acme", "backslash", &[good, (LAYER, &[(TITLE, "..\\b.yaml")], policy)]);
    oci.artifact("acme", "page", &[good, (LAYER, &[(TITLE, "../README.md")], policy)]);
    oci.artifact("acme", "twice", &[good, (LAYER, &[(TITLE, "./a.yaml")], policy)]);
    oci.artifact("acme", "folder", &[good, (LAYER, &[(TITLE, "a.yaml/b.yaml")], policy)]);
    oci.artifact("acme", "empty", &[(LAYER, &[(TITLE, "README.md")], b"x")]);
    oci.artifact("acme", "archive", &[good, (tar, &[], &archive(&[("../b.yaml", policy)]))]);
    oci.artifact("acme", "broken", &[good, (tar, &[], b"\x1f\x8bno")]);
    oci.artifact("acme", "bomb", &[good, (tar, &[], &archive(&[("b.yaml", &vec![b' '; 60 << 20])]))]);
    oci.image("acme", "image");
    for (tag, why) in [
        ("outside", "`../b.yaml` is refused: it leads out of the folder"),
        ("absolute", "`/tmp/b.yaml` is refused: it is no relative path"),
        ("backslash", "is refused: it is no relative path"),
        ("page", "`../README.md` is refused: it leads out of the folder"),
        ("twice", "two of its files have the name `a.yaml`"),
        ("folder", "two of its files have the name `a.yaml`"),
        ("empty", "it holds no policy file"),
        ("archive", "`../b.yaml` is refused: it leads out of the folder"),
        ("broken", "is no archive that can be read"),
        ("bomb", "its files have more than 52428800 bytes"),
        ("image", "it holds no policy file"),
    ] {
        let ran = files.run(&["bundle", "pull", &reference(&oci, tag), "--out", "out/in"]);
        refused(&ran, why);
        assert!(!files.path("out").exists(), "{tag}");
    }
    pushed(&files, &reference(&oci, "v1"), "policies");
    oci.corrupt();
    refused(&files.run(&["bundle", "pull", &reference(&oci, "v1"), "--out", "out"]), "sha256 checksum");
    assert!(!files.path("out").exists());
}

/// A `tar.gz` of files.
fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_old();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        tar.append(&header, *bytes).expect("an entry");
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&tar.into_inner().expect("an archive")).expect("bytes");
    gzip.finish().expect("bytes")
}

#[test]
fn artifacts_of_other_tools_are_read() {
    let (files, mut oci) = (files(), Oci::start());
    let policy = POLICY.as_bytes();
    let tar = "application/vnd.oci.image.layer.v1.tar";
    let gzip = "application/vnd.oci.image.layer.v1.tar+gzip";
    let folder = archive(&[("policies/a.yaml", policy), ("policies/README.md", b"x")]);
    // `oras push REF a.yaml`, `oras push REF policies/`, `crane append`, `kyverno oci push`.
    oci.artifact("acme", "oras", &[(tar, &[(TITLE, "a.yaml")], policy)]);
    oci.artifact(
        "acme",
        "folder",
        &[(gzip, &[(TITLE, "policies"), ("io.deis.oras.content.unpack", "true")], &folder)],
    );
    oci.artifact("acme", "crane", &[("application/vnd.docker.image.rootfs.diff.tar.gzip", &[], &folder)]);
    oci.artifact("acme", "kyverno", &[(LAYER, &[("io.kyverno.image.name", "need-team")], policy)]);
    for (tag, name) in [
        ("oras", "a.yaml"),
        ("folder", "policies/a.yaml"),
        ("crane", "policies/a.yaml"),
        ("kyverno", "need-team.yaml"),
    ] {
        let ran = files.run(&["bundle", "pull", &reference(&oci, tag), "--out", tag]);
        assert_eq!((ran.code, ran.out), (Some(0), format!("{tag}/{name}\n")), "{}", ran.err);
        assert_eq!(std::fs::read(files.path(&format!("{tag}/{name}"))).expect("a file"), policy);
    }
}

#[test]
fn a_registry_that_wants_credentials_gets_those_of_docker() {
    let (files, mut oci) = (files(), Oci::start());
    oci.close("anna", "secret");
    let denied = files.run(&["bundle", "push", &reference(&oci, "v1"), "policies"]);
    assert_eq!(denied.code, Some(2), "{}", denied.err);
    let auths = serde_json::json!({"auths": {&oci.host: {"username": "anna", "password": "secret"}}});
    files.write(".docker/config.json", auths.to_string().as_bytes());
    pushed(&files, &reference(&oci, "v1"), "policies");
    assert_eq!(files.run(&["lint", &reference(&oci, "v1")]).code, Some(0));
}

#[test]
fn what_cannot_be_part_of_a_bundle_is_not_pushed() {
    let (files, oci) = (files(), Oci::start());
    files.write("broken.yaml", b"a: [\n");
    files.write("page.md", b"# a\n");
    files.write("empty/README.md", b"# a\n");
    let push = |arguments: &[&str]| {
        let reference = reference(&oci, "v1");
        files.run(&[&["bundle", "push", &*reference], arguments].concat())
    };
    for (arguments, why) in [
        (&["broken.yaml"][..], "broken.yaml"),
        (&["page.md"], "it is no .yaml, .yml or .json file"),
        (&["empty"], "there is no policy file to push"),
        (&["policies/team.yaml", "policies/./team.yaml"], "two files have this name"),
        (&["https://example.com/a.yaml"], "it is no .yaml"),
    ] {
        let ran = push(arguments);
        refused(&ran, why);
    }
    assert_eq!(push(&["gone.yaml"]).code, Some(2));
    assert_eq!(oci.questions(), 0, "nothing was sent");
}
