// Opens a page in headless Chromium as people would, and prints as JSON what it found there.
//   node look.mjs CHROMIUM PAGE.html [FOLDER]       FOLDER gets a screenshot of each setting
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [executablePath, page, folder] = process.argv.slice(2);
const address = pathToFileURL(page).href;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({ executablePath, args: ["--disable-gpu", "--disable-dev-shm-usage"] });

async function open(options, watched) {
  const context = await browser.newContext({ offline: true, acceptDownloads: true, ...options });
  const tab = await context.newPage();
  tab.on("console", (message) => watched.console.push(message.text()));
  tab.on("pageerror", (error) => watched.console.push(String(error)));
  tab.on("request", (request) => watched.requests.push(request.url()));
  await tab.goto(address, { waitUntil: "load" });
  return tab;
}

async function look(width, colorScheme) {
  const found = { width, colorScheme, console: [], requests: [] };
  const tab = await open({ viewport: { width, height: 900 }, colorScheme }, found);
  found.background = await tab.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  found.overflow_px = await tab.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  // Drawings are read by their labels: what is cut off at an edge is lost.
  found.cut = await tab.evaluate(() =>
    [...document.querySelectorAll("svg text")].filter((text) => {
      const [inside, whole] = [text.getBoundingClientRect(), text.ownerSVGElement.getBoundingClientRect()];
      return whole.width && (inside.left < whole.left - 1 || inside.right > whole.right + 1);
    }).map((text) => text.textContent)
  );
  found.drawings = await tab.evaluate(
    () => [...document.querySelectorAll("svg")].filter((svg) => svg.getBoundingClientRect().width).length
  );
  // At its size: text in a drawing is as large as it was set.
  found.scaled = await tab.evaluate(() =>
    [...document.querySelectorAll("svg")].map((svg) => [svg.getBoundingClientRect().width, svg.width.baseVal.value])
      .filter(([shown]) => shown).map(([shown, drawn]) => shown / drawn)
  );
  found.table_right = await tab.evaluate(() =>
    Object.fromEntries([...document.querySelector("article > .wide table").tHead.rows[0].cells].map((head) =>
      [head.textContent, head.getBoundingClientRect().right]))
  );
  found.first_drawing_top = await tab.evaluate(
    () => [...document.querySelectorAll("svg")].find((svg) => svg.getBoundingClientRect().width).getBoundingClientRect().top
  );
  if (folder) await tab.screenshot({ path: `${folder}/${width}-${colorScheme}.png`, fullPage: true });
  if (folder) await tab.screenshot({ path: `${folder}/${width}-${colorScheme}-first.png` });
  await tab.evaluate(() => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
  found.overflow_open_px = await tab.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  await tab.evaluate(axe);
  const { violations } = await tab.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  found.violations = violations.map(({ id, help, nodes }) => ({ id, help, nodes: nodes.map((node) => node.html) }));
  await tab.context().close();
  return found;
}

// Chromium starts ten downloads of a page in a second at most, and drops the others without a word.
async function downloaded(tab, link) {
  const name = await link.getAttribute("download");
  const wanted = (download) => [name, name.replace(/\.gz$/, "")].includes(download.suggestedFilename());
  for (let tries = 0; tries < 15; tries += 1) {
    const coming = tab.waitForEvent("download", { predicate: wanted, timeout: 2000 }).catch(() => null);
    await link.click();
    const download = await coming;
    if (download) return download;
  }
  throw new Error(`no download of ${name} in 15 clicks`);
}

async function use() {
  const found = { console: [], requests: [] };
  const tab = await open({ viewport: { width: 1440, height: 900 } }, found);
  await tab.keyboard.press("Tab");
  found.first_focus = await tab.evaluate(() => document.activeElement.textContent);
  const table = tab.locator("article > .wide table").first();
  found.columns = await table.locator("th").allTextContents();
  found.sorted = {};
  for (const [at, column] of found.columns.entries()) {
    if (!["messages/s", "silicon", "round trip us"].includes(column)) continue;
    const head = table.locator("th").nth(at);
    const cells = () => table.locator(`tbody td:nth-child(${at + 1})`).allTextContents();
    found.sorted[column] = [];
    for (const _ of [1, 2]) {
      await head.locator("button").focus();
      await tab.keyboard.press("Enter");
      found.sorted[column].push([await head.getAttribute("aria-sort"), await cells()]);
    }
  }
  found.files = {};
  for (const link of await tab.locator("a[download]").all()) {
    await link.evaluate((element) => element.closest("details")?.setAttribute("open", ""));
    const download = await downloaded(tab, link);
    found.files[download.suggestedFilename()] = readFileSync(await download.path(), "utf8");
  }
  await tab.context().close();
  return found;
}

async function withoutScript() {
  const found = { console: [], requests: [] };
  const tab = await open({ viewport: { width: 1440, height: 900 }, javaScriptEnabled: false }, found);
  found.text = await tab.locator("main").innerText();
  await tab.context().close();
  return found;
}

try {
  const looks = [];
  for (const width of [360, 768, 1440]) for (const scheme of ["light", "dark"]) looks.push(await look(width, scheme));
  console.log(JSON.stringify({ looks, use: await use(), without_script: await withoutScript() }));
} finally {
  await browser.close();
}
