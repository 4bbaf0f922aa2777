//! Fuzzing of the bus: random requests take bounded time and memory, and never end anything but the run that made them.
//!
//! `PORTBENCH_FUZZ_PROGRAMS` sets the number of programs, `PORTBENCH_FUZZ_SEED` their seed: `make fuzz`. A program
//! makes up to five steps of one kind; a chip runs several programs in turn.

use cyw43::{Config, Cyw43439, Shifting};
use sim::snapshot::{restore, save};
use sim::{Bss, Device, PS_PER_MS, PS_PER_NS, PS_PER_US, Ps, Radio, RadioReport, Security, SplitMix64, asked};

use crate::driver::{Host, MAC, command, firmware, nvram, size_word};

const PROGRAMS: u64 = 2000;
const PROGRAMS_OF_A_CHIP: u64 = 15;
/// More events than the chip ever needs per simulated millisecond.
const MOST_EVENTS_PER_MS: u64 = 1000;
const MOST_REQUESTS: u64 = 1000;
/// Chips until every one-time allocation has happened, and the allowed growth afterwards.
const FIRST_CHIPS: u64 = 100;
const MOST_GROWTH_BYTES: u64 = 32 << 20;

/// Counters of what the programs reached.
#[derive(Debug, Default)]
struct Reached {
    transfers: u64,
    grouped_bits: u64,
    frames_to_host: u64,
    requests: u64,
    unmodelled: u64,
    refused_loads: u64,
    links: u64,
    events: u64,
}

struct Fuzz {
    host: Host,
    r: SplitMix64,
    reached: Reached,
}

impl Fuzz {
    fn new(seed: u64) -> Self {
        let mut r = SplitMix64::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut host = match r.below(8) {
            0 => Host::new(),
            1 => Host::switched(),
            _ => Host::running(),
        };
        host.chip.set_log(r.one_in(16));
        Self { host, r, reached: Reached::default() }
    }

    fn program(&mut self) {
        let kind = self.r.below(6);
        for _ in 0..1 + self.r.below(5) {
            match kind {
                0 => self.edges(),
                1 => self.transfer(),
                2 => self.frame(),
                3 => self.load(),
                4 => self.join(),
                _ => self.air(),
            }
        }
        let time = self.r.below(3000) * PS_PER_US;
        self.wait(time);
        self.drain();
    }

    /// Advances simulated time; afterwards nothing may be due.
    fn wait(&mut self, time: Ps) {
        let until = self.host.now + time;
        let mut events = 0;
        while let Some(at) = self.host.chip.next_event().filter(|&at| at <= until) {
            self.host.now = self.host.now.max(at);
            self.host.chip.advance(self.host.now);
            let next = self.host.chip.next_event();
            assert!(next.is_none_or(|next| next > self.host.now), "{next:?} is still due at {}", self.host.now);
            events += 1;
        }
        assert!(events <= MOST_EVENTS_PER_MS * (1 + time / PS_PER_MS), "{events} events in {time} ps");
        self.reached.events += events;
        self.host.now = until;
        self.host.chip.advance(until);
    }

    fn drain(&mut self) {
        let mut requests = 0;
        while self.host.request().is_some() {
            requests += 1;
            assert!(requests <= MOST_REQUESTS, "requests without end");
        }
        self.reached.requests += requests;
        self.reached.unmodelled += u64::from(self.host.chip.take_unmodelled().is_some());
        self.reached.refused_loads += u64::from(self.host.chip.refused().is_some());
        self.reached.links += u64::from(self.host.chip.link_up());
        self.host.chip.take_log();
        self.host.chip.take_clocked();
    }

    /// Drives random edges on all wires, singly or in groups as batches of a PIO program do.
    fn edges(&mut self) {
        for _ in 0..self.r.below(400) {
            self.host.now += self.r.below(40) * PS_PER_NS;
            let (now, chip) = (self.host.now, &mut self.host.chip);
            let (a, b) = (self.r.one_in(2), self.r.one_in(2));
            match self.r.below(64) {
                0 | 1 => chip.select(now, a),
                2 if self.r.one_in(64) => chip.set_power(now, a),
                3..8 => {
                    let (word, count) = (self.r.draw() as u32, 1 + self.r.below(32) as u32);
                    match chip.shifting() {
                        Some(Shifting::In(most)) if most != 0 => {
                            let count = count.min(most);
                            chip.shift_in(now, word & (u32::MAX >> (32 - count)), count);
                        }
                        Some(Shifting::Out { .. }) => {
                            let bits = chip.shift_out(count);
                            assert!(count == 32 || bits >> count == 0, "{bits:x} are more than {count} bits");
                        }
                        _ => continue,
                    }
                    self.reached.grouped_bits += u64::from(count);
                }
                _ => drop(chip.wires(now, a, b)),
            }
            self.host.chip.data_wire();
        }
    }

    fn transfer(&mut self) {
        let (function, address) = (self.r.below(4) as u32, self.r.below(0x2_0000) as u32);
        let (write, length) = (self.r.one_in(2), self.r.below(80) as usize);
        let fixed = if self.r.one_in(4) { 1 << 30 } else { 0 };
        // A switch of the wire format turns the rest into another program, which is fine.
        let words: Vec<u32> = (0..self.r.below(24)).map(|_| self.r.draw() as u32).collect();
        let out = [&[command(write, function, address, length) ^ fixed][..], &words].concat();
        let count = self.r.below(8) as usize;
        self.host.transfer(&out, count);
        self.reached.transfers += 1;
    }

    /// Sends a random frame, control message or ioctl, and reads the answer.
    fn frame(&mut self) {
        let channel = self.r.below(4) as u8;
        let mut body = self.r.bytes(200);
        if channel == 0 && body.len() > 16 && !self.r.one_in(3) {
            let number = self.r.pick(&[2, 3, 22, 26, 52, 86, 127, 134, 165, 262, 263, 268]);
            body[..4].copy_from_slice(&u32::to_le_bytes(number));
            body[8..12].copy_from_slice(&[2, 0, self.r.draw() as u8, 0]);
            let names = [
                "clmload",
                "country",
                "escan",
                "join",
                "mcast_list",
                "gpioout",
                "bsscfg:event_msgs",
                "bss",
                "sae_password",
                "pm2_sleep_ret",
                "bcn_li_dtim",
            ];
            let name = self.r.pick(&names).as_bytes();
            let room = (body.len() - 16).min(name.len());
            body[16..16 + room].copy_from_slice(&name[..room]);
        }
        let header = 12 + self.r.below(4) as usize;
        self.host.send(channel, header, &body);
        self.wait(200 * PS_PER_US);
        self.fetch();
    }

    /// Reads frames while the chip offers them; fails if there are more than it can hold.
    fn fetch(&mut self) {
        for _ in 0..1000 {
            let Some(length) = self.host.has_packet() else { return };
            let function = if self.r.one_in(16) { 1 } else { 2 };
            self.host.read(function, 0, length);
            self.reached.frames_to_host += 1;
            if function == 1 {
                return;
            }
        }
        assert!(self.host.has_packet().is_none(), "frames without end");
    }

    /// Writes cores, windows and memory; loads complete and truncated firmware.
    fn load(&mut self) {
        match self.r.below(6) {
            0 => {
                let (mut image, mut nvram) = (firmware(), nvram());
                let torn = self.r.below(image.len() as u64) as usize;
                image[torn] ^= 1 << self.r.below(8);
                if self.r.one_in(2) {
                    nvram.truncate(self.r.below(nvram.len() as u64) as usize & !3);
                }
                let size = if self.r.one_in(2) { size_word(nvram.len()) } else { self.r.draw() as u32 };
                self.host.load(&image, &nvram, size);
            }
            1 => self.host.load(&firmware(), &nvram(), size_word(nvram().len())),
            2 => {
                let address = self.r.pick(&[0u32, 0x7_fff0, 0x1800_0000, 0x1810_3000, 0x1810_4000, 0x1900_0000]);
                let (offset, data) = (self.r.below(0x1000) as u32, self.r.bytes(64));
                self.host.write_backplane(address + offset, &data);
            }
            3 => {
                let (register, value) = (0x1_0000 + self.r.below(0x20) as u32, self.r.draw() as u8);
                self.host.write(1, register, &[value]);
            }
            4 => {
                let core = self.r.pick(&[0x1810_3000u32, 0x1810_4000]);
                let (register, value) = (self.r.pick(&[0x408u32, 0x800]), self.r.below(4) as u8);
                self.host.write_backplane(core + register, &[value]);
            }
            _ => drop(self.host.read_backplane((self.r.draw() as u32) << 2)),
        }
        self.reached.transfers += 1;
    }

    fn bss(&mut self) -> Bss {
        Bss {
            ssid: self.r.bytes(33),
            bssid: [2, 1, 2, 3, 4, self.r.draw() as u8],
            channel: self.r.draw() as u8,
            rssi_dbm: -(self.r.below(130) as i16),
            security: self.r.pick(&[Security::Open, Security::Wpa2]),
            beacon_tu: self.r.below(1001) as u16,
            dtim: self.r.draw() as u8,
        }
    }

    /// Sends what a driver sends to join, with a valid argument or one of random length.
    fn join(&mut self) {
        for number in [2, 134, 165, 86, 268, 26] {
            let argument = match number {
                _ if self.r.one_in(8) => self.r.bytes(70),
                268 => {
                    let length = self.r.below(70) as u16;
                    let mut key = [length.to_le_bytes(), 1u16.to_le_bytes()].concat();
                    key.resize(68, b'k');
                    key
                }
                26 => [&(self.r.below(34) as u32).to_le_bytes()[..], &[b'n'; 32]].concat(),
                _ => u32::to_le_bytes(self.r.pick(&[0, 1, 2, 4, 0x80, 0x4_0000])).to_vec(),
            };
            let mut body: Vec<u8> =
                [number, argument.len() as u32, 2, 0].into_iter().flat_map(u32::to_le_bytes).collect();
            body.extend(argument);
            self.host.send(0, 12, &body);
            self.wait(PS_PER_MS);
        }
        self.fetch();
        self.air();
    }

    fn air(&mut self) {
        for _ in 0..1 + self.r.below(8) {
            let report = match self.r.below(12) {
                0 => RadioReport::Found(self.bss()),
                1 => RadioReport::ScanDone,
                2 => RadioReport::NoNetwork,
                3 => RadioReport::OtherSecurity(self.bss()),
                4 => RadioReport::Authenticated(self.bss()),
                5 => RadioReport::Associated(self.bss()),
                6 => RadioReport::Keyed,
                7 => RadioReport::ThrownOut(self.r.draw() as u16),
                8 => RadioReport::BeaconsLost,
                9 => RadioReport::Sent,
                10 => RadioReport::Kept,
                _ => RadioReport::Frame(self.r.bytes(1600)),
            };
            self.host.chip.report(self.host.now, report);
            let time = self.r.below(300) * PS_PER_US;
            self.wait(time);
        }
    }

    /// Checks that the chip answers after a power cycle.
    fn end(mut self) -> Reached {
        self.host.chip.select(self.host.now, false);
        self.host.chip.set_power(self.host.now, false);
        self.wait(PS_PER_MS);
        let mut fresh = Host::new();
        std::mem::swap(&mut fresh.chip, &mut self.host.chip);
        fresh.now = self.host.now;
        fresh.chip.set_power(fresh.now, true);
        fresh.wait(250 * PS_PER_MS);
        assert_eq!(fresh.transfer(&[command(false, 0, 0x14, 4)], 1), [0xfeed_bead]);
        self.reached
    }
}

/// Runs programs on a chip, which is restored from a snapshot after each if `restored`. Returns what they reached, and the
/// chip's state.
fn programs_on(seed: u64, restored: bool) -> (String, Vec<u8>) {
    let mut fuzz = Fuzz::new(seed);
    // A snapshot leaves out whether a log is kept.
    fuzz.host.chip.set_log(false);
    let saved = |chip: &Cyw43439| {
        let mut bytes = Vec::new();
        save(chip, &mut bytes);
        bytes
    };
    for _ in 0..PROGRAMS_OF_A_CHIP {
        fuzz.program();
        if restored {
            let bytes = saved(&fuzz.host.chip);
            let mut again = Cyw43439::new(Config { mac: MAC, ..Config::default() });
            let mut from = &bytes[..];
            assert_eq!((restore(&mut again, &mut from), from.len()), (Ok(()), 0), "chip {seed}");
            assert!(saved(&again) == bytes, "chip {seed}: another state");
            fuzz.host.chip = again;
        }
    }
    (format!("{:?} at {}", fuzz.reached, fuzz.host.now), saved(&fuzz.host.chip))
}

#[test]
fn a_restored_chip_goes_on_in_the_same_way() {
    let seed = asked("PORTBENCH_FUZZ_SEED", 1) << 32;
    for number in seed..seed + asked("PORTBENCH_FUZZ_PROGRAMS", PROGRAMS).div_ceil(PROGRAMS_OF_A_CHIP * 4) {
        let [first, again] = [false, true].map(|restored| programs_on(number, restored));
        assert_eq!(first.0, again.0, "chip {number}");
        assert!(first.1 == again.1, "chip {number}: another state");
    }
}

/// Returns the process's memory, or `None` if the system does not tell.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}

#[test]
fn random_programs_take_bounded_time_and_memory() {
    let (programs, seed) = (asked("PORTBENCH_FUZZ_PROGRAMS", PROGRAMS), asked("PORTBENCH_FUZZ_SEED", 1) << 32);
    let chips = programs.div_ceil(PROGRAMS_OF_A_CHIP);
    let mut all = Reached::default();
    let (mut at_first, mut most) = (None, None);
    for number in 0..chips {
        let mut fuzz = Fuzz::new(seed + number);
        for _ in 0..PROGRAMS_OF_A_CHIP.min(programs - number * PROGRAMS_OF_A_CHIP) {
            fuzz.program();
        }
        most = most.max(resident_bytes());
        let reached = fuzz.end();
        all.transfers += reached.transfers;
        all.grouped_bits += reached.grouped_bits;
        all.frames_to_host += reached.frames_to_host;
        all.requests += reached.requests;
        all.unmodelled += reached.unmodelled;
        all.refused_loads += reached.refused_loads;
        all.links += reached.links;
        all.events += reached.events;
        if number + 1 == FIRST_CHIPS {
            at_first = most;
        }
        if (number + 1) % 5000 == 0 {
            println!("{} programs, at most {most:?} bytes", (number + 1) * PROGRAMS_OF_A_CHIP);
        }
    }
    println!("{programs} programs to {chips} chips: {all:?}; memory {at_first:?} at first, {most:?} at most");
    // The programs do reach their targets.
    let Reached { transfers, grouped_bits, frames_to_host, requests, unmodelled, refused_loads, links, events } = all;
    assert!(transfers > programs / 2 && grouped_bits > programs && events > programs / 10, "no transfer was made");
    assert!(frames_to_host > programs / 20 && requests > programs / 20, "no firmware was running");
    assert!(unmodelled > 0 && refused_loads > 0 && links > 0, "neither a refusal nor a link");
    if let (Some(first), Some(most)) = (at_first, most) {
        assert!(most <= first + MOST_GROWTH_BYTES, "memory grew from {first} to {most} bytes");
    }
}
