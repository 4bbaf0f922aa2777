// Runs a client without a console in the page's engine, in Node without a browser, and prints as JSON what it reports:
//   node engine.mjs ENGINE.wasm ROM CLIENT.uf2 SETTINGS
// First where modules may be compiled, as in a browser, then where they are refused.
import { readFileSync } from "node:fs";
import { load as loadModule } from "./load.mjs";

const [wasm, rom, client, settings] = process.argv.slice(2);
const { load } = await loadModule("engine");

const { Module } = WebAssembly;
const found = [];
for (const refused of [false, true]) {
  const engine = await load(Promise.resolve(new Response(readFileSync(wasm), { headers: { "Content-Type": "application/wasm" } })));
  let modules = 0;
  WebAssembly.Module = class extends Module {
    constructor(bytes) {
      if (refused) throw new EvalError("refused");
      super(bytes);
      modules += 1;
    }
  };
  const give = (bytes) => {
    const at = engine.input(bytes.length); // the memory may grow
    new Uint8Array(engine.memory.buffer, at, bytes.length).set(bytes);
  };
  const text = (bytes) => Buffer.from(engine.memory.buffer, engine.output(), bytes).toString();
  give(readFileSync(rom));
  engine.take_boot_rom();
  give(Buffer.from(settings));
  engine.take_settings();
  give(readFileSync(client));
  let why = text(engine.power_up(false));
  let report = "";
  while (!why && !report.endsWith("}") && engine.time_us() < 60e6) {
    why = text(engine.run(10_000));
    report = text(engine.report());
  }
  found.push({ why, report, time_us: engine.time_us(), instructions: engine.instructions(), frames: engine.frames(), modules });
}
console.log(JSON.stringify(found));
