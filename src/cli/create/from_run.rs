//! `ephor create test --from-run`: the results that policies give today, as expected results of a
//! test.
//!
//! In: the text of a test without results. Out: expected results, of which each passes when the
//! test runs, and files with the objects that mutate and generate rules leave.

use ephor_document::write as yaml;
use ephor_engine::{Effect, RuleOutcome, Status};
use ephor_ir::rule::RuleKind;
use ephor_report::policy_report::{PolicyFacts, report_status};
use ephor_sources::files::SourceText;
use ephor_testing::testing::file::{self, Expected};
use ephor_testing::testing::rows::Verdict;
use ephor_testing::testing::run::{Options, evaluated, run};
use ephor_value::Value;

use crate::cli::CommandError;

/// Expected results, and the files that they name.
#[derive(Debug, Default)]
pub(in crate::cli) struct Results {
    /// The items of `results`.
    pub text: String,
    /// Names and texts of files next to the test.
    pub files: Vec<(String, String)>,
    /// Results that no test can expect, in words.
    pub left_out: Vec<String>,
}

/// A result of a rule for objects of a kind.
#[derive(Debug)]
struct Recorded {
    policy: String,
    /// Empty where rules have no names.
    rule: String,
    kind: String,
    result: &'static str,
    resources: Vec<String>,
    /// The objects that the rule leaves, or makes.
    objects: Vec<Value>,
    is_generated: bool,
}

/// The expected results; `path` is where the test will be, whose folder paths are relative to. No
/// file of objects has a name that is taken.
///
/// # Errors
/// The policies or resources cannot be read or evaluated, or there is no room for temporary files.
pub(in crate::cli) fn results(
    text: &str,
    path: &str,
    is_taken: &dyn Fn(&str) -> bool,
) -> Result<Results, CommandError> {
    let source = SourceText { name: path.into(), text: text.into() };
    let parsed = file::tests(&source, None).into_iter().next();
    let test = match parsed {
        Some(Ok(test)) => test,
        Some(Err(faulty)) => return Err(CommandError::input(faulty.text)),
        None => return Err(CommandError::NoTests),
    };
    let evaluated = evaluated(&test).map_err(CommandError::input)?;
    let mut all: Vec<Recorded> = Vec::new();
    for (request, outcome) in &evaluated.outcomes {
        // In deletions the object is the one that goes away.
        let object = if request.object.is_null() { &request.old_object } else { &request.object };
        for done in &outcome.policies {
            let facts = PolicyFacts::of(&done.policy);
            for result in &done.rules {
                let rule = if facts.has_named_rules { written(&result.rule) } else { "" };
                let status = report_status(result.status, &facts, false);
                let done = (result, done.object.as_ref());
                add(&mut all, object, &facts.key, rule, status, done);
            }
        }
    }
    let folder =
        tempfile::tempdir().map_err(|cause| CommandError::Write { path: "temporary files".into(), cause })?;
    let mut results = Results::default();
    for recorded in &all {
        // The test reads the file of the objects where it will be; until then it is elsewhere.
        let is_taken = |name: &str| is_taken(name) || results.files.iter().any(|(known, _)| known == name);
        let file = recorded.file(&is_taken);
        let temporary = folder.path().join(file.as_ref().map_or("", |(name, _)| name));
        if let Some((_, text)) = &file {
            std::fs::write(&temporary, text)
                .map_err(|cause| CommandError::Write { path: temporary.display().to_string(), cause })?;
        }
        let expected = recorded.expected();
        let with_objects =
            file.as_ref().map(|_| recorded.with_file(&expected, &temporary.display().to_string()));
        let refused = || {
            let rule =
                if recorded.rule.is_empty() { String::new() } else { format!(", rule `{}`", recorded.rule) };
            format!(
                "policy `{}`{rule}: result `{}` cannot be expected by name alone and is left out",
                recorded.policy, recorded.result
            )
        };
        match (with_objects.filter(|expected| passes(&test, expected)), file) {
            (Some(_), Some((name, text))) => {
                results.text.push_str(&recorded.text(Some(&name)));
                results.files.push((name, text));
            }
            _ if passes(&test, &expected) => results.text.push_str(&recorded.text(None)),
            _ => results.left_out.push(refused()),
        }
    }
    Ok(results)
}

/// Whether a test with this result alone passes.
fn passes(test: &file::Test, expected: &Expected) -> bool {
    let ran = run(&file::Test { results: vec![expected.clone()], ..test.clone() }, Options::default());
    ran.failed.is_none() && ran.rows.iter().all(|row| row.verdict == Verdict::Pass)
}

/// The name of a rule as its policy has it, of one that is generated for pod controllers.
fn written(rule: &str) -> &str {
    let base = rule.strip_prefix("autogen-cronjob-").or_else(|| rule.strip_prefix("autogen-"));
    base.unwrap_or(rule)
}

fn add(
    all: &mut Vec<Recorded>,
    object: &Value,
    policy: &str,
    rule: &str,
    status: Status,
    (result_of_rule, left): (&RuleOutcome, Option<&Value>),
) {
    let result = match status {
        Status::Pass => "pass",
        Status::Fail => "fail",
        Status::Warn => "warn",
        Status::Error => "error",
        Status::Skip => "skip",
    };
    let (kind, name) = (object.text_at(&["kind"]), object.text_at(&["metadata", "name"]));
    let resource = match object.text_at(&["metadata", "namespace"]) {
        "" => name.to_string(),
        namespace => format!("{namespace}/{name}"),
    };
    let same =
        |r: &&mut Recorded| r.policy == policy && r.rule == rule && r.kind == kind && r.result == result;
    let mut recorded = Recorded {
        policy: policy.into(),
        rule: rule.into(),
        kind: kind.into(),
        result,
        resources: vec![resource.clone()],
        objects: Vec::new(),
        is_generated: false,
    };
    match all.iter_mut().find(same) {
        Some(known) => {
            if !known.resources.contains(&resource) {
                known.resources.push(resource);
                known.add_objects(result_of_rule, left);
            }
        }
        None => {
            recorded.add_objects(result_of_rule, left);
            all.push(recorded);
        }
    }
}

impl Recorded {
    /// Adds the objects of a result: the one that the policy left, those that the rule made.
    fn add_objects(&mut self, result: &RuleOutcome, left: Option<&Value>) {
        if self.result != "pass" {
            return;
        }
        match (result.kind, result.effect.as_deref()) {
            (RuleKind::Generation, Some(Effect::Generated(objects))) => {
                self.is_generated = true;
                self.objects.extend(objects.iter().cloned());
            }
            (RuleKind::Mutation, Some(Effect::Patched(_))) => {
                self.objects.extend(left.filter(|object| !object.is_null()).cloned());
            }
            _ => {}
        }
    }

    /// The file of the objects, next to the test.
    fn file(&self, is_taken: &dyn Fn(&str) -> bool) -> Option<(String, String)> {
        if self.objects.is_empty() {
            return None;
        }
        let rule = if self.rule.is_empty() { String::new() } else { format!("-{}", self.rule) };
        let what = if self.is_generated { "generated" } else { "patched" };
        let stem = format!("{}{rule}-{}-{what}", self.policy, self.kind.to_lowercase());
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        let stem: String = stem.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
        let numbered = (2..).map(|number| format!("{stem}-{number}.yaml"));
        let mut names = std::iter::once(format!("{stem}.yaml")).chain(numbered);
        let name = names.find(|name| !is_taken(name)).unwrap_or_default();
        let texts: Vec<String> =
            self.objects.iter().map(|o| yaml::to_string(o, yaml::Style::Object)).collect();
        Some((name, texts.join("---\n")))
    }

    fn expected(&self) -> Expected {
        Expected {
            policy: self.policy.clone(),
            rule: self.rule.clone(),
            result: self.result.into(),
            resources: Some(self.resources.clone()),
            ..Expected::default()
        }
    }

    fn with_file(&self, expected: &Expected, path: &str) -> Expected {
        match self.is_generated {
            true => Expected { generated: vec![path.into()], ..expected.clone() },
            false => Expected { patched: Some(path.into()), ..expected.clone() },
        }
    }

    fn text(&self, file: Option<&str>) -> String {
        let rule = if self.rule.is_empty() { String::new() } else { format!("    rule: {}\n", self.rule) };
        let resources: String = self.resources.iter().map(|r| format!("      - {r}\n")).collect();
        let field = if self.is_generated { "generatedResource" } else { "patchedResources" };
        let file = file.map(|name| format!("    {field}: {name}\n")).unwrap_or_default();
        format!(
            "  - policy: {}\n{rule}    resources:\n{resources}    kind: {}\n{file}    result: {}\n",
            self.policy, self.kind, self.result
        )
    }
}
