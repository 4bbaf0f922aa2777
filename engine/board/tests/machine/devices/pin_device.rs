//! Devices on pins without a bus: the board's edges, and a level against the board's pull.

use sim::{Device, PinDevice, Ps};

use super::rig::{CYCLE_PS, Log, Rig, taken};

/// Answers each falling edge of its first pin by a low of its second, until the next rising edge.
struct Follower {
    log: Log<(Ps, usize, bool)>,
    low: bool,
}

impl Device for Follower {
    fn name(&self) -> &'static str {
        "FOLLOWER"
    }
}

impl PinDevice for Follower {
    fn edge(&mut self, now: Ps, index: usize, high: bool) {
        self.log.lock().expect("no test panicked").push((now, index, high));
        self.low = !high;
    }

    fn level(&self, index: usize) -> Option<bool> {
        (index == 1).then_some(!self.low)
    }
}

#[test]
fn a_device_sees_the_boards_edges_and_holds_a_pin() {
    let log = Log::default();
    let mut rig = Rig::new(|wiring| wiring.attach_pins(vec![4, 9], Follower { log: log.clone(), low: false }));
    assert!(rig.input(9) && taken(&log).is_empty(), "a pin that nothing drives is high");
    let fell = rig.now();
    rig.output(4, false);
    assert!(!rig.input(9), "the device holds it low");
    rig.output(9, true);
    assert!(rig.input(9), "the board is stronger");
    rig.run(5 * CYCLE_PS);
    let rose = rig.now();
    rig.output(4, true);
    assert_eq!(taken(&log), [(fell, 0, false), (rose, 0, true)]);
}
