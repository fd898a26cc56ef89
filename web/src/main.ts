// The page: editors on the left, answers on the right, one state, one engine.

import type { Diagnostic } from "@codemirror/lint";
import exampleTexts from "../build/examples.json";
import type { Answer, Compared, Edit, Evaluated, Linted, Migrated, Value } from "./answers.js";
import { failed } from "./answers.js";
import { byId, h } from "./dom.js";
import { Editor } from "./editor.js";
import { type Asked, Engine, Native, Workers } from "./engine.js";
import { EMPTY, MAX_ADDRESS, type State, TEXTS, type TextName, pack, unpack } from "./state.js";
import { Tabs } from "./tabs.js";
import { rules, summary, trace, verdicts } from "./views/evaluated.js";
import { compared, diffSummary, findings, lintSummary, migrateSummary, migrated } from "./views/policies.js";
import { copy, empty, problem } from "./views/parts.js";
import { mistaken, value } from "./views/value.js";

interface Example { group: string; name: string; policies: string; vpol: string; vap: string; objects: string }
const examples = exampleTexts as Example[];

let state: State = { ...EMPTY };

// ---- the inputs

const INPUTS: Record<TextName, [label: string, hint: string, help: string]> = {
  policies: ["Policies", "A policy of Kyverno or Kubernetes, with bindings and exceptions", ""],
  objects: ["Objects", "Manifests; rules also look them up", ""],
  values: ["Request", "# values of variables, as for --values-file", "The operation, the release, and values of variables (a file of --values-file)."],
  user: ["User", "# who sends the request, as for --userinfo", "Who sends the request: a file of --userinfo."],
  context: ["Context", "# what CEL policies look up, as for --context-path", "What policies in CEL look up: a file of --context-path."],
  old: ["Old object", "# the object before an UPDATE", "The object before an UPDATE; choose the operation in the tab Request."],
};
const FILES: Record<string, TextName | "next"> = {
  "policies.yaml": "policies", "objects.yaml": "objects", "values.yaml": "values", "user.yaml": "user",
  "context.yaml": "context", "old-object.yaml": "old", "old.yaml": "policies", "new.yaml": "next",
};

type EditorName = TextName | "next" | "cel" | "jmespath";
const editors = {} as Record<EditorName, Editor>;

function select(id: string, label: string, key: keyof State, options: [string, string][]): HTMLElement {
  const field = h("select", { id, onchange: () => { state[key] = field.value; changed(); } }, ...options.map(([name, text]) => h("option", { value: name }, text)));
  selects.push(() => { field.value = state[key]; });
  return h("label", { class: "field", for: id }, h("span", {}, label), field);
}
const selects: (() => void)[] = [];

function editorIn(panel: HTMLElement, name: EditorName, label: string, hint: string, shape = "", language: "yaml" | "plain" = "yaml"): void {
  const place = h("div", { class: `editor ${shape}` });
  panel.classList.add("editing");
  panel.append(place);
  editors[name] = new Editor(place, { label, hint, language, onChange: (text) => { state[name] = text; changed(); } });
}

for (const name of TEXTS) {
  const [label, hint, help] = INPUTS[name];
  const panel = byId(`panel-${name}`);
  if (name === "values") {
    panel.append(h("div", { class: "options" },
      select("operation", "Operation", "operation", [["", "as the values say, or CREATE"], ["CREATE", "CREATE"], ["UPDATE", "UPDATE"], ["DELETE", "DELETE"]]),
      select("as", "Decide as", "as", [["kyverno", "Kyverno's command line"], ["cluster", "a cluster"]]),
      select("kubernetes", "Kubernetes", "kubernetes", [["", "as Kyverno does"], ...["1.33", "1.34", "1.35", "1.36", "1.37"].map((v): [string, string] => [v, v])]),
    ));
  }
  if (help) panel.append(h("p", { class: "hint" }, help));
  editorIn(panel, name, label, hint);
}
const answers = {} as Record<string, HTMLElement>;
const answerIn = (panel: string): HTMLElement => {
  const place = h("div", { class: "panel", tabindex: 0, role: "region", "aria-label": "Answer" });
  byId(`panel-${panel}`).append(place);
  answers[panel] = place;
  return place;
};
byId("panel-migrate").append(h("div", { class: "options" }, select("to", "Write", "to", [["vpol", "policies of Kyverno in CEL"], ["vap", "policies of Kubernetes"]])));
answers["migrate"] = h("div", {});
byId("panel-migrate").append(answers["migrate"]);
byId("panel-diff").append(h("div", { class: "options" }, h("span", { class: "small quiet" }, "The new policies; the old ones are in the tab Policies."), h("button", { type: "button", onclick: () => { editors.next.text = state.policies; } }, "Copy the old ones here")));
editorIn(byId("panel-diff"), "next", "New policies", "The policies that take the place of those on the left", "half");
answerIn("diff");
byId("panel-cel").append(h("div", { class: "options" }, select("environment", "Variables", "environment", [["kubernetes", "of Kubernetes: object, oldObject, params, request"], ["kyverno", "of Kyverno: these, and its libraries"], ["bare", "the keys of the document"]])));
editorIn(byId("panel-cel"), "cel", "CEL expression", "object.spec.containers.all(c, has(c.resources))", "short", "plain");
answerIn("cel");
editorIn(byId("panel-jmespath"), "jmespath", "JMESPath expression", "spec.containers[].image", "short", "plain");
answerIn("jmespath");

const inputs = new Tabs(byId("inputs"), TEXTS.map((id) => ({ id, label: INPUTS[id][0], panel: byId(`panel-${id}`) })), (id) => { state.left = id; store(); });
const OUTPUTS: [string, string][] = [["verdicts", "Verdicts"], ["trace", "Trace"], ["rules", "Rules"], ["findings", "Findings"], ["migrate", "Migrate"], ["diff", "Compare"], ["cel", "CEL"], ["jmespath", "JMESPath"]];
const outputs = new Tabs(byId("outputs"), OUTPUTS.map(([id, label]) => ({ id, label, panel: byId(`panel-${id}`) })), (id) => { state.right = id; changed(0); });

function go(file: string, line: number, column = 0): void {
  const name = FILES[file];
  if (!name) return;
  if (name === "next") outputs.select("diff");
  else inputs.select(name);
  editors[name].go(line, column);
}

// ---- the questions

const text = { policies: () => [{ name: "policies.yaml", text: state.policies }] };
const around = () => ({ kubernetes: state.kubernetes });
/** The first document of the objects. */
function firstObject(): string {
  const parts = state.objects.split(/^---.*$/m).filter((part) => part.trim() !== "");
  return parts[0] ?? "";
}

const QUESTIONS: Record<string, () => object> = {
  evaluate: () => ({
    question: "evaluate", policies: text.policies(), objects: state.objects, oldObject: state.old, user: state.user,
    values: state.values, context: state.context, operation: state.operation, as: state.as, explain: state.right === "trace" || state.right === "rules", ...around(),
  }),
  findings: () => ({ question: "lint", policies: text.policies(), ...(state.kubernetes ? around() : {}) }),
  migrate: () => ({ question: "migrate", policies: text.policies(), to: state.to, ...(state.to === "vap" ? around() : {}) }),
  diff: () => ({ question: "diff", old: state.policies, new: state.next, ...around() }),
  cel: () => ({ question: "cel", expression: state.cel, document: firstObject(), environment: state.environment }),
  jmespath: () => ({ question: "jmespath", expression: state.jmespath, document: firstObject() }),
};

function wanted(): Asked[] {
  const of = (name: string): Asked => ({ name, question: QUESTIONS[name] ?? (() => ({})) });
  const first: Record<string, string> = { verdicts: "evaluate", trace: "evaluate", rules: "evaluate" };
  const name = first[state.right] ?? state.right;
  const isEmpty = { evaluate: state.policies, findings: state.policies, migrate: state.policies, diff: state.next, cel: state.cel, jmespath: state.jmespath }[name]?.trim() === "";
  const all = isEmpty ? [] : [of(name)];
  if (isEmpty) blank(name);
  // Marks in the editors come with every question.
  for (const other of ["evaluate", "findings"]) if (other !== name && state.policies.trim() !== "") all.push(of(other));
  return all;
}

// ---- the answers

const status = byId("status");
let jumps: (() => void)[] = [];
let jump = 0;
/** The answers that are shown, for programs that read the page. */
const last: Record<string, unknown> = {};

function show(panel: string, content: HTMLElement): void {
  (answers[panel] ?? byId(`panel-${panel}`)).replaceChildren(content);
}

function blank(name: string): void {
  const texts: Record<string, string> = {
    evaluate: "Write or paste a policy on the left, or choose an example.", findings: "Findings about the policies are shown here.",
    migrate: "A ClusterPolicy on the left is written in CEL here, with a proof that both mean the same.",
    diff: "Whether the new policies mean the same as those on the left, or an object on which they differ.",
    cel: "The value of the expression on the first object.", jmespath: "The value of the expression on the first object.",
  };
  const content = () => empty(texts[name] ?? "");
  if (name === "evaluate") {
    for (const panel of ["verdicts", "trace", "rules"]) show(panel, content());
    outputs.mark("verdicts", "", "");
    editors.policies.mark([]);
    editors.objects.mark([]);
    findingsOf({ findings: [], policies: 0, partial: 0, others: 0 });
  } else {
    show(name, content());
  }
  status.textContent = notice;
}

/** What is said in place of a result, until there is one. */
let notice = "";

function say(names: string[], words: string, milliseconds: number): void {
  notice = "";
  if (names.includes(state.right)) status.textContent = `${words} – ${milliseconds < 1 ? "under 1" : Math.round(milliseconds)} ms`;
}

function evaluated(found: Answer<Evaluated>, time: number): void {
  const panels = ["verdicts", "trace", "rules"];
  if (failed(found)) {
    for (const panel of panels) show(panel, problem(found));
    say(panels, "no answer", time);
    outputs.mark("verdicts", "!", "bad");
    return;
  }
  show("verdicts", verdicts(found, go));
  if (state.right === "trace") show("trace", trace(found, go));
  if (state.right === "rules") show("rules", rules(found, go));
  say(panels, summary(found), time);
  const bad = [...found.refused, ...found.objects.flatMap((one) => one.results)].filter(({ result }) => result === "fail" || result === "error" || result === "warn");
  outputs.mark("verdicts", bad.length > 0 ? String(bad.length) : found.objects.length > 0 ? "✓" : "", bad.length > 0 ? "bad" : "good");
  const lines = (key: "place" | "policyPlace") => bad.flatMap((one) => (one[key]?.line ? [{ line: one[key].line, tone: "bad" as const }] : []));
  editors.policies.mark(lines("policyPlace"));
  editors.objects.mark(lines("place"));
  if (panels.includes(state.right)) {
    jumps = bad.flatMap((one) => { const at = one.place ?? one.policyPlace; return at?.line ? [() => go(at.file, at.line ?? 1, at.column)] : []; });
    jump = 0;
  }
}

function applyEdits(edits: Edit[]): void {
  const { view } = editors.policies;
  const changes = edits.map((edit) => ({ from: editors.policies.offset(edit.line, edit.column), to: editors.policies.offset(edit.endLine, edit.endColumn), insert: edit.text }));
  view.dispatch({ changes });
  view.focus();
}

function findingsOf(found: Linted): void {
  const diagnostics: Diagnostic[] = found.findings.map((one) => {
    const from = editors.policies.offset(one.line, one.column || 1);
    const to = one.endColumn > 0 ? editors.policies.offset(one.line, one.endColumn) : editors.policies.view.state.doc.lineAt(from).to;
    return { from, to: Math.max(from, to), severity: one.severity === "note" ? "info" : one.severity, message: one.help ? `${one.message}\n${one.help}` : one.message, source: one.id };
  });
  editors.policies.diagnose(diagnostics);
  show("findings", findings(found, go, applyEdits));
  const bad = found.findings.filter((one) => one.severity !== "note");
  outputs.mark("findings", bad.length > 0 ? String(bad.length) : "", bad.some((one) => one.severity === "error") ? "bad" : "warn");
}

function onAnswer(name: string, answer: unknown, time: number): void {
  last[name] = answer;
  switch (name) {
    case "evaluate": return evaluated(answer as Answer<Evaluated>, time);
    case "findings": {
      const found = answer as Answer<Linted>;
      if (failed(found)) return show("findings", problem(found));
      findingsOf(found);
      say(["findings"], lintSummary(found), time);
      if (state.right === "findings") { jumps = found.findings.map((one) => () => go(one.file, one.line, one.column)); jump = 0; }
      return;
    }
    case "migrate": {
      const found = answer as Answer<Migrated>;
      show("migrate", failed(found) ? problem(found) : migrated(found, go, (next) => { editors.next.text = next; outputs.select("diff", true); }));
      return say(["migrate"], failed(found) ? "no answer" : migrateSummary(found), time);
    }
    case "diff": {
      const found = answer as Answer<Compared>;
      show("diff", failed(found) ? problem(found) : compared(found, go));
      return say(["diff"], failed(found) ? "no answer" : diffSummary(found), time);
    }
    case "cel":
    case "jmespath": {
      const found = answer as Answer<Value>;
      show(name, failed(found) ? mistaken(found, state[name]) : value(found));
      return say([name], failed(found) ? "no value" : "value", time);
    }
  }
}

// ---- state, address and engine

const isNative = document.documentElement.dataset["engine"] === "native";
if (isNative) byId("where").textContent = "machine";

async function compile(): Promise<WebAssembly.Module> {
  const response = await fetch("engine.wasm");
  if (!response.ok) throw new Error(`engine.wasm: ${response.status}`);
  // Servers that do not know the type of modules are fine, too.
  if (response.headers.get("content-type") === "application/wasm") return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}

const transport = isNative ? new Native("answer") : new Workers(compile(), "worker.js");
const busy = byId("busy");
const engine = new Engine(transport, onAnswer, (isRunning) => busy.classList.toggle("on", isRunning));

let waiting: ReturnType<typeof setTimeout> | undefined;
let storing: ReturnType<typeof setTimeout> | undefined;
/** So long a pause of typing, in milliseconds, begins a question. */
const PAUSE = 80;

function changed(pause = PAUSE): void {
  clearTimeout(waiting);
  waiting = setTimeout(() => engine.ask(wanted()), pause);
  store();
}

let written = "";
function store(): void {
  clearTimeout(storing);
  storing = setTimeout(() => void write(), 400);
}

async function write(): Promise<boolean> {
  const fragment = await pack(state);
  if (fragment.length > MAX_ADDRESS) {
    byId("link").title = "The texts are too long for an address";
    return false;
  }
  byId("link").title = "";
  written = fragment ? `#${fragment}` : "";
  try { history.replaceState(null, "", written || location.pathname + location.search); } catch { return false; }
  return true;
}

function restore(to: State): void {
  state = { ...to };
  for (const name of Object.keys(editors) as EditorName[]) editors[name].text = to[name];
  for (const update of selects) update();
  inputs.select(to.left);
  outputs.select(to.right);
}

async function read(): Promise<void> {
  if (location.hash === written && written !== "") return;
  const found = location.hash.length > 1 ? await unpack(location.hash) : null;
  if (found) restore(found);
  else if (location.hash.length > 1) { notice = "The address holds no state that this page can read."; restore(EMPTY); }
  else load(examples.find((one) => one.name === "disallow-latest-tag") ?? examples[0]);
}

function load(example: Example | undefined, form: "policies" | "vpol" | "vap" = "policies"): void {
  if (example) restore({ ...EMPTY, right: state.right, policies: example[form], objects: example.objects, next: state.right === "diff" ? example.vpol : "" });
}

const chooser = byId<HTMLSelectElement>("example");
const FORMS: ["policies" | "vpol" | "vap", string][] = [["policies", ""], ["vpol", " (CEL)"], ["vap", " (Kubernetes)"]];
for (const group of new Set(examples.map((one) => one.group))) {
  const options = examples.filter((one) => one.group === group).flatMap((one) => FORMS.map(([form, suffix]) => h("option", { value: `${one.name}/${form}` }, one.name + suffix)));
  chooser.append(h("optgroup", { label: group }, ...options));
}
chooser.addEventListener("change", () => {
  const [name, form] = chooser.value.split("/");
  load(examples.find((one) => one.name === name), form as "policies");
  chooser.value = "";
});

async function copyLink(): Promise<void> {
  const isWhole = await write();
  const button = byId("link");
  if (!isWhole) { status.textContent = "The texts are too long for a link."; return; }
  await copy(location.href, button);
}
byId("link").addEventListener("click", () => void copyLink());
byId("keys").addEventListener("click", () => byId<HTMLDialogElement>("shortcuts").showModal());

document.addEventListener("keydown", (event) => {
  const digit = /^Digit([1-8])$/.exec(event.code)?.[1];
  if (event.altKey && !event.ctrlKey && !event.metaKey && digit) {
    event.preventDefault();
    const at = Number(digit) - 1;
    if (event.shiftKey) outputs.at(at);
    else inputs.at(at);
  } else if (event.altKey && event.code === "KeyL" && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    void copyLink();
  } else if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
    event.preventDefault();
    changed(0);
  } else if (event.key === "F8" && jumps.length > 0) {
    event.preventDefault();
    jumps[jump % jumps.length]?.();
    jump += 1;
  }
}, { capture: true });
window.addEventListener("hashchange", () => void read());
void read();

// Tests read what is shown and how many workers were ended.
Object.assign(window, { ephor: { last, state: () => state, ended: () => (transport instanceof Workers ? transport.ended : 0) } });
