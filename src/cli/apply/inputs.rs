//! Everything that `apply` evaluates, loaded: the same for `apply` and for `explain`, so that both
//! decide alike.
//!
//! In: arguments ([`Arguments`]). Out: policies, resources, exceptions, what rules look up, and the
//! engine over them ([`Inputs`]). The order of what is loaded, and which failures end the run, are
//! Kyverno's (`docs/reference/cli.md`).

use std::sync::Arc;

use ephor_analysis::reach;
use ephor_cluster::Cluster;
use ephor_cluster::live::Live;
use ephor_document::Document;
use ephor_engine::Profile;
use ephor_engine::request::UserParts;
use ephor_external::ExternalData;
use ephor_ir::Policy;
use ephor_ir::facts::Stage;
use ephor_kubernetes::Types;
use ephor_policies::load::{Policies, Purpose};
use ephor_policies::pitfalls;
use ephor_policies::policy_set::{Engine, PolicySet};
use ephor_report::run::Invocation;
use ephor_sources::context;
use ephor_sources::offline::Offline;
use ephor_sources::registry::client::registry;
use ephor_testing::inputs::Refused;
use ephor_testing::inputs::exceptions::Exceptions;
use ephor_testing::inputs::requests::Requests;
use ephor_testing::inputs::user;
use ephor_testing::inputs::values::Values;
use ephor_value::Value;

use super::cluster;
use super::gather::{
    self, deprecations, is_global, load_exceptions, load_policies, load_resources, without_duplicates,
};
use super::log::Log;
use super::options::{self, ClusterOptions, Input, Repository};
use super::output_options::OutputOptions;
use crate::cli::{Error, Global, given};

/// What is loaded.
#[derive(Clone, Copy, Debug)]
pub(in crate::cli) struct Arguments<'a> {
    /// Files, folders, addresses and repositories with policies.
    pub policies: &'a [String],
    /// Objects.
    pub input: &'a Input,
    /// What expressions read in addition.
    pub values: &'a options::Values,
    /// How repositories are read.
    pub repository: Option<&'a Repository>,
    /// The cluster in place of files, if there is one.
    pub cluster: Option<(&'a ClusterOptions, &'a Global)>,
    /// Whether rules may look up images.
    pub registry: bool,
    /// Whether deprecated kinds are worth a word.
    pub deprecations: bool,
    /// Whether deprecation warnings are errors.
    pub warnings_as_errors: bool,
    /// Whether results carry what only reports show.
    pub details: bool,
    /// The fidelity profile.
    pub profile: Profile,
}

/// What was loaded.
pub(in crate::cli) struct Inputs {
    /// The policies, with what was left out.
    pub policies: Policies,
    /// The objects that policies are applied on.
    pub resources: Vec<Document>,
    /// The exceptions that count.
    pub exceptions: Exceptions,
    /// How requests are built.
    pub requests: Requests,
    /// What rules look up without a cluster.
    sources: Offline,
    /// The cluster that rules may query.
    live: Option<Arc<Cluster>>,
    /// The file with data for policies in CEL.
    context_file: Option<String>,
}

impl Inputs {
    /// Loads everything.
    ///
    /// # Errors
    /// What ends a run before anything is evaluated.
    pub(in crate::cli) fn read(
        a: &Arguments<'_>,
        options: &OutputOptions,
        log: &Log,
    ) -> Result<Inputs, Error> {
        let user = read_user(given(&a.values.userinfo), log)?;
        let mut values = match given(&a.values.values_file) {
            None => Values::default(),
            Some(path) => Values::read(path, path).map_err(|refused| refusal(refused, log))?,
        };
        for text in values.set(&a.values.set()) {
            log.warn(&text);
        }
        let mut policies = load_policies(a, log)?;
        if a.deprecations {
            deprecations(&policies.deprecations, policies.migrated(), a.warnings_as_errors, log)?;
        }
        let load = |paths: &[String]| load_resources(paths, a.profile, options, log);
        let targets = load(&a.input.target_resources())?;
        let params = load(&a.input.parameter_resources())?;
        policies.bind(params.iter().map(|d| d.value.clone()).collect());
        let mut live = None;
        let resources = match a.cluster {
            Some((cluster, global)) => match cluster::find_cluster(cluster, global)? {
                Ok(found) => {
                    let loaded = cluster::load(&found, a, cluster, &policies, log)?;
                    for (name, namespace) in loaded.namespaces {
                        values.namespaces.entry(name).or_insert(namespace);
                    }
                    live = Some(found);
                    loaded.objects
                }
                Err(why) => {
                    log.warn(&format!("no cluster: {why}"));
                    cluster::find(&a.input.resources(), log)?;
                    Vec::new()
                }
            },
            None => load(&a.input.resources())?,
        };
        let resources = without_duplicates(resources, log);
        let globals = resources.iter().filter(|d| is_global(&d.value)).map(|d| d.value.clone()).collect();
        let exceptions = load_exceptions(a, &policies, &resources, log)?;
        let lowered: Vec<Arc<Policy>> = policies.policies.iter().filter_map(|p| p.policy.clone()).collect();
        pitfalls::of_exceptions(&lowered, &exceptions.exceptions)
            .iter()
            .for_each(|one| log.warn(&one.to_string()));
        let sources = Offline {
            objects: [&resources, &targets, &params].into_iter().flatten().map(|d| d.value.clone()).collect(),
            globals,
            context: None,
            types: crds(&a.input.definitions(), a.profile, options, log)?,
            registry: registry(a.registry),
            strict: false,
        };
        let requests = Requests {
            values: Arc::new(values),
            user,
            profile: a.profile,
            details: a.details,
            operation: None,
        };
        let context_file = given(&a.values.context_file).map(String::from);
        Ok(Inputs { policies, resources, exceptions, requests, sources, live, context_file })
    }

    /// The engine over all policies that can be evaluated; what rules look up goes into it. `first`
    /// is the first payload.
    ///
    /// # Errors
    /// The data for policies in CEL cannot be read, or a policy does not compile, and there is
    /// something to evaluate.
    pub(in crate::cli) fn engine(&mut self, first: Option<&Value>) -> Result<Engine, Error> {
        let first = self.resources.first().map(|d| &d.value).or(first);
        let uncompiled = self.policies.uncompiled(Purpose::Request).map(Error::Policy);
        let context = match (first, uncompiled.map_or_else(|| self.context(), Err)) {
            (Some(first), Err(cause)) => {
                let name = first.text_at(&["metadata", "name"]).into();
                return Err(Error::Resource { name, cause: Box::new(cause) });
            }
            (_, context) => context.unwrap_or_default(),
        };
        Ok(self.engine_with(context))
    }

    /// The engine over the policies that compile.
    ///
    /// # Errors
    /// The data for policies in CEL cannot be read.
    pub(in crate::cli) fn engine_of_compiled(&mut self) -> Result<Engine, Error> {
        let context = self.context()?;
        Ok(self.engine_with(context))
    }

    /// A policy alone, with the exceptions.
    pub(in crate::cli) fn alone(&self, policy: Arc<Policy>) -> PolicySet {
        self.exceptions.clone().with(vec![policy])
    }

    /// The arguments, for commands that look at a part of the run.
    pub(super) fn invocation(&self, a: &Arguments<'_>, engine: &Engine) -> Invocation {
        let words = |flag: &str, values: Vec<String>| {
            values.into_iter().flat_map(move |v| [flag.into(), v]).collect()
        };
        let file = |path: &Option<String>| given(path).map(String::from).into_iter().collect();
        let is_set =
            |flag: &str, is_set: bool| -> Vec<String> { is_set.then(|| flag.into()).into_iter().collect() };
        let flags: [Vec<String>; 12] = [
            is_set("--recursive", a.input.recursive),
            words("-f", file(&a.values.values_file)),
            words("--set", a.values.set()),
            words("-u", file(&a.values.userinfo)),
            words("-e", a.input.exceptions()),
            is_set("--exceptions-with-resources", a.input.exceptions_with_resources),
            is_set("--exceptions-within-policies", a.input.exceptions_within_policies),
            words("--context-file", file(&a.values.context_file)),
            words("--crd-paths", a.input.definitions()),
            words("--target-resource", a.input.target_resources()),
            words("--parameter-resource", a.input.parameter_resources()),
            [is_set("--registry", a.registry), is_set("--as-cluster", a.profile == Profile::as_cluster())]
                .concat(),
        ];
        let access = gather::access(a.repository);
        if a.policies.iter().any(|argument| access.means_repository(argument)) {
            // A repository is read once.
            return Invocation { is_read_once: true, ..Invocation::default() };
        }
        let has_own_exceptions = a.input.exceptions_with_resources || a.input.exceptions_within_policies;
        let mutating: Vec<_> = engine.set().mutating().collect();
        let is_alone = |policy: &&Arc<Policy>| {
            !has_own_exceptions
                && policy.stage != Stage::ApiServer
                && !reach::of_policy(policy).any_cluster()
                && mutating.iter().all(|other| Arc::ptr_eq(other, policy))
        };
        let alone = engine.set().policies().iter().filter(is_alone).map(|policy| policy.key()).collect();
        Invocation {
            policies: a.policies.to_vec(),
            resources: a.input.resources(),
            flags: flags.concat(),
            is_read_once: false,
            alone,
        }
    }

    fn engine_with(&mut self, context: context::Context) -> Engine {
        let lowered = self.policies.policies.iter().filter_map(|p| p.policy.clone()).collect();
        let set = self.exceptions.clone().with(lowered);
        let sources = Offline { context: Some(context), ..std::mem::take(&mut self.sources) };
        let mut external: Arc<dyn ExternalData> = Arc::new(sources);
        if let Some(cluster) = self.live.take() {
            let objects = external.objects().to_vec();
            external = Arc::new(Live { cluster, cache: None, objects, others: external, types: None });
        }
        Engine::new(set)
            .with_profile(self.requests.profile)
            .with_external(external)
            .with_values(self.requests.values.clone())
    }

    /// What expressions read.
    fn context(&self) -> Result<context::Context, Error> {
        self.context_file
            .as_deref()
            .map_or_else(|| Ok(context::Context::default()), |path| Ok(context::read(path)?))
    }
}

/// Prints the notice and the hint of an error; returns its text.
fn refusal(refused: Refused, log: &Log) -> Error {
    refused.notice.iter().for_each(|notice| log.notice(notice));
    refused.hint.iter().for_each(|hint| log.warn(hint));
    Error::input(refused.text)
}

/// The types of objects with those of `--crd-paths`.
fn crds(
    paths: &[String],
    profile: Profile,
    options: &OutputOptions,
    log: &Log,
) -> Result<Option<Arc<Types>>, Error> {
    if paths.is_empty() {
        return Ok(None);
    }
    let definitions = load_resources(paths, profile, options, log)?;
    Ok(Some(Types::with(definitions.iter().map(|d| &d.value))))
}

fn read_user(path: Option<&str>, log: &Log) -> Result<Option<UserParts>, Error> {
    let Some(path) = path else { return Ok(None) };
    let (parts, deprecated) = user::read(path).map_err(|refused| refusal(refused, log))?;
    if deprecated {
        log.notice(&user::deprecated(path));
    }
    Ok(Some(parts))
}
