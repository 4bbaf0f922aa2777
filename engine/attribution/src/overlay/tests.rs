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
