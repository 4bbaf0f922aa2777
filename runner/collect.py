"""Turns a run, or what kept it from happening, into a row of the run file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from portbench.boards import BoardDefinition, OwnNetwork, RunOutput, Where
from portbench.firmware.catalogue import Family
from portbench.firmware.images import FOLDER_VARIABLE, Image
from portbench.results.model import Published, Row, Settings, Sim, Status
from portbench.results.model import Where as RowWhere
from portbench.runner.client_result import ClientResult
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRun


@dataclass
class RowDraft:
    """What is known about a row so far; every stage adds to it."""

    run: PlannedRun
    options: BenchOptions
    where: Where
    image: Image | None = None
    version: str = ""
    turnaround_us: float | None = None
    """Of the real server, as measured."""
    own_network: OwnNetwork | None = None
    """The simulated network that the board brings along."""
    log: str | None = None

    def measured(self, result: ClientResult, output: RunOutput) -> Row:
        return self._row(
            status=Status.MEASURED,
            version=self.version or result.version or "",
            settings=self._settings(result),
            messages=result.messages,
            total_us=result.total_us,
            round_trip_us=result.round_trip_us,
            ready_us=result.ready_us,
            sim=None if output.sim is None else Sim.model_validate(output.sim),
            note=self._note(),
        )

    def skipped(self, reason: str) -> Row:
        return self._row(status=Status.SKIPPED, reason=one_line(reason))

    def failed(self, reason: str, console_tail: list[str]) -> Row:
        return self._row(status=Status.FAILED, reason=one_line(reason), console_tail=console_tail)

    def _row(self, **more: Any) -> Row:
        entry, profile, published = self.run.entry, self.run.profile, self.run.profile.published
        known: dict[str, Any] = {
            "runtime": entry.id,
            "family": str(entry.family),
            "version": self.version or (self.image.version if self.image else None) or entry.version or "",
            "where": RowWhere(self.where),
            "board": None if entry.family is Family.HOSTED else self.options.board.id,
            "profile": profile.name,
            "run_index": self.run.number - 1,
            "image_file": self.image.path.name if self.image and self.image.path else entry.file,
            "image_sha256": self.image.sha256 if self.image else None,
            "settings": self._settings(None),
            "messages_asked": self.options.messages,
            "published": None
            if published is None
            else Published(total_s=list(published.total_s), messages=published.messages, source=published.source),
            "log": self.log,
        }
        return Row(**(known | more))

    def _note(self) -> str | None:
        """What sets this row apart from one that was measured alone."""
        notes = [f"board {self.run.device}"] if self.run.is_one_of_several else []
        if self.options.parallel > 1:
            notes.append("in parallel: shares this PC")
        return "; ".join(notes) or None

    def _settings(self, result: ClientResult | None) -> Settings:
        turnaround_us = self.turnaround_us
        if self.own_network is not None:
            turnaround_us = self.own_network.turnaround_us
            turnaround_us = self.options.turnaround_us if turnaround_us is None else turnaround_us
        has_address = self.own_network is not None or self.run.entry.family is not Family.HOSTED
        return Settings(
            spi_hz_asked=spi_hz_asked(self.run, self.options.board),
            spi_hz_actual=result.spi_hz_actual if result else None,
            intn=result.intn if result else None,
            address_mode=self.options.address_mode if has_address else None,
            turnaround_us=turnaround_us,
        )


def spi_hz_asked(run: PlannedRun, board: BoardDefinition) -> int | None:
    """The SPI clock that the row asks for: the profile's, else the board's default where MicroPython applies it."""
    if run.profile.spi_hz is not None:
        return run.profile.spi_hz
    if board.network is None or run.entry.family not in (Family.MICROPYTHON, Family.WIZNET):
        return None
    return board.network.default_hz


def one_line(text: str) -> str:
    """`text` without line breaks, never empty, and fit to publish: the PC's folders by names that a shell knows."""
    line = " ".join(text.split()) or "no reason was given"
    folder = os.environ.get(FOLDER_VARIABLE)
    for path, name in ((folder, f"${FOLDER_VARIABLE}"), (str(Path.home()), "~")):
        if path and path != "/":
            line = line.replace(path.rstrip("/") + "/", name + "/")
    return line
