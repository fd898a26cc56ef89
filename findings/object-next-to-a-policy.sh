#!/usr/bin/env bash
# Kyverno's command line 1.19.1: a valid object next to a policy in one file switches the policy off; a broken one does not, nor does a list around both.
#
# Guess: documents of a policy file that are no policies are skipped one by one; if anything, a broken one is what stops the file.
# Seen: a sound ConfigMap leaves out the whole file: no policy rule is applied, and the exit code is 0. A ConfigMap whose `data` is a text, which its
# schema refuses, is skipped alone. In a `kind: List` the sound one is skipped alone, too.
# Who meets it: teams that store a policy together with the ConfigMap that it reads.
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
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: need-owner}
spec:
  rules:
  - name: owner
    match: {any: [{resources: {kinds: [Secret]}}]}
    validate: {message: owner, pattern: {metadata: {labels: {owner: "?*"}}}}
END
sound='{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: b}}'
broken='{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: text}'
printf '%s\n---\n' "$sound" | cat - policy.yaml > sound.yaml
printf '%s\n---\n' "$broken" | cat - policy.yaml > broken.yaml
{ printf 'apiVersion: v1\nkind: List\nitems:\n- %s\n' "$sound"; sed '1s/^/- /; 1!s/^/  /' policy.yaml; } > list.yaml
printf 'apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: shop}\n' > object.yaml
of() { { "$kyverno" apply "$1" --resource object.yaml 2>/dev/null && echo "exit code 0" || echo "exit code $?"; } | grep -E '^(pass:|exit)' | tr '\n' ' '; }
for file in policy sound broken list; do echo "$file: $(of $file.yaml)"; done | tee seen
diff seen - <<'END'
policy: pass: 0, fail: 1, warn: 0, error: 0, skip: 0  exit code 1 
sound: pass: 0, fail: 0, warn: 0, error: 0, skip: 0  exit code 0 
broken: pass: 0, fail: 1, warn: 0, error: 0, skip: 0  exit code 1 
list: pass: 0, fail: 1, warn: 0, error: 0, skip: 0  exit code 1 
END
