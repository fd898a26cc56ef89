#!/usr/bin/env python3
"""How time and memory of `ephor apply` grow: `benches/growth.py [policies|objects|threads|bindings]…` (all of them by default).

In: EPHOR_BIN (a `dist` build by default). Out: a line for each run, and all of them as JSON in `benches/results/growth.json`,
from which `benches/draw.py` draws. ROUNDS (3) is how often each command runs; the fastest counts, and the most memory.
LARGEST (1000000) limits the number of objects.

The series: 10 to 10,000 ClusterPolicies about Pods that pass, and of other kinds, with 1,000 Pods; 1,000 to 1,000,000 Pods with
`policies/best-practices`; 100,000 Pods on one thread up to as many as there are cores; a ValidatingAdmissionPolicy with 10 to
10,000 bindings, of which 10 match, with 1,000 Pods.
"""
import json, os, pathlib, subprocess, sys, tempfile
import machine

HERE = pathlib.Path(__file__).resolve().parent
EPHOR = os.environ.get("EPHOR_BIN") or str(HERE.parent / "target/dist/ephor")
ROUNDS = int(os.environ.get("ROUNDS", 3))
LARGEST = int(os.environ.get("LARGEST", 1000000))
BEST_PRACTICES = str(HERE.parent / "policies/best-practices")


def policies(folder, count, kind):
    """A folder of ClusterPolicies, each about labels of its own: the Pods have none of them, so all pass."""
    folder.mkdir()
    for i in range(count):
        kinds = kind.format(i)
        (folder / f"{i:05}.yaml").write_text(f"""apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: rule-{i}}}
spec:
  rules:
  - name: label
    match: {{any: [{{resources: {{kinds: [{kinds}]}}}}]}}
    validate: {{message: m, pattern: {{metadata: {{=(labels): {{=(label-{i}): "?*"}}}}}}}}
""")
    return str(folder)


def bindings(path, count):
    """A native policy; ten bindings select what half of the Pods have, the others what none has."""
    texts = ["""apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: images}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [pods]}]}
  validations: [{expression: "object.spec.containers.all(c, c.image.contains(':'))", message: images need a tag}]
"""]
    for i in range(count):
        label = "front" if i < 10 else f"none-{i}"
        texts.append(f"""apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: images-{i}}}
spec: {{policyName: images, validationActions: [Deny], matchResources: {{objectSelector: {{matchLabels: {{tier: {label}}}}}}}}}
""")
    path.write_text("---\n".join(texts))
    return str(path)


def pods(folder, count):
    path = folder / f"{count}-pods.yaml"
    if not path.exists():
        with open(path, "w") as file:
            subprocess.run([sys.executable, str(HERE / "objects.py"), str(count), "pods"], stdout=file, check=True)
    return str(path)


def powers(first, last):
    while first <= last:
        yield first
        first *= 10


def series(work):
    """(chart, line, x, command) of every run."""
    for count in powers(10, 10000):
        for line, kind in (("policies about Pods", "Pod"), ("policies about other kinds", "example.com/v1/Kind{}")):
            folder = policies(work / f"{kind[:3]}-{count}", count, kind)
            yield "policies", line, count, lambda f=folder: ["apply", f, "-r", pods(work, 1000)]
    for count in powers(1000, LARGEST):
        for threads in (1, os.cpu_count()):
            yield "objects", f"{threads} thread{'s' if threads > 1 else ''}", count, \
                lambda c=count, t=threads: ["apply", BEST_PRACTICES, "-r", pods(work, c), "--threads", str(t)]
    for threads in range(1, os.cpu_count() + 1):
        yield "threads", "ephor", threads, lambda t=threads: ["apply", BEST_PRACTICES, "-r", pods(work, min(100000, LARGEST)), "--threads", str(t)]
    for count in powers(10, 10000):
        file = bindings(work / f"bindings-{count}.yaml", count)
        yield "bindings", "ten bindings match", count, lambda f=file: ["apply", f, "-r", pods(work, 1000)]


def main():
    wanted = sys.argv[1:] or ["policies", "objects", "threads", "bindings"]
    stored = machine.RESULTS / "growth.json"
    before = json.loads(stored.read_text())["runs"] if stored.exists() else []
    results = {"machine": machine.describe(), "command": "benches/growth.py", "rounds": ROUNDS,
               "runs": [run for run in before if run["chart"] not in wanted]}
    with tempfile.TemporaryDirectory() as folder:
        for chart, line, x, command in series(pathlib.Path(folder)):
            if chart not in wanted:
                continue
            best = None
            for _ in range(ROUNDS):
                best = machine.faster(best, machine.run([EPHOR, *command()]))
            results["runs"].append({"chart": chart, "line": line, "x": x} | best)
            print(f"{chart:9} {line:27} {x:8} {best['seconds']:9.3f} s, {best['cpu_seconds']:9.3f} s of processors, {best['megabytes']:7.1f} MB", flush=True)
    machine.keep("growth", results)


main()
