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
mod tests;
