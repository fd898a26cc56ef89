// `ephor play`: the page with the native engine, on loopback, for its own page only.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import puppeteer from "puppeteer-core";
import { CHROMIUM, web } from "./server.mjs";

const program = process.env.EPHOR ?? join(web, "../target/debug/ephor");

/** Why the program does not serve the page. */
function reason() {
  if (!existsSync(program)) return "skipped: the program is not built";
  // An address that is not on loopback is refused after the page is found, or not.
  const { stderr } = spawnSync(program, ["play", "--address", "127.0.0.1:1"], { encoding: "utf8", timeout: 10_000 });
  return stderr.includes("built without the page") ? "skipped: the program was built without the page" : false;
}

const skip = reason();

it("play says how to build the page when the program has none", { skip: skip !== "skipped: the program was built without the page" && "the program has the page" }, () => {
  const { status, stderr } = spawnSync(program, ["play"], { encoding: "utf8" });
  assert.equal(status, 2);
  assert.match(stderr, /npm run build/);
});

describe("play", { skip }, () => {
  let child, address;
  before(async () => {
    child = spawn(program, ["play", "--address", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
    address = new URL(await new Promise((resolve) => child.stdout.once("data", (data) => resolve(String(data).trim()))));
  });
  after(() => child?.kill("SIGINT"));

  const send = (method, path, headers, body = "") =>
    new Promise((resolve, reject) => {
      const sent = request({ host: "127.0.0.1", port: address.port, method, path, headers }, (response) => {
        let text = "";
        response.on("data", (data) => { text += data; }).on("end", () => resolve({ status: response.statusCode, text, headers: response.headers }));
      });
      sent.on("error", reject).end(body);
    });
  const question = JSON.stringify({ question: "jmespath", expression: "a", document: "a: 1" });
  const json = { "content-type": "application/json" };

  it("answers questions of its own page", async () => {
    const own = await send("POST", "/answer", { ...json, origin: address.origin }, question);
    assert.deepEqual([own.status, own.text], [200, '{"value":"1"}']);
    const page = await send("GET", "/", {});
    assert.match(page.text, /data-engine="native"/);
    assert.match(page.headers["content-security-policy"], /frame-ancestors 'none'/);
  });

  it("refuses names that were rebound, pages of others, and questions that need no permission", async () => {
    assert.equal((await send("POST", "/answer", { ...json, host: "rebound.example" }, question)).status, 403);
    assert.equal((await send("GET", "/", { host: `rebound.example:${address.port}` })).status, 403);
    assert.equal((await send("POST", "/answer", { ...json, origin: "http://other.example" }, question)).status, 403);
    assert.equal((await send("POST", "/answer", { "content-type": "text/plain" }, question)).status, 415);
    assert.equal((await send("GET", "/../Cargo.toml", {})).status, 404);
  });

  it("shows verdicts in Chromium", { skip: CHROMIUM ? false : "skipped: Chromium is not here" }, async () => {
    const browser = await puppeteer.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
    try {
      const page = await browser.newPage();
      await page.goto(address.href);
      await page.waitForFunction(() => window.ephor?.last.evaluate, { timeout: 60_000 });
      assert.match(await page.$eval("#status", (status) => status.innerText), /^1 policy, 12 objects: 6 fail, 18 pass/);
    } finally {
      await browser.close();
    }
  });
});
