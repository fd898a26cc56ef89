//! `ephor create policy`: a policy that runs as it is written, to begin with.
//!
//! In: a kind and language of policies, and an example object. Out: a policy about objects of the kind of the
//! example. It requires the labels that the example has, so the example passes it, or else a name.

use clap::{ValueEnum, ValueHint};

use ephor_kubernetes::Kinds;
use ephor_value::Value;
use ephor_value::print::json;

use crate::cli::{Error, given, only};

use super::Output;

/// Creates a policy, from an example object
///
/// It is about objects of the kind of the example and requires the labels that the example has.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # a policy in Kyverno's patterns
  ephor create policy need-team --from deployment.yaml

  # the same in CEL
  ephor create policy need-team --kind ValidatingPolicy --from deployment.yaml -o need-team.yaml")]
pub(super) struct Args {
    /// name of the policy
    #[arg(value_name = "NAME", required = true)]
    name: Vec<String>,
    /// kind of the policy
    #[arg(long, short, value_name = "KIND", default_value = "ClusterPolicy", ignore_case = true)]
    kind: Kind,
    /// language of the rule of a ClusterPolicy or Policy
    #[arg(long, short, value_name = "LANGUAGE", default_value = "pattern")]
    language: Language,
    /// file with an example of the objects that the policy is about (default a Pod with the label `team`)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    from: Option<String>,
    /// namespace of a Policy or NamespacedValidatingPolicy
    #[arg(long, short, value_name = "NAME", default_value = "default")]
    namespace: String,
    #[command(flatten)]
    pub(super) output: Output,
}

/// A kind of policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    #[value(name = "ClusterPolicy")]
    Cluster,
    #[value(name = "Policy")]
    Namespaced,
    #[value(name = "ValidatingPolicy")]
    Validating,
    #[value(name = "NamespacedValidatingPolicy")]
    NamespacedValidating,
    #[value(name = "ValidatingAdmissionPolicy")]
    Admission,
}

/// A language of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Language {
    Pattern,
    Deny,
    Cel,
}

/// The objects that a policy is about, and what it requires.
struct Subject {
    group: String,
    version: String,
    kind: String,
    /// Nothing: a name.
    labels: Vec<String>,
}

/// The text of the policy.
///
/// # Errors
/// No name, or an example that cannot be read or is no object.
pub(super) fn text(args: &Args) -> Result<String, Error> {
    let subject = match given(&args.from) {
        Some(path) => Subject::of(path)?,
        None => Subject {
            group: String::new(),
            version: "v1".into(),
            kind: "Pod".into(),
            labels: vec!["team".into()],
        },
    };
    let name = only(&args.name)?;
    let namespace = match args.kind {
        Kind::Namespaced | Kind::NamespacedValidating => format!("\n  namespace: {}", args.namespace),
        _ => String::new(),
    };
    let kind = args.kind.to_possible_value().map(|v| v.get_name().to_string()).unwrap_or_default();
    let head = |group: &str| {
        format!("apiVersion: {group}/v1\nkind: {kind}\nmetadata:\n  name: {name}{namespace}\nspec:\n")
    };
    Ok(match args.kind {
        Kind::Cluster | Kind::Namespaced => format!("{}{}", head("kyverno.io"), subject.rule(args.language)),
        Kind::Validating | Kind::NamespacedValidating => {
            let actions = "  validationActions: [Audit]\n";
            format!("{}{actions}{}", head("policies.kyverno.io"), subject.validations())
        }
        Kind::Admission => {
            let binding = format!(
                "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata:\n  name: {name}\nspec:\n  policyName: {name}\n  validationActions: [Audit]\n"
            );
            format!("{}{}{binding}", head("admissionregistration.k8s.io"), subject.validations())
        }
    })
}

impl Subject {
    /// The kind and the labels of the first object of a file.
    fn of(path: &str) -> Result<Subject, Error> {
        let documents = crate::cli::admission::documents(&[path.to_string()])?;
        let object = documents.first().filter(|d| !d.text_at(&["kind"]).is_empty());
        let object = object.ok_or_else(|| Error::NoObject { path: path.into() })?;
        let (group, version) =
            object.text_at(&["apiVersion"]).rsplit_once('/').unwrap_or(("", object.text_at(&["apiVersion"])));
        let labels = object.at(&["metadata", "labels"]).and_then(Value::as_map);
        Ok(Subject {
            group: group.into(),
            version: version.into(),
            kind: object.text_at(&["kind"]).into(),
            labels: labels.iter().flat_map(|m| m.iter().map(|(key, _)| key.to_string())).collect(),
        })
    }

    fn message(&self) -> String {
        match self.labels.is_empty() {
            true => "a name is required".into(),
            false => format!("these labels are required: {}", self.labels.join(", ")),
        }
    }

    fn expression(&self) -> String {
        if self.labels.is_empty() {
            return "has(object.metadata.name)".into();
        }
        let names: Vec<String> = self.labels.iter().map(|label| format!("'{label}'")).collect();
        format!(
            "has(object.metadata.labels) && [{}].all(label, label in object.metadata.labels)",
            names.join(", ")
        )
    }

    /// What follows `spec:` in a policy with rules.
    fn rule(&self, language: Language) -> String {
        let kind = match self.group.is_empty() {
            true => self.kind.clone(),
            false => format!("{}/{}/{}", self.group, self.version, self.kind),
        };
        let message = self.message();
        let check = match language {
            Language::Pattern => format!("        message: {}\n{}", quoted(&message), self.pattern()),
            Language::Deny => format!("        message: {}\n{}", quoted(&message), self.conditions()),
            Language::Cel => format!(
                "        cel:\n          expressions:\n            - expression: {}\n              message: {}\n",
                quoted(&self.expression()),
                quoted(&message)
            ),
        };
        format!(
            "  rules:\n    - name: required\n      match:\n        any:\n          - resources:\n              kinds:\n                - {kind}\n              operations: [CREATE, UPDATE]\n      validate:\n        failureAction: Audit\n{check}"
        )
    }

    fn pattern(&self) -> String {
        if self.labels.is_empty() {
            return "        pattern:\n          metadata:\n            name: \"?*\"\n".into();
        }
        let line = |label: &String| format!("              {}: \"?*\"\n", quoted(label));
        let labels: String = self.labels.iter().map(line).collect();
        format!("        pattern:\n          metadata:\n            labels:\n{labels}")
    }

    fn conditions(&self) -> String {
        let condition = |path: String| {
            let key = quoted(&format!("{{{{ request.object.metadata.{path} || '' }}}}"));
            format!(
                "              - key: {key}\n                operator: Equals\n                value: \"\"\n"
            )
        };
        let all: String = match self.labels.is_empty() {
            true => condition("name".into()),
            false => self.labels.iter().map(|label| condition(format!("labels.{}", quoted(label)))).collect(),
        };
        format!("        deny:\n          conditions:\n            any:\n{all}")
    }

    /// What follows `spec:` in a policy with match constraints.
    fn validations(&self) -> String {
        let plural = Kinds::built_in().plural_of(&self.group, &self.version, &self.kind).into_owned();
        format!(
            "  matchConstraints:\n    resourceRules:\n      - apiGroups: [{}]\n        apiVersions: [{}]\n        operations: [CREATE, UPDATE]\n        resources: [{plural}]\n  validations:\n    - expression: {}\n      message: {}\n",
            quoted(&self.group),
            self.version,
            quoted(&self.expression()),
            quoted(&self.message())
        )
    }
}

/// A text in quotes of YAML, which are those of JSON.
fn quoted(text: &str) -> String {
    json(&Value::from(text))
}
