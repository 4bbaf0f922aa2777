//! Tests of the chip through its pins alone: SPI, RSTn, INTn and Ethernet frames. The peer's frames are built and
//! checked with smoltcp's wire types, so that no checksum or field is checked by the code that made it.

mod arp;
mod fuzz;
mod icmp_igmp;
mod interrupts;
mod latency;
mod macraw;
mod pppoe;
mod registers;
mod reset_phy;
mod smoltcp_peer;
mod spi;
mod support;
mod tcp_client;
mod tcp_data;
mod tcp_server;
mod udp;
mod w5100s;
