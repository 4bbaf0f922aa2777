// Messages between the page and the worker that runs the board.

export type ToWorker =
  | { do: "power"; kind: number; rom: Uint8Array; uf2: Uint8Array; bootsel: boolean }
  | { do: "type"; text: Uint8Array }
  | { do: "pause"; paused: boolean }
  | { do: "plug"; plugged: boolean }
  | { do: "file"; path: string; contents: Uint8Array };

export interface State {
  timeUs: number;
  /** Simulated time beside real time, over the last moment. */
  pace: number;
  /** Instructions in a real second. */
  instructionsPerS: number;
  frames: number;
  levels: number;
  driven: number;
}

export type FromWorker =
  | { is: "ready" }
  | { is: "printed"; bytes: Uint8Array }
  | { is: "state"; state: State }
  | { is: "report"; report: string }
  | { is: "stopped"; why: string }
  | { is: "failed"; why: string }
  | { is: "files"; paths: string[]; wrote: string };
