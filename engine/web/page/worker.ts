// Runs the board, so that a program that spins does not hold up the page.
import { Board } from "./board.js";
import type { FromWorker, ToWorker } from "./messages.js";

const SLICE_MS = 12;
const STEP_US = 1000;
const STATE_MS = 100;
/** A board that is idle keeps to the clock, and costs little. */
const IDLE_SHARE = 0.02;

const say = (message: FromWorker, moved: Transferable[] = []) => postMessage(message, { transfer: moved });

const board = await Board.load("engine.wasm");
let powered = false;
let paused = false;
let report = "";
let typed: Uint8Array = new Uint8Array();
let told = { atMs: performance.now(), timeUs: 0, instructions: 0 };

function tell(nowMs: number): void {
  const [timeUs, instructions] = [board.timeUs, board.instructions];
  const realUs = (nowMs - told.atMs) * 1000;
  say({
    is: "state",
    state: {
      timeUs,
      pace: (timeUs - told.timeUs) / realUs,
      instructionsPerS: ((instructions - told.instructions) / realUs) * 1e6,
      frames: board.frames,
      ...board.pins,
    },
  });
  told = { atMs: nowMs, timeUs, instructions };
  const latest = board.report();
  if (latest !== report && latest.endsWith("}\n")) say({ is: "report", report: latest });
  report = latest;
}

/** Runs for one slice of real time; returns how many milliseconds the board is ahead of the clock while it is idle. */
function slice(): number {
  const startMs = performance.now();
  const [startUs, instructions] = [board.timeUs, board.instructions];
  while (performance.now() - startMs < SLICE_MS) {
    if (typed.length) typed = typed.subarray(board.type(typed));
    const why = board.run(STEP_US);
    const bytes = board.printed();
    if (bytes.length) say({ is: "printed", bytes }, [bytes.buffer]);
    if (why) {
      powered = false;
      say({ is: "stopped", why });
      break;
    }
    const ranUs = board.timeUs - startUs;
    const idle = board.instructions - instructions < IDLE_SHARE * 125 * ranUs;
    if (idle && ranUs > SLICE_MS * 1000) break;
  }
  const nowMs = performance.now();
  if (nowMs - told.atMs >= STATE_MS || !powered) tell(nowMs);
  const aheadMs = (board.timeUs - startUs) / 1000 - (nowMs - startMs);
  return board.instructions - instructions < IDLE_SHARE * 125 * (board.timeUs - startUs) ? Math.max(0, aheadMs) : 0;
}

function loop(): void {
  if (!powered || paused) return;
  const aheadMs = slice();
  setTimeout(loop, aheadMs);
}

onmessage = ({ data }: MessageEvent<ToWorker>) => {
  const ran = powered && !paused;
  try {
    switch (data.do) {
      case "power":
        powered = false;
        board.powerUp(data.kind, data.rom, data.uf2, data.bootsel);
        [powered, paused, report, typed] = [true, false, "", new Uint8Array()];
        told = { atMs: performance.now(), timeUs: 0, instructions: 0 };
        break;
      case "type": {
        const longer = new Uint8Array(typed.length + data.text.length);
        longer.set(typed);
        longer.set(data.text, typed.length);
        typed = longer;
        break;
      }
      case "pause":
        paused = data.paused;
        break;
      case "plug":
        board.plug(data.plugged);
        break;
      case "file":
        board.writeFile(data.path, data.contents);
        say({ is: "files", paths: board.files(), wrote: data.path });
        break;
    }
  } catch (error) {
    say({ is: "failed", why: error instanceof Error ? error.message : String(error) });
  }
  if (!ran && powered && !paused) loop();
};
say({ is: "ready" });
