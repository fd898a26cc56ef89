#!/usr/bin/env python3
"""Checks, or writes, what the cases of conformance/cases expect, by running the reference.

usage: ENGINEGOLD=PATH record.py [--write] [FILE_OR_FOLDER…]      (default: conformance/cases)

Without --write: prints every case whose `expect` is not what the reference answers, and ends with
exit code 1 if there is one. With --write: puts the reference's answer in its place; `expect` (or
`policyError`, `contextError`) must be the last key of a case, or missing. Cases that the reference
cannot answer are printed in both modes.
"""
import json
import os
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = ("patched", "generateError", "expect", "policyError", "contextError")
SHOWN = ("policy", "rule", "status", "message", "properties", "exceptions", "generated")


class Loader(yaml.SafeLoader):
    """Leaves dates as text."""


Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in found if tag != "tag:yaml.org,2002:timestamp"]
    for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def lines_for(document, case, name):
    """The line that the reference program reads."""
    line = {k: v for k, v in case.items() if k not in ANSWERS + ("name", "about")}
    if "policy" not in line and "policies" not in line:
        line.update({k: document[k] for k in ("policy", "policies") if k in document})
    return {**line, "id": name}


def run_reference(lines):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    run = subprocess.run([os.environ.get("ENGINEGOLD", "enginegold")], input=text, capture_output=True, text=True)
    answers = (json.loads(line) for line in run.stdout.splitlines())
    return {answer["id"]: answer for answer in answers}


def expectation(line, answer):
    """What the case has to have; None: no usable answer."""
    for key in ("policyError", "contextError"):
        if key in answer:
            return {key: answer[key]}
    if "rules" not in answer and ("loadError" in answer or "error" in answer):
        return None
    rules = [{k: rule[k] for k in SHOWN if k in rule} for rule in answer.get("rules") or []]
    if len(line.get("policies", [])) < 2:
        for rule in rules:
            rule.pop("policy", None)
    wanted = {"expect": rules}
    if "patched" in answer and answer["patched"] not in ("unchanged", line.get("resource")):
        wanted["patched"] = answer["patched"]
    if "generateError" in answer:
        wanted["generateError"] = answer["generateError"]
    return {key: wanted[key] for key in ANSWERS if key in wanted}


def quoted(value):
    return json.dumps(value, ensure_ascii=False)


def as_lines(key, value, indent):
    if key != "expect":
        return [f"{indent}{key}: {quoted(value)}"]
    if not value:
        return [f"{indent}expect: []"]
    out = [f"{indent}expect:"]
    for rule in value:
        parts = ", ".join(f"{k}: {v if k in ('rule', 'status', 'policy') and v.replace('-', '').isalnum() else quoted(v)}" for k, v in rule.items())
        out.append(f"{indent}- {{{parts}}}")
    return out


def replaced(text, edits):
    """The text with the answers of cases put in; an edit is (node of the case, answers)."""
    lines = text.split("\n")
    for node, wanted in sorted(edits, key=lambda e: -e[0].start_mark.line):
        indent = " " * node.start_mark.column
        last = node.end_mark.line
        start = next((k.start_mark.line for k, _ in node.value if k.value in ANSWERS), None)
        while last > node.start_mark.line and (last >= len(lines) or not lines[last - 1].strip() or lines[last - 1].lstrip().startswith("#")
                                              or lines[last - 1].startswith("---")):
            last -= 1
        lines[start if start is not None else last:last] = [one for key, value in wanted.items() for one in as_lines(key, value, indent)]
    return "\n".join(lines)


def main():
    arguments = sys.argv[1:]
    write = "--write" in arguments
    if "-h" in arguments or "--help" in arguments:
        print(__doc__)
        return 0
    given = [Path(a) for a in arguments if not a.startswith("-")] or [ROOT / "conformance/cases"]
    files = sorted(f for g in given for f in ([g] if g.is_file() else g.rglob("*.yaml")))
    total = wrong = 0
    for file in files:
        text = file.read_text()
        documents = list(yaml.load_all(text, Loader))
        nodes = list(yaml.compose_all(text, Loader))
        found = []
        for d, (document, node) in enumerate(zip(documents, nodes)):
            cases = next((v.value for k, v in node.value if k.value == "cases"), [])
            for c, (case, at) in enumerate(zip(document.get("cases") or [], cases)):
                found.append((case, at, lines_for(document, case, f"{d}.{c}")))
        answers = run_reference([line for _, _, line in found])
        edits = []
        for case, at, line in found:
            total += 1
            answer = answers.get(line["id"])
            wanted = expectation(line, answer) if answer else None
            if wanted is None:
                wrong += 1
                print(f"{file}: {case.get('name')}: no answer: {json.dumps(answer)}")
            elif {k: case[k] for k in ANSWERS if k in case} != wanted:
                wrong += 1
                edits.append((at, wanted))
                if not write:
                    print(f"{file}: {case.get('name')}: the reference says {json.dumps(wanted, ensure_ascii=False)}")
        if write and edits:
            file.write_text(replaced(text, edits))
    print(f"{total} cases, {wrong} {'written' if write else 'wrong'}")
    return 1 if wrong and not write else 0


if __name__ == "__main__":
    sys.exit(main())
