//! The switch that two boards share. It learns the addresses behind its ports, like any switch.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

use sim::Ps;

use crate::peek;

/// Most addresses learned: more than two boards and a PC have. Beyond them, frames are flooded.
const MAX_LEARNED: usize = 64;

/// A port of the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Port {
    Board,
    Pc,
    /// The other board's half of the switch.
    Trunk,
}

/// This board's half of the switch. The half with the PC decides for both; the other half is a port at the end of the
/// trunk. The trunk has no delay, and announces a frame to the deciding half as soon as the frame starts.
#[derive(Debug, Default)]
pub(crate) struct Switch {
    learned: BTreeMap<[u8; 6], Port>,
    has_pc: bool,
    /// The addresses that this board and the other one last claimed.
    said: [Option<Ipv4Addr>; 2],
    /// Frames from the other half, with the arrival times of their last bits.
    arriving: VecDeque<(Ps, Vec<u8>)>,
    leaving: VecDeque<(Ps, Vec<u8>)>,
    /// Frames for the PC, with the times at which its stack sees them.
    for_pc: VecDeque<(Ps, Vec<u8>)>,
}

impl Switch {
    /// Creates a half. `has_pc`: the PC is on this half; the other half has none.
    pub(crate) fn new(has_pc: bool, pc_mac: [u8; 6]) -> Self {
        Self { learned: [(pc_mac, Port::Pc)].into(), has_pc, ..Self::default() }
    }

    pub(crate) fn has_pc(&self) -> bool {
        self.has_pc
    }

    /// Returns the address that both boards claim.
    pub(crate) fn conflict(&self) -> Option<Ipv4Addr> {
        self.said[0].filter(|_| self.said[0] == self.said[1])
    }

    /// Returns the ports by which a frame leaves.
    pub(crate) fn ways(&mut self, from: Port, frame: &[u8]) -> Vec<Port> {
        if !self.has_pc {
            return if from == Port::Trunk { vec![Port::Board] } else { Vec::new() };
        }
        let said = match from {
            Port::Board => Some(&mut self.said[0]),
            Port::Trunk => Some(&mut self.said[1]),
            Port::Pc => None,
        };
        // A board without an address claims 0.0.0.0.
        if let (Some(said), Some(sender)) = (said, peek::sender(frame).filter(|sender| !sender.is_unspecified())) {
            *said = Some(sender);
        }
        let known =
            |table: &BTreeMap<[u8; 6], Port>, at: usize| -> Option<Port> { table.get(frame.get(at..at + 6)?).copied() };
        if let Some(source) = frame.get(6..12).and_then(|mac| <[u8; 6]>::try_from(mac).ok())
            && source[0] & 1 == 0
            && (self.learned.len() < MAX_LEARNED || self.learned.contains_key(&source))
        {
            self.learned.insert(source, from);
        }
        let to = known(&self.learned, 0);
        let all = [Port::Board, Port::Pc, Port::Trunk].into_iter();
        all.filter(|&port| port != from && to.is_none_or(|to| to == port)).collect()
    }

    pub(crate) fn arrives(&mut self, at: Ps, frame: Vec<u8>) {
        self.arriving.push_back((at, frame));
    }

    pub(crate) fn leaves(&mut self, at: Ps, frame: Vec<u8>) {
        self.leaving.push_back((at, frame));
    }

    pub(crate) fn take_leaving(&mut self) -> Option<(Ps, Vec<u8>)> {
        self.leaving.pop_front()
    }

    pub(crate) fn take_arrived(&mut self, now: Ps) -> Option<(Ps, Vec<u8>)> {
        due(&mut self.arriving, now)
    }

    pub(crate) fn hand_to_pc(&mut self, at: Ps, frame: Vec<u8>) {
        self.for_pc.push_back((at, frame));
    }

    pub(crate) fn take_for_pc(&mut self, now: Ps) -> Option<Vec<u8>> {
        due(&mut self.for_pc, now).map(|(_, frame)| frame)
    }

    pub(crate) fn next_arrival(&self) -> Option<Ps> {
        self.arriving.front().map(|&(at, _)| at)
    }

    /// Returns when the PC's stack sees the next frame.
    pub(crate) fn next_for_pc(&self) -> Option<Ps> {
        self.for_pc.front().map(|&(at, _)| at)
    }
}

fn due(queue: &mut VecDeque<(Ps, Vec<u8>)>, now: Ps) -> Option<(Ps, Vec<u8>)> {
    if queue.front()?.0 > now {
        return None;
    }
    queue.pop_front()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PC: [u8; 6] = [2, 0, 0, 0, 0, 1];
    const HERE: [u8; 6] = [2, 0, 0, 0, 0, 2];
    const THERE: [u8; 6] = [2, 0, 0, 0, 0, 3];

    fn frame(to: [u8; 6], from: [u8; 6]) -> Vec<u8> {
        [to, from].concat()
    }

    #[test]
    fn frames_are_flooded_until_the_receiver_is_learned() {
        let mut switch = Switch::new(true, PC);
        assert_eq!(switch.ways(Port::Board, &frame(THERE, HERE)), [Port::Pc, Port::Trunk]);
        assert_eq!(switch.ways(Port::Trunk, &frame(HERE, THERE)), [Port::Board]);
        assert_eq!(switch.ways(Port::Board, &frame(THERE, HERE)), [Port::Trunk]);
        assert_eq!(switch.ways(Port::Board, &frame(PC, HERE)), [Port::Pc]);
        assert_eq!(switch.ways(Port::Board, &frame([0xff; 6], HERE)), [Port::Pc, Port::Trunk]);
        assert_eq!(switch.ways(Port::Trunk, &frame(THERE, THERE)), [], "the receiver is on the port of origin");
        switch.ways(Port::Board, &frame(THERE, [0xff; 6]));
        assert_eq!(switch.ways(Port::Trunk, &frame([0xff; 6], THERE)), [Port::Board, Port::Pc], "no sender is a group");
    }

    #[test]
    fn the_half_without_the_pc_decides_nothing() {
        let mut switch = Switch::new(false, PC);
        assert_eq!(switch.ways(Port::Board, &frame(PC, HERE)), [], "the other half has it already");
        assert_eq!(switch.ways(Port::Trunk, &frame([0xff; 6], PC)), [Port::Board]);
        assert_eq!(switch.ways(Port::Trunk, &frame(THERE, PC)), [Port::Board], "the other half knows the address");
        assert_eq!(switch.ways(Port::Pc, &frame([0xff; 6], PC)), [], "its PC is disconnected");
    }

    #[test]
    fn two_boards_with_one_address_are_detected() {
        let says = |mac: [u8; 6], last: u8| [&frame([0xff; 6], mac)[..], &[8, 6], &[0; 14], &[10, 0, 0, last]].concat();
        let mut switch = Switch::new(true, PC);
        switch.ways(Port::Board, &says(HERE, 7));
        switch.ways(Port::Pc, &says(PC, 7));
        assert_eq!(switch.conflict(), None, "the PC is not a board");
        let nothing = [&frame([0xff; 6], THERE)[..], &[8, 6], &[0; 18]].concat();
        switch.ways(Port::Trunk, &nothing);
        switch.ways(Port::Trunk, &says(THERE, 8));
        assert_eq!(switch.conflict(), None);
        switch.ways(Port::Trunk, &says(THERE, 7));
        assert_eq!(switch.conflict(), Some(Ipv4Addr::new(10, 0, 0, 7)));
        switch.ways(Port::Board, &says(HERE, 9));
        assert_eq!(switch.conflict(), None, "it has changed its address");
    }

    #[test]
    fn a_board_with_random_addresses_does_not_fill_the_memory() {
        let mut switch = Switch::new(true, PC);
        for number in 0..1000u16 {
            let [high, low] = number.to_be_bytes();
            switch.ways(Port::Board, &frame([0xff; 6], [2, 1, 0, 0, high, low]));
        }
        assert_eq!(switch.learned.len(), 64);
        assert_eq!(switch.ways(Port::Board, &[1, 2, 3]), [Port::Pc, Port::Trunk], "a frame without addresses");
    }
}
