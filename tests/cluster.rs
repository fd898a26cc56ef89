//! The client of the Kubernetes API and the commands that use it, on a server that answers from a
//! table.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::sync::{Arc, Mutex};

use crate::common::{Files, Ran};
use ephor_cluster::{Choice, Cluster, connect};
use ephor_document::yaml_value;

/// Answers by path with query, and records requests as `METHOD PATH`.
pub(crate) struct Server {
    address: String,
    seen: Arc<Mutex<Vec<String>>>,
    /// What was created.
    created: Arc<Mutex<Vec<String>>>,
}

type Table = HashMap<String, (u16, String)>;

impl Server {
    pub(crate) fn new(table: &[(&str, u16, &str)]) -> Server {
        let mut all: Table = [
            ("/version", r#"{"major":"1","minor":"36","gitVersion":"v1.36.3"}"#),
            ("/api", r#"{"versions":["v1"]}"#),
            ("/apis", r#"{"groups":[{"name":"apps","preferredVersion":{"version":"v1"},"versions":[{"version":"v1"}]},{"name":"gone.io","preferredVersion":{"version":"v1"},"versions":[{"version":"v1"}]}]}"#),
            ("/api/v1", r#"{"resources":[{"name":"configmaps","kind":"ConfigMap","namespaced":true},{"name":"namespaces","kind":"Namespace","namespaced":false}]}"#),
            ("/apis/apps/v1", r#"{"resources":[{"name":"deployments","kind":"Deployment","namespaced":true},{"name":"deployments/scale","kind":"Scale","group":"autoscaling","version":"v1","namespaced":true}]}"#),
        ]
        .map(|(path, body)| (path.to_string(), (200, body.to_string())))
        .into();
        all.extend(
            table.iter().map(|(path, code, body)| ((*path).to_string(), (*code, (*body).to_string()))),
        );
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let created = Arc::new(Mutex::new(Vec::new()));
        let (log, bodies) = (seen.clone(), created.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (all, log, bodies) = (all.clone(), log.clone(), bodies.clone());
                std::thread::spawn(move || answer(stream, &all, &log, &bodies));
            }
        });
        Server { address, seen, created }
    }

    pub(crate) fn kubeconfig(&self) -> String {
        format!(
            "apiVersion: v1\nkind: Config\nclusters: [{{name: c, cluster: {{server: 'http://{}'}}}}]\nusers: [{{name: u, user: {{}}}}]\n\
             contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\ncurrent-context: c\n",
            self.address
        )
    }

    fn cluster(&self) -> (Cluster, Files) {
        let files = Files::new(&[("config", &self.kubeconfig())]);
        let path = files.path("config").to_string_lossy().into_owned();
        (connect(&Choice { kubeconfig: path, ..Choice::default() }).unwrap(), files)
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

fn answer(stream: TcpStream, all: &Table, log: &Mutex<Vec<String>>, created: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let mut words = line.split_whitespace();
        let (method, path) =
            (words.next().unwrap_or_default().to_string(), words.next().unwrap_or_default().to_string());
        let mut length = 0;
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header).unwrap_or(0) == 0 || header.trim().is_empty() {
                break;
            }
            if let Some(n) = header.to_lowercase().strip_prefix("content-length:") {
                length = n.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        let _ = reader.read_exact(&mut body);
        log.lock().unwrap().push(format!("{method} {path}"));
        if method == "POST" {
            created.lock().unwrap().push(String::from_utf8_lossy(&body).into_owned());
        }
        let missing = (
            404,
            r#"{"kind":"Status","status":"Failure","reason":"NotFound","message":"not here","code":404}"#
                .to_string(),
        );
        let (code, text) = all.get(&path).cloned().unwrap_or(missing);
        let text = if method == "PATCH" { String::from_utf8_lossy(&body).into_owned() } else { text };
        let code = if method == "PATCH" { 200 } else { code };
        let head = format!(
            "HTTP/1.1 {code} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            text.len()
        );
        if stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(text.as_bytes())).is_err() {
            return;
        }
    }
}

const PAGES: &[(&str, u16, &str)] = &[
    (
        "/api/v1/configmaps?limit=500",
        200,
        r#"{"metadata":{"continue":"t+1"},"items":[{"metadata":{"name":"a","namespace":"shop","labels":{"team":"x"}}}]}"#,
    ),
    (
        "/api/v1/configmaps?limit=500&continue=t%2B1",
        200,
        r#"{"items":[{"metadata":{"name":"b","namespace":"shop"}}]}"#,
    ),
    (
        "/api/v1/namespaces?limit=500",
        200,
        r#"{"items":[{"metadata":{"name":"shop","labels":{"env":"prod"}}}]}"#,
    ),
];

#[test]
fn lists_come_in_pages_and_items_get_their_kind() {
    let server = Server::new(PAGES);
    let (cluster, _files) = server.cluster();
    let kinds = cluster.kinds().unwrap().clone();
    let objects = cluster.list(kinds.resource("", "v1", "configmaps").unwrap(), "").unwrap();
    let shown: Vec<String> = objects
        .iter()
        .map(|o| format!("{} {}", o.text_at(&["kind"]), o.text_at(&["metadata", "name"])))
        .collect();
    assert_eq!(shown, ["ConfigMap a", "ConfigMap b"]);
}

#[test]
fn a_page_that_has_expired_begins_the_list_again() {
    let server = Server::new(&[
        (
            "/api/v1/configmaps?limit=500",
            200,
            r#"{"metadata":{"continue":"old"},"items":[{"metadata":{"name":"a"}}]}"#,
        ),
        (
            "/api/v1/configmaps?limit=500&continue=old",
            410,
            r#"{"kind":"Status","status":"Failure","reason":"Expired","message":"too old","code":410}"#,
        ),
        ("/api/v1/configmaps", 200, r#"{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"c"}}]}"#),
    ]);
    let (cluster, _files) = server.cluster();
    let kinds = cluster.kinds().unwrap().clone();
    let objects = cluster.list(kinds.resource("", "v1", "configmaps").unwrap(), "").unwrap();
    assert_eq!(objects.iter().map(|o| o.text_at(&["metadata", "name"])).collect::<Vec<_>>(), ["a", "c"]);
}

#[test]
fn a_page_that_has_expired_is_followed_by_the_rest_of_the_list_as_it_is_now() {
    let server = Server::new(&[
        (
            "/api/v1/configmaps?limit=500&continue=old",
            410,
            r#"{"kind":"Status","status":"Failure","reason":"Expired","message":"too old","code":410,"metadata":{"continue":"now"}}"#,
        ),
        ("/api/v1/configmaps?limit=500&continue=now", 200, r#"{"items":[{"metadata":{"name":"c"}}]}"#),
    ]);
    let (cluster, _files) = server.cluster();
    let kinds = cluster.kinds().unwrap().clone();
    let page = cluster.page(kinds.resource("", "v1", "configmaps").unwrap(), "", "old").unwrap();
    let names: Vec<&str> = page.items.iter().map(|o| o.text_at(&["metadata", "name"])).collect();
    assert_eq!((names, page.next), (vec!["c"], None));
}

#[test]
fn a_group_whose_server_does_not_answer_is_left_out() {
    let server = Server::new(&[]);
    let (cluster, _files) = server.cluster();
    let kinds = cluster.kinds().unwrap();
    assert!(kinds.kind("apps", "v1", "Deployment").unwrap().kind_of("scale").is_some());
    assert!(kinds.all().iter().all(|r| &*r.group != "gone.io"));
}

#[test]
fn refusals_of_the_api_keep_their_code_and_words() {
    let server = Server::new(&[]);
    let (cluster, _files) = server.cluster();
    let failure = cluster.get("/api/v1/namespaces/shop/configmaps/none").unwrap_err();
    assert_eq!((failure.code, &*failure.reason, &*failure.text), (404, "NotFound", "not here"));
}

#[test]
fn an_object_is_written_as_it_was_read_or_not_at_all() {
    let found = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"shop","uid":"u","resourceVersion":"7"}}"#;
    let server = Server::new(&[("/api/v1/namespaces/shop/configmaps/a", 200, found)]);
    let (cluster, _files) = server.cluster();
    let object = |name: &str| {
        yaml_value(&format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: shop}}}}"
        ))
        .unwrap()
    };
    let last = || server.requests().last().cloned().unwrap();
    let current = cluster.current(&object("a")).unwrap().unwrap();
    let written = cluster.write(&object("a"), Some(&current), "ephor").unwrap();
    assert_eq!(last(), "PATCH /api/v1/namespaces/shop/configmaps/a?fieldManager=ephor&force=true");
    assert_eq!(written.text_at(&["metadata", "resourceVersion"]), "7", "a write in between is a conflict");
    assert!(cluster.current(&object("b")).unwrap().is_none());
    // The table has no such path, as if another client had created the object in between.
    assert!(cluster.write(&object("b"), None, "ephor").is_err());
    assert_eq!(last(), "POST /api/v1/namespaces/shop/configmaps?fieldManager=ephor");
}

/// A cluster that has a validating configuration, with this label.
fn configured(label: &str) -> Server {
    let hooks = r#"{"resources":[{"name":"validatingwebhookconfigurations","kind":"ValidatingWebhookConfiguration","namespaced":false},{"name":"mutatingwebhookconfigurations","kind":"MutatingWebhookConfiguration","namespaced":false}]}"#;
    let groups = r#"{"groups":[{"name":"admissionregistration.k8s.io","preferredVersion":{"version":"v1"},"versions":[{"version":"v1"}]}]}"#;
    let own = format!(
        r#"{{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{{"name":"{}","uid":"u","resourceVersion":"7","labels":{{"app.kubernetes.io/managed-by":"{label}"}},"managedFields":[{{"manager":"other-program"}}]}}}}"#,
        "ephor-resource-validating-webhook-cfg"
    );
    Server::new(&[
        ("/apis", 200, groups),
        ("/apis/admissionregistration.k8s.io/v1", 200, hooks),
        (VALIDATING, 200, &own),
        (&format!("{}?fieldManager=ephor", MUTATING), 201, "{}"),
    ])
}

const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/ephor-resource-validating-webhook-cfg";
const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

#[test]
fn webhook_configurations_of_another_program_are_never_taken_over_silently() {
    for (label, more, written) in
        [("ephor", None, true), ("other", None, false), ("other", Some("--take-over"), true)]
    {
        let server = configured(label);
        let files = Files::new(&[("config", &server.kubeconfig()), ("p.yaml", POLICY)]);
        let mut arguments =
            vec!["webhook-config", "p.yaml", "--url", "https://h", "--apply", "--kubeconfig", "config"];
        arguments.extend(more);
        let ran = files.run(&arguments);
        let writes: Vec<String> = server
            .requests()
            .into_iter()
            .filter(|r| r.starts_with("PATCH") || r.starts_with("POST"))
            .collect();
        if written {
            assert_eq!(ran.code, Some(0), "{}", ran.err);
            let patch = format!("PATCH {VALIDATING}?fieldManager=ephor&force=true");
            assert_eq!(writes, [format!("POST {MUTATING}?fieldManager=ephor"), patch]);
        } else {
            assert_eq!(ran.code, Some(2), "{}", ran.out);
            assert!(ran.err.contains("belongs to another program (written by other-program)"), "{}", ran.err);
            assert!(ran.err.contains("--take-over"), "{}", ran.err);
            assert_eq!(writes, Vec::<String>::new(), "nothing is half-written");
        }
    }
}

#[test]
fn only_configurations_of_our_own_are_removed() {
    for (label, deleted) in [("ephor", true), ("other", false)] {
        let server = configured(label);
        let files = Files::new(&[("config", &server.kubeconfig())]);
        let ran = files.run(&["webhook-config", "--remove", "--kubeconfig", "config"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let found = server.requests().iter().any(|r| *r == format!("DELETE {VALIDATING}"));
        assert_eq!(found, deleted, "{:?}", server.requests());
    }
}

/// The configuration that sends a server the policies themselves.
const OF_POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/ephor-policy-validating-webhook-cfg";

#[test]
fn servers_end_before_all_their_configurations_are_removed() {
    let groups = r#"{"groups":[{"name":"admissionregistration.k8s.io","preferredVersion":{"version":"v1"},"versions":[{"version":"v1"}]},{"name":"apps","preferredVersion":{"version":"v1"},"versions":[{"version":"v1"}]}]}"#;
    let hooks = r#"{"resources":[{"name":"validatingwebhookconfigurations","kind":"ValidatingWebhookConfiguration","namespaced":false},{"name":"mutatingwebhookconfigurations","kind":"MutatingWebhookConfiguration","namespaced":false}]}"#;
    let own = r#"{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration","metadata":{"name":"ephor-policy-validating-webhook-cfg","uid":"u","resourceVersion":"7","labels":{"app.kubernetes.io/managed-by":"ephor"}}}"#;
    let deployment = "/apis/apps/v1/namespaces/ephor/deployments/ephor";
    let body = r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"ephor","namespace":"ephor"},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"ephor"}}}}"#;
    let change = format!("{deployment}?fieldManager=ephor");
    let pods = "/api/v1/namespaces/ephor/pods?labelSelector=app%3Dephor&limit=500";
    let server = Server::new(&[
        ("/apis", 200, groups),
        ("/apis/admissionregistration.k8s.io/v1", 200, hooks),
        (OF_POLICIES, 200, own),
        (deployment, 200, body),
        (&change, 200, body),
        (pods, 200, r#"{"kind":"PodList","metadata":{},"items":[]}"#),
    ]);
    let files = Files::new(&[("config", &server.kubeconfig())]);
    let removal = ["webhook-config", "--remove", "--scale-down", "ephor/ephor", "--kubeconfig", "config"];
    let ran = files.run(&removal);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert_eq!(
        ran.out, "ValidatingWebhookConfiguration ephor-policy-validating-webhook-cfg deleted\n",
        "also those that do not depend on policies"
    );
    let requests = server.requests();
    let place = |wanted: &str| requests.iter().position(|r| r == wanted);
    let order = [format!("PATCH {change}"), format!("GET {pods}"), format!("DELETE {OF_POLICIES}")];
    let places: Vec<Option<usize>> = order.iter().map(|wanted| place(wanted)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} {requests:?}");
    let ran = files.run(&["webhook-config", "p.yaml", "--scale-down", "ephor/ephor"]);
    assert_ne!(ran.code, Some(0), "only with --remove");
}

const POLICY: &str = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: need-team}\nspec:\n  rules:\n  - name: team\n    \
                      match: {any: [{resources: {kinds: [ConfigMap], namespaceSelector: {matchLabels: {env: prod}}}}]}\n    \
                      validate: {message: label team is needed, pattern: {metadata: {labels: {team: \"?*\"}}}}\n";

#[test]
fn shards_of_a_cluster_have_the_results_of_all_its_pages_together() {
    let many: String = (0..40)
        .map(|i| format!(r#"{{"metadata":{{"name":"m-{i}","namespace":"shop"}}}}"#))
        .collect::<Vec<_>>()
        .join(",");
    let first = format!(r#"{{"metadata":{{"continue":"t+1"}},"items":[{many}]}}"#);
    let [_, second, third] = PAGES else { unreachable!("three answers") };
    let server = Server::new(&[("/api/v1/configmaps?limit=500", 200, &first), *second, *third]);
    let files = Files::new(&[("config", &server.kubeconfig()), ("p.yaml", POLICY)]);
    let apply = ["apply", "p.yaml", "--cluster", "--kubeconfig", "config", "--quiet", "--output-format"];
    let expected = files.run(&[&apply[..], &["json"]].concat());
    let of = |shard: &str| {
        let shown = files.run(&[&apply[..], &["jsonl", "--shard", shard]].concat()).out;
        files.write(&format!("{}.jsonl", &shard[..1]), shown.as_bytes());
        shown.matches("{\"result\"").count()
    };
    let counts = [of("1/2"), of("2/2")];
    assert!(counts.iter().all(|count| *count > 10) && counts.iter().sum::<usize>() == 41, "{counts:?}");
    let merged = files.run(&["report", "merge", "1.jsonl", "2.jsonl", "--output-format", "json"]);
    assert_eq!((merged.code, merged.out == expected.out), (expected.code, true), "{}", merged.err);
}

#[test]
fn policies_are_applied_to_the_objects_of_a_cluster() {
    let server = Server::new(PAGES);
    let files = Files::new(&[("config", &server.kubeconfig()), ("p.yaml", POLICY)]);
    let ran = files.run(&["apply", "p.yaml", "--cluster", "--kubeconfig", "config"]);
    assert!(ran.out.contains("Applying 1 policy rule(s) to 2 resource(s)..."), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("resource shop/ConfigMap/b failed"), "{}", ran.out);
    assert!(ran.out.contains("pass: 1, fail: 1"), "{}", ran.out);
    let ran = files.run(&["apply", "p.yaml", "--cluster", "--kubeconfig", "config", "-r", "a"]);
    assert!(ran.out.contains("pass: 1, fail: 0"), "{}", ran.out);
    let ran = files.run(&["apply", "p.yaml", "--cluster", "--kubeconfig", "config", "-r", "none"]);
    assert_eq!(ran.err, "Error: failed to load resources (none not found in cluster)\n");
}

#[test]
fn objects_of_a_cluster_have_a_name_instead_of_a_file_in_every_format() {
    let server = Server::new(PAGES);
    let files = Files::new(&[("config", &server.kubeconfig()), ("p.yaml", POLICY)]);
    let run = |format: &str| {
        let arguments = ["apply", "p.yaml", "--cluster", "--kubeconfig", "config", "--output-format", format];
        let ran = files.run(&arguments);
        assert_eq!(ran.code, Some(1), "{format}: {}", ran.err);
        ran.out
    };
    let text = run("text");
    assert!(text.starts_with("ConfigMap shop/b\n"), "{text}");
    let sarif: serde_json::Value = serde_json::from_str(&run("sarif")).unwrap();
    let result = &sarif["runs"][0]["results"][0];
    let location = &result["locations"][0];
    assert_eq!(location["logicalLocations"][0]["fullyQualifiedName"], "shop/ConfigMap/b");
    // What a scanner can open is the policy.
    assert_eq!(location["physicalLocation"]["artifactLocation"]["uri"], "p.yaml");
    let github = run("github");
    assert!(github.starts_with("::error file=p.yaml,line="), "{github}");
    assert!(github.ends_with("(ConfigMap shop/b)\n"), "{github}");
    let junit = run("junit");
    assert!(junit.contains("classname=\"shop/ConfigMap/b\""), "{junit}");
    assert!(junit.contains("resource: ConfigMap shop/b"), "{junit}");
    let html = run("html");
    assert!(html.contains("ConfigMap") && html.contains("shop/b") && !html.contains("cluster:0"), "no name");
    let json: serde_json::Value = serde_json::from_str(&run("json")).unwrap();
    let failed = json["results"].as_array().unwrap().iter().find(|r| r["result"] == "fail").unwrap();
    assert_eq!(failed["resource"]["name"], "b");
    assert_eq!(failed["place"], serde_json::Value::Null);
    assert!(run("markdown").contains("| shop/ConfigMap/b |"));
}

/// A server that takes webhook configurations, and has none yet.
fn unconfigured(version: &str) -> Server {
    Server::new(&[
        ("/version", 200, version),
        (
            "/apis",
            200,
            r#"{"groups":[{"name":"admissionregistration.k8s.io","preferredVersion":{"version":"v1"},"versions":[{"version":"v1"}]}]}"#,
        ),
        (
            "/apis/admissionregistration.k8s.io/v1",
            200,
            r#"{"resources":[{"name":"validatingwebhookconfigurations","kind":"ValidatingWebhookConfiguration"},{"name":"mutatingwebhookconfigurations","kind":"MutatingWebhookConfiguration"}]}"#,
        ),
        (&format!("{MUTATING}?fieldManager=ephor"), 201, "{}"),
        (&format!("{MUTATING}?fieldManager=ephor").replace("mutating", "validating"), 201, "{}"),
    ])
}

/// A policy whose condition is an expression from 1.37 on.
const OF_LATER: &str = "{apiVersion: policies.kyverno.io/v1, kind: ValidatingPolicy, metadata: {name: p}, spec: {matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}, matchConditions: [{name: c, expression: 'object.metadata.`name` != \"a\"'}], validations: [{expression: 'true'}]}}";

#[test]
fn webhook_configurations_are_those_of_the_release_of_the_cluster_or_of_the_flag() {
    let alone = "vpol.validate.ephor.svc-fail-finegrained-p";
    let apply = ["webhook-config", "p.yaml", "--url", "https://h", "--apply", "--kubeconfig", "config"];
    for (version, flag, is_alone, said) in [
        (r#"{"gitVersion":"v1.36.3"}"#, None, false, ""),
        (r#"{"gitVersion":"v1.37.2"}"#, None, true, ""),
        (r#"{"gitVersion":"v1.36.3"}"#, Some("--kubernetes=1.37"), true, ""),
        (
            r#"{"gitVersion":"v1.99.0"}"#,
            None,
            true,
            "nothing is recorded of the API server's version; 1.38 applies",
        ),
        ("{}", None, false, "the API server does not say its version; 1.36 applies"),
    ] {
        let server = unconfigured(version);
        let files = Files::new(&[("config", &server.kubeconfig()), ("p.yaml", OF_LATER)]);
        let ran = files.run(&apply.into_iter().chain(flag).collect::<Vec<_>>());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert_eq!(ran.err.is_empty(), said.is_empty(), "{version}: {}", ran.err);
        assert!(ran.err.contains(said), "{version}: {}", ran.err);
        let created = server.created.lock().unwrap().join("\n");
        assert!(created.contains("vpol.validate.ephor.svc-fail"), "{created}");
        assert_eq!(created.contains(alone), is_alone, "{version} {flag:?}: {created}");
    }
    let files = Files::new(&[("p.yaml", OF_LATER)]);
    let printed = ["webhook-config", "p.yaml", "--url", "https://h"];
    assert!(!files.run(&printed).out.contains(alone));
    assert!(files.run(&[&printed[..], &["--kubernetes", "1.37"]].concat()).out.contains(alone));
}

#[test]
fn a_simulated_api_server_calls_webhooks_for_reviews_up_to_1_36_alone() {
    let hooks = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: c}, webhooks: [{name: a.b.c, clientConfig: {url: 'https://h/x'}, sideEffects: None, admissionReviewVersions: [v1], rules: [{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*']}], matchConditions: [{name: m, expression: 'object.`kind` != \"Pod\"'}]}]}";
    let review = "{apiVersion: authorization.k8s.io/v1, kind: SelfSubjectAccessReview, metadata: {name: r}, spec: {nonResourceAttributes: {path: /, verb: get}}}";
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: m, namespace: shop}}";
    let plain = hooks.replace("`kind`", "kind");
    let files = Files::new(&[("hooks", hooks), ("plain", &plain), ("review", review), ("map", map)]);
    let run = |config: &str, request: &str, release: &str| {
        files.run(&["webhook-config", "--config", config, "--simulate", request, "--kubernetes", release])
    };
    let called = "1. c/a.b.c at https://h/x";
    for (release, is_called) in [("1.36", true), ("1.37", false), ("1.38", false)] {
        let ran = run("plain", "review", release);
        assert_eq!(ran.out.contains(called), is_called, "{release}: {}{}", ran.out, ran.err);
        assert!(run("plain", "map", release).out.contains(called));
    }
    let refused = run("hooks", "map", "1.36");
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("unsupported syntax: '`'"), "{}", refused.err);
    assert!(run("hooks", "map", "1.37").out.contains(called));
}

#[test]
fn webhook_configurations_are_simulated_and_written() {
    let server = unconfigured(r#"{"gitVersion":"v1.36.3"}"#);
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a, namespace: shop}\n";
    let map = pod.replace("Pod", "ConfigMap");
    let files = Files::new(&[
        ("config", &server.kubeconfig()),
        ("p.yaml", POLICY),
        ("pod.yaml", pod),
        ("map.yaml", &map),
    ]);
    let ran = files.run(&["webhook-config", "p.yaml", "--simulate", "map.yaml"]);
    assert_eq!(
        ran.out,
        "CREATE configmaps shop/a\nmutating webhooks, one after the other: none\nvalidating webhooks, together:\n  \
         1. ephor-resource-validating-webhook-cfg/validate.ephor.svc-fail at https://ephor.ephor.svc:443/validate/fail?timeout=10s\n"
    );
    let ran = files.run(&["webhook-config", "p.yaml", "--simulate", "pod.yaml"]);
    assert!(ran.out.ends_with("not called:\n  ephor-resource-validating-webhook-cfg/validate.ephor.svc-fail: no rule is for the request's resource\n"), "{}", ran.out);
    let ran = files.run(&["webhook-config", "p.yaml", "--apply", "--kubeconfig", "config"]);
    assert_eq!((ran.code, &*ran.err), (Some(0), ""));
    let written: Vec<String> = server.requests().into_iter().filter(|r| r.starts_with("POST")).collect();
    assert_eq!(written.len(), 2, "{written:?}");
}

#[test]
fn a_configuration_that_an_api_server_would_refuse_is_not_printed() {
    let files = Files::new(&[("p.yaml", POLICY)]);
    let ran = files.run(&["webhook-config", "p.yaml", "--url", "http://h"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("'https' is the only allowed URL scheme"), "{}", ran.err);
}

/// Policies of all sorts, and what is around them, as `kubectl get -o yaml` prints them.
const DUMP: &str = r#"apiVersion: v1
kind: List
items:
- apiVersion: kyverno.io/v1
  kind: ClusterPolicy
  metadata: {name: need-team}
  spec:
    validationFailureAction: Audit
    validationFailureActionOverrides:
    - {action: Enforce, namespaces: [shop]}
    rules:
    - name: team
      match: {any: [{resources: {kinds: [Pod]}}]}
      validate: {message: team needed, pattern: {metadata: {labels: {team: "?*"}}}}
  status: {conditions: [{type: Ready, status: "True"}]}
- apiVersion: kyverno.io/v1
  kind: ClusterPolicy
  metadata: {name: quotas}
  spec:
    rules:
    - name: quota
      match: {any: [{resources: {kinds: [Namespace]}}]}
      generate:
        apiVersion: v1
        kind: ResourceQuota
        name: default
        namespace: "{{request.object.metadata.name}}"
        synchronize: true
        data: {spec: {hard: {pods: "10"}}}
- apiVersion: kyverno.io/v1
  kind: Policy
  metadata: {name: labels, namespace: shop}
  spec:
    failurePolicy: Ignore
    rules:
    - name: add
      match: {any: [{resources: {kinds: [ConfigMap]}}]}
      mutate: {patchStrategicMerge: {metadata: {labels: {+(team): shop}}}}
- apiVersion: kyverno.io/v1
  kind: ClusterPolicy
  metadata: {name: tags}
  spec:
    rules:
    - name: tag
      match: {any: [{resources: {kinds: [Pod]}}]}
      validate: {failureAction: Enforce, message: m, deny: {conditions: {all: [{key: a, operator: Nope, value: b}]}}}
- apiVersion: kyverno.io/v1
  kind: ClusterPolicy
  metadata: {name: not-ready}
  spec:
    validationFailureAction: Enforce
    rules:
    - name: r
      match: {any: [{resources: {kinds: [Pod]}}]}
      validate: {message: m, pattern: {metadata: {name: "?*"}}}
  status: {conditions: [{type: Ready, status: "False"}]}
- apiVersion: policies.kyverno.io/v1
  kind: ValidatingPolicy
  metadata: {name: no-latest}
  spec:
    validationActions: [Deny]
    matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
    validations: [{expression: "object.spec.containers.all(c, c.image != 'x')"}, {expression: "object.spec +"}]
- apiVersion: policies.kyverno.io/v1
  kind: ValidatingPolicy
  metadata: {name: need-team}
  spec:
    matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
    validations: [{expression: "has(object.metadata.labels)"}]
- apiVersion: kyverno.io/v2
  kind: ClusterCleanupPolicy
  metadata: {name: old-maps}
  spec:
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    schedule: "0 3 * * *"
- apiVersion: kyverno.io/v2
  kind: PolicyException
  metadata: {name: old-pods, namespace: shop}
  spec:
    exceptions:
    - {policyName: need-team, ruleNames: [team, autogen-team, gone]}
    - {policyName: nowhere, ruleNames: ["*"]}
    match: {any: [{resources: {kinds: [Pod], names: ["old-*"]}}]}
- apiVersion: policies.kyverno.io/v1
  kind: PolicyException
  metadata: {name: cel, namespace: shop}
  spec:
    policyRefs: [{kind: ValidatingPolicy, name: no-latest}]
- apiVersion: v1
  kind: ResourceQuota
  metadata: {name: default, namespace: shop, labels: {generate.kyverno.io/policy-name: quotas, generate.kyverno.io/policy-namespace: ""}}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: kyverno-admission-controller, namespace: kyverno, labels: {app.kubernetes.io/version: 3.9.1}}
  spec: {template: {spec: {containers: [{name: kyverno, image: "example.com/kyverno/kyverno:v1.19.1"}]}}}
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingWebhookConfiguration
  metadata: {name: kyverno-resource-validating-webhook-cfg, labels: {webhook.kyverno.io/managed-by: kyverno}}
- apiVersion: admissionregistration.k8s.io/v1
  kind: MutatingWebhookConfiguration
  metadata: {name: ephor-resource-mutating-webhook-cfg, managedFields: [{manager: helm}]}
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: clusterpolicies.kyverno.io}
  spec:
    group: kyverno.io
    names: {kind: ClusterPolicy, plural: clusterpolicies}
    scope: Cluster
    versions: [{name: v1, served: true, storage: true}, {name: v2beta1, served: true, storage: false}]
"#;

#[test]
fn a_dump_is_checked_before_an_upgrade_of_kyverno() {
    let files = Files::new(&[("dump.yaml", DUMP)]);
    let ran = files.run(&["cluster-check", "dump.yaml"]);
    assert_eq!((ran.code, &*ran.err), (Some(1), ""));
    insta::assert_snapshot!("cluster_check_text", ran.out);
    let json = files.run(&["cluster-check", "dump.yaml", "--output-format", "json"]);
    assert_eq!(json.code, Some(1));
    insta::assert_snapshot!("cluster_check_json", json.out);
    let markdown = files.run(&["cluster-check", "dump.yaml", "--output-format", "markdown"]).out;
    assert!(markdown.contains("| ClusterPolicy need-team | denies, audits | Fail | ready |"), "{markdown}");
    assert!(
        markdown.lines().filter(|line| line.starts_with("- ")).eq(ran
            .out
            .lines()
            .take_while(|l| !l.is_empty())
            .map(|l| format!("- {l}"))
            .collect::<Vec<_>>())
    );
}

#[test]
fn a_kyverno_that_ignores_policies_already_is_named() {
    let files = Files::new(&[("dump.yaml", &DUMP.replace("kyverno:v1.19.1", "kyverno:v1.20.0"))]);
    let ran = files.run(&["cluster-check", "dump.yaml"]);
    let begins = "Kyverno v1.20.0 runs: 1 Deployment.\n6 policies have no effect: Kyverno ignores such kinds from 1.20 on, and 1.21 removes them.\n1 exception has no effect either.\n";
    assert!(ran.out.starts_with(begins), "{}", ran.out);
}

#[test]
fn exit_codes_of_the_check_say_whether_there_is_something_to_do() {
    let current = "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: a}\nspec:\n  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}\n  validations: [{expression: 'true'}]\n";
    let files = Files::new(&[("current.yaml", current), ("broken.yaml", "a: [")]);
    let good = files.run(&["cluster-check", "current.yaml"]);
    assert_eq!(good.code, Some(0), "{}", good.out);
    assert!(
        good.out.contains(
            "No policy stops having effect with Kyverno 1.20 (of 1 policy).\nephor takes the policy."
        ),
        "{}",
        good.out
    );
    for unreadable in ["broken.yaml", "missing.yaml"] {
        assert_eq!(files.run(&["cluster-check", unreadable]).code, Some(2), "{unreadable}");
    }
}

#[test]
fn a_cluster_is_checked_with_what_may_be_read_of_it() {
    let groups = r#"{"groups":[{"name":"kyverno.io","preferredVersion":{"version":"v1"},"versions":[{"version":"v1"}]},{"name":"apps","preferredVersion":{"version":"v1"},"versions":[{"version":"v1"}]}]}"#;
    let kinds = r#"{"resources":[{"name":"clusterpolicies","kind":"ClusterPolicy","namespaced":false}]}"#;
    let policies = r#"{"items":[{"metadata":{"name":"maps"},"spec":{"rules":[{"name":"r","match":{"any":[{"resources":{"kinds":["Namespace"]}}]},"generate":{"apiVersion":"v1","kind":"ConfigMap","name":"defaults","namespace":"{{request.object.metadata.name}}","data":{"data":{"a":"b"}}}}]}}]}"#;
    let generated = r#"{"items":[{"metadata":{"name":"defaults","namespace":"shop","labels":{"generate.kyverno.io/policy-name":"maps","generate.kyverno.io/policy-namespace":""}}}]}"#;
    let forbidden = r#"{"kind":"Status","status":"Failure","reason":"Forbidden","message":"deployments.apps is forbidden","code":403}"#;
    let labelled = "/api/v1/configmaps?labelSelector=generate.kyverno.io%2Fpolicy-name&limit=500";
    let table = [
        ("/apis", 200, groups),
        ("/apis/kyverno.io/v1", 200, kinds),
        ("/apis/kyverno.io/v1/clusterpolicies?limit=500", 200, policies),
        ("/apis/apps/v1/deployments?limit=500", 403, forbidden),
        (labelled, 200, generated),
    ];
    let server = Server::new(&table);
    let files = Files::new(&[("config", &server.kubeconfig())]);
    let ran = files.run(&["cluster-check", "--kubeconfig", "config"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    for text in [
        "No Deployment of Kyverno was found.",
        "ClusterPolicy maps  generates (1 object)",
        "takes it",
        "configmaps  create, delete, get, list, patch, update, watch  ClusterPolicy maps",
        "deployments: deployments.apps is forbidden",
    ] {
        assert!(ran.out.contains(text), "{text}: {}", ran.out);
    }
    // Nothing is written.
    assert!(server.requests().iter().all(|request| request.starts_with("GET ")), "{:?}", server.requests());
    let refused = Server::new(&[
        ("/apis", 200, groups),
        ("/apis/kyverno.io/v1", 200, kinds),
        ("/apis/kyverno.io/v1/clusterpolicies?limit=500", 403, forbidden),
    ]);
    files.write("config", refused.kubeconfig().as_bytes());
    assert_eq!(files.run(&["cluster-check", "--kubeconfig", "config"]).code, Some(2));
}

#[test]
fn stored_policies_migrate_without_what_servers_add() {
    let groups = r#"{"groups":[{"name":"kyverno.io","preferredVersion":{"version":"v1"},"versions":[{"version":"v1"}]},{"name":"apiextensions.k8s.io","preferredVersion":{"version":"v1"},"versions":[{"version":"v1"}]}]}"#;
    let policy = r#"{"metadata":{"name":"no-data","uid":"u","resourceVersion":"7","generation":2,"managedFields":[],"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","a":"b"}},"spec":{"rules":[{"name":"r","match":{"any":[{"resources":{"kinds":["Widget"]}}]},"validate":{"message":"no data","pattern":{"spec":{"size":"<5"}}}}]},"status":{"ready":true}}"#;
    let definition = r#"{"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"kind":"Widget","plural":"widgets"},"versions":[{"name":"v1","served":true,"storage":true}]}}"#;
    let server = Server::new(&[
        ("/apis", 200, groups),
        (
            "/apis/kyverno.io/v1",
            200,
            r#"{"resources":[{"name":"clusterpolicies","kind":"ClusterPolicy","namespaced":false}]}"#,
        ),
        (
            "/apis/apiextensions.k8s.io/v1",
            200,
            r#"{"resources":[{"name":"customresourcedefinitions","kind":"CustomResourceDefinition","namespaced":false}]}"#,
        ),
        ("/apis/kyverno.io/v1/clusterpolicies?limit=500", 200, &format!(r#"{{"items":[{policy}]}}"#)),
        (
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?limit=500",
            200,
            &format!(r#"{{"items":[{definition}]}}"#),
        ),
    ]);
    let files = Files::new(&[("config", &server.kubeconfig())]);
    let ran = files.run(&["migrate", "--cluster", "--kubeconfig", "config", "--out", "new"]);
    let text = std::fs::read_to_string(files.path("new/clusterpolicy/no-data.yaml")).expect(&ran.err);
    assert!(text.starts_with("apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata:\n  annotations:\n    a: b\n  name: no-data\nspec:\n"), "{text}");
    assert!(text.contains("resources: [widgets]") && !ran.out.contains("guess"), "{text}{}", ran.out);
    assert!(
        ran.out.contains(
            "cluster/clusterpolicy/no-data.yaml:1: no-data: proved relative (the types of fields of Widget)"
        ),
        "{}",
        ran.out
    );
}

#[test]
fn called_as_kyverno_migrate_writes_objects_in_their_stored_version() {
    let definition = |stored: &str| {
        format!(
            r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"widgets.example.com"}},"spec":{{"group":"example.com","scope":"Namespaced","names":{{"kind":"Widget","plural":"widgets"}},"versions":[{{"name":"v1alpha1"}},{{"name":"v1","storage":true}}]}},"status":{{"storedVersions":[{stored}]}}}}"#
        )
    };
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com";
    let (status, object) = (
        format!("{path}/status?fieldManager=kyverno"),
        "/apis/example.com/v1/namespaces/shop/widgets/a?fieldManager=kyverno",
    );
    for (stored, printed, written) in [
        (
            r#""v1alpha1","v1""#,
            "migrating resources...\npatching status...\n",
            vec![format!("PUT {object}"), format!("PUT {status}")],
        ),
        (r#""v1""#, "stored version is already up to date, nothing to do\n", Vec::new()),
    ] {
        let server = Server::new(&[
            (path, 200, &definition(stored)),
            (
                "/apis/example.com/v1/widgets?limit=500",
                200,
                r#"{"items":[{"metadata":{"name":"a","namespace":"shop"}}]}"#,
            ),
            (object, 200, "{}"),
            (&status, 200, "{}"),
        ]);
        let files = Files::new(&[("config", &server.kubeconfig())]);
        let ran =
            as_kyverno(&files, &["migrate", "--resource", "widgets.example.com", "--kubeconfig", "config"]);
        assert_eq!(
            ran.out,
            format!("migrating resource: widgets.example.com ...\nstored version: v1\n{printed}"),
            "{}",
            ran.err
        );
        let writes: Vec<String> = server.requests().into_iter().filter(|r| r.starts_with("PUT")).collect();
        assert_eq!((ran.code, writes), (Some(0), written));
        let ran = as_kyverno(&files, &["migrate", "--resource", " "]);
        assert_eq!((ran.code, ran.err.as_str()), (Some(1), "Error: resource cannot be empty\n"));
        let ran = as_kyverno(&files, &["migrate"]);
        assert_eq!(ran.err, "Error: required flag(s) \"resource\" not set\n");
    }
}

/// Runs the program as `kyverno`.
fn as_kyverno(files: &Files, arguments: &[&str]) -> Ran {
    Ran::new(files.program(arguments).arg0("kyverno").output().unwrap())
}
