//! The server's certificate in a Secret: who creates it, who renews it, and what webhook
//! configurations trust meanwhile.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ephor_controllers::certificates::content::{Content, authorities, fault, with_data};
use ephor_controllers::certificates::issue::{AUTHORITY, PAIR, Pem, RENEW};
use ephor_controllers::certificates::{Clock, SETTLE, ServerSecret, Step, Wanted};
use ephor_controllers::webhooks::{self, WebhookPlan};
use ephor_document::yaml_value;
use ephor_value::Value;

use super::api::Api;
use super::{CONFIGURATION, PATTERN, plan, policy, state, usable};

const SECRET: &str = "/api/v1/namespaces/kyverno/secrets/tls";
const AUTHORITY_SECRET: &str = "/api/v1/namespaces/kyverno/secrets/tls-ca";
const HOST: &str = "svc.kyverno.svc";
const MINUTE: Duration = Duration::from_secs(60);

/// A clock that tests move.
#[derive(Clone)]
struct Moment(Arc<Mutex<SystemTime>>);

impl Moment {
    fn now() -> Moment {
        Moment(Arc::new(Mutex::new(SystemTime::now())))
    }

    fn get(&self) -> SystemTime {
        *self.0.lock().unwrap()
    }

    fn pass(&self, time: Duration) {
        *self.0.lock().unwrap() += time;
    }

    fn clock(&self) -> Clock {
        let of = self.clone();
        Arc::new(move || of.get())
    }
}

fn replica(api: &Api, moment: &Moment) -> Arc<ServerSecret> {
    let wanted = Wanted {
        namespace: "kyverno".into(),
        name: "tls".into(),
        names: vec!["svc".into(), HOST.into(), "127.0.0.1".into()],
        host: HOST.into(),
    };
    Arc::new(ServerSecret::new(api.cluster.clone(), wanted, moment.clock()))
}

/// A replica that serves.
fn serving(api: &Api, moment: &Moment) -> Arc<ServerSecret> {
    let replica = replica(api, moment);
    replica.read().unwrap();
    replica
}

fn served(replica: &ServerSecret) -> Pem {
    (*replica.pair().unwrap()).clone()
}

fn stored(api: &Api) -> Content {
    Content::of(&api.object(SECRET).unwrap())
}

/// Writes webhook configurations, as the replica that leads does.
fn publish(api: &Api, secret: &Arc<ServerSecret>) {
    publish_with(api, WebhookPlan { secret: Some(secret.clone()), ..plan(false) });
}

fn publish_with(api: &Api, plan: WebhookPlan) {
    let in_use = state(vec![usable(&policy(PATTERN))], Vec::new());
    webhooks::reconcile(&api.cluster, &plan, &*in_use, &|_| false).unwrap();
}

/// What webhook configurations trust.
fn trusted(api: &Api) -> String {
    let configuration = api.object(CONFIGURATION).unwrap();
    let webhook = configuration.get("webhooks").and_then(Value::as_list).unwrap().first().unwrap().clone();
    let bundle = STANDARD.decode(webhook.text_at(&["clientConfig", "caBundle"])).unwrap();
    String::from_utf8(bundle).unwrap()
}

/// Whether the API server accepts what a replica serves.
fn is_accepted(api: &Api, replica: &ServerSecret, moment: &Moment) -> bool {
    let bundle = authorities(trusted(api).as_bytes()).unwrap();
    !bundle.is_empty() && fault(&served(replica), &[HOST.into()], &bundle, moment.get()).is_none()
}

fn overwrite(api: &Api, data: &[(&'static str, &str)]) {
    api.put(SECRET, &with_data(&api.object(SECRET).unwrap(), data));
}

/// Reconciles until nothing is due; what each step was.
fn settle(secret: &ServerSecret) -> Vec<Step> {
    let steps = std::iter::repeat_with(|| secret.reconcile().unwrap());
    let mut all = Vec::new();
    for step in steps.take(10) {
        all.push(step);
        if step != Step::Changed {
            break;
        }
    }
    all
}

#[test]
fn replicas_that_start_at_once_serve_one_certificate() {
    for _ in 0..5 {
        let (api, moment) = (Api::start(), Moment::now());
        let started: Vec<Arc<ServerSecret>> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..4).map(|_| scope.spawn(|| serving(&api, &moment))).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert_eq!((api.created(SECRET), api.created(AUTHORITY_SECRET)), (1, 1));
        let first = served(&started[0]);
        assert!(started.iter().all(|one| served(one) == first && one.problem().is_none()));
        publish(&api, &started[1]);
        assert!(started.iter().all(|one| is_accepted(&api, one, &moment)));
        assert_eq!(started[2].reconcile().unwrap(), Step::Settled);
    }
}

#[test]
fn the_key_of_the_authority_is_not_where_the_pair_is() {
    let (api, moment) = (Api::start(), Moment::now());
    serving(&api, &moment);
    let keys = |path: &str| {
        let secret = api.object(path).unwrap();
        let data = secret.get("data").and_then(Value::as_map).unwrap().clone();
        let keys: Vec<String> = data.iter().map(|(key, _)| key.to_string()).collect();
        (secret.text_at(&["type"]).to_string(), keys)
    };
    let tls = "kubernetes.io/tls".to_string();
    assert_eq!(keys(SECRET), (tls.clone(), vec!["ca.crt".into(), "tls.crt".into(), "tls.key".into()]));
    assert_eq!(keys(AUTHORITY_SECRET), (tls, vec!["tls.crt".into(), "tls.key".into()]));
    assert_ne!(stored(&api).pair.key, Content::of(&api.object(AUTHORITY_SECRET).unwrap()).pair.key);
}

#[test]
fn a_pair_is_renewed_in_time_by_the_same_authority() {
    let (api, moment) = (Api::start(), Moment::now());
    let (leader, other) = (serving(&api, &moment), serving(&api, &moment));
    publish(&api, &leader);
    let (former, bundle) = (served(&leader), trusted(&api));
    moment.pass(PAIR - RENEW - MINUTE);
    assert_eq!(settle(&leader), [Step::Settled]);
    moment.pass(MINUTE * 2);
    assert_eq!(settle(&leader), [Step::Changed, Step::Settled]);
    assert_ne!(served(&leader), former);
    // The other replica still serves the former one, until its watch says so.
    assert!(is_accepted(&api, &leader, &moment) && is_accepted(&api, &other, &moment));
    assert!(other.read().unwrap());
    assert_eq!(served(&other), served(&leader));
    publish(&api, &leader);
    assert_eq!(trusted(&api), bundle);
}

#[test]
fn a_new_authority_is_trusted_before_a_certificate_of_it_is_served_and_the_former_one_until_it_expires() {
    let (api, moment) = (Api::start(), Moment::now());
    let (leader, other) = (serving(&api, &moment), serving(&api, &moment));
    publish(&api, &leader);
    for _ in 0..2 {
        moment.pass(PAIR - RENEW + MINUTE);
        settle(&leader);
        other.read().unwrap();
    }
    let former = served(&leader);
    moment.pass(AUTHORITY - RENEW - (PAIR - RENEW) * 2);
    // The bundle is stored, and the pair stays.
    assert_eq!(settle(&leader), [Step::Changed, Step::Waits]);
    assert_eq!(authorities(stored(&api).bundle.as_bytes()).unwrap().len(), 2);
    assert_eq!(stored(&api).pair, former);
    assert_eq!(authorities(trusted(&api).as_bytes()).unwrap().len(), 1);
    // No time is enough while webhook configurations do not carry it.
    moment.pass(SETTLE * 10);
    assert_eq!(settle(&leader), [Step::Waits]);
    publish(&api, &leader);
    assert_eq!(authorities(trusted(&api).as_bytes()).unwrap().len(), 2);
    // API servers have a moment to notice.
    assert_eq!(settle(&leader), [Step::Waits]);
    assert!(is_accepted(&api, &leader, &moment) && is_accepted(&api, &other, &moment));
    moment.pass(SETTLE);
    assert_eq!(settle(&leader), [Step::Changed, Step::Settled]);
    assert_ne!(served(&leader), former);
    assert_eq!(served(&other), former);
    assert!(is_accepted(&api, &leader, &moment) && is_accepted(&api, &other, &moment));
    // A replica that starts now serves the new one.
    assert_eq!(served(&serving(&api, &moment)), served(&leader));
    // The former authority goes when nothing that it signed is valid any longer.
    moment.pass(RENEW + MINUTE);
    assert_eq!(settle(&leader), [Step::Changed, Step::Settled]);
    publish(&api, &leader);
    assert_eq!(authorities(trusted(&api).as_bytes()).unwrap().len(), 1);
    assert!(is_accepted(&api, &leader, &moment));
    assert!(fault(&former, &[], &[], moment.get()).is_some());
}

#[test]
fn a_replica_that_begins_to_lead_in_the_middle_of_a_rotation_completes_it() {
    let (api, moment) = (Api::start(), Moment::now());
    let (leader, next) = (serving(&api, &moment), serving(&api, &moment));
    publish(&api, &leader);
    moment.pass(AUTHORITY - RENEW);
    // No pair is valid by now, so a new one may be served at once.
    assert_eq!(settle(&leader), [Step::Changed, Step::Changed, Step::Settled]);
    let authority = api.object(AUTHORITY_SECRET).unwrap();
    api.remove(AUTHORITY_SECRET);
    assert_eq!(settle(&leader), [Step::Changed, Step::Waits]);
    assert_ne!(api.object(AUTHORITY_SECRET).unwrap(), authority);
    next.read().unwrap();
    assert_eq!(settle(&next), [Step::Waits]);
    publish(&api, &next);
    moment.pass(SETTLE);
    assert_eq!(settle(&next), [Step::Changed, Step::Settled]);
    assert!(is_accepted(&api, &leader, &moment) && is_accepted(&api, &next, &moment));
}

#[test]
fn secrets_that_are_deleted_while_replicas_serve_are_created_again_without_a_gap() {
    let (api, moment) = (Api::start(), Moment::now());
    let (leader, other) = (serving(&api, &moment), serving(&api, &moment));
    publish(&api, &leader);
    let former = served(&leader);
    api.remove(SECRET);
    other.read().unwrap();
    assert_eq!(other.problem().unwrap(), "Secret kyverno/tls is missing");
    assert_eq!(served(&other), former);
    assert_eq!(settle(&leader), [Step::Changed, Step::Settled]);
    assert_eq!(stored(&api).pair, former);
    other.read().unwrap();
    assert_eq!(other.problem(), None);
    // Without the authority's key there is a new authority, and the pair changes when it is
    // trusted.
    api.remove(SECRET);
    api.remove(AUTHORITY_SECRET);
    assert_eq!(settle(&leader), [Step::Changed, Step::Waits]);
    assert_eq!(stored(&api).pair, former);
    publish(&api, &leader);
    moment.pass(SETTLE);
    assert_eq!(settle(&leader), [Step::Changed, Step::Settled]);
    assert_ne!(stored(&api).pair, former);
    assert!(is_accepted(&api, &leader, &moment) && is_accepted(&api, &other, &moment));
}

#[test]
fn content_that_cannot_be_used_is_named_and_replaced() {
    for (key, problem) in [
        ("tls.crt", "Secret kyverno/tls: `tls.crt` cannot be used: holds no certificate"),
        ("tls.key", "Secret kyverno/tls: `tls.key` cannot be used: no items found"),
        ("ca.crt", "Secret kyverno/tls: `ca.crt` holds no certificate"),
    ] {
        let (api, moment) = (Api::start(), Moment::now());
        let (leader, other) = (serving(&api, &moment), serving(&api, &moment));
        publish(&api, &leader);
        let former = served(&leader);
        overwrite(&api, &[(key, "broken")]);
        other.read().unwrap();
        assert!(other.problem().unwrap().starts_with(problem), "{:?}", other.problem());
        assert_eq!(served(&other), former);
        publish(&api, &other);
        assert!(is_accepted(&api, &other, &moment));
        assert_eq!(settle(&leader), [Step::Changed, Step::Settled]);
        assert_eq!(stored(&api).pair, former);
        // A replica that knows no other pair waits for the one that leads, or leads itself.
        overwrite(&api, &[(key, "broken")]);
        let new = serving(&api, &moment);
        assert_eq!(new.pair().is_some(), key == "ca.crt");
        assert_eq!(settle(&new).last(), Some(&Step::Settled));
        assert_eq!(new.problem(), None);
        publish(&api, &new);
        assert!(is_accepted(&api, &new, &moment));
    }
}

#[test]
fn a_certificate_for_another_host_or_time_is_named_and_replaced() {
    let (api, moment) = (Api::start(), Moment::now());
    let leader = serving(&api, &moment);
    moment.pass(PAIR * 2);
    leader.read().unwrap();
    let problem = leader.problem().unwrap();
    assert!(problem.contains("the certificate in `tls.crt` is valid from"), "{problem}");
    assert_eq!(settle(&leader), [Step::Changed, Step::Settled]);
    assert_eq!(leader.problem(), None);
    let names = vec!["elsewhere.other.svc".into()];
    let wanted =
        Wanted { namespace: "kyverno".into(), name: "tls".into(), names, host: "elsewhere.other.svc".into() };
    let moved = ServerSecret::new(api.cluster.clone(), wanted, moment.clock());
    moved.read().unwrap();
    let problem = moved.problem().unwrap();
    assert_eq!(
        problem,
        "Secret kyverno/tls: the certificate in `tls.crt` is not valid for `elsewhere.other.svc`"
    );
    assert_eq!(settle(&moved), [Step::Changed, Step::Settled]);
    assert_eq!(moved.problem(), None);
}

#[test]
fn a_secret_of_another_program_is_only_read() {
    let (api, moment) = (Api::start(), Moment::now());
    // Another installation issues the pairs.
    let (issuer, later) = (Api::start(), Api::start());
    serving(&issuer, &moment);
    serving(&later, &moment);
    let foreign = |of: &Api| {
        let own = of.object(SECRET).unwrap();
        own.with(
            "metadata",
            yaml_value("{name: tls, namespace: kyverno, annotations: {cert-manager.io/issuer-name: ca}}")
                .unwrap(),
        )
    };
    api.put(SECRET, &foreign(&issuer));
    let leader = serving(&api, &moment);
    publish(&api, &leader);
    assert!(is_accepted(&api, &leader, &moment) && !leader.is_own());
    // A change counts at once.
    api.put(SECRET, &foreign(&later));
    assert!(leader.read().unwrap());
    publish(&api, &leader);
    assert_eq!(served(&leader), stored(&api).pair);
    assert!(is_accepted(&api, &leader, &moment));
    // What cannot be used leaves the former pair in use, and is not repaired.
    overwrite(&api, &[("tls.crt", "broken"), ("ca.crt", "broken")]);
    leader.read().unwrap();
    assert_eq!(settle(&leader), [Step::Settled]);
    publish(&api, &leader);
    assert!(leader.problem().is_some() && is_accepted(&api, &leader, &moment));
    moment.pass(PAIR);
    assert_eq!(settle(&leader), [Step::Settled]);
    let writes = api.writes();
    assert!(!writes.iter().any(|line| line.contains("/secrets")), "{writes:?}");
}

#[test]
fn a_bundle_of_operators_replaces_that_of_a_foreign_secret_and_joins_that_of_an_own_one() {
    let (api, moment) = (Api::start(), Moment::now());
    let leader = serving(&api, &moment);
    let folder = tempfile::tempdir().unwrap();
    let other = Api::start();
    let given = serving(&other, &moment).bundle();
    let file = folder.path().join("ca.crt");
    std::fs::write(&file, &given).unwrap();
    let plan = || WebhookPlan { secret: Some(leader.clone()), authority: Some(file.clone()), ..plan(false) };
    publish_with(&api, plan());
    assert_eq!(trusted(&api), leader.bundle() + &given);
    let own = api.object(SECRET).unwrap();
    api.put(SECRET, &own.with("metadata", yaml_value("{name: tls, namespace: kyverno}").unwrap()));
    leader.read().unwrap();
    publish_with(&api, plan());
    assert_eq!(trusted(&api), given);
}

#[test]
fn an_authority_is_never_written_over_the_secret_of_another_program() {
    let (api, moment) = (Api::start(), Moment::now());
    let foreign = yaml_value("{apiVersion: v1, kind: Secret, metadata: {name: tls-ca, namespace: kyverno}}");
    api.put(AUTHORITY_SECRET, &foreign.unwrap());
    let replica = replica(&api, &moment);
    let refused = replica.read().unwrap_err().to_string();
    assert!(refused.contains("Secret kyverno/tls-ca is not written by ephor"), "{refused}");
    assert!(api.object(SECRET).is_none());
}
