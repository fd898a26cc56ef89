//! The tools.
//!
//! In: the name of a tool and the arguments of a call. Out: a result as JSON and as text, or why
//! there is none.

use serde_json::{Map, Value as Json};

use ephor_value::suggest::did_you_mean;

use super::answer::ToolAnswer;
use super::arguments::{ArgumentForm, McpSettings, ToolArgument, ToolCall};
use super::error::ToolError;
use super::{compare, decide, fixes, rewrite, schemas, testing};

/// A tool.
pub(super) struct McpTool {
    pub name: &'static str,
    pub title: &'static str,
    pub about: &'static str,
    pub arguments: &'static [ToolArgument],
    /// The schema of results.
    pub output: fn() -> Json,
    /// Whether calls can write.
    pub writes: bool,
    run: fn(&ToolCall<'_>) -> Result<ToolAnswer, ToolError>,
}

const fn files(name: &'static str, is_required: bool, about: &'static str) -> ToolArgument {
    ToolArgument { name, form: ArgumentForm::Files, is_required, about }
}

const fn optional(name: &'static str, form: ArgumentForm, about: &'static str) -> ToolArgument {
    ToolArgument { name, form, is_required: false, about }
}

const POLICIES: ToolArgument = files("policies", true, "The policies, with their bindings and exceptions.");
const DEFINITIONS: ToolArgument = files("definitions", false, "CustomResourceDefinitions.");
const KUBERNETES: ToolArgument = optional(
    "kubernetes",
    ArgumentForm::Text,
    "The release of Kubernetes whose API server evaluates its own policies, such as 1.36.",
);
const OUTPUT: ToolArgument = optional(
    "output",
    ArgumentForm::Output,
    "Where the new texts are written: a .yaml file, or a folder that is laid out as the inputs. Without it nothing is written.",
);
const OVERWRITE: ToolArgument = optional(
    "overwrite",
    ArgumentForm::Flag,
    "Whether files that are there, inputs among them, are replaced.",
);
const RESOURCES: &str = "The objects that policies are evaluated on; they are also what rules look up.";
const OLD: ToolArgument = optional("oldResource", ArgumentForm::File, "The former object of an UPDATE.");
const USER: ToolArgument =
    optional("user", ArgumentForm::File, "Who sends the requests: a file as for --userinfo.");
const VALUES: ToolArgument = optional(
    "values",
    ArgumentForm::File,
    "Values of variables, labels of namespaces: a file as for --values-file.",
);
const CONTEXT: ToolArgument =
    optional("context", ArgumentForm::File, "What policies in CEL look up: a file as for --context-path.");
const OPERATION: ToolArgument = optional(
    "operation",
    ArgumentForm::Word(&["CREATE", "UPDATE", "DELETE", "CONNECT"]),
    "The operation of the requests; default that of `values`, or CREATE.",
);
const AS: ToolArgument = optional(
    "as",
    ArgumentForm::Word(&["kyverno", "cluster"]),
    "Whose decisions: those of Kyverno's command line (default), or of a cluster.",
);
const SECONDS: ToolArgument =
    optional("seconds", ArgumentForm::Seconds, "The longest time for the proof of a policy; default 20.");

/// All tools.
pub(super) static TOOLS: [McpTool; 6] = [
    McpTool {
        name: "lint",
        title: "Check policies",
        about: "Checks Kubernetes and Kyverno policies before they run: schema, expressions with their types, unknown fields and kinds, rules that never match. Findings have a place and often fixes. With `fix` the texts with fixes are returned, and written where `output` says.",
        arguments: &[
            POLICIES,
            DEFINITIONS,
            KUBERNETES,
            optional(
                "fix",
                ArgumentForm::Word(&["none", "safe", "unsafe"]),
                "Which fixes are applied, default none: safe ones keep what was meant, unsafe ones choose one of several meanings. Findings are those that are left.",
            ),
            OUTPUT,
            OVERWRITE,
        ],
        output: schemas::lint,
        writes: true,
        run: fixes::lint,
    },
    McpTool {
        name: "explain",
        title: "Explain policies",
        about: "Explains policies: without resources each rule as it is evaluated, generated rules included; with resources every decision of the rules about each of the first 20, with the place in the policy and the value that decided.",
        arguments: &[
            POLICIES,
            files("resources", false, RESOURCES),
            optional("policy", ArgumentForm::Text, "The name of the only policy to explain."),
            optional("rule", ArgumentForm::Text, "The name of the only rule to explain."),
            OLD,
            USER,
            VALUES,
            CONTEXT,
            DEFINITIONS,
            OPERATION,
            AS,
            KUBERNETES,
        ],
        output: schemas::explain,
        writes: false,
        run: decide::explain,
    },
    McpTool {
        name: "apply",
        title: "Evaluate policies on resources",
        about: "Evaluates policies on resources: for each resource the result of each rule with message and place, what mutations leave, and what is generated.",
        arguments: &[
            POLICIES,
            files("resources", true, RESOURCES),
            OLD,
            USER,
            VALUES,
            CONTEXT,
            DEFINITIONS,
            OPERATION,
            AS,
            KUBERNETES,
        ],
        output: schemas::apply,
        writes: false,
        run: decide::apply,
    },
    McpTool {
        name: "test",
        title: "Run policy tests",
        about: "Runs tests of policies (kyverno-test.yaml) below folders, or tests given as texts with the files that they name. Each expected result passes or fails with a reason.",
        arguments: &[files(
            "tests",
            true,
            "Folders with kyverno-test.yaml files; or texts whose names are paths relative to each other: one is kyverno-test.yaml, the others are the files that it names.",
        )],
        output: schemas::test,
        writes: false,
        run: testing::test,
    },
    McpTool {
        name: "diff",
        title: "Compare policies",
        about: "Says whether two sets of policies mean the same: proved for every object, tested, or different, with the smallest object on which they differ and what each side says about it.",
        arguments: &[
            files("old", true, "The old policies."),
            files("new", true, "The new policies."),
            KUBERNETES,
            SECONDS,
        ],
        output: schemas::diff,
        writes: false,
        run: compare::diff,
    },
    McpTool {
        name: "migrate",
        title: "Migrate policies to CEL",
        about: "Writes policies in CEL for ClusterPolicies, cleanup policies and exceptions, each compared with its origin: proved or tested to mean the same, different with an object, or refused with the place and the nearest rewrite. New texts are returned, and written where `output` says.",
        arguments: &[
            POLICIES,
            optional(
                "to",
                ArgumentForm::Word(&["vpol", "vap"]),
                "What is written: policies of policies.kyverno.io (default), or ValidatingAdmissionPolicies of Kubernetes.",
            ),
            DEFINITIONS,
            KUBERNETES,
            optional(
                "withoutReplicationControllers",
                ArgumentForm::Flag,
                "Whether ReplicationControllers are left out, for which policies in CEL generate no rules: else policies of their own are written for them.",
            ),
            SECONDS,
            OUTPUT,
            OVERWRITE,
        ],
        output: schemas::migrate,
        writes: true,
        run: rewrite::migrate,
    },
];

/// The tool of a name.
///
/// # Errors
/// There is none.
pub(super) fn find(name: &str) -> Result<&'static McpTool, ToolError> {
    let tools: Vec<&'static str> = TOOLS.iter().map(|tool| tool.name).collect();
    TOOLS.iter().find(|tool| tool.name == name).ok_or_else(|| ToolError::UnknownTool {
        name: name.into(),
        meant: did_you_mean(name, &tools),
        tools,
    })
}

impl McpTool {
    /// Calls the tool.
    ///
    /// # Errors
    /// An argument cannot be used, or there is no result.
    pub(super) fn call(
        &'static self,
        given: &Map<String, Json>,
        settings: &McpSettings,
    ) -> Result<ToolAnswer, ToolError> {
        (self.run)(&ToolCall::new((self.name, self.arguments), given, settings)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_a_tool_have_names_of_their_own() {
        for tool in &TOOLS {
            let mut names: Vec<&str> = tool.arguments.iter().map(|argument| argument.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), tool.arguments.len(), "{}", tool.name);
        }
    }
}
