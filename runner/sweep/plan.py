"""The jobs of a sweep: every combination of its axes' values that makes a difference."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from portbench.errors import OptionError
from portbench.firmware import catalogue
from portbench.firmware.catalogue import CatalogueError, Family
from portbench.firmware.images import Image, ImageStore, ImageUnavailable
from portbench.runner.images import image_store
from portbench.runner.jobs.job import Job, job_of
from portbench.runner.options import FIXED, read_options
from portbench.runner.plan import PlannedRow, Surroundings, plan
from portbench.runner.sweep.axes import SETS, Axis, read_axes

_USUAL_PROFILE: Final = "tuned"


@dataclass(frozen=True)
class Sweep:
    """`jobs` in the order of the axes, `images` by hash; `missing`: runtimes without an image, and why."""

    axes: list[Axis]
    jobs: list[Job]
    images: Mapping[str, Path]
    missing: list[str] = field(default_factory=list)


def plan_sweep(texts: Sequence[str], asked: Mapping[str, Any]) -> Sweep:
    """`asked`: what all jobs have in common, as `read_options` takes it.

    Raises OptionError, ImageError, Uf2Error or UnknownWorkload.
    """
    common: dict[str, Any] = {"seed": FIXED, **asked, "where": "emulated"}
    options = read_options(common)
    if len(options.chosen_workloads) != 1:
        raise OptionError("--workload: a sweep is of one; name one")
    axes = read_axes(texts, options.chosen_workloads[0])
    known = _Known(common, image_store())
    jobs: dict[str, Job] = {}
    for point in _points(axes):
        for job in known.jobs(point, axes):
            jobs.setdefault(job.id, job)
    if not jobs:
        raise OptionError("; ".join(known.missing) or "nothing is left to measure; choose other axes")
    # Those of one program follow each other, so that as few boards as can be are flashed anew.
    together = sorted(jobs.values(), key=lambda job: [str(part) for part in job.program])
    return Sweep(axes, together, known.paths, known.missing)


class _Known:
    """Rows and images that many points share."""

    def __init__(self, common: Mapping[str, Any], store: ImageStore) -> None:
        self._common = common
        self._store = store
        self._images: dict[str, Image | None] = {}
        self._rows: dict[tuple[tuple[str, Any], ...], list[PlannedRow]] = {}
        self.paths: dict[str, Path] = {}
        self.missing: list[str] = []
        try:
            self._catalogue = catalogue.load()
        except CatalogueError as error:
            raise OptionError(str(error)) from None

    def jobs(self, point: dict[str, Any], axes: Sequence[Axis]) -> Iterator[Job]:
        of = {axis.name: axis.known.of for axis in axes}
        settings = {name: value for name, value in point.items() if of[name] == "setting"}
        room = {name: value for name, value in point.items() if of[name] == "room"}
        options = read_options({**self._common, **settings, **{name: str(value) for name, value in room.items()}})
        for planned in self._planned(settings, axes):
            if not self._is_meant(planned, point):
                continue
            image = self._image(planned)
            if image is None:
                continue
            heeded = SETS.get(planned.entry.family, frozenset())
            sets = {name: value for name, value in point.items() if of[name] == "profile" and name in heeded}
            kept = {name: value for name, value in point.items() if of[name] != "profile" or name in heeded}
            around = Surroundings(options.turnaround_us, options.phy_link_delay_s, options.seed)
            row = replace(planned, profile=replace(planned.profile, **sets), surroundings=around)
            for number in range(1, options.runs + 1):
                yield job_of(replace(row, number=number, of=options.runs), image, options, self._told(kept, row, axes))

    @staticmethod
    def _told(point: dict[str, Any], row: PlannedRow, axes: Sequence[Axis]) -> dict[str, Any]:
        named = {"runtime": row.entry.id, "profile": row.profile.name}
        return {axis.name: named.get(axis.name, point.get(axis.name)) for axis in axes}

    def _planned(self, settings: dict[str, Any], axes: Sequence[Axis]) -> list[PlannedRow]:
        """All runtimes at once, so that files of one name are told apart."""
        key = tuple(sorted((name, str(value)) for name, value in settings.items()))
        if key not in self._rows:
            choices = {axis.name: [str(value) for value in axis.values] for axis in axes if axis.known.of == "choice"}
            asked = read_options({**self._common, **choices, **settings, "runs": "1"})
            rows = [row for row in plan(asked, self._catalogue) if row.entry.family is not Family.HOSTED]
            self._rows[key] = rows
        return self._rows[key]

    def _is_meant(self, row: PlannedRow, point: Mapping[str, Any]) -> bool:
        if "profile" in point:
            if row.profile.name != point["profile"]:
                return False
        else:
            names = [each.name for each in row.entry.profiles]
            if row.profile.name != (_USUAL_PROFILE if _USUAL_PROFILE in names else names[0]):
                return False
        runtime = point.get("runtime")
        return runtime is None or runtime == row.entry.id or runtime == str(row.entry.path)

    def _image(self, row: PlannedRow) -> Image | None:
        entry = row.entry
        if entry.id not in self._images:
            try:
                image = self._store.obtain(entry)
            except ImageUnavailable as error:
                self._images[entry.id] = None
                self.missing.append(f"{entry.id}: {error}")
                return None
            self._images[entry.id] = image
            assert image.path is not None and image.sha256 is not None  # of a board's
            self.paths[image.sha256] = image.path
        return self._images[entry.id]


def _points(axes: Sequence[Axis]) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*(axis.values for axis in axes)):
        yield dict(zip((axis.name for axis in axes), values, strict=True))
