#!/usr/bin/env bash
# Builds the programs that `benches/peers/run.py` measures ephor with, from their public Go modules.
#
# In: Go; the names to build (all by default). EPHOR_PEERS is the folder of the programs, outside of the repository
# (~/.cache/ephor-peers by default). Kyverno's command line is KYVERNO_BIN, or built by EPHOR_ORACLE's `build.sh`.
# Out: the programs, and a line for each: its version, or why it is left out. A program that is there is not built again.
set -euo pipefail
bin=${EPHOR_PEERS:-${XDG_CACHE_HOME:-$HOME/.cache}/ephor-peers}
mkdir -p "$bin"
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
export GOFLAGS="-mod=mod -buildvcs=false" CGO_ENABLED=0 GOTOOLCHAIN=local

# Why, without addresses: the last line of the log.
left_out() { echo "$1: left out, $(grep -v '^\s*$' "$work/log" | tail -1 | sed 's|https\?://[^ ]*|the module|')"; }
# from_module NAME MODULE VERSION PACKAGE: one program of a module, with the module's own choice of dependencies.
from_module() {
    if [ -x "$bin/$1" ]; then echo "$1: $2@$3, built before"; return; fi
    # The module is copied: the cache is read-only, and `go install` refuses modules that replace others.
    if (cd "$work" && [ -f go.mod ] || go mod init peers) > "$work/log" 2>&1 &&
        (cd "$work" && go mod download "$2@$3") >> "$work/log" 2>&1 &&
        cp -r "$(go env GOMODCACHE)/$2@$3" "$work/$1" && chmod -R u+w "$work/$1" &&
        (cd "$work/$1" && go build -ldflags "-s -w" -o "$bin/$1" "$4") >> "$work/log" 2>&1; then
        echo "$1: $2@$3"
    else
        left_out "$1"
    fi
}
kyverno() {
    if [ -n "${KYVERNO_BIN:-}" ] || [ -x "$bin/kyverno" ]; then echo "kyverno: ${KYVERNO_BIN:-$bin/kyverno}, built before"; return; fi
    echo "EPHOR_ORACLE names no folder, and KYVERNO_BIN no program" > "$work/log"
    if [ -d "${EPHOR_ORACLE:-}" ] && bash "$EPHOR_ORACLE/build.sh" "$bin" kyverno > "$work/log" 2>&1; then
        echo "kyverno: built by EPHOR_ORACLE"
    else
        left_out kyverno
    fi
}

[ $# -gt 0 ] || set -- gator conftest kube-linter kubescape kyverno
for name; do
    case $name in
        gator) from_module gator github.com/open-policy-agent/gatekeeper/v3 v3.23.1 ./cmd/gator ;;
        conftest) from_module conftest github.com/open-policy-agent/conftest v0.71.1 . ;;
        kube-linter) from_module kube-linter golang.stackrox.io/kube-linter v0.7.6 ./cmd/kube-linter ;;
        kubescape) from_module kubescape github.com/kubescape/kubescape/v3 v3.0.40 . ;;
        kyverno) kyverno ;;
        *) echo "unknown: $name" >&2; exit 2 ;;
    esac
done
