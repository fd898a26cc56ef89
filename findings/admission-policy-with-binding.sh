#!/usr/bin/env bash
# Kyverno's command line 1.19.1 and admission policies of Kubernetes: a binding switches off the `matchConstraints` of its policy.
#
# Guess: `kyverno apply` evaluates a ValidatingAdmissionPolicy on the resources that its `matchConstraints` name, whether or not a binding comes with it; a binding
# can only narrow that.
# Seen: without binding a policy about Services is evaluated on the Service alone. With a binding that has no `matchResources` it is evaluated on the Pod and on
# the ConfigMap too, so an expression that reads `object.spec` ends with an error on the ConfigMap, which no API server gives.
# Who meets it: pipelines that keep policy and binding in one file, as `kubectl apply` wants it.
set -euo pipefail
version=v1.19.1
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"
# The program is built from its Go module, which takes some minutes; KYVERNO_CLI names one of this version that is there.
kyverno=${KYVERNO_CLI:-}
if [ -z "$kyverno" ]; then
  export GOFLAGS="-mod=mod -buildvcs=false" CGO_ENABLED=0
  printf 'module finding\ngo 1.26.0\n' > go.mod
  go mod download "github.com/kyverno/kyverno@$version"
  cp -r "$(go env GOMODCACHE)/github.com/kyverno/kyverno@$version" source
  chmod -R u+w source
  (cd source && go build -ldflags "-X github.com/kyverno/kyverno/pkg/version.BuildVersion=$version" -o ../kyverno ./cmd/cli/kubectl-kyverno)
  kyverno=$work/kyverno
fi
"$kyverno" version | sed -n 1p

cat > policy.yaml <<'END'
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-node-ports}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [services]}
  validations:
  - expression: "!has(object.spec.type) || object.spec.type != 'NodePort'"
END
cat > binding.yaml <<'END'
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-node-ports}
spec: {policyName: no-node-ports, validationActions: [Deny]}
END
cat policy.yaml binding.yaml > both.yaml
cat > objects.yaml <<'END'
apiVersion: v1
kind: Service
metadata: {name: s, namespace: shop}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: shop}
spec: {containers: [{name: a, image: "a:1"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c, namespace: shop}
END
of() { { "$kyverno" apply "$1" --resource objects.yaml 2>/dev/null || true; } | grep '^pass:'; }
alone=$(of policy.yaml)
bound=$(of both.yaml)
echo "policy alone:        $alone"
echo "policy with binding: $bound"
[ "$alone" = 'pass: 1, fail: 0, warn: 0, error: 0, skip: 0 ' ]
[ "$bound" = 'pass: 2, fail: 0, warn: 0, error: 1, skip: 0 ' ]
