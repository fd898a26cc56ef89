//! Whether two texts of policies mean the same, as `ephor diff --output-format json` says it.

use serde_json::Value as Json;

use ephor_compare::{Ignored, Mapping, Options, Pair, Side, compare_observed, pairs};
use ephor_inspect::compared::answered::{Answered, Compared, PairOutcome, name_place};
use ephor_inspect::compared::json::json_of;
use ephor_policies::load::{Policies, Purpose, Reader, argument_as};
use ephor_value::release::Release;

use crate::question::{Diff, Files, QuestionError, deadline, release};

/// How long a comparison may take, in milliseconds.
const COMPARISON: u64 = 20_000;

/// The answer about each pair of policies.
///
/// # Errors
/// A side cannot be read or used, or holds no policy.
pub fn answer(question: &Diff) -> Result<Json, QuestionError> {
    let kubernetes = release(&question.kubernetes)?;
    let options = Options { deadline: deadline(question.milliseconds, COMPARISON), ..Options::default() };
    let (old, new) = (side("old", &question.old, kubernetes)?, side("new", &question.new, kubernetes)?);
    let found = pairs(&old, &new, &Mapping::default()).map_err(|cause| QuestionError::input("new", cause))?;
    let answered: Result<Vec<Answered>, QuestionError> =
        found.iter().map(|pair| of_pair(pair, options)).collect();
    Ok(json_of(&answered?))
}

fn of_pair(pair: &Pair, options: Options) -> Result<Answered, QuestionError> {
    let name = pair.name.clone();
    let (Some(old), Some(new)) = (&pair.old, &pair.new) else {
        let load = pair.old.as_ref().or(pair.new.as_ref());
        let place = load.and_then(|load| name_place(load.policies.first()?));
        return Ok(Answered { name, found: PairOutcome::Only { is_old: pair.old.is_some(), place } });
    };
    let (before, after) = (Side::new(old.clone(), &name)?, Side::new(new.clone(), &name)?);
    let comparison = compare_observed(&before, &after, options, None);
    let claims = (options, &Ignored::default(), true);
    let compared = Compared::answered(&name, comparison, [&before, &after], ([old, new], pair.by), claims);
    Ok(Answered { name, found: PairOutcome::Compared(Box::new(compared)) })
}

/// The policies of a side that admit requests.
fn side(name: &'static str, files: &Files, kubernetes: Option<Release>) -> Result<Policies, QuestionError> {
    let mut policies = argument_as(&files.sources(&format!("{name}.yaml")), Reader::Scan, kubernetes);
    if let Some(problem) = policies.problems.iter().find(|problem| !problem.foreign) {
        return Err(QuestionError::input(name, problem));
    }
    let deletes = |purpose| purpose == Purpose::Deletion;
    let mut causes: Vec<String> = policies.problems.iter().map(ToString::to_string).collect();
    for policy in policies.policies.iter().filter(|policy| deletes(policy.purpose())) {
        causes.push(format!("{}:{}: `{}` deletes objects", policy.source, policy.line, policy.name));
    }
    policies.policies.retain(|policy| !deletes(policy.purpose()));
    if policies.policies.is_empty() {
        return Err(QuestionError::NoPolicy { side: name, causes });
    }
    Ok(policies)
}
