//! Commands that read a part of a run.
//!
//! In: the arguments of a run ([`Invocation`]) and one of its results. Out: the command line that
//! gives the same answer for this result alone, as words of a shell. A command that would read
//! other inputs is none.

use crate::printable::printable;
pub use crate::run::Invocation;
use crate::run::{Finding, ResourceName};

impl Invocation {
    /// The command that explains a result with the same inputs: of the files of policy and object
    /// where these suffice, else of all with the names of policy, rule and object. What was
    /// standard input is so again. None where something is read once.
    pub fn explain(&self, finding: &Finding) -> Option<String> {
        let policy = finding.decision.as_ref()?.file.as_str();
        let resource = finding.place.as_ref()?.file.as_str();
        if self.is_read_once || policy.is_empty() || resource.is_empty() {
            return None;
        }
        let mut words: Vec<&str> = vec!["ephor", "explain"];
        let object = finding.resource.as_ref().map(ResourceName::kind_and_name).unwrap_or_default();
        if self.alone.contains(&finding.policy.name) || self.policies.is_empty() {
            words.extend([policy, "-r", resource]);
            words.extend(self.flags.iter().map(String::as_str).filter(|flag| *flag != RECURSIVE));
        } else {
            words.extend(self.policies.iter().map(String::as_str));
            words.extend(self.resources.iter().flat_map(|file| ["-r", file]));
            words.extend(self.flags.iter().map(String::as_str));
            words.extend(["--policy", &finding.policy.name]);
            if !finding.rule.is_empty() {
                words.extend(["--rule", &finding.rule]);
            }
            words.extend(["--object", &object]);
        }
        let is_piped = words.contains(&"-");
        let command = words.into_iter().map(argument).collect::<Vec<_>>().join(" ");
        Some(if is_piped { format!("{command}  # with the same standard input") } else { command })
    }
}

/// The flag with which folders are read with those below them.
const RECURSIVE: &str = "--recursive";

/// A word as one argument of a shell.
pub fn argument(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-:+,=@%".contains(c);
    match !name.is_empty() && name.chars().all(is_plain) {
        true => name.to_string(),
        false => format!("'{}'", printable(name).replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use crate::run::{Order, Place, PolicyInfo};
    use ephor_engine::Status;

    use std::collections::BTreeSet;

    use super::*;

    fn finding(policy: &str, resource: &str) -> Finding {
        let place = |file: &str| Some(Place { file: file.into(), line: 1, ..Place::default() });
        Finding {
            order: Order::default(),
            policy: Arc::new(PolicyInfo { name: "p".into(), ..PolicyInfo::default() }),
            rule: "r".into(),
            status: Status::Fail,
            message: String::new(),
            resource: Some(ResourceName {
                kind: "Pod".into(),
                name: "a b".into(),
                ..ResourceName::default()
            }),
            field: None,
            place: place(resource),
            template: None,
            decision: place(policy),
            fix: None,
            is_known: false,
        }
    }

    fn words(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_policy_that_decides_alone_is_explained_with_its_file_and_all_flags() {
        let run = Invocation {
            policies: words(&["policies"]),
            resources: words(&["manifests"]),
            flags: words(&["--recursive", "-f", "my values.yaml"]),
            is_read_once: false,
            alone: ["p".to_string()].into(),
        };
        let command = run.explain(&finding("policies/p.yaml", "manifests/a.yaml")).unwrap();
        assert_eq!(command, "ephor explain policies/p.yaml -r manifests/a.yaml -f 'my values.yaml'");
        let command = run.explain(&finding("-", "manifests/a.yaml")).unwrap();
        assert_eq!(
            command,
            "ephor explain - -r manifests/a.yaml -f 'my values.yaml'  # with the same standard input"
        );
        // Data has no place.
        assert_eq!(run.explain(&finding("policies/p.yaml", "")), None);
        let once = Invocation { is_read_once: true, ..run };
        assert_eq!(once.explain(&finding("policies/p.yaml", "manifests/a.yaml")), None);
    }

    #[test]
    fn a_policy_that_needs_the_others_is_explained_with_all_inputs_and_its_name() {
        let run = Invocation {
            policies: words(&["policies"]),
            resources: words(&["manifests"]),
            flags: words(&["--recursive"]),
            is_read_once: false,
            alone: BTreeSet::new(),
        };
        let command = run.explain(&finding("policies/p.yaml", "manifests/a.yaml")).unwrap();
        let flags = "--recursive --policy p --rule r --object 'Pod/a b'";
        assert_eq!(command, format!("ephor explain policies -r manifests {flags}"));
        let piped = Invocation { resources: words(&["-"]), ..run };
        let command = piped.explain(&finding("policies/p.yaml", "-")).unwrap();
        assert_eq!(command, format!("ephor explain policies -r - {flags}  # with the same standard input"));
    }
}
