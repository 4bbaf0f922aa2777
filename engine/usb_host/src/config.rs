//! Configuration of the simulated PC.

use crate::cdc::LineCoding;
use sim::Snapshot;

/// Configuration of the port and its drivers. Times are simulated.
#[derive(Clone, Debug, Snapshot)]
#[non_exhaustive]
pub struct HostConfig {
    /// Longest time between two checks of the pull-up. A port detects a disconnection of 2.5 us (USB 2.0 section
    /// 7.1.7.3, TDDIS); the RP2040's boot ROM releases the pull-up for 0.4 ms when it restarts into itself.
    pub port_poll_us: u64,
    /// Connection must be stable this long (USB 2.0 section 7.1.7.3, TATTDB).
    pub debounce_us: u64,
    /// Length of a bus reset (section 7.1.7.5: a root port drives it for 50 ms, TDRSTR).
    pub reset_us: u64,
    /// From the end of a reset to the first request (section 7.1.7.5, TRSTRCY: at least 10 ms).
    pub reset_recovery_us: u64,
    /// From SET_ADDRESS to the first request at the new address. Section 9.2.6.3 gives devices 2 ms; Linux waits 10 ms
    /// (hub_set_address in drivers/usb/core/hub.c), because some take longer.
    pub address_recovery_us: u64,
    /// From the end of an enumeration request to the next one: the time of the PC's driver. USB requires none.
    pub request_gap_us: u64,
    /// A control transfer fails after this time (section 9.2.6.1: 5 s).
    pub control_timeout_us: u64,
    /// Intervals between two polls of an endpoint.
    pub poll: PollConfig,
    /// The serial ports.
    pub console: ConsoleConfig,
    /// The drives.
    pub storage: StorageConfig,
}

/// Retry intervals of a bulk or control endpoint after NAK.
#[derive(Clone, Debug, Snapshot)]
pub struct PollConfig {
    /// While data moves, and always for control transfers and mass storage.
    pub(crate) nak_retry_us: u64,
    /// For a console without data for `idle_after_us`: a few polls per frame.
    pub(crate) idle_retry_us: u64,
    pub(crate) idle_after_us: u64,
}

/// The policy when the console is not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Snapshot)]
pub enum ReadPolicy {
    /// Stop sending IN tokens at `read_limit`, so that the device's buffers fill up.
    BackPressure,
    /// Keep the last `read_limit` bytes.
    Ring,
}

/// The driver of serial ports (CDC-ACM).
#[derive(Clone, Debug, Snapshot)]
pub struct ConsoleConfig {
    /// Open the console (DTR and RTS) this long after configuration; `None`: only by `console_open`.
    pub open_after_us: Option<u64>,
    /// Line coding that is set before a port is opened.
    pub line_coding: LineCoding,
    /// What happens at [`Self::read_limit`].
    pub read_policy: ReadPolicy,
    /// Most bytes kept for the reader; back-pressure may exceed it by one packet.
    pub read_limit: usize,
    /// Most bytes kept for the device.
    pub write_limit: usize,
}

/// The driver of drives (bulk-only transport).
#[derive(Clone, Debug, Snapshot)]
pub struct StorageConfig {
    /// Whether a mass-storage interface is used at all.
    pub enabled: bool,
    /// Interval of TEST UNIT READY while idle; `None`: never.
    pub poll_interval_us: Option<u64>,
    /// A command that takes longer is aborted by reset recovery.
    pub command_timeout_us: u64,
    /// Longest READ(10) or WRITE(10), in blocks.
    pub max_blocks_per_command: u16,
}

impl Default for HostConfig {
    fn default() -> HostConfig {
        HostConfig {
            port_poll_us: 100,
            debounce_us: 100_000,
            reset_us: 50_000,
            reset_recovery_us: 10_000,
            address_recovery_us: 10_000,
            request_gap_us: 0,
            control_timeout_us: 5_000_000,
            poll: PollConfig::default(),
            console: ConsoleConfig::default(),
            storage: StorageConfig::default(),
        }
    }
}

impl Default for PollConfig {
    fn default() -> PollConfig {
        PollConfig { nak_retry_us: 20, idle_retry_us: 250, idle_after_us: 1_000 }
    }
}

impl Default for ConsoleConfig {
    fn default() -> ConsoleConfig {
        ConsoleConfig {
            open_after_us: Some(100_000),
            line_coding: LineCoding::baud(115_200),
            read_policy: ReadPolicy::BackPressure,
            read_limit: 1 << 20,
            write_limit: 1 << 20,
        }
    }
}

impl Default for StorageConfig {
    fn default() -> StorageConfig {
        StorageConfig {
            enabled: true,
            poll_interval_us: Some(1_000_000),
            command_timeout_us: 30_000_000,
            max_blocks_per_command: 128,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_as_recorded() {
        let recorded = "HostConfig { port_poll_us: 100, debounce_us: 100000, reset_us: 50000, reset_recovery_us: 10000, \
            address_recovery_us: 10000, request_gap_us: 0, control_timeout_us: 5000000, poll: PollConfig { \
            nak_retry_us: 20, idle_retry_us: 250, idle_after_us: 1000 }, console: ConsoleConfig { open_after_us: \
            Some(100000), line_coding: LineCoding { baud: 115200, data_bits: 8, parity: 0, stop_bits: 0 }, \
            read_policy: BackPressure, read_limit: 1048576, write_limit: 1048576 }, storage: StorageConfig { \
            enabled: true, poll_interval_us: Some(1000000), command_timeout_us: 30000000, max_blocks_per_command: \
            128 } }";
        assert_eq!(format!("{:?}", HostConfig::default()), recorded);
    }
}
