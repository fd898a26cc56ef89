//! Single expressions: their values, as `ephor cel eval` and `ephor jp query` print them.

use serde_json::{Value as Json, json};

use ephor_search::cel::{CelExpression, Environment, Step};
use ephor_search::meant::{of_cel, with_meant_key};
use ephor_search::{Expression, Problem, document, json_pretty, read};
use ephor_value::{Value, budget};

use crate::question::{Cel, Jmespath, QuestionError, deadline};

/// How long an evaluation may take, in milliseconds.
const EVALUATION: u64 = 10_000;

fn failed(problem: Problem) -> QuestionError {
    QuestionError::Expression(Box::new(problem))
}

/// The value of a CEL expression with its type, its cost, and the values of its parts.
///
/// # Errors
/// The document or the environment is none, the expression does not compile or has no value.
pub fn cel(question: &Cel) -> Result<Json, QuestionError> {
    let environment = match &*question.environment {
        "" => Environment::default(),
        name => Environment::named(name).ok_or_else(|| {
            QuestionError::input("environment", format!("there is no environment `{name}`"))
        })?,
    };
    let document = match question.document.trim() {
        "" => Value::Null,
        text => document(text).map_err(|cause| QuestionError::input("document", cause))?,
    };
    let data = environment.data(&document);
    let expression = CelExpression::compile(&question.expression, environment, &data)
        .map_err(|cause| QuestionError::input("expression", cause))?;
    let evaluate = || {
        let (outcome, excess) = budget::spend(|| expression.evaluate(&data));
        if let Some(excess) = excess {
            return Err(QuestionError::input("expression", excess.text()));
        }
        let value = outcome
            .to_text()
            .map_err(|error| failed(of_cel(&question.expression, &expression, environment, &data, &error)))?;
        let (steps, _) = budget::spend(|| expression.trace(&data));
        let estimate = expression.estimate();
        Ok(json!({
            "value": value,
            "type": expression.type_name(),
            "cost": outcome.cost,
            "estimate": {"min": estimate.min, "max": (estimate.max != u64::MAX).then_some(estimate.max)},
            "steps": steps.iter().map(step).collect::<Vec<_>>(),
        }))
    };
    budget::until(deadline(question.milliseconds, EVALUATION), evaluate)
}

fn step(step: &Step) -> Json {
    let (value, error) = match &step.value {
        Ok(value) => (Some(value), None),
        Err(error) => (None, Some(error.to_string())),
    };
    json!({"depth": step.depth, "text": step.text, "value": value, "error": error})
}

/// The value of a JMESPath expression.
///
/// # Errors
/// The document is none, the expression does not compile or has no value.
pub fn jmespath(question: &Jmespath) -> Result<Json, QuestionError> {
    let mut document = read(&question.document).map_err(|cause| QuestionError::input("document", cause))?;
    let expression = Expression::compile(&question.expression).map_err(failed)?;
    let search = || {
        let (found, excess) = budget::spend(|| expression.search_in(&mut document));
        match excess {
            Some(excess) => Err(QuestionError::input("expression", excess.text())),
            None => found.map_err(|problem| failed(with_meant_key(problem, &document))),
        }
    };
    let found = budget::until(deadline(question.milliseconds, EVALUATION), search)?;
    let value = json_pretty(&found).map_err(|cause| QuestionError::input("expression", cause))?;
    Ok(json!({"value": value}))
}
