//! What loading gives: policies with what is known of them, and what was left out.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ephor_api::{lint, schema};
use ephor_ir::admission::PolicyBinding;
use ephor_ir::cel_exception::CelException;
use ephor_ir::expressions::Proxy;
use ephor_ir::facts::Stage;
use ephor_ir::policy::Cleanup;
use ephor_ir::rule::RuleKind;
use ephor_ir::{Exception, Policy};
use ephor_lower::admission::{Place, offline};
use ephor_lower::background::{self, RuleFacts};
use ephor_value::place::{Path, PathPart};
use ephor_value::release::Release;
use ephor_value::{Str, Value};

use super::checks::{CHECKS, SERVER_CHECKS};

/// A policy with what is known about it.
#[derive(Clone, Debug)]
pub struct LoadedPolicy {
    /// The policy, lowered; `None` when the check refused it.
    pub policy: Option<Arc<Policy>>,
    /// Its document with defaults.
    pub document: Value,
    /// Where it stands.
    pub source: Arc<str>,
    /// The line on which its document begins.
    pub line: usize,
    /// The text of its document.
    pub text: Arc<str>,
    /// Where it stands in the text: `items[3]` in a list, else nothing.
    pub prefix: Path,
    /// Name of the policy.
    pub name: String,
    /// How many rules it has, generated ones included.
    pub rule_count: usize,
    /// Why the check refused it.
    pub refused: Option<String>,
    /// Why its expressions do not compile; nothing can be evaluated together with it.
    pub uncompiled: Option<String>,
    /// The expressions that do not compile.
    pub faults: Vec<ephor_lower::cel_policy::FieldError>,
}

/// Something that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub source: Arc<str>,
    /// The line on which the document begins, or of the place inside of it.
    pub line: usize,
    /// The column, when a place inside of the document is known.
    pub column: Option<usize>,
    /// What is wrong, in Kyverno's words.
    pub text: String,
    /// Whether the whole file was left out with it.
    pub fatal: bool,
    /// Whether it is about a document that is no policy at all.
    pub foreign: bool,
    /// Whether requests are refused while it lasts: not of a policy that says that its errors are
    /// ignored.
    pub fail_closed: bool,
    /// The kind and name of the policy that it is about, as far as a server knows it.
    pub policy: Option<(String, String)>,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.column {
            Some(column) => write!(f, "{}:{}:{column}: {}", self.source, self.line, self.text),
            None => write!(f, "{}:{}: {}", self.source, self.line, self.text),
        }
    }
}

/// What policy sources gave.
#[derive(Clone, Debug, Default)]
pub struct Policies {
    /// In order, refused ones included.
    pub policies: Vec<LoadedPolicy>,
    /// Exceptions found among the policies.
    pub exceptions: Vec<Exception>,
    /// PolicyExceptions of `policies.kyverno.io` found among the policies.
    pub cel_exceptions: Vec<CelException>,
    /// Bindings of admission policies.
    pub bindings: Vec<PolicyBinding>,
    /// Cleanup policies, in order.
    pub cleanups: Vec<Cleanup>,
    /// Deprecation warnings, one a document, with the file.
    pub deprecations: Vec<String>,
    /// What was left out.
    pub problems: Vec<Problem>,
}

/// What a policy is evaluated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Requests to the Kubernetes API, or data of any form.
    Request,
    /// Deletions.
    Deletion,
    /// Check requests of a proxy.
    Check(Proxy),
}

impl LoadedPolicy {
    /// What of its rules decides when they have work for controllers.
    pub fn background_work(&self) -> Vec<RuleFacts> {
        background::facts(&self.document)
    }

    /// Whether the policy, one of expressions, leaves out what the controllers themselves send.
    pub fn skips_own_requests(&self) -> bool {
        background::skips_own_requests(&self.document)
    }

    /// A path in the policy as one in the text of its document.
    pub fn path_in_text(&self, path: &[PathPart]) -> Path {
        self.prefix.iter().chain(path).cloned().collect()
    }

    /// What it is evaluated for, also when it does not compile.
    pub fn purpose(&self) -> Purpose {
        let kind = self.document.text_at(&["kind"]);
        match self.document.text_at(&["spec", "evaluation", "mode"]) {
            _ if kind.ends_with("DeletingPolicy") => Purpose::Deletion,
            _ if kind.ends_with("ImageValidatingPolicy") => Purpose::Request,
            "HTTP" if kind.ends_with("ValidatingPolicy") => Purpose::Check(Proxy::Http),
            "Envoy" if kind.ends_with("ValidatingPolicy") => Purpose::Check(Proxy::Envoy),
            _ => Purpose::Request,
        }
    }
}

impl Reader {
    /// The languages and kinds that the policy check of a reader knows.
    pub const fn checks(self) -> &'static lint::Checks {
        match self {
            Reader::Command | Reader::AllExceptions => &CHECKS,
            Reader::Server(_) | Reader::Scan => &SERVER_CHECKS,
        }
    }
}

/// What a document gives.
pub(super) enum Item {
    Policy(Box<LoadedPolicy>, String),
    Exception(Box<Exception>, String),
    CelException(Box<CelException>),
    Binding(Box<PolicyBinding>),
    Cleanup(Box<Cleanup>, String),
    Lowered(Box<Policies>),
    Left(Problem),
}

/// What reads policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A command that applies policies: admission policies of Kubernetes in the versions that
    /// Kyverno's commands read, and of exceptions of policies in CEL one version.
    Command,
    /// A command that reads exceptions, or shows what there is: as [`Reader::Command`], with
    /// exceptions of all versions.
    AllExceptions,
    /// A server, which takes all versions that an API server takes, refuses of Kubernetes' policies
    /// and bindings what an API server refuses, and leaves out nothing that may be a policy without
    /// naming it.
    Server(Release),
    /// What says something about policies as a whole, or scans the objects of a cluster: admission
    /// policies of Kubernetes as commands evaluate them, in all versions; like a server it leaves
    /// out nothing that may be a policy without naming it.
    Scan,
}

/// Who reads, and where Kubernetes' own policies run.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedReader {
    pub reader: Reader,
    pub place: Place,
}

impl Policies {
    /// Why a server does not use what was loaded of one object; `None` = it does.
    pub fn unusable(&self) -> Option<String> {
        let refused = self.policies.iter().find_map(|p| p.refused.clone().or_else(|| p.uncompiled.clone()));
        refused.or_else(|| self.problems.first().map(|p| p.text.clone()))
    }

    /// Gives admission policies their bindings and the objects that may be their parameters. Call
    /// it when everything is loaded.
    pub fn bind(&mut self, params: Vec<Value>) {
        let params: Arc<[Value]> = params.into();
        for loaded in &mut self.policies {
            if let Some(policy) = loaded.policy.as_mut().filter(|p| p.stage == Stage::ApiServer) {
                let bind =
                    match policy.rules.iter().any(|r| r.bound.as_ref().is_some_and(|b| b.server.is_some())) {
                        true => offline::bind_for_command,
                        false => offline::bind,
                    };
                *policy = Arc::new(bind(policy, &self.bindings, &params));
            }
        }
    }

    /// Gives admission policies their bindings as an API server does; parameters are looked up for
    /// each request. Those of static manifests have theirs.
    pub fn bind_as_server(&mut self) {
        let mut bindings: HashMap<(bool, Str), Vec<PolicyBinding>> = HashMap::new();
        for binding in &self.bindings {
            bindings.entry((binding.mutates, binding.policy.clone())).or_default().push(binding.clone());
        }
        for loaded in &mut self.policies {
            if let Some(policy) =
                loaded.policy.as_mut().filter(|p| p.stage == Stage::ApiServer && !p.is_static())
            {
                let mutates = policy.rules.iter().any(|rule| rule.kind == RuleKind::Mutation);
                let own = bindings.get(&(mutates, policy.name.clone())).cloned().unwrap_or_default();
                *policy = Arc::new(offline::bind_as_server(policy, own));
            }
        }
    }

    /// How many policies of deprecated kinds have a successor here: a policy of their name of a
    /// current kind.
    pub fn migrated(&self) -> usize {
        let id =
            |p: &LoadedPolicy| (p.name.clone(), p.document.text_at(&["metadata", "namespace"]).to_owned());
        let is_deprecated = |p: &LoadedPolicy| {
            schema::deprecation(p.document.text_at(&["apiVersion"]), p.document.text_at(&["kind"])).is_some()
        };
        let (deprecated, current): (Vec<_>, Vec<_>) = self.policies.iter().partition(|p| is_deprecated(p));
        let current: HashSet<_> = current.into_iter().map(id).collect();
        deprecated.into_iter().filter(|p| current.contains(&id(p))).count()
    }

    /// The names of all policies and bindings with their kinds and namespaces.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let policies = self.policies.iter().map(|p| {
            let namespace = p.document.text_at(&["metadata", "namespace"]);
            format!("{} {namespace}/{}", p.document.text_at(&["kind"]), p.name)
        });
        policies.chain(self.bindings.iter().map(|binding| {
            let which = if binding.mutates { "Mutating" } else { "Validating" };
            format!("{which}AdmissionPolicyBinding {}", binding.name)
        }))
    }

    /// Whether there is nothing in it that has an effect.
    pub fn is_empty(&self) -> bool {
        let Policies { policies, exceptions, cel_exceptions, bindings, cleanups, .. } = self;
        policies.is_empty()
            && exceptions.is_empty()
            && cel_exceptions.is_empty()
            && bindings.is_empty()
            && cleanups.is_empty()
    }

    /// Why nothing can be evaluated: the first policy for this purpose whose expressions do not
    /// compile.
    pub fn uncompiled(&self, purpose: Purpose) -> Option<String> {
        let mut all = self.policies.iter().filter(|p| p.purpose() == purpose);
        let (policy, error) = all.find_map(|p| Some((p, p.uncompiled.as_ref()?)))?;
        Some(match purpose {
            Purpose::Check(Proxy::Http) => format!("failed to compile HTTP policy {}: {error}", policy.name),
            Purpose::Check(Proxy::Envoy) => {
                format!("failed to compile envoy policy {}: {error}", policy.name)
            }
            _ => format!("failed to compile policy {} ({error})", policy.name),
        })
    }

    /// Adds what another argument gave.
    pub fn extend(&mut self, other: Policies) {
        self.policies.extend(other.policies);
        self.exceptions.extend(other.exceptions);
        self.cel_exceptions.extend(other.cel_exceptions);
        self.bindings.extend(other.bindings);
        self.cleanups.extend(other.cleanups);
        self.deprecations.extend(other.deprecations);
        self.problems.extend(other.problems);
    }
}
