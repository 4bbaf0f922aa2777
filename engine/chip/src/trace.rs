//! The event trace: off by default, and without effect on simulated time.

use serde::{Serialize, Serializer};
use sim::{Ps, us};

use crate::PROBED;

/// The kinds of record; each is a bit of [`Trace`]'s mask.
pub mod kind {
    /// Frames of the SPI controllers.
    pub const SPI: u32 = 1;
    /// Changes of pins.
    pub const PINS: u32 = 2;
    /// Exceptions.
    pub const IRQ: u32 = 4;
    /// Transactions on USB.
    pub const USB: u32 = 8;
    /// Ethernet frames.
    pub const LAN: u32 = 16;
    /// Instructions.
    pub const PC: u32 = 32;
    /// Accesses to peripherals.
    pub const REGISTERS: u32 = 64;
    /// Resets of the chip.
    pub const RESET: u32 = 128;
    /// Sleep and waking of the cores.
    pub const CORES: u32 = 256;
    /// The times of SPI frames on the wire.
    pub const WIRE: u32 = 512;

    /// All kinds by their names.
    pub const ALL: [(&str, u32); 10] = [
        ("spi", SPI),
        ("pins", PINS),
        ("irq", IRQ),
        ("usb", USB),
        ("lan", LAN),
        ("pc", PC),
        ("registers", REGISTERS),
        ("reset", RESET),
        ("cores", CORES),
        ("wire", WIRE),
    ];
}

fn in_us<S: Serializer>(at: &Ps, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_f64(us(*at))
}

/// What happened at one moment. Serialized, it has its kind's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[non_exhaustive]
pub enum Record {
    /// One SPI frame on controller `spi`.
    Spi {
        /// The controller.
        spi: u8,
        /// The value on MOSI.
        mosi: u16,
        /// The value on MISO.
        miso: u16,
    },
    /// Levels and drivers of bank 0 after a change.
    Pins {
        /// The level of each pin.
        level: u64,
        /// The pins that the chip drives.
        output_enabled: u64,
    },
    /// Core took exception `number` (16 + IRQ) or returned from it.
    #[serde(rename = "irq")]
    Exception {
        /// The core.
        core: u8,
        /// Number of the exception.
        number: u8,
        /// Its entry; otherwise its end.
        entry: bool,
    },
    /// USB token as sent by the host, `endpoint` with bit 7 for IN, and the handshake.
    Usb {
        /// Number of the endpoint.
        endpoint: u8,
        /// The host's token: `SETUP`, `OUT`, `IN`.
        token: &'static str,
        /// The answer to it.
        handshake: &'static str,
        /// Bytes of data.
        len: u16,
    },
    /// A frame on the Ethernet link.
    Lan {
        /// It comes from the board; otherwise from the PC.
        from_board: bool,
        /// Bytes of data.
        len: u16,
    },
    /// Sampled program counter.
    Pc {
        /// The core.
        core: u8,
        /// Address of the instruction.
        pc: u32,
    },
    /// Peripheral register access by a core.
    #[serde(rename = "registers")]
    Register {
        /// The core.
        core: u8,
        /// It is a write; otherwise a read.
        write: bool,
        /// The register's address.
        address: u32,
        /// The word that was read or written.
        value: u32,
    },
    /// The chip was reset.
    Reset {
        /// What reset it.
        cause: &'static str,
    },
    /// A core starts or stops running: it sleeps, is locked up, or is held in reset.
    #[serde(rename = "cores")]
    Core {
        /// The core.
        core: u8,
        /// It runs; otherwise it sleeps.
        running: bool,
    },
    /// One SPI frame in Motorola's format on the wires: SCK has its edges at equal distances, the first at `first` and
    /// the last at the record's time.
    Wire {
        /// The controller.
        spi: u8,
        /// Bits of the frame.
        bits: u8,
        /// The value on MOSI.
        mosi: u16,
        /// The value on MISO.
        miso: u16,
        /// Simulated time at which the frame begins.
        #[serde(rename = "begin_us", serialize_with = "in_us")]
        begin: Ps,
        /// Simulated time of its first edge of SCK.
        #[serde(rename = "first_us", serialize_with = "in_us")]
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

    /// Ends recording. The records stay.
    pub fn stop(&mut self) {
        self.mask = 0;
    }

    /// Returns whether records of `kind` are recorded.
    #[inline]
    pub fn wants(&self, kind: u32) -> bool {
        PROBED && self.mask & kind != 0
    }

    /// Adds what happened at `at`, or counts it as dropped.
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
