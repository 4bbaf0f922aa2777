// Runs a test program for WASI in Node, with the modules that its engine makes: node wasi.mjs PROGRAM.wasm ARGUMENTS
import { readFileSync } from "node:fs";
import { WASI } from "node:wasi";

const [program, ...given] = process.argv.slice(2);
const wasi = new WASI({ version: "preview1", args: [program, ...given], env: process.env, preopens: { "/": "/" } });
let exports;
/** As page/engine.ts, but an error is told: the tests make no module that cannot be compiled. */
const jit = {
  compile(at, bytes) {
    const { memory, __indirect_function_table: table } = exports;
    const module = new WebAssembly.Module(new Uint8Array(memory.buffer, at, bytes).slice());
    const place = table.grow(1);
    table.set(place, new WebAssembly.Instance(module, { jit: { memory, table } }).exports.run);
    return place;
  },
  release: (place) => exports.__indirect_function_table.set(place, null),
};
const { instance } = await WebAssembly.instantiate(readFileSync(program), { ...wasi.getImportObject(), jit });
({ exports } = instance);
process.exitCode = wasi.start(instance);
