//! USBCTRL: the USB 1.1 controller in device mode, or as the host of an empty port, with its 4 KiB DPSRAM (datasheet
//! 4.1).
//!
//! The host side calls the `host_*` methods at the time at which the device has received a packet: SETUP and OUT at the
//! end of the data packet, IN at the end of the token. The status phase follows when the handshake is over, as on the
//! bus, so that firmware never sees a completed buffer before the host has it.
//!
//! Erratum RP2040-E5 (a busy bus keeps the device in reset) is fixed in B2 silicon and not modelled; firmware that
//! works around it through GPIO15 finds the expected line state and CONNECTED. What a host puts on the bus ends the run.

use crate::wires::{UsbWires, Version};
use chip::trace::{Record, kind};
use chip::{Peripheral, Sys, Write, unmodelled};
use sim::{Handshake, InResult, NEVER, PS_PER_MS, Ps, Snapshot};

pub(crate) const DPSRAM_SIZE: usize = 4096;
/// The bus is idle for this long: suspend (USB 2.0 section 7.1.7.6; datasheet 4.1.2.6.4).
const SUSPEND_PS: Ps = 3 * PS_PER_MS;
/// One bit at 12 Mbit/s is 250/3 ns.
const fn bits(count: u64) -> Ps {
    count * 250_000 / 3
}
/// Turnaround between packets and a handshake packet: SYNC, PID, EOP.
const HANDSHAKE_BITS: u64 = 4 + 19;
/// SYNC, PID, CRC16, EOP around the payload of a data packet, after the turnaround.
const DATA_OVERHEAD_BITS: u64 = 4 + 35;
/// EP0's buffers have a fixed address.
const EP0_BUFFER: usize = 0x100;
const BULK_BUFFER_STRIDE: usize = 64;

mod reg {
    pub(crate) const ADDR_ENDP: u32 = 0x00;
    pub(crate) const ADDR_ENDP1: u32 = 0x04;
    pub(crate) const ADDR_ENDP15: u32 = 0x3c;
    pub(crate) const MAIN_CTRL: u32 = 0x40;
    pub(crate) const SOF_WR: u32 = 0x44;
    pub(crate) const SOF_RD: u32 = 0x48;
    pub(crate) const SIE_CTRL: u32 = 0x4c;
    pub(crate) const SIE_STATUS: u32 = 0x50;
    pub(crate) const INT_EP_CTRL: u32 = 0x54;
    pub(crate) const BUFF_STATUS: u32 = 0x58;
    pub(crate) const BUFF_CPU_SHOULD_HANDLE: u32 = 0x5c;
    pub(crate) const EP_ABORT: u32 = 0x60;
    pub(crate) const EP_ABORT_DONE: u32 = 0x64;
    pub(crate) const EP_STALL_ARM: u32 = 0x68;
    pub(crate) const NAK_POLL: u32 = 0x6c;
    pub(crate) const EP_STATUS_STALL_NAK: u32 = 0x70;
    pub(crate) const USB_MUXING: u32 = 0x74;
    pub(crate) const USB_PWR: u32 = 0x78;
    pub(crate) const USBPHY_DIRECT: u32 = 0x7c;
    pub(crate) const USBPHY_DIRECT_OVERRIDE: u32 = 0x80;
    pub(crate) const USBPHY_TRIM: u32 = 0x84;
    /// Of version 1.
    pub(crate) const LINESTATE_TUNING: u32 = 0x88;
    pub(crate) const INTR: u32 = 0x8c;
    pub(crate) const INTE: u32 = 0x90;
    pub(crate) const INTF: u32 = 0x94;
    pub(crate) const INTS: u32 = 0x98;
}
mod main_ctrl {
    pub(crate) const CONTROLLER_EN: u32 = 1;
    pub(crate) const HOST_NDEVICE: u32 = 2;
    /// PHY_ISO, which version 1 has, keeps the PHY's inputs from it.
    pub(crate) const PHY_ISO: u32 = 4;
    /// All but CONTROLLER_EN must be clear in a device on the bus.
    pub(crate) const CONNECTED: u32 = CONTROLLER_EN | HOST_NDEVICE | PHY_ISO;
    pub(crate) const MASK: u32 = 0x8000_0003;
}
mod sie_ctrl {
    pub(crate) const EP0_INT_STALL: u32 = 1 << 31;
    pub(crate) const EP0_DOUBLE_BUF: u32 = 1 << 30;
    pub(crate) const EP0_INT_1BUF: u32 = 1 << 29;
    pub(crate) const EP0_INT_2BUF: u32 = 1 << 28;
    pub(crate) const EP0_INT_NAK: u32 = 1 << 27;
    pub(crate) const DIRECT_EN: u32 = 1 << 26;
    pub(crate) const PULLUP_EN: u32 = 1 << 16;
    /// RESET_BUS, RESUME and START_TRANS: what a host does on the bus.
    pub(crate) const HOST_ACTS: u32 = 0x3001;
    /// They and STOP_TRANS clear themselves.
    pub(crate) const SELF_CLEARING: u32 = HOST_ACTS | 0x10;
    pub(crate) const EP0_STOP_ON_SHORT_PACKET: u32 = 1 << 19;
    pub(crate) const PULLDOWN_EN: u32 = 1 << 15;
    pub(crate) const MASK: u32 = 0xff07_bf5f;
}
mod sie_status {
    pub(crate) const DATA_SEQ_ERROR: u32 = 1 << 31;
    pub(crate) const ACK_REC: u32 = 1 << 30;
    pub(crate) const BUS_RESET: u32 = 1 << 19;
    pub(crate) const TRANS_COMPLETE: u32 = 1 << 18;
    pub(crate) const SETUP_REC: u32 = 1 << 17;
    pub(crate) const CONNECTED: u32 = 1 << 16;
    pub(crate) const RESUME: u32 = 1 << 11;
    pub(crate) const SUSPENDED: u32 = 1 << 4;
    pub(crate) const LINE_STATE_J: u32 = 1 << 2;
    pub(crate) const VBUS_DETECTED: u32 = 1;
    /// Latched bits that a written 1 clears.
    pub(crate) const WRITE_CLEARS: u32 = 0xff0e_0800;
}
mod muxing {
    pub(crate) const TO_PHY: u32 = 1;
    pub(crate) const TO_DIGITAL_PAD: u32 = 4;
}
mod pwr {
    pub(crate) const VBUS_DETECT: u32 = 4;
    pub(crate) const VBUS_DETECT_OVERRIDE_EN: u32 = 8;
}
mod phy {
    /// DP_PULLUP_EN of USBPHY_DIRECT and its enable in USBPHY_DIRECT_OVERRIDE.
    pub(crate) const DP_PULLUP_EN: u32 = 2;
    pub(crate) const DP_PULLUP_EN_OVERRIDE_EN: u32 = 4;
    pub(crate) const DIRECT_WRITABLE: u32 = 0x0000_ff77;
    pub(crate) const OVERRIDE_MASK: u32 = 0x0000_9fff;
}
mod int {
    pub(crate) const EP_STALL_NAK: u32 = 1 << 19;
    pub(crate) const ABORT_DONE: u32 = 1 << 18;
    pub(crate) const DEV_SOF: u32 = 1 << 17;
    pub(crate) const SETUP_REQ: u32 = 1 << 16;
    pub(crate) const DEV_RESUME_FROM_HOST: u32 = 1 << 15;
    pub(crate) const DEV_SUSPEND: u32 = 1 << 14;
    pub(crate) const DEV_CONN_DIS: u32 = 1 << 13;
    pub(crate) const BUS_RESET: u32 = 1 << 12;
    pub(crate) const VBUS_DETECT: u32 = 1 << 11;
    pub(crate) const ERROR_DATA_SEQ: u32 = 1 << 5;
    pub(crate) const BUFF_STATUS: u32 = 1 << 4;
    pub(crate) const TRANS_COMPLETE: u32 = 1 << 3;
    pub(crate) const HOST_SOF: u32 = 1 << 2;
    pub(crate) const MASK: u32 = 0x000f_ffff;
}
/// Writable bits of the registers in which the versions differ.
struct Masks {
    main_ctrl: u32,
    sie_ctrl: u32,
    nak_poll: u32,
    muxing: u32,
    phy_override: u32,
    int: u32,
}

const MASKS: [Masks; 2] = [
    Masks {
        main_ctrl: main_ctrl::MASK,
        sie_ctrl: sie_ctrl::MASK,
        nak_poll: 0x03ff_03ff,
        muxing: 0xf,
        phy_override: phy::OVERRIDE_MASK,
        int: int::MASK,
    },
    Masks {
        main_ctrl: main_ctrl::MASK | main_ctrl::PHY_ISO,
        sie_ctrl: sie_ctrl::MASK | sie_ctrl::EP0_STOP_ON_SHORT_PACKET,
        nak_poll: 0xf7ff_ffff,
        muxing: 0x8000_001f,
        phy_override: 0x0007_9fff,
        int: 0x00ff_ffff,
    },
];

/// Endpoint control register.
mod ep_ctrl {
    pub(crate) const ENABLE: u32 = 1 << 31;
    pub(crate) const DOUBLE_BUFFERED: u32 = 1 << 30;
    pub(crate) const INTERRUPT_PER_BUFF: u32 = 1 << 29;
    pub(crate) const INTERRUPT_PER_DOUBLE_BUFF: u32 = 1 << 28;
    pub(crate) const INTERRUPT_ON_STALL: u32 = 1 << 17;
    pub(crate) const INTERRUPT_ON_NAK: u32 = 1 << 16;
    pub(crate) const ISOCHRONOUS: u32 = 1;
}
/// Half of a buffer control register; RESET and STALL exist in the half of buffer 0 only.
mod buf_ctrl {
    pub(crate) const FULL: u32 = 1 << 15;
    pub(crate) const LAST: u32 = 1 << 14;
    pub(crate) const DATA1: u32 = 1 << 13;
    pub(crate) const RESET: u32 = 1 << 12;
    pub(crate) const STALL: u32 = 1 << 11;
    pub(crate) const AVAILABLE: u32 = 1 << 10;
    pub(crate) const LENGTH: u32 = 0x3ff;
}

/// A transaction whose handshake is still on the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
enum Pending {
    Setup,
    /// Buffer `which` of the endpoint with bit `index` in BUFF_STATUS was sent, or received `length` bytes.
    Buffer {
        index: u32,
        which: u32,
        length: u32,
    },
}

/// Ends the run: a host sends something, or asks for the number of a frame that it has sent.
fn host_mode(sys: &mut Sys, offset: u32, bits: Option<u32>) {
    unmodelled(sys, "USBCTRL host mode", offset, bits);
}

/// The controller's settings of an endpoint, read before it answers.
#[derive(Clone, Copy, Debug)]
struct Endpoint {
    control: u32,
    /// Offset of the buffer control register.
    buffer_control: usize,
    /// Buffer 0 in DPSRAM.
    buffer: usize,
    isochronous: bool,
}

/// The USB controller in device mode, with its DPSRAM.
#[derive(Debug, Snapshot)]
pub struct Usb {
    wires: UsbWires,
    dpsram: Box<[u8; DPSRAM_SIZE]>,
    addr_endp: u32,
    /// A register of host mode, without effect in device mode; embassy-rp sets it anyway.
    int_ep_ctrl: u32,
    main_ctrl: u32,
    /// LINESTATE_TUNING, stored without effect.
    tuning: u32,
    sof_rd: u32,
    sie_ctrl: u32,
    /// Latched bits of SIE_STATUS.
    sie_status: u32,
    connected: bool,
    suspended: bool,
    /// The host drives SE0.
    in_bus_reset: bool,
    buff_status: u32,
    /// Buffer to handle per bit of `buff_status`.
    should_handle: u32,
    /// A second buffer completed before the first was handled; it is always the other one.
    queued: u32,
    ep_abort: u32,
    ep_abort_done: u32,
    ep_stall_arm: u32,
    nak_poll: u32,
    ep_status_stall_nak: u32,
    muxing: u32,
    pwr: u32,
    phy_direct: u32,
    phy_direct_override: u32,
    phy_trim: u32,
    /// DEV_SOF, DEV_SUSPEND, DEV_CONN_DIS, VBUS_DETECT: interrupts that are not a bit of another register.
    latched: u32,
    /// VBUS was detected.
    vbus: bool,
    inte: u32,
    intf: u32,
    /// Buffer select of each endpoint direction.
    selector: u32,
    pending: Option<(Pending, Ps)>,
    /// Time when the idle bus becomes suspended.
    idle_until: Ps,
}

impl Usb {
    /// Returns the part in its reset state, connected by `wires`.
    pub fn new(wires: UsbWires) -> Self {
        let v1 = wires.version == Version::V1;
        Self {
            wires,
            dpsram: Box::new([0; DPSRAM_SIZE]),
            addr_endp: 0,
            int_ep_ctrl: 0,
            main_ctrl: if v1 { main_ctrl::PHY_ISO } else { 0 },
            tuning: 0xf8,
            sof_rd: 0,
            sie_ctrl: if v1 { sie_ctrl::PULLDOWN_EN } else { 0 },
            sie_status: 0,
            connected: false,
            suspended: false,
            in_bus_reset: false,
            buff_status: 0,
            should_handle: 0,
            queued: 0,
            ep_abort: 0,
            ep_abort_done: 0,
            ep_stall_arm: 0,
            nak_poll: 0x0010_0010,
            ep_status_stall_nak: 0,
            muxing: if v1 { muxing::TO_PHY } else { 0 },
            pwr: 0,
            phy_direct: 0,
            phy_direct_override: 0,
            phy_trim: 0x1f1f,
            latched: 0,
            vbus: false,
            inte: 0,
            intf: 0,
            selector: 0,
            pending: None,
            idle_until: NEVER,
        }
    }
}

// The host's side.
impl Usb {
    /// Returns whether the device pulls D+ up: a full-speed device is present.
    pub(crate) fn pulled_up(&self) -> bool {
        if self.phy_direct_override & phy::DP_PULLUP_EN_OVERRIDE_EN != 0 {
            return self.phy_direct & phy::DP_PULLUP_EN != 0;
        }
        self.main_ctrl & main_ctrl::CONNECTED == main_ctrl::CONTROLLER_EN
            && self.muxing & muxing::TO_PHY != 0
            && self.sie_ctrl & sie_ctrl::PULLUP_EN != 0
    }

    fn is_host(&self) -> bool {
        self.main_ctrl & main_ctrl::HOST_NDEVICE != 0
    }

    fn masks(&self) -> &'static Masks {
        &MASKS[self.wires.version as usize]
    }

    /// Returns whether the controller receives and answers packets.
    fn listening(&self, sys: &Sys) -> bool {
        self.pulled_up() && self.muxing & muxing::TO_PHY != 0 && sys.freq.clk_usb_hz != 0
    }

    /// Handles the start of a bus reset: SE0 for long enough. It ends with the next packet.
    pub(crate) fn host_reset(&mut self, sys: &mut Sys) {
        self.finish_pending(sys);
        if !self.listening(sys) {
            return;
        }
        self.trace(sys, 0, "RESET", "", 0);
        self.in_bus_reset = true;
        self.suspended = false;
        self.set_connected(false);
        self.sie_status |= sie_status::BUS_RESET;
        self.idle_until = NEVER;
        self.refresh(sys);
    }

    /// Handles start of frame `frame` (11 bits).
    pub(crate) fn host_sof(&mut self, sys: &mut Sys, frame: u16) {
        self.finish_pending(sys);
        if !self.listening(sys) {
            return;
        }
        self.bus_active(sys);
        self.sof_rd = u32::from(frame) & 0x7ff;
        self.latched |= int::DEV_SOF;
        self.refresh(sys);
    }

    /// Handles a SETUP token and its data packet to endpoint 0 of address `addr`.
    pub(crate) fn host_setup(&mut self, sys: &mut Sys, addr: u8, packet: [u8; 8]) -> Handshake {
        self.finish_pending(sys);
        let handshake = if self.addressed(sys, addr) {
            self.dpsram[..8].copy_from_slice(&packet);
            // A SETUP packet ends a STALL of endpoint 0 (datasheet 4.1.2.6.1).
            self.ep_stall_arm = 0;
            self.pending = Some((Pending::Setup, sys.now() + bits(HANDSHAKE_BITS)));
            Handshake::Ack
        } else {
            Handshake::Timeout
        };
        self.refresh(sys);
        self.trace(sys, 0, "SETUP", handshake_name(handshake), 8);
        handshake
    }

    /// Handles an OUT token and its data packet to endpoint `ep` (0 to 15) of address `addr`.
    pub(crate) fn host_out(&mut self, sys: &mut Sys, addr: u8, ep: u8, data1: bool, data: &[u8]) -> Handshake {
        self.finish_pending(sys);
        let handshake =
            if self.addressed(sys, addr) { self.out(sys, ep & 0xf, data1, data) } else { Handshake::Timeout };
        self.refresh(sys);
        self.trace(sys, ep & 0xf, "OUT", handshake_name(handshake), data.len());
        handshake
    }

    /// Handles an IN token to endpoint `ep` (0 to 15) of address `addr`; `buf` receives the payload, which the host
    /// acknowledges.
    pub(crate) fn host_in(&mut self, sys: &mut Sys, addr: u8, ep: u8, buf: &mut Vec<u8>) -> InResult {
        self.finish_pending(sys);
        buf.clear();
        let result = if self.addressed(sys, addr) { self.input(sys, ep & 0xf, buf) } else { InResult::Timeout };
        self.refresh(sys);
        let name = match result {
            InResult::Data { data1: false } => "DATA0",
            InResult::Data { data1: true } => "DATA1",
            InResult::Nak => "NAK",
            InResult::Stall => "STALL",
            InResult::Timeout => "TIMEOUT",
        };
        self.trace(sys, 0x80 | (ep & 0xf), "IN", name, buf.len());
        result
    }

    fn trace(&self, sys: &mut Sys, endpoint: u8, token: &'static str, handshake: &'static str, len: usize) {
        if sys.trace.wants(kind::USB) {
            let at = sys.now();
            sys.trace.push(at, Record::Usb { endpoint, token, handshake, len: len as u16 });
        }
    }

    fn addressed(&mut self, sys: &mut Sys, addr: u8) -> bool {
        if !self.listening(sys) {
            return false;
        }
        self.bus_active(sys);
        u32::from(addr) == self.addr_endp & 0x7f
    }

    /// Handles bus activity: a bus reset or suspend is over.
    fn bus_active(&mut self, sys: &Sys) {
        self.in_bus_reset = false;
        self.set_connected(true);
        if std::mem::take(&mut self.suspended) {
            self.sie_status |= sie_status::RESUME;
        }
        self.idle_until = sys.now() + SUSPEND_PS;
    }

    fn set_connected(&mut self, connected: bool) {
        if self.connected != connected {
            self.connected = connected;
            self.latched |= int::DEV_CONN_DIS;
        }
    }
}

fn handshake_name(handshake: Handshake) -> &'static str {
    match handshake {
        Handshake::Ack => "ACK",
        Handshake::Nak => "NAK",
        Handshake::Stall => "STALL",
        Handshake::Timeout => "TIMEOUT",
    }
}

// Transactions.
impl Usb {
    fn word(&self, at: usize) -> u32 {
        let at = at & (DPSRAM_SIZE - 4);
        u32::from_le_bytes(self.dpsram[at..at + 4].try_into().unwrap_or_default())
    }

    fn set_word(&mut self, at: usize, value: u32) {
        let at = at & (DPSRAM_SIZE - 4);
        self.dpsram[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// Returns the endpoint with bit `index` in BUFF_STATUS (IN even, OUT odd); `None` if it is not enabled.
    fn endpoint(&self, index: u32) -> Option<Endpoint> {
        let buffer_control = 0x80 + index as usize * 4;
        if index < 2 {
            // EP0 has no control register: its flags are in SIE_CTRL.
            let mut control = 0;
            for (from, to) in [
                (sie_ctrl::EP0_DOUBLE_BUF, ep_ctrl::DOUBLE_BUFFERED),
                (sie_ctrl::EP0_INT_1BUF, ep_ctrl::INTERRUPT_PER_BUFF),
                (sie_ctrl::EP0_INT_2BUF, ep_ctrl::INTERRUPT_PER_DOUBLE_BUFF),
                (sie_ctrl::EP0_INT_STALL, ep_ctrl::INTERRUPT_ON_STALL),
                (sie_ctrl::EP0_INT_NAK, ep_ctrl::INTERRUPT_ON_NAK),
            ] {
                if self.sie_ctrl & from != 0 {
                    control |= to;
                }
            }
            return Some(Endpoint { control, buffer_control, buffer: EP0_BUFFER, isochronous: false });
        }
        let control = self.word(index as usize * 4);
        (control & ep_ctrl::ENABLE != 0).then_some(Endpoint {
            control,
            buffer_control,
            buffer: (control & 0xffc0) as usize,
            isochronous: (control >> 26) & 3 == ep_ctrl::ISOCHRONOUS,
        })
    }

    /// Returns the buffer of the next transaction, with its half of the buffer control register.
    fn selected_buffer(&mut self, index: u32, endpoint: Endpoint) -> (u32, u32) {
        let control = self.word(endpoint.buffer_control);
        if control & buf_ctrl::RESET != 0 {
            self.selector &= !(1 << index);
        }
        let which = if endpoint.control & ep_ctrl::DOUBLE_BUFFERED != 0 { (self.selector >> index) & 1 } else { 0 };
        (which, (control >> (16 * which)) & 0xffff)
    }

    fn buffer_offset(&self, endpoint: Endpoint, which: u32) -> usize {
        let stride = if endpoint.isochronous {
            128 << ((self.word(endpoint.buffer_control) >> 27) & 3)
        } else {
            BULK_BUFFER_STRIDE
        };
        endpoint.buffer + which as usize * stride
    }

    fn stalls(&self, index: u32, endpoint: Endpoint) -> bool {
        // A STALL of EP0 must be armed (datasheet 4.1.2.6.1).
        self.word(endpoint.buffer_control) & buf_ctrl::STALL != 0
            && (index >= 2 || self.ep_stall_arm & (1 << index) != 0)
    }

    fn note_stall_or_nak(&mut self, index: u32, endpoint: Endpoint, flag: u32) {
        if endpoint.control & flag != 0 {
            self.ep_status_stall_nak |= 1 << index;
        }
    }

    fn out(&mut self, sys: &Sys, ep: u8, data1: bool, data: &[u8]) -> Handshake {
        let index = u32::from(ep) * 2 + 1;
        let Some(endpoint) = self.endpoint(index) else { return Handshake::Timeout };
        if self.stalls(index, endpoint) {
            self.note_stall_or_nak(index, endpoint, ep_ctrl::INTERRUPT_ON_STALL);
            return Handshake::Stall;
        }
        let (which, half) = self.selected_buffer(index, endpoint);
        let ready = half & (buf_ctrl::AVAILABLE | buf_ctrl::FULL) == buf_ctrl::AVAILABLE;
        if !ready || self.ep_abort & (1 << index) != 0 {
            if endpoint.isochronous {
                return Handshake::Timeout;
            }
            self.note_stall_or_nak(index, endpoint, ep_ctrl::INTERRUPT_ON_NAK);
            return Handshake::Nak;
        }
        if !endpoint.isochronous && (half & buf_ctrl::DATA1 != 0) != data1 {
            // A repeated packet: acknowledged and dropped (USB 2.0 section 8.6.4).
            self.sie_status |= sie_status::DATA_SEQ_ERROR;
            return Handshake::Ack;
        }
        let at = self.buffer_offset(endpoint, which);
        let data = &data[..data.len().min(buf_ctrl::LENGTH as usize)];
        for (i, &byte) in data.iter().enumerate() {
            self.dpsram[(at + i) % DPSRAM_SIZE] = byte;
        }
        let due = sys.now() + bits(if endpoint.isochronous { 0 } else { HANDSHAKE_BITS });
        self.pending = Some((Pending::Buffer { index, which, length: data.len() as u32 }, due));
        Handshake::Ack
    }

    fn input(&mut self, sys: &Sys, ep: u8, buf: &mut Vec<u8>) -> InResult {
        let index = u32::from(ep) * 2;
        let Some(endpoint) = self.endpoint(index) else { return InResult::Timeout };
        if self.stalls(index, endpoint) {
            self.note_stall_or_nak(index, endpoint, ep_ctrl::INTERRUPT_ON_STALL);
            return InResult::Stall;
        }
        let (which, half) = self.selected_buffer(index, endpoint);
        let wanted = buf_ctrl::AVAILABLE | buf_ctrl::FULL;
        if half & wanted != wanted || self.ep_abort & (1 << index) != 0 {
            if endpoint.isochronous {
                return InResult::Timeout;
            }
            self.note_stall_or_nak(index, endpoint, ep_ctrl::INTERRUPT_ON_NAK);
            return InResult::Nak;
        }
        let length = half & buf_ctrl::LENGTH;
        let at = self.buffer_offset(endpoint, which);
        buf.extend((0..length as usize).map(|i| self.dpsram[(at + i) % DPSRAM_SIZE]));
        let handshake = if endpoint.isochronous { 0 } else { HANDSHAKE_BITS };
        let due = sys.now() + bits(DATA_OVERHEAD_BITS + 8 * u64::from(length) + handshake);
        self.pending = Some((Pending::Buffer { index, which, length }, due));
        InResult::Data { data1: half & buf_ctrl::DATA1 != 0 }
    }

    /// Performs the status phase of the transaction whose handshake was on the bus.
    fn finish_pending(&mut self, sys: &Sys) {
        let Some((pending, due)) = self.pending.take() else { return };
        if self.idle_until != NEVER {
            self.idle_until = self.idle_until.max(due.min(sys.now()) + SUSPEND_PS);
        }
        let Pending::Buffer { index, which, length } = pending else {
            self.sie_status |= sie_status::SETUP_REC;
            return;
        };
        let Some(endpoint) = self.endpoint(index) else { return };
        let out = index & 1 != 0;
        let shift = 16 * which;
        let control = self.word(endpoint.buffer_control);
        let mut half = (control >> shift) & 0xffff;
        let last = half & buf_ctrl::LAST != 0;
        half &= !(buf_ctrl::AVAILABLE | buf_ctrl::FULL | buf_ctrl::LENGTH);
        half |= length | if out { buf_ctrl::FULL } else { 0 };
        // The buffer select reset is cleared at the end of the transfer (datasheet 4.1.2.5.3).
        let control = ((control & !(0xffff << shift)) | (half << shift)) & !buf_ctrl::RESET;
        self.set_word(endpoint.buffer_control, control);
        if !out {
            self.sie_status |= sie_status::ACK_REC;
        }
        if last {
            self.sie_status |= sie_status::TRANS_COMPLETE;
        }
        let bit = 1 << index;
        let double = endpoint.control & ep_ctrl::DOUBLE_BUFFERED != 0;
        if double {
            self.selector ^= bit;
        }
        let per_buffer = endpoint.control & ep_ctrl::INTERRUPT_PER_BUFF != 0;
        let per_two = endpoint.control & ep_ctrl::INTERRUPT_PER_DOUBLE_BUFF != 0 && double && which == 1;
        if !per_buffer && !per_two {
            return;
        }
        if self.buff_status & bit == 0 {
            self.buff_status |= bit;
            self.should_handle = (self.should_handle & !bit) | (which << index);
        } else if double && (self.should_handle >> index) & 1 != which {
            self.queued |= bit;
        }
    }

    /// Clears bits of BUFF_STATUS written as 1; a second completed buffer sets the bit again at once (datasheet 4.1.4).
    fn clear_buff_status(&mut self, bits: u32) {
        let again = bits & self.queued;
        self.buff_status &= !(bits & !again);
        self.should_handle ^= again;
        self.queued &= !again;
    }

    /// Sets EP_ABORT_DONE for each aborted endpoint without a transaction on the bus.
    fn update_abort(&mut self) {
        let busy = match self.pending {
            Some((Pending::Buffer { index, .. }, _)) => 1 << index,
            _ => 0,
        };
        self.ep_abort_done |= self.ep_abort & !busy;
    }
}

// Registers and events.
impl Usb {
    /// Handles this controller's event: the end of a handshake, or a bus idle for 3 ms.
    pub fn event(&mut self, sys: &mut Sys) {
        let now = sys.now();
        if self.pending.is_some_and(|(_, due)| due <= now) {
            self.finish_pending(sys);
        }
        if self.idle_until <= now {
            self.idle_until = NEVER;
            if self.pulled_up() && !self.suspended {
                self.suspended = true;
                self.latched |= int::DEV_SUSPEND;
            }
        }
        self.refresh(sys);
    }

    /// Reads the word of DPSRAM at `offset`.
    pub fn dpram_read(&mut self, offset: u32) -> u32 {
        self.word(offset as usize)
    }

    /// Writes DPSRAM; `size` is 1, 2 or 4 bytes.
    pub fn dpram_write(&mut self, _sys: &mut Sys, offset: u32, value: u32, size: u32) {
        let size = size as usize;
        let at = offset as usize & (DPSRAM_SIZE - size);
        self.dpsram[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
    }

    fn vbus_detected(&self, sys: &Sys) -> bool {
        if self.pwr & pwr::VBUS_DETECT_OVERRIDE_EN != 0 {
            return self.pwr & pwr::VBUS_DETECT != 0;
        }
        self.wires.vbus_detect.selected(&sys.pins) & sys.pins.input() != 0
    }

    fn line_is_j(&self, sys: &Sys) -> bool {
        if self.muxing & muxing::TO_DIGITAL_PAD != 0 {
            return self.wires.dp.selected(&sys.pins) & sys.pins.input() != 0;
        }
        self.pulled_up() && !self.in_bus_reset
    }

    fn status(&self, sys: &Sys) -> u32 {
        let mut value = self.sie_status;
        for (set, bit) in [
            (self.connected, sie_status::CONNECTED),
            (self.suspended, sie_status::SUSPENDED),
            (self.line_is_j(sys), sie_status::LINE_STATE_J),
            (self.vbus_detected(sys), sie_status::VBUS_DETECTED),
        ] {
            if set {
                value |= bit;
            }
        }
        value
    }

    /// Latches the interrupt of VBUS when it rises.
    fn follow_vbus(&mut self, sys: &Sys) {
        let detected = self.vbus_detected(sys);
        if !std::mem::replace(&mut self.vbus, detected) && detected {
            self.latched |= int::VBUS_DETECT;
        }
    }

    fn raw_interrupts(&self) -> u32 {
        let mut raw = self.latched;
        for (set, bit) in [
            (self.ep_status_stall_nak != 0, int::EP_STALL_NAK),
            (self.ep_abort_done != 0, int::ABORT_DONE),
            (self.sie_status & sie_status::SETUP_REC != 0, int::SETUP_REQ),
            (self.sie_status & sie_status::RESUME != 0, int::DEV_RESUME_FROM_HOST),
            (self.sie_status & sie_status::BUS_RESET != 0, int::BUS_RESET),
            (self.sie_status & sie_status::DATA_SEQ_ERROR != 0, int::ERROR_DATA_SEQ),
            (self.buff_status != 0, int::BUFF_STATUS),
            (self.sie_status & sie_status::TRANS_COMPLETE != 0, int::TRANS_COMPLETE),
        ] {
            if set {
                raw |= bit;
            }
        }
        raw
    }

    fn ints(&self) -> u32 {
        (self.raw_interrupts() | self.intf) & self.inte
    }

    fn refresh(&mut self, sys: &mut Sys) {
        self.update_abort();
        self.follow_vbus(sys);
        sys.set_irq(self.wires.irq, self.ints() != 0);
        let due = self.pending.map_or(NEVER, |(_, due)| due).min(self.idle_until);
        if sys.due(self.wires.event) != due {
            sys.schedule(self.wires.event, due);
        }
    }

    /// Handles a change of the pull-up: an idle, attached bus suspends; a detached one is not connected.
    fn pull_up_changed(&mut self, sys: &Sys, was: bool) {
        let is = self.pulled_up();
        if is == was {
            return;
        }
        self.suspended = false;
        if is {
            self.idle_until = sys.now() + SUSPEND_PS;
        } else {
            self.idle_until = NEVER;
            self.in_bus_reset = false;
            self.set_connected(false);
        }
    }
}

impl Peripheral for Usb {
    fn name(&self) -> &'static str {
        "USBCTRL"
    }

    fn read(&mut self, sys: &mut Sys, offset: u32) -> u32 {
        self.follow_vbus(sys);
        match offset & 0xfff {
            reg::ADDR_ENDP => self.addr_endp,
            reg::INT_EP_CTRL => self.int_ep_ctrl,
            reg::MAIN_CTRL => self.main_ctrl,
            reg::SOF_RD => {
                if self.is_host() {
                    host_mode(sys, offset, None);
                }
                self.latched &= !int::DEV_SOF;
                self.refresh(sys);
                self.sof_rd
            }
            reg::SIE_CTRL => self.sie_ctrl,
            reg::SIE_STATUS => self.status(sys),
            reg::BUFF_STATUS => self.buff_status,
            reg::BUFF_CPU_SHOULD_HANDLE => self.should_handle,
            reg::EP_ABORT => self.ep_abort,
            reg::EP_ABORT_DONE => self.ep_abort_done,
            reg::EP_STALL_ARM => self.ep_stall_arm,
            reg::NAK_POLL => self.nak_poll,
            reg::EP_STATUS_STALL_NAK => self.ep_status_stall_nak,
            reg::USB_MUXING => self.muxing,
            reg::USB_PWR => self.pwr,
            reg::USBPHY_DIRECT => {
                let j = self.line_is_j(sys);
                // RX_DP and RX_DD follow the line.
                self.phy_direct | if j { 0x0003_0000 } else { 0 }
            }
            reg::USBPHY_DIRECT_OVERRIDE => self.phy_direct_override,
            reg::USBPHY_TRIM => self.phy_trim,
            reg::LINESTATE_TUNING if self.wires.version == Version::V1 => self.tuning,
            reg::INTR => self.raw_interrupts(),
            reg::INTE => self.inte,
            reg::INTF => self.intf,
            reg::INTS => self.ints(),
            _ => 0,
        }
    }

    /// Writes a register. In write-1-to-clear registers the bits written through any alias clear: firmware uses the
    /// normal and the clear alias for the same effect.
    fn write(&mut self, sys: &mut Sys, offset: u32, write: Write) {
        let was_pulled_up = self.pulled_up();
        match offset & 0xfff {
            reg::ADDR_ENDP => self.addr_endp = write.apply_masked(self.addr_endp, 0x000f_007f),
            // Host-mode registers: the initialisation of a driver clears them.
            reg::INT_EP_CTRL => self.int_ep_ctrl = write.apply_masked(self.int_ep_ctrl, 0xfffe),
            reg::ADDR_ENDP1..=reg::ADDR_ENDP15 | reg::SOF_WR if write.apply(0) != 0 => {
                host_mode(sys, offset, Some(write.bits));
            }
            reg::MAIN_CTRL => self.main_ctrl = write.apply_masked(self.main_ctrl, self.masks().main_ctrl),
            reg::SIE_CTRL => {
                let value = write.apply_masked(self.sie_ctrl, self.masks().sie_ctrl);
                if value & sie_ctrl::DIRECT_EN != 0 {
                    unmodelled(sys, "USBCTRL.SIE_CTRL.DIRECT_EN", offset, Some(write.bits));
                }
                if self.is_host() && value & sie_ctrl::HOST_ACTS != 0 {
                    host_mode(sys, offset, Some(write.bits));
                }
                self.sie_ctrl = value & !sie_ctrl::SELF_CLEARING;
            }
            reg::SIE_STATUS => {
                self.sie_status &= !(write.bits & sie_status::WRITE_CLEARS);
                // These are levels; a write to them clears the interrupt of their change.
                for (level, interrupt) in [
                    (sie_status::CONNECTED, int::DEV_CONN_DIS),
                    (sie_status::SUSPENDED, int::DEV_SUSPEND),
                    (sie_status::VBUS_DETECTED, int::VBUS_DETECT),
                ] {
                    if write.bits & level != 0 {
                        self.latched &= !interrupt;
                    }
                }
            }
            reg::BUFF_STATUS => self.clear_buff_status(write.bits),
            reg::EP_ABORT => self.ep_abort = write.apply(self.ep_abort),
            reg::EP_ABORT_DONE => self.ep_abort_done &= !write.bits,
            reg::EP_STALL_ARM => self.ep_stall_arm = write.apply_masked(self.ep_stall_arm, 3),
            reg::NAK_POLL => self.nak_poll = write.apply_masked(self.nak_poll, self.masks().nak_poll),
            reg::EP_STATUS_STALL_NAK => self.ep_status_stall_nak &= !write.bits,
            reg::USB_MUXING => self.muxing = write.apply_masked(self.muxing, self.masks().muxing),
            reg::USB_PWR => self.pwr = write.apply_masked(self.pwr, 0x3f),
            reg::USBPHY_DIRECT => self.phy_direct = write.apply_masked(self.phy_direct, phy::DIRECT_WRITABLE),
            reg::USBPHY_DIRECT_OVERRIDE => {
                self.phy_direct_override = write.apply_masked(self.phy_direct_override, self.masks().phy_override);
            }
            reg::LINESTATE_TUNING if self.wires.version == Version::V1 => {
                self.tuning = write.apply_masked(self.tuning, 0xfff);
            }
            reg::USBPHY_TRIM => self.phy_trim = write.apply_masked(self.phy_trim, 0x1f1f),
            reg::INTE => self.inte = write.apply_masked(self.inte, self.masks().int),
            reg::INTF => self.intf = write.apply_masked(self.intf, self.masks().int),
            _ => {}
        }
        if self.is_host() && (self.int_ep_ctrl != 0 || self.inte & int::HOST_SOF != 0) {
            host_mode(sys, offset, Some(write.bits));
        }
        self.pull_up_changed(sys, was_pulled_up);
        self.refresh(sys);
    }

    /// Resets the registers; the DPSRAM keeps its contents.
    fn reset(&mut self, sys: &mut Sys) {
        let dpsram = std::mem::replace(&mut self.dpsram, Box::new([0; DPSRAM_SIZE]));
        *self = Self { dpsram, ..Self::new(self.wires) };
        self.refresh(sys);
    }
}

#[cfg(test)]
mod tests;
