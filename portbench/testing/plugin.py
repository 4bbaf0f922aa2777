"""The fixtures for pytest, and the files that are kept of a failed test.

pytest loads this file wherever portbench is installed, so it imports what it needs only when a test asks for a board.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from portbench.testing.board import Board

_BOARDS = pytest.StashKey["list[Board]"]()
_FOLDER = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """Add the service of pytest-embedded where that is loaded."""
    if config.pluginmanager.hasplugin("pytest_embedded"):
        from portbench.testing import embedded

        config.pluginmanager.register(embedded)


@pytest.fixture
def make_emulated_board(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Board]]:
    """Make emulated boards: `make_emulated_board("RPI_PICO")`, with settings of `EmulatedConfig` by name."""
    boards: list[Board] = []
    request.node.stash[_BOARDS] = boards
    request.node.stash[_FOLDER] = tmp_path

    def make(kind: str = "W5500_EVB_PICO", **settings: Any) -> Board:
        from portbench.errors import BoardUnavailable

        try:
            from portbench.testing import Board
        except BoardUnavailable as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        boards.append(Board(kind, **settings))
        return boards[-1]

    yield make
    boards.clear()


@pytest.fixture
def emulated_board(make_emulated_board: Callable[..., Board]) -> Board:
    """An emulated W5500-EVB-Pico with power and blank flash; see docs/testing-your-app.md."""
    return make_emulated_board()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep consoles and frames of a failed test's boards in its `tmp_path`."""
    if call.excinfo is not None and _BOARDS in item.stash:
        _cut_our_frames(call.excinfo.value)
    report = yield
    if report.failed and report.when == "call" and _BOARDS in item.stash:
        boards: list[Board] = item.stash[_BOARDS]
        for number, board in enumerate(boards, 1):
            stem = "board" if number == 1 else f"board-{number}"
            kept = board.keep(item.stash[_FOLDER], stem)
            told = f"{board.report()}\nkept: {', '.join(map(str, kept))}"
            report.sections.append((f"emulated {stem}", told))
    return report


def _cut_our_frames(error: BaseException) -> None:
    """End the traceback at the test's line: an error of portbench says in one line what to do."""
    from portbench.errors import PortbenchError

    place = error.__traceback__ if isinstance(error, PortbenchError) else None
    while place is not None and not place.tb_frame.f_globals["__name__"].startswith("portbench."):
        place = place.tb_next
    if place is not None:
        error.__cause__ = place.tb_next = None
