// Editors of texts: YAML with line numbers, marked lines, and findings in the gutter.

import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { minimalSetup } from "codemirror";
import { lineNumbers, highlightActiveLine } from "@codemirror/view";

/** A line that results are about. */
export interface MarkedLine { line: number; tone: "bad" | "shown" }

const setMarks = StateEffect.define<MarkedLine[]>();
const setShown = StateEffect.define<number>();

function decorations(lines: MarkedLine[], state: EditorState): DecorationSet {
  const known = new Map<number, string>();
  for (const { line, tone } of lines) if (line >= 1 && line <= state.doc.lines) known.set(line, tone);
  const all = [...known].sort(([a], [b]) => a - b);
  return Decoration.set(all.map(([line, tone]) => Decoration.line({ class: `cm-marked-${tone}` }).range(state.doc.line(line).from)));
}

const marks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    let next = value.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (effect.is(setMarks)) next = decorations(effect.value, transaction.state);
    }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

const shown = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(value, transaction) {
    if (transaction.docChanged) return Decoration.none;
    for (const effect of transaction.effects) {
      if (effect.is(setShown)) return decorations([{ line: effect.value, tone: "shown" }], transaction.state);
    }
    return value;
  },
  provide: (field) => EditorView.decorations.from(field),
});

const style = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--key)" },
  { tag: tags.comment, color: "var(--quiet)", fontStyle: "italic" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--text-value)" },
  { tag: [tags.meta, tags.keyword, tags.typeName, tags.labelName], color: "var(--accent)" },
]);

const theme = EditorView.theme({
  "&": { height: "100%", backgroundColor: "var(--paper)", color: "var(--ink)", fontSize: "13px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-gutters": { backgroundColor: "var(--paper)", color: "var(--quiet)", border: "none" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLine": { backgroundColor: "var(--line)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-placeholder": { color: "var(--quiet)" },
  "&.cm-focused": { outline: "none" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--ink)", border: "1px solid var(--rule)" },
});

export interface EditorOptions { label: string; hint: string; language?: "yaml" | "plain"; onChange: (text: string) => void }

/** An editor in a place of the page. */
export class Editor {
  readonly view: EditorView;

  constructor(parent: HTMLElement, options: EditorOptions) {
    this.view = new EditorView({
      parent,
      state: EditorState.create({
        extensions: [
          lineNumbers(), highlightActiveLine(), minimalSetup, syntaxHighlighting(style), theme, marks, shown, lintGutter(),
          options.language === "plain" ? [] : yaml(),
          options.language === "plain" ? EditorView.lineWrapping : [],
          placeholder(options.hint),
          EditorView.contentAttributes.of({ "aria-label": options.label, "aria-multiline": "true", tabindex: "0" }),
          EditorView.updateListener.of((update) => { if (update.docChanged) options.onChange(this.text); }),
        ],
      }),
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  set text(text: string) {
    if (text === this.text) return;
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  mark(lines: MarkedLine[]): void {
    this.view.dispatch({ effects: setMarks.of(lines) });
  }

  /** Scrolls to a line and sets the cursor there. */
  go(line: number, column = 0): void {
    const { doc } = this.view.state;
    const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
    const from = Math.min(at.from + Math.max(column - 1, 0), at.to);
    this.view.dispatch({ selection: { anchor: from }, effects: [EditorView.scrollIntoView(from, { y: "center" }), setShown.of(at.number)] });
    this.view.focus();
  }

  /** The position of a line and column, both from 1, columns in characters. */
  offset(line: number, column: number): number {
    const { doc } = this.view.state;
    const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
    const before = [...at.text].slice(0, Math.max(column - 1, 0)).join("");
    return Math.min(at.from + before.length, at.to);
  }

  diagnose(diagnostics: Diagnostic[]): void {
    this.view.dispatch(setDiagnostics(this.view.state, diagnostics));
  }
}
