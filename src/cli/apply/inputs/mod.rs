//! Everything that `apply` evaluates, gathered once: the same for `apply` and for `explain`, so
//! that both decide alike.
//!
//! In: arguments ([`InputArguments`]). Out: policies, resources, exceptions, payloads, what rules
//! look up, and the engine over them ([`Inputs`]). The order of what is loaded, and which failures
//! end the run, are Kyverno's (`docs/reference/cli.md`); other failures are printed as warnings.
//!
//! - `cluster`: objects of a cluster instead of files.
//! - `exceptions`: PolicyExceptions of files, resources and policies.
//! - `invocation`: the arguments, for commands that read a part of the run.
//! - `payloads`: payloads of any form and check requests.
//! - `policies`: policies of files, addresses and repositories.
//! - `resources`: objects of files.
//! - `selection`: which objects policies are applied on, of all that were read.
//! - `values`: values of variables and the user.

mod cluster;
mod exceptions;
mod invocation;
mod payloads;
mod policies;
mod resources;
pub(in crate::cli) mod selection;
mod values;

use std::sync::Arc;

use ephor_cluster::Cluster;
use ephor_cluster::live::Live;
use ephor_external::ExternalData;
use ephor_ir::facts::Stage;
use ephor_kubernetes::Types;
use ephor_policies::load::{Policies, Purpose};
use ephor_policies::lookups::Lookups;
use ephor_policies::policy_set::Engine;
use ephor_sources::context;
use ephor_sources::offline::{Offline, RetainedObjects};
use ephor_sources::registry::client::registry;
use ephor_testing::inputs::exceptions::Exceptions;
use ephor_testing::inputs::requests::Requests;
use ephor_testing::inputs::resources::global_entries;
use ephor_value::Value;

use super::arguments::InputArguments;
use super::log::Log;
use super::output_options::OutputOptions;
use crate::cli::CommandError;
use crate::cli::arguments::given;
use crate::cli::console::print;
use cluster::ClusterObjects;
pub(super) use invocation::invocation;
pub(in crate::cli) use payloads::CheckRequest;
pub(in crate::cli::apply) use resources::PlacedObject;
use resources::{LookedUp, ObjectReader};
pub(in crate::cli) use resources::{ObjectBlocks, Objects};

/// What was loaded.
pub(in crate::cli) struct Inputs {
    /// The policies, with what was left out.
    pub policies: Policies,
    /// The objects that policies are applied on.
    pub objects: Objects,
    /// The first of them, or else the first payload.
    first: Option<Value>,
    /// Payloads that policies are applied on, objects aside.
    pub payloads: Vec<Value>,
    /// The check requests of proxies.
    pub checks: Vec<CheckRequest>,
    /// The exceptions that count.
    pub exceptions: Exceptions,
    /// How requests are built: values, user, profile.
    pub requests: Requests,
    /// What rules look up without a cluster.
    sources: Offline,
    /// The cluster that rules may query.
    live: Option<Arc<Cluster>>,
    /// The file with data for policies in CEL.
    context_file: Option<String>,
    /// Which objects rules can look up; `None` = all.
    retained: Option<Arc<RetainedObjects>>,
}

impl Inputs {
    /// Loads everything, but for objects that are read while they are evaluated.
    ///
    /// # Errors
    /// What ends a run before anything is evaluated.
    pub(in crate::cli) fn gather(
        a: &InputArguments<'_>,
        options: &OutputOptions,
        log: &Log,
    ) -> Result<(Inputs, Option<ObjectBlocks>), CommandError> {
        let user = values::user(given(&a.values.userinfo), log)?;
        let mut values = values::variables(a.values, log)?;
        let mut policies = policies::load(a, options.skips_others(), log)?;
        policies::set_severities(&mut policies, a.severities);
        let load = |paths: &[String]| resources::load(paths, a.profile, false, options, log);
        let targets = load(&a.input.target_resources())?;
        let params = load(&a.input.parameter_resources())?;
        policies.bind(params.iter().map(|d| d.value.clone()).collect());
        let of_cluster = cluster::objects(a, &policies, &mut values, log)?;
        let live = of_cluster.as_ref().map(|objects| objects.cluster.clone());
        let (objects, blocks, looked_up) = objects(a, of_cluster, &policies, options, log)?;
        let resources = objects.in_memory();
        let exceptions = exceptions::load(a, &policies, resources, log)?;
        let known = resources.iter().chain(&looked_up.documents).chain(&targets).chain(&params);
        let sources = Offline {
            objects: known.map(|d| d.value.clone()).collect(),
            globals: global_entries(resources),
            retained: looked_up.retained.clone(),
            stored: Default::default(),
            context: None,
            types: definitions(a, options, log)?,
            registry: registry(a.registry),
            strict: false,
        };
        let requests = Requests {
            values: Arc::new(values),
            user,
            profile: a.profile,
            details: a.details,
            operation: None,
            old_object: None,
        };
        let payloads = a.payloads.map(|flags| payloads::payloads(flags, &policies, log)).transpose()?;
        let payloads = payloads.unwrap_or_default();
        let document = blocks.as_ref().map_or(resources.first(), |blocks| blocks.first.first());
        let first = document.map(|d| &d.value).or(payloads.first()).cloned();
        let mut inputs = Inputs {
            policies,
            objects,
            first,
            payloads,
            checks: Vec::new(),
            exceptions,
            requests,
            sources,
            live,
            context_file: given(&a.values.context_file).map(String::from),
            retained: looked_up.retained,
        };
        if a.announces && blocks.is_none() {
            print(&inputs.announcement());
        }
        // Kyverno reads check requests when it has said what it applies.
        inputs.checks = a.payloads.map(payloads::check_requests).transpose()?.unwrap_or_default();
        Ok((inputs, blocks))
    }

    /// The engine over all policies that can be evaluated; what rules look up goes into it.
    ///
    /// # Errors
    /// The data for policies in CEL cannot be read, or a policy does not compile, and there is
    /// something to evaluate.
    pub(in crate::cli) fn engine(&mut self) -> Result<Engine, CommandError> {
        let first = self.first();
        let uncompiled = self.policies.uncompiled(Purpose::Request).map(CommandError::Policy);
        let context = match (first, uncompiled.map_or_else(|| self.context(), Err)) {
            (Some(first), Err(cause)) => {
                let name = first.text_at(&["metadata", "name"]).into();
                return Err(CommandError::Resource { name, cause: Box::new(cause) });
            }
            (_, context) => context.unwrap_or_default(),
        };
        Ok(self.engine_with(context))
    }

    /// The engine over the policies that compile.
    ///
    /// # Errors
    /// The data for policies in CEL cannot be read.
    pub(in crate::cli) fn engine_of_compiled(&mut self) -> Result<Engine, CommandError> {
        let context = self.context()?;
        Ok(self.engine_with(context))
    }

    /// The first object, or else the first payload.
    pub(super) fn first(&self) -> Option<&Value> {
        self.first.as_ref()
    }

    /// Whether there is a policy.
    pub(super) fn has_policies(&self) -> bool {
        !self.policies.policies.is_empty() || !self.policies.cleanups.is_empty()
    }

    /// What was looked up but is not in memory.
    pub(super) fn missed(&self) -> Option<&str> {
        self.retained.as_ref()?.missed()
    }

    /// How much there is that policies are applied on.
    pub(super) fn subjects(&self) -> usize {
        self.objects.count() + self.payloads.len() + self.checks.len()
    }

    /// What Kyverno prints before it evaluates; a run that reads its objects block by block knows
    /// their number at the end.
    pub(super) fn announcement(&self) -> String {
        let rules: usize = self.policies.policies.iter().map(|p| p.rule_count).sum();
        let rules = rules + self.policies.cleanups.len();
        let resources = self.objects.count() + self.payloads.len();
        let with = match self.exceptions.len() {
            0 => String::new(),
            n => format!(" with {n} exception(s)"),
        };
        format!("\nApplying {rules} policy rule(s) to {resources} resource(s){with}...\n")
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
    fn context(&self) -> Result<context::Context, CommandError> {
        self.context_file
            .as_deref()
            .map_or_else(|| Ok(context::Context::default()), |path| Ok(context::read(path)?))
    }
}

/// The objects of files or of a cluster: block by block where it is known which others than its own
/// a rule reads, and nothing shows all of them. Those that rules read are in memory then.
fn objects(
    a: &InputArguments<'_>,
    cluster: Option<ClusterObjects>,
    policies: &Policies,
    options: &OutputOptions,
    log: &Log,
) -> Result<(Objects, Option<ObjectBlocks>, LookedUp), CommandError> {
    let lowered = || policies.policies.iter().filter_map(|p| p.policy.as_deref());
    let deletes = !policies.cleanups.is_empty() || lowered().any(|p| p.stage == Stage::Schedule);
    let streams = a.streams && !deletes && !a.input.exceptions_with_resources;
    let lookups = Lookups::of(lowered());
    let nothing = LookedUp::default();
    let whole = |all| Ok((Objects::whole(all, a.selection()), None, LookedUp::default()));
    let paths = a.input.resources();
    let open = || ObjectReader::open(&paths, a.profile, true, a.selection(), options);
    match (cluster, lookups) {
        (Some(cluster), lookups) if streams && lookups.is_empty() && !cluster.has_names() => {
            let (objects, blocks) = resources::stream(ObjectReader::of_cluster(cluster, a.selection()), log)?;
            Ok((objects, blocks, nothing))
        }
        (Some(cluster), _) => whole(cluster.rest(log)?),
        (None, _) if a.cluster.is_some() => whole(Vec::new()),
        (None, lookups) if streams && lookups.is_empty() => {
            let (objects, blocks) = resources::stream(open()?, log)?;
            Ok((objects, blocks, nothing))
        }
        (None, lookups @ Lookups::Kinds { .. }) if streams && resources::can_be_read_twice(&paths) => {
            let (objects, blocks) = resources::stream(open()?, log)?;
            // What fits a block is in memory already.
            let looked_up = match blocks.is_some() {
                true => LookedUp::read(&paths, a.profile, options, lookups),
                false => nothing,
            };
            Ok((objects, blocks, looked_up))
        }
        (None, _) => whole(resources::load(&paths, a.profile, true, options, log)?),
    }
}

/// The types of objects with those of `--crd-paths`.
fn definitions(
    a: &InputArguments<'_>,
    options: &OutputOptions,
    log: &Log,
) -> Result<Option<Arc<Types>>, CommandError> {
    let paths = a.input.definitions();
    if paths.is_empty() {
        return Ok(None);
    }
    let definitions = resources::load(&paths, a.profile, false, options, log)?;
    let release = a.input.kubernetes.unwrap_or_default();
    Ok(Some(Types::of_release_with(release, definitions.iter().map(|d| &d.value))))
}
