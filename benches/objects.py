"""Objects for the benches: `objects.py COUNT pods|mixed|security > FILE`.

In: how many, and of which kinds. Out: a stream of YAML documents on standard output, the same for the same arguments. Pods
have about 350 bytes; names, namespaces, images, labels and the number of containers vary, and some violate common policies.
`mixed` has Deployments, StatefulSets, Services, ConfigMaps and Ingresses besides. `security` has Pods, Deployments and CronJobs
of about 950 bytes with all fields that the Pod Security Standards read, at both sides of every control.
"""
import random, sys

TEAMS = ["shop", "billing", "search", "mail", "data", "web", "auth", "media", "ops", "lab"]
REGISTRIES = ["registry.acme.io", "ghcr.io", "docker.io", "quay.io"]


def container(r, name, team, pad):
    tag = r.choice(["1.4.2", "2.0.1", "3.11", "latest", "2024-05-01"])
    lines = [f"- name: {name}", f"  image: {r.choice(REGISTRIES)}/{team}/{name}-{r.randrange(1000)}:{tag}"]
    if r.random() < 0.6:
        lines += ["  resources:", f"    requests: {{cpu: {r.randrange(1, 9)}00m, memory: {r.randrange(1, 9)}4Mi}}"]
        if r.random() < 0.7:
            lines += [f"    limits: {{memory: {r.randrange(1, 9)}28Mi}}"]
    if r.random() < 0.5:
        lines += ["  securityContext:", "    readOnlyRootFilesystem: true", "    runAsNonRoot: true"]
        if r.random() < 0.1:
            lines += ["    privileged: true"]
    if r.random() < 0.3:
        lines += [f"  livenessProbe: {{httpGet: {{path: /healthz, port: {8000 + r.randrange(100)}}}}}"]
    return [pad + line for line in lines]


def metadata(r, i, team, kind):
    lines = ["metadata:", f"  name: {team}-{kind}-{i}"]
    if r.random() < 0.9:
        lines += [f"  namespace: {team}-{r.choice(['prod', 'test', 'dev'])}"]
    if r.random() < 0.8:
        lines += ["  labels:", f"    app.kubernetes.io/name: {team}-{i % 97}", f"    tier: {r.choice(['front', 'back'])}"]
    return lines


def pod_spec(r, team, pad):
    lines = ["containers:"]
    for k in range(r.choice([1, 1, 1, 2, 3])):
        lines += container(r, f"{r.choice(['app', 'proxy', 'agent'])}{k}", team, "")
    if r.random() < 0.2:
        lines += ["hostNetwork: true"]
    return [pad + line for line in lines]


def one(r, i, kind):
    team = r.choice(TEAMS)
    if kind == "Pod":
        return ["apiVersion: v1", "kind: Pod", *metadata(r, i, team, "pod"), "spec:", *pod_spec(r, team, "  ")]
    if kind in ("Deployment", "StatefulSet"):
        return ["apiVersion: apps/v1", f"kind: {kind}", *metadata(r, i, team, "app"), "spec:", f"  replicas: {r.randrange(1, 5)}",
                f"  selector: {{matchLabels: {{app: {team}}}}}", "  template:", f"    metadata: {{labels: {{app: {team}}}}}",
                "    spec:", *pod_spec(r, team, "      ")]
    if kind == "Service":
        return ["apiVersion: v1", "kind: Service", *metadata(r, i, team, "service"), "spec:",
                f"  type: {r.choice(['ClusterIP', 'ClusterIP', 'NodePort', 'LoadBalancer'])}",
                f"  selector: {{app: {team}}}", f"  ports: [{{port: {r.randrange(1, 9000)}, targetPort: 8080}}]"]
    if kind == "ConfigMap":
        return ["apiVersion: v1", "kind: ConfigMap", *metadata(r, i, team, "config"), "data:",
                *[f"  key-{k}: value {r.randrange(1000)} of {team}" for k in range(r.randrange(1, 12))]]
    return ["apiVersion: networking.k8s.io/v1", "kind: Ingress", *metadata(r, i, team, "ingress"), "spec:", "  rules:",
            f"  - host: '{r.choice(['*.', ''])}{team}.example.com'", "    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}"]


# Values at which the controls of the Pod Security Standards pass, and at which they fail: how often they fail, then both lists.
CAPABILITIES = (0.1, [["NET_BIND_SERVICE"], ["CHOWN", "KILL"], []], [["SYS_ADMIN"], ["NET_BIND_SERVICE", "NET_RAW"]])
PROFILES = (0.1, ["RuntimeDefault", "Localhost"], ["Unconfined"])
SELINUX = (0.2, ["{type: container_t}", "{type: container_kvm_t, level: 's0:c1'}"], ["{type: spc_t}", "{user: system_u}", "{role: sysadm_r}"])
SYSCTLS = (0.2, ["net.ipv4.tcp_syncookies", "kernel.shm_rmid_forced"], ["kernel.msgmax", "net.core.somaxconn"])
VOLUMES = (0.15, ["emptyDir: {}", "configMap: {name: settings}", "secret: {secretName: keys}", "persistentVolumeClaim: {claimName: data}"],
           ["hostPath: {path: /var/run}", "nfs: {server: files, path: /a}", "iscsi: {targetPortal: '10.0.0.1:3260', iqn: 'iqn.2001-04.com.example:a', lun: 0}"])
APPARMOR = (0.2, ["runtime/default", "localhost/own"], ["unconfined"])


def value(r, choices):
    rate, good, bad = choices
    return r.choice(bad if r.random() < rate else good)


def boolean(r, bad, rate=0.1):
    return str(bad if r.random() < rate else not bad).lower()


def profile(r):
    kind = value(r, PROFILES)
    return f"{{type: {kind}{', localhostProfile: own' if kind == 'Localhost' else ''}}}"


def security_context(r, of_pod):
    """Lines of a security context; `of_pod` leaves out what only a container has."""
    lines = []
    if r.random() < 0.5: lines += [f"runAsNonRoot: {boolean(r, False)}"]
    if r.random() < 0.3: lines += [f"runAsUser: {0 if r.random() < 0.2 else 1000 + r.randrange(100)}"]
    if r.random() < 0.5: lines += [f"seccompProfile: {profile(r)}"]
    if r.random() < 0.1: lines += [f"appArmorProfile: {profile(r)}"]
    if r.random() < 0.2: lines += [f"seLinuxOptions: {value(r, SELINUX)}"]
    if r.random() < 0.05: lines += [f"windowsOptions: {{hostProcess: {boolean(r, True, 0.5)}}}"]
    if of_pod:
        if r.random() < 0.2: lines += ["sysctls:", *[f"- {{name: {value(r, SYSCTLS)}, value: '1'}}" for _ in range(r.randrange(1, 3))]]
        return lines
    if r.random() < 0.7: lines += [f"allowPrivilegeEscalation: {boolean(r, True)}"]
    if r.random() < 0.2: lines += [f"privileged: {boolean(r, True, 0.3)}"]
    if r.random() < 0.1: lines += [f"procMount: {r.choice(['Default', 'Default', 'Unmasked'])}"]
    if r.random() < 0.7:
        lines += ["capabilities:", f"  drop: [{r.choice(['ALL', 'ALL', 'ALL', 'ALL, KILL', 'KILL'])}]"]
        if r.random() < 0.3: lines += [f"  add: [{', '.join(value(r, CAPABILITIES))}]"]
    return lines


def secured_container(r, name, kind):
    lines = [f"- name: {name}", f"  image: {r.choice(REGISTRIES)}/{name}:{r.randrange(1, 9)}.{r.randrange(20)}"]
    context = security_context(r, False)
    if context: lines += ["  securityContext:", *["    " + line for line in context]]
    if kind == "ephemeral": return lines
    if r.random() < 0.5:
        port = f"hostPort: {r.choice([0, 8443])}, " if r.random() < 0.2 else ""
        lines += [f"  ports: [{{{port}containerPort: {8000 + r.randrange(100)}}}]"]
    lines += ["  resources: {requests: {cpu: 100m, memory: 128Mi}}"]
    if kind == "init": return lines
    host = ["", ", host: ''", ", host: 10.0.0.1"]
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if r.random() < 0.3: lines += [f"  {probe}: {{httpGet: {{path: /healthz, port: 8080{r.choice(host[:2]) if r.random() < 0.9 else host[2]}}}}}"]
    if r.random() < 0.1:
        lines += [f"  lifecycle: {{{r.choice(['postStart', 'preStop'])}: {{tcpSocket: {{port: 8080{r.choice(host)}}}}}}}"]
    return lines


def secured_template(r, labels):
    """Lines of a Pod's metadata behind its name, and of its spec."""
    meta = [f"labels: {labels}"]
    if r.random() < 0.05: meta += ["annotations:", f"  container.apparmor.security.beta.kubernetes.io/app0: {value(r, APPARMOR)}"]
    spec = [f"{name}: {boolean(r, True, 0.5)}" for name in ("hostNetwork", "hostPID", "hostIPC") if r.random() < 0.1]
    context = security_context(r, True)
    if context: spec += ["securityContext:", *["  " + line for line in context]]
    if r.random() < 0.5:
        spec += ["volumes:", *[line for k in range(r.randrange(1, 3)) for line in (f"- name: volume{k}", f"  {value(r, VOLUMES)}")]]
    if r.random() < 0.2: spec += ["initContainers:", *secured_container(r, "init", "init")]
    if r.random() < 0.03: spec += ["ephemeralContainers:", *secured_container(r, "debug", "ephemeral")]
    spec += ["containers:", *[line for k in range(r.choice([1, 1, 1, 2, 3])) for line in secured_container(r, f"app{k}", "app")]]
    return meta, spec


def secured(r, i):
    kind, team = r.choice(["Pod"] * 6 + ["Deployment"] * 3 + ["CronJob"]), r.choice(TEAMS)
    group = {"Pod": "v1", "Deployment": "apps/v1", "CronJob": "batch/v1"}[kind]
    head = [f"apiVersion: {group}", f"kind: {kind}", "metadata:", f"  name: {team}-{i}", f"  namespace: {team}-{r.choice(['prod', 'test', 'dev'])}"]
    meta, spec = secured_template(r, f"{{app: {team}}}")
    indent = lambda lines, by: [" " * by + line for line in lines]
    if kind == "Pod": return [*head, *indent(meta, 2), "spec:", *indent(spec, 2)]
    template = ["template:", "  metadata:", *indent(meta, 4), "  spec:", *indent(spec, 4)]
    if kind == "Deployment":
        return [*head, "spec:", f"  replicas: {r.randrange(1, 5)}", f"  selector: {{matchLabels: {{app: {team}}}}}", *indent(template, 2)]
    template.insert(3 + len(meta), "    restartPolicy: OnFailure")
    return [*head, "spec:", "  schedule: '5 4 * * *'", "  jobTemplate:", "    spec:", *indent(template, 6)]


def main():
    count, kinds = int(sys.argv[1]), sys.argv[2]
    if kinds == "security":
        r = random.Random(7)
        for i in range(count):
            sys.stdout.write("\n".join(secured(r, i)) + "\n---\n")
        return
    all_kinds = {"pods": ["Pod"], "mixed": ["Pod", "Deployment", "StatefulSet", "Service", "ConfigMap", "Ingress"]}[kinds]
    r = random.Random(7)
    for i in range(count):
        sys.stdout.write("\n".join(one(r, i, r.choice(all_kinds))) + "\n---\n")


main()
