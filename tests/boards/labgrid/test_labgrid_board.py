"""A board of a labgrid lab: a real coordinator and exporter, with a board behind RFC 2217."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from portbench.boards import BoardUnavailable, Deadline, Deployment
from portbench.boards.labgrid import lab as lab_module
from portbench.boards.labgrid.labgrid_board import LabgridBoard
from portbench.errors import BoardError
from portbench.firmware.identify import Uf2File
from tests import patience
from tests.boards.labgrid import hand
from tests.boards.labgrid.conftest import EXAMPLE, Desk
from tests.boards.remote.ports import free_port
from tests.boards.usb.conftest import CIRCUITPYTHON, DEFINITION, MICROPYTHON, small_image
from tests.boards.usb.fake_board import FakeBoard
from tests.conftest import needs

pytestmark = [pytest.mark.slow, needs("labgrid", "labgrid is not installed")]

Boards = Callable[..., FakeBoard]
RESULT = {"messages": 2, "total_us": 10}
LINE = "PORTBENCH " + json.dumps(RESULT) + "\r\n"
SCRIPT = Deployment({"main.py": b"pass\n"}, "micropython")

ENVIRONMENT = """
targets:
  main:
    resources:
      RemotePlace:
        name: desk
    drivers:
{drivers}
"""
STORAGE = "      FolderStorageDriver: {}\n"
HANDS = STORAGE + "      HandPowerDriver: {}\n      HandButtonDriver:\n        name: bootsel\n"


def environment(folder: Path, wanted: str) -> str:
    path = folder / "environment.yaml"
    path.write_text(ENVIRONMENT.format(drivers=wanted))
    return f"labgrid:{path}"


def plug(desk: Desk, fake: FakeBoard) -> FakeBoard:
    desk.find = lambda: fake.devices()[0]
    return fake


def test_a_place_is_a_board_with_a_console(desk: Desk, boards: Boards, deadline: Deadline) -> None:
    fake = plug(desk, boards(on_boot=lambda show: show(LINE)))
    with LabgridBoard(DEFINITION, device="labgrid:desk") as board:
        assert board.name.endswith("(labgrid:desk)") and board.link.power is None
        assert board.identify(deadline).version == "1.26.0"
        board.deploy(SCRIPT, deadline)
        assert board.run(deadline).result == RESULT
    assert (fake.root / "main.py").read_bytes() == b"pass\n" and fake.boots == 1


def test_a_place_without_mass_storage_is_not_flashed(
    desk: Desk, boards: Boards, deadline: Deadline, tmp_path: Path
) -> None:
    plug(desk, boards())
    with LabgridBoard(DEFINITION, device="labgrid:desk") as board:
        board.flash(Uf2File.read(small_image(tmp_path, MICROPYTHON)), deadline)
        with pytest.raises(BoardError, match="a console cannot flash it"):
            board.flash(Uf2File.read(small_image(tmp_path, CIRCUITPYTHON)), deadline)


def test_mass_storage_takes_the_image_and_what_answers_is_checked(
    desk: Desk, boards: Boards, deadline: Deadline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = plug(desk, boards(on_boot=lambda show: show(LINE)))
    monkeypatch.setattr(hand, "drive", lambda: str(fake.volume))
    log: list[str] = []
    with LabgridBoard(DEFINITION, device=environment(tmp_path, STORAGE), log=log.append) as board:
        image = small_image(tmp_path, MICROPYTHON)
        board.flash(Uf2File.read(image), deadline)
        assert fake.flashed == image.read_bytes()
        assert any("image.uf2 by labgrid's USBStorageDriver" in line for line in log)
        board.deploy(SCRIPT, deadline)
        assert board.run(deadline).result == RESULT
        with pytest.raises(BoardError, match=r"which image\.uf2 does not hold"):
            board.flash(Uf2File.read(small_image(tmp_path, CIRCUITPYTHON)), deadline)


def test_power_and_bootsel_bring_a_deaf_board_to_its_boot_loader(
    desk: Desk, boards: Boards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = plug(desk, boards(deaf_to=10**9))

    def cycle() -> None:
        assert hand.button == [True]
        fake.deaf_to = 0
        fake.press_bootsel()

    monkeypatch.setattr(hand, "drive", lambda: str(fake.volume))
    monkeypatch.setattr(hand, "power_cycle", cycle)
    monkeypatch.setattr(hand, "button", [])
    with LabgridBoard(DEFINITION, device=environment(tmp_path, HANDS)) as board:
        assert board.link.power is not None
        board.flash(Uf2File.read(small_image(tmp_path, MICROPYTHON)), Deadline(60, "test"))
    assert hand.button == [True, False] and fake.flashed is not None


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("nowhere", "labgrid:nowhere: .*place pattern nowhere matches nothing"),
        ("missing.yaml", "labgrid:missing.yaml: .*missing.yaml"),
        ("{example}#other", "labgrid:.*'other'|has no target other; name one with #TARGET"),
    ],
)
def test_what_is_not_there_is_one_line(desk: Desk, where: str, says: str) -> None:
    where = where.replace("{example}", str(EXAMPLE / "environment.yaml"))
    with pytest.raises(BoardUnavailable, match=says) as caught:
        LabgridBoard(DEFINITION, device=f"labgrid:{where}")
    assert "\n" not in str(caught.value)


ASK_IN_VAIN = """
from portbench.boards.labgrid.lab import Lab
try:
    Lab("desk")
except Exception as error:
    print(error)
"""


def test_a_coordinator_that_is_not_there_is_one_line() -> None:
    """labgrid logs an error, too. In a separate process, because labgrid keeps one connection for each."""
    environment = os.environ | {"LG_COORDINATOR": f"127.0.0.1:{free_port()}"}
    done = patience.run([sys.executable, "-c", ASK_IN_VAIN], 60, env=environment)
    fix = "start it, or name another: LG_COORDINATOR=HOST:PORT"
    assert (done.stderr, done.stdout) == ("", f"labgrid:desk: Could not connect to coordinator; {fix}\n")


def test_a_place_that_nobody_acquired_says_how(lab: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LG_COORDINATOR", lab.coordinator)
    with pytest.raises(BoardUnavailable, match="desk is not acquired; run: labgrid-client -p desk acquire"):
        LabgridBoard(DEFINITION, device="labgrid:desk")


def test_without_labgrid_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(lab_module.importlib, "import_module", missing)
    with pytest.raises(BoardUnavailable, match=r"labgrid is not installed .*; run: pip install .*\[labgrid\]'"):
        LabgridBoard(DEFINITION, device="labgrid:desk")


def test_a_coordinator_that_went_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labgrid keeps one session for each process; the coordinator of an earlier board may have gone."""
    manager = pytest.importorskip("labgrid.resource.remote").RemotePlaceManager.get()
    loop, gone = asyncio.new_event_loop(), asyncio.Event()
    silent = SimpleNamespace(stopping=gone, sync_with_coordinator=lambda: asyncio.Event().wait())
    monkeypatch.setattr(manager, "loop", loop)
    monkeypatch.setattr(manager, "session", silent)
    monkeypatch.setattr(lab_module, "_ANSWER_S", 0.01)
    with contextlib.closing(loop):
        with pytest.raises(
            BoardUnavailable, match=r"^labgrid's coordinator did not answer in 0\.01 s; start it again$"
        ):
            lab_module._refresh()
        gone.set()
        lab_module._refresh()
    assert manager.session is None


def test_a_session_begins_after_asyncio_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """labgrid keeps its loop, but the thread has none then."""
    monkeypatch.setattr(pytest.importorskip("labgrid.resource.remote").RemotePlaceManager.get(), "session", None)
    loop = pytest.importorskip("labgrid.remote.client").ensure_event_loop()
    asyncio.run(asyncio.sleep(0))
    lab_module._refresh()
    assert asyncio.get_event_loop() is loop
