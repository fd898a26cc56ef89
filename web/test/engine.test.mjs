// The module answers as the program does: the same bytes for the policies of the repository and for recorded cases.
//
// The program is `ephor play --stdin`: EPHOR names it, else it is the one of the last build.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { parseAllDocuments } from "yaml";

const web = dirname(dirname(fileURLToPath(import.meta.url)));
const root = dirname(web);
const program = process.env.EPHOR ?? join(root, "target/debug/ephor");
const built = join(web, "build", process.env.EPHOR_PAGE === "check" ? "wasm-check" : "wasm");
const missing = [[join(built, "engine_bg.wasm"), "the module"], [program, "the program"]].find(([path]) => !existsSync(path));

const read = (...path) => readFileSync(join(root, ...path), "utf8");
const lines = (text) => text.split("\n").filter((line) => line !== "");

async function load() {
  const engine = await import(join(built, "engine.js"));
  engine.initSync({ module: new WebAssembly.Module(readFileSync(join(built, "engine_bg.wasm"))) });
  return engine.answer;
}

/** The answers of the program. */
function native(questions) {
  const asked = spawnSync(program, ["play", "--stdin"], { input: `${questions.join("\n")}\n`, maxBuffer: 1 << 30, encoding: "utf8" });
  assert.equal(asked.status, 0, asked.stderr);
  return lines(asked.stdout);
}

/** Questions about each policy of `policies/`, classic and in CEL, on the objects of its tests. */
function ofPolicies() {
  const questions = [];
  for (const { forms, objects } of policies()) {
    const [text] = forms;
    for (const form of forms) questions.push({ question: "evaluate", policies: form, objects, explain: true });
    questions.push({ question: "lint", policies: text }, { question: "evaluate", policies: text, objects, as: "cluster" });
  }
  return questions;
}

function policies() {
  const all = [];
  for (const group of readdirSync(join(root, "policies"), { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
    for (const name of readdirSync(join(root, "policies", group.name)).sort()) {
      const file = (...path) => read("policies", group.name, name, ...path);
      // The classic form first, then that of Kyverno's CEL kinds; those of Kubernetes are other texts of the same expressions.
      const files = readdirSync(join(root, "policies", group.name, name)).filter((one) => /^[^.]+(\.[a-z]*pol)?\.yaml$/.test(one));
      files.sort((a, b) => a.length - b.length);
      all.push({ name, forms: files.map((one) => file(one)), objects: file(".kyverno-test", "resources.yaml") });
    }
  }
  return all;
}

/** Questions about the recorded cases: a policy and the objects on which it was recorded. */
function ofCases() {
  const questions = [];
  for (const folder of readdirSync(join(root, "conformance/cases")).sort()) {
    for (const file of readdirSync(join(root, "conformance/cases", folder)).filter((name) => name.endsWith(".yaml")).sort()) {
      for (const document of parseAllDocuments(read("conformance/cases", folder, file), { version: "1.1", merge: true })) {
        const recorded = document.toJS();
        if (!recorded?.policy) continue;
        const objects = (recorded.cases ?? []).map((one) => JSON.stringify(one.resource)).filter(Boolean);
        questions.push({ question: "evaluate", policies: JSON.stringify(recorded.policy), objects: objects.join("\n---\n"), explain: true });
      }
    }
  }
  return questions;
}

/** Questions about recorded expressions. */
function ofExpressions() {
  const jmespath = lines(read("conformance/jmespath-random.jsonl")).slice(0, 150).map((line) => {
    const { expression, input } = JSON.parse(line);
    return { question: "jmespath", expression, document: JSON.stringify(input ?? null) };
  });
  const inputs = JSON.parse(read("conformance/cel-random/inputs.json"));
  const cel = lines(read("conformance/cel-random/cases.jsonl")).slice(0, 150).map((line) => {
    const { expression, input } = JSON.parse(line);
    return { question: "cel", expression, document: JSON.stringify(inputs[input] ?? {}), environment: "kyverno" };
  });
  return [...jmespath, ...cel];
}

describe("the module", { skip: missing ? `skipped: ${missing[1]} is not built` : false }, () => {
  const compare = async (questions, least, most = 0) => {
    assert.ok(questions.length >= least, `${questions.length} questions`);
    const answer = await load();
    const texts = questions.map((question) => JSON.stringify(question));
    const expected = native(texts);
    // Proofs read no clock.
    const again = questions.some(({ question }) => question === "migrate") ? expected : native(texts);
    const wrong = [];
    let [compared, without] = [0, 0];
    for (const [at, text] of texts.entries()) {
      // What reads the clock or draws lots has no answer of its own.
      if (expected[at] !== again[at]) continue;
      const found = answer(text);
      // Signatures and tokens are parts that the module does not have, and says so.
      if (/built without the feature `(signatures|tokens)`/.test(found)) { without += 1; continue; }
      compared += 1;
      if (found !== expected[at]) wrong.push(`${text.slice(0, 400)}\n  module:  ${found.slice(0, 2000)}\n  program: ${expected[at].slice(0, 2000)}`);
    }
    assert.ok(without <= most, `${without} answers need a part that the module does not have`);
    assert.ok(compared + without >= questions.length * 0.95, `${compared} of ${questions.length} answers are the same each time`);
    assert.equal(wrong.length, 0, `${wrong.length} of ${compared} answers differ:\n${wrong.slice(0, 5).join("\n")}`);
  };

  it("decides as the program about all policies of the repository", () => compare(ofPolicies(), 100));
  it("decides as the program about the recorded cases", () => compare(ofCases(), 400, 115));
  it("evaluates recorded expressions as the program", () => compare(ofExpressions(), 300));
  // A proof that is cut short has another answer: there is time for each.
  it("migrates and proves as the program", () => compare(policies().filter(({ forms }, at) => at % 20 === 0 && forms.length === 2).flatMap(({ forms: [old, changed] }) => [{ question: "migrate", policies: old, milliseconds: 120_000 }, { question: "diff", old, new: changed, milliseconds: 120_000 }]), 8));

  it("answers texts of any depth", async () => {
    const answer = await load();
    const deep = [1, 900, 20_000].flatMap((depth) => [
      { question: "evaluate", policies: policies()[0].forms[0], objects: `kind: A\napiVersion: v1\nmetadata: {name: a}\ndata: ${"[".repeat(depth)}${"]".repeat(depth)}`, explain: true },
      { question: "lint", policies: `kind: ClusterPolicy\napiVersion: kyverno.io/v1\nspec: ${"{a: ".repeat(depth)}1${"}".repeat(depth)}` },
      { question: "jmespath", expression: `${"(".repeat(depth)}a${")".repeat(depth)}`, document: "a: 1" },
      { question: "jmespath", expression: `a${" || a".repeat(depth)}`, document: "a: 1" },
      { question: "cel", expression: `${"(".repeat(depth)}1${")".repeat(depth)}` },
      { question: "cel", expression: `${"!".repeat(depth)}true` },
      { question: "cel", expression: `1${" + 1".repeat(depth)}` },
      { question: "cel", expression: `${"[".repeat(depth)}` },
    ]);
    for (const question of deep) assert.equal(typeof JSON.parse(answer(JSON.stringify(question))), "object");
  });
});
