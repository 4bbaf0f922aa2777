// Unit tests of the playground's modules, in Node without a browser: node --test modules.mjs
import assert from "node:assert/strict";
import test from "node:test";
import { load as loadModule } from "./load.mjs";

const STUB = {
  name: "board",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\/board\.js$/ }, () => ({ path: "board", namespace: "stub" }));
    onLoad({ filter: /.*/, namespace: "stub" }, () => ({ contents: "export const Board = { load: () => globalThis.board };" }));
  },
};
/** A module of the page. Its board, where it has one, is `globalThis.board`. */
const load = (name) => loadModule(name, [STUB]);

test("SPI's clock and data have the mode's polarity and phase", async () => {
  const { clock, data } = await load("wave");
  const byte = (polarity, phase) => [[0, 3, 0, 2, 0b10, 0b01, polarity, phase]];
  assert.deepEqual(clock(byte(false, false)), [[0, true], [1, false], [2, true], [3, false]]);
  assert.deepEqual(clock(byte(true, false)), [[0, false], [1, true], [2, false], [3, true]]);
  assert.deepEqual(data(byte(false, false), 4), [[-1, true], [1, false]]);
  assert.deepEqual(data(byte(false, true), 5), [[0, false], [2, true]]);
});

test("TCP's options are no data, and a frame that is lost is shown as such", async () => {
  const { decode } = await load("network");
  const ip = [0x45, 0, 0, 46, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
  const tcp = [0, 80, 19, 136, 0, 0, 0, 0, 0, 0, 0, 0, 0x60, 0x18, 0, 0, 0, 0, 0, 0, 2, 4, 5, 180];
  const frame = [...Array(12).fill(0), 8, 0, ...ip, ...tcp, 104, 105];
  assert.deepEqual(decode(frame, "Delivered"), { from: "10.0.0.1:80", to: "10.0.0.2:5000", what: "TCP PSH ACK, 2 bytes: hi" });
  assert.equal(decode(frame, "Lost").what, "TCP PSH ACK, 2 bytes: hi (lost)");
});

test("a picture that is held takes nothing, keeps its time, and has the colours of now", async () => {
  const { Analyser } = await load("analyser");
  const used = new Set();
  globalThis.getComputedStyle = () => ({ getPropertyValue: (name) => (used.add(name), name) });
  globalThis.devicePixelRatio = 1;
  const pen = new Proxy({}, { get: () => () => ({ width: 10 }), set: () => true });
  const analyser = new Analyser({ clientWidth: 800, style: {}, getContext: () => pen });
  const frame = (at) => ({ spi: [], spiLeftOut: 0, frames: [[at, at + 1, true, "Delivered", []]], pins: [], wire: [] });
  analyser.take(frame(10));
  assert.match(analyser.draw(100), / 1 frames /);
  analyser.held = true;
  analyser.take(frame(20));
  used.clear();
  assert.match(analyser.draw(1e9), / 1 frames /);
  assert.ok(used.has("--ink"));
});

test("the worker ends with its board, steps as far as it is told, and types all", async () => {
  const said = [];
  let again;
  Object.assign(globalThis, { onmessage: null, postMessage: (message) => said.push(message) });
  globalThis.MessageChannel = class {
    port1 = {};
    port2 = { postMessage: () => (again = this.port1.onmessage) };
  };
  const board = (globalThis.board = {
    timeUs: 0, instructions: 0, pins: { levels: 0, driven: 0 }, frames: 0, drive: "none", memoryBytes: 0,
    typed: "", why: "",
    powerUp() {},
    watch() {},
    report: () => "",
    observed: () => undefined,
    printed: () => new Uint8Array(),
    type(text) {
      this.typed += new TextDecoder().decode(text.subarray(0, 3));
      return Math.min(3, text.length);
    },
    run(us) {
      [this.timeUs, this.instructions] = [this.timeUs + Math.min(us, 300), this.instructions + 50_000];
      return this.why;
    },
  });
  const goOn = () => {
    const next = again;
    again = undefined;
    next?.();
  };
  await load("worker");
  const order = (data) => globalThis.onmessage({ data });
  order({ do: "power", kind: 0, rom: new Uint8Array(), uf2: new Uint8Array(), bootsel: false });
  order({ do: "type", text: new TextEncoder().encode("typed text") });
  goOn();
  assert.equal(board.typed, "typed text");
  order({ do: "pause", paused: true });
  const pausedUs = board.timeUs;
  order({ do: "step", us: 1000 });
  assert.equal(board.timeUs, pausedUs + 1000);
  board.why = "a fault";
  order({ do: "pause", paused: false });
  for (let times = 0; times < 5; times++) goOn();
  assert.deepEqual(said.filter(({ is }) => is === "stopped"), [{ is: "stopped", why: "a fault" }]);
});

test("a file goes to the board through the raw prompt, and its failure is told", async () => {
  const { Saving } = await load("prompt");
  const bytes = (text) => new TextEncoder().encode(text);
  const answers = (...errors) => `\r\n>>> \r\nraw REPL; CTRL-B to exit\r\n>${errors.map((error) => `OK\x04${error}\x04>`).join("")}\r\nMicroPython\r\n`;
  const saving = new Saving("main.py", bytes("print('ä')\n".repeat(20)), 0);
  const typed = [...saving.typed()].map((piece) => new TextDecoder().decode(piece));
  assert.deepEqual([typed[0], typed.at(-1), typed.length], ["\r\x03\x03\x01", "\x02", 6]);
  assert.equal(typed.filter((piece) => piece.endsWith("\x04")).length, 4);
  assert.equal(saving.hear(bytes(answers("", "", "", "")), 1), undefined);
  assert.equal(saving.hear(bytes(">>> "), 2), "");
  const refused = new Saving("no/such", bytes(""), 0);
  assert.equal(refused.hear(bytes(answers("Traceback:\r\nOSError: [Errno 2] ENOENT\r\n", "NameError") + ">>> "), 1), "OSError: [Errno 2] ENOENT");
  const silent = new Saving("main.py", bytes(""), 0);
  assert.equal(silent.hear(bytes(""), 10e6), undefined);
  assert.match(silent.hear(bytes(""), 10e6 + 1), /does not answer/);
});
