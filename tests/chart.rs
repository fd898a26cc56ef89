//! The Helm chart: what it carries is what the program has, and its pages are current.
//! `EPHOR_WRITE_DOCS=1` writes them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use ephor_api::schema::definitions::definitions;
use ephor_document::write::{self as yaml, Style};
use ephor_value::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn chart() -> PathBuf {
    root().join("deploy/helm/ephor")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

fn parsed(path: &str) -> Vec<Value> {
    let text = read(path);
    let documents = ephor_document::parse_stream(path, &text, ephor_document::Duplicates::Error).unwrap();
    documents.into_iter().flatten().map(|document| document.value).collect()
}

/// Compares a file with what it should be, or writes it.
fn check(path: &Path, now: &str) {
    if std::env::var_os("EPHOR_WRITE_DOCS").is_some() {
        std::fs::write(path, now).unwrap();
        return;
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == now, "{}: run this test with EPHOR_WRITE_DOCS=1", path.display());
}

#[test]
fn the_chart_carries_the_definitions_of_the_program() {
    let folder = chart().join("crds");
    let mut names = BTreeSet::new();
    for definition in definitions() {
        let name = format!("{}.yaml", definition.text_at(&["metadata", "name"]));
        check(&folder.join(&name), &yaml::to_string(&definition, Style::Report));
        names.insert(name);
    }
    let files = std::fs::read_dir(&folder).unwrap();
    let files: BTreeSet<String> = files.map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(files, names, "a definition of every kind, and no other file");
}

#[test]
fn definitions_have_one_stored_version_and_typed_schemas() {
    for definition in definitions() {
        let name = definition.text_at(&["metadata", "name"]);
        let versions = definition.at(&["spec", "versions"]).and_then(Value::as_list).unwrap();
        let stored = versions.iter().filter(|v| v.get("storage").and_then(Value::as_bool) == Some(true));
        assert_eq!(stored.count(), 1, "{name}");
        for version in versions {
            let schema = version.at(&["schema", "openAPIV3Schema"]).unwrap();
            assert_eq!(schema.text_at(&["type"]), "object", "{name}");
            assert_eq!(schema.text_at(&["properties", "metadata", "type"]), "object", "{name}");
            assert!(is_structural(schema), "{name} {}", version.text_at(&["name"]));
        }
    }
}

/// Whether every part of a schema has a type or takes any value.
fn is_structural(schema: &Value) -> bool {
    let has = |key: &str| schema.get(key).is_some();
    let below = schema.get("properties").and_then(Value::as_map);
    let below = below.into_iter().flat_map(|fields| fields.iter().map(|(_, part)| part));
    let more = ["items", "additionalProperties"].into_iter().filter_map(|key| schema.get(key));
    (has("type") || has("x-kubernetes-preserve-unknown-fields")) && below.chain(more).all(is_structural)
}

/// The rows of the table of values: what `# --` comments of `values.yaml` describe.
fn rows(values: &str) -> Vec<[String; 3]> {
    let mut path: Vec<(usize, String)> = Vec::new();
    let (mut rows, mut about) = (Vec::new(), String::new());
    for line in values.lines() {
        let (text, indent) = (line.trim_start(), line.len() - line.trim_start().len());
        if let Some(comment) = text.strip_prefix("# -- ") {
            about = comment.to_owned();
        } else if let Some(more) = text.strip_prefix("# ").filter(|_| !about.is_empty()) {
            about = format!("{about} {more}");
        } else if let Some((key, value)) = text.split_once(':') {
            path.retain(|(depth, _)| *depth < indent);
            path.push((indent, key.to_owned()));
            if !about.is_empty() {
                let name = path.iter().map(|(_, key)| key.as_str()).collect::<Vec<_>>().join(".");
                let value = if value.trim().is_empty() { "see `values.yaml`" } else { value.trim() };
                rows.push([name, value.to_owned(), std::mem::take(&mut about)]);
            }
        }
    }
    rows
}

#[test]
fn the_page_of_the_chart_lists_every_value() {
    let path = chart().join("README.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (start, end) = ("<!-- values -->\n", "<!-- end of values -->");
    let (before, rest) = page.split_once(start).expect("the start of the table");
    let (_, after) = rest.split_once(end).expect("the end of the table");
    let mut table = String::from("| value | default | what |\n|---|---|---|\n");
    for [name, value, about] in rows(&read("deploy/helm/ephor/values.yaml")) {
        let value = if value.starts_with("see") { value } else { format!("`{value}`") };
        table.push_str(&format!("| `{name}` | {value} | {} |\n", about.replace('|', "\\|")));
    }
    check(&path, &format!("{before}{start}{table}{end}{after}"));
}

#[test]
fn every_value_has_a_description() {
    let values = read("deploy/helm/ephor/values.yaml");
    let described: BTreeSet<String> = rows(&values).into_iter().map(|[name, ..]| name).collect();
    let missing: Vec<String> = leaves(&parsed("deploy/helm/ephor/values.yaml")[0], "")
        .into_iter()
        .filter(|leaf| !described.iter().any(|name| leaf == name || leaf.starts_with(&format!("{name}."))))
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}

fn leaves(value: &Value, path: &str) -> Vec<String> {
    match value.as_map().filter(|fields| !fields.is_empty()) {
        None => vec![path.to_owned()],
        Some(fields) => fields
            .iter()
            .flat_map(|(key, value)| {
                leaves(value, &if path.is_empty() { key.to_string() } else { format!("{path}.{key}") })
            })
            .collect(),
    }
}

#[test]
fn dashboard_and_alerts_use_metrics_that_the_server_has() {
    let known = read("docs/reference/metrics.md");
    let name = regex::Regex::new(r"\b(?:ephor|kyverno)_[a-z_]+").unwrap();
    let mut seen = 0;
    for file in ["dashboard.json", "templates/monitoring.yaml"] {
        for found in name.find_iter(&read(&format!("deploy/helm/ephor/{file}"))) {
            let metric = found.as_str().trim_end_matches("_bucket");
            assert!(known.contains(&format!("`{metric}`")), "{file}: {metric}");
            seen += 1;
        }
    }
    assert!(seen > 10, "{seen}");
}

#[test]
fn the_manifests_use_flags_that_the_program_has() {
    let page = Command::new(env!("CARGO_BIN_EXE_ephor")).args(["serve", "--help"]).output().unwrap();
    let page = String::from_utf8(page.stdout).unwrap();
    for name in ["ephor", "ephor-alongside", "ephor-own-group"] {
        let file = &format!("deploy/manifests/{name}.yaml");
        let deployment = parsed(file).into_iter().find(|o| o.text_at(&["kind"]) == "Deployment").unwrap();
        let containers = deployment.at(&["spec", "template", "spec", "containers"]).unwrap();
        let args = containers.as_list().unwrap()[0].get("args").and_then(Value::as_list).unwrap().to_vec();
        assert!(args.len() > 10, "{file}");
        for arg in args.iter().filter_map(Value::as_str).filter(|arg| arg.starts_with("--")) {
            let flag = arg.split('=').next().unwrap();
            let is_known = page.contains(&format!("{flag} ")) || page.contains(&format!("{flag}\n"));
            assert!(is_known, "{file}: {flag}");
        }
    }
}

/// The program that renders charts, if it is there.
fn helm() -> Option<std::ffi::OsString> {
    let program = std::env::var_os("HELM").unwrap_or_else(|| "helm".into());
    Command::new(&program).arg("version").output().is_ok_and(|run| run.status.success()).then_some(program)
}

#[test]
fn manifests_are_what_the_chart_renders_and_keep_to_the_policies() {
    let Some(helm) = helm() else {
        eprintln!("SKIPPED: helm is not there, so the manifests are not compared with the chart");
        return;
    };
    let script = root().join("deploy/lint.sh");
    let run =
        Command::new("bash").arg(script).arg(env!("CARGO_BIN_EXE_ephor")).env("HELM", helm).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{out}{err}");
    assert!(out.contains("current: the manifests and the kustomize base"), "{out}");
}

#[test]
fn every_query_of_the_dashboard_names_the_servers_of_one_job() {
    let text = read("deploy/helm/ephor/dashboard.json");
    let dashboard = ephor_document::json::parse(&text).unwrap();
    let metric = regex::Regex::new(r"\b(?:ephor|kyverno)_[a-z_]+(\{[^}]*\})?").unwrap();
    let mut seen = 0;
    for panel in dashboard.get("panels").and_then(Value::as_list).unwrap() {
        let title = panel.text_at(&["title"]);
        assert!(!title.is_empty() && !panel.text_at(&["description"]).is_empty(), "{title}");
        for target in panel.get("targets").and_then(Value::as_list).unwrap() {
            for found in metric.captures_iter(target.text_at(&["expr"])) {
                // Kyverno has metrics of the same names.
                let selector = found.get(1).map_or("", |selector| selector.as_str());
                assert!(
                    selector.starts_with(r#"{job=~"$job",instance=~"$instance""#),
                    "{title}: {}",
                    &found[0]
                );
                seen += 1;
            }
        }
    }
    assert!(seen > 15, "{seen}");
    let variables = dashboard.at(&["templating", "list"]).and_then(Value::as_list).unwrap();
    let query =
        |name: &str| variables.iter().find(|v| v.text_at(&["name"]) == name).map(|v| v.text_at(&["query"]));
    // Jobs that have a metric which this program alone has.
    assert_eq!(query("job"), Some("label_values(ephor_policies, job)"));
    assert_eq!(query("instance"), Some(r#"label_values(ephor_policies{job=~"$job"}, instance)"#));
    let job = variables.iter().find(|v| v.text_at(&["name"]) == "job").unwrap();
    assert_eq!(job.get("includeAll"), Some(&Value::Bool(false)), "all jobs would be Kyverno's too");
}

#[test]
fn pods_of_the_chart_have_what_linters_of_manifests_require() {
    let Some(helm) = helm() else {
        eprintln!("SKIPPED: helm is not there, so the chart is not rendered");
        return;
    };
    let render = |more: &[&str]| {
        let mut command = Command::new(&helm);
        command.args(["template", "ephor"]).arg(chart()).args(["--namespace", "ephor"]).args(more);
        // The chart in the repository names no image.
        command.args(["--set", "image.repository=registry.invalid/ephor"]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let documents =
            ephor_document::parse_stream("chart", &text, ephor_document::Duplicates::Error).unwrap();
        documents.into_iter().flatten().map(|d| d.value).filter(|v| !v.is_null()).collect::<Vec<_>>()
    };
    let of = |all: &[Value], kind: &str| -> Vec<Value> {
        all.iter().filter(|o| o.text_at(&["kind"]) == kind).cloned().collect()
    };
    let all = render(&[]);
    let pods = [
        of(&all, "Deployment")[0].at(&["spec", "template"]).cloned().unwrap(),
        of(&all, "Job")[0].at(&["spec", "template"]).cloned().unwrap(),
        of(&all, "Pod")[0].clone(),
    ];
    let policies = of(&all, "NetworkPolicy");
    for pod in &pods {
        let labels = pod.at(&["metadata", "labels"]).and_then(Value::as_map).unwrap();
        let selects = |policy: &&Value| {
            let wanted = policy.at(&["spec", "podSelector", "matchLabels"]).and_then(Value::as_map).unwrap();
            wanted.iter().all(|(key, value)| labels.get(key) == Some(value))
        };
        assert_eq!(policies.iter().filter(selects).count(), 1, "{labels:?}");
        for container in pod.at(&["spec", "containers"]).and_then(Value::as_list).unwrap() {
            for side in ["requests", "limits"] {
                let storage = container.text_at(&["resources", side, "ephemeral-storage"]);
                assert!(storage.ends_with("Mi"), "{side}: {container:?}");
            }
        }
    }
    // The Pods of hooks take no requests.
    let open = policies
        .iter()
        .filter(|p| p.at(&["spec", "ingress"]).and_then(Value::as_list).is_some_and(|i| !i.is_empty()));
    assert_eq!(open.count(), 1);
    assert_eq!(
        of(&all, "PodDisruptionBudget")[0].text_at(&["spec", "unhealthyPodEvictionPolicy"]),
        "AlwaysAllow"
    );
    assert!(of(&all, "Job")[0].at(&["spec", "ttlSecondsAfterFinished"]).is_some());
    // The audit log counts as local storage, wherever users do not say otherwise.
    let limit = |more: &[&str]| {
        let all = render(more);
        let containers =
            of(&all, "Deployment")[0].at(&["spec", "template", "spec", "containers"]).cloned().unwrap();
        containers.as_list().unwrap()[0].text_at(&["resources", "limits", "ephemeral-storage"]).to_string()
    };
    assert_eq!(limit(&[]), "256Mi");
    assert_eq!(limit(&["--set", "auditLog.enabled=true"]), "956Mi");
    assert_eq!(
        limit(&["--set", "auditLog.enabled=true,auditLog.volume.persistentVolumeClaim.claimName=audit"]),
        "256Mi"
    );
    assert_eq!(limit(&["--set", "resources.limits.ephemeral-storage=2Gi"]), "2Gi");
    // What the chart limits for the servers it limits for all its Pods.
    let egress =
        render(&["--set-json", r#"networkPolicy.egress=[{"to":[{"ipBlock":{"cidr":"10.0.0.1/32"}}]}]"#]);
    assert!(
        of(&egress, "NetworkPolicy")
            .iter()
            .all(|p| p.at(&["spec", "egress"]).and_then(Value::as_list).is_some_and(|e| e.len() == 2))
    );
}
