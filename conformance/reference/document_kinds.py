#!/usr/bin/env python3
"""Records what Kyverno's command line does with documents of a policy file that are no policies.

usage: KYVERNO=PATH document_kinds.py KINDS DOCUMENTS

KINDS gets a line for each group and version with the kinds that the program knows (`crates/policies/src/load/document-kinds.txt`), DOCUMENTS, which must
be there, gets the outcome of each of its documents anew, and one of every kind with nothing but a name (`foreign-documents.txt` in the same folder).
The kinds that are tried are those of client-go's scheme and of apiextensions, listed by a Go program that is built in a temporary folder.
Kinds that KINDS has already are tried, too. A kind whose outcome differs from run to run (`Scale`, `Eviction`, `DeleteOptions`) is left out. Needs Go.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

VERSION = "v0.36.3"
VARYING = {"Scale", "Eviction", "DeleteOptions", "WatchEvent"}
AT_ONCE = 100
PROGRAM = """package main

import (
	"fmt"

	apiext "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	"k8s.io/client-go/kubernetes/scheme"
)

func main() {
	for gvk := range scheme.Scheme.AllKnownTypes() {
		fmt.Println(gvk.GroupVersion().String(), gvk.Kind)
	}
	for gvk := range apiext.Scheme.AllKnownTypes() {
		fmt.Println(gvk.GroupVersion().String(), gvk.Kind)
	}
}
"""
POLICY = """---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: p-%05d}
spec:
  background: false
  rules:
  - name: r
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: m, pattern: {data: {a: "x"}}}
"""
OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: b}\n"


def kinds(folder):
    """Version and kind of all that are tried."""
    requires = "".join(f"require k8s.io/{name} {VERSION}\n" for name in ("client-go", "apiextensions-apiserver"))
    (folder / "go.mod").write_text(f"module kinds\ngo 1.26.0\n{requires}")
    (folder / "main.go").write_text(PROGRAM)
    subprocess.run(["go", "mod", "tidy"], cwd=folder, check=True, capture_output=True)
    listed = subprocess.run(["go", "run", "."], cwd=folder, check=True, capture_output=True, text=True).stdout
    found = {tuple(line.split()) for line in listed.splitlines() if "__internal" not in line}
    return sorted(pair for pair in found if pair[1] not in VARYING)


def listed_kinds(path):
    """Version and kind of all that a file has."""
    lines = path.read_text().splitlines() if path.exists() else []
    words = [line.split() for line in lines if not line.startswith("#")]
    return [(version, kind.rstrip("!")) for version, *all_of in words for kind in all_of]


def outcomes(folder, documents):
    """Whether the policy behind each document counts, and everything that the program says."""
    counts, said = set(), ""
    (folder / "object.yaml").write_text(OBJECT)
    for begin in range(0, len(documents), AT_ONCE):
        files = []
        for at, document in enumerate(documents[begin:begin + AT_ONCE], begin):
            files.append(folder / f"d{at}.yaml")
            files[-1].write_text(document + "\n" + POLICY % at)
        run = subprocess.run([os.environ["KYVERNO"], "apply", *files, "-r", folder / "object.yaml", "-v", "6"], capture_output=True, text=True)
        counts.update(int(at) for at in re.findall(r"policy p-(\d+) ", run.stdout))
        said += re.sub(r"\x1b\[[0-9;]*m", "", run.stdout + run.stderr)
    return [at in counts for at in range(len(documents))], said


def main():
    if len(sys.argv) != 3 or "KYVERNO" not in os.environ:
        sys.exit(__doc__)
    of_kinds, of_documents = map(pathlib.Path, sys.argv[1:])
    written = [line.split(" ", 1)[1] for line in of_documents.read_text().splitlines() if not line.startswith("#")]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        tried = sorted(set(kinds(folder)) | set(listed_kinds(of_kinds)))
        bare = [f"{{apiVersion: {version}, kind: {kind}, metadata: {{name: x}}}}" for version, kind in tried]
        documents = list(dict.fromkeys(bare + written))
        count, said = outcomes(folder, documents)
    unknown = {(version, kind) for kind, version in re.findall(r"kind (\S+) not found in (\S+) groupversion", said)}
    no_version = set(re.findall(r"failed to locate OpenAPI spec for GV: (\S+?)\)", said))
    known = {}
    for (version, kind), document in zip(tried, bare):
        is_left_out = not count[documents.index(document)]
        if is_left_out or ((version, kind) not in unknown and version not in no_version):
            known.setdefault(version, []).append(kind + ("" if is_left_out else "!"))
    head = of_kinds.read_text().splitlines() if of_kinds.exists() else []
    lines = [line for line in head if line.startswith("#")] + [" ".join([version, *all_of]) for version, all_of in known.items()]
    of_kinds.write_text("\n".join(lines) + "\n")
    head = [line for line in of_documents.read_text().splitlines() if line.startswith("#")]
    rows = [f"{'policy' if counts else 'left-out'} {document}" for counts, document in zip(count, documents)]
    of_documents.write_text("\n".join(head + rows) + "\n")


if __name__ == "__main__":
    main()
