#!/usr/bin/env bash
# Builds and packages the extension, and runs VS Code's language client with the program in Node.
# usage: check.sh PROGRAM        needs Node 20 and npm; leaves ephor.vsix here
set -euo pipefail
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")"
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  echo "skipped: the extension of VS Code needs Node and npm"
  exit 0
fi
if ! npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null; then
  echo "skipped: the packages of the extension of VS Code cannot be installed here"
  exit 0
fi
EPHOR=$program npm test --silent
npm run --silent package | tail -1
