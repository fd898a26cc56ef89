#!/usr/bin/env python3
"""Runs what the Helm chart makes: the program with the arguments of its Deployment and the rights of its account.

usage: chart.py EPHOR KUBECONFIG ADDRESS [VALUES…]      KUBECTL, HELM: the programs, if not on the PATH
                                                        CHART: a folder with another chart, such as an unpacked one of a release

KUBECONFIG is that of an administrator of an empty cluster without nodes; reviews are served on ADDRESS:443, to which the
Service leads. VALUES are arguments of `helm template`. Checked are the columns and types of the definitions, a policy that
becomes ready, a denial, a report of a scan, an object that a generate rule creates with rights that were added by a label,
what the account may not do, and that `webhook-config --remove` leaves nothing behind. With `scanJob.enabled` among VALUES the
containers of the scan run as the Pods of its Job would, one of them killed and run again: their report is that of one run.
Prints a line for each check."""
import atexit
import json
import os
import subprocess
import sys
import tempfile
import time

EPHOR, KUBECONFIG, ADDRESS, *VALUES = sys.argv[1:]
EPHOR = os.path.abspath(EPHOR)
KUBECTL, HELM = os.environ.get("KUBECTL", "kubectl"), os.environ.get("HELM", "helm")
CHART = os.environ.get("CHART") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../deploy/helm/ephor")
# The chart of a release names its image, the one in the repository none.
IMAGE = [] if os.environ.get("CHART") else ["--set", "image.repository=registry.invalid/ephor"]
NAMESPACE = "ephor"
FOLDER = tempfile.mkdtemp(prefix="ephor-chart-")
failed = []


def run(*command, stdin=None):
    return subprocess.run(command, input=stdin, capture_output=True, text=True)


def kubectl(*args, stdin=None, check=True):
    done = run(KUBECTL, "--kubeconfig", KUBECONFIG, *args, stdin=stdin)
    if check and done.returncode:
        sys.exit(f"kubectl {' '.join(args)}: {done.stderr}")
    return done.stdout if check else done


def apply(text, check=True):
    return kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=text, check=check)


def check(what, is_so, otherwise=""):
    print(f"{'ok' if is_so else 'FAILED'}: {what}{'' if is_so else ': ' + str(otherwise)}", flush=True)
    if not is_so:
        failed.append(what)


def until(what, question, seconds=40):
    deadline, answer = time.monotonic() + seconds, None
    while time.monotonic() < deadline:
        answer = question()
        if answer is True:
            return check(what, True)
        time.sleep(0.5)
    return check(what, False, answer)


def rendered():
    done = run(HELM, "template", "ephor", CHART, "--namespace", NAMESPACE, "--no-hooks", *IMAGE, *VALUES)
    if done.returncode:
        sys.exit(done.stderr)
    as_json = run(KUBECTL, "create", "--dry-run=client", "-o", "json", "-f", "-", "--validate=false", "--kubeconfig", KUBECONFIG, stdin=done.stdout)
    if as_json.returncode:
        sys.exit(as_json.stderr)
    decoder, text, objects = json.JSONDecoder(), as_json.stdout.strip(), []
    while text:
        value, end = decoder.raw_decode(text)
        objects += value["items"] if value["kind"] == "List" else [value]
        text = text[end:].strip()
    return objects


def install():
    for name in sorted(os.listdir(os.path.join(CHART, "crds"))):
        with open(os.path.join(CHART, "crds", name), encoding="utf-8") as file:
            apply(file.read())
    kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    kubectl("create", "namespace", NAMESPACE, check=False)
    objects = rendered()
    for o in objects:
        o["metadata"].setdefault("namespace", NAMESPACE)
        if o["kind"] == "Service":
            o["spec"] = {"type": "ExternalName", "externalName": ADDRESS, "ports": [{"name": "https", "port": 443}]}
        if not o["kind"].startswith("Cluster"):
            continue
        o["metadata"].pop("namespace")
    apply("\n---\n".join(json.dumps(o) for o in objects))
    return objects


def kubeconfig(account):
    token = kubectl("create", "token", account, "-n", NAMESPACE, "--duration=8h").strip()
    config = json.loads(kubectl("config", "view", "--raw", "--flatten", "-o", "json"))
    config["users"][0]["user"] = {"token": token}
    path = os.path.join(FOLDER, account)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
    return path


def start(deployment):
    spec = deployment["spec"]["template"]["spec"]
    path = kubeconfig(spec["serviceAccountName"])
    args = []
    for arg in spec["containers"][0]["args"]:
        if arg.startswith("--listen"):
            args.append(f"--listen={ADDRESS}:443")
        elif arg.startswith("--metrics-listen"):
            args.append(f"--metrics-listen={ADDRESS}:8000")
        else:
            args.append(arg)
    log = open(os.path.join(FOLDER, "log"), "w", encoding="utf-8")
    process = subprocess.Popen([EPHOR, *args, "--kubeconfig", path, "--shutdown-delay=0s"], stdout=log, stderr=log, env={**os.environ, "POD_NAME": "ephor-0"})
    atexit.register(process.kill)
    return process


def policy(name, rules, **spec):
    return json.dumps({"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": name}, "spec": {**spec, "rules": rules}})


def config_map(name, namespace="shop", **labels):
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace, "labels": labels}})


def is_ready(name, kind="clusterpolicy"):
    path = '{.status.conditions[?(@.type=="Ready")].status}'
    return lambda: kubectl("get", kind, name, "-o", f"jsonpath={path}") == "True" or kubectl("get", kind, name, "-o", "yaml")


def kinds_of_webhooks():
    return kubectl("get", "validatingwebhookconfigurations,mutatingwebhookconfigurations", "-o", "name").split()


def definitions():
    columns = kubectl("get", "crd", "clusterpolicies.kyverno.io", "-o", "jsonpath={.spec.versions[0].additionalPrinterColumns[*].name}")
    check("ClusterPolicies have columns", "READY" in columns and "ADMISSION" in columns, columns)
    wrong = apply(policy("wrong", "none"), check=False)
    check("a wrong type is refused", wrong.returncode != 0 and "rules" in wrong.stderr, wrong.stderr)


def policies():
    match = {"any": [{"resources": {"kinds": ["ConfigMap"]}}]}
    kubectl("create", "namespace", "shop", check=False)
    apply(config_map("old"))
    owner = {"name": "owner", "match": match, "validate": {"failureAction": "Enforce", "message": "an owner", "pattern": {"metadata": {"labels": {"owner": "?*"}}}}}
    apply(policy("owner", [owner]))
    until("a policy becomes ready", is_ready("owner"))
    listed = kubectl("get", "cpol", "owner").split()
    check("it is listed with its columns", "READY" in listed and "True" in listed, listed)
    until("a request is denied", lambda: "an owner" in (answer := apply(config_map("new"), check=False)).stderr or answer.stderr)
    check("one that keeps to it is allowed", apply(config_map("new", owner="me"), check=False).returncode == 0)
    until("what was there has a report", lambda: "fail" in (found := kubectl("get", "policyreports", "-n", "shop", "-o", "json")) or found)


def background():
    rule = {"name": "secret", "match": {"any": [{"resources": {"kinds": ["Namespace"], "names": ["team"]}}]},
            "generate": {"apiVersion": "v1", "kind": "LimitRange", "name": "limits", "namespace": "{{request.object.metadata.name}}", "synchronize": True,
                         "data": {"spec": {"limits": [{"type": "Container", "default": {"memory": "1Gi"}}]}}}}
    refused = apply(policy("limits", [rule]), check=False)
    check("a rule that may not generate is refused", refused.returncode != 0 and "requires permissions" in refused.stderr, refused.stderr)
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "ephor-limits", "labels": {"rbac.ephor.dev/aggregate-to-ephor": "true"}},
            "rules": [{"apiGroups": [""], "resources": ["limitranges"], "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"]}]}
    apply(json.dumps(role))
    until("with a role that has the label it is taken", lambda: (done := apply(policy("limits", [rule]), check=False)).returncode == 0 or done.stderr)
    until("it becomes ready", is_ready("limits"))
    kubectl("create", "namespace", "team", check=False)
    until("it generates", lambda: "limits" in kubectl("get", "limitranges", "-n", "team", "-o", "name") or "nothing")


def rights(deployment):
    account = f"system:serviceaccount:{NAMESPACE}:{deployment['spec']['template']['spec']['serviceAccountName']}"
    for verb, what, more in [
        ("get", "secrets", ["-n", "kube-system"]), ("list", "secrets", ["-n", NAMESPACE]), ("create", "pods", ["-n", "shop"]), ("create", "clusterrolebindings", []),
        ("delete", "validatingwebhookconfigurations/others", []), ("update", "clusterpolicies", []), ("delete", "namespaces", []), ("update", "leases/others", ["-n", NAMESPACE]),
    ]:
        answer = kubectl("auth", "can-i", verb, what, "--as", account, *more, check=False).stdout.strip()
        check(f"the account may not {verb} {what}", answer == "no", answer)


def scan(objects):
    job = next((o["spec"]["jobTemplate"]["spec"] for o in objects if o["kind"] == "CronJob"), None)
    if not job:
        return
    apply("\n---\n".join(config_map(f"scanned-{i}") for i in range(40)))
    spec = job["template"]["spec"]
    path = kubeconfig(spec["serviceAccountName"])
    folders = {name: os.path.join(FOLDER, name) for name in ("policies", "results")}
    for folder in folders.values():
        os.mkdir(folder)
    volume = next(v["configMap"]["name"] for v in spec["volumes"] if v["name"] == "policies")
    files = next(o["data"] for o in objects if o["kind"] == "ConfigMap" and o["metadata"]["name"] == volume)
    for name, text in files.items():
        with open(os.path.join(folders["policies"], name), "w", encoding="utf-8") as file:
            file.write(text)

    def process(container, index, *more):
        args = []
        for arg in container["args"]:
            arg = arg.replace("$(JOB_COMPLETION_INDEX)", str(index))
            for name, folder in folders.items():
                arg = arg.replace(f"/{name}", folder)
            args.append(arg)
        return subprocess.Popen([EPHOR, *args, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "JOB_COMPLETION_INDEX": str(index), "KUBECONFIG": path})

    def pod(index):
        codes = []
        for container in [*spec["initContainers"], *spec["containers"]]:
            done = process(container, index)
            out = done.communicate()
            codes.append((done.returncode, *out) if done.returncode else 0)
        return codes

    report = os.path.join(folders["results"], "report.json")
    for index in range(job["completions"]):
        if index == 1:
            killed = process(spec["initContainers"][0], index)
            killed.kill()
            killed.communicate()
        if os.path.exists(report):
            check("no report is written before all shards are evaluated", False, index)
        codes = pod(index)
        if codes != [0] * len(codes):
            check(f"the containers of shard {index} end well", False, codes)
    with open(report, encoding="utf-8") as file:
        merged = file.read()
    check("the last Pod writes the report", json.loads(merged)["summary"]["fail"] >= 40, merged[:300])
    whole = run(EPHOR, "apply", folders["policies"], "--cluster", "--kubeconfig", path, "--quiet", "--output-format", "json")
    check("it is the report of one run, byte for byte", whole.stdout == merged, whole.stdout[:300])


def removal(process, deployment):
    process.terminate()
    process.wait(timeout=30)
    name, spec = deployment["metadata"]["name"], deployment["spec"]["template"]["spec"]
    names = [a for a in spec["containers"][0]["args"] if a == "--kyverno-names"]
    place = f"--scale-down={NAMESPACE}/{name}"
    done = run(EPHOR, "webhook-config", "--remove", place, *names, "--kubeconfig", kubeconfig(f"{name}-removal"))
    check("webhooks are removed by the account of the hook", done.returncode == 0 and not done.stderr, done.stderr)
    check("none is left", not kinds_of_webhooks(), kinds_of_webhooks())
    pods = kubectl("get", "pods", "-n", NAMESPACE, "-o", "name")
    check("no Pod is left", not pods, pods)


def main():
    objects = install()
    deployment = next(o for o in objects if o["kind"] == "Deployment")
    definitions()
    process = start(deployment)
    until("the server is ready", lambda: run("curl", "-fsk", f"https://{ADDRESS}/readyz").returncode == 0 or (process.poll() or "not ready"))
    until("webhooks are registered", lambda: any("policy-validating" in name for name in kinds_of_webhooks()) or kinds_of_webhooks())
    policies()
    background()
    rights(deployment)
    scan(objects)
    removal(process, deployment)
    with open(os.path.join(FOLDER, "log"), encoding="utf-8") as log:
        forbidden = [line.strip() for line in log if "orbidden" in line or "cannot" in line]
    check("the log has no right that is missing", not forbidden, "\n  ".join(["", *forbidden]))
    print(f"log: {FOLDER}/log")
    sys.exit(1 if failed else 0)


main()
