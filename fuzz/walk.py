#!/usr/bin/env python3
"""Walks at random over the commands of the program: options as `--help` names them, inputs of the corpus.

    fuzz/walk.py target/debug/ephor --runs 2000 --seed 1
    fuzz/walk.py target/debug/ephor --seed 1 --first 812 --runs 1 --keep    # repeats a run, and leaves its folder

Every run has a seed of its own (`--seed` and its number), takes place in an empty folder below a temporary one, and holds when

- the program ends by itself: no signal, no panic, within the limit of time;
- it says something: a success without output and without a written file is a fault, and so is a failure without a reason;
- every command that it suggests (`why:`, `reproduce:`, commands in backticks) runs in a shell, is no error of usage, and says the same;
- with `--threads 1` and `--threads 4` it prints the same bytes (a part of the runs).

Faults are printed, a line of JSON each, and counted by kind at the end; the exit code is 1 when there is one. Commands that need a cluster, a network
or a person are left out (`LEFT_OUT`, `NETWORK`). The public suites of --suites are inputs, too.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Commands that run until they are stopped, that run recorded suites for minutes, or print pages about the program.
LEFT_OUT = {"serve", "help", "conformance"}
# Options that reach a cluster or a network, or wait for a change of a file.
NETWORK = {"--cluster", "--context", "--kubeconfig", "--registry", "--git-branch", "--username", "--password", "--watch", "--apply", "--remove",
           "--scale-down", "--take-over", "--continue-on-error", "--namespace-of-cluster", "--help", "--cluster-wide-resources"}
# Options that are the purpose of an output without a word.
SILENT = {"--quiet", "--only-failures", "--output", "-o", "--out", "--report-file", "--coverage-file"}
LIMIT = 60
EXPRESSIONS = ["object.metadata.name == 'a'", "metadata.name", "length(@)", "items[?a=='b']", "1 +", "'x'", "object.spec.containers.all(c, c.image != '')",
               "to_upper(metadata.name)", "{{ request.object }}", "", "size(object)", "spec.containers[].image", "time_now()", "@"]
WORDS = ["a", "need-team", "Pod", "default", "r", "v1", "app=web", "x y", "it's", "", "-", "*", "9", "kyverno"]


class Options:
    """An option of a command: its names, its placeholder, its possible values."""

    def __init__(self, names, value, text):
        self.names, self.value, self.text = names, value, text
        found = re.search(r"\[possible values:\s+([^\]]*)\]", text)
        self.values = re.split(r",\s+", found[1].strip()) if found else []

    @property
    def long(self):
        return next((name for name in self.names if name.startswith("--")), self.names[0])


def help_of(program, path):
    text = subprocess.run([program, *path, "--help"], capture_output=True, text=True, timeout=60).stdout
    commands = []
    if found := re.search(r"(?ms)^Commands:\n(.*?)(?:^\S|\Z)", text):
        commands = re.findall(r"^  ([a-z][\w-]*)", found[1], re.M)
    if not path:
        commands = re.findall(r"^  ([a-z][\w-]*)  ", text, re.M)
    options = []
    for found in re.finditer(r"(?m)^ {2,6}((?:-\w, )?--[\w-]+|-\w)(?: <([^>]*)>(?:\.\.\.)?)?(?:$|  )(.*(?:\n {12,}.*)*)", text):
        value, rest = found[2], found[3]
        options.append(Options(found[1].split(", "), value, re.sub(r"\s+", " ", rest)))
    usage = re.search(r"(?m)^Usage:\n  ephor (.*)$", text)
    places = re.findall(r"(\[?<?)([A-Z][A-Z_]*)>?\]?(\.\.\.)?", re.sub(r"\[OPTIONS\]|\[COMMAND\]", "", usage[1])) if usage else []
    return commands, options, [(name, opening.startswith("["), bool(dots)) for opening, name, dots in places]


def grammar(program, path=()):
    commands, options, places = help_of(program, path)
    if not path or commands:
        return [leaf for name in commands if path or name not in LEFT_OUT for leaf in grammar(program, (*path, name))]
    return [(path, [o for o in options if o.long not in NETWORK], places)]


class Pool:
    """The inputs: files and folders by what they are."""

    def __init__(self, suites, folder):
        self.folder = folder
        of = self.of = collections.defaultdict(list)
        trees = [ROOT / "policies", ROOT / "examples"]
        if suites:
            trees += [suites / "kyverno-policies", suites / "kyverno-cli"]
        for tree in trees:
            for path in sorted(tree.rglob("*.y*ml")):
                self.sort(path)
            tests = sorted({path.parent for path in tree.rglob("kyverno-test.yaml")})
            of["tests"] += tests
            of["folders"] += sorted({(t.parent if t.name == ".kyverno-test" else t) for t in tests})
        of["json"] += sorted((ROOT / "conformance").rglob("*.json*"))[:20]
        for path in sorted((ROOT / "conformance/cases").rglob("*.yaml")):
            self.case(path)
        made = folder / "made"
        made.mkdir()
        for name, content in {
            "empty.yaml": b"", "comment.yaml": b"# nothing\n", "separators.yaml": b"---\n---\n", "broken.yaml": b"a: [1, {b: 2\n", "tabs.yaml": b"a:\n\t- b\n",
            "list.yaml": b"[1, 2]\n", "text.yaml": b"just a text\n", "bytes.yaml": bytes(range(256)), "no-kind.yaml": b"metadata: {name: a}\n",
            "half.yaml": b"apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: h}\nspec: {rules: [{name: r}]}\n",
            "no-rules.yaml": b"apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: h}\nspec: {}\n",
            "types.yaml": b"apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: [h]}\nspec: {rules: {}}\n",
            "cel.yaml": b"apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: h}\nspec: {validations: [{expression: '1 +'}]}\n",
            "values.yaml": b"apiVersion: cli.kyverno.io/v1alpha1\nkind: Values\nglobalValues: {request.operation: UPDATE}\n",
            "user.yaml": b"apiVersion: cli.kyverno.io/v1alpha1\nkind: UserInfo\nclusterRoles: [admin]\nuserInfo: {username: molly}\n",
            "object.json": b'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "a:latest"}]}}\n',
            "kyverno-test.yaml": b"apiVersion: cli.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\npolicies: [none.yaml]\nresources: []\nresults: []\n",
        }.items():
            (made / name).write_bytes(content)
            of["odd"].append(made / name)
        (made / "nothing").mkdir()
        of["odd"] += [made / "nothing", ROOT / "README.md"]
        of["values"].append(made / "values.yaml")
        of["users"].append(made / "user.yaml")
        of["json"].append(made / "object.json")

    def sort(self, path):
        text = path.read_text(errors="replace")
        kinds = re.findall(r"(?m)^kind: *[\"']?(\w+)", text)
        if path.stat().st_size > 200_000 or not kinds:
            return
        kind = kinds[0]
        of = {"Values": "values", "UserInfo": "users", "Test": "test-files", "Context": "contexts", "PolicyException": "exceptions",
              "CustomResourceDefinition": "definitions"}.get(kind)
        is_policy = kind.endswith("Policy") and "olicies" not in kind or kind.endswith("PolicyBinding")
        self.of[of or ("policies" if is_policy else "resources")].append(path)

    def case(self, path):
        """A case of conformance/cases has a policy and objects in one document."""
        for number, case in enumerate(yaml.safe_load_all(path.read_text())):
            if not isinstance(case, dict) or "policy" not in case:
                continue
            stem = self.folder / f"{path.parent.name}-{path.stem}-{number}"
            policy, resources = stem.with_suffix(".policy.yaml"), stem.with_suffix(".objects.yaml")
            policy.write_text(yaml.safe_dump(case["policy"]))
            objects = [c["resource"] for c in case.get("cases", []) if isinstance(c.get("resource"), dict)]
            resources.write_text("---\n".join(yaml.safe_dump(o) for o in objects))
            self.of["policies"].append(policy)
            self.of["resources"].append(resources)
            self.of["pairs"].append((policy, resources))


class Walk:
    def __init__(self, program, leaves, pool, seed, show=False):
        self.program, self.leaves, self.pool, self.seed, self.show = program, leaves, pool, seed, show

    def draw(self, number, folder):
        """The arguments of a run; its inputs are copied into the folder."""
        rng = random.Random(f"{self.seed}/{number}")
        path, options, places = rng.choice(self.leaves)
        # Commands that evaluate have most of the code behind them.
        if rng.random() < 0.5:
            path, options, places = rng.choice([leaf for leaf in self.leaves if leaf[0][0] in MAIN])
        self.count = 0
        pair = self.pair(rng)
        args, positional = [], []
        for name, optional, many in places:
            if optional and rng.random() < 0.1:
                continue
            for _ in range(rng.choice([1, 1, 1, 2, 3]) if many else 1):
                positional.append(self.place(rng, folder, path, name, pair))
        chosen = [o for o in options if rng.random() < 0.12]
        wanted = {"apply": ["--resource"], "explain": ["--resource"]}.get(path[0], [])
        if rng.random() < 0.85:
            chosen += [o for o in options if o.long in wanted and o not in chosen]
        if path[0] == "apply" and rng.random() < 0.4:
            chosen = [o for o in chosen if o.long not in ("--output-format", "--table", "--policy-report", "--generate-exceptions")]
            args += ["--output-format", "text"]
        for option in chosen:
            name = rng.choice(option.names)
            if option.value is None:
                args.append(name)
            else:
                args += [name, self.value(rng, folder, path, option, pair)]
        # Most comparisons end within a second; those that do not are no faults.
        is_compared = any(o.long == "--threads" for o in options) and "--threads" not in args and rng.random() < 0.25
        if is_compared and "--time-limit" in args:
            # What is done until a time depends on how many do it.
            at = args.index("--time-limit")
            del args[at:at + 2]
        elif any(o.long == "--time-limit" for o in options) and "--time-limit" not in args and not is_compared:
            args += ["--time-limit", "2s"]
        if any(o.long == "--objects" and "evaluated" in o.text for o in options) and "--objects" not in args:
            args += ["--objects", "500"]
        if "-" in positional and rng.random() < 0.5:
            positional = [p for p in positional if p != "-"] or positional
        words = [*path, *positional, *args] if rng.random() < 0.8 else [*path, *args, *positional]
        stdin = b"" if rng.random() < 0.5 else self.one(rng, "policies", "resources", "odd").read_bytes_or_empty()
        if path[-1] == "repl":
            stdin = "\n".join(rng.sample(EXPRESSIONS, 5)).encode()
        return words, stdin, is_compared

    def pair(self, rng):
        if rng.random() < 0.5:
            return rng.choice(self.pool.of["pairs"])
        test = rng.choice(self.pool.of["tests"])
        near = [p for p in [*test.glob("*.y*ml"), *test.parent.glob("*.y*ml")] if p.is_file()]
        policies = [p for p in near if p in self.policies] or [rng.choice(self.pool.of["policies"])]
        objects = [p for p in near if p in self.resources] or [rng.choice(self.pool.of["resources"])]
        return rng.choice(sorted(policies)), rng.choice(sorted(objects))

    @property
    def policies(self):
        self._policies = getattr(self, "_policies", None) or set(self.pool.of["policies"])
        return self._policies

    @property
    def resources(self):
        self._resources = getattr(self, "_resources", None) or set(self.pool.of["resources"])
        return self._resources

    def one(self, rng, *kinds):
        kinds = [kind for kind in kinds if self.pool.of[kind]]
        return Source(rng.choice(self.pool.of[rng.choice(kinds)]))

    def copied(self, rng, folder, source):
        """The name of a copy of an input in the folder of the run."""
        source = pathlib.Path(source)
        self.count += 1
        stem = rng.choice(["in", "in", "in", "my in", "o'in", "dir/in"]) + str(self.count)
        name = stem if source.is_dir() else stem + source.suffix
        if source.name in ("kyverno-test.yaml",):
            name = f"t{self.count}/{source.name}"
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            shutil.copyfile(source, target)
        return name

    def input(self, rng, folder, likely, *more):
        chance = rng.random()
        if chance < 0.75 and likely:
            return self.copied(rng, folder, likely)
        if chance < 0.9:
            return self.copied(rng, folder, self.one(rng, *more, "odd").path)
        if chance < 0.96:
            return self.copied(rng, folder, self.one(rng, "policies", "resources", "values", "folders", "tests", "odd", "json").path)
        return rng.choice(["none.yaml", "-", ".", "none/", "", "*.yaml"])

    def place(self, rng, folder, path, name, pair):
        command = path[0]
        if command in ("jp", "cel") and name.startswith(("EXPR", "QUERY", "CEL")):
            return rng.choice(EXPRESSIONS)
        if name == "FOLDER":
            return self.input(rng, folder, self.one(rng, "tests", "folders").path, "folders")
        if name == "GROUP":
            return rng.choice(["kyverno.io", "policies.kyverno.io", "wgpolicyk8s.io", "openreports.io", "x"])
        if name == "SHELL":
            return rng.choice(["bash", "elvish", "fish", "powershell", "zsh", "sh"])
        if name in ("A", "B", "OLD", "NEW"):
            return self.input(rng, folder, pair[0] if rng.random() < 0.7 else self.one(rng, "policies").path, "policies", "folders")
        if name in ("POLICY", "FILE", "PATH", "DIR"):
            if path == ("fix", "test"):
                return self.input(rng, folder, self.one(rng, "tests", "test-files").path, "test-files")
            if command in ("jp", "cel"):
                return self.input(rng, folder, pair[1], "json", "resources")
            return self.input(rng, folder, pair[0], "policies", "folders")
        return rng.choice(WORDS + EXPRESSIONS)

    def value(self, rng, folder, path, option, pair):
        if option.values and rng.random() < 0.95:
            return rng.choice(option.values)
        is_written = re.search(r"\b(for|output|folder for|store)\b", option.text) and not re.search(r"^files? with", option.text)
        kinds = {"--resource": "resources", "--target-resource": "resources", "--exception": "exceptions", "--values-file": "values", "--userinfo": "users",
                 "--context-file": "contexts", "--crd-paths": "definitions", "--definition": "definitions", "--json": "json", "--from": "resources"}
        if option.long in kinds:
            likely = pair[1] if option.long in ("--resource", "--from") else self.one(rng, kinds[option.long], "odd").path
            return self.input(rng, folder, likely, kinds[option.long])
        if option.value in ("FILE", "PATH", "DIR", "FOLDER"):
            if is_written:
                return rng.choice(["out", "out/", "out.yaml", "new dir/out", "none/below/out.json", "."])
            return self.input(rng, folder, pair[1], "resources", "policies")
        return {
            "NAME=VALUE": lambda: rng.choice(["a=b", "request.operation=UPDATE", "x", "=", "a=b,c=d", "limit=5"]),
            "DURATION": lambda: rng.choice(["1s", "0", "1h", "x", "-1s"]),
            "NUMBER": lambda: rng.choice(["0", "1", "2", "7", "-1", "x"]),
            "PERCENT": lambda: rng.choice(["0", "50", "100", "101", "x"]),
            "SECONDS": lambda: rng.choice(["1", "10", "31", "x"]),
            "PORT": lambda: rng.choice(["443", "0", "70000"]),
            "LEVEL": lambda: rng.choice(["0", "1", "4", "x"]),
        }.get(option.value, lambda: rng.choice(WORDS))()

    def run(self, number, scratch, keep=False):
        """The faults of a run."""
        folder = scratch / f"{self.seed}-{number}"
        folder.mkdir()
        try:
            return self.checked(number, folder)
        finally:
            if not keep:
                shutil.rmtree(folder, ignore_errors=True)

    def checked(self, number, top):
        folder, second = top / "a", top / "b"
        folder.mkdir()
        words, stdin, is_compared = self.draw(number, folder)
        if is_compared:
            shutil.copytree(folder, second)
        before = contents(folder)
        ran = start([self.program, *words], folder, stdin)
        if self.show:
            print(f"{number}: {ran.code} {shlex.join(words)}", file=sys.stderr)
        fault = lambda kind, **more: {"kind": kind, "number": number, "command": shlex.join(["ephor", *words]), "code": ran.code,
                                      "out": ran.out[-600:], "err": ran.err[-600:], **more}
        faults = []
        if ran.code is None:
            return [fault("hang")]
        if ran.code == 101 or ran.code < 0 or "panicked at" in ran.err:
            return [fault("panic")]
        written = contents(folder) != before
        is_silent = not ran.out.strip() and not ran.err.strip() and not written
        if is_silent and ran.code == 0 and not SILENT & set(words):
            faults.append(fault("empty success"))
        if is_silent and ran.code != 0:
            faults.append(fault("failure without a reason"))
        if is_compared:
            # What the first run wrote would be in the way of the others.
            runs = []
            for threads in ("1", "4"):
                copy = top / f"t{threads}" / "a"
                shutil.copytree(second, copy)
                runs.append((start([self.program, *words, "--threads", threads], copy, stdin), contents(copy)))
            (one, files), (four, others) = runs
            if None in (one.code, four.code):
                pass  # the machine was busy
            elif (one.code, timeless(one.out), timeless(one.err)) != (four.code, timeless(four.out), timeless(four.err)):
                faults.append(fault("threads differ", four=[four.code, four.out[-600:], four.err[-600:]]))
            elif {k: timeless(v) for k, v in files.items()} != {k: timeless(v) for k, v in others.items()}:
                faults.append(fault("threads write different files"))
        for command in suggested(ran):
            self.replayed += 1
            again = start(["sh", "-c", command], folder, b"")
            why = replay_fault(command, again, ran)
            if why:
                faults.append(fault("suggestion: " + why, suggestion=command, again=[again.code, again.out[-600:], again.err[-600:]]))
        return faults

    replayed = 0


MAIN = {"apply", "test", "lint", "explain", "diff", "fix", "migrate", "implies", "equivalent"}


class Source:
    def __init__(self, path):
        self.path = pathlib.Path(path)

    def read_bytes_or_empty(self):
        return self.path.read_bytes() if self.path.is_file() else b""


class Ran:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out.decode(errors="replace"), err.decode(errors="replace")


def start(words, folder, stdin):
    env = {"PATH": f"{SHIMS}:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"}
    try:
        child = subprocess.Popen(words, cwd=folder, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    except (OSError, ValueError) as error:
        return Ran(0, f"not started: {error}".encode(), b"")
    try:
        out, err = child.communicate(stdin, timeout=LIMIT)
        return Ran(child.returncode, out, err)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        out, err = child.communicate()
        return Ran(None, out, err)


def contents(folder):
    return {str(p.relative_to(folder)): p.read_text(errors="replace") if p.is_file() else None for p in sorted(folder.rglob("*"))}


def timeless(text):
    """A text without what differs from run to run: how long it took, when it was, and names by chance."""
    text = re.sub(r"\b\d+(\.\d+)?\s?(ms|s|seconds)\b", "TIME", text or "")
    text = re.sub(r'"(seconds|duration|time|elapsed)":\s*"?[\d.]+"?', "TIME", text)
    return re.sub(r"time(stamp)?=\"[^\"]*\"|\d{4}-\d\d-\d\dT[\d:.]+Z?|seconds: \d+|\"milliseconds\": \d+", "TIME", text)


def suggested(ran):
    """The commands that an output suggests; those with placeholders are none."""
    found = []
    # A document of another program repeats texts of policies, which may hold commands.
    for text in (ran.out, ran.err):
        found += re.findall(r"(?m)^\s*(?:why|reproduce|again):\s+((?:\S+.* \| *)?(?:ephor|kyverno) .*)$", text)
        found += re.findall(r"`(ephor [^`\n]+)`", text)
    plain = [c for c in dict.fromkeys(found) if not re.search(r"(?<![\w./=-])(?:[A-Z]{3,}|COMMAND|…)(?![\w./'-])|\.\.\.", re.sub(r"'[^']*'", "", c))]
    is_left_out = lambda c: c.split()[1] in LEFT_OUT if len(c.split()) > 1 else True
    return [c for c in plain if not is_left_out(c)][:6]


def replay_fault(command, again, first):
    """What is wrong with the answer of a command that was suggested."""
    if again.code is None:
        return "hangs"
    if again.code == 101 or again.code < 0 or "panicked at" in again.err:
        return "panics"
    if again.code == 127 or re.search(r"(?m)unexpected argument|unrecognized subcommand|required arguments|invalid value|Syntax error|^sh: |no such (policy )?file", again.err):
        return "cannot be run"
    if again.code in (2, 64) and command.startswith("ephor explain"):
        return "error of usage"
    if command.startswith("ephor explain") and " -r " in command and not re.search(r": (fail|error|warn)\b", again.out):
        return "says something else"
    if not again.out.strip() and not again.err.strip():
        return "says nothing"
    return None


def main():
    global SHIMS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    suites = pathlib.Path(os.environ.get("EPHOR_CONFORMANCE") or ROOT / "conformance/data")
    parser.add_argument("--suites", type=pathlib.Path, default=suites, help="folder of the public suites (EPHOR_CONFORMANCE)")
    parser.add_argument("--show", action="store_true", help="print each command with its exit code")
    parser.add_argument("--keep", action="store_true", help="leave the folders of the runs")
    args = parser.parse_args()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="ephor-walk-"))
    program = args.program.resolve()
    SHIMS = scratch / "bin"
    SHIMS.mkdir()
    for name in ("ephor", "kyverno"):
        (SHIMS / name).symlink_to(program)
    inputs = scratch / "inputs"
    inputs.mkdir()
    pool = Pool(args.suites if args.suites.is_dir() else None, inputs)
    leaves = grammar(str(program))
    print(f"{len(leaves)} commands; inputs: {', '.join(f'{len(v)} {k}' for k, v in pool.of.items())}", file=sys.stderr)
    kinds, replayed = collections.Counter(), 0

    def one(number):
        walk = Walk(str(SHIMS / "ephor"), leaves, pool, args.seed, args.show)
        try:
            return walk.run(number, scratch, args.keep), walk.replayed
        except Exception as error:  # a fault of this script is no end of the walk
            return [{"kind": "script", "number": number, "error": repr(error)}], 0

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as threads:
        for at, (faults, suggestions) in enumerate(threads.map(one, range(args.first, args.first + args.runs)), 1):
            replayed += suggestions
            for fault in faults:
                kinds[fault["kind"]] += 1
                print(json.dumps(fault), flush=True)
            if at % 500 == 0:
                print(f"{at} runs, {replayed} suggestions, {dict(kinds)}", file=sys.stderr, flush=True)
    if not args.keep:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{args.runs} runs, {replayed} suggested commands, {sum(kinds.values())} faults {dict(kinds)}", file=sys.stderr)
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
