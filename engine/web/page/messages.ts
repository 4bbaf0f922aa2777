// Messages between the page and its workers: the one that runs the board, and the one that measures.
import type { Drive, Observed } from "./board.js";

export type ToWorker =
  | { do: "power"; kind: number; rom: Uint8Array; uf2: Uint8Array; bootsel: boolean }
  | { do: "type"; text: Uint8Array }
  | { do: "pause"; paused: boolean }
  | { do: "plug"; plugged: boolean }
  /** `factor` of real time; 0: a busy board as fast as possible, an idle one by the clock. */
  | { do: "speed"; factor: number }
  | { do: "step"; us: number }
  | { do: "file"; path: string; contents: Uint8Array }
  | { do: "read"; path: string }
  | { do: "list" };

export interface State {
  timeUs: number;
  /** Real time since power-up, without pauses. */
  realUs: number;
  /** Simulated time beside real time, over the last moment. */
  pace: number;
  /** Instructions in a real second. */
  instructionsPerS: number;
  frames: number;
  levels: number;
  driven: number;
  drive: Drive;
  paused: boolean;
  /** What the engine has of the PC's memory. */
  memoryBytes: number;
}

export type FromWorker =
  | { is: "ready" }
  /** Another board, or the same one again: all that was heard before is of the last one. */
  | { is: "powered" }
  | { is: "printed"; bytes: Uint8Array }
  | { is: "state"; state: State }
  | { is: "report"; report: string }
  | { is: "stopped"; why: string }
  | { is: "failed"; why: string }
  | { is: "observed"; observed: Observed }
  | { is: "read"; path: string; contents: Uint8Array }
  /** `wrote`: the file that was just written, if one was. */
  | { is: "files"; paths: string[]; wrote: string };

/** To the worker that measures. `asked`: options of `portbench run`, by their names in runner/options.py. */
export interface ToBench {
  images: [string, Uint8Array][];
  asked: Record<string, unknown>;
}

/** `run`: the run file. `html`: its page. */
export type FromBench =
  | { is: "stage"; what: string }
  /** The board's time in the row that is measured. */
  | { is: "ran"; timeUs: number }
  | { is: "measured"; run: string }
  | { is: "drawn"; html: string }
  | { is: "failed"; why: string };
