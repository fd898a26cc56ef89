#!/usr/bin/env bash
# Kyverno's command line 1.19.1: `oci push` of a folder pushes its ClusterPolicies and leaves out its ValidatingPolicies without a word; the exit code is 0.
#
# Guess: a folder is pushed whole, or a kind that the artifact has no form for is an error.
# Seen: the folder has a ClusterPolicy and a ValidatingPolicy; the artifact has one layer, the ClusterPolicy, printed anew with defaults. `oci pull`
# gives one file. Nothing on either stream names the other policy, and both commands end with 0.
# Who meets it: teams that distribute policies through a registry and move them to the kinds in CEL: after the move, clusters get fewer policies.
set -euo pipefail
version=v1.19.1 registry_version=v0.22.1
work=$(mktemp -d)
server=''
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"
export GOFLAGS="-mod=mod -buildvcs=false" CGO_ENABLED=0 GOBIN=$work/bin
# The program is built from its Go module, which takes some minutes; KYVERNO_CLI names one of this version that is there.
kyverno=${KYVERNO_CLI:-}
if [ -z "$kyverno" ]; then
  printf 'module finding\ngo 1.26.0\n' > go.mod
  go mod download "github.com/kyverno/kyverno@$version"
  cp -r "$(go env GOMODCACHE)/github.com/kyverno/kyverno@$version" source
  chmod -R u+w source
  (cd source && go build -ldflags "-X github.com/kyverno/kyverno/pkg/version.BuildVersion=$version" -o ../kyverno ./cmd/cli/kubectl-kyverno)
  kyverno=$work/kyverno
fi
go install "github.com/google/go-containerregistry/cmd/registry@$registry_version"
# It listens on its own port, 1338, on loopback names.
timeout 120 "$work/bin/registry" serve > registry.log 2>&1 < /dev/null &
server=$!
for _ in $(seq 50); do grep -q "serving on port 1338" registry.log && break; sleep 0.1; done
"$kyverno" version | sed -n 1p

mkdir policies pulled
cat > policies/classic.yaml <<'END'
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: need-owner}
spec:
  rules:
  - name: owner
    match: {any: [{resources: {kinds: [Secret]}}]}
    validate: {message: owner, pattern: {metadata: {labels: {owner: "?*"}}}}
END
cat > policies/cel.yaml <<'END'
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: need-labels}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [secrets]}]}
  validations: [{expression: has(object.metadata.labels)}]
END
export KYVERNO_EXPERIMENTAL=true
image=localhost:1338/acme/policies:1
{
  "$kyverno" oci push policies -i "$image" > push.log 2>&1 < /dev/null && echo "push: exit code 0"
  "$kyverno" oci pull pulled -i "$image" > pull.log 2>&1 < /dev/null && echo "pull: exit code 0"
  echo "pulled: $(cat pulled/* | grep -E '^kind:' | tr '\n' ' ')"
  echo "named: $(cat push.log pull.log | grep -c need-labels || true)"
} | tee seen
diff seen - <<'END'
push: exit code 0
pull: exit code 0
pulled: kind: ClusterPolicy 
named: 0
END
