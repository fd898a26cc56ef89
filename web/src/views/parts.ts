// What several results share: badges, places that lead to a line, errors, differences.

import type { Failed, Place } from "../answers.js";
import { h } from "../dom.js";

/** Leads to a line of a text of the page. */
export type Go = (file: string, line: number, column?: number) => void;

const TONES: Record<string, string> = {
  fail: "bad", error: "bad", differs: "bad", refused: "bad", "cannot be used": "bad",
  warn: "warn", warning: "warn", tested: "warn", "not compared": "warn", skip: "plain", note: "plain",
  pass: "good", proved: "good", "proved relative": "good",
};

export function tone(word: string): string {
  return TONES[word] ?? "plain";
}

export function badge(word: string): HTMLElement {
  return h("span", { class: `badge ${tone(word)}` }, word);
}

/** `policies.yaml:13` as a button that leads there. */
export function place(go: Go, label: string, at: Place | null | undefined): HTMLElement | null {
  if (!at?.line) return null;
  const { file, line, column } = at;
  const where = column ? `${line}:${column}` : `${line}`;
  return h("button", { type: "button", class: "place", onclick: () => go(file, line, column) }, `${label} ${where}`);
}

/** The same of `FILE:LINE` or `FILE:LINE:COLUMN`. */
export function placeOf(go: Go, text: string): HTMLElement {
  const found = /^(.*?):(\d+)(?::(\d+))?$/.exec(text);
  if (!found) return h("span", { class: "where" }, text);
  const [, file = "", line = "1", column] = found;
  return h("button", { type: "button", class: "place", onclick: () => go(file, Number(line), Number(column ?? 0)) }, text);
}

export function problem({ error }: Failed): HTMLElement {
  const parts = [error.text, ...(error.causes ?? []), error.hint ?? ""].filter((text) => text !== "");
  return h("div", { class: "body" }, h("div", { class: "error" }, parts.join("\n")));
}

/** Lines that begin with `+`, `-` or a blank. */
export function difference(text: string): HTMLElement {
  const kind = (line: string) => (line.startsWith("+") ? "add" : line.startsWith("-") ? "del" : "same");
  return h("pre", { class: "block", tabindex: 0, role: "region", "aria-label": "Changed lines" }, ...text.split("\n").map((line) => h("span", { class: kind(line) }, line || " ")));
}

export function block(text: string, label: string): HTMLElement {
  return h("pre", { class: "block", tabindex: 0, role: "region", "aria-label": label }, text);
}

export function empty(text: string): HTMLElement {
  return h("div", { class: "body quiet" }, h("p", {}, text));
}

/** An object, short: as JSON with two blanks. */
export function object(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

export async function copy(text: string, button: HTMLElement): Promise<void> {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not copied";
  }
  setTimeout(() => { button.textContent = before; }, 1500);
}
