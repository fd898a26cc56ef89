// The page in Chromium: verdicts, links, keys, work that is given up, large texts, accessibility.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import puppeteer from "puppeteer-core";
import { CHROMIUM, serve } from "./server.mjs";

const AXE = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

const POLICY = `apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: tags}
spec:
  rules:
  - name: pinned
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate:
      message: pin the tag
      pattern:
        spec:
          containers:
          - image: '!*:latest'
`;
const POD = `apiVersion: v1
kind: Pod
metadata: {name: a, namespace: shop}
spec:
  containers:
  - name: c
    image: x:latest
`;
/** A policy that takes longer than anybody waits: loops in loops in loops. */
const TEN = `[${"@,".repeat(9)}@]`;
const LOOPS = POLICY.replace("pattern:\n        spec:\n          containers:\n          - image: '!*:latest'",
  `deny: {conditions: {any: [{key: '{{ ${Array.from({ length: 9 }, () => "max(map(&").join("")}@${`, ${TEN}))`.repeat(8)}, [length(request.object.spec.containers)])) }}', operator: Equals, value: 7}]}}`);

describe("the page", { skip: CHROMIUM ? false : "skipped: the tests of the page need Chromium" }, () => {
  let site, browser, page;
  const errors = [];
  const requests = [];

  before(async () => {
    site = await serve();
    browser = await puppeteer.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
    page = await browser.newPage();
    page.on("pageerror", (error) => errors.push(error.message));
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    page.on("request", (request) => requests.push(request.url()));
  });
  after(async () => {
    await browser?.close();
    await site?.close();
  });

  const until = (test, ...values) => page.waitForFunction(test, { timeout: 60_000, polling: 20 }, ...values);
  const open = async (hash = "") => {
    await page.goto("about:blank");
    await page.goto(site.address + hash);
    await until(() => window.ephor?.last.evaluate);
  };
  /** Replaces the text of an editor as a paste does. */
  const write = (label, text) =>
    page.evaluate((name, value) => {
      const content = document.querySelector(`[role=tabpanel]:not([hidden]) [aria-label="${name}"]`);
      content.focus();
      document.execCommand("selectAll");
      const data = new DataTransfer();
      data.setData("text/plain", value);
      content.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
    }, label, text);
  const tab = (id) => page.click(`#tab-${id}`);
  const textOf = (selector) => page.$eval(selector, (element) => element.innerText);

  it("shows verdicts of an example at once, and asks nothing of anybody after it is loaded", async () => {
    await page.setViewport({ width: 1280, height: 800 });
    await open();
    assert.match(await textOf("#status"), /^1 policy, 12 objects: 6 fail, 18 pass/);
    requests.length = 0;
    await tab("objects");
    await write("Objects", POD);
    await until(() => window.ephor.last.evaluate.objects.length === 1);
    assert.match(await textOf("#panel-verdicts"), /fail/);
    assert.deepEqual(requests, []);
    assert.deepEqual(errors, []);
  });

  it("marks the line of the policy and the line of the object, and leads to them", async () => {
    await tab("policies");
    await write("Policies", POLICY);
    await until(() => window.ephor.last.evaluate.policies[0]?.name === "tags");
    await until(() => document.querySelector("#panel-policies .cm-marked-bad"));
    assert.equal((await textOf("#panel-policies .cm-marked-bad")).trim(), "- image: '!*:latest'");
    await page.evaluate(() => [...document.querySelectorAll("#panel-verdicts .place")].find((one) => one.textContent.startsWith("object line")).click());
    assert.equal(await page.$eval("#panel-objects", (panel) => panel.hidden), false);
    assert.equal((await textOf("#panel-objects .cm-marked-shown")).trim(), "image: x:latest");
  });

  it("restores everything from its address", async () => {
    await tab("cel");
    await write("CEL expression", "object.metadata.name + '!'");
    await until(() => window.ephor.last.cel?.value);
    assert.match(await textOf("#panel-cel"), /"a!"/);
    await page.waitForFunction(() => new Promise((resolve) => setTimeout(() => resolve(location.hash.startsWith("#1.")), 700)), { timeout: 60_000 });
    const [hash, before] = await page.evaluate(() => [location.hash, JSON.stringify(window.ephor.state())]);
    await page.goto("about:blank");
    await page.goto(site.address + hash);
    await until(() => window.ephor?.last.cel?.value);
    assert.equal(await page.evaluate(() => JSON.stringify(window.ephor.state())), before);
    assert.match(await textOf("#panel-cel"), /"a!"/);
    for (const bad of ["#1.????", "#9.abc", "#1.AAAA"]) {
      await page.goto("about:blank");
      await page.goto(site.address + bad);
      await until(() => document.querySelector("#status")?.textContent.includes("no state"));
    }
    assert.deepEqual(errors, []);
  });

  it("is used with the keyboard alone", async () => {
    await open();
    await page.keyboard.down("Alt");
    await page.keyboard.press("Digit2");
    await page.keyboard.up("Alt");
    assert.equal(await page.evaluate(() => document.activeElement.id), "tab-objects");
    await page.keyboard.press("ArrowRight");
    assert.equal(await page.evaluate(() => document.activeElement.id), "tab-values");
    await page.keyboard.press("End");
    assert.equal(await page.evaluate(() => document.activeElement.id), "tab-old");
    await page.keyboard.press("Home");
    // Tab goes into the editor, and out of it again.
    await page.keyboard.press("Tab");
    assert.ok(await page.evaluate(() => document.activeElement.closest("#panel-policies .cm-content") !== null));
    await page.keyboard.press("Tab");
    assert.ok(await page.evaluate(() => document.activeElement.closest("#panel-policies") === null));
    await page.keyboard.press("F8");
    assert.equal(await page.$eval("#panel-objects", (panel) => panel.hidden), false);
    await page.keyboard.down("Alt");
    await page.keyboard.down("Shift");
    await page.keyboard.press("Digit4");
    await page.keyboard.up("Shift");
    await page.keyboard.up("Alt");
    assert.equal(await page.evaluate(() => document.activeElement.id), "tab-findings");
  });

  it("proves a migrated policy, and shows the object when the copy is changed", async () => {
    await open();
    await tab("policies");
    await write("Policies", POLICY);
    await tab("migrate");
    await until(() => window.ephor.last.migrate?.report?.policies[0]?.policy === "tags");
    assert.match(await textOf("#panel-migrate"), /proved/);
    await page.evaluate(() => [...document.querySelectorAll("#panel-migrate button")].find((one) => one.textContent === "Edit and compare").click());
    await until(() => window.ephor.last.diff?.policies);
    assert.match(await textOf("#panel-diff"), /Both mean the same for every object/);
    await write("New policies", POLICY.replace("latest", "old"));
    await until(() => window.ephor.last.diff?.policies?.[0]?.answer === "differs");
    await until(() => document.querySelector("#panel-diff pre"));
    assert.match(await textOf("#panel-diff pre"), /"kind": "Pod"/);
  });

  it("gives up what takes too long when something newer is asked", async () => {
    await open();
    const ended = await page.evaluate(() => window.ephor.ended());
    await tab("policies");
    await write("Policies", LOOPS);
    await until(() => document.querySelector("#busy").classList.contains("on"));
    // The question is on its way before the next one comes.
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 400)));
    const start = Date.now();
    assert.ok(await page.evaluate(() => document.querySelector("#busy").classList.contains("on")), "it is still at work");
    await write("Policies", POLICY);
    await until(() => window.ephor.last.evaluate?.policies?.[0]?.name === "tags" && window.ephor.last.evaluate.objects[0]?.results[0]?.result !== "error");
    assert.ok(Date.now() - start < 5000, `${Date.now() - start} ms`);
    assert.equal(await page.evaluate(() => window.ephor.ended()), ended + 1);
  });

  it("stays responsive while 5 MB are pasted", async () => {
    await open();
    await tab("objects");
    const many = Array.from({ length: 42_000 }, (_, i) => POD.replace("name: a", `name: a${i}`)).join("---\n");
    assert.ok(many.length > 4_500_000, `${many.length}`);
    await page.evaluate(() => {
      window.longest = 0;
      let last = performance.now();
      const tick = () => { window.longest = Math.max(window.longest, performance.now() - last); last = performance.now(); setTimeout(tick, 10); };
      tick();
    });
    await write("Objects", many);
    // The answer may take its time; the page must not.
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 2500)));
    const longest = await page.evaluate(() => window.longest);
    assert.ok(longest < 2000, `the page stood still for ${Math.round(longest)} ms`);
    await write("Objects", POD);
    await until(() => window.ephor.last.evaluate?.objects?.length === 1);
  });

  for (const scheme of ["light", "dark"]) {
    for (const width of [1280, 380]) {
      it(`has no fault that axe finds: ${scheme}, ${width} pixels`, async () => {
        await page.setViewport({ width, height: 800 });
        await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
        await open();
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), "the page is wider than its window");
        for (const shown of ["verdicts", "trace", "rules", "findings", "migrate", "diff", "cel", "jmespath", "values"]) {
          await tab(shown);
          if (shown === "migrate") await until(() => window.ephor.last.migrate);
          // A repaint later the contents are there.
          await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 250)));
          await page.evaluate(AXE);
          const found = await page.evaluate(async () => {
            const result = await window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] });
            return result.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target.join(" ")).join(", ")}`);
          });
          assert.deepEqual(found, [], shown);
        }
      });
    }
  }
});
