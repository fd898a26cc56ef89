#!/usr/bin/env bash
# JMESPath in four packages: jmespath 1.0.1 (PyPI), jmespath 0.16.0, @metrichor/jmespath 0.3.1 and @jmespath-community/jmespath 1.3.0 (npm).
#
# Guess: the language has a specification and tests that implementations share, so a valid expression has one answer, whichever package runs it.
# Seen: texts are ordered by code units in Python and by the locale in the three others (`max` of "a" and "B"); `<` and `>` order texts in three of them, and are
# null in the fourth, as the specification says, so a filter finds nothing; an empty text is the number 0 in three and no number in Python; `0x1f` is 31 in three,
# `1_000` is a number in Python alone; `to_string` of 1.0 is "1.0" in Python and "1" elsewhere.
# Who meets it: authors who try the expression of a policy on a page or in a script first. Kyverno 1.19.1, in Go, agrees with none of the four in all rows:
# docs/expressions/jmespath.md has its answers.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv python
python/bin/pip install --quiet --disable-pip-version-check jmespath==1.0.1
echo '{}' > package.json
npm install --silent --no-audit --no-fund jmespath@0.16.0 @metrichor/jmespath@0.3.1 @jmespath-community/jmespath@1.3.0
node --version
python/bin/python --version

cat > expressions <<'END'
max(`["a", "B"]`)
texts[?@ > 'b']
to_number('')
to_number('0x1f')
to_number('1_000')
to_string(`1.0`)
END
cat > answers.py <<'END'
import json, jmespath
for line in open("expressions"):
    print(json.dumps(jmespath.search(line.strip(), {"texts": ["a", "c"]})))
END
cat > answers.js <<'END'
const { search } = require(process.argv[2]);
for (const line of require("fs").readFileSync("expressions", "utf8").trim().split("\n"))
  console.log(JSON.stringify(search({ texts: ["a", "c"] }, line)));
END
python/bin/python answers.py > python.seen
for package in jmespath @metrichor/jmespath @jmespath-community/jmespath; do node answers.js "$package" > "${package//\//-}.seen"; done
paste -d'|' expressions python.seen jmespath.seen @metrichor-jmespath.seen @jmespath-community-jmespath.seen | tee seen
diff seen - <<'END'
max(`["a", "B"]`)|"a"|"B"|"B"|"B"
texts[?@ > 'b']|["c"]|["c"]|["c"]|[]
to_number('')|null|0|0|0
to_number('0x1f')|null|31|31|31
to_number('1_000')|1000|null|null|null
to_string(`1.0`)|"1.0"|"1"|"1"|"1"
END
