//! Policies and data that are watched.
//!
//! In: files and folders. Out: a [`Snapshot`] that decides, swapped as a whole when they change.
//! What is read anew is compiled while the old snapshot stays in use. What of it is used is decided
//! in `retained`.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;

use ephor_admission::admit::Gate;
use ephor_admission::settings::Settings;
use ephor_admission::settings::metrics::Exposure;
use ephor_analysis::reach;
use ephor_controllers::in_use::{InUse, StoredPolicy};
use ephor_document::{self, ResourceOptions};
use ephor_external::ExternalData;
use ephor_ir::Policy;
use ephor_ir::admission::PolicyBinding;
use ephor_ir::facts::Stage;
use ephor_ir::policy::Cleanup;
use ephor_ir::rule::RuleKind;
use ephor_policies::load::{self, Policies, Reader};
use ephor_policies::pitfalls::{self, Pitfall, Remarks};
use ephor_sources::files::SourceText;
use ephor_sources::objects::{ClusterFacts, Objects};
use ephor_sources::registry::Registry;
use ephor_value::Value;
use ephor_value::release::Release;

use super::live::{FromCluster, Link};
use super::loaded::Loaded;
use super::places::{Places, Read, Texts};
use super::stored::{Stored, StoredObjects};
use crate::serve::kind_filter::KindFilter;
use crate::serve::last_good_files::{LastGoodFiles, Parsed};
use crate::serve::last_good_manifests::LastGoodManifests;
use crate::serve::latency::Latency;
use crate::serve::recently_deleted::RecentlyDeleted;

/// What decides at a moment.
pub struct Snapshot {
    /// The gate.
    pub gate: Gate,
    /// What is wrong with files, a line each.
    pub problems: Vec<String>,
    /// What is allowed but has no effect, a line each.
    pub notices: Vec<String>,
    /// What users of the policies do not expect, as far as no review is needed to know it.
    pub pitfalls: Vec<Pitfall>,
    /// What functions say while reviews are evaluated.
    pub remarks: Arc<Remarks>,
    /// When files have to be read again, even if nothing changes.
    pub again: Option<Duration>,
    /// How often policies were read before.
    pub generation: u64,
    /// Whether every policy that must be evaluated can be. There may still be fewer than are
    /// required.
    pub complete: bool,
    /// How many policies there are.
    pub policies: usize,
    /// Which they are, usable or not.
    pub loaded: Loaded,
    /// Those that are stored in the cluster.
    pub stored: StoredObjects,
    /// Whether controllers do what rules leave to them.
    pub has_controllers: bool,
    /// The cleanup policies that can be used.
    pub cleanups: Vec<Cleanup>,
    /// Which metrics are exposed.
    pub exposure: Exposure,
    /// How long decisions take.
    pub latency: Latency,
}

impl InUse for Snapshot {
    fn stored(&self) -> &[StoredPolicy] {
        &self.stored.objects
    }

    fn exceptions(&self) -> &[Value] {
        &self.stored.exceptions
    }

    fn cleanups(&self) -> &[Cleanup] {
        &self.cleanups
    }

    fn settings(&self) -> Option<&Settings> {
        self.gate.settings()
    }

    fn gate(&self) -> &Gate {
        &self.gate
    }
}

/// What was last loaded from files.
#[derive(Default)]
struct Files {
    policies: LastGoodFiles<Policies>,
    manifests: LastGoodManifests,
    data: LastGoodFiles<Vec<Value>>,
    settings: LastGoodFiles<Vec<Value>>,
    metrics: LastGoodFiles<Vec<Value>>,
    stored: Stored,
    deleted: RecentlyDeleted,
    /// The [`Texts::fingerprint`] of what was read last.
    fingerprint: u64,
}

/// Sources of external data in addition to files.
#[derive(Clone, Default)]
pub struct Around {
    /// A cluster.
    pub link: Option<Arc<Link>>,
    /// Image registries, if they may be queried.
    pub registry: Option<Arc<dyn Registry>>,
    /// The policies of the cluster that are served.
    pub stored: Option<KindFilter>,
    /// The size of the result cache in bytes, roughly.
    pub result_cache: u64,
    /// The release of Kubernetes.
    pub release: Release,
}

/// The policies in use.
pub struct Store {
    places: Places,
    around: Around,
    current: ArcSwap<Snapshot>,
    files: Mutex<Files>,
}

impl Store {
    /// Reads everything for the first time.
    pub fn new(places: Places, around: Around) -> Store {
        let mut files = Files::default();
        let first = read(Texts::of(&places), places.required, &around, &mut files, (0, false));
        Store { places, around, current: ArcSwap::from_pointee(first), files: Mutex::new(files) }
    }

    /// Sources of external data in addition to files.
    pub fn around(&self) -> &Around {
        &self.around
    }

    /// What decides now.
    pub fn current(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// The places that are read.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Reads everything again and swaps it in.
    pub fn reload(&self) -> Arc<Snapshot> {
        // One at a time: what was read first must not be swapped in last.
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        self.replace(&mut files, Texts::of(&self.places))
    }

    /// As [`Store::reload`], if a file is another one than before, or something waits for time to
    /// pass, or a kind of the cluster to be watched: cached results stay usable otherwise. Other
    /// problems stay until a file or the cluster changes.
    pub fn reload_what_changed(&self) -> Arc<Snapshot> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let texts = Texts::of(&self.places);
        let before = self.current.load_full();
        let is_unwatched = self.around.link.as_ref().is_some_and(|link| !link.problems().is_empty());
        let is_waiting = before.again.is_some() || is_unwatched || files.deleted.any();
        match texts.fingerprint() == files.fingerprint && !is_waiting {
            true => before,
            false => self.replace(&mut files, texts),
        }
    }

    fn replace(&self, files: &mut Files, texts: Texts) -> Arc<Snapshot> {
        let before = self.current.load();
        let next =
            read(texts, self.places.required, &self.around, files, (before.generation + 1, before.complete));
        let next = Arc::new(next);
        self.current.store(next.clone());
        next
    }
}

/// `established`: everything was usable before, so a new file that cannot be used is skipped; else
/// requests are refused because of it.
fn read(
    texts: Texts,
    required: usize,
    around: &Around,
    files: &mut Files,
    (generation, established): (u64, bool),
) -> Snapshot {
    let now = Instant::now();
    files.fingerprint = texts.fingerprint();
    let current =
        files.policies.update(&texts.policies, established, now, |source| parse(source, around.release));
    let (mut problems, mut again) = (current.problems, current.again);
    let mut lost = current.lost;
    let mut all = files.manifests.update(&texts.manifests, around.release, now, &mut problems, &mut lost);
    again = [again, files.manifests.again(now)].into_iter().flatten().min();
    current.gives.into_iter().for_each(|policies| all.extend((*policies).clone()));
    let mut stored = StoredObjects::default();
    if let (Some(link), Some(chosen)) = (&around.link, &around.stored) {
        let (present, usable) = files.stored.update(link, chosen, around.release);
        problems.extend(present.objects.iter().filter_map(StoredPolicy::described));
        all.extend(usable);
        stored = present;
    }
    let present = stored.objects.iter().map(StoredPolicy::key).map(|key| (key.kind, key.name)).collect();
    let deleted = files.deleted.update(present, now);
    let mut round = ObjectsUpdate { established, now, problems: &mut problems, again: &mut again };
    let objects = round.objects(&texts.data, &mut files.data, parse_objects);
    let registry = around.registry.clone();
    let cluster: Arc<dyn ExternalData> = match &around.link {
        Some(link) => {
            let documents = all.policies.iter().map(|p| &p.document);
            let data = FromCluster::new(link.clone(), objects, documents, registry);
            problems.extend(link.problems());
            Arc::new(data)
        }
        None => {
            let known = ClusterFacts::of_release(around.release, &objects, registry);
            Arc::new(Objects::with(objects, known))
        }
    };
    let notices = notices(&all);
    let lowered: Vec<Arc<Policy>> = all.policies.iter().filter_map(|p| p.policy.clone()).collect();
    let pitfalls = pitfalls::of_exceptions(&lowered, &all.exceptions);
    let loaded = Loaded::of(&all);
    let cleanups = all.cleanups.clone();
    let waits_on_network =
        all.policies.iter().filter_map(|p| p.policy.as_ref()).any(|p| reaches_out(p, around));
    let remarks = Arc::new(Remarks::default());
    let mut gate = Gate::new(all, cluster, &lost)
        .with_result_cache(around.result_cache)
        .with_remarks(remarks.clone())
        .with_required(required)
        .without(deleted);
    let link = around.link.as_ref();
    let mut round = ObjectsUpdate { established, now, problems: &mut problems, again: &mut again };
    let map = round.config_map(texts.settings.as_ref(), &mut files.settings, || link?.settings());
    let metrics = round.config_map(texts.metrics.as_ref(), &mut files.metrics, || link?.metrics());
    if let Some(map) = map {
        let settings = Settings::of(&map);
        problems.extend(settings.problems.iter().cloned());
        gate = gate.with_settings(Arc::new(settings));
    }
    let exposure = metrics.as_ref().map(Exposure::of).unwrap_or_default();
    problems.extend(exposure.problems.iter().cloned());
    problems.extend(gate.broken().iter().map(ToString::to_string));
    problems.extend(gate.unmet_needs());
    problems.extend(gate.shortage());
    let complete = gate.broken().iter().all(|b| !b.fail_closed) && lost.is_empty();
    let policies = gate.usable();
    let latency = Latency::new(waits_on_network);
    Snapshot {
        gate,
        problems,
        notices,
        pitfalls,
        remarks,
        again,
        generation,
        complete,
        policies,
        loaded,
        stored,
        has_controllers: around.stored.is_some(),
        cleanups,
        exposure,
        latency,
    }
}

/// Whether a policy may wait on the network: it is not evaluated on threads that read requests.
fn reaches_out(policy: &Policy, around: &Around) -> bool {
    let reach = reach::of_policy(policy);
    reach.services
        || (around.link.is_some() && reach.any_cluster())
        || (around.registry.is_some() && reach.registry)
}

/// Parses a file of policies for a release of Kubernetes.
fn parse(source: &SourceText, release: Release) -> Parsed<Policies> {
    let loaded = load::argument_for(std::slice::from_ref(source), Reader::Server(release));
    let broken = loaded.policies.iter().filter_map(|p| {
        let why = p.refused.as_ref().or(p.uncompiled.as_ref())?;
        Some(format!("{}:{}: {}: {why}", p.source, p.line, p.name))
    });
    let problems = || loaded.problems.iter().filter(|p| !p.foreign);
    Parsed {
        problems: problems().map(ToString::to_string).collect(),
        broken: broken.collect(),
        fail_closed: problems().any(|p| p.fail_closed),
        names: loaded.names().collect(),
        is_empty: loaded.is_empty(),
        gives: loaded,
    }
}

/// Policies and bindings of Kubernetes that lack the other.
fn notices(all: &Policies) -> Vec<String> {
    let kind_of = |mutates: bool| match mutates {
        true => "MutatingAdmissionPolicy",
        false => "ValidatingAdmissionPolicy",
    };
    let native = || {
        let policies = all.policies.iter();
        policies.filter_map(|p| Some((p, p.policy.as_ref().filter(|p| p.stage == Stage::ApiServer)?)))
    };
    let mutates = |policy: &Policy| policy.rules.iter().any(|r| r.kind == RuleKind::Mutation);
    let is_there =
        |b: &PolicyBinding| native().any(|(p, policy)| mutates(policy) == b.mutates && p.name == *b.policy);
    let is_static = |b: &PolicyBinding| native().any(|(p, of)| p.name == *b.policy && of.is_static());
    let is_bound = |policy: &Policy| {
        let has_own = policy.rules.iter().filter_map(|r| r.bound.as_ref()).any(|b| !b.bindings.is_empty());
        let mutates = mutates(policy);
        has_own || all.bindings.iter().any(|b| b.mutates == mutates && b.policy == policy.name)
    };
    let bindings = all.bindings.iter().filter(|b| !is_there(b) || is_static(b)).map(|b| {
        let kind = kind_of(b.mutates);
        if is_there(b) {
            return format!(
                "{kind}Binding {}: {kind} {} is a static manifest, so it has no effect",
                b.name, b.policy
            );
        }
        format!("{kind}Binding {}: there is no {kind} {}, so it has no effect", b.name, b.policy)
    });
    let policies = native().filter(|(_, policy)| !is_bound(policy)).map(|(p, policy)| {
        let kind = kind_of(mutates(policy));
        format!("{}:{}: {kind} {}: no binding is for it, so it has no effect", p.source, p.line, p.name)
    });
    bindings.chain(policies).collect()
}

/// One time that files are read.
struct ObjectsUpdate<'r> {
    established: bool,
    now: Instant,
    problems: &'r mut Vec<String>,
    again: &'r mut Option<Duration>,
}

impl ObjectsUpdate<'_> {
    /// The objects of files, as they are now or as they were when they could be used.
    fn objects(
        &mut self,
        texts: &Read,
        files: &mut LastGoodFiles<Vec<Value>>,
        parse: fn(&SourceText) -> Parsed<Vec<Value>>,
    ) -> Vec<Value> {
        let current = files.update(texts, self.established, self.now, parse);
        self.problems.extend(current.problems);
        *self.again = [*self.again, current.again].into_iter().flatten().min();
        current.gives.iter().flat_map(|objects| objects.iter().cloned()).collect()
    }

    /// A ConfigMap of operators: in a file, else in the cluster.
    fn config_map(
        &mut self,
        text: Option<&Read>,
        files: &mut LastGoodFiles<Vec<Value>>,
        of_cluster: impl FnOnce() -> Option<Value>,
    ) -> Option<Value> {
        let Some(text) = text else { return of_cluster() };
        self.objects(text, files, parse_config_map).pop()
    }
}

fn parse_config_map(source: &SourceText) -> Parsed<Vec<Value>> {
    let (gives, problems) = match ephor_document::yaml_value(&source.text) {
        Ok(map) => (vec![map], Vec::new()),
        Err(e) => (Vec::new(), vec![format!("{}: {e}", source.name)]),
    };
    let is_empty = gives.is_empty();
    Parsed { gives, problems, broken: Vec::new(), fail_closed: false, names: HashSet::new(), is_empty }
}

fn parse_objects(source: &SourceText) -> Parsed<Vec<Value>> {
    let options = ResourceOptions { float_numbers: false };
    let (gives, problems): (Vec<Value>, Vec<String>) =
        match ephor_document::resources(&source.name, &source.text, options) {
            Ok(found) => (found.into_iter().map(|d| d.value).collect(), Vec::new()),
            Err(e) => (Vec::new(), vec![format!("{}:{}: {e}", source.name, e.line)]),
        };
    let name = |o: &Value| {
        let at = |path: &[&str]| o.text_at(path).to_string();
        [at(&["apiVersion"]), at(&["kind"]), at(&["metadata", "namespace"]), at(&["metadata", "name"])]
            .join(" ")
    };
    let names: HashSet<String> = gives.iter().map(name).collect();
    let is_empty = gives.is_empty();
    Parsed { gives, problems, broken: Vec::new(), fail_closed: false, names, is_empty }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_finds_what_was_there_leaves_everything_in_use() {
        let dir = tempfile::tempdir().expect("a folder");
        let data = dir.path().join("data.yaml");
        let map = |name: &str| format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\n");
        std::fs::write(&data, map("a")).expect("a file");
        let places = Places { data: vec![data.clone()], ..Places::default() };
        let store = Store::new(places, Around::default());
        let first = store.current();
        std::fs::write(&data, map("a")).expect("a file");
        assert!(Arc::ptr_eq(&first, &store.reload_what_changed()));
        std::fs::write(&data, map("a") + "---\n" + &map("b")).expect("a file");
        let waits = store.reload_what_changed();
        assert_eq!((waits.generation, waits.again.is_some()), (1, true));
        // A text is used when it has stayed the same for a while, so the check must not find that
        // nothing has changed.
        assert_eq!(store.reload_what_changed().generation, 2);
        assert_eq!(store.reload().generation, 3, "another source has changed");
    }

    #[test]
    fn a_check_leaves_everything_in_use_also_where_policies_have_problems() {
        let dir = tempfile::tempdir().expect("a folder");
        let policy = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n  - name: r\n    match: {any: [{resources: {kinds: [Pod]}}]}\n    context: [{name: x, configMap: {name: m, namespace: shop}}]\n    validate: {message: m, deny: {}}\n";
        std::fs::write(dir.path().join("a.yaml"), policy).expect("a file");
        let places = Places { policies: vec![dir.path().to_owned()], ..Places::default() };
        let store = Store::new(places, Around::default());
        let first = store.current();
        assert_eq!((first.problems.len(), first.policies), (1, 1), "{:?}", first.problems);
        assert!(Arc::ptr_eq(&first, &store.reload_what_changed()));
        std::fs::write(dir.path().join("b.yaml"), "a: [").expect("a file");
        assert_eq!(store.reload_what_changed().generation, 1);
    }
}
