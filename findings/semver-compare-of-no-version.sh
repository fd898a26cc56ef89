#!/usr/bin/env bash
# Kyverno's command line 1.19.1: `semver_compare` of a text that is no version compares 0.0.0.
#
# Guess: `semver_compare('v3.2.1', '<2.0.0')` is an error, or reads the version behind the `v`.
# Seen: it is true, without a word, as for `3.2` and `latest`; a range that cannot be read is an error.
# Who meets it: rules that deny old versions by the tag of an image: `v3.2.1` is refused as too old, and a rule about `>=` lets nothing pass.
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

echo '{}' > input.json
of() { "$kyverno" jp query "semver_compare('$1', '$2')" --input input.json 2>&1 | tail -1; }
for version in 3.2.1 v3.2.1 3.2 latest; do echo "$version <2.0.0: $(of $version '<2.0.0')"; done | tee seen
diff seen - <<'END'
3.2.1 <2.0.0: false
v3.2.1 <2.0.0: true
3.2 <2.0.0: true
latest <2.0.0: true
END
[[ $(of 3.2.1 none) == 'Error: '* ]]
