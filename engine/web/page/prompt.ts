// A file for a board without a drive, typed at MicroPython's raw prompt.

const PIECE_BYTES = 128;
const [INTERRUPT, RAW, RUN, FRIENDLY] = ["\r\x03\x03", "\x01", "\x04", "\x02"];
const encoder = new TextEncoder();

/** What to type so that the board writes `contents` to `path`. */
export function* saved(path: string, contents: Uint8Array): Generator<Uint8Array> {
  const lines = [`import binascii\nf=open(${JSON.stringify(path)},'wb')\nw=f.write;u=binascii.unhexlify`];
  for (let at = 0; at < contents.length; at += PIECE_BYTES) {
    const piece = Array.from(contents.subarray(at, at + PIECE_BYTES), (byte) => byte.toString(16).padStart(2, "0"));
    lines.push(`w(u('${piece.join("")}'))`);
  }
  lines.push(`f.close()\nprint(${JSON.stringify(`${path}: ${contents.length} bytes saved`)})`);
  yield encoder.encode(INTERRUPT + RAW);
  for (const line of lines) yield encoder.encode(line + "\n" + RUN);
  yield encoder.encode(FRIENDLY);
}
