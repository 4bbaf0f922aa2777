// A logic analyser: levels of the pins that changed, transfers of the network chip and frames of the cable over time.
import type { Observed } from "./board.js";

const [ROW, LABEL, GAP] = [26, 64, 6];
const KEPT = 200_000;

type Change = [number, number, number];

export class Analyser {
  #changes: Change[] = [];
  #spi: [number, number, string, boolean][] = [];
  #frames: [number, number, boolean][] = [];
  #canvas: HTMLCanvasElement;
  windowUs = 100_000;
  held = false;

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
  }

  clear(): void {
    [this.#changes, this.#spi, this.#frames] = [[], [], []];
  }

  take(observed: Observed): void {
    if (this.held) return;
    this.#changes = this.#changes.concat(observed.pins).slice(-KEPT);
    this.#spi = this.#spi.concat(observed.spi.map(([start, end, , name, write]) => [start, end, name, write] as [number, number, string, boolean])).slice(-KEPT);
    this.#frames = this.#frames.concat(observed.frames.map(([start, end, toBoard]) => [start, end, toBoard] as [number, number, boolean])).slice(-KEPT);
  }

  /** Draws the window that ends at `nowUs`; returns a sentence that says what is in it. */
  draw(nowUs: number): string {
    const canvas = this.#canvas;
    const from = Math.max(0, nowUs - this.windowUs);
    const seen = this.#changes.filter(([at]) => at >= from && at <= nowUs);
    const before = this.#changes[this.#changes.findIndex(([at]) => at >= from) - 1] ?? seen[0];
    let moved = 0;
    let last = before?.[1] ?? 0;
    for (const [, level] of seen) {
      moved |= last ^ level;
      last = level;
    }
    const pins = Array.from({ length: 30 }, (_, pin) => pin).filter((pin) => (moved >>> pin) & 1);
    const shown = pins.slice(0, 12);
    const spi = this.#spi.filter(([start, end]) => end >= from && start <= nowUs);
    const frames = this.#frames.filter(([start, end]) => end >= from && start <= nowUs);
    const rows = shown.length + 2;
    const scale = devicePixelRatio || 1;
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
    const x = (at: number) => LABEL + ((at - from) / this.windowUs) * (width - LABEL - GAP);
    const label = (row: number, text: string) => {
      pen.fillStyle = colour("--ink");
      pen.fillText(text, GAP, GAP + row * ROW + ROW / 2);
    };
    shown.forEach((pin, row) => {
      label(row, `GP${pin}`);
      const y = (level: number) => GAP + row * ROW + ((level >>> pin) & 1 ? 5 : ROW - 6);
      pen.strokeStyle = colour(`--series-${(row % 7) + 1}`);
      pen.lineWidth = 1.5;
      pen.beginPath();
      let level = before?.[1] ?? 0;
      pen.moveTo(x(from), y(level));
      for (const [at, next] of seen) {
        if (((level ^ next) >>> pin) & 1) {
          pen.lineTo(x(at), y(level));
          pen.lineTo(x(at), y(next));
        }
        level = next;
      }
      pen.lineTo(x(nowUs), y(level));
      pen.stroke();
    });
    const blocks = (row: number, name: string, all: [number, number, string, string][]) => {
      label(row, name);
      for (const [start, end, what, fill] of all) {
        const [left, right] = [Math.max(LABEL, x(start)), x(end)];
        pen.fillStyle = fill;
        pen.fillRect(left, GAP + row * ROW + 4, Math.max(1, right - left), ROW - 8);
        if (right - left > 7 * what.length) {
          pen.fillStyle = colour("--page");
          pen.fillText(what, left + 3, GAP + row * ROW + ROW / 2);
        }
      }
    };
    blocks(shown.length, "SPI", spi.map(([start, end, name, write]) => [start, end, name, colour(write ? "--series-2" : "--series-1")]));
    blocks(shown.length + 1, "cable", frames.map(([start, end, toBoard]) => [start, end, toBoard ? "PC" : "board", colour(toBoard ? "--series-3" : "--series-5")]));
    pen.fillStyle = colour("--soft");
    pen.fillText(`${(from / 1000).toFixed(3)} ms`, LABEL, height - 8);
    const until = `${(nowUs / 1000).toFixed(3)} ms`;
    pen.fillText(until, width - GAP - pen.measureText(until).width, height - 8);
    const left = pins.length > shown.length ? `, ${pins.length - shown.length} more are left out` : "";
    const names = shown.length ? `${shown.map((pin) => `GP${pin}`).join(", ")} changed${left}` : "No pin changed";
    return `${names}. ${spi.length} transfers on SPI, ${frames.length} frames on the cable. SPI: reads blue, writes orange.`;
  }
}
