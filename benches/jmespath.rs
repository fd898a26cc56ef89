//! Expressions as policies have them on a Pod of 20 kB, compiled once, beside the `jmespath` crate's own
//! interpreter in the same run.
//!
//! For each expression: nanoseconds of a search here, of the crate's `Expression::search`, which brings the
//! document into its own form each time, and of its bare `interpret` on a document that has that form
//! already; and how many times faster than both `ephor` is. The results are compared first, so that all do
//! the same work. Exit code 1 when a search here is not [`PROMISED`] times faster than a search there.

#![allow(clippy::expect_used)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use ephor::functions::Context;
use ephor::search::{Expression, json, read};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How many times faster each search has to be.
const PROMISED: f64 = 5.0;

const EXPRESSIONS: &[&str] = &[
    "metadata.name",
    "metadata.labels.\"app.kubernetes.io/name\" == 'shop'",
    "spec.containers[0].image",
    "spec.containers[*].image",
    "spec.containers[].ports[].containerPort",
    "spec.containers[?name == 'app-7'].image | [0]",
    "spec.containers[?securityContext.privileged == `true`].name",
    "spec.containers[?resources.limits.memory == null || resources.limits.cpu == null].name",
    "length(spec.containers[?starts_with(image, 'registry.example.com/')])",
    "spec.containers[*].{name: name, image: image, memory: resources.limits.memory}",
    "spec.hostNetwork || spec.hostPID || spec.hostIPC",
    "spec.containers[].env[?name == 'SECRET'][].value",
    "contains(keys(metadata.annotations), 'checksum/config')",
    "spec.volumes[?hostPath != null] | length(@) > `0`",
    "sort(spec.containers[*].name) | [-1]",
    "max_by(spec.containers, &ports[0].containerPort).name",
];

fn main() {
    let text = pod();
    let document = read(&text).expect("a Pod");
    let theirs = jmespath::Variable::from_json(&json(&document).expect("JSON")).expect("a Pod");
    let theirs = jmespath::Rcvar::new(theirs);
    let mut runtime = jmespath::Runtime::new();
    runtime.register_builtin_functions();
    let context = Context::default();
    println!("a Pod of {} bytes as JSON", json(&document).expect("JSON").len());
    println!("{:>9} {:>12} {:>12} {:>9} {:>9}", "ephor", "search", "interpret", "", "");
    let mut slow = 0;
    for text in EXPRESSIONS {
        let ours = Expression::compile(text).expect(text);
        let compiled = jmespath::compile(text).expect(text);
        let ast = jmespath::parse(text).expect(text);
        let interpret = || jmespath::interpret(&theirs, &ast, &mut jmespath::Context::new(text, &runtime));
        let found = ours.find(&document, &context).expect(text).into_owned();
        let same = interpret().expect(text).to_string();
        assert!(read(&same).is_ok_and(|same| same.json_eq(&found)), "{text}: {same}");
        let ours = best(|| black_box(ours.find(black_box(&document), &context)).is_ok());
        let search = best(|| black_box(compiled.search(black_box(&theirs))).is_ok());
        let interpret = best(|| black_box(interpret()).is_ok());
        let (faster, bare) = (search / ours, interpret / ours);
        slow += usize::from(faster < PROMISED);
        println!("{ours:>6.0} ns {search:>9.0} ns {interpret:>9.0} ns {faster:>8.1}× {bare:>8.1}×  {text}");
    }
    if slow > 0 {
        println!("{slow} of {} expressions are not {PROMISED} times faster", EXPRESSIONS.len());
        std::process::exit(1);
    }
}

/// Nanoseconds of one call, the best of several rounds.
fn best(f: impl Fn() -> bool) -> f64 {
    let time = |n: u32| {
        let start = Instant::now();
        for _ in 0..n {
            assert!(f());
        }
        start.elapsed()
    };
    let mut n = 1;
    while time(n) < Duration::from_millis(4) {
        n *= 2;
    }
    (0..15).map(|_| time(n).as_secs_f64() * 1e9 / f64::from(n)).fold(f64::INFINITY, f64::min)
}

/// A Pod with as many containers as make 20 kB.
fn pod() -> String {
    let mut text = String::from(
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: shop\n  namespace: web\n  labels: {app.kubernetes.io/name: shop, tier: front}\n  annotations: {checksum/config: abc, team: web}\nspec:\n  serviceAccountName: shop\n  hostNetwork: false\n  volumes:\n  - {name: tmp, emptyDir: {}}\n  - {name: config, configMap: {name: shop}}\n  containers:\n",
    );
    for i in 0..23 {
        text += &format!(
            "  - name: app-{i}\n    image: registry.example.com/team/service-{i}:1.{i}.0\n    imagePullPolicy: IfNotPresent\n    args: [--listen=0.0.0.0:{port}, --log-level=info, --config=/etc/shop/config.yaml]\n    ports: [{{name: http, containerPort: {port}, protocol: TCP}}, {{name: metrics, containerPort: {metrics}, protocol: TCP}}]\n    env: [{{name: LEVEL, value: info}}, {{name: SECRET, value: none}}, {{name: REGION, value: eu-central-1}}]\n    resources: {{requests: {{cpu: 100m, memory: 128Mi}}, limits: {{cpu: 500m, memory: 256Mi}}}}\n    securityContext: {{privileged: false, runAsNonRoot: true, allowPrivilegeEscalation: false, capabilities: {{drop: [ALL]}}}}\n    livenessProbe: {{httpGet: {{path: /healthz, port: {port}}}, periodSeconds: 10, timeoutSeconds: 2}}\n    volumeMounts: [{{name: tmp, mountPath: /tmp}}, {{name: config, mountPath: /etc/shop, readOnly: true}}]\n",
            port = 8000 + i,
            metrics = 9000 + i,
        );
    }
    text
}
