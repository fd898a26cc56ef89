"""The programs: built for each target, packed with manual pages and completions.

The page that `ephor play` serves is part of a program when `web/dist` is there; the workflow builds it first."""
import os
import platform
import shutil
import subprocess

from common import ROOT, Skipped, files_below, run, tool, write_tar

# Target, the runner that releases it, and what links it on Debian.
TARGETS = {
    "x86_64-unknown-linux-musl": {"runner": "ubuntu-latest", "compiler": "musl-gcc", "package": "musl-tools"},
    "aarch64-unknown-linux-musl": {"runner": "ubuntu-24.04-arm", "compiler": "aarch64-linux-gnu-gcc", "package": "gcc-aarch64-linux-gnu"},
    "aarch64-apple-darwin": {"runner": "macos-latest", "missing": "the linker and the SDK of macOS"},
    "x86_64-apple-darwin": {"runner": "macos-15-intel", "missing": "the linker and the SDK of macOS"},
    "x86_64-pc-windows-msvc": {"runner": "windows-latest", "missing": "the linker and the libraries of Visual Studio"},
    # Not released: that it links shows that the sources build for Windows.
    "x86_64-pc-windows-gnu": {"compiler": "x86_64-w64-mingw32-gcc", "package": "gcc-mingw-w64-x86-64"},
}
RELEASED = [name for name, facts in TARGETS.items() if "runner" in facts]
SHELLS = {"bash": "ephor.bash", "zsh": "_ephor", "fish": "ephor.fish", "elvish": "ephor.elv", "powershell": "ephor.ps1"}
TEXTS = ["LICENSE", "NOTICE", "README.md", "CHANGELOG.md"]


def suffix(target):
    return ".exe" if "windows" in target else ""


def is_of_this_machine(target):
    system = {"Linux": "linux", "Darwin": "apple", "Windows": "windows"}[platform.system()]
    machine = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
    return system in target and target.startswith(machine)


def build(release, target):
    """The path of a program."""
    facts = TARGETS[target]
    if "missing" in facts and not is_of_this_machine(target):
        raise Skipped(f"{target}: {facts['missing']} are not here; the release workflow builds it on {facts['runner']}")
    compiler, package = facts.get("compiler"), facts.get("package")
    if "musl" in target and is_of_this_machine(target):
        compiler, package = "musl-gcc", "musl-tools"
    if compiler and not shutil.which(compiler):
        raise Skipped(f"{target}: {compiler} is not here (Debian's package {package})")
    if subprocess.run(["rustup", "target", "add", target], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
        raise Skipped(f"{target}: rustup has no standard library for it here")
    name, env = target.replace("-", "_"), {}
    if compiler and compiler != "musl-gcc":
        env = {f"CC_{name}": compiler, f"CARGO_TARGET_{name.upper()}_LINKER": compiler}
    if target == "aarch64-unknown-linux-musl":
        # Kernels for ARM have pages of 4 to 64 kB; the allocator works with those up to the size that it is built for.
        env["JEMALLOC_SYS_WITH_LG_PAGE"] = "16"
        if compiler != "musl-gcc":
            env.update(cross_musl(target))
    run("cargo", "build", "--locked", "--profile", release.profile, "--bin", "ephor", "--target", target, env=env)
    folder = "debug" if release.profile == "dev" else release.profile
    target_dir = os.environ.get("CARGO_TARGET_DIR") or os.path.join(ROOT, "target")
    return os.path.join(target_dir, target, folder, "ephor" + suffix(target))


def cross_musl(target):
    """Debian's compiler brings the headers of glibc; what it compiles must do without glibc's checked variants of functions."""
    name = target.replace("-", "_")
    return {f"CFLAGS_{name}": "-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=0", f"CARGO_TARGET_{name.upper()}_RUSTFLAGS": "-Clink-self-contained=yes"}


def runnable(release):
    """A program of this version that runs here: for pages and completions."""
    if "runnable" not in release.facts:
        if not release.reuse:
            raise Skipped("no program was built that runs here, and --reuse names none")
        release.facts["runnable"] = release.reuse
    return release.facts["runnable"]


def manuals(release):
    """Manual pages and completions, below `man` and `completions`."""
    program = runnable(release)
    for name in ["man", "completions"]:
        shutil.rmtree(os.path.join(release.out, "work", name), ignore_errors=True)
    man, completions = release.work("man"), release.work("completions")
    run(program, "docs", "--man", man, quiet=True)
    for shell, file in SHELLS.items():
        with open(os.path.join(completions, file), "w", encoding="utf-8") as out:
            out.write(run(program, "completion", shell, quiet=True))
    pages = files_below(man)
    if "ephor.1" not in pages:
        raise SystemExit(f"release: there is no page ephor.1 among {pages}")
    return f"{len(pages)} manual pages, completions of {', '.join(SHELLS)}"


def stripped(release, target, program):
    """The program without symbols; that of the profile `dist` has none."""
    if release.profile == "dist" and not release.reuse:
        return program
    with_strip = shutil.which("strip")
    if not with_strip or not is_of_this_machine(target):
        return program
    copy = os.path.join(release.work(target), os.path.basename(program))
    run(with_strip, "-o", copy, program)
    return copy


def pack(release, target, program):
    """The archive of a target."""
    name = f"ephor-{release.version}-{target}"
    entries = [(f"{name}/ephor{suffix(target)}", stripped(release, target, program), 0o755)]
    entries += [(f"{name}/{text}", os.path.join(ROOT, text), 0o644) for text in TEXTS]
    for folder in ["man", "completions"]:
        below = os.path.join(release.out, "work", folder)
        entries += [(f"{name}/{folder}/{file}", os.path.join(below, file), 0o644) for file in files_below(below)]
    write_tar(release.path(f"{name}.tar.gz"), entries)
    release.facts.setdefault("programs", {})[target] = entries[0][1]


def step(release):
    """Builds and packs each target; a target that cannot be built here is named."""
    wanted = release.targets or RELEASED
    here = [target for target in wanted if is_of_this_machine(target)]
    skipped, built = [], {}
    if release.reuse:
        built = {target: release.reuse for target in here[:1]}
        skipped = [f"{target}: --reuse builds nothing" for target in wanted if target not in built]
    for target in here + [target for target in wanted if target not in here]:
        if release.reuse:
            break
        try:
            built[target] = build(release, target)
        except Skipped as cause:
            skipped.append(str(cause))
            continue
        if is_of_this_machine(target):
            release.facts.setdefault("runnable", built[target])
    try:
        said = [manuals(release)]
    except Skipped as cause:
        said, skipped = [], skipped + [f"manual pages and completions: {cause}"]
    for target, program in built.items():
        pack(release, target, program)
    said += [f"{target} ({os.path.getsize(release.path(f'ephor-{release.version}-{target}.tar.gz')) >> 20} MB packed)" for target in built]
    return said, skipped


def check(release):
    """Each archive that runs here prints its version from where it was unpacked; with qemu those of other processors do."""
    said = []
    for target in release.facts.get("programs", {}):
        if not (is_of_this_machine(target) or "linux" in target):
            continue
        folder = release.work("unpacked", target)
        name = f"ephor-{release.version}-{target}"
        run("tar", "-xzf", release.path(f"{name}.tar.gz"), "-C", folder)
        program = os.path.join(folder, name, "ephor" + suffix(target))
        command = [program] if is_of_this_machine(target) else [tool(f"qemu-{target.split('-')[0]}-static"), program]
        text = run(*command, "version", quiet=True)
        if release.version not in text:
            raise SystemExit(f"release: {target} prints {text!r} as its version")
        sample = run(*command, "jp", "query", "-i", os.path.join(ROOT, "docs/sample/pod.yaml"), "kind", quiet=True)
        if "Pod" not in sample:
            raise SystemExit(f"release: {target} answers {sample!r}")
        said.append(f"{target} runs")
    return said, []


def unpack(release):
    """Takes archives that other machines have built: their programs are what the image is built from."""
    for target in RELEASED:
        name = f"ephor-{release.version}-{target}"
        if not os.path.exists(release.path(f"{name}.tar.gz")):
            continue
        folder = release.work("unpacked", target)
        run("tar", "-xzf", release.path(f"{name}.tar.gz"), "-C", folder)
        program = os.path.join(folder, name, "ephor" + suffix(target))
        release.facts.setdefault("programs", {})[target] = program
        if is_of_this_machine(target):
            release.facts.setdefault("runnable", program)
