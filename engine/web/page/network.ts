// Frames of the cable, decoded to one line each.

const LETTERS = "FSRPAUEC";
const TYPES: Record<number, string> = { 0: "echo reply", 3: "unreachable", 8: "echo request" };

const word = (bytes: number[], at: number) => ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
const ip = (bytes: number[], at: number) => bytes.slice(at, at + 4).join(".");
const text = (bytes: number[]) => bytes.map((byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·")).join("");

export interface Decoded {
  from: string;
  to: string;
  what: string;
}

/** An Ethernet frame from its destination address on, without padding. `fate`: what became of it. */
export function decode(frame: number[], fate: string): Decoded {
  const { from, to, what } = read(frame);
  return { from, to, what: fate === "Delivered" ? what : `${what} (${fate.toLowerCase()})` };
}

function read(frame: number[]): Decoded {
  const mac = (at: number) => frame.slice(at, at + 6).map((byte) => byte.toString(16).padStart(2, "0")).join(":");
  const kind = word(frame, 12);
  if (kind === 0x0806) {
    const [from, to] = [ip(frame, 28), ip(frame, 38)];
    return { from, to, what: word(frame, 20) === 1 ? `ARP who has ${to}` : `ARP ${from} is at ${mac(22)}` };
  }
  if (kind !== 0x0800) return { from: mac(6), to: mac(0), what: `type ${kind.toString(16).padStart(4, "0")}, ${frame.length} bytes` };
  const head = 14 + ((frame[14] ?? 0) & 15) * 4;
  const end = Math.min(frame.length, 14 + word(frame, 16));
  const [from, to] = [ip(frame, 26), ip(frame, 30)];
  switch (frame[23]) {
    case 1:
      return { from, to, what: `ICMP ${TYPES[frame[head] ?? -1] ?? `type ${frame[head]}`}, ${end - head - 8} bytes` };
    case 6: {
      const flags = [...LETTERS].filter((_, index) => ((frame[head + 13] ?? 0) >> index) & 1).join("");
      const data = frame.slice(head + ((frame[head + 12] ?? 0) >> 4) * 4, end);
      const names = flags.replace("F", "FIN ").replace("S", "SYN ").replace("R", "RST ").replace("P", "PSH ").replace("A", "ACK ").trim();
      return { from: `${from}:${word(frame, head)}`, to: `${to}:${word(frame, head + 2)}`, what: `TCP ${names}${data.length ? `, ${data.length} bytes: ${text(data.slice(0, 40))}` : ""}` };
    }
    case 17: {
      const [source, target] = [word(frame, head), word(frame, head + 2)];
      const name = target === 67 || source === 67 ? "DHCP" : target === 53 || source === 53 ? "DNS" : "UDP";
      return { from: `${from}:${source}`, to: `${to}:${target}`, what: `${name}, ${end - head - 8} bytes` };
    }
    default:
      return { from, to, what: `IPv4 protocol ${frame[23]}, ${end - head} bytes` };
  }
}
