#!/usr/bin/env bash
# Builds what a release needs besides Rust: crane, helm and cosign from their Go modules, cargo-cyclonedx and wasm-bindgen from
# crates.io, maturin from PyPI; with --linters also what checks workflows and the chart. Prints the folder.
#
# usage: tools.sh [--linters] [NAME…]      EPHOR_RELEASE_TOOLS: the folder, ephor-release in the user's cache folder unless given
#
# Versions are fixed here: the module proxy and crates.io serve the same bytes for them, which go.sum's database and Cargo.lock check.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=${EPHOR_RELEASE_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/ephor-release}
mkdir -p "$bin"
bin=$(cd "$bin" && pwd)
wanted=(crane helm cosign cargo-cyclonedx wasm-bindgen maturin)
if [ "${1:-}" = --linters ]; then shift; wanted+=(actionlint zizmor kube-score checkov); fi
if [ $# -gt 0 ]; then wanted=("$@"); fi

# Next to each program a file names the version that it was built from.
is_there() { [ -x "$bin/$1" ] && [ "$(cat "$bin/.$1" 2> /dev/null)" = "$2" ]; }
built() { echo "$2" > "$bin/.$1"; }
go_tool() { # name module package version
  if is_there "$1" "$3"; then return; fi
  GOBIN=$bin CGO_ENABLED=0 GOFLAGS="-buildvcs=false -gcflags=all=-dwarf=false" go install -ldflags "-s -w" "$2@$3" >&2
  built "$1" "$3"
}
cargo_tool() { # name version
  if is_there "$1" "$2"; then return; fi
  local installed=$bin/cargo package=${3:-$1}
  cargo install "$package" --version "$2" --locked --debug --root "$installed" --target-dir "$installed/target" --quiet >&2
  ln -sf "$installed/bin/$1" "$bin/$1"
  built "$1" "$2"
}
python_tool() { # name version
  if is_there "$1" "$2"; then return; fi
  python3 -m venv "$bin/python-$1" && "$bin/python-$1/bin/pip" install --quiet "$1==$2" >&2
  ln -sf "$bin/python-$1/bin/$1" "$bin/$1"
  built "$1" "$2"
}
for name in "${wanted[@]}"; do
  case $name in
    crane) go_tool crane github.com/google/go-containerregistry/cmd/crane v0.22.1 ;;
    helm) go_tool helm helm.sh/helm/v4/cmd/helm v4.1.4 ;;
    cosign) go_tool cosign github.com/sigstore/cosign/v3/cmd/cosign v3.1.3 ;;
    actionlint) go_tool actionlint github.com/rhysd/actionlint/cmd/actionlint v1.7.12 ;;
    kube-score) go_tool kube-score github.com/zegl/kube-score/cmd/kube-score v1.20.0 ;;
    cargo-cyclonedx) cargo_tool cargo-cyclonedx 0.5.9 ;;
    wasm-bindgen) cargo_tool wasm-bindgen "$(sed -n '/^name = "wasm-bindgen"$/{n;s/version = "\(.*\)"/\1/p}' "$root/Cargo.lock")" wasm-bindgen-cli ;;
    maturin) python_tool maturin 1.16.0 ;;
    zizmor) python_tool zizmor 1.32.0 ;;
    checkov) python_tool checkov 3.3.30 ;;
    *) echo "tools.sh: there is no recipe for $name" >&2; exit 2 ;;
  esac
done
echo "$bin"
