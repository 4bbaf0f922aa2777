// Uses the playground in a headless browser as people would, and prints as JSON what it found there.
//   node playground.mjs BROWSER ADDRESS sight TORN.uf2 FAR.uf2 HOSTILE.uf2 SPINS.uf2 SCRIPT.py    what it does at first sight
//   node playground.mjs BROWSER ADDRESS looks [FOLDER]             how it looks, by axe; pictures go to FOLDER
//   node playground.mjs BROWSER ADDRESS hosted                     its menu and its links, as GitHub Pages serves it
//   node playground.mjs BROWSER ADDRESS prompt IMAGE.uf2           MicroPython's prompt, and a file through it
//   node playground.mjs BROWSER ADDRESS drive IMAGE.uf2            CircuitPython's drive
//   node playground.mjs BROWSER ADDRESS measure PROFILE FIRST.uf2|- [SECOND.uf2]
//   node playground.mjs BROWSER ADDRESS figures IMAGE.uf2          speed with MicroPython, memory, load
// BROWSER is the path of Chromium or Firefox. Tasks may follow one another, with `+` between them.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { chromium, firefox } from "playwright-core";

const [executablePath, address, ...tasks] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const isFirefox = executablePath.includes("firefox");
const browser = isFirefox
  ? await firefox.launch({ executablePath, channel: "moz-firefox" }) // Debian's, by WebDriver BiDi
  : await chromium.launch({ executablePath, args: ["--disable-gpu", "--disable-dev-shm-usage", "--enable-blink-features=ForceEagerMeasureMemory"] });
const CLIENT = new URL("../../workloads/ping_pong/native.uf2", import.meta.url);
const LIMIT_MS = 230_000;
const [FAR, FAR_SCRIPT, ...OFFERED] = ["far.uf2", "far.py", "good.uf2", "wrong.uf2", "closed.uf2"].map((name) => `https://firmware.test/${name}`);

/** Another host, with an image. It does not let this page read its closed file. */
const answer = (image) => (route) => {
  const url = route.request().url();
  const headers = { "Access-Control-Allow-Origin": url.includes("closed") ? "https://elsewhere.test" : "*" };
  return route.fulfill({ body: url.endsWith(".py") ? "print('far')\n" : readFileSync(image), headers });
};

async function open(options, found, query = "", image = CLIENT) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(LIMIT_MS);
  const tab = await context.newPage();
  if (!found) {
    await tab.addInitScript({ content: axe });
  } else {
    tab.on("console", (message) => found.console.push(message.text()));
    tab.on("pageerror", (error) => found.console.push(String(error)));
    tab.on("request", (request) => found.requests.push(request.url()));
  }
  if (query.includes(FAR)) await tab.route("https://firmware.test/*", answer(image));
  await tab.goto(address + query, { waitUntil: "load" });
  await tab.waitForFunction(() => document.getElementById("message").textContent.includes(" runs "));
  return tab;
}

const text = (tab, id) => tab.locator(`#${id}`).textContent();
const says = (tab, id, wanted) =>
  tab.waitForFunction(([id, wanted]) => document.getElementById(id).textContent.includes(wanted), [id, wanted]);
const printed = (tab, wanted) =>
  tab.waitForFunction((wanted) => document.querySelector(".xterm-rows").textContent.includes(wanted), wanted);
/** What the console shows, without empty lines. */
const shown = (tab) => tab.evaluate(() => [...document.querySelectorAll(".xterm-rows > div")].map((row) => row.textContent.trim()).filter(Boolean));
const seconds = async (tab) => parseFloat(await text(tab, "time"));
const later = (tab, than) =>
  tab.waitForFunction((than) => parseFloat(document.getElementById("time").textContent) > than, than);
const reports = (tab) => tab.waitForFunction(() => document.getElementById("report").dataset.report);
/** The page's complaint about a file. */
async function refused(tab, file) {
  await tab.setInputFiles("#image", file);
  await tab.waitForFunction(() => document.getElementById("message").classList.contains("failed"));
  const said = await text(tab, "message");
  await tab.click("#reset");
  await tab.waitForFunction(() => !document.getElementById("message").classList.contains("failed"));
  await later(tab, 0);
  return said;
}
/** Counts how often the page changes its time in three seconds or more; returns that and the seconds. */
const updates = (tab) =>
  tab.evaluate(
    () =>
      new Promise((found) => {
        const from = performance.now();
        let count = 0;
        new MutationObserver((_, observer) => {
          count += 1;
          const passed = (performance.now() - from) / 1000;
          if (passed < 3) return;
          observer.disconnect();
          found([count, passed]);
        }).observe(document.getElementById("time"), { childList: true });
      }),
  );
/** Sum of the layout shifts since the page was opened; Chromium alone tells of them. */
const shifts = (tab) =>
  tab.evaluate(
    () =>
      new Promise((found) => {
        let sum = 0;
        new PerformanceObserver((list) => list.getEntries().forEach((each) => (sum += each.value))).observe({ type: "layout-shift", buffered: true });
        setTimeout(() => found(sum), 100);
      }),
  );

/** Memory of the scripts of the tab and its workers in MB, without WebAssembly's; Chromium alone tells of it, where the
 * server isolates the page. */
const scriptsMb = async (tab) => (isFirefox ? undefined : (await tab.evaluate(() => performance.measureUserAgentSpecificMemory())).bytes / 1e6);
/** The browser's processes; Chromium alone tells of them. */
async function processes() {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  return processInfo;
}
const renderers = async () => (await processes()).filter(({ type }) => type === "renderer").map(({ id }) => `/proc/${id}`);
/** Seconds of processor time that all of the browser's processes have taken. */
const processorS = async () => (await processes()).reduce((sum, each) => sum + each.cpuTime, 0);
/** Memory of the largest tab with its workers in MB: Linux's proportional set size, shared libraries included, and what
 * Playwright has the tab keep of all that it loads. */
const tabMb = async () => Math.max(...(await renderers()).map((each) => (1024 * Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`${each}/smaps_rollup`, "utf8"))[1])) / 1e6));
/** Seconds of processor time that the tabs' workers have taken, by Linux. */
async function workersS() {
  const threads = (await renderers()).flatMap((each) => readdirSync(`${each}/task`).map((id) => `${each}/task/${id}/stat`));
  const stats = threads.map((each) => readFileSync(each, "utf8")).filter((stat) => stat.includes("(DedicatedWorker"));
  return stats.reduce((sum, stat) => sum + stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 13).reduce((a, b) => a + Number(b), 0) / 100, 0);
}

const found = { console: [], requests: [], looks: [], far: [FAR, FAR_SCRIPT, ...OFFERED] };
const wide = { viewport: { width: 1440, height: 900 } };

async function sight(torn, far, hostile, spins, script) {
  const tab = await open(wide, found);
  await reports(tab);
  found.report = JSON.parse(await tab.locator("#report").getAttribute("data-report"));
  found.said = await text(tab, "report");
  found.memory_mb = parseFloat(await text(tab, "memory"));
  if (!isFirefox) found.shifts = await shifts(tab);
  found.updates = await updates(tab);

  found.refused = [await refused(tab, torn), await refused(tab, far)];
  await tab.setInputFiles("#image", hostile);
  await says(tab, "message", "stopped");
  found.hostile = await text(tab, "message");
  await tab.setInputFiles("#image", spins);
  await says(tab, "message", "runs spins.uf2");
  await later(tab, 0.2);
  await tab.setInputFiles("#image", script);
  await says(tab, "message", "under Files");
  found.spun = await tab.inputValue("#text");

  await tab.click("#tab-console");
  found.cables = [];
  for (const [board, title] of [["W5100S_EVB_PICO", "W5100S"], ["RPI_PICO", "Raspberry Pi Pico runs"], ["W5500_EVB_PICO", "W5500"]]) {
    await tab.selectOption("#board", board);
    await says(tab, "message", title);
    found.cables.push(await tab.isEnabled("#cable"));
  }
  await tab.context().close();

  const linked = await open(wide, found, `?board=W5500_EVB_PICO&workload=ping_pong&profile=tuned&seed=1&setting=messages%3D500&image=${FAR}&script=${FAR_SCRIPT}`);
  await reports(linked);
  found.linked_script = [await linked.inputValue("#path"), await linked.inputValue("#text")];
  found.linked_report = JSON.parse(await linked.locator("#report").getAttribute("data-report"));
  const fields = ["#profile", "#seed", "#setting-messages"];
  found.link = [...(await Promise.all(fields.map((field) => linked.inputValue(field)))), await linked.getAttribute("#link", "href")];
  await linked.context().close();
  await handle();
}

/** Pause, step, the views of the traffic, BOOTSEL; and the page without a network. */
async function handle() {
  const tab = await open(wide, found);
  await tab.click("#pause");
  await tab.waitForSelector("#step:enabled");
  const paused = await seconds(tab);
  await tab.click("#step");
  await later(tab, paused);
  found.stepped_s = (await seconds(tab)) - paused;

  await tab.focus("#tab-console");
  await tab.keyboard.press("Tab");
  await tab.keyboard.press("Shift+Tab");
  found.left_to = await tab.evaluate(() => document.activeElement.id);
  await tab.click("#reset");
  await reports(tab);
  await tab.focus("#tab-console");
  await tab.keyboard.press("ArrowRight");
  await tab.keyboard.press("ArrowRight");
  await says(tab, "cable-frames", "TCP"); // of before this view was opened
  await says(tab, "spi-frames", "S0_");
  found.protocols = await tab.evaluate(() => [...document.querySelectorAll("#cable-frames td:nth-child(4)")].map((cell) => cell.textContent.split(/[ ,]/)[0]));
  found.recorded = await text(tab, "network-left");
  found.rows_after_clear = await tab.evaluate(() => {
    document.getElementById("network-clear").click();
    return document.querySelectorAll("#cable-frames tr, #spi-frames tr").length;
  });
  await tab.keyboard.press("Tab");
  await tab.click("#tab-pins");
  await says(tab, "analyser-says", "SPI");
  await tab.selectOption("#window", "10");
  const ran = await seconds(tab);
  await tab.click("#reset");
  await tab.waitForFunction((ran) => parseFloat(document.getElementById("time").textContent) < ran, ran); // the picture is empty
  await tab.waitForFunction(() => / [1-9]\d* bytes on the SPI wires/.test(document.getElementById("analyser-says").textContent));
  await tab.click("#hold");
  found.wires = await text(tab, "analyser-says");
  await tab.click("#hold");
  await tab.click("#tab-drive");
  await says(tab, "files", "INFO_UF2.TXT"); // the client ends in its boot loader
  found.ended_says = await text(tab, "drive-says");
  await tab.click("#save");
  await says(tab, "message", "main.py: ");
  found.script_refused = await text(tab, "message");
  await tab.selectOption("#speed", "0.01"); // or the client would soon end again
  await tab.click("#reset");
  await says(tab, "files", "no drive");
  found.restarted_says = await text(tab, "drive-says");
  await tab.selectOption("#speed", "0");
  await tab.click("#bootsel");
  await says(tab, "message", "BOOTSEL");
  await tab.click("#tab-drive");
  await says(tab, "files", "INFO_UF2.TXT");
  await tab.setInputFiles("#image", fileURLToPath(CLIENT));
  await says(tab, "message", "boot loader has taken native.uf2");
  await reports(tab);
  found.copied_report = JSON.parse(await tab.locator("#report").getAttribute("data-report"));
  await says(tab, "drive-says", "boot loader");
  await tab.setInputFiles("#image", []); // or the same file would be no change
  await tab.setInputFiles("#image", fileURLToPath(CLIENT));
  await says(tab, "message", "runs native.uf2"); // in place of the old one: nobody pressed BOOTSEL
  if (!isFirefox) {
    // WebDriver BiDi cannot take Firefox off the network.
    await tab.waitForFunction(() => navigator.serviceWorker.controller !== null);
    const said = found.console.length;
    await tab.context().setOffline(true);
    await tab.reload({ waitUntil: "load" });
    await reports(tab);
    found.offline = true;
    found.console.length = said; // the browser tells of each request that failed
  }
  await tab.context().close();
}

/** The page without a service worker and with a menu of the other host. */
async function hosted() {
  const context = await browser.newContext(wide);
  context.setDefaultTimeout(LIMIT_MS);
  const tab = await context.newPage();
  await tab.addInitScript(() => delete Navigator.prototype.serviceWorker); // it would answer for the catalogue
  tab.on("console", (message) => found.console.push(message.text()));
  tab.on("request", (request) => found.requests.push(request.url()));
  await tab.route("https://firmware.test/*", answer(CLIENT));
  await tab.route("**/catalogue.json", async (route) => {
    const catalogue = await (await route.fetch()).json();
    const sha256 = (url) => (url.includes("wrong") ? "0".repeat(64) : createHash("sha256").update(readFileSync(CLIENT)).digest("hex"));
    catalogue.firmware = OFFERED.map((url) => ({ id: url.replace(/.*\/|\.uf2/g, "") + "-1", board: "RPI_PICO", url, sha256: sha256(url), publisher: "by Tester" }));
    await route.fulfill({ json: catalogue });
  });
  const page = address.replace("/isolated/", "/portbench/try/");
  await tab.goto(`${page}?board=NO_SUCH`);
  await says(tab, "message", "NO_SUCH");
  found.unknown_board = await text(tab, "message");
  await tab.selectOption("#board", "RPI_PICO");
  await says(tab, "message", " runs ");
  found.menu = await tab.locator("#firmware option").allTextContents();
  found.chosen = [];
  for (const id of ["good-1", "wrong-1"]) {
    await tab.selectOption("#firmware", id);
    await says(tab, "message", id === "good-1" ? "runs good.uf2" : "is not booted");
    found.chosen.push(await text(tab, "message"));
  }
  const said = found.console.length;
  await tab.selectOption("#firmware", "closed-1");
  await says(tab, "message", "cannot fetch");
  found.chosen.push([await text(tab, "message"), await tab.getAttribute("#message a", "href")]);
  found.console.length = said; // the browser tells of what it refuses
  found.kept = [await tab.inputValue("#firmware"), (await tab.getAttribute("#link", "href")).includes("image=good-1")];
  await tab.goto(`${page}?image=good-1&script=${FAR_SCRIPT}&run=1`);
  await says(tab, "message", "runs good.uf2");
  found.lesson = await Promise.all(["#board", "#firmware", "#text"].map((field) => tab.inputValue(field)));
  found.lesson.push(await tab.getAttribute('[aria-selected="true"]', "aria-controls"));
  await context.close();
}

async function looks(folder) {
  for (const width of folder ? [360, 768, 1440] : [360, 1440]) {
    // Firefox's colours cannot be set by WebDriver BiDi.
    for (const colorScheme of isFirefox ? ["light"] : ["light", "dark"]) {
      const looked = await open({ viewport: { width, height: 900 }, ...(isFirefox ? {} : { colorScheme }) }, undefined);
      if (folder) await reports(looked);
      await looked.click("#pause");
      for (const view of ["console", "drive", "network", "pins", "measure"]) {
        await looked.click(`#tab-${view}`);
        const overflow_px = await looked.evaluate(() => Math.max(0, document.documentElement.scrollWidth - window.innerWidth));
        const { violations } = await looked.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
        if (folder) await looked.screenshot({ path: `${folder}/${width}-${colorScheme}-${view}.png`, fullPage: true });
        found.looks.push({
          width,
          colorScheme,
          view,
          overflow_px,
          order: await looked.evaluate(() => ["message", "tabs", `view-${document.querySelector('[aria-selected="true"]').id.slice(4)}`, "board"].map((id) => document.getElementById(id).getBoundingClientRect().y)),
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
  await later(tab, (await seconds(tab)) + 2);
  found.idle_mips = await tab.evaluate(() => parseFloat(document.getElementById("speed-now").textContent) / parseFloat(document.getElementById("pace").textContent));
  await tab.click("#console");
  await tab.keyboard.type("6 * 7\r");
  await printed(tab, "42");
  await tab.click("#tab-drive");
  await tab.fill("#path", "main.py");
  await tab.fill("#text", "print('saved', 6 * 8)\n".repeat(20));
  await tab.click("#save");
  await tab.click("#tab-console");
  await says(tab, "message", "main.py is on the board.");
  found.prompt_after = await shown(tab);
  await tab.click("#tab-drive");
  await tab.click("#run");
  await printed(tab, "saved 48");
  found.prompt_run = await shown(tab);
  // A guest that spins does not hold up the page.
  await tab.click("#console");
  await tab.keyboard.type("while True: pass\r\r");
  await later(tab, (await seconds(tab)) + 0.2);
  await tab.keyboard.press("Control+c");
  await printed(tab, "KeyboardInterrupt");
  await tab.context().close();
  const linked = await open(wide, found, `?image=${FAR}&script=${FAR_SCRIPT}&run=1`, image);
  await says(linked, "message", "main.py is on the board");
  await linked.waitForFunction(() => document.querySelector(".xterm-rows").textContent.includes("far"));
  found.lesson = await shown(linked);
  await linked.context().close();
}

async function drive(image) {
  const tab = await open(wide, found);
  await tab.setInputFiles("#image", image);
  await printed(tab, "Press any key to enter the REPL");
  await tab.click("#tab-drive");
  await says(tab, "files", "code.py");
  await tab.fill("#path", "code.py");
  await tab.fill("#text", "print('saved', 6 * 8)\n");
  await tab.click("#save");
  await tab.click("#tab-console");
  await printed(tab, "saved 48");
  found.drive = true;
  await tab.context().close();
}

/** Measures; returns the run file's text. Firefox may not have pressed the button yet when Playwright goes on. */
async function run(tab) {
  await tab.evaluate(() => delete document.getElementById("result").dataset.run);
  await tab.click("#measure");
  await tab.waitForFunction(() => {
    const [result, stage, button] = ["result", "stage", "measure"].map((id) => document.getElementById(id));
    return (result.dataset.run || stage.classList.contains("failed")) && !button.disabled;
  });
  return tab.locator("#result").getAttribute("data-run");
}

async function measure(profile, image, other) {
  const tab = await open(wide, found);
  await tab.click("#pause");
  if (image !== "-") {
    await tab.setInputFiles("#image", image);
    await says(tab, "message", image.split("/").at(-1));
    await tab.click("#pause");
  }
  await tab.click("#tab-measure");
  await tab.selectOption("#profile", profile);
  if (other) await tab.setInputFiles("#other", other);
  await tab.evaluate(() => {
    window.stages = [];
    const places = ["stage", "progress"].map((id) => document.getElementById(id));
    for (const place of places) new MutationObserver(() => window.stages.push(place.textContent)).observe(place, { childList: true });
  });
  found.run = await run(tab);
  found.stages = await tab.evaluate(() => [...new Set(window.stages)]);
  found.stage = await text(tab, "stage");
  found.shown = await tab.evaluate(() => document.getElementById("result").shadowRoot?.textContent ?? "");
  found.scripts_mb = await scriptsMb(tab);
  if (!isFirefox) found.tab_mb = await tabMb();
  found.drawings = await tab.evaluate(() => document.getElementById("result").shadowRoot?.querySelectorAll("svg path").length ?? 0);
  await tab.focus("#setting-messages"); // Playwright's fill does not empty Firefox's field of a number
  await tab.keyboard.press("Control+a");
  await tab.keyboard.type("20");
  found.short_run = JSON.parse(await run(tab));
  await tab.context().close();
}

/** Of the host, so no test asks for them: docs/evidence/playground.md has them. */
async function figures(image) {
  if (!isFirefox) {
    const blank = await (await browser.newContext()).newPage();
    found.blank_mb = await tabMb();
    await blank.context().close();
  }
  const began = performance.now();
  const tab = await open(wide, found);
  found.boots_ms = performance.now() - began;
  found.load = await tab.evaluate(() => {
    const [page] = performance.getEntriesByType("navigation");
    return { interactive_ms: page.domInteractive, loaded_ms: page.loadEventEnd, bytes: performance.getEntriesByType("resource").reduce((sum, each) => sum + each.encodedBodySize, 0) };
  });
  await reports(tab);
  if (!isFirefox) found.client_s = await workersS();
  await tab.setInputFiles("#image", image);
  await printed(tab, ">>>");
  if (!isFirefox) {
    const [before, from] = [await processorS(), performance.now()];
    await tab.waitForTimeout(35_000); // the service worker, which is in the tab's process, has ended after 30 s
    found.idle_share = ((await processorS()) - before) / ((performance.now() - from) / 1000);
    found.prompt_mb = await tabMb();
  }
  await tab.click("#console");
  await tab.keyboard.type("for i in range(100000000): pass\r\r"); // as tests/speed/loop.py
  await tab.waitForTimeout(2000);
  found.paces = [];
  const [worked, ran] = isFirefox ? [] : [await workersS(), await seconds(tab)];
  for (let times = 0; times < 10; times += 1) {
    await tab.waitForTimeout(1000);
    found.paces.push([parseFloat(await text(tab, "pace")), parseFloat(await text(tab, "speed-now"))]);
  }
  // On a busy PC the worker waits for a core, so its pace is also given by the processor time that it took.
  if (!isFirefox) [found.pace_of_processor, found.tab_mb] = [((await seconds(tab)) - ran) / ((await workersS()) - worked), await tabMb()];
  found.memory_mb = parseFloat(await text(tab, "memory"));
  found.scripts_mb = await scriptsMb(tab);
  await tab.keyboard.press("Control+c");
  await tab.context().close();
}

const doings = { sight, looks, hosted, prompt, drive, measure, figures };
try {
  for (const task of tasks.join("\n").split("\n+\n")) {
    const [name, ...given] = task.split("\n");
    await doings[name](...given);
  }
} finally {
  await browser.close();
}
console.log(JSON.stringify(found));
