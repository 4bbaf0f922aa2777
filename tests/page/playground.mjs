// Uses the playground in headless Chromium as people would, and prints as JSON what it found there.
//   node playground.mjs CHROMIUM ADDRESS TORN.uf2            what it does at first sight, and how it looks
//   node playground.mjs CHROMIUM ADDRESS prompt IMAGE.uf2    MicroPython's prompt, and a file through it
//   node playground.mjs CHROMIUM ADDRESS drive IMAGE.uf2     CircuitPython's drive
//   node playground.mjs CHROMIUM ADDRESS measure PROFILE [IMAGE.uf2]
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const [executablePath, address, task, ...given] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({ executablePath, args: ["--disable-gpu", "--disable-dev-shm-usage"] });
const LIMIT_MS = 230_000;

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
const wide = { viewport: { width: 1440, height: 900 } };

async function atFirstSight(torn) {
  const tab = await open(wide, found);
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
  const paused = await seconds(tab);
  await tab.click("#step");
  await tab.waitForFunction((paused) => parseFloat(document.getElementById("time").textContent) > paused, paused);
  found.stepped_s = (await seconds(tab)) - paused;

  await tab.focus("#tab-console");
  await tab.keyboard.press("ArrowRight");
  await tab.keyboard.press("ArrowRight");
  await tab.click("#reset");
  await tab.waitForFunction(() => document.getElementById("cable-frames").textContent.includes("TCP"));
  await tab.waitForFunction(() => document.getElementById("spi-frames").textContent.includes("S0_"));
  found.protocols = await tab.evaluate(() => [...document.querySelectorAll("#cable-frames td:nth-child(4)")].map((cell) => cell.textContent.split(/[ ,]/)[0]));
  await tab.keyboard.press("Tab");
  await tab.click("#tab-pins");
  await tab.waitForFunction(() => document.getElementById("analyser-says").textContent.includes("SPI"));
  await tab.click("#bootsel");
  await tab.waitForFunction(() => document.getElementById("message").textContent.includes("BOOTSEL"));
  await tab.waitForFunction(() => navigator.serviceWorker.controller !== null);
  const said = found.console.length;
  await tab.context().setOffline(true);
  await tab.reload({ waitUntil: "load" });
  await tab.waitForFunction(() => document.getElementById("report").dataset.report);
  found.offline = true;
  found.console.length = said; // the browser tells of each request that failed
  await tab.context().close();
}

async function looks() {
  for (const width of [360, 1440]) {
    for (const colorScheme of ["light", "dark"]) {
      const looked = await open({ viewport: { width, height: 900 }, colorScheme, bypassCSP: true }, {});
      await looked.evaluate(axe);
      await looked.click("#pause");
      for (const view of ["console", "drive", "network", "pins", "measure"]) {
        await looked.click(`#tab-${view}`);
        const overflow_px = await looked.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        const { violations } = await looked.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        found.looks.push({
          width,
          colorScheme,
          view,
          overflow_px,
          background: await looked.evaluate(() => getComputedStyle(document.documentElement).backgroundColor),
          violations: violations.map(({ id, help, nodes }) => ({ id, help, nodes: nodes.map((node) => node.html) })),
        });
      }
      await looked.context().close();
    }
  }
}

async function prompt(image) {
  const tab = await open(wide, found);
  await tab.setInputFiles("#image", image);
  await printed(tab, ">>>");
  await tab.click("#console");
  await tab.keyboard.type("6 * 7\r");
  await printed(tab, "42");
  await tab.click("#tab-drive");
  await tab.fill("#path", "main.py");
  await tab.fill("#text", "print('saved', 6 * 8)\n".repeat(20));
  await tab.click("#save");
  await tab.click("#tab-console");
  await printed(tab, "main.py: 440 bytes saved");
  await tab.click("#reset");
  await printed(tab, "saved 48");
  // A guest that spins does not hold up the page.
  await tab.click("#console");
  await tab.keyboard.type("while True: pass\r");
  const before = await seconds(tab);
  await tab.waitForFunction((before) => parseFloat(document.getElementById("time").textContent) > before + 0.2, before);
  await tab.keyboard.press("Control+c");
  await printed(tab, "KeyboardInterrupt");
  found.prompt = true;
}

async function drive(image) {
  const tab = await open(wide, found);
  await tab.setInputFiles("#image", image);
  await printed(tab, "Adafruit CircuitPython");
  await tab.click("#tab-drive");
  await tab.waitForFunction(() => {
    if (document.getElementById("files").textContent.includes("code.py")) return true;
    document.getElementById("list").click();
    return false;
  }, undefined, { polling: 1000 });
  await tab.fill("#path", "code.py");
  await tab.fill("#text", "print('saved', 6 * 8)\n");
  await tab.click("#save");
  await tab.click("#tab-console");
  await printed(tab, "saved 48");
  found.drive = true;
}

async function measure(profile, image) {
  const tab = await open(wide, found);
  await tab.click("#pause");
  if (image) {
    await tab.setInputFiles("#image", image);
    await tab.waitForFunction((name) => document.getElementById("message").textContent.includes(name), image.split("/").at(-1));
    await tab.click("#pause");
  }
  await tab.click("#tab-measure");
  await tab.selectOption("#profile", profile);
  found.link = await tab.locator("#link").getAttribute("href");
  await tab.click("#measure");
  await tab.waitForFunction(() => !document.getElementById("measure").disabled);
  found.stage = await text(tab, "stage");
  found.run = await tab.locator("#result").getAttribute("data-run");
  found.shown = await tab.evaluate(() => document.getElementById("result").shadowRoot?.textContent ?? "");
  found.drawings = await tab.evaluate(() => document.getElementById("result").shadowRoot?.querySelectorAll("svg path").length ?? 0);
}

switch (task) {
  case "prompt":
    await prompt(...given);
    break;
  case "drive":
    await drive(...given);
    break;
  case "measure":
    await measure(...given);
    break;
  default:
    await atFirstSight(task);
    await looks();
}
await browser.close();
console.log(JSON.stringify(found));
