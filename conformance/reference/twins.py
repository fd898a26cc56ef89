#!/usr/bin/env python3
"""What the rewrites of a policy library change, shown to a real API server and to the reference program.

twins.py --ephor PROGRAM --kyverno PROGRAM --work DIR [--time-limit 20s] [--page FILE] [--only TEXT] LIBRARY

LIBRARY is a checkout of a policy library whose folders have rewrites in sibling folders: -vpol, -cel, -mpol, -gpol. Each pair of files is compared
by `ephor diff --out`. A kube-apiserver (EPHOR_KUBE_BIN, or what conformance/kube/build.sh builds) gets each object of a difference that is
labelled "in clusters": creations and what goes away in deletions as a dry run, updates as a dry run on the object that is created before.
Namespaces and classes that the object names are created first. The reference's `kyverno apply` evaluates both sides on the object of each
difference, with the values and the user info that `--out` wrote, and, where the API server accepts the object, on the form in which it comes back.
Compared are failure, error, or neither of both; of rules that change or generate objects, the objects.

DIR keeps the comparisons and the answers of the reference, which a later run uses again while nothing that they depend on changes;
`answers.json` has the answer on each rewrite, `refused.jsonl` and `disagreements.jsonl` a line for each difference that the API server refuses, or on which the reference says something
else. --page writes the tables as a page of the book; its sections after the first stay. Exit code 1: there is such a line.
"""
import argparse
import collections
import concurrent.futures
import datetime
import hashlib
import json
import os
import re
import subprocess
import sys

import yaml

from admitted import server
from dry_run import sent
from pairs import twin_files
from reference_cli import DUMPER, MUTATED, OUTSIDE, Loader, apply, bare

SUFFIXES = ["-vpol", "-cel", "-mpol", "-gpol"]
ANSWERS = ["proved", "proved relative", "tested", "differs", "incomparable"]
UNIVERSES = ["in clusters", "custom resources", "in files only"]
# What messages say where data of a registry is missing.
REGISTRY = re.compile("failed to fetch image")
REPORT = re.compile(r'\{"kind":"(Cluster|Policy)Report",')


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ["ephor", "kyverno", "work"]:
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--time-limit", default="20s", help="for one pair")
    parser.add_argument("--page")
    parser.add_argument("--only", default="", help="pairs whose path has this text")
    parser.add_argument("library")
    return parser.parse_args()


# Comparisons.

def compared(flags):
    """A row for each pair: what `ephor diff` says."""
    all_of = [(suffix, *files) for suffix in SUFFIXES for files in twin_files(flags.library, suffix)]
    some = [one for one in all_of if flags.only in one[2]]
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        return list(threads.map(lambda one: row(flags, *one), some))


def row(flags, suffix, old, new):
    below = os.path.relpath(new, flags.library)
    folder = os.path.join(flags.work, below.replace("/", "_").removesuffix(".yaml"))
    os.makedirs(folder, exist_ok=True)
    known = hashlib.sha256(f"{flags.ephor} {os.path.getmtime(flags.ephor)} {flags.time_limit}".encode())
    for path in [old, new]:
        with open(path, "rb") as file:
            known.update(file.read())
    report = os.path.join(folder, f"report-{known.hexdigest()[:16]}.json")
    if not os.path.exists(report):
        command = [flags.ephor, "diff", old, new, "--out", folder, "--output-format", "json", "--time-limit", flags.time_limit, "--threads", "1"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode > 1:
            sys.exit(f"{old} {new}: {done.stderr}")
        with open(report, "w") as file:
            file.write(done.stdout)
    [found] = json.load(open(report))["policies"]
    for one in found["differences"]:
        one["pair"] = below
    return {"suffix": suffix, "pair": below, **found}


# The API server.

def by_server(rows):
    with server() as api:
        for one in differences(rows, "in clusters"):
            one["server"], one["form"] = sent(api, one) or (None, None)


def differences(rows, universe=None):
    return [one for row in rows for one in row["differences"] if universe in (None, one["universe"])]


# The reference.

def hidden(one):
    """What of a difference the reference's command line cannot show."""
    if one["subresource"]:
        return "requests to subresources"
    if one["oldObject"]:
        return "updates of an object that was another one before"
    return None


def says(flags, one, side, path):
    """What the reference says of an object: fail, error or neither, and the objects that come out; or why there is no answer."""
    folder = os.path.dirname(one["file"])
    if one["kind"] != "result" and os.path.exists(os.path.join(folder, "cluster.yaml")) and os.path.exists(os.path.join(folder, side, "kyverno-test.yaml")):
        return in_test(flags, folder, side, path)
    more = []
    for flag, name in [("--values-file", "values.yaml"), ("--userinfo", "user-info.yaml"), ("--exception", f"{side}/exceptions.yaml")]:
        file = os.path.join(folder, name)
        more += [flag, file] if os.path.exists(file) else []
    # Images have no data without it, which is another error than one of a registry.
    more += ["--registry=true"] if REGISTRY.search(one["old"]["message"] + one["new"]["message"]) else []
    output, error = apply(flags, [os.path.join(folder, side, "policy.yaml")], path, more=more)
    # Reports follow the text without a new line: one of all, and one for each policy of a namespace.
    reports = [json.JSONDecoder().raw_decode(output, found.start())[0] for found in REPORT.finditer(output)]
    results = [result for report in reports for result in report.get("results") or []]
    if not reports and error:
        return "no answer: " + error.split("\n")[-1][:200], [], ""
    words = [result["result"] for result in results]
    verdict = next((word for word in ["fail", "warn", "error"] if word in words), "ok").replace("warn", "fail")
    message = next((r.get("message", "") for r in results if r["result"] == verdict), "")
    objects = {}
    for _, _, text in MUTATED.findall(output):
        found = yaml.load(text, Loader)
        if isinstance(found, dict) and "kind" in found and isinstance(found.get("metadata"), dict):
            objects[found["kind"], found["metadata"].get("name")] = bare(found)
    return verdict, list(objects.values()), message


def in_test(flags, folder, side, path):
    """What the reference's tests say, which have a cluster without the ConfigMap: the test that `--out` wrote passes, or why it does not."""
    own = os.path.join(folder, f"{side}-{os.path.basename(path)[:-5]}")
    os.makedirs(own, exist_ok=True)
    with open(os.path.join(folder, side, "kyverno-test.yaml")) as file:
        test = yaml.load(file, Loader)
    test |= {"policies": [f"../{side}/policy.yaml"], "resources": [f"../{os.path.basename(path)}"]}
    with open(os.path.join(own, "kyverno-test.yaml"), "w") as file:
        yaml.dump(test, file, DUMPER, sort_keys=False)
    done = subprocess.run([flags.kyverno, "test", own, "--remove-color"], capture_output=True, text=True)
    if done.returncode:
        return "no answer: " + (done.stderr.strip() or done.stdout.strip()).split("\n")[-1][:200], [], ""
    words = [one["result"] for one in test["results"]]
    return next((word for word in ["fail", "error"] if word in words), "ok"), [], ""


def printed(one, side):
    """What the comparison says of a side."""
    said = one[side]
    verdict = said["verdict"] if said["verdict"] in ("fail", "error") else "ok"
    return verdict, [bare(found) for found in [said["changed"] or one["object"], *said["generated"]]]


def is_same(one, verdict, objects, expected):
    """Whether a side says what was expected: the verdict, and of changes the objects."""
    if verdict != expected[0]:
        return False
    of = bare(one["object"])
    return one["kind"] != "result" or all(found in objects or found == of for found in expected[1]) and all(
        found in expected[1] or found == of for found in objects)


def by_reference(flags, one):
    """Compares what the reference says of both sides; notes "as printed", "other", or why it cannot be shown."""
    one["shown"] = hidden(one)
    if one["shown"]:
        return
    found = {side: says(flags, one, side, one["file"]) for side in ("old", "new")}
    one["reference"] = {side: [verdict, message, objects if one["kind"] == "result" else []] for side, (verdict, objects, message) in found.items()}
    same = all(is_same(one, verdict, objects, printed(one, side)) for side, (verdict, objects, _) in found.items())
    one["shown"] = "as printed" if same else "other"
    if not same and any(OUTSIDE.search(message) for _, _, message in found.values()):
        one["shown"] = "external data"
    if one.get("form") and one["shown"] == "as printed":
        in_form(flags, one, found)


def in_form(flags, one, found):
    """Whether the reference says the same of the object as the API server shows it."""
    path = os.path.join(os.path.dirname(one["file"]), "form.yaml")
    with open(path, "w") as file:
        yaml.dump(one["form"], file, DUMPER, sort_keys=False)
    again = {side: says(flags, one, side, path) for side in found}
    same = all(again[side][0] == found[side][0] for side in found)
    if one["kind"] == "result" and again["old"][1] == again["new"][1]:
        same = False
    one["shown in form"] = "as printed" if same else "other"
    if not same:
        one["reference in form"] = {side: [verdict, message] for side, (verdict, _, message) in again.items()}


# The page.

def flow(value):
    """A value in one line."""
    return yaml.dump(value, None, DUMPER, default_flow_style=True, sort_keys=False, width=100000).strip()


def short(one):
    """The object of a difference in one line: without version, and without the name where it is any."""
    obj = {key: value for key, value in one["object"].items() if key not in ("apiVersion", "kind")}
    if obj.get("metadata") == {"name": "a"}:
        del obj["metadata"]
    elif (obj.get("metadata") or {}).get("name") == "a":
        obj["metadata"] = {key: value for key, value in obj["metadata"].items() if key != "name"}
    what = "" if one["operation"] == "CREATE" else one["operation"] + " "
    where = f"/{one['subresource']}" if one["subresource"] else ""
    return f"{what}{one['object']['kind']}{where} {flow(obj)}"


def code(text):
    """Code in a cell of a table."""
    text = text.replace("\n", " ").replace("|", "\\|")
    mark = "``" if "`" in text else "`"
    return f"{mark}{text}{mark}"


def cell(text):
    """Text in a cell of a table, as Markdown that shows it as it is."""
    text = " ".join(text.split())
    for one in "\\`*_<>[]|":
        text = text.replace(one, "\\" + one)
    return text if len(text) <= 160 else text[:160].rsplit(" ", 1)[0] + " …"


def because(one):
    """What decided: the verdict of each side, with its field and message."""
    out = []
    for side in ("old", "new"):
        said = one[side]
        text = f"{side} {said['verdict']}" if said["policy"] else f"{side} does not apply"
        if said["verdict"] in ("fail", "error"):
            text += f" at {code(said['field'])}" if said["field"] else ""
            text += f": {cell(said['message'])}" if said["message"] else ""
        out.append(text)
    return "; ".join(out)


def kinds(row):
    """The differences of a pair: how many of each kind, those in files only apart."""
    real = collections.Counter(one["kind"] for one in row["differences"] if one["universe"] != "in files only")
    files = sum(one["universe"] == "in files only" for one in row["differences"])
    text = ", ".join(f"{kind} {n}" if n > 1 else kind for kind, n in real.items())
    return text + (f"{', ' if text else ''}{files} in files only" if files else "")


def table(rows):
    out = ["| policy | answer | differences | smallest object | reason |", "|---|---|---|---|---|"]
    for one in rows:
        name = os.path.dirname(one["pair"]) if os.path.basename(os.path.dirname(one["pair"])) == os.path.basename(one["pair"])[:-5] else one["pair"]
        first = one["differences"][0] if one["differences"] else None
        why = [because(first)] if first else []
        why += ["open: " + ", ".join(map(cell, one["reasons"][:2]))] if one["reasons"] else []
        out.append(f"| `{name}` | {one['answer']} | {kinds(one)} | {code(short(first)) if first else ''} | {'; '.join(why)} |")
    return out


def totals(rows):
    columns = [suffix for suffix in SUFFIXES if any(row["suffix"] == suffix for row in rows)]
    lines = []

    def line(name, count):
        cells = [count([row for row in rows if row["suffix"] == suffix]) for suffix in columns] + [count(rows)]
        if any(cells):
            lines.append(f"| {name} | " + " | ".join(f"{n:,}" for n in cells) + " |")

    line("pairs", len)
    for answer in ANSWERS:
        line(answer, lambda some: sum(row["answer"] == answer for row in some))
    for universe in UNIVERSES:
        line(f"differences {universe}", lambda some: len(differences(some, universe)))
    line("sent to the API server", lambda some: sum(one["server"] is not None for one in differences(some, "in clusters")))
    line("accepted", lambda some: sum(one["server"] == "accepted" for one in differences(some, "in clusters")))
    for universe in UNIVERSES:
        each = {one["shown"] for one in differences(rows, universe)}
        names = {"as printed": "the reference says the same", "other": "the reference says something else"}
        for word in sorted(each, key=lambda word: (word != "as printed", word != "other", word)):
            name = names.get(word, f"its command line does not show: {word}")
            line(f"{universe}: {name}", lambda some: sum(one["shown"] == word for one in differences(some, universe)))
    line("the reference says the same of the object as the API server returns it",
         lambda some: sum(one.get("shown in form") == "as printed" for one in differences(some)))
    line("it says something else of this form", lambda some: sum(one.get("shown in form") == "other" for one in differences(some)))
    head = ["| | " + " | ".join(f"`{suffix}`" for suffix in columns) + " | all |", "|---" + "|---:" * (len(columns) + 1) + "|"]
    return head + lines


def page(flags, rows):
    """The page, in Markdown."""
    version = subprocess.run([flags.kyverno, "version"], capture_output=True, text=True).stdout.split("\n")[0].split()[-1]
    out = ["# What the public twins change", "",
           "The public policy library has many policies twice: as ClusterPolicies, and rewritten by hand in CEL (`-vpol`, `-mpol`, `-gpol`: policies of "
           "`policies.kyverno.io`; `-cel`: ClusterPolicies with `validate.cel`). [`ephor diff`](diff.md) compares each pair of one file name, "
           f"with `--time-limit {flags.time_limit}`. A kube-apiserver 1.36.3 (without the plugin ServiceAccount) gets each object that is labelled *in clusters*, as a dry run; "
           f"Kyverno {version}'s command line evaluates both sides on the object of each difference. "
           f"Written on {datetime.date.today()} by `conformance/reference/twins.py`.", "", *totals(rows)]
    refused = [one for one in differences(rows, "in clusters") if one["server"] not in (None, "accepted")]
    if refused:
        out += ["", "The API server refuses:", "", "| policy | object | why |", "|---|---|---|"]
        out += [f"| `{one['pair']}` | {code(short(one))} | {cell(one['server'])} |" for one in refused]
    others = [one for one in differences(rows) if "other" in (one["shown"], one.get("shown in form"))]
    if others:
        out += ["", "The reference says something else:", "", "| policy | object | printed | reference |", "|---|---|---|---|"]
        for one in others:
            which = "reference in form" if one["shown"] != "other" else "reference"
            texts = [", ".join(f"{side} {say(one, side)}" for side in ("old", "new")) for say in (lambda o, s: o[s]["verdict"], lambda o, s: o[which][s][0])]
            out.append(f"| `{one['pair']}` ({one['universe']}, {one['kind']}) | {code(short(one))} | {texts[0]} | {cell(texts[1])} |")
    for suffix in SUFFIXES:
        own = [row for row in rows if row["suffix"] == suffix]
        if own:
            out += ["", f"Rewrites in `{suffix}`:", "", *table(own)]
    return "\n".join(out) + "\n"


def main():
    flags = arguments()
    flags.work = os.path.abspath(flags.work)
    os.makedirs(flags.work, exist_ok=True)
    rows = compared(flags)
    by_server(rows)
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda one: by_reference(flags, one), differences(rows)))
    with open(os.path.join(flags.work, "answers.json"), "w") as file:
        json.dump([{"file": os.path.join(flags.library, row["pair"]), "answer": row["answer"]} for row in rows], file)
    refused = [one for one in differences(rows) if one.get("server") not in (None, "accepted")]
    others = [one for one in differences(rows) if "other" in (one["shown"], one.get("shown in form"))]
    for name, found in [("refused", refused), ("disagreements", others)]:
        with open(os.path.join(flags.work, name + ".jsonl"), "w") as file:
            file.writelines(json.dumps(one) + "\n" for one in found)
    print("\n".join(totals(rows)))
    if flags.page:
        # What people wrote about causes stays.
        text, old = page(flags, rows), open(flags.page).read() if os.path.exists(flags.page) else ""
        with open(flags.page, "w") as file:
            file.write(text + old[old.index("\n## "):] if "\n## " in old else text)
    return 1 if refused or others else 0


if __name__ == "__main__":
    sys.exit(main())
