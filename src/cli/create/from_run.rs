//! `ephor create test --from-run`: the results that policies give today, as expected results of a test.
//!
//! In: the text of a test without results. Out: expected results, of which each passes when the test runs.

use ephor_engine::Status;
use ephor_report::policy_report::{PolicyFacts, report_status};
use ephor_sources::files::SourceText;
use ephor_testing::testing::file::{self, Expected};
use ephor_testing::testing::rows::Verdict;
use ephor_testing::testing::run::{Options, evaluated, run};
use ephor_value::Value;

use crate::cli::{Error, warn};

/// A result of a rule for objects of a kind.
#[derive(Debug, PartialEq, Eq)]
struct Recorded {
    policy: String,
    /// Empty where rules have no names.
    rule: String,
    kind: String,
    result: &'static str,
    resources: Vec<String>,
}

/// The expected results as text; `path` is where the test will be, whose folder paths are relative to.
///
/// # Errors
/// The policies or resources cannot be read or evaluated.
pub(super) fn results(text: &str, path: &str) -> Result<String, Error> {
    let source = SourceText { name: path.into(), text: text.into() };
    let parsed = file::tests(&source, None).into_iter().next();
    let test = match parsed {
        Some(Ok(test)) => test,
        Some(Err(faulty)) => return Err(Error::input(faulty.text)),
        None => return Err(Error::NoTests),
    };
    let evaluated = evaluated(&test).map_err(Error::input)?;
    let mut all: Vec<Recorded> = Vec::new();
    for (request, outcome) in &evaluated.outcomes {
        for done in &outcome.policies {
            let facts = PolicyFacts::of(&done.policy);
            for result in &done.rules {
                let rule = if facts.has_named_rules { written(&result.rule) } else { "" };
                add(&mut all, &request.object, &facts.key, rule, report_status(result.status, &facts, false));
            }
        }
    }
    all.retain(|recorded| {
        let results = vec![Expected {
            policy: recorded.policy.clone(),
            rule: recorded.rule.clone(),
            result: recorded.result.into(),
            resources: Some(recorded.resources.clone()),
            ..Expected::default()
        }];
        let ran = run(&file::Test { results, ..test.clone() }, Options::default());
        let passes = ran.failed.is_none() && ran.rows.iter().all(|row| row.verdict == Verdict::Pass);
        if !passes {
            warn(&format!(
                "policy `{}`, rule `{}`: result `{}` cannot be expected by name alone and is left out",
                recorded.policy, recorded.rule, recorded.result
            ));
        }
        passes
    });
    Ok(all.iter().map(Recorded::text).collect())
}

/// The name of a rule as its policy has it, of one that is generated for pod controllers.
fn written(rule: &str) -> &str {
    let base = rule.strip_prefix("autogen-cronjob-").or_else(|| rule.strip_prefix("autogen-"));
    base.unwrap_or(rule)
}

fn add(all: &mut Vec<Recorded>, object: &Value, policy: &str, rule: &str, status: Status) {
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
    match all.iter_mut().find(same) {
        Some(recorded) if recorded.resources.contains(&resource) => {}
        Some(recorded) => recorded.resources.push(resource),
        None => all.push(Recorded {
            policy: policy.into(),
            rule: rule.into(),
            kind: kind.into(),
            result,
            resources: vec![resource],
        }),
    }
}

impl Recorded {
    fn text(&self) -> String {
        let rule = if self.rule.is_empty() { String::new() } else { format!("    rule: {}\n", self.rule) };
        let resources: String = self.resources.iter().map(|r| format!("      - {r}\n")).collect();
        format!(
            "  - policy: {}\n{rule}    resources:\n{resources}    kind: {}\n    result: {}\n",
            self.policy, self.kind, self.result
        )
    }
}
