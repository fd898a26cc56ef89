#!/usr/bin/env bash
# Runs ephor and, when KYVERNO_BIN is set, Kyverno on the same files and prints both times and the ratio.
# usage: benches/compare.sh [ROUNDS]      (needs EPHOR_CONFORMANCE with `verdicts`; python3 with PyYAML)
set -euo pipefail
cd "$(dirname "$0")/.."
DATA=${EPHOR_CONFORMANCE:-conformance/data}
ROUNDS=${1:-5}
[ -d "$DATA/verdicts" ] || { echo "skipped: no $DATA/verdicts"; exit 0; }
cargo build --profile dist --locked 2>/dev/null
EPHOR=target/dist/ephor
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
# best COMMAND…: the best wall time in ms and the largest memory in kB of ROUNDS runs
best() {
  python3 - "$ROUNDS" "$@" <<'P'
import os, subprocess, sys, time
rounds, cmd = int(sys.argv[1]), sys.argv[2:]
times, memory = [], 0
for _ in range(rounds):
    start = time.perf_counter()
    p = subprocess.Popen(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(p.pid, 0)
    times.append(time.perf_counter() - start)
    memory = max(memory, usage.ru_maxrss)
print(f"{min(times) * 1000:.1f} {memory}")
P
}
uname -sm; nproc | sed 's/$/ cores/'; date -u +%F
run() {
  local name=$1; shift
  read -r ours kb < <(best "$EPHOR" "$@")
  printf '%-34s ephor %8.1f ms, %6.1f MB' "$name" "$ours" "$(python3 -c "print($kb/1024)")"
  if [ -n "${KYVERNO_BIN:-}" ]; then
    read -r theirs tkb < <(ROUNDS=1 best "$KYVERNO_BIN" "$@")
    printf ', reference %9.1f ms, %7.1f MB: %.0f times' "$theirs" "$(python3 -c "print($tkb/1024)")" "$(python3 -c "print($theirs/$ours)")"
  fi
  echo
}
run "one policy, one resource" apply "$W/one-policy.yaml" -r "$W/one.yaml"
run "pool, plain" apply "$W/policies" -r "$DATA/verdicts/pool.yaml"
run "pool, policy report" apply "$W/policies" -r "$DATA/verdicts/pool.yaml" -p
# The tests of the policy library: ephor in one run; Kyverno folder by folder, as one run stops at the first
# folder that it cannot load.
run_tests() {
  local folders theirs
  mapfile -t folders < <(find "$DATA/kyverno-policies" -name kyverno-test.yaml -printf '%h\n' | sort)
  read -r ours kb < <(best "$EPHOR" test "$DATA/kyverno-policies")
  printf '%-34s ephor %8.1f ms, %6.1f MB' "${#folders[@]} folders of tests" "$ours" "$(python3 -c "print($kb/1024)")"
  if [ -n "${KYVERNO_BIN:-}" ]; then
    theirs=0
    for folder in "${folders[@]}"; do
      read -r one _ < <(ROUNDS=1 best "$KYVERNO_BIN" test "$folder")
      theirs=$(python3 -c "print($theirs + $one)")
    done
    printf ', reference %9.1f ms in all: %.0f times' "$theirs" "$(python3 -c "print($theirs/$ours)")"
  fi
  echo
}
run_tests
