#!/usr/bin/env python3
"""Counts the rows that the reference gives for every folder of the test suites.

KYVERNO=PATH conformance/reference/test_counts.py DIR > conformance/reference/test-counts.json

DIR holds `NAME.reference-passes.txt`, a list of folders of `DIR/NAME`. Only numbers are written:
{"NAME": {"FOLDER": ROWS}}. Each folder is run eight times: a number that varies is null (the reference adds rows at random
where it generates rules of ValidatingPolicies).
"""
import json
import os
import re
import subprocess
import sys

SUITES = ["kyverno-cli", "kyverno-policies"]


def rows(program, folder):
    """Rows of a folder, from the summary line."""
    ran = subprocess.run([program, "test", folder], capture_output=True, text=True, check=False)
    found = re.search(r"Test Summary: (\d+) tests passed and (\d+) tests failed", ran.stdout)
    if not found:
        sys.exit(f"{folder}: no summary: {ran.stderr}")
    return int(found[1]) + int(found[2])


def main():
    if len(sys.argv) != 2 or "KYVERNO" not in os.environ:
        sys.exit(__doc__)
    counts = {}
    for suite in SUITES:
        with open(os.path.join(sys.argv[1], f"{suite}.reference-passes.txt"), encoding="utf-8") as file:
            folders = file.read().split()
        counts[suite] = {}
        for folder in folders:
            path = os.path.join(sys.argv[1], suite, folder)
            found = {rows(os.environ["KYVERNO"], path) for _ in range(8)}
            counts[suite][folder] = found.pop() if len(found) == 1 else None
    json.dump(counts, sys.stdout, indent=1, sort_keys=True)
    print()


if __name__ == "__main__":
    main()
