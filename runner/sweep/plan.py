"""The jobs of a sweep: every combination of its axes' values that makes a difference."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from portbench.errors import OptionError, PortbenchError
from portbench.firmware import catalogue
from portbench.firmware.images import Image, ImageStore, ImageUnavailable
from portbench.runner.images import image_store
from portbench.runner.jobs.job import job_id
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow, Surroundings, plan
from portbench.runner.settings import FIXED, Axis, common_settings

_USUAL_PROFILE: Final = "tuned"


@dataclass(frozen=True)
class Job:
    """A row of a sweep. `id`: the same for the same figures. `point`: where it lies on the axes."""

    id: str
    row: PlannedRow
    point: dict[str, Any]


@dataclass(frozen=True)
class Sweep:
    """`jobs` in the order of the axes; `missing`: runtimes without an image, and why."""

    axes: list[Axis]
    jobs: list[Job]
    missing: list[str] = field(default_factory=list)


def plan_sweep(options: BenchOptions) -> Sweep:
    """Raises PortbenchError."""
    options = replace(options, where="emulated")
    if len(options.chosen_workloads) != 1:
        raise OptionError("--workload: a sweep takes one; name one")
    axes = _axes(options)
    known = _Known(options, image_store())
    jobs: dict[str, Job] = {}
    for point in _points(axes):
        for job in known.jobs(point, axes):
            jobs.setdefault(job.id, job)
    if not jobs:
        raise OptionError("; ".join(known.missing) or "nothing is left to measure; choose other axes")
    return Sweep(axes, list(jobs.values()), known.missing)


def _axes(options: BenchOptions) -> list[Axis]:
    """Several runtimes or profiles are an axis, too, however they were given."""
    settings, given = common_settings(), {axis.name for axis in options.axes}
    chosen = (("runtime", options.runtimes), ("profile", options.profiles))
    rows = [Axis(settings[name], values) for name, values in chosen if len(values) > 1 and name not in given]
    return [*rows, *options.axes]


class _Known:
    """Rows and images that many points share."""

    def __init__(self, options: BenchOptions, store: ImageStore) -> None:
        self._options = replace(options, axes=())
        self._store = store
        self._images: dict[str, Image | None] = {}
        self._rows: dict[tuple[tuple[str, Any], ...], list[PlannedRow]] = {}
        self.missing: list[str] = []
        try:
            self._catalogue = catalogue.load()
        except PortbenchError as error:
            raise OptionError(str(error)) from None

    def jobs(self, point: dict[str, Any], axes: Sequence[Axis]) -> Iterator[Job]:
        parts = {axis.name: axis.setting.part for axis in axes}
        settings = {name: value for name, value in point.items() if parts[name] == "workload"}
        around = {name: value for name, value in point.items() if parts[name] == "surroundings"}
        options = replace(self._options, **around | ({"seed": None} if around.get("seed") == FIXED else {}))
        for planned in self._planned(settings):
            if not self._is_meant(planned, point):
                continue
            image = self._image(planned)
            if image is None:
                continue
            heeded = planned.entry.family.traits.profile_keys
            sets = {name: value for name, value in point.items() if parts[name] == "profile" and name in heeded}
            kept = {name: value for name, value in point.items() if parts[name] != "profile" or name in heeded}
            surroundings = Surroundings(options.turnaround_us, options.phy_link_delay_s, options.seed)
            row = replace(planned, profile=replace(planned.profile, **sets), surroundings=surroundings)
            for number in range(1, options.runs + 1):
                numbered = replace(row, number=number, of=options.runs)
                yield Job(job_id(numbered, image, options), numbered, self._told(kept, row, axes))

    @staticmethod
    def _told(point: dict[str, Any], row: PlannedRow, axes: Sequence[Axis]) -> dict[str, Any]:
        named = {"runtime": row.entry.id, "profile": row.profile.name}
        return {axis.name: named.get(axis.name, point.get(axis.name)) for axis in axes}

    def _planned(self, settings: dict[str, Any]) -> list[PlannedRow]:
        """All runtimes at once, so that files of one name are told apart."""
        key = tuple(sorted((name, str(value)) for name, value in settings.items()))
        if key not in self._rows:
            asked = replace(self._options, settings={**self._options.settings, **settings}, runs=1)
            rows = [row for row in plan(asked, self._catalogue) if not row.entry.family.traits.hosted]
            self._rows[key] = rows
        return self._rows[key]

    def _is_meant(self, row: PlannedRow, point: Mapping[str, Any]) -> bool:
        if "profile" in point:
            if row.profile.name != point["profile"]:
                return False
        elif not self._options.profiles:
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
        return self._images[entry.id]


def _points(axes: Sequence[Axis]) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*(axis.values for axis in axes)):
        yield dict(zip((axis.name for axis in axes), values, strict=True))
