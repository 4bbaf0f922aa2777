"""`portbench check silicon`: figures that others published of real boards, measured again on the emulated one.

`results/silicon.toml` has the publications. They take minutes each, so that they may be measured one by one, or on
several machines, and their records read together.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import platformdirs

from portbench.boards import BoardError, board_definition
from portbench.clients.libraries import Driver, driver_files, library_files, pinned_content
from portbench.errors import PortbenchError
from portbench.files import TemporaryFolder
from portbench.firmware import catalogue
from portbench.firmware.images import ImageStore
from portbench.results.model import Status
from portbench.results.silicon import FigureSet, Script
from portbench.runner.jobs.run import Run
from portbench.runner.options import BenchOptions, read_options
from portbench.runner.plan import plan
from portbench.runner.program import image_store
from portbench.runner.silicon.compare import Report, compare, title

_LIBRARIES_S: Final = 60.0
_SCRIPTS: Final = platformdirs.user_cache_path("portbench", appauthor=False) / "scripts"


class Silicon:
    """Measures publications: the figures that one person published of one firmware."""

    def __init__(
        self,
        tell: Callable[[str], None],
        store: ImageStore | None = None,
        image: Path | None = None,
        waveforms: Path | None = None,
    ) -> None:
        """`tell` takes a line of progress. `image`: measured in place of the catalogue's, and told in the report.
        `waveforms`: a folder for VCD files of the AVR boards' pings."""
        self._tell = tell
        self._given = image
        self._waveforms = waveforms
        self._known = catalogue.load()
        self._store = store or image_store(self._known)

    def measure(self, publication: FigureSet) -> Report:
        """Measure its figures; a publication that cannot be measured is reported as skipped."""
        self._tell(f"{publication.id}: {title(publication)}")
        try:
            return self._measure(publication)
        except PortbenchError as error:
            return Report(publication, skipped=" ".join(str(error).split()))

    def _measure(self, publication: FigureSet) -> Report:
        if publication.method == "row":
            return self._row(publication)
        if publication.method == "sends":
            return self._sends(publication)
        if publication.method == "guest":
            return self._guest(publication)
        if publication.method == "image":
            return self._image(publication)
        return self._program(publication)

    def _sends(self, publication: FigureSet) -> Report:
        from portbench.runner.silicon import sends  # with the engine, which a record does without

        entry = self._entry(publication)
        image = self._store.obtain(entry).path
        assert image is not None
        conditions: dict[str, Any] = {
            name: int(value) for name, _, value in (each.partition("=") for each in publication.settings)
        }
        (name,) = publication.silicon
        loop = sends.Sends(**conditions)
        found = sends.mbit_s(entry, image, loop, stack_delay_us=publication.stack_delay_us)
        return compare(publication, {name: publication.scale * found})

    def _guest(self, publication: FigureSet) -> Report:
        from portbench.runner.silicon import guests  # with the engine, which a record does without

        found = guests.figures(publication.runtime, publication.board, publication.stack_delay_us)
        if self._waveforms is not None and publication.runtime.startswith("ping"):
            guests.write_waveform(publication.runtime, publication.board, self._waveforms / f"{publication.id}.vcd")
        return compare(publication, {name: found[name] for name in publication.silicon})

    def _image(self, publication: FigureSet) -> Report:
        from portbench.runner.silicon import printed  # with the engine, which a record does without

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
        return compare(publication, {name: found[name] for name in publication.silicon})

    def _program(self, publication: FigureSet) -> Report:
        from portbench.runner.silicon import programs  # with the engine, which a record does without

        entry = self._entry(publication)
        # Before anything is emulated: a script that is missing is reported at once.
        contents = {Path(each.file).stem: _content(each) for each in publication.scripts}
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
            pc = read_options({"setting": publication.settings}).how.surroundings
            took_ms = programs.client_ms(entry, image, board, content, publication.server, libraries, pc.turnaround_us)
            return compare(publication, {name: publication.scale * took_ms}, self._build(publication))
        scores = {}
        for name in publication.silicon:
            what = f"{entry.id}: {name}"
            self._tell(what)
            scores[name] = programs.score(image, board, contents[name], contents["benchrun"], what)
        return compare(publication, scores)

    def _row(self, publication: FigureSet) -> Report:
        assert publication.workload is not None and publication.profile is not None
        options = read_options(
            {
                "workload": [publication.workload],
                "runtime": [str(self._given or publication.runtime)],
                "board": publication.board if self._given else None,
                "profile": [publication.profile],
                "setting": publication.settings,
            }
        )
        found = self._figures(options, publication.runtime)
        measured = {name: publication.scale * found[name] for name in publication.silicon if name in found}
        return compare(publication, measured, self._build(publication))

    def _figures(self, options: BenchOptions, runtime: str) -> dict[str, float]:
        """Those of one emulated run, measured as `portbench run` measures it."""
        with TemporaryFolder("portbench-silicon") as folder:
            options = options.but(where="emulated", runs=1, results_dir=folder)
            with Run(plan(options), options, store=self._store) as run:
                rows = [row for _, row in run.measured()]
        if not rows:
            raise PortbenchError("; ".join(run.faults))
        (row,) = rows
        if row.status is not Status.MEASURED:
            fault = PortbenchError if row.status is Status.SKIPPED else BoardError
            raise fault(f"{runtime}: {row.reason}")
        return dict(row.figures)

    def _entry(self, publication: FigureSet) -> catalogue.FirmwareEntry:
        return replace(self._known.get(publication.runtime), path=self._given)

    def _build(self, publication: FigureSet) -> tuple[str, ...]:
        """A note that says which build of the source was measured, and if it is the published one."""
        if publication.relation != "same source":
            return ()
        image = self._store.obtain(self._entry(publication))
        known = image.entry.sha256
        if image.sha256 == known:
            return (f"the published image, sha256 {known}",)
        published = "is not known" if known is None else f"is {known}"
        return (f"an image with sha256 {image.sha256}; that of the published one {published}",)


def _content(script: Script) -> bytes:
    """A published program, from the cache or a download: it is never kept here. Raises PortbenchError."""
    pinned = Driver(script.file, script.sha256[:8], script.file, script.url, script.sha256)
    return pinned_content(pinned, _SCRIPTS, _LIBRARIES_S)
