//! Configuration of the simulated LAN, and its checks.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};

use sim::{PS_PER_MS, PS_PER_S, PS_PER_US, Ps, SettingError};

use crate::faults::Faults;

/// Most addresses of the PC: its main one and the bridge's extra guest addresses (the stack's table is fixed).
const MAX_ADDRESSES: usize = 8;

/// The simulated PC and its network. By default the PC is 192.168.50.1/24, with DHCP server.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct LanConfig {
    /// Unicast MAC address of the PC.
    pub pc_mac: [u8; 6],
    /// The PC's address.
    pub pc_ip: Ipv4Addr,
    /// Network prefix length, 8 to 30.
    pub prefix_len: u8,
    /// Time from data reaching an application to its answer reaching the TCP stack; also for UDP, DHCP and DNS.
    pub turnaround_ps: Ps,
    /// For TCP, a replacement: each answer draws one of these, with equal probability. At most 4096.
    pub turnarounds_ps: Vec<Ps>,
    /// Time that the DHCP server needs in addition to the turnaround.
    pub dhcp_delay_ps: Ps,
    /// Time from a frame's last bit to the PC's stack; it delays ARP, ICMP and ACKs, too.
    pub stack_delay_ps: Ps,
    /// Time that a bare ACK is delayed for an answer to carry it (Linux: 40 ms), whole microseconds. A second full
    /// segment is acknowledged at once.
    pub delayed_ack_ps: Ps,
    /// Acknowledge the first segments of a connection at once, as Linux does; otherwise all ACKs are delayed.
    pub quick_ack: bool,
    /// One-way propagation of the cable and PHYs, at most 100 ms.
    pub propagation_ps: Ps,
    /// Seed of the PC's initial sequence numbers and of the turnarounds drawn.
    pub seed: u64,
    /// Most TCP connections at a time, 1 to 1024; a further SYN is dropped, as by a full backlog.
    pub max_connections: usize,
    /// Maximum segment size that the PC takes the board to have announced, 536 to 1460; `None`: the one it announces. To
    /// see how much larger segments would bring.
    pub peer_mss: Option<u16>,
    /// Send and receive buffer of each TCP connection in bytes, 1460 to 1 MiB; the receive buffer is the largest window.
    pub tcp_buffer_bytes: usize,
    /// The PC's DHCP server; `None`: there is none.
    pub dhcp: Option<DhcpConfig>,
    /// Answer of the PC's UDP port 53 to every name; `None`: no name exists.
    pub dns_answer: Option<Ipv4Addr>,
    /// Unix time at simulated time 0 for the time server on the PC's UDP port 123; `None`: no time server.
    pub ntp_start_s: Option<u32>,
    /// A TCP port of the PC that returns all bytes.
    pub tcp_echo_port: Option<u16>,
    /// A UDP port of the PC that returns all datagrams.
    pub udp_echo_port: Option<u16>,
    /// Losses and cuts of the cable.
    pub faults: Faults,
    /// Relay of TCP connections to this machine; `None`: connections end at the simulated PC.
    pub bridge: Option<BridgeConfig>,
}

impl Default for LanConfig {
    fn default() -> Self {
        let pc_ip = Ipv4Addr::new(192, 168, 50, 1);
        Self {
            pc_mac: [0x02, 0x50, 0x42, 0x00, 0x00, 0x01],
            pc_ip,
            prefix_len: 24,
            turnaround_ps: 200 * PS_PER_US,
            turnarounds_ps: Vec::new(),
            dhcp_delay_ps: 0,
            stack_delay_ps: 0,
            delayed_ack_ps: 40 * PS_PER_MS,
            quick_ack: true,
            propagation_ps: 0,
            seed: 1,
            max_connections: 64,
            // Linux's first window: 44 segments of 1460 bytes.
            tcp_buffer_bytes: 64_240,
            peer_mss: None,
            dhcp: Some(DhcpConfig {
                first: Ipv4Addr::new(192, 168, 50, 100),
                last: Ipv4Addr::new(192, 168, 50, 199),
                lease_s: 3600,
                router: Some(pc_ip),
                dns: vec![pc_ip],
            }),
            dns_answer: None,
            ntp_start_s: None,
            tcp_echo_port: None,
            udp_echo_port: None,
            faults: Faults::default(),
            bridge: None,
        }
    }
}

/// The settings of the DHCP server.
#[derive(Debug, Clone)]
pub struct DhcpConfig {
    /// First and last address of the pool, inclusive, in the PC's network; at most 4096.
    pub first: Ipv4Addr,
    /// Last address of the pool.
    pub last: Ipv4Addr,
    /// Lease in seconds, at least 10. T1 and T2 are 1/2 and 7/8 of it (RFC 2131 section 4.4.5).
    pub lease_s: u32,
    /// Default gateway for clients.
    pub router: Option<Ipv4Addr>,
    /// Name servers, at most three.
    pub dns: Vec<Ipv4Addr>,
}

/// Relay of connections from the simulation to real sockets of this machine.
#[derive(Debug, Clone)]
pub struct BridgeConfig {
    pub(crate) rules: Vec<BridgeRule>,
    /// Simulated time between two polls of the host's sockets while a connection is open, at least 1 us.
    pub(crate) busy_poll_ps: Ps,
    /// Time between two polls while no connection is open.
    pub(crate) idle_poll_ps: Ps,
    /// Timeout of a connect in milliseconds of host time, after which it counts as refused.
    pub(crate) connect_timeout_ms: u64,
}

impl BridgeConfig {
    /// Returns a configuration that polls every 100 us while a connection is open, otherwise every 1 ms, with a connect
    /// timeout of 5 s.
    pub fn new(rules: Vec<BridgeRule>) -> Self {
        Self { rules, busy_poll_ps: 100 * PS_PER_US, idle_poll_ps: PS_PER_MS, connect_timeout_ms: 5000 }
    }
}

/// A rule that relays the board's TCP connections to `guest` to `host`. The PC answers ARP for `guest`'s address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BridgeRule {
    /// Address and port in the simulation.
    pub guest: SocketAddrV4,
    /// Address and port of a socket of this machine.
    pub host: SocketAddr,
}

impl LanConfig {
    pub(crate) fn validate(&self) -> Result<(), SettingError> {
        let is_unicast = self.pc_mac[0] & 1 == 0 && self.pc_mac != [0; 6];
        SettingError::unless(
            is_unicast,
            "pc_mac",
            format_args!("{:02x?}", self.pc_mac),
            "use a unicast address (first byte even)",
        )?;
        SettingError::unless((8..=30).contains(&self.prefix_len), "prefix_len", self.prefix_len, "use 8 to 30")?;
        SettingError::unless(is_host_address(self.pc_ip, 0), "pc_ip", self.pc_ip, "use a unicast address")?;
        self.check_in_network("pc_ip", self.pc_ip)?;
        for (name, value, most) in [
            ("turnaround_ps", self.turnaround_ps, 100 * PS_PER_S),
            ("turnarounds_ps", self.turnarounds_ps.iter().copied().max().unwrap_or(0), 100 * PS_PER_S),
            ("dhcp_delay_ps", self.dhcp_delay_ps, 100 * PS_PER_S),
            ("stack_delay_ps", self.stack_delay_ps, PS_PER_S),
            ("delayed_ack_ps", self.delayed_ack_ps, PS_PER_S),
            ("propagation_ps", self.propagation_ps, 100 * PS_PER_MS),
        ] {
            SettingError::unless(value <= most, name, value, format_args!("use at most {most}"))?;
        }
        let values = self.turnarounds_ps.len();
        if values > 4096 {
            return Err(SettingError::new("turnarounds_ps", format!("has {values} values"), "use at most 4096"));
        }
        SettingError::unless(
            (1..=1024).contains(&self.max_connections),
            "max_connections",
            self.max_connections,
            "use 1 to 1024",
        )?;
        let bytes = self.tcp_buffer_bytes;
        SettingError::unless((1460..=1 << 20).contains(&bytes), "tcp_buffer_bytes", bytes, "use 1460 to 1048576")?;
        if let Some(mss) = self.peer_mss {
            SettingError::unless((536..=1460).contains(&mss), "peer_mss", mss, "use 536 to 1460")?;
        }
        for (name, port) in [("tcp_echo_port", self.tcp_echo_port), ("udp_echo_port", self.udp_echo_port)] {
            SettingError::unless(port != Some(0), name, 0, "use 1 to 65535")?;
        }
        for (port, has, there) in
            [(53, "name", true), (67, "DHCP", self.dhcp.is_some()), (123, "time", self.ntp_start_s.is_some())]
        {
            let is_free = !there || self.udp_echo_port != Some(port);
            SettingError::unless(
                is_free,
                "udp_echo_port",
                port,
                format_args!("used by the {has} server; choose another one"),
            )?;
        }
        self.faults.validate()?;
        if let Some(dhcp) = &self.dhcp {
            self.validate_dhcp(dhcp)?;
        }
        if let Some(bridge) = &self.bridge {
            self.validate_bridge(bridge)?;
        }
        Ok(())
    }

    fn validate_dhcp(&self, dhcp: &DhcpConfig) -> Result<(), SettingError> {
        self.check_in_network("dhcp.first", dhcp.first)?;
        self.check_in_network("dhcp.last", dhcp.last)?;
        let (first, last, servers) = (dhcp.first, dhcp.last, dhcp.dns.len());
        SettingError::unless(first <= last, "dhcp.last", last, format_args!("it comes before {first}"))?;
        if last.to_bits() - first.to_bits() >= 4096 {
            return Err(SettingError::new("dhcp pool", format!("{first} to {last}"), "use at most 4096 addresses"));
        }
        SettingError::unless(dhcp.lease_s >= 10, "dhcp.lease_s", dhcp.lease_s, "use at least 10")?;
        if servers > 3 {
            return Err(SettingError::new("dhcp.dns", format!("has {servers} servers"), "use at most 3"));
        }
        Ok(())
    }

    fn validate_bridge(&self, bridge: &BridgeConfig) -> Result<(), SettingError> {
        for (name, value) in
            [("bridge.busy_poll_ps", bridge.busy_poll_ps), ("bridge.idle_poll_ps", bridge.idle_poll_ps)]
        {
            SettingError::unless(value >= PS_PER_US, name, value, format_args!("use at least {PS_PER_US} (1 us)"))?;
        }
        for (index, rule) in bridge.rules.iter().enumerate() {
            let (guest, host) = (rule.guest, rule.host);
            self.check_in_network("bridge guest", *guest.ip())?;
            if guest.port() == 0 || host.port() == 0 {
                return Err(SettingError::new("bridge", format!("{guest} -> {host}"), "port 0 is invalid"));
            }
            if bridge.rules[..index].iter().any(|other| other.guest == guest) {
                return Err(SettingError::new("bridge", format!("{guest} is given twice"), "remove one rule"));
            }
        }
        let addresses = self.extra_addresses().len() + 1;
        if addresses > MAX_ADDRESSES {
            let problem = format!("use {addresses} addresses with the PC's own");
            return Err(SettingError::new("bridge rules", problem, format!("use at most {MAX_ADDRESSES}")));
        }
        Ok(())
    }

    fn check_in_network(&self, name: &str, address: Ipv4Addr) -> Result<(), SettingError> {
        let mask = self.mask().to_bits();
        let same = (address.to_bits() ^ self.pc_ip.to_bits()) & mask == 0;
        let mend = format_args!("use a host address of {}/{}", self.pc_ip, self.prefix_len);
        SettingError::unless(same && is_host_address(address, !mask), name, address, mend)
    }

    pub(crate) fn mask(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(!0 << (32 - u32::from(self.prefix_len)))
    }

    /// Returns the bridge's guest addresses except the PC's, in order, without repetition.
    pub(crate) fn extra_addresses(&self) -> Vec<Ipv4Addr> {
        let rules = self.bridge.iter().flat_map(|bridge| &bridge.rules);
        let mut addresses: Vec<_> = rules.map(|rule| *rule.guest.ip()).filter(|&ip| ip != self.pc_ip).collect();
        addresses.sort();
        addresses.dedup();
        addresses
    }
}

/// Returns whether `address` is neither special nor, with `host_mask`, the network or broadcast address.
pub(crate) fn is_host_address(address: Ipv4Addr, host_mask: u32) -> bool {
    let host = address.to_bits() & host_mask;
    !address.is_unspecified()
        && !address.is_broadcast()
        && !address.is_multicast()
        && (host_mask == 0 || (host != 0 && host != host_mask))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fails(change: impl FnOnce(&mut LanConfig)) -> String {
        let mut config = LanConfig::default();
        change(&mut config);
        crate::Lan::try_new(config).err().unwrap().to_string()
    }

    #[test]
    fn the_default_is_valid_and_serves_nothing_but_addresses() {
        let found = LanConfig::default();
        found.validate().unwrap();
        let bridge = BridgeConfig::new(Vec::new());
        let seen = format!("{found:?} {bridge:?}");
        let recorded = "LanConfig { pc_mac: [2, 80, 66, 0, 0, 1], pc_ip: 192.168.50.1, prefix_len: 24, turnaround_ps: 200000000, \
            turnarounds_ps: [], dhcp_delay_ps: 0, stack_delay_ps: 0, delayed_ack_ps: 40000000000, quick_ack: true, \
            propagation_ps: 0, seed: 1, max_connections: 64, peer_mss: None, tcp_buffer_bytes: 64240, dhcp: \
            Some(DhcpConfig { first: 192.168.50.100, last: 192.168.50.199, lease_s: 3600, router: \
            Some(192.168.50.1), dns: [192.168.50.1] }), dns_answer: None, ntp_start_s: None, tcp_echo_port: None, \
            udp_echo_port: None, faults: Faults { seed: 0, loss_from_board_per_mille: 0, loss_to_board_per_mille: 0, \
            extra_delay_ps: 0, jitter_ps: 0, down: [] }, bridge: None } BridgeConfig { rules: [], busy_poll_ps: \
            100000000, idle_poll_ps: 1000000000, connect_timeout_ms: 5000 }";
        assert_eq!(seen, recorded);
    }

    #[test]
    fn each_bad_value_is_named() {
        assert!(fails(|c| c.pc_mac[0] = 1).starts_with("pc_mac"));
        assert!(fails(|c| c.pc_mac = [0; 6]).starts_with("pc_mac"));
        for ip in [Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST] {
            assert!(fails(|c| c.pc_ip = ip).contains("use a unicast address"));
        }
        assert!(fails(|c| c.prefix_len = 31).starts_with("prefix_len = 31"));
        assert!(fails(|c| c.pc_ip = Ipv4Addr::new(192, 168, 50, 255)).starts_with("pc_ip = 192.168.50.255"));
        assert!(fails(|c| c.pc_ip = Ipv4Addr::new(224, 0, 0, 1)).starts_with("pc_ip"));
        assert!(fails(|c| c.turnaround_ps = u64::MAX).starts_with("turnaround_ps"));
        assert!(fails(|c| c.max_connections = 0).starts_with("max_connections"));
        assert!(fails(|c| c.tcp_buffer_bytes = 1).starts_with("tcp_buffer_bytes"));
        assert!(fails(|c| c.peer_mss = Some(1461)).starts_with("peer_mss = 1461"));
        assert!(fails(|c| c.udp_echo_port = Some(0)).starts_with("udp_echo_port"));
        assert!(fails(|c| c.udp_echo_port = Some(53)).starts_with("udp_echo_port = 53: used by the name server"));
        assert!(fails(|c| (c.udp_echo_port, c.ntp_start_s) = (Some(123), Some(0))).contains("the time server"));
        assert!(fails(|c| c.faults.loss_to_board_per_mille = 1001).contains("loss_to_board_per_mille = 1001"));
        assert!(fails(|c| c.faults.down = vec![(5, 5)]).contains("faults.down"));
        assert!(fails(|c| c.dhcp.as_mut().unwrap().last = Ipv4Addr::new(192, 168, 51, 1)).starts_with("dhcp.last"));
        assert!(fails(|c| c.dhcp.as_mut().unwrap().lease_s = 1).starts_with("dhcp.lease_s"));
        assert!(fails(|c| c.pc_ip = Ipv4Addr::new(192, 168, 50, 0)).starts_with("pc_ip = 192.168.50.0"));
        let rule = |ip: [u8; 4]| BridgeRule {
            guest: SocketAddrV4::new(ip.into(), 5000),
            host: "127.0.0.1:5000".parse().unwrap(),
        };
        let twice = vec![rule([192, 168, 50, 1]), rule([192, 168, 50, 1])];
        assert!(fails(|c| c.bridge = Some(BridgeConfig::new(twice))).contains("given twice"));
        let many = (2..12).map(|host| rule([192, 168, 50, host])).collect();
        assert!(fails(|c| c.bridge = Some(BridgeConfig::new(many))).contains("11 addresses"));
        assert!(fails(|c| c.bridge = Some(BridgeConfig::new(vec![rule([10, 0, 0, 1])]))).contains("10.0.0.1"));
        let mut ends = [rule([192, 168, 50, 2]); 2];
        ends[0].guest.set_port(0);
        ends[1].host.set_port(0);
        for end in ends {
            assert!(fails(|c| c.bridge = Some(BridgeConfig::new(vec![end]))).ends_with("port 0 is invalid"));
        }
    }

    /// Each limit by the field's name, with the most and the least that is taken, and one more and one less.
    #[test]
    fn limits_are_taken_and_one_beyond_is_not() {
        type Set = fn(&mut LanConfig, u64);
        fn bridge(c: &mut LanConfig) -> &mut BridgeConfig {
            c.bridge.get_or_insert_with(|| BridgeConfig::new(Vec::new()))
        }
        const NONE_KNOWN: u64 = 1 << 32;
        let limits: [(&str, u64, u64, Set); 22] = [
            ("prefix_len", 8, 30, |c, v| (c.prefix_len, c.pc_ip, c.dhcp) = (v as u8, [192, 168, 50, 5].into(), None)),
            ("turnaround_ps", 0, 100 * PS_PER_S, |c, v| c.turnaround_ps = v),
            ("turnarounds_ps", 0, 100 * PS_PER_S, |c, v| c.turnarounds_ps = vec![v, 0]),
            ("turnarounds_ps", 0, 4096, |c, v| c.turnarounds_ps = vec![0; v as usize]),
            ("dhcp_delay_ps", 0, 100 * PS_PER_S, |c, v| c.dhcp_delay_ps = v),
            ("stack_delay_ps", 0, PS_PER_S, |c, v| c.stack_delay_ps = v),
            ("delayed_ack_ps", 0, PS_PER_S, |c, v| c.delayed_ack_ps = v),
            ("propagation_ps", 0, 100 * PS_PER_MS, |c, v| c.propagation_ps = v),
            ("max_connections", 1, 1024, |c, v| c.max_connections = v as usize),
            ("tcp_buffer_bytes", 1460, 1 << 20, |c, v| c.tcp_buffer_bytes = v as usize),
            ("peer_mss", 536, 1460, |c, v| c.peer_mss = Some(v as u16)),
            ("tcp_echo_port", 1, 65535, |c, v| c.tcp_echo_port = Some(v as u16)),
            ("pc_ip", 1, 254, |c, v| (c.pc_ip, c.dhcp) = (Ipv4Addr::from_bits(0xc0a8_3200 + v as u32), None)),
            ("dhcp.lease_s", 10, u64::from(u32::MAX), |c, v| c.dhcp.as_mut().unwrap().lease_s = v as u32),
            ("dhcp.dns", 0, 3, |c, v| c.dhcp.as_mut().unwrap().dns = vec![c.pc_ip; v as usize]),
            ("dhcp.", 1, 199, |c, v| c.dhcp.as_mut().unwrap().first = Ipv4Addr::from_bits(0xc0a8_3200 + v as u32)),
            ("faults.loss_from_board_per_mille", 0, 1000, |c, v| c.faults.loss_from_board_per_mille = v as u16),
            ("faults.loss_to_board_per_mille", 0, 1000, |c, v| c.faults.loss_to_board_per_mille = v as u16),
            ("faults.extra_delay_ps", 0, PS_PER_S, |c, v| c.faults.extra_delay_ps = v),
            ("faults.jitter_ps", 0, PS_PER_S, |c, v| c.faults.jitter_ps = v),
            ("bridge.busy_poll_ps", PS_PER_US, NONE_KNOWN, |c, v| bridge(c).busy_poll_ps = v),
            ("bridge.idle_poll_ps", PS_PER_US, NONE_KNOWN, |c, v| bridge(c).idle_poll_ps = v),
        ];
        for (name, least, most, set) in limits {
            for value in [least, most] {
                let mut config = LanConfig::default();
                set(&mut config, value);
                assert_eq!(config.validate().map_err(|e| e.to_string()), Ok(()), "{name} = {value}");
            }
            let beyond = [least.checked_sub(1), (!(65535..=1 << 32).contains(&most)).then_some(most + 1)];
            for value in beyond.into_iter().flatten().filter(|_| name != "prefix_len") {
                assert!(fails(|c| set(c, value)).starts_with(name), "{name} = {value}");
            }
        }
    }
}
