#!/usr/bin/env bash
# Checks the chart and the manifests: `helm lint`, the alerts, the schemas of Kubernetes, ephor's own policies.
# usage: lint.sh [EPHOR]        HELM, KUBECONFORM, PROMTOOL: the programs, if not on the PATH
#
# What is not there is skipped with a line that says so. kubeconform takes its schemas from the network, or from
# KUBECONFORM_SCHEMAS (a -schema-location). A real API server sees the same objects in conformance/kube/run.py.
set -euo pipefail
ephor=${1:-$(command -v ephor || true)}
if [ -n "$ephor" ]; then ephor=$(realpath "$ephor"); fi
cd "$(dirname "$0")"

helm=${HELM:-$(command -v helm || true)}
kubeconform=${KUBECONFORM:-$(command -v kubeconform || true)}
promtool=${PROMTOOL:-$(command -v promtool || true)}
# The chart in the repository names none.
image=image.repository=registry.invalid/ephor
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for manifests in manifests/*.yaml; do cp "$manifests" "$work/manifests-$(basename "$manifests")"; done

if [ -n "$helm" ]; then
  for values in helm/ephor/values.yaml helm/values/*.yaml; do
    name=$(basename "$(dirname "$values")")-$(basename "$values" .yaml)
    "$helm" lint --strict --quiet -f "$values" --set "$image" helm/ephor
    "$helm" template ephor helm/ephor --namespace ephor -f "$values" --set "$image" > "$work/$name.yaml"
    echo "linted: the chart with $values"
  done
  HELM="$helm" ./render.py --check
  echo "current: the manifests and the kustomize base"
  if [ -n "$promtool" ]; then
    mkdir "$work/alerts"
    # The spec of a PrometheusRule is what Prometheus reads.
    "$helm" template ephor helm/ephor --show-only templates/monitoring.yaml --set metrics.prometheusRule.enabled=true \
      --set "$image" | sed '1,/^spec:/d; s/^  //' > "$work/alerts/rules.yaml"
    cp helm/alerts.yaml "$work/alerts/"
    "$promtool" check rules --lint-fatal "$work/alerts/rules.yaml" > "$work/answer" 2>&1 || { cat "$work/answer" >&2; exit 1; }
    "$promtool" test rules "$work/alerts/alerts.yaml" > "$work/answer" 2>&1 || { cat "$work/answer" >&2; exit 1; }
    echo "tested: the alerts"
  else
    echo "skipped: promtool is not there"
  fi
else
  echo "skipped: helm is not there"
fi

if [ -z "$kubeconform" ]; then
  echo "skipped: kubeconform is not there"
elif [ -n "${KUBECONFORM_SCHEMAS:-}" ]; then
  "$kubeconform" -strict -summary -schema-location "$KUBECONFORM_SCHEMAS" "$work"/*.yaml
elif "$kubeconform" -strict "$work/manifests-ephor.yaml" > "$work/answer" 2>&1; then
  "$kubeconform" -strict -summary "$work"/*.yaml
elif grep -qi 'failed downloading\|dial tcp\|no such host\|connection refused' "$work/answer"; then
  echo "skipped: the schemas cannot be fetched"
else
  cat "$work/answer" >&2
  exit 1
fi

if [ -n "$ephor" ]; then
  for objects in "$work"/*.yaml; do
    name=$(basename "$objects")
    # The policies forbid the network of the node, as they should.
    if [ "$name" = values-host-network.yaml ]; then continue; fi
    for policies in ../policies/pod-security-* ../policies/best-practices/*; do
      case "$(basename "$policies") $name" in
        # Its registries are examples.
        restrict-image-registries*) continue ;;
        # An autoscaler sets the replicas.
        "require-replicas values-cert-manager.yaml") continue ;;
      esac
      "$ephor" apply "$policies" -r "$objects" > "$work/verdicts" 2>&1 || { cat "$work/verdicts" >&2; exit 1; }
    done
    echo "clean: $name"
  done
else
  echo "skipped: ephor is not there"
fi
