"""Measures sets of published figures again, each by its method."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from portbench.boards import BoardDefinition, board_definition
from portbench.errors import PortbenchError
from portbench.firmware import catalogue
from portbench.firmware.catalogue import FirmwareEntry
from portbench.firmware.images import ImageStore
from portbench.results.silicon import FigureSet
from portbench.runner.checks.silicon import perf_bench, rows, script_run
from portbench.runner.checks.silicon.scripts import ScriptStore
from portbench.runner.checks.silicon.turnaround import Distribution
from portbench.runner.checks.silicon.turnaround import measure as measure_turnaround
from portbench.runner.checks.silicon.verdict import Outcome, compare
from portbench.runner.images import image_store
from portbench.workloads import Workload, workload

Say = Callable[[str], None]
"""Told what is being measured."""


class Validation:
    """What all sets use: the images, the scripts, and how long this PC takes to answer."""

    def __init__(self, say: Say, store: ImageStore | None = None, scripts: ScriptStore | None = None) -> None:
        self._say = say
        self._known = catalogue.load()
        self._store = store or image_store(self._known)
        self._scripts = scripts or ScriptStore()
        self._turnarounds: dict[str, Distribution] = {}

    @property
    def turnarounds(self) -> dict[str, Distribution]:
        """By workload, as far as they were measured."""
        return dict(self._turnarounds)

    def run(self, figures_of: FigureSet) -> Outcome:
        """Never raises for what is missing or fails: the outcome's line says it."""
        self._say(f"{figures_of.id}: {figures_of.runtime}")
        try:
            return self._measure(figures_of)
        except PortbenchError as error:
            return Outcome(figures_of, missing=" ".join(str(error).split()))

    def _measure(self, figures_of: FigureSet) -> Outcome:
        if figures_of.method == "row":
            return self._row(figures_of)
        entry = self._known.get(figures_of.runtime)
        # Before anything is emulated: a set that lacks a script is told at once.
        contents = {Path(each.file).stem: self._scripts.obtain(each) for each in figures_of.scripts}
        image = self._store.obtain(entry).path
        assert image is not None
        board = board_definition(entry.board)
        if figures_of.method == "script":
            (content,) = contents.values()
            return compare(figures_of, script_run.measure(entry, image, board, content, figures_of.silicon))
        return compare(figures_of, self._scores(figures_of, entry, image, board, contents))

    def _scores(
        self,
        figures_of: FigureSet,
        entry: FirmwareEntry,
        image: Path,
        board: BoardDefinition,
        contents: dict[str, bytes],
    ) -> dict[str, list[float]]:
        scores = {}
        for name in figures_of.silicon:
            what = f"{entry.id}: {name}"
            self._say(what)
            scores[name] = [perf_bench.score(image, board, contents[name], contents["benchrun"], what)]
        return scores

    def _row(self, figures_of: FigureSet) -> Outcome:
        assert figures_of.workload is not None and figures_of.profile is not None
        asked = workload(figures_of.workload)
        times: list[int | None] = [None]
        notes: tuple[str, ...] = ()
        if figures_of.turnaround:
            self._store.obtain(self._known.get(figures_of.runtime))
            spread = self._turnaround(asked)
            times = [*spread.whole_us()]
            notes = (f"at a PC's turnaround of {', '.join(f'{us} us' for us in spread.whole_us())}",)
        found: list[dict[str, float]] = []
        for time in times:
            if time is not None:
                self._say(f"{figures_of.id}: at a turnaround of {time} us")
            found.append(rows.measure(asked, figures_of.runtime, figures_of.profile, self._store, time))
        measured = {
            name: [figures_of.scale * figures[name] for figures in found if name in figures]
            for name in figures_of.silicon
        }
        return compare(figures_of, measured, notes)

    def _turnaround(self, asked: Workload) -> Distribution:
        if asked.name not in self._turnarounds:
            self._say(f"{asked.name}: how long this PC takes to answer")
            self._turnarounds[asked.name] = measure_turnaround(asked)
        return self._turnarounds[asked.name]
