//! The receiver's power save: PM 1 sleeps always, PM 2 after a time without frames.

use sim::{PS_PER_MS, Ps, RadioRequest, Snapshot};

const ALWAYS: u32 = 1;
const AFTER_FRAMES: u32 = 2;

#[derive(Debug, Snapshot)]
pub(crate) struct Power {
    mode: u32,
    /// PM 2: from the last frame to sleep.
    pub(crate) sleep_return_ms: u32,
    /// The receiver wakes for one beacon in this many; a DTIM wakes it earlier.
    pub(crate) listen_beacons: u32,
    pub(crate) listen_dtims: u32,
    dtim: u32,
    joined: bool,
    dozing: bool,
    doze_at: Option<Ps>,
}

impl Default for Power {
    /// Returns the firmware's defaults.
    fn default() -> Self {
        Self {
            mode: 0,
            sleep_return_ms: 200,
            listen_beacons: 0,
            listen_dtims: 0,
            dtim: 1,
            joined: false,
            dozing: false,
            doze_at: None,
        }
    }
}

impl Power {
    pub(crate) fn mode(&self) -> u32 {
        self.mode
    }

    pub(crate) fn set_mode(&mut self, now: Ps, mode: u32) -> Option<RadioRequest> {
        self.mode = mode;
        if self.joined { self.begin(now) } else { None }
    }

    pub(crate) fn joined(&mut self, now: Ps, dtim: u8) -> Option<RadioRequest> {
        (self.joined, self.dozing, self.dtim) = (true, false, u32::from(dtim));
        self.begin(now)
    }

    pub(crate) fn left(&mut self) {
        (self.joined, self.dozing, self.doze_at) = (false, false, None);
    }

    fn begin(&mut self, now: Ps) -> Option<RadioRequest> {
        self.doze_at = None;
        match self.mode {
            ALWAYS => Some(self.doze()),
            AFTER_FRAMES => self.stay_awake(now),
            _ => self.wake(),
        }
    }

    fn doze(&mut self) -> RadioRequest {
        self.dozing = true;
        let beacons = if self.listen_dtims > 0 { self.listen_dtims * self.dtim } else { self.listen_beacons };
        RadioRequest::Doze { beacons: beacons.max(1) }
    }

    fn wake(&mut self) -> Option<RadioRequest> {
        std::mem::take(&mut self.dozing).then_some(RadioRequest::Awake)
    }

    /// Wakes now, and sleeps again some time after the last frame.
    fn stay_awake(&mut self, now: Ps) -> Option<RadioRequest> {
        self.doze_at = Some(now + Ps::from(self.sleep_return_ms) * PS_PER_MS);
        self.wake()
    }

    pub(crate) fn transmits(&mut self, now: Ps) -> Option<RadioRequest> {
        if self.mode == AFTER_FRAMES && self.joined { self.stay_awake(now) } else { None }
    }

    pub(crate) fn receives(&mut self, now: Ps) -> Option<RadioRequest> {
        self.transmits(now)
    }

    /// Handles a beacon that announces frames.
    pub(crate) fn kept(&mut self, now: Ps) -> Option<RadioRequest> {
        match self.mode {
            ALWAYS => Some(RadioRequest::Poll),
            AFTER_FRAMES => self.stay_awake(now),
            _ => None,
        }
    }

    pub(crate) fn next_event(&self) -> Option<Ps> {
        self.doze_at
    }

    pub(crate) fn advance(&mut self, now: Ps) -> Option<RadioRequest> {
        if self.doze_at? > now {
            return None;
        }
        self.doze_at = None;
        Some(self.doze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mode_2_sleeps_some_time_after_the_last_frame() {
        let mut power = Power { sleep_return_ms: 50, listen_dtims: 3, ..Power::default() };
        assert_eq!(power.set_mode(0, 2), None);
        assert_eq!(power.joined(0, 2), None);
        assert_eq!(power.receives(30 * PS_PER_MS), None);
        assert_eq!((power.next_event(), power.advance(79 * PS_PER_MS)), (Some(80 * PS_PER_MS), None));
        assert_eq!(power.advance(80 * PS_PER_MS), Some(RadioRequest::Doze { beacons: 6 }));
        assert_eq!(power.kept(90 * PS_PER_MS), Some(RadioRequest::Awake));
        assert_eq!(power.next_event(), Some(140 * PS_PER_MS));
    }

    #[test]
    fn mode_1_sleeps_at_once_and_polls() {
        let mut power = Power { listen_beacons: 4, ..Power::default() };
        power.set_mode(0, 1);
        assert_eq!(power.joined(0, 1), Some(RadioRequest::Doze { beacons: 4 }));
        assert_eq!((power.transmits(5), power.kept(9)), (None, Some(RadioRequest::Poll)));
        assert_eq!((power.set_mode(10, 0), power.next_event()), (Some(RadioRequest::Awake), None));
    }
}
