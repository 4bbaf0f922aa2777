//! Fuzzing with random devices: no panic, no hang, no growth.

use crate::fake;

use fake::{Device, MS};
use sim::{Handshake, InResult, Snapshot, UsbBus};
use usb_host::{HostConfig, LineCoding, Port, ReadPolicy, RequestId, StorageError, UsbHost};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.next().is_multiple_of(n)
    }
}

/// A device that answers each transaction as a real one does, or at random with a probability of one in `rarity`.
struct Chaos {
    random: Random,
    rarity: u64,
    device: Device,
    largest: usize,
    /// Until then it answers NAK alone.
    busy_until: u64,
}

impl Chaos {
    fn handshake(&mut self) -> Handshake {
        match self.random.next() % 8 {
            0 => Handshake::Stall,
            1 => Handshake::Timeout,
            2..5 => Handshake::Nak,
            _ => Handshake::Ack,
        }
    }
}

impl UsbBus for Chaos {
    fn pulled_up(&self) -> bool {
        self.device.pulled_up
    }

    fn reset(&mut self) {
        self.device.reset();
    }

    fn sof(&mut self, frame: u16) {
        assert!(frame < 2048);
        if self.random.one_in(self.rarity * 200) {
            self.device.pulled_up = !self.device.pulled_up;
        }
        if self.random.one_in(self.rarity * 50) {
            self.busy_until = self.device.now + self.random.next() % 40 * MS;
        }
    }

    fn setup(&mut self, addr: u8, packet: [u8; 8]) -> Handshake {
        assert!(addr < 128);
        if self.random.one_in(self.rarity) { self.handshake() } else { self.device.setup(addr, packet) }
    }

    fn out(&mut self, addr: u8, ep: u8, data1: bool, data: &[u8]) -> Handshake {
        assert!(ep < 16 && data.len() <= 64);
        if self.device.now < self.busy_until {
            return Handshake::Nak;
        }
        if self.random.one_in(self.rarity) {
            return self.handshake();
        }
        // A confused transaction may have left the model's control transfer half-way; it asserts on that.
        if ep == 0 && !data.is_empty() { Handshake::Ack } else { self.device.out(addr, ep, data1 || ep == 0, data) }
    }

    fn input(&mut self, addr: u8, ep: u8, buf: &mut Vec<u8>) -> InResult {
        if self.device.now < self.busy_until {
            return InResult::Nak;
        }
        if !self.random.one_in(self.rarity) {
            let result = self.device.input(addr, ep, buf);
            if !buf.is_empty() && self.random.one_in(self.rarity) {
                let at = self.random.next() as usize % buf.len();
                buf[at] ^= 1 << (self.random.next() % 8);
            }
            return result;
        }
        match self.handshake() {
            Handshake::Stall => InResult::Stall,
            Handshake::Timeout => InResult::Timeout,
            Handshake::Nak => InResult::Nak,
            Handshake::Ack => {
                let length = if self.random.one_in(50) { self.largest } else { self.random.next() as usize % 70 };
                let byte = self.random.next();
                buf.extend((0..length).map(|i| (byte >> (i % 32)) as u8));
                InResult::Data { data1: self.random.one_in(2) }
            }
        }
    }
}

fn configuration(random: &mut Random) -> HostConfig {
    let mut config = HostConfig::default();
    config.debounce_us = random.next() % 3000;
    config.reset_us = random.next() % 3000;
    config.reset_recovery_us = random.next() % 3000;
    config.control_timeout_us = 20_333;
    config.request_gap_us = random.next() % 3 * 100;
    config.console.read_policy = if random.one_in(4) { ReadPolicy::Ring } else { ReadPolicy::BackPressure };
    config.console.open_after_us = Some(random.next() % 5000);
    config.console.read_limit = 5000;
    config.console.write_limit = 5000;
    config.storage.poll_interval_us = Some(random.next() % 20_000);
    config.storage.command_timeout_us = 20_000 + random.next() % 100_000;
    config.storage.max_blocks_per_command = random.next() as u16;
    config
}

/// Every second device has two serial ports and two logical units.
fn device(seed: u64) -> Device {
    if (seed / 6).is_multiple_of(2) {
        return Device::new(64);
    }
    let mut device = Device::composite(64);
    device.card = vec![0; 64 * 512];
    device
}

/// Adds to a checksum (FNV-1a).
fn note(sum: &mut u64, seen: impl std::fmt::Debug) {
    let add = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    *sum = format!("{seen:?}").bytes().fold(*sum, add);
}

/// Keeps the number of a request, or notes why there is none.
fn keep(sum: &mut u64, ids: &mut Vec<RequestId>, asked: Result<RequestId, StorageError>) {
    asked.map_or_else(|error| note(sum, error.to_string()), |id| ids.push(id));
}

/// Any change of a token, a time, an answer or a state changes the checksum of its kind of device. If a change is
/// wanted, show it in another test, and then take the checksums from this one's failure.
#[test]
fn arbitrary_answers_neither_panic_nor_hang_nor_grow_and_are_as_recorded() {
    let (mut configured, mut ready, mut sums) = (0, 0, [0; 6]);
    for seed in 1..=300u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let config = configuration(&mut random);
        // From pure noise to a device with occasional faults.
        let rarity = [1, 2, 5, 20, 100, 1000][seed as usize % 6];
        let mut bus = Chaos { random, rarity, device: device(seed), largest: 100_000, busy_until: 0 };
        let mut host = UsbHost::new(config);
        let mut ids = Vec::new();
        let mut events = 0u64;
        let sum = &mut sums[seed as usize % 6];
        let mut last = 0;
        while last < 2000 * MS {
            let t = host.next_event().unwrap();
            assert!(t > last || t == 0);
            (last, bus.device.now) = (t, t);
            host.advance(t, &mut bus);
            assert!(host.next_event().unwrap() > t);
            events += 1;
            if !events.is_multiple_of(50) {
                continue;
            }
            // The model's records are not part of the measurement.
            let device = &mut bus.device;
            note(sum, (t, device.tokens.drain(..).collect::<Vec<_>>(), device.setups.drain(..).collect::<Vec<_>>()));
            note(sum, (device.from_console.drain(..).len(), device.from_data.drain(..).len()));
            note(
                sum,
                (device.luns.drain(..).len(), device.commands.drain(..).collect::<Vec<_>>(), device.resets.len()),
            );
            if let Some(port) = host.serial(1) {
                note(sum, (port.write(&[0; 300]), port.unread(), port.unsent()));
                assert!(port.unread() <= 5064 && port.unsent() <= 5000);
            }
            bus.device.to_console.truncate(10);
            bus.device.to_console.push_back(vec![1; (events % 65) as usize]);
            host.console_write(&[0; 300]);
            match bus.random.next() % 40 {
                0 => note(sum, (host.console_read(), host.console_received_at())),
                1 => note(sum, host.console_open()),
                2 => note(sum, host.console_close()),
                3 => note(sum, host.set_line_coding(LineCoding::baud(1200))),
                4 => keep(sum, &mut ids, host.request_read(0, bus.random.next() % 70, bus.random.next() % 8)),
                5 => keep(
                    sum,
                    &mut ids,
                    host.request_write(0, bus.random.next() % 70, vec![1; 512 * (events as usize % 4)]),
                ),
                7 => keep(sum, &mut ids, host.request_eject(0)),
                8 => bus.device.no_medium = bus.random.one_in(3),
                9 => bus.device.pulled_up = true,
                10 => note(sum, (host.take_events(), host.state())),
                12 => keep(sum, &mut ids, host.request_read(1, bus.random.next() % 70, bus.random.next() % 8)),
                13 => keep(sum, &mut ids, host.request_write(1, bus.random.next() % 70, vec![1; 512])),
                14 => bus.device.no_card = bus.random.one_in(3),
                11 => ids.retain(|&id| {
                    let completion = host.take_completion(id);
                    let words =
                        completion.as_ref().and_then(|completion| completion.as_ref().err()).map(ToString::to_string);
                    note(sum, (&completion, words));
                    completion.is_none()
                }),
                _ => {}
            }
            if events.is_multiple_of(1000) {
                let mut saved = Vec::new();
                host.save_state(&mut saved);
                host.restore_state(&mut &saved[..]).unwrap();
                note(sum, saved);
            }
            let state = host.state();
            note(sum, &state);
            assert!(state.console_unread <= 5064 && state.console_unsent <= 5000 && ids.len() <= 64);
            configured += u32::from(state.port == Port::Configured);
            ready += u32::from(state.storage.is_some());
        }
        // 2 s hold 2000 frames of at most some 60 transactions.
        assert!(events < 200_000, "{events} events");
    }
    assert!(configured > 10_000 && ready > 1_000, "{configured} {ready}");
    let recorded = [
        0x9a10613852a6bab9,
        0x053795b248daf08e,
        0xa8e7d119113c13e9,
        0x3a2558f082063550,
        0x60b7453e9afea234,
        0x80e6588eb6269be3,
    ];
    assert_eq!(sums, recorded);
}
