#!/usr/bin/env python3
"""Checks with the solver cvc5 that the texts which comparisons choose stand for all texts.

usage: smt_classes.py CLASSES [--limit SECONDS] [--bin DIR]

CLASSES is what `pairs --classes FILE` (crates/compare/examples) writes: wildcards, single texts and regular expressions by which the texts of
a field are distinguished, and the texts that were found. For each line the solver decides whether there is another text: one that is in a
combination of these languages in which no found text is. `--bin` is not used.
"""
import argparse
import collections
import json
import sys
from pathlib import Path

import cvc5

import smt_terms as t


def languages(row):
    """The languages as regular expressions that a text matches as a whole."""
    return [t.of_wildcard(glob) for glob in row["globs"]] + [t.re.escape(text) for text in row["texts"]] + [t.whole(regex) for regex in row["regexes"]]


def check(row, limit):
    """`complete`, `unknown`, or a text that no found text stands for."""
    t.start()
    text = t.fresh("text", "string")
    own = [t.fresh(f"in {at}", "boolean") for at in range(len(row["globs"]) + len(row["texts"]) + len(row["regexes"]))]
    solver = cvc5.Solver(t.now.tm)
    for option, value in (("produce-models", "true"), ("strings-exp", "true"), ("tlimit-per", str(limit * 1000))):
        solver.setOption(option, value)
    solver.setLogic("ALL")
    patterns = languages(row)
    for is_in, pattern in zip(own, patterns):
        solver.assertFormula(t.make(t.Kind.EQUAL, is_in, t.in_language(text, pattern)))
    combinations = set()
    for found in row["found"]:
        member = [t.now.tm.mkTerm(t.Kind.STRING_IN_REGEXP, t.lift(found), t.regex_of(pattern)) for pattern in patterns]
        combinations.add(tuple(solver.simplify(one).getBooleanValue() for one in member))
    for combination in sorted(combinations):
        other = t.or_(*[t.not_(is_in) if value else is_in for is_in, value in zip(own, combination)])
        solver.assertFormula(t.lift(other))
    answer = solver.checkSat()
    if answer.isUnsat():
        return "complete"
    return solver.getValue(text).getStringValue() if answer.isSat() else "unknown"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("classes")
    parser.add_argument("--limit", type=int, default=10)
    parser.add_argument("--bin")
    args = parser.parse_args()
    counts, checked = collections.Counter(), 0
    for line in Path(args.classes).read_text().splitlines():
        row = json.loads(line)
        if row["found"] is None:
            counts["too many combinations for the comparison"] += 1
            continue
        try:
            answer = check(row, args.limit)
        except t.OutOfReach as stop:
            counts[f"out of reach: {stop}"] += 1
            continue
        checked += len(row["found"])
        is_known = answer in ("complete", "unknown")
        counts[answer if is_known else "incomplete"] += 1
        if not is_known:
            print(json.dumps({"missing": answer, **row}), flush=True)
    for name, count in counts.most_common():
        print(f"{count:5} {name}")
    print(f"{checked:5} texts in those that were checked")


if __name__ == "__main__":
    sys.exit(main())
