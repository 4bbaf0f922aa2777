use super::*;
use crate::testing::{self, event, function, irq};
use chip::Alias;

const EP0_IN: u32 = 0x80;
const EP0_OUT: u32 = 0x84;
const AVAILABLE: u32 = buf_ctrl::AVAILABLE;
const FULL: u32 = buf_ctrl::FULL;
const DATA1: u32 = buf_ctrl::DATA1;

struct Bench {
    usb: Usb,
    sys: Sys,
}

impl Bench {
    /// Returns a device as set up by TinyUSB, after its first bus reset.
    fn new() -> Self {
        let mut sys = testing::sys(125_000_000);
        sys.freq.clk_usb_hz = 48_000_000;
        let mut b = Self { usb: testing::usb(), sys };
        b.w(reg::USB_MUXING, 9);
        b.w(reg::USB_PWR, 0xc);
        b.w(reg::MAIN_CTRL, 1);
        b.w(reg::SIE_CTRL, sie_ctrl::EP0_INT_1BUF | sie_ctrl::PULLUP_EN);
        b.w(
            reg::INTE,
            int::BUFF_STATUS | int::BUS_RESET | int::SETUP_REQ | int::DEV_SUSPEND | int::DEV_RESUME_FROM_HOST,
        );
        assert!(b.usb.pulled_up());
        b.usb.host_reset(&mut b.sys);
        b.us(50_000);
        b.usb.host_sof(&mut b.sys, 5);
        b.clear(reg::SIE_STATUS, sie_status::BUS_RESET);
        b
    }

    fn us(&mut self, us: u64) {
        let until = self.sys.now() + us * 1_000_000;
        while let Some(id) = self.sys.take_event(until) {
            assert_eq!(id, event::USB);
            self.usb.event(&mut self.sys);
        }
        self.sys.cycle = self.sys.clock.cycle_at(until);
    }

    fn w(&mut self, offset: u32, value: u32) {
        self.usb.write(&mut self.sys, offset, Write::normal(value));
    }

    fn clear(&mut self, offset: u32, bits: u32) {
        self.usb.write(&mut self.sys, offset, Write { bits, alias: Alias::Clear });
    }

    fn set(&mut self, offset: u32, bits: u32) {
        self.usb.write(&mut self.sys, offset, Write { bits, alias: Alias::Set });
    }

    fn r(&mut self, offset: u32) -> u32 {
        self.usb.read(&mut self.sys, offset)
    }

    fn dw(&mut self, offset: u32, value: u32) {
        self.usb.dpram_write(&mut self.sys, offset, value, 4);
    }

    fn dw16(&mut self, offset: u32, value: u32) {
        self.usb.dpram_write(&mut self.sys, offset, value, 2);
    }

    fn dr(&mut self, offset: u32) -> u32 {
        self.usb.dpram_read(offset)
    }

    fn setup(&mut self, addr: u8, packet: [u8; 8]) -> Handshake {
        self.us(100);
        let h = self.usb.host_setup(&mut self.sys, addr, packet);
        self.us(100);
        h
    }

    fn out(&mut self, ep: u8, data1: bool, data: &[u8]) -> Handshake {
        let h = self.usb.host_out(&mut self.sys, 0, ep, data1, data);
        self.us(100);
        h
    }

    fn input(&mut self, ep: u8) -> (InResult, Vec<u8>) {
        let mut buf = vec![9];
        let r = self.usb.host_in(&mut self.sys, 0, ep, &mut buf);
        self.us(100);
        (r, buf)
    }

    fn irq(&self) -> bool {
        self.sys.irq_level() & (1 << irq::USBCTRL) != 0
    }

    fn enable_endpoint(&mut self, number: u32, input: bool, flags: u32, buffer: u32) {
        let at = 8 * number + if input { 0 } else { 4 };
        self.dw(at, ep_ctrl::ENABLE | flags | (2 << 26) | buffer);
    }
}

#[test]
fn reset_values() {
    let mut sys = testing::sys(1_000_000);
    let mut usb = testing::usb();
    for offset in (0..0xa0).step_by(4) {
        let expected = match offset {
            reg::NAK_POLL => 0x0010_0010,
            reg::USBPHY_TRIM => 0x1f1f,
            _ => 0,
        };
        assert_eq!(usb.read(&mut sys, offset), expected, "{offset:#x}");
    }
}

#[test]
fn a_device_may_set_the_hosts_interrupt_endpoints() {
    let mut b = Bench::new();
    b.w(reg::INT_EP_CTRL, 0x1_ffff);
    assert_eq!(b.r(reg::INT_EP_CTRL), 0xfffe);
    assert!(b.sys.unmodelled.is_none());
}

#[test]
fn bus_reset_line_state_and_connection() {
    let mut sys = testing::sys(125_000_000);
    sys.freq.clk_usb_hz = 48_000_000;
    let mut b = Bench { usb: testing::usb(), sys };
    assert!(!b.usb.pulled_up());
    b.w(reg::USB_MUXING, 9);
    b.w(reg::MAIN_CTRL, 1);
    b.set(reg::SIE_CTRL, sie_ctrl::PULLUP_EN);
    assert!(b.usb.pulled_up());
    b.w(reg::INTE, int::BUS_RESET | int::DEV_CONN_DIS);
    assert_eq!(b.r(reg::SIE_STATUS), sie_status::LINE_STATE_J);
    b.usb.host_reset(&mut b.sys);
    assert_eq!((b.r(reg::SIE_STATUS), b.irq()), (sie_status::BUS_RESET, true), "SE0");
    b.w(reg::SIE_STATUS, sie_status::BUS_RESET);
    assert!(!b.irq());
    b.us(50_000);
    b.usb.host_sof(&mut b.sys, 0x7ff);
    assert_eq!(b.r(reg::SIE_STATUS), sie_status::LINE_STATE_J | sie_status::CONNECTED);
    assert_eq!(b.r(reg::INTS), int::DEV_CONN_DIS);
    b.clear(reg::SIE_STATUS, sie_status::CONNECTED);
    assert_eq!((b.r(reg::INTS), b.r(reg::SOF_RD)), (0, 0x7ff));
    b.clear(reg::SIE_CTRL, sie_ctrl::PULLUP_EN);
    assert!(!b.usb.pulled_up());
    assert_eq!((b.r(reg::SIE_STATUS), b.r(reg::INTS)), (0, int::DEV_CONN_DIS));
}

#[test]
fn sof_interrupt_clears_by_reading_the_number() {
    let mut b = Bench::new();
    assert_eq!(b.r(reg::INTR) & int::DEV_SOF, int::DEV_SOF);
    assert_eq!(b.r(reg::SOF_RD), 5);
    assert_eq!(b.r(reg::INTR) & int::DEV_SOF, 0);
}

#[test]
fn a_control_read_goes_through_ep0() {
    let mut b = Bench::new();
    let packet = [0x80, 6, 0, 1, 0, 0, 0x12, 0];
    assert_eq!(b.usb.host_setup(&mut b.sys, 0, packet), Handshake::Ack);
    assert!(!b.irq(), "the handshake is still on the bus");
    // 23 bits are 1.92 us.
    b.us(1);
    assert!(!b.irq());
    b.us(1);
    assert_eq!((b.irq(), b.r(reg::INTS)), (true, int::SETUP_REQ));
    assert_eq!([b.dr(0), b.dr(4)], [0x0100_0680, 0x0012_0000]);
    b.clear(reg::SIE_STATUS, sie_status::SETUP_REC);
    assert!(!b.irq());
    assert_eq!(b.input(0).0, InResult::Nak);
    // Descriptor in the buffer; AVAILABLE is written last.
    b.dw(0x100, 0x0110_0112);
    b.dw(EP0_IN, FULL | DATA1 | buf_ctrl::LAST | 4);
    assert_eq!(b.input(0).0, InResult::Nak);
    b.dw(EP0_IN, FULL | DATA1 | buf_ctrl::LAST | AVAILABLE | 4);
    assert_eq!(b.input(0), (InResult::Data { data1: true }, vec![0x12, 1, 0x10, 1]));
    assert_eq!(b.dr(EP0_IN), DATA1 | buf_ctrl::LAST | 4);
    assert_eq!((b.r(reg::BUFF_STATUS), b.r(reg::BUFF_CPU_SHOULD_HANDLE)), (1, 0));
    assert_eq!(
        b.r(reg::SIE_STATUS) & (sie_status::TRANS_COMPLETE | sie_status::ACK_REC),
        sie_status::TRANS_COMPLETE | sie_status::ACK_REC
    );
    b.clear(reg::BUFF_STATUS, 1);
    assert!(!b.irq());
    // Status stage.
    assert_eq!(b.out(0, true, &[]), Handshake::Nak);
    b.dw(EP0_OUT, AVAILABLE | DATA1 | 64);
    assert_eq!(b.out(0, true, &[]), Handshake::Ack);
    assert_eq!((b.dr(EP0_OUT), b.r(reg::BUFF_STATUS)), (FULL | DATA1, 2));
    b.w(reg::BUFF_STATUS, 2);
    b.w(reg::ADDR_ENDP, 7);
    assert_eq!(b.setup(0, packet), Handshake::Timeout);
    assert_eq!(b.setup(7, packet), Handshake::Ack);
}

#[test]
fn an_in_buffer_is_done_when_its_data_and_the_ack_have_passed() {
    let mut b = Bench::new();
    b.dw(EP0_IN, FULL | AVAILABLE | 64);
    let begun = b.sys.now();
    let mut buf = Vec::new();
    b.usb.host_in(&mut b.sys, 0, 0, &mut buf);
    // 4 + 35 + 512 bits of data packet, 4 + 19 of ACK.
    assert_eq!(b.sys.due(event::USB), begun + 574 * 250_000 / 3);
    assert_eq!(b.dr(EP0_IN), FULL | AVAILABLE | 64);
    b.us(48);
    assert_eq!(b.r(reg::BUFF_STATUS), 1);
}

#[test]
fn stall_of_ep0_must_be_armed_and_ends_with_setup() {
    let mut b = Bench::new();
    b.dw(EP0_IN, buf_ctrl::STALL);
    assert_eq!(b.input(0).0, InResult::Nak);
    b.set(reg::EP_STALL_ARM, 1);
    assert_eq!(b.input(0).0, InResult::Stall);
    b.set(reg::SIE_CTRL, sie_ctrl::EP0_INT_STALL);
    b.input(0);
    assert_eq!((b.r(reg::EP_STATUS_STALL_NAK), b.r(reg::INTR) & int::EP_STALL_NAK), (1, int::EP_STALL_NAK));
    b.w(reg::EP_STATUS_STALL_NAK, 1);
    assert_eq!(b.r(reg::INTR) & int::EP_STALL_NAK, 0);
    b.setup(0, [0; 8]);
    assert_eq!((b.r(reg::EP_STALL_ARM), b.input(0).0), (0, InResult::Nak));
    b.enable_endpoint(1, false, 0, 0x180);
    b.dw(EP0_OUT + 8, buf_ctrl::STALL);
    assert_eq!(b.out(1, false, &[1]), Handshake::Stall);
}

#[test]
fn disabled_endpoints_and_wrong_toggles() {
    let mut b = Bench::new();
    assert_eq!(b.out(2, false, &[1]), Handshake::Timeout);
    assert_eq!(b.input(2).0, InResult::Timeout);
    b.enable_endpoint(2, false, ep_ctrl::INTERRUPT_PER_BUFF, 0x180);
    b.dw(EP0_OUT + 16, AVAILABLE | DATA1 | 64);
    assert_eq!(b.out(2, false, &[1, 2]), Handshake::Ack);
    assert_eq!((b.dr(EP0_OUT + 16), b.dr(0x180)), (AVAILABLE | DATA1 | 64, 0), "dropped");
    assert_eq!(b.r(reg::INTR) & int::ERROR_DATA_SEQ, int::ERROR_DATA_SEQ);
    b.clear(reg::SIE_STATUS, sie_status::DATA_SEQ_ERROR);
    assert_eq!(b.out(2, true, &[1, 2]), Handshake::Ack);
    assert_eq!((b.dr(EP0_OUT + 16), b.dr(0x180), b.r(reg::BUFF_STATUS)), (FULL | DATA1 | 2, 0x0201, 1 << 5));
}

#[test]
fn double_buffered_out_hands_over_both_buffers_in_order() {
    let mut b = Bench::new();
    b.enable_endpoint(3, false, ep_ctrl::DOUBLE_BUFFERED | ep_ctrl::INTERRUPT_PER_BUFF, 0x200);
    let control = EP0_OUT + 24;
    b.dw16(control, AVAILABLE | buf_ctrl::RESET | 64);
    b.dw16(control + 2, AVAILABLE | DATA1 | 64);
    assert_eq!(b.out(3, false, &[0xaa; 64]), Handshake::Ack);
    assert_eq!(b.out(3, true, &[0xbb; 10]), Handshake::Ack);
    assert_eq!(b.out(3, false, &[0xcc]), Handshake::Nak);
    assert_eq!(b.dr(control), FULL | 64 | ((FULL | DATA1 | 10) << 16));
    assert_eq!([b.dr(0x200), b.dr(0x240)], [0xaaaa_aaaa, 0xbbbb_bbbb]);
    let bit = 1 << 7;
    assert_eq!((b.r(reg::BUFF_STATUS), b.r(reg::BUFF_CPU_SHOULD_HANDLE)), (bit, 0));
    b.clear(reg::BUFF_STATUS, bit);
    assert_eq!((b.r(reg::BUFF_STATUS), b.r(reg::BUFF_CPU_SHOULD_HANDLE)), (bit, bit), "set again for buffer 1");
    b.clear(reg::BUFF_STATUS, bit);
    assert_eq!(b.r(reg::BUFF_STATUS), 0);
    b.dw16(control, AVAILABLE | 64);
    assert_eq!(b.out(3, false, &[1]), Handshake::Ack);
    assert_eq!((b.r(reg::BUFF_STATUS), b.r(reg::BUFF_CPU_SHOULD_HANDLE)), (bit, 0));
}

#[test]
fn double_buffered_in_with_one_interrupt_for_two() {
    let mut b = Bench::new();
    b.enable_endpoint(1, true, ep_ctrl::DOUBLE_BUFFERED | ep_ctrl::INTERRUPT_PER_DOUBLE_BUFF, 0x300);
    b.dw(0x300, 0x11);
    b.dw(0x340, 0x22);
    b.dw(EP0_IN + 8, (FULL | AVAILABLE | buf_ctrl::RESET | 1) | ((FULL | AVAILABLE | DATA1 | 1) << 16));
    assert_eq!(b.input(1), (InResult::Data { data1: false }, vec![0x11]));
    assert_eq!(b.r(reg::BUFF_STATUS), 0);
    assert_eq!(b.input(1), (InResult::Data { data1: true }, vec![0x22]));
    assert_eq!(b.r(reg::BUFF_STATUS), 4);
    assert_eq!(b.dr(EP0_IN + 8), 1 | ((DATA1 | 1) << 16));
}

#[test]
fn isochronous_has_no_handshake_and_its_own_stride() {
    let mut b = Bench::new();
    b.dw(8, ep_ctrl::ENABLE | ep_ctrl::DOUBLE_BUFFERED | ep_ctrl::INTERRUPT_PER_BUFF | (1 << 26) | 0x400);
    b.dw(0x500, 0x77);
    b.dw(EP0_IN + 8, (1 << 27) | ((FULL | AVAILABLE | 1) << 16) | FULL | AVAILABLE);
    assert_eq!(b.input(1), (InResult::Data { data1: false }, vec![]));
    assert_eq!(b.input(1), (InResult::Data { data1: false }, vec![0x77]));
    assert_eq!(b.input(1).0, InResult::Timeout);
}

#[test]
fn abort_naks_and_reports_when_the_endpoint_is_idle() {
    let mut b = Bench::new();
    b.dw(EP0_IN, FULL | AVAILABLE | 8);
    let mut buf = Vec::new();
    b.usb.host_in(&mut b.sys, 0, 0, &mut buf);
    b.set(reg::EP_ABORT, 3);
    assert_eq!(b.r(reg::EP_ABORT_DONE), 2, "EP0 IN is on the bus");
    b.us(50);
    assert_eq!(b.r(reg::EP_ABORT_DONE), 3);
    b.dw(EP0_IN, FULL | AVAILABLE | 8);
    assert_eq!(b.input(0).0, InResult::Nak);
    b.clear(reg::EP_ABORT, 3);
    b.clear(reg::EP_ABORT_DONE, 3);
    assert_eq!((b.r(reg::EP_ABORT_DONE), b.input(0).0), (0, InResult::Data { data1: false }));
}

#[test]
fn three_idle_milliseconds_suspend_and_the_next_frame_resumes() {
    let mut b = Bench::new();
    b.us(2_999);
    assert_eq!(b.r(reg::SIE_STATUS) & sie_status::SUSPENDED, 0);
    b.us(2);
    assert_eq!(b.r(reg::SIE_STATUS) & sie_status::SUSPENDED, sie_status::SUSPENDED);
    assert_eq!((b.r(reg::INTS), b.irq()), (int::DEV_SUSPEND, true));
    b.clear(reg::SIE_STATUS, sie_status::SUSPENDED);
    assert_eq!(b.r(reg::INTS), 0);
    assert_eq!(b.sys.next_due(), NEVER, "a suspended bus costs nothing");
    b.usb.host_sof(&mut b.sys, 6);
    assert_eq!((b.r(reg::INTS), b.r(reg::SIE_STATUS) & sie_status::SUSPENDED), (int::DEV_RESUME_FROM_HOST, 0));
    b.us(4_000);
    b.usb.host_reset(&mut b.sys);
    b.us(10_000);
    assert_eq!(b.r(reg::SIE_STATUS) & sie_status::SUSPENDED, 0, "SE0 is not idle");
    let mut b = Bench::new();
    b.us(4_000);
    b.clear(reg::SIE_CTRL, sie_ctrl::PULLUP_EN);
    assert_eq!(b.r(reg::SIE_STATUS) & sie_status::SUSPENDED, 0, "a bus without a device is not suspended");
}

#[test]
fn the_enumeration_work_around_succeeds() {
    let mut b = Bench::new();
    b.sys.pins.function_mask[function::CLOCK] = 1 << 15;
    b.sys.pins.in_over.high = 1 << 15;
    b.set(reg::USBPHY_DIRECT, phy::DP_PULLUP_EN);
    b.set(reg::USBPHY_DIRECT_OVERRIDE, phy::DP_PULLUP_EN_OVERRIDE_EN);
    b.w(reg::USB_MUXING, 0xc);
    assert!(b.usb.pulled_up(), "the host must not see a detach");
    let expected = sie_status::LINE_STATE_J | sie_status::CONNECTED;
    assert_eq!(b.r(reg::SIE_STATUS) & expected, expected);
    assert_eq!(b.setup(0, [0; 8]), Handshake::Timeout);
    b.w(reg::USB_MUXING, 9);
    b.clear(reg::USBPHY_DIRECT_OVERRIDE, phy::DP_PULLUP_EN_OVERRIDE_EN);
    assert!(b.usb.pulled_up());
    assert_eq!(b.setup(0, [0; 8]), Handshake::Ack);
}

#[test]
fn resetting_the_block_detaches_and_keeps_the_dpsram() {
    let mut b = Bench::new();
    b.dw(0xffc, 0x1234_5678);
    b.usb.reset(&mut b.sys);
    assert!(!b.usb.pulled_up());
    assert_eq!((b.dr(0xffc), b.irq(), b.sys.next_due()), (0x1234_5678, false, NEVER));
}

#[test]
fn an_address_of_a_host_ends_the_run_but_clearing_its_registers_does_not() {
    let mut b = Bench::new();
    for offset in (0..0x84).step_by(4) {
        b.w(offset, 0);
    }
    assert!(b.sys.unmodelled.is_none());
    b.w(reg::ADDR_ENDP1, 1);
    assert!(b.sys.unmodelled.is_some());
}

/// Zephyr's driver writes 1 to VBUS_DETECTED, and returns from its interrupt when that is gone.
#[test]
fn vbus_interrupts_when_it_rises() {
    let mut b = Bench::new();
    b.w(reg::INTE, int::VBUS_DETECT);
    assert!(b.irq());
    b.clear(reg::SIE_STATUS, sie_status::VBUS_DETECTED);
    let detected = b.r(reg::SIE_STATUS) & sie_status::VBUS_DETECTED;
    assert_eq!((detected, b.r(reg::INTR) & int::VBUS_DETECT, b.irq()), (sie_status::VBUS_DETECTED, 0, false));
    b.w(reg::USB_PWR, pwr::VBUS_DETECT_OVERRIDE_EN);
    assert!(!b.irq(), "it falls");
    b.w(reg::USB_PWR, pwr::VBUS_DETECT_OVERRIDE_EN | pwr::VBUS_DETECT);
    b.w(reg::USB_PWR, pwr::VBUS_DETECT_OVERRIDE_EN);
    assert!(b.irq(), "it rises, for a moment");
}

/// The controller as TinyUSB's hcd_init leaves it, with all interrupts but those of frames and VBUS.
fn host() -> Bench {
    let mut b = Bench::new();
    b.usb.reset(&mut b.sys);
    b.w(reg::USB_MUXING, 9);
    b.w(reg::USB_PWR, 0xc);
    b.w(reg::MAIN_CTRL, main_ctrl::CONTROLLER_EN | main_ctrl::HOST_NDEVICE);
    // SOF_EN, KEEP_ALIVE_EN, VBUS_EN.
    b.w(reg::SIE_CTRL, sie_ctrl::PULLDOWN_EN | 7 << 9 | sie_ctrl::EP0_INT_1BUF);
    b.w(reg::INTE, int::MASK & !(int::HOST_SOF | int::VBUS_DETECT));
    b
}

#[test]
fn a_host_finds_nothing_at_its_port() {
    let mut b = host();
    b.us(10_000);
    b.usb.host_reset(&mut b.sys);
    b.usb.host_sof(&mut b.sys, 6);
    assert_eq!(b.setup(0, [0; 8]), Handshake::Timeout);
    assert!(!b.usb.pulled_up() && !b.irq() && b.sys.unmodelled.is_none());
    assert_eq!(b.r(reg::SIE_STATUS), sie_status::VBUS_DETECTED);
}

#[test]
fn what_a_host_does_on_the_bus_ends_the_run() {
    for (offset, value) in [
        (reg::SIE_CTRL, 1),
        (reg::SIE_CTRL, 1 << 12),
        (reg::SIE_CTRL, 1 << 13),
        (reg::INT_EP_CTRL, 2),
        (reg::INTE, int::HOST_SOF),
        (reg::SOF_WR, 5),
    ] {
        let mut b = host();
        b.w(offset, value);
        let said = b.sys.unmodelled.map(|found| found.what);
        assert_eq!(said, Some(format!("USBCTRL host mode+0x{offset:03x} write 0x{value:08x}")));
    }
    let mut b = host();
    b.r(reg::SOF_RD);
    assert!(b.sys.unmodelled.is_some());
}

#[test]
fn transactions_are_traced() {
    let mut b = Bench::new();
    b.sys.trace.start(kind::USB, 10);
    b.input(0);
    let (records, _) = b.sys.trace.take();
    assert_eq!(records[0].1, Record::Usb { endpoint: 0x80, token: "IN", handshake: "NAK", len: 0 });
}

#[test]
fn random_use_never_panics() {
    let mut b = Bench::new();
    let mut random = sim::SplitMix64::new(0x0123_4567_89ab_cdef);
    let data = [0x5a; 1100];
    for _ in 0..100_000 {
        let x = random.draw();
        let (low, value) = (x as u32, (x >> 32) as u32);
        match low % 16 {
            0..4 => b.w((low >> 8) & 0xfc, value),
            4 => {
                b.r((low >> 8) & 0xffc);
            }
            5..8 => b.dw((low >> 8) & if low & 0x80 != 0 { 0xffc } else { 0xfc }, value),
            8 => b.set(reg::SIE_CTRL, sie_ctrl::PULLUP_EN),
            9 => {
                b.w(reg::MAIN_CTRL, 1);
                b.w(reg::USB_MUXING, 1);
                b.w(reg::ADDR_ENDP, 0);
            }
            10 => b.usb.host_sof(&mut b.sys, value as u16),
            11 => {
                b.setup(0, x.to_le_bytes());
            }
            12 => {
                b.out((low >> 8) as u8, low & 0x1000 != 0, &data[..(value % 1100) as usize]);
            }
            13 => {
                b.input((low >> 8) as u8);
            }
            14 => b.us(u64::from(value % 5000)),
            _ => b.usb.host_reset(&mut b.sys),
        }
    }
}

#[test]
fn version_1_is_cut_off_until_its_isolation_ends() {
    let mut sys = testing::sys(150_000_000);
    let mut usb = Usb::new(UsbWires { version: Version::V1, ..testing::usb().wires });
    let s = &mut sys;
    assert_eq!([reg::MAIN_CTRL, reg::SIE_CTRL, reg::USB_MUXING, 0x88].map(|at| usb.read(s, at)), [4, 0x8000, 1, 0xf8]);
    usb.write(s, reg::SIE_CTRL, Write::normal(sie_ctrl::PULLUP_EN));
    usb.write(s, reg::MAIN_CTRL, Write::normal(5));
    assert!(!usb.pulled_up());
    usb.write(s, reg::MAIN_CTRL, Write::normal(1));
    assert!(usb.pulled_up());
}
