use super::*;
use sim::{PS_PER_MS, PS_PER_US};

const CYCLE_PS: u64 = 8_000;

struct Bench {
    ssi: Ssi,
    sys: Sys,
    mem: Memory,
}

impl Bench {
    fn new() -> Self {
        Self { ssi: Ssi::default(), sys: crate::rp2040::wires::sys(125_000_000), mem: Memory::new(&[], 2 << 20) }
    }

    fn w(&mut self, offset: u32, value: u32) {
        self.sys.cycle += 4;
        self.ssi.write(&mut self.sys, &mut self.mem, offset, Write::normal(value));
    }

    fn r(&mut self, offset: u32) -> u32 {
        self.sys.cycle += 3;
        self.ssi.read(&mut self.sys, &mut self.mem, offset)
    }

    fn cs(&mut self, level: Option<bool>) {
        self.ssi.set_ss_override(&mut self.sys, &mut self.mem, level);
    }

    fn serial(&mut self, baudr: u32) {
        self.w(reg::SSIENR, 0);
        self.w(reg::BAUDR, baudr);
        self.w(reg::CTRLR0, 7 << 16);
        self.w(reg::SER, 1);
        self.w(reg::SSIENR, 1);
    }

    /// Sends and receives bytes with chip select forced, as the boot ROM does.
    fn put_get(&mut self, out: &[u8]) -> Vec<u8> {
        self.cs(Some(false));
        let mut read = Vec::new();
        let mut sent = 0;
        while read.len() < out.len() {
            if sent < out.len() && self.r(reg::TXFLR) + self.r(reg::RXFLR) < 14 {
                self.w(reg::DR0, out[sent].into());
                sent += 1;
            }
            if self.r(reg::RXFLR) != 0 {
                read.push(self.r(reg::DR0) as u8);
            }
        }
        self.cs(Some(true));
        read
    }

    fn wait_idle(&mut self) {
        for _ in 0..1_000_000 {
            if self.r(reg::SR) & (sr::TFE | sr::BUSY) == sr::TFE {
                return;
            }
        }
        panic!("SSI stayed busy");
    }

    /// Performs the dummy EBh read and the XIP set-up of boot2_w25q080.
    fn enter_quad_xip(&mut self, baudr: u32) {
        self.w(reg::SSIENR, 0);
        self.w(reg::BAUDR, baudr);
        self.w(reg::CTRLR0, (2 << 21) | (31 << 16) | (3 << 8));
        self.w(reg::CTRLR1, 0);
        self.w(reg::SPI_CTRLR0, (8 << 2) | (4 << 11) | (2 << 8) | 1);
        self.w(reg::SSIENR, 1);
        self.w(reg::DR0, 0xeb);
        self.w(reg::DR0, 0x0001_00a0);
        self.wait_idle();
    }

    fn drop_instruction(&mut self) {
        self.w(reg::SSIENR, 0);
        self.w(reg::SPI_CTRLR0, 0xa000_0000 | (8 << 2) | (4 << 11) | 2);
        self.w(reg::SSIENR, 1);
    }
}

#[test]
fn reset_values() {
    let mut b = Bench::new();
    for offset in (0..0x100).step_by(4) {
        let expected = match offset {
            reg::SR => sr::TFE | sr::TFNF,
            reg::IDR => 0x5153_5049,
            reg::SSI_VERSION_ID => 0x3430_312a,
            reg::SPI_CTRLR0 => 0x0300_0000,
            _ => 0,
        };
        if !(reg::DR0..=reg::DR35).contains(&offset) {
            assert_eq!(b.r(offset), expected, "{offset:#x}");
        }
    }
}

#[test]
fn configuration_is_locked_while_enabled() {
    let mut b = Bench::new();
    b.serial(6);
    for offset in [reg::CTRLR0, reg::CTRLR1, reg::BAUDR, reg::SPI_CTRLR0] {
        let old = b.r(offset);
        b.w(offset, !old);
        assert_eq!(b.r(offset), old);
    }
    b.w(reg::SSIENR, 0);
    b.w(reg::CTRLR0, u32::MAX);
    assert_eq!(b.r(reg::CTRLR0), 0x017f_ffff);
    b.w(reg::BAUDR, 7);
    assert_eq!(b.r(reg::BAUDR), 6);
    assert!(b.sys.unmodelled.is_none());
}

#[test]
fn a_frame_takes_its_clocks_at_the_divided_rate() {
    let mut b = Bench::new();
    b.serial(6);
    b.ssi.write(&mut b.sys, &mut b.mem, reg::DR0, Write::normal(0x9f));
    let end = b.sys.cycle + (8 + 1) * 6;
    assert_eq!(b.r(reg::SR) & (sr::BUSY | sr::RFNE), sr::BUSY);
    b.sys.cycle = end - 1;
    assert_eq!(b.ssi.read(&mut b.sys, &mut b.mem, reg::RXFLR), 0);
    b.sys.cycle = end;
    assert_eq!(b.ssi.read(&mut b.sys, &mut b.mem, reg::SR), sr::TFE | sr::TFNF | sr::RFNE);
}

#[test]
fn bytes_back_to_back_keep_the_chip_selected_and_a_pause_ends_it() {
    let mut b = Bench::new();
    b.serial(4);
    for x in [0x9f, 0, 0, 0] {
        b.w(reg::DR0, x);
    }
    b.wait_idle();
    let id: Vec<u32> = (0..4).map(|_| b.r(reg::DR0)).collect();
    assert_eq!(id[1..], [0xef, 0x40, 0x15]);
    b.w(reg::DR0, 0x9f);
    b.wait_idle();
    b.w(reg::DR0, 0);
    b.wait_idle();
    b.r(reg::DR0);
    assert_eq!(b.r(reg::DR0), 0xff, "the command ended with the pause");
    b.r(reg::DR0);
    assert_eq!((b.r(reg::RISR) & int::RXU, b.r(reg::RXUICR), b.r(reg::RXUICR)), (int::RXU, 1, 0));
}

#[test]
fn boot_rom_reads_programs_and_erases() {
    let mut b = Bench::new();
    b.serial(6);
    assert_eq!(b.put_get(&[0x9f, 0, 0, 0])[1..], [0xef, 0x40, 0x15]);
    let mut page = vec![0x02, 0, 0x30, 0];
    page.extend((0..=255u8).rev());
    b.put_get(&[0x06]);
    b.put_get(&page);
    let started = b.sys.now();
    assert_eq!(b.put_get(&[0x05, 0])[1], 1);
    while b.put_get(&[0x05, 0])[1] & 1 != 0 {}
    let took = b.sys.now() - started;
    assert!((400 * PS_PER_US..410 * PS_PER_US).contains(&took), "{took}");
    let read = b.put_get(&[&[0x03, 0, 0x30, 0][..], &[0; 256]].concat());
    assert_eq!(read[4..], page[4..]);
    b.put_get(&[0x06]);
    b.put_get(&[0x20, 0, 0x30, 0]);
    assert_eq!(b.mem.flash_u8(0x3000), 0xff);
    b.sys.cycle += 45 * PS_PER_MS / CYCLE_PS;
    assert_eq!(b.put_get(&[0x05, 0])[1], 0);
    assert_eq!(b.sys.next_due(), NEVER, "polled transfers schedule nothing");
}

#[test]
fn boot2_enters_quad_xip_and_the_boot_rom_leaves_it() {
    let mut b = Bench::new();
    b.mem.flash_write(0x100, &[0x12, 0x34, 0x56, 0x78]);
    b.serial(4);
    assert!(b.mem.xip.offline);
    b.enter_quad_xip(2);
    assert_eq!(b.r(reg::DR0), 0x1234_5678);
    assert!(b.mem.xip.offline, "flash expects no instruction any more");
    b.drop_instruction();
    assert!(!b.mem.xip.offline);
    // (8 address and mode + 4 wait + 8 data + select) * 2 + overhead.
    assert_eq!(b.mem.xip.miss_cycles, 48);
    b.w(reg::SSIENR, 0);
    b.w(reg::BAUDR, 4);
    b.w(reg::SSIENR, 1);
    assert_eq!((b.mem.xip.offline, b.mem.xip.miss_cycles), (false, 90));
    b.serial(6);
    b.put_get(&[0; 4]);
    b.put_get(&[0xff, 0xff]);
    assert!(!b.ssi.flash.continuous());
    assert_eq!(b.put_get(&[0x9f, 0, 0, 0])[1..], [0xef, 0x40, 0x15]);
    // flash_enter_cmd_xip: 03h.
    b.cs(None);
    b.w(reg::SSIENR, 0);
    b.w(reg::CTRLR0, (31 << 16) | (3 << 8));
    b.w(reg::SPI_CTRLR0, 0x0300_0000 | (6 << 2) | (2 << 8));
    b.w(reg::SSIENR, 1);
    assert!(!b.mem.xip.offline);
    assert_eq!(b.mem.xip.miss_cycles, (8 + 24 + 32 + 1) * 6 + 6);
}

#[test]
fn xip_comes_back_when_the_flash_is_ready() {
    let mut b = Bench::new();
    b.serial(6);
    b.put_get(&[0x06]);
    b.put_get(&[0x20, 0, 0, 0]);
    let ready = b.ssi.flash.busy_until();
    b.cs(None);
    b.w(reg::SSIENR, 0);
    b.w(reg::CTRLR0, (31 << 16) | (3 << 8));
    b.w(reg::SPI_CTRLR0, 0x0300_0000 | (6 << 2) | (2 << 8));
    b.w(reg::SSIENR, 1);
    assert!(b.mem.xip.offline);
    assert_eq!(b.sys.due(event::SSI), ready);
    assert_eq!(b.sys.take_event(ready), Some(event::SSI));
    b.ssi.event(&mut b.sys, &mut b.mem);
    assert!(!b.mem.xip.offline);
}

#[test]
fn serial_eeprom_read_receives_ndf_frames() {
    let mut b = Bench::new();
    b.mem.flash_write(0x40, &[1, 2, 3, 4, 5, 6]);
    b.w(reg::BAUDR, 4);
    b.w(reg::CTRLR0, (7 << 16) | (3 << 8));
    b.w(reg::CTRLR1, 4);
    b.w(reg::SER, 1);
    b.w(reg::SSIENR, 1);
    for x in [0x03, 0, 0, 0x40] {
        b.w(reg::DR0, x);
    }
    b.wait_idle();
    assert_eq!(b.r(reg::RXFLR), 5);
    assert_eq!((0..5).map(|_| b.r(reg::DR0)).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
}

#[test]
fn fifo_limits_interrupts_and_dreqs() {
    let mut b = Bench::new();
    b.serial(60000);
    for x in 0..18 {
        b.w(reg::DR0, x);
    }
    assert_eq!((b.r(reg::TXFLR), b.r(reg::SR) & sr::TFNF, b.r(reg::RISR) & int::TXO), (16, 0, int::TXO));
    assert_eq!((b.r(reg::ICR), b.r(reg::RISR)), (1, 0));
    b.w(reg::DMATDLR, 4);
    b.w(reg::DMARDLR, 1);
    b.w(reg::DMACR, 3);
    b.w(reg::RXFTLR, 3);
    b.w(reg::IMR, int::RXF);
    let mut ends = 0;
    while let Some(id) = b.sys.take_event(NEVER - 1) {
        assert_eq!(id, event::SSI);
        b.ssi.event(&mut b.sys, &mut b.mem);
        ends += 1;
        let level = b.sys.dreq_level();
        assert_eq!(level >> dreq::XIP_SSIRX & 1, u64::from(ends >= 2));
        assert_eq!(level >> dreq::XIP_SSITX & 1, u64::from(ends >= 12));
        assert_eq!(b.sys.irq_level() >> irq::XIP & 1, u64::from(ends >= 4));
    }
    assert_eq!(ends, 17);
    b.sys.cycle = b.sys.clock.cycle_at(10_000 * PS_PER_MS);
    assert_eq!((b.r(reg::RISR) & int::RXO, b.r(reg::RXFLR)), (int::RXO, 16));
    b.w(reg::SSIENR, 0);
    assert_eq!((b.r(reg::RXFLR), b.sys.dreq_level(), b.sys.irq_level()), (0, 0, 0));
}

#[test]
fn a_chip_reset_leaves_the_flash_in_its_mode() {
    let mut b = Bench::new();
    b.serial(4);
    b.enter_quad_xip(2);
    b.drop_instruction();
    b.ssi.reset(&mut b.sys, &mut b.mem);
    assert!(b.ssi.flash.continuous());
    assert!(b.mem.xip.offline);
}

#[test]
fn random_accesses_never_panic() {
    let mut b = Bench::new();
    let mut random = sim::SplitMix64::new(0x9e37_79b9_7f4a_7c15);
    for _ in 0..60_000 {
        let x = random.draw();
        let offset = (x >> 8) as u32 & 0xfc;
        let value = (x >> 24) as u32 & [u32::MAX, 0xff, 0x1f_03ff, 1][(x >> 60) as usize & 3];
        match x % 8 {
            0..3 => {
                b.r(offset);
            }
            3..6 => b.w(if x & 0x40 != 0 { offset } else { reg::DR0 }, value),
            6 => b.cs([None, Some(false), Some(true)][(x >> 9) as usize % 3]),
            _ => b.sys.cycle += (x >> 40) & 0xfff,
        }
        if x.is_multiple_of(97) {
            // Keep NDF small: its frames are simulated one by one.
            b.w(reg::SSIENR, 0);
            b.w(reg::CTRLR1, value & 0xf);
            b.w(reg::SSIENR, 1);
        }
    }
}
