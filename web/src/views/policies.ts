// What there is to say about policies: findings, migrations with proofs, comparisons.

import type { Compared, Difference, Edit, Finding, Linted, Migrated, Row, Side } from "../answers.js";
import { counted, h } from "../dom.js";
import { type Go, badge, block, copy, empty, object, place, placeOf } from "./parts.js";

export function lintSummary(found: Linted): string {
  const of = (word: Finding["severity"]) => found.findings.filter((one) => one.severity === word).length;
  const policies = found.policies === 1 ? "1 policy" : `${found.policies} policies`;
  return `${policies}: ${counted(of("error"), "error")}, ${counted(of("warning"), "warning")}, ${counted(of("note"), "note")}`;
}

export function findings(found: Linted, go: Go, apply: (edits: Edit[]) => void): HTMLElement {
  if (found.findings.length === 0) {
    return empty(found.policies === 0 ? "Findings about the policies are shown here." : "Nothing to say: the policies are as they should be.");
  }
  const row = (one: Finding) => h("li", {},
    badge(one.severity),
    h("div", { class: "text" },
      h("span", {}, one.message), " ", h("code", { class: "small quiet" }, one.id),
      one.help && h("p", { class: "small quiet" }, one.help),
      h("div", { class: "places" },
        place(go, "line", { file: one.file, line: one.line, column: one.column || undefined }),
        ...(one.fixes ?? []).map((fix) => h("button", { type: "button", class: "place", onclick: () => apply(fix.edits) }, fix.title)),
      ),
    ),
  );
  return h("div", { class: "body" }, h("ul", { class: "results" }, ...found.findings.map(row)));
}

function side(name: string, of: Side, go: Go): HTMLElement {
  return h("div", { class: "group" },
    h("h3", {}, name),
    h("p", {}, h("strong", {}, of.verdict), of.message && ": ", of.message),
    h("div", { class: "places" }, place(go, "line", of.place)),
  );
}

function differs(one: Difference, go: Go): HTMLElement {
  const request = one.request ?? [one.operation, one.universe].filter(Boolean).join(", ");
  return h("section", { class: "group" },
    h("p", { class: "small quiet" }, [one.kind, request].filter(Boolean).join(" – ")),
    block(object(one.object), "Object on which both differ"),
    one.oldObject !== undefined && one.oldObject !== null && h("details", {}, h("summary", {}, "The object before"), block(object(one.oldObject), "Object before")),
    h("div", { class: "sides" }, side("Old", one.old, go), side("New", one.new, go)),
  );
}

function reasons(texts: string[]): HTMLElement | null {
  const all = texts.filter((text) => text !== "");
  return all.length === 0 ? null : h("ul", { class: "plain small" }, ...all.map((text) => h("li", {}, text)));
}

const MEANING: Record<string, string> = {
  proved: "Both mean the same for every object.",
  "proved relative": "Both mean the same for every object, when external data is the same for both:",
  tested: "No object was found on which they differ. It is not proved, because:",
  differs: "They differ, for example on this object:",
  "not compared": "There is no comparison of this kind:",
  refused: "This cannot be written in CEL:",
  "cannot be used": "The policy cannot be read, or what was written cannot be used:",
};

function proof(row: Row, go: Go): HTMLElement {
  const butFor = row.butFor.length > 0 ? ` but for ${row.butFor.join(", ")}` : "";
  return h("div", { class: "card" },
    h("div", { class: "bar" }, badge(row.status), h("strong", {}, row.policy), place(go, "line", { file: row.file, line: row.line })),
    h("p", { class: "small" }, MEANING[row.status] ?? "", butFor && ` The proof is about everything${butFor}.`),
    reasons([row.reason]),
    ...row.refused.map((one) => h("div", { class: "group small" }, h("p", {}, one.construct), placeOf(go, one.place), h("p", { class: "quiet" }, `Nearest: ${one.nearest}`))),
    ...row.differences.map((one) => differs(one, go)),
    row.remarks.length > 0 && h("details", {}, h("summary", {}, counted(row.remarks.length, "remark")), reasons(row.remarks)),
    row.new.length > 0 && h("p", { class: "small quiet" }, row.new.map((one) => `${one.kind} ${one.name}`).join(", ")),
  );
}

export function migrateSummary(found: Migrated): string {
  const all = found.report.policies;
  const words = [...new Set(all.map((row) => row.status))].map((word) => `${all.filter((row) => row.status === word).length} ${word}`);
  return words.length > 0 ? words.join(", ") : "nothing to migrate";
}

export function migrated(found: Migrated, go: Go, compare: (text: string) => void): HTMLElement {
  const copied = h("button", { type: "button", onclick: () => void copy(found.text, copied) }, "Copy the policy");
  return h("div", { class: "body" },
    h("div", { class: "beside" },
      h("section", { class: "group" },
        h("div", { class: "bar" }, copied, h("button", { type: "button", onclick: () => compare(found.text) }, "Edit and compare")),
        block(found.text, "Migrated policy"),
      ),
      h("section", { class: "group" }, ...found.report.policies.map((row) => proof(row, go)),
        found.report.policies.length === 0 && h("p", { class: "quiet small" }, "Nothing here has to move.")),
    ),
  );
}

export function diffSummary(found: Compared): string {
  return found.policies.map((pair) => `${pair.name}: ${pair.answer}`).join(", ");
}

export function compared(found: Compared, go: Go): HTMLElement {
  return h("div", { class: "body" }, ...found.policies.map((pair) => {
    const butFor = pair.butFor && pair.butFor.length > 0 ? `but for ${pair.butFor.join(", ")}` : "";
    const meaning = MEANING[pair.answer] ?? "";
    return h("section", { class: "card" },
      h("div", { class: "bar" }, badge(pair.answer), h("h2", {}, pair.name), place(go, "line", pair.place)),
      h("p", { class: "small" }, [meaning, butFor].filter(Boolean).join(" ")),
      reasons(pair.reasons ?? []),
      typeof pair.objects === "number" && pair.objects > 0 && h("p", { class: "small quiet" }, `${counted(pair.objects, "object")} evaluated${pair.kinds?.length ? `: ${pair.kinds.slice(0, 8).join(", ")}` : ""}`),
      pair.allowsExistingViolations ? h("p", { class: "small" }, `Only the ${pair.allowsExistingViolations} policy allows updates of objects that are violations already.`) : null,
      ...(pair.differences ?? []).map((one) => differs(one, go)),
    );
  }));
}
