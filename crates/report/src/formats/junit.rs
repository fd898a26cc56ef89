//! JUnit's XML: a suite for each policy, a case for each rule and resource.
//!
//! The form is the one that Jenkins and GitLab read (`junit-10.xsd`): counts and time on suites,
//! file and line on cases, and the message with both places as the text of a failure. A known
//! violation is a skipped case. Build servers know a case by its class and name, whatever its
//! suite: no two cases of a run have both in common.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::sync::Arc;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

use super::WriteError;
use crate::findings::SortedFindings;
use crate::formats::message::message;
use crate::run::{Finding, PolicyInfo, Run};
use crate::tally::Tally;
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

/// Writes the run as XML.
///
/// # Errors
/// Results cannot be read, or the document cannot be written.
pub fn write(run: &Run, out: &mut dyn Write) -> Result<(), WriteError> {
    let suites = Suites::of(run)?;
    let mut xml = Writer::new_with_indent(out, b' ', 2);
    suites.write(&mut xml, run)?;
    xml.get_mut().write_all(b"\n")?;
    Ok(())
}

type Xml<'w> = Writer<&'w mut dyn Write>;

/// The results by policy: suites have their counts before their cases.
#[derive(Default)]
struct Suites {
    all: Vec<Suite>,
    findings: SortedFindings,
    /// Names of policies that more than one kind has: the forms of a control.
    ambiguous: HashSet<String>,
}

/// What a suite says of its cases.
struct Suite {
    name: String,
    kind: String,
    counts: CaseCounts,
}

/// How many cases there are.
#[derive(Clone, Copy, Default)]
struct CaseCounts {
    all: usize,
    failed: usize,
    errors: usize,
    skipped: usize,
}

impl CaseCounts {
    fn add(&mut self, case: Case) {
        self.all += 1;
        match case {
            Case::Passed => {}
            Case::Failed => self.failed += 1,
            Case::Error => self.errors += 1,
            Case::Skipped => self.skipped += 1,
        }
    }

    fn write(self, start: &mut BytesStart<'_>) {
        for (name, number) in [("tests", self.all), ("failures", self.failed), ("errors", self.errors)] {
            start.push_attribute((name, number.to_string().as_str()));
        }
    }
}

impl Suites {
    fn of(run: &Run) -> Result<Suites, WriteError> {
        let mut suites = Suites::default();
        // By the address of the policy, which the run has until the end.
        let mut positions: HashMap<usize, usize> = HashMap::new();
        let mut numbers: HashMap<(String, String), usize> = HashMap::new();
        let mut kinds: HashMap<String, String> = HashMap::new();
        for finding in run.shown() {
            let finding = finding?;
            let PolicyInfo { name, kind, .. } = &*finding.policy;
            let address = Arc::as_ptr(&finding.policy) as usize;
            let at = match positions.get(&address) {
                Some(at) => *at,
                None => {
                    if kinds.entry(name.clone()).or_insert_with(|| kind.clone()) != kind {
                        suites.ambiguous.insert(name.clone());
                    }
                    let next = suites.all.len();
                    let at = *numbers.entry((name.clone(), kind.clone())).or_insert(next);
                    if at == next {
                        let counts = CaseCounts::default();
                        suites.all.push(Suite { name: name.clone(), kind: kind.clone(), counts });
                    }
                    positions.insert(address, at);
                    at
                }
            };
            if let Some(suite) = suites.all.get_mut(at) {
                suite.counts.add(case_of(&finding));
            }
            suites.findings.push(at, &finding)?;
        }
        Ok(suites)
    }

    fn write(&self, out: &mut Xml<'_>, run: &Run) -> Result<(), WriteError> {
        out.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
        let mut total = CaseCounts::default();
        for Suite { counts, .. } in &self.all {
            total.all += counts.all;
            total.failed += counts.failed;
            total.errors += counts.errors;
        }
        let mut start = BytesStart::new("testsuites");
        start.push_attribute(("name", "ephor"));
        total.write(&mut start);
        start.push_attribute(("time", format!("{:.3}", run.seconds).as_str()));
        out.write_event(Event::Start(start))?;
        let mut names = Names { repeated: self.repeated()?, used: HashMap::new() };
        for (at, suite) in self.all.iter().enumerate() {
            let mut start = BytesStart::new("testsuite");
            attribute(&mut start, "name", &self.with_kind(&suite.kind, &suite.name, &suite.name));
            suite.counts.write(&mut start);
            start.push_attribute(("skipped", suite.counts.skipped.to_string().as_str()));
            // Rules are not timed one by one.
            start.push_attribute(("time", "0.000"));
            out.write_event(Event::Start(start))?;
            for finding in self.findings.group(at) {
                let finding = finding?;
                let class = class(&finding);
                let name = names.of_case(&class, self.name(&finding));
                case(out, run, &finding, &class, &name)?;
            }
            out.write_event(Event::End(BytesEnd::new("testsuite")))?;
        }
        out.write_event(Event::End(BytesEnd::new("testsuites")))?;
        Ok(())
    }

    /// A name of a policy or rule; with the kind where another kind has a policy of the name.
    fn with_kind(&self, kind: &str, policy: &str, name: &str) -> String {
        match self.ambiguous.contains(policy) {
            true => format!("{kind} {name}"),
            false => name.to_owned(),
        }
    }

    fn name(&self, finding: &Finding) -> String {
        self.with_kind(&finding.policy.kind, &finding.policy.name, &finding.rule_id())
    }

    /// Digests of classes and names that more than one case has: these few are numbered.
    fn repeated(&self) -> Result<HashSet<u64>, WriteError> {
        let mut tally = Tally::default();
        for at in 0..self.all.len() {
            for finding in self.findings.group(at) {
                let finding = finding?;
                tally.add(&digest(&class(&finding), &self.name(&finding)).to_be_bytes())?;
            }
        }
        let mut repeated = HashSet::new();
        for entry in tally.iter()? {
            let (value, number) = entry?;
            if number > 1 {
                repeated.extend(<[u8; 8]>::try_from(value.as_slice()).map(u64::from_be_bytes));
            }
        }
        Ok(repeated)
    }
}

fn digest(class: &str, name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (class, name).hash(&mut hasher);
    hasher.finish()
}

/// What a case is about.
fn class(finding: &Finding) -> String {
    match &finding.resource {
        Some(resource) => resource.path(),
        None => finding.policy.name.clone(),
    }
}

/// The names of cases.
struct Names {
    /// Digests of what more than one case has.
    repeated: HashSet<u64>,
    /// How many cases have one of these classes and names so far.
    used: HashMap<[String; 2], usize>,
}

impl Names {
    /// The name of a case of a class.
    fn of_case(&mut self, class: &str, name: String) -> String {
        if !self.repeated.contains(&digest(class, &name)) {
            return name;
        }
        let used = self.used.entry([class.to_owned(), name.clone()]).or_default();
        *used += 1;
        match *used {
            1 => name,
            n => format!("{name} #{n}"),
        }
    }
}

fn case(out: &mut Xml<'_>, run: &Run, finding: &Finding, class: &str, name: &str) -> std::io::Result<()> {
    let mut start = BytesStart::new("testcase");
    attribute(&mut start, "name", name);
    attribute(&mut start, "classname", class);
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
