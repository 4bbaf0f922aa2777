// Child process of `baselines`: the loop on rp2350js. Arguments: its folder, UF2, iterations. Prints {"seconds": s}, of CPU time.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, image, iterations] = process.argv.slice(2);
const { RP2350, USBCDC } = await import(pathToFileURL(join(folder, 'dist', 'esm', 'index.js')));

const FLASH_BASE = 0x10000000;
const UF2_BLOCK_BYTES = 512;
const STEPS = 100_000;

const chip = new RP2350({ coreArch: 'arm' });
chip.logger = { debug() {}, info() {}, warn() {}, error() {} };
const blocks = readFileSync(image);
for (let at = 0; at < blocks.length; at += UF2_BLOCK_BYTES) {
  const target = blocks.readUInt32LE(at + 12) - FLASH_BASE;
  const bytes = blocks.readUInt32LE(at + 16);
  // The first block of pico-sdk's files is for another address (erratum RP2350-E10).
  if (target < 0x00800000) chip.flash.set(blocks.subarray(at + 32, at + 32 + bytes), target);
}
chip.reset();

const console_ = new USBCDC(chip.usbCtrl);
const loop = `for i in range(${iterations}): pass\r\n\r\n`;
let output = '';
let started = null;
const type = (text) => {
  output = '';
  for (const byte of Buffer.from(text)) console_.sendSerialByte(byte);
};
console_.onDeviceConnected = () => type('\r\n');
console_.onSerialData = (data) => {
  output += Buffer.from(data).toString('latin1');
  if (!output.endsWith('>>> ')) return;
  if (started === null) {
    started = [performance.now(), process.cpuUsage()];
    type(loop);
  } else {
    const { user, system } = process.cpuUsage(started[1]);
    const seconds = Math.min(performance.now() - started[0], (user + system) / 1000) / 1000;
    process.stdout.write(JSON.stringify({ seconds }));
    process.exit(0);
  }
};
const run = () => {
  for (let step = 0; step < STEPS; step++) chip.step();
  setImmediate(run);
};
run();
