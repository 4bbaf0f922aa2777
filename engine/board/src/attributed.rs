//! The recordings of a board for an attribution of time: of the chip, its SPI frames and the cable.

use std::collections::VecDeque;

use ::lan::{Fate, FrameRecord};
use air::Passage;
use attribution::{
    Cause, Class, Clock, Frame, Interval, JOIN, Readings, Recording, Shares, Sought, Tape, Transfers, Windows,
    attribute, lan, timeline,
};
use chip::mcu::Mcu;
use serde_json::{Map, Value, json};
use sim::{LogReader, Ps, SpiFrame};

use crate::passages::beside;
use crate::wiring::Wiring;

/// Most frames of an attribution; each takes some hundred bytes until its end.
const MOST_FRAMES: usize = 1 << 17;
/// Most frames of the cable whose passage over the air is still to come; older ones were lost.
const MOST_PENDING: usize = 1 << 12;

/// Returns what an attribution says of a chip as it is at the end of the run: Hz, and cycles of clk_sys.
pub(crate) fn clocks(chip: &mut dyn Mcu) -> Value {
    let clk_sys_hz = chip.sys().freq.clk_sys_hz;
    let xip = chip.xip().map(|xip| (xip.sck_cycles, xip.miss_cycles, xip.next_line_cycles));
    let (sck_cycles, miss_cycles, next_line_cycles) = xip.unwrap_or_default();
    let flash_hz = clk_sys_hz.checked_div(sck_cycles.into()).unwrap_or(0);
    json!({ "clk_sys_hz": clk_sys_hz, "flash_hz": flash_hz, "miss_cycles": miss_cycles,
        "next_line_cycles": next_line_cycles })
}

/// What a board recorded for [`attribution::attribute`].
#[derive(Debug)]
pub(crate) struct Recorded {
    /// Changes of the chip's state.
    recording: Recording,
    /// Frames in order of their start, without lost ones.
    frames: Vec<Frame>,
    /// Transfers of the network chip.
    transfers: Transfers,
}

impl Recorded {
    /// Returns whether anything of it is lost.
    pub(crate) fn is_torn(&self) -> bool {
        self.recording.is_torn() || self.transfers.tape.has_failed()
    }

    /// Attributes the intervals `given`, or those that `sought` describes: adds their columns and those of the stages
    /// before the first to `told`. `spans`: null, no readings of the clock fit. `misses`: the address of each line of flash
    /// that was missed from the first interval to the last, and how often.
    pub(crate) fn account(&self, told: &mut Value, flash_base: u32, sought: &Sought, given: Option<Vec<Interval>>) {
        if let Some(windows) = self.windows(sought, given) {
            let shares = |spans: &[Interval]| attribute(&self.recording, &self.frames, &self.transfers, spans);
            let (names, stages) = self.stages(&windows);
            let shared = shares(&windows.intervals);
            told["misses"] = shared.misses.iter().map(|(line, count)| json!([flash_base + line, count])).collect();
            told["spans"] = columns(&windows.intervals, &shared);
            told["stages"] = columns(&stages, &shares(&stages));
            told["stages"]["names"] = json!(names);
        } else {
            told["spans"] = Value::Null;
        }
        told["lost"] = self.is_torn().into(); // also where a tape could not be read just now
    }

    fn windows(&self, sought: &Sought, given: Option<Vec<Interval>>) -> Option<Windows> {
        let marks = &self.recording.marks;
        let readable = Clock::ALL.into_iter();
        Some(match given {
            None => {
                let readings = Readings::new(marks, Ps::MAX);
                readable.map(|clock| Sought { clock, ..sought.clone() }).find_map(|sought| readings.find(&sought))?
            }
            Some(spans) => {
                let first = spans.first().map_or(0, |span| span.0);
                let before = Readings::new(marks, first);
                let ready = readable.map(|clock| Sought { clock, ..sought.clone() });
                let ready = ready.filter_map(|sought| before.find_ready(&sought)).next().unwrap_or_default();
                Windows { intervals: spans, ..ready }
            }
        })
    }

    /// What went on at each moment of `span`, see [`timeline`]. `None`: not all of it was recorded.
    pub(crate) fn moments(&self, span: Interval) -> Option<Vec<(Interval, &'static str)>> {
        if self.is_torn() {
            return None;
        }
        let found = timeline(&self.recording, &self.frames, &self.transfers, span);
        Some(found.into_iter().map(|(span, cause)| (span, Cause::ALL[cause as usize].1)).collect())
    }

    /// Returns the stages of the way to the first interval, as far as the client tells of them: `boot`, `link`, `address`,
    /// `connect`; else all of it, `start`.
    fn stages(&self, windows: &Windows) -> (Vec<&'static str>, Vec<Interval>) {
        let (mut names, mut stages) = (Vec::new(), Vec::new());
        let mut add = |name, from: Ps, to: Ps| {
            if from < to {
                names.push(name);
                stages.push((from, to));
            }
        };
        let (Some(started), Some(ready)) = (windows.started, windows.ready) else {
            if let Some(first) = windows.intervals.first() {
                add("start", 0, first.0);
            }
            return (names, stages);
        };
        add("boot", 0, started);
        let linked = windows.linked.unwrap_or(started);
        add("link", started, linked);
        let opens = self.frames.iter().filter(|frame| !frame.to_board && frame.class == Class::Open);
        let opened = opens.map(|frame| frame.start).find(|&at| (linked..ready).contains(&at)).unwrap_or(ready);
        add("address", linked, opened);
        add("connect", opened, ready);
        (names, stages)
    }
}

/// Returns the columns of a table with a row for each interval. `exceptions`: each by its number.
fn columns(spans: &[Interval], shares: &Shares) -> Value {
    let mut causes = Map::new();
    for (cause, name) in Cause::ALL {
        let column: Vec<Ps> = shares.causes_ps.iter().map(|each| each[cause as usize]).collect();
        if column.iter().any(|&ps| ps != 0) {
            causes.insert(name.into(), json!(column));
        }
    }
    json!({
        "start_ps": spans.iter().map(|span| span.0).collect::<Vec<_>>(),
        "duration_ps": spans.iter().map(|span| span.1 - span.0).collect::<Vec<_>>(),
        "causes_ps": causes,
        "counts": shares.counts,
        "exceptions": shares.exceptions.iter().collect::<Vec<_>>(),
        "registers": shares.registers,
    })
}

/// The frames and transfers of an attribution so far.
pub(crate) struct Attributing {
    spi: LogReader,
    cable: Option<LogReader>,
    limit: u64,
    frames: Vec<Frame>,
    transfers: Transfers,
    lost: u64,
    radio: Option<Clocked>,
}

/// Of a radio chip and its air.
#[derive(Default)]
struct Clocked {
    /// Times with bits on gSPI.
    bits: Tape<Interval>,
    passages: Vec<Passage>,
    /// Frames of the cable whose passage is not known yet.
    pending: VecDeque<FrameRecord>,
}

impl Attributing {
    pub(crate) fn new(wiring: &mut Wiring, limit: usize) -> Self {
        let spi = wiring.log_spi();
        let cable = wiring.network.as_mut().map(|network| {
            network.log_radio(true);
            network.lan.log_frames(limit)
        });
        let radio = wiring.network.as_mut().and_then(|network| network.take_radio()).map(|_| Clocked::default());
        let (frames, transfers) = (Vec::new(), Transfers::default());
        Self { spi, cable, limit: limit as u64, frames, transfers, lost: 0, radio }
    }

    pub(crate) fn gather(&mut self, wiring: &mut Wiring) {
        for (_, frame) in wiring.take_spi_log(&self.spi) {
            if self.transfers.tape.count() < self.limit {
                self.transfers.push(frame.start, frame.wire_bytes, &what(&frame));
            } else {
                self.lost += 1;
            }
        }
        let Some((network, reader)) = wiring.network.as_mut().zip(self.cable.as_ref()) else { return };
        let records = network.lan.take_log(reader).into_iter().filter(|frame| frame.fate == Fate::Delivered);
        let frames = match &mut self.radio {
            None => records.map(|record| frame(&record, Vec::new())).collect(),
            Some(radio) => {
                if let Some(more) = network.take_radio() {
                    radio.passages.extend(more.passages);
                    more.clocked.into_iter().for_each(|bits| radio.bits.push(bits));
                }
                radio.pending.extend(records);
                radio.arrived()
            }
        };
        for frame in frames {
            if self.frames.len() < MOST_FRAMES {
                self.frames.push(frame);
            } else {
                self.lost += 1;
            }
        }
    }

    pub(crate) fn finish(mut self, wiring: &mut Wiring, mut recording: Recording) -> Recorded {
        self.gather(wiring);
        wiring.end_spi_log(self.spi);
        if let Some((network, reader)) = wiring.network.as_mut().zip(self.cable) {
            network.log_radio(false);
            network.lan.end_log(reader);
        }
        if let Some(radio) = self.radio {
            recording.bits = radio.bits;
        }
        recording.lost += self.lost;
        self.frames.sort_by_key(|frame| frame.start);
        Recorded { recording, frames: self.frames, transfers: self.transfers }
    }
}

impl Clocked {
    /// Takes the frames whose passage over the air has come.
    fn arrived(&mut self) -> Vec<Frame> {
        let mut found = Vec::new();
        let passages = &mut self.passages;
        self.pending.retain(|record| match beside(passages, record) {
            Some(beside) => {
                found.push(frame(record, beside));
                false
            }
            None => true,
        });
        let old = self.pending.len().saturating_sub(MOST_PENDING);
        self.pending.drain(..old);
        let old = self.passages.len().saturating_sub(MOST_PENDING);
        self.passages.drain(..old);
        found
    }
}

fn frame(record: &FrameRecord, beside: Vec<(Interval, Cause)>) -> Frame {
    Frame {
        start: record.start,
        arrival: record.arrival,
        to_board: record.to_board,
        class: lan::classify(&record.frame),
        flow: lan::flow(&record.frame, record.to_board),
        beside,
    }
}

/// The recordings of a radio chip and its air.
pub(crate) struct Radio {
    pub(crate) passages: Vec<Passage>,
    /// Times with bits on gSPI.
    pub(crate) clocked: Vec<Interval>,
}

/// Returns the transfer's name, the same for any of a register's bytes.
fn what(frame: &SpiFrame) -> String {
    let register = frame.name.split('+').next().unwrap_or_default();
    match frame.meaning.as_str() {
        "SET_SSID" | "SET_VAR join" if frame.write => JOIN.into(),
        _ => format!("{register} {}", if frame.write { "write" } else { "read" }),
    }
}
