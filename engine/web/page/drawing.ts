// The board as a picture: its pins by their places on a Pico, its LED, and its network part.

/** GPIO numbers, or what else is there, from pin 1 to pin 40 of a Pico; all boards here have them alike. */
const PLACES = [
  "0", "1", "GND", "2", "3", "4", "5", "GND", "6", "7", "8", "9", "GND", "10", "11", "12", "13", "GND", "14", "15",
  "16", "17", "GND", "18", "19", "20", "21", "GND", "22", "RUN", "26", "27", "GND", "28", "ADC", "3V3", "EN", "GND", "VSYS", "VBUS",
];
const [LEFT, STEP, TOP, BOTTOM] = [46, 14.6, 12, 118];

export interface Pins {
  levels: number;
  driven: number;
}

const bit = (bits: number, pin: number) => ((bits >>> pin) & 1) === 1;

export class Drawing {
  #pins: [number, SVGElement][] = [];
  #lamp: SVGElement;

  /** Draws into `place`. `network`: the chip's name, empty without one; `wired`: it is an Ethernet chip. */
  constructor(place: HTMLElement, title: string, mcu: string, network: string, wired: boolean) {
    const made = PLACES.map((name, index) => {
      const upper = index >= 20;
      const x = LEFT + STEP * (upper ? 39 - index : index);
      const y = upper ? TOP : BOTTOM;
      const isPin = /^\d+$/.test(name);
      const shape = `<circle cx="${x}" cy="${y}" r="4.4" class="${isPin ? "pin" : "metal"}"${isPin ? ` data-pin="${name}"` : ""}/>`;
      if (name.length <= 2) return `${shape}<text x="${x}" y="${upper ? y + 13 : y - 8}" text-anchor="middle" class="silk">${name}</text>`;
      // A longer name is wider than its place, so it stands upright.
      return `${shape}<text transform="translate(${x + 2.2} ${upper ? y + 7 : y - 7}) rotate(-90)" text-anchor="${upper ? "end" : "start"}" class="silk small">${name}</text>`;
    });
    const socket = wired ? '<rect x="338" y="40" width="42" height="50" rx="2" class="metal"/><rect x="350" y="50" width="24" height="30" class="part"/>' : "";
    const chip = network ? `<rect x="226" y="46" width="62" height="38" rx="3" class="part"/><text x="257" y="68" text-anchor="middle" class="silk">${network}</text>` : "";
    place.innerHTML = `<svg viewBox="0 0 380 130" role="img" aria-label="${title}: pins, LED and connectors">
      <rect x="14" y="2" width="352" height="126" rx="6" class="pcb"/>
      <rect x="2" y="48" width="30" height="34" rx="3" class="metal"/><text x="17" y="68" text-anchor="middle" style="fill: #16181d" class="silk">USB</text>
      <circle cx="54" cy="65" r="6" class="lamp"/><text x="54" y="84" text-anchor="middle" class="silk">LED</text>
      <rect x="76" y="56" width="22" height="18" rx="9" class="metal"/><text x="87" y="84" text-anchor="middle" class="silk">BOOTSEL</text>
      <rect x="132" y="42" width="46" height="46" rx="3" class="part"/><text x="155" y="68" text-anchor="middle" class="silk">${mcu}</text>
      ${chip}${socket}${made.join("")}</svg>`;
    for (const element of place.querySelectorAll<SVGElement>(".pin")) this.#pins.push([Number(element.dataset["pin"]), element]);
    this.#lamp = place.querySelector<SVGElement>(".lamp")!;
  }

  show({ levels, driven }: Pins, lit: boolean): void {
    for (const [pin, element] of this.#pins) {
      element.classList.toggle("high", bit(levels, pin));
      element.classList.toggle("driven", bit(driven, pin));
    }
    this.#lamp.classList.toggle("lit", lit);
  }
}

/** What a screen reader reads in place of the picture. */
export function words({ levels, driven }: Pins, lit: boolean): string {
  const high = Array.from({ length: 30 }, (_, pin) => pin).filter((pin) => bit(driven, pin) && bit(levels, pin));
  const drives = high.length ? `drives high: ${high.map((pin) => `GP${pin}`).join(" ")}` : "drives no pin high";
  return `LED ${lit ? "on" : "off"}; ${drives}.`;
}
