//! Policies and objects to begin with: those of this repository, the recorded ones when they are
//! there, and a policy for each way of saying something.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ephor_conformance::data;
use ephor_document::Duplicates;
use ephor_value::Value;

use crate::random::Random;

/// What runs begin with.
pub struct Corpus {
    /// Each with what belongs to it: bindings, parameters, exceptions.
    pub policies: Vec<Vec<Value>>,
    /// Objects of all kinds.
    pub objects: Vec<Value>,
    /// Where objects of a kind are.
    kinds: BTreeMap<String, Vec<usize>>,
    /// The texts of all policies.
    pub texts: Vec<String>,
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

/// Whether it does something without the other documents of its file.
fn stands_alone(v: &Value) -> bool {
    let kind = v.text_at(&["kind"]);
    !["Binding", "Exception", "WebhookConfiguration"].iter().any(|end| kind.ends_with(end))
}

/// Documents as they are written.
fn documents(text: &str) -> Vec<Value> {
    let found = ephor_document::parse_stream("f.yaml", text, Duplicates::LastWins).unwrap_or_default();
    found.into_iter().flatten().map(|d| d.value).collect()
}

/// Policies and objects in a document, also in texts in it.
fn collect(v: &Value, out: &mut Vec<Value>) {
    match v {
        Value::Map(m) if m.get("apiVersion").is_some() && m.get("kind").is_some() => out.push(v.clone()),
        Value::Map(m) => m.values().for_each(|v| collect(v, out)),
        Value::List(l) => l.iter().for_each(|v| collect(v, out)),
        Value::Str(s) if s.contains("apiVersion") && s.contains('\n') => {
            documents(s).iter().for_each(|v| collect(v, out));
        }
        _ => {}
    }
}

/// The policies of this test, each with what belongs to it.
pub fn own() -> Vec<Vec<Value>> {
    POLICIES.iter().map(|text| documents(text)).collect()
}

impl Corpus {
    pub fn read() -> Corpus {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut paths = Vec::new();
        let folder = data::folder().ok();
        let recorded = |name: &str| folder.as_ref().map(|dir| dir.join(name));
        files(&root.join("policies"), &mut paths);
        files(&root.join("conformance"), &mut paths);
        // Unpacked suites count below, where they lie next to the repository, too.
        paths.retain(|path| !path.starts_with(root.join("conformance/data")));
        for dir in ["verdicts", "engine", "admission"].into_iter().filter_map(recorded) {
            files(&dir, &mut paths);
        }
        let texts = paths.iter().map(|path| std::fs::read_to_string(path).unwrap_or_default());
        let texts = texts.filter(|text| text.len() < 1 << 20).map(|text| {
            let mut found = Vec::new();
            documents(&text).iter().for_each(|v| collect(v, &mut found));
            found
        });
        let verdicts = recorded("verdicts/kyverno-policies.jsonl");
        let recorded = verdicts.and_then(|file| ephor_conformance::lines(&file).ok()).unwrap_or_default();
        let recorded = recorded.iter().map(|line| documents(line.text_at(&["policy"])));
        let mut policies = Vec::new();
        let mut objects = vec![ephor_document::yaml_value(POD).unwrap()];
        for all in texts.chain(recorded) {
            let (own, others): (Vec<Value>, Vec<Value>) = all.into_iter().partition(is_policy);
            let (alone, dependent): (Vec<Value>, Vec<Value>) = own.into_iter().partition(stands_alone);
            policies.extend(alone.into_iter().map(|policy| {
                let name = policy.text_at(&["metadata", "name"]).to_owned();
                let belongs = dependent.iter().filter(|v| v.any_text(&|text| text == name)).cloned();
                std::iter::once(policy).chain(belongs).collect::<Vec<Value>>()
            }));
            objects.extend(others);
        }
        // Those that were written for this test count as much as all others.
        let own = own();
        for _ in 0..(policies.len() / own.len()).max(1) {
            policies.extend(own.iter().cloned());
        }
        objects.retain(|o| o.get("kind").is_some() && o.get("metadata").is_some());
        let mut kinds: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (i, object) in objects.iter().enumerate() {
            kinds.entry(object.text_at(&["kind"]).to_lowercase()).or_default().push(i);
        }
        let texts = texts_of(&policies);
        Corpus { policies, objects, kinds, texts }
    }

    /// An object, most often of a kind that a policy names.
    pub fn object(&self, policy: &[Value], random: &mut Random) -> &Value {
        let mut named = Vec::new();
        policy.iter().for_each(|v| texts(v, &mut named));
        let named = named.iter().map(|text| text.rsplit('/').next().unwrap_or_default().to_lowercase());
        let of_kind =
            |text: String| self.kinds.get(&text).or_else(|| self.kinds.get(text.strip_suffix('s')?));
        let fitting: Vec<&Vec<usize>> = named.filter_map(of_kind).collect();
        if fitting.is_empty() || random.below(8) == 0 {
            return random.of(&self.objects);
        }
        let kind = *random.of(&fitting);
        // A few recorded objects are of nearly all kinds; Pods are most.
        &self.objects[*random.of(kind)]
    }
}

fn texts_of(policies: &[Vec<Value>]) -> Vec<String> {
    let mut all = Vec::new();
    policies.iter().flatten().for_each(|v| texts(v, &mut all));
    all.sort();
    all.dedup();
    all
}

/// All texts in a value.
pub fn texts(v: &Value, out: &mut Vec<String>) {
    match v {
        Value::Str(s) => out.push(s.to_string()),
        Value::List(l) => l.iter().for_each(|v| texts(v, out)),
        Value::Map(m) => m.values().for_each(|v| texts(v, out)),
        _ => {}
    }
}

const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default, labels: {app: web}, annotations: {note: x, size: 1.5Gi, wait: 1h, version: 1.2.3}}, spec: {hostNetwork: false, containers: [{name: c, image: 'nginx:1', env: [{name: A, value: b}], resources: {limits: {cpu: 100m, memory: 1Gi}}, securityContext: {privileged: false}, ports: [{containerPort: 80}]}], volumes: [{name: v, emptyDir: {}}]}}";

/// A policy for each way of saying something, with what belongs to it.
const POLICIES: [&str; 24] = [
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: a}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, context: [{name: c, variable: {value: '{{ request.object.metadata.labels }}', jmesPath: 'app', default: x}}], preconditions: {all: [{key: '{{ c }}', operator: AnyIn, value: [web, '{{ request.object.metadata.annotations.note }}']}]}, validate: {message: 'm {{ c }}', foreach: [{list: 'request.object.spec.containers', deny: {conditions: {any: [{key: '{{ element.image }}', operator: Equals, value: '*:1'}]}}}]}}]}}",
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: b}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, mutate: {patchStrategicMerge: {spec: {containers: [{'(image)': '*:1', '+(imagePullPolicy)': Always, env: [{name: A, value: '{{ request.object.metadata.name }}'}]}]}}}}, {name: s, match: {any: [{resources: {kinds: [Pod]}}]}, mutate: {foreach: [{list: 'request.object.spec.containers[]', patchesJson6902: '[{op: add, path: /metadata/labels/x, value: \"{{ element.name }}\"}]'}]}}]}}",
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: c}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: m, anyPattern: [{spec: {'=(hostNetwork)': 'false', containers: [{image: '!*:latest & *:*', resources: {limits: {memory: '<=2Gi | 5Gi-6Gi'}}}]}}, {spec: {'X(hostPID)': 'null', '^(containers)': [{name: c}]}}]}}]}}",
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: d}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: m, podSecurity: {level: restricted, version: latest, exclude: [{controlName: Seccomp}]}}}, {name: e, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {cel: {expressions: [{expression: 'object.spec.containers.all(c, c.image.contains(\":\"))', messageExpression: '\"x\" + object.metadata.name'}]}}}]}}",
    "{apiVersion: policies.kyverno.io/v1, kind: ValidatingPolicy, metadata: {name: e}, spec: {matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}]}, variables: [{name: images, expression: 'object.spec.containers.map(c, c.image)'}], validations: [{expression: 'variables.images.all(i, i.matches(\"^[a-z]+:[0-9]+$\"))', message: m}, {expression: 'object.metadata.?labels.?app.orValue(\"\") != \"\"'}]}}",
    "{apiVersion: policies.kyverno.io/v1, kind: MutatingPolicy, metadata: {name: f}, spec: {matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}]}, mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: \"add\", path: \"/metadata/labels/x\", value: object.metadata.name}]'}}, {patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {\"a\": \"b\"}}}'}}]}}",
    // Loops in loops.
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: g}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: m, foreach: [{list: 'request.object.spec.containers', foreach: [{list: 'element.env || `[]`', context: [{name: v, variable: {jmesPath: 'element0.name'}}], deny: {conditions: {all: [{key: '{{ element.value }}-{{ element0.image }}-{{ elementIndex }}', operator: AnyIn, value: '{{ request.object.spec.containers[].env[].value }}'}]}}}]}]}}, {name: s, match: {any: [{resources: {kinds: [Pod]}}]}, mutate: {foreach: [{list: 'request.object.spec.containers', foreach: [{list: 'element.ports', order: Descending, patchesJson6902: '[{op: replace, path: \"/spec/containers/{{elementIndex0}}/ports/{{elementIndex}}/containerPort\", value: 81}]'}]}, {list: 'request.object.spec.volumes', patchStrategicMerge: {spec: {volumes: [{name: '{{ element.name }}', emptyDir: {sizeLimit: 1Gi}}]}}}]}}]}}",
    // Quantities, durations, versions, ranges.
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: h}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: m, deny: {conditions: {any: [{key: '{{ request.object.metadata.annotations.size }}', operator: GreaterThan, value: 2Gi}, {key: '{{ request.object.metadata.annotations.wait }}', operator: DurationLessThan, value: 1h30m}, {key: '{{ request.object.metadata.annotations.version }}', operator: GreaterThanOrEquals, value: 1.2.0-rc.1}, {key: '{{ semver_compare(request.object.metadata.annotations.version, ''>=1.0.0 <2.0.0 || 3.x'') }}', operator: Equals, value: true}, {key: '{{ time_before(time_add(''2026-01-02T15:04:05Z'', request.object.metadata.annotations.wait), ''2027-01-02T15:04:05Z'') }}', operator: NotEquals, value: true}, {key: 7, operator: AnyNotIn, value: 1-10}, {key: '{{ add(request.object.metadata.annotations.size, ''1Gi'') }}', operator: LessThan, value: '{{ multiply(`3`, ''500Mi'') }}'}]}}}}, {name: p, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: m, pattern: {metadata: {annotations: {size: '>1Gi & <5Gi', wait: '30s-2h', version: '!2.*', 'no*': '?*'}}, spec: {containers: [{'=(resources)': {limits: {cpu: '50m-1', memory: '512Mi!-1Gi | >=1e3'}}}]}}}}]}}",
    // What is generated.
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: i}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod], operations: [CREATE, UPDATE]}}]}, skipBackgroundRequests: false, generate: {apiVersion: v1, kind: ConfigMap, name: 'g-{{ request.object.metadata.name }}', namespace: '{{ request.namespace }}', synchronize: true, data: {data: {image: '{{ request.object.spec.containers[0].image }}', all: \"{{ request.object.metadata.labels | to_string(@) }}\"}}}}, {name: c, match: {any: [{resources: {kinds: [Pod]}}]}, generate: {synchronize: true, cloneList: {namespace: default, kinds: [v1/Secret, v1/ConfigMap], selector: {matchLabels: {a: b}}}, namespace: other}}]}}",
    "{apiVersion: policies.kyverno.io/v1, kind: GeneratingPolicy, metadata: {name: j}, spec: {matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}, variables: [{name: own, expression: 'object.metadata.namespace'}, {name: d, expression: '[{\"kind\": dyn(\"ConfigMap\"), \"apiVersion\": dyn(\"v1\"), \"metadata\": dyn({\"name\": object.metadata.name})}]'}], generate: [{expression: 'generator.Apply(variables.own, variables.d)'}]}}",
    "{apiVersion: policies.kyverno.io/v1, kind: DeletingPolicy, metadata: {name: k}, spec: {schedule: '*/5 * 1-15 JAN-MAR MON#2', matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [pods]}]}, variables: [{name: own, expression: 'object.metadata.name'}], conditions: [{name: c, expression: 'variables.own.startsWith(\"p\") && object.spec.containers.size() > 0'}]}}",
    "{apiVersion: kyverno.io/v2, kind: ClusterCleanupPolicy, metadata: {name: l}, spec: {schedule: '0 0 L * *', match: {any: [{resources: {kinds: [Pod], selector: {matchLabels: {app: web}}}}]}, conditions: {all: [{key: '{{ target.metadata.name }}', operator: Equals, value: 'p*'}, {key: '{{ target.spec.containers[].name | length(@) }}', operator: GreaterThan, value: 0}]}}}",
    // Policies of Kubernetes with bindings and parameters.
    "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: m}, spec: {failurePolicy: Fail, paramKind: {apiVersion: v1, kind: ConfigMap}, matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE, DELETE], resources: [pods]}]}, matchConditions: [{name: c, expression: 'request.operation != \"DELETE\" || oldObject != null'}], variables: [{name: max, expression: 'int(params.data.max)'}], validations: [{expression: 'object == null || object.spec.containers.size() <= variables.max', messageExpression: '\"at most \" + params.data.max', reason: Forbidden}], auditAnnotations: [{key: k, valueExpression: 'string(variables.max)'}]}}\n---\n{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: m}, spec: {policyName: m, validationActions: [Deny, Audit], paramRef: {name: limits, namespace: default, parameterNotFoundAction: Deny}, matchResources: {namespaceSelector: {matchLabels: {a: b}}, objectSelector: {matchExpressions: [{key: app, operator: Exists}]}}}}",
    "{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicy, metadata: {name: w}, spec: {failurePolicy: Fail, reinvocationPolicy: IfNeeded, paramKind: {apiVersion: v1, kind: ConfigMap}, matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}]}, variables: [{name: s, expression: 'object.spec.containers.filter(c, !has(c.ports))'}], mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, imagePullPolicy: params.data.pull})}}'}}, {patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: \"test\", path: \"/metadata/labels/app\", value: \"web\"}, JSONPatch{op: \"copy\", from: \"/metadata/labels/app\", path: \"/metadata/annotations/\" + jsonpatch.escapeKey(\"a/b\")}]'}}]}}\n---\n{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingAdmissionPolicyBinding, metadata: {name: w}, spec: {policyName: w, paramRef: {selector: {matchLabels: {a: b}}, parameterNotFoundAction: Allow}}}",
    // Exceptions.
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: o}, spec: {background: false, rules: [{name: r, match: {any: [{resources: {kinds: [Pod], namespaceSelector: {matchLabels: {a: b}}}, subjects: [{kind: User, name: alice}]}]}, exclude: {all: [{resources: {selector: {matchExpressions: [{key: app, operator: In, values: [x, z]}]}}}]}, validate: {message: m, failureAction: Enforce, failureActionOverrides: [{action: Audit, namespaces: ['d*']}], pattern: {spec: {hostNetwork: 'true', '=(initContainers)': [{'<(image)': '*:1', '^(env)': [{name: A}]}]}}}}]}}\n---\n{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {name: o, namespace: default}, spec: {exceptions: [{policyName: o, ruleNames: ['r*', 'autogen-*']}], match: {any: [{resources: {kinds: [Pod], names: ['p*']}}]}, conditions: {any: [{key: '{{ request.object.metadata.labels.app }}', operator: Equals, value: web}]}, podSecurity: [{controlName: Capabilities, images: ['*']}]}}",
    "{apiVersion: policies.kyverno.io/v1, kind: ValidatingPolicy, metadata: {name: q}, spec: {autogen: {podControllers: {controllers: [deployments, cronjobs]}}, matchConstraints: {resourceRules: [{apiGroups: ['', apps], apiVersions: ['*'], operations: ['*'], resources: ['*']}]}, matchConditions: [{name: m, expression: 'request.userInfo.username != \"system\"'}], variables: [{name: a, expression: 'resource.Get(\"v1\", \"configmaps\", \"default\", \"limits\")'}, {name: b, expression: 'object.metadata.annotations.map(k, k + object.metadata.annotations[k])'}], validations: [{expression: 'quantity(object.metadata.annotations.size).compareTo(quantity(\"2Gi\")) < 0 && duration(object.metadata.annotations.wait) < duration(\"2h\") && semver(object.metadata.annotations.version).isLessThan(semver(\"2.0.0\"))', messageExpression: 'variables.b.join(\",\")'}], auditAnnotations: [{key: k, valueExpression: 'string(variables.a.data.max)'}]}}\n---\n{apiVersion: policies.kyverno.io/v1, kind: PolicyException, metadata: {name: q, namespace: default}, spec: {policyRefs: [{name: q, kind: ValidatingPolicy}], matchConditions: [{name: c, expression: 'object.metadata.name == \"p\"'}], reportResult: skip}}",
    // Functions of JMESPath.
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: s}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, context: [{name: a, variable: {jmesPath: \"request.object.spec.containers[].{n: name, i: image, e: env[?name == 'A'].value | [0]}\"}}, {name: b, variable: {jmesPath: \"lookup(items(request.object.metadata.labels, 'k', 'v')[0], 'k')\"}}, {name: d, configMap: {name: limits, namespace: default}}], validate: {message: \"{{ join(',', a[].n) }} {{ b }} {{ d.data.max }}\", deny: {conditions: {any: [{key: \"{{ regex_replace_all('([a-z]+):(.*)', a[0].i, '$2-$1') }}\", operator: Equals, value: '1-nginx'}, {key: \"{{ sum(a[].length(n)) }}\", operator: GreaterThan, value: 100}, {key: \"{{ parse_yaml('a: [1, 2]').a | sort_by(@, &@) | reverse(@) | to_string(@) }}\", operator: Equals, value: x}, {key: \"{{ base64_decode(base64_encode(a[0].n)) }}\", operator: Equals, value: y}, {key: \"{{ request.object.spec.containers[*].image | group_by(request.object.spec.containers, &name) | keys(@) | @[?starts_with(@, 'c')] }}\", operator: AnyIn, value: [d]}, {key: \"{{ truncate(a[0].i, `3`) | pattern_match('n*', @) }}\", operator: Equals, value: false}, {key: \"{{ path_canonicalize('/a/../b') }}{{ label_match({app: 'web'}, request.object.metadata.labels) }}\", operator: NotEquals, value: /btrue}]}}}}]}}",
    // Functions of CEL.
    "{apiVersion: policies.kyverno.io/v1, kind: ValidatingPolicy, metadata: {name: t}, spec: {matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [pods]}]}, validations: [{expression: 'object.spec.containers.map(c, c.name).sort().join(\",\").split(\",\").all(n, n.size() < 10) && object.spec.containers.exists_one(c, c.name == \"c\")'}, {expression: 'object.metadata.labels.map(k, k + object.metadata.labels[k]).distinct().size() == [1, 2].slice(0, 1).size()'}, {expression: '\"%s %d %.2f\".format([object.metadata.name, 3, 1.5]) == \"\" || math.greatest(1, 2, 3) == 3 || cel.bind(x, object.spec, has(x.volumes))'}, {expression: 'ip(\"10.0.0.1\").isLoopback() || cidr(\"10.0.0.0/8\").containsIP(\"10.1.1.1\") && url(\"https://a/b\").getHost() == \"a\"'}, {expression: 'image(object.spec.containers[0].image).registry() == \"docker.io\" && hash.sha256(object.metadata.name) != \"\" && json.unmarshal(\"{}\").size() == 0'}]}}",
    // Changes to objects that exist, and images.
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: u, annotations: {pod-policies.kyverno.io/autogen-controllers: none}}, spec: {mutateExistingOnPolicyUpdate: false, rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, mutate: {targets: [{apiVersion: v1, kind: ConfigMap, name: limits, namespace: '{{ request.namespace }}'}], patchStrategicMerge: {data: {'+(last)': '{{ request.object.metadata.name }}', max: '{{ target.data.max }}1'}}}}, {name: i, match: {any: [{resources: {kinds: [Pod]}}]}, verifyImages: [{imageReferences: ['nginx*'], required: false, mutateDigest: false, verifyDigest: false, attestors: [{entries: [{keys: {publicKeys: x}}]}]}]}]}}",
    "{apiVersion: policies.kyverno.io/v1, kind: ImageValidatingPolicy, metadata: {name: v}, spec: {failurePolicy: Fail, matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}, matchImageReferences: [{glob: 'nginx*'}, {expression: 'image.startsWith(\"x\")'}], validationConfigurations: {mutateDigest: false, verifyDigest: false, required: false}, attestors: [{name: a, cosign: {key: {data: x}}}], images: [{name: i, expression: 'object.spec.containers.map(c, c.image)'}], validations: [{expression: 'images.i.map(image, verifyImageSignatures(image, [attestors.a])).all(e, e > 0)', message: m}]}}",
    // Data as patterns, patches, expressions and conditions.
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: da}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: '{{ request.object.metadata.annotations }}', pattern: {metadata: {labels: '{{ request.object.metadata.labels }}'}, spec: '{{ request.object.spec }}'}}}, {name: s, match: {any: [{resources: {kinds: [Pod]}}]}, validate: {message: m, anyPattern: [{spec: {volumes: '{{ request.object.spec.volumes }}'}}, {'(spec)': {'^(containers)': ['{{ request.object.spec.containers[0] }}']}}]}}]}}",
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: db}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, mutate: {patchStrategicMerge: {metadata: '{{ request.object.metadata }}', spec: {volumes: '{{ request.object.spec.volumes }}', '+(extra)': '{{ request.object.spec.containers }}'}}}}, {name: s, match: {any: [{resources: {kinds: [Pod]}}]}, mutate: {foreach: [{list: 'request.object.spec.containers', patchesJson6902: '[{op: add, path: /spec/x, value: {{ element }}}, {op: copy, from: /spec, path: /metadata/annotations/{{ element.name }}}]'}]}}]}}",
    "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: dc}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}, context: [{name: p, variable: {jmesPath: \"regex_match(request.object.metadata.annotations.note, request.object.metadata.name)\", default: false}}, {name: w, variable: {value: '{{ request.object.metadata.annotations }}', jmesPath: 'values(@) | join(''{{ request.object.metadata.name }}'', @)', default: x}}], validate: {message: '{{ p }} {{ w }} {{ request.object.metadata.annotations.note }}', deny: {conditions: {any: [{key: '{{ request.object.spec.containers[].image }}', operator: AnyNotIn, value: '{{ request.object.metadata.labels.* }}'}, {key: '{{ request.object.metadata.annotations.size }}', operator: GreaterThan, value: '{{ request.object.metadata.annotations.wait }}'}, {key: '{{ parse_yaml(request.object.metadata.annotations.note) }}', operator: Equals, value: '{{ parse_json(request.object.metadata.annotations.version) }}'}, {key: '{{ replace_all(request.object.metadata.name, request.object.metadata.labels.app, request.object.metadata.annotations.note) }}', operator: Equals, value: '{{ request.object.spec }}'}]}}}}]}}",
    "{apiVersion: policies.kyverno.io/v1, kind: ValidatingPolicy, metadata: {name: dd}, spec: {matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [pods]}]}, variables: [{name: a, expression: 'object.metadata.annotations'}], validations: [{expression: 'object.metadata.name.matches(variables.a.note)', messageExpression: 'string(variables.a.note)'}, {expression: 'quantity(variables.a.size).isGreaterThan(quantity(variables.a.wait)) || semver(variables.a.version).major() > 1'}, {expression: 'variables.a.note.replace(object.metadata.labels.app, object.metadata.name).split(variables.a.size).join(variables.a.wait).size() < 100'}, {expression: 'object.spec.containers.all(c, object.spec.containers.all(d, object.spec.containers.exists(e, e.name == c.name || e.image == d.image)))'}, {expression: 'variables.a.note.format([object.spec, object.metadata]) != \"\" && url(variables.a.note).getHost() != string(ip(variables.a.wait).family())'}]}}",
];
