#!/bin/sh
# Opens a policy and a manifest in Neovim without a screen, and checks what `ephor lsp` shows.
# Usage: editors/neovim/check.sh [PROGRAM]; the program is `ephor` on the path by default.
set -eu

if ! command -v nvim >/dev/null 2>&1; then
    echo "skipped: editors/neovim/check.sh needs nvim"
    exit 0
fi
here=$(cd "$(dirname "$0")" && pwd)
program=${1:-ephor}
case $program in */*) program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program") ;; esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/policy.yaml" <<'EOF'
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: no-latest
spec:
  rules:
  - name: tag
    match:
      any:
      - resources:
          kinds: [Pod]
    validate:
      failureAction: Enforce
      message: pin the tag
      pattern:
        spec:
          containers:
          - image: "!*:latest"
EOF
cat > "$folder/pod.yaml" <<'EOF'
apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: c
    image: nginx:latest
EOF
cd "$folder"
EPHOR="$program" nvim --headless --clean -n -c "luafile $here/check.lua" 2>&1
