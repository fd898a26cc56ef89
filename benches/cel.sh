#!/usr/bin/env bash
# Times of compiling and evaluating CEL here and in cel-go, and their ratios, in one run.
# usage: benches/cel.sh      (needs Go and the modules of benches/cel-go)
set -euo pipefail
cd "$(dirname "$0")/.."
W=$(mktemp -d); trap 'rm -rf "$W"' EXIT
(cd benches/cel-go && go build -o "$W/cel-go" .)
uname -sm; nproc | sed 's/$/ cores/'; date -u +%F
CEL_GO="$W/cel-go" cargo bench --locked --bench cel
