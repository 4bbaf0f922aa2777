//! A hostile guest on a whole board: random code on both cores, DMA between random addresses, flash erased and written,
//! random data for the W5500 and for USB, sockets in random order, while the PC types, connects and floods. Nothing may
//! panic, simulated time must advance, and data kept for readers must stay bounded.
//!
//! `PORTBENCH_FUZZ_STEPS` sets the number of steps, `PORTBENCH_FUZZ_SEED` their seed: `make fuzz`.

mod ethernet;
mod frames;
mod guest;
mod random;
mod storage;
mod usb;

use guest::{Guest, Reached};
use lan::TcpEcho;
use sim::asked;

const STEPS: u64 = 40_000;
const STEPS_OF_A_GUEST: u64 = 2_500;
pub(crate) const FLASH_BYTES: usize = 1 << 20;
/// Ports of the PC in addition to its default ones.
pub const ECHO: u16 = 5000;
pub(crate) const PC_UDP: u16 = 5001;
/// Guests until every one-time allocation has happened.
const FIRST_GUESTS: u64 = 8;
/// Allowed growth afterwards: growth per step would be far above it.
const MOST_GROWTH_BYTES: u64 = 32 << 20;

/// Returns the process's memory, or `None` if the system does not tell.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib << 10)
}

#[test]
fn a_hostile_guest_is_survived_in_bounded_memory() {
    let steps = asked("PORTBENCH_FUZZ_STEPS", STEPS);
    let seed = asked("PORTBENCH_FUZZ_SEED", 1);
    let guests = steps.div_ceil(STEPS_OF_A_GUEST);
    let mut reached = Reached::default();
    let (mut at_first, mut most) = (None, None);
    for number in 0..guests {
        let mut guest = Guest::new(seed + number);
        for _ in 0..STEPS_OF_A_GUEST.min(steps - number * STEPS_OF_A_GUEST) {
            guest.step();
        }
        most = most.max(resident_bytes());
        reached.add(&guest.end());
        if number + 1 == FIRST_GUESTS {
            at_first = most;
        }
        if (number + 1) % 100 == 0 {
            println!("{} steps, at most {most:?} bytes", (number + 1) * STEPS_OF_A_GUEST);
        }
    }
    let Reached { instructions, simulated_us, unmodelled, chip_selects, to_board, from_board, .. } = reached;
    println!("{steps} steps of {guests} guests: {simulated_us} us, {instructions} instructions, {unmodelled} refused");
    println!(
        "{chip_selects} chip selects, {to_board} frames to the board, {from_board} from it, {} pongs",
        reached.pongs
    );
    println!("{} connections at the PC, flash changed {} times", reached.connections, reached.flash_changes);
    println!("{} USB events, configured at {} looks", reached.usb_events, reached.configured);
    println!("memory: {at_first:?} bytes at first, {most:?} at most");
    // The generator does reach its targets.
    assert!(simulated_us > steps, "time stood still");
    assert!(to_board > steps / 20 && from_board > steps / 20 && reached.pongs > guests, "the LAN was never used");
    assert!(reached.connections > steps / 20 && chip_selects > steps / 20, "no socket opened");
    assert!(reached.flash_changes > guests && reached.configured > guests, "flash or USB were never used");
    if let (Some(first), Some(most)) = (at_first, most) {
        assert!(most <= first + MOST_GROWTH_BYTES, "memory grew from {first} to {most} bytes");
    }
}

/// Runs a guest without programs on its PC, and returns its last snapshot, its time and how often it was restored.
fn alone(number: u64, restore: bool) -> (Vec<u8>, u64, u64) {
    let (mut guest, mut restored) = (Guest::alone(number), 0);
    for step in 0..300 {
        guest.step();
        // The first SYN to the listening program ends this guest's snapshots.
        if restore
            && step % 7 == 0
            && let Ok(snapshot) = guest.machine.save()
        {
            guest.machine.restore(&snapshot).unwrap_or_else(|error| panic!("guest {number}, step {step}: {error}"));
            assert!(guest.machine.save().as_ref() == Ok(&snapshot), "guest {number}, step {step}: another state");
            guest.machine.listen(ECHO, Box::new(TcpEcho)).expect("a free port");
            restored += 1;
        }
    }
    let end = match guest.machine.save() {
        Ok(snapshot) => snapshot,
        // The rest of the state is in the refused snapshot of the LAN.
        Err(why) => why.to_string().into_bytes(),
    };
    (end, guest.machine.now(), restored)
}

#[test]
fn a_restored_board_goes_on_in_the_same_way() {
    let guests = asked("PORTBENCH_FUZZ_STEPS", STEPS) / 1_000;
    let seed = asked("PORTBENCH_FUZZ_SEED", 1);
    let (mut restored, mut whole) = (0, 0);
    for number in seed..seed + guests {
        let [first, again] = [false, true].map(|restore| alone(number, restore));
        assert_eq!(first.1, again.1, "guest {number}");
        assert!(first.0 == again.0, "guest {number}: another end");
        restored += again.2;
        whole += u64::from(first.0.len() > 1_000);
    }
    println!("{guests} guests: restored {restored} times, {whole} saved at their ends");
    assert!(restored > 20 * guests && whole > guests / 2, "{restored} of {guests} guests, {whole} whole");
}
