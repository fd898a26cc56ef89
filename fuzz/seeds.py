#!/usr/bin/env python3
"""Makes the corpora that fuzz targets begin with, in fuzz/corpus: policies and objects of this repository, expressions and quantities
in them, and the certificates, keys and signatures of its tests. Corpora are not committed."""

import base64
import hashlib
import io
import json
import pathlib
import re
import tarfile
import gzip

FUZZ = pathlib.Path(__file__).resolve().parent
ROOT = FUZZ.parent
MOST = 64 << 10


def put(target, data):
    if isinstance(data, str):
        data = data.encode()
    if len(data) <= MOST:
        folder = FUZZ / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


def blobs():
    """What is written in base64 or PEM in the sources of tests."""
    for path in [*ROOT.glob("src/**/*.rs"), *ROOT.glob("tests/**/*.rs"), *ROOT.glob("conformance/**/*.yaml")]:
        text = re.sub(r"\\?\n\s*", "", path.read_text(errors="replace"))
        for found in re.findall(r"[A-Za-z0-9+/]{60,}={0,2}", text):
            try:
                yield base64.b64decode(found + "=" * (-len(found) % 4))
            except ValueError:
                pass


def signed():
    entry = {"spec": {"signature": {"content": "MEUCIQ==", "publicKey": {"content": "eA=="}}, "data": {"hash": {"algorithm": "sha256", "value": "0"}}}, "kind": "hashedrekord"}
    body = base64.b64encode(json.dumps(entry).encode()).decode()
    put("certificates", json.dumps({"SignedEntryTimestamp": "MEUCIQ==", "Payload": {"body": body, "integratedTime": 1, "logIndex": 1, "logID": "0"}}))
    claim = json.dumps({"critical": {"image": {"docker-manifest-digest": "sha256:0"}, "type": "cosign container image signature"}, "optional": {"a": "b"}})
    layer = {"digest": "sha256:0", "mediaType": "application/vnd.dsse.envelope.v1+json", "annotations": {"dev.cosignproject.cosign/signature": "MEUCIQ==", "dev.sigstore.cosign/certificate": (FUZZ / "keys/chain.pem").read_text(), "dev.sigstore.cosign/bundle": "{}"}}
    manifest = json.dumps({"schemaVersion": 2, "config": {"digest": "sha256:0"}, "layers": [layer, layer]})
    statement = base64.b64encode(json.dumps({"predicateType": "a", "subject": [{"digest": {"sha256": "0"}}], "predicate": {}}).encode()).decode()
    envelope = {"payloadType": "application/vnd.in-toto+json", "payload": statement, "signatures": [{"sig": "MEUCIQ=="}]}
    bundle = json.dumps({"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "verificationMaterial": {"publicKey": {"hint": "a"}, "tlogEntries": []}, "dsseEnvelope": envelope})
    referrers = json.dumps([{"artifactType": "application/vnd.dev.sigstore.bundle.v0.3+json", "digest": "sha256:0"}, {"artifactType": "application/vnd.cncf.notary.signature", "digest": "sha256:0"}])
    index = "application/vnd.oci.image.index.v1+json\n" + json.dumps({"manifests": [{"digest": "sha256:0", "platform": {"os": "linux", "architecture": "amd64"}}]})
    config = json.dumps({"architecture": "amd64", "created": "2026-01-01T00:00:00Z", "history": [{"created_by": "a"}], "config": {"User": "a"}})
    put("registry", "\n---\n".join([manifest, claim]))
    put("registry", "\n---\n".join([manifest, json.dumps(envelope)]))
    put("registry", "\n---\n".join([referrers, manifest, bundle]))
    put("registry", "\n---\n".join([index, manifest, config]))
    put("registry", 'Bearer realm="https://a/token",service="b",scope="repository:a/b:pull", Basic realm="c"')
    put("registry", json.dumps({"token": "a", "errors": [{"code": "DENIED", "message": "m", "detail": {}}], "manifests": [{"digest": "sha256:0"}]}))
    put("registry", json.dumps({"registry.example": {"auth": "YTpi"}, "https://*.example/v1/": {"identitytoken": "a"}}))
    protected = base64.urlsafe_b64encode(json.dumps({"alg": "PS256", "cty": "application/vnd.cncf.notary.payload.v1+json", "io.cncf.notary.signingScheme": "notary.x509", "io.cncf.notary.signingTime": "2026-01-01T00:00:00Z", "crit": ["io.cncf.notary.signingScheme"]}).encode()).decode().rstrip("=")
    put("envelopes", json.dumps({"payload": "e30", "protected": protected, "header": {"x5c": [], "io.cncf.notary.signingAgent": "a"}, "signature": "AAAA"}))
    head = bytes.fromhex("a40138240281781c696f2e636e63662e6e6f746172792e7369676e696e67536368656d6503") + b"\x61a" + b"\x78\x1cio.cncf.notary.signingScheme" + b"\x6bnotary.x509"
    put("envelopes", b"\xd2\x84\x58" + bytes([len(head)]) + head + b"\xa1\x18\x21\x81\x41\x30" + b"\x42{}" + b"\x44abcd")


def archives():
    text = b"kind: Service\nmetadata: {name: a, namespace: b}\n"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in ["a.yaml", "b/c.yml", "d"]:
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    for data in [text, gzip.compress(text), gzip.compress(packed.getvalue()), gzip.compress(text) * 2]:
        put("layers", data)
        put("layers", base64.b64encode(data))
        put("layers", base64.b64encode(gzip.compress(data)))
        put("bytes", data)


def documents():
    for folder in ["policies", "conformance/cases", "conformance/admission", "conformance/engine"]:
        for path in sorted((ROOT / folder).glob("**/*.yaml")):
            text = path.read_text(errors="replace")
            put("loader", text)
            for part in text.split("\n---\n"):
                if re.search(r"^kind: Pod$", part, re.M):
                    put("patterns", "{spec: {containers: [{=(image): '*:* & !*:latest', ^(env): [{name: a}]}]}}\n---\n" + part)
            for found in re.findall(r"\{\{\s*(.+?)\s*\}\}", text):
                put("jmespath", found)
            for found in re.findall(r"[eE]xpression: (.+)", text):
                for target in ["cel", "cel_parser", "cel_checker"]:
                    put(target, found.strip("\"' >-"))
    for line in (ROOT / "conformance/jmespath-random.jsonl").read_text().splitlines()[:400]:
        put("jmespath", str(json.loads(line).get("expression", "")))
    for text in ["1.5Gi 2e3", "100m 1", "-1h30m 10s", "1.2.3-rc.1+b >=1.0.0 <2.0.0 || 3.x", "1-10 10!-20", "*/5 * L JAN-MAR FRI#2"]:
        put("quantities", text)
    put("json_patch", '{"a":[1,{"b":2}]}\n[{"op":"add","path":"/a/-","value":{}},{"op":"move","from":"/a/1/b","path":"/c~1d"},{"op":"test","path":"/a/0","value":1},{"op":"remove","path":"/a/0"}]')


def reviews():
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default", "labels": {"app": "web"}}, "spec": {"hostNetwork": True, "containers": [{"name": "c", "image": "nginx:latest", "securityContext": {"privileged": True}}], "volumes": [{"name": "v", "hostPath": {"path": "/"}}]}}
    for operation, new, old in [("CREATE", pod, None), ("UPDATE", pod, pod), ("DELETE", None, pod)]:
        request = {"uid": "u", "kind": {"group": "", "version": "v1", "kind": "Pod"}, "resource": {"group": "", "version": "v1", "resource": "pods"}, "operation": operation, "namespace": "default", "name": "p", "userInfo": {"username": "alice", "groups": ["a"]}, "object": new, "oldObject": old, "options": {}, "dryRun": False}
        put("reviews", json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}))


for blob in blobs():
    for kind in ["bytes", "cms", "certificates", "envelopes", "layers"]:
        put(kind, blob)
signed()
archives()
documents()
reviews()
for folder in sorted((FUZZ / "corpus").iterdir()):
    print(f"{folder.name}: {len(list(folder.iterdir()))} seeds")
