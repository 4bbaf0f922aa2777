//! The switch that two boards share: it learns who is behind which of its ports, as any of them does.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

use sim::Ps;

use crate::peek;

/// Addresses that are remembered: more than two boards and a PC have. Beyond them, frames go everywhere.
const MAX_LEARNED: usize = 64;

/// Where a frame comes from, and where it can go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Port {
    Board,
    Pc,
    /// The other board's half of the switch.
    Trunk,
}

/// This board's half of the switch. The half with the PC decides for both; the other one is a port at the end of the
/// trunk, which takes no time, and over which the decider hears of a frame as soon as that begins.
#[derive(Debug, Default)]
pub(crate) struct Switch {
    learned: BTreeMap<[u8; 6], Port>,
    has_pc: bool,
    /// What this board and the other one last said that their addresses are.
    said: [Option<Ipv4Addr>; 2],
    /// From the other half, with the times at which their last bits are there.
    arriving: VecDeque<(Ps, Vec<u8>)>,
    leaving: VecDeque<(Ps, Vec<u8>)>,
    /// For the PC, once its stack sees them.
    for_pc: VecDeque<(Ps, Vec<u8>)>,
}

impl Switch {
    /// `has_pc`: the PC is on this half; the other half has none.
    pub(crate) fn new(has_pc: bool, pc_mac: [u8; 6]) -> Self {
        Self { learned: [(pc_mac, Port::Pc)].into(), has_pc, ..Self::default() }
    }

    pub(crate) fn has_pc(&self) -> bool {
        self.has_pc
    }

    /// The address that both boards say is theirs.
    pub(crate) fn conflict(&self) -> Option<Ipv4Addr> {
        self.said[0].filter(|_| self.said[0] == self.said[1])
    }

    /// The ports that a frame leaves by.
    pub(crate) fn ways(&mut self, from: Port, frame: &[u8]) -> Vec<Port> {
        if !self.has_pc {
            return if from == Port::Trunk { vec![Port::Board] } else { Vec::new() };
        }
        let said = match from {
            Port::Board => Some(&mut self.said[0]),
            Port::Trunk => Some(&mut self.said[1]),
            Port::Pc => None,
        };
        // A board that has no address yet says that it is 0.0.0.0.
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

    /// When the PC's stack sees the next frame.
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
    fn a_frame_goes_everywhere_until_its_receiver_has_been_heard() {
        let mut switch = Switch::new(true, PC);
        assert_eq!(switch.ways(Port::Board, &frame(THERE, HERE)), [Port::Pc, Port::Trunk]);
        assert_eq!(switch.ways(Port::Trunk, &frame(HERE, THERE)), [Port::Board]);
        assert_eq!(switch.ways(Port::Board, &frame(THERE, HERE)), [Port::Trunk]);
        assert_eq!(switch.ways(Port::Board, &frame(PC, HERE)), [Port::Pc]);
        assert_eq!(switch.ways(Port::Board, &frame([0xff; 6], HERE)), [Port::Pc, Port::Trunk]);
        assert_eq!(switch.ways(Port::Trunk, &frame(THERE, THERE)), [], "it is where it came from");
    }

    #[test]
    fn the_half_without_the_pc_decides_nothing() {
        let mut switch = Switch::new(false, PC);
        assert_eq!(switch.ways(Port::Board, &frame(PC, HERE)), [], "the other half has it already");
        assert_eq!(switch.ways(Port::Trunk, &frame([0xff; 6], PC)), [Port::Board]);
        assert_eq!(switch.ways(Port::Trunk, &frame(THERE, PC)), [Port::Board], "the other half had heard of it");
        assert_eq!(switch.ways(Port::Pc, &frame([0xff; 6], PC)), [], "its own PC is cut off");
    }

    #[test]
    fn two_boards_that_say_one_address_are_found_out() {
        let says = |mac: [u8; 6], last: u8| [&frame([0xff; 6], mac)[..], &[8, 6], &[0; 14], &[10, 0, 0, last]].concat();
        let mut switch = Switch::new(true, PC);
        switch.ways(Port::Board, &says(HERE, 7));
        switch.ways(Port::Pc, &says(PC, 7));
        assert_eq!(switch.conflict(), None, "the PC is no board");
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
    fn a_board_that_makes_up_addresses_does_not_fill_the_memory() {
        let mut switch = Switch::new(true, PC);
        for number in 0..1000u16 {
            let [high, low] = number.to_be_bytes();
            switch.ways(Port::Board, &frame([0xff; 6], [2, 1, 0, 0, high, low]));
        }
        assert_eq!(switch.learned.len(), MAX_LEARNED);
        assert_eq!(switch.ways(Port::Board, &[1, 2, 3]), [Port::Pc, Port::Trunk], "a frame without addresses");
    }
}
