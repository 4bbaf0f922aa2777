// The page: what the visitor sees and does. The board itself runs in worker.ts.
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import { KINDS } from "./board.js";
import type { FromWorker, State, ToWorker } from "./messages.js";

const CLIENT = "native.uf2";
const BLINK_PIN = 25;

const find = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const [kinds, image, drop, message] = [find<HTMLSelectElement>("board"), find<HTMLInputElement>("image"), find("drop"), find("message")];
const [pause, cable, pins, report] = [find<HTMLButtonElement>("pause"), find<HTMLInputElement>("cable"), find("pins"), find("report")];

const dark = matchMedia("(prefers-color-scheme: dark)");
const colours = () => (dark.matches ? { background: "#14161a", foreground: "#e6e6e6" } : { background: "#ffffff", foreground: "#1a1a1a", cursor: "#1a1a1a", selectionBackground: "#b5d5ff" });
const terminal = new Terminal({ convertEol: false, cursorBlink: false, fontSize: 14, screenReaderMode: true, theme: colours() });
const fit = new FitAddon();
terminal.loadAddon(fit);
terminal.open(find("console"));
fit.fit();
addEventListener("resize", () => fit.fit());
dark.addEventListener("change", () => (terminal.options.theme = colours()));

const worker = new Worker("worker.js", { type: "module" });
const send = (order: ToWorker) => worker.postMessage(order);
let uf2: Uint8Array = new Uint8Array();
let kept = "";
let paused = false;

function tell(text: string, failed = false): void {
  message.textContent = text;
  message.classList.toggle("failed", failed);
}

async function load(address: string): Promise<Uint8Array> {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address}: the server answers ${answer.status}`);
  return new Uint8Array(await answer.arrayBuffer());
}

async function power(bootsel: boolean, fresh: boolean): Promise<void> {
  const kind = KINDS[kinds.selectedIndex]!;
  try {
    const rom = await load(`${kind.rom}.rom`);
    terminal.reset();
    report.textContent = "";
    paused = false;
    pause.textContent = "Pause";
    send({ do: "power", kind: kinds.selectedIndex, rom, uf2: fresh ? uf2 : new Uint8Array(), bootsel });
    tell(`${kind.title} runs ${kept}${bootsel ? ", with BOOTSEL pressed" : ""}.`);
    cable.disabled = !kind.cable;
    cable.checked = kind.cable;
  } catch (error) {
    tell(`${error instanceof Error ? error.message : error}. Build the page on a PC that has this chip's boot ROM.`, true);
  }
}

async function take(file: File): Promise<void> {
  const contents = new Uint8Array(await file.arrayBuffer());
  if (file.name.toLowerCase().endsWith(".uf2")) {
    [uf2, kept] = [contents, file.name];
    await power(false, true);
  } else {
    send({ do: "file", path: file.name, contents });
  }
}

const seconds = (us: number) => `${(us / 1e6).toFixed(3)} s`;

function show(state: State): void {
  find("time").textContent = seconds(state.timeUs);
  find("pace").textContent = `${state.pace.toFixed(2)} times real time`;
  find("speed").textContent = `${(state.instructionsPerS / 1e6).toFixed(1)} million instructions a second`;
  find("frames").textContent = `${state.frames} frames on the cable`;
  pins.querySelectorAll("li").forEach((pin, number) => {
    pin.className = `${(state.levels >>> number) & 1 ? "high" : "low"}${(state.driven >>> number) & 1 ? " driven" : ""}`;
  });
  const lit = ((state.driven & state.levels) >>> BLINK_PIN) & 1;
  find("led").classList.toggle("lit", lit === 1);
  find("led").setAttribute("aria-label", lit ? "LED: on" : "LED: off");
}

function showReport(text: string): void {
  const found = JSON.parse(text) as { messages?: number; total_us?: number };
  const rate = found.messages && found.total_us ? (found.messages / found.total_us) * 1e6 : undefined;
  report.textContent = rate ? `${found.messages} messages in ${found.total_us} us: ${rate.toFixed(1)} messages/s` : text;
  report.dataset["report"] = text;
}

worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
  switch (data.is) {
    case "ready":
      void load(CLIENT).then((client) => {
        [uf2, kept] = [client, "the ping-pong client in C"];
        return power(false, true);
      });
      break;
    case "printed":
      terminal.write(data.bytes);
      break;
    case "state":
      show(data.state);
      break;
    case "report":
      showReport(data.report);
      break;
    case "stopped":
      tell(`The board stopped: ${data.why}`, true);
      break;
    case "failed":
      tell(data.why, true);
      break;
    case "files":
      tell(`${data.wrote} is on the board's drive, beside: ${data.paths.join(", ")}`);
      break;
  }
};
worker.onerror = (event) => tell(`The emulator ended: ${event.message}. Load the page again.`, true);

KINDS.forEach((kind) => kinds.append(new Option(`${kind.title} (${kind.id})`, kind.id)));
for (let number = 0; number < 29; number++) {
  const pin = document.createElement("li");
  pin.textContent = `GP${number}`;
  pins.append(pin);
}
terminal.onData((text) => send({ do: "type", text: new TextEncoder().encode(text) }));
image.onchange = () => image.files?.[0] && void take(image.files[0]);
kinds.onchange = () => void power(false, true);
find("reset").onclick = () => void power(false, false);
find("bootsel").onclick = () => void power(true, false);
pause.onclick = () => {
  paused = !paused;
  pause.textContent = paused ? "Continue" : "Pause";
  send({ do: "pause", paused });
};
cable.onchange = () => send({ do: "plug", plugged: cable.checked });
addEventListener("dragover", (event) => {
  event.preventDefault();
  drop.classList.add("over");
});
addEventListener("dragleave", () => drop.classList.remove("over"));
addEventListener("drop", (event) => {
  event.preventDefault();
  drop.classList.remove("over");
  const file = event.dataTransfer?.files[0];
  if (file) void take(file);
});
if ("serviceWorker" in navigator) void navigator.serviceWorker.register("offline.js");
