#!/usr/bin/env python3
"""Compares JMESPath with the reference: random expressions over random documents.

usage: JPGOLD=PATH [EPHOR=PATH] jmespath.py [--seed N] [--cases N] [--out FILE [--keep N]]

Generates --cases cases from the seed, runs the reference on each several times (answers that differ from
run to run, and cases without one, do not count), runs them through `ephor conformance`, and
prints how many were compared and every difference, shrunk. With --out the first --keep cases that were
compared are written as a recording. EPHOR defaults to target/release/ephor. Exit code 1: differences.
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOLD = os.environ.get("JPGOLD", "jpgold")
EPHOR = os.environ.get("EPHOR", str(ROOT / "target/release/ephor"))
# The reference walks small objects in an order that is seldom the other one.
TURNS = 90

# ---------------------------------------------------------------------------- running


def run_reference(cases):
    """The recorded form of what the reference answers, by id, when it always answers the same."""
    answers = {}
    for turn in range(TURNS):
        run = subprocess.run([GOLD], input="".join(json.dumps(c) + "\n" for c in cases).encode(),
                             capture_output=True, check=True)
        for line in run.stdout.decode().splitlines():
            answer = json.loads(line)
            got = recorded(answer)
            if turn == 0:
                answers[answer["id"]] = got
            elif answers.get(answer["id"]) != got:
                answers[answer["id"]] = None
        # Only what walks an object can have several answers.
        cases = [c for c in cases if answers[c["id"]] and re.search(r"\*|keys|values|merge", c["expression"])]
    return {k: v for k, v in answers.items() if v}


def recorded(answer):
    if "panic" in answer:
        return None
    if "marshal_error" in answer:
        return {"error": answer["marshal_error"]}
    if "error" in answer:
        # A caret under the expression is the business of the command line.
        return {"error": answer["error"].split("\n")[0] if answer["stage"] == "compile" else answer["error"]}
    return {"result": answer["result"]}


def run_ephor(cases):
    """Failing cases by id: (expected, got); `cases` hold what is expected."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "jmespath-random.jsonl")
        file.write_text("".join(json.dumps(c) + "\n" for c in cases))
        wrong = Path(folder, "wrong.jsonl")
        run = subprocess.run(
            [EPHOR, "conformance", folder, "--suite", "jmespath-random", "--failures", str(wrong)],
            capture_output=True, text=True)
        if f"/{len(cases)}" not in run.stdout:
            sys.exit(f"ephor: {run.stdout}{run.stderr}")
        lines = wrong.read_text().splitlines() if wrong.exists() else []
        return {f["id"]: f["got"] for f in map(json.loads, lines)}


# ---------------------------------------------------------------------------- documents

KEYS = ["a", "b", "c", "name", "labels", "items", "image", "n", "x-y", "é"]
WORDS = ["", "a", "b", "web", "nginx:1.2", "Ünï", "a,b,c", "true", "10", "1.5", "x<y&z", "日本", "A-b_c", "*", "we*", "a.b"]
NUMBERS = [0, 1, 2, 3, -1, 5, 10, 1.5, -2.5, 0.1, 100000, 1e6, 1e21, 1e-7, 123456789.125, 2**53]


def scalar(r):
    return r.choice([None, True, False, r.choice(WORDS), r.choice(WORDS), r.choice(NUMBERS), r.choice(NUMBERS)])


def document(r, depth=3):
    kind = r.random()
    if depth == 0 or kind < 0.2:
        return scalar(r)
    if kind < 0.3:
        return [r.choice(NUMBERS) for _ in range(r.randrange(4))]
    if kind < 0.4:
        return [r.choice(WORDS) for _ in range(r.randrange(4))]
    if kind < 0.6:
        return [document(r, depth - 1) for _ in range(r.randrange(4))]
    keys = r.sample(KEYS, r.randrange(1, 5))
    return {k: document(r, depth - 1) for k in keys}


def pod_like(r):
    one = lambda i: {"name": f"c{i}", "image": r.choice(WORDS), "n": r.choice(NUMBERS), "labels": {"a": r.choice(WORDS)}}
    items = [one(i) for i in range(r.randrange(4))]
    return {"items": items, "name": r.choice(WORDS), "a": document(r, 2), "n": r.choice(NUMBERS),
            "labels": {r.choice(KEYS): r.choice(WORDS) for _ in range(r.randrange(3))}}


# ---------------------------------------------------------------------------- expressions

TIMES = ["2024-01-02T03:04:05Z", "2020-05-06T07:08:09+02:00", "1999-12-31T23:59:60Z", "2024-02-30T00:00:00Z",
         "2024-01-02T03:04:05.123456789-07:00", "2020-05-06", "", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"]
DURATIONS = ["1h", "1h30m0s", "10m", "600s", "-1h", "1.5h", "0", "100ms", "2562047h47m16.854775807s", "1d", "", "168h", "1ns"]
QUANTITIES = ["1Gi", "500m", "1", "0", "1.5Gi", "100k", "1e3", "-1", "1n", "0.1", "10Ei", "1Ki", "5e-1", "x", "2.0"]
LAYOUTS = ["2006-01-02", "Jan 2, 2006", "15:04", "Mon Jan _2 15:04:05 2006", "", "2006-01-02T15:04:05Z07:00", "1", "02 Jan 06 15:04 MST", "3:04PM"]
STAMPS = ["2024-01-02", "Feb 3, 2021", "13:37", "Mon Jan  2 15:04:05 2006", "1700000000", "-5", "x", "02 Jan 06 15:04 UTC", "3:04PM", "2024-13-02"]
VERSIONS = ["1.2.3", "v1.2.3", "2.0.0-rc.1", "1.2", "0.0.0", "10.20.30+build", "1.2.03"]
RANGES = [">=1.0.0", ">1.2.3 <2.0.0", "1.x", "1.2.x || >=3.0.0", "!=1.2.3", "", "^1.0.0", ">=1.0", "<2.0.0", "=1.2.3"]
REGEXES = ["a", "^a", "[a-z]+", "(a)(b)?", "\\\\d+", "(?i)WEB", "b*", "[", "a{2}", "(?P<x>w)eb", "a**", "(?=a)", "\\\\bweb\\\\b",
           "[[:alpha:]]+", "x*", ".", "\\\\pL", "[^a-z]", "$", "a|b", "\\\\.", "(", "a{1001}", "\\\\Qa.b\\\\E", "[a&&b]", "\\\\x{e9}"]
TEMPLATES = ["-", "$1", "${x}", "$0$0", "$$", "$1x", "${", "[$2]"]
IMAGES = ["nginx", "nginx:1.2", "ghcr.io/a/b@sha256:" + "a" * 64, "localhost/x", "localhost:5000/x:1", "A/b", "a/B", "docker.io/library/x", "", "x:y:z"]
PATHS = ["/a/b/../c", "a//b", "./x", "", "/..", "../a/..", "/a/./", "~"]
YAMLS = ["a: 1", "y: yes", "- 1\\n- 0x10\\n- 1e3", "[a, b", "a: &x 1\\nb: *x", "x: 012\\nz: ~", "{}", "a: b: c", "'", "1: a"]
JSONS = ["{\"a\":1}", "[1,2", "1e400", "\"x\"", "nul", "[1,]", "{\"a\":1,\"a\":2}", " 1 ", "\"\\\\u00e9\"", "01"]
BASE64 = ["YQ==", "YQ", "YWJjYQ", "====", "", "w6k=", "YR==", "Y Q=="]
URLS = ["http://127.0.0.1/x", "https://10.0.0.1:8443", "http://8.8.8.8", "http://[::1]/", "x:y", "http://[fe80::1]:1", "http://1.2.3.4:http", "//192.168.1.1"]
PATTERNS = ["*", "?", "we*", "*b", "w?b", "", "a*c*", "nginx:*"]


def quoted(text):
    return "'" + text.replace("'", "\\'") + "'"


def text(r, pool):
    return quoted(r.choice(pool).replace("\\\\", "\\").replace("\\n", "\n"))


# Arguments of each function; a name stands for an expression of that type, a list for texts.
FUNCTIONS = {
    "abs": ["number"], "avg": ["numbers"], "ceil": ["number"], "contains": ["sized", "any"], "ends_with": ["string", "string"],
    "floor": ["number"], "join": ["string", "strings"], "keys": ["object"], "length": ["sized"], "map": ["expref", "array"],
    "max": ["sortable"], "max_by": ["array", "expref"], "merge": ["object", "object"], "min": ["sortable"],
    "min_by": ["array", "expref"], "not_null": ["any", "any"], "reverse": ["sized"], "sort": ["sortable"],
    "sort_by": ["array", "expref"], "starts_with": ["string", "string"], "to_array": ["any"], "to_number": ["any"],
    "to_string": ["any"], "type": ["any"], "values": ["object"],
    "add": ["operand", "operand"], "subtract": ["operand", "operand"], "multiply": ["operand", "operand"],
    "divide": ["operand", "operand"], "modulo": ["operand", "operand"], "sum": ["operands"], "round": ["number", "number"],
    "base64_decode": [BASE64], "base64_encode": ["string"], "compare": ["string", "string"], "equal_fold": ["string", "string"],
    "image_normalize": [IMAGES], "is_external_url": [URLS], "items": ["container", "string", "string"],
    "label_match": ["object", "object"], "lookup": ["container", "scalar"], "md5": ["string"],
    "object_from_lists": ["array", "array"], "parse_json": [JSONS], "parse_yaml": [YAMLS], "path_canonicalize": [PATHS],
    "pattern_match": [PATTERNS, "scalar"], "regex_match": [REGEXES, "scalar"],
    "regex_replace_all": [REGEXES, "scalar", TEMPLATES], "regex_replace_all_literal": [REGEXES, "scalar", TEMPLATES],
    "replace": ["string", "string", "string", "number"], "replace_all": ["string", "string", "string"],
    "semver_compare": [VERSIONS, RANGES], "sha1": ["string"], "sha256": ["string"], "split": ["string", "string"],
    "time_add": [TIMES, DURATIONS], "time_after": [TIMES, TIMES], "time_before": [TIMES, TIMES],
    "time_between": [TIMES, TIMES, TIMES], "time_diff": [TIMES, TIMES], "time_parse": [LAYOUTS, STAMPS],
    "time_since": [LAYOUTS, STAMPS, ["2024-01-02", "13:38", "Feb 4, 2021"]], "time_to_cron": [TIMES],
    "time_truncate": [TIMES, DURATIONS], "time_utc": [TIMES], "to_boolean": ["string"], "to_lower": ["string"],
    "to_upper": ["string"], "trim": ["string", "string"], "trim_prefix": ["string", "string"], "truncate": ["string", "number"],
}
RESULTS = {
    "number": ["abs", "ceil", "floor", "length", "round", "to_number"],
    "string": ["join", "to_string", "type", "replace_all", "to_upper", "trim", "truncate", "base64_encode", "time_utc"],
    "array": ["keys", "values", "map", "sort", "sort_by", "reverse", "split", "to_array", "items"],
    "object": ["merge", "object_from_lists"],
    "bool": ["contains", "starts_with", "regex_match", "pattern_match", "label_match", "semver_compare"],
}


class Generator:
    def __init__(self, r, doc):
        self.r, self.doc = r, doc

    def pick(self, *options):
        return self.r.choice(options)

    def key(self):
        k = self.r.choice(KEYS if self.r.random() < 0.9 else ["missing", "zz"])
        return k if k.isascii() and k.isalnum() else json.dumps(k, ensure_ascii=self.r.random() < 0.5)

    def keys_of(self, doc):
        """A path that leads somewhere, most of the time."""
        path, r = [], self.r
        while isinstance(doc, (dict, list)) and r.random() < 0.75:
            if isinstance(doc, list):
                step = r.choice(["[0]", "[-1]", "[1]", "[*]", "[]", f"[{r.randrange(-3, 3)}:]", "[::-1]", "[:2]"])
                path.append(step)
                doc = doc[0] if doc else None
            else:
                if not doc:
                    break
                k = r.choice(sorted(doc))
                path.append("." + (k if k.isascii() and k.isalnum() else json.dumps(k)))
                doc = doc[k]
        return ("".join(path)).removeprefix(".") or "@"

    def literal(self, kind=None):
        r = self.r
        if kind == "number":
            return "`" + json.dumps(r.choice(NUMBERS)) + "`"
        if kind == "string":
            return quoted(r.choice(WORDS))
        value = document(r, 2) if kind is None else kind
        return "`" + json.dumps(value, ensure_ascii=r.random() < 0.5).replace("`", "\\`") + "`"

    def of(self, kind, depth):
        r = self.r
        if isinstance(kind, list):
            return text(r, kind)
        if r.random() < 0.06:
            return self.expression(depth - 1)
        if kind == "expref":
            return "&" + self.expression(min(depth - 1, 1))
        if depth > 0 and r.random() < 0.3 and kind in RESULTS:
            return self.call(depth - 1, r.choice(RESULTS[kind]))
        if r.random() < 0.15:
            return self.path()
        if kind in ("number", "string"):
            return self.literal(kind)
        if kind == "scalar":
            return self.literal(r.choice(["number", "string"]))
        if kind == "numbers":
            return self.literal([r.choice(NUMBERS) for _ in range(r.randrange(4))])
        if kind == "strings":
            return self.literal([r.choice(WORDS) for _ in range(r.randrange(4))])
        if kind == "sortable":
            return self.of(r.choice(["numbers", "strings"]), depth)
        if kind == "operand":
            return self.pick(text(r, QUANTITIES), text(r, DURATIONS), self.literal("number"), text(r, QUANTITIES))
        if kind == "operands":
            pool = r.choice([QUANTITIES, DURATIONS, NUMBERS])
            return self.literal([r.choice(pool) for _ in range(r.randrange(1, 4))])
        if kind == "object":
            return self.pick(self.literal({k: scalar(r) for k in r.sample(KEYS, r.randrange(3))}), self.path(), "@")
        if kind == "array":
            objects = [{"a": r.choice(NUMBERS), "b": r.choice(WORDS)} for _ in range(r.randrange(4))]
            return self.pick(self.literal(objects), self.path(), self.path(), self.literal(document(r, 1)))
        if kind == "sized":
            return self.of(r.choice(["string", "array", "object"]), depth)
        if kind == "container":
            return self.of(r.choice(["array", "object"]), depth)
        return self.expression(depth - 1)

    def path(self):
        if self.r.random() < 0.75:
            return self.keys_of(self.doc)
        return ".".join(self.key() for _ in range(self.r.randrange(1, 4)))

    def call(self, depth, name=None):
        r = self.r
        name = name or r.choice(sorted(FUNCTIONS))
        args = [self.of(kind, depth) for kind in FUNCTIONS[name]]
        if r.random() < 0.03:
            args = args[:-1] if r.random() < 0.5 else args + ["@"]
        if r.random() < 0.02:
            name = r.choice(["nosuch", "lenght", "Abs", "'length'"])
        return f"{name}({self.pick(', ', ',', ' , ', ', ').join(args)})"

    def expression(self, depth):
        r = self.r
        if depth <= 0:
            return r.choice([self.path, self.path, self.key, self.literal, lambda: "@"])()
        below = lambda: self.expression(depth - 1)
        return r.choice([
            self.path, self.path, self.call_here(depth), self.call_here(depth), self.call_here(depth), self.literal,
            lambda: f"{below()}.{self.key()}",
            lambda: f"{below()}[{r.randrange(-3, 4)}]",
            lambda: f"{below()}[{self.pick('', '0', '1', '-1', '-9')}:{self.pick('', '2', '-1', '9')}{self.pick('', ':', ':2', ':-1', ':0')}]",
            lambda: f"{below()}{self.pick('[*]', '[]', '.*')}{self.tail(depth)}",
            lambda: f"{below()}[?{below()}]{self.tail(depth)}",
            lambda: f"*{self.tail(depth)}",
            lambda: f"{below()} | {below()}",
            lambda: f"{below()} | {below()}",
            lambda: f"{below()} || {below()}",
            lambda: f"{below()} && {below()}",
            lambda: f"!{below()}",
            lambda: f"({below()})",
            lambda: f"{below()} {self.pick('==', '!=', '<', '<=', '>', '>=')} {below()}",
            lambda: f"[{', '.join(below() for _ in range(r.randrange(1, 3)))}]",
            lambda: "{" + ", ".join(f"{self.key()}: {below()}" for _ in range(r.randrange(1, 3))) + "}",
            lambda: f"{below()}.[{below()}]",
            lambda: f"{below()}.{{{self.key()}: {below()}}}",
            lambda: self.sorting(depth),
        ])()

    def sorting(self, depth):
        """Lists that are sorted where they stand, and expressions that read them before and after."""
        r = self.r
        key = lambda: "&" + r.choice(["a", "n", "name", "b", "@", "length(@)", "[0]", "labels.a"])
        sort = lambda: f"sort_by({self.pick(self.path(), self.path(), '@', 'items', 'items[*]', self.literal([3, 1, 2]))}, {key()})"
        look = lambda: self.pick(self.path(), "@", "items", "items[0]", f"to_string({self.path()})", f"{sort()}[0]",
                                 f"{self.path()} == {sort()}", "*", f"map({key()}, {sort()})", f"{sort()} | [0]")
        parts = [r.choice([look, sort])() for _ in range(r.randrange(1, 5))]
        return f"{self.pick('', '', self.path() + ' | ')}[{', '.join(parts)}]"

    def call_here(self, depth):
        return lambda: self.call(depth)

    def tail(self, depth):
        return self.pick("", "", f".{self.key()}", "[0]", f"[?{self.expression(min(depth - 1, 1))}]", "[]", ".*",
                         f".[{self.expression(min(depth - 1, 1))}]", f".{self.call(min(depth - 1, 1))}", "[*]")


MARKS = list("[]{}()|&!<>=.,:*@?`'\"-_ 0a#\\é~")


def damaged(r, expression):
    """Some expressions are no expressions."""
    out = list(expression)
    for _ in range(r.randrange(1, 3)):
        at = r.randrange(len(out) + 1)
        what = r.randrange(3)
        if what == 0 or not out:
            out.insert(at, r.choice(MARKS))
        elif what == 1:
            del out[min(at, len(out) - 1)]
        else:
            out = out[:at] if r.random() < 0.3 else out[:at] + [r.choice(MARKS)] + out[at + 1:]
    return "".join(out)


def make(seed, number):
    r = random.Random(f"{seed}/{number}")
    doc = pod_like(r) if r.random() < 0.4 else document(r)
    expression = Generator(r, doc).expression(r.randrange(1, 4))
    if r.random() < 0.12:
        expression = damaged(r, expression)
    return {"id": f"{seed}-{number}", "input": doc, "expression": expression}


# ---------------------------------------------------------------------------- shrinking


def smaller(case):
    """Cases with a piece less."""
    e, doc = case["expression"], case["input"]
    size = max(1, len(e) // 2)
    while size:
        for at in range(0, len(e), size):
            yield {**case, "expression": e[:at] + e[at + size:]}
        size //= 2
    yield {**case, "input": None}
    if isinstance(doc, dict):
        for k in doc:
            yield {**case, "input": {x: v for x, v in doc.items() if x != k}}
            yield {**case, "input": doc[k]}
    if isinstance(doc, list):
        for i in range(len(doc)):
            yield {**case, "input": doc[:i] + doc[i + 1:]}


def compare(cases):
    """How many were compared, and the differing cases as (case, expected, got)."""
    answers = run_reference(cases)
    known = [{**c, **answers[c["id"]]} for c in cases if c["id"] in answers]
    wrong = run_ephor(known) if known else {}
    return known, [(c, answers[c["id"]], wrong[c["id"]]) for c in known if c["id"] in wrong]


def shrink(case):
    best = None
    for _ in range(12):
        tries = [{**c, "id": str(i)} for i, c in enumerate(smaller(case))]
        _, wrong = compare(tries)
        wrong = [w for w in wrong if len(json.dumps(w[0])) < len(json.dumps(case)) + 8]
        if not wrong:
            break
        best = min(wrong, key=lambda w: len(w[0]["expression"]) + len(json.dumps(w[0]["input"])))
        case = {k: best[0][k] for k in ("id", "input", "expression")}
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--out")
    parser.add_argument("--keep", type=int, default=1000)
    parser.add_argument("--show", type=int, default=12, help="differences to shrink and print")
    options = parser.parse_args()
    known, wrong = compare([make(options.seed, i) for i in range(options.cases)])
    for case, expected, got in wrong[:options.show]:
        case, expected, got = shrink(case) or (case, expected, got)
        print(json.dumps({"expression": case["expression"], "input": case["input"]}, ensure_ascii=False))
        print("  reference", json.dumps(expected, ensure_ascii=False)[:600])
        print("  ephor    ", json.dumps(got, ensure_ascii=False)[:600])
    print(f"{len(known)} compared of {options.cases}, {len(wrong)} differ")
    if options.out:
        lines = [json.dumps(c, ensure_ascii=False, sort_keys=True) + "\n" for c in known[:options.keep]]
        Path(options.out).write_text("".join(lines))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
