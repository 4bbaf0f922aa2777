"""Runs a row on an emulated board with its time attributed, and with one thing changed.

The row's image and client are put on the board as a bench run does it; each run then starts from that flash. The run is
made once as it is and once recorded, and the two may differ in nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from portbench.boards import BoardError, Deadline, OwnNetwork, RunOutput
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.replay import Figures, Replay
from portbench.boards.simulated_lan import MASK, board_address
from portbench.errors import PortbenchError
from portbench.results.model import Row
from portbench.runner.client_result import check_result
from portbench.runner.collect import RowDraft
from portbench.runner.explain.what_if import WhatIf
from portbench.runner.images import image_store
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow
from portbench.runner.profile.attributed import with_names
from portbench.runner.stages import Stage
from portbench.runner.trace.record import prepared_flash
from portbench.where import Where
from portbench.workloads import Readiness


class Measured:
    """A row whose flash is prepared, to be run as often as wanted. Raises BoardError and its like."""

    def __init__(self, row: PlannedRow, options: BenchOptions, elf: Path | None = None) -> None:
        if row.entry.family.traits.timed_by_pc:
            raise PortbenchError(
                f"{row.entry.id}: a foreign image does not tell what it timed; explain another runtime"
            )
        self.planned = row
        self._options = options
        self._elf = elf
        self._config, self._flash = prepared_flash(row, options)

    def row(self) -> Row:
        """The row with its attribution."""
        plain = self._replay(self._config, self._flash).run(self._deadline())
        attributed = self._replay(self._config, self._flash).attribute(self.planned.workload.timed, self._deadline())
        if attributed.figures != plain:
            raise BoardError(f"{self.planned.label}: recording it changed the run; the engine's recorder is at fault")
        image = image_store([self.planned.entry]).obtain(self.planned.entry).path
        return self._as_row(plain, with_names(attributed.attribution, image, self._elf))

    def what_if(self, row: Row) -> Iterator[WhatIf]:
        """What each change would bring to `row`, measured by running it."""
        for name, title, change in self._changes(row):
            config, flash = change()
            figures = self._replay(config, flash).run(self._deadline())
            value = self._as_row(figures, None).value
            if value is not None and row.value is not None:
                yield WhatIf(name, title, value, self.planned.workload.headline.factor(value, row.value))

    def _changes(self, row: Row) -> Iterator[tuple[str, str, Callable[[], tuple[EmulatedConfig, bytes]]]]:
        def with_config(**changes: object) -> Callable[[], tuple[EmulatedConfig, bytes]]:
            return lambda: (replace(self._config, **changes), self._flash)  # type: ignore[arg-type]

        yield "no_cache_misses", "no flash cache miss costs anything", with_config(xip_miss_cost=False)
        if self.planned.workload.readiness is Readiness.BOOTED:
            return
        yield "spi_twice", "SPI twice as fast", with_config(spi_speed=2)
        yield "turnaround_0", "the PC answers at once", with_config(turnaround_us=0)
        if row.conditions.intn is False and "intn" in self.planned.entry.family.traits.profile_keys:
            yield "intn", "INTn connected", self._with_intn

    def _with_intn(self) -> tuple[EmulatedConfig, bytes]:
        profile = replace(self.planned.profile, intn=True)
        return prepared_flash(replace(self.planned, profile=profile), self._options)

    def _replay(self, config: EmulatedConfig, flash: bytes) -> Replay:
        settings = self.planned.settings.model_dump(mode="json")
        return Replay(self.planned.board, config, flash, self.planned.workload.name, settings)

    def _deadline(self) -> Deadline:
        return Deadline(self._options.timeouts_s[Stage.RUN], self.planned.label)

    def _as_row(self, figures: Figures, attribution: dict[str, object] | None) -> Row:
        result = check_result(figures.result, self.planned.workload, self.planned.settings, figures.sessions)
        draft = RowDraft(self.planned, self._options, Where.EMULATED, attribution=attribution)
        draft.image = image_store([self.planned.entry]).obtain(self.planned.entry)
        draft.own_network = _network(self._config)
        return draft.measured(result, RunOutput(figures.result, []))


def _network(config: EmulatedConfig) -> OwnNetwork:
    ip = config.pc_ip
    static = (board_address(ip), MASK, ip, ip)
    return OwnNetwork(ip, config.server_port, static, config.turnaround_us)
