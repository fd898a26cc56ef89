#!/usr/bin/env python3
"""Records what an API server answers when stored policies and bindings are updated.

usage: updates.py --etcd http://127.0.0.1:12379 --server https://127.0.0.1:16443 --token TOKEN [FILE…]

A file has documents with `old`, an object as it is stored, which the API may not take any more, and `updates`:
each a `name` and a `patch`, a JSON merge patch of the object. The object is written into etcd behind the server's
back, the changed one is sent as a dry run, and `answer` is filled in: `{}` when it is accepted, else `code`, `reason`,
`message` and `causes`.
"""
import argparse
import base64
import json
import pathlib

import requests
import urllib3
import yaml

urllib3.disable_warnings()
ROOT = pathlib.Path(__file__).resolve().parents[1] / "admission/updates"
GROUP = "admissionregistration.k8s.io"


class Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data):
        return True


def merged(value, patch):
    if not isinstance(patch, dict):
        return patch
    out = dict(value) if isinstance(value, dict) else {}
    for key, v in patch.items():
        if v is None:
            out.pop(key, None)
        else:
            out[key] = merged(out.get(key), v)
    return out


def plural(kind):
    return kind.lower()[:-1] + "ies" if kind.endswith("y") else kind.lower() + "s"


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--etcd", required=True)
    p.add_argument("--server", required=True)
    p.add_argument("--token", required=True)
    p.add_argument("files", nargs="*", type=pathlib.Path, default=sorted(ROOT.glob("*.yaml")))
    args = p.parse_args()
    head = {"Authorization": f"Bearer {args.token}"}
    number = 0
    for file in args.files:
        text = file.read_text()
        comment = "".join(line + "\n" for line in text.splitlines() if line.startswith("#"))
        case = yaml.safe_load(text)
        for update in case["updates"]:
            number += 1
            name = f"{case['old']['metadata']['name']}-{number}"
            old = merged(case["old"], {"metadata": {"name": name, "uid": f"00000000-0000-0000-0000-{number:012}", "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1}})
            resource = plural(old["kind"])
            key = f"/registry/{resource}/{name}"
            coded = [base64.b64encode(x.encode()).decode() for x in (key, json.dumps(old))]
            requests.post(f"{args.etcd}/v3/kv/put", json={"key": coded[0], "value": coded[1]}).raise_for_status()
            url = f"{args.server}/apis/{GROUP}/v1/{resource}/{name}"
            stored = requests.get(url, headers=head, verify=False).json()
            new = merged(merged(old, update["patch"]), {"metadata": {"name": name, "resourceVersion": stored["metadata"]["resourceVersion"]}})
            got = requests.put(f"{url}?dryRun=All", headers=head, json=new, verify=False)
            update["answer"] = answer(got, name, case["old"]["metadata"]["name"])
            print(file.name, update["name"], got.status_code)
            requests.post(f"{args.etcd}/v3/kv/deleterange", json={"key": coded[0]}).raise_for_status()
        file.write_text(comment + yaml.dump(case, Dumper=Dumper, sort_keys=False, width=1000, allow_unicode=True))


def answer(got, name, shown):
    if got.status_code == 200:
        return {}
    status = json.loads(got.text.replace(name, shown))
    out = {key: status[key] for key in ("code", "reason", "message")}
    if status.get("details", {}).get("causes"):
        out["causes"] = status["details"]["causes"]
    return out


if __name__ == "__main__":
    main()
