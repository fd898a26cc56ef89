//! JUnit's XML: a suite for each policy, a case for each rule and resource.
//!
//! The form is the one that Jenkins and GitLab read (`junit-10.xsd`): counts and time on suites,
//! file and line on cases, and the message with both places as the text of a failure. A known
//! violation is a skipped case. Build servers know a case by its class and name, whatever its
//! suite: no two cases of a run have both in common.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

use crate::formats::message::message;
use crate::run::{Finding, PolicyInfo, Run};
use ephor_engine::Status;

/// What a case is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Passed,
    Failed,
    Error,
    Skipped,
}

fn case_of(finding: &Finding) -> Case {
    match finding.status {
        Status::Pass => Case::Passed,
        Status::Skip => Case::Skipped,
        _ if finding.is_known => Case::Skipped,
        Status::Fail | Status::Warn => Case::Failed,
        Status::Error => Case::Error,
    }
}

/// The run as XML.
pub fn write(run: &Run) -> String {
    let mut out = Writer::new_with_indent(Vec::new(), b' ', 2);
    // Writing to memory does not fail.
    let _ = suites(&mut out, run);
    let mut text = String::from_utf8(out.into_inner()).unwrap_or_default();
    text.push('\n');
    text
}

type Xml = Writer<Vec<u8>>;

fn suites(out: &mut Xml, run: &Run) -> std::io::Result<()> {
    out.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let mut policies: Vec<(String, Vec<&Finding>)> = Vec::new();
    let mut positions = HashMap::new();
    let mut names = Names::of(run);
    for finding in &run.findings {
        let policy = &finding.policy;
        let at = *positions.entry((policy.name.as_str(), policy.kind.as_str())).or_insert_with(|| {
            policies.push((names.with_kind(policy, &policy.name), Vec::new()));
            policies.len() - 1
        });
        if let Some((_, own)) = policies.get_mut(at) {
            own.push(finding);
        }
    }
    let all: Vec<&Finding> = run.findings.iter().collect();
    let mut start = BytesStart::new("testsuites");
    start.push_attribute(("name", "ephor"));
    counts(&mut start, &all);
    start.push_attribute(("time", format!("{:.3}", run.seconds).as_str()));
    out.write_event(Event::Start(start))?;
    for (policy, own) in policies {
        let mut start = BytesStart::new("testsuite");
        attribute(&mut start, "name", &policy);
        counts(&mut start, &own);
        start.push_attribute(("skipped", number(&own, Case::Skipped).as_str()));
        // Rules are not timed one by one.
        start.push_attribute(("time", "0.000"));
        out.write_event(Event::Start(start))?;
        for finding in own {
            case(out, run, finding, &mut names)?;
        }
        out.write_event(Event::End(BytesEnd::new("testsuite")))?;
    }
    out.write_event(Event::End(BytesEnd::new("testsuites")))
}

/// The names of suites and cases.
struct Names<'r> {
    /// Names of policies that more than one kind has: the forms of a control.
    ambiguous: HashSet<&'r str>,
    /// How many cases have a class and name so far.
    used: HashMap<[String; 2], usize>,
}

impl<'r> Names<'r> {
    fn of(run: &'r Run) -> Names<'r> {
        let mut kinds: HashMap<&str, &str> = HashMap::new();
        let mut ambiguous = HashSet::new();
        for PolicyInfo { name, kind, .. } in run.findings.iter().map(|finding| &*finding.policy) {
            if *kinds.entry(name).or_insert(kind) != kind.as_str() {
                ambiguous.insert(name.as_str());
            }
        }
        Names { ambiguous, used: HashMap::new() }
    }

    /// A name of a policy or rule; with the kind where another kind has a policy of the name.
    fn with_kind(&self, policy: &PolicyInfo, name: &str) -> String {
        match self.ambiguous.contains(policy.name.as_str()) {
            true => format!("{} {name}", policy.kind),
            false => name.to_owned(),
        }
    }

    /// The name of a case of a class.
    fn of_case(&mut self, finding: &Finding, class: &str) -> String {
        let name = self.with_kind(&finding.policy, &finding.rule_id());
        let used = self.used.entry([class.to_owned(), name.clone()]).or_default();
        *used += 1;
        match *used {
            1 => name,
            n => format!("{name} #{n}"),
        }
    }
}

fn number(findings: &[&Finding], wanted: Case) -> String {
    findings.iter().filter(|f| case_of(f) == wanted).count().to_string()
}

fn counts(start: &mut BytesStart<'_>, findings: &[&Finding]) {
    start.push_attribute(("tests", findings.len().to_string().as_str()));
    start.push_attribute(("failures", number(findings, Case::Failed).as_str()));
    start.push_attribute(("errors", number(findings, Case::Error).as_str()));
}

fn case(out: &mut Xml, run: &Run, finding: &Finding, names: &mut Names<'_>) -> std::io::Result<()> {
    let mut start = BytesStart::new("testcase");
    let class = match &finding.resource {
        Some(resource) => resource.path(),
        None => finding.policy.name.clone(),
    };
    attribute(&mut start, "name", &names.of_case(finding, &class));
    attribute(&mut start, "classname", &class);
    start.push_attribute(("time", "0.000"));
    let place = finding.place.as_ref().or(finding.decision.as_ref());
    if !finding.file().is_empty() {
        attribute(&mut start, "file", &run.roots.name(finding.file()));
    }
    if let Some(place) = place.filter(|place| place.line > 0 && finding.template.is_none()) {
        start.push_attribute(("line", place.line.to_string().as_str()));
    }
    let element = match case_of(finding) {
        Case::Passed => return out.write_event(Event::Empty(start)),
        Case::Failed => "failure",
        Case::Error => "error",
        Case::Skipped => "skipped",
    };
    out.write_event(Event::Start(start))?;
    let mut inner = BytesStart::new(element);
    attribute(&mut inner, "message", message(finding));
    if element == "skipped" {
        out.write_event(Event::Empty(inner))?;
    } else {
        attribute(&mut inner, "type", finding.policy.severity.map_or(element, |severity| severity.name()));
        out.write_event(Event::Start(inner))?;
        out.write_event(Event::Text(BytesText::new(&visible(&body(finding)))))?;
        out.write_event(Event::End(BytesEnd::new(element)))?;
    }
    out.write_event(Event::End(BytesEnd::new("testcase")))
}

/// What build servers show of a failure.
fn body(finding: &Finding) -> String {
    let mut out = message(finding).to_string();
    let mut line = |what: &str, text: &str| {
        if !text.is_empty() {
            let _ = write!(out, "\n{what}: {text}");
        }
    };
    line("resource", &finding.resource.as_ref().map(|r| r.display()).unwrap_or_default());
    line("template", finding.template.as_deref().unwrap_or_default());
    line("field", finding.field.as_deref().unwrap_or_default());
    line("at", &finding.place.as_ref().map(|place| place.display()).unwrap_or_default());
    line("policy", &finding.decision.as_ref().map(|place| place.display()).unwrap_or_default());
    out
}

fn attribute(start: &mut BytesStart<'_>, name: &str, value: &str) {
    start.push_attribute((name, visible(value).as_str()));
}

/// The text without characters that XML 1.0 does not have.
fn visible(text: &str) -> String {
    crate::formats::message::visible(text, &['\n', '\r', '\t'])
}
