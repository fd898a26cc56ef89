#!/usr/bin/env bash
# Builds kube-apiserver and etcd from their Go modules into a folder, unless they are there already.
# usage: build.sh [BIN_DIR]        prints the folder; needs Go
#
# With EPHOR_KUBE_BIN set to a folder that holds both programs nothing is built. The default folder is
# ephor-kube in the user's cache folder; a marker names the versions, so that new ones are built anew.
set -euo pipefail

KUBE=v1.36.3 STAGING=v0.36.3 ETCD=v3.6.5

if [ -n "${EPHOR_KUBE_BIN:-}" ]; then
  for name in kube-apiserver etcd; do
    [ -x "$EPHOR_KUBE_BIN/$name" ] || { echo "build.sh: EPHOR_KUBE_BIN holds no $name" >&2; exit 1; }
  done
  echo "$EPHOR_KUBE_BIN"
  exit 0
fi

bin=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/ephor-kube}
mkdir -p "$bin"
bin=$(cd "$bin" && pwd)
marker="$bin/versions"
wanted="kubernetes $KUBE etcd $ETCD"
if [ -f "$marker" ] && [ "$(cat "$marker")" = "$wanted" ]; then
  echo "$bin"
  exit 0
fi
command -v go > /dev/null || { echo "build.sh: Go is needed to build kube-apiserver and etcd" >&2; exit 1; }

export GOFLAGS="-mod=mod -buildvcs=false" CGO_ENABLED=0
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

# Kubernetes replaces its own parts by folders of its repository; as modules they have versions.
module() { (cd "$work" && go mod download "$1" && echo "$(go env GOMODCACHE)/$1"); }
printf 'module build\ngo 1.26.0\n' > "$work/go.mod"

if ! [ -x "$bin/etcd" ] || ! grep -qs "etcd $ETCD" "$marker"; then
  mkdir "$work/etcd"
  printf 'module etcd\ngo 1.26.0\nrequire go.etcd.io/etcd/server/v3 %s\n' "$ETCD" > "$work/etcd/go.mod"
  cat > "$work/etcd/main.go" << 'GO'
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
GO
  (cd "$work/etcd" && go build -ldflags "-s -w" -o "$bin/etcd.new" . && mv "$bin/etcd.new" "$bin/etcd") >&2
fi

source_dir=$(module "k8s.io/kubernetes@$KUBE")
mkdir "$work/kube"
cp "$source_dir/go.sum" "$work/kube/"
{
  printf 'module kube\ngo 1.26.0\nrequire k8s.io/kubernetes %s\nreplace (\n' "$KUBE"
  sed -n '/^replace/,$p' "$source_dir/go.mod" | awk -v v="$STAGING" '/=>/ {print $1 " => " $1 " " v}'
  echo ')'
} > "$work/kube/go.mod"
printf '//go:build tools\n\npackage kube\n\nimport _ "k8s.io/kubernetes/cmd/kube-apiserver"\n' > "$work/kube/tools.go"
version="-X k8s.io/component-base/version.gitVersion=$KUBE -X k8s.io/component-base/version.gitMajor=1"
version="$version -X k8s.io/component-base/version.gitMinor=36"
(cd "$work/kube" && go build -ldflags "-s -w $version" -o "$bin/kube-apiserver.new" k8s.io/kubernetes/cmd/kube-apiserver \
  && mv "$bin/kube-apiserver.new" "$bin/kube-apiserver") >&2
echo "$wanted" > "$marker"
echo "$bin"
