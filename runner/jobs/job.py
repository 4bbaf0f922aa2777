"""One row to measure, with all that decides its figures; it travels to other processes and machines as it is."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from portbench.boards import board_definition
from portbench.clients import AddressMode, StaticAddress
from portbench.firmware.catalogue import FirmwareEntry
from portbench.firmware.families import Profile
from portbench.firmware.images import Image
from portbench.runner.collect import surroundings
from portbench.runner.jobs.build import Build, this_build
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow, Surroundings
from portbench.runner.stages import Stage
from portbench.workloads import workload


@dataclass(frozen=True)
class Job:
    """`image_sha256`: of the image, which the job names and does not hold. `build`: the portbench that made the job."""

    entry: FirmwareEntry
    image_sha256: str | None
    image_name: str
    image_version: str
    profile: Profile
    workload: str
    settings: dict[str, Any]
    board: str
    number: int
    of: int
    surroundings: Surroundings
    address_mode: AddressMode
    static: StaticAddress | None
    attribute: bool
    what_if: bool
    timeouts_s: dict[str, float]
    build: Build
    point: dict[str, Any] = field(default_factory=dict)
    """Where it lies on the axes of a sweep, by axis."""

    @cached_property
    def id(self) -> str:
        """The same for the same figures: of image, settings, surroundings and portbench."""
        entry = self.entry
        decides = [
            (entry.id, entry.build, str(entry.family), self.image_sha256, self.image_version),
            (self.profile.name, self.profile.spi_hz, self.profile.intn, repr(board_definition(self.board))),
            (self.workload, self.settings, self.number, asdict(self.surroundings)),
            (self.address_mode, str(self.static), self.attribute, self.what_if, self.timeouts_s),
            (self.build.sources, self.build.engine),
        ]
        return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:20]

    @property
    def program(self) -> tuple[object, ...]:
        """Jobs with the same need no flashing in between."""
        return self.image_sha256 or "", self.entry.id, self.profile.name, self.profile.spi_hz or 0, self.profile.intn

    def row(self, image: Path | None = None) -> PlannedRow:
        """`image`: where it is here. Raises UnknownName or UnknownName where this machine has not that."""
        asked = workload(self.workload)
        settings = asked.settings_type.model_validate(self.settings, strict=False)
        board = board_definition(self.board)
        entry = self.entry if image is None else replace(self.entry, path=image)
        return PlannedRow(
            entry, self.profile, asked, settings, board, self.number, self.of, surroundings=self.surroundings
        )

    def options(self, results_dir: Path) -> BenchOptions:
        return BenchOptions(
            where="emulated",
            timeouts_s={Stage(name): seconds for name, seconds in self.timeouts_s.items()},
            address_mode=self.address_mode,
            static=self.static,
            attribute=self.attribute,
            what_if=self.what_if,
            results_dir=results_dir,
        )


def job_of(row: PlannedRow, image: Image, options: BenchOptions, point: dict[str, Any] | None = None) -> Job:
    """Raises UnknownName."""
    return Job(
        entry=row.entry,
        image_sha256=image.sha256,
        image_name=image.path.name if image.path else "",
        image_version=image.version,
        profile=row.profile,
        workload=row.workload.name,
        settings=row.settings.model_dump(mode="json"),
        board=row.board.id,
        number=row.number,
        of=row.of,
        surroundings=surroundings(row, options),
        address_mode=options.address_mode,
        static=options.static,
        attribute=options.attribute,
        what_if=options.what_if,
        timeouts_s={str(stage): seconds for stage, seconds in options.timeouts_s.items()},
        build=this_build(row.workload.name),
        point=point or {},
    )
