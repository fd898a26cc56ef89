#!/usr/bin/env bash
# Instructions that fixed workloads of the program need, compared with their record.
# usage: benches/instructions.sh [--write] [PROGRAM]        (target/debug/ephor by default, as `.ci/run` builds it)
#        benches/instructions.sh --compare RECORD COUNTS    (counts that were measured before: a name and a number a line)
#
# In: valgrind, python3, the record `benches/instructions.toml`. Times vary from run to run and from machine to machine;
# instructions of one thread with a fixed environment vary by the seeds of hash tables only, less than 0.5 %.
# Out: a line for each workload. Exit code 1 where one needs more than 3 % more than its record; `--write` writes the record.
# The counts are of one compiler and of one kind of machine: with others the comparison is skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
record=benches/instructions.toml
compiler=$(rustc -vV 2>/dev/null | awk '/^rustc / {v = $2} /^host:/ {h = $2} END {print v, h}')

compare() { # RECORD COUNTS
    awk -F'[ =]+' -v limit=3 '
        FNR == NR { if ($1 ~ /^[a-z-]+$/ && $2 ~ /^[0-9]+$/) recorded[$1] = $2; next }
        { counted[$1] = $2 }
        END {
            for (name in counted) {
                if (!(name in recorded)) { printf "%-12s %14d instructions, no record\n", name, counted[name]; failed = 1; continue }
                growth = (counted[name] / recorded[name] - 1) * 100
                printf "%-12s %14d instructions, %+.2f %%\n", name, counted[name], growth
                if (growth > limit) { printf "%s needs more than %d %% more than its record\n", name, limit; failed = 1 }
            }
            for (name in recorded) if (!(name in counted)) { printf "%s has a record and was not counted\n", name; failed = 1 }
            exit failed
        }' "$1" "$2" | sort
}

if [ "${1:-}" = --compare ]; then
    compare "$2" "$3" || { echo "if the growth is worth it: benches/instructions.sh --write, and commit the record"; exit 1; }
    exit
fi
write=''
if [ "${1:-}" = --write ]; then write=1; shift; fi
program=$(realpath "${1:-target/debug/ephor}")
for tool in valgrind python3; do
    command -v $tool >/dev/null || { echo "skipped: instructions are not counted, $tool is not here"; exit 0; }
done
recorded=$(sed -n 's/^compiler = "\(.*\)"/\1/p' "$record" 2>/dev/null || true)
if [ -z "$write" ] && [ "$recorded" != "$compiler" ]; then
    echo "skipped: instructions are recorded with $recorded, this is $compiler"
    exit 0
fi

# The folder has the same name each time: paths are part of what the program reads.
dir=target/instructions
rm -rf "$dir"
mkdir -p "$dir/policies"
python3 benches/objects.py 500 pods > "$dir/pods.yaml"
python3 benches/objects.py 150 security > "$dir/secured.yaml"
for i in $(seq 40); do
    printf 'apiVersion: v1\nkind: Namespace\nmetadata: {name: team-%s, labels: {team: "%s", size: "%s"}}\n---\n' "$i" $((i % 7)) $((i % 5 + 1))
done > "$dir/namespaces.yaml"
for i in $(seq 1000); do
    printf 'apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: rule-%s}\nspec:\n  rules:\n  - name: label\n    match: {any: [{resources: {kinds: [example.com/v1/Kind%s]}}]}\n    validate: {message: "{{request.object.metadata.name}}", pattern: {metadata: {labels: {a: "?*"}}}}\n' "$i" "$i" > "$dir/policies/$i.yaml"
done
ps=policies/pod-security
workloads=(
    "apply apply policies/best-practices -r $dir/pods.yaml"
    "mutate apply benches/instructions/mutate.yaml -r $dir/pods.yaml"
    "generate apply benches/instructions/generate.yaml -r $dir/namespaces.yaml"
    "report apply $ps-restricted -r $dir/secured.yaml --policy-report --output-format json"
    "test test policies/best-practices/require-probes"
    "lint lint policies/best-practices/require-probes policies/best-practices/disallow-latest-tag"
    "diff diff $ps-baseline/disallow-host-namespaces/disallow-host-namespaces.yaml $ps-baseline/disallow-host-namespaces/disallow-host-namespaces.vpol.yaml"
    "migrate migrate $ps-baseline/disallow-privileged-containers/disallow-privileged-containers.yaml"
    "explain explain $ps-baseline/restrict-apparmor/restrict-apparmor.yaml -r $dir/secured.yaml"
    "admission apply $ps-baseline/restrict-seccomp/restrict-seccomp.vap.yaml $ps-baseline/disallow-host-ports/disallow-host-ports.vap.yaml -r $dir/secured.yaml"
    "policies apply $dir/policies -r docs/sample/pod.yaml"
)
count() { # NAME ARGUMENTS…: a line with the name and its instructions
    local name=$1 ended=0
    shift
    # Memory goes back to the system by the clock, which is slow here: not at all.
    env -i HOME=/nonexistent LC_ALL=C TZ=UTC RAYON_NUM_THREADS=1 _RJEM_MALLOC_CONF=dirty_decay_ms:-1,muzzy_decay_ms:-1 \
        valgrind --tool=callgrind --callgrind-out-file="$dir/$name.callgrind" "$program" "$@" > "$dir/$name.out" 2> "$dir/$name.err" || ended=$?
    # 1 is a failure of a policy; anything else is none of the workload.
    if [ "$ended" -gt 1 ] || ! [ -s "$dir/$name.callgrind" ]; then tail -5 "$dir/$name.err" >&2; exit 1; fi
    echo "$name $(sed -n 's/^\(summary\|totals\): //p' "$dir/$name.callgrind" | tail -1)"
}
export dir program
export -f count
printf '%s\n' "${workloads[@]}" | xargs -P "$(nproc)" -I{} bash -euc 'count $0' {} > "$dir/counts"
sort -o "$dir/counts" "$dir/counts"
if [ -n "$write" ]; then
    {
        echo '# Instructions of the workloads of `benches/instructions.sh`, which writes this file with `--write`.'
        echo "compiler = \"$compiler\""
        echo
        echo '[instructions]'
        awk '{print $1 " = " $2}' "$dir/counts"
    } > "$record"
fi
compare "$record" "$dir/counts" || { echo "if the growth is worth it: benches/instructions.sh --write, and commit the record"; exit 1; }
