#!/usr/bin/env bash
# The page: types, the module for tests, its answers against those of the program, and the page in Chromium.
#
# What the machine does not have is named as skipped. The program is the one of the last `cargo build`, or EPHOR.
set -euo pipefail
cd "$(dirname "$0")"
export CARGO_TERM_COLOR=never
skip() { echo "skipped: the page, $1"; exit 0; }
command -v npm >/dev/null && [ "$(node -p 'process.versions.node.split(".")[0] >= 20')" = true ] || skip "Node 20 or later is not here"
[ -d node_modules ] || npm ci --no-audit --no-fund --loglevel=error || skip "its packages cannot be fetched"
node node_modules/esbuild/install.js
rustup target add wasm32-unknown-unknown >/dev/null 2>&1 || true
[ -d "$(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown" ] || skip "the target wasm32-unknown-unknown is not here"
wanted=$(sed -n '/^name = "wasm-bindgen"$/{n;s/version = "\(.*\)"/\1/p}' ../Cargo.lock)
tools=${CARGO_TARGET_DIR:-$PWD/../target}/tools
export PATH=$tools/bin:$PATH
if [ "$(wasm-bindgen --version 2>/dev/null)" != "wasm-bindgen $wanted" ]; then
  cargo install wasm-bindgen-cli --version "$wanted" --debug --root "$tools" --target-dir "$tools/target" --quiet ||
    skip "wasm-bindgen $wanted cannot be built"
fi
node build.mjs --check
npx --no-install tsc --noEmit -p .
export EPHOR_PAGE=check
# Each test that needs something that is not here says what.
node --test --test-concurrency=1 --test-reporter=spec test/
# The package for Node has the same module.
package=${CARGO_TARGET_DIR:-$PWD/../target}/node
node ../bindings/node/build.mjs wasm-check "$package"
node --test --test-reporter=spec "$package/test/"
