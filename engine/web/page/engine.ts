// The engine's module, and the modules that it makes of a board's code.

type Hear = (app: number, told: number, toldBytes: number, dataBytes: number) => void;

interface Exports {
  memory: WebAssembly.Memory;
  __indirect_function_table: WebAssembly.Table;
}

/** What ../../jit/src/translator/modules.rs asks for. `engine`: the exports, once there are any. */
function compiler(engine: () => Exports): WebAssembly.ModuleImports {
  const free: number[] = [];
  return {
    /** Returns the place of the module's function in the engine's table; 0: the browser refuses, so code is interpreted. */
    compile(at: number, bytes: number): number {
      const { memory, __indirect_function_table: table } = engine();
      try {
        const module = new WebAssembly.Module(new Uint8Array(memory.buffer).slice(at, at + bytes));
        const { run } = new WebAssembly.Instance(module, { jit: { memory, table } }).exports;
        const place = free.pop() ?? table.grow(1);
        table.set(place, run);
        return place;
      } catch {
        return 0;
      }
    },
    release(place: number): void {
      engine().__indirect_function_table.set(place, null);
      free.push(place);
    },
  };
}

/** Loads the module, and returns its exports. `hear`: see ../src/app.rs. */
export async function load(answer: Promise<Response>, hear: Hear = () => {}): Promise<WebAssembly.Exports> {
  let exports: WebAssembly.Exports;
  const jit = compiler(() => exports as unknown as Exports);
  ({ exports } = (await WebAssembly.instantiateStreaming(answer, { page: { hear }, jit })).instance);
  return exports;
}
