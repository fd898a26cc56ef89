"""The chart as an OCI artifact: with the image of this release by its digest, and what Artifact Hub shows.

In: `deploy/helm/ephor`, which names no image. Out: `ephor-VERSION.tgz`, the same in the registry."""
import os
import re
import shutil

import registry
from common import HERE, Skipped, read, run, tool

CHART = os.path.join(os.path.dirname(HERE), "helm/ephor")


def changes(text, version):
    """The newest entries of the changelog, as Artifact Hub lists them."""
    kinds = {"Added": "added", "Changed": "changed", "Fixed": "fixed", "Soundness": "security"}
    section = re.search(rf"^## (?:{re.escape(version)}|Unreleased)\b.*?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    found, kind = [], None
    for line in (section.group(1) if section else "").splitlines():
        if line.startswith("### "):
            kind = kinds.get(line[4:].strip())
        elif line.startswith("- ") and kind:
            found.append((kind, line[2:].strip().replace("`", "").replace('"', "'")))
    return found


def stamped(release, folder):
    """A copy of the chart with the names of this release."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(CHART, folder)
    path = os.path.join(folder, "values.yaml")
    with open(path, encoding="utf-8") as file:
        values = file.read()
    image = release.facts.get("image")
    if not image:
        raise Skipped("there is no image that the chart could name")
    repository, digest = image.split("@")
    for key, value in [("repository", repository), ("digest", digest)]:
        values, count = re.subn(rf'^  {key}: ""$', f"  {key}: {value}", values, count=1, flags=re.MULTILINE)
        if count != 1:
            raise SystemExit(f"release: values.yaml of the chart has no empty image.{key}")
    values = values.replace('    runbooks: ""\n', f"    runbooks: {release.repository}/blob/v{release.version}/docs/guides/runbooks.md\n")
    with open(path, "w", encoding="utf-8") as file:
        file.write(values)
    path = os.path.join(folder, "Chart.yaml")
    with open(path, encoding="utf-8") as file:
        about = re.sub(r"^(version|appVersion): .*$", rf"\1: {release.version}", file.read(), flags=re.MULTILINE)
    is_early = "-" in release.version
    about = re.sub(r'^(  artifacthub\.io/prerelease: ).*$', rf'\1"{str(is_early).lower()}"', about, flags=re.MULTILINE)
    about += f"""  artifacthub.io/images: |
    - name: ephor
      image: {image}
      platforms: [linux/amd64, linux/arm64]
  artifacthub.io/links: |
    - name: Documentation
      url: {release.repository}/tree/v{release.version}/docs
    - name: Report a vulnerability
      url: {release.repository}/security
  artifacthub.io/changes: |
"""
    for kind, text in changes(read("CHANGELOG.md"), release.version)[:20]:
        about += f'    - kind: {kind}\n      description: "{text}"\n'
    about += f"home: {release.repository}\nsources: [{release.repository}]\n"
    with open(path, "w", encoding="utf-8") as file:
        file.write(about)


def step(release):
    helm = tool("helm")
    if "package" not in run(helm, "--help", quiet=True):
        raise Skipped("helm renders only; deploy/release/tools.sh builds all of it")
    folder = os.path.join(release.work("chart"), "ephor")
    stamped(release, folder)
    run(helm, "lint", "--strict", "--quiet", folder, quiet=True)
    run(helm, "package", folder, "--destination", release.out, quiet=True)
    package = release.path(f"ephor-{release.version}.tgz")
    where = f"{registry.address(release)}/charts"
    run(helm, "push", package, f"oci://{where}", *registry.insecure(release, "--plain-http"), quiet=True)
    digest = run(tool("crane"), "digest", *registry.insecure(release, "--insecure"), f"{where}/ephor:{release.version.replace('+', '_')}", quiet=True)
    release.facts["chart"] = f"{where}/ephor@{digest.strip()}"
    return [f"chart {os.path.basename(package)}: {release.facts['chart']}"], []


def check(release):
    """The chart in the registry installs the image of this release."""
    if "chart" not in release.facts:
        raise Skipped("no chart was packaged")
    text = run(tool("helm"), "template", "ephor", f"oci://{release.facts['chart'].split('@')[0]}", "--version", release.version,
               "--namespace", "ephor", *registry.insecure(release, "--plain-http"), quiet=True)
    images = set(re.findall(r"^\s*image: (.*)$", text, re.MULTILINE))
    if images != {release.facts["image"]}:
        raise SystemExit(f"release: the chart names the images {images}")
    return ["the chart that was pulled names the image by its digest"], []
