"""What the benches of the server send: `pool.py DATA OUT`.

In: the recorded policies and objects (EPHOR_CONFORMANCE). Out: in OUT, `hundred` (100 of the policies), `many` (10,000
of other kinds), and reviews for wrk: of one Pod (`post.lua`), of it with another image each time (`each.lua`), and with PyYAML
of all objects of kinds that the policies are about (`pool.jsonl`, `pool.lua`).
"""
import json, os, sys
data, out = sys.argv[1], sys.argv[2]
os.makedirs(f"{out}/hundred"); os.makedirs(f"{out}/many")
seen, texts = set(), []
kinds = ("kind: ClusterPolicy", "kind: ValidatingPolicy", "kind: ValidatingAdmissionPolicy\n", "kind: MutatingPolicy")
for line in open(f"{data}/verdicts/kyverno-policies.jsonl"):
    name = json.loads(line)["file"]
    if name in seen: continue
    seen.add(name)
    try: text = open(f"{data}/kyverno-policies/{name}").read()
    except OSError: continue
    # Calls to clusters and registries have no answer here.
    if any(k in text for k in kinds) and "apiCall" not in text and "imageRegistry" not in text: texts.append(text)
step = max(1, len(texts) // 100)
for i, text in enumerate(texts[::step][:100]): open(f"{out}/hundred/{i:03}.yaml", "w").write(text)
for i in range(10000):
    open(f"{out}/many/{i:05}.yaml", "w").write(f"""apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: rule-{i}}}
spec:
  rules:
  - name: label
    match: {{any: [{{resources: {{kinds: [example.com/v1/Kind{i}]}}}}]}}
    validate: {{failureAction: Enforce, message: m, pattern: {{metadata: {{labels: {{a: "?*"}}}}}}}}
""")
pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "cart", "namespace": "shop", "labels": {"app.kubernetes.io/name": "cart"}},
 "spec": {"containers": [{"name": f"c{i}", "image": "registry.acme.io/shop/cart:1.4.2", "ports": [{"containerPort": 8080 + i}],
  "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
  "env": [{"name": f"KEY_{j}", "value": "value " * 4} for j in range(20)],
  "securityContext": {"runAsNonRoot": True, "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
  "volumeMounts": [{"name": "data", "mountPath": "/data"}]} for i in range(3)], "volumes": [{"name": "data", "emptyDir": {}}]}}
k, r = {"group": "", "version": "v1", "kind": "Pod"}, {"group": "", "version": "v1", "resource": "pods"}
review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": "u", "kind": k, "resource": r,
 "requestKind": k, "requestResource": r, "name": "cart", "namespace": "shop", "operation": "CREATE",
 "userInfo": {"username": "anna", "groups": ["system:authenticated"]}, "object": pod, "oldObject": None, "dryRun": False}}
body = json.dumps(review)
open(f"{out}/post.lua", "w").write('wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\nwrk.body = [==[' + body + "]==]\n")
head, tail = body.replace("cart:1.4.2", "cart:1.4.@", 1).split("@")
open(f"{out}/each.lua", "w").write(f'''local n = 0
function init() wrk.headers["Content-Type"] = "application/json" end
function request() n = n + 1; return wrk.format("POST", nil, nil, [==[{head}]==] .. n .. [==[{tail}]==]) end
''')
print(f"{len(os.listdir(out + '/hundred'))} policies, a review of {len(body)} bytes")
try: import yaml
except ImportError: sys.exit()
# The plurals of kinds are of no account to these policies but for those that name resources.
def plural(kind):
    kind = kind.lower()
    if kind.endswith("y"): return kind[:-1] + "ies"
    return kind + ("es" if kind.endswith(("s", "ss")) else "s")
policies = "\n".join(open(f"{out}/hundred/{f}").read() for f in os.listdir(f"{out}/hundred"))
count = size = 0
with open(f"{out}/pool.jsonl", "w") as file:
    for o in yaml.load_all(open(f"{data}/verdicts/pool.yaml"), yaml.SafeLoader):
        kind, (group, _, version) = o["kind"], o["apiVersion"].rpartition("/")
        if kind not in policies and plural(kind) not in policies: continue
        k, r = {"group": group, "version": version, "kind": kind}, {"group": group, "version": version, "resource": plural(kind)}
        meta = o.get("metadata", {})
        review["request"] |= {"kind": k, "resource": r, "requestKind": k, "requestResource": r, "object": o,
            "name": meta.get("name", ""), "namespace": meta.get("namespace", "")}
        line = json.dumps(review, default=str)
        file.write(line + "\n"); count += 1; size += len(line)
open(f"{out}/pool.lua", "w").write(f'''local all = {{}}
function init()
  wrk.headers["Content-Type"] = "application/json"
  for line in io.lines("{out}/pool.jsonl") do all[#all + 1] = wrk.format("POST", nil, nil, line) end
end
local at = 0
function request() at = at % #all + 1; return all[at] end
''')
print(f"a pool of {count} reviews of {size // count} bytes on the average")
