#!/usr/bin/env python3
"""The Pod Security Standards on the same objects by ephor and its peers, side by side: `benches/peers/run.py [SIZE…]`.

In: the programs of `benches/peers/build.sh` (EPHOR_PEERS, KYVERNO_BIN), EPHOR_BIN (a `dist` build by default), PyYAML, sizes
(1000 10000 100000). The controls are `policies/pod-security-*` as ClusterPolicies for ephor and Kyverno, and `rego/` for
Gatekeeper (a template and a constraint for each control) and conftest.
Out: first all programs name the same violations on 300 objects, or the differences and exit code 1. Then the time, the processor
time and the most memory of each program at each size, the ratios to ephor, and all of it as JSON in
`benches/results/peers.json`. ROUNDS (3) is how often each is run, in turn; the fastest counts. A program of which the size before
lets expect more than BUDGET (600) processor seconds is not run at a larger one, and runs once from a tenth of that.
"""
import json, os, pathlib, re, subprocess, sys, tempfile
import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))
import machine

BIN = pathlib.Path(os.environ.get("EPHOR_PEERS") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "ephor-peers")
EPHOR = os.environ.get("EPHOR_BIN") or str(ROOT / "target/dist/ephor")
ROUNDS, BUDGET = int(os.environ.get("ROUNDS", 3)), float(os.environ.get("BUDGET", 600))
CHECKED = 300


def controls():
    """Files of the ClusterPolicies, by the control's name."""
    return {p.name: str(p / f"{p.name}.yaml") for p in sorted(ROOT.glob("policies/pod-security-*/*")) if p.is_dir()}


def gatekeeper(folder):
    """Writes a template and a constraint for each control."""
    library = (HERE / "rego/pods.rego").read_text()
    kinds = [{"apiGroups": ["*"], "kinds": ["Pod", "CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"]}]
    for name in controls():
        kind = "".join(part.capitalize() for part in name.split("-"))
        source = {"version": "v1", "rego": (HERE / f"rego/controls/{name}.rego").read_text(), "libs": [library]}
        template = {
            "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate", "metadata": {"name": kind.lower()},
            "spec": {"crd": {"spec": {"names": {"kind": kind}}},
                     "targets": [{"target": "admission.k8s.gatekeeper.sh", "code": [{"engine": "Rego", "source": source}]}]}}
        constraint = {"apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": {"match": {"kinds": kinds}}}
        (folder / f"{name}.yaml").write_text(yaml.dump_all([template, constraint]))


def of_reports(output):
    """Violations in the policy reports that ephor and Kyverno print."""
    start = re.search(r"^(apiVersion|items):", output, re.M)
    found = set()
    for report in yaml.load_all(output[start.start():] if start else "", getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        for one in (report or {}).get("items") or [report or {}]:
            scope = [one["scope"]] if one.get("scope") else []
            for result in one.get("results") or []:
                if result["result"] == "fail":
                    found |= {(result["policy"], f"{r['kind']}/{r['name']}") for r in result.get("resources") or scope}
    return found


def of_gator(output):
    found = set()
    for result in json.loads(output) or []:
        o = result["violatingObject"]
        found.add((result["constraint"]["metadata"]["name"], f"{o['kind']}/{o['metadata']['name']}"))
    return found


def of_conftest(output):
    failures = [f for file in json.loads(output) for f in file.get("failures") or []]
    return {(f["metadata"]["control"], f["metadata"]["object"]) for f in failures}


def peers(work):
    """(name, command on a file of objects, what makes it print a report, its reader)."""
    (work / "gatekeeper").mkdir()
    gatekeeper(work / "gatekeeper")
    policies = list(controls().values())
    kyverno = os.environ.get("KYVERNO_BIN") or str(BIN / "kyverno")
    return [
        ("ephor", lambda f: [EPHOR, "apply", *policies, "-r", f], ["-p"], of_reports),
        ("ephor, 1 thread", lambda f: [EPHOR, "apply", *policies, "-r", f, "--threads", "1"], ["-p"], of_reports),
        ("gator", lambda f: [str(BIN / "gator"), "test", "-f", str(work / "gatekeeper"), "-f", f], ["-o", "json"], of_gator),
        ("conftest", lambda f: [str(BIN / "conftest"), "test", "-p", str(HERE / "rego"), f], ["-o", "json"], of_conftest),
        ("kyverno", lambda f: [kyverno, "apply", *policies, "-r", f], ["-p"], of_reports),
    ]


def objects(count, folder):
    path = folder / f"{count}.yaml"
    with open(path, "w") as file:
        subprocess.run([sys.executable, str(HERE.parent / "objects.py"), str(count), "security"], stdout=file, check=True)
    return str(path)


def check(programs, work):
    """All programs name the same violations; those that do not are shown."""
    file, first, agreed = objects(CHECKED, work), None, True
    for name, command, report, read in programs:
        run = subprocess.run([*command(file), *report], capture_output=True, text=True)
        try:
            found = read(run.stdout)
        except (ValueError, yaml.YAMLError, KeyError) as error:
            sys.exit(f"{name}: no report ({error}): {(run.stdout + run.stderr)[-500:]}")
        if first is None:
            first = found
            print(f"{CHECKED} objects: {len(found)} violations of {len({c for c, _ in found})} controls")
        for text, some in (("has in addition", found - first), ("does not have", first - found)):
            if some:
                agreed = False
                print(f"{name} {text} {len(some)} violations, as {', '.join(map(str, sorted(some)[:5]))}")
    return agreed, len(first)


def main():
    sizes = [int(a) for a in sys.argv[1:]] or [1000, 10000, 100000]
    results = {"machine": machine.describe(), "command": "benches/peers/run.py", "rounds": ROUNDS, "runs": []}
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        programs = [p for p in peers(work) if os.access(p[1]("x")[0], os.X_OK) or print(f"{p[0]}: left out, {p[1]('x')[0]} is not there")]
        agreed, violations = check(programs, work)
        if not agreed:
            sys.exit(1)
        print(f"the same by {', '.join(p[0] for p in programs)}")
        results["checked"] = {"objects": CHECKED, "violations": violations, "programs": [p[0] for p in programs]}
        expected = {}
        for size in sizes:
            file, best = objects(size, work), {}
            for _ in range(ROUNDS):
                for name, command, *_ in programs:
                    rate = expected.get(name, 0)
                    if rate * size > BUDGET or name in best and rate * size > BUDGET / 10:
                        continue
                    best[name] = machine.faster(best.get(name), machine.run(command(file)))
                    expected[name] = best[name]["cpu_seconds"] / size
            for name, run in best.items():
                run |= {"program": name, "objects": size, "times_ephor": round(run["seconds"] / best["ephor"]["seconds"], 1),
                        "times_ephor_cpu": round(run["cpu_seconds"] / best["ephor"]["cpu_seconds"], 1),
                        "memory_of_ephor": round(run["megabytes"] / best["ephor"]["megabytes"], 1)}
                print(f"{size:7} objects, {name:16} {run['seconds']:9.3f} s, {run['cpu_seconds']:9.3f} s of processors, {run['megabytes']:8.1f} MB,"
                      f" {run['times_ephor']:7.1f} times ephor, {run['times_ephor_cpu']:7.1f} times its processors' time, {run['memory_of_ephor']:5.1f} times its memory", flush=True)
                results["runs"].append(run)
            for name, *_ in programs:
                if name not in best:
                    print(f"{size:7} objects, {name}: not run, it would take about {expected[name] * size:.0f} s of processors")
            os.remove(file)
    machine.keep("peers", results)


main()
