//! Passages of frames over the air, and the frames of the cable that they are.

use ::lan::FrameRecord;
use air::{Passage, Place};
use attribution::{Cause, Interval};
use cyw43::FRAME_TIME;

/// Finds the passage over the air of a frame of the cable. `None`: the frame was lost.
pub(crate) fn beside(passages: &mut Vec<Passage>, record: &FrameRecord) -> Option<Vec<(Interval, Cause)>> {
    let is_it = |passage: &Passage| {
        let meets = if record.to_board { passage.begin >= record.arrival } else { passage.end() == record.queued };
        passage.to_board == record.to_board && meets && passage.frame.starts_with(&record.frame)
    };
    let index = passages.iter().position(is_it)?;
    let passage = passages.remove(index);
    let mut at = passage.begin;
    let mut places = Vec::with_capacity(passage.places.len() + 1);
    if !record.to_board {
        places.push(((at.saturating_sub(FRAME_TIME), at), Cause::Radio));
    }
    for &(place, until) in &passage.places {
        places.push(((at, until), cause(place)));
        at = until;
    }
    if record.to_board {
        places.push(((at, at + FRAME_TIME), Cause::Radio));
    }
    Some(places)
}

fn cause(place: Place) -> Cause {
    match place {
        Place::Air => Cause::Air,
        Place::AccessPoint => Cause::AccessPoint,
        Place::Kept => Cause::PowerSave,
    }
}

#[cfg(test)]
mod tests {
    use lan::Fate;
    use sim::Ps;

    use super::*;

    fn record(to_board: bool, queued: Ps, arrival: Ps, byte: u8) -> FrameRecord {
        FrameRecord { queued, start: queued, arrival, to_board, fate: Fate::Delivered, frame: vec![byte; 60] }
    }

    fn passage(to_board: bool, begin: Ps, places: &[(Place, Ps)], byte: u8) -> Passage {
        Passage { to_board, begin, places: places.to_vec(), frame: vec![byte; 60] }
    }

    #[test]
    fn a_frame_of_the_cable_is_found_on_the_air() {
        let ms = sim::PS_PER_MS;
        let mut passages = vec![
            passage(false, 2 * ms, &[(Place::Air, 3 * ms), (Place::AccessPoint, 4 * ms)], 1),
            passage(true, 6 * ms, &[(Place::AccessPoint, 7 * ms), (Place::Kept, 8 * ms), (Place::Air, 9 * ms)], 2),
            passage(true, 20 * ms, &[(Place::Air, 21 * ms)], 2),
        ];
        use Cause::*;
        assert_eq!(beside(&mut passages, &record(false, 5 * ms, 6 * ms, 1)), None, "it arrived at another time");
        let up = beside(&mut passages, &record(false, 4 * ms, 5 * ms, 1)).unwrap();
        assert_eq!(
            up,
            [((2 * ms - FRAME_TIME, 2 * ms), Radio), ((2 * ms, 3 * ms), Air), ((3 * ms, 4 * ms), AccessPoint)]
        );
        let down = beside(&mut passages, &record(true, 5 * ms, 6 * ms, 2)).unwrap();
        let places: Vec<_> = down.iter().map(|(_, cause)| *cause).collect();
        assert_eq!(places, [AccessPoint, PowerSave, Air, Radio]);
        assert_eq!((down[0].0.0, down[3].0), (6 * ms, (9 * ms, 9 * ms + FRAME_TIME)));
        assert_eq!(beside(&mut passages, &record(true, 21 * ms, 22 * ms, 2)), None, "it was lost on the air");
        assert_eq!(passages.len(), 1);
    }
}
