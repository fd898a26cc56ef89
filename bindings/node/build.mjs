// Puts the package together: the functions, and the module that web/build.mjs has built with a profile of cargo.
//
//   node build.mjs [wasm | wasm-check] [FOLDER]      target/node unless given
import { cpSync, existsSync, mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(dirname(here));
const profile = process.argv[2] ?? "wasm";
const folder = resolve(process.argv[3] ?? join(root, "target/node"));
const built = join(root, "web/build", profile);
if (!existsSync(join(built, "engine_bg.wasm"))) {
  console.error(`${built} has no module: ${profile === "wasm" ? "npm --prefix web run build" : "web/check.sh"} builds it`);
  process.exit(1);
}
mkdirSync(folder, { recursive: true });
for (const file of ["engine.js", "engine_bg.wasm"]) cpSync(join(built, file), join(folder, file));
for (const file of ["package.json", "index.js", "index.d.ts", "README.md", "test"]) cpSync(join(here, file), join(folder, file), { recursive: true });
for (const file of ["LICENSE", "NOTICE"]) cpSync(join(root, file), join(folder, file));
