// What wasm-bindgen generates, as far as the page reads it (web/engine).
declare module "page-engine" {
  export function answer(question: string): string;
  export function initSync(options: { module: WebAssembly.Module }): void;
}
