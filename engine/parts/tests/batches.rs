//! PIO's batches compared with one event per edge, on an RP2040: only a whole chip has what may disturb them.

use chip::Event;
use parts::batch::fuzz::{self, Coreless, Peer, Registers};
use rp::rp2040::bus::{Bus, Master};
use rp::rp2040::{memory::Memory, wires};

struct Chip {
    bus: Bus,
    mem: Memory,
}

impl Coreless for Chip {
    type Bus = Bus;
    const REGISTERS: Registers = Registers {
        io_bank0: 0x4001_4000,
        pads_bank0: 0x4001_c000,
        intr0: 0xf0,
        proc0_inte0: 0x100,
        intr: 0x128,
        gpio: [0x10, 0x14, 0x18, 0x20, 0x24],
        timer0: 0x420,
        chan_abort: 0x444,
        incr_write: 5,
        ring_size: 6,
        ring_sel: 10,
        chain_to: 11,
        treq_sel: 15,
    };

    fn new(peer: Peer) -> Self {
        let mut bus = Bus::new(wires::sys(125_000_000), peer);
        bus.sys.freq.clk_sys_hz = 125_000_000;
        bus.sys.clock_sources_dirty = false;
        Self { bus, mem: Memory::new(&[0; 16384], 1 << 20) }
    }

    fn bus(&mut self) -> &mut Bus {
        &mut self.bus
    }

    fn read(&mut self, address: u32) -> u32 {
        self.bus.read(&mut self.mem, Master::Core(0), address, 4).unwrap()
    }

    fn write(&mut self, address: u32, value: u32) {
        self.bus.write(&mut self.mem, Master::Core(0), address, value, 4).unwrap();
    }

    fn handle(&mut self, id: Event) {
        self.bus.event(&mut self.mem, id);
    }

    fn settle(&mut self) {
        self.bus.settle(&mut self.mem);
    }
}

#[test]
fn deferred_batches_equal_single_events() {
    fuzz::batches_equal_single_events::<Chip>();
}

#[test]
fn a_word_moves_in_the_last_pass() {
    fuzz::a_word_moves_in_the_last_pass::<Chip>();
}

#[test]
fn a_word_costs_three_events() {
    fuzz::a_word_costs_three_events::<Chip>();
}
