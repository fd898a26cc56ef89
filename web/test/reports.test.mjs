// The pages that commands write, in Chromium: of a run, of several runs, of the coverage of tests, of an audit log.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";
import { CHROMIUM, web } from "./server.mjs";

const AXE = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const program = process.env.EPHOR ?? join(web, "../target/debug/ephor");
const reason = !CHROMIUM ? "skipped: the pages of reports need Chromium" : existsSync(program) ? false : "skipped: the program is not built";

describe("pages of reports", { skip: reason }, () => {
  const folder = mkdtempSync(join(tmpdir(), "ephor-reports-"));
  const at = (name) => join(folder, name);
  const policies = "policies/best-practices/disallow-latest-tag";
  let browser, page;

  const run = (...args) => {
    const { error } = spawnSync(program, args, { cwd: join(web, ".."), encoding: "utf8" });
    assert.equal(error, undefined);
  };

  before(async () => {
    const applied = ["apply", policies, "policies/best-practices/require-labels", "-r", "docs/sample/deployment.yaml"];
    run(...applied, "--report-file", at("run.html"), "--report-file", at("new.json"));
    run("apply", policies, "-r", "docs/sample/pod.yaml", "--report-file", at("old.json"));
    run("report", at("old.json"), at("new.json"), "--report-file", at("runs.html"));
    run("test", policies, "--coverage-file", at("coverage.html"));
    run("replay", "tests/audit/request-response.jsonl", "--policies", policies, "--compare", "policies/best-practices/require-labels", "--report-file", at("replay.html"));
    browser = await puppeteer.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
    page = await browser.newPage();
    await page.setBypassCSP(true);
  });
  after(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  for (const name of ["run", "runs", "coverage", "replay"]) {
    for (const scheme of ["light", "dark"]) {
      for (const width of [1280, 380]) {
        it(`${name}.html has no fault that axe finds: ${scheme}, ${width} pixels`, async () => {
          await page.setViewport({ width, height: 800 });
          await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
          await page.goto(pathToFileURL(at(`${name}.html`)).href);
          if (process.env.EPHOR_SHOTS) await page.screenshot({ path: join(process.env.EPHOR_SHOTS, `${name}-${scheme}-${width}.png`), fullPage: true });
          assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), "the page is wider than its window");
          await page.evaluate(AXE);
          const found = await page.evaluate(async () => {
            const result = await window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] });
            return result.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).join(", ")}`);
          });
          assert.deepEqual(found, []);
        });
      }
    }
  }
});
