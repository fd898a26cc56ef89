// What policies decide: verdicts, decisions, and the rules of the IR.

import type { Decided, Evaluated, Judged, Place, Result } from "../answers.js";
import { counted, h } from "../dom.js";
import { type Go, badge, block, difference, empty, place, placeOf } from "./parts.js";

/** So many rows are shown: a page with more is of no use. */
const MAX_ROWS = 400;
const ORDER = ["fail", "error", "warn", "skip", "pass"];

export function summary(found: Evaluated): string {
  const counts = new Map<string, number>();
  const all = [...found.refused, ...found.objects.flatMap((one) => one.results)];
  for (const { result } of all) counts.set(result, (counts.get(result) ?? 0) + 1);
  const words = ORDER.filter((word) => counts.has(word)).map((word) => `${counts.get(word)} ${word}`);
  const changed = found.objects.filter((one) => one.difference !== null).length;
  if (changed > 0) words.push(`${counted(changed, "object")} changed`);
  const what = `${counted(found.policies.length, "policy").replace("policys", "policies")}, ${counted(found.objects.length, "object")}`;
  return `${what}: ${words.join(", ") || "no result"}${found.isInterrupted ? " (interrupted: it takes too long)" : ""}`;
}

function row(result: Result, go: Go): HTMLElement {
  const name = result.rule ? `${result.policy} / ${result.rule}` : result.policy;
  return h("li", {},
    badge(result.result),
    h("div", { class: "text" },
      h("strong", {}, name),
      result.message && h("p", { class: "message small" }, result.message),
      result.field && h("p", { class: "small quiet" }, "because of ", h("code", {}, result.field)),
      h("div", { class: "places" }, place(go, "policy line", result.policyPlace), place(go, "object line", result.place)),
    ),
  );
}

function sorted(results: Result[]): Result[] {
  return [...results].sort((a, b) => ORDER.indexOf(a.result) - ORDER.indexOf(b.result));
}

function ofObject(one: Judged, go: Go, room: number): HTMLElement {
  const at: Place = { file: one.file, line: one.line };
  const texts = (label: string, all: string[]) => all.map((text) => h("div", { class: "group" }, h("h3", {}, label), block(text, label)));
  return h("section", { class: "group" },
    h("div", { class: "bar" }, h("h2", {}, one.name), place(go, "line", at)),
    one.results.length === 0 ? h("p", { class: "quiet small" }, "No rule is about this object.")
      : h("ul", { class: "results" }, ...sorted(one.results).slice(0, room).map((result) => row(result, go))),
    one.difference !== null && h("div", { class: "group" }, h("h3", {}, "Mutated"), difference(one.difference)),
    one.mutated !== null && h("details", {}, h("summary", {}, "The whole object as it is left"), block(one.mutated, "Mutated object")),
    ...texts("Generated", one.generated),
    ...texts("Mutated target", one.targets),
  );
}

export function verdicts(found: Evaluated, go: Go): HTMLElement {
  if (found.policies.length === 0) return empty("Write or paste a policy on the left, or choose an example.");
  let room = MAX_ROWS;
  let left = 0;
  const objects: HTMLElement[] = [];
  // Objects with violations come first.
  const isBad = (one: Judged) => one.results.some(({ result }) => result === "fail" || result === "error");
  for (const one of [...found.objects].sort((a, b) => Number(isBad(b)) - Number(isBad(a)))) {
    if (room <= 0) { left += 1; continue; }
    objects.push(ofObject(one, go, room));
    room -= Math.max(one.results.length, 1);
  }
  const uncompiled = found.policies.filter((policy) => policy.uncompiled !== null);
  return h("div", { class: "body" },
    found.refused.length > 0 && h("section", { class: "group" }, h("h2", {}, "Refused policies"), h("ul", { class: "results" }, ...found.refused.map((one) => row(one, go)))),
    ...uncompiled.map((policy) => h("div", { class: "error" }, `${policy.name}: ${policy.uncompiled}`)),
    ...objects,
    found.objects.length === 0 && h("p", { class: "quiet" }, "There is no object: write one in the tab Objects."),
    left > 0 && h("p", { class: "quiet" }, `${counted(left, "object")} more are not shown.`),
    found.notes.length > 0 && h("section", { class: "group" }, h("h2", {}, "Notes"), h("ul", { class: "plain small" }, ...found.notes.slice(0, 50).map((text) => h("li", {}, text)))),
  );
}

function decided(one: Decided, go: Go): HTMLElement {
  const mark = { good: "✓", bad: "✗", neutral: "·" };
  const word = { good: "holds: ", bad: "violates: ", neutral: "" };
  const line = (at: Decided["decisions"][number]) =>
    h("li", { style: `padding-left: ${Math.min(at.depth, 8) * 1.1}rem` },
      h("span", { class: at.tone, "aria-hidden": "true" }, mark[at.tone]),
      h("span", {}, h("span", { class: `${at.tone} said`, "data-word": word[at.tone] }, at.text), " ", placeOf(go, at.place)),
    );
  const brief = one.decisions.filter((at) => !at.detail);
  const details = one.decisions.length - brief.length;
  return h("section", { class: "group" },
    h("div", { class: "bar" }, badge(one.status ?? "no result"), h("strong", {}, one.rule ? `${one.policy} / ${one.rule}` : one.policy), placeOf(go, one.place)),
    h("ol", { class: "trace" }, ...brief.map(line)),
    details > 0 && h("details", {}, h("summary", {}, `All ${one.decisions.length} steps`), h("ol", { class: "trace" }, ...one.decisions.map(line))),
  );
}

export function trace(found: Evaluated, go: Go): HTMLElement {
  const objects = found.objects.filter((one) => one.decisions !== null);
  if (objects.length === 0) return empty("With policies and objects, each decision is shown here.");
  return h("div", { class: "body" },
    ...objects.map((one) => h("section", { class: "group" }, h("h2", {}, one.name), ...(one.decisions ?? []).map((each) => decided(each, go)))),
    objects.length < found.objects.length && h("p", { class: "quiet" }, `The decisions about the first ${objects.length} objects are shown.`),
  );
}

export function rules(found: Evaluated, go: Go): HTMLElement {
  if (found.rules.length === 0) return empty("The rules of the policies, as the engine runs them, are shown here.");
  return h("div", { class: "body" },
    h("p", { class: "small quiet" }, "Each rule in the one form that all policies become, before and after it is optimised."),
    ...found.rules.map((rule) => h("section", { class: "group" },
      h("div", { class: "bar" }, h("h2", {}, rule.rule || rule.policy), placeOf(go, rule.place), rule.generated !== null && h("span", { class: "small quiet" }, `generated for ${rule.generated}`)),
      block(rule.text, `Rule ${rule.rule || rule.policy}`),
    )),
  );
}
