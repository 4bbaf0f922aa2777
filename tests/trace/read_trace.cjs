// Reads a Trace Event file with the model that Chrome's DevTools have of it, and prints what is on each track.
// Arguments: the folder with node_modules, the file.
const { readFileSync } = require("node:fs");
const { createRequire } = require("node:module");
const { join } = require("node:path");

const complain = { error: console.error, warn: console.warn };
for (const [how, say] of Object.entries(complain)) {
  // No page of a browser was traced, which is no fault of the file.
  console[how] = (...words) => words[0] === "TracingStartedInPage event not found." || say(...words);
}

const [folder, file] = process.argv.slice(2);
const Model = createRequire(join(folder, "any.js"))("devtools-timeline-model");
const { traceEvents } = JSON.parse(readFileSync(file, "utf8"));
// It looks for the browser whose trace it takes this for.
const browser = { ph: "M", cat: "__metadata", ts: 0, pid: 1 << 20, tid: 1 };
traceEvents.push({ ...browser, name: "process_name", args: { name: "Browser" } });
traceEvents.push({ ...browser, name: "thread_name", args: { name: "CrBrowserMain" } });
const model = new Model(traceEvents).tracingModel();
const tracks = model.sortedProcesses().flatMap((each) =>
  each.sortedThreads().map((thread) => ({
    process: each.name(),
    track: thread.name(),
    slices: thread.events().filter((event) => event.phase === "X").map((event) => [event.startTime, event.duration, event.name]),
  })),
);
console.log(JSON.stringify(tracks));
