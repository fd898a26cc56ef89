//! Reloads, certificates, and the end.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use crate::server::{Client, get, post, refusing, review, start, start_with, until};

fn write(path: &Path, text: &str) {
    let temporary = path.with_extension("new");
    std::fs::write(&temporary, text).unwrap();
    std::fs::rename(temporary, path).unwrap();
}

#[test]
fn changed_policies_are_used_and_broken_ones_leave_the_last_good_in_use() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.yaml");
    std::fs::write(&file, refusing("latest")).unwrap();
    let server = start(dir.path(), &[]);
    let refuses =
        |tag: &str| post(&server, "/validate", &review("u", &format!("nginx:{tag}")))["allowed"] == false;
    assert!(refuses("latest") && !refuses("dev"));
    write(&file, &refusing("dev"));
    until("the new policy is used", || refuses("dev"), |r| *r);
    until("the former is given up", || refuses("latest"), |r| !r);
    write(&file, "kind: ClusterPolicy\n  broken: [");
    let ready = until("the problem is reported", || get(&server, "/readyz"), |r| r.body.contains("a.yaml"));
    assert_eq!(ready.status, 200);
    assert!(refuses("dev"));
    let metrics = get(&server, "/metrics").body;
    assert!(metrics.contains("ephor_policy_problems 1"), "{metrics}");
    write(&file, &refusing("latest"));
    until("it is repaired", || refuses("latest"), |r| *r);
    assert!(!get(&server, "/readyz").body.contains("a.yaml"));
}

/// The lines of the log with this message.
fn logged(server: &crate::server::Server, message: &str) -> Vec<serde_json::Value> {
    let log = server.log.lock().unwrap();
    let lines = log.iter().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    lines.map(|line| line["fields"].clone()).filter(|fields| fields["message"] == message).collect()
}

#[test]
fn a_reload_and_a_denial_are_logged_with_names() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.yaml"), refusing("latest")).unwrap();
    let server = start(dir.path(), &[]);
    assert_eq!(post(&server, "/validate", &review("u1", "nginx:dev"))["allowed"], true);
    assert_eq!(post(&server, "/validate", &review("u2", "nginx:latest"))["allowed"], false);
    let denials = until("the denial is logged", || logged(&server, "denied"), |found| !found.is_empty());
    let [denial] = &denials[..] else { panic!("{denials:?}") };
    let of = |key: &str| denial[key].as_str().unwrap_or_default().to_owned();
    assert_eq!([of("rules"), of("user"), of("operation")], ["no-latest/tag", "anna", "CREATE"]);
    assert_eq!([of("object"), of("uid")], ["Pod shop/cart", "u2"]);
    write(&dir.path().join("a.yaml"), &refusing("latest").replace("the tag is refused", "another text"));
    write(&dir.path().join("b.yaml"), &refusing("old"));
    let wanted =
        |found: &Vec<serde_json::Value>| found.iter().any(|line| line["added"] == "ClusterPolicy no-old");
    let reloads = until("the reload is logged", || logged(&server, "policies reloaded"), wanted);
    assert!(reloads.iter().any(|line| line["changed"] == "ClusterPolicy no-latest"), "{reloads:?}");
    assert!(reloads.iter().all(|line| line["removed"] == ""), "{reloads:?}");
}

fn serve(arguments: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_ephor")).arg("serve").args(arguments).output().unwrap()
}

#[test]
fn paths_that_do_not_exist_and_addresses_without_port_stop_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let policies = dir.path().join("a.yaml");
    std::fs::write(&policies, refusing("latest")).unwrap();
    let (policies, missing) = (policies.to_str().unwrap(), dir.path().join("nosuch"));
    let missing = missing.to_str().unwrap();
    let refused = |arguments: &[&str], text: &str| {
        let all = [&["--plain-http", "--metrics-listen", "none"], arguments].concat();
        let output = serve(&all);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(text), "{arguments:?}: {said}");
    };
    let no_file = format!("Error: {missing}: entity not found");
    refused(&["--policies", missing, "--listen", "127.0.0.1:0"], &no_file);
    refused(&["--policies", policies, "--data", missing, "--listen", "127.0.0.1:0"], &no_file);
    refused(&["--policies", policies, "--config-map", missing, "--listen", "127.0.0.1:0"], &no_file);
    refused(&["--policies", policies, "--listen", "127.0.0.1"], "`127.0.0.1` is not HOST:PORT");
}

#[test]
fn a_check_lists_what_would_be_loaded_and_fails_on_problems() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.yaml"), refusing("latest")).unwrap();
    let place = dir.path().to_str().unwrap();
    let check = || {
        let output = serve(&["--check", "--plain-http", "--policies", place]);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let good = "policy: ClusterPolicy no-latest\n1 usable policies, 0 problems; the server would be ready\n";
    assert_eq!(check(), (Some(0), good.to_owned()));
    std::fs::write(dir.path().join("b.yaml"), "kind: ClusterPolicy\n  broken: [").unwrap();
    let (code, text) = check();
    assert_eq!(code, Some(1));
    assert!(text.contains("problem: ") && text.contains("b.yaml"), "{text}");
}

#[test]
fn a_folder_that_is_gone_leaves_its_policies_in_use() {
    let dir = tempfile::tempdir().unwrap();
    let policies = dir.path().join("policies");
    std::fs::create_dir(&policies).unwrap();
    std::fs::write(policies.join("a.yaml"), refusing("latest")).unwrap();
    let server = start(&policies, &[]);
    std::fs::remove_dir_all(&policies).unwrap();
    let ready = until("it is reported", || get(&server, "/readyz"), |r| r.body.contains("no such file"));
    assert!(ready.body.contains("policies 1 "), "{}", ready.body);
    assert_eq!(post(&server, "/validate", &review("u", "nginx:latest"))["allowed"], false);
    std::fs::create_dir(&policies).unwrap();
    std::fs::write(policies.join("b.yaml"), refusing("dev")).unwrap();
    until(
        "the new folder is used",
        || post(&server, "/validate", &review("u", "nginx:dev"))["allowed"] == false,
        |refused| *refused,
    );
    // The file that is not there any more is given up after a while.
    until(
        "the former file is given up",
        || post(&server, "/validate", &review("u", "nginx:latest"))["allowed"] == true,
        |allowed| *allowed,
    );
}

/// Sends reviews without pause on several connections; counts the answers and returns the first
/// wrong one.
struct Traffic {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
    threads: Vec<thread::JoinHandle<Result<(), String>>>,
}

fn traffic(address: &str, clients: usize) -> Traffic {
    let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let threads = (0..clients)
        .map(|_| {
            let (address, stop, answered) = (address.to_string(), stop.clone(), answered.clone());
            thread::spawn(move || {
                let mut client = Client::new(&address);
                let mut fresh = true;
                while !stop.load(Ordering::Relaxed) {
                    let image =
                        if answered.load(Ordering::Relaxed) % 2 == 0 { "nginx:1" } else { "nginx:latest" };
                    match client.review("/validate", &review("u", image)) {
                        Ok(reply) => {
                            fresh = false;
                            answered.fetch_add(1, Ordering::Relaxed);
                            let allowed = reply.response()["allowed"] == true;
                            if allowed != (image == "nginx:1") {
                                return Err(format!("{image}: {}", reply.body));
                            }
                        }
                        // A connection that is reused may be closed between two requests; a new one
                        // may not.
                        Err(e) if fresh => return Err(e.to_string()),
                        Err(_) => match Client::try_new(&address) {
                            Ok(other) => (client, fresh) = (other, true),
                            Err(_) => return Ok(()),
                        },
                    }
                }
                Ok(())
            })
        })
        .collect();
    Traffic { stop, answered, threads }
}

impl Traffic {
    fn wait_for(&self, answers: usize) {
        let wanted = self.answered.load(Ordering::Relaxed) + answers;
        until("answers", || self.answered.load(Ordering::Relaxed), |n| *n >= wanted);
    }

    fn end(self) -> usize {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().unwrap().unwrap();
        }
        self.answered.load(Ordering::Relaxed)
    }
}

#[test]
fn no_verdict_is_wrong_while_policies_change_all_the_time() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.yaml"), refusing("latest")).unwrap();
    let server = start(dir.path(), &[]);
    let traffic = traffic(&server.reviews, 4);
    for i in 0..300 {
        let other = dir.path().join(format!("other-{}.yaml", i % 7));
        match i % 3 {
            0 => write(&other, &refusing("dev")),
            1 => write(&other, "broken: ["),
            _ => drop(std::fs::remove_file(&other)),
        }
        write(&dir.path().join("a.yaml"), &refusing("latest"));
        traffic.wait_for(1);
    }
    assert!(traffic.end() >= 300);
}

#[test]
fn a_terminated_server_answers_the_requests_that_it_has_accepted() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.yaml"), refusing("latest")).unwrap();
    let mut server = start(dir.path(), &["--shutdown-delay", "3s"]);
    let traffic = traffic(&server.reviews, 8);
    traffic.wait_for(200);
    let id = server.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    // It keeps serving until clients have seen that it is shutting down.
    until("it is not ready", || get(&server, "/readyz"), |r| r.status == 503);
    traffic.wait_for(50);
    assert!(traffic.end() >= 250);
    assert!(server.child.wait().unwrap().success());
}

#[test]
fn a_server_that_was_killed_starts_again_where_it_was() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.yaml"), refusing("latest")).unwrap();
    let log = dir.path().join("audit.jsonl");
    let flags = ["--audit-log", log.to_str().unwrap()];
    let mut server = start(&dir.path().join("a.yaml"), &flags);
    let traffic = traffic(&server.reviews, 4);
    traffic.wait_for(50);
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    // Its clients see closed connections only.
    traffic.stop.store(true, Ordering::Relaxed);
    let answered = traffic.answered.load(Ordering::Relaxed);
    let written = std::fs::read_to_string(&log).unwrap().lines().filter(|l| l.contains("\"answer\"")).count();
    assert!(written >= answered, "{written} lines of {answered} answers");
    let server = start(&dir.path().join("a.yaml"), &flags);
    assert_eq!(post(&server, "/validate", &review("u", "nginx:latest"))["allowed"], false);
    let after = std::fs::read_to_string(&log).unwrap().lines().count();
    assert!(after > written);
}

fn agent(authority: &str) -> ureq::Agent {
    let certificate = ureq::tls::Certificate::from_pem(authority.as_bytes()).unwrap();
    let roots = ureq::tls::RootCerts::new_with_certs(&[certificate]);
    let tls = ureq::tls::TlsConfig::builder().root_certs(roots).build();
    ureq::Agent::config_builder().tls_config(tls).build().into()
}

#[test]
fn replaced_certificates_are_used_without_losing_a_connection() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.yaml"), refusing("latest")).unwrap();
    let (one, other) = (dir.path().join("one"), dir.path().join("other"));
    let make = |folder: &Path| {
        let names = vec!["127.0.0.1".to_string()];
        let made = ephor_server::serve::self_signed::SelfSigned { folder: folder.into(), names };
        made.renew(std::time::SystemTime::now()).unwrap();
        std::fs::read_to_string(made.bundle()).unwrap()
    };
    let (first, second) = (make(&one), make(&other));
    let flags = [
        "--tls-cert",
        &format!("{}/tls.crt", one.display()),
        "--tls-key",
        &format!("{}/tls.key", one.display()),
    ]
    .map(String::from);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let server = start_with(&dir.path().join("a.yaml"), &flags);
    let url = format!("https://{}/validate", server.reviews);
    let post = |agent: &ureq::Agent| {
        let body = review("u", "nginx:latest").to_string();
        let sent = agent.post(&url).header("Content-Type", "application/json").send(&body);
        sent.ok()
            .and_then(|mut r| r.body_mut().read_to_string().ok())
            .is_some_and(|b| b.contains("\"allowed\":false"))
    };
    let open = agent(&first);
    assert!(post(&open));
    assert!(!post(&agent(&second)));
    // The key first: for a moment the pair does not fit together, and the former one stays.
    for file in ["tls.key", "tls.crt"] {
        std::fs::copy(other.join(file), one.join(file)).unwrap();
        assert!(post(&open));
    }
    until("the new pair is used", || post(&agent(&second)), |ok| *ok);
    assert!(post(&open), "the open connection is not affected");
    assert!(!post(&agent(&first)));
}

#[test]
fn policies_are_run_on_the_objects_of_an_audit_log() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.yaml"), refusing("latest")).unwrap();
    let logs = tempfile::tempdir().unwrap();
    let log = logs.path().join("audit.jsonl");
    let log = log.to_str().unwrap();
    let server = start(dir.path(), &["--audit-log", log, "--audit-log-objects"]);
    assert_eq!(post(&server, "/validate", &review("u1", "nginx:dev"))["allowed"], true);
    drop(server);
    // What would this new policy have denied?
    let stricter = logs.path().join("stricter.yaml");
    std::fs::write(&stricter, refusing("dev")).unwrap();
    let apply = |output: &str| {
        let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_ephor"));
        let arguments = ["apply", stricter.to_str().unwrap(), "-r", log, "--output-format", output];
        let ran = program.args(arguments).output().unwrap();
        (ran.status.code(), String::from_utf8(ran.stdout).unwrap())
    };
    let (code, text) = apply("text");
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("FAIL no-dev/tag") && text.contains("Pod shop/cart"), "{text}");
    let (_, json) = apply("json");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["results"][0]["place"]["line"], 1);
}

#[test]
fn problems_are_one_line_of_the_log_without_escapes() {
    let dir = tempfile::tempdir().unwrap();
    let broken = "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: broken}\nspec:\n  matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}\n  validations: [{expression: 'object.spec +'}]\n";
    std::fs::write(dir.path().join("a.yaml"), refusing("latest")).unwrap();
    let server = start(dir.path(), &[]);
    write(&dir.path().join("b.yaml"), broken);
    let problems = until(
        "the problem is logged",
        || logged(&server, "policies"),
        |found: &Vec<serde_json::Value>| found.iter().any(|line| line["problem"].is_string()),
    );
    let problem = problems.iter().find_map(|line| line["problem"].as_str()).unwrap();
    assert!(
        problem.contains("spec.validations[0].expression") && problem.contains("Syntax error"),
        "{problem}"
    );
    assert!(!problem.contains(['\n', '^']) && !problem.contains("<nil>"), "{problem}");
}
