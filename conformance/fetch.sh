#!/usr/bin/env bash
# Brings the public suites into conformance/data, exactly the files that conformance/public/*.sha256 list, each checked.
# usage: conformance/fetch.sh [SUITE=FOLDER…]
#
# In: Go (modules are downloaded as Go is set up to), Python 3, Bash 4 and the GNU tools. Nothing else of the modules is laid
# out or read.
#
#   kyverno-cli        from the module of Kyverno 1.19.1
#   chainsaw           from the same; cluster tests, which no test of this repository runs
#   cel-spec           from the module cel.dev/expr 0.25.3, turned into JSON by conformance/public/cel-spec
#   kyverno-policies   in no package registry: SUITE=FOLDER names a checkout of Kyverno's repository `policies`
#   jmespath           in no package registry in this state: SUITE=FOLDER names the folder `tests/compliance` of a checkout
#                      of the repository `jmespath.py`
#
# With SUITE=FOLDER any suite comes from there. A suite of which a file is missing or differs is not laid out, and the
# script ends with exit code 1. The recordings of this project are in the repository (conformance/recordings); recorded
# verdicts (`verdicts`) are not public.
set -euo pipefail
cd "$(dirname "$0")"
data=$PWD/data lists=$PWD/public
mkdir -p "$data"
work=$(mktemp -d "$data/.fetch.XXXXXX")
trap 'rm -rf "$work"' EXIT

# Where Go keeps the archive of a module, downloaded if need be.
archive() {
  (cd "$work" && go mod download -json "$1") | python3 -c 'import json, sys; print(json.load(sys.stdin)["Zip"])'
}

# The listed files of a suite, from a folder in an archive.
extract() {
  python3 - "$lists/$1.sha256" "$2" "$3" "$work/$1" <<'PY'
import os, sys, zipfile
listed, source, folder, out = sys.argv[1:]
with zipfile.ZipFile(source) as archive:
    for line in open(listed, encoding="utf-8"):
        name = line.rstrip("\n").split("  ", 1)[1]
        os.makedirs(os.path.dirname(f"{out}/{name}"), exist_ok=True)
        with open(f"{out}/{name}", "wb") as file:
            file.write(archive.read(f"{folder}/{name}"))
PY
}

# The listed files of a suite, from a folder.
copy() {
  while read -r _ name; do
    mkdir -p "$(dirname "$work/$1/$name")" && cp "$2/$name" "$work/$1/$name"
  done < "$lists/$1.sha256"
}

bring() {
  local suite=$1 place=${2:-$1} source
  source=${from[$suite]:-}
  case ${source:+folder}$suite in
    folder*) copy "$suite" "$source" ;;
    kyverno-cli) extract "$suite" "$(archive "$kyverno")" "$kyverno/test/cli" ;;
    chainsaw) extract "$suite" "$(archive "$kyverno")" "$kyverno/test/conformance/chainsaw" ;;
    cel-spec) specification ;;
    *) echo "$suite: in no package registry (see the head of this script)"; return 0 ;;
  esac
  (cd "$work/$suite" && sha256sum --check --quiet --strict "$lists/$suite.sha256")
  rm -rf "${data:?}/$place"
  mkdir -p "$(dirname "$data/$place")"
  mv "$work/$suite" "$data/$place"
  echo "$suite: $(wc -l < "$lists/$suite.sha256") files"
}

specification() {
  local folder
  folder=$(cd public/cel-spec && go mod download cel.dev/expr && go list -m -f '{{.Dir}}' cel.dev/expr)
  (cd public/cel-spec && go build -o "$work/converter" .)
  mkdir "$work/cel-spec"
  while read -r _ name; do
    "$work/converter" "$folder/tests/simple/testdata/${name%.json}.textproto" > "$work/cel-spec/$name"
  done < "$lists/cel-spec.sha256"
}

# The folders of a suite with tests that the reference passes; a line behind the suite's name is one that it does not pass
# where there is neither network nor cluster.
passed() {
  local suite=$1; shift
  [ -d "$data/$suite" ] || return 0
  (cd "$data/$suite" && find . -name kyverno-test.yaml -printf '%P\n') | sed 's|/kyverno-test.yaml$||' | LC_ALL=C sort |
    grep -vxF -f <(printf '%s\n' "$@") > "$data/$suite.reference-passes.txt"
}

kyverno=github.com/kyverno/kyverno@v1.19.1
declare -A from
for argument; do
  [ -f "$lists/${argument%%=*}.sha256" ] && [ -d "${argument#*=}" ] || { echo "not SUITE=FOLDER: $argument" >&2; exit 2; }
  from[${argument%%=*}]=$(cd "${argument#*=}" && pwd)
done

failed=0
# Each in a shell of its own, so that `set -e` holds in it.
for suite in kyverno-cli chainsaw cel-spec kyverno-policies jmespath; do
  place=$suite
  [ "$suite" != chainsaw ] || place=chainsaw/tests
  set +e
  (set -e; bring "$suite" "$place")
  [ $? = 0 ] || { echo "$suite: not brought" >&2; failed=1; }
  set -e
done
passed kyverno-cli registry test-context-apicall test-context-configmap test-image-validating-policy/sample-policy test/images/signatures
passed kyverno-policies
exit $failed
