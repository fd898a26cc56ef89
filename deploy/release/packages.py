"""Files for package managers: a plugin of kubectl (krew), a formula of Homebrew, packages for npm, PyPI and crates.io.

What each of them holds is in `deploy/packages` and `bindings`; here they get the version, the places and the checksums."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile

from common import ROOT, Skipped, run, sha256, tool
from programs import RELEASED

CRATES = os.path.join(os.path.dirname(__file__), "crates.txt")


def managers(release):
    """krew and Homebrew: for the targets whose archives are here. A release needs all of them."""
    archives = {target: release.path(f"ephor-{release.version}-{target}.tar.gz") for target in RELEASED}
    there = [target for target, path in archives.items() if os.path.exists(path)]
    if not there:
        raise Skipped("there is no archive of a program")
    missing = [target for target in RELEASED if target not in there]
    if missing and not release.dry_run:
        raise SystemExit(f"release: there are no archives for {', '.join(missing)}")
    checksums = os.path.join(release.work(), "SHA256SUMS")
    with open(checksums, "w", encoding="utf-8") as file:
        file.writelines(f"{sha256(archives[target])}  {os.path.basename(archives[target])}\n" for target in there)
    env = {"TARGETS": " ".join(there)}
    run("bash", os.path.join(ROOT, "deploy/packages/render.sh"), release.version, release.downloads, checksums, release.out, env=env)
    for name in ["ephor.yaml", "ephor.rb"]:
        os.replace(release.path(name), release.path({"ephor.yaml": "krew-ephor.yaml", "ephor.rb": "homebrew-ephor.rb"}[name]))
    said = [f"krew manifest and Homebrew formula for {len(there)} targets"]
    ruby = shutil.which("ruby")
    if ruby:
        run(ruby, "-c", release.path("homebrew-ephor.rb"), quiet=True)
        said.append("ruby reads the formula")
    said.append(binstall(release, there))
    return said, [f"package managers: no archive for {target}" for target in missing]


def binstall(release, there):
    """The address that cargo-binstall computes from `Cargo.toml` is that of the archive."""
    metadata = json.loads(run("cargo", "metadata", "--locked", "--no-deps", "--format-version", "1", quiet=True))
    found = next(p for p in metadata["packages"] if p["name"] == "ephor")["metadata"]["binstall"]
    target = there[0]
    names = {"repo": release.repository, "version": release.version, "target": target, "bin": "ephor", "binary-ext": ""}
    fill = lambda text: re.sub(r"\{ ([a-z-]+) \}", lambda m: names[m.group(1)], text)
    archive = f"ephor-{release.version}-{target}.tar.gz"
    if fill(found["pkg-url"]) != f"{release.downloads}/{archive}":
        raise SystemExit(f"release: cargo-binstall would read {fill(found['pkg-url'])}")
    with tarfile.open(release.path(archive)) as packed:
        if fill(found["bin-dir"]) not in packed.getnames():
            raise SystemExit(f"release: {archive} has no {fill(found['bin-dir'])}, where cargo-binstall looks")
    return "cargo-binstall finds the program"


def npm(release):
    """The package for Node: the WebAssembly module with its functions."""
    folder = os.path.join(ROOT, "bindings/node")
    node, npm_program = shutil.which("node"), shutil.which("npm")
    if not node or not npm_program:
        raise Skipped("npm: Node is not here")
    copy = os.path.join(release.work("npm"), "package")
    shutil.rmtree(copy, ignore_errors=True)
    profile = "wasm-check" if release.reuse else "wasm"
    if not release.reuse:
        if subprocess.run(["rustup", "target", "add", "wasm32-unknown-unknown"], capture_output=True).returncode:
            raise Skipped("npm: rustup has no wasm32-unknown-unknown here")
        run("npm", "--prefix", "web", "ci", "--no-audit", "--no-fund", quiet=True)
        bindgen = os.path.dirname(tool("wasm-bindgen"))
        run(node, "web/build.mjs", env={"PATH": f"{bindgen}{os.pathsep}{os.environ['PATH']}"})
    if not os.path.exists(os.path.join(ROOT, "web/build", profile, "engine_bg.wasm")):
        raise Skipped(f"npm: the module was not built (web/build/{profile})")
    run(node, os.path.join(folder, "build.mjs"), profile, copy, quiet=True)
    path = os.path.join(copy, "package.json")
    with open(path, encoding="utf-8") as file:
        about = json.load(file)
    about.pop("private", None)
    about.update(name=release.parameters["NPM_PACKAGE"], version=release.version, homepage=release.repository, repository={"type": "git", "url": f"git+{release.repository}.git"})
    with open(path, "w", encoding="utf-8") as file:
        json.dump(about, file, indent=2)
    run(node, "--test", os.path.join(copy, "test"), cwd=copy, quiet=True)
    shutil.rmtree(os.path.join(copy, "test"))
    packed = json.loads(run(npm_program, "pack", "--json", "--pack-destination", release.work("npm"), cwd=copy, quiet=True))
    packed = packed[0] if isinstance(packed, list) else next(iter(packed.values()))
    name = f"ephor-{release.version}-npm.tgz"
    os.replace(os.path.join(release.work("npm"), os.path.basename(packed["filename"])), release.path(name))
    if not release.dry_run and os.environ.get("NPM_TOKEN"):
        with open(os.path.join(copy, ".npmrc"), "w", encoding="utf-8") as file:
            file.write("//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n")
        run(npm_program, "publish", release.path(name), "--access", "public", cwd=copy)
    return [f"npm package of {os.path.getsize(release.path(name)) >> 10} KiB, its tests pass"], []


def wheel(release):
    """The package for Python: a wheel for this machine, and the sources."""
    folder = os.path.join(ROOT, "bindings/python")
    if release.reuse:
        raise Skipped("wheel: --reuse builds nothing; `cargo test --package ephor-python` tests the module")
    maturin = tool("maturin")
    for old in glob.glob(release.path("*.whl")):
        os.remove(old)
    run(maturin, "build", "--locked", "--profile", release.profile, "--out", release.out, "--manifest-path", os.path.join(folder, "Cargo.toml"), "--interpreter", sys.executable)
    wheels = [os.path.basename(path) for path in glob.glob(release.path("*.whl"))]
    where = release.work("wheel")
    run(sys.executable, "-m", "venv", "--clear", where, quiet=True)
    python = os.path.join(where, "bin/python")
    run(python, "-m", "pip", "install", "--quiet", "--no-index", *[release.path(name) for name in wheels], quiet=True)
    run(python, "-m", "unittest", "discover", "-s", os.path.join(folder, "python_tests"), cwd=where, quiet=True)
    return [f"{', '.join(wheels)}: installed, its tests pass"], []


def published():
    """The crates in the order in which they are published."""
    with open(CRATES, encoding="utf-8") as file:
        return [line.split()[0] for line in file if line.strip() and not line.startswith("#")]


def sources(release):
    """A copy of the sources under version control, whose manifests name the repository."""
    copy = os.path.join(release.work(), "sources")
    shutil.rmtree(copy, ignore_errors=True)
    for name in run("git", "ls-files", "-z", quiet=True).split("\0"):
        if name and os.path.exists(os.path.join(ROOT, name)):
            os.makedirs(os.path.dirname(os.path.join(copy, name)), exist_ok=True)
            shutil.copy2(os.path.join(ROOT, name), os.path.join(copy, name), follow_symlinks=False)
    for path in [os.path.join(copy, "Cargo.toml"), *glob.glob(os.path.join(copy, "crates/*/Cargo.toml"))]:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        text, count = re.subn(r"^license\.workspace = true$", f'license.workspace = true\nrepository = "{release.repository}"', text, count=1, flags=re.MULTILINE)
        if count != 1:
            raise SystemExit(f"release: {path} has no line `license.workspace = true`")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return copy


def crates(release):
    """All crates as crates.io gets them; compiled as such with `--verify-crates`, published with `--publish`."""
    copy = sources(release)
    chosen = [word for crate in published() for word in ["--package", crate]]
    target = os.path.join(release.work(), "crates")
    if not release.dry_run:
        if not os.environ.get("CARGO_REGISTRY_TOKEN"):
            raise Skipped("crates: CARGO_REGISTRY_TOKEN is not set, so nothing is published on crates.io")
        run("cargo", "publish", "--locked", "--allow-dirty", "--no-verify", *chosen, cwd=copy)
        return [f"{len(published())} crates are published"], []
    command = ["publish", "--dry-run"] if release.facts.get("verify_crates") else ["package", "--no-verify"]
    run("cargo", *command, "--locked", "--allow-dirty", "--quiet", "--target-dir", target, *chosen, cwd=copy, quiet=True)
    for crate in published():
        path = os.path.join(target, "package", f"{crate}-{release.version}.crate")
        with tarfile.open(path) as packed:
            names = {name.split("/", 1)[1] for name in packed.getnames()}
            if not {"LICENSE", "README.md", "Cargo.toml"} <= names:
                raise SystemExit(f"release: {crate} is packaged without licence or README")
            manifest = packed.extractfile(f"{crate}-{release.version}/Cargo.toml").read().decode()
        for key in ["description", "license", "repository"]:
            if f"\n{key} = " not in manifest:
                raise SystemExit(f"release: {crate} has no {key}")
    done = "compiled as they are packaged" if release.facts.get("verify_crates") else "packaged"
    return [f"{len(published())} crates are {done}, each with licence, README and repository"], []
