//! USARTs in asynchronous mode (ATmega2560 datasheet 22): characters pass whole, at the programmed speed.

use std::collections::VecDeque;

use chip::pins::function;
use chip::{Sys, World};
use sim::{NEVER, PS_PER_S, Ps};

use crate::device::{UNBORDERED, UsartWires, event};

/// Offsets from UCSRnA.
pub(crate) const UCSRA: u16 = 0;
pub(crate) const UCSRB: u16 = 1;
pub(crate) const UCSRC: u16 = 2;
pub(crate) const UBRRL: u16 = 4;
pub(crate) const UBRRH: u16 = 5;
pub(crate) const UDR: u16 = 6;

mod a {
    pub(super) const RXC: u8 = 0x80;
    pub(super) const TXC: u8 = 0x40;
    pub(super) const UDRE: u8 = 0x20;
    pub(super) const DOR: u8 = 0x08;
    pub(super) const U2X: u8 = 0x02;
    pub(super) const MPCM: u8 = 0x01;
}

mod b {
    pub(super) const RXCIE: u8 = 0x80;
    pub(super) const TXCIE: u8 = 0x40;
    pub(super) const UDRIE: u8 = 0x20;
    pub(super) const RXEN: u8 = 0x10;
    pub(super) const TXEN: u8 = 0x08;
    pub(super) const UCSZ2: u8 = 0x04;
    pub(super) const TXB8: u8 = 0x01;
}

/// Characters of the receive buffer, and one in the shift register.
const RECEIVED: usize = 3;
/// UARTs of the border: the world has cables and wires for these.
const BORDERED: usize = 2;

pub(crate) struct Usart {
    number: usize,
    wires: &'static UsartWires,
    control: u8,
    format: u8,
    ubrr: u16,
    double: bool,
    multi: bool,
    /// UDR's buffer for transmission.
    waiting: Option<u8>,
    /// The character in the transmit shift register, and when its stop bit ends.
    shifting: Option<(u8, Ps)>,
    complete: bool,
    received: VecDeque<u8>,
    overrun: bool,
}

impl Usart {
    pub(crate) fn new(number: usize, wires: &'static UsartWires) -> Self {
        Self {
            number,
            wires,
            control: 0,
            format: 0x06,
            ubrr: 0,
            double: false,
            multi: false,
            waiting: None,
            shifting: None,
            complete: false,
            received: VecDeque::new(),
            overrun: false,
        }
    }

    /// Returns the duration of a character.
    pub(crate) fn character_ps(&self, sys: &Sys) -> Ps {
        let size = 5 + u64::from(self.format >> 1 & 3);
        let parity = u64::from(self.format & 0x20 != 0);
        let stop = 1 + u64::from(self.format & 0x08 != 0);
        let per_bit = if self.double { 8 } else { 16 } * (u64::from(self.ubrr) + 1);
        (1 + size + parity + stop) * per_bit * PS_PER_S / sys.clock.hz()
    }

    /// Returns whether characters from outside reach the receiver.
    pub(crate) fn hears(&self) -> bool {
        self.control & b::RXEN != 0
    }

    /// Receives a character, whose stop bit ends now.
    pub(crate) fn receive(&mut self, byte: u8) {
        if !self.hears() {
            return;
        }
        if self.received.len() == RECEIVED {
            self.overrun = true;
        } else {
            self.received.push_back(byte & (0xff >> (3 - (self.format >> 1 & 3))));
        }
    }

    pub(crate) fn read(&mut self, offset: u16) -> u8 {
        let flag = |set: bool, bit: u8| if set { bit } else { 0 };
        match offset {
            UCSRA => {
                flag(!self.received.is_empty(), a::RXC)
                    | flag(self.complete, a::TXC)
                    | flag(self.waiting.is_none(), a::UDRE)
                    | flag(self.overrun, a::DOR)
                    | flag(self.double, a::U2X)
                    | flag(self.multi, a::MPCM)
            }
            UCSRB => self.control,
            UCSRC => self.format,
            UBRRL => self.ubrr as u8,
            UBRRH => (self.ubrr >> 8) as u8,
            UDR => {
                self.overrun = false;
                self.received.pop_front().unwrap_or(0)
            }
            _ => 0,
        }
    }

    pub(crate) fn write(&mut self, sys: &mut Sys, offset: u16, value: u8) {
        match offset {
            UCSRA => {
                if value & a::TXC != 0 {
                    self.complete = false;
                }
                self.double = value & a::U2X != 0;
                self.multi = value & a::MPCM != 0;
                if self.multi {
                    self.leave_out(sys, "A.MPCM", value);
                }
            }
            UCSRB => {
                self.control = value & !2;
                if value & (b::UCSZ2 | b::TXB8) != 0 {
                    self.leave_out(sys, "B: nine bits", value);
                }
                if !self.hears() {
                    self.received.clear();
                    self.overrun = false;
                }
                self.select_pins(sys);
            }
            UCSRC => {
                self.format = value;
                if value & 0xc0 != 0 {
                    self.leave_out(sys, "C.UMSEL", value);
                }
            }
            UBRRL => self.ubrr = self.ubrr & 0xf00 | u16::from(value),
            UBRRH => self.ubrr = self.ubrr & 0xff | u16::from(value & 0xf) << 8,
            // A write to a full buffer is lost.
            UDR if self.control & b::TXEN != 0 && self.waiting.is_none() => {
                self.waiting = Some(value);
                self.start(sys);
            }
            _ => {}
        }
    }

    fn leave_out(&self, sys: &mut Sys, what: &str, value: u8) {
        sys.unmodelled(format!("UCSR{}{what} = 0x{value:02x}", self.number));
    }

    fn select_pins(&self, sys: &mut Sys) {
        let UsartWires { rx, tx, .. } = *self.wires;
        if tx == UNBORDERED {
            return;
        }
        let mut select = |pin: u32, on: bool, drives: bool| {
            let bit = 1u64 << pin;
            let set = |word: &mut u64, on: bool| *word = if on { *word | bit } else { *word & !bit };
            set(&mut sys.pins.function_mask[function::UART], on);
            set(&mut sys.pins.function_out[function::UART], true);
            set(&mut sys.pins.function_oe[function::UART], drives);
        };
        select(tx, self.control & b::TXEN != 0, true);
        select(rx, self.control & b::RXEN != 0, false);
    }

    fn start(&mut self, sys: &mut Sys) {
        if self.shifting.is_none()
            && let Some(byte) = self.waiting.take()
        {
            let end = sys.now().saturating_add(self.character_ps(sys));
            self.shifting = Some((byte, end));
            sys.schedule(event::USART[self.number], end);
        }
    }

    /// Ends the character in transmission.
    pub(crate) fn event(&mut self, sys: &mut Sys, world: &mut dyn World) {
        let Some((byte, _)) = self.shifting.take() else { return };
        if self.number < BORDERED {
            world.uart_byte(sys, self.number, byte);
        }
        self.start(sys);
        self.complete |= self.shifting.is_none();
    }

    pub(crate) fn busy(&self) -> bool {
        self.shifting.is_some()
    }

    /// Returns the pending and enabled interrupts, as bits by vector number.
    pub(crate) fn pending(&self) -> u64 {
        let bit = |on: bool, n: u32| u64::from(on) << (self.wires.vector + n);
        bit(!self.received.is_empty() && self.control & b::RXCIE != 0, 0)
            | bit(self.waiting.is_none() && self.control & b::UDRIE != 0, 1)
            | bit(self.complete && self.control & b::TXCIE != 0, 2)
    }

    /// Clears the flag of an interrupt whose handler starts.
    pub(crate) fn acknowledge(&mut self, vector: u32) {
        if vector == self.wires.vector + 2 {
            self.complete = false;
        }
    }

    pub(crate) fn vectors(&self) -> std::ops::Range<u32> {
        self.wires.vector..self.wires.vector + 3
    }

    pub(crate) fn reset(&mut self, sys: &mut Sys) {
        *self = Self::new(self.number, self.wires);
        sys.schedule(event::USART[self.number], NEVER);
        self.select_pins(sys);
    }
}
