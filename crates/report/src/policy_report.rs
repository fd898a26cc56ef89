//! Policy reports: results as the report objects of a cluster.
//!
//! In: results with their policies and resources. Out: report entries as YAML or JSON, ready to be
//! streamed: an entry is built where it is evaluated, the report's head and summary around them.
//! Semantics: `docs/reference/cli.md`, "Results".

use std::cell::RefCell;
use std::fmt::Write;
use std::sync::OnceLock;

use ephor_engine::{RuleOutcome, Status};
use ephor_ir::Policy;
use ephor_value::print::write_json_string;
use ephor_value::stock::stock;
use ephor_value::{Map, Str, Value};

use ephor_document::write::{self as yaml, Style};

/// What the report says about a policy, taken from it once.
#[derive(Clone, Debug)]
pub struct PolicyFacts {
    /// `name` or `namespace/name`.
    pub key: String,
    category: String,
    severity: String,
    /// Whether failures count as such; else they are warnings.
    pub scored: bool,
    process: &'static str,
    /// Which engine of the reference gives its results.
    source: Str,
    /// Whether it has rules with names, as policies of group `kyverno.io` have.
    pub has_named_rules: bool,
    /// What entries of YAML have in common, once there is one.
    yaml: OnceLock<FactsYaml>,
}

/// What all entries of a policy have in common, as YAML.
#[derive(Clone, Debug)]
struct FactsYaml {
    /// The category with its key; empty where there is none.
    category: String,
    /// The policy with its key.
    policy: String,
    /// What follows the rule, up to the time.
    behind: String,
}

const SEVERITIES: [&str; 5] = ["critical", "high", "medium", "low", "info"];

impl PolicyFacts {
    /// The facts of a policy.
    pub fn of(policy: &Policy) -> PolicyFacts {
        let annotation = |key: &str| policy.annotations.get(key).and_then(Value::as_str).unwrap_or_default();
        let severity = annotation("policies.kyverno.io/severity");
        PolicyFacts {
            key: policy.key(),
            category: annotation("policies.kyverno.io/category").into(),
            severity: if SEVERITIES.contains(&severity) { severity.into() } else { String::new() },
            scored: annotation("policies.kyverno.io/scored") != "false",
            process: match (policy.background, policy.admission) {
                (true, _) => "background scan",
                (false, true) => "admission review",
                (false, false) => "",
            },
            source: policy.report.source.clone(),
            has_named_rules: policy.report.names_rules,
            yaml: OnceLock::new(),
        }
    }

    fn yaml(&self) -> &FactsYaml {
        self.yaml.get_or_init(|| {
            let field = |key: &str, text: &str| {
                let mut out = String::new();
                write_field(&mut out, key, text);
                out
            };
            let mut behind = String::new();
            if self.scored {
                behind.push_str("  scored: true\n");
            }
            if !self.severity.is_empty() {
                behind.extend(["  severity: ", &self.severity, "\n"]);
            }
            behind.extend(["  source: ", &self.source, "\n  timestamp:\n    nanos: 0\n    seconds: "]);
            FactsYaml {
                category: field("category", &self.category),
                policy: field("policy", &self.key),
                behind,
            }
        })
    }
}

/// Appends a field of an entry, which stands behind two characters; nothing where it is empty.
fn write_field(out: &mut String, key: &str, text: &str) {
    if !text.is_empty() {
        out.push_str(key);
        out.push_str(": ");
        yaml::write_scalar(out, text, 2, 2 + key.len() + 2);
        out.push('\n');
    }
}

/// The status that reports and tables show.
pub fn report_status(status: Status, facts: &PolicyFacts, audit_warns: bool) -> Status {
    match status {
        Status::Fail if !facts.scored || audit_warns => Status::Warn,
        status => status,
    }
}

/// The message that reports show: properties may replace it.
pub fn report_message(r: &RuleOutcome) -> Str {
    let property =
        |key: &str| r.properties.iter().find(|(k, v)| &**k == key && !v.is_empty()).map(|(_, v)| v.clone());
    let by_status = match r.status {
        Status::Pass => "passMessage",
        Status::Fail => "failMessage",
        Status::Warn => "warnMessage",
        Status::Error => "errorMessage",
        Status::Skip => "skipMessage",
    };
    property("message").or_else(|| property(by_status)).unwrap_or_else(|| r.message.clone())
}

/// One entry of a report.
pub struct Entry<'r> {
    /// The policy.
    pub facts: &'r PolicyFacts,
    /// The result.
    pub result: &'r RuleOutcome,
    /// The status it shows.
    pub status: Status,
    /// The object that was checked.
    pub resource: &'r Value,
    /// Seconds since 1970.
    pub seconds: u64,
}

impl Entry<'_> {
    fn properties(&self) -> Vec<(Str, Str)> {
        let mut all: Vec<(Str, Str)> = self.result.properties.clone();
        all.extend(ephor_engine::pod_security::report::properties(self.result));
        if !self.facts.process.is_empty() || all.is_empty() {
            all.push((stock("process"), stock(self.facts.process)));
        }
        if !self.result.exceptions.is_empty() {
            all.push(("exceptions".into(), self.result.exceptions.join(",").into()));
        }
        all.sort();
        all
    }

    fn resource(&self) -> Vec<(&'static str, &str)> {
        let at = |path: &[&str]| self.resource.text_at(path);
        [
            ("apiVersion", at(&["apiVersion"])),
            ("kind", at(&["kind"])),
            ("name", at(&["metadata", "name"])),
            ("namespace", at(&["metadata", "namespace"])),
            ("resourceVersion", at(&["metadata", "resourceVersion"])),
            ("uid", at(&["metadata", "uid"])),
        ]
        .into_iter()
        .filter(|(_, v)| !v.is_empty())
        .collect()
    }

    /// Appends the entry as an item of a YAML list that is not indented.
    pub fn write_yaml(&self, out: &mut String) {
        let known = self.facts.yaml();
        let mut lead = "- ";
        let mut begin = |out: &mut String| {
            out.push_str(lead);
            lead = "  ";
        };
        if !known.category.is_empty() {
            begin(out);
            out.push_str(&known.category);
        }
        let message = report_message(self.result);
        if !message.is_empty() {
            begin(out);
            write_field(out, "message", &message);
        }
        if !known.policy.is_empty() {
            begin(out);
            out.push_str(&known.policy);
        }
        out.push_str("  properties:\n");
        for (k, v) in self.properties() {
            out.push_str("    ");
            yaml::write_key(out, &k);
            out.push_str(": ");
            yaml::write_scalar(out, &v, 4, k.len() + 6);
            out.push('\n');
        }
        self.write_resource(out);
        out.push_str("  result: ");
        out.push_str(self.status.name());
        out.push('\n');
        if !self.result.rule.is_empty() {
            out.push_str("  rule: ");
            yaml::write_scalar(out, &self.result.rule, 2, 8);
            out.push('\n');
        }
        out.push_str(&known.behind);
        let _ = writeln!(out, "{}", self.seconds);
    }

    /// Appends the object that was checked; the entries of one object follow each other.
    fn write_resource(&self, out: &mut String) {
        thread_local! {
            static LAST: RefCell<Option<(Map, String)>> = const { RefCell::new(None) };
        }
        let Value::Map(object) = self.resource else { return out.push_str(&self.resource_yaml()) };
        LAST.with_borrow_mut(|last| {
            let known = last.take().filter(|(known, _)| known.is_same(object));
            let (_, text) = last.insert(known.unwrap_or_else(|| (object.clone(), self.resource_yaml())));
            out.push_str(text);
        });
    }

    fn resource_yaml(&self) -> String {
        let mut out = String::from("  resources:\n");
        let mut lead = "  - ";
        let resource = self.resource();
        for (k, v) in &resource {
            out.push_str(lead);
            lead = "    ";
            out.push_str(k);
            out.push_str(": ");
            yaml::write_scalar(&mut out, v, 4, k.len() + 6);
            out.push('\n');
        }
        if resource.is_empty() {
            out.push_str("  - {}\n");
        }
        out
    }

    /// Appends the entry as a JSON object.
    pub fn write_json(&self, out: &mut String) {
        out.push_str("{\"source\":\"");
        out.push_str(&self.facts.source);
        out.push_str("\",\"policy\":");
        write_json_string(out, &self.facts.key);
        let mut field = |key: &str, text: &str| {
            if !text.is_empty() {
                out.push_str(",\"");
                out.push_str(key);
                out.push_str("\":");
                write_json_string(out, text);
            }
        };
        field("rule", &self.result.rule);
        field("category", &self.facts.category);
        field("severity", &self.facts.severity);
        out.push_str(&format!(",\"timestamp\":{{\"seconds\":{},\"nanos\":0}}", self.seconds));
        out.push_str(",\"result\":\"");
        out.push_str(self.status.name());
        out.push('"');
        if self.facts.scored {
            out.push_str(",\"scored\":true");
        }
        out.push_str(",\"resources\":[{");
        let order = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion"];
        let resource = self.resource();
        let present = order.iter().filter_map(|key| resource.iter().find(|(k, _)| k == key));
        for (i, (k, v)) in present.enumerate() {
            out.push_str(if i > 0 { ",\"" } else { "\"" });
            out.push_str(k);
            out.push_str("\":");
            write_json_string(out, v);
        }
        out.push_str("}]");
        let message = report_message(self.result);
        if !message.is_empty() {
            out.push_str(",\"message\":");
            write_json_string(out, &message);
        }
        out.push_str(",\"properties\":{");
        for (i, (k, v)) in self.properties().iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            write_json_string(out, k);
            out.push(':');
            write_json_string(out, v);
        }
        out.push_str("}}");
    }
}

/// How many results there are of each status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// By status: pass, fail, warn, error, skip.
    pub counts: [usize; 5],
}

impl Summary {
    /// Counts a result.
    pub fn add(&mut self, status: Status) {
        self.counts[status as usize] += 1;
    }

    /// Adds another summary.
    pub fn merge(&mut self, other: &Summary) {
        for (a, b) in self.counts.iter_mut().zip(other.counts) {
            *a += b;
        }
    }

    /// The count of a status.
    pub fn of(&self, status: Status) -> usize {
        self.counts[status as usize]
    }
}

const API_VERSION: &str = "openreports.io/v1alpha1";

/// Where a report's results belong: the cluster, or a namespaced policy.
pub fn head(kind: &str, name: &str, namespace: &str) -> String {
    let mut metadata = Map::new();
    metadata.insert("name", Value::from(name));
    if !namespace.is_empty() {
        metadata.insert("namespace", Value::from(namespace));
    }
    let entries = [
        ("apiVersion", Value::from(API_VERSION)),
        ("kind", Value::from(kind)),
        ("metadata", Value::Map(metadata)),
    ];
    let head = Value::Map(entries.into_iter().map(|(k, v)| (Str::from(k), v)).collect());
    let mut out = yaml::to_string(&head, Style::Report);
    out.push_str("results:\n");
    out
}

/// What follows the results of a YAML report.
pub fn tail(s: &Summary) -> String {
    format!(
        "source: \"\"\nsummary:\n  error: {}\n  fail: {}\n  pass: {}\n  skip: {}\n  warn: {}\n\n",
        s.of(Status::Error),
        s.of(Status::Fail),
        s.of(Status::Pass),
        s.of(Status::Skip),
        s.of(Status::Warn)
    )
}

/// What stands before the entries of a JSON report, which are joined by commas.
pub fn json_head(kind: &str, name: &str, namespace: &str, s: &Summary) -> String {
    let mut out = format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{API_VERSION}\",\"metadata\":{{\"name\":");
    write_json_string(&mut out, name);
    if !namespace.is_empty() {
        out.push_str(",\"namespace\":");
        write_json_string(&mut out, namespace);
    }
    out.push_str(&format!(
        "}},\"source\":\"\",\"summary\":{{\"pass\":{},\"fail\":{},\"warn\":{},\"error\":{},\"skip\":{}}},\"results\":[",
        s.of(Status::Pass),
        s.of(Status::Fail),
        s.of(Status::Warn),
        s.of(Status::Error),
        s.of(Status::Skip)
    ));
    out
}

/// What follows the entries of a JSON report.
pub const JSON_TAIL: &str = "]}";
