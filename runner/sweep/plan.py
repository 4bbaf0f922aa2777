"""The jobs of a sweep, one for each combination of its axes' values, and their results as points and curves."""

import itertools
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from portbench.errors import OptionError, PortbenchError
from portbench.firmware import catalogue
from portbench.firmware.images import Image, ImageStore, ImageUnavailable
from portbench.results.model import Headline, Row, Status
from portbench.runner.jobs.job import job_id
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow, plan
from portbench.runner.program import image_store
from portbench.runner.settings import FIXED, Axis, as_number, common_settings

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
    missing: dict[str, str] = field(default_factory=dict)


def plan_sweep(options: BenchOptions) -> Sweep:
    """Raises PortbenchError."""
    options = options.but(where="emulated")
    if len(options.what.chosen_workloads) != 1:
        raise OptionError("--workload: several values of a setting are measured with one workload; name one")
    axes = _axes(options)
    known = _Known(options, image_store())
    jobs: dict[str, Job] = {}
    for point in _points(axes):
        for job in known.jobs(point, axes):
            jobs.setdefault(job.id, job)
    if not jobs:
        missing = "; ".join(f"{name}: {reason}" for name, reason in known.missing.items())
        raise OptionError(missing or "nothing is left to measure; choose other axes")
    return Sweep(axes, list(jobs.values()), known.missing)


def _axes(options: BenchOptions) -> list[Axis]:
    """Several runtimes or profiles are an axis, too, however they were given."""
    settings, given = common_settings(), {axis.name for axis in options.what.axes}
    chosen = (("runtime", options.what.runtimes), ("profile", options.what.profiles))
    rows = [Axis(settings[name], values) for name, values in chosen if len(values) > 1 and name not in given]
    return [*rows, *options.what.axes]


class _Known:
    """Rows and images that many points share."""

    def __init__(self, options: BenchOptions, store: ImageStore) -> None:
        self._options = options.but(axes=())
        self._store = store
        self._images: dict[str, Image | None] = {}
        self._rows: dict[tuple[tuple[str, Any], ...], list[PlannedRow]] = {}
        self.missing: dict[str, str] = {}
        try:
            self._catalogue = catalogue.load()
        except PortbenchError as error:
            raise OptionError(str(error)) from None

    def jobs(self, point: dict[str, Any], axes: Sequence[Axis]) -> Iterator[Job]:
        parts = {axis.name: axis.setting.part for axis in axes}
        settings = {name: value for name, value in point.items() if parts[name] == "workload"}
        around = {name: value for name, value in point.items() if parts[name] == "surroundings"}
        seed = {"seed": None} if around.get("seed") == FIXED else {}
        surroundings = replace(self._options.how.surroundings, **around | seed)
        for planned in self._planned(settings):
            if not self._is_meant(planned, point):
                continue
            image = self._image(planned)
            if image is None:
                continue
            heeded = planned.entry.family.traits.profile_keys
            sets = {name: value for name, value in point.items() if parts[name] == "profile" and name in heeded}
            kept = {name: value for name, value in point.items() if parts[name] != "profile" or name in heeded}
            row = replace(
                planned, profile=replace(planned.profile, **sets), how=replace(planned.how, surroundings=surroundings)
            )
            for number in range(1, self._options.what.runs + 1):
                numbered = replace(row, number=number, of=self._options.what.runs)
                yield Job(job_id(numbered, image), numbered, self._told(kept, row, axes))

    @staticmethod
    def _told(point: dict[str, Any], row: PlannedRow, axes: Sequence[Axis]) -> dict[str, Any]:
        named = {"runtime": row.entry.id, "profile": row.profile.name}
        return {axis.name: named.get(axis.name, point.get(axis.name)) for axis in axes}

    def _planned(self, settings: dict[str, Any]) -> list[PlannedRow]:
        """All runtimes at once, so that files of one name get different names."""
        key = tuple(sorted((name, str(value)) for name, value in settings.items()))
        if key not in self._rows:
            asked = self._options.but(settings={**self._options.what.settings, **settings}, runs=1)
            rows = [row for row in plan(asked, self._catalogue) if not row.entry.family.traits.hosted]
            self._rows[key] = rows
        return self._rows[key]

    def _is_meant(self, row: PlannedRow, point: Mapping[str, Any]) -> bool:
        if "profile" in point:
            if row.profile.name != point["profile"]:
                return False
        elif not self._options.what.profiles:
            names = [each.name for each in row.entry.profiles]
            if row.profile.name != (_USUAL_PROFILE if _USUAL_PROFILE in names else names[0]):
                return False
        runtime = point.get("runtime")
        return runtime is None or runtime == row.entry.id or runtime == str(row.entry.path)

    def _image(self, row: PlannedRow) -> Image | None:
        entry = row.entry
        if entry.id not in self._images:
            try:
                self._images[entry.id] = self._store.obtain(entry)
            except ImageUnavailable as error:
                self._images[entry.id] = None
                self.missing[entry.id] = str(error)
        return self._images[entry.id]


def _points(axes: Sequence[Axis]) -> Iterator[dict[str, Any]]:
    for values in itertools.product(*(axis.values for axis in axes)):
        yield dict(zip((axis.name for axis in axes), values, strict=True))


@dataclass(frozen=True)
class Point:
    """All measured runs of one combination of values."""

    at: dict[str, Any]
    rows: tuple[Row, ...]

    @property
    def headline(self) -> Headline:
        found = self.rows[0].headline
        assert found is not None  # of a measured row
        return found

    @property
    def values(self) -> list[float]:
        return [row.value for row in self.rows if row.value is not None]

    @property
    def value(self) -> float:
        """The headline's median."""
        return statistics.median(self.values)

    def figure(self, name: str) -> float | None:
        found = [row.figures[name] for row in self.rows if name in row.figures]
        return statistics.median(found) if found else None


@dataclass(frozen=True)
class Curve:
    """Points that differ in one numeric axis alone, in its order."""

    axis: str
    fixed: dict[str, Any]
    points: tuple[Point, ...]

    @property
    def x(self) -> list[float]:
        return [number for point in self.points if (number := as_number(point.at[self.axis])) is not None]

    @property
    def y(self) -> list[float]:
        return [point.value for point in self.points]


def points_of(measured: Iterable[tuple[Job, Row]]) -> list[Point]:
    """In the order in which they are first met."""
    together: dict[str, tuple[dict[str, Any], list[Row]]] = {}
    for job, row in measured:
        if row.status is Status.MEASURED:
            together.setdefault(repr(job.point), (job.point, []))[1].append(row)
    return [Point(at, tuple(rows)) for at, rows in together.values()]


def curves(points: Sequence[Point], axes: Sequence[Axis]) -> list[Curve]:
    """Along each numeric axis, for each combination of the others that has it."""
    found = []
    for axis in axes:
        if not axis.is_numeric:
            continue
        together: dict[str, tuple[dict[str, Any], list[Point]]] = {}
        for point in points:
            if as_number(point.at[axis.name]) is not None:
                fixed = {name: value for name, value in point.at.items() if name != axis.name}
                together.setdefault(repr(fixed), (fixed, []))[1].append(point)
        for fixed, members in together.values():
            members.sort(key=lambda point: as_number(point.at[axis.name]) or 0.0)
            if len(members) > 1:
                found.append(Curve(axis.name, fixed, tuple(members)))
    return found


def told(value: Any) -> str:
    """A value of an axis for people: `8M`, `yes`; `-` for one that makes no difference to the row."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        for least, scale, letter in ((1e6, 1e6, "M"), (1e4, 1e3, "k")):
            if value >= least and float(f"{value / scale:.4g}") == value / scale:
                return f"{value / scale:.4g}{letter}"
        return f"{value:.10g}"
    return str(value)
