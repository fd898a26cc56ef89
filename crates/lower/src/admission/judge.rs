//! What is wrong with the expressions of a policy, before the API takes it.

use crate::api::admission::{Expressions, Wanted};
use crate::cel::library::Admission as Choice;
use crate::cel::types::Type;
use crate::functions::CelLevel;
use crate::value::Value;

use super::super::compiler::Compiler;

/// Judges the expressions of one policy. Names in backticks are not accepted in new policies.
pub struct Judge {
    choice: Choice,
    /// Knows the variables.
    compiler: Compiler,
    /// The same for messages, which may not use the authorizer.
    of_messages: Compiler,
}

impl Judge {
    /// A judge for a policy.
    pub fn new(document: &Value) -> Judge {
        let set = |path: &[&str]| document.at(path).is_some_and(|v| !v.is_null());
        let choice = Choice {
            params: set(&["spec", "paramKind"]),
            authorizer: true,
            mutation: document.text_at(&["kind"]) == "MutatingAdmissionPolicy",
            backticks: false,
            level: CelLevel::V26,
        };
        let variables = document.at(&["spec", "variables"]).and_then(Value::as_list).unwrap_or_default();
        let made = |choice: Choice| {
            match variables.is_empty() {
                true => Compiler::without_variables(choice),
                false => Compiler::new(choice),
            }
            .at(CelLevel::V26)
        };
        Judge { choice, compiler: made(choice), of_messages: made(Choice { authorizer: false, ..choice }) }
    }
}

impl Expressions for Judge {
    fn problem(&self, source: &str, wanted: Wanted) -> Option<String> {
        let compiled = match wanted {
            Wanted::Condition => Compiler::without_variables(Choice { mutation: false, ..self.choice })
                .source_of(source, &[Type::Bool]),
            Wanted::Validation => self.compiler.source_of(source, &[Type::Bool]),
            Wanted::Message => self.of_messages.source_of(source, &[Type::String]),
            Wanted::Annotation => self.compiler.source_of(source, &[Type::String, Type::Null]),
            Wanted::Apply => self.compiler.source_of(source, &[Type::Struct("Object".into())]),
            Wanted::JsonPatch => {
                self.compiler.source_of(source, &[Type::list(Type::Struct("JSONPatch".into()))])
            }
        };
        compiled.program.err().map(|text| text.to_string())
    }

    fn variable(&mut self, name: &str, source: &str) -> Option<String> {
        let variable = self.compiler.variable(name, source, "");
        self.of_messages.share(&self.compiler);
        variable.program.err().map(|text| text.to_string())
    }
}
