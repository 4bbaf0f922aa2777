//! The event trace: off by default, and without effect on simulated time.

use crate::PROBED;
use sim::Ps;

/// The kinds of record; each is a bit of [`Trace`]'s mask.
pub mod kind {
    pub const SPI: u32 = 1;
    pub const PINS: u32 = 2;
    pub const IRQ: u32 = 4;
    pub const USB: u32 = 8;
    pub const LAN: u32 = 16;
    pub const PC: u32 = 32;
    pub const REGISTERS: u32 = 64;
    pub const RESET: u32 = 128;
    pub const CORES: u32 = 256;
    pub const WIRE: u32 = 512;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// One SPI frame on controller `spi`.
    Spi {
        spi: u8,
        mosi: u16,
        miso: u16,
    },
    /// Levels and drivers of bank 0 after a change.
    Pins {
        level: u64,
        output_enabled: u64,
    },
    /// Core took exception `number` (16 + IRQ) or returned from it.
    Exception {
        core: u8,
        number: u8,
        entry: bool,
    },
    /// USB token as sent by the host, `endpoint` with bit 7 for IN, and the handshake.
    Usb {
        endpoint: u8,
        token: &'static str,
        handshake: &'static str,
        len: u16,
    },
    Lan {
        from_board: bool,
        len: u16,
    },
    /// Sampled program counter.
    Pc {
        core: u8,
        pc: u32,
    },
    /// Peripheral register access by a core.
    Register {
        core: u8,
        write: bool,
        address: u32,
        value: u32,
    },
    Reset {
        cause: &'static str,
    },
    /// A core starts or stops running: it sleeps, is locked up, or is held in reset.
    Core {
        core: u8,
        running: bool,
    },
    /// One SPI frame in Motorola's format on the wires: SCK has its edges at equal distances, the first at `first` and
    /// the last at the record's time.
    Wire {
        spi: u8,
        bits: u8,
        mosi: u16,
        miso: u16,
        begin: Ps,
        first: Ps,
        /// SPO: SCK idles high.
        polarity: bool,
        /// SPH: data is valid at SCK's second edge, not at its first.
        phase: bool,
    },
}

/// Bounded list of records with their simulated times.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    mask: u32,
    limit: usize,
    records: Vec<(Ps, Record)>,
    dropped: u64,
}

impl Trace {
    /// Records the kinds in `mask`, at most `limit` records; later ones are counted as dropped.
    pub fn start(&mut self, mask: u32, limit: usize) {
        self.mask = mask;
        self.limit = limit;
    }

    pub fn stop(&mut self) {
        self.mask = 0;
    }

    #[inline]
    pub fn wants(&self, kind: u32) -> bool {
        PROBED && self.mask & kind != 0
    }

    pub fn push(&mut self, at: Ps, record: Record) {
        if self.records.len() < self.limit {
            self.records.push((at, record));
        } else {
            self.dropped += 1;
        }
    }

    /// Takes the records, and the number of those dropped.
    pub fn take(&mut self) -> (Vec<(Ps, Record)>, u64) {
        (std::mem::take(&mut self.records), std::mem::take(&mut self.dropped))
    }
}
