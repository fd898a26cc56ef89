#!/usr/bin/env python3
"""Checks answers of `ephor diff` with the solver cvc5, which shares no code with it.

usage: smt.py ANSWERS --bin DIR [--bound N] [--limit SECONDS] [--only TEXT] [--json FILE] [--shown N] [--verbose]

ANSWERS is the output of the example `pairs` of crates/compare: `OLD NEW`, a tab, the answer. DIR holds `ephor` and the example `judge`
(`examples/judge`). Both policies are read as their IR (`ephor explain --output json --as-lowered`); what they say of a request becomes a
formula (smt_rules.py, smt_cel.py, smt_conditions.py, smt_patterns.py over the objects of smt_objects.py), and the solver looks for an
object that violates one and not the other, with lists of at most N items (2), in requests to resources themselves; updates leave it as it is. `unsat` agrees with a proof. An object that is found is
evaluated by the engine: it shows a difference, or the translation is wrong. Where it is none of a cluster, an object is looked for that has
what an API server fills in, and types of fields without a schema as docs/reference/diff.md assumes them (`agrees in clusters`: there is none). Whatever has no translation is counted with
the construct that stopped it.
"""
import argparse
import collections
import json
import subprocess
import sys
from pathlib import Path

import cvc5

import smt_measures as measures
import smt_terms as t
from smt_objects import RESOURCES, World, decoded, resource_object
from smt_rules import Request, violates

TYPICAL = ["Pod", "Deployment", "ConfigMap", "ClusterRole"]
ROUNDS = 40


class Engine:
    """Verdicts of the engine, and the IR."""

    def __init__(self, folder):
        self.ephor, self.known = folder / "ephor", {}
        self.judge = subprocess.Popen([folder / "examples/judge"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def bundle(self, path):
        if path not in self.known:
            done = subprocess.run([self.ephor, "explain", path, "--output", "json", "--as-lowered"], capture_output=True, text=True)
            if done.returncode:
                raise t.OutOfReach("no IR")
            self.known[path] = json.loads(done.stdout)
        return self.known[path]

    def verdicts(self, old, new, operation, object_):
        self.judge.stdin.write(json.dumps({"old": old, "new": new, "operation": operation, "object": object_}) + "\n")
        self.judge.stdin.flush()
        return json.loads(self.judge.stdout.readline())


def kinds_of(bundles):
    """The resources that rules of policies select."""
    wanted, custom = {}, {}

    def pattern(kind):
        if kind["kind"] in ("*", ""):
            for one in TYPICAL:
                add(next(r for r in RESOURCES if r["kind"] == one and r["version"] in ("v1", "apps/v1")))
            return
        found = [r for r in RESOURCES if all(t.wildcard(kind[p], r[p]) is True for p in ("group", "version", "kind"))]
        newest = {}
        for one in found:
            newest.setdefault((one["group"], one["kind"]), one)
        for one in list(newest.values())[:8]:
            add(one)
        if not found and not set(kind["kind"]) & {"*", "?"}:
            group = "example.com" if set(kind["group"]) & {"*", "?"} else kind["group"]
            version = "v1" if set(kind["version"]) & {"*", "?"} else kind["version"]
            add({"group": group, "version": version, "kind": kind["kind"], "plural": kind["kind"].lower() + "s", "namespaced": True})

    def add(resource):
        wanted[resource["group"], resource["kind"]] = resource

    def rules_of(listed):
        for rule in listed or ():
            groups, versions = (["*"] if rule[k] == "all" else rule[k]["these"] for k in ("groups", "versions"))
            for path in rule["resources"]:
                named = [r for r in RESOURCES if path.get("resource") in (None, r["plural"]) and (r["group"] in groups or "*" in groups) and (r["version"] in versions or "*" in versions)]
                for one in (named if path.get("resource") else [r for r in named if r["kind"] in TYPICAL]):
                    add(one)
                if path.get("resource") and not named:
                    custom[path["resource"]] = (groups[0], versions[0])

    for bundle in bundles:
        for policy in bundle["policies"]:
            for rule in policy["rules"] + [r for own in policy.get("byKind") or () for r in own["rules"]]:
                (kind, arg), = rule["when"].items()
                if kind == "constraints":
                    rules_of(arg.get("rules"))
                else:
                    for one in arg:
                        for selected in one.get("kinds", ()):
                            pattern(selected)
    for plural, (group, version) in custom.items():
        same = next((r for r in wanted.values() if r["plural"] == plural), None)
        if same is None:
            raise t.OutOfReach("custom resources by their plural")
    return sorted(wanted.values(), key=lambda r: (r["group"], r["kind"]))


class Question:
    """Whether an object of a kind violates one side and not the other."""

    def __init__(self, bundles, resource, operation, bound, narrow=False):
        keys = {}
        while True:
            t.start()
            self.world = World(bound, {path: set(names) for path, names in keys.items()}, narrow)
            self.node = resource_object(self.world, resource)
            self.sides = [violates(bundle, Request(self.world, resource, operation, self.node)) for bundle in bundles]
            if self.world.keys == keys or not self.world.others:
                break
            keys = self.world.keys
        self.world.finish()

        a, b = self.sides
        self.differ = t.or_(t.and_(a, t.not_(b)), t.and_(b, t.not_(a)))

    def solver(self, limit, claim):
        solver = cvc5.Solver(t.now.tm)
        for option, value in (("produce-models", "true"), ("strings-exp", "true"), ("tlimit-per", str(limit * 1000))):
            solver.setOption(option, value)
        solver.setLogic("ALL")
        for formula in self.world.constraints + t.now.said + measures.facts() + [claim]:
            if formula is not True:
                solver.assertFormula(t.lift(formula))
        return solver

    def solve(self, limit, claim):
        """`unsat`, `unknown`, or `sat` with the object."""
        if claim is False:
            return "unsat", None
        solver = self.solver(limit, claim)
        for number in range(ROUNDS):
            answer = solver.checkSat()
            if answer.isUnsat():
                return "unsat", None
            if not answer.isSat():
                return "unknown", None
            model = lambda x: value_of(solver.getValue(t.lift(x)))
            wrong = [(measure, model(s)) for measure, terms in t.now.measured.items() for s in terms.values()]
            new = [fact for measure, text in wrong for fact in [measures.fact(measure, text)]
                   if fact is not True and model(fact) is not True]
            if not new:
                return "sat", decoded(self.node, model)
            for fact in new:
                solver.assertFormula(fact)
        return "unknown", None


def value_of(term):
    if term.isBooleanValue():
        return term.getBooleanValue()
    if term.isIntegerValue():
        return term.getIntegerValue()
    if term.isStringValue():
        return term.getStringValue()
    if term.isRealValue():
        return term.getRealValue()
    raise ValueError(f"no value: {term}")


def differs(verdicts):
    return verdicts and len({v in ("fail", "error") for v in verdicts}) > 1


def searched(engine, pair, bundles, resource, operation, args):
    """What the solver says of a kind and an operation, with an object, and whether the old side can be violated."""
    said, violable = "", False
    for narrow in (False, True):
        question = Question(bundles, resource, operation, args.bound, narrow)
        answer, object_ = question.solve(args.limit, question.differ)
        if not narrow:
            violable = question.solve(args.limit, question.sides[0])[0] == "sat"
        elif answer == "unsat":
            return "agrees in clusters", said, violable
        if answer != "sat":
            return answer, said or ("no answer within the limit" if answer == "unknown" else ""), violable
        verdicts = engine.verdicts(*pair, operation, object_)
        said = f"{json.dumps(object_)} {json.dumps(verdicts)}"
        where = "clusters" if differs(verdicts.get("shown")) else "files" if differs(verdicts.get("written")) else "nowhere"
        if where == "clusters":
            break
    return f"differs in {where}", said, violable


def compare(engine, old, new, args):
    """What the solver says of a pair: `agrees`, or what it found, with details."""
    try:
        bundles = [engine.bundle(path) for path in (old, new)]
        resources = kinds_of(bundles)
    except t.OutOfReach as stop:
        return "out of reach", [str(stop)]
    details, answers, violable = [], collections.Counter(), False
    for resource in resources:
        for operation in ("CREATE", "UPDATE", "DELETE"):
            name = f"{resource['kind']} {operation}"
            try:
                answer, said, is_violable = searched(engine, (old, new), bundles, resource, operation, args)
                violable = violable or is_violable
                if said:
                    details.append(f"{name}: {said}")
            except t.OutOfReach as stop:
                answers["out of reach"] += 1
                details.append(str(stop))
                continue
            answers[answer] += 1
    for answer in ("differs in clusters", "differs in files", "differs in nowhere", "out of reach", "unknown", "agrees in clusters"):
        if answers[answer]:
            return answer, details
    if not violable and any(names_subresource(bundle) for bundle in bundles):
        return "out of reach", ["requests to subresources"]
    return "agrees" if violable else "agrees (never violated)", details


def names_subresource(part):
    """Whether a matcher of a document names a subresource."""
    if isinstance(part, list):
        return any(names_subresource(one) for one in part)
    if not isinstance(part, dict):
        return False
    return part.get("subresource") not in (None, "", "*") or any(names_subresource(one) for one in part.values())


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0], description=__doc__.split("\n\n")[2])
    parser.add_argument("answers")
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--bound", type=int, default=2)
    parser.add_argument("--limit", type=int, default=10)
    parser.add_argument("--only", default="")
    parser.add_argument("--shown", type=int, default=2)
    parser.add_argument("--json")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    engine, table, reasons, rows = Engine(args.bin), collections.Counter(), collections.Counter(), []
    for line in Path(args.answers).read_text().splitlines():
        if line.startswith((" ", "!")) or args.only not in line:
            continue
        pair, answer, *_ = line.split("\t")
        if answer not in ("proved", "proved relative", "differs", "tested"):
            continue
        found, details = compare(engine, *pair.split(" "), args)
        table[answer, found] += 1
        if found == "out of reach":
            reasons.update(set(details))
        rows.append({"pair": pair, "answer": answer, "solver": found, "details": details})
        if args.json:
            Path(args.json).write_text(json.dumps(rows, indent=1))
        is_wrong = answer.startswith("proved") and found.startswith("differs")
        if args.verbose or is_wrong:
            print(f"{answer} | {found} | {pair}", *details[:args.shown], sep="\n    ", flush=True)
    for (answer, found), count in sorted(table.items()):
        print(f"{count:5} {answer}: {found}")
    for reason, count in reasons.most_common():
        print(f"{count:5} pairs stopped by {reason}")


if __name__ == "__main__":
    sys.exit(main())
