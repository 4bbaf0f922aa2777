//! The other end of the board's Ethernet cable, in simulated time.
//!
//! * [`Lan`] is the entry point: a 100BASE-TX cable and one simulated PC; with [`Lan::join_switch`], half a switch
//!   between them.
//! * The PC's Ethernet, ARP, ICMP, UDP and TCP are `smoltcp`; the DHCP server and the name server are in this crate.
//! * Applications on the PC implement [`sim::TcpApp`] or [`UdpApp`]; [`BridgeConfig`] relays chosen connections to real
//!   host sockets instead.
//!
//! Every time is a [`sim::Ps`]. Without a bridge nothing depends on the host: the same inputs give the same frames at
//! the same picosecond, however the caller divides time into steps.
//!
//! Ask by ARP for the PC's MAC address:
//!
//! ```
//! use lan::{Lan, LanConfig, wire_time_ps};
//!
//! let config = LanConfig::default();
//! let (pc, board) = (config.pc_ip.octets(), [0x02, 0, 0, 0, 0, 0x09]);
//! let mut request = vec![0xff; 6];
//! request.extend(board);
//! request.extend([0x08, 0x06, 0, 1, 0x08, 0x00, 6, 4, 0, 1]);
//! request.extend(board);
//! request.extend([192, 168, 50, 9]);
//! request.extend([0; 6]);
//! request.extend(pc);
//!
//! let mut lan = Lan::new(config.clone());
//! lan.from_board(0, &request);
//! let (now, reply) = loop {
//!     let now = lan.next_event().expect("the PC answers");
//!     lan.advance(now);
//!     if let Some(reply) = lan.to_board(now) {
//!         break (now, reply);
//!     }
//! };
//! assert_eq!(reply[6..12], config.pc_mac);
//! assert_eq!(now, 2 * wire_time_ps(request.len()));
//! ```

#![warn(missing_docs, unreachable_pub)]

mod ack;
mod app;
mod bridge;
mod capture;
mod config;
mod connecting;
mod dhcp;
mod dns;
mod faults;
mod forward;
mod forward_udp;
mod host_stream;
mod lan;
mod link;
mod nic;
mod ntp;
mod pc;
mod peek;
mod ping;
mod switch;
mod tape;
mod tcp;
mod turnaround;
mod udp;

pub use app::{TcpEcho, UdpApp, UdpEcho};
pub use capture::{Fate, FrameRecord};
pub use config::{BridgeConfig, BridgeRule, DhcpConfig, LanConfig};
pub use dhcp::Lease;
pub use faults::Faults;
pub use forward::{ForwardStats, ForwardTarget, HostSocket};
pub use lan::{Lan, LanStats};
pub use link::{MIN_FRAME_BYTES, wire_time_ps};
pub use ping::PingReply;
pub use tcp::{ConnectionInfo, ConnectionState};

use sim::{PS_PER_US, Ps};

/// Converts to the stack's clock, which counts microseconds. Rounding down keeps its timers exact: one set for
/// microsecond `n` fires at `n` and not one early.
fn instant(now: Ps) -> smoltcp::time::Instant {
    smoltcp::time::Instant::from_micros((now / PS_PER_US) as i64)
}

fn ps(instant: smoltcp::time::Instant) -> Ps {
    (instant.total_micros().max(0) as u64).saturating_mul(PS_PER_US)
}
