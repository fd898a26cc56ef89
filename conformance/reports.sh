#!/usr/bin/env bash
# Checks the reports that build servers read with programs that read them: JUnit with junitparser (PyPI), Code Quality with the form
# that GitLab documents, metrics with promtool, where these are there.
# usage: reports.sh [EPHOR]
#
# What is not there is skipped with a line that says so.
set -euo pipefail
ephor=$(realpath "${1:-target/debug/ephor}")
cd "$(dirname "$0")/.."
work=$(mktemp -d)
server=''
trap 'if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$work"' EXIT
tools=target/report-tools junitparser=5.0.3

if ! command -v python3 > /dev/null; then echo "skipped: reports are not checked, Python is not there"; exit 0; fi
if [ ! -x "$tools/bin/python" ]; then python3 -m venv "$tools" > "$work/venv.log" 2>&1 || { echo "skipped: reports are not checked, a virtual environment of Python cannot be created"; exit 0; }; fi
if ! "$tools/bin/python" -c "import junitparser" 2> /dev/null && ! timeout 120 "$tools/bin/pip" install --quiet "junitparser==$junitparser" > "$work/pip.log" 2>&1; then
  echo "skipped: reports are not checked, junitparser does not install"
  exit 0
fi

# Violations, errors, warnings, objects without names, texts with markup and control characters.
cat > "$work/policies.yaml" << 'END'
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: odd, annotations: {policies.kyverno.io/severity: high}}
spec:
  rules:
  - name: "a<b>\e"
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: "]]> & \"quoted\" \a\r\nsecond", pattern: {data: {a: "?*"}}}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: fails}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [configmaps], operations: [CREATE]}]}
  validations: [{expression: object.data.a != object.data.b}]
END
cat > "$work/maps.yaml" << 'END'
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: "n"}
data: {a: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {generateName: b-}
END
"$ephor" apply "$work/policies.yaml" -r "$work/maps.yaml" --report-file "$work/run.xml" --report-file "$work/gl-code-quality-report.json" --report-file "$work/run.json" > /dev/null 2>&1 || true
"$ephor" test policies/best-practices --output-format junit > "$work/test.xml" 2> /dev/null || true

"$tools/bin/python" - "$work" << 'END'
import json, sys
from junitparser import Error, Failure, JUnitXml, Skipped

folder = sys.argv[1]
with open(f"{folder}/run.json", encoding="utf-8") as f:
    summary = json.load(f)["summary"]
for name in ("run", "test"):
    xml = JUnitXml.fromfile(f"{folder}/{name}.xml")
    xml = xml if isinstance(xml, JUnitXml) else [xml]
    seen, counts = set(), {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for suite in xml:
        own = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
        for case in suite:
            own["tests"] += 1
            key = (suite.name, case.classname, case.name)
            assert key not in seen, f"{name}.xml: two cases {key}"
            seen.add(key)
            for result in case.result:
                own[{Failure: "failures", Error: "errors", Skipped: "skipped"}[type(result)]] += 1
        said = {key: getattr(suite, key) or 0 for key in own}
        assert own == said, f"{name}.xml: suite {suite.name} says {said}, and has {own}"
        counts = {key: counts[key] + own[key] for key in counts}
    assert counts["tests"] > 0, name
    if name == "run":
        assert (counts["failures"], counts["errors"]) == (summary["fail"], summary["error"]), (counts, summary)
    print(f"valid: {name}.xml, {counts['tests']} cases")

with open(f"{folder}/gl-code-quality-report.json", encoding="utf-8") as f:
    issues = json.load(f)
fingerprints = set()
for issue in issues:
    for key in ("description", "check_name", "fingerprint"):
        assert isinstance(issue[key], str) and issue[key], (key, issue)
    assert issue["severity"] in ("info", "minor", "major", "critical", "blocker"), issue
    assert isinstance(issue["location"]["path"], str) and not issue["location"]["path"].startswith("./"), issue
    assert issue["location"]["lines"]["begin"] >= 1, issue
    fingerprints.add(issue["fingerprint"])
assert len(fingerprints) == len(issues) > 0
print(f"valid: gl-code-quality-report.json, {len(issues)} issues")
END

if ! command -v promtool > /dev/null; then echo "skipped: metrics are not checked, promtool is not there"; exit 0; fi
"$ephor" serve "$work/policies.yaml" --plain-http --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:18088 > "$work/serve.log" 2>&1 &
server=$!
for _ in $(seq 100); do
  if python3 -c 'import sys, urllib.request; sys.stdout.write(urllib.request.urlopen("http://127.0.0.1:18088/metrics").read().decode())' > "$work/metrics" 2> /dev/null; then break; fi
  sleep 0.1
done
# Kyverno names two gauges as counters are named; dashboards read them.
[ -s "$work/metrics" ] || { cat "$work/serve.log"; echo "the server gives no metrics"; exit 1; }
promtool check metrics < "$work/metrics" 2>&1 | grep -v 'non-counter metrics should not have "_total" suffix' > "$work/found" || true
if [ -s "$work/found" ]; then cat "$work/found"; exit 1; fi
echo "valid: metrics, $(grep -c '^# TYPE' "$work/metrics") families"
