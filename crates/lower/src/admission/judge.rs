//! What is wrong with the expressions of a policy, before the API takes it.

use ephor_api::admission::{ExpressionProblem, Expressions, Wanted};
use ephor_cel::CompileError;
use ephor_cel::library::Admission as Choice;
use ephor_cel::types::Type;
use ephor_functions::CelLevel;
use ephor_value::Value;
use ephor_value::release::Release;

use super::super::compiler::{Compiler, ProgramError};

/// Judges the expressions of one policy, which is new: it may use less than a stored one.
pub struct Judge {
    choice: Choice,
    release: Release,
    /// For variables, which know no types of mutations.
    of_variables: Compiler,
    /// Knows the variables.
    compiler: Compiler,
    /// The same for messages, which may not use the authorizer.
    of_messages: Compiler,
}

impl Judge {
    /// A judge for a policy, of an API server of a release.
    pub fn new(document: &Value, release: Release) -> Judge {
        let level = CelLevel::of_server(release);
        let set = |path: &[&str]| document.at(path).is_some_and(|v| !v.is_null());
        let choice = Choice {
            params: set(&["spec", "paramKind"]),
            authorizer: true,
            mutation: document.text_at(&["kind"]) == "MutatingAdmissionPolicy",
            backticks: false,
            is_new: true,
            level,
        };
        let variables = document.at(&["spec", "variables"]).and_then(Value::as_list).unwrap_or_default();
        let made = |choice: Choice| {
            // Mutations have variables, even if there are none.
            match variables.is_empty() && !choice.mutation {
                true => Compiler::without_variables(choice),
                false => Compiler::new(choice),
            }
            .at(level)
        };
        let of_variables = made(Choice { mutation: false, ..choice });
        let of_messages = made(Choice { authorizer: false, ..choice });
        Judge { choice, release, of_variables, compiler: made(choice), of_messages }
    }
}

impl Expressions for Judge {
    fn release(&self) -> Release {
        self.release
    }

    fn problem(&self, source: &str, wanted: Wanted) -> Option<ExpressionProblem> {
        let of_conditions;
        let (compiler, wanted) = match wanted {
            Wanted::Condition => {
                of_conditions = Compiler::without_variables(Choice { mutation: false, ..self.choice });
                (&of_conditions, vec![Type::Bool])
            }
            Wanted::Validation => (&self.compiler, vec![Type::Bool]),
            Wanted::Message => (&self.of_messages, vec![Type::String]),
            Wanted::Annotation => (&self.compiler, vec![Type::String, Type::Null]),
            Wanted::Apply => (&self.compiler, vec![Type::Struct("Object".into())]),
            Wanted::JsonPatch => (&self.compiler, vec![Type::list(Type::Struct("JSONPatch".into()))]),
        };
        compiler.typed_expression(source, &wanted).err().map(problem)
    }

    fn variable(&mut self, name: &str, source: &str) -> Option<ExpressionProblem> {
        let found = self.of_variables.variable_expression(name, source);
        self.compiler.share(&self.of_variables);
        self.of_messages.share(&self.of_variables);
        found.err().map(|error| problem(error.into()))
    }
}

fn problem(error: ProgramError) -> ExpressionProblem {
    let text = error.to_string();
    match error {
        ProgramError::Compile(CompileError::Impossible(_)) => ExpressionProblem::Impossible(text),
        _ => ExpressionProblem::Invalid(text),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::{Place, rule};
    use super::*;
    use ephor_value::print::json;

    /// Why a new validation is refused, and why a stored one fails, release by release.
    fn faults(expression: &str) -> [(Option<String>, bool); 3] {
        [Release::V1_36, Release::V1_37, Release::V1_38].map(|release| {
            let judge = Judge::new(&Value::Null, release);
            let new = judge.problem(expression, Wanted::Validation).map(|problem| match problem {
                ExpressionProblem::Invalid(text) | ExpressionProblem::Impossible(text) => text,
            });
            let text = format!(
                "{{kind: ValidatingAdmissionPolicy, metadata: {{name: p}}, spec: {{validations: [{{expression: {}}}]}}}}",
                json(&Value::from(expression))
            );
            let stored = rule(&ephor_document::yaml_value(&text).unwrap(), Place::Server(release));
            (new, format!("{stored:?}").contains("compilation failed"))
        })
    }

    #[test]
    fn a_function_is_for_stored_expressions_first_and_for_new_ones_a_release_later() {
        for (expression, introduced) in [("[1].includes(1)", 1), ("cidr('10.0.0.0/8').isMask()", 2)] {
            for (at, (new, fails)) in faults(expression).into_iter().enumerate() {
                assert_eq!(new.is_none(), at > introduced, "{expression}: {new:?}");
                assert!(new.is_none_or(|text| text.contains("undeclared reference to")));
                assert_eq!(fails, at < introduced, "{expression} at {at}");
            }
        }
    }

    #[test]
    fn functions_of_lists_are_for_stored_expressions_in_1_34_and_for_new_ones_from_1_35_on() {
        for (expression, unknown) in [
            ("[2, 1].sortBy(x, x) == [1, 2]", "sortBy"),
            ("lists.range(2) == [0, 1]", "lists"),
            ("[1].distinct() == [1]", "distinct"),
            ("[[1]].flatten() == [1]", "flatten"),
            ("[1, 2].slice(0, 1).reverse() == [1].sort()", "slice"),
        ] {
            let refusal = |release| Judge::new(&Value::Null, release).problem(expression, Wanted::Validation);
            let Some(ExpressionProblem::Invalid(text)) = refusal(Release::V1_34) else {
                panic!("{expression} is taken")
            };
            let words = format!("undeclared reference to '{unknown}' (in container '')");
            assert!(text.contains(&words), "{text}");
            assert!(refusal(Release::V1_35).is_none(), "{expression}");
            let text = format!(
                "{{kind: ValidatingAdmissionPolicy, metadata: {{name: p}}, spec: {{validations: [{{expression: {}}}]}}}}",
                json(&Value::from(expression))
            );
            let policy = ephor_document::yaml_value(&text).unwrap();
            assert!(
                !format!("{:?}", rule(&policy, Place::Server(Release::V1_34))).contains("compilation failed")
            );
        }
    }

    #[test]
    fn names_in_backticks_are_for_new_and_stored_expressions_of_a_release_alike() {
        for (at, (new, fails)) in faults("object.`a` == 1").into_iter().enumerate() {
            assert_eq!((new.is_some(), fails), (at == 0, at == 0));
        }
    }
}
