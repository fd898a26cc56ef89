#!/usr/bin/env bash
# Checks the chart and the manifests: `helm lint`, the schemas of Kubernetes, ephor's own policies.
# usage: lint.sh [EPHOR]        HELM, KUBECONFORM: the programs, if not on the PATH
#
# What is not there is skipped with a line that says so. kubeconform takes its schemas from the network, or from
# KUBECONFORM_SCHEMAS (a -schema-location). A real API server sees the same objects in conformance/kube/run.py.
set -euo pipefail
cd "$(dirname "$0")"

helm=${HELM:-$(command -v helm || true)}
kubeconform=${KUBECONFORM:-$(command -v kubeconform || true)}
ephor=${1:-$(command -v ephor || true)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp manifests/ephor.yaml "$work/manifests.yaml"

if [ -n "$helm" ]; then
  for values in helm/ephor/values.yaml helm/values/*.yaml; do
    name=$(basename "$(dirname "$values")")-$(basename "$values" .yaml)
    "$helm" lint --strict --quiet -f "$values" helm/ephor
    "$helm" template ephor helm/ephor --namespace ephor -f "$values" > "$work/$name.yaml"
    echo "linted: the chart with $values"
  done
else
  echo "skipped: helm is not there"
fi

if [ -z "$kubeconform" ]; then
  echo "skipped: kubeconform is not there"
elif [ -n "${KUBECONFORM_SCHEMAS:-}" ]; then
  "$kubeconform" -strict -summary -schema-location "$KUBECONFORM_SCHEMAS" "$work"/*.yaml
elif "$kubeconform" -strict "$work/manifests.yaml" > "$work/answer" 2>&1; then
  "$kubeconform" -strict -summary "$work"/*.yaml
elif grep -qi 'failed downloading\|dial tcp\|no such host\|connection refused' "$work/answer"; then
  echo "skipped: the schemas cannot be fetched"
else
  cat "$work/answer" >&2
  exit 1
fi

if [ -n "$ephor" ]; then
  for objects in "$work"/*.yaml; do
    for policies in pod-security-baseline pod-security-restricted; do
      "$ephor" apply "../policies/$policies" -r "$objects" > "$work/verdicts" || { cat "$work/verdicts" >&2; exit 1; }
    done
    echo "restricted: $(basename "$objects")"
  done
else
  echo "skipped: ephor is not there"
fi
