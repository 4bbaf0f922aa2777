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
let factor = 0;
let watches = false;
let report = "";
let typed: Uint8Array = new Uint8Array();
let realMs = 0;
/** Where simulated and real time were level, for a speed that is a factor of real time. */
let level = { atMs: 0, timeUs: 0 };
let told = { atMs: performance.now(), timeUs: 0, instructions: 0 };

function tell(nowMs: number): void {
  const [timeUs, instructions] = [board.timeUs, board.instructions];
  const passedUs = (nowMs - told.atMs) * 1000;
  say({
    is: "state",
    state: {
      timeUs,
      realUs: realMs * 1000,
      pace: (timeUs - told.timeUs) / passedUs,
      instructionsPerS: ((instructions - told.instructions) / passedUs) * 1e6,
      frames: board.frames,
      hasDrive: board.hasDrive,
      paused,
      memoryBytes: board.memoryBytes,
      ...board.pins,
    },
  });
  told = { atMs: nowMs, timeUs, instructions };
  if (watches) {
    const observed = board.observed();
    if (observed) say({ is: "observed", observed, nowUs: timeUs });
  }
  const latest = board.report();
  if (latest !== report && latest.endsWith("}\n")) say({ is: "report", report: latest });
  report = latest;
}

/** Runs for a moment of simulated time; returns whether the board goes on. */
function advance(us: number): boolean {
  if (typed.length) typed = typed.subarray(board.type(typed));
  const why = board.run(us);
  const bytes = board.printed();
  if (bytes.length) say({ is: "printed", bytes }, [bytes.buffer]);
  if (!why) return true;
  powered = false;
  say({ is: "stopped", why });
  return false;
}

/** Runs for one slice of real time; returns how many milliseconds the board is ahead of the clock. */
function slice(): number {
  const startMs = performance.now();
  const [startUs, instructions] = [board.timeUs, board.instructions];
  const isIdle = () => board.instructions - instructions < IDLE_SHARE * 125 * (board.timeUs - startUs);
  const dueUs = () => level.timeUs + (performance.now() - level.atMs) * 1000 * factor;
  while (performance.now() - startMs < SLICE_MS) {
    if (factor && board.timeUs >= dueUs()) break;
    if (!advance(factor ? Math.max(1, Math.min(STEP_US, STEP_US * factor)) : STEP_US)) break;
    if (!factor && isIdle() && board.timeUs - startUs > SLICE_MS * 1000) break;
  }
  const nowMs = performance.now();
  if (nowMs - told.atMs >= STATE_MS || !powered) tell(nowMs);
  if (factor) {
    // A PC that is too slow for the speed does not catch up later.
    if (dueUs() - board.timeUs > 250_000 * factor) level = { atMs: nowMs, timeUs: board.timeUs };
    return Math.max(0, (board.timeUs - dueUs()) / 1000 / factor);
  }
  return isIdle() ? Math.max(0, (board.timeUs - startUs) / 1000 - (nowMs - startMs)) : 0;
}

let endedMs = 0;
let goesOn = false;
/** A timer of a browser waits for 4 ms at least: a quarter of the time of a busy board. A message to oneself does not. */
const again = new MessageChannel();
again.port1.onmessage = loop;

function loop(): void {
  goesOn = false;
  if (!powered || paused) return;
  const startMs = performance.now();
  const aheadMs = slice();
  realMs += performance.now() - Math.max(endedMs, startMs - STATE_MS);
  endedMs = performance.now();
  goOn(Math.min(aheadMs, STATE_MS));
}

function goOn(afterMs: number): void {
  if (goesOn) return;
  goesOn = true;
  if (afterMs < 1) again.port2.postMessage(null);
  else setTimeout(loop, afterMs);
}

function restart(): void {
  const nowMs = performance.now();
  told = { atMs: nowMs, timeUs: board.timeUs, instructions: board.instructions };
  level = { atMs: nowMs, timeUs: board.timeUs };
  endedMs = nowMs;
}

function obey(data: ToWorker): void {
  switch (data.do) {
    case "power":
      powered = false;
      board.powerUp(data.kind, data.rom, data.uf2, data.bootsel);
      board.watch(watches);
      [powered, paused, report, typed, realMs] = [true, false, "", new Uint8Array(), 0];
      restart();
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
      tell(performance.now());
      restart();
      break;
    case "speed":
      factor = data.factor;
      restart();
      break;
    case "step":
      if (powered && paused) {
        const endUs = board.timeUs + data.us;
        while (board.timeUs < endUs && advance(endUs - board.timeUs));
        tell(performance.now());
      }
      break;
    case "watch":
      watches = data.on;
      board.watch(watches);
      break;
    case "plug":
      board.plug(data.plugged);
      break;
    case "file":
      board.writeFile(data.path, data.contents);
      say({ is: "files", paths: board.files(), wrote: data.path });
      break;
    case "read":
      say({ is: "read", path: data.path, contents: board.readFile(data.path) });
      break;
    case "list":
      say({ is: "files", paths: board.files(), wrote: "" });
      break;
  }
}

onmessage = ({ data }: MessageEvent<ToWorker>) => {
  try {
    obey(data);
  } catch (error) {
    say({ is: "failed", why: error instanceof Error ? error.message : String(error) });
  }
  if (powered && !paused) goOn(0);
};
say({ is: "ready" });
