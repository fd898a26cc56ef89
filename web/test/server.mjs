// A file server for tests: dist/ under a folder of its own, as a book or any host has it.

import { createServer } from "node:http";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

/** A browser as the machine has it. */
export const CHROMIUM = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => path && existsSync(path));
export const web = dirname(dirname(fileURLToPath(import.meta.url)));
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };

/** The page: that of the last build for tests where EPHOR_PAGE says so. */
export const dist = join(web, process.env.EPHOR_PAGE === "check" ? "build/wasm-check/dist" : "dist");

/** Serves it below `/some/where/`; returns the address and what ends it. */
export async function serve() {
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, "http://localhost").pathname;
    const below = path.startsWith("/some/where/") ? path.slice("/some/where/".length) || "index.html" : null;
    try {
      const body = await readFile(join(dist, normalize(`/${below ?? "none"}`)));
      response.writeHead(200, { "content-type": TYPES[extname(below)] ?? "application/octet-stream" }).end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${server.address().port}/some/where/`;
  return { address, close: () => new Promise((resolve) => server.close(resolve)) };
}
