//! An SPI device on the pins of a PIO program.

use rp::rp2040::bus::{Bus, Master};
use rp::rp2040::memory::Memory;
use rp::rp2040::sys::watcher;
use rp::rp2040::wires::function;
use rp::rp2040::{Sys, World};
use sim::Ps;

/// Registers of PIO0 and of its state machine 0.
mod offset {
    pub const CTRL: u32 = 0x000;
    pub const TXF0: u32 = 0x010;
    pub const RXF0: u32 = 0x020;
    pub const INPUT_SYNC_BYPASS: u32 = 0x038;
    pub const INSTR_MEM0: u32 = 0x048;
    pub const SM_EXECCTRL: u32 = 0x0cc;
    pub const SM_SHIFTCTRL: u32 = 0x0d0;
    pub const SM_INSTR: u32 = 0x0d8;
    pub const SM_PINCTRL: u32 = 0x0dc;
}
/// `out pins, 1 side 0 [1]` and `in pins, 1 side 1 [1]`.
const PROGRAM: [u32; 2] = [0x6101, 0x5101];
/// `set pindirs, 3`.
const SET_PINDIRS: u32 = 0xe083;

/// A device on GPIO2 (SCK), GPIO3 (MOSI) and GPIO4 (MISO) in SPI mode 0, most significant bit first.
#[derive(Default)]
struct SpiDevice {
    sck: bool,
    received: Vec<u8>,
    bits: u32,
    shift: u8,
    answer: u8,
    rises: Vec<Ps>,
}

impl World for SpiDevice {
    fn spi_frame(&mut self, _sys: &mut Sys, _spi: usize, _mosi: u16, _bits: u8) -> u16 {
        panic!("no SPI peripheral is in use")
    }

    fn pins_changed(&mut self, sys: &mut Sys) {
        let level = sys.pins.level();
        let sck = level & (1 << 2) != 0;
        let rises = sck && !self.sck;
        let falls = !sck && self.sck;
        self.sck = sck;
        if rises {
            self.rises.push(sys.now());
            self.shift = (self.shift << 1) | u8::from(level & (1 << 3) != 0);
            self.bits += 1;
            if self.bits.is_multiple_of(8) {
                self.received.push(self.shift);
            }
        } else if falls {
            self.answer = self.answer.rotate_left(1);
        }
        sys.pins.drive(4, Some(self.answer & 0x80 != 0));
    }
}

#[test]
fn a_device_on_the_pins_sees_every_edge_and_answers() {
    const PIO0: u32 = 0x5020_0000;
    let mut mem = Memory::new(&[0; 16384], 1 << 20);
    let device = SpiDevice { answer: 0x3c, ..SpiDevice::default() };
    let mut bus = Bus::new(rp::rp2040::wires::sys(125_000_000), device);
    // clk_sys stays at 125 MHz, regardless of CLOCKS' reset state.
    bus.sys.clock_sources_dirty = false;
    bus.sys.pins.function_mask[function::PIO0] = 0b1100;
    bus.sys.watch_pins(watcher::WORLD, 0b1100);
    let write = |bus: &mut Bus, mem: &mut Memory, register: u32, value: u32| {
        bus.write(mem, Master::Core(0), PIO0 + register, value, 4).unwrap();
    };
    // Both with automatic FIFOs of 8 bits.
    for (address, i) in PROGRAM.into_iter().enumerate() {
        write(&mut bus, &mut mem, offset::INSTR_MEM0 + 4 * address as u32, i);
    }
    write(&mut bus, &mut mem, offset::SM_EXECCTRL, 1 << 12);
    write(
        &mut bus,
        &mut mem,
        offset::SM_PINCTRL,
        (1 << 29) | (2 << 26) | (1 << 20) | (4 << 15) | (2 << 10) | (2 << 5) | 3,
    );
    write(&mut bus, &mut mem, offset::SM_SHIFTCTRL, (8 << 25) | (8 << 20) | (3 << 16));
    write(&mut bus, &mut mem, offset::INPUT_SYNC_BYPASS, 1 << 4);
    write(&mut bus, &mut mem, offset::SM_INSTR, SET_PINDIRS);
    write(&mut bus, &mut mem, offset::CTRL, 1);
    // Narrow writes are replicated over the bus, which drivers use to write bytes.
    for byte in [0xa5, 0x96, 0x01] {
        bus.write(&mut mem, Master::Core(0), PIO0 + offset::TXF0, byte, 1).unwrap();
    }
    while let Some(id) = bus.sys.take_event(2 * 1_000_000) {
        bus.event(&mut mem, id);
    }
    bus.sys.cycle = 250;
    let received: Vec<u32> =
        (0..3).map(|_| bus.read(&mut mem, Master::Core(0), PIO0 + offset::RXF0, 4).unwrap()).collect();
    assert_eq!(received, [0x3c; 3]);
    let device: &mut SpiDevice = bus.world.of().expect("the device");
    assert_eq!(device.received, [0xa5, 0x96, 0x01]);
    assert_eq!(device.rises.len(), 24);
    assert!(device.rises.windows(2).all(|pair| pair[1] - pair[0] == 32_000), "{:?}", device.rises);
}
