#!/usr/bin/env bash
# The files with which package managers install a release: a plugin of kubectl (krew) and a formula of Homebrew.
#
#   deploy/packages/render.sh VERSION URL SHA256SUMS FOLDER
#
# VERSION without `v`; URL below which the archives are; SHA256SUMS of the release; FOLDER that gets `ephor.yaml` and `ephor.rb`.
# TARGETS: those that are there, for a dry run; all of a release unless given.
set -euo pipefail
version=$1 url=$2 checksums=$3 folder=$4
all="x86_64-unknown-linux-musl aarch64-unknown-linux-musl x86_64-apple-darwin aarch64-apple-darwin x86_64-pc-windows-msvc"
targets=" ${TARGETS:-$all} "
is_wanted() { [[ $targets == *" $1 "* ]]; }

archive() { echo "ephor-$version-$1.tar.gz"; }
sum() {
  local found
  found=$(awk -v name="$(archive "$1")" '$2 == name { print $1 }' "$checksums")
  if [ -z "$found" ]; then echo "$checksums has no $(archive "$1")" >&2; exit 1; fi
  echo "$found"
}
about="Kyverno-compatible policy engine: every policy language on one rule IR"
mkdir -p "$folder"
temporary=$(mktemp -d "$folder/.render.XXXXXX")
trap 'rm -rf "$temporary"' EXIT

platform() {
  local os=$1 arch=$2 target=$3 bin=${4:-ephor} checksum
  is_wanted "$target" || return 0
  checksum=$(sum "$target")
  cat << YAML
  - selector: {matchLabels: {os: $os, arch: $arch}}
    uri: $url/$(archive "$target")
    sha256: "$checksum"
    bin: $bin
    files:
    - {from: "*/$bin", to: .}
    - {from: "*/LICENSE", to: .}
YAML
}
{
  cat << YAML
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: ephor
spec:
  version: v$version
  homepage: ${url%%/releases/*}
  shortDescription: Check manifests against policies
  description: |
    $about.
    Evaluates Kyverno and Kubernetes policies on manifests, runs their tests, and explains each decision.
  platforms:
YAML
  platform linux amd64 x86_64-unknown-linux-musl
  platform linux arm64 aarch64-unknown-linux-musl
  platform darwin amd64 x86_64-apple-darwin
  platform darwin arm64 aarch64-apple-darwin
  platform windows amd64 x86_64-pc-windows-msvc ephor.exe
} > "$temporary/ephor.yaml"

source_of() {
  local checksum
  checksum=$(sum "$1")
  printf '      url "%s"\n      sha256 "%s"\n' "$url/$(archive "$1")" "$checksum"
}
{
  cat << RUBY
class Ephor < Formula
  desc "$about"
  homepage "${url%%/releases/*}"
  version "$version"
  license "Apache-2.0"

RUBY
  for os in linux macos; do
    if [ "$os" = linux ]; then suffix=unknown-linux-musl; else suffix=apple-darwin; fi
    is_wanted "aarch64-$suffix" || is_wanted "x86_64-$suffix" || continue
    echo "  on_$os do"
    for arch in arm intel; do
      if [ "$arch" = arm ]; then cpu=aarch64; else cpu=x86_64; fi
      is_wanted "$cpu-$suffix" || continue
      echo "    on_$arch do"
      source_of "$cpu-$suffix"
      echo "    end"
    done
    printf '  end\n\n'
  done
  cat << 'RUBY'
  def install
    bin.install "ephor"
    man1.install Dir["man/*.1"]
    generate_completions_from_executable(bin/"ephor", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/ephor version")
  end
end
RUBY
} > "$temporary/ephor.rb"
mv "$temporary/ephor.yaml" "$temporary/ephor.rb" "$folder"
