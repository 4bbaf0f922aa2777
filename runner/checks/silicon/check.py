"""`portbench check silicon`: figures that others published of real boards, measured again on the emulated one.

`results/silicon.toml` has the publications. They take minutes each, so that they may be measured one by one, or on
several machines, and their records read together.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from portbench.boards import BoardError, board_definition
from portbench.clients.libraries import driver_files, library_files
from portbench.errors import PortbenchError
from portbench.firmware import catalogue
from portbench.firmware.images import ImageStore
from portbench.results.model import Status
from portbench.results.silicon import FigureSet, load, load_not_compared
from portbench.runner.checks import rows
from portbench.runner.checks.check import Check, Report, Tell
from portbench.runner.checks.silicon.compare import Pair, compare, from_json, halves, summary, title
from portbench.runner.checks.silicon.page import publish
from portbench.runner.checks.silicon.scripts import ScriptStore
from portbench.runner.checks.silicon.turnaround import Distribution, measure
from portbench.runner.options import BenchOptions, read_options
from portbench.runner.program import image_store
from portbench.workloads import Workload, workload

_LIBRARIES_S: Final = 60.0


class Silicon(Check):
    """A part is a publication: the figures that one person published of one firmware."""

    name = "silicon"

    def __init__(
        self,
        tell: Tell,
        page: Path | None = None,
        store: ImageStore | None = None,
        scripts: ScriptStore | None = None,
        waveforms: Path | None = None,
    ) -> None:
        """`page`: a Markdown page that `finish` writes. `waveforms`: a folder for VCD files of the AVR boards' pings.
        Raises PortbenchError."""
        super().__init__(tell)
        self._publications = {each.id: each for each in load()}
        self._page = page
        self._waveforms = waveforms
        self._known = catalogue.load()
        self._store = store or image_store(self._known)
        self._scripts = scripts or ScriptStore()
        self._turnarounds: dict[str, Distribution] = {}
        """Of this PC, by workload."""

    def parts(self) -> Mapping[str, str]:
        return {name: title(each) for name, each in self._publications.items()}

    def run(self, part: str) -> Report:
        publication = self._publications[part]
        if publication.method == "row":
            return self._row(publication)
        if publication.method == "guest":
            return self._guest(publication)
        if publication.method == "image":
            return self._image(publication)
        return self._program(publication)

    def summary(self, reports: Sequence[Report]) -> Iterator[str]:
        pairs = self._pairs(reports)
        for publication, report in pairs:
            if said := halves(publication, report.findings):
                yield f"{publication.id}: {said}"
        if said := summary(pairs):
            yield said

    def more(self) -> dict[str, Any]:
        return {"turnaround_us": {name: asdict(spread) for name, spread in self._turnarounds.items()}}

    def finish(self, reports: Sequence[Report]) -> None:
        if self._page is not None:
            publish(self._pairs(reports), self._turnarounds, load_not_compared(), self._page)

    def _pairs(self, reports: Sequence[Report]) -> list[Pair]:
        return [(self._publications[report.part], report) for report in reports]

    def _guest(self, publication: FigureSet) -> Report:
        from portbench.runner.checks.silicon import guests  # with the engine, which a record does without

        found = guests.figures(publication.runtime, publication.board, publication.stack_delay_us)
        if self._waveforms is not None and publication.runtime.startswith("ping"):
            guests.write_waveform(publication.runtime, publication.board, self._waveforms / f"{publication.id}.vcd")
        return compare(publication, {name: [found[name]] for name in publication.silicon})

    def _image(self, publication: FigureSet) -> Report:
        from portbench.runner.checks.silicon import printed  # with the engine, which a record does without

        foreign = catalogue.Family.FOREIGN
        entry = catalogue.FirmwareEntry(
            id=publication.runtime,
            family=foreign,
            board=publication.board,
            profiles=foreign.traits.profiles,
            version="unknown",
            file=f"{publication.runtime}.uf2",
            made_by=f"build {publication.built_of} as its README says, into",
        )
        image = self._store.obtain(entry).path
        assert image is not None
        found = printed.figures(image, publication.board)
        return compare(publication, {name: [found[name]] for name in publication.silicon})

    def _program(self, publication: FigureSet) -> Report:
        from portbench.runner.checks.silicon import programs  # with the engine, which a record does without

        entry = self._known.get(publication.runtime)
        # Before anything is emulated: a script that is missing is reported at once.
        contents = {Path(each.file).stem: self._scripts.obtain(each) for each in publication.scripts}
        if publication.method == "perf_bench":  # of the same revision as the workload
            pinned = driver_files([f"perf_bench/{name}" for name in ("benchrun", *publication.silicon)], _LIBRARIES_S)
            contents = {Path(name).stem: content for name, content in pinned.items()}
        image = self._store.obtain(entry).path
        assert image is not None
        board = board_definition(entry.board)
        if publication.method == "script":
            (content,) = contents.values()
            return compare(publication, programs.times_ms(entry, image, board, content, publication.silicon))
        if publication.method == "client":
            ((name, content),) = zip(publication.silicon, contents.values(), strict=True)
            libraries = library_files(publication.libraries or 0, _LIBRARIES_S)
            took_ms = programs.client_ms(entry, image, board, content, publication.server, libraries)
            return compare(publication, {name: [publication.scale * took_ms]})
        scores = {}
        for name in publication.silicon:
            what = f"{entry.id}: {name}"
            self.tell(what)
            scores[name] = [programs.score(image, board, contents[name], contents["benchrun"], what)]
        return compare(publication, scores)

    def _row(self, publication: FigureSet) -> Report:
        assert publication.workload is not None and publication.profile is not None
        asked = workload(publication.workload)
        options = read_options(
            {
                "workload": [publication.workload],
                "runtime": [publication.runtime],
                "profile": [publication.profile],
                "setting": publication.settings,
            }
        )
        every = [options]
        notes: tuple[str, ...] = ()
        if publication.turnaround:
            self._store.obtain(self._known.get(publication.runtime))
            times_us = self._turnaround(asked).whole_us()
            around = [replace(options.surroundings, turnaround_us=time_us) for time_us in times_us]
            every = [replace(options, surroundings=each) for each in around]
            notes = (f"at a PC's turnaround of {', '.join(f'{time_us} us' for time_us in times_us)}",)
        found = [self._figures(each, publication) for each in every]
        measured = {
            name: [publication.scale * figures[name] for figures in found if name in figures]
            for name in publication.silicon
        }
        return compare(publication, measured, notes)

    def _figures(self, options: BenchOptions, publication: FigureSet) -> dict[str, float]:
        assert publication.workload is not None and publication.profile is not None
        key = (publication.runtime, publication.profile, publication.workload)
        (row,) = rows.measured(options, self._store, [key])
        if row.status is not Status.MEASURED:
            fault = PortbenchError if row.status is Status.SKIPPED else BoardError
            raise fault(f"{publication.runtime}: {row.reason}")
        return dict(row.figures)

    def _turnaround(self, asked: Workload) -> Distribution:
        if asked.name not in self._turnarounds:
            self.tell(f"{asked.name}: measuring this PC's turnaround")
            self._turnarounds[asked.name] = measure(asked)
        return self._turnarounds[asked.name]


class RecordedSilicon(Silicon):
    """The same from records instead of measurements; of a publication in several records the last one counts."""

    def __init__(self, tell: Tell, files: Iterable[Path], page: Path | None = None) -> None:
        """Raises PortbenchError and OSError."""
        super().__init__(tell, page)
        self._reports: dict[str, Report] = {}
        for path in files:
            try:
                document = json.loads(path.read_text(encoding="utf-8"))
                for part in document["parts"]:
                    if (publication := self._publications.get(part["part"])) is not None:
                        self._reports[publication.id] = from_json(part, publication)
                spreads = document["turnaround_us"].items()
                self._turnarounds |= {name: Distribution(**spread) for name, spread in spreads}
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise PortbenchError(
                    f"{path}: is no record of check silicon ({error!r}); make one:"
                    " portbench check silicon --record FILE"
                ) from None

    def measure(self, part: str) -> Report:
        if part not in self._reports:
            raise PortbenchError(
                f"no record has {part}; measure it: portbench check silicon --part {part} --record FILE"
            )
        return self._reports[part]
