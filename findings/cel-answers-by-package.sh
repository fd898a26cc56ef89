#!/usr/bin/env bash
# CEL in four packages: cel-python 0.5.0 (PyPI), cel-js 0.8.2, @marcbachmann/cel-js 8.0.0 and @bufbuild/cel 0.6.1 (npm).
#
# Guess: expressions of admission policies can be tried in any implementation of CEL; what one cannot do is an error.
# Seen: other answers, without an error. `has(o.b.c)` where `b` is missing is false in two of them, and an error in the two others and in an API server, so a
# policy that passes in a test denies in a cluster. `5 / 2` is 2.5 in cel-js, which has no integers. An index of -1 is the last item in cel-python, where
# `string(true)` is `True`, and a text that is compared with a number is an error instead of false. `1 == 1.0` is true in two, and an error in two.
# `'\u0041'` stays as it is written in cel-js. None of them reads `o.?b` as it comes, the usual way to write an optional field since Kubernetes 1.29.
# Who meets it: teams that test expressions of policies in Python or JavaScript.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check cel-python==0.5.0
echo '{}' > package.json
npm install --silent --no-audit --no-fund cel-js@0.8.2 @marcbachmann/cel-js@8.0.0 @bufbuild/cel@0.6.1
node --version
python/bin/python --version

cat > expressions <<'END'
has(o.b.c)
5 / 2
1 == 1.0
o.a == 1
l[-1]
string(true)
'\u0041'
o.?b.orValue('d')
END
cat > answers.py <<'END'
import celpy
environment = celpy.Environment()
given = celpy.json_to_cel({"o": {"a": "x"}, "l": [1, 2]})
for line in open("expressions"):
    try:
        answer = environment.program(environment.compile(line.strip())).evaluate(given)
        print(str(bool(answer)).lower() if isinstance(answer, celpy.celtypes.BoolType) else answer)
    except Exception:
        print("error")
END
cat > answers.mjs <<'END'
import { readFileSync } from "node:fs";
const name = process.argv[2];
const found = await import(name);
const given = name === "cel-js" ? { o: { a: "x" }, l: [1, 2] } : { o: { a: "x" }, l: [1n, 2n] };
const evaluate = name === "@bufbuild/cel" ? found.run : (found.evaluate ?? found.default.evaluate);
for (const line of readFileSync("expressions", "utf8").trim().split("\n")) {
  let answer;
  try { answer = evaluate(line, given); } catch { answer = new Error(); }
  console.log(answer instanceof Error || answer?.constructor?.name === "CelErrorImpl" ? "error" : String(answer));
}
END
python/bin/python answers.py > python.seen
for package in cel-js @marcbachmann/cel-js @bufbuild/cel; do node answers.mjs "$package" > "${package//\//-}.seen"; done
paste -d'|' expressions python.seen cel-js.seen @marcbachmann-cel-js.seen @bufbuild-cel.seen | tee seen
diff seen - <<'END'
has(o.b.c)|false|false|error|error
5 / 2|2|2.5|2|2
1 == 1.0|error|true|error|true
o.a == 1|error|false|false|false
l[-1]|2|error|error|error
string(true)|True|error|true|true
'\u0041'|A|\u0041|A|A
o.?b.orValue('d')|error|error|error|error
END
