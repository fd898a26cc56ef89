// The answers of the engine (crates/page), as far as the page reads them.

export interface Place { file: string; line?: number; column?: number; endColumn?: number }
export interface Failed { error: { text: string; part?: string; hint?: string | null; offset?: number | null; causes?: string[] } }
export interface Result {
  policy: string; policyKind?: string; rule?: string; result: string; message?: string; field?: string; severity?: string;
  place?: Place; policyPlace?: Place;
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
export interface Edit { line: number; column: number; endLine: number; endColumn: number; text: string }
export interface Finding {
  id: string; severity: "error" | "warning" | "note"; policy: string; file: string; line: number; column: number;
  endColumn: number; message: string; help: string | null; fixes?: { title: string; edits: Edit[] }[];
}
export interface Linted { findings: Finding[]; policies: number; partial: number; others: number }
export interface Side { verdict: string; message: string; place?: Place | null; policy?: string; rule?: string }
export interface Difference { kind: string; request?: string; operation?: string; where?: string; universe?: string; object: unknown; oldObject?: unknown; user?: unknown; old: Side; new: Side }
export interface Row {
  file: string; line: number; policy: string; status: string; reason: string; butFor: string[]; remarks: string[];
  refused: { place: string; construct: string; nearest: string }[]; differences: Difference[]; new: { kind: string; name: string }[];
}
export interface Migrated { text: string; report: { policies: Row[] } }
export interface Pair {
  name: string; answer: string; butFor?: string[]; objects?: number; kinds?: string[]; reasons?: string[]; place?: Place | null;
  differences?: Difference[]; allowsExistingViolations?: string | null;
}
export interface Compared { policies: Pair[] }
export interface Value {
  value: string; type?: string; cost?: number; estimate?: { min: number; max: number | null };
  steps?: { depth: number; text: string; value: string | null; error: string | null }[];
}
export type Answer<T> = T | Failed;

/** Whether the engine has no answer. */
export function failed<T>(answer: Answer<T>): answer is Failed {
  return typeof answer === "object" && answer !== null && "error" in answer;
}
