#!/usr/bin/env bash
# Checks SARIF of every command that writes it with the rules that GitHub publishes for code scanning: no error and no warning of
# `sarif-multitool validate --rule-kind Ghas` (npm, @microsoft/sarif-multitool-linux).
# usage: sarif.sh [EPHOR]
#
# What is not there is skipped with a line that says so. The program's exit code is 0 with errors, and it ignores logs above 10 MiB:
# findings are read from its own log, and a log with a known fault must give one.
set -euo pipefail
ephor=$(realpath "${1:-target/debug/ephor}")
cd "$(dirname "$0")/.."
package=@microsoft/sarif-multitool-linux version=5.7.0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for program in npm python3; do
  if ! command -v "$program" > /dev/null; then echo "skipped: SARIF is not validated, $program is not there"; exit 0; fi
done
if [ "$(uname -sm)" != "Linux x86_64" ]; then echo "skipped: SARIF is not validated, the program is for Linux on x86_64"; exit 0; fi
tools=target/sarif-multitool-$version
multitool=$tools/node_modules/$package/Sarif.Multitool
if [ ! -e "$multitool" ] && ! timeout 120 npm install --prefix "$tools" --no-save --no-audit --no-fund "$package@$version" > "$work/npm.log" 2>&1; then
  echo "skipped: SARIF is not validated, $package $version does not install"
  exit 0
fi
chmod u+x "$multitool" 2> /dev/null || true
if ! "$multitool" version > "$work/version" 2>&1; then
  echo "skipped: SARIF is not validated, $package $version does not run"
  exit 0
fi

# Policies with all that logs may hold: many tags, links and controls in texts, no description, no rule names, errors, one that is refused.
cat > "$work/policies.yaml" << 'END'
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: many-tags
  annotations:
    policies.kyverno.io/title: "Odd \e[1m"
    policies.kyverno.io/severity: high
    policies.kyverno.io/category: "a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v"
    policies.kyverno.io/description: "see [docs](docs/x.md), {0} and https://example.com/a"
spec:
  rules:
  - name: links
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: 'see [a](https://example.com/a b), [b](1) \[c](9) and {"d": 1}', pattern: {data: {a: "?*"}}}
  - name: "control \e"
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: "\e[31mred\a\r\nsecond", pattern: {data: {a: "?*"}}}
  - name: silent
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {pattern: {data: {a: "?*"}}}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: one-name}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]}
  validations: [{expression: object.data.a != object.data.b}]
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: refused}
spec:
  rules:
  - name: a
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: "{{ nothing }}", pattern: {data: {a: "?*"}}}
END
cat > "$work/payloads.yaml" << 'END'
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: payload}
spec:
  evaluation: {mode: JSON}
  validations: [{expression: object.a == 1, message: a is 1}]
END
cat > "$work/resources.yaml" << 'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
data: {b: c}
END
echo '{"a": 2}' > "$work/payload.json"
mkdir "$work/test"
cat > "$work/test/kyverno-test.yaml" << 'END'
apiVersion: cli.kyverno.io/v1alpha1
kind: Test
metadata: {name: odd}
policies: [../policies.yaml]
resources: [../resources.yaml]
results:
- {policy: many-tags, rule: links, resources: [a], kind: ConfigMap, result: pass}
- {policy: one-name, resources: [a], kind: ConfigMap, result: pass}
- {policy: many-tags, rule: nowhere, resources: [a], kind: ConfigMap, result: fail}
END
for side in a b; do
  cat > "$work/$side.yaml" << END
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: one}
spec:
  rules:
  - name: field
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: "see [a](1)", pattern: {data: {$side: "?*"}}}
END
done

# Results are failures: the exit code is none of 0.
log() { local name=$1; shift; "$ephor" "$@" > "$work/$name.sarif" 2> "$work/$name.err" || true; }
log apply-repository apply policies -r docs/sample --output-format sarif
log apply-odd apply "$work/policies.yaml" -r "$work/resources.yaml" --output-format sarif
log apply-payload apply "$work/payloads.yaml" --json "$work/payload.json" --output-format sarif
log apply-stdin apply - -r "$work/resources.yaml" --output-format sarif < "$work/policies.yaml"
log lint lint docs/sample policies "$work/policies.yaml" --output-format sarif
log lint-deep lint "$work/policies.yaml" --deep --output-format sarif
log test test "$work/test" --output-format sarif
log diff diff "$work/a.yaml" "$work/b.yaml" --output-format sarif
log implies implies "$work/a.yaml" "$work/b.yaml" --output-format sarif
log equivalent equivalent "$work/a.yaml" "$work/b.yaml" --output-format sarif
# What the program must find.
sed 's/"help":{[^}]*},//' "$work/lint.sarif" > "$work/broken.sarif"

cat > "$work/count.py" << 'END'
import collections, glob, json, os, sys
work = sys.argv[1]
logs = sorted(glob.glob(f"{work}/*.sarif"))
found = collections.Counter()
for result in json.load(open(f"{work}/findings"))["runs"][0].get("results", []):
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    found[os.path.basename(uri)] += 1
    if not uri.endswith("broken.sarif"):
        print(f"  {os.path.basename(uri)}: {result['level'] if 'level' in result else 'warning'} {result['ruleId']}: {result['message']}")
failed = False
for log in logs:
    name, size = os.path.basename(log), os.path.getsize(log)
    results = len(json.load(open(log))["runs"][0]["results"])
    is_broken = name == "broken.sarif"
    if size > 10 << 20: print(f"  {name}: {size} bytes, which the program ignores"); failed = True
    if results == 0: print(f"  {name}: no result"); failed = True
    if is_broken != (found[name] > 0): print(f"  {name}: {found[name]} errors and warnings"); failed = True
    if not is_broken: print(f"valid: {name}, {results} results")
sys.exit(failed)
END
"$multitool" validate "$work"/*.sarif --rule-kind Ghas --level 'Error;Warning' --output "$work/findings" --log ForceOverwrite > "$work/validate.log" 2>&1 ||
  { cat "$work/validate.log"; exit 1; }
python3 "$work/count.py" "$work"
