//! Socket 0 in MACRAW mode: whole Ethernet frames (datasheet 4.2 "Sn_MR", MFEN, BCASTB, MMB, MIP6B).

use crate::Wiznet;
use crate::chip::Model;
use crate::socket::*;
use crate::wire::*;

impl<M: Model> Wiznet<M> {
    /// Sends the bytes between Sn_TX_RD and Sn_TX_WR as one frame. The host must keep to 1514 bytes (datasheet 4.2
    /// "Sn_MSSR"); the MAC cannot send more, nor less than a header.
    pub(crate) fn macraw_send(&mut self, n: usize) {
        self.sockets[n].commit_tx();
        let s = &mut self.sockets[n];
        let length = usize::from(s.tx_wr.wrapping_sub(s.tx_rd));
        let start = s.tx_rd;
        s.tx_rd = s.tx_wr;
        if (ETHERNET_HEADER..=MAX_FRAME).contains(&length) {
            let frame = self.tx.copy_out(n, start, length);
            self.emit(frame);
        }
        self.raise(n, IR_SEND_OK);
    }

    /// Stores a frame not handled by the chip's stack after its 2-byte length, which includes itself, if the filter
    /// accepts it. The filter bits take effect when written: MicroPython sets MFEN after OPEN.
    pub(crate) fn macraw_arrived(&mut self, frame: &[u8]) {
        if !self.macraw_open() {
            return;
        }
        let mode = self.sockets[0].mr();
        let blocked = |bit: u8| mode & bit != 0;
        let accepted = if frame[..6] == BROADCAST_MAC {
            !blocked(MR_BCASTB)
        } else if frame[0] & 1 != 0 {
            !blocked(MR_ND_MC_MMB)
        } else {
            !blocked(MR_MULTI) || frame[..6] == self.common.shar()
        };
        if !accepted || (blocked(MR_UCASTB_MIP6B) && be16(frame, 12) == ETHERTYPE_IPV6) {
            return;
        }
        // The frame was padded on the wire.
        let padding = &[0; MIN_FRAME][..MIN_FRAME.saturating_sub(frame.len())];
        // At most 1516.
        let length = (2 + frame.len() + padding.len()) as u16;
        self.store(0, &[&length.to_be_bytes(), frame, padding]);
    }
}
