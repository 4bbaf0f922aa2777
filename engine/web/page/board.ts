// The typed interface of the engine's module (../src/lib.rs). Times are microseconds of simulated time.
import boards from "./boards.json";
import { load } from "./engine.js";
import type { Byte } from "./wave.js";

export interface Kind {
  id: string;
  title: string;
  /** The microcontroller, which names the boot ROM's file. */
  mcu: string;
  /** The network chip; empty without one. */
  network: string;
  cable: boolean;
  /** The engine's, of the board and of the simulated PC. */
  settings: object;
}

/** Written by ../build.py. */
export const KINDS: readonly Kind[] = boards;

/** The drive that the PC has found on the board; the order is that of `drive` in ../src/lib.rs. */
const DRIVES = ["none", "the firmware's", "the boot loader's"] as const;
export type Drive = (typeof DRIVES)[number];

/** What `observed` returns. Times are microseconds of simulated time. */
export interface Observed {
  /** Start, end, chip, register or buffer, address, written, bytes, the first 16 of them, their meaning, bytes on the wire. */
  spi: [number, number, string, string, number, boolean, number, number[], string, number][];
  spiLeftOut: number;
  /** First bit, arrival, to the board, what became of it, the frame. */
  frames: [number, number, boolean, string, number[]][];
  /** When, levels, which the chip drives: of GPIO0 to GPIO31 as bits. */
  pins: [number, number, number][];
  /** SPI bytes on the wires, the oldest: see `Byte` in wave.ts. */
  wire: Byte[];
}

interface Exports {
  memory: WebAssembly.Memory;
  input(bytes: number): number;
  output(): number;
  take_boot_rom(): void;
  take_settings(): void;
  power_up(bootsel: boolean): number;
  run(us: number): number;
  time_us(): number;
  instructions(): number;
  type_in(): number;
  printed(): number;
  levels(): number;
  driven(): number;
  set_cable(plugged: boolean): void;
  drive(): number;
  frames(): number;
  report(): number;
  write_file(): number;
  list_files(): number;
  read_file(): number;
  watch(on: boolean): void;
  observed(): number;
}

export class Board {
  #engine: Exports;

  private constructor(engine: Exports) {
    this.#engine = engine;
  }

  static async load(address: string): Promise<Board> {
    return new Board((await load(fetch(address))) as unknown as Exports);
  }

  /** Throws an Error with one line where the image or the boot ROM is not usable. No image: the flash stays as it is. */
  powerUp(kind: number, rom: Uint8Array, uf2: Uint8Array, bootsel: boolean): void {
    this.#give(rom);
    this.#engine.take_boot_rom();
    this.#give(new TextEncoder().encode(JSON.stringify(KINDS[kind]!.settings)));
    this.#engine.take_settings();
    this.#give(uf2);
    this.#check(this.#engine.power_up(bootsel));
  }

  /** Returns why the board stopped; empty: it did not. */
  run(us: number): string {
    return this.#text(this.#engine.run(us));
  }

  get timeUs(): number {
    return this.#engine.time_us();
  }

  get instructions(): number {
    return this.#engine.instructions();
  }

  get memoryBytes(): number {
    return this.#engine.memory.buffer.byteLength;
  }

  get frames(): number {
    return this.#engine.frames();
  }

  /** Levels of GPIO0 to GPIO31, and which of them the chip drives. */
  get pins(): { levels: number; driven: number } {
    return { levels: this.#engine.levels() >>> 0, driven: this.#engine.driven() >>> 0 };
  }

  /** Returns how many bytes the console took. */
  type(text: Uint8Array): number {
    this.#give(text);
    return this.#engine.type_in();
  }

  printed(): Uint8Array<ArrayBuffer> {
    return this.#take(this.#engine.printed());
  }

  /** The report of a client without a console, as JSON. */
  report(): string {
    return this.#text(this.#engine.report());
  }

  get drive(): Drive {
    return DRIVES[this.#engine.drive()]!;
  }

  plug(plugged: boolean): void {
    this.#engine.set_cable(plugged);
  }

  /** Throws an Error with one line where the board has no drive, or the drive no room. */
  writeFile(path: string, contents: Uint8Array): void {
    const name = new TextEncoder().encode(path);
    const both = new Uint8Array(name.length + 1 + contents.length);
    both.set(name);
    both.set(contents, name.length + 1);
    this.#give(both);
    this.#check(this.#engine.write_file());
  }

  /** Throws an Error with one line where there is no such file. */
  readFile(path: string): Uint8Array<ArrayBuffer> {
    this.#give(new TextEncoder().encode(path));
    const read = this.#take(this.#engine.read_file());
    const end = read.indexOf(0);
    if (end > 0) throw new Error(new TextDecoder().decode(read.subarray(0, end)));
    return read.slice(1);
  }

  /** Begins or ends the recording for `observed`; a power cycle ends it, too. */
  watch(on: boolean): void {
    this.#engine.watch(on);
  }

  observed(): Observed | undefined {
    const text = this.#text(this.#engine.observed());
    return text ? (JSON.parse(text) as Observed) : undefined;
  }

  /** Paths of the files on the board's drive. */
  files(): string[] {
    return this.#text(this.#engine.list_files()).split("\n").filter(Boolean);
  }

  #give(bytes: Uint8Array): void {
    const at = this.#engine.input(bytes.length);
    new Uint8Array(this.#engine.memory.buffer, at, bytes.length).set(bytes);
  }

  #take(length: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array(this.#engine.memory.buffer.slice(this.#engine.output(), this.#engine.output() + length) as ArrayBuffer);
  }

  #text(length: number): string {
    return length ? new TextDecoder().decode(this.#take(length)) : "";
  }

  #check(failure: number): void {
    if (failure) throw new Error(this.#text(failure));
  }
}
