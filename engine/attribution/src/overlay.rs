//! Times in which the board only waits, with the reason: the network, the link, an unread frame.

use sim::{PS_PER_MS, Ps};

use crate::Interval;
use crate::cause::{Cause, exception, is_timer};
use crate::lan::{Class, Flow, Frame};
use crate::recorder::{Record, Recording, Transfers, state};
use crate::tape::with_next;

/// An acknowledgement that takes the PC this long was delayed on purpose; processing never takes a PC so long.
const DELAYED: Ps = 5 * PS_PER_MS;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Overlays {
    /// In order, without overlap.
    pub(crate) waits: Vec<(Interval, Cause)>,
    /// Network time during which the board was busy with other work.
    pub(crate) hidden: Vec<Interval>,
}

/// The part of a recording that can decide where frames were: all of it may be too long for memory.
#[derive(Debug, Default)]
pub(crate) struct Sparse {
    /// Sleeps of the core.
    sleeps: Vec<Interval>,
    /// Times from a poll of the network chip to the next other access.
    looks: Vec<Interval>,
    /// Times at which the network chip was selected.
    selects: Vec<Ps>,
    /// Exceptions that come from outside the core's program.
    exceptions: Vec<(Ps, u8)>,
    /// Changes of the link, which is down before the first.
    link: Vec<(Ps, bool)>,
    /// Polls for the link.
    link_looks: Vec<Ps>,
}

impl Sparse {
    pub(crate) fn new(recording: &Recording, frames: &[Frame], transfers: &Transfers) -> Self {
        let mut points: Vec<Ps> = frames.iter().flat_map(|each| [each.given(), each.start, each.taken()]).collect();
        points.sort_unstable();
        points.dedup();
        let records = || whole(recording);
        let selects = firsts_from(stretches(records(), state::SELECTED).map(|stretch| stretch.0), &points);
        let link = link_changes(recording);
        let down: Vec<Ps> = std::iter::once(0).chain(link.iter().filter(|each| !each.1).map(|each| each.0)).collect();
        Self {
            sleeps: first_ends_after(stretches(records(), state::ASLEEP), &points),
            looks: first_ends_after(looks(transfers), &points),
            exceptions: last_wakes(recording.exceptions.iter(), &selects),
            selects,
            link_looks: firsts_from(link_looks(transfers), &down),
            link,
        }
    }

    /// Returns the first idle time from `from` on.
    fn idle_from(&self, from: Ps) -> Ps {
        let first = |stretches: &[Interval]| {
            let next = stretches[stretches.partition_point(|stretch| stretch.1 <= from)..].first();
            next.map_or(Ps::MAX, |stretch| stretch.0.max(from))
        };
        first(&self.sleeps).min(first(&self.looks))
    }

    fn sleeps_within(&self, (from, to): Interval) -> bool {
        self.sleeps[self.sleeps.partition_point(|sleep| sleep.1 <= from)..].first().is_some_and(|sleep| sleep.0 < to)
    }
}

/// Returns the waits.
pub(crate) fn overlays(sparse: &Sparse, frames: &[Frame]) -> Overlays {
    let mut found = Overlays::default();
    let mut unread = Vec::new();
    found.away(frames, sparse, &mut unread);
    let away = std::mem::take(&mut found.waits);
    let unread = waits_for_readers(sparse, &unread);
    let link = waits_for_link(sparse);
    // Time at the PC or on the wire has priority, then the link, then unread frames.
    found.waits = layered(vec![away, link, unread]);
    found
}

/// Returns the first of the stretches that ends after each of `points`.
fn first_ends_after(stretches: impl Iterator<Item = Interval>, points: &[Ps]) -> Vec<Interval> {
    let mut found = Vec::new();
    let mut points = points.iter().peekable();
    for stretch in stretches {
        if points.next_if(|&&point| point < stretch.1).is_some() {
            found.push(stretch);
            while points.next_if(|&&point| point < stretch.1).is_some() {}
        }
        if points.peek().is_none() {
            break;
        }
    }
    found
}

/// Returns the first of `times` at or after each of `points`.
fn firsts_from(times: impl Iterator<Item = Ps>, points: &[Ps]) -> Vec<Ps> {
    first_ends_after(times.map(|at| (at, at.saturating_add(1))), points).into_iter().map(|each| each.0).collect()
}

/// Returns the last exception from outside up to each of `reads`.
fn last_wakes(exceptions: impl Iterator<Item = (Ps, u8)>, reads: &[Ps]) -> Vec<(Ps, u8)> {
    let mut exceptions = exceptions.filter(|taken| wakes(taken.1)).peekable();
    let mut found: Vec<(Ps, u8)> = Vec::new();
    for &read in reads {
        let mut last = None;
        while let Some(taken) = exceptions.next_if(|taken| taken.0 <= read) {
            last = Some(taken);
        }
        found.extend(last);
    }
    found
}

fn link_changes(recording: &Recording) -> Vec<(Ps, bool)> {
    let mut found = Vec::new();
    let mut is_up = false;
    for record in recording.records.iter() {
        let now = record.state & state::LINK != 0;
        if now != is_up {
            is_up = now;
            found.push((record.at, now));
        }
    }
    found
}

/// Returns the polls of the chip. Each lasts until the next transfer: without further accesses the program waits,
/// possibly for a pin.
fn looks(transfers: &Transfers) -> impl Iterator<Item = Interval> {
    let is_look = transfers.named(is_look);
    let each = with_next(transfers.tape.iter()).filter(move |(each, _)| is_look[usize::from(each.what)]);
    each.map(|(each, next)| (each.start, next.map_or(Ps::MAX, |next| next.start)))
}

fn link_looks(transfers: &Transfers) -> impl Iterator<Item = Ps> {
    let is_look = transfers.named(is_link_look);
    transfers.tape.iter().filter(move |each| is_look[usize::from(each.what)]).map(|each| each.start)
}

/// Returns whether the transfer polls for events: WIZnet's received size, free space, interrupt and state.
fn is_look(what: &str) -> bool {
    let Some(register) = what.strip_suffix(" read") else { return false };
    ["RX_RSR", "TX_FSR", "_IR", "_SR"].iter().any(|name| register.ends_with(name))
}

/// The request that polls a radio chip for its link.
pub const JOIN: &str = "join write";

fn is_link_look(what: &str) -> bool {
    matches!(what, "PHYCFGR read" | "PHYSR read" | "PHYSR0 read" | JOIN)
}

/// Returns the records with their times.
pub(crate) fn whole(recording: &Recording) -> impl Iterator<Item = (Record, Interval)> {
    let end = recording.end;
    with_next(recording.records.iter()).map(move |(each, next)| (each, (each.at, next.map_or(end, |next| next.at))))
}

/// Returns the times when all of `bits` were set.
pub(crate) fn stretches(records: impl Iterator<Item = (Record, Interval)>, bits: u8) -> impl Iterator<Item = Interval> {
    let mut set = records.filter(move |(record, (from, to))| record.state & bits == bits && to > from).peekable();
    std::iter::from_fn(move || {
        let (_, (from, mut to)) = set.next()?;
        while let Some((_, next)) = set.next_if(|(_, next)| next.0 == to) {
            to = next.1;
        }
        Some((from, to))
    })
}

impl Overlays {
    /// Finds the turns of the network: a message of the board is away until its answer is back. Adds to `unread` the
    /// times at which frames arrived that the board must read.
    fn away(&mut self, frames: &[Frame], sparse: &Sparse, unread: &mut Vec<Ps>) {
        let sent: Vec<&Frame> = frames.iter().filter(|f| !f.to_board && f.class != Class::Acknowledgement).collect();
        let answers: Vec<&Frame> = frames.iter().filter(|f| f.to_board && f.class != Class::Acknowledgement).collect();
        let acks: Vec<&Frame> = frames.iter().filter(|f| f.to_board && f.class == Class::Acknowledgement).collect();
        unread.extend(answers.iter().map(|answer| answer.taken()));
        let mut answered: Vec<Ps> = Vec::new();
        for (index, request) in sent.iter().enumerate() {
            let next = sent.get(index + 1).map_or(Ps::MAX, |frame| frame.start);
            if next < request.arrival {
                continue; // the board waits for the answer to its last message
            }
            let answer = first_of(&answers, request.flow, (request.arrival, next));
            let ack = first_of(&acks, request.flow, (request.arrival, next));
            let (reply, cause) = match (answer, ack) {
                (Some(answer), _) => (answer, Cause::Pc),
                // No answer before the board's next message: the board may have waited for the acknowledgement.
                (None, Some(ack)) if ack.start - request.arrival >= DELAYED => (ack, Cause::DelayedAck),
                (None, Some(ack)) => (ack, Cause::Pc),
                (None, None) => continue,
            };
            answered.push(reply.start);
            if sparse.idle_from(request.given()) >= reply.taken() {
                self.hidden.push((request.given(), reply.taken()));
                continue;
            }
            self.waits.extend(request.whereabouts());
            self.waits.push(((request.arrival, reply.start), cause));
            self.waits.extend(reply.whereabouts());
            if reply.class == Class::Acknowledgement {
                unread.push(reply.taken());
            }
        }
        // Unsolicited frames of the PC.
        for answer in answers.iter().filter(|answer| !answered.contains(&answer.start)) {
            if sparse.idle_from(answer.start) < answer.taken() {
                self.waits.extend(answer.whereabouts());
            }
        }
        self.waits.sort_unstable_by_key(|wait| wait.0);
        unread.sort_unstable();
    }
}

fn first_of<'a>(frames: &[&'a Frame], flow: Flow, (from, to): Interval) -> Option<&'a Frame> {
    let later = frames[frames.partition_point(|frame| frame.start < from)..].iter();
    later.take_while(|frame| frame.start < to).copied().find(|frame| frame.flow == flow)
}

/// Finds the waits from a frame's arrival until the interrupt after which a sleeping board reads its chip.
fn waits_for_readers(sparse: &Sparse, unread: &[Ps]) -> Vec<(Interval, Cause)> {
    let (selects, exceptions) = (&sparse.selects, &sparse.exceptions);
    let mut waits = Vec::new();
    for &arrival in unread {
        let Some(&read) = selects[selects.partition_point(|&at| at < arrival)..].first() else { continue };
        if !sparse.sleeps_within((arrival, read)) {
            continue;
        }
        let last = exceptions[..exceptions.partition_point(|taken| taken.0 <= read)].last();
        let Some(&(at, number)) = last.filter(|taken| taken.0 > arrival) else { continue };
        let cause = if is_timer(number) { Cause::WaitPoll } else { Cause::WaitIntn };
        waits.push(((arrival, at), cause));
    }
    waits
}

/// Returns whether the exception comes from outside the core's program.
fn wakes(number: u8) -> bool {
    is_timer(number) || number == exception::IO_BANK0
}

/// Finds the waits from the first poll for the link until the link is up.
fn waits_for_link(sparse: &Sparse) -> Vec<(Interval, Cause)> {
    let (mut waits, mut down_since) = (Vec::new(), 0);
    for &(at, is_up) in &sparse.link {
        if !is_up {
            down_since = at;
            continue;
        }
        let looks = &sparse.link_looks;
        let look = looks[looks.partition_point(|&look| look < down_since)..].first();
        waits.extend(look.filter(|&&look| look < at).map(|&look| ((look, at), Cause::Link)));
    }
    waits
}

/// Merges several lists, each in order; where they overlap, the earlier list has priority.
fn layered(layers: Vec<Vec<(Interval, Cause)>>) -> Vec<(Interval, Cause)> {
    let mut whole: Vec<(Interval, Cause)> = Vec::new();
    for layer in layers {
        let mut added = Vec::new();
        for ((from, to), cause) in layer {
            let mut at = from;
            let mut covered = whole.partition_point(|(interval, _)| interval.1 <= from);
            while at < to {
                let next = whole.get(covered).map(|(interval, _)| *interval).filter(|interval| interval.0 < to);
                let Some((start, end)) = next else {
                    added.push(((at, to), cause));
                    break;
                };
                if start > at {
                    added.push(((at, start), cause));
                }
                at = at.max(end);
                covered += 1;
            }
        }
        whole.extend(added);
        whole.sort_unstable_by_key(|each| each.0);
        // Parts of one layer may overlap.
        let mut end = 0;
        whole.retain_mut(|(interval, _)| {
            interval.0 = interval.0.max(end);
            end = end.max(interval.1);
            interval.0 < interval.1
        });
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::Record;
    use sim::PS_PER_US;

    const US: Ps = PS_PER_US;
    const FLOW: Flow = (6, 5000, 49152);

    fn recording(states: &[(Ps, u8)], exceptions: &[(Ps, u8)], end: Ps) -> Recording {
        Recording {
            records: states.iter().map(|&(at, state)| Record { at: at * US, state, ..Record::default() }).collect(),
            exceptions: exceptions.iter().map(|&(at, number)| (at * US, number)).collect(),
            end: end * US,
            ..Recording::default()
        }
    }

    fn frame(start: Ps, arrival: Ps, to_board: bool, class: Class) -> Frame {
        Frame { start: start * US, arrival: arrival * US, to_board, class, flow: FLOW, beside: Vec::new() }
    }

    fn us(found: &Overlays) -> Vec<(Ps, Ps, Cause)> {
        found.waits.iter().map(|&((from, to), cause)| (from / US, to / US, cause)).collect()
    }

    fn overlays(recording: &Recording, frames: &[Frame], looks: &[Interval], link_looks: &[Ps]) -> Overlays {
        let sparse = Sparse::new(recording, frames, &Transfers::default());
        super::overlays(&Sparse { looks: looks.to_vec(), link_looks: link_looks.to_vec(), ..sparse }, frames)
    }

    fn looks(at_us: &[Ps]) -> Vec<Interval> {
        at_us.iter().map(|&at| (at * US, at * US + 1)).collect()
    }

    const ROUND: [(Ps, Ps, bool, Class); 2] = [(100, 106, false, Class::Message), (300, 306, true, Class::Message)];

    fn round() -> Vec<Frame> {
        ROUND.map(|(start, arrival, to_board, class)| frame(start, arrival, to_board, class)).to_vec()
    }

    #[test]
    fn a_wait_for_an_answer_belongs_to_the_wire_or_the_pc() {
        use Cause::*;
        let found = overlays(&recording(&[(0, 0)], &[], 900), &round(), &looks(&[150]), &[]);
        assert_eq!(us(&found), [(100, 106, WireToPc), (106, 300, Pc), (300, 306, WireToBoard)]);
        assert_eq!(found.hidden, []);
    }

    #[test]
    fn a_radio_frame_is_in_one_place_after_the_other() {
        use Cause::*;
        let mut frames = round();
        let us = |from: Ps, to: Ps| (from * US, to * US);
        frames[0].beside = vec![(us(60, 70), Radio), (us(70, 80), Air), (us(80, 100), AccessPoint)];
        frames[1].beside =
            vec![(us(306, 350), AccessPoint), (us(350, 400), PowerSave), (us(400, 410), Air), (us(410, 420), Radio)];
        let states = [(0, 0), (90, state::ASLEEP), (450, 0), (460, state::SELECTED)];
        let found = overlays(&recording(&states, &[(450, 29)], 900), &frames, &[], &[]);
        let expected = [
            (60, 70, Radio),
            (70, 80, Air),
            (80, 100, AccessPoint),
            (100, 106, WireToPc),
            (106, 300, Pc),
            (300, 306, WireToBoard),
            (306, 350, AccessPoint),
            (350, 400, PowerSave),
            (400, 410, Air),
            (410, 420, Radio),
            (420, 450, WaitIntn),
        ];
        assert_eq!(super::tests::us(&found), expected);
        let late = overlays(&recording(&[(0, 0), (415, state::ASLEEP)], &[], 900), &frames, &[], &[]);
        assert_eq!(late.hidden, [], "it waits for the radio");
        let hidden = overlays(&recording(&[(0, 0), (425, state::ASLEEP)], &[], 900), &frames, &[], &[]);
        assert_eq!(hidden.hidden, [us(60, 420)]);
    }

    #[test]
    fn an_answer_before_the_first_poll_is_hidden() {
        let found = overlays(&recording(&[(0, 0)], &[], 900), &round(), &looks(&[400]), &[]);
        assert_eq!((us(&found), found.hidden), (vec![], vec![(100 * US, 306 * US)]));
    }

    #[test]
    fn a_board_is_waiting_after_a_poll_without_further_accesses() {
        let found = overlays(&recording(&[(0, 0)], &[], 900), &round(), &[(90 * US, 320 * US)], &[]);
        assert_eq!((us(&found).len(), found.hidden.len()), (3, 0));
        let found = overlays(&recording(&[(0, 0)], &[], 900), &round(), &[(90 * US, 95 * US)], &[]);
        assert_eq!((us(&found).len(), found.hidden.len()), (0, 1));
    }

    #[test]
    fn a_frame_is_unread_until_the_polling_timer() {
        use Cause::*;
        let states = [(0, 0), (120, state::ASLEEP), (500, 0), (505, state::ASLEEP), (900, 0), (910, state::SELECTED)];
        let found = overlays(&recording(&states, &[(500, 16), (900, 19), (905, 14)], 1000), &round(), &[], &[]);
        let network = [(100, 106, WireToPc), (106, 300, Pc), (300, 306, WireToBoard)];
        assert_eq!(us(&found), [&network[..], &[(306, 900, WaitPoll)]].concat());
        let found = overlays(&recording(&states, &[(500, 16), (900, 29)], 1000), &round(), &[], &[]);
        assert_eq!(us(&found).last(), Some(&(306, 900, WaitIntn)));
    }

    #[test]
    fn a_board_that_is_awake_does_not_wait_for_a_poll() {
        let states = [(0, 0), (910, state::SELECTED)];
        let found = overlays(&recording(&states, &[(900, 19)], 1000), &round(), &looks(&[200]), &[]);
        assert_eq!(us(&found).len(), 3);
    }

    #[test]
    fn an_acknowledgement_awaited_by_the_next_message_is_delayed() {
        use Cause::*;
        let frames = |ack: Ps, next: Ps| {
            vec![
                frame(100, 106, false, Class::Message),
                frame(ack, ack + 6, true, Class::Acknowledgement),
                frame(next, next + 6, false, Class::Message),
                frame(next + 100, next + 106, true, Class::Message),
            ]
        };
        let still = recording(&[(0, 0)], &[], 90_000);
        let found = overlays(&still, &frames(40_106, 40_150), &looks(&[120, 40_160]), &[]);
        let first = [(100, 106, WireToPc), (106, 40_106, DelayedAck), (40_106, 40_112, WireToBoard)];
        assert_eq!(us(&found)[..3], first);
        assert_eq!(us(&found)[3].2, WireToPc);
        // The board continued before the acknowledgement arrived: it did not wait for it.
        let found = overlays(&still, &frames(40_106, 20_000), &looks(&[120, 20_020]), &[]);
        assert_eq!(us(&found)[0].0, 20_000);
        // An immediate acknowledgement is the PC's processing.
        let found = overlays(&still, &frames(150, 250), &looks(&[120]), &[]);
        assert_eq!(us(&found)[1], (106, 150, Pc));
    }

    #[test]
    fn an_unanswered_request_is_not_charged_to_the_pc() {
        let frames = [frame(100, 106, false, Class::Message), frame(900, 906, false, Class::Message)];
        let found = overlays(&recording(&[(0, 0)], &[], 1000), &frames, &looks(&[120]), &[]);
        assert_eq!(found, Overlays::default());
    }

    #[test]
    fn a_frame_of_another_flow_is_not_an_answer() {
        let mut frames = round();
        frames[1].flow = (17, 67, 68);
        let found = overlays(&recording(&[(0, 0)], &[], 900), &frames, &[(150 * US, 320 * US)], &[]);
        assert_eq!(us(&found), [(300, 306, Cause::WireToBoard)], "unsolicited frame of the PC");
    }

    #[test]
    fn the_wait_for_the_link_starts_with_the_first_poll() {
        let found = overlays(&recording(&[(0, 0), (700, state::LINK)], &[], 900), &[], &[], &[50 * US, 80 * US]);
        assert_eq!(us(&found), [(50, 700, Cause::Link)]);
        let found = overlays(&recording(&[(0, 0), (700, state::LINK)], &[], 900), &[], &[], &[750 * US]);
        assert_eq!(us(&found), []);
    }

    #[test]
    fn earlier_layers_have_priority() {
        let one = vec![((10, 20), Cause::Pc), ((30, 40), Cause::Pc)];
        let two = vec![((5, 35), Cause::WaitPoll), ((38, 50), Cause::WaitIntn), ((45, 60), Cause::WaitPoll)];
        use Cause::*;
        let whole = layered(vec![one, two]);
        let expected = [
            ((5, 10), WaitPoll),
            ((10, 20), Pc),
            ((20, 30), WaitPoll),
            ((30, 40), Pc),
            ((40, 50), WaitIntn),
            ((50, 60), WaitPoll),
        ];
        assert_eq!(whole, expected);
    }
}
