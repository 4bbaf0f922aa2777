// The page: what the visitor sees and does. The board itself runs in worker.ts.
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import { Analyser } from "./analyser.js";
import { type Drive, KINDS, type Observed } from "./board.js";
import { Drawing, words } from "./drawing.js";
import { type Catalogue, type Image, measureView, type Offer } from "./measure.js";
import type { FromWorker, State, ToWorker } from "./messages.js";
import { decode } from "./network.js";
import { latin1, PROMPT, RESTART, Saving } from "./prompt.js";

const CLIENT = "native.uf2";
const CLIENT_NAME = "portbench-native.uf2";
const BLINK_PIN = 25;
const MOST_LINES = 300;

const find = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const [kinds, menu, image, message] = [find<HTMLSelectElement>("board"), find<HTMLSelectElement>("firmware"), find<HTMLInputElement>("image"), find("message")];
const [pause, step, cable, speed] = [find<HTMLButtonElement>("pause"), find<HTMLButtonElement>("step"), find<HTMLInputElement>("cable"), find<HTMLSelectElement>("speed")];
const [pins, report, path, text] = [find("pins"), find("report"), find<HTMLInputElement>("path"), find<HTMLTextAreaElement>("text")];

const dark = matchMedia("(prefers-color-scheme: dark)");
const colours = () => (dark.matches ? { background: "#14161a", foreground: "#eceef2" } : { background: "#ffffff", foreground: "#16181d", cursor: "#16181d", selectionBackground: "#b5d5ff" });
const terminal = new Terminal({ convertEol: false, cursorBlink: false, fontSize: 14, screenReaderMode: true, theme: colours() });
const fit = new FitAddon();
terminal.loadAddon(fit);
terminal.open(find("console"));
fit.fit();
addEventListener("resize", () => {
  fit.fit();
  showPins();
});
dark.addEventListener("change", () => {
  terminal.options.theme = colours();
  showPins();
});

const worker = new Worker("worker.js", { type: "module" });
const send = (order: ToWorker) => worker.postMessage(order);
const asked = new URLSearchParams(location.search);
const analyser = new Analyser(find<HTMLCanvasElement>("analyser"));
let drawing: Drawing;
let known: Catalogue | undefined;
let firmware: Image = ["", new Uint8Array()];
/** How a link names the firmware: empty for the client in C, an id of the menu, or an address; null: it was dropped here. */
let from: string | null = "";
/** The link asks that its script is saved and run, once the board can take it. */
let isToRun = asked.get("run") === "1";
let saving: Saving | undefined;
let [chosen, lastPrinted, startsAgain] = [0, "", false];
let drive: Drive = "none";
let paused = false;
/** The visitor started the boot loader, for the next image. */
let inBootLoader = false;
let [timeUs, allFrames] = [0, 0];

/** `address`: of a file that the visitor can download. */
function tell(text: string, failed = false, address = ""): void {
  message.textContent = text;
  message.classList.toggle("failed", failed);
  if (!address) return;
  const link = document.createElement("a");
  [link.href, link.textContent] = [address, fileOf(address)];
  message.append(" ", link);
}

const reason = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** An error's cause is the address of a file that the visitor has to download. */
const refuse = (error: unknown) => tell(reason(error), true, error instanceof Error && error.cause ? String(error.cause) : "");

async function load(address: string): Promise<Uint8Array> {
  const answer = await fetch(address).catch(() => {
    throw new Error(`${address}: no answer, or its host does not let other pages read it`);
  });
  if (!answer.ok) throw new Error(`${address}: the server answers ${answer.status}`);
  return new Uint8Array(await answer.arrayBuffer());
}

function draw(): void {
  const { title, mcu, network, cable: wired } = KINDS[kinds.selectedIndex] ?? KINDS[0]!;
  drawing = new Drawing(find("drawing"), title, mcu, network, wired);
  shown = [-1, -1];
  [cable.disabled, cable.checked] = [!wired, wired];
}

/** Empty where the browser has none: on a page that is neither https: nor of this PC. */
async function sha256(contents: Uint8Array): Promise<string> {
  if (!("subtle" in crypto)) return "";
  return hex([...new Uint8Array(await crypto.subtle.digest("SHA-256", contents as BufferSource))]).replaceAll(" ", "");
}

/** The image's name in the catalogue, where its contents are known. */
const named = async (contents: Uint8Array) => known?.images[await sha256(contents)];

const offers = () => known?.firmware.filter(({ board }) => board === kinds.value) ?? [];
const offered = (id: string | null) => known?.firmware.find((offer) => offer.id === id);

function showMenu(): void {
  const there = offers();
  menu.replaceChildren(new Option("ping-pong client in C", ""), ...there.map(({ id, publisher }) => new Option(`${id}, ${publisher}`, id)));
  const name = from ?? firmware[0];
  if (name && !there.some(({ id }) => id === name)) menu.append(new Option(firmware[0], name));
  menu.value = firmware[0] ? name : "none yet";
  dispatchEvent(new Event("firmware"));
}

/** An image of the menu, from its publisher. It is not booted with another hash than the catalogue's. */
async function fetched({ id, url, sha256: wanted }: Offer): Promise<Image> {
  tell(`${id} is fetched from ${new URL(url).host}.`);
  const contents = await load(url).catch(() => {
    throw new Error(`This page cannot fetch ${id} from ${new URL(url).host}; download it and drop it here:`, { cause: url });
  });
  const found = await sha256(contents);
  if (!found) throw new Error(`Without https: this page cannot check ${id}; download it and drop it here:`, { cause: url });
  if (found !== wanted) throw new Error(`${url} is not ${id}, and is not booted: its SHA-256 begins with ${found.slice(0, 16)}, and with ${wanted.slice(0, 16)} in the catalogue.`);
  return [fileOf(url), contents];
}

/** Boots what a link or the menu names. */
async function choose(name: string): Promise<void> {
  const mine = ++chosen;
  try {
    const offer = offered(name);
    const next: Image = offer ? await fetched(offer) : name ? [fileOf(name), await load(name)] : [CLIENT_NAME, await load(CLIENT)];
    if (mine !== chosen) return; // the visitor has chosen another one since
    [firmware, from] = [next, name];
    await power(false, true);
  } catch (error) {
    if (mine === chosen) refuse(error);
  }
  showMenu();
}

/** Forgets the last board. */
function clear(): void {
  terminal.reset();
  report.textContent = "";
  delete report.dataset["report"];
  analyser.clear();
  clearTraffic();
  [saving, lastPrinted, frames, spi, spiLeftOut] = [undefined, "", 0, 0, 0];
}

async function power(bootsel: boolean, fresh: boolean): Promise<void> {
  const kind = KINDS[kinds.selectedIndex];
  if (!kind || !firmware[0]) return tell("Choose a board and a firmware first.", true);
  try {
    const rom = await load(`${kind.mcu}.rom`);
    setPaused(false);
    inBootLoader = bootsel;
    const id = await named(firmware[1]);
    send({ do: "power", kind: kinds.selectedIndex, rom, uf2: fresh ? firmware[1] : new Uint8Array(), bootsel });
    tell(`${kind.title} runs ${firmware[0]}${id && id !== firmware[0].replace(".uf2", "") ? ` (${id})` : ""}${bootsel ? ", with BOOTSEL pressed" : ""}.`);
    cable.checked = kind.cable;
  } catch (error) {
    tell(`${reason(error)}. Build the page on a PC that has this chip's boot ROM.`, true);
  }
}

async function take(name: string, contents: Uint8Array): Promise<void> {
  if (/\.uf2$/i.test(name)) {
    [firmware, from] = [[name, contents], null];
    chosen += 1;
    showMenu();
    if (inBootLoader && drive === "the boot loader's") {
      inBootLoader = false;
      send({ do: "file", path: name, contents });
    } else {
      await power(false, true);
    }
  } else if (/\.py$/i.test(name)) {
    takeScript(contents);
    select("drive");
    tell(`${name} is under Files; save it on the board.`);
  } else {
    send({ do: "file", path: name, contents });
  }
}

function takeScript(contents: Uint8Array): void {
  path.value = drive === "the firmware's" ? "code.py" : "main.py";
  text.value = new TextDecoder().decode(contents);
}

const takeFile = async (file: File) => take(file.name, new Uint8Array(await file.arrayBuffer()));
const fileOf = (address: string) => new URL(address, location.href).pathname.split("/").at(-1) || address;

const seconds = (us: number) => `${(us / 1e6).toFixed(3)} s`;

/** Changes a text only where it differs: the browser draws it again. */
function put(id: string, said: string): void {
  const place = find(id);
  if (place.textContent !== said) place.textContent = said;
}

/** Levels and directions of the pins that are shown. */
let shown = [-1, -1];

function showLevels(state: State): void {
  if (shown[0] === state.levels && shown[1] === state.driven) return;
  shown = [state.levels, state.driven];
  const lit = (((state.driven & state.levels) >>> BLINK_PIN) & 1) === 1;
  drawing.show(state, lit);
  put("pins-say", words(state, lit));
  pins.querySelectorAll("li").forEach((pin, number) => {
    pin.className = `${(state.levels >>> number) & 1 ? "high" : "low"}${(state.driven >>> number) & 1 ? " driven" : ""}`;
  });
}

function show(state: State): void {
  timeUs = state.timeUs;
  showDrive(state.drive);
  step.disabled = !state.paused;
  put("time", seconds(state.timeUs));
  put("real", seconds(state.realUs));
  put("pace", `${state.pace.toFixed(2)} × real time`);
  put("speed-now", `${(state.instructionsPerS / 1e6).toFixed(1)} MIPS`);
  allFrames = state.frames;
  put("frames", `${allFrames} frames`);
  put("memory", `${(state.memoryBytes / 1e6).toFixed(1)} MB`);
  if (saving) goOn(new Uint8Array());
  showLevels(state);
  if (!analyser.held) showPins();
}

function showPins(): void {
  if (!find("view-pins").hidden) find("analyser-says").textContent = analyser.draw(timeUs);
}

function showReport(text: string): void {
  const found = JSON.parse(text) as { messages?: number; total_us?: number };
  const rate = found.messages && found.total_us ? (found.messages / found.total_us) * 1e6 : undefined;
  report.textContent = rate ? `${found.messages} messages in ${found.total_us} us: ${rate.toFixed(1)} messages/s` : text;
  report.dataset["report"] = text;
}

function line(body: HTMLElement, cells: string[], numbers: number[]): void {
  const row = document.createElement("tr");
  cells.forEach((content, index) => {
    const cell = row.insertCell();
    cell.textContent = content;
    if (numbers.includes(index)) cell.className = "number";
  });
  body.prepend(row);
  while (body.children.length > MOST_LINES) body.lastElementChild!.remove();
}

const hex = (bytes: number[]) => bytes.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");

/** Traffic that is not in the tables yet, and how much there was: all, and SPI's without what the engine left out. */
let waiting: Pick<Observed, "frames" | "spi"> = { frames: [], spi: [] };
let [frames, spi, spiLeftOut] = [0, 0, 0];

function clearTraffic(): void {
  for (const id of ["cable-frames", "spi-frames"]) find(id).replaceChildren();
  waiting = { frames: [], spi: [] };
}

function takeTraffic(observed: Observed): void {
  analyser.take(observed);
  [frames, spi, spiLeftOut] = [frames + observed.frames.length, spi + observed.spi.length, spiLeftOut + observed.spiLeftOut];
  waiting = { frames: waiting.frames.concat(observed.frames).slice(-MOST_LINES), spi: waiting.spi.concat(observed.spi).slice(-MOST_LINES) };
  showTraffic();
}

function showTraffic(): void {
  if (find("view-network").hidden) return;
  for (const [start, , , fate, frame] of waiting.frames) {
    const { from, to, what } = decode(frame, fate);
    line(find("cable-frames"), [(start / 1000).toFixed(3), from, to, what], [0]);
  }
  for (const [start, end, , name, , write, length, data, meaning] of waiting.spi) {
    line(find("spi-frames"), [(start / 1000).toFixed(3), (end - start).toFixed(2), name, write ? "write" : "read", `${length}`, meaning || hex(data.slice(0, 12))], [0, 1, 4]);
  }
  waiting = { frames: [], spi: [] };
  put("network-left", `Recorded from the start: ${frames} of ${allFrames} frames, ${spi} of ${spi + spiLeftOut} transfers; the tables have the last ${MOST_LINES}.`);
}

function showDrive(now: Drive): void {
  if (drive === now) return;
  drive = now;
  put("drive-says", drive === "the boot loader's" ? "The board is in its boot loader: these files are its own, and it takes a .uf2." : "");
  if (isToRun && drive === "the firmware's") runLinked();
  if (drive === "none") showFiles([], "");
  else if (!find("view-drive").hidden) send({ do: "list" });
}

function showFiles(paths: string[], wrote: string): void {
  if (wrote) tell(/\.uf2$/i.test(wrote) ? `The boot loader has taken ${wrote}: the board runs it.` : `${wrote} is on the board's drive.`);
  const none = document.createElement("li");
  none.textContent = "The board shows no drive now.";
  find("files").replaceChildren(
    ...(paths.length ? [] : [none]),
    ...paths.map((name) => {
      const item = document.createElement("li");
      const open = document.createElement("button");
      [open.type, open.textContent] = ["button", name];
      open.onclick = () => send({ do: "read", path: name });
      item.append(open);
      return item;
    }),
  );
}

worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
  switch (data.is) {
    case "ready":
      void begin();
      break;
    case "powered":
      clear();
      break;
    case "printed":
      hear(data.bytes);
      break;
    case "state":
      show(data.state);
      break;
    case "observed":
      takeTraffic(data.observed);
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
      showFiles(drive === "none" ? [] : data.paths, data.wrote); // an answer may be of the board before a power cycle
      break;
    case "read":
      path.value = data.path;
      text.value = new TextDecoder().decode(data.contents);
      break;
  }
};
worker.onerror = (event) => tell(`The emulator ended: ${event.message}. Load the page again.`, true);

/** What a link asks for, else the client in C. */
async function begin(): Promise<void> {
  try {
    known = JSON.parse(new TextDecoder().decode(await load("catalogue.json"))) as Catalogue;
    measureView(known, () => ({ board: kinds.value, image: firmware, from }));
    showMenu();
    if (kinds.selectedIndex < 0) return tell(`No board of this page is called ${asked.get("board")}; choose one of the menu.`, true);
    const [script, offer] = [asked.get("script"), offered(asked.get("image"))];
    if (offer && !asked.has("board")) {
      kinds.value = offer.board;
      draw();
    }
    if (script !== null) takeScript(await load(script));
    await choose(asked.get("image") ?? (isToRun ? offers()[0]?.id : undefined) ?? "");
    if (script !== null && !isToRun && !message.classList.contains("failed")) {
      select("drive");
      tell(`${message.textContent} ${fileOf(script)} is under Files; save it on the board.`);
    }
  } catch (error) {
    tell(`${reason(error)}. Choose a file instead.`, true);
  }
}

/** What the board prints; while a file goes through its prompt, the console shows nothing. */
function hear(bytes: Uint8Array): void {
  if (saving) return goOn(bytes);
  terminal.write(bytes);
  lastPrinted = (lastPrinted + latin1(bytes.subarray(-PROMPT.length))).slice(-PROMPT.length);
  if (isToRun && drive === "none" && lastPrinted === PROMPT) runLinked();
}

function runLinked(): void {
  isToRun = false;
  path.value = drive === "none" ? "main.py" : "code.py";
  save(true);
}

function save(runs: boolean): void {
  const contents = new TextEncoder().encode(text.value);
  if (runs) select("console");
  if (drive !== "none") return send({ do: "file", path: path.value, contents });
  [saving, startsAgain] = [new Saving(path.value, contents, timeUs), runs];
  for (const piece of saving.typed()) send({ do: "type", text: piece });
  tell(`${path.value} goes to the board through its prompt.`);
}

/** The file on its way has an answer of the board, or waits for it. */
function goOn(bytes: Uint8Array): void {
  const failure = saving!.hear(bytes, timeUs);
  if (failure === undefined) return;
  saving = undefined;
  if (failure) tell(`${path.value} is not saved: ${failure}.`, true);
  else tell(`${path.value} is on the board${startsAgain ? ", which starts again and runs main.py" : ""}.`);
  if (!failure && startsAgain) send({ do: "type", text: RESTART });
  else if (lastPrinted !== PROMPT) terminal.write(`\r\n${PROMPT}`);
}

function setPaused(is: boolean): void {
  paused = is;
  pause.textContent = paused ? "Continue" : "Pause";
}

const tabs = [...document.querySelectorAll<HTMLButtonElement>('[role="tab"]')];
const nameOf = (tab: HTMLButtonElement) => tab.id.replace("tab-", "");

function select(name: string): void {
  for (const tab of tabs) {
    const is = nameOf(tab) === name;
    tab.setAttribute("aria-selected", String(is));
    tab.tabIndex = is ? 0 : -1;
    find(tab.getAttribute("aria-controls")!).hidden = !is;
  }
  if (name === "drive") send({ do: "list" });
  if (name === "console") fit.fit();
  showTraffic();
  showPins();
}

tabs.forEach((tab, index) => {
  tab.onclick = () => select(nameOf(tab));
  tab.onkeydown = ({ key }) => {
    const to = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: tabs.length - 1 }[key];
    if (to === undefined) return;
    const next = tabs[(to + tabs.length) % tabs.length]!;
    select(nameOf(next));
    next.focus();
  };
});

KINDS.forEach((kind) => kinds.append(new Option(kind.title, kind.id)));
if (asked.has("board")) kinds.value = asked.get("board")!;
draw();
for (let number = 0; number < 30; number++) {
  const pin = document.createElement("li");
  pin.textContent = `GP${number}`;
  pins.append(pin);
}
terminal.attachCustomKeyEventHandler(({ key, shiftKey }) => key !== "Tab" || !shiftKey); // Tab is the prompt's, and a keyboard needs a way out
terminal.onData((typed) => saving || send({ do: "type", text: new TextEncoder().encode(typed) }));
image.onclick = () => (image.value = ""); // or the same file, built again, would be no change
image.onchange = () => image.files?.[0] && void takeFile(image.files[0]);
kinds.onchange = () => {
  draw();
  const first = offered(from) ? offers()[0] : undefined; // one of the other board would not suit this one
  if (first) return void choose(first.id);
  if (!firmware[0]) return void choose("");
  showMenu();
  void power(false, true);
};
menu.onchange = () => void choose(menu.value);
find("reset").onclick = () => void power(false, false);
find("bootsel").onclick = () => void power(true, false);
pause.onclick = () => {
  setPaused(!paused);
  send({ do: "pause", paused });
};
step.onclick = () => send({ do: "step", us: 1000 });
speed.onchange = () => send({ do: "speed", factor: Number(speed.value) });
cable.onchange = () => send({ do: "plug", plugged: cable.checked });
find("list").onclick = () => send({ do: "list" });
find("save").onclick = () => save(false);
find("run").onclick = () => save(true);
find("hold").onclick = () => {
  analyser.held = !analyser.held;
  find("hold").setAttribute("aria-pressed", String(analyser.held));
};
find<HTMLSelectElement>("window").onchange = ({ target }) => {
  analyser.windowUs = Number((target as HTMLSelectElement).value);
  showPins();
};
find("network-clear").onclick = clearTraffic;
addEventListener("dragover", (event) => {
  event.preventDefault();
  document.body.classList.add("over");
});
addEventListener("dragleave", () => document.body.classList.remove("over"));
addEventListener("drop", (event) => {
  event.preventDefault();
  document.body.classList.remove("over");
  const file = event.dataTransfer?.files[0];
  if (file) void takeFile(file);
});
if ("serviceWorker" in navigator) void navigator.serviceWorker.register("offline.js");
