// The waves of an SPI bus, from its bytes: levels of SCK, MOSI and MISO over time.

/** First and last edge of SCK in microseconds, controller, bits, MOSI, MISO, SCK idles high, data is valid at the second edge. */
export type Byte = [number, number, number, number, number, number, boolean, boolean];

/** Times and the levels from then on. */
export type Wave = [number, boolean][];

/** Edges of SCK have equal distances. */
const edge = ([first, last, , bits]: Byte, number: number) => first + (number * (last - first)) / (2 * bits - 1);

export function clock(bytes: Byte[]): Wave {
  return bytes.flatMap((byte) => Array.from({ length: 2 * byte[3] }, (_, number) => [edge(byte, number), (number % 2 === 0) !== byte[6]] as [number, boolean]));
}

/** `line`: 4 for MOSI, 5 for MISO. A bit begins half a period before the edge at which it is valid. */
export function data(bytes: Byte[], line: 4 | 5): Wave {
  return bytes.flatMap((byte) =>
    Array.from({ length: byte[3] }, (_, bit) => {
      const valid = 2 * bit + (byte[7] ? 1 : 0);
      return [edge(byte, valid - 1), ((byte[line] >>> (byte[3] - 1 - bit)) & 1) === 1] as [number, boolean];
    }),
  );
}

/** What the bytes say, in hexadecimal, each with its place. */
export function values(bytes: Byte[], line: 4 | 5): [number, number, string][] {
  return bytes.map((byte) => [edge(byte, 0), edge(byte, 2 * byte[3] - 1), byte[line].toString(16).padStart(Math.ceil(byte[3] / 4), "0")]);
}
