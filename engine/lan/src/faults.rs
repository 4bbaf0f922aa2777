//! Faults of the cable, drawn from a seeded generator.

use sim::{PS_PER_S, Ps, SettingError, Snapshot};

/// Faults of the cable. The default has none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Snapshot)]
pub struct Faults {
    /// Seed of the loss and jitter draws; each direction has its own sequence.
    pub seed: u64,
    /// Frames lost on the way to the PC, per thousand (0 to 1000).
    pub loss_from_board_per_mille: u16,
    /// Frames lost on the way to the board, per thousand (0 to 1000).
    pub loss_to_board_per_mille: u16,
    /// Added to every frame's arrival in both directions, at most 1 s.
    pub extra_delay_ps: Ps,
    /// Upper end of a uniform random delay of every frame's arrival, at most 1 s. Frames stay in order.
    pub jitter_ps: Ps,
    /// Half-open intervals `[from, to)` in which the cable is unplugged; a frame that touches one is lost.
    pub down: Vec<(Ps, Ps)>,
}

impl Faults {
    pub(crate) fn validate(&self) -> Result<(), SettingError> {
        let mille =
            |name: &str, value: u16| SettingError::unless(value <= 1000, name, value, "use 0 to 1000 thousandths");
        mille("faults.loss_from_board_per_mille", self.loss_from_board_per_mille)?;
        mille("faults.loss_to_board_per_mille", self.loss_to_board_per_mille)?;
        for (name, value) in [("faults.extra_delay_ps", self.extra_delay_ps), ("faults.jitter_ps", self.jitter_ps)] {
            SettingError::unless(value <= PS_PER_S, name, value, format_args!("use at most {PS_PER_S} ps (1 s)"))?;
        }
        for &(from, to) in &self.down {
            let interval = format_args!("({from}, {to})");
            SettingError::unless(from < to, "faults.down", interval, "the interval must end after it starts")?;
        }
        Ok(())
    }

    pub(crate) fn is_down(&self, from: Ps, to: Ps) -> bool {
        self.down.iter().any(|&(start, end)| from < end && to >= start)
    }
}
