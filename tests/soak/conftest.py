"""Lanes with emulated boards; and the options and the summary of the random soak."""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Image
from tests.soak.lane import Lane
from tests.soak.leaks import own_folders, processes_of
from tests.soak.plan import SPI_HZ, Cycle, Strike
from tests.soak.record import Record, summary

MakeLane = Callable[..., Lane]
Keep = Callable[[Record], Record]
_PROPERTY = "soak"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("soak", "random soak of portbench (tests/soak)")
    group.addoption("--cycles", type=int, metavar="N", help="number of cycles of a runtime")
    group.addoption("--kills", type=int, metavar="N", help="number of kills, of all commands in turn")
    group.addoption("--seed", type=int, metavar="N", help="seed of all random choices")
    group.addoption("--first", type=int, metavar="N", help="number of the first cycle or kill (default: 0)")
    group.addoption("--runtime", action="append", metavar="ID", help="runtime of the cycles (default: the native one)")
    group.addoption("--record", metavar="FILE", help="append a line of JSON as each cycle or kill ends")


def asked(config: pytest.Config, option: str, otherwise: Any) -> Any:
    """The value of an option, which only a command line with this folder has."""
    value = config.getoption(option, None)
    return otherwise if value is None else value


@pytest.fixture
def keep(request: pytest.FixtureRequest) -> Keep:
    """Takes each record as it ends, for the file of records and the summary."""
    file = asked(request.config, "record", None)

    def keep(record: Record) -> Record:
        request.node.user_properties.append((_PROPERTY, vars(record)))
        if file is not None:
            with Path(file).open("a", encoding="utf-8") as records:
                records.write(json.dumps(vars(record)) + "\n")
        return record

    return keep


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if not asked(config, "cycles", 0) and not asked(config, "kills", 0):
        return
    reports = [each for some in terminalreporter.stats.values() for each in some if getattr(each, "when", "") == "call"]
    records = [Record(**value) for report in reports for name, value in report.user_properties if name == _PROPERTY]
    if records:
        terminalreporter.section("soak")
        for line in summary(records):
            terminalreporter.write_line(line)


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """Sockets have short names only."""
    folder = Path(tempfile.mkdtemp(prefix="pbs-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def make_lane(short_folder: Path, monkeypatch: pytest.MonkeyPatch, image: Image) -> Iterator[MakeLane]:
    """The lane of a test, for a runtime of the catalogue.

    `run_s`: longest time of a run; a short one for a fault that nothing else ends.
    """
    lanes: list[Lane] = []
    for variable, folder in own_folders(short_folder).items():
        monkeypatch.setenv(variable, folder)
    monkeypatch.setattr(tempfile, "tempdir", str(short_folder / "tmp"))

    def make(runtime: str, *, run_s: float = 60, power_switch: bool = True) -> Lane:
        lanes.append(Lane(short_folder, runtime, image(runtime), run_s=run_s, power_switch=power_switch))
        return lanes[-1]

    yield make
    for lane in lanes:
        lane.close()
    assert processes_of(short_folder) == []


def run_cycles(lane: Lane, *cycles: Cycle) -> list[Record]:
    """The records of `cycles`; nothing may be lost, left behind or late, at the end neither."""
    records = list(lane.run(cycles))
    assert [line for record in records for line in record.troubles] == []
    return records


def two_cycles(lane: Lane, strike: Strike) -> Record:
    """The record of the cycle that the strike hits; the next one is measured."""
    record, after = run_cycles(lane, Cycle(0, SPI_HZ[0], strike), Cycle(1, SPI_HZ[2]))
    assert record.struck and after.status == "measured"
    return record
