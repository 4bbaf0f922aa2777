"""A row of any workload, measured once by a bench."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from portbench.boards.jitter import Surroundings
from portbench.boards.registry import KEPT_FLASH_VARIABLE
from portbench.firmware import catalogue
from portbench.firmware.images import ImageStore
from portbench.results.model import Row, Status
from portbench.runner.bench import Bench, Outcome
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan
from portbench.workloads import Workload
from tests.ping_pong import PING_PONG

Measure = Callable[..., Row]
_MOST = 4
"""Boards take memory, and a little time while nothing is measured."""


class Benches:
    """Benches for a runtime each, with its board; the one that was used last is closed last. `folder`: a short name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._benches: dict[str, Bench] = {}

    def of(self, runtime: str, options: BenchOptions) -> Bench:
        """The bench for `runtime`, made with `options` if there is none. Hosted ones share one."""
        name = runtime if options.place.where == "emulated" else "hosted"
        bench = self._benches.pop(name, None) or Bench(options, ImageStore(catalogue.load()), self.folder)
        self._benches[name] = bench
        while len(self._benches) > _MOST:
            self._benches.pop(next(iter(self._benches))).close()
        return bench

    def close(self) -> None:
        while self._benches:
            self._benches.popitem()[1].close()


def benches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Benches]:
    """For a fixture of any scope."""
    kept = Benches(tmp_path_factory.mktemp("benches"))
    yield kept
    kept.close()


@pytest.fixture
def measured_row(benches: Benches, monkeypatch: pytest.MonkeyPatch) -> Measure:
    """`measured_row(workload, runtime, profile, **settings)`: each on the runtime's board, hosted or emulated, which is
    powered anew and may have measured other rows before.

    Skips the test without the image.
    """
    monkeypatch.setenv(KEPT_FLASH_VARIABLE, str(benches.folder.parent / "flash"))

    def measure(workload: Workload, runtime: str, profile: str = "hosted", **settings: Any) -> Row:
        options = BenchOptions().but(
            runtimes=(runtime,),
            profiles=(profile,),
            workloads=(workload,),
            where="auto" if profile == "hosted" else "emulated",
            runs=1,
            settings=settings,
            results_dir=benches.folder / "results",
            surroundings=Surroundings(phy_link_delay_s=0.1),
        )
        (row,) = plan(options)
        measured = benches.of(runtime, options).measure(row).row
        if measured.status is Status.SKIPPED:
            pytest.skip(measured.reason or runtime)
        return measured

    return measure


def outcomes(folder: Path, store: ImageStore | None = None, **options: Any) -> list[Outcome]:
    """The emulated ping-pong, or what else `options` of a bench name, each planned row on one bench in `folder`.

    `store`: of images; by default it downloads none. `settings`: of a workload, or a list of such for rows of each.
    """
    usual: dict[str, Any] = {"where": "emulated", "workloads": (PING_PONG,), "runs": 1, "settings": {}}
    named = usual | {"results_dir": folder / "results"} | options
    each = named["settings"] if isinstance(named["settings"], list) else [named["settings"]]
    asked = [BenchOptions().but(**(named | {"settings": settings})) for settings in each]
    planned = [row for options_of in asked for row in plan(options_of)]
    store = store or ImageStore([row.entry for row in planned], state=folder, offline=True)
    with closing(Bench(asked[0], store, folder)) as bench:
        return [bench.measure(row) for row in planned]


def measured(folder: Path, store: ImageStore | None = None, *, may_fail: bool = False, **options: Any) -> list[Row]:
    """The rows of `outcomes`; skips the test without an image."""
    rows = [outcome.row for outcome in outcomes(folder, store, **options)]
    for row in rows:
        if row.status is Status.SKIPPED:
            pytest.skip(row.reason or "")
        assert may_fail or row.status is Status.MEASURED, row.reason
    return rows
