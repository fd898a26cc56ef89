//! What is wrong with the expressions of a policy, before the API takes it.

use ephor_api::admission::{ExpressionProblem, Expressions, Wanted};
use ephor_cel::CompileError;
use ephor_cel::library::Admission as Choice;
use ephor_cel::types::Type;
use ephor_functions::CelLevel;
use ephor_value::Value;
use ephor_value::release::Release;

use super::super::compiler::{Compiler, ProgramError};

/// Judges the expressions of one policy. A new policy has names in backticks only where the release
/// has them in its language.
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
