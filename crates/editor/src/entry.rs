//! What a file gives to others: an entry of the index.
//!
//! In: the text of a file. Out: its documents with their places, the policies that it has,
//! lowered, and what other files read of it: definitions of kinds, ConfigMaps, namespaces, tests.

use std::path::Path;
use std::sync::Arc;

use ephor_document::{Duplicates, parse_stream};
use ephor_kubernetes::groups;
use ephor_policies::load::{Policies, Reader, argument_for, is_meant_as_policy, objects};
use ephor_sources::files::SourceText;
use ephor_value::Value;
use ephor_value::file_path::normal;
use ephor_value::place::Path as ValuePath;
use ephor_value::release::Release;

use crate::span::Span;
use crate::text::Text;

/// What a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A policy, an exception, a binding, or another kind of the groups of policies.
    Policy,
    /// A test of policies (`kyverno-test.yaml`).
    Test,
    /// A file of values for tests, or of a user.
    Values,
    /// A CustomResourceDefinition.
    Definition,
    /// An object of Kubernetes.
    Object,
    /// Anything else.
    Other,
}

/// An object of a file.
#[derive(Clone, Debug)]
pub struct Part {
    /// What it is.
    pub role: Role,
    /// Where its document stands in the text of the entry.
    pub document: Span,
    /// Where it stands in the document: `items[3]` in a list, else nothing.
    pub prefix: ValuePath,
    /// What it says.
    pub value: Value,
    /// The text of its document.
    pub text: Arc<str>,
}

impl Part {
    /// Its kind.
    pub fn kind(&self) -> &str {
        self.value.text_at(&["kind"])
    }

    /// Whether it is a policy itself, and nothing that belongs to policies.
    pub fn is_policy(&self) -> bool {
        self.role == Role::Policy && self.kind().ends_with("Policy")
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.value.text_at(&["metadata", "name"])
    }

    /// Its namespace, empty for none.
    pub fn namespace(&self) -> &str {
        self.value.text_at(&["metadata", "namespace"])
    }
}

/// See the module page.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// The text that it was read from.
    pub text: Arc<str>,
    /// Its objects, in order.
    pub parts: Vec<Part>,
    /// Its policies and what belongs to them, lowered.
    pub policies: Policies,
    /// Whether a document of it could not be read.
    pub is_broken: bool,
    /// Whether it has not been read yet, or is not at all.
    pub is_unread: bool,
}

impl Entry {
    /// A file that has not been read: others keep what it gave to them before.
    fn unread(text: &Text) -> Entry {
        Entry { text: text.shared(), is_broken: true, is_unread: true, ..Entry::default() }
    }

    /// Reads a file, unless it is to be read on another thread.
    pub fn edited(name: &str, text: &Text, release: Release) -> Entry {
        if text.is_large() { Entry::unread(text) } else { Entry::of(name, text, release) }
    }

    /// Reads a file.
    pub fn of(name: &str, text: &Text, release: Release) -> Entry {
        let whole = text.shared();
        let mut entry = Entry { text: whole.clone(), ..Entry::default() };
        let Ok(documents) = parse_stream(name, &whole, Duplicates::LastWins) else {
            return Entry { is_broken: true, ..entry };
        };
        for document in documents {
            let Ok(document) = document else {
                entry.is_broken = true;
                continue;
            };
            let start = text.offset_of_character(document.line, 1);
            let span = Span::of(start, document.text.len());
            for (prefix, value) in objects(&document.value) {
                let value = groups::read(&value).unwrap_or(value);
                let role = role(&value);
                entry.parts.push(Part { role, document: span, prefix, value, text: document.text.clone() });
            }
        }
        if entry.has(Role::Policy) {
            let source = SourceText { name: name.into(), text: whole.to_string() };
            entry.policies = argument_for(std::slice::from_ref(&source), Reader::Server(release));
        }
        entry
    }

    /// Whether some object of it has a role.
    pub fn has(&self, role: Role) -> bool {
        self.parts.iter().any(|part| part.role == role)
    }

    /// The objects of a role.
    pub fn of_role(&self, role: Role) -> impl Iterator<Item = &Part> {
        self.parts.iter().filter(move |part| part.role == role)
    }

    /// Whether everything in it that belongs to policies can be used.
    pub fn is_usable(&self) -> bool {
        !self.is_broken && self.policies.unusable().is_none()
    }

    /// The files that its tests name as resources, relative to the file; these are samples, which
    /// violate policies on purpose.
    pub fn samples(&self, name: &str) -> Vec<String> {
        const KEYS: [&str; 3] = ["resources", "targetResources", "paramResources"];
        let folder = Path::new(name).parent().unwrap_or(Path::new(""));
        let tests = self.of_role(Role::Test);
        let lists =
            tests.flat_map(|test| KEYS.iter().filter_map(|key| test.value.get(key).and_then(Value::as_list)));
        let names = lists.flat_map(|list| list.iter().filter_map(Value::as_str));
        names.map(|file| normal(&folder.join(file)).to_string_lossy().into_owned()).collect()
    }
}

fn role(value: &Value) -> Role {
    let (api_version, kind) = (value.text_at(&["apiVersion"]), value.text_at(&["kind"]));
    let of_commands = api_version.starts_with("cli.kyverno.io/");
    match kind {
        _ if is_meant_as_policy(value) => Role::Policy,
        "Test" if of_commands => Role::Test,
        _ if of_commands => Role::Values,
        "CustomResourceDefinition" => Role::Definition,
        _ if !kind.is_empty() && !api_version.is_empty() => Role::Object,
        // Tests of old forms have no kind.
        _ if value.get("results").is_some() && value.get("policies").is_some() => Role::Test,
        _ => Role::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> Entry {
        Entry::of("a/b.yaml", &Text::new(text), Release::default())
    }

    #[test]
    fn objects_have_roles_and_places() {
        let text = "# head\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: ns}}\n---\nx: 1\n";
        let entry = entry(text);
        let roles: Vec<Role> = entry.parts.iter().map(|part| part.role).collect();
        assert_eq!(roles, [Role::Object, Role::Object, Role::Other]);
        assert_eq!((entry.parts[1].name(), entry.parts[1].namespace()), ("b", "ns"));
        assert!(entry.parts[2].text.starts_with("x: 1"));
        let span = entry.parts[2].document;
        assert_eq!(text.get(span.start..span.end), Some("x: 1\n"));
        assert!(!entry.is_broken);
    }

    #[test]
    fn a_document_that_does_not_parse_leaves_the_others() {
        let entry = entry("a: [\n---\napiVersion: v1\nkind: Pod\n");
        assert!(entry.is_broken);
        assert_eq!(entry.parts.len(), 1);
    }

    #[test]
    fn a_test_names_its_samples_relative_to_itself() {
        let text = "apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\npolicies: [p.yaml]\nresources: [../bad.yaml, ./x/good.yaml]\n";
        assert_eq!(entry(text).samples("a/b/kyverno-test.yaml"), ["a/bad.yaml", "a/b/x/good.yaml"]);
    }
}
