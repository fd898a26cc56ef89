"""Migrated policies next to those that people wrote in their place.

In: a policy library whose folders have rewrites in sibling folders, the rows of migrated policies, and what `ephor diff` says of each rewrite (the file
`answers.json` of `twins.py`). Out: our answer wherever the rewrite differs from its origin, and how long the expressions of both are.
"""
import collections
import json
import os
import re
import statistics

import yaml

SUFFIXES = ["-vpol", "-mpol", "-gpol", "-cel"]
FIELDS = {"expression", "messageExpression", "valueExpression"}


def rewritten(row, folders):
    """The rewrites of a policy below one of the folders: the suffix of the sibling folder, and the file."""
    for folder in map(os.path.abspath, folders):
        below = os.path.relpath(os.path.abspath(row["file"]), folder)
        for suffix in SUFFIXES:
            path = os.path.join(folder + suffix, below)
            if not below.startswith("..") and os.path.exists(path):
                yield suffix, path


def expressions(value, key=None):
    """The texts of all expressions below a value."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from expressions(one, name)
    elif isinstance(value, list):
        for one in value:
            yield from expressions(one, key)
    elif isinstance(value, str) and key in FIELDS:
        yield value


def size(text):
    """How many characters all expressions of a file have; what lies between words and signs counts once."""
    documents = [one for one in yaml.safe_load_all(text) if isinstance(one, dict)]
    return sum(len(re.sub(r"\s+", " ", one).strip()) for document in documents for one in expressions(document))


def ratios(rows, folders):
    """For each policy that has a rewrite of the same engine or, without one, in `validate.cel`: the sizes of ours and of theirs."""
    found = []
    for row in rows:
        for _, path in list(rewritten(row, folders))[:1]:
            ours, theirs = size(row["text"]), size(open(path).read())
            if row["new"] and ours and theirs:
                found.append((row["policy"], ours, theirs))
    return found


def tables(rows, folders, answers):
    """The sections about rewrites, in Markdown; `answers`: the file that `twins.py` writes."""
    said = {os.path.abspath(one["file"]): one["answer"] for one in json.load(open(answers))}
    all_of = [(row, suffix, path) for row in rows for suffix, path in rewritten(row, folders)]
    differing = [one for one in all_of if said.get(os.path.abspath(one[2])) == "differs"]
    tally = collections.Counter(row["status"] for row, _, _ in differing)
    out = ["", "Rewrites by hand that [differ from their origin](twins.md), and what `ephor migrate` makes of the origin: "
           + ", ".join(f"{answer} {n}" for answer, n in tally.most_common()) + f"; {len(differing)} rewrites of {len({id(row) for row, _, _ in differing})} policies.", "",
           "| policy | differs | ours | open |", "|---|---|---|---|"]
    for row in rows:
        suffixes = [suffix for own, suffix, _ in differing if own is row]
        if suffixes:
            why = "; ".join([row["reason"] or "", *(one["construct"] if isinstance(one, dict) else str(one) for one in row["refused"])]).strip("; ")
            words = ", ".join(f"`{suffix}`" for suffix in suffixes)
            out.append(f"| `{row['policy']}` | {words} | {row['status']} | {why.replace('|', chr(92) + '|') if row['status'] != 'proved' else ''} |")
    sizes = ratios(rows, folders)
    if sizes:
        each = sorted(ours / theirs for _, ours, theirs in sizes)
        out += ["", f"Size of all expressions, in characters, ours to those of the sibling written by hand ({len(sizes)} policies): median {statistics.median(each):.2f}, "
                f"lower quartile {each[len(each) // 4]:.2f}, upper quartile {each[len(each) * 3 // 4]:.2f}."]
    return out
