#!/bin/sh
# Runs every fuzz target for some seconds, and says a line each: run.sh SECONDS [TARGET...]
# Needs a nightly toolchain and cargo-fuzz (`cargo install cargo-fuzz --locked`).
set -eu
cd "$(dirname "$0")"
seconds=${1:?usage: run.sh SECONDS [TARGET...]}
shift
[ $# -gt 0 ] || set -- $(sed -n 's/^name = "\(.*\)"$/\1/p' Cargo.toml | grep -vx ephor-fuzz)
python3 seeds.py > /dev/null
# The code is safe Rust: without a sanitizer there are more runs.
cargo +nightly fuzz build --sanitizer none
failed=0
for target in "$@"; do
    log=$(mktemp)
    if cargo +nightly fuzz run --sanitizer none "$target" -- -max_total_time="$seconds" -rss_limit_mb=4096 -timeout=10 \
        -max_len=65536 > "$log" 2>&1; then
        echo "$target: $(grep -E '^Done|^#[0-9]+.*DONE' "$log" | tail -1)"
    else
        failed=1
        echo "$target: FAILED: $(grep -E 'SUMMARY|panicked' "$log" | head -1) ($log)"
    fi
done
exit $failed
