#!/usr/bin/env bash
# Builds kube-apiserver and etcd from their Go modules into a folder, unless they are there already.
# usage: build.sh [--cluster | --kubernetes 1.37] [BIN_DIR]        prints the folder; needs Go
#
# With --kubernetes the API server of another release, into a folder of that name below the other programs, whose etcd it
# shares: it waits until they are built.
# With --cluster also what the cluster tests need: kube-controller-manager, kubectl, chainsaw, and of helm the rendering
# of charts. All come from one module with the versions of Kubernetes' own dependencies, so that they share what is
# compiled. With EPHOR_KUBE_BIN set to a folder that holds the programs nothing is built. The default folder is
# ephor-kube in the user's cache folder; a marker names the versions, so that new ones are built anew.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

KUBE=v1.36.3 STAGING=v0.36.3 ETCD=v3.6.5 CHAINSAW=v0.2.14 HELM=v4.1.4

cluster='' release=''
case "${1:-}" in
  --cluster) cluster=yes; shift ;;
  --kubernetes)
    case "${2:-}" in
      1.37) release=1.37 KUBE=v1.37.2 STAGING=v0.37.2 ;;
      *) echo "build.sh: there is no recipe for Kubernetes ${2:-}" >&2; exit 2 ;;
    esac
    shift 2 ;;
esac
programs=(kube-apiserver etcd)
if [ -n "$cluster" ]; then programs+=(kube-controller-manager kubectl chainsaw helm); fi

if [ -n "${EPHOR_KUBE_BIN:-}" ]; then
  ready=$EPHOR_KUBE_BIN${release:+/$release}
  for name in "${programs[@]}"; do
    [ -x "$ready/$name" ] || { echo "build.sh: $ready holds no $name" >&2; exit 1; }
  done
  echo "$ready"
  exit 0
fi

bin=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/ephor-kube}
mkdir -p "$bin"
bin=$(cd "$bin" && pwd)
# Who comes second waits until the programs are there.
lock() {
  exec 9> "$bin/lock"
  if command -v flock > /dev/null; then flock 9; fi
}
lock
has_etcd=
if grep -qs "etcd $ETCD" "$bin/versions"; then has_etcd=yes; fi
if [ -n "$release" ]; then
  mkdir -p "$bin/$release"
  if [ -n "$has_etcd" ]; then ln -sf ../etcd "$bin/$release/etcd"; fi
  bin=$bin/$release
  lock
fi
wanted="kubernetes $KUBE etcd $ETCD"
tools="chainsaw $CHAINSAW helm $HELM $wanted $(cksum < "$here/render/main.go")"
has() { [ -f "$bin/$1" ] && [ "$(cat "$bin/$1")" = "$2" ]; }
if has versions "$wanted" && { [ -z "$cluster" ] || has cluster-versions "$tools"; }; then
  echo "$bin"
  exit 0
fi
command -v go > /dev/null || { echo "build.sh: Go is needed to build kube-apiserver and etcd" >&2; exit 1; }

# What debuggers read is a fifth of the compiler's work.
export GOFLAGS="-mod=mod -buildvcs=false -gcflags=all=-dwarf=false" CGO_ENABLED=0
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

module() { (cd "$work" && go mod download "$1" && echo "$(go env GOMODCACHE)/$1"); }
printf 'module build\ngo 1.26.0\n' > "$work/go.mod"
# A program appears whole or not at all.
build() { # folder package name flags
  (cd "$work/$1" && go build -ldflags "-s -w ${4:-}" -o "$bin/$3.new" "$2" && mv "$bin/$3.new" "$bin/$3") >&2
}

if ! [ -x "$bin/etcd" ] || [ -z "$has_etcd" ]; then
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
  build etcd . etcd
fi

# Kubernetes replaces its own parts by folders of its repository; as modules they have versions.
kubernetes=$(module "k8s.io/kubernetes@$KUBE")
mkdir "$work/kube"
cp "$kubernetes/go.sum" "$work/kube/"
{
  printf 'module kube\ngo 1.26.0\nrequire k8s.io/kubernetes %s\nreplace (\n' "$KUBE"
  sed -n '/^replace/,$p' "$kubernetes/go.mod" | awk -v v="$STAGING" '/=>/ {print $1 " => " $1 " " v}'
  echo ')'
} > "$work/kube/go.mod"
packages=(k8s.io/kubernetes/cmd/kube-apiserver)
if [ -n "$cluster" ]; then packages+=(k8s.io/kubernetes/cmd/kube-controller-manager k8s.io/kubernetes/cmd/kubectl); fi
imports() { printf '//go:build tools\n\npackage tools\n\nimport (\n'; printf '\t_ "%s"\n' "$@"; echo ')'; }
imports "${packages[@]}" > "$work/kube/tools.go"
version="-X k8s.io/component-base/version.gitVersion=$KUBE -X k8s.io/component-base/version.gitMajor=1"
version="$version -X k8s.io/component-base/version.gitMinor=$(cut -d. -f2 <<< "$KUBE")"
if ! has versions "$wanted"; then
  build kube k8s.io/kubernetes/cmd/kube-apiserver kube-apiserver "$version"
  echo "$wanted" > "$bin/versions"
fi
[ -n "$cluster" ] || { echo "$bin"; exit 0; }
for name in kube-controller-manager kubectl; do build kube "k8s.io/kubernetes/cmd/$name" "$name" "$version"; done

# chainsaw: without the loading of manifests from addresses, which brings the clients of two clouds; and its own value
# for testing.MainStart gets the method that Go 1.26 wants besides.
cp -r "$(module "github.com/kyverno/chainsaw@$CHAINSAW")" "$work/chainsaw"
chmod -R u+w "$work/chainsaw"
printf 'package internal\n\nfunc (*TestDeps) ModulePath() string { return "" }\n' > "$work/chainsaw/pkg/runner/internal/modulepath.go"
mkdir "$work/getter" "$work/tools" "$work/tools/render"
printf 'module github.com/hashicorp/go-getter\ngo 1.26.0\n' > "$work/getter/go.mod"
cat > "$work/getter/getter.go" << 'GO'
package getter

import (
	"context"
	"errors"
)

type ClientMode uint

const ClientModeFile ClientMode = 1

type Client struct {
	Ctx      context.Context
	Src, Dst string
	Mode     ClientMode
}

func (c *Client) Get() error { return errors.New("this build loads nothing from " + c.Src) }
GO
cp "$here/render/main.go" "$work/tools/render/"
helm=$(module "helm.sh/helm/v4@$HELM")
cat "$work/kube/go.sum" "$work/chainsaw/go.sum" "$helm/go.sum" | sort -u > "$work/tools/go.sum"
# Kubernetes' versions also where the other two name newer ones.
pinned='^(github.com/(antlr4-go/antlr/v4|go-openapi/(jsonpointer|jsonreference|swag)|google/cel-go|mailru/easyjson|moby/term|spf13/pflag|stoewer/go-strcase))$'
{
  printf 'module tools\ngo 1.26.0\nrequire (\n\tk8s.io/kubernetes %s\n' "$KUBE"
  printf '\tgithub.com/kyverno/chainsaw %s\n\thelm.sh/helm/v4 %s\n)\n' "$CHAINSAW" "$HELM"
  printf 'replace (\n\tgithub.com/kyverno/chainsaw => ../chainsaw\n\tgithub.com/hashicorp/go-getter => ../getter\n'
  (cd "$work/kube" && go list -m all) | awk -v pinned="$pinned" '$1 ~ pinned && !/=>/ {print "\t" $1 " => " $1 " " $2}'
  sed -n '/^replace (/,/^)/p' "$work/kube/go.mod" | sed 1d
} > "$work/tools/go.mod"
imports github.com/kyverno/chainsaw > "$work/tools/tools.go"
build tools github.com/kyverno/chainsaw chainsaw "-X github.com/kyverno/chainsaw/pkg/version.BuildVersion=$CHAINSAW"
build tools ./render helm
echo "$tools" > "$bin/cluster-versions"
echo "$bin"
