//! Policies and data that are watched.
//!
//! In: files and folders. Out: a [`Snapshot`] that decides, swapped as a whole when they change. What is read
//! anew is compiled beside the one in use. A file that can no longer be used keeps what it last gave.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;

use crate::admit::data::Cluster;
use crate::admit::{Data, Gate, Known};
use crate::document::{self, ResourceOptions};
use crate::ir::{Policy, reach};
use crate::load::{self, Policies, Reader};
use crate::settings::Settings;
use crate::settings::metrics::Exposure;
use crate::sources::files::{self, SourceText};
use crate::sources::registry::Registry;
use crate::value::Value;

use super::live::{FromCluster, Link};
use super::pace::Pace;

/// What decides at a moment.
pub struct Snapshot {
    /// The gate.
    pub gate: Gate,
    /// What is wrong with files, a line each.
    pub problems: Vec<String>,
    /// How often policies were read before.
    pub generation: u64,
    /// Whether every policy that must be evaluated can be.
    pub complete: bool,
    /// How many policies there are.
    pub policies: usize,
    /// What metrics tell.
    pub exposure: Exposure,
    /// How long decisions take.
    pub pace: Pace,
}

/// Where policies and data come from.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Files and folders with policies, exceptions and bindings.
    pub policies: Vec<PathBuf>,
    /// Files and folders with objects that rules ask for.
    pub data: Vec<PathBuf>,
    /// A file with what operators set.
    pub settings: Option<PathBuf>,
    /// A file with what they set about metrics.
    pub metrics: Option<PathBuf>,
}

/// What a file gave last.
struct Read {
    text: String,
    policies: Policies,
}

/// Where data of rules comes from besides files.
#[derive(Clone, Default)]
pub struct Around {
    /// A cluster.
    pub link: Option<Arc<Link>>,
    /// Registries of images, if they may be asked.
    pub registry: Option<Arc<dyn Registry>>,
    /// How many bytes of results are remembered, roughly.
    pub remembered: u64,
}

/// The policies in use.
pub struct Store {
    places: Places,
    around: Around,
    current: ArcSwap<Snapshot>,
    files: Mutex<HashMap<String, Read>>,
}

impl Store {
    /// Reads everything for the first time.
    pub fn new(places: Places, around: Around) -> Store {
        let mut files = HashMap::new();
        let first = read(&places, &around, &mut files, 0, false);
        Store { places, around, current: ArcSwap::from_pointee(first), files: Mutex::new(files) }
    }

    /// Where data comes from besides files.
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

    /// Reads everything again and puts it to use.
    pub fn reload(&self) -> Arc<Snapshot> {
        // One at a time: what was read first must not be put to use last.
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.current.load();
        let next = read(&self.places, &self.around, &mut files, before.generation + 1, before.complete);
        let next = Arc::new(next);
        self.current.store(next.clone());
        next
    }
}

/// `established`: everything could be used before, so what comes new and cannot be used is left out; else
/// requests are refused because of it.
fn read(
    places: &Places,
    around: &Around,
    files: &mut HashMap<String, Read>,
    generation: u64,
    established: bool,
) -> Snapshot {
    let mut problems = Vec::new();
    let mut all = Policies::default();
    let found = texts(&places.policies, &mut problems);
    let mut lost: Vec<String> = Vec::new();
    let mut kept: HashSet<&str> = HashSet::new();
    for source in &found.sources {
        kept.insert(&source.name);
        let (policies, is_whole) = of_file(source, files, &mut problems, established);
        all.extend(policies);
        if !is_whole {
            lost.push(source.name.clone());
        }
    }
    // What cannot be read at all, or is gone while its folder is, stays as it was.
    files.retain(|name, last| {
        let is_there = kept.contains(name.as_str());
        let stays = !is_there && found.unreadable.iter().any(|place| name.starts_with(place));
        if stays {
            all.extend(last.policies.clone());
        }
        is_there || stays
    });
    let objects = objects(&places.data, &mut problems);
    let registry = around.registry.clone();
    let cluster: Arc<dyn Cluster> = match &around.link {
        Some(link) => {
            let documents = all.policies.iter().map(|p| &p.document);
            let data = FromCluster::new(link.clone(), objects, documents, registry);
            problems.extend(link.problems());
            Arc::new(data)
        }
        None => {
            let known = Known::of(&objects, registry);
            Arc::new(Data::with(objects, known))
        }
    };
    let policies = all.policies.iter().filter(|p| p.refused.is_none() && p.uncompiled.is_none()).count();
    lost.extend(found.unreadable.iter().filter(|place| !kept_below(files, place)).cloned());
    let asks_others = all.policies.iter().filter_map(|p| p.policy.as_ref()).any(|p| reaches_out(p, around));
    let mut gate = Gate::new(all, cluster, &lost).with_recall(around.remembered);
    let link = around.link.as_ref();
    if let Some(map) = config_map(&places.settings, || link?.settings(), &mut problems) {
        let settings = Settings::of(&map);
        problems.extend(settings.problems.iter().cloned());
        gate = gate.with_settings(Arc::new(settings));
    }
    let map = config_map(&places.metrics, || link?.metrics(), &mut problems);
    let exposure = map.as_ref().map(Exposure::of).unwrap_or_default();
    problems.extend(exposure.problems.iter().cloned());
    problems.extend(gate.broken().iter().map(ToString::to_string));
    problems.extend(gate.unmet_needs());
    let complete = gate.broken().iter().all(|b| !b.fail_closed) && lost.is_empty();
    Snapshot { gate, problems, generation, complete, policies, exposure, pace: Pace::new(asks_others) }
}

/// A ConfigMap of operators: in a file, else in the cluster.
fn config_map(
    file: &Option<PathBuf>,
    of_cluster: impl FnOnce() -> Option<Value>,
    problems: &mut Vec<String>,
) -> Option<Value> {
    let Some(path) = file else { return of_cluster() };
    let read = std::fs::read_to_string(path).map_err(|e| e.to_string());
    match read.and_then(|text| document::yaml_value(&text)) {
        Ok(document) => Some(document),
        Err(e) => {
            problems.push(format!("{}: {e}", path.display()));
            None
        }
    }
}

/// Whether a policy may wait for somebody else: its decisions are not made where requests are read.
fn reaches_out(policy: &Policy, around: &Around) -> bool {
    let reach = reach::of_policy(policy);
    reach.services
        || (around.link.is_some() && reach.cluster)
        || (around.registry.is_some() && reach.registry)
}

/// Whether policies of a place stay in use.
fn kept_below(files: &HashMap<String, Read>, place: &str) -> bool {
    files.keys().any(|name| name.starts_with(place))
}

struct Texts {
    sources: Vec<SourceText>,
    /// Places that could not be read.
    unreadable: Vec<String>,
}

fn texts(places: &[PathBuf], problems: &mut Vec<String>) -> Texts {
    let arguments: Vec<String> = places.iter().map(|p| p.display().to_string()).collect();
    let loaded = files::served_policies(&arguments);
    problems.extend(loaded.notices.iter().map(ToString::to_string));
    let is_gone = |a: &&String| std::fs::metadata(a).is_err();
    let mut unreadable: Vec<String> = arguments.iter().filter(is_gone).cloned().collect();
    unreadable
        .extend(loaded.notices.into_iter().filter(|n| n.cause == files::Cause::Unreadable).map(|n| n.place));
    Texts { sources: loaded.sources, unreadable }
}

/// The policies of a file: as they are now, or as they were when they could be used; whether that is all.
fn of_file(
    source: &SourceText,
    files: &mut HashMap<String, Read>,
    problems: &mut Vec<String>,
    established: bool,
) -> (Policies, bool) {
    if let Some(known) = files.get(&source.name).filter(|known| known.text == source.text) {
        return (known.policies.clone(), true);
    }
    let loaded = load::argument_for(std::slice::from_ref(source), Reader::Server);
    let refused = loaded.policies.iter().filter_map(|p| {
        let why = p.refused.as_ref().or(p.uncompiled.as_ref())?;
        Some(format!("{}:{}: {}: {why}", p.source, p.line, p.name))
    });
    let lost: Vec<String> = loaded.problems.iter().filter(|p| !p.foreign).map(ToString::to_string).collect();
    match files.get(&source.name) {
        Some(last) if !lost.is_empty() || refused.clone().next().is_some() => {
            let all = lost.into_iter().chain(refused);
            problems.extend(all.map(|f| format!("{f} (the last usable form of the file stays in use)")));
            (last.policies.clone(), true)
        }
        None if established && (!lost.is_empty() || refused.clone().next().is_some()) => {
            problems.extend(lost.into_iter().chain(refused).map(|f| format!("{f} (not in use)")));
            (Policies::default(), true)
        }
        _ => {
            let is_whole = lost.is_empty();
            problems.extend(lost);
            if is_whole {
                let read = Read { text: source.text.clone(), policies: loaded.clone() };
                files.insert(source.name.clone(), read);
            }
            (loaded, is_whole)
        }
    }
}

fn objects(places: &[PathBuf], problems: &mut Vec<String>) -> Vec<Value> {
    let mut out = Vec::new();
    for place in places {
        let loaded = files::served_data(&place.display().to_string());
        // A folder may be empty.
        let told =
            loaded.notices.iter().filter(|n| !matches!(n.cause, files::Cause::NoMatch | files::Cause::Empty));
        problems.extend(told.map(ToString::to_string));
        for source in &loaded.sources {
            match document::resources(&source.name, &source.text, ResourceOptions { float_numbers: false }) {
                Ok(found) => out.extend(found.into_iter().map(|d| d.value)),
                Err(e) => problems.push(format!("{}: {e:?}", source.name)),
            }
        }
    }
    out
}
