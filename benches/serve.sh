#!/usr/bin/env bash
# Throughput and latency of the webhook server, compared with a route that only reads a review and allows it.
#
# In: wrk (Debian package `wrk`), the recorded policies in EPHOR_CONFORMANCE.
# Out: requests a second and the 99th percentile of both routes on persistent TLS connections, their ratios, memory before
# and after, the same with 10,000 policies, and what 10,000 more policies change. Reviews are of one Pod with three containers of twenty variables each,
# also with another image each time, so that no result that reads images is a cache hit;
# with PyYAML also of the recorded pool of 1,155 objects of all kinds in turn, and only of kinds that some policy is
# about, since no other reaches a webhook. SECONDS_EACH (10) is the time of one measurement, ROUNDS (3) how often.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v wrk >/dev/null || { echo "wrk is needed (Debian package wrk)"; exit 1; }
data=${EPHOR_CONFORMANCE:-conformance/data}
ephor=${EPHOR_BIN:-target/dist/ephor}
[ -x "$ephor" ] || cargo build --profile dist --locked
dir=$(mktemp -d)
# Not next to the policies: a change there would be read as one of their folder.
logs=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$dir" "$logs"' EXIT
seconds=${SECONDS_EACH:-10}
rounds=${ROUNDS:-3}

python3 benches/pool.py "$data" "$dir"

serve() { # POLICIES
    "$ephor" serve --policies "$1" --tls-self-signed "$dir/tls" --listen 127.0.0.1:0 --metrics-listen none \
        --shutdown-delay 0s --baseline --log-format json 2> "$logs/log" &
    pid=$!
    until grep -q '"serving"' "$logs/log"; do kill -0 $pid; done
    address=$(grep -o '"reviews":"[^"]*"' "$logs/log" | head -1 | cut -d'"' -f4)
}
memory() { awk '/VmRSS/ {print $2 / 1024}' "/proc/$pid/status"; }
run() { # PATH: requests a second and the 99th percentile in milliseconds
    wrk -t1 -c8 -d"${seconds}s" --latency -s "$dir/$load.lua" "https://$address/$1" |
        awk '/99%/ {p=$2} /Requests\/sec/ {r=$2} END {v=p+0; if (p ~ /us$/) v/=1000; if (p ~ /[0-9]s$/ && p !~ /[mu]s$/) v*=1000; print r, v}'
}
compare() { # NAME POLICIES LOAD
    serve "$2"
    load=$3
    run baseline > /dev/null
    before=$(memory)
    for _ in $(seq "$rounds"); do
        echo "$(run baseline) $(run validate)"
    done | sort -k1 -n | awk -v name="$1" '{b[NR]=$1; bp[NR]=$2; v[NR]=$3; vp[NR]=$4; r[NR]=$3/$1; q[NR]=$4/$2}
        END {n=int((NR+1)/2); printf "%s: baseline %.0f/s p99 %.2f ms, validate %.0f/s p99 %.2f ms, ratio %.2f, p99 ratio %.2f\n", name, b[n], bp[n], v[n], vp[n], v[n]/b[n], vp[n]/bp[n]}'
    printf '%s: memory %.1f MB before, %.1f MB after\n' "$1" "$before" "$(memory)"
    kill $pid; wait $pid 2>/dev/null || true
}
compare "100 policies, a large Pod" "$dir/hundred" post
compare "100 policies, another image in every Pod" "$dir/hundred" each
if [ -s "$dir/pool.lua" ]; then compare "100 policies, objects of all kinds" "$dir/hundred" pool; fi
compare "10,000 policies of other kinds" "$dir/many" post

# What 10,000 more policies change: two servers, measured in turn.
mkdir "$dir/both" && cp "$dir"/hundred/*.yaml "$dir"/many/*.yaml "$dir/both/"
load=post
serve "$dir/hundred"; few=$address
serve "$dir/both"; more=$address
for _ in $(seq "$rounds"); do
    address=$few; of_few=$(run validate)
    address=$more; of_more=$(run validate)
    echo "$of_few $of_more"
done | sort -k1 -n | awk '{a[NR]=$1; b[NR]=$3; r[NR]=$3/$1} END {n=int((NR+1)/2); printf "100 policies: %.0f/s, with 10,000 of other kinds in addition: %.0f/s, ratio %.2f\n", a[n], b[n], r[n]}'
