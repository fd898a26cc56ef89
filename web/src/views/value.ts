// The value of an expression, with its type, its cost and its parts.

import type { Failed, Value } from "../answers.js";
import { h } from "../dom.js";
import { block, problem } from "./parts.js";

export function value(found: Value): HTMLElement {
  const facts = [
    found.type !== undefined && `type ${found.type}`,
    found.cost !== undefined && `cost ${found.cost}`,
    found.estimate && `estimated ${found.estimate.min} to ${found.estimate.max ?? "unbounded"}`,
  ].filter((text): text is string => typeof text === "string");
  const steps = found.steps ?? [];
  return h("div", { class: "body" },
    block(found.value, "Value"),
    facts.length > 0 && h("p", { class: "small quiet" }, facts.join(", ")),
    steps.length > 1 && h("section", { class: "group" }, h("h2", {}, "Parts"),
      h("ol", { class: "trace" }, ...steps.slice(0, 300).map((step) => h("li", { style: `padding-left: ${Math.min(step.depth, 10) * 1.1}rem` },
        h("span", { class: step.error === null ? "where" : "bad", "aria-hidden": "true" }, step.error === null ? "=" : "✗"),
        h("span", {}, step.text.replace(/\s+/g, " "), " ", h("strong", { class: step.error === null ? "good" : "bad" }, step.value ?? step.error ?? "")))))),
  );
}

/** An error with the place in the expression. */
export function mistaken(found: Failed, expression: string): HTMLElement {
  const { offset } = found.error;
  if (offset === null || offset === undefined) return problem(found);
  const before = new TextDecoder().decode(new TextEncoder().encode(expression).slice(0, offset));
  const line = before.split("\n").length;
  const column = [...(before.split("\n").pop() ?? "")].length;
  const marked = `${expression.split("\n")[line - 1] ?? ""}\n${" ".repeat(column)}^ ${found.error.hint ?? ""}`;
  return h("div", { class: "body" }, h("div", { class: "error" }, `${found.error.text}\n\n${marked.trimEnd()}`));
}
