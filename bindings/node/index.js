// The engine of ephor for Node: each function puts a question to the WebAssembly module, JSON with JSON.
//
// Questions and answers are those of the crate `ephor-page`; nothing is read but the arguments: no file, no network, no cluster.
import { readFileSync } from "node:fs";
import { answer, initSync } from "./engine.js";

initSync({ module: new WebAssembly.Module(readFileSync(new URL("engine_bg.wasm", import.meta.url))) });

/** A question that has no answer: `part` names the argument, `hint` says what to write instead. */
export class EphorError extends Error {
  constructor({ text, part = null, hint = null, offset = null, causes = [] }) {
    super([text, ...causes].join("\n"));
    Object.assign(this, { name: "EphorError", part, hint, offset, causes });
  }
}

/** The answer to a question of the crate `ephor-page`. */
export function answerTo(question) {
  const answered = JSON.parse(answer(JSON.stringify(question)));
  if (answered !== null && typeof answered === "object" && "error" in answered) throw new EphorError(answered.error);
  return answered;
}

/** What policies decide about objects; both are texts, or lists of `{name, text}`. */
export const evaluate = (policies, objects, options = {}) => answerTo({ ...options, question: "evaluate", policies, objects });

/** The same with the decisions of each rule, and with the rules as they are printed. */
export const explain = (policies, objects, options = {}) => evaluate(policies, objects, { ...options, explain: true });

/** What is wrong with policies. */
export const lint = (policies, options = {}) => answerTo({ ...options, question: "lint", policies });

/** ClusterPolicies rewritten in CEL, each with its proof or an object on which both differ. */
export const migrate = (policies, options = {}) => answerTo({ ...options, question: "migrate", policies });

/** Whether two sets of policies mean the same. */
export const diff = (before, after, options = {}) => answerTo({ ...options, question: "diff", old: before, new: after });

/** The value of a CEL expression on a document. */
export const cel = (expression, document = "", options = {}) => answerTo({ ...options, question: "cel", expression, document });

/** The value of a JMESPath expression on a document. */
export const jmespath = (expression, document = "", options = {}) => answerTo({ ...options, question: "jmespath", expression, document });

/** The version of the engine. */
export const version = () => answerTo({ question: "version" }).version;
