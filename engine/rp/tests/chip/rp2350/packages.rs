//! The packages in which the die comes.

use chip::mcu::{Debugged, Facts};
use cpu::Master;
use rp::rp2350::world::Nothing;
use rp::rp2350::{ChipConfig, FACTS, RP2350B, RP2354A, RP2354B, Rp2350};
use sim::PS_PER_US;

const SYSINFO_PACKAGE_SEL: u32 = 0x4000_0004;
const RESETS_RESET: u32 = 0x4002_0000;
const IO_BANK0: u32 = 0x4002_8000;
const PADS_BANK0: u32 = 0x4003_8000;
const ADC_CS: u32 = 0x400a_0000;
const ADC_RESULT: u32 = 0x400a_0004;
const SIO_GPIO_HI_IN: u32 = 0xd000_0008;
const SIO_GPIO_HI_OUT_XOR: u32 = 0xd000_002c;
const SIO_GPIO_HI_OE_SET: u32 = 0xd000_003c;
const FUNCTION_SIO: u32 = 5;
/// IE, and neither ISO nor a pull.
const INPUT: u32 = 1 << 6;
/// EN and START_ONCE.
const CONVERT: u32 = 5;

/// Toggles GPIO40 twice. Returns PACKAGE_SEL, and after each time GPIO_HI_IN and what the first ADC channel and that of
/// the temperature sensor read.
fn toggled(facts: &Facts) -> (u32, [[u32; 3]; 2]) {
    let config = ChipConfig { bootrom: &[0; 0x8000], flash_size: 2 << 20, ..ChipConfig::default() };
    let chip = Rp2350::of(facts, &config, Nothing);
    assert_eq!(chip.facts().name, facts.name);
    let Rp2350::Arm(mut chip) = chip else { unreachable!("it starts with Arm's cores") };
    let (bus, mem) = (&mut chip.bus, &mut chip.mem);
    bus.sys.freq.clk_adc_hz = 48_000_000;
    let setup = [(IO_BANK0 + 8 * 40 + 4, FUNCTION_SIO), (PADS_BANK0 + 4 + 4 * 40, INPUT), (SIO_GPIO_HI_OE_SET, 1 << 8)];
    for (register, value) in [(RESETS_RESET, 0)].into_iter().chain(setup) {
        bus.write(mem, Master::Core(0), register, value, 4).expect("a register");
    }
    let levels = [(); 2].map(|()| {
        bus.write(mem, Master::Core(0), SIO_GPIO_HI_OUT_XOR, 1 << 8, 4).expect("a register");
        let [first, sensor] = [0, facts.adc_pins.len() as u32].map(|channel| {
            bus.write(mem, Master::Core(0), ADC_CS, CONVERT | 2 | channel << 12, 4).expect("a register");
            let until = bus.sys.now() + 3 * PS_PER_US;
            while let Some(id) = bus.sys.take_event(until) {
                bus.event(mem, id);
            }
            bus.sys.end_event();
            bus.sys.cycle = bus.sys.clock.cycle_at(until);
            bus.read(mem, Master::Core(0), ADC_RESULT, 4).expect("a register")
        });
        [bus.read(mem, Master::Core(0), SIO_GPIO_HI_IN, 4).expect("a register") & 0xffff, first, sensor]
    });
    (bus.read(mem, Master::Core(0), SYSINFO_PACKAGE_SEL, 4).expect("a register"), levels)
}

#[test]
fn the_larger_one_has_48_pins_and_the_adc_from_pin_40_on() {
    for large in [&RP2350B, &RP2354B] {
        assert_eq!((large.pins, large.psram_pins.last()), (48, Some(&47)));
        assert_eq!(toggled(large), (0, [[1 << 8, 0xfff, 876], [0, 0, 876]]));
    }
    // GPIO26 is pulled down.
    for small in [&FACTS, &RP2354A] {
        assert_eq!((small.pins, small.adc_pins.clone()), (30, 26..30));
        assert_eq!(toggled(small), (1, [[1 << 8, 0, 876], [0, 0, 876]]));
    }
    assert_eq!([&RP2354A, &RP2354B].map(|facts| facts.flash_bytes), [(2 << 20, 2 << 20); 2]);
}
