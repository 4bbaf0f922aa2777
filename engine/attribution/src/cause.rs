//! Causes that time is attributed to.

/// The causes, named and ordered as in `results/attribution.py`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Cause {
    /// Bits are on the SPI bus.
    SpiBits,
    /// The SPI controller has a frame but pauses.
    GapPause,
    /// Flash cache misses while the network chip is selected and the bus is idle.
    GapMiss,
    /// Wait states of the peripheral bus, at the same times.
    GapWait,
    /// Instructions, at the same times.
    GapRun,
    /// Flash cache misses between two SPI frames that are close together.
    DriverMiss,
    /// Wait states between two such frames.
    DriverWait,
    /// Instructions between two such frames.
    DriverRun,
    /// Flash cache misses of all other code.
    CodeMiss,
    /// Wait states of all other code.
    CodeWait,
    /// Instructions of all other code.
    CodeRun,
    /// A frame lies unread until a timer's interrupt wakes core 0.
    WaitPoll,
    /// A frame lies unread until a pin's interrupt wakes core 0.
    WaitIntn,
    /// Core 0 sleeps until a timer.
    WaitTimer,
    /// Core 0 sleeps until the DMA.
    WaitDma,
    /// Core 0 sleeps until its network chip.
    WaitChip,
    /// Core 0 sleeps until the USB controller.
    WaitUsb,
    /// Core 0 sleeps until another interrupt.
    WaitOther,
    /// Core 0 serves the USB interrupt.
    Usb,
    /// The network chip negotiates its link.
    Link,
    /// The radio chip processes a frame.
    Radio,
    /// A frame waits for the air or is on it.
    Air,
    /// The access point processes a frame.
    AccessPoint,
    /// The access point keeps a frame for the sleeping station.
    PowerSave,
    /// A frame is on the wire to the PC.
    WireToPc,
    /// The PC's turnaround.
    Pc,
    /// An acknowledgement is delayed.
    DelayedAck,
    /// A frame is on the wire to the board.
    WireToBoard,
    /// Nothing was recorded, or core 0 was locked up or in reset.
    Unnamed,
}

impl Cause {
    pub(crate) const COUNT: usize = Cause::Unnamed as usize + 1;
    /// All causes with their names, in order.
    pub const ALL: [(Cause, &'static str); Self::COUNT] = {
        use Cause::*;
        [
            (SpiBits, "spi_bits"),
            (GapPause, "gap_pause"),
            (GapMiss, "gap_miss"),
            (GapWait, "gap_wait"),
            (GapRun, "gap_run"),
            (DriverMiss, "driver_miss"),
            (DriverWait, "driver_wait"),
            (DriverRun, "driver_run"),
            (CodeMiss, "code_miss"),
            (CodeWait, "code_wait"),
            (CodeRun, "code_run"),
            (WaitPoll, "wait_poll"),
            (WaitIntn, "wait_intn"),
            (WaitTimer, "wait_timer"),
            (WaitDma, "wait_dma"),
            (WaitChip, "wait_chip"),
            (WaitUsb, "wait_usb"),
            (WaitOther, "wait_other"),
            (Usb, "usb"),
            (Link, "link"),
            (Radio, "radio"),
            (Air, "air"),
            (AccessPoint, "access_point"),
            (PowerSave, "power_save"),
            (WireToPc, "wire_to_pc"),
            (Pc, "pc"),
            (DelayedAck, "delayed_ack"),
            (WireToBoard, "wire_to_board"),
            (Unnamed, "unnamed"),
        ]
    };
}

/// Exception numbers of the RP2040 that identify the reason for a sleep (16 + IRQ; datasheet 2.3.2).
pub(crate) mod exception {
    pub(crate) const SYSTICK: u8 = 15;
    pub(crate) const TIMERS: std::ops::RangeInclusive<u8> = 16..=19;
    pub(crate) const USB: u8 = 21;
    pub(crate) const DMA: std::ops::RangeInclusive<u8> = 27..=28;
    pub(crate) const IO_BANK0: u8 = 29;
    pub(crate) const RTC: u8 = 41;
}

pub(crate) fn is_timer(number: u8) -> bool {
    number == exception::SYSTICK || number == exception::RTC || exception::TIMERS.contains(&number)
}

/// Returns the reason for a sleep ended by the exception `number`; `None`: no exception followed.
pub(crate) fn of_sleep(number: Option<u8>) -> Cause {
    match number {
        Some(number) if is_timer(number) => Cause::WaitTimer,
        Some(number) if exception::DMA.contains(&number) => Cause::WaitDma,
        Some(exception::IO_BANK0) => Cause::WaitChip,
        Some(exception::USB) => Cause::WaitUsb,
        _ => Cause::WaitOther,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order() {
        assert!(Cause::ALL.iter().enumerate().all(|(index, (cause, _))| *cause as usize == index));
    }

    #[test]
    fn a_sleep_is_named_by_the_event_that_ended_it() {
        let named = [15, 16, 19, 21, 27, 29, 34].map(|number| of_sleep(Some(number)));
        use Cause::*;
        assert_eq!(named, [WaitTimer, WaitTimer, WaitTimer, WaitUsb, WaitDma, WaitChip, WaitOther]);
        assert_eq!(of_sleep(None), WaitOther);
    }
}
