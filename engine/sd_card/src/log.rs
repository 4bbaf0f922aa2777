//! Decoded commands and blocks for the trace.

use sim::{Ps, SpiFrame};

const LOGGED_BYTES: usize = 16;

#[derive(Default)]
pub(crate) struct Log {
    frames: Option<Vec<SpiFrame>>,
    start: Ps,
}

sim::left_out!([] Log);

impl Log {
    pub(crate) fn set(&mut self, on: bool) {
        self.frames = on.then(Vec::new);
    }

    pub(crate) fn take(&mut self) -> Vec<SpiFrame> {
        self.frames.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Starts the record of a command at its first byte.
    pub(crate) fn begin(&mut self, now: Ps) {
        self.start = now;
    }

    pub(crate) fn command(&mut self, now: Ps, command: &[u8; 6], app: bool, r1: u8) {
        let index = command[0] & 0x3f;
        let start = self.start;
        self.push(|| SpiFrame {
            start,
            end: now,
            write: true,
            address: index.into(),
            len: 4,
            wire_bytes: 6,
            name: name(index, app),
            data: command[1..5].to_vec(),
            meaning: r1_text(r1),
        });
    }

    pub(crate) fn block(&mut self, start: Ps, now: Ps, write: bool, block: u64, data: &[u8], meaning: &str) {
        self.push(|| SpiFrame {
            start,
            end: now,
            write,
            address: block as u16,
            len: data.len(),
            wire_bytes: data.len() + 3,
            name: format!("block {block}"),
            data: data.iter().copied().take(LOGGED_BYTES).collect(),
            meaning: meaning.into(),
        });
    }

    fn push(&mut self, frame: impl FnOnce() -> SpiFrame) {
        if let Some(frames) = &mut self.frames {
            frames.push(frame());
        }
    }
}

/// Returns the specification's name (tables 7-3 and 7-4).
pub(crate) fn name(index: u8, app: bool) -> String {
    let (prefix, known) = if app { ("ACMD", app_name(index)) } else { ("CMD", command_name(index)) };
    format!("{prefix}{index} {known}").trim_end().to_owned()
}

fn command_name(index: u8) -> &'static str {
    match index {
        0 => "GO_IDLE_STATE",
        1 => "SEND_OP_COND",
        6 => "SWITCH_FUNC",
        8 => "SEND_IF_COND",
        9 => "SEND_CSD",
        10 => "SEND_CID",
        12 => "STOP_TRANSMISSION",
        13 => "SEND_STATUS",
        16 => "SET_BLOCKLEN",
        17 => "READ_SINGLE_BLOCK",
        18 => "READ_MULTIPLE_BLOCK",
        24 => "WRITE_BLOCK",
        25 => "WRITE_MULTIPLE_BLOCK",
        27 => "PROGRAM_CSD",
        28 => "SET_WRITE_PROT",
        29 => "CLR_WRITE_PROT",
        30 => "SEND_WRITE_PROT",
        32 => "ERASE_WR_BLK_START_ADDR",
        33 => "ERASE_WR_BLK_END_ADDR",
        38 => "ERASE",
        42 => "LOCK_UNLOCK",
        55 => "APP_CMD",
        56 => "GEN_CMD",
        58 => "READ_OCR",
        59 => "CRC_ON_OFF",
        _ => "",
    }
}

fn app_name(index: u8) -> &'static str {
    match index {
        13 => "SD_STATUS",
        18 => "SECURE_READ_MULTI_BLOCK",
        22 => "SEND_NUM_WR_BLOCKS",
        23 => "SET_WR_BLK_ERASE_COUNT",
        25 => "SECURE_WRITE_MULTI_BLOCK",
        26 => "SECURE_WRITE_MKB",
        38 => "SECURE_ERASE",
        41 => "SD_SEND_OP_COND",
        42 => "SET_CLR_CARD_DETECT",
        51 => "SEND_SCR",
        _ => "",
    }
}

/// Returns the names of R1's bits (7.3.2.1).
fn r1_text(r1: u8) -> String {
    const BITS: [&str; 7] = ["idle", "erase reset", "illegal", "CRC error", "erase sequence", "address", "parameter"];
    if r1 == 0xff {
        return "no answer".into();
    }
    let set: Vec<&str> = (0..7).filter(|bit| r1 & (1 << bit) != 0).map(|bit| BITS[bit]).collect();
    if set.is_empty() { "ok".into() } else { set.join(", ") }
}
