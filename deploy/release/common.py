"""What all steps of a release share: parameters, version, tools, archives with the same bytes each time."""
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# Names of a dry run: the top-level domain `invalid` never leads anywhere (RFC 2606).
NOWHERE = {"FORGE": "forge.invalid", "OWNER": "owner"}


class Skipped(Exception):
    """A step, or a part of it, that this machine cannot do; the text says what is missing."""


def read_parameters():
    """The parameters of `parameters.env`; variables of the environment take precedence."""
    found = {}
    with open(os.path.join(HERE, "parameters.env"), encoding="utf-8") as file:
        for line in file:
            name, sign, value = line.strip().partition("=")
            if sign and not name.startswith("#"):
                found[name] = os.environ.get(f"RELEASE_{name}", value)
    return found


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def version():
    return re.search(r'\[workspace\.package\]\nversion = "(.*)"', read("Cargo.toml")).group(1)


def run(*command, env=None, stdin=None, cwd=ROOT, quiet=False):
    """Standard output of a program that must succeed."""
    done = subprocess.run(command, input=stdin, cwd=cwd, text=True, env={**os.environ, **(env or {})},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE if quiet else None)
    if done.returncode:
        said = "\n".join(filter(None, [done.stdout.strip(), (done.stderr or "").strip()]))
        raise SystemExit(f"release: {os.path.basename(command[0])} {' '.join(command[1:3])} failed ({done.returncode})\n{said}")
    return done.stdout


def tools_folder():
    """Where `tools.sh` puts what it builds."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.environ.get("EPHOR_RELEASE_TOOLS") or os.path.join(cache, "ephor-release")


def tool(name):
    """The path of a program: that of `tools.sh`, or of the PATH."""
    own = os.path.join(tools_folder(), name)
    found = own if os.access(own, os.X_OK) else shutil.which(name)
    if not found:
        raise Skipped(f"{name} is not here (deploy/release/tools.sh builds it)")
    return found


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def committed():
    """Seconds of the commit: the time of everything in an archive."""
    if os.environ.get("SOURCE_DATE_EPOCH"):
        return int(os.environ["SOURCE_DATE_EPOCH"])
    return int(run("git", "log", "-1", "--format=%ct", quiet=True))


def revision():
    return run("git", "rev-parse", "HEAD", quiet=True).strip()


def write_tar(path, entries, compressed=True):
    """An archive of (name, bytes or path of a file or None for a folder, mode): the same bytes for the same entries."""
    when = committed()
    with open(path, "wb") as out:
        stream = gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=when, compresslevel=6) if compressed else out
        with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
            for name, source, mode in entries:
                entry = tarfile.TarInfo(name)
                entry.mtime, entry.mode = when, mode
                if source is None:
                    entry.type = tarfile.DIRTYPE
                    archive.addfile(entry)
                elif isinstance(source, bytes):
                    entry.size = len(source)
                    archive.addfile(entry, io.BytesIO(source))
                else:
                    entry.size = os.path.getsize(source)
                    with open(source, "rb") as file:
                        archive.addfile(entry, file)
        if compressed:
            stream.close()


def files_below(folder):
    """The files below a folder, by their relative names, in order."""
    found = []
    for where, folders, names in os.walk(folder):
        folders.sort()
        found += [os.path.relpath(os.path.join(where, name), folder) for name in names]
    return sorted(found)


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=2, sort_keys=True)
        file.write("\n")


class Release:
    """What is released, where to, and what was built so far."""

    def __init__(self, args):
        self.parameters = read_parameters()
        self.dry_run = not args.publish
        if not self.dry_run and not (self.parameters["OWNER"] and self.parameters["REGISTRY"]):
            raise SystemExit("release: OWNER and REGISTRY of deploy/release/parameters.env are empty: there is no place to publish to")
        if not self.parameters["OWNER"]:
            self.parameters.update(NOWHERE)
        self.version = version()
        self.out = os.path.abspath(args.out)
        self.reuse = os.path.abspath(args.reuse) if args.reuse else None
        self.profile = args.profile
        self.targets = args.targets
        # What a step leaves for later ones: digests of images, the key, the program that runs here.
        self.facts = {}
        os.makedirs(self.out, exist_ok=True)

    @property
    def repository(self):
        return "https://{FORGE}/{OWNER}/{NAME}".format(**self.parameters)

    @property
    def downloads(self):
        return f"{self.repository}/releases/download/v{self.version}"

    def path(self, *names):
        return os.path.join(self.out, *names)

    def work(self, *names):
        """A folder for what is not part of a release."""
        folder = os.path.join(self.out, "work", *names)
        os.makedirs(folder, exist_ok=True)
        return folder

    def artefacts(self):
        """The files of the release, by name."""
        return sorted(n for n in os.listdir(self.out) if os.path.isfile(self.path(n)) and n != "SHA256SUMS" and not n.endswith((".sig", ".pub")))
