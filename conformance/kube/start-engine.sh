#!/usr/bin/env bash
# Starts ephor in Kyverno's place for a cluster whose objects (definitions, accounts, ConfigMaps, Services) are there already.
# usage: start-engine.sh STATE_DIR INDEX CONFIGS     EPHOR names the program; returns when it is ready
#
# STATE_DIR holds the kubeconfig files of Kyverno's accounts; reviews are served on 127.0.INDEX.2:443, to which the Service
# kyverno-svc leads. What the Deployments of the chart say about Kyverno (exceptions, failure policies) is taken from there.
set -euo pipefail
state=$(cd "$1" && pwd) index=$2
ephor=${EPHOR:?names the program}
kubectl=${KUBECTL:-kubectl}
address=127.0.$index.2

if [ -f "$state/pid/ephor.pid" ]; then
  kill "$(cat "$state/pid/ephor.pid")" 2> /dev/null || true
  for _ in $(seq 50); do kill -0 "$(cat "$state/pid/ephor.pid")" 2> /dev/null || break; sleep 0.2; done
fi

# A flag of a controller (default the admission controller), as the chart sets it.
given() {
  "$kubectl" --kubeconfig "$state/boot.kubeconfig" get deployment "kyverno-${2:-admission}-controller" -n kyverno \
    -o jsonpath='{range .spec.template.spec.containers[0].args[*]}{@}{"\n"}{end}' | sed -n "s/^--$1=//p" | tail -1
}

flags=(--omit-events "$(given omitEvents)")
if [ "$(given enablePolicyException)" = true ]; then flags+=(--exceptions "$(given exceptionNamespace)"); fi
if [ "$(given generateValidatingAdmissionPolicy)" = true ]; then native=(validating); else native=(); fi
if [ "$(given generateMutatingAdmissionPolicy)" = true ]; then native+=(mutating); fi
for kind in "${native[@]:-none}"; do flags+=(--native-policies "$kind"); done
if [ "$(given forceFailurePolicyIgnore)" = true ]; then flags+=(--force-failure-policy-ignore); fi
if [ "$(given mutatingAdmissionPolicyReports reports)" = true ]; then flags+=(--native-reports mutating --native-reports validating); fi
if [ "$(given openreportsEnabled reports)" = true ]; then flags+=(--openreports); fi
results=$(given allowedResults reports)
if [ -n "$results" ]; then flags+=(--report-results "$results"); fi
rules=$(given enableReporting reports)
if [ -n "$rules" ]; then flags+=(--report-rules "$rules"); fi

interval=$(given ttlReconciliationInterval cleanup)
if [ -n "$interval" ]; then flags+=(--ttl-interval "$interval"); fi

mkdir -p "$state/ephor"
POD_NAME=kyverno-admission-controller-outside nohup "$ephor" serve \
  --kubeconfig "$state/kyverno-admission-controller.kubeconfig" \
  --reports-kubeconfig "$state/kyverno-reports-controller.kubeconfig" \
  --background-kubeconfig "$state/kyverno-background-controller.kubeconfig" \
  --cleanup-kubeconfig "$state/kyverno-cleanup-controller.kubeconfig" \
  --kinds all --kyverno-names --take-over --exclude-namespace "" \
  --service-namespace kyverno --service-name kyverno-svc --lease kyverno/kyverno \
  --listen "$address:443" --metrics-listen "$address:8000" \
  --tls-self-signed "$state/ephor" --tls-name kyverno-svc.kyverno.svc \
  --shutdown-delay 0s --reports --events "${flags[@]}" > "$state/log/ephor.log" 2>&1 < /dev/null &
echo $! > "$state/pid/ephor.pid"

configurations() {
  "$kubectl" --kubeconfig "$state/boot.kubeconfig" get validatingwebhookconfigurations -o name 2> /dev/null
}
for _ in $(seq 60); do
  kill -0 "$(cat "$state/pid/ephor.pid")" || { tail -5 "$state/log/ephor.log" >&2; exit 1; }
  if curl -fsk "https://$address/readyz" > /dev/null && configurations | grep -q kyverno-policy-validating-webhook-cfg; then
    exit 0
  fi
  sleep 0.5
done
echo "start-engine.sh: not ready after 30 s" >&2
tail -5 "$state/log/ephor.log" >&2
exit 1
