// A file for a board without a drive, typed at MicroPython's raw prompt. The console shows nothing of that.

const PIECE_BYTES = 128;
const [INTERRUPT, RAW, RUN, FRIENDLY] = ["\r\x03\x03", "\x01", "\x04", "\x02"];
/** Behind the answer to each line at the raw prompt. */
const ANSWERED = "\x04>";
const LIMIT_US = 10e6;
const encoder = new TextEncoder();

/** MicroPython's prompt, at which a line is typed. */
export const PROMPT = ">>> ";
/** At the prompt, it starts MicroPython again, with `main.py`. */
export const RESTART = encoder.encode("\x04");

export const latin1 = (bytes: Uint8Array) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");

export class Saving {
  #lines: string[];
  #heard = "";
  #answers = 1;
  #untilUs: number;

  constructor(path: string, contents: Uint8Array, nowUs: number) {
    this.#untilUs = nowUs + LIMIT_US;
    this.#lines = [`import binascii\nf=open(${JSON.stringify(path)},'wb')\nw=f.write;u=binascii.unhexlify`];
    for (let at = 0; at < contents.length; at += PIECE_BYTES) {
      const piece = Array.from(contents.subarray(at, at + PIECE_BYTES), (byte) => byte.toString(16).padStart(2, "0"));
      this.#lines.push(`w(u('${piece.join("")}'))`);
    }
    this.#lines.push("f.close()");
  }

  /** What to type. */
  *typed(): Generator<Uint8Array> {
    yield encoder.encode(INTERRUPT + RAW);
    for (const line of this.#lines) yield encoder.encode(line + "\n" + RUN);
    yield encoder.encode(FRIENDLY);
  }

  /** Takes what the board prints, and its time. Returns how it ended, when it did: empty, or why nothing is saved. */
  hear(bytes: Uint8Array, nowUs: number): string | undefined {
    this.#heard += latin1(bytes);
    const answers = this.#heard.split(ANSWERED);
    if (answers.length > this.#answers) [this.#answers, this.#untilUs] = [answers.length, nowUs + LIMIT_US];
    if (nowUs > this.#untilUs) return "the board does not answer at a prompt of MicroPython; power cycle it, and try again";
    if (answers.length <= this.#lines.length || !answers.at(-1)!.includes(PROMPT)) return undefined;
    const errors = answers.slice(0, -1).map((answer) => answer.split("\x04")[1]!.trim());
    return errors.find(Boolean)?.split("\n").at(-1) ?? "";
  }
}
