//! A composite device (CDC-ACM and mass storage with a RAM disk) with configurable faults.

#![allow(dead_code)] // Each test file uses its own part.

use std::collections::{BTreeSet, VecDeque};

use sim::{Handshake, InResult, Ps, UsbBus};
use usb_host::{HostConfig, UsbHost};

pub(crate) const MS: Ps = 1_000_000_000;
pub(crate) const CONSOLE_IN: u8 = 0x82;
pub(crate) const CONSOLE_OUT: u8 = 0x02;
pub(crate) const DISK_IN: u8 = 0x83;
pub(crate) const DISK_OUT: u8 = 0x03;
pub(crate) const DATA_IN: u8 = 0x85;
pub(crate) const DATA_OUT: u8 = 0x05;

/// The device's faults, each until it has been used up.
#[derive(Default)]
pub(crate) struct Faults {
    /// Every n-th transaction but SETUP is answered by NAK; 0: none.
    pub nak_every: u64,
    /// Transactions without an answer.
    pub timeouts: u32,
    /// IN packets that are sent twice, as if the host's ACK had been lost.
    pub lost_acks: u32,
    /// Data packets of 65 bytes on the disk's IN endpoint.
    pub babble: u32,
    /// READ(10)s whose data stage stalls after one packet, with a status that says "failed".
    pub stalled_reads: u32,
    /// READ(10)s that end early with a short packet and a residue.
    pub short_reads: u32,
    /// Statuses sent instead of READ(10)'s data.
    pub status_for_data: u32,
    pub wrong_tags: u32,
    pub wrong_signatures: u32,
    pub short_statuses: u32,
    pub phase_errors: u32,
    pub stalled_statuses: u32,
    /// Commands answered by UNIT ATTENTION, and by NOT READY (becoming ready).
    pub unit_attentions: u32,
    pub becoming_ready: u32,
    /// Bulk-Only Mass Storage Resets that are stalled.
    pub refuse_resets: u32,
    /// String requests are stalled.
    pub no_strings: bool,
    /// SET_ADDRESS is stalled.
    pub no_address: bool,
    pub no_max_lun: bool,
    /// The pull-up is released after this many transactions.
    pub vanish_after: Option<u64>,
    /// WRITE(10) data is answered by NAK this often per sector, as while flash is being erased.
    pub write_naks: u32,
    /// The firmware handles USB events only at multiples of the first time, until the second, as CircuitPython 8.2 does
    /// between the modules that it compiles. The controller still answers, and an address set before a bus reset
    /// applies after it.
    pub busy: Option<(Ps, Ps)>,
}

fn take(count: &mut u32) -> bool {
    let any = *count > 0;
    *count = count.saturating_sub(1);
    any
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Disk {
    Command,
    DataIn,
    DataOut(usize),
    Status,
}

pub(crate) struct Device {
    pub now: Ps,
    pub pulled_up: bool,
    pub faults: Faults,
    /// SETUP packets with their times and addresses.
    pub setups: Vec<(Ps, u8, [u8; 8])>,
    pub resets: Vec<Ps>,
    pub sofs: Vec<(Ps, u16)>,
    /// Bulk and interrupt tokens: time and bEndpointAddress.
    pub tokens: Vec<(Ps, u8)>,
    pub transactions: u64,

    pub address: u8,
    /// The address from this time on.
    late_address: Option<(Ps, u8)>,
    /// From here on the firmware has answered the last SETUP.
    served_at: Ps,
    pub configured: bool,
    device: Vec<u8>,
    configuration: Vec<u8>,
    reply: Option<VecDeque<u8>>,
    reply_toggle: bool,
    setup: [u8; 8],
    expect_out: usize,
    out_data: Vec<u8>,
    stall0: bool,
    halted: BTreeSet<u8>,
    toggles: BTreeSet<u8>,
    repeat: Option<(u8, bool, Vec<u8>)>,

    pub line_codings: Vec<(Ps, Vec<u8>)>,
    pub line_states: Vec<(Ps, u16)>,
    pub to_console: VecDeque<Vec<u8>>,
    pub from_console: Vec<u8>,
    /// The same for the second serial port, if the device has one.
    pub to_data: VecDeque<Vec<u8>>,
    pub from_data: Vec<u8>,
    /// Bytes that the console still accepts; NAK after that.
    pub console_room: usize,

    pub blocks: Vec<u8>,
    pub no_medium: bool,
    /// The same for logical unit 1, which exists if this is not empty.
    pub card: Vec<u8>,
    pub no_card: bool,
    /// The answer to GET MAX LUN, if it is not that of the card.
    pub max_lun: Option<u8>,
    /// Logical unit of each command.
    pub luns: Vec<u8>,
    pub write_protected: bool,
    pub commands: Vec<Vec<u8>>,
    /// First block and number of blocks of each WRITE(10).
    pub writes: Vec<(u32, u16)>,
    disk: Disk,
    disk_in: VecDeque<u8>,
    stall_after: Option<usize>,
    tag: [u8; 4],
    status: u8,
    residue: u32,
    sense: (u8, u8),
    write_at: usize,
    naks_left: u32,
}

pub(crate) const DEVICE: [u8; 18] = [18, 1, 0, 2, 0xef, 2, 1, 64, 0x8a, 0x2e, 0x29, 0x10, 0, 1, 1, 2, 3, 1];

pub(crate) fn configuration() -> Vec<u8> {
    let mut body: Vec<u8> = vec![8, 11, 0, 2, 2, 2, 0, 0];
    body.extend([9, 4, 0, 0, 1, 2, 2, 0, 0, 5, 0x24, 0, 0x20, 1, 5, 0x24, 6, 0, 1, 7, 5, 0x81, 3, 8, 0, 16]);
    body.extend([9, 4, 1, 0, 2, 10, 0, 0, 0, 7, 5, CONSOLE_OUT, 2, 64, 0, 0, 7, 5, CONSOLE_IN, 2, 64, 0, 0]);
    body.extend([9, 4, 2, 0, 2, 8, 6, 0x50, 0, 7, 5, DISK_OUT, 2, 64, 0, 0, 7, 5, DISK_IN, 2, 64, 0, 0]);
    with_header(3, &body)
}

fn with_header(interfaces: u8, body: &[u8]) -> Vec<u8> {
    let total = (9 + body.len() as u16).to_le_bytes();
    let mut bytes = vec![9, 2, total[0], total[1], interfaces, 1, 0, 0x80, 125];
    bytes.extend(body);
    bytes
}

/// Returns `configuration` with a second CDC-ACM function and a HID keyboard after it.
fn composite() -> Vec<u8> {
    let mut body = configuration().split_off(9);
    body.extend([8, 11, 3, 2, 2, 2, 0, 0]);
    body.extend([9, 4, 3, 0, 1, 2, 2, 0, 0, 5, 0x24, 0, 0x20, 1, 5, 0x24, 6, 3, 4, 7, 5, 0x84, 3, 8, 0, 16]);
    body.extend([9, 4, 4, 0, 2, 10, 0, 0, 0, 7, 5, DATA_OUT, 2, 64, 0, 0, 7, 5, DATA_IN, 2, 64, 0, 0]);
    body.extend([9, 4, 5, 0, 1, 3, 1, 1, 0, 9, 0x21, 0x11, 1, 0, 1, 0x22, 50, 0, 7, 5, 0x86, 3, 8, 0, 8]);
    with_header(6, &body)
}

impl Device {
    pub(crate) fn new(blocks: usize) -> Device {
        Device {
            now: 0,
            pulled_up: true,
            faults: Faults::default(),
            setups: Vec::new(),
            resets: Vec::new(),
            sofs: Vec::new(),
            tokens: Vec::new(),
            transactions: 0,
            address: 0,
            late_address: None,
            served_at: 0,
            configured: false,
            device: DEVICE.to_vec(),
            configuration: configuration(),
            reply: None,
            reply_toggle: true,
            setup: [0; 8],
            expect_out: 0,
            out_data: Vec::new(),
            stall0: false,
            halted: BTreeSet::new(),
            toggles: BTreeSet::new(),
            repeat: None,
            line_codings: Vec::new(),
            line_states: Vec::new(),
            to_console: VecDeque::new(),
            from_console: Vec::new(),
            to_data: VecDeque::new(),
            from_data: Vec::new(),
            console_room: usize::MAX,
            blocks: vec![0; blocks * 512],
            no_medium: false,
            card: Vec::new(),
            no_card: false,
            max_lun: None,
            luns: Vec::new(),
            write_protected: false,
            commands: Vec::new(),
            writes: Vec::new(),
            disk: Disk::Command,
            disk_in: VecDeque::new(),
            stall_after: None,
            tag: [0; 4],
            status: 0,
            residue: 0,
            sense: (0, 0),
            write_at: 0,
            naks_left: 0,
        }
    }

    pub(crate) fn with_configuration(configuration: Vec<u8>) -> Device {
        Device { configuration, ..Device::new(0) }
    }

    /// Returns a device with a console, a second serial port, a disk and a keyboard.
    pub(crate) fn composite(blocks: usize) -> Device {
        Device { configuration: composite(), ..Device::new(blocks) }
    }

    pub(crate) fn with_device_descriptor(device: Vec<u8>) -> Device {
        Device { device, ..Device::new(0) }
    }

    /// Counts a transaction; returns the answer if a fault decides it.
    fn fault(&mut self, addr: u8, may_nak: bool) -> Option<Handshake> {
        self.transactions += 1;
        if self.faults.vanish_after.is_some_and(|n| self.transactions > n) {
            self.pulled_up = false;
        }
        if let Some((_, address)) = self.late_address.take_if(|late| late.0 <= self.now) {
            self.address = address;
        }
        if !self.pulled_up || addr != self.address || take(&mut self.faults.timeouts) {
            return Some(Handshake::Timeout);
        }
        let late = self.now < self.served_at;
        let nak =
            may_nak && (late || self.faults.nak_every > 0 && self.transactions.is_multiple_of(self.faults.nak_every));
        nak.then_some(Handshake::Nak)
    }

    /// Returns when the firmware handles an event of now.
    fn next_service(&self) -> Ps {
        match self.faults.busy {
            Some((every, until)) if self.now < until => self.now.next_multiple_of(every),
            _ => self.now,
        }
    }

    fn control(&mut self) -> Option<Vec<u8>> {
        let [kind, request, value, high, index, _, _, _] = self.setup;
        Some(match (kind, request) {
            (0x80, 6) => match (high, value) {
                (1, _) => self.device.clone(),
                (2, _) => self.configuration.clone(),
                (3, _) if self.faults.no_strings => return None,
                (3, 0) => vec![4, 3, 9, 4],
                (3, n) => {
                    let text = ["", "Fake", "Composite \u{e9}", "E66118604B"].get(usize::from(n))?;
                    let mut bytes = vec![0, 3];
                    bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
                    bytes[0] = bytes.len() as u8;
                    bytes
                }
                _ => return None,
            },
            (0xa1, 0xfe) if !self.faults.no_max_lun => vec![self.max_lun.unwrap_or(u8::from(!self.card.is_empty()))],
            (0x00, 5) if self.faults.no_address => return None,
            (0x00, 5 | 9) => Vec::new(),
            (0x02, 1) => {
                self.halted.remove(&index);
                self.toggles.remove(&index);
                Vec::new()
            }
            (0x21, 0x20 | 0x22) => Vec::new(),
            (0x21, 0xff) if !take(&mut self.faults.refuse_resets) => {
                self.disk = Disk::Command;
                self.disk_in.clear();
                self.stall_after = None;
                Vec::new()
            }
            _ => return None,
        })
    }

    /// Ends the control transfer's status stage.
    fn control_done(&mut self) {
        let [kind, request, value, high, ..] = self.setup;
        match (kind, request) {
            (0, 5) => self.late_address = Some((self.next_service(), value)),
            (0, 9) => self.configured = true,
            (0x21, 0x20) => self.line_codings.push((self.now, std::mem::take(&mut self.out_data))),
            (0x21, 0x22) => self.line_states.push((self.now, u16::from_le_bytes([value, high]))),
            _ => {}
        }
        self.setup = [0; 8];
    }

    fn command(&mut self, cbw: &[u8]) -> Handshake {
        if cbw.len() != 31 || cbw[..4] != *b"USBC" {
            self.halted.extend([DISK_IN, DISK_OUT]);
            return Handshake::Ack;
        }
        self.tag = cbw[4..8].try_into().unwrap();
        let wanted = u32::from_le_bytes(cbw[8..12].try_into().unwrap()) as usize;
        let cdb = cbw[15..15 + usize::from(cbw[14])].to_vec();
        self.commands.push(cdb.clone());
        let lun = cbw[13];
        self.luns.push(lun);
        (self.status, self.residue) = (0, wanted as u32);
        self.disk_in.clear();
        self.stall_after = None;
        let is_sense = cdb[0] == 0x03;
        if !is_sense && cdb[0] != 0x12 {
            self.sense = (0, 0);
            if take(&mut self.faults.unit_attentions) {
                self.sense = (6, 0x28);
            } else if take(&mut self.faults.becoming_ready) {
                self.sense = (2, 0x04);
            } else if lun > u8::from(!self.card.is_empty()) {
                self.sense = (5, 0x25);
            } else if if lun == 0 { self.no_medium } else { self.no_card } {
                self.sense = (2, 0x3a);
            }
        }
        if self.sense.0 != 0 && !is_sense {
            return self.refuse(wanted, cbw[12] & 0x80 != 0);
        }
        let lba = cdb.get(2..6).map_or(0, |b| u32::from_be_bytes(b.try_into().unwrap()));
        let count = cdb.get(7..9).map_or(0, |b| u16::from_be_bytes(b.try_into().unwrap()));
        let last = (self.medium().len() / 512).saturating_sub(1) as u32;
        let end = u64::from(lba) + u64::from(count);
        match cdb[0] {
            0x28 | 0x2a if end > u64::from(last) + 1 || usize::from(count) * 512 != wanted => {
                self.sense = (5, 0x21);
                return self.refuse(wanted, cbw[12] & 0x80 != 0);
            }
            0x03 => {
                let (key, asc) = std::mem::take(&mut self.sense);
                let sense = [0x70, 0, key, 0, 0, 0, 0, 10, 0, 0, 0, 0, asc, 0, 0, 0, 0, 0];
                self.answer(&sense, wanted);
            }
            0x12 => {
                let mut data = vec![0, 0x80, 2, 2, 31, 0, 0, 0];
                data.extend(b"Fake    Mass Storage    1.0 ");
                self.answer(&data, wanted);
            }
            0x25 => {
                let mut data = last.to_be_bytes().to_vec();
                data.extend(512u32.to_be_bytes());
                self.answer(&data, wanted);
            }
            // Shorter than requested: the data stage ends with a short packet and the endpoint stalls, as in the boot
            // ROM.
            0x1a => {
                self.answer(&[3, 0, if self.write_protected { 0x80 } else { 0 }, 0], wanted);
                self.stall_after = Some(0);
            }
            0x28 => {
                let from = lba as usize * 512;
                let data = self.medium()[from..from + usize::from(count) * 512].to_vec();
                if take(&mut self.faults.status_for_data) {
                    self.disk = Disk::Status;
                } else if take(&mut self.faults.stalled_reads) {
                    self.answer(&data[..64], wanted);
                    self.stall_after = Some(0);
                    self.status = 1;
                } else if take(&mut self.faults.short_reads) {
                    self.answer(&data[..100], wanted);
                } else {
                    self.answer(&data, wanted);
                }
            }
            0x2a if self.write_protected => {
                self.sense = (7, 0x27);
                return self.refuse(wanted, false);
            }
            0x2a => {
                self.writes.push((lba, count));
                self.write_at = lba as usize * 512;
                self.naks_left = self.faults.write_naks;
                self.disk = Disk::DataOut(wanted);
            }
            0x1b if cdb[4] & 3 == 2 => {
                *if lun == 0 { &mut self.no_medium } else { &mut self.no_card } = true;
                self.disk = Disk::Status;
            }
            0x00 | 0x1b => self.disk = Disk::Status,
            _ => {
                self.sense = (5, 0x20);
                return self.refuse(wanted, cbw[12] & 0x80 != 0);
            }
        }
        Handshake::Ack
    }

    /// Returns the medium of the unit addressed by the last command.
    fn medium(&mut self) -> &mut Vec<u8> {
        if self.luns.last() == Some(&1) { &mut self.card } else { &mut self.blocks }
    }

    fn refuse(&mut self, wanted: usize, input: bool) -> Handshake {
        self.status = 1;
        self.disk = Disk::Status;
        if wanted > 0 {
            self.halted.insert(if input { DISK_IN } else { DISK_OUT });
        }
        Handshake::Ack
    }

    fn answer(&mut self, data: &[u8], wanted: usize) {
        let length = data.len().min(wanted);
        self.disk_in.extend(&data[..length]);
        self.residue = (wanted - length) as u32;
        self.disk = if length > 0 { Disk::DataIn } else { Disk::Status };
    }

    fn disk_packet(&mut self) -> Option<Vec<u8>> {
        match self.disk {
            Disk::DataIn => {
                if take(&mut self.faults.babble) {
                    return Some(vec![0; 65]);
                }
                let length = self.disk_in.len().min(64);
                let packet = self.disk_in.drain(..length).collect();
                if self.disk_in.is_empty() {
                    if self.stall_after.take().is_some() {
                        self.halted.insert(DISK_IN);
                    }
                    self.disk = Disk::Status;
                }
                Some(packet)
            }
            Disk::Status => {
                if take(&mut self.faults.stalled_statuses) {
                    self.halted.insert(DISK_IN);
                    return None;
                }
                self.disk = Disk::Command;
                let mut csw = b"USBS".to_vec();
                csw.extend(self.tag);
                csw.extend(self.residue.to_le_bytes());
                csw.push(self.status);
                if take(&mut self.faults.wrong_tags) {
                    csw[4] ^= 0xff;
                } else if take(&mut self.faults.wrong_signatures) {
                    csw[0] = b'X';
                } else if take(&mut self.faults.short_statuses) {
                    csw.truncate(12);
                } else if take(&mut self.faults.phase_errors) {
                    csw[12] = 2;
                }
                Some(csw)
            }
            Disk::Command | Disk::DataOut(_) => None,
        }
    }
}

impl UsbBus for Device {
    fn pulled_up(&self) -> bool {
        self.pulled_up
    }

    fn reset(&mut self) {
        self.resets.push(self.now);
        self.address = 0;
        self.configured = false;
        self.halted.clear();
        self.toggles.clear();
        self.repeat = None;
        self.disk = Disk::Command;
        self.disk_in.clear();
    }

    fn sof(&mut self, frame: u16) {
        self.sofs.push((self.now, frame));
    }

    fn setup(&mut self, addr: u8, packet: [u8; 8]) -> Handshake {
        self.setups.push((self.now, addr, packet));
        if let Some(answer) = self.fault(addr, false) {
            return answer;
        }
        self.setup = packet;
        self.served_at = self.next_service();
        let length = usize::from(u16::from_le_bytes([packet[6], packet[7]]));
        self.out_data.clear();
        self.expect_out = if packet[0] & 0x80 == 0 { length } else { 0 };
        let reply = self.control();
        self.stall0 = reply.is_none();
        self.reply = reply.filter(|_| packet[0] & 0x80 != 0).map(|r| r.into_iter().take(length).collect());
        self.reply_toggle = true;
        Handshake::Ack
    }

    fn out(&mut self, addr: u8, ep: u8, data1: bool, data: &[u8]) -> Handshake {
        if ep != 0 {
            self.tokens.push((self.now, ep));
        }
        if let Some(answer) = self.fault(addr, true) {
            return answer;
        }
        if ep == 0 {
            if self.stall0 {
                return Handshake::Stall;
            }
            if self.expect_out > self.out_data.len() {
                self.out_data.extend(data);
            } else {
                assert!(data1 && data.is_empty());
                self.control_done();
            }
            return Handshake::Ack;
        }
        if self.halted.contains(&ep) {
            return Handshake::Stall;
        }
        if self.toggles.contains(&ep) != data1 {
            return Handshake::Ack;
        }
        let answer = match ep {
            CONSOLE_OUT if data.len() > self.console_room => Handshake::Nak,
            CONSOLE_OUT => {
                self.console_room -= data.len();
                self.from_console.extend(data);
                Handshake::Ack
            }
            DATA_OUT => {
                self.from_data.extend(data);
                Handshake::Ack
            }
            DISK_OUT => match self.disk {
                Disk::Command => self.command(data),
                Disk::DataOut(left) if data.len() > left => {
                    self.halted.insert(DISK_OUT);
                    Handshake::Stall
                }
                Disk::DataOut(left) => {
                    if left % 512 == 0 && take(&mut self.naks_left) {
                        return Handshake::Nak;
                    }
                    self.naks_left = if left % 512 == 64 { self.faults.write_naks } else { self.naks_left };
                    let from = self.write_at;
                    self.medium()[from..from + data.len()].copy_from_slice(data);
                    self.write_at += data.len();
                    self.residue -= data.len() as u32;
                    self.disk = if left > data.len() { Disk::DataOut(left - data.len()) } else { Disk::Status };
                    Handshake::Ack
                }
                Disk::DataIn | Disk::Status => Handshake::Nak,
            },
            _ => return Handshake::Timeout,
        };
        if answer == Handshake::Ack && !self.toggles.remove(&ep) {
            self.toggles.insert(ep);
        }
        answer
    }

    fn input(&mut self, addr: u8, ep: u8, buf: &mut Vec<u8>) -> InResult {
        assert!(buf.is_empty());
        if ep != 0 {
            self.tokens.push((self.now, 0x80 | ep));
        }
        match self.fault(addr, true) {
            Some(Handshake::Nak) => return InResult::Nak,
            Some(_) => return InResult::Timeout,
            None => {}
        }
        if ep == 0 {
            if self.stall0 {
                return InResult::Stall;
            }
            let data1 = self.reply_toggle;
            match self.reply.as_mut() {
                Some(reply) => {
                    let length = reply.len().min(64);
                    buf.extend(reply.drain(..length));
                    self.reply_toggle = !data1;
                    return InResult::Data { data1 };
                }
                None => {
                    self.control_done();
                    return InResult::Data { data1: true };
                }
            }
        }
        let ep = 0x80 | ep;
        if self.halted.contains(&ep) {
            return InResult::Stall;
        }
        if let Some((_, data1, data)) = self.repeat.take_if(|r| r.0 == ep) {
            buf.extend(data);
            return InResult::Data { data1 };
        }
        let packet = match ep {
            CONSOLE_IN => self.to_console.pop_front(),
            DATA_IN => self.to_data.pop_front(),
            DISK_IN => self.disk_packet(),
            _ => None,
        };
        let Some(packet) = packet else {
            return if self.halted.contains(&ep) { InResult::Stall } else { InResult::Nak };
        };
        let data1 = self.toggles.contains(&ep);
        if !self.toggles.remove(&ep) {
            self.toggles.insert(ep);
        }
        if take(&mut self.faults.lost_acks) {
            self.repeat = Some((ep, data1, packet.clone()));
        }
        buf.extend(packet);
        InResult::Data { data1 }
    }
}

/// Advances event by event until `done`, at most to `deadline`; panics at the deadline.
pub(crate) fn run_until(
    host: &mut UsbHost,
    device: &mut Device,
    deadline: Ps,
    what: &str,
    mut done: impl FnMut(&mut UsbHost, &mut Device) -> bool,
) {
    while !done(host, device) {
        let t = host.next_event().unwrap();
        assert!(t <= deadline, "waited for {what} until {} ms; state {:?}", deadline / MS, host.state());
        device.now = t;
        host.advance(t, device);
        assert!(host.next_event().unwrap() > t);
    }
}

/// Advances event by event up to `end`.
pub(crate) fn run_to(host: &mut UsbHost, device: &mut Device, end: Ps) {
    while host.next_event().unwrap() <= end {
        let t = host.next_event().unwrap();
        device.now = t;
        host.advance(t, device);
        assert!(host.next_event().unwrap() > t);
    }
}

/// A host and a device of `blocks` blocks, run until the drive is ready.
pub(crate) fn with_drive(blocks: usize) -> (UsbHost, Device) {
    let mut config = HostConfig::default();
    config.storage.poll_interval_us = None;
    let mut host = UsbHost::new(config);
    let mut device = Device::new(blocks);
    run_until(&mut host, &mut device, 400 * MS, "the drive", |h, _| h.state().storage.is_some());
    (host, device)
}

/// Runs until a request is complete.
pub(crate) fn complete(
    host: &mut UsbHost,
    device: &mut Device,
    id: usb_host::RequestId,
    within: Ps,
) -> Result<Vec<u8>, usb_host::StorageError> {
    let deadline = device.now + within;
    let mut result = None;
    run_until(host, device, deadline, "a completion", |h, _| {
        result = h.take_completion(id);
        result.is_some()
    });
    result.unwrap()
}

/// Bytes that differ from block to block.
pub(crate) fn pattern(length: usize, seed: u32) -> Vec<u8> {
    (0..length as u32).map(|i| (i.wrapping_mul(2_654_435_761).wrapping_add(seed * 97) >> 13) as u8).collect()
}
