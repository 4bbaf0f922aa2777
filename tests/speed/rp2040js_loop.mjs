// Child process of `baselines`: the loop on rp2040js. Arguments: UF2, boot ROM, iterations. Prints {"seconds": s}, of CPU time.

import { readFileSync } from 'node:fs';
import { ConsoleLogger, LogLevel, Simulator, USBCDC } from 'rp2040js';

const FLASH_BASE = 0x10000000;
const UF2_BLOCK_BYTES = 512;
const [image, rom, iterations] = process.argv.slice(2);

const simulator = new Simulator();
const chip = simulator.rp2040;
chip.logger = new ConsoleLogger(LogLevel.Error);
const romBytes = readFileSync(rom);
chip.loadBootrom(Uint32Array.from({ length: romBytes.length / 4 }, (_, i) => romBytes.readUInt32LE(4 * i)));
const blocks = readFileSync(image);
for (let at = 0; at < blocks.length; at += UF2_BLOCK_BYTES) {
  const target = blocks.readUInt32LE(at + 12) - FLASH_BASE;
  const bytes = blocks.readUInt32LE(at + 16);
  chip.flash.set(blocks.subarray(at + 32, at + 32 + bytes), target);
}

const console_ = new USBCDC(chip.usbCtrl);
const loop = `for i in range(${iterations}): pass\r\n\r\n`;
let output = '';
let started = null;
// Left alone, the emulated PC answers every read of an idle console with an empty packet at once, and the firmware
// would spend two thirds of its instructions on these. A real PC sends nothing.
const answer = chip.usbCtrl.onEndpointRead;
const unanswered = [];
chip.usbCtrl.onEndpointRead = (endpoint, size) => {
  if (endpoint === 0 || !console_.txFIFO.empty) answer(endpoint, size);
  else unanswered.push([endpoint, size]);
};
const type = (text) => {
  output = '';
  for (const byte of Buffer.from(text)) console_.sendSerialByte(byte);
  while (unanswered.length) answer(...unanswered.pop());
};
console_.onDeviceConnected = () => type('\r\n');
console_.onSerialData = (data) => {
  output += Buffer.from(data).toString('latin1');
  if (!output.endsWith('>>> ')) return;
  if (started === null) {
    started = [performance.now(), process.cpuUsage()];
    type(loop);
  } else {
    // The compiler's threads count as CPU time, too: on an idle machine the wall's clock shows less.
    const { user, system } = process.cpuUsage(started[1]);
    const seconds = Math.min(performance.now() - started[0], (user + system) / 1000) / 1000;
    process.stdout.write(JSON.stringify({ seconds }));
    process.exit(0);
  }
};
chip.core.PC = FLASH_BASE;
simulator.execute();
