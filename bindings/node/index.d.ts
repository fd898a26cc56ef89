/** A text, or texts with the names that places have. */
export type Files = string | { name: string; text: string }[];
export interface Options {
  /** CustomResourceDefinitions. */ definitions?: Files;
  /** The release of Kubernetes, as `1.36`. */ kubernetes?: string;
  /** How long it may take. */ milliseconds?: number;
}
export interface EvaluateOptions extends Options {
  /** The former object of an `UPDATE`. */ oldObject?: string;
  /** Who sends the request: a file of `--userinfo`. */ user?: string;
  /** A file of `--values-file`. */ values?: string;
  /** A file of `--context-path`. */ context?: string;
  operation?: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  /** Whose decisions are wanted where the command line and a cluster differ. */ as?: "kyverno" | "cluster";
}
export interface Place { file: string; line?: number; column?: number; endColumn?: number }
export interface Result {
  policy: string; policyKind?: string; rule?: string; result: "pass" | "fail" | "warn" | "error" | "skip"; message?: string;
  field?: string; severity?: string; place?: Place; policyPlace?: Place;
}
export interface Decision { place: string; text: string; tone: "good" | "bad" | "neutral"; depth: number; detail: boolean }
export interface Decided { policy: string; rule: string; place: string; status: string | null; decisions: Decision[] }
export interface Judged {
  name: string; file: string; line: number; results: Result[]; mutated: string | null; difference: string | null;
  generated: string[]; targets: string[]; decisions: Decided[] | null;
}
export interface Evaluated {
  policies: { name: string; kind: string; file: string; line: number; refused: string | null; uncompiled: string | null }[];
  refused: Result[]; objects: Judged[];
  rules: { policy: string; rule: string; place: string; generated: string | null; text: string }[];
  notes: string[]; isInterrupted: boolean;
}
export interface Finding {
  id: string; severity: "error" | "warning" | "note"; policy: string; file: string; line: number; column: number; endColumn: number;
  message: string; help: string | null;
}
export interface Difference { kind: string; object: unknown; oldObject?: unknown; old: { verdict: string; message: string }; new: { verdict: string; message: string } }
export interface MigratedPolicy {
  file: string; line: number; policy: string; status: string; reason: string; butFor: string[]; remarks: string[];
  refused: { place: string; construct: string; nearest: string }[]; differences: Difference[]; new: { kind: string; name: string }[];
}
export interface Value { value: string; type?: string; cost?: number }

export class EphorError extends Error { part: string | null; hint: string | null; offset: number | null; causes: string[] }
export function answerTo(question: { question: string; [member: string]: unknown }): unknown;
export function evaluate(policies: Files, objects: Files, options?: EvaluateOptions): Evaluated;
export function explain(policies: Files, objects: Files, options?: EvaluateOptions): Evaluated;
export function lint(policies: Files, options?: Options & { fix?: "none" | "safe" | "unsafe" }): { findings: Finding[]; policies: number };
export function migrate(policies: Files, options?: Options & { to?: "vpol" | "vap"; byFile?: boolean }): { text: string; report: { policies: MigratedPolicy[] } };
export function diff(before: Files, after: Files, options?: Options): { policies: { name: string; answer: string; differences?: Difference[] }[] };
export function cel(expression: string, document?: string, options?: { environment?: "kubernetes" | "kyverno" | "bare"; milliseconds?: number }): Value;
export function jmespath(expression: string, document?: string, options?: { milliseconds?: number }): Value;
export function version(): string;
