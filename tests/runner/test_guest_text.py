"""Text that a board, a file's name or a locale brings in: shown, and never obeyed."""

import subprocess
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from portbench.boards import ConsoleLost, RunOutput, RuntimeIdentity
from portbench.boards.usb.bus import UsbDevice
from portbench.boards.usb.discovery import AttachedBoard
from portbench.firmware import uf2
from portbench.firmware.identify import Uf2File, entry_for_file
from portbench.runner.collect import one_line
from portbench.runner.progress import ProgressView
from tests.runner.test_bench import RESULT, ScriptedBoard, World, raises
from tests.runner.test_bench import world as world
from tests.runner.test_run import Harness

ESCAPE = "\x1b[2J\x07"
SHOWN = "\\x1b[2J\\x07"


class Talkative(ScriptedBoard):
    def run(self, *arguments: Any) -> RunOutput:
        if len(arguments) > 1 and arguments[1]:
            arguments[1](ESCAPE)
        return super().run(*arguments[:1])

    def console_tail(self, n: int = 20) -> list[str]:
        return [ESCAPE]


def test_a_guest_cannot_write_to_the_terminal_or_the_files(world: World) -> None:
    world.boards = [Talkative(raises("run", ConsoleLost(f"last it printed: {ESCAPE}\nand more")))]
    outcome = world.measure()
    assert outcome.row.reason == f"run: last it printed: {SHOWN} and more" and outcome.row.console_tail == [SHOWN]
    world.boards = [Talkative(lambda stage: RunOutput({"error": ESCAPE}, []) if stage == "run" else None)]
    assert world.measure().row.reason == f"run: the client failed in stage unknown: {SHOWN}"
    said = StringIO()
    ProgressView(1, Console(file=said, width=200)).done(world.planned().label, outcome.row)
    for text in (outcome.log.read_text(), said.getvalue()):
        assert SHOWN in text and "\x1b" not in text


def test_what_a_runtime_calls_itself_is_shown(world: World) -> None:
    identity = RuntimeIdentity("micropython", f"1.26.0{ESCAPE}", "", "")
    world.boards = [ScriptedBoard(lambda stage: {"identify": identity}.get(stage))]
    assert world.measure().row.version == f"1.26.0{SHOWN}"


def test_a_flood_has_room_for_a_while_only(world: World) -> None:
    class Flood(ScriptedBoard):
        def run(self, *arguments: Any) -> RunOutput:
            for _ in range(30_000):
                arguments[1]("x" * 99)
            return RunOutput(dict(RESULT), [])

    world.boards = [Flood()]
    log = world.measure().log
    assert log.stat().st_size < 2 << 20
    *_, left_out = [line for line in log.read_text().splitlines() if "left out" in line]
    assert "# left out: 19515 lines, 1931985 characters" in left_out


def test_a_usb_devices_strings_are_shown() -> None:
    device = UsbDevice(serial_number=f"E66{ESCAPE}", port=f"/dev/{ESCAPE}")
    assert "\x1b" not in device.describe()
    assert "\x1b" not in AttachedBoard(device, "console", version=ESCAPE, machine=ESCAPE, advice=ESCAPE).cells()


def test_a_reason_keeps_its_paths() -> None:
    assert one_line("/a  b/x.uf2:\r\n  is not an image\n") == "/a  b/x.uf2: is not an image"
    assert one_line(" \n") == "no reason was given"


def image(folder: Path, name: bytes) -> Path:
    path = folder / name.decode("utf-8", "surrogateescape")
    path.write_bytes(uf2.build(b"\0MicroPython v1.26.0 on 2025-08-09\0".ljust(256)))
    return path


@pytest.mark.parametrize(
    ("name", "locale"),
    [
        (b"b\xfcild.uf2", {"LC_ALL": "C"}),
        ("漢.uf2".encode(), {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
        (b"b\xfcild.uf2", {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}),
        (b"\x1b[2J.uf2", {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}),
    ],
    ids=["C", "ascii", "ascii-bytes", "ascii-output"],
)
def test_a_files_name_is_any_bytes(name: bytes, locale: dict[str, str], tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    harness.environment |= locale
    path = image(tmp_path, name)
    arguments = (f"--runtime={path}", "--device=usb:nothing", "--runs=1", "--profile=tuned")
    done = subprocess.run(harness.command(*arguments), env=harness.environment, capture_output=True, timeout=60)
    said = done.stdout + done.stderr
    assert done.returncode == 1 and b"no board usb:nothing" in said
    assert b"Traceback" not in said and b"INTERNALERROR" not in said and b"\x1b" not in said
    (row,) = harness.stored().rows
    assert row.build.isprintable() and row.image_file is not None and row.image_file.isprintable()


def test_an_entry_of_a_file_can_be_stored(tmp_path: Path) -> None:
    entry = entry_for_file(Uf2File.read(image(tmp_path, b"b\xfcild.uf2")))
    assert entry.file == "b\\xfcild.uf2" and replace(entry).id == "b-ild"
