// What the page holds, and the address that holds all of it.
//
// The fragment is a version, a dot, and the state as JSON: compressed (deflate, without a header) and in base64url.
// Only what differs from an empty page is written.

export const TEXTS = ["policies", "objects", "values", "user", "context", "old"] as const;
export type TextName = (typeof TEXTS)[number];

export interface State {
  policies: string; objects: string; values: string; user: string; context: string; old: string;
  next: string; cel: string; jmespath: string;
  operation: string; as: string; kubernetes: string; to: string; environment: string;
  left: string; right: string;
}

export const EMPTY: State = {
  policies: "", objects: "", values: "", user: "", context: "", old: "",
  next: "", cel: "", jmespath: "",
  operation: "", as: "kyverno", kubernetes: "", to: "vpol", environment: "kubernetes",
  left: "policies", right: "verdicts",
};

const VERSION = "1";
/** Browsers cut longer addresses off, or refuse them. */
export const MAX_ADDRESS = 1_500_000;
/** No address of ours unpacks to more. */
const MAX_UNPACKED = 32 << 20;

async function through(bytes: Uint8Array, stream: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const reader = new Blob([bytes as BlobPart]).stream().pipeThrough(stream as ReadableWritablePair<Uint8Array, Uint8Array>).getReader();
  const parts: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > MAX_UNPACKED) throw new Error("the address holds too much");
    parts.push(value);
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) { whole.set(part, at); at += part.length; }
  return whole;
}

function toBase64Url(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function fromBase64Url(text: string): Uint8Array {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (c) => c.charCodeAt(0));
}

/** The fragment of a state; empty for an empty page. */
export async function pack(state: State): Promise<string> {
  const changed = Object.entries(state).filter(([key, value]) => value !== EMPTY[key as keyof State]);
  if (changed.length === 0) return "";
  const bytes = new TextEncoder().encode(JSON.stringify(Object.fromEntries(changed)));
  return `${VERSION}.${toBase64Url(await through(bytes, new CompressionStream("deflate-raw")))}`;
}

/** The state of a fragment; `null` for a fragment that is none. */
export async function unpack(fragment: string): Promise<State | null> {
  const [version, packed] = fragment.replace(/^#/, "").split(".", 2);
  if (version !== VERSION || !packed) return null;
  try {
    const bytes = await through(fromBase64Url(packed), new DecompressionStream("deflate-raw"));
    const read: unknown = JSON.parse(new TextDecoder().decode(bytes));
    if (typeof read !== "object" || read === null) return null;
    const state = { ...EMPTY };
    for (const key of Object.keys(EMPTY) as (keyof State)[]) {
      const value = (read as Record<string, unknown>)[key];
      if (typeof value === "string") state[key] = value;
    }
    return state;
  } catch {
    return null;
  }
}
