#!/bin/sh
# Leaves the manifests of a workspace, with empty sources, so that a build of it builds the dependencies alone.
# usage: empty-sources.sh      in a copy of Cargo.toml, Cargo.lock, crates, src and benches
set -eu
find crates src -type f ! -name Cargo.toml -delete
find crates src -type d -empty -delete
for crate in . crates/*; do
  mkdir -p "$crate/src"
  : > "$crate/src/lib.rs"
done
echo 'fn main() {}' > src/main.rs
# Programs and benchmarks that crates have besides: nothing builds them, and they must exist.
find benches crates -name '*.rs' -path '*benches*' | while read -r file; do echo 'fn main() {}' > "$file"; done
rm -f empty-sources.sh
