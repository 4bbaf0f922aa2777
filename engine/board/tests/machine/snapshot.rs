//! Snapshots of whole boards: exactness with real programs, refusals, and bytes that are no snapshot. Hostile guests are
//! restored in `hostile/`.

use std::path::{Path, PathBuf};

use portbench_engine::mcu::{Facts, RP2040, RP2350};
use portbench_engine::{
    Attachment, BoardConfig, CardSocketConfig, I2cWires, Machine, SidePins, SnapshotError, SpiWires, flash_of_uf2,
};
use sd_card::{CardConfig, KINDS, Medium, Wear};
use sim::{Device, I2cDevice, PS_PER_MS, PS_PER_S, Ps, SpiFrame, SplitMix64};

const NATIVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/ping_pong/native.uf2");

/// A stack pointer, a reset vector, and a branch to itself.
fn idle() -> BoardConfig {
    BoardConfig::w5500_evb_pico(branch_to_itself(&RP2040))
}

/// A boot ROM with a stack pointer, a reset vector, and a branch to itself.
pub(crate) fn branch_to_itself(mcu: &Facts) -> Vec<u8> {
    let mut rom = [0x2004_0000_u32, 0x0000_0009, 0xe7fe_e7fe].map(u32::to_le_bytes).concat();
    rom.resize(mcu.boot_rom.bytes, 0);
    rom
}

fn idle_board() -> Machine {
    let mut board = Machine::new(idle(), b"flash", false).expect("valid settings");
    board.run(PS_PER_MS).expect("nothing but a branch");
    board
}

fn refusal(board: &mut Machine) -> String {
    board.save().expect_err("it cannot be saved").to_string()
}

/// What can be seen of a board from outside.
#[derive(Debug, PartialEq)]
struct Seen {
    printed: String,
    spi: Vec<(&'static str, SpiFrame)>,
    pins: (u64, u64),
    now: Ps,
}

/// Runs a board on for `time` and records what it does.
fn go_on(board: &mut Machine, time: Ps) -> (Seen, Vec<u8>) {
    let log = board.wiring().log_spi();
    let (from, mut printed) = (board.now(), Vec::new());
    let until = from + time;
    while board.now() < until {
        board.run(until).expect("only modelled parts");
        board.take_usb_events();
        printed.extend(board.usb().console_read());
    }
    let mut spi = board.wiring().take_spi_log(&log);
    // A snapshot leaves out logs, also of a frame that has begun.
    spi.retain(|(_, frame)| frame.start >= from);
    board.wiring().end_spi_log(log);
    let seen = Seen { printed: String::from_utf8_lossy(&printed).into(), spi, pins: board.pins(), now: board.now() };
    (seen, board.save().expect("nothing that cannot be saved"))
}

/// A board with a program, and the user's input.
struct Played<'a> {
    /// Returns the settings, with a new memory for a card.
    config: &'a dyn Fn() -> BoardConfig,
    flash: Vec<u8>,
    boot: Ps,
    step: Ps,
    times: usize,
    /// The text to type at the start of each step.
    typed: &'a [&'a str],
}

/// Checks that a board which is restored at each step does the same as one that is not, and returns the output.
fn assert_same(played: &Played) -> String {
    let Played { config, flash, boot, step, times, typed } = played;
    let (boot, step) = (*boot, *step);
    let mut first = Machine::new(config(), flash, false).expect("valid settings");
    let (mut seen, mut snapshot) = go_on(&mut first, boot);
    let mut printed = seen.printed;
    for number in 0..*times {
        let mut again = Machine::new(config(), &[], false).expect("valid settings");
        again.restore(&snapshot).expect("a snapshot of such a board");
        if let Some(text) = typed.get(number) {
            first.type_in(text);
            again.type_in(text);
        }
        let (of_first, after) = go_on(&mut first, step);
        let (of_again, after_again) = go_on(&mut again, step);
        assert_eq!(of_first, of_again, "step {number}");
        assert!(after == after_again, "step {number}: another state");
        (seen, snapshot) = (of_first, after);
        printed += &seen.printed;
    }
    printed
}

/// Returns the boot ROM of `mcu` and the flash of an image; `None`: one of them is missing.
fn program(mcu: &'static Facts, image: &Path) -> Option<(Vec<u8>, Vec<u8>)> {
    let rom = portbench_engine::bootrom(mcu).inspect_err(|error| println!("skipped: {error}")).ok()?;
    let image = std::fs::read(image).inspect_err(|error| println!("skipped: {}: {error}", image.display())).ok()?;
    Some((rom, flash_of_uf2(mcu, &image).expect("a whole image")))
}

/// Returns the file of an image in the folder of images.
fn image(file: &str) -> PathBuf {
    Path::new(&std::env::var_os("PORTBENCH_FIRMWARE_DIR").unwrap_or_default()).join(file)
}

#[test]
fn the_native_client_goes_on_in_the_same_way() {
    let Some((rom, flash)) = program(&RP2040, Path::new(NATIVE)) else { return };
    let config = || BoardConfig::w5500_evb_pico(rom.clone());
    let step = 50 * PS_PER_MS + 12_345_678;
    let _ = assert_same(&Played { config: &config, flash, boot: 3 * PS_PER_MS, step, times: 20, typed: &[] });
}

/// A program plays ping-pong by a W5500 on an RP2350, with a card in the socket.
#[test]
fn a_board_with_an_rp2350_and_a_card_goes_on_in_the_same_way() {
    let config = || sim::with!(pico2(), card: Some(socket(&Medium::new(64 << 11))));
    let flash = include_bytes!("../rp2350_guest/ping_pong.bin").to_vec();
    let step = 9 * PS_PER_MS + 12_345_678;
    let _ = assert_same(&Played { config: &config, flash, boot: 3 * PS_PER_MS, step, times: 20, typed: &[] });
}

/// The settings of a W5500-EVB-Pico2 with our own boot ROM.
fn pico2() -> BoardConfig {
    BoardConfig::w5500_evb_pico2(RP2350.boot_rom.own.expect("one for this chip")())
}

fn socket(medium: &Medium) -> CardSocketConfig {
    let wires = SpiWires { spi: Some(1), sck: 10, mosi: 11, miso: 12, io: None, csn: 13, side: SidePins::default() };
    CardSocketConfig {
        wires,
        card: CardConfig { kind: &KINDS[0], medium: medium.clone(), seed: 1, wear: Wear::default() },
    }
}

#[test]
fn a_snapshot_has_the_contents_of_the_card() {
    let medium = Medium::new(64 << 11);
    let mut board = Machine::new(sim::with!(idle(), card: Some(socket(&medium))), &[], false).expect("valid settings");
    medium.write(5_000, b"before");
    let snapshot = board.save().expect("a bare board");
    medium.write(5_000, b"behind");
    medium.write(9_000_000, b"new");
    let changes = medium.generation();
    board.restore(&snapshot).expect("the same settings");
    let mut found = [[0; 6]; 2];
    medium.read(5_000, &mut found[0]);
    medium.read(9_000_000, &mut found[1]);
    assert_eq!((found, medium.generation() > changes), ([*b"before", [0; 6]], true));
}

#[test]
fn a_radio_goes_on_in_the_same_way() {
    let join = "import network; nic = network.WLAN(); nic.active(True); nic.connect('portbench', 'emulated')\r";
    let typed = ["\r", join, "", "", "", "", "", "", "", "", "nic.ifconfig()[0]\r"];
    for (mcu, file, of) in [
        (&RP2040, "mp-pico-w-1.26.1.uf2", BoardConfig::pico_w as fn(_) -> _),
        (&RP2350, "mp-pico2-w-1.28.0.uf2", BoardConfig::pico2_w),
    ] {
        let Some((rom, flash)) = program(mcu, &image(file)) else { continue };
        let config = || of(rom.clone());
        let (boot, step) = (2 * PS_PER_S, 299 * PS_PER_MS + 1);
        let printed = assert_same(&Played { config: &config, flash, boot, step, times: 12, typed: &typed });
        assert!(printed.contains("'192.168.50."), "{file}: {printed}");
    }
}

#[test]
fn python_goes_on_in_the_same_way() {
    for file in ["mp-w5500-1.26.0.uf2", "cp-w5500-9.1.4.uf2"] {
        let Some((rom, flash)) = program(&RP2040, &image(file)) else { continue };
        let config = || BoardConfig::w5500_evb_pico(rom.clone());
        let typed = ["\r", "\x03\x03", "", "", "\rimport time; [print(n, time.sleep(0.05)) for n in range(9)]\r"];
        let (boot, step) = (4 * PS_PER_S, 97 * PS_PER_MS + 1);
        let printed = assert_same(&Played { config: &config, flash, boot, step, times: 12, typed: &typed });
        assert!(printed.contains("\r\n8 None\r\n"), "{printed}");
    }
}

#[test]
fn a_snapshot_keeps_the_controls_at_the_pins() {
    let mut board = idle_board();
    board.rearrange(|around| around.hold(5, Some(3_300)));
    let snapshot = board.save().expect("a bare board");
    board.rearrange(|around| around.hold(5, None));
    let mut other = Machine::new(idle(), &[], false).expect("valid settings");
    for board in [&mut board, &mut other] {
        board.restore(&snapshot).expect("the same settings");
        assert_eq!(board.surroundings().held_mv(5), Some(3_300));
        assert_eq!((board.now(), board.pins().0 >> 5 & 1), (PS_PER_MS, 1));
        assert_eq!(&board.chip().flash()[..6], b"flash\xff");
    }
}

struct Thermometer;

impl Device for Thermometer {
    fn name(&self) -> &'static str {
        "TC74"
    }
}

impl I2cDevice for Thermometer {
    fn start(&mut self, _now: Ps, _address: u16, _read: bool) -> bool {
        true
    }
    fn write(&mut self, _now: Ps, _byte: u8) -> bool {
        true
    }
    fn read(&mut self, _now: Ps) -> u8 {
        21
    }
}

#[test]
fn what_cannot_be_saved_refuses_the_snapshot_by_name() {
    let cannot = |what: &str| format!("cannot save the board: it has {what}");
    let mut board = idle_board();
    board.start_attribution(10);
    assert_eq!(refusal(&mut board), cannot("an attribution of time under way"));
    board.stop_attribution();
    board.save().expect("the attribution has ended");
    board.chip_mut().debug().add_breakpoint(0x100);
    assert_eq!(refusal(&mut board), cannot("breakpoints of a debugger"));

    let mut board = idle_board();
    let wires = I2cWires { i2c: 0, sda: 4, scl: 5, side: SidePins::default() };
    board.attach(Attachment::i2c(wires, || Thermometer));
    assert_eq!(refusal(&mut board), cannot("an attached device, TC74"));

    let mut board = idle_board();
    board.listen(5000, Box::new(lan::TcpEcho)).expect("a free port");
    board.save().expect("no connection yet");
    let now = board.now();
    board.lan().expect("a network").ping(now, now, [192, 168, 50, 9].into(), 1, b"");
    assert_eq!(refusal(&mut board), cannot("been pinged"));
}

#[test]
fn a_snapshot_of_another_board_is_refused() {
    let snapshot = idle_board().save().expect("a bare board");
    let mut other = Machine::new(sim::with!(idle(), flash_size: 1 << 20), &[], false).expect("valid settings");
    assert_eq!(other.restore(&snapshot), Err(SnapshotError::OtherSettings));
    let config = sim::with!(idle(), mcu: &RP2350, bootrom: branch_to_itself(&RP2350));
    let mut other = Machine::new(config, &[], false).expect("valid settings");
    let error = other.restore(&snapshot).expect_err("another chip");
    assert_eq!(error.to_string(), "the snapshot is of a board with an RP2040: use such a board");
}

fn checksummed(state: &[u8], magic: &[u8]) -> Vec<u8> {
    [magic, &crc32fast::hash(state).to_le_bytes(), state].concat()
}

/// A snapshot has a checksum of the settings' text, and another process restores it.
#[test]
fn settings_read_alike_in_each_process() {
    let config = BoardConfig::pico2(Vec::new());
    assert!(config.mcu.boot_rom.own.is_some());
    let text = format!("{config:?}");
    assert!(!text.contains("0x"), "an address: {text}");
}

/// Damaged bytes give an error and leave the board as it was, with a wrong checksum and with a right one.
#[test]
fn bytes_that_are_no_snapshot_are_refused() {
    let config = sim::with!(idle(), ethernet: None);
    let mut board = Machine::new(config, b"flash", false).expect("valid settings");
    board.run(PS_PER_MS).expect("nothing but a branch");
    let snapshot = board.save().expect("a bare board");
    let (magic, state) = (&snapshot[..8], &snapshot[12..]);
    let mut random = SplitMix64::new(1);
    for (bytes, error) in [
        (b"".to_vec(), SnapshotError::Foreign),
        (b"PK\x03\x04 and so on".to_vec(), SnapshotError::Foreign),
        (snapshot[..9].to_vec(), SnapshotError::Torn),
        (snapshot[..snapshot.len() - 1].to_vec(), SnapshotError::Torn),
        ([&snapshot[..], b"x"].concat(), SnapshotError::Torn),
        (checksummed(&[state, b"x"].concat(), magic), SnapshotError::Torn),
    ] {
        assert_eq!(board.restore(&bytes), Err(error));
    }
    for _ in 0..300 {
        let mut damaged = state.to_vec();
        if random.below(3) == 0 {
            damaged.truncate(random.below(state.len() as u64) as usize);
        }
        for _ in 0..=random.below(4) {
            // Most of the bytes are SRAM: more of the attacks are at both ends.
            let span = [200, 4_000, damaged.len()][random.below(3) as usize].min(damaged.len()).max(1);
            let at = random.below(span as u64) as usize;
            let at = if random.below(2) == 0 { at } else { damaged.len().saturating_sub(1 + at) };
            if let Some(byte) = damaged.get_mut(at) {
                *byte = random.below(256) as u8;
            }
        }
        let torn = [magic, &[0; 4], &damaged].concat();
        assert!(damaged == state || board.restore(&torn) == Err(SnapshotError::Torn));
        // With a right checksum some are other states of such a board, but none ends the emulator.
        let mut scratch = without_network();
        let _ = scratch.restore(&checksummed(&damaged, magic));
        if board.save().as_ref() != Ok(&snapshot) {
            panic!("a refused snapshot changed the board");
        }
    }
}

fn without_network() -> Machine {
    Machine::new(sim::with!(idle(), ethernet: None), &[], false).expect("valid settings")
}
