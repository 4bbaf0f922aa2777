// Measures rows: portbench's own Python, by Pyodide, with the engine's module in place of the native engine. It is a
// worker of its own, loaded at the first measurement, so that a run holds up neither the page nor its board.
import { loadPyodide, type PyodideAPI } from "pyodide";
import { load as loadEngine } from "./engine.js";
import type { FromBench, ToBench } from "./messages.js";

interface Exports {
  memory: WebAssembly.Memory;
  input(bytes: number): number;
  output(): number;
  reply(bytes: number): number;
  call(textBytes: number): bigint;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const say = (message: FromBench) => postMessage(message);

/** By the names of runner/stages.py. */
const DOES: Record<string, string> = { image: "reading the image", open: "powering up", flash: "writing the flash", console: "booting", identify: "asking for the version", deploy: "sending the client", ready: "bringing the network up", run: "measuring, once more for where the time goes" };
const TOLD_MS = 500;
let toldMs = 0;

/** `answer`: the engine's to a call of `run`, of which there are many. */
function tellTime(answer: string): void {
  if (performance.now() < toldMs + TOLD_MS) return;
  toldMs = performance.now();
  const { is } = JSON.parse(answer) as { is?: [string, number] };
  if (is) say({ is: "ran", timeUs: is[1] / 1e6 });
}

let engine: Exports;
let python: PyodideAPI;
let heard: (app: number, text: string, data: Uint8Array) => { toJs(): [string, Uint8Array]; destroy(): void };

const bytesAt = (at: number, length: number) => new Uint8Array(engine.memory.buffer.slice(at, at + length));

/** The engine asks an application of the simulated PC; see ../src/app.rs. */
function hear(app: number, told: number, toldBytes: number, dataBytes: number): void {
  const text = decoder.decode(bytesAt(told, toldBytes));
  const answer = heard(app, text, bytesAt(told + toldBytes, dataBytes));
  const [rest, data] = answer.toJs();
  answer.destroy();
  const head = encoder.encode(rest);
  const at = engine.reply(head.length + 1 + data.length);
  const memory = new Uint8Array(engine.memory.buffer, at, head.length + 1 + data.length);
  memory.set(head);
  memory.set(data, head.length + 1);
}

/** The lengths of the answer's text and of all of it; 0: the engine got no text, and did nothing. */
function send(text: string, data: Uint8Array): bigint {
  const head = encoder.encode(text);
  const at = engine.input(head.length + data.length);
  const memory = new Uint8Array(engine.memory.buffer, at, head.length + data.length);
  memory.set(head);
  memory.set(data, head.length);
  return engine.call(head.length);
}

function call(text: string, data: Uint8Array): [string, Uint8Array] {
  // In Firefox a call came without its text once, on a busy machine. The reason is not known.
  const lengths = send(text, data) || send(text, data);
  if (!lengths) throw new Error(`a call of ${text.length} characters did not reach the engine`);
  const [textBytes, allBytes] = [Number(lengths >> 32n), Number(lengths & 0xffff_ffffn)];
  const all = bytesAt(engine.output(), allBytes);
  const answer = decoder.decode(all.subarray(0, textBytes));
  if (text.startsWith('["run"')) tellTime(answer);
  return [answer, all.subarray(textBytes)];
}

async function load(address: string): Promise<Uint8Array> {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address}: the server answers ${answer.status}`);
  return new Uint8Array(await answer.arrayBuffer());
}

async function start(): Promise<void> {
  const exports = loadEngine(fetch("engine.wasm"), hear);
  say({ is: "stage", what: "loading Python, 10 MB" });
  python = await loadPyodide({ indexURL: new URL("python/", location.href).href });
  engine = (await exports) as unknown as Exports;
  python.unpackArchive(await load("python/portbench.zip"), "zip", { extractDir: "/portbench" });
  python.FS.mkdirTree("/roms");
  for (const mcu of ["RP2040", "RP2350"]) {
    const rom = await load(`${mcu}.rom`);
    python.FS.writeFile(`/roms/${mcu}.rom`, rom);
    python.FS.writeFile(`/roms/${mcu}.own`, rom);
  }
  python.registerJsModule("page_engine", { call });
  python.registerJsModule("page_worker", { doing: (label: string, stage: string) => say({ is: "stage", what: `${label}: ${DOES[stage] ?? stage}` }) });
  say({ is: "stage", what: "starting portbench" });
  python.runPython("import sys; sys.dont_write_bytecode = True; sys.path.insert(0, '/portbench'); import page_run, portbench_engine._native");
  heard = python.pyimport("portbench_engine._native").hear;
}

/** Vega draws as the published page's own tool does. */
async function draw(specifications: string[]): Promise<Record<string, string>> {
  if (!specifications.length) return {};
  const { compile, logger, parse, View, expressionInterpreter } = await import("./vega.js");
  const quiet = logger(0); // as the published page's tool, which tells of no warning
  const drawn: Record<string, string> = {};
  for (const text of specifications) {
    const { spec } = compile(JSON.parse(text), { logger: quiet });
    const view = new View(parse(spec, undefined, { ast: true }), { renderer: "none", expr: expressionInterpreter, logger: quiet });
    drawn[text] = await view.toSVG();
    view.finalize();
  }
  return drawn;
}

onmessage = async ({ data: { images, asked } }: MessageEvent<ToBench>) => {
  try {
    await start();
    const page = python.pyimport("page_run");
    const { run, wanted } = JSON.parse(page.measure(images, JSON.stringify(asked))) as { run: string; wanted: string[] };
    say({ is: "measured", run });
    const drawn = await draw(wanted).catch((error: unknown) => {
      throw new Error(`The drawings failed: ${error}`);
    });
    say({ is: "drawn", html: page.html(JSON.stringify(drawn)) as string });
  } catch (error) {
    const lines = (error instanceof Error ? error.message : String(error)).trim().split("\n");
    say({ is: "failed", why: (lines.at(-1) ?? "").replace(/^[\w.]+(Error|Exceeded|Unavailable|Setup): /, "") });
  }
};
