#!/usr/bin/env python3
"""Writes the tables of one release of Kubernetes from its programs, and shows in what it differs from another one.

usage: release.py BIN [--against R] [--recordings DIR]

BIN is a folder with kube-apiserver of the release and etcd, as conformance/kube/build.sh makes it; Go is needed for what Go types say.

1. kinds-R.txt and schema-R.txt from the running server (kubernetes.py), with all versions of admission policies that it can serve;
2. go-R.txt from the Go modules that the server was built from (go_types.go);
3. with --recordings: DIR/R.jsonl.gz, which objects the server admits and in which form (admitted.py), and what differs from the
   recording of the other release: columns of `ServerRules` and rows of defaults-R.txt, which are written by hand;
4. facts-R.txt in this folder: which functions and macros CEL has and what the Pod Security Standards check (release_facts.go),
   and the feature gates of the server; what differs is for `LevelRules`, `CONTROLS` and `ServerRules`.

Without --against the release before is the other one. Differences go to standard output.
"""
import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import admitted
import kubernetes

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "conformance/reference"
sys.path.insert(0, str(ROOT / "conformance/kube"))
from cluster import Cluster  # noqa: E402

GROUP = "admissionregistration.k8s.io"
SWITCHED = "MutatingAdmissionPolicy"  # Off by default before 1.36.
FLAGS = [
    "--allow-privileged=true", "--advertise-address=10.99.0.1", "--endpoint-reconciler-type=none",
    f"--runtime-config={GROUP}/v1beta1=true,{GROUP}/v1alpha1=true", f"--feature-gates={SWITCHED}=true",
]


def modules(program):
    """The Go modules that a program was built from."""
    text = subprocess.run(["go", "version", "-m", program], check=True, capture_output=True, text=True).stdout
    found = {}
    for words in map(str.split, text.splitlines()):
        if words[:1] in (["dep"], ["=>"]):
            found[words[1]] = words[2]
    return found


def run_go(folder, program, arguments, versions):
    """The output of a Go program of this folder, built from the same modules as the server."""
    shutil.copy(HERE / program, folder / "main.go")
    pinned = "".join(f"\t{name} => {name} {version}\n" for name, version in sorted(versions.items()) if version.startswith("v"))
    (folder / "go.mod").write_text(f"module facts\ngo 1.26.0\nreplace (\n{pinned})\n")
    env = {**os.environ, "GOFLAGS": "-mod=mod -buildvcs=false", "CGO_ENABLED": "0"}
    subprocess.run(["go", "mod", "tidy"], cwd=folder, env=env, check=True, capture_output=True)
    return subprocess.run(["go", "run", ".", *map(str, arguments)], cwd=folder, env=env, check=True, stdout=subprocess.PIPE, text=True).stdout


def gates(metrics):
    """The feature gates of a server as they are by default, a line each."""
    found = re.findall(r'^kubernetes_feature_enabled\{name="(\w+)",stage="(\w*)"\} ([01])$', metrics, re.M)
    return "".join(f"gate {name} {stage or 'GA'} {'on' if value == '1' else 'off'}\n" for name, stage, value in sorted(found) if name != SWITCHED)


def show(name, old, new):
    """The lines in which two texts differ."""
    lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=0))[2:]
    print(f"== {name}: {sum(line[0] == '-' for line in lines)} lines gone, {sum(line[0] == '+' for line in lines)} new")
    print("".join(line + "\n" for line in lines if line[0] != "@"), end="", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path)
    parser.add_argument("--against")
    parser.add_argument("--recordings", type=Path)
    args = parser.parse_args()
    versions = modules(args.bin / "kube-apiserver")
    print(f"cel-go {versions['github.com/google/cel-go']}, k8s.io/apiserver {versions['k8s.io/apiserver']}")
    with Cluster(str(args.bin), FLAGS) as cluster:
        release = kubernetes.write(kubernetes.client(cluster.url, "admin-token"))
        metrics = cluster.call("GET", "/metrics").object["text"]
        if args.recordings:
            os.environ["EPHOR_API_SERVER"] = cluster.url
            args.recordings.mkdir(exist_ok=True)
            admitted.record(args.recordings / f"{release}.jsonl.gz")
    other = args.against or re.sub(r"\d+$", lambda minor: str(int(minor[0]) - 1), release)
    table = lambda name, of: (HERE if name == "facts" else kubernetes.OUT) / f"{name}-{of}.txt"
    with tempfile.TemporaryDirectory() as folder:
        types = [release, table("schema", release), kubernetes.OUT / "options.txt"]
        table("go", release).write_text(run_go(Path(folder), "go_types.go", types, versions))
    with tempfile.TemporaryDirectory() as folder:
        facts = run_go(Path(folder), "release_facts.go", [], versions) + gates(metrics)
    table("facts", release).write_text(facts)
    for name in ("kinds", "schema", "go", "facts"):
        if table(name, other).exists():
            show(name, table(name, other).read_text(), table(name, release).read_text())
    recordings = [args.recordings / f"{of}.jsonl.gz" for of in (other, release)] if args.recordings else []
    if recordings and recordings[0].exists():
        admitted.changes(*recordings)


if __name__ == "__main__":
    main()
