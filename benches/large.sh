#!/usr/bin/env bash
# Memory and time of `ephor apply` on streams of objects of growing length.
#
# In: python3. EPHOR_BIN names the program (a `dist` build by default), EPHOR_BEFORE an older one to compare with.
# Out: for 10,000 to LARGEST (1,000,000) Pods the most memory, the time, objects a second, and the memory divided by that of
# 10,000 objects; one thread against two; a compressed stream. ROUNDS (3) is how often, the fastest counts.
set -euo pipefail
cd "$(dirname "$0")/.."
ephor=${EPHOR_BIN:-target/dist/ephor}
[ -x "$ephor" ] || cargo build --profile dist --locked
largest=${LARGEST:-1000000}
rounds=${ROUNDS:-3}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
measure() { # PROGRAM FILE ARGUMENTS…: seconds and kilobytes of the fastest run
    python3 - "$rounds" "$@" <<'P'
import os, subprocess, sys, time
rounds, command = int(sys.argv[1]), sys.argv[2:]
best, memory = None, 0
for _ in range(rounds):
    start = time.perf_counter()
    p = subprocess.Popen([command[0], "apply", "policies/best-practices", "-r", *command[1:]], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(p.pid, 0)
    took = time.perf_counter() - start
    best = took if best is None else min(best, took)
    memory = max(memory, usage.ru_maxrss)
print(f"{best:.3f} {memory}")
P
}
show() { # NAME COUNT SECONDS KILOBYTES
    awk -v n="$1" -v c="$2" -v s="$3" -v m="$4" -v f="$few" \
        'BEGIN {printf "%-28s %8.2f s %9.0f objects/s %7.1f MB, %.2f of 10,000\n", n, s, c / s, m / 1024, f ? m / f : 1}'
}
few=0
count=10000
while [ "$count" -le "$largest" ]; do
    python3 benches/objects.py "$count" pods > "$dir/objects.yaml"
    read -r seconds memory <<< "$(measure "$ephor" "$dir/objects.yaml" --threads 1)"
    [ "$few" != 0 ] || few=$memory
    show "$count Pods, 1 thread" "$count" "$seconds" "$memory"
    read -r seconds memory <<< "$(measure "$ephor" "$dir/objects.yaml" --threads 2)"
    show "$count Pods, 2 threads" "$count" "$seconds" "$memory"
    if [ -n "${EPHOR_BEFORE:-}" ]; then
        read -r seconds memory <<< "$(measure "$EPHOR_BEFORE" "$dir/objects.yaml" --threads 1)"
        show "$count Pods, before" "$count" "$seconds" "$memory"
    fi
    count=$((count * 10))
done
gzip -1 "$dir/objects.yaml"
read -r seconds memory <<< "$(measure "$ephor" "$dir/objects.yaml.gz" --threads 2)"
show "gzip, 2 threads" "$((count / 10))" "$seconds" "$memory"
