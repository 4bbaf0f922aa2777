"""The service `portbench` of pytest-embedded: its `dut` is an emulated board, and its timeouts are simulated seconds.

`--app-path` is the image: a .uf2 file, a folder with one, or a runtime. `--target` is the kind of board.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pexpect
import pytest
from pytest_embedded.app import App
from pytest_embedded.dut import Dut
from pytest_embedded.log import MessageQueue, PexpectProcess
from pytest_embedded.utils import SERVICE_LIB_NAMES, to_bytes

from portbench.errors import BoardError
from portbench.testing.errors import NothingCame

if TYPE_CHECKING:
    from portbench.testing import Board

SERVICE_LIB_NAMES["portbench"] = "portbench"  # the service, and the package that pytest-embedded looks for


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """Give the classes of `app` and `dut` to the fixture that pytest-embedded takes them from."""
    found = yield
    if fixturedef.argname == "_fixture_classes_and_options":
        made = (found, *(request.getfixturevalue(name) for name in ("_services", "target")))
        for options, services, kind in zip(*made, strict=True) if isinstance(found, tuple) else [made]:
            if "portbench" in services:
                options.classes.update(app=BoardApp, dut=BoardDut)
                options.kwargs["app"]["kind"] = kind
    return found


class BoardApp(App):
    """The image, and the `kind` of its board."""

    def __init__(self, app_path: str, build_dir: str | None = None, kind: str = "W5500_EVB_PICO", **more: Any) -> None:
        super().__init__(app_path, build_dir, **more)
        self.kind, self.image = kind, app_path
        if (folder := Path(app_path)).is_dir():
            found = [*(Path(self.binary_path).glob("*.uf2") if self.binary_path else ()), *folder.glob("*.uf2")]
            if len(found) != 1:
                raise BoardError(f"--app-path: {folder} has {len(found)} .uf2 files; name one, or a runtime")
            self.image = str(found[0])


class BoardDut(Dut):
    """`board` is the emulated board, with all that `portbench.testing.Board` has."""

    def __init__(self, *, pexpect_proc: PexpectProcess, msg_queue: MessageQueue, app: BoardApp, **more: Any) -> None:
        from portbench.testing import Board  # late, as it needs the engine

        self.board = Board(app.kind)
        self.board.flash(app.image)
        console = _Console(self.board, pexpect_proc.child_fd, msg_queue)
        super().__init__(pexpect_proc=console, msg_queue=msg_queue, app=app, **more)

    def write(self, s: str | bytes) -> None:
        """Type at the console. A `str` gets a newline, as from the service `serial`."""
        self.board.type(to_bytes(s, "\n"))


class _Console(PexpectProcess):
    """The board's console for pexpect: the board runs while a test waits. `log` gets a copy."""

    def __init__(self, board: Board, file: int, log: MessageQueue) -> None:
        super().__init__(file)
        self._simulation, self._copy = board._simulation, log
        self._read, self._end_us = 0, 0.0

    def expect(self, pattern: Any, timeout: float | None = -1, **more: Any) -> Any:
        self._begin(timeout)
        return super().expect(pattern, None, **more)

    def expect_exact(self, pattern: Any, timeout: float | None = -1, **more: Any) -> Any:
        self._begin(timeout)
        return super().expect_exact(pattern, None, **more)

    def _begin(self, timeout: float | None) -> None:
        """Note the end of the wait in simulated time, which pexpect's own clock does not know."""
        self._end_us = self._simulation.now_us + (self.timeout if timeout in (-1, None) else timeout) * 1e6

    def read_nonblocking(self, size: int = 1, timeout: float | None = None) -> bytes:
        simulation, transcript = self._simulation, self._simulation.transcript
        look, left_s = lambda: transcript.mark() - self._read, (self._end_us - simulation.now_us) / 1e6
        try:
            fresh = simulation.wait(look, left_s, "more on the console", simulation.came_on_console)
        except NothingCame as error:
            raise pexpect.TIMEOUT(str(error)) from None
        self._read += fresh
        self._copy.put(transcript.data[-fresh:])
        return transcript.data[-fresh:]
