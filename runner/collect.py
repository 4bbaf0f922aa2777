"""Checks a client's result line, and turns a run, or the reason why there is none, into a row of the run file.

A board's output is untrusted input.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field

from portbench.boards import Ethernet, OwnNetwork, RunOutput, Wifi
from portbench.boards.jitter import Jitter, Surroundings
from portbench.boards.kinds import AUTO
from portbench.console import shown
from portbench.errors import PortbenchError, Unsupported
from portbench.firmware import FOLDER_VARIABLE
from portbench.firmware.images import Image
from portbench.results.attribution import Attribution
from portbench.results.model import Conditions, Headline, Layouts, Offers, Row, Sim, Status, Waveform, WhatIf
from portbench.results.published import published_of
from portbench.runner.plan import PlannedRow
from portbench.runner.program import profile_line
from portbench.where import Where
from portbench.workloads import (
    BadResult,
    LoadGenerator,
    Measurement,
    Session,
    Spent,
    Workload,
    WorkloadResult,
    WorkloadSettings,
)

_Count = Annotated[int, Field(ge=0, le=1 << 62)]


class ClientSaid(WorkloadResult):
    """Figures of every client; None if the client does not report one. Times are on the client's clock."""

    ready_us: _Count | None = None
    """From the client's start to the start of the workload."""
    link_us: _Count | None = None
    connect_attempts: _Count | None = None
    spi_hz_actual: _Count | None = None


@dataclass(frozen=True)
class ClientResult:
    """A measured run as the client saw it."""

    measurement: Measurement
    said: ClientSaid
    intn: bool | None
    version: str | None
    library: str | None
    """Version of CircuitPython's driver, if it may differ from the deployed one."""


_TRACEBACK: Final = "Traceback (most recent call last):"
_UNSUPPORTED: Final = re.compile(r"\w+\((['\"])unsupported: (.*)\1,?\)", re.DOTALL)
"""A client's error, which says that its port lacks something."""


def result_without_error(result: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The result line. Raises PortbenchError if there is none, or if it has an error; Unsupported, if that says so."""
    if result is None:
        raise PortbenchError("no result line came")
    if "error" in result:
        if (lacks := _UNSUPPORTED.fullmatch(str(result["error"]))) is not None:
            raise Unsupported(f"unsupported: {lacks[2]}")
        last = f", last refused with {result['last_connect_error']}" if "last_connect_error" in result else ""
        raise PortbenchError(f"the client failed in stage {result.get('stage', 'unknown')}: {result['error']}{last}")
    return result


def exception_in(lines: Sequence[str]) -> str | None:
    """The last exception that a Python on a board printed with its traceback; None without one."""
    begun = [number for number, line in enumerate(lines) if line.startswith(_TRACEBACK)]
    after = lines[begun[-1] + 1 :] if begun else ()
    return next((line for line in after if line and not line.startswith(" ")), None)


def check_calls(sessions: Sequence[Session], load: LoadGenerator) -> None:
    """Raise PortbenchError unless all of the PC's connections to the board ended, and without an unexpected failure."""
    whole = len(sessions) == load.connections
    for session in sessions:
        counted = load.counts_failures and session.established_us is not None and whole
        error = None if counted else session.error
        error = error or (None if session.ended_us is not None else "has not ended")
        if error is not None:
            of = f"connection {session.number + 1} of {load.connections} to {session.peer}"
            raise PortbenchError(f"{of}: {error}")
    if not whole:
        raise PortbenchError(f"the PC opened {len(sessions)} connections to the board, not {load.connections}")


def check_result(
    result: Mapping[str, Any] | None, workload: Workload, settings: WorkloadSettings, sessions: Sequence[Session] = ()
) -> ClientResult:
    """The figures in a result line and in the PC's sessions. Raises PortbenchError for an error or for impossible
    figures."""
    result = result_without_error(result and workload.expected(result, settings))
    try:
        measurement = workload.check(result, settings, sessions)
        said = ClientSaid.read(result)
    except BadResult as error:
        if str(error).startswith("unsupported: "):
            raise Unsupported(str(error)) from None
        raise PortbenchError(str(error)) from None
    intn = result.get("intn")
    return ClientResult(
        measurement=measurement,
        said=said,
        intn=intn if isinstance(intn, bool) else None,
        version=_text(result, "version"),
        library=_text(result, "library"),
    )


def address_in(result: Mapping[str, Any]) -> str | None:
    """The board's address, as the client reports it."""
    return _text(result, "address")


def _text(result: Mapping[str, Any], key: str) -> str | None:
    value = result.get(key)
    return value if isinstance(value, str) else None


_BREAK: Final = re.compile(r"\s*[\r\n]\s*")


@dataclass
class RowDraft:
    """Everything known about a row so far; each stage adds to it."""

    planned: PlannedRow
    where: Where
    image: Image | None = None
    version: str = ""
    turnaround_us: float | None = None
    """Turnaround measured at the real server."""
    own_network: OwnNetwork | None = None
    """The simulated network that the board brings along."""
    log: str | None = None
    attribution: dict[str, Any] | None = None
    """The board's account of its time."""
    waveform: Waveform | None = None
    what_if: list[WhatIf] = field(default_factory=list)
    layouts: Layouts | None = None
    remarks: list[str] = field(default_factory=list)
    """Further notes of the row."""
    jitter: Jitter | None = None

    def measured(self, result: ClientResult, output: RunOutput) -> Row:
        said = result.said.model_dump(include={"ready_us", "link_us", "connect_attempts"}, exclude_none=True)
        headline = self.planned.workload.headline
        return self._row(
            status=Status.MEASURED,
            version=self.version or result.version or "",
            conditions=self._conditions(result),
            headline=Headline(name=headline.name, unit=headline.unit, better=headline.better),
            figures=result.measurement.figures | said | self._spent() | self._simulated(result, output),
            samples=result.measurement.samples,
            sim=self._sim(output),
            lost=output.lost,
            note=self._note(result.library),
            attribution=self.attribution,
            waveform=self.waveform,
            what_if=self.what_if,
            layouts=self.layouts,
        )

    def _spent(self) -> dict[str, float]:
        """The workload's figures from the attribution; none without one."""
        if self.attribution is None:
            return {}
        spans = Attribution.model_validate(self.attribution).spans
        stretches = [Spent(each.name, each.share("wait", "network"), each.counts.get("spi_bytes", 0)) for each in spans]
        return self.planned.workload.spent(stretches, self.planned.settings)

    def ended(self, status: Status, reason: str) -> Row:
        """A row that was not measured, through no fault of its board."""
        entry = self.planned.entry
        # The command for all images takes the maker's names; the reason has the line for another, and for a boot ROM.
        no_image = status is Status.SKIPPED and self.image is None
        url = entry.url if no_image and (entry.url or "").endswith(f"/{entry.file}") else None
        return self._row(status=status, reason=one_line(reason.removeprefix("unsupported: ")), image_url=url)

    def failed(self, reason: str, console_tail: list[str]) -> Row:
        tail = [shown(line) for line in console_tail]
        return self._row(status=Status.FAILED, reason=one_line(reason), console_tail=tail)

    def _row(self, **more: Any) -> Row:
        entry, profile = self.planned.entry, self.planned.profile.name
        libraries = {each.name: each.identity for each in self.planned.how.libraries}
        known: dict[str, Any] = {
            "workload": self.planned.workload.name,
            "runtime": entry.id,
            "build": entry.build,
            "family": str(entry.family),
            "version": self.version or (self.image.version if self.image else None) or entry.version or "",
            "where": self.where,
            "timed_by": "pc" if entry.family.traits.timed_by_pc else "board",
            "board": None if entry.family.traits.hosted else self.planned.board.id,
            "profile": self.planned.profile_name,
            "run_index": self.planned.number - 1,
            "image_file": self.image.path.name if self.image and self.image.path else entry.file,
            "image_sha256": self.image.sha256 if self.image else None,
            "settings": self.planned.settings.model_dump(mode="json"),
            "conditions": self._conditions(None),
            "libraries": libraries,
            "published": None if libraries else published_of(self.planned.workload, entry.id, profile),
            "line": self._line(),
            "offers": None if entry.offers is None else Offers(**asdict(entry.offers)),
            "log": self.log,
        }
        fields: dict[str, Any] = known | more
        fields |= {name: shown(value) for name, value in fields.items() if type(value) is str}
        return Row(**fields)

    def _simulated(self, result: ClientResult, output: RunOutput) -> dict[str, float]:
        if output.sim is None:
            return {}
        figures = result.measurement.figures
        return self.planned.workload.simulated(output.sim.get("counters", {}), figures, self.planned.settings)

    def _sim(self, output: RunOutput) -> Sim | None:
        if output.sim is None:
            return None
        seed = self.planned.how.surroundings.seed
        drawn = {} if self.jitter is None or seed is None else {"seed": seed, "room": self.jitter.figures()}
        return Sim.model_validate(output.sim | drawn)

    def _line(self) -> str | None:
        if not self.planned.is_networked:
            return None
        try:
            return profile_line(self.planned.entry, self.planned.board, self.planned.profile)
        except PortbenchError:  # the row itself fails with it
            return None

    def _note(self, library: str | None) -> str | None:
        """Differences from a row that was measured alone and with the deployed library."""
        notes = [f"board {self.planned.device}"] if self.planned.is_one_of_several else []
        notes += [f"{each.name} {each.identity}" for each in self.planned.how.libraries]
        if library is not None:
            notes.append(f"adafruit_wiznet5k {library}; the image contains another one")
        if self.planned.place.parallel > 1 and self.where is Where.SILICON:  # hosted rows run one at a time
            notes.append("in parallel: shares this PC")
        notes += self.remarks
        return "; ".join(notes) or None

    def _conditions(self, result: ClientResult | None) -> Conditions:
        if not self.planned.is_networked:
            return Conditions()
        how = self.planned.how
        turnaround_us, phy_link_delay_us, access_point = self.turnaround_us, None, None
        if self.own_network is not None:
            around = how.surroundings
            # A named board has its surroundings; one of this process gets those of each row.
            kept_us = None if self.planned.device == AUTO else self.own_network.turnaround_us
            turnaround_us = around.turnaround_us if kept_us is None else kept_us
            if self.where is Where.EMULATED and around.phy_link_delay_s != Surroundings.phy_link_delay_s:
                phy_link_delay_us = round(1e6 * around.phy_link_delay_s)
            if self.where is Where.EMULATED and isinstance(self.planned.board.network, Wifi):
                access_point = how.access_point.unusual()
        family = self.planned.entry.family.traits
        # A foreign image reports neither its address nor how it got it.
        has_address = not family.timed_by_pc and (self.own_network is not None or not family.hosted)
        return Conditions(
            spi_hz_asked=spi_hz_asked(self.planned),
            spi_hz_actual=result.said.spi_hz_actual if result else None,
            intn=result.intn if result else None,
            address_mode=how.address_mode if has_address else None,
            turnaround_us=turnaround_us,
            phy_link_delay_us=phy_link_delay_us,
            access_point=access_point,
        )


def spi_hz_asked(row: PlannedRow) -> int | None:
    """The SPI clock that the row asks for: the profile's, else the board's default if MicroPython applies it."""
    if row.profile.spi_hz is not None:
        return row.profile.spi_hz
    network = row.board.network
    if not isinstance(network, Ethernet) or not row.entry.family.traits.board_sets_spi_hz:
        return None
    return network.default_hz


def one_line(text: str) -> str:
    """`text` without line breaks, never empty, and fit to publish: folders of the PC become `~` or a variable."""
    line = shown(_BREAK.sub(" ", text.strip())) or "no reason was given"
    folder = os.environ.get(FOLDER_VARIABLE)
    for path, name in ((folder, f"${FOLDER_VARIABLE}"), (str(Path.home()), "~")):
        if path and path != "/":
            line = line.replace(path.rstrip("/") + "/", name + "/")
    return line
