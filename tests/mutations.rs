//! Policies and objects with random changes: loading and answering never panics and never takes long.
//!
//! The policies are those of this repository and, when they are there, the recorded ones; the objects are recorded ones or
//! made up. A change keeps most of the structure: a part is removed, doubled, exchanged for a part of
//! another document or for something that parts are rarely made of, or a key gets an anchor.
//!
//! `EPHOR_MUTATIONS=50000 EPHOR_SEED=7 cargo test --test mutations` for a long run; a failure tells the seed of its run.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ephor::admit::data::Data;
use ephor::admit::gate::{Deadline, Gate};
use ephor::admit::incoming::{Incoming, decode};
use ephor::admit::route::{Phase, Route};
use ephor::document::{self, ResourceOptions};
use ephor::load::{Reader, argument_for};
use ephor::sources::files::SourceText;
use ephor::value::print::json;
use ephor::value::{Map, Str, Value};

/// No run takes longer. Tests are not optimised, and run side by side.
const LONGEST: Duration = Duration::from_secs(5);

/// Runs without being asked for more.
const FEW: u64 = 150;

/// Requests for each changed policy.
const REQUESTS: usize = 4;

/// Numbers by xorshift*.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % n.max(1)
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

fn files(dir: &Path, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(dir).into_iter().flatten().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        match path.is_dir() {
            true => files(&path, out),
            false => out.extend(path.extension().is_some_and(|e| e == "yaml").then_some(path)),
        }
    }
}

fn is_policy(v: &Value) -> bool {
    let group = v.text_at(&["apiVersion"]);
    let group = group.split('/').next().unwrap_or_default();
    matches!(group, "kyverno.io" | "policies.kyverno.io" | "admissionregistration.k8s.io")
}

/// Policies and objects to begin with.
fn corpus() -> (Vec<Value>, Vec<Value>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    for dir in [
        "policies",
        "conformance",
        "../shared/conformance/verdicts",
        "../shared/conformance/engine",
        "../shared/conformance/admission",
    ] {
        files(&root.join(dir), &mut paths);
    }
    let mut all: Vec<Value> = Vec::new();
    let read = |text: &str| -> Vec<Value> {
        let found = document::resources("f.yaml", text, ResourceOptions::default()).unwrap_or_default();
        found.into_iter().map(|d| d.value).collect()
    };
    for path in paths {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        if text.len() < 4 << 20 {
            all.extend(read(&text));
        }
    }
    let recorded = root.join("../shared/conformance/verdicts/kyverno-policies.jsonl");
    for line in ephor::conformance::lines(&recorded).unwrap_or_default() {
        all.extend(read(line.text_at(&["policy"])));
    }
    for text in POLICIES {
        all.extend(read(text));
    }
    let (policies, mut objects): (Vec<Value>, Vec<Value>) = all.into_iter().partition(is_policy);
    objects.retain(|o| o.get("kind").is_some() && o.get("metadata").is_some());
    objects.push(document::yaml_value(POD).unwrap());
    (policies, objects)
}

const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default, labels: {app: web}, annotations: {note: x}}, spec: {hostNetwork: false, containers: [{name: c, image: 'nginx:1', env: [{name: A, value: b}], resources: {limits: {cpu: 100m, memory: 1Gi}}, securityContext: {privileged: false}}], volumes: [{name: v, emptyDir: {}}]}}";

/// A policy for each way of saying something.
const POLICIES: [&str; 6] = [
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: a}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, context: [{name: c, variable: {value: '{{ request.object.metadata.labels }}', jmesPath: 'app', default: x}}], preconditions: {all: [{key: '{{ c }}', operator: AnyIn, value: [web, '{{ request.object.metadata.annotations.note }}']}]}, validate: {message: 'm {{ c }}', foreach: [{list: 'request.object.spec.containers', deny: {conditions: {any: [{key: '{{ element.image }}', operator: Equals, value: '*:1'}]}}}]}}]}}",
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: b}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, mutate: {patchStrategicMerge: {spec: {containers: [{'(image)': '*:1', '+(imagePullPolicy)': Always, env: [{name: A, value: '{{ request.object.metadata.name }}'}]}]}}}}, {name: s, match: {any: [{resources: {kinds: [Pod]}}]}, mutate: {foreach: [{list: 'request.object.spec.containers[]', patchesJson6902: '[{op: add, path: /metadata/labels/x, value: \"{{ element.name }}\"}]'}]}}]}}",
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: c}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: m, anyPattern: [{spec: {'=(hostNetwork)': 'false', containers: [{image: '!*:latest & *:*', resources: {limits: {memory: '<=2Gi | 5Gi-6Gi'}}}]}}, {spec: {'X(hostPID)': 'null', '^(containers)': [{name: c}]}}]}}]}}",
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: d}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: m, podSecurity: {level: restricted, version: latest, exclude: [{controlName: Seccomp}]}}}, {name: e, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {cel: {expressions: [{expression: 'object.spec.containers.all(c, c.image.contains(\":\"))', messageExpression: '\"x\" + object.metadata.name'}]}}}]}}",
    "{apiVersion: policies.kyverno.io/v1, kind: ValidatingPolicy, metadata: {name: e}, spec: {matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}, variables: [{name: images, expression: 'object.spec.containers.map(c, c.image)'}], validations: [{expression: 'variables.images.all(i, i.matches(\"^[a-z]+:[0-9]+$\"))', message: m}, {expression: 'object.metadata.?labels.?app.orValue(\"\") != \"\"'}]}}",
    "{apiVersion: policies.kyverno.io/v1, kind: MutatingPolicy, metadata: {name: f}, spec: {matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}, mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: \"add\", path: \"/metadata/labels/x\", value: object.metadata.name}]'}}, {patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {\"a\": \"b\"}}}'}}]}}",
];

/// What parts are rarely made of.
fn odd(random: &mut Random) -> Value {
    const TEXTS: [&str; 44] = [
        "",
        " ",
        "*",
        "?*",
        "!*",
        "a*b*c*d*e*f*g",
        "null",
        "true",
        "-0",
        "1e400",
        "99999999999999999999",
        "1Gi-",
        "-1h",
        "0x1p-2",
        "$(./../name)",
        "{{}}",
        "{{ }}",
        "{{ @ }}",
        "{{@}}",
        "{{ request.object }}",
        "{{request.object.metadata.annotations}}{{request.object.metadata.annotations}}",
        "{{ {{ request.object.metadata.name }} }}",
        "\\{{ a }}",
        "{{- request.object.metadata.name }}",
        "{{ element }}",
        "{{ elementIndex }}",
        "{{ request.object.spec.containers[*].name | sort(@)[0] }}",
        "{{ to_number('x') }}",
        "{{ random('[a-z]{3}') }}",
        "{{ items(request.object, 'k', 'v') }}",
        "{{ parse_yaml('a: &a [*a]') }}",
        "{{ time_add('x', 'y') }}",
        "{{ divide(`1`, `0`) }}",
        "{{ request.object.spec.containers[?name == 'c'].image }}",
        "object.spec.containers.map(c, c.name)",
        "object.metadata.name.matches('(')",
        "variables.images",
        "[1, 2].map(x, x / 0)",
        "\u{0}",
        "\u{feff}a",
        "é\u{301}",
        "a.b/c~0~1",
        "../../../etc/passwd",
        "2020-13-45T99:99:99Z",
    ];
    match random.below(14) {
        0 => Value::Null,
        1 => Value::Bool(random.below(2) == 0),
        2 => Value::Int([0, -1, 1, i64::MAX, i64::MIN, 1 << 53][random.below(6)]),
        3 => Value::Float([0.0, -0.5, 1e300, 1e-300, 1.0][random.below(5)]),
        4 => Value::list(Vec::new()),
        5 => Value::Map(Map::new()),
        6 => Value::from("a".repeat(1 << random.below(14))),
        7 => (0..random.below(80)).fold(Value::from("x"), |v, i| match i % 2 {
            0 => Value::list(vec![v]),
            _ => Value::Map([("a".into(), v)].into_iter().collect()),
        }),
        8 => Value::list((0..random.below(300)).map(|i| Value::Int(i as i64)).collect()),
        _ => Value::from(*random.of(&TEXTS)),
    }
}

/// All parts of a value, up to some number.
fn parts<'v>(v: &'v Value, out: &mut Vec<&'v Value>) {
    out.push(v);
    match v {
        Value::List(l) => l.iter().for_each(|v| parts(v, out)),
        Value::Map(m) => m.values().for_each(|v| parts(v, out)),
        _ => {}
    }
}

/// The value with its n-th part changed.
fn with_change(v: &Value, n: &mut usize, change: &mut dyn FnMut(&Value) -> Option<Value>) -> Option<Value> {
    if *n == 0 {
        *n = usize::MAX;
        return change(v);
    }
    *n -= usize::from(*n != usize::MAX);
    match v {
        Value::List(l) => Some(Value::list(l.iter().filter_map(|v| with_change(v, n, change)).collect())),
        Value::Map(m) => {
            let entries = m.iter().filter_map(|(k, v)| Some((k.clone(), with_change(v, n, change)?)));
            Some(Value::Map(entries.collect()))
        }
        other => Some(other.clone()),
    }
}

fn count(v: &Value) -> usize {
    let mut all = Vec::new();
    parts(v, &mut all);
    all.len()
}

/// A value with one part changed.
fn mutate(v: &Value, others: &[Value], random: &mut Random) -> Value {
    let mut at = random.below(count(v));
    let kind = random.below(10);
    let donor = random.of(others);
    let mut pool = Vec::new();
    parts(donor, &mut pool);
    let part = (*random.of(&pool)).clone();
    let strange = odd(random);
    let anchor = *random.of(&["(", "=(", "X(", "^(", "<(", "+("]);
    let chosen = random.below(1 << 20);
    let mut change = |old: &Value| match (kind, old) {
        (0, _) => None,
        (1 | 2, _) => Some(part.clone()),
        (3, Value::List(l)) => Some(Value::list(l.iter().chain(l.iter()).cloned().collect())),
        (4, Value::Map(m)) if !m.is_empty() => {
            let renamed = |(i, (k, v)): (usize, (&Str, &Value))| match i == chosen % m.len() {
                true => (Str::from(format!("{anchor}{k})")), v.clone()),
                false => (k.clone(), v.clone()),
            };
            Some(Value::Map(m.iter().enumerate().map(renamed).collect()))
        }
        (5, Value::Str(s)) if !s.is_empty() => {
            let cut = s.char_indices().nth(chosen % s.chars().count()).map_or(0, |(i, _)| i);
            let (head, tail) = s.split_at(cut);
            Some(Value::from(match chosen % 3 {
                0 => head.to_string(),
                1 => format!("{head}{tail}{tail}"),
                _ => format!("{head}{}{tail}", strange.as_str().unwrap_or("'")),
            }))
        }
        (6, old) => Some(Value::list(vec![old.clone(), part.clone()])),
        _ => Some(strange.clone()),
    };
    with_change(v, &mut at, &mut change).unwrap_or_default()
}

fn review(object: &Value, old: &Value, operation: &str) -> Option<Incoming> {
    let api_version = object.text_at(&["apiVersion"]);
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = object.text_at(&["kind"]);
    let text = |s: &str| json(&Value::from(s));
    let body = format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u","kind":{{"group":{},"version":{},"kind":{}}},"resource":{{"group":{},"version":{},"resource":{}}},"operation":"{operation}","namespace":"default","name":{},"userInfo":{{"username":"alice","groups":["system:authenticated"]}},"object":{},"oldObject":{}}}}}"#,
        text(group),
        text(version),
        text(kind),
        text(group),
        text(version),
        text(&format!("{}s", kind.to_lowercase())),
        text(object.text_at(&["metadata", "name"])),
        json(object),
        json(old),
    );
    decode("application/json", body.as_bytes()).ok()
}

/// Loads a changed policy and asks it about changed objects; how many results there were.
fn run(policies: &[Value], objects: &[Value], random: &mut Random) -> usize {
    let mut policy = random.of(policies).clone();
    for _ in 0..1 + random.below(3) {
        policy = mutate(&policy, policies, random);
    }
    let source = SourceText { name: "p.yaml".into(), text: json(&policy) };
    let mut loaded = argument_for(&[source], Reader::Server);
    loaded.bind(Vec::new());
    let namespace =
        document::yaml_value("{apiVersion: v1, kind: Namespace, metadata: {name: default, labels: {a: b}}}");
    let data = Data::new(vec![namespace.unwrap()]);
    let gate = Gate::new(loaded, Arc::new(data), &[]).with_recall(1 << 20);
    let mut results = 0;
    for _ in 0..REQUESTS {
        let original = random.of(objects).clone();
        let mut object = original.clone();
        for _ in 0..random.below(3) {
            let changed = mutate(&object, objects, random);
            if changed.as_map().is_some() {
                object = changed;
            }
        }
        let operation = *random.of(&["CREATE", "UPDATE", "DELETE"]);
        let (new, old) = match operation {
            "CREATE" => (object, Value::Null),
            "UPDATE" => (object, original),
            _ => (Value::Null, object),
        };
        let Some(review) = review(&new, &old, operation) else { continue };
        for phase in [Phase::Validate, Phase::Mutate] {
            let deadline = Deadline::at(Instant::now() + Duration::from_secs(2));
            let decision = gate.answer(&Route::all(phase), &review, &deadline);
            results += decision.outcomes.results().count();
        }
    }
    results
}

#[test]
fn changed_policies_and_objects_neither_panic_nor_take_long() {
    let number =
        |name: &str, default: u64| std::env::var(name).map_or(default, |v| v.parse().expect("a number"));
    let (runs, seed) = (number("EPHOR_MUTATIONS", FEW), number("EPHOR_SEED", 1));
    let (policies, objects) = corpus();
    let (mut results, mut failures) = (0, Vec::new());
    for n in number("EPHOR_FIRST", 0)..runs {
        let own = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(n.wrapping_mul(2) + 1) | 1;
        let start = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| run(&policies, &objects, &mut Random(own))));
        let took = start.elapsed();
        let failure = match result {
            Ok(count) if took < LONGEST => {
                results += count;
                continue;
            }
            Ok(_) => format!("run {n} of seed {seed} took {took:?}"),
            Err(_) => format!("run {n} of seed {seed} panicked"),
        };
        // A long run shows what it finds at once.
        eprintln!("{failure}");
        failures.push(failure);
    }
    println!("{runs} of {} policies on {} objects: {results} results", policies.len(), objects.len());
    assert!(failures.is_empty(), "{failures:#?}");
}
