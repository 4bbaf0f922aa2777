//! Events, which are Ethernet frames of Broadcom's EtherType.

use sim::{Mac, Snapshot};

pub(crate) const SET_SSID: u32 = 0;
pub(crate) const JOIN: u32 = 1;
pub(crate) const AUTH: u32 = 3;
pub(crate) const DEAUTH_IND: u32 = 6;
pub(crate) const ASSOC: u32 = 7;
pub(crate) const DISASSOC: u32 = 11;
pub(crate) const LINK: u32 = 16;
pub(crate) const PRUNE: u32 = 23;
pub(crate) const PSK_SUP: u32 = 46;
pub(crate) const ESCAN_RESULT: u32 = 69;
pub(crate) const ASSOC_REQ_IE: u32 = 87;
pub(crate) const ASSOC_RESP_IE: u32 = 88;

pub(crate) mod status {
    pub(crate) const SUCCESS: u32 = 0;
    pub(crate) const NO_NETWORKS: u32 = 3;
    pub(crate) const PARTIAL: u32 = 8;
}

/// Status of [`PSK_SUP`]: keys installed; waiting for message 3.
pub(crate) mod supplicant {
    pub(crate) const KEYED: u32 = 6;
    pub(crate) const WAITS_FOR_M3: u32 = 8;
    /// Reason: deauthenticated by the access point.
    pub(crate) const DEAUTHENTICATED: u32 = 14;
}

/// Reason of [`PRUNE`].
pub(crate) const PRUNE_ENCRYPTION: u32 = 1;
/// Flag of [`LINK`].
pub(crate) const LINK_UP: u16 = 1;

const MASK_BYTES: usize = 32;

/// The events that the host has enabled.
#[derive(Clone, Copy, Debug, Default, Snapshot)]
pub(crate) struct EventMask([u8; MASK_BYTES]);

impl EventMask {
    pub(crate) fn set(&mut self, bytes: &[u8]) {
        self.0 = [0; MASK_BYTES];
        let length = bytes.len().min(MASK_BYTES);
        self.0[..length].copy_from_slice(&bytes[..length]);
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn wants(&self, kind: u32) -> bool {
        self.0.get(kind as usize / 8).is_some_and(|byte| byte & (1 << (kind % 8)) != 0)
    }
}

pub(crate) struct Event {
    pub(crate) kind: u32,
    pub(crate) flags: u16,
    pub(crate) status: u32,
    pub(crate) reason: u32,
    pub(crate) about: Mac,
}

impl Event {
    pub(crate) fn ethernet(&self, to: Mac, data: &[u8]) -> Vec<u8> {
        let mut frame = Vec::with_capacity(72 + data.len());
        frame.extend(to);
        frame.extend([to[0] | 2, to[1], to[2], to[3], to[4], to[5]]);
        frame.extend(0x886cu16.to_be_bytes());
        // Subtype, length, version, OUI, user subtype: an event.
        frame.extend(0x8001u16.to_be_bytes());
        frame.extend((58 + data.len() as u16).to_be_bytes());
        frame.extend([0, 0x00, 0x10, 0x18]);
        frame.extend(1u16.to_be_bytes());
        frame.extend(2u16.to_be_bytes());
        frame.extend(self.flags.to_be_bytes());
        for word in [self.kind, self.status, self.reason, 0, data.len() as u32] {
            frame.extend(word.to_be_bytes());
        }
        frame.extend(self.about);
        frame.extend(*b"wl0\0\0\0\0\0\0\0\0\0\0\0\0\0");
        frame.extend([0, 0]);
        frame.extend(data);
        frame
    }
}
