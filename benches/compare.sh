#!/usr/bin/env bash
# Runs ephor and, when KYVERNO_BIN is set, Kyverno on the same files and prints both times and the ratios.
# usage: benches/compare.sh [ROUNDS]      (needs EPHOR_CONFORMANCE with `verdicts`; python3 with PyYAML)
# With KYVERNO_BIN what it prints is kept in `benches/results/compare.json`, from which `benches/draw.py` draws. Kyverno runs
# THEIR_ROUNDS (1) times. EPHOR_BIN names the program (a `dist` build by default).
set -euo pipefail
cd "$(dirname "$0")/.."
DATA=${EPHOR_CONFORMANCE:-conformance/data}
ROUNDS=${1:-5}
[ -d "$DATA/verdicts" ] || { echo "skipped: no $DATA/verdicts"; exit 0; }
EPHOR=${EPHOR_BIN:-target/dist/ephor}
THEIR_ROUNDS=${THEIR_ROUNDS:-1}
[ -n "${EPHOR_BIN:-}" ] || cargo build --profile dist --locked 2>/dev/null
W=$(mktemp -d); trap 'rm -rf "$W"' EXIT
python3 - "$DATA" "$W" <<'P'
import json, os, sys, yaml
data, out = sys.argv[1:]
os.mkdir(f"{out}/policies")
n = 0
for line in open(f"{data}/verdicts/kyverno-policies.jsonl"):
    line = json.loads(line)
    if "error" in line:
        continue
    text = open(f"{data}/kyverno-policies/{line['file']}").read()
    docs = [d for d in yaml.safe_load_all(text) if d]
    rules = [r for d in docs for r in d["spec"].get("rules", [])]
    if all(d["apiVersion"].startswith("kyverno.io/") for d in docs) and all("validate" in r and "cel" not in r["validate"] for r in rules):
        open(f"{out}/policies/{n:03}.yaml", "w").write(text)
        n += 1
print(f"{n} classic validate policy files, {sum(1 for l in open(f'{data}/verdicts/pool.yaml') if l.startswith('kind:'))} resources")
P
cat > "$W/one-policy.yaml" <<'Y'
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: need-team}
spec:
  rules:
  - name: team
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: label team is needed, pattern: {metadata: {labels: {team: "?*"}}}}
Y
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n' > "$W/one.yaml"
# best ROUNDS COMMAND…: the best wall time in ms, the largest memory in kB and the least processor time in ms
best() {
  PYTHONPATH=benches python3 - "$@" <<'P'
import sys
import machine
best = None
for _ in range(int(sys.argv[1])):
    best = machine.faster(best, machine.run(sys.argv[2:]))
print(f"{best['seconds'] * 1000:.1f} {best['megabytes'] * 1024:.0f} {best['cpu_seconds'] * 1000:.1f}")
P
}
# show NAME OUR_MS OUR_KB OUR_CPU [THEIR_MS THEIR_KB THEIR_CPU]: a line, and with both a run for the results
show() {
  python3 - "$W/runs.jsonl" "$@" <<'P'
import json, sys
out, name, *numbers = sys.argv[1:]
text = lambda ms, kb, cpu: f"{ms:9.1f} ms, {cpu:9.1f} ms of processors, {kb / 1024:7.1f} MB"
run = {"name": name}
for who, part in (("ephor", numbers[:3]), ("kyverno", numbers[3:])):
    if part:
        ms, kb, cpu = map(float, part)
        print(f"{name if who == 'ephor' else '':50} {who:7} {text(ms, kb, cpu)}", end="" if who == "kyverno" else "\n")
        run |= {who: round(ms, 1), f"{who}_cpu": round(cpu, 1), f"{who}_megabytes": round(kb / 1024, 1)}
if "kyverno" in run:
    print(f": {run['kyverno'] / run['ephor']:.0f} times, {run['kyverno_cpu'] / run['ephor_cpu']:.0f} times the processors' time")
    open(out, "a").write(json.dumps(run) + "\n")
P
}
run() {
  local name=$1 theirs=''; shift
  [ -z "${KYVERNO_BIN:-}" ] || theirs=$(best "$THEIR_ROUNDS" "$KYVERNO_BIN" "$@")
  # shellcheck disable=SC2046,SC2086
  show "$name" $(best "$ROUNDS" "$EPHOR" "$@") $theirs
}
uname -sm; nproc | sed 's/$/ cores/'; date -u +%F
run "one policy, one resource" apply "$W/one-policy.yaml" -r "$W/one.yaml"
run "102 policy files on 1,155 resources" apply "$W/policies" -r "$DATA/verdicts/pool.yaml"
run "the same as a policy report" apply "$W/policies" -r "$DATA/verdicts/pool.yaml" -p
# The tests of the policy library: ephor in one run; Kyverno folder by folder, as one run stops at the first
# folder that it cannot load.
run_tests() {
  local folders theirs=''
  mapfile -t folders < <(find "$DATA/kyverno-policies" -name kyverno-test.yaml -printf '%h\n' | sort)
  if [ -n "${KYVERNO_BIN:-}" ]; then
    theirs=$(for folder in "${folders[@]}"; do best 1 "$KYVERNO_BIN" test "$folder"; done |
      awk '{ms += $1; if ($2 > kb) kb = $2; cpu += $3} END {print ms, kb, cpu}')
  fi
  # shellcheck disable=SC2046,SC2086
  show "${#folders[@]} folders of tests (Kyverno: a run each)" $(best "$ROUNDS" "$EPHOR" test "$DATA/kyverno-policies") $theirs
}
run_tests
if [ -n "${KYVERNO_BIN:-}" ]; then
  PYTHONPATH=benches python3 - "$W/runs.jsonl" <<'P'
import json, sys
import machine
machine.keep("compare", {"machine": machine.describe(), "command": "KYVERNO_BIN=… benches/compare.sh", "runs": [json.loads(line) for line in open(sys.argv[1])]})
P
fi
