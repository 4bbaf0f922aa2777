// Uses the playground in headless Chromium as people would, and prints as JSON what it found there.
//   node playground.mjs CHROMIUM ADDRESS TORN.uf2 [IMAGE.uf2]
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const [executablePath, address, torn, image] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({ executablePath, args: ["--disable-gpu", "--disable-dev-shm-usage"] });
const LIMIT_MS = 120_000;

async function open(options, found) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(LIMIT_MS);
  // The test brings axe into the page, which the page's own policy forbids.
  if (options.bypassCSP) return await start(await context.newPage(), {});
  return await start(await context.newPage(), found);
}

async function start(tab, found) {
  tab.on("console", (message) => found.console?.push(message.text()));
  tab.on("pageerror", (error) => found.console?.push(String(error)));
  tab.on("request", (request) => found.requests?.push(request.url()));
  await tab.goto(address, { waitUntil: "load" });
  await tab.waitForFunction(() => document.getElementById("message").textContent.includes(" runs "));
  return tab;
}

const text = (tab, id) => tab.locator(`#${id}`).textContent();
const printed = (tab, wanted) =>
  tab.waitForFunction((wanted) => document.querySelector(".xterm-rows").textContent.includes(wanted), wanted);
const seconds = async (tab) => parseFloat(await text(tab, "time"));

const found = { console: [], requests: [], looks: [] };
const tab = await open({ viewport: { width: 1440, height: 900 } }, found);
await tab.waitForFunction(() => document.getElementById("report").dataset.report);
found.report = JSON.parse(await tab.locator("#report").getAttribute("data-report"));
found.said = await text(tab, "report");

await tab.setInputFiles("#image", torn);
await tab.waitForFunction(() => document.getElementById("message").classList.contains("failed"));
found.torn = await text(tab, "message");
await tab.click("#reset");
await tab.waitForFunction(() => !document.getElementById("message").classList.contains("failed"));
const before = await seconds(tab);
await tab.waitForFunction((before) => parseFloat(document.getElementById("time").textContent) !== before, before);

await tab.click("#pause");
await tab.waitForFunction(() => document.getElementById("pause").textContent === "Continue");
await tab.click("#bootsel");
await tab.waitForFunction(() => document.getElementById("message").textContent.includes("BOOTSEL"));

if (image) {
  await tab.setInputFiles("#image", image);
  await printed(tab, ">>>");
  await tab.click("#console");
  await tab.keyboard.type("6 * 7\r");
  await printed(tab, "42");
  found.prompt = true;
}
await tab.context().close();

for (const width of [360, 1440]) {
  for (const colorScheme of ["light", "dark"]) {
    const looked = await open({ viewport: { width, height: 900 }, colorScheme, bypassCSP: true }, {});
    await looked.evaluate(() => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
    const overflow_px = await looked.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    await looked.evaluate(axe);
    const { violations } = await looked.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    found.looks.push({
      width,
      colorScheme,
      overflow_px,
      background: await looked.evaluate(() => getComputedStyle(document.body).backgroundColor),
      violations: violations.map(({ id, help, nodes }) => ({ id, help, nodes: nodes.map((node) => node.html) })),
    });
    await looked.context().close();
  }
}
await browser.close();
console.log(JSON.stringify(found));
