"""The image: a program, licences and an empty /tmp on nothing, for each processor, under one index.

In: the static programs. Out: the index in the registry, and the same as an OCI layout (`ephor-VERSION.oci.tar`). Certificates
and time zones are in the program, so that nothing else is needed; the same programs give the same digests."""
import json
import os
import shutil

import registry
from common import ROOT, Skipped, files_below, run, tool, write_tar, revision

PLATFORMS = {"x86_64-unknown-linux-musl": "linux/amd64", "aarch64-unknown-linux-musl": "linux/arm64"}
# The user of the image, by number and by name.
USER = "65532"
PASSWD = b"root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n"
GROUP = b"root:x:0:\nnonroot:x:65532:\n"
COMMAND = ["serve", "--policies", "/policies", "--tls-self-signed", "/tmp/tls", "--tls-name", "ephor.ephor.svc"]


def name(release):
    return f"{registry.address(release)}/{release.parameters['NAME']}"


def labels(release):
    title = "org.opencontainers.image."
    return {
        title + "title": "ephor",
        title + "description": "Kubernetes admission control, background work and reports with Kyverno's policies",
        title + "licenses": "Apache-2.0",
        title + "version": release.version,
        title + "revision": revision(),
        title + "source": release.repository,
    }


def layer(release, target, program):
    path = os.path.join(release.work("image"), f"{target}.tar")
    folders = ["etc", "licenses", "policies", "usr", "usr/local", "usr/local/bin"]
    write_tar(path, [
        *[(folder, None, 0o755) for folder in folders], ("tmp", None, 0o1777),
        ("etc/passwd", PASSWD, 0o644), ("etc/group", GROUP, 0o644),
        ("licenses/LICENSE", os.path.join(ROOT, "LICENSE"), 0o644), ("licenses/NOTICE", os.path.join(ROOT, "NOTICE"), 0o644),
        ("usr/local/bin/ephor", program, 0o755),
    ], compressed=False)
    return path


def step(release):
    crane = tool("crane")
    programs = {t: p for t, p in release.facts.get("programs", {}).items() if t in PLATFORMS}
    if not programs:
        raise Skipped("no program for Linux was built")
    tag, insecure = f"{name(release)}:{release.version}", registry.insecure(release, "--insecure")
    said, parts = [], []
    for target, program in programs.items():
        part = f"{tag}-{PLATFORMS[target].split('/')[1]}"
        run(crane, "append", *insecure, "--oci-empty-base", "--new_layer", layer(release, target, program), "--new_tag", part,
            "--platform", PLATFORMS[target], quiet=True)
        config = ["--entrypoint", "/usr/local/bin/ephor", "--cmd", ",".join(COMMAND), "--user", f"{USER}:{USER}", "--workdir", "/",
                  "--exposed-ports", "9443,8000", "--env", "PATH=/usr/local/bin", "--env", "HOME=/tmp"]
        for key, value in labels(release).items():
            config += ["--label", f"{key}={value}", "--annotation", f"{key}={value}"]
        run(crane, "mutate", *insecure, *config, "--set-platform", PLATFORMS[target], "--tag", part, part, quiet=True)
        parts += ["--manifest", part]
        said.append(PLATFORMS[target])
    run(crane, "index", "append", *insecure, "--docker-empty-base=false", *parts, "--tag", tag, quiet=True)
    release.facts["image"] = f"{name(release)}@{run(crane, 'digest', *insecure, tag, quiet=True).strip()}"
    layout = os.path.join(release.work("image"), "layout")
    shutil.rmtree(layout, ignore_errors=True)
    run(crane, "pull", *insecure, "--format", "oci", tag, layout, quiet=True)
    entries = [(file, os.path.join(layout, file), 0o644) for file in files_below(layout)]
    write_tar(release.path(f"ephor-{release.version}.oci.tar"), entries, compressed=False)
    skipped = [f"{PLATFORMS[t]}: there is no program for {t}" for t in PLATFORMS if t not in programs]
    return [f"image from scratch for {', '.join(said)}: {release.facts['image']}"], skipped


def check(release):
    """What the registry holds is what was meant: platforms, user, files."""
    if "image" not in release.facts:
        raise Skipped("no image was built")
    crane, insecure = tool("crane"), registry.insecure(release, "--insecure")
    index = json.loads(run(crane, "manifest", *insecure, release.facts["image"], quiet=True))
    for manifest in index["manifests"]:
        platform = "{os}/{architecture}".format(**manifest["platform"])
        part = f"{name(release)}@{manifest['digest']}"
        config = json.loads(run(crane, "config", *insecure, part, quiet=True))
        shown = config["config"]
        if (shown["User"], shown["Entrypoint"], config["architecture"]) != (f"{USER}:{USER}", ["/usr/local/bin/ephor"], platform.split("/")[1]):
            raise SystemExit(f"release: the configuration of {part} is {config}")
        path = os.path.join(release.work("image"), "exported.tar")
        run(crane, "export", *insecure, part, path, quiet=True)
        listed = run("tar", "-tf", path, quiet=True).split()
        if "usr/local/bin/ephor" not in listed or any("bin/sh" in entry for entry in listed):
            raise SystemExit(f"release: {part} holds {listed}")
    return [f"{len(index['manifests'])} platforms, user {USER}, no shell"], []
