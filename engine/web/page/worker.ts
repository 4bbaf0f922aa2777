// Runs the board, so that a program that spins does not hold up the page.
import { Board } from "./board.js";
import type { FromWorker, ToWorker } from "./messages.js";

const SLICE_MS = 12;
const STEP_US = 1000;
/** So often the page hears of a board; of one that only waits, and changes nothing but the time: */
const STATE_MS = 100;
const IDLE_STATE_MS = 1000;
/** A board that is idle keeps to the clock, as one whose speed is set. It runs ahead, and then sleeps until it is level. */
const IDLE_SHARE = 0.02;
const IDLE_STEP_US = 10_000;
const AHEAD_MS = 100;
/** A PC that is too slow for the speed does not catch up later. */
const BEHIND_MS = 250;

const say = (message: FromWorker, moved: Transferable[] = []) => postMessage(message, { transfer: moved });

const board = await Board.load("engine.wasm");
let powered = false;
let paused = false;
let factor = 0;
let report = "";
let typed: Uint8Array = new Uint8Array();
let realMs = 0;
let isIdle = false;
/** Where simulated and real time were level. */
let level = { atMs: 0, timeUs: 0 };
let told = { atMs: performance.now(), timeUs: 0, instructions: 0, levels: 0, driven: 0, isIdle };

function tell(nowMs: number): void {
  const [timeUs, instructions, pins] = [board.timeUs, board.instructions, board.pins];
  const passedUs = (nowMs - told.atMs) * 1000;
  say({
    is: "state",
    state: {
      timeUs,
      realUs: realMs * 1000,
      pace: (timeUs - told.timeUs) / passedUs,
      instructionsPerS: ((instructions - told.instructions) / passedUs) * 1e6,
      frames: board.frames,
      drive: board.drive,
      paused,
      memoryBytes: board.memoryBytes,
      ...pins,
    },
  });
  told = { atMs: nowMs, timeUs, instructions, ...pins, isIdle };
  const observed = board.observed();
  if (observed) say({ is: "observed", observed });
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

/** Whether the page is to hear of the board now. */
function isNews(nowMs: number): boolean {
  const passedMs = nowMs - told.atMs;
  if (!powered || passedMs >= IDLE_STATE_MS) return true;
  if (passedMs < STATE_MS) return false;
  const { levels, driven } = board.pins;
  return !isIdle || !told.isIdle || levels !== told.levels || driven !== told.driven;
}

/** Runs for one slice of real time; returns how many milliseconds the board is ahead of the clock. */
function slice(): number {
  const startMs = performance.now();
  const [startUs, instructions] = [board.timeUs, board.instructions];
  const aheadMs = () => (board.timeUs - level.timeUs) / 1000 / (factor || 1) - (performance.now() - level.atMs);
  const stepUs = isIdle ? IDLE_STEP_US : STEP_US * Math.min(1, factor || 1);
  do {
    if (!advance(stepUs)) break;
    isIdle = !factor && !typed.length && board.instructions - instructions < IDLE_SHARE * 125 * (board.timeUs - startUs);
  } while (performance.now() - startMs < SLICE_MS && !((factor || isIdle) && aheadMs() >= AHEAD_MS));
  const nowMs = performance.now();
  if (!(factor || isIdle) || aheadMs() < -BEHIND_MS) level = { atMs: nowMs, timeUs: board.timeUs };
  if (isNews(nowMs)) tell(nowMs);
  return aheadMs();
}

let endedMs = 0;
let goesOn = false;
let timer = 0;
/** A timer of a browser waits for 4 ms at least: a quarter of the time of a busy board. A message to oneself does not. */
const again = new MessageChannel();
again.port1.onmessage = loop;

function loop(): void {
  [timer, goesOn] = [0, false];
  if (!powered || paused) return;
  const startMs = performance.now();
  const aheadMs = slice();
  realMs += performance.now() - Math.max(endedMs, startMs - IDLE_STATE_MS);
  endedMs = performance.now();
  goOn(aheadMs);
}

function goOn(afterMs: number): void {
  if (goesOn) return;
  goesOn = true;
  if (afterMs < 1) again.port2.postMessage(null);
  else timer = setTimeout(loop, afterMs);
}

/** What the page asks for does not wait for a board that sleeps. */
function wake(): void {
  if (timer) {
    clearTimeout(timer);
    [timer, goesOn] = [0, false];
  }
  goOn(0);
}

function restart(): void {
  const nowMs = performance.now();
  told = { ...told, atMs: nowMs, timeUs: board.timeUs, instructions: board.instructions };
  level = { atMs: nowMs, timeUs: board.timeUs };
  endedMs = nowMs;
  isIdle = false;
}

function obey(data: ToWorker): void {
  switch (data.do) {
    case "power":
      powered = false;
      board.powerUp(data.kind, data.rom, data.uf2, data.bootsel);
      board.watch(true);
      say({ is: "powered" });
      [powered, paused, report, typed, realMs] = [true, false, "", new Uint8Array(), 0];
      told = { ...told, timeUs: board.timeUs, instructions: board.instructions };
      tell(performance.now()); // that its drive is gone: both boot loaders' are alike, and the page asks for files at a change
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
    case "plug":
      board.plug(data.plugged);
      break;
    case "file":
      if (board.drive === "the boot loader's" && !/\.uf2$/i.test(data.path)) throw new Error(`${data.path}: the board is in its boot loader, which takes a .uf2 only; choose a firmware first`);
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
  if (powered && !paused) wake();
};
say({ is: "ready" });
