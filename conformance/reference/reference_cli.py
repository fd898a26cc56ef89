"""The reference's command line: what it says of policies and objects, with its answers in files.

In: flags with the program (`kyverno`) and a folder (`work`), rows of policies with the files of both sides (`paths`), objects. Out: results by policy and object, of
validations, changes and generations, and errors. An answer is read again while the policies, the objects and the command are the same.
"""
import collections
import hashlib
import json
import os
import re
import subprocess

import yaml

from admitted import TOPS, TYPES, parts


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """Reads YAML as JSON has it: no dates."""


Loader.yaml_implicit_resolvers = {
    first: [one for one in all if one[0] != "tag:yaml.org,2002:timestamp"] for first, all in Loader.yaml_implicit_resolvers.items()}
DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
BATCH = 20
VALIDATING = {"ValidatingPolicy", "NamespacedValidatingPolicy"}
MUTATING = {"MutatingPolicy", "NamespacedMutatingPolicy"}
OUTSIDE = re.compile("failed to (get image data|list resource|get resource|fetch|execute|load context)|no such host|connection refused|dial tcp|not found in the context|json: cannot unmarshal")
MUTATED = re.compile(r"^policy (\S+) applied to (\S+):\n(.*?)\n---$", re.M | re.S)
GENERATING = {"GeneratingPolicy", "NamespacedGeneratingPolicy"}
BOOKKEEPING = ("generate.kyverno.io/", "app.kubernetes.io/managed-by")
# Numbers that the command line prints without a dot.
Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"^[-+]?[0-9]+e[-+]?[0-9]+$"), list("-+0123456789"))


def apply(flags, policies, objects, with_report=True, more=()):
    """What the reference says: standard output, and the error. `more`: other flags with their files."""
    command = [flags.kyverno, "apply", *policies, "-r", objects, *more]
    if with_report:
        command += ["--policy-report", "--output-format", "json"]
    digest = hashlib.sha256(json.dumps(command).encode())
    for path in filter(os.path.exists, [*policies, objects, *more]):
        with open(path, "rb") as file:
            digest.update(file.read())
    stored = os.path.join(flags.work, digest.hexdigest()[:24] + ".answer.json")
    if not os.path.exists(stored):
        done = subprocess.run(command, capture_output=True, text=True)
        errors = [line for line in done.stderr.split("\n") if not line.startswith("Warning:")]
        with open(stored, "w") as file:
            json.dump([done.stdout, "\n".join(errors).strip()], file)
    with open(stored) as file:
        return json.load(file)


def verdicts(flags, rows, side, objects):
    """(policy, object) → results, and the errors of policies that the reference cannot evaluate."""
    results, errors = collections.defaultdict(list), {}
    batch, rest = [], list(rows)
    while rest:
        names, batch = set(), []
        for row in list(rest):
            own = {row["policy"]} if side == 0 else set(row["names"])
            if len(batch) < BATCH and not own & names:
                batch.append(row)
                names |= own
                rest.remove(row)
        part(flags, batch, side, objects, results, errors)
    return results, errors


def part(flags, batch, side, objects, results, errors):
    output, error = apply(flags, [row["paths"][side] for row in batch], objects)
    text = next((line for line in output.split("\n") if line.startswith("{")), None)
    if text is None and not error:
        # No policy applies to an object.
        return
    if text is None and len(batch) > 1:
        half = len(batch) // 2
        part(flags, batch[:half], side, objects, results, errors)
        part(flags, batch[half:], side, objects, results, errors)
        return
    if text is None:
        errors[batch[0]["id"]] = error
        return
    for result in json.loads(text).get("results") or []:
        for row in batch:
            if result["policy"].split("/")[-1] in ([row["policy"]] if side == 0 else row["names"]):
                for one in result.get("resources") or []:
                    name = "/".join([one["apiVersion"], one["kind"], one.get("namespace") or "default", one.get("name", "")])
                    results[row["id"], name].append((result["result"], result.get("message", "")))


def mutations(flags, row, side, path, objects):
    """(policy, object) → the object that comes out, where it is another one."""
    output, error = apply(flags, [row["paths"][side]], path, False)
    before = {key(one): one for one in objects}
    out = {}
    for _, _, text in MUTATED.findall(output):
        found = yaml.load(text, Loader)
        is_valid = isinstance(found, dict) and isinstance(found.get("metadata", {}).get("ownerReferences", []), list)
        old = before.get(key(found)) if is_valid and "metadata" in found else None
        # The order of items that are merged by their keys does not count, here either.
        if old is not None and unordered(plain(old), top(old)) != unordered(plain(found), top(found)):
            out[row["id"], key(found)] = [("changed", json.dumps(unordered(plain(found), top(found)), sort_keys=True))]
    return out, ({} if "Applying" in output else {row["id"]: error or "no output"})


def plain(one):
    """An object without its namespace, which the command line fills in."""
    meta = {name: value for name, value in one["metadata"].items() if name not in ("namespace", "creationTimestamp")}
    return {**one, "metadata": meta}


def is_violated(results):
    return any(result in ("fail", "error", "warn") for result, _ in results)


def key(one):
    """How results name an object."""
    meta = one["metadata"]
    return "/".join([one["apiVersion"], one["kind"], meta.get("namespace") or "default", meta["name"]])


def written(flags, name, objects):
    path = os.path.join(flags.work, name + ".yaml")
    with open(path, "w") as file:
        yaml.dump_all(objects, file, DUMPER, sort_keys=False)
    return path


def top(obj):
    """The type of an object in the schema; none for custom resources."""
    return TOPS.get(f"{obj.get('apiVersion')}/{obj.get('kind')}", "")


def unordered(value, written):
    """A value of a type, with the items of lists that the schema calls maps in the order of their keys."""
    form, inner = parts(written)
    if form is list and isinstance(value, list):
        keys = [key for key in re.match(r"\[([^\]]*)\]", written)[1].split(",") if key]
        items = [unordered(one, inner) for one in value]
        return sorted(items, key=lambda one: json.dumps([one.get(key) for key in keys])) if keys and all(isinstance(one, dict) for one in items) else items
    if not isinstance(value, dict):
        return value
    fields = TYPES[inner]["fields"] if form is None and inner in TYPES else {}
    return {name: unordered(one, inner if form is dict else fields.get(name, ("",))[0]) for name, one in value.items()}


def generations(flags, row, side, path, objects):
    """(policy, object) → the objects that are generated for it."""
    output, error = apply(flags, [row["paths"][side]], path, False)
    triggers, out = {trigger(one): key(one) for one in objects}, {}
    for _, name, text in MUTATED.findall(output):
        found = yaml.load(text, Loader)
        if name in triggers and isinstance(found, dict) and isinstance(found.get("metadata"), dict):
            out.setdefault((row["id"], triggers[name]), []).append(("generated", json.dumps(bare(found), sort_keys=True)))
    return {pair: sorted(all_of) for pair, all_of in out.items()}, ({} if "Applying" in output else {row["id"]: error or "no output"})


def trigger(one):
    """How generated objects name what they are generated for."""
    namespace = one["metadata"].get("namespace") or ("" if one["kind"] == "Namespace" else "default")
    return f"{namespace}/{one['kind']}/{one['metadata']['name']}"


def bare(obj):
    """An object without what the command line fills in."""
    obj = plain(obj)
    labels = {k: v for k, v in (obj["metadata"].get("labels") or {}).items() if not k.startswith(BOOKKEEPING)}
    obj["metadata"] = {k: v for k, v in obj["metadata"].items() if k != "labels"} | ({"labels": labels} if labels else {})
    return obj
