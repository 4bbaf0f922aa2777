//! What the core reaches through I/O registers: the peripherals, their interrupts, and the world outside.

use chip::pins::function;
use chip::sys::ResetRequest;
use chip::trace::{Record, kind};
use chip::{Event, Inputs, Sys, World};
use sim::{NEVER, Ps};

use crate::core::Io;
use crate::device::{Device, event};
use crate::fuses::Fuses;
use crate::peripherals::eeprom::{self, Eeprom};
use crate::peripherals::interrupts::Interrupts;
use crate::peripherals::ports::Ports;
use crate::peripherals::spi::{SPCR, SPDR, Spi};
use crate::peripherals::timer::Timer;
use crate::peripherals::usart::Usart;
use crate::peripherals::watchdog::{WDTCSR, Watchdog};

const TIFR0: u16 = 0x35;
const GPIOR0: u16 = 0x3e;
const GTCCR: u16 = 0x43;
const GPIOR1: u16 = 0x4a;
const GPIOR2: u16 = 0x4b;
const ACSR: u16 = 0x50;
const SMCR: u16 = 0x53;
const MCUSR: u16 = 0x54;
const MCUCR: u16 = 0x55;
const SPMCSR: u16 = 0x57;
const CLKPR: u16 = 0x61;
const PRR0: u16 = 0x64;
const PRR1: u16 = 0x65;
const OSCCAL: u16 = 0x66;
const TIMSK0: u16 = 0x6e;
const XMCRA: u16 = 0x74;
const XMCRB: u16 = 0x75;
const ADCL: u16 = 0x78;
const ADCH: u16 = 0x79;
const ADCSRA: u16 = 0x7a;
const ADCSRB: u16 = 0x7b;
const ADMUX: u16 = 0x7c;
const DIDR2: u16 = 0x7d;
const DIDR0: u16 = 0x7e;
const DIDR1: u16 = 0x7f;
const ASSR: u16 = 0xb6;
const TWBR: u16 = 0xb8;
const TWAMR: u16 = 0xbd;
const UCSR0A: u16 = 0xc0;
const UCSR3A: u16 = 0x130;

mod mcusr {
    pub(super) const PORF: u8 = 0x01;
    pub(super) const WDRF: u8 = 0x08;
}

mod mcucr {
    pub(super) const PUD: u8 = 0x10;
    pub(super) const IVSEL: u8 = 0x02;
}

mod smcr {
    pub(super) const SE: u8 = 0x01;
}

mod clkpr {
    pub(super) const CLKPCE: u8 = 0x80;
    /// Cycles for which CLKPS may be written.
    pub(super) const CHANGE_CYCLES: u64 = 4;
    /// Division by 256.
    pub(super) const MOST: u8 = 8;
}

mod adcsra {
    pub(super) const ADSC: u8 = 0x40;
    pub(super) const ADATE: u8 = 0x20;
    pub(super) const ADIE: u8 = 0x08;
}

/// GTCCR: holds the prescalers, resets that of timer 2, and that of the others.
mod gtccr {
    pub(super) const TSM: u8 = 0x80;
    pub(super) const PSRASY: u8 = 0x02;
    pub(super) const PSRSYNC: u8 = 0x01;
}

/// Registers without a function here: a program reads what it wrote.
const STORED: [u16; 12] = [GPIOR0, GPIOR1, GPIOR2, OSCCAL, ADCSRB, ADMUX, DIDR0, DIDR1, DIDR2, XMCRB, ACSR, ADCSRA];

/// How a chip sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sleep {
    Idle,
    /// Without the clock of the timers; the start-up time follows if the oscillator stands still, too.
    Deep {
        since: u64,
        starts_up: bool,
    },
}

pub struct Bus {
    pub sys: Sys,
    pub world: Box<dyn World>,
    pub device: &'static Device,
    pub fuses: Fuses,
    pub spi: Spi,
    pub usarts: Usarts,
    ports: Ports,
    timers: Vec<Timer>,
    eeprom: Eeprom,
    watchdog: Watchdog,
    interrupts: Interrupts,
    mcusr: u8,
    mcucr: u8,
    smcr: u8,
    clkps: u8,
    clock_open_until: u64,
    power: [u8; 2],
    stored: [u8; STORED.len()],
    source_hz: u64,
    sleep: Option<Sleep>,
    /// Pending and enabled interrupts, by vector number.
    pending: u64,
}

impl Bus {
    pub fn new(device: &'static Device, fuses: Fuses, crystal_hz: u64, world: impl World) -> Self {
        let source_hz = fuses.source_hz(crystal_hz);
        let hz = source_hz >> fuses.prescaler();
        let mut sys = Sys::new(hz, &device.layout());
        sys.freq.clk_sys_hz = hz;
        sys.freq.clk_peri_hz = hz;
        let timers = device.timers.iter().enumerate().map(|(n, vectors)| Timer::new(n, vectors)).collect();
        let usarts = Usarts(device.usarts.iter().enumerate().map(|(n, wires)| Usart::new(n, wires)).collect());
        let mut bus = Self {
            sys,
            world: Box::new(world),
            device,
            fuses,
            spi: Spi::default(),
            usarts,
            ports: Ports::new(device),
            timers,
            eeprom: Eeprom::new(device.eeprom_bytes),
            watchdog: Watchdog::new(fuses.watchdog_always_on()),
            interrupts: Interrupts::new(device),
            mcusr: mcusr::PORF,
            mcucr: 0,
            smcr: 0,
            clkps: fuses.prescaler(),
            clock_open_until: 0,
            power: [0; 2],
            stored: [0; STORED.len()],
            source_hz,
            sleep: None,
            pending: 0,
        };
        bus.ports.drive(&mut bus.sys);
        bus.watchdog.restart(&mut bus.sys);
        bus
    }

    /// Restarts all peripherals; EEPROM keeps its contents.
    pub fn reset(&mut self, by_watchdog: bool) {
        let pins = self.device.spi_pins;
        self.spi.reset(&mut self.sys, pins);
        self.usarts.0.iter_mut().for_each(|usart| usart.reset(&mut self.sys));
        self.timers.iter_mut().for_each(|timer| timer.reset(&mut self.sys));
        self.ports.reset(&mut self.sys);
        self.eeprom.reset(&mut self.sys);
        self.interrupts.reset();
        self.watchdog.reset(&mut self.sys, by_watchdog);
        self.mcusr |= if by_watchdog { mcusr::WDRF } else { 0 };
        (self.mcucr, self.smcr, self.power) = (0, 0, [0; 2]);
        self.stored = [0; STORED.len()];
        self.sleep = None;
        self.set_prescaler(self.fuses.prescaler());
        self.settle();
    }

    /// Brings the interrupts, and the world's view of the pins, up to date after anything happened.
    pub fn settle(&mut self) {
        if std::mem::take(&mut self.sys.pins.world_dirty) {
            self.sys.trace_pins();
            self.world.pins_changed(&mut self.sys);
        }
        if std::mem::take(&mut self.sys.pins.input_dirty) {
            self.sys.trace_pins();
        }
        self.interrupts.look(self.sys.pins.level());
        let bit = |on: bool, vector: u32| u64::from(on) << vector;
        let timers = self.timers.iter().fold(0, |bits, timer| bits | timer.pending());
        let usarts = self.usarts.0.iter().fold(0, |bits, usart| bits | usart.pending());
        let before = self.pending;
        self.pending = self.interrupts.pending()
            | timers
            | usarts
            | bit(self.spi.pending(), self.device.spi_vector)
            | bit(self.eeprom.pending(), self.device.eeprom_vector)
            | bit(self.watchdog.pending(), self.device.watchdog_vector);
        // A sleeping core is to be woken.
        if self.pending & !before != 0 && self.sleep.is_some() {
            self.sys.attention = true;
        }
    }

    /// Handles an event of the queue.
    pub fn event(&mut self, id: Event) {
        let pins = self.device.spi_pins;
        match id {
            event::SPI => self.spi.event(&mut self.sys, &mut *self.world, pins),
            event::EEPROM => self.eeprom.event(),
            event::WATCHDOG => {
                if self.watchdog.event(&mut self.sys) {
                    self.sys.request_reset(ResetRequest::Watchdog { timer: true });
                }
            }
            event::WORLD => {
                self.world.event(&mut self.sys, &mut self.usarts);
            }
            Event(timer @ 0..6) => self.timers[usize::from(timer)].event(&mut self.sys),
            Event(usart) => {
                let usart = usize::from(usart - event::USART[0].0);
                self.usarts.0[usart].event(&mut self.sys, &mut *self.world);
            }
        }
        self.settle();
    }

    /// Returns whether an interrupt is pending that ends the present sleep.
    pub fn wakes(&self) -> bool {
        let waking = match self.sleep {
            Some(Sleep::Deep { .. }) => self.interrupts.vectors() | 1 << self.device.watchdog_vector,
            _ => u64::MAX,
        };
        self.pending & waking != 0
    }

    /// Ends a sleep at `cycle`. Returns the cycles that the oscillator needs.
    pub fn wake(&mut self, cycle: u64) -> u64 {
        let Some(Sleep::Deep { since, starts_up }) = self.sleep.take() else { return 0 };
        let start_up = if starts_up { self.fuses.start_up().0 } else { 0 };
        for timer in &mut self.timers {
            timer.stood_still(&mut self.sys, (cycle + start_up).saturating_sub(since));
        }
        start_up
    }

    fn set_prescaler(&mut self, clkps: u8) {
        self.clkps = clkps;
        let hz = self.source_hz >> clkps;
        if hz != self.sys.clock.hz() {
            if self.spi.shifting() || self.usarts.0.iter().any(Usart::busy) {
                self.sys.unmodelled("CLKPR, while SPI or a USART transmits".into());
            }
            self.sys.clock.set_hz(self.sys.cycle, hz);
            self.sys.freq.clk_sys_hz = hz;
            self.sys.freq.clk_peri_hz = hz;
            self.sys.attention = true;
            self.timers.iter().for_each(|timer| timer.schedule(&mut self.sys));
        }
    }

    fn usart(&self, address: u16) -> Option<(usize, u16)> {
        let (number, base) = match address {
            UCSR0A..0xd8 => (usize::from(address - UCSR0A) / 8, address & !7),
            UCSR3A..0x138 => (3, UCSR3A),
            _ => return None,
        };
        (number < self.usarts.0.len() && !matches!(address - base, 3 | 7)).then_some((number, address - base))
    }

    fn timer(&self, address: u16) -> Option<(usize, crate::peripherals::timer::Byte)> {
        self.timers.iter().enumerate().find_map(|(n, timer)| Some((n, timer.register(address)?)))
    }

    /// Returns the timer that has its TIFRn or TIMSKn at `address`, counted from that of timer 0.
    fn timer_of(&self, address: u16, first: u16) -> Option<usize> {
        let number = usize::from(address.checked_sub(first)?);
        (number < self.timers.len()).then_some(number)
    }

    fn read_register(&mut self, address: u16) -> u8 {
        if let Some(register) = self.ports.register(address) {
            return self.ports.read(&self.sys, register);
        }
        if self.interrupts.has(address) {
            return self.interrupts.read(address);
        }
        if let Some(timer) = self.timer_of(address, TIFR0) {
            return self.timers[timer].flags(&self.sys);
        }
        if let Some(timer) = self.timer_of(address, TIMSK0) {
            return self.timers[timer].mask();
        }
        if let Some((timer, register)) = self.timer(address) {
            return self.timers[timer].read(&self.sys, register);
        }
        if let Some((usart, offset)) = self.usart(address) {
            return self.usarts.0[usart].read(offset);
        }
        if let Some(index) = STORED.iter().position(|&stored| stored == address) {
            return self.stored[index];
        }
        match address {
            SPCR..=SPDR => self.spi.read(address),
            eeprom::EECR..=eeprom::EEARH => self.eeprom.read(&self.sys, address),
            WDTCSR => self.watchdog.read(&self.sys),
            SMCR => self.smcr,
            MCUSR => self.mcusr,
            MCUCR => self.mcucr,
            CLKPR => self.clkps | if self.sys.cycle < self.clock_open_until { clkpr::CLKPCE } else { 0 },
            PRR0 => self.power[0],
            PRR1 => self.power[1],
            GTCCR | SPMCSR | XMCRA | ADCL | ADCH | ASSR | TWBR..=TWAMR => 0,
            _ => {
                self.sys.unmodelled(format!("load from I/O register 0x{address:03x}"));
                0
            }
        }
    }

    fn write_register(&mut self, address: u16, value: u8) -> u64 {
        let sys = &mut self.sys;
        if let Some(register) = self.ports.register(address) {
            self.ports.write(sys, register, value);
        } else if self.interrupts.has(address) {
            self.interrupts.write(address, value);
        } else if let Some(timer) = self.timer_of(address, TIFR0) {
            self.timers[timer].clear_flags(&mut self.sys, value);
        } else if let Some(timer) = self.timer_of(address, TIMSK0) {
            self.timers[timer].set_mask(&mut self.sys, value);
        } else if let Some((timer, register)) = self.timer(address) {
            self.timers[timer].write(&mut self.sys, register, value);
        } else if let Some((usart, offset)) = self.usart(address) {
            self.usarts.0[usart].write(&mut self.sys, offset, value);
            self.ports.drive(&mut self.sys);
        } else {
            return self.write_system(address, value);
        }
        0
    }

    fn write_system(&mut self, address: u16, value: u8) -> u64 {
        let sys = &mut self.sys;
        if let Some(index) = STORED.iter().position(|&stored| stored == address) {
            self.stored[index] = value;
        }
        match address {
            SPCR..=SPDR => {
                if address == SPDR && self.selected_as_slave() {
                    self.sys.unmodelled("SPI as slave: SS is an input, and low".into());
                }
                self.spi.write(&mut self.sys, address, value, self.device.spi_pins);
                self.ports.drive(&mut self.sys);
            }
            eeprom::EECR..=eeprom::EEARH => return self.eeprom.write(sys, address, value),
            WDTCSR => self.watchdog.write(sys, value),
            SMCR => self.smcr = value & 0xf,
            MCUSR => self.mcusr &= value,
            MCUCR => {
                self.mcucr = value;
                self.ports.pull_ups_off = value & mcucr::PUD != 0;
                if value & mcucr::IVSEL != 0 {
                    sys.unmodelled(format!("MCUCR = 0x{value:02x}: vectors in the boot section"));
                }
                self.ports.drive(&mut self.sys);
            }
            CLKPR => {
                if value == clkpr::CLKPCE {
                    self.clock_open_until = sys.cycle + 1 + clkpr::CHANGE_CYCLES;
                } else if sys.cycle < self.clock_open_until && value <= clkpr::MOST {
                    self.set_prescaler(value);
                }
            }
            PRR0 => self.power[0] = value,
            PRR1 => self.power[1] = value,
            GTCCR => {
                if value & gtccr::TSM != 0 {
                    sys.unmodelled(format!("GTCCR = 0x{value:02x}: prescalers that are held"));
                }
                let cycle = sys.cycle + 1;
                for (n, timer) in self.timers.iter_mut().enumerate() {
                    let reset = if n == 2 { gtccr::PSRASY } else { gtccr::PSRSYNC };
                    if value & reset != 0 {
                        timer.reset_prescaler(sys, cycle);
                    }
                }
            }
            ADCSRA if value & (adcsra::ADSC | adcsra::ADATE | adcsra::ADIE) != 0 => {
                sys.unmodelled(format!("ADCSRA = 0x{value:02x}: a conversion"));
            }
            ACSR if value & 0x0c != 0 => sys.unmodelled(format!("ACSR = 0x{value:02x}: the analogue comparator")),
            _ if STORED.contains(&address) => {}
            SPMCSR | XMCRA | ASSR | TWBR..=TWAMR if value == 0 => {}
            SPMCSR => sys.unmodelled(format!("SPMCSR = 0x{value:02x}: self-programming")),
            XMCRA => sys.unmodelled(format!("XMCRA = 0x{value:02x}: external memory")),
            ASSR => sys.unmodelled(format!("ASSR = 0x{value:02x}: timer 2's own clock")),
            TWBR..=TWAMR => sys.unmodelled(format!("TWI register 0x{address:02x} = 0x{value:02x}")),
            _ => sys.unmodelled(format!("store of 0x{value:02x} to I/O register 0x{address:03x}")),
        }
        0
    }

    fn selected_as_slave(&self) -> bool {
        let ss = self.device.spi_pins[0];
        let on = self.sys.pins.function_mask[function::SPI] != 0;
        on && !self.ports.is_output(ss) && self.sys.pins.level() >> ss & 1 == 0
    }

    /// Returns whether a write of 1 to a bit of `address` acts on that bit alone: flags, and PINx.
    fn acts_by_bit(&self, address: u16) -> bool {
        matches!(address, 0x3b | 0x3c)
            || self.timer_of(address, TIFR0).is_some()
            || self.ports.register(address).is_some_and(|(_, offset)| offset == 0)
    }

    fn trace(&mut self, write: bool, address: u16, value: u8) {
        if self.sys.trace.wants(kind::REGISTERS) {
            let record = Record::Register { core: 0, write, address: address.into(), value: value.into() };
            self.sys.trace.push(self.sys.now(), record);
        }
    }
}

impl Io for Bus {
    fn read(&mut self, address: u16, cycle: u64) -> u8 {
        self.sys.cycle = cycle;
        let value = self.read_register(address);
        self.trace(false, address, value);
        // A read may take a received character; flags of timers come by settling.
        self.settle();
        value
    }

    fn write(&mut self, address: u16, value: u8, cycle: u64) -> u64 {
        self.sys.cycle = cycle;
        self.trace(true, address, value);
        let stall = self.write_register(address, value);
        self.settle();
        stall
    }

    fn write_bit(&mut self, address: u16, mask: u8, set: bool, cycle: u64) -> u64 {
        if self.acts_by_bit(address) {
            return self.write(address, if set { mask } else { 0 }, cycle);
        }
        self.sys.cycle = cycle;
        let value = self.read_register(address);
        self.write(address, if set { value | mask } else { value & !mask }, cycle)
    }

    #[inline]
    fn pending(&self) -> u64 {
        self.pending
    }

    fn acknowledge(&mut self, vector: u32, cycle: u64) {
        self.sys.cycle = cycle;
        if self.sys.trace.wants(kind::IRQ) {
            let record = Record::Exception { core: 0, number: vector as u8, entry: true };
            self.sys.trace.push(self.sys.now(), record);
        }
        self.interrupts.acknowledge(vector);
        if vector == self.device.spi_vector {
            self.spi.acknowledge();
        } else if vector == self.device.watchdog_vector {
            self.watchdog.acknowledge();
        }
        for usart in self.usarts.0.iter_mut().filter(|usart| usart.vectors().contains(&vector)) {
            usart.acknowledge(vector);
        }
        let _ = self.timers.iter_mut().any(|timer| timer.acknowledge(&mut self.sys, vector));
        self.settle();
    }

    fn sleep(&mut self, cycle: u64) -> bool {
        self.sys.cycle = cycle;
        if self.smcr & smcr::SE == 0 {
            return false;
        }
        let deep = |starts_up| Some(Sleep::Deep { since: cycle + 1, starts_up });
        self.sleep = match self.smcr >> 1 & 7 {
            0 => Some(Sleep::Idle),
            // ADC noise reduction, power-down, power-save, standby, extended standby.
            1 => deep(false),
            2 | 3 => deep(true),
            6 | 7 => deep(false),
            mode => {
                self.sys.unmodelled(format!("SMCR.SM = {mode}, which is reserved"));
                return false;
            }
        };
        if self.sleep != Some(Sleep::Idle) {
            if self.spi.shifting() || self.usarts.0.iter().any(Usart::busy) {
                self.sys.unmodelled("sleep without clk_IO, while SPI or a USART transmits".into());
            }
            for (n, timer) in self.timers.iter_mut().enumerate() {
                timer.settle(cycle + 1);
                self.sys.schedule(event::TIMER[n], NEVER);
            }
        }
        true
    }

    fn reset_watchdog(&mut self, cycle: u64) {
        self.sys.cycle = cycle;
        self.watchdog.restart(&mut self.sys);
    }

    fn unmodelled(&mut self, what: String) {
        self.sys.unmodelled(what);
    }

    #[inline]
    fn attention(&self) -> bool {
        self.sys.attention
    }
}

/// The USARTs of a chip.
pub struct Usarts(Vec<Usart>);

impl Inputs for Usarts {
    fn character_ps(&self, sys: &Sys, uart: usize) -> Ps {
        self.0[uart].character_ps(sys)
    }

    fn hears_characters(&self, _sys: &Sys, uart: usize) -> bool {
        self.0[uart].hears()
    }

    fn receive(&mut self, _sys: &mut Sys, uart: usize, byte: u8) {
        self.0[uart].receive(byte);
    }
}
