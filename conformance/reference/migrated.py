#!/usr/bin/env python3
"""Whether the reference program gives a migrated policy the verdicts of its origin.

migrated.py --ephor PROGRAM --kyverno PROGRAM --work DIR --objects POOL.yaml [--each N] [--representatives N] [--twins FILE] [--page FILE] FOLDER…

Each policy below the folders is migrated by `ephor migrate`. The reference's `kyverno apply` then evaluates the old and the new policy on the
objects of the pool, and on objects of the certificate of their comparison (`ephor equivalent --certificate`), which are representatives of
the classes that the proof distinguishes: those that are created. A verdict is whether an object violates a policy, by failure or error; for changes and generations it is the
objects that come out, whatever the order of lists that the schema calls maps. Only pairs of policy and object are counted for which one side gives a result. --each N: no more than N objects of a kind are taken
from the pool, for a first look; --representatives N: no more than N of a policy, chosen with a fixed seed (default 60).
An object on which the verdicts differ is sent to a kube-apiserver (EPHOR_KUBE_BIN, or what conformance/kube/build.sh --cluster builds) as a dry run: it is counted apart when the
server refuses it, and else the form in which it comes back decides. So are changes of which it refuses both results. Counted apart are also pairs for which external data, such as images, is missing, and ReplicationControllers of policies that leave them
out (the report says so). Templates of pods have metadata, as an API server shows them.
The policies of `--to vap` are sent to the same server, and its type check says what is wrong with their expressions.
DIR keeps the report, policies, certificates and answers of the reference, which a later run uses again, and `disagreements.jsonl`, a line for each pair that differs.
--twins FILE, the `answers.json` of twins.py, adds what becomes of policies whose rewrites by hand differ. --page writes the tables as a page of the book; its sections, which people write, stay.
"""
import argparse
import collections
import concurrent.futures
import datetime
import hashlib
import json
import os
import random
import re
import subprocess

import yaml

import native
import siblings
from admitted import RESOURCES, server
from dry_run import sent
from reference_cli import GENERATING, MUTATING, OUTSIDE, VALIDATING, Loader, apply, generations, is_violated, key, mutations, verdicts, written


OTHERS = 10
ANSWERS = ["proved", "proved relative", "tested", "differs", "not compared", "refused", "cannot be used"]
# Kinds whose objects have templates of pods, with the way to the template.
TEMPLATES = {"CronJob": ["spec", "jobTemplate", "spec", "template"], **{kind: ["spec", "template"] for kind in
             ["DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"]}}
BUILT_IN = {name.rsplit("/", 1)[1] for name in RESOURCES}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ["ephor", "kyverno", "work", "objects"]:
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--each", type=int)
    parser.add_argument("--representatives", type=int, default=60)
    parser.add_argument("--time-limit", default="20s", help="for the proof of one policy")
    parser.add_argument("--twins", help="what twins.py says of the rewrites by hand")
    parser.add_argument("--page")
    parser.add_argument("folders", nargs="+")
    return parser.parse_args()


def document(text, line):
    """The document that begins on a line of a file."""
    lines = text.split("\n")[line - 1:]
    end = next((at for at, one in enumerate(lines) if at and one.startswith("---")), len(lines))
    return "\n".join(lines[:end]).removeprefix("---\n") + "\n"


def report(flags, name, *more):
    """What `ephor migrate` reports of each policy."""
    path = os.path.join(flags.work, name)
    if not os.path.exists(path):
        command = [flags.ephor, "migrate", *flags.folders, "--output-format", "json", *more]
        done = subprocess.run(command, capture_output=True, text=True)
        with open(path, "w") as file:
            file.write(done.stdout)
    with open(path) as file:
        return json.load(file)["policies"]


def migrated(flags):
    """A row for each policy, with files of the old and of the new text."""
    rows = report(flags, "report.json", "--time-limit", flags.time_limit)
    for at, row in enumerate(rows):
        row["id"] = at
        row["names"] = [one["name"] for one in row["new"]]
        row["kinds"] = {one["kind"] for one in row["new"]}
        row["paths"] = [os.path.join(flags.work, f"{at:03}-{side}.yaml") for side in ["old", "new"]]
        for path, text in zip(row["paths"], [document(open(row["file"]).read(), row["line"]), row["text"]]):
            with open(path, "w") as file:
                file.write(text)
    return rows


def pool(flags):
    """The objects of the pool, or no more than some of each kind."""
    found, seen = [], collections.Counter()
    for one in yaml.load_all(open(flags.objects), Loader):
        kind = (one.get("apiVersion"), one.get("kind")) if one else None
        seen[kind] += 1
        if kind and (flags.each is None or seen[kind] <= flags.each):
            found.append(one)
    return found


def representatives(flags, row):
    """Objects of classes that the comparison distinguishes; those that are created."""
    digest = hashlib.sha256("".join(open(path).read() for path in row["paths"]).encode()).hexdigest()[:16]
    path = os.path.join(flags.work, f"{row['id']:03}-certificate-{digest}.json")
    if not os.path.exists(path):
        command = [flags.ephor, "equivalent", *row["paths"], "--certificate", path, "--time-limit", flags.time_limit]
        subprocess.run(command, capture_output=True)
    if not os.path.exists(path):
        return []
    found = []
    for policy in json.load(open(path))["policies"]:
        for environment in policy["environments"]:
            if environment["name"].endswith(" CREATE") and "/" not in environment["name"]:
                objects = [case[0] for case in environment["cases"]]
                found += [one for one in objects if one.get("kind") and one.get("apiVersion") and is_accepted(one)]
    random.Random(22).shuffle(found)
    return found[:flags.representatives]


def template_of(one):
    """The template of pods of an object, or a pod itself; `None` where there is none."""
    found = one
    for step in TEMPLATES.get(one["kind"], []):
        found = found.get(step) if isinstance(found, dict) else None
    return found


def is_accepted(one):
    """Whether an API server accepts a pod, or a template of pods, as far as its containers say."""
    if one["kind"] != "Pod" and one["kind"] not in TEMPLATES:
        return True
    found = template_of(one)
    spec = found.get("spec") if isinstance(found, dict) else None
    containers = spec.get("containers") if isinstance(spec, dict) else None
    named = [*(containers or []), *(spec.get("initContainers") or [])] if isinstance(spec, dict) else []
    return bool(containers) and all(
        re.fullmatch("[a-z0-9]([-a-z0-9]*[a-z0-9])?", str(c.get("name"))) and all(env.get("name") for env in c.get("env") or [])
        and all(mount.get("name") for mount in c.get("volumeMounts") or []) for c in named)


def shown(one):
    """An object as an API server shows it."""
    template = template_of(one)
    if template is not one and isinstance(template, dict):
        template.setdefault("metadata", {})
    if one["kind"] in ("Deployment", "ReplicaSet", "StatefulSet") and isinstance(one.get("spec"), dict):
        one["spec"].setdefault("replicas", 1)
    return one


def distinct(objects):
    """The objects, of which those that others have the names of get new ones."""
    seen, out = set(), []
    for one in objects:
        one = shown(json.loads(json.dumps(one)))
        meta = one.setdefault("metadata", {})
        name = meta.get("name") or "a"
        meta["name"] = name
        # Objects without namespace are in the default one.
        taken = (one["apiVersion"].split("/")[0], one["kind"], meta.get("namespace") or "default")
        at = 1
        while (*taken, meta["name"]) in seen:
            at += 1
            meta["name"] = f"{name}-{at}"
        seen.add((*taken, meta["name"]))
        out.append(one)
    return out


def on_pool(flags, rows, objects, tallies, differences):
    """Counts agreement on the pool. The reference compiles policies in CEL anew for each object, so they see the objects of those kinds for which the old
    policy gives a result, and some others; all of them where policies read other objects than that of the request."""
    objects = distinct(objects)
    path = written(flags, "pool", objects)
    validating = [row for row in rows if row["kinds"] <= VALIDATING]
    old, errors = verdicts(flags, validating, 0, path)

    def of_new(row):
        if "resource." in row["text"]:
            return verdicts(flags, [row], 1, path)
        known = {kind_of(name) for at, name in old if at == row["id"]}
        own = [one for one in objects if kind_of(key(one)) in known]
        others = [one for one in objects if kind_of(key(one)) not in known]
        own += random.Random(row["id"]).sample(others, min(OTHERS, len(others)))
        return verdicts(flags, [row], 1, written(flags, f"{row['id']:03}-pool", own))

    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        found = list(threads.map(of_new, validating))
    for row, new in zip(validating, found):
        mine = {at: found for at, found in old.items() if at[0] == row["id"]}
        count(row, [(mine, {at: e for at, e in errors.items() if at == row["id"]}), new], objects, tallies, differences, "pool")
    changing = [row for row in rows if row["kinds"] <= MUTATING or row["kinds"] <= GENERATING]
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda row: [objects_of(flags, row, side, path, objects) for side in (0, 1)], changing))
    for row, sides in zip(changing, found):
        count(row, sides, objects, tallies, differences, "pool")


def kind_of(name):
    """Version and kind in the name of an object."""
    return name.rsplit("/", 2)[0]


def on_representatives(flags, row):
    """Objects of the certificate of both policies, and what they say of them; `None` without such objects."""
    objects = distinct(representatives(flags, row))
    return (objects, both_sides(flags, row, objects, f"{row['id']:03}-representatives")) if objects and row["kinds"] <= VALIDATING | MUTATING | GENERATING else None


def both_sides(flags, row, objects, name):
    """What both policies say of some objects."""
    path = written(flags, name, objects)
    if row["kinds"] <= VALIDATING:
        return [verdicts(flags, [row], side, path) for side in (0, 1)]
    return [objects_of(flags, row, side, path, objects) for side in (0, 1)]


def objects_of(flags, row, side, path, objects):
    """What comes out of changes, or is generated."""
    return (generations if row["kinds"] <= GENERATING else mutations)(flags, row, side, path, objects)


def is_outside(row, message):
    """Whether external data is missing: the command line answers null to requests for objects, in which nothing can be looked for."""
    return OUTSIDE.search(message) or ("resource.get(" in row["text"] and "no such overload" in message)


def verdict(row, results):
    """What is compared: whether there is a violation, or what comes out."""
    return is_violated(results) if row["kinds"] <= VALIDATING else results


# A name that `parseImageReference` refuses: a repository of one character.
NO_IMAGE = re.compile(r"[^/:@]?([:@].*)?")


def is_named(row, both, manifest):
    """Whether the report names the object as one that its answer leaves out: a name of no image, a list with two items of one name."""
    texts = [*row["remarks"], row["reason"] or ""]
    says = lambda words: any(words in text for text in texts)  # noqa: E731
    if says("names of images: ") and (any("could not parse reference" in message for _, message in both) or any(NO_IMAGE.fullmatch(one) for one in images(manifest))):
        return True
    return (says("lists with two items of one name") or says("no two the same")) and has_namesakes(manifest)


def images(value):
    """The images in an object."""
    if isinstance(value, dict):
        found = [value["image"]] if isinstance(value.get("image"), str) else []
        return found + [image for one in value.values() for image in images(one)]
    return [image for one in value for image in images(one)] if isinstance(value, list) else []


def has_namesakes(value):
    """Whether a list has two items of one name."""
    if isinstance(value, dict):
        return any(has_namesakes(one) for one in value.values())
    if not isinstance(value, list):
        return False
    names = [one["name"] for one in value if isinstance(one, dict) and "name" in one]
    return len(names) > len(set(names)) or any(has_namesakes(one) for one in value)


def count(row, sides, objects, tallies, differences, which):
    """Counts pairs that are the same, or that cannot be compared; the others are noted as differences."""
    (old, errors), (new, new_errors) = sides
    tally, by_key = tallies[row["status"]], {key(one): one for one in objects}
    for side, found in [("old", errors), ("new", new_errors)]:
        for error in found.values():
            row.setdefault("errors", {})[side] = error
            row.setdefault("unread", []).append(which)
    if errors or new_errors:
        return
    for pair in sorted(set(old) | set(new)):
        both = old.get(pair, []) + new.get(pair, [])
        if verdict(row, old.get(pair, [])) == verdict(row, new.get(pair, [])):
            tally[which + " same"] += 1
        elif any(result == "error" and is_outside(row, message) for result, message in both):
            tally[which + " outside"] += 1
        elif "/ReplicationController/" in pair[1] and any("ReplicationController" in one for one in row["remarks"]):
            tally[which + " controllers"] += 1
        elif is_named(row, both, by_key.get(pair[1])):
            tally[which + " named"] += 1
        else:
            differences.append({"policy": row["policy"], "file": row["file"], "status": row["status"], "objects": which, "object": pair[1],
                                "old": old.get(pair), "new": new.get(pair), "id": row["id"], "manifest": by_key.get(pair[1])})


def settled(flags, rows, tallies, differences):
    """What an API server says of the objects of differences; the differences that are left."""
    by_id, left = {row["id"]: row for row in rows}, []
    with server() as api:
        for one in differences:
            manifest = one["manifest"]
            answer = sent(api, {"object": manifest, "subresource": "", "operation": "CREATE", "oldObject": None}) if manifest else None
            one["server"], form = answer or (None, None)
            row = by_id[one["id"]]
            if answer is None and manifest and manifest["kind"] in BUILT_IN:
                tallies[one["status"]][one["objects"] + " other group"] += 1
            elif one["server"] not in (None, "accepted"):
                tallies[one["status"]][one["objects"] + " refused"] += 1
            elif form and (sides := form_sides(flags, row, form))[0] == sides[1]:
                tallies[one["status"]][one["objects"] + " same"] += 1
            elif all(is_result_refused(api, one[side]) for side in ["old", "new"]):
                tallies[one["status"]][one["objects"] + " results"] += 1
            else:
                tallies[one["status"]][one["objects"] + " other"] += 1
                left.append(one)
    return left


def is_result_refused(api, results):
    """Whether an API server refuses the object that a policy changed."""
    changed = [json.loads(text) for word, text in results or [] if word == "changed"]
    answers = [sent(api, {"object": one, "subresource": "", "operation": "CREATE", "oldObject": None}) for one in changed]
    return bool(answers) and all(answer and answer[0] != "accepted" for answer in answers)


def form_sides(flags, row, form):
    """What both policies say of an object as an API server shows it."""
    digest = hashlib.sha256(json.dumps(form, sort_keys=True).encode()).hexdigest()[:16]
    sides = both_sides(flags, row, [form], f"{row['id']:03}-form-{digest}")
    return [verdict(row, [one for results in found.values() for one in results]) for found, _ in sides]


def loaded(flags, row):
    """Notes why the reference does not load or compile what was written."""
    path = written(flags, "any", [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "a"}]}}])
    output, error = apply(flags, [row["paths"][1]], path, False)
    found = re.search(r"Applying (\d+) policy rule", output)
    if not found or int(found[1]) < len(row["new"]) or "failed to compile" in error:
        row.setdefault("errors", {})["new"] = error or output


def to_native(flags, rows):
    """Notes in each row what an API server says of its policies of Kubernetes: why one is refused, and the warnings of the type check."""
    found = {(one["file"], one["line"]): one for one in report(flags, "native.json", "--to", "vap", "--time-limit", "1s")}
    some = [(row, text) for row in rows if (text := found[row["file"], row["line"]]["text"]) and found[row["file"], row["line"]]["new"]]
    for (row, _), (refused, warnings) in zip(some, native.checked([text for _, text in some])):
        row["native"] = {"refused": refused, "warnings": [one for one in warnings if not native.is_untyped(one[1])],
                         "untyped": any(native.is_untyped(one[1]) for one in warnings)}


def page(flags, rows, tallies, differences):
    """The tables, in Markdown."""
    of_each = f", {flags.each} of each kind at most" if flags.each else ""
    version = subprocess.run([flags.kyverno, "version"], capture_output=True, text=True).stdout.split("\n")[0].split()[-1]
    out = ["# Migrated policies in the reference", "",
           f"Policies of the public library, classic ones only, migrated with [`ephor migrate`](migrate.md); Kyverno {version}'s command line evaluates the old and "
           "the new ones. Agreement is about pairs of policy and object for which one of both gives a result, and which an API server accepts where they differ. "
           f"Pool: the objects of the library's own tests{of_each}. Representatives: objects of the classes that the proof distinguishes, "
           f"{flags.representatives} a policy at most. Accepted: the reference loads, checks and compiles what was written. Native: policies that move with `--to vap`, and how many a "
           "kube-apiserver 1.36.3 accepts (strict fields, as a dry run); well typed: its type check has no warning about them. "
           f"Written on {datetime.date.today()} by `conformance/reference/migrated.py`.", "",
           "| answer | policies | accepted | agree on the pool | agree on representatives | native: accepted | well typed |", "|---|---:|---:|---:|---:|---:|---:|"]
    for answer in [*ANSWERS, *sorted({row["status"] for row in rows} - set(ANSWERS))]:
        own = [row for row in rows if row["status"] == answer]
        if own:
            out.append("| " + " | ".join(map(str, [answer, *cells(own, tallies[answer])])) + " |")
    out += [*left_out(tallies), *unread(rows), *others(differences), *of_native(rows)]
    if flags.twins:
        out += siblings.tables(rows, flags.folders, flags.twins)
    return "\n".join(out) + "\n"


def cells(rows, tally):
    """The figures of the policies with one answer."""
    moved = [row for row in rows if row["new"]]
    accepted = sum("new" not in row.get("errors", {}) for row in moved)
    yield len(rows)
    yield f"{accepted} of {len(moved)}" if moved else ""
    for which in ["pool", "representatives"]:
        same, other = (tally[f"{which} {word}"] for word in ["same", "other"])
        yield f"{same:,} of {same + other:,}" if same + other else ""
    found = [row["native"] for row in rows if "native" in row]
    yield f"{sum(not one['refused'] for one in found)} of {len(found)}" if found else ""
    yield f"{sum(not one['warnings'] for one in found)} of {len(found)}" if found else ""


def left_out(tallies):
    """How many pairs are no part of the figures."""
    words = {"refused": "the objects are refused by an API server", "results": "an API server refuses both results", "outside": "external data is missing (images, other services)",
             "controllers": "ReplicationControllers, which the report names as left out",
             "named": "objects that the report names as left out, with names of no image or lists with two items of one name",
             "other group": "kinds of the name of a built-in kind in a group or version that only other clusters have, such as OpenShift's ClusterRole"}
    totals = {word: sum(count for tally in tallies.values() for name, count in tally.items() if name.endswith(" " + word)) for word in words}
    some = [f"{words[word]}: {count:,}" for word, count in totals.items() if count]
    return ["", "Pairs with other verdicts that are no part of the figures: " + "; ".join(some) + "."] if some else []


def unread(rows):
    """The policies that the reference's command line cannot evaluate on all objects at once."""
    names = [f"`{row['policy']}` ({', '.join(dict.fromkeys(row['unread']))})" for row in rows if "unread" in row]
    return ["", f"No pairs of {', '.join(names)}: Kyverno's command line ends when the old policy lists objects of a kind of which there are none."] if names else []


def others(differences):
    """The policies with other verdicts."""
    policies = collections.Counter((one["policy"], one["status"]) for one in differences)
    if not policies:
        return ["", "No policy has other verdicts."]
    rows = [f"| `{name}` | {status} | {n} |" for (name, status), n in sorted(policies.items())]
    return ["", "Policies with other verdicts:", "", "| policy | answer | pairs |", "|---|---|---:|", *rows]


def of_native(rows):
    """What an API server refuses or warns of."""
    found = [(row["policy"], row["native"]) for row in rows if "native" in row]
    lines = [f"| `{name}` | {said['refused'] or said['warnings'][0][1]} |".replace("\n", " ") for name, said in found if said["refused"] or said["warnings"]]
    table = ["", "The API server says of policies of Kubernetes:", "", "| policy | what |", "|---|---|", *lines] if lines else []
    untyped = sum(said["untyped"] for _, said in found)
    note = ["", f"{untyped} more have warnings about `{'`, `'.join(native.UNTYPED)}`: the type check knows no quantities."] if untyped else []
    return table + note


def main():
    flags = arguments()
    os.makedirs(flags.work, exist_ok=True)
    rows = migrated(flags)
    moved = [row for row in rows if row["new"]]
    to_native(flags, rows)
    tallies, differences = collections.defaultdict(collections.Counter), []
    for row in moved:
        loaded(flags, row)
    on_pool(flags, moved, pool(flags), tallies, differences)
    some = moved if flags.representatives else []
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda row: on_representatives(flags, row), some))
    for row, pair in zip(some, found):
        if pair:
            count(row, pair[1], pair[0], tallies, differences, "representatives")
    everything, differences = differences, settled(flags, moved, tallies, differences)
    with open(os.path.join(flags.work, "disagreements.jsonl"), "w") as file:
        file.writelines(json.dumps(one) + "\n" for one in everything)
    with open(os.path.join(flags.work, "errors.jsonl"), "w") as file:
        file.writelines(json.dumps([row["id"], row["policy"], row["errors"]]) + "\n" for row in rows if row.get("errors"))
    text = page(flags, rows, tallies, differences)
    print(text, end="")
    if flags.page:
        # What people wrote about causes stays.
        old = open(flags.page).read() if os.path.exists(flags.page) else ""
        with open(flags.page, "w") as file:
            file.write(text + old[old.index("\n## "):] if "\n## " in old else text)


if __name__ == "__main__":
    main()
