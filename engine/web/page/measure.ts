// The view in which rows are measured: its settings, which a link carries, the run file, and the published page of it.
import type { FromBench, ToBench } from "./messages.js";

/** As `portbench list workloads --json` has it. */
interface Setting {
  name: string;
  type?: string;
  description?: string;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  choices?: string[];
}

interface Known {
  name: string;
  title: string;
  settings: Setting[];
}

/** An image that the menu offers, by address and hash. `publisher`: "official", or by whom it is. */
export interface Offer {
  id: string;
  board: string;
  url: string;
  sha256: string;
  publisher: string;
}

/** Files of the page's build. */
export interface Catalogue {
  workloads: Known[];
  firmware: Offer[];
  /** SHA-256 of an image, and its name in the catalogue. */
  images: Record<string, string>;
}

export type Image = [string, Uint8Array];

const find = <T extends HTMLElement>(id: string) => document.getElementById(id) as T;
const [workload, profile, seed, other] = [find<HTMLSelectElement>("workload"), find<HTMLSelectElement>("profile"), find<HTMLSelectElement>("seed"), find<HTMLInputElement>("other")];
const places = find("settings");
const [button, cancel, stage, progress, result, link, download] = [find<HTMLButtonElement>("measure"), find<HTMLButtonElement>("cancel"), find("stage"), find("progress"), find("result"), find<HTMLAnchorElement>("link"), find<HTMLAnchorElement>("export")];

let worker: Worker | undefined;
let [beganMs, ranUs, timer] = [0, 0, 0];
let images: Image[] = [];

function tell(text: string, failed = false): void {
  stage.textContent = text;
  stage.classList.toggle("failed", failed);
}

/** Beside the stage: a screen reader is not told each second. */
function showProgress(): void {
  const ran = ranUs ? `${(ranUs / 1e6).toFixed(2)} s on the board, ` : "";
  progress.textContent = `${ran}${Math.round((performance.now() - beganMs) / 1000)} s here`;
}

function busy(is: boolean): void {
  button.disabled = is;
  cancel.disabled = !is;
  clearInterval(timer);
  if (is) [beganMs, ranUs, timer] = [performance.now(), 0, setInterval(showProgress, 1000)];
  else progress.textContent = "";
}

/** A field for each setting, with its default or what `asked` has as NAME=VALUE. */
function showSettings(settings: Setting[], asked: string[]): void {
  places.replaceChildren(
    ...settings.map((each) => {
      const choices = each.type === "boolean" ? ["true", "false"] : each.choices;
      const field = document.createElement(choices ? "select" : "input");
      if (field instanceof HTMLSelectElement) field.append(...(choices ?? []).map((choice) => new Option(choice)));
      else if (each.type === "integer") [field.type, field.min, field.max] = ["number", `${each.minimum ?? ""}`, `${each.maximum ?? ""}`];
      [field.id, field.name] = [`setting-${each.name}`, each.name];
      const usual = String(each.default ?? "");
      field.dataset["usual"] = usual;
      field.value = asked.find((text) => text.startsWith(`${each.name}=`))?.slice(each.name.length + 1) ?? usual;
      const label = document.createElement("label");
      label.htmlFor = field.id;
      label.textContent = `${each.name}: ${each.description}`;
      const place = document.createElement("div");
      place.append(label, field);
      return place;
    }),
  );
}

/** The settings that differ from their defaults, as `portbench run` takes them. */
const given = () =>
  [...places.querySelectorAll<HTMLInputElement | HTMLSelectElement>("input, select")]
    .filter((field) => field.value !== field.dataset["usual"])
    .map((field) => `${field.name}=${field.value}`);

/** Shows the published page of the run, without its script, among this page's own colours. */
function show(html: string): void {
  const page = new DOMParser().parseFromString(html, "text/html");
  const root = result.shadowRoot ?? result.attachShadow({ mode: "open" });
  const style = document.createElement("style");
  style.textContent = (page.querySelector("style")?.textContent ?? "").replace(/:root \{[^}]*\}/g, "").replaceAll("body {", ".none {").replace("html {", ":host {");
  const main = page.querySelector("main")!;
  main.querySelector("nav")?.remove();
  const shown = document.createElement("div");
  shown.append(...main.childNodes);
  for (const section of shown.querySelectorAll(":scope > section")) section.classList.add("part");
  style.textContent = style.textContent.replaceAll("main > section", ".part");
  root.replaceChildren(style, shown);
}

function heard({ data }: MessageEvent<FromBench>): void {
  switch (data.is) {
    case "stage":
      tell(data.what);
      break;
    case "ran":
      ranUs = data.timeUs;
      break;
    case "measured": {
      const rows = (JSON.parse(data.run) as { rows: { runtime: string; status: string; reason?: string }[] }).rows;
      const failed = rows.find((row) => row.status !== "measured");
      const missing = new Set(rows.map((row) => row.runtime)).size < images.length;
      download.href = URL.createObjectURL(new Blob([data.run], { type: "application/json" }));
      download.hidden = false;
      result.dataset["run"] = data.run;
      tell(failed ? `A row has no figures: ${failed.reason}` : missing ? "One of the images has no such profile." : "drawing", failed !== undefined || missing);
      break;
    }
    case "drawn":
      if (!stage.classList.contains("failed")) tell("Done. The run file is for portbench show and portbench compare.");
      show(data.html);
      end();
      break;
    case "failed":
      tell(data.why, true);
      end();
      break;
  }
}

/** Python and Vega go with their worker: they would keep 200 MB. */
function end(): void {
  worker?.terminate();
  worker = undefined;
  busy(false);
}

function stop(why: string): void {
  end();
  tell(why);
}

/** `image`: what is to be measured beside a further file; `from`: how a link names it. `board`: its id. */
export function measureView(known: Catalogue, current: () => { board: string; image: Image; from: string | null }): void {
  for (const { name, title } of known.workloads) workload.append(new Option(title, name));
  const asked = new URLSearchParams(location.search);
  for (const select of [workload, profile, seed]) {
    const value = asked.get(select.id);
    if (value !== null && [...select.options].some((option) => option.value === value)) select.value = value;
  }
  const relink = () => {
    const settings = new URLSearchParams({ board: current().board, workload: workload.value, profile: profile.value, seed: seed.value });
    for (const [name, from] of [["image", current().from], ["script", asked.get("script")]] as const) if (from) settings.set(name, from);
    for (const setting of given()) settings.append("setting", setting);
    link.href = `?${settings}`;
  };
  const choose = (asked: string[]) => showSettings(known.workloads[workload.selectedIndex]!.settings, asked);
  choose(asked.getAll("setting"));
  workload.addEventListener("change", () => choose([]));
  for (const place of [workload, profile, seed, places]) place.addEventListener("change", relink);
  addEventListener("firmware", relink);
  relink();
  button.onclick = async () => {
    busy(true);
    tell("loading");
    const { board, image } = current();
    images = [image];
    const further = other.files?.[0];
    if (further) images.push([further.name, new Uint8Array(await further.arrayBuffer())]);
    if (!worker) {
      worker = new Worker("bench.js", { type: "module" });
      worker.onmessage = heard;
      worker.onerror = (event) => stop(`Measuring ended: ${event.message}`);
    }
    const settings = [`seed=${seed.value}`, ...given()];
    const asked = { workload: [workload.value], setting: settings, runs: 1, attribute: true, board, ...(profile.value ? { profile: [profile.value] } : { newest: true }) };
    worker.postMessage({ images, asked } satisfies ToBench);
  };
  cancel.onclick = () => stop("Cancelled.");
}
