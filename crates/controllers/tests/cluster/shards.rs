//! Background scans that several replicas divide, on an API server in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ephor_controllers::in_use::{InUse, Source};
use ephor_controllers::queue::Queue;
use ephor_controllers::reports::Form;
use ephor_controllers::scan::work::ScanWork;
use ephor_controllers::scan::{ScanSetup, Scans};
use ephor_controllers::shards::assigned::Assigned;
use ephor_controllers::shards::leases::ShardLeases;
use ephor_document::yaml_value;
use ephor_value::Value;
use ephor_value::shard::shard_of;

use super::api::Api;
use super::scans::{NONE, entries, path_of_report, policy, state};
use super::{State, lease, quick, until};

/// A replica that scans the shards that it gets.
struct Replica {
    in_use: Arc<Mutex<Arc<State>>>,
    // As in a server: leases are given back first.
    _leases: Option<ShardLeases>,
    scans: Scans,
    queue: Arc<Queue<ScanWork>>,
}

impl Replica {
    fn start(api: &Api, name: &str, shards: u32, policies: &str) -> Replica {
        let assigned = Arc::new(Assigned::none_of(NonZero::new(shards).unwrap()));
        let replica = Replica::of(api, name, assigned.clone(), policies);
        let queue = replica.queue.clone();
        let changed = move || queue.add(ScanWork::Policies);
        let leases = ShardLeases::start(api.client(name), lease(name), quick(), assigned, changed).unwrap();
        Replica { _leases: Some(leases), ..replica }
    }

    /// One whose shards are settled.
    fn of(api: &Api, name: &str, assigned: Arc<Assigned>, policies: &str) -> Replica {
        let in_use = Arc::new(Mutex::new(state(policies)));
        let of = in_use.clone();
        let source: Source = Arc::new(move || -> Arc<dyn InUse> { of.lock().unwrap().clone() });
        let setup = ScanSetup {
            interval: Duration::from_secs(3600),
            native: NONE,
            shards: assigned.shards(),
            reports: Form::PolicyReports.into(),
            journal: None,
        };
        let queue = Arc::new(ephor_controllers::scan::queue());
        queue.add(ScanWork::Policies);
        let scans = Scans::start(setup, api.client(name), source, queue.clone(), assigned).unwrap();
        Replica { in_use, _leases: None, scans, queue }
    }

    fn serve(&self, policies: &str) {
        *self.in_use.lock().unwrap() = state(policies);
        self.scans.notify();
    }
}

/// The names of the objects.
fn names() -> Vec<String> {
    (0..24).map(|i| format!("cart-{i}")).collect()
}

fn path(name: &str) -> String {
    format!("/api/v1/namespaces/shop/configmaps/{name}")
}

/// Puts all objects; returns the paths of their reports.
fn put_all(api: &Api) -> Vec<String> {
    let put = |name: String| {
        let text =
            format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: shop}}}}");
        path_of_report(&api.put(&path(&name), &yaml_value(&text).unwrap()))
    };
    names().into_iter().map(put).collect()
}

/// The replica that holds each shard, as the leases say.
fn holders(api: &Api, shards: u32) -> Vec<String> {
    let lease = |shard| format!("/apis/coordination.k8s.io/v1/namespaces/kyverno/leases/ephor-scan-{shard}");
    let holder = |lease: Value| lease.text_at(&["spec", "holderIdentity"]).to_string();
    (0..shards).map(|shard| api.object(&lease(shard)).map(holder).unwrap_or_default()).collect()
}

/// How many shards each replica holds.
fn shares(api: &Api, shards: u32) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    holders(api, shards).into_iter().for_each(|holder| *counts.entry(holder).or_default() += 1);
    counts
}

fn are_shared(api: &Api, shards: u32, shares_of: &[(&str, usize)]) -> bool {
    let counts: Vec<(String, usize)> = shares(api, shards).into_iter().collect();
    let mut found: Vec<usize> = counts.iter().map(|(_, count)| *count).collect();
    let mut wanted: Vec<usize> = shares_of.iter().map(|(_, count)| *count).collect();
    found.sort_unstable();
    wanted.sort_unstable();
    found == wanted
        && counts.iter().map(|(name, _)| name.as_str()).eq(shares_of.iter().map(|(name, _)| *name))
}

/// The replica whose shard an object is in.
fn holder_of(holders: &[String], name: &str) -> String {
    let shards = NonZero::new(u32::try_from(holders.len()).unwrap()).unwrap();
    holders[shard_of(&["v1", "shop", "ConfigMap", name], shards) as usize].clone()
}

/// The replicas that have read each object to scan it.
fn scanned_by(api: &Api) -> Vec<BTreeSet<String>> {
    names().iter().map(|name| api.readers(&path(name)).into_iter().collect()).collect()
}

/// Whether the holder of each object has.
fn have_scanned(api: &Api, shards: u32) -> bool {
    let holders = holders(api, shards);
    names().iter().all(|name| api.readers(&path(name)).contains(&holder_of(&holders, name)))
}

/// The replicas that should have.
fn holders_of_all(holders: &[String]) -> Vec<BTreeSet<String>> {
    names().iter().map(|name| BTreeSet::from([holder_of(holders, name)])).collect()
}

#[test]
fn replicas_scan_every_object_and_each_those_of_its_shards_alone() {
    for (replicas, shares) in [
        (&["a", "b"][..], &[("a", 4), ("b", 4)][..]),
        (&["a", "b", "c"][..], &[("a", 3), ("b", 3), ("c", 2)][..]),
    ] {
        let api = Api::start();
        let reports = put_all(&api);
        let started: Vec<Replica> =
            replicas.iter().map(|name| Replica::start(&api, name, 8, &policy("p", "team", ""))).collect();
        until("all objects have reports", || reports.iter().all(|r| entries(&api, r) == ["p team fail"]));
        until("shards are shared", || are_shared(&api, 8, shares));
        // Objects of shards that were handed over are scanned once more, by their new holders.
        until("the new holders have scanned", || have_scanned(&api, 8));
        api.clear_reads();
        let holders = holders(&api, 8);
        started.iter().for_each(|replica| replica.serve(&policy("q", "cost", "")));
        until("all objects have new reports", || reports.iter().all(|r| entries(&api, r) == ["q cost fail"]));
        assert_eq!(scanned_by(&api), holders_of_all(&holders));
        assert_eq!(api.below("/apis/wgpolicyk8s.io/").len(), names().len(), "one report for each object");
    }
}

#[test]
fn a_replica_that_joins_scans_its_shards_without_a_change_of_their_reports() {
    let api = Api::start();
    let reports = put_all(&api);
    let _first = Replica::start(&api, "a", 8, &policy("p", "team", ""));
    until("all objects have reports", || reports.iter().all(|report| api.object(report).is_some()));
    assert_eq!(scanned_by(&api), vec![BTreeSet::from(["a".to_string()]); names().len()]);
    let before = api.below("/apis/wgpolicyk8s.io/");
    let _second = Replica::start(&api, "b", 8, &policy("p", "team", ""));
    until("shards are shared", || are_shared(&api, 8, &[("a", 4), ("b", 4)]));
    let holders = holders(&api, 8);
    let is_of_second = |name: &&String| holder_of(&holders, name) == "b";
    let (all, second) = (names(), |name: &String| api.readers(&path(name)).contains(&"b".to_string()));
    until("the second one has scanned its objects", || all.iter().filter(is_of_second).all(second));
    assert!(!all.iter().filter(|name| !is_of_second(name)).any(second));
    assert_eq!(api.below("/apis/wgpolicyk8s.io/"), before);
}

#[test]
fn the_shards_of_a_replica_that_ends_are_scanned_by_the_others() {
    let api = Api::start();
    let start = |name| Replica::start(&api, name, 8, &policy("p", "team", ""));
    let (first, second, third) = (start("a"), start("b"), start("c"));
    until("shards are shared", || are_shared(&api, 8, &[("a", 3), ("b", 3), ("c", 2)]));
    drop(second);
    until("shards are shared anew", || are_shared(&api, 8, &[("a", 4), ("c", 4)]));
    let reports = put_all(&api);
    until("all objects have reports", || reports.iter().all(|r| entries(&api, r) == ["p team fail"]));
    assert_eq!(scanned_by(&api), holders_of_all(&holders(&api, 8)));
    drop((first, third));
    assert_eq!(shares(&api, 8), BTreeMap::from([(String::new(), 8)]), "all are given back");
}

#[test]
fn the_shards_of_a_replica_that_does_not_renew_them_are_taken_when_they_expire() {
    let api = Api::start();
    let reports = put_all(&api);
    for shard in 0..8 {
        let lease = format!(
            "{{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {{name: ephor-scan-{shard}, namespace: kyverno}}, spec: {{holderIdentity: gone, leaseDurationSeconds: 1, leaseTransitions: 4}}}}"
        );
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/kyverno/leases/ephor-scan-{shard}");
        api.put(&path, &yaml_value(&lease).unwrap());
    }
    let _replica = Replica::start(&api, "a", 8, &policy("p", "team", ""));
    until("all shards are taken", || are_shared(&api, 8, &[("a", 8)]));
    until("all objects have reports", || reports.iter().all(|r| entries(&api, r) == ["p team fail"]));
    let lease = api.object("/apis/coordination.k8s.io/v1/namespaces/kyverno/leases/ephor-scan-0").unwrap();
    assert_eq!(lease.at(&["spec", "leaseTransitions"]).and_then(Value::as_int), Some(5));
    let wish = lease.at(&["metadata", "annotations", "ephor.dev/wanted-by"]);
    assert_eq!(wish, None);
}

#[test]
fn another_number_of_shards_divides_the_same_objects_and_reports_stay() {
    let api = Api::start();
    let reports = put_all(&api);
    let both = |shards| ["a", "b"].map(|name| Replica::start(&api, name, shards, &policy("p", "team", "")));
    let eight = both(8);
    until("all objects have reports", || reports.iter().all(|r| entries(&api, r) == ["p team fail"]));
    until("shards are shared", || are_shared(&api, 8, &[("a", 4), ("b", 4)]));
    until("the new holders have scanned", || have_scanned(&api, 8));
    drop(eight);
    let before = api.below("/apis/wgpolicyk8s.io/");
    api.clear_reads();
    let _three = both(3);
    until("shards are shared", || {
        are_shared(&api, 3, &[("a", 2), ("b", 1)]) || are_shared(&api, 3, &[("a", 1), ("b", 2)])
    });
    until("their holders have scanned", || have_scanned(&api, 3));
    assert_eq!(api.below("/apis/wgpolicyk8s.io/"), before);
}

#[test]
fn results_whose_policies_are_gone_are_removed_by_the_holder_of_the_first_shard_alone() {
    let api = Api::start();
    let reports = put_all(&api);
    let both = policy("p", "team", "") + &policy("q", "cost", "");
    let replicas = ["a", "b"].map(|name| Replica::start(&api, name, 8, &both));
    until("shards are shared", || are_shared(&api, 8, &[("a", 4), ("b", 4)]));
    until("all objects have reports", || reports.iter().all(|r| entries(&api, r).len() == 2));
    until("the new holders have scanned", || have_scanned(&api, 8));
    api.clear_reads();
    let holder = holders(&api, 8)[0].clone();
    // No scan answers for what is left: results go by the sweep.
    replicas.iter().for_each(|replica| replica.serve(""));
    until("the reports are gone", || reports.iter().all(|report| api.object(report).is_none()));
    let swept_by: BTreeSet<String> =
        api.readers("/apis/wgpolicyk8s.io/v1alpha2/policyreports").into_iter().collect();
    assert_eq!(swept_by, BTreeSet::from([holder]));
}

#[test]
fn results_of_a_policy_that_another_replica_knows_first_stay() {
    let api = Api::start();
    // In the second of two shards, which nothing holds.
    let of_second =
        |name: &&String| shard_of(&["v1", "shop", "ConfigMap", name], NonZero::new(2).unwrap()) == 1;
    let (reports, all) = (put_all(&api), names());
    let at = all.iter().position(|name| of_second(&name)).unwrap();
    let uid = reports[at].rsplit('/').next().unwrap();
    let report = format!(
        "{{apiVersion: wgpolicyk8s.io/v1alpha2, kind: PolicyReport, metadata: {{name: {uid}, namespace: shop, labels: {{app.kubernetes.io/managed-by: kyverno}}}}, scope: {{apiVersion: v1, kind: ConfigMap, namespace: shop, name: {}, uid: {uid}}}, results: [{{source: kyverno, policy: q, rule: cost, result: fail}}, {{source: kyverno, policy: gone, rule: r, result: fail}}]}}",
        all[at]
    );
    api.put(&reports[at], &yaml_value(&report).unwrap());
    let assigned = Arc::new(Assigned::none_of(NonZero::new(2).unwrap()));
    assigned.grant(0, None);
    let replica = Replica::of(&api, "a", assigned, &policy("p", "team", ""));
    let sweeps = || api.readers("/apis/wgpolicyk8s.io/v1alpha2/policyreports").len();
    until("it has swept", || sweeps() > 0);
    replica.serve(&(policy("p", "team", "") + &policy("q", "cost", "")));
    until("results without a policy are gone", || entries(&api, &reports[at]) == ["q cost fail"]);
}
