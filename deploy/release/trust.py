"""What shows where a release comes from: a list of what is in it (SBOM), a statement of how it was built (provenance), and
signatures of a key.

The key is COSIGN_PRIVATE_KEY with COSIGN_PASSWORD, as cosign wants them; a dry run makes one that it throws away. Provenance is
an in-toto statement with the predicate of SLSA 1."""
import glob
import json
import os
import re
import subprocess
import tempfile

import registry
from common import ROOT, Skipped, revision, run, sha256, tool, write_json

PREDICATE = "https://slsa.dev/provenance/v1"


def sbom(release):
    """The crates of the program, in CycloneDX."""
    cyclonedx = tool("cargo-cyclonedx")
    name = f"ephor-{release.version}.cdx"
    run(cyclonedx, "cyclonedx", "--format", "json", "--override-filename", name, "--manifest-path", os.path.join(ROOT, "Cargo.toml"), quiet=True)
    # It writes next to each manifest of the workspace; the one of the program has all that the program is built from.
    os.replace(os.path.join(ROOT, f"{name}.json"), release.path(f"{name}.json"))
    for folder in ["fuzz", "web/engine", "bindings/python", "crates/*"]:
        for written in glob.glob(os.path.join(ROOT, folder, f"{name}.json")):
            os.remove(written)
    with open(release.path(f"{name}.json"), encoding="utf-8") as file:
        count = len(json.load(file)["components"])
    return [f"SBOM (CycloneDX) with {count} crates"], []


def provenance_predicate(release):
    builder = release.parameters["BUILDER"] or os.environ.get("GITHUB_WORKFLOW_REF") or "local"
    rust = run("rustc", "--version", quiet=True).strip()
    return {
        "buildDefinition": {
            "buildType": f"{release.repository}/blob/v{release.version}/deploy/release/release.py",
            "externalParameters": {"version": release.version, "profile": release.profile, "targets": sorted(release.facts.get("programs", {}))},
            "internalParameters": {"rustc": rust, "dryRun": release.dry_run},
            "resolvedDependencies": [
                {"uri": f"git+{release.repository}", "digest": {"gitCommit": revision()}},
                {"uri": "Cargo.lock", "digest": {"sha256": sha256(os.path.join(ROOT, "Cargo.lock"))}},
            ],
        },
        "runDetails": {"builder": {"id": builder}, "metadata": {"invocationId": os.environ.get("GITHUB_RUN_ID", "local")}},
    }


def provenance(release):
    """A statement about every file of the release."""
    names = [name for name in release.artefacts() if not name.endswith(".intoto.json")]
    write_json(release.path(f"ephor-{release.version}.intoto.json"), {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": sha256(release.path(name))}} for name in names],
        "predicateType": PREDICATE,
        "predicate": provenance_predicate(release),
    })
    return [f"provenance (SLSA 1) of {len(names)} files"], []


def checksums(release):
    names = release.artefacts()
    with open(release.path("SHA256SUMS"), "w", encoding="utf-8") as file:
        file.writelines(f"{sha256(release.path(name))}  {name}\n" for name in names)
    return [f"SHA256SUMS of {len(names)} files"], []


def cosign(release, *command):
    """Runs cosign with the key, without services of others unless the parameters want the public log."""
    log = release.parameters["TRANSPARENCY_LOG"] == "yes" and not release.dry_run
    offline = ["--tlog-upload=false", "--use-signing-config=false"] if command[0] in ("sign", "sign-blob", "attest") and not log else []
    if command[0].startswith("verify") and not log:
        offline = ["--insecure-ignore-tlog=true"]
    return run(tool("cosign"), command[0], *offline, *command[1:], quiet=True, env={"COSIGN_PASSWORD": os.environ.get("COSIGN_PASSWORD", ""), "COSIGN_YES": "true"})


def key(release):
    """The private and the public key, as files or names that cosign reads."""
    if "key" not in release.facts:
        public = release.path("cosign.pub")
        if release.dry_run:
            folder = tempfile.mkdtemp(prefix="key-", dir=release.work())
            subprocess.run([tool("cosign"), "generate-key-pair"], cwd=folder, check=True, capture_output=True, env={**os.environ, "COSIGN_PASSWORD": ""})
            private = os.path.join(folder, "cosign.key")
        else:
            if not os.environ.get("COSIGN_PRIVATE_KEY"):
                raise SystemExit("release: COSIGN_PRIVATE_KEY is not set")
            private = "env://COSIGN_PRIVATE_KEY"
        with open(public, "w", encoding="utf-8") as file:
            file.write(cosign(release, "public-key", "--key", private))
        release.facts["key"] = (private, public)
    return release.facts["key"]


def sign(release):
    """Signs the checksums and the provenance, the image and the chart; image and chart get provenance, the image its SBOM."""
    tool("cosign")
    private, _ = key(release)
    said = []
    for name in ["SHA256SUMS", f"ephor-{release.version}.intoto.json"]:
        cosign(release, "sign-blob", "--key", private, "--bundle", release.path(f"{name}.sig"), release.path(name))
        said.append(name)
    statement = os.path.join(release.work(), "provenance.json")
    write_json(statement, provenance_predicate(release))
    insecure = registry.insecure(release, "--allow-insecure-registry")
    for what in ["image", "chart"]:
        named = release.facts.get(what)
        if not named:
            continue
        recursive = ["--recursive"] if what == "image" else []
        # The form that every verifier reads: Kyverno 1.19, ephor, cosign before 3.
        cosign(release, "sign", "--key", private, "--new-bundle-format=false", *recursive, *insecure, named)
        cosign(release, "attest", "--key", private, "--new-bundle-format=false", "--type", "slsaprovenance1", "--predicate", statement, *insecure, named)
        said.append(what)
    bill = release.path(f"ephor-{release.version}.cdx.json")
    if "image" in release.facts and os.path.exists(bill):
        cosign(release, "attest", "--key", private, "--new-bundle-format=false", "--type", "cyclonedx", "--predicate", bill, *insecure, release.facts["image"])
        said.append("SBOM of the image")
    return [f"signed: {', '.join(said)}"], []


def check_checksums(release):
    run("sha256sum", "--check", "--quiet", "--strict", "SHA256SUMS", cwd=release.out, quiet=True)
    return ["SHA256SUMS hold"], []


def check_signatures(release):
    """cosign accepts what was signed and refuses a file that was changed; ephor accepts the image by the same key."""
    if "key" not in release.facts:
        raise Skipped("nothing was signed")
    _, public = release.facts["key"]
    name = release.path("SHA256SUMS")
    cosign(release, "verify-blob", "--key", public, "--bundle", f"{name}.sig", name)
    changed = os.path.join(release.work(), "changed")
    with open(name, encoding="utf-8") as file, open(changed, "w", encoding="utf-8") as out:
        out.write(file.read().replace("0", "1", 1))
    refused = subprocess.run([tool("cosign"), "verify-blob", "--insecure-ignore-tlog=true", "--key", public, "--bundle", f"{name}.sig", changed], capture_output=True)
    if refused.returncode == 0:
        raise SystemExit("release: cosign accepts checksums that were changed")
    said = ["cosign accepts the checksums, and refuses them when a digit differs"]
    insecure = registry.insecure(release, "--allow-insecure-registry")
    for what in ["image", "chart"]:
        if what in release.facts:
            cosign(release, "verify", "--key", public, *insecure, release.facts[what])
            cosign(release, "verify-attestation", "--key", public, "--type", "slsaprovenance1", *insecure, release.facts[what])
            said.append(f"cosign accepts the {what} and its provenance")
    if "image" in release.facts and "runnable" in release.facts:
        said.append(verified_by_ephor(release, public))
    return said, []


def verified_by_ephor(release, public):
    """The page "Image signatures" with our own image: `ephor apply` with a rule that wants this key."""
    with open(public, encoding="utf-8") as file:
        lines = file.read().strip().splitlines()
    indented = "\n".join(" " * 14 + line for line in lines)
    image = release.facts["image"]
    folder = release.work("verified")
    policy, pod = os.path.join(folder, "policy.yaml"), os.path.join(folder, "pod.yaml")
    with open(policy, "w", encoding="utf-8") as file:
        file.write(f"""apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: signed-by-the-release-key}}
spec:
  rules:
  - name: signed
    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}
    verifyImages:
    - imageReferences: ["{image.split('@')[0]}*"]
      failureAction: Enforce
      attestors:
      - entries:
        - keys:
            publicKeys: |-
{indented}
            rekor: {{ignoreTlog: true}}
            ctlog: {{ignoreSCT: true}}
""")
    with open(pod, "w", encoding="utf-8") as file:
        file.write(f"apiVersion: v1\nkind: Pod\nmetadata: {{name: ephor}}\nspec: {{containers: [{{name: ephor, image: '{image}'}}]}}\n")
    done = subprocess.run([release.facts["runnable"], "apply", policy, "-r", pod, "--registry", "--output-format", "text"], capture_output=True, text=True)
    passed = re.search(r"\b0 failed\b", done.stdout + done.stderr)
    if done.returncode or not passed:
        raise SystemExit(f"release: ephor does not accept the image\n{done.stdout}{done.stderr}")
    return "ephor accepts the image by the same key"
