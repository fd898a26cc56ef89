// Builds the page into dist/ (for tests into build/wasm-check/dist): the module (from cargo and wasm-bindgen), the scripts, the examples.
//
//   node build.mjs             the module as it is shipped
//   node build.mjs --check     the module of the profile wasm-check, for tests
//   node build.mjs --reuse     the scripts, with the module that was built last
//   node build.mjs --scripts   what `ephor play` serves: no module

import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";
import { build } from "esbuild";

const web = dirname(fileURLToPath(import.meta.url));
const root = dirname(web);
const isCheck = process.argv.includes("--check");
const isWithout = process.argv.includes("--scripts");
const reuses = isWithout || process.argv.includes("--reuse");
const profile = isCheck ? "wasm-check" : "wasm";
const run = (program, ...words) => execFileSync(program, words, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });

// The module. wasm-bindgen must have the version that the lock file names.
const target = join(process.env.CARGO_TARGET_DIR ?? join(root, "target"), "wasm32-unknown-unknown", profile, "ephor_page_engine.wasm");
if (!reuses) run("cargo", "build", "--locked", "--profile", profile, "--target", "wasm32-unknown-unknown", "--package", "ephor-page-engine");
const generated = join(web, "build", profile);
const isNewer = (a, b) => !existsSync(b) || statSync(a).mtimeMs > statSync(b).mtimeMs;
if (!reuses && isNewer(target, join(generated, "engine_bg.wasm"))) {
  run("wasm-bindgen", "--target", "web", "--out-dir", generated, "--out-name", "engine", target);
}

// Examples: policies of the library with their resources, each form of a policy. Those of some groups alone, for a browser
// loads all of them.
const groups = ["best-practices", "pod-security-baseline", "pod-security-restricted"];
const examples = [];
const read = (...path) => readFileSync(join(root, ...path), "utf8");
for (const group of groups) {
  for (const name of readdirSync(join(root, "policies", group)).sort()) {
    const folder = ["policies", group, name];
    examples.push({
      group,
      name,
      policies: read(...folder, `${name}.yaml`),
      vpol: read(...folder, `${name}.vpol.yaml`),
      vap: read(...folder, `${name}.vap.yaml`),
      objects: read(...folder, ".kyverno-test", "resources.yaml"),
    });
  }
}
examples.sort((a, b) => (a.group + a.name).localeCompare(b.group + b.name));
mkdirSync(generated, { recursive: true });
writeFileSync(join(web, "build", "examples.json"), JSON.stringify(examples));

const dist = isCheck ? join(generated, "dist") : join(web, "dist");
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
await build({
  absWorkingDir: web,
  entryPoints: ["src/main.ts", "src/page.css", ...(isWithout ? [] : ["src/worker.ts"])],
  outdir: dist,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none",
  // wasm-bindgen's loader for the main script is not used: the module comes from there.
  alias: { "page-engine": join(generated, "engine.js") },
  define: { "import.meta.url": '"about:blank"' },
  logLevel: "warning",
});
// `ephor play` takes these files in: cargo looks for them when its build script has changed.
cpSync(join(web, "index.html"), join(dist, "index.html"));
if (!isCheck) utimesSync(join(root, "build.rs"), new Date(), new Date());
const files = ["main.js", "page.css"];
const sizes = [];
if (!isWithout) {
  cpSync(join(generated, "engine_bg.wasm"), join(dist, "engine.wasm"));
  files.push("worker.js", "engine.wasm");
}
if (!isWithout && !isCheck) {
  const wasm = readFileSync(join(dist, "engine.wasm"));
  const packed = brotliCompressSync(wasm, { params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 24 } });
  sizes.push(["engine.wasm, brotli", packed.length]);
  if (packed.length > 4 << 20) throw new Error(`the module has ${packed.length} bytes in brotli, at most ${4 << 20} are wanted`);
}
for (const file of files) sizes.push([file, statSync(join(dist, file)).size]);
for (const [name, size] of sizes) console.log(`${name.padEnd(20)} ${(size / 1024).toFixed(0).padStart(6)} KiB`);
