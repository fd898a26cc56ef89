#!/usr/bin/env bash
# Packs the recordings of this project: the same files give the same bytes.
# usage: conformance/recordings/pack.sh DIR [SUITE…]      DIR is laid out as docs/internals/conformance.md says
set -euo pipefail
from=$1; shift
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- jmespath-kyverno engine kubernetes-cel admission
for suite; do
  tar --create --sort=name --format=ustar --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
    --exclude=.packed --directory="$from" "$suite" | gzip --no-name -9 > "$here/$suite.tar.gz"
  echo "$suite $(stat --format=%s "$here/$suite.tar.gz") bytes"
done
