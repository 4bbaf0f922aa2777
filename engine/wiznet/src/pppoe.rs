//! MR's PPPoE: IPv4 inside the session set up by the host in PHAR and PSID, LCP echo every PTIMER, and IR's PPPoE when
//! the session ends (datasheet 4.1 "MR", "PTIMER", "PMAGIC", "PHAR", "PSID", "IR").

use sim::{Ps, Snapshot};

use crate::Wiznet;
use crate::chip::Model;
use crate::common::{IR_PPPOE, MR_PPPOE};
use crate::time::PTIMER_UNIT;
use crate::wire::*;

pub(crate) const ETHERTYPE_PPPOE_DISCOVERY: u16 = 0x8863;
pub(crate) const ETHERTYPE_PPPOE_SESSION: u16 = 0x8864;
/// PPPoE active discovery terminate (RFC 2516).
const PADT: u8 = 0xA7;
const SESSION_DATA: u8 = 0x00;
const PPP_IPV4: u16 = 0x0021;
const PPP_LCP: u16 = 0xC021;
const LCP_TERMINATE_REQUEST: u8 = 5;
const LCP_TERMINATE_ACK: u8 = 6;
const LCP_ECHO_REQUEST: u8 = 9;
const LCP_ECHO_REPLY: u8 = 10;

/// The LCP echo timer.
#[derive(Default, Snapshot)]
pub(crate) struct Lcp {
    echo_at: Option<Ps>,
    identifier: u8,
}

impl Lcp {
    pub(crate) fn next_event(&self) -> Option<Ps> {
        self.echo_at
    }
}

impl<M: Model> Wiznet<M> {
    /// Handles a write to MR: the echo timer runs while PPPoE is on.
    pub(crate) fn lcp_mode_changed(&mut self) {
        if self.common.mr() & MR_PPPOE == 0 {
            self.lcp.echo_at = None;
        } else if self.lcp.echo_at.is_none() {
            self.lcp.echo_at = self.next_echo();
        }
    }

    fn next_echo(&self) -> Option<Ps> {
        self.now.checked_add(Ps::from(self.common.ptimer().max(1)) * PTIMER_UNIT)
    }

    pub(crate) fn lcp_timer(&mut self) {
        if self.lcp.echo_at.is_some_and(|at| at <= self.now) {
            self.lcp.echo_at = self.next_echo();
            // Only an established session has an id.
            if self.common.psid() != 0 {
                self.lcp.identifier = self.lcp.identifier.wrapping_add(1);
                let magic = [self.common.pmagic(); 4];
                self.send_lcp(LCP_ECHO_REQUEST, self.lcp.identifier, &magic);
            }
        }
    }

    fn send_lcp(&mut self, code: u8, identifier: u8, data: &[u8]) {
        let length = (4 + data.len()) as u16;
        let mut packet = vec![code, identifier];
        packet.extend_from_slice(&length.to_be_bytes());
        packet.extend_from_slice(data);
        self.send_ppp(PPP_LCP, &[&packet]);
    }

    pub(crate) fn pppoe_send_ip(&mut self, header: &[u8], payload: &[u8]) {
        self.send_ppp(PPP_IPV4, &[header, payload]);
    }

    fn send_ppp(&mut self, protocol: u16, parts: &[&[u8]]) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let mut header = vec![0x11, SESSION_DATA];
        header.extend_from_slice(&self.common.psid().to_be_bytes());
        header.extend_from_slice(&((length + 2) as u16).to_be_bytes());
        header.extend_from_slice(&protocol.to_be_bytes());
        let mut payload = vec![&header[..]];
        payload.extend_from_slice(parts);
        self.emit(ethernet(self.common.phar(), self.common.shar(), ETHERTYPE_PPPOE_SESSION, &payload));
    }

    /// Returns true if the frame belongs to the session, and is therefore handled.
    pub(crate) fn pppoe_arrived(&mut self, ethertype: u16, source: Mac, bytes: &[u8]) -> bool {
        let in_session = self.common.mr() & MR_PPPOE != 0
            && bytes.len() >= 6
            && bytes[0] == 0x11
            && self.common.psid() != 0
            && be16(bytes, 2) == self.common.psid()
            && source == self.common.phar();
        if !in_session {
            return false;
        }
        if ethertype == ETHERTYPE_PPPOE_DISCOVERY {
            if bytes[1] == PADT {
                self.common.raise(IR_PPPOE);
            }
            return bytes[1] == PADT;
        }
        let end = 6 + usize::from(be16(bytes, 4));
        if bytes[1] != SESSION_DATA || end < 8 || end > bytes.len() {
            return false;
        }
        let data = &bytes[8..end];
        match be16(bytes, 6) {
            PPP_IPV4 => self.ip_arrived(source, data),
            PPP_LCP => self.lcp_arrived(data),
            _ => false,
        }
    }

    fn lcp_arrived(&mut self, packet: &[u8]) -> bool {
        if packet.len() < 4 {
            return false;
        }
        match packet[0] {
            LCP_ECHO_REQUEST => {
                let mut data = packet[4..].to_vec();
                let magic = self.common.pmagic();
                data.iter_mut().take(4).for_each(|byte| *byte = magic);
                self.send_lcp(LCP_ECHO_REPLY, packet[1], &data);
                true
            }
            LCP_ECHO_REPLY => true,
            LCP_TERMINATE_REQUEST => {
                self.send_lcp(LCP_TERMINATE_ACK, packet[1], &[]);
                self.common.raise(IR_PPPOE);
                true
            }
            _ => false,
        }
    }
}
