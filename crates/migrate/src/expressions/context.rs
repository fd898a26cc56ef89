//! Where the expressions of a rule stand: which objects they see, and under which names.

use std::sync::Arc;

use ephor_ir::rule::Binding;
use ephor_kubernetes::schema::Types;
use ephor_value::Str;

/// Which dialect of CEL is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// That of `policies.kyverno.io`, with Kyverno's libraries.
    Kyverno,
    /// That of Kubernetes' own admission policies.
    Kubernetes,
}

/// What is known of the requests that a rule is about.
#[derive(Clone, Debug)]
pub struct Context {
    /// The dialect.
    pub target: Target,
    /// The kinds: group, version, kind. A path is required where all of them require it.
    pub kinds: Vec<[Str; 3]>,
    /// Their schemas.
    pub types: Arc<Types>,
    /// The namespace of a namespaced policy.
    pub namespace: Option<Str>,
    /// The operations that the new policy is for.
    pub operations: Vec<Str>,
    /// The request, where expressions are about another object than that of the request.
    pub trigger: Option<Trigger>,
    /// On which controllers the new policy, which is about pods, is evaluated, too, with paths that
    /// are replaced.
    pub generated: GeneratedVariants,
}

/// The controllers of pods for which rules are generated from a policy on pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GeneratedVariants {
    /// Whether there are any.
    pub any: bool,
    /// Whether CronJobs are among them.
    pub cron_jobs: bool,
}

/// A request because of which other objects are changed.
#[derive(Clone, Debug)]
pub struct Trigger {
    /// The kinds of its object.
    pub kinds: Vec<[Str; 3]>,
    /// Context entries of the other objects.
    pub bindings: Vec<Arc<Binding>>,
}

impl Context {
    /// A cluster-wide policy for objects of these kinds that are created and updated.
    pub fn new(target: Target, kinds: Vec<[Str; 3]>, types: Arc<Types>) -> Context {
        let operations = vec!["CREATE".into(), "UPDATE".into()];
        Context {
            target,
            kinds,
            types,
            namespace: None,
            operations,
            trigger: None,
            generated: GeneratedVariants::default(),
        }
    }
}

/// An element of a list of the object, which expressions of a loop are about.
#[derive(Clone, Copy, Debug)]
pub struct Element<'e> {
    /// The name that expressions have for it.
    pub var: &'e str,
    /// The keys that lead to the list.
    pub list: &'e [&'e str],
    /// Context entries of the loop.
    pub bindings: &'e [Arc<Binding>],
}

/// What a statement about an image says, `image` in expressions of images.
#[derive(Clone, Debug)]
pub struct Payload {
    /// The name under which conditions read it; `None` = its fields stand at the root.
    pub name: Option<Str>,
    /// The expression for it.
    pub expression: String,
}
