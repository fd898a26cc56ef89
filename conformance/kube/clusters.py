"""Clusters of the scripts that EPHOR_ORACLE names on loopback addresses, with `ephor` in Kyverno's place.

In: the scripts of the oracle (`chainsaw` below EPHOR_ORACLE) and the programs that build.sh
--cluster makes. Out: clusters whose objects are those of Kyverno's chart, each with the engine, all stopped in the end.
What the oracle's README says about "another engine in place of Kyverno" is the contract.
"""

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FIRST_INDEX = 21


class Skipped(Exception):
    """Something that the tests need is not here."""


def stop_when_terminated():
    """SIGTERM ends the program as an exception does, so that clusters are stopped; a second one does not interrupt that."""
    def end(*_):
        signal.signal(signal.SIGTERM, lambda *_: None)
        sys.exit(143)
    signal.signal(signal.SIGTERM, end)


def oracle():
    return os.path.abspath(os.environ.get("EPHOR_ORACLE") or os.path.join(ROOT, "target/oracle"))


def needed():
    """`Skipped` when something is missing that clusters need."""
    if not os.path.exists(os.path.join(oracle(), "chainsaw/run.py")):
        raise Skipped("the cluster tests need EPHOR_ORACLE and EPHOR_CONFORMANCE with `chainsaw`")
    if os.geteuid() != 0:
        raise Skipped("the cluster tests need root (port 443 of loopback addresses)")
    programs = ["openssl", "curl"] + ([] if os.environ.get("EPHOR_KUBE_BIN") else ["go"])
    missing = [name for name in programs if not shutil.which(name)] + ([] if has_yaml() else ["PyYAML"])
    if missing:
        raise Skipped(f"the cluster tests need {', '.join(missing)}")


def has_yaml():
    """Whether the scripts of the oracle find PyYAML; it is installed into `target/tools` where it is missing."""
    folder = os.path.join(ROOT, "target/tools/python")
    test = [sys.executable, "-c", "import yaml"]
    if subprocess.run(test, stderr=subprocess.DEVNULL).returncode == 0:
        return True
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, "PyYAML==6.0.3"]
    subprocess.run(install, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
    return subprocess.run(test, stderr=subprocess.DEVNULL).returncode == 0


def run(main):
    """Runs a script and ends with its exit code; what is missing for it is reported in a line."""
    stop_when_terminated()
    try:
        sys.exit(main())
    except Skipped as missing:
        print(f"skipped: {missing}")


class Clusters:
    """Clusters on loopback addresses of their own, each with an engine; all are stopped in the end."""

    def __init__(self, ephor, count, engine=True):
        self.ephor, self.engine = ephor, engine
        self.dir = tempfile.mkdtemp(prefix="ephor-clusters-")
        self.locks, self.states, self.config = [], [], {}
        self.tests = os.path.join(self.dir, "tests")
        try:
            self.bin = output(["bash", os.path.join(HERE, "build.sh"), "--cluster"])
            output([self.script("build.sh"), self.bin, self.tests, "tests"])
        except RuntimeError as failed:
            raise Skipped(f"the programs or the tests cannot be built here: {failed}") from failed
        index = FIRST_INDEX
        while len(self.states) < count:
            if index > 250:
                raise RuntimeError("no loopback addresses are free")
            lock = open(os.path.join(tempfile.gettempdir(), f"ephor-cluster-{index}.lock"), "w", encoding="utf-8")
            if try_lock(lock) and not listens(f"127.0.{index}.1", 6443):
                self.locks.append(lock)
                self.states.append((index, os.path.join(self.dir, str(index))))
            index += 1

    def script(self, name):
        return os.path.join(oracle(), "chainsaw", name)

    def start(self, number):
        index, state = self.states[number]
        repeated([self.script("cluster.sh"), self.bin, state, str(index)], before_again=[self.script("stop.sh"), state])

    def configure(self, number, config):
        """The objects of the chart in this configuration, and the engine started anew."""
        if self.config.get(number) == config and self.lives(number):
            return
        index, state = self.states[number]
        if self.config.get(number) != config:
            repeated([self.script("reference.py"), self.bin, self.tests, state, str(index), "--configs", config, "--objects-only"])
        self.config[number] = config
        if self.engine:
            env = dict(os.environ, KUBECTL=os.path.join(self.bin, "kubectl"), EPHOR=self.ephor)
            repeated(["bash", os.path.join(HERE, "start-engine.sh"), state, str(index), config], env=env)

    def lives(self, number):
        if not self.engine:
            return True
        try:
            with open(os.path.join(self.states[number][1], "pid/ephor.pid"), encoding="utf-8") as f:
                pid = int(f.read())
            with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                return f.read().rsplit(")", 1)[1].split()[0] != "Z"
        except (OSError, ValueError):
            return False

    def run(self, number, folder, config, attempt, more):
        """Runs a folder; the line of its result."""
        work = tempfile.mkdtemp(dir=self.dir)
        path = {name: os.path.join(work, name) for name in ("folders", "out")}
        with open(path["folders"], "w", encoding="utf-8") as f:
            f.write(folder + "\n")
        output([sys.executable, self.script("run.py"), "--bin", self.bin, "--tests", self.tests, "--state", self.states[number][1],
                "--out", path["out"], "--folders", path["folders"], "--config-label", config, "--retries", "0", *more])
        with open(path["out"], encoding="utf-8") as f:
            line = json.loads(f.readline())
        shutil.rmtree(work, ignore_errors=True)
        line["attempt"] = attempt
        return line

    def uses_a_fixed_port(self, folder):
        found = os.path.join(self.tests, "test/conformance/chainsaw", folder)
        for name in os.listdir(found):
            if name.endswith((".sh", ".yaml")):
                with open(os.path.join(found, name), errors="replace", encoding="utf-8") as f:
                    if "kubectl proxy" in f.read():
                        return True
        return False

    def panics(self):
        """Lines of the program's output that speak of a panic."""
        found = []
        for _, state in self.states:
            log = os.path.join(state, "log/ephor.log")
            if os.path.exists(log):
                with open(log, errors="replace", encoding="utf-8") as f:
                    found += [line.strip() for line in f if "panicked at" in line]
        return found

    def stop(self, logs):
        for index, state in self.states:
            log = os.path.join(state, "log/ephor.log")
            if logs and os.path.exists(log):
                os.makedirs(logs, exist_ok=True)
                shutil.copy(log, os.path.join(logs, f"ephor-{index}.log"))
        stops = [subprocess.Popen([self.script("stop.sh"), state]) for _, state in self.states if os.path.isdir(state)]
        for stop in stops:
            stop.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def output(args, env=None):
    """What a program prints, without the end of the line; an error with all of it when it fails."""
    done = subprocess.run(args, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise RuntimeError(f"{os.path.basename(args[0])} {' '.join(args[1:4])}: {(done.stdout + done.stderr)[-2000:]}")
    return done.stdout.strip()


def repeated(args, env=None, before_again=None):
    """As `output`, up to three times: on a busy machine a start takes longer than its script waits."""
    for attempt in range(3):
        try:
            return output(args, env)
        except RuntimeError as error:
            if attempt == 2:
                raise
            print(f"once more: {error}", flush=True)
            if before_again:
                output(before_again)
            time.sleep(2)


def try_lock(file):
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        file.close()
        return False


def listens(address, port):
    with socket.socket() as s:
        s.settimeout(1)
        return s.connect_ex((address, port)) == 0
