import assert from "node:assert/strict";
import { test } from "node:test";
import { EphorError, cel, diff, evaluate, explain, jmespath, lint, migrate, version } from "../index.js";

const policy = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: no-latest}
spec:
  rules:
  - name: tag
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: pin the tag, pattern: {spec: {containers: [{image: "!*:latest"}]}}}
`;
const pod = (image) => `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: c, image: '${image}'}]}}`;

test("a pod that violates a policy fails with message and place", () => {
  const [{ name, results: [result] }] = evaluate(policy, pod("x:latest")).objects;
  assert.equal(name, "Pod default/a");
  assert.equal(result.result, "fail");
  assert.match(result.message, /pin the tag/);
  assert.equal(result.place.line, 1);
  assert.equal(evaluate(policy, pod("x:1")).objects[0].results[0].result, "pass");
});

test("an explanation names what decided", () => {
  const [{ decisions }] = explain(policy, pod("x:latest")).objects;
  assert.ok(decisions[0].decisions.some((decision) => /x:latest/.test(decision.text)), JSON.stringify(decisions));
});

test("a ClusterPolicy is rewritten in CEL, with a proof", () => {
  const { text, report } = migrate(policy);
  assert.match(text, /kind: ValidatingPolicy/);
  assert.equal(report.policies[0].status, "proved");
  assert.equal(diff(policy, text).policies[0].answer, "proved");
});

test("findings have an identifier and a place", () => {
  const { findings } = lint(policy.replace("kinds: [Pod]", "kinds: [Pods]"));
  assert.ok(findings.some((finding) => finding.line === 7 && /Pods/.test(finding.message)), JSON.stringify(findings));
});

test("expressions of both languages have values", () => {
  assert.equal(cel("object.a + 1", "{object: {a: 1}}").value, "2");
  assert.equal(jmespath("length(a)", "a: [1, 2]").value, "2");
});

test("what cannot be read is an error with its part", () => {
  assert.throws(() => migrate(""), /there is no policy/);
  assert.throws(() => cel("1 +"), (error) => error instanceof EphorError && error.part === "expression" && /Syntax error/.test(error.message));
});

test("the version is one", () => assert.match(version(), /^\d+\.\d+\.\d+/));
