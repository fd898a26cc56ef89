//! `ephor create policy`: a policy that runs as it is written, to begin with.
//!
//! In: a kind and language of policies, and an example object. Out: a policy about objects of the
//! kind of the example. One that validates requires the labels that the example has, so the example
//! passes it, or else a name; one that changes objects adds the labels, one that deletes picks the
//! objects without them. What a policy cannot know from an example (what is generated, who signs
//! images) is a value to begin with.

use clap::{ValueEnum, ValueHint};

use ephor_kubernetes::Kinds;
use ephor_value::Value;
use ephor_value::print::json;

use crate::cli::CommandError;
use crate::cli::arguments::{given, only};
use crate::cli::create::output::OutputFile;
use crate::cli::policy_files;

/// Creates a policy, from an example object
///
/// It is about objects of the kind of the example. Policies that validate require the labels that
/// the example has, policies that mutate add them, policies that delete pick the objects without
/// them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  # a policy in Kyverno's patterns
  ephor create policy need-team --from deployment.yaml

  # the same in CEL
  ephor create policy need-team --kind ValidatingPolicy --from deployment.yaml -o need-team.yaml")]
pub(super) struct CreatePolicyArgs {
    /// name of the policy
    #[arg(value_name = "NAME", required = true)]
    name: Vec<String>,
    /// kind of the policy
    #[arg(long, short, value_name = "KIND", default_value = "ClusterPolicy", ignore_case = true)]
    kind: Kind,
    /// language of the rule of a ClusterPolicy or Policy
    #[arg(long, short, value_name = "LANGUAGE", default_value = "pattern")]
    language: Language,
    /// file with an example of the objects that the policy is about (default a Pod with the label
    /// `team`)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    from: Option<String>,
    /// namespace of a policy that has one
    #[arg(long, short, value_name = "NAME", default_value = "default")]
    namespace: String,
    #[command(flatten)]
    pub(super) output: OutputFile,
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
    #[value(name = "MutatingPolicy")]
    Mutating,
    #[value(name = "NamespacedMutatingPolicy")]
    NamespacedMutating,
    #[value(name = "GeneratingPolicy")]
    Generating,
    #[value(name = "NamespacedGeneratingPolicy")]
    NamespacedGenerating,
    #[value(name = "ImageValidatingPolicy")]
    Images,
    #[value(name = "NamespacedImageValidatingPolicy")]
    NamespacedImages,
    #[value(name = "DeletingPolicy")]
    Deleting,
    #[value(name = "NamespacedDeletingPolicy")]
    NamespacedDeleting,
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
    /// Whether its objects are in namespaces.
    is_namespaced: bool,
    /// Names and values; nothing: a name is required.
    labels: Vec<(String, String)>,
}

/// The text of the policy.
///
/// # Errors
/// No name, or an example that cannot be read or is no object.
pub(super) fn text(args: &CreatePolicyArgs) -> Result<String, CommandError> {
    let subject = match given(&args.from) {
        Some(path) => Subject::of(path)?,
        None => Subject {
            group: String::new(),
            version: "v1".into(),
            kind: "Pod".into(),
            is_namespaced: true,
            labels: vec![("team".into(), "shop".into())],
        },
    };
    let name = only(&args.name)?;
    let kind = args.kind.to_possible_value().map(|v| v.get_name().to_string()).unwrap_or_default();
    let namespace = match kind.starts_with("Namespaced") || args.kind == Kind::Namespaced {
        true => format!("\n  namespace: {}", args.namespace),
        false => String::new(),
    };
    let head = |group: &str| {
        format!("apiVersion: {group}/v1\nkind: {kind}\nmetadata:\n  name: {name}{namespace}\nspec:\n")
    };
    const GROUP: &str = "policies.kyverno.io";
    Ok(match args.kind {
        Kind::Cluster | Kind::Namespaced => format!("{}{}", head("kyverno.io"), subject.rule(args.language)),
        Kind::Validating | Kind::NamespacedValidating => {
            let actions = "  validationActions: [Audit]\n";
            format!("{}{actions}{}", head(GROUP), subject.validations())
        }
        Kind::Mutating | Kind::NamespacedMutating => format!("{}{}", head(GROUP), subject.mutations()),
        Kind::Generating | Kind::NamespacedGenerating => {
            format!("{}{}", head(GROUP), subject.generate(name, args.kind))
        }
        Kind::Images | Kind::NamespacedImages => format!("{}{}", head(GROUP), subject.images()),
        Kind::Deleting | Kind::NamespacedDeleting => format!("{}{}", head(GROUP), subject.deletion()),
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
    fn of(path: &str) -> Result<Subject, CommandError> {
        let documents = policy_files::documents(&[path.to_string()])?;
        let object = documents.first().filter(|d| !d.text_at(&["kind"]).is_empty());
        let object = object.ok_or_else(|| CommandError::NoObject { path: path.into() })?;
        let (group, version) =
            object.text_at(&["apiVersion"]).rsplit_once('/').unwrap_or(("", object.text_at(&["apiVersion"])));
        let labels = object.at(&["metadata", "labels"]).and_then(Value::as_map);
        Ok(Subject {
            group: group.into(),
            version: version.into(),
            kind: object.text_at(&["kind"]).into(),
            is_namespaced: !object.text_at(&["metadata", "namespace"]).is_empty()
                || Kinds::built_in()
                    .kind(group, version, object.text_at(&["kind"]))
                    .is_some_and(|resource| resource.namespaced),
            labels: labels
                .iter()
                .flat_map(|m| m.iter().map(|(key, value)| (key.to_string(), text_of(value))))
                .collect(),
        })
    }

    /// The names of the labels.
    fn names(&self) -> Vec<&str> {
        self.labels.iter().map(|(name, _)| name.as_str()).collect()
    }

    fn message(&self) -> String {
        match self.labels.is_empty() {
            true => "a name is required".into(),
            false => format!("these labels are required: {}", self.names().join(", ")),
        }
    }

    fn expression(&self) -> String {
        if self.labels.is_empty() {
            return "has(object.metadata.name)".into();
        }
        let names: Vec<String> = self.names().iter().map(|label| format!("'{label}'")).collect();
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
        let line = |label: &&str| format!("              {}: \"?*\"\n", quoted(label));
        let labels: String = self.names().iter().map(line).collect();
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
            false => {
                self.names().iter().map(|label| condition(format!("labels.{}", quoted(label)))).collect()
            }
        };
        format!("        deny:\n          conditions:\n            any:\n{all}")
    }

    /// The objects that a policy is about: when they are created or changed, or those of a cluster.
    fn constraints(&self, with_operations: bool) -> String {
        let plural = Kinds::built_in().plural_of(&self.group, &self.version, &self.kind).into_owned();
        let operations = if with_operations { "        operations: [CREATE, UPDATE]\n" } else { "" };
        format!(
            "  matchConstraints:\n    resourceRules:\n      - apiGroups: [{}]\n        apiVersions: [{}]\n{operations}        resources: [{plural}]\n",
            quoted(&self.group),
            self.version
        )
    }

    /// What follows `spec:` in a policy with validations.
    fn validations(&self) -> String {
        format!(
            "{}  validations:\n    - expression: {}\n      message: {}\n",
            self.constraints(true),
            quoted(&self.expression()),
            quoted(&self.message())
        )
    }

    /// The labels that are added: those of the example, or one to begin with.
    fn added(&self) -> Vec<(&str, &str)> {
        match self.labels.is_empty() {
            true => vec![("team", "shop")],
            false => self.labels.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect(),
        }
    }

    /// What follows `spec:` in a policy that adds labels to objects without them.
    fn mutations(&self) -> String {
        let added = self.added();
        let names: Vec<String> = added.iter().map(|(name, _)| cel_text(name)).collect();
        let pairs: Vec<String> =
            added.iter().map(|(name, value)| format!("{}: {}", cel_text(name), cel_text(value))).collect();
        let lacks = format!(
            "!has(object.metadata.labels) || ![{}].all(label, label in object.metadata.labels)",
            names.join(", ")
        );
        let patch = format!("Object{{metadata: Object.metadata{{labels: {{{}}}}}}}", pairs.join(", "));
        format!(
            "{}  matchConditions:\n    - name: lacks-labels\n      expression: {}\n  mutations:\n    - patchType: ApplyConfiguration\n      applyConfiguration:\n        expression: {}\n",
            self.constraints(true),
            quoted(&lacks),
            quoted(&patch)
        )
    }

    /// What follows `spec:` in a policy that generates a ConfigMap for each object.
    fn generate(&self, name: &str, kind: Kind) -> String {
        let namespace = match (self.is_namespaced, &*self.kind) {
            (true, _) => "object.metadata.namespace",
            (false, "Namespace") => "object.metadata.name",
            (false, _) => "'default'",
        };
        let object = format!(
            "[{{'apiVersion': dyn('v1'), 'kind': dyn('ConfigMap'), 'metadata': dyn({{'name': {}, 'namespace': string({namespace})}}), 'data': dyn({{'of': object.metadata.name}})}}]",
            cel_text(name)
        );
        // A policy of a namespace generates there.
        let (variable, argument) = match kind {
            Kind::NamespacedGenerating => (String::new(), ""),
            _ => {
                let variable = format!("    - name: namespace\n      expression: {}\n", quoted(namespace));
                (variable, "variables.namespace, ")
            }
        };
        format!(
            "{}  variables:\n{variable}    - name: objects\n      expression: {}\n  generate:\n    - expression: generator.Apply({argument}variables.objects)\n",
            self.constraints(true),
            quoted(&object)
        )
    }

    /// What follows `spec:` in a policy about signatures of images.
    fn images(&self) -> String {
        format!(
            "  validationActions: [Audit]\n{}  matchImageReferences:\n    - glob: \"ghcr.io/*\"\n  attestors:\n    - name: team\n      cosign:\n        keyless:\n          identities:\n            - issuer: https://token.actions.githubusercontent.com\n              subjectRegExp: \"https://github.com/.*\"\n        ctlog:\n          url: https://rekor.sigstore.dev\n  validations:\n    - expression: \"images.containers.map(image, verifyImageSignatures(image, [attestors.team])).all(count, count > 0)\"\n      message: \"the images must be signed\"\n",
            self.constraints(true)
        )
    }

    /// What follows `spec:` in a policy that deletes the objects that a validation would refuse.
    fn deletion(&self) -> String {
        let condition = match self.labels.is_empty() {
            true => "now() - timestamp(object.metadata.creationTimestamp) > duration('720h')".to_string(),
            false => format!("!({})", self.expression()),
        };
        format!(
            "  schedule: \"0 1 * * *\"\n{}  conditions:\n    - name: delete\n      expression: {}\n",
            self.constraints(false),
            quoted(&condition)
        )
    }
}

/// A scalar as text.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| json(value), str::to_string)
}

/// A text as CEL writes it.
fn cel_text(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// A text in quotes of YAML, which are those of JSON, without its escapes for pages.
fn quoted(text: &str) -> String {
    let text = json(&Value::from(text));
    [("\\u0026", "&"), ("\\u003c", "<"), ("\\u003e", ">")]
        .iter()
        .fold(text, |text, (escape, plain)| text.replace(escape, plain))
}
