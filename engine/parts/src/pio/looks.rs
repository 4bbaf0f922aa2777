//! Finds the pins that a program reads (datasheet 3.4), so that serial controllers output their bits on those.

use super::config::{Config, low_bits};
use super::machine::INSTRUCTIONS;

const JMP: u16 = 0;
const WAIT: u16 = 1;
const IN: u16 = 2;
const OUT: u16 = 3;
const MOV: u16 = 5;

/// Returns the pins that a state machine with this configuration may read, wherever in memory its program is.
pub(crate) fn pins(memory: &[u16; INSTRUCTIONS], config: &Config) -> u32 {
    memory.iter().fold(0, |pins, &instruction| pins | read_by(instruction, config))
}

fn read_by(instruction: u16, config: &Config) -> u32 {
    let index = u32::from(instruction & 31);
    let (first, second) = ((instruction >> 5) & 7, instruction & 7);
    match instruction >> 13 {
        JMP if first == 6 => 1 << config.jmp_pin(),
        WAIT if first & 3 == 0 => 1 << index,
        WAIT if first & 3 == 1 => 1 << ((index + config.in_base()) & 31),
        IN if first == 0 => low_bits(if index == 0 { 32 } else { index }).rotate_left(config.in_base()),
        // A data word executed as an instruction is not known in advance.
        OUT if first == 7 => u32::MAX,
        MOV if first == 4 || second == 0 => u32::MAX,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instruction_that_reads_pins_counts() {
        let config = Config { execctrl: 9 << 24, pinctrl: 4 << 15, ..Config::new() };
        for (instruction, expected) in [
            (0x00c3, 1 << 9),     // jmp pin
            (0x2086, 1 << 6),     // wait 1 gpio 6
            (0x2021, 1 << 5),     // wait 0 pin 1
            (0x20c0, 0),          // wait 1 irq 0
            (0x4003, 0b111_0000), // in pins, 3
            (0x4000, u32::MAX),   // in pins, 32
            (0x4021, 0),          // in x, 1
            (0x60e0, u32::MAX),   // out exec, 32
            (0x6001, 0),          // out pins, 1
            (0xa020, u32::MAX),   // mov x, pins
            (0xa022, 0),          // mov x, y
            (0xe001, 0),          // set pins, 1
        ] {
            let mut memory = [0xe000; INSTRUCTIONS];
            memory[31] = instruction;
            assert_eq!(pins(&memory, &config), expected, "{instruction:04x}");
        }
    }
}
