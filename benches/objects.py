"""Objects for the benches: `objects.py COUNT pods|mixed > FILE`.

In: how many, and of which kinds. Out: a stream of YAML documents on standard output, the same for the same arguments. Pods
have about 350 bytes; names, namespaces, images, labels and the number of containers vary, and some violate common policies.
`mixed` has Deployments, StatefulSets, Services, ConfigMaps and Ingresses besides.
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


def main():
    count, kinds = int(sys.argv[1]), sys.argv[2]
    all_kinds = {"pods": ["Pod"], "mixed": ["Pod", "Deployment", "StatefulSet", "Service", "ConfigMap", "Ingress"]}[kinds]
    r = random.Random(7)
    for i in range(count):
        sys.stdout.write("\n".join(one(r, i, r.choice(all_kinds))) + "\n---\n")


main()
