//! Profiles of the Cortex-M33 account for each cycle and follow calls of Thumb-2 code.

use chip::mcu::Mcu;
use chip::probe::profile::{Node, Profile};
use rp::rp2350::cpu::core::State;
use rp::rp2350::world::Nothing;
use rp::rp2350::{Chip, ChipConfig, Rp2350};
use sim::PS_PER_US;

const CODE: u32 = 0x2000_1000;
const F: u32 = CODE + 0x20;
const G: u32 = CODE + 0x40;
const STACK: u32 = 0x2006_0000;

/// Returns `BL` from the halfword `from` of the code to the halfword `to`.
fn bl(from: i32, to: i32) -> [u16; 2] {
    let offset = (2 * (to - from) - 4) as u32;
    [0xf000 | (offset >> 31 << 10) as u16 | (offset >> 12 & 0x3ff) as u16, 0xf800 | (offset >> 1 & 0x7ff) as u16]
}

/// Calls `f` twice, then `g`, which calls `f` and ends in a jump to it; then sleeps.
fn program() -> Vec<u8> {
    let mut code = [0xbf00; 48];
    code[0..2].copy_from_slice(&bl(0, 16));
    code[2..4].copy_from_slice(&bl(2, 16));
    code[4..6].copy_from_slice(&bl(4, 32));
    code[6] = 0xbf30; // WFI
    // f: PUSH {R4, LR}; CBZ R4 to the POP; UDIV R0, R0, R1; POP {R4, PC}.
    code[16..21].copy_from_slice(&[0xb510, 0xb10c, 0xfbb0, 0xf0f1, 0xbd10]);
    // g: PUSH {R4, LR}; BL f; POP.W {R4, LR}; B.W f.
    code[32] = 0xb510;
    code[33..35].copy_from_slice(&bl(33, 16));
    code[35..37].copy_from_slice(&[0xe8bd, 0x4010]);
    let [high, low] = bl(37, 16);
    code[37..39].copy_from_slice(&[high, low & !0x4000]);
    code.iter().flat_map(|half: &u16| half.to_le_bytes()).collect()
}

fn node<'a>(profile: &'a Profile, path: &[u32]) -> &'a Node {
    let mut at = 0;
    for &function in path {
        let found = profile.nodes().iter().enumerate().skip(2).find(|(_, n)| n.parent == at && n.function == function);
        at = found.unwrap_or_else(|| panic!("no {function:#x} below {at} in {:#x?}", profile.nodes())).0;
    }
    &profile.nodes()[at]
}

fn chip() -> Rp2350 {
    let config = ChipConfig { bootrom: &[], flash_size: 1 << 20, flash: &[], ..ChipConfig::default() };
    let mut chip = <Chip>::new(&config, Nothing);
    assert!(chip.mem.poke(CODE, &program()));
    let core = &mut chip.cores[0];
    (core.pc, core.state, core.cycles, core.regs[13]) = (CODE, State::Running, 100, STACK);
    chip.cores[1].state = State::Held;
    Rp2350::Arm(Box::new(chip))
}

#[test]
fn each_call_and_each_cycle_is_in_the_profile() {
    let mut plain = chip();
    plain.run_until(1000 * PS_PER_US);
    let mut chip = chip();
    let (probes, xip, cores) = chip.probed().expect("it has probes");
    probes.start_profile(xip, cores, false, vec![]);
    chip.run_until(1000 * PS_PER_US);
    assert_eq!(chip.counts(0), plain.counts(0), "a profile changes nothing");
    let (probes, xip, _) = chip.probed().expect("it has probes");
    let profile = *probes.take_profile(xip).exact.expect("it was started");
    // Twice by calls, and once by the jump at g's end, which replaces g by f.
    let calls = [&[CODE, F][..], &[CODE, G], &[CODE, G, F]].map(|path| node(&profile, path));
    assert_eq!(calls.map(|node| (node.calls, node.spent.instructions)), [(3, 9), (1, 4), (1, 3)]);
    let (instructions, cycles) = chip.counts(0);
    let spent = profile.nodes().iter().map(|node| node.spent.cycles + node.asleep).sum::<u64>();
    assert_eq!(
        (profile.addresses().iter().map(|(_, spent)| spent.instructions).sum::<u64>(), spent),
        (instructions, cycles - 100)
    );
}
