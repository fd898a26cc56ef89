#!/usr/bin/env python3
"""Pairs of policy files for `ephor diff` to be tried on; prints `OLD NEW` a line.

pairs.py mutants FOLDER OUT SEED COUNT   each policy with one token changed: an operator, bound, wildcard, anchor, guard, kind, operation
pairs.py changing FOLDER OUT SEED COUNT  the same of policies that change objects
pairs.py reworded FOLDER OUT             each classic validate policy with other names, messages, and the reverse order of all that has none
pairs.py twins FOLDER SUFFIX             policies and their rewrites in the sibling folders with a suffix: -vpol, -cel, -mpol

FOLDER is a checkout of a policy library, such as `kyverno-policies` of the recorded suites. The pairs are compared by
`cargo run --release -p ephor-compare --example pairs -- --check POOL.yaml`, which judges each pair on a pool of objects as well: a
line `!! false proof` is a difference of two policies that were proved equal, `!! missed` one that was not found.
"""
import copy
import glob
import os
import random
import re
import sys

SWAPS = [("Equals", "NotEquals"), ("NotEquals", "Equals"), ("AnyIn", "AnyNotIn"), ("AnyNotIn", "AllNotIn"), ("AllNotIn", "AnyIn"),
         ("GreaterThan", "GreaterThanOrEquals"), ("LessThan", "LessThanOrEquals"), ("==", "!="), ("!=", "=="), ("&&", "||"), ("||", "&&"),
         (".all(", ".exists("), (".exists(", ".all("), ("startsWith", "endsWith"), ("orValue(false)", "orValue(true)"), ("true", "false"),
         ("false", "true"), ("initContainers", "containers"), ("ephemeralContainers", "initContainers"), ("CREATE", "DELETE"),
         ("UPDATE", "DELETE"), ("Pod", "Deployment"), ("pods", "deployments"), ("=(", "("), ("X(", "=("), ("?*", "*"), ("*", "?*"),
         ("Enforce", "Audit"), ("Audit", "Enforce"), ("Deny", "Audit"), ("any:", "all:"), ("all:", "any:"), (">=", ">"), ("<=", "<"),
         ("has(", "!has("), (".?", "."), ("!", ""), ("size(", "2 + size("), (" | ", " & ")]
CHANGES = [("+(", "("), ("+(", ""), ("op: add", "op: replace"), ("op: replace", "op: add"), ("op: add", "op: remove"), ("'add'", "'replace'"),
           ("'remove'", "'replace'"), ("/-", ""), ("/0", "/1"), ("? optional.none()", "? optional.of('x')"), ("hasValue()", "hasValue() == false"),
           ("JSONPatch", "ApplyConfiguration"), ("labels", "annotations"), ("limits", "requests"), (" [JSONPatch{", " []; [JSONPatch{")]
TEXTS = re.compile(r"""(?<=["'])[A-Za-z][\w./-]*(?=["'])|(?<=: )[a-z][\w./-]*$|(?<=- )[A-Za-z][\w./-]*$""", re.M)


def validating(folder):
    """The files with one policy that validates, and their texts."""
    for path in sorted(glob.glob(folder + "/**/*.yaml", recursive=True)):
        below = os.path.relpath(path, folder)
        if "/." in below or re.search("-(gpol|mpol)/", below):
            continue
        text = open(path).read()
        if (re.search(r"^kind: (ClusterPolicy|ValidatingPolicy)$", text, re.M) and "\nspec:" in text and text.count("\nkind:") <= 1
                and not re.search(r"\n *mutate:|\n *generate:|verifyImages", text) and "status:" not in text):
            yield path, text


def changing(folder):
    """The files with one policy that changes objects, and their texts."""
    for path in sorted(glob.glob(folder + "/**/*.yaml", recursive=True)):
        if "/." in os.path.relpath(path, folder):
            continue
        text = open(path).read()
        is_one = "\nspec:" in text and text.count("\nkind:") <= 1 and "status:" not in text
        is_classic = re.search(r"^kind: ClusterPolicy$", text, re.M) and re.search(r"\n *mutate:", text)
        if is_one and (is_classic or re.search(r"^kind: MutatingPolicy$", text, re.M)):
            yield path, text


def spots(body, pick, swaps=SWAPS):
    """Where a token can be changed: start, end, and the new one."""
    found = []
    for old, new in swaps:
        for m in re.finditer(re.escape(old), body):
            inside = old.isalpha() and (body[m.start() - 1:m.start()].isalnum() or body[m.end():m.end() + 1].isalnum())
            if not inside:
                found.append((m.start(), m.end(), new))
    for m in re.finditer(r"(?<![\w.])\d+(?![\w.])", body):
        found.append((m.start(), m.end(), str(int(m.group()) + pick.choice([-1, 1]))))
    for m in TEXTS.finditer(body):
        text, at = m.group(), pick.randrange(len(m.group()))
        found.append((m.start(), m.end(), text[:at] + text[at + 1:] or "x"))
    return [s for s in found if "message:" not in body[body.rfind("\n", 0, s[0]) + 1:s[0]]]


def mutants(folder, out, seed, count, of=validating, swaps=SWAPS):
    os.makedirs(out, exist_ok=True)
    pick, files, made = random.Random(int(seed)), list(of(folder)), 0
    while made < int(count):
        path, text = pick.choice(files)
        at = text.index("\nspec:")
        body = text[at:]
        places = spots(body, pick, swaps)
        if not places:
            continue
        start, end, new = pick.choice(places)
        changed = f"{out}/{seed}-{made:05d}.yaml"
        with open(changed, "w") as file:
            file.write(text[:at] + body[:start] + new + body[end:])
        made += 1
        print(path, changed)


def changing_mutants(folder, out, seed, count):
    mutants(folder, out, seed, count, changing, SWAPS + CHANGES)


def policies(folder, kinds):
    """The files of a folder that hold policies of some kinds, and these."""
    import yaml
    found = {}
    for path in sorted(glob.glob(folder + "/**/*.yaml", recursive=True)):
        if "/." in path[len(folder):]:
            continue
        try:
            documents = [d for d in yaml.safe_load_all(open(path)) if isinstance(d, dict)]
        except yaml.YAMLError:
            continue
        all_of = [d for d in documents if d.get("kind") in kinds]
        whole = [d for d in all_of if "spec" in d and "status" not in d and (d["spec"].get("rules") or d["kind"] not in ("ClusterPolicy", "Policy"))]
        if whole and len(whole) == len(all_of):
            found[path] = whole
    return found


def can_fail(conditions, names):
    """Whether a condition may raise an error: the order counts then, for conditions after the one that decides are not evaluated.
    What has no default may, and what reads external data."""
    def fails(expression):
        outside = any(re.search(r"(?<![\w.])" + re.escape(name) + r"(?![\w-])", expression) for name in names)
        return outside or "||" not in expression
    found = [one for one in re.findall(r"\{\{(.*?)\}\}", str(conditions), re.DOTALL)]
    return any(fails(one) for one in found)


def reverse(value, names):
    """Reverses the conditions below a value, where their order has no meaning; `names` are those of external data."""
    if isinstance(value, list):
        for one in value:
            reverse(one, names)
    if not isinstance(value, dict):
        return
    for key, below in value.items():
        if key in ("preconditions", "conditions") and isinstance(below, dict):
            for name in ("any", "all"):
                if isinstance(below.get(name), list) and not can_fail(below[name], names):
                    below[name] = below[name][::-1]
        reverse(below, names)


def context_names(value):
    """The names of the context entries of a rule and of its loops."""
    if isinstance(value, list):
        return [name for one in value for name in context_names(one)]
    if not isinstance(value, dict):
        return []
    entries = value.get("context") if isinstance(value.get("context"), list) else []
    own = [entry["name"] for entry in entries if isinstance(entry, dict) and "name" in entry]
    return own + [name for below in value.values() for name in context_names(below)]


def reword(rule):
    import yaml
    reverse(rule, context_names(rule))
    rule["name"] = (rule["name"] + "-x")[:60]
    check = rule.get("validate") or {}
    if "message" in check and "{{" not in str(check["message"]):
        check["message"] = "reworded: " + str(check["message"])
    for side in ("match", "exclude"):
        for name in ("any", "all"):
            if isinstance((rule.get(side) or {}).get(name), list):
                rule[side][name] = rule[side][name][::-1]
    text = yaml.safe_dump(rule)
    for entry in rule.get("context") or []:
        if isinstance(entry, dict) and "name" in entry:
            new = "renamed" + re.sub("[^A-Za-z0-9]", "", entry["name"])
            text = re.sub(r"(?<![\w.])" + re.escape(entry["name"]) + r"(?![\w-])", new, text)
    return yaml.safe_load(text)


def reworded(folder, out):
    import yaml
    os.makedirs(out, exist_ok=True)
    count = 0
    for sub in sorted(os.listdir(folder)):
        if re.search("-(cel|vpol|mpol|gpol)$", sub):
            continue
        for path, found in policies(f"{folder}/{sub}", ("ClusterPolicy", "Policy")).items():
            rules = [rule for policy in found for rule in policy["spec"].get("rules", [])]
            if not all("validate" in rule and not {"mutate", "generate", "verifyImages"} & set(rule) for rule in rules):
                continue
            new = copy.deepcopy(found)
            for policy in new:
                policy["spec"]["rules"] = [reword(rule) for rule in policy["spec"]["rules"]][::-1]
            to = f"{out}/{count:03d}-{os.path.basename(path)}"
            with open(to, "w") as file:
                yaml.safe_dump_all(new, file, sort_keys=True)
            count += 1
            print(path, to)


def twin_files(folder, suffix):
    """The files of policies and of their rewrites."""
    kinds = ("ClusterPolicy", "ValidatingPolicy", "MutatingPolicy", "GeneratingPolicy")
    for sub in sorted(os.listdir(folder)):
        if sub.endswith(suffix):
            for path in policies(f"{folder}/{sub}", kinds):
                old = f"{folder}/{sub[:-len(suffix)]}/{os.path.relpath(path, f'{folder}/{sub}')}"
                if os.path.exists(old):
                    yield old, path


def twins(folder, suffix):
    for old, new in twin_files(folder, suffix):
        print(old, new)


if __name__ == "__main__":
    commands = {"mutants": (mutants, 4), "changing": (changing_mutants, 4), "reworded": (reworded, 2), "twins": (twins, 2)}
    run, count = commands.get(sys.argv[1] if len(sys.argv) > 1 else "", (None, 0))
    if run is None or len(sys.argv) != count + 2:
        sys.exit(__doc__)
    run(*sys.argv[2:])
