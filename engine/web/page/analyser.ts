// A logic analyser: levels of the pins that changed, the SPI bus and frames of the cable over time. A wide picture ends
// now; a narrow one begins with the first SPI byte after the last picture, as an analyser with a trigger shows it.
import type { Observed } from "./board.js";
import { type Byte, type Wave, clock, data, values } from "./wave.js";

const [ROW, LABEL, GAP] = [26, 64, 6];
/** The bytes below a wave, in rows. */
const VALUES = 0.6;
const KEPT = 50_000;
const MOST_PINS = 12;
/** Up to this width the bits of SPI are shown. */
const NARROW_US = 100;

type Change = [number, number, number];
/** From, until, what it says, its colour. */
type Block = [number, number, string, string];

export class Analyser {
  #changes: Change[] = [];
  #spi: [number, number, string, boolean][] = [];
  #frames: [number, number, boolean][] = [];
  #bytes: Byte[] = [];
  #canvas: HTMLCanvasElement;
  #drawnUs = 0;
  windowUs = 100_000;
  held = false;

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
  }

  clear(): void {
    [this.#changes, this.#spi, this.#frames, this.#bytes] = [[], [], [], []];
  }

  take(observed: Observed): void {
    if (this.held) return;
    this.#changes = this.#changes.concat(observed.pins).slice(-KEPT);
    this.#spi = this.#spi.concat(observed.spi.map(([start, end, , name, , write]) => [start, end, name, write] as [number, number, string, boolean])).slice(-KEPT);
    this.#frames = this.#frames.concat(observed.frames.map(([start, end, toBoard]) => [start, end, toBoard] as [number, number, boolean])).slice(-KEPT);
    if (observed.wire.length) this.#bytes = observed.wire;
  }

  /** Draws; returns a sentence that says what is in the picture. One that is held keeps its time. */
  draw(nowUs: number): string {
    if (this.held) nowUs = this.#drawnUs;
    this.#drawnUs = nowUs;
    const narrow = this.windowUs <= NARROW_US;
    const trigger = this.#bytes[0]?.[0];
    const from = narrow && trigger !== undefined ? trigger - this.windowUs / 20 : Math.max(0, nowUs - this.windowUs);
    const until = narrow ? from + this.windowUs : nowUs;
    const seen = this.#changes.filter(([at]) => at >= from && at <= until);
    const next = this.#changes.findIndex(([at]) => at >= from);
    const before = (next < 0 ? this.#changes.at(-1) : this.#changes[next - 1]) ?? seen[0];
    let moved = 0;
    let last = before?.[1] ?? 0;
    for (const [, level] of seen) {
      moved |= last ^ level;
      last = level;
    }
    const pins = Array.from({ length: 30 }, (_, pin) => pin).filter((pin) => (moved >>> pin) & 1);
    const shown = pins.slice(0, MOST_PINS);
    const within = <T extends [number, number, ...unknown[]]>(all: T[]) => all.filter(([start, end]) => end >= from && start <= until);
    const [spi, frames] = [within(this.#spi), within(this.#frames)];
    const bytes = narrow ? within(this.#bytes) : [];
    const waves: [string, Wave, [number, number, string][]][] = narrow
      ? [["SCK", clock(bytes), []], ["MOSI", data(bytes, 4), values(bytes, 4)], ["MISO", data(bytes, 5), values(bytes, 5)]]
      : [];
    const rows = shown.length + waves.length + 2 + (narrow ? 2 * VALUES : 0);
    const scale = devicePixelRatio || 1;
    const canvas = this.#canvas;
    const [width, height] = [canvas.clientWidth, rows * ROW + 2 * GAP + 14];
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const pen = canvas.getContext("2d")!;
    const style = getComputedStyle(canvas);
    const colour = (name: string) => style.getPropertyValue(name).trim();
    pen.scale(scale, scale);
    pen.font = "12px ui-monospace, monospace";
    pen.textBaseline = "middle";
    const x = (at: number) => LABEL + ((Math.min(Math.max(at, from), until) - from) / (until - from || 1)) * (width - LABEL - GAP);
    let row = 0;
    const label = (text: string) => {
      pen.fillStyle = colour("--ink");
      pen.fillText(text, GAP, GAP + row * ROW + ROW / 2);
    };
    const levels = (name: string, first: boolean, changes: Wave) => {
      label(name);
      const y = (high: boolean) => GAP + row * ROW + (high ? 5 : ROW - 6);
      pen.strokeStyle = colour(`--series-${Math.floor(row % 7) + 1}`);
      pen.lineWidth = 1.5;
      pen.beginPath();
      let high = first;
      pen.moveTo(x(from), y(high));
      for (const [at, next] of changes) {
        if (next !== high) {
          pen.lineTo(x(at), y(high));
          pen.lineTo(x(at), y(next));
        }
        high = next;
      }
      pen.lineTo(x(until), y(high));
      pen.stroke();
      row += 1;
    };
    const blocks = (name: string, all: Block[]) => {
      label(name);
      for (const [start, end, what, fill] of all) {
        const [left, right] = [x(start), x(end)];
        pen.fillStyle = fill;
        pen.fillRect(left, GAP + row * ROW + 4, Math.max(1, right - left), ROW - 8);
        if (right - left > 7.5 * what.length) {
          pen.fillStyle = colour("--page");
          pen.fillText(what, left + 3, GAP + row * ROW + ROW / 2);
        }
      }
      row += 1;
    };
    for (const pin of shown) {
      const high = (level: number) => ((level >>> pin) & 1) === 1;
      levels(`GP${pin}`, high(before?.[1] ?? 0), seen.map(([at, level]) => [at, high(level)]));
    }
    for (const [name, wave, said] of waves) {
      levels(name, name === "SCK" && (bytes[0]?.[6] ?? false), wave);
      pen.fillStyle = colour("--ink");
      for (const [start, end, value] of said) {
        const middle = (x(start) + x(end)) / 2;
        if (x(end) - x(start) > 8 * value.length) pen.fillText(value, middle - 4 * value.length, GAP + row * ROW + 5);
      }
      if (name !== "SCK") row += VALUES;
    }
    blocks("SPI", spi.map(([start, end, name, write]) => [start, end, name, colour(write ? "--series-2" : "--series-1")]));
    blocks("cable", frames.map(([start, end, toBoard]) => [start, end, toBoard ? "PC" : "board", colour(toBoard ? "--series-3" : "--series-5")]));
    pen.fillStyle = colour("--soft");
    pen.fillText(`${(from / 1000).toFixed(3)} ms`, LABEL, height - 8);
    const ends = `${(until / 1000).toFixed(3)} ms`;
    pen.fillText(ends, width - GAP - pen.measureText(ends).width, height - 8);
    const left = pins.length > shown.length ? `, ${pins.length - shown.length} more are left out` : "";
    const names = shown.length ? `${shown.map((pin) => `GP${pin}`).join(", ")} changed${left}` : "No pin changed";
    const bits = narrow ? ` ${bytes.length} bytes on the SPI wires, from the first one after the last picture.` : "";
    return `${names}. ${spi.length} transfers on SPI, ${frames.length} frames on the cable. SPI: reads blue, writes orange.${bits}`;
  }
}
