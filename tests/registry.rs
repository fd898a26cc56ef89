//! Registries of images: who signed, what is stated, what manifests say. The registry is a small
//! one on this machine; what the program says was compared with the reference program on the same
//! registry.
#![allow(clippy::expect_used)]

use crate::common::oci::{self, Oci, TEAM_KEY, Tag};
use crate::common::{Files, Ran};

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: web}\nspec: {containers: [{name: c, image: IMAGE}]}\n";

/// A registry with an image under every tag that the tests use.
fn registry() -> Oci {
    let mut oci = Oci::start();
    let signed = oci.image("app", "signed");
    oci.sign("app", &signed, &oci::team(), &signed, None);
    let other = oci.image("app", "other");
    oci.sign("app", &other, &oci::stranger(), &other, None);
    let borrowed = oci.image("app", "borrowed");
    oci.sign("app", &borrowed, &oci::team(), &signed, None);
    oci.image("app", "unsigned");
    let noted = oci.image("app", "noted");
    oci.sign("app", &noted, &oci::team(), &noted, Some(r#"{"env":"prod"}"#));
    let scanned = oci.image("app", "scanned");
    oci.state("app", &scanned, &oci::team(), r#"{"scanner":{"score":7}}"#);
    let described = oci.image("app", "described");
    oci.refer("app", &described, "sbom/example", r#"{"format":"X","parts":[1,2]}"#);
    oci
}

fn attestor(key: &str) -> String {
    let key = serde_json::to_string(key).expect("text");
    format!("{{keys: {{publicKeys: {key}, rekor: {{ignoreTlog: true}}, ctlog: {{ignoreSCT: true}}}}}}")
}

/// A ClusterPolicy with one check of images.
fn check(oci: &Oci, check: &str) -> String {
    format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  background: false\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    verifyImages:\n    - imageReferences: ['{}/*']\n      failureAction: Enforce\n{check}\n",
        oci.host
    )
}

const NO_DIGEST: &str = "      mutateDigest: false\n      verifyDigest: false\n      required: false\n";

fn by_team(more: &str) -> String {
    format!("{NO_DIGEST}      attestors: [{{entries: [{}]}}]\n{more}", attestor(TEAM_KEY))
}

fn apply(policy: &str, image: &str, more: &[&str]) -> Ran {
    let pod = POD.replace("IMAGE", image);
    let mut args = vec!["apply", "p.yaml", "-r", "r.yaml", "--registry", "--detailed-results", "-p"];
    args.extend(more);
    Files::new(&[("p.yaml", policy), ("r.yaml", &pod)]).run(&args)
}

/// Status and message of every result.
fn results(ran: &Ran) -> Vec<String> {
    let at = ran.out.find("apiVersion: openreports").expect("a report");
    let report = ephor_document::yaml_value(&ran.out[at..]).expect("YAML");
    let results = report.get("results").and_then(ephor_value::Value::as_list).unwrap_or_default();
    results.iter().map(|r| format!("{}: {}", r.text_at(&["result"]), r.text_at(&["message"]))).collect()
}

fn one(ran: &Ran) -> String {
    assert!(ran.ended_well(), "{}", ran.err);
    results(ran).join(" | ")
}

#[test]
fn an_image_passes_when_the_key_signed_its_digest() {
    let oci = registry();
    let policy = check(&oci, &by_team(""));
    let says = |tag: &str| one(&apply(&policy, &oci.name("app", tag), &[]));
    let host = &oci.host;
    let refused =
        |tag: &str| format!("fail: failed to verify image {host}/app:{tag}: .attestors[0].entries[0].keys: ");
    assert_eq!(says("signed"), format!("pass: verified image signatures for {host}/app:signed"));
    assert_eq!(says("unsigned"), refused("unsigned") + "no signatures found");
    assert_eq!(
        says("other"),
        refused("other")
            + "no matching signatures: invalid signature when validating ASN.1 encoded signature"
    );
    assert_eq!(
        says("borrowed"),
        refused("borrowed")
            + &format!(
                "no matching signatures: invalid or missing digest in claim: {}",
                oci.digest("app", "signed")
            )
    );
    assert_eq!(
        says("missing"),
        refused("missing")
            + &format!(
                "image tag not found: GET http://{host}/v2/app/manifests/missing: MANIFEST_UNKNOWN: manifest unknown; map[Tag:missing]"
            )
    );
}

#[test]
fn annotations_of_a_signature_must_be_those_that_are_wanted() {
    let oci = registry();
    let says = |env: &str| {
        let policy = check(&oci, &by_team(&format!("      annotations: {{env: {env}}}\n")));
        one(&apply(&policy, &oci.name("app", "noted"), &[]))
    };
    assert!(says("prod").starts_with("pass: verified image signatures"), "{}", says("prod"));
    assert!(says("test").ends_with("no signature matched the required annotations"), "{}", says("test"));
}

#[test]
fn a_tag_gets_the_digest_that_was_verified() {
    let oci = registry();
    let check_with_defaults = format!("      attestors: [{{entries: [{}]}}]\n", attestor(TEAM_KEY));
    let policy = check(&oci, &check_with_defaults);
    let pod = POD.replace("IMAGE", &oci.name("app", "signed"));
    let files = Files::new(&[("p.yaml", &policy), ("r.yaml", &pod)]);
    let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml", "--registry", "--detailed-results", "-p"]);
    let host = &oci.host;
    assert_eq!(
        one(&ran),
        format!("pass: verified image signatures for {host}/app:signed | pass: image verified")
    );
}

#[test]
fn statements_must_be_of_the_type_and_fit_the_conditions() {
    let oci = registry();
    let says = |kind: &str, least: u32| {
        let attestor = attestor(TEAM_KEY);
        let policy = check(
            &oci,
            &format!(
                "{NO_DIGEST}      attestations:\n      - type: {kind}\n        attestors: [{{entries: [{attestor}]}}]\n        conditions: [{{all: [{{key: '{{{{ scanner.score }}}}', operator: GreaterThan, value: {least}, message: too low}}]}}]\n"
            ),
        );
        one(&apply(&policy, &oci.name("app", "scanned"), &[]))
    };
    let host = &oci.host;
    assert_eq!(
        says("https://example.com/scan/v1", 5),
        format!("pass: verified image attestations for {host}/app:scanned")
    );
    let failed = "fail: image attestations verification failed, verifiedCount: 0, requiredCount: 1, error: .attestations[0].attestors[0].entries[0].keys: ";
    assert_eq!(
        says("https://example.com/scan/v1", 8),
        format!(
            "{failed}attestation checks failed for {host}/app:scanned and predicate https://example.com/scan/v1: too low"
        )
    );
    assert_eq!(
        says("https://example.com/other", 5),
        format!("{failed}attestions not found for predicate type https://example.com/other")
    );
}

#[test]
fn without_the_flag_no_registry_is_called() {
    let oci = registry();
    let policy = check(&oci, &by_team(""));
    let pod = POD.replace("IMAGE", &oci.name("app", "signed"));
    let files = Files::new(&[("p.yaml", &policy), ("r.yaml", &pod)]);
    let ran = files.run(&["apply", "p.yaml", "-r", "r.yaml", "--detailed-results", "-p"]);
    assert!(one(&ran).ends_with("registries and transparency logs are not queried"), "{}", ran.out);
    assert_eq!(oci.questions(), 0);
}

#[test]
fn context_entries_have_the_image_data_of_a_registry() {
    let oci = registry();
    let policy = |reference: &str| {
        format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    context: [{{name: im, imageRegistry: {{reference: '{reference}'}}}}]\n    validate: {{message: '{{{{ im.configData.os }}}} {{{{ im.identifier }}}} {{{{ im.manifest.layers[0].size }}}}', deny: {{}}}}\n"
        )
    };
    let says = |reference: &str| one(&apply(&policy(reference), "x", &[]));
    assert_eq!(says(&oci.name("app", "signed")), "fail: linux signed 5");
}

/// An ImageValidatingPolicy of which every image of the registry must be signed by the team's key.
fn review(oci: &Oci, more: &str) -> String {
    let key = serde_json::to_string(TEAM_KEY).expect("text");
    format!(
        "apiVersion: policies.kyverno.io/v1\nkind: ImageValidatingPolicy\nmetadata: {{name: p}}\nspec:\n  matchConstraints: {{resourceRules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]}}\n  matchImageReferences: [{{glob: '{}/*'}}]\n  attestors: [{{name: team, cosign: {{key: {{data: {key}}}, ctlog: {{insecureIgnoreTlog: true, insecureIgnoreSCT: true}}}}}}]\n  attestations: [{{name: parts, referrer: {{type: sbom/example}}}}, {{name: none, referrer: {{type: no/such}}}}]\n{more}\n",
        oci.host
    )
}

const LOOSE: &str = "  validationConfigurations: {verifyDigest: false, required: false}\n";
const SIGNED: &str = "  validations: [{expression: 'images.containers.all(i, verifyImageSignatures(i, [attestors.team]) > 0)', message: not signed}]";

#[test]
fn image_policies_count_the_attestors_that_signed() {
    let oci = registry();
    let policy = review(&oci, &format!("{LOOSE}{SIGNED}"));
    let says = |tag: &str| one(&apply(&policy, &oci.name("app", tag), &[]));
    assert_eq!(says("signed"), "pass: success");
    for bad in ["unsigned", "other", "borrowed"] {
        assert_eq!(says(bad), "fail: not signed", "{bad}");
    }
    assert_eq!(
        says("missing"),
        format!(
            "error: failed to evaluate policy: GET http://{}/v2/app/manifests/missing: MANIFEST_UNKNOWN: manifest unknown; map[Tag:missing]",
            oci.host
        )
    );
}

#[test]
fn images_without_digest_fail_before_the_registry_is_called() {
    let oci = registry();
    let policy = review(&oci, SIGNED);
    let image = oci.name("app", "signed");
    assert_eq!(one(&apply(&policy, &image, &[])), format!("fail: image {image} does not have a digest"));
    assert_eq!(oci.questions(), 0);
    let pinned = format!("{}/app@{}", oci.host, oci.digest("app", "signed"));
    assert_eq!(one(&apply(&policy, &pinned, &[])), "pass: success");
}

#[test]
fn an_image_that_must_be_verified_may_be_so_by_another_policy() {
    let oci = registry();
    let first = review(
        &oci,
        "  validationConfigurations: {verifyDigest: false}\n  validations: [{expression: 'true'}]",
    );
    let image = oci.name("app", "signed");
    let unverified = format!(
        "fail: image {image} is not verified: no policy performed a signature or attestation check on it"
    );
    assert_eq!(one(&apply(&first, &image, &[])), unverified);
    let second = review(&oci, &format!("{LOOSE}{SIGNED}")).replace("name: p}", "name: q}");
    assert_eq!(one(&apply(&format!("{first}---\n{second}"), &image, &[])), "pass: success | pass: success");
}

#[test]
fn what_refers_to_an_image_can_be_read() {
    let oci = registry();
    let says = |name: &str| {
        let text = format!(
            "{LOOSE}  validations: [{{expression: 'false', messageExpression: 'json.marshal(extractPayload(images.containers[0], attestations.{name}))'}}]"
        );
        one(&apply(&review(&oci, &text), &oci.name("app", "described"), &[]))
    };
    assert_eq!(says("parts"), r#"fail: {"format":"X","parts":[1,2]}"#);
    assert_eq!(
        says("none"),
        "fail: failed to evaluate message expression: failed to get payload: artifact of type no/such not found"
    );
}

#[test]
fn faults_of_an_image_policy_are_reported_with_every_object() {
    let oci = registry();
    let text = format!("{LOOSE}  validations: [{{expression: 'object.spec'}}]");
    assert_eq!(
        one(&apply(&review(&oci, &text), &oci.name("app", "signed"), &[])),
        r#"error: failed to compile policy: spec.validations[0].expression: Invalid value: "object.spec": output is expected to be of type bool"#
    );
}

#[test]
fn registries_that_misbehave_give_errors() {
    let mut oci = registry();
    oci.misbehave("denied", Tag::Status(403, r#"{"errors":[{"code":"DENIED","message":"no"}]}"#));
    oci.misbehave("broken", Tag::Status(200, "<html>"));
    oci.misbehave("endless", Tag::Endless);
    let policy = review(&oci, &format!("{LOOSE}{SIGNED}"));
    let host = &oci.host;
    let says = |name: &str| one(&apply(&policy, &oci.name(name, "1"), &[]));
    let url = |name: &str| format!("http://{host}/v2/{name}/manifests/1");
    assert_eq!(
        says("denied"),
        format!("error: failed to evaluate policy: GET {}: DENIED: no", url("denied"))
    );
    assert!(
        says("broken").contains("invalid character '<' looking for beginning of value"),
        "{}",
        says("broken")
    );
    assert!(says("endless").contains("the answer has more than 4194304 bytes"), "{}", says("endless"));
}

#[test]
fn bundles_count_when_the_key_signed_a_statement_about_the_image() {
    let mut oci = registry();
    let good = oci.image("app", "bundled");
    oci.bundle("app", &good, &oci::team(), &good);
    let other = oci.image("app", "strange");
    oci.bundle("app", &other, &oci::stranger(), &other);
    let elsewhere = oci.image("app", "elsewhere");
    oci.bundle("app", &elsewhere, &oci::team(), &good);
    let junk = oci.image("app", "junk");
    oci.refer("app", &junk, "application/vnd.dev.sigstore.bundle.v0.3+json", r#"{"mediaType":"x"}"#);
    let policy = check(&oci, &format!("      type: SigstoreBundle\n{}", by_team("")));
    let host = &oci.host;
    let says = |tag: &str| {
        let refused =
            format!("fail: failed to verify image {host}/app:{tag}: .attestors[0].entries[0].keys: ");
        one(&apply(&policy, &oci.name("app", tag), &[])).replace(&refused, "")
    };
    assert_eq!(says("bundled"), format!("pass: verified image signatures for {host}/app:bundled"));
    for tag in ["strange", "elsewhere", "signed"] {
        assert_eq!(says(tag), "sigstore bundle verification failed: no matching signatures found", "{tag}");
    }
    assert_eq!(
        says("junk"),
        format!(
            "failed to fetch bundles: {host}/app:junk: failed to unmarshal bundle: error getting bundle version: validation error: unsupported media type: x"
        )
    );
}

#[test]
fn statements_in_bundles_must_be_of_the_type_and_fit_the_conditions() {
    let mut oci = registry();
    let image = oci.image("app", "bundled");
    oci.bundle("app", &image, &oci::team(), &image);
    let says = |kind: &str, least: u32| {
        let attestor = attestor(TEAM_KEY);
        let policy = check(
            &oci,
            &format!(
                "      type: SigstoreBundle\n{NO_DIGEST}      attestations:\n      - type: {kind}\n        attestors: [{{entries: [{attestor}]}}]\n        conditions: [{{all: [{{key: '{{{{ scanner.score }}}}', operator: GreaterThan, value: {least}, message: too low}}]}}]\n"
            ),
        );
        one(&apply(&policy, &oci.name("app", "bundled"), &[]))
    };
    let name = format!("{}/app@{image}", oci.host);
    assert_eq!(
        says("https://example.com/scan/v1", 5),
        format!("pass: verified image attestations for {name}")
    );
    assert!(says("https://example.com/scan/v1", 9).ends_with("scan/v1: too low"));
    assert!(says("https://example.com/other", 5).ends_with("no matching signatures found"));
}

/// The digest check of an image in a registry that wants a token, with more files for the program.
fn from_closed(files: &[(&str, &str)], path: Option<&str>) -> String {
    let mut oci = registry();
    oci.close("anna", "secret");
    let policy = check(&oci, &by_team(""));
    let pod = POD.replace("IMAGE", &oci.name("app", "signed"));
    let all = Files::new(&[("p.yaml", &policy), ("r.yaml", &pod)]);
    for (name, text) in files {
        all.write(name, text.replace("HOST", &oci.host).as_bytes());
    }
    let mut program =
        all.program(&["apply", "p.yaml", "-r", "r.yaml", "--registry", "--detailed-results", "-p"]);
    program.env("DOCKER_CONFIG", all.dir.path().join("docker"));
    if let Some(path) = path {
        use std::os::unix::fs::PermissionsExt;
        for (name, _) in files.iter().filter(|(name, _)| name.starts_with(path)) {
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(all.path(name), executable).expect("a file");
        }
        let usual = std::env::var("PATH").unwrap_or_default();
        program.env("PATH", format!("{}:{usual}", all.path(path).display()));
    }
    let output = program.output().expect("the program starts");
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let at = out.find("apiVersion: openreports").expect("a report");
    let report = ephor_document::yaml_value(&out[at..]).expect("YAML");
    let results = report.get("results").and_then(ephor_value::Value::as_list).unwrap_or_default();
    results.iter().map(|r| r.text_at(&["message"]).replace('\n', " ")).collect()
}

#[test]
fn a_registry_that_wants_a_token_gets_one_for_the_password_of_docker_login() {
    let config = r#"{"auths":{"HOST":{"auth":"YW5uYTpzZWNyZXQ="}}}"#;
    let found = from_closed(&[("docker/config.json", config)], None);
    assert!(found.starts_with("verified image signatures"), "{found}");
    let wrong = config.replace("YW5uYTpzZWNyZXQ=", "YW5uYTpvdGhlcg==");
    let refused = from_closed(&[("docker/config.json", &wrong)], None);
    assert!(refused.contains("unexpected status code 401 Unauthorized"), "{refused}");
}

#[test]
fn credential_helpers_are_called_for_passwords() {
    let helper = "#!/bin/sh\nread server\ntest \"$1 $server\" = 'get HOST' || exit 1\necho '{\"ServerURL\":\"HOST\",\"Username\":\"anna\",\"Secret\":\"secret\"}'\n";
    for config in [r#"{"credHelpers":{"HOST":"mine"}}"#, r#"{"credsStore":"mine"}"#] {
        let files = [("docker/config.json", config), ("bin/docker-credential-mine", helper)];
        let found = from_closed(&files, Some("bin"));
        assert!(found.starts_with("verified image signatures"), "{found}");
    }
    let broken = "#!/bin/sh\necho 'no keychain'\nexit 1\n";
    let files = [("docker/config.json", r#"{"credsStore":"mine"}"#), ("bin/docker-credential-mine", broken)];
    let refused = from_closed(&files, Some("bin"));
    assert!(refused.contains("docker-credential-mine: no keychain"), "{refused}");
    let absent = from_closed(&[("docker/config.json", r#"{"credsStore":"../x"}"#)], None);
    assert!(absent.contains("is no name of a credential helper"), "{absent}");
}

#[test]
fn requests_to_a_busy_registry_are_repeated_a_few_times() {
    let mut oci = registry();
    oci.tire(2);
    let policy = check(&oci, &by_team(""));
    let found = one(&apply(&policy, &oci.name("app", "signed"), &[]));
    assert!(found.starts_with("pass: verified image signatures"), "{found}");
    oci.tire(1_000);
    let refused = one(&apply(&policy, &oci.name("app", "signed"), &[]));
    assert!(refused.contains("unexpected status code 503 Service Unavailable: busy"), "{refused}");
    assert!(oci.questions() < 50, "{}", oci.questions());
}

#[test]
fn an_unreadable_secret_of_a_policy_is_reported() {
    let mut oci = registry();
    oci.close("anna", "secret");
    let policy = check(&oci, &by_team("      imageRegistryCredentials: {secrets: [regcred]}\n"));
    let refused = one(&apply(&policy, &oci.name("app", "signed"), &[]));
    assert!(refused.contains("failed to read pull secret /regcred: there is no cluster"), "{refused}");
}
