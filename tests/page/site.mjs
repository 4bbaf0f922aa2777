// Opens pages of the documents' site in headless Chromium, and prints as JSON what it found there.
//   node site.mjs CHROMIUM SITE PAGE...       SITE is the site's folder; each page at 360 and 1440 pixels
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join } from "node:path";
import { chromium } from "playwright-core";

const [executablePath, site, ...pages] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const types = { ".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml" };
const server = createServer((request, response) => {
  const path = decodeURI(new URL(request.url, "http://site").pathname).replace(/\/$/, "/index.html");
  response.setHeader("Content-Type", types[extname(path)] ?? "application/octet-stream");
  response.end(readFileSync(join(site, path)));
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const base = `http://127.0.0.1:${server.address().port}/`;
const browser = await chromium.launch({ executablePath, args: ["--disable-gpu", "--disable-dev-shm-usage"] });
const looks = [];
for (const [width, colorScheme] of [[360, "light"], [1440, "dark"]]) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme });
  for (const page of pages) {
    const found = { page, width, elsewhere: [], console: [] };
    const tab = await context.newPage();
    tab.on("console", (message) => found.console.push(message.text()));
    tab.on("request", (request) => {
      if (!request.url().startsWith(base) && !/^(data|blob):/.test(request.url())) found.elsewhere.push(request.url());
    });
    await tab.goto(base + page, { waitUntil: "load" });
    found.overflow_px = await tab.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    await tab.evaluate(axe);
    // The theme gives no names to its nested navigation and to the buttons that copy.
    const options = { resultTypes: ["violations"], rules: { "landmark-unique": { enabled: false } } };
    const { violations } = await tab.evaluate((given) => window.axe.run(document, given), options);
    found.violations = violations.map(({ id, nodes }) => ({ id, nodes: nodes.map((node) => node.html) }));
    looks.push(found);
    await tab.close();
  }
}
await browser.close();
server.close();
console.log(JSON.stringify({ looks }));
