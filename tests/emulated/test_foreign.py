"""Rows of images that nobody here knows, on the emulated board: the committed native client stands for them all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from portbench.boards.registry import RUNTIME_DIR_VARIABLE
from portbench.firmware.catalogue import Family
from portbench.results.model import Row, Status
from portbench.runner.bench import Bench
from portbench.runner.images import image_store
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan
from portbench.runner.progress import ProgressView
from portbench.runner.soak.foreign import PROGRAMS, Foreign, build
from portbench.workloads import Session
from tests.ping_pong import NATIVE_IMAGE

pytestmark = pytest.mark.engine

OWN_MESSAGES = 1000
"""Of the native client to which nothing was said."""


@pytest.fixture
def short_folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="pbf-") as folder:
        monkeypatch.setenv(RUNTIME_DIR_VARIABLE, folder)
        yield


def measure(path: Path, folder: Path, messages: int = 50, runs: int = 1, family: Family | None = None) -> list[Row]:
    options = BenchOptions(
        where="emulated",
        runtimes=(str(path),),
        family=family,
        settings={"messages": messages},
        runs=runs,
        results_dir=folder / "results",
    )
    rows = plan(options)
    bench = Bench(options, image_store([row.entry for row in rows]), folder)
    try:
        return [bench.measure(row, ProgressView(1, Console(file=StringIO()))).row for row in rows]
    finally:
        bench.close()


def test_any_image_that_plays_is_a_row(tmp_path: Path, short_folder: None) -> None:
    first, second = measure(NATIVE_IMAGE, tmp_path, runs=2, family=Family.FOREIGN)
    assert first.status is Status.MEASURED, first.reason
    assert (first.timed_by, first.where, first.profile) == ("pc", "emulated", "as-built")
    assert len(first.samples["round_trip_us"]) == 49
    assert first.figures["total_us"] == sum(first.samples["round_trip_us"])
    # The client's own time of such a message is 218 us.
    assert 215 < min(first.samples["round_trip_us"]) <= max(first.samples["round_trip_us"]) < 221
    assert first.sim is not None and second.sim is not None
    assert second.simulated_figures() == first.simulated_figures() | {"run_index": 1}


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (
            Foreign.STANDS_STILL,
            "no SPI frame for the W5500 in 10 s of simulated time: the image drives other pins or another chip",
        ),
        (Foreign.LOCKS_UP, "stopped: core 0 locked up at pc 0x10000280"),
    ],
    ids=["stands still", "locks up"],
)
def test_an_image_that_never_connects_ends_its_row_early_with_the_cause(
    program: Foreign, says: str, tmp_path: Path, short_folder: None
) -> None:
    image = tmp_path / "dead.uf2"
    image.write_bytes(build(PROGRAMS[program], b"anybody's"))
    (row,) = measure(image, tmp_path)
    assert row.status is Status.FAILED and says in (row.reason or ""), row.reason


def test_a_client_that_plays_less_than_was_asked_for_is_told_so(tmp_path: Path, short_folder: None) -> None:
    (row,) = measure(NATIVE_IMAGE, tmp_path, OWN_MESSAGES + 1, family=Family.FOREIGN)
    assert row.status is Status.FAILED
    assert f"closed after {OWN_MESSAGES} of {OWN_MESSAGES + 1} exchanges; ask for fewer" in (row.reason or "")


def session(**known: object) -> Session:
    plain: dict[str, object] = {"started_us": 1e6, "ended_us": None, "exchanges": 3, "received_bytes": 3, "error": None}
    return Session(number=0, peer="192.168.50.2:49152", **(plain | known))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("now_us", "sessions", "link_up", "frames", "says"),
    [
        (29e6, [], False, 0, None),
        (30e6, [], False, 0, "no frame on the cable in 30 s of simulated time: the Ethernet chip's link is not up"),
        (30e6, [], True, 0, "no frame on the cable in 30 s of simulated time"),
        (30e6, [], True, 7, "no connection to 192.168.50.1:5000 in 30 s of simulated time, only 7 frames for others"),
        (50e6, [session(last_byte_us=25e6)], True, 9, None),
        (
            50e6,
            [session(last_byte_us=20e6)],
            True,
            9,
            "192.168.50.2:49152 is silent in 30 s of simulated time after 3 of 8 exchanges",
        ),
        (
            31e6,
            [session(established_us=1e6, exchanges=0)],
            True,
            9,
            "192.168.50.2:49152 is silent in 30 s of simulated time after 0 of 8 exchanges",
        ),
        (
            2e6,
            [session(error="message 1 must be 1")],
            True,
            9,
            "192.168.50.2:49152: message 1 must be 1 (after 3 of 8 exchanges)",
        ),
        (
            2e6,
            [session(ended_us=2e6)],
            True,
            9,
            "192.168.50.2:49152 closed after 3 of 8 exchanges; ask for fewer, or"
            " let the client play until the PC closes",
        ),
    ],
)
def test_why_a_run_is_given_up(
    now_us: float, sessions: list[Session], link_up: bool, frames: int, says: str | None
) -> None:
    from portbench.boards.board import Unattended
    from portbench.boards.emulated.foreign import given_up

    found = given_up(
        now_us, Unattended(8, 30.0), sessions, link_up=link_up, frames_from_board=frames, server="192.168.50.1:5000"
    )
    assert found == says
