use super::*;

const SIZE: usize = 2 << 20;

struct Cells(Vec<u8>);

impl Cells {
    fn new(size: usize) -> Self {
        Self(vec![0xff; size])
    }

    fn write(&mut self, at: usize, data: &[u8]) {
        self.0[at..at + data.len()].copy_from_slice(data);
    }
}

impl Array for Cells {
    fn size(&self) -> usize {
        self.0.len()
    }

    fn byte(&self, at: usize) -> u8 {
        self.0[at % self.0.len()]
    }

    fn program(&mut self, at: usize, data: &[u8]) {
        for (cell, byte) in self.0[at..].iter_mut().zip(data) {
            *cell &= byte;
        }
    }

    fn erase(&mut self, at: usize, len: usize) {
        self.0[at..at + len].fill(0xff);
    }
}

struct Bench {
    chip: W25q,
    cells: Cells,
    now: Ps,
}

impl Bench {
    fn new() -> Self {
        Self { chip: W25q::default(), cells: Cells::new(SIZE), now: PS_PER_MS }
    }

    fn clock(&mut self, io: u8) -> u8 {
        self.now += 8_000;
        self.chip.clock(&self.cells, self.now, io)
    }

    /// Transfers one byte over single SPI with the other lines pulled up.
    fn byte(&mut self, out: u8) -> u8 {
        (0..8).rev().fold(0, |read, bit| (read << 1) | ((self.clock(0xe | ((out >> bit) & 1)) >> 1) & 1))
    }

    fn quad(&mut self, out: u8) -> u8 {
        let high = self.clock(out >> 4);
        (high << 4) | self.clock(out & 0xf)
    }

    fn select(&mut self, low: bool) {
        self.chip.select(&mut self.cells, self.now, low);
    }

    fn command(&mut self, out: &[u8], reads: usize) -> Vec<u8> {
        self.select(true);
        for &b in out {
            self.byte(b);
        }
        let read = (0..reads).map(|_| self.byte(0)).collect();
        self.select(false);
        read
    }

    fn write(&mut self, out: &[u8]) {
        self.command(&[0x06], 0);
        self.command(out, 0);
    }

    fn wait(&mut self) {
        self.now = self.now.max(self.chip.busy_until());
    }
}

#[test]
fn identification() {
    let mut b = Bench::new();
    assert_eq!(b.command(&[0x9f], 4), [0xef, 0x40, 0x15, 0xef]);
    assert_eq!(b.command(&[0x90, 0, 0, 0], 2), [0xef, 0x14]);
    assert_eq!(b.command(&[0x90, 0, 0, 1], 2), [0x14, 0xef]);
    assert_eq!(b.command(&[0xab, 0, 0, 0], 1), [0x14]);
    b.chip.unique_id = [1, 2, 3, 4, 5, 6, 7, 8];
    assert_eq!(b.command(&[0x4b, 0, 0, 0, 0], 8), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(b.command(&[0x35], 1), [0x02]);
    assert_eq!(b.command(&[0x15], 1), [0x60]);
}

#[test]
fn sfdp_gives_the_size() {
    let mut b = Bench::new();
    let header = b.command(&[0x5a, 0, 0, 0, 0], 16);
    assert_eq!(header, [0x53, 0x46, 0x44, 0x50, 5, 1, 0, 0xff, 0, 5, 1, 16, 0x80, 0, 0, 0xff]);
    let table = b.command(&[0x5a, 0, 0, 0x80, 0], 8);
    assert_eq!(table, [0xe5, 0x20, 0xf9, 0xff, 0xff, 0xff, 0xff, 0x00]);
    assert_eq!(b.command(&[0x5a, 0, 0, 0xbc, 0], 5), [0xe9, 0x30, 0xf8, 0x80, 0xff]);
    b.cells = Cells::new(8 << 20);
    assert_eq!(b.command(&[0x5a, 0, 0, 0x84, 0], 4), [0xff, 0xff, 0xff, 0x03]);
    assert_eq!(b.command(&[0x9f], 3), [0xef, 0x40, 0x17]);
}

#[test]
fn program_only_clears_bits_wraps_in_the_page_and_takes_its_time() {
    let mut b = Bench::new();
    b.write(&[0x02, 0x00, 0x12, 0xfe, 0xf0, 0x0f, 0x3c]);
    let begun = b.now;
    assert_eq!(b.chip.busy_until(), begun + 400 * PS_PER_US);
    assert_eq!(b.command(&[0x05], 1), [0x01], "busy, WEL cleared");
    assert_eq!(b.command(&[0x03, 0, 0x12, 0xfe], 1), [0xff], "reads are ignored while busy: IO1 floats high");
    b.wait();
    assert_eq!(b.command(&[0x05], 1), [0x00]);
    assert_eq!(b.command(&[0x03, 0, 0x12, 0xfe], 3), [0xf0, 0x0f, 0xff]);
    assert_eq!(b.command(&[0x0b, 0, 0x12, 0x00, 0], 2), [0x3c, 0xff]);
    b.write(&[0x02, 0x00, 0x12, 0xfe, 0x3f]);
    b.wait();
    assert_eq!(b.cells.byte(0x12fe), 0x30);
}

#[test]
fn writes_need_wel_and_a_byte_boundary() {
    let mut b = Bench::new();
    b.command(&[0x02, 0, 0, 0, 0x00], 0);
    assert_eq!(b.cells.byte(0), 0xff);
    b.command(&[0x06], 0);
    assert_eq!(b.command(&[0x05], 1), [0x02]);
    b.command(&[0x04], 0);
    assert_eq!(b.command(&[0x05], 1), [0x00]);
    b.command(&[0x06], 0);
    b.select(true);
    for byte in [0x02, 0, 0, 0, 0x55] {
        b.byte(byte);
    }
    b.clock(0);
    b.select(false);
    assert_eq!(b.cells.byte(0), 0xff);
    b.command(&[0x06, 0x00], 0);
    assert!(!b.chip.busy(b.now));
}

#[test]
fn erases_cover_their_unit_and_take_the_typical_time() {
    for (opcode, len, ms) in
        [(0x20u8, 4usize << 10, 45), (0x52, 32 << 10, 120), (0xd8, 64 << 10, 150), (0xc7, SIZE, 5000)]
    {
        let mut b = Bench::new();
        b.cells.write(0, &vec![0u8; SIZE]);
        if opcode == 0xc7 {
            b.write(&[opcode]);
        } else {
            b.write(&[opcode, 0x05, 0x67, 0x89]);
        }
        assert_eq!(b.chip.busy_until(), b.now + ms * PS_PER_MS);
        let base = if opcode == 0xc7 { 0 } else { 0x05_6789 & !(len - 1) };
        assert!(b.cells.0[base..base + len].iter().all(|&x| x == 0xff));
        assert_eq!(b.cells.0.iter().filter(|&&x| x == 0xff).count(), len);
    }
}

#[test]
fn continuous_quad_read_needs_no_opcode_until_the_mode_bits_end_it() {
    let mut b = Bench::new();
    b.cells.write(0x1234, &[0xde, 0xad, 0xbe, 0xef]);
    let read = |b: &mut Bench, mode: u8| {
        for x in [0x00, 0x12, 0x34, mode] {
            b.quad(x);
        }
        for _ in 0..4 {
            b.clock(0xf);
        }
        let data: Vec<u8> = (0..4).map(|_| b.quad(0xff)).collect();
        b.select(false);
        data
    };
    b.select(true);
    b.byte(0xeb);
    assert_eq!(read(&mut b, 0xa0), [0xde, 0xad, 0xbe, 0xef]);
    assert!(b.chip.continuous());
    b.select(true);
    assert_eq!(read(&mut b, 0xa0), [0xde, 0xad, 0xbe, 0xef]);
    // The boot ROM's exit: 16 clocks with IO0 high.
    b.command(&[0xff, 0xff], 0);
    assert!(!b.chip.continuous());
    assert_eq!(b.command(&[0x9f], 3), [0xef, 0x40, 0x15]);
}

#[test]
fn dual_and_quad_output_reads() {
    let mut b = Bench::new();
    b.cells.write(0x100, &[0x96, 0x5a]);
    b.select(true);
    for x in [0x6b, 0, 1, 0, 0] {
        b.byte(x);
    }
    assert_eq!([b.quad(0xff), b.quad(0xff)], [0x96, 0x5a]);
    b.select(false);
    b.select(true);
    for x in [0x3b, 0, 1, 0, 0] {
        b.byte(x);
    }
    let dual = (0..4).fold(0, |v, _| (v << 2) | (b.clock(0xf) & 3));
    assert_eq!(dual, 0x96);
    b.select(false);
}

#[test]
fn quad_program_and_wrapped_read() {
    let mut b = Bench::new();
    b.command(&[0x06], 0);
    b.select(true);
    for x in [0x32, 0, 2, 0] {
        b.byte(x);
    }
    for x in 0..16 {
        b.quad(x);
    }
    b.select(false);
    b.wait();
    assert_eq!(b.cells.0[0x200..0x210], (0..16).collect::<Vec<u8>>());
    // Set Burst with Wrap to 8 bytes.
    b.select(true);
    b.byte(0x77);
    for x in [0, 0, 0, 0x00] {
        b.quad(x);
    }
    b.select(false);
    b.select(true);
    b.byte(0xeb);
    for x in [0, 2, 6, 0] {
        b.quad(x);
    }
    for _ in 0..4 {
        b.clock(0xf);
    }
    let data: Vec<u8> = (0..4).map(|_| b.quad(0xff)).collect();
    assert_eq!(data, [6, 7, 0, 1]);
    b.select(false);
}

#[test]
fn status_write_protects_and_reset_keeps_it() {
    let mut b = Bench::new();
    b.write(&[0x01, 0x1c]); // BP = 7: everything
    assert_eq!(b.chip.busy_until(), b.now + 10 * PS_PER_MS);
    b.wait();
    b.write(&[0x20, 0, 0, 0]);
    assert!(!b.chip.busy(b.now));
    b.command(&[0x66], 0);
    b.command(&[0x99], 0);
    assert_eq!(b.command(&[0x05], 1), [0xff], "deaf for 30 us");
    b.now += 30 * PS_PER_US;
    assert_eq!(b.command(&[0x05], 1), [0x1c]);
    b.write(&[0x01, 0x00, 0x00]);
    b.wait();
    assert_eq!(b.command(&[0x05], 1), [0x00]);
    assert_eq!(b.command(&[0x35], 1), [0x02], "QE is fixed");
    // BP = 1 with TB = 0 protects the top 64 KiB.
    b.write(&[0x01, 0x04]);
    b.wait();
    b.write(&[0x20, 0x1f, 0, 0]);
    assert!(!b.chip.busy(b.now));
    b.write(&[0x20, 0x1e, 0, 0]);
    assert!(b.chip.busy(b.now));
}

#[test]
fn power_down_accepts_only_its_release() {
    let mut b = Bench::new();
    b.command(&[0xb9], 0);
    assert_eq!(b.command(&[0x9f], 1), [0xff]);
    assert_eq!(b.command(&[0xab, 0, 0, 0], 1), [0x14]);
    b.now += RELEASE_POWER_DOWN_PS;
    assert_eq!(b.command(&[0x9f], 1), [0xef]);
}

#[test]
fn security_registers() {
    let mut b = Bench::new();
    b.write(&[0x42, 0, 0x20, 0x05, 0xaa]);
    b.wait();
    assert_eq!(b.command(&[0x48, 0, 0x20, 0x04, 0], 3), [0xff, 0xaa, 0xff]);
    b.write(&[0x44, 0, 0x20, 0]);
    b.wait();
    assert_eq!(b.command(&[0x48, 0, 0x20, 0x05, 0], 1), [0xff]);
    assert!(b.chip.take_unmodelled().is_none());
    b.command(&[0x75], 0);
    assert_eq!(b.chip.take_unmodelled(), Some(0x75));
}

#[test]
fn random_clocks_never_panic() {
    let mut b = Bench::new();
    let mut random = sim::SplitMix64::new(0x1234_5678_9abc_def1);
    for _ in 0..300_000 {
        let x = random.draw();
        match x % 23 {
            0 => b.select(x & 0x100 != 0),
            1 => b.now += (x >> 20) % PS_PER_MS,
            2 => {
                b.byte((x >> 32) as u8);
            }
            _ => {
                b.clock((x >> 40) as u8 & 0xf);
            }
        }
    }
}
