"""The ways from a guest to people, files and memory: docs/evidence/testing.md lists them all."""

import contextlib
import io
import tempfile
import unicodedata
from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from rich.console import Console as Rich

from portbench.boards.console import BoundedLog, Console
from portbench.boards.desk.volume_folder import MOST_BYTES as MOST_VOLUME_BYTES
from portbench.boards.desk.volume_folder import VolumeFolder
from portbench.console import shown
from portbench.results import csv_export, publish, storage, table
from portbench.runner.collect import one_line
from portbench.testing.transcript import MOST_BYTES, Transcript
from tests.results.rows import missing, row, run_of

TURNS: Final = {"LRE", "RLE", "PDF", "LRO", "RLO", "LRI", "RLI", "FSI", "PDI"}
MARKS: Final = "\u061c\u200e\u200f"
HOSTILE: Final = (
    *("\x1b[2J", "\x1b]0;title\x07", "\x9b31m", "\x00", "\x7f", "\x85", "\r\n", "\u2028", "\ud800", "\udc9b"),
    *("\u202e", "\u2066", *MARKS, "<script>alert(1)</script>", "[/bold]", "|", "&lt;", "\\"),
)
TEXT: Final = st.lists(st.one_of(st.sampled_from(HOSTILE), st.text(max_size=20)), max_size=8).map("".join)


def obeyed(text: str, *, lines: bool = False) -> list[str]:
    """List what a terminal or an editor would obey in `text`, or cannot write. `lines`: it has several."""
    return [
        mark
        for mark in text
        if (unicodedata.category(mark) in ("Cc", "Cs", "Zl", "Zp") and mark not in ("\t\n" if lines else "\t"))
        or unicodedata.bidirectional(mark) in TURNS
        or mark in MARKS
    ]


@given(TEXT)
def test_text_is_shown_and_never_obeyed(text: str) -> None:
    assert not obeyed(shown(text)) and shown(shown(text)) == shown(text)
    assert not obeyed(one_line(text)) and one_line(text)
    shown(text).encode()


@given(TEXT)
def test_logs_and_reports_of_tests_hold_nothing_to_obey(text: str) -> None:
    testing = pytest.importorskip("portbench.testing.errors")
    lines: list[str] = []
    log = BoundedLog(lines.append)
    log.line(text)
    log.note(text)
    transcript = Transcript()
    transcript.feed(text.encode("utf-8", "surrogatepass"))
    console = Console(log.line)
    console.feed(text.encode("utf-8", "surrogatepass"))
    console.end()
    assert not [mark for line in lines for mark in obeyed(line)]
    assert not obeyed(transcript.tail(), lines=True)
    assert not obeyed(str(testing.NothingCame(f"the board's Python raised:\n{text}")), lines=True)


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(TEXT)
@example("".join(HOSTILE))
def test_tables_and_pages_hold_nothing_to_obey(text: str) -> None:
    """Also of a run file that portbench did not write. Such a file cannot hold a lone surrogate."""
    text = text.encode("utf-8", "replace").decode()
    rows = [
        row(4000.0, version=text, note=text, console_tail=[text], settings={"messages": 4, "word": text}),
        missing("none", "failed", text.replace("\n", " ") or "it broke", console_tail=[text], version=text),
    ]
    run = run_of(*rows, tools={"pytest": text})
    out = io.StringIO()
    Rich(file=out, width=200, force_terminal=False).print(table.terminal(run, 200))
    for_people = (table.markdown(run), publish.page(run), publish.html(run))
    csv = csv_export.rows_csv(run.rows)
    for said in (out.getvalue(), storage.to_json(run), csv, *for_people):
        assert not obeyed(said, lines=True)
    for said in for_people:
        assert "<script>alert" not in said


class Drive:
    """A drive whose guest chose all names."""

    def __init__(self, label: str, entries: list[tuple[str, bool, int]]) -> None:
        self._label, self._entries = label, entries
        self.was_read = False

    def volume_list(self, lun: int = 0) -> list[tuple[str, bool, int]]:
        return self._entries

    def volume_label(self, lun: int = 0) -> str:
        return self._label

    def volume_read(self, paths: list[str], lun: int = 0) -> list[bytes]:
        self.was_read = True
        return [b"of the guest" for _ in paths]

    def volume_apply(self, changes: list[tuple[str, str, bytes]], lun: int = 0) -> None:
        raise AssertionError(changes)


PART: Final = st.sampled_from(["..", ".", "", "/", "a", "B.TXT", "\x00", "x" * 300, "\x1b[2J", "keep", "victim"])
PATH: Final = st.lists(PART, min_size=1, max_size=4).map("/".join)
ABSOLUTE: Final = "@victim"
"""Stands for the absolute path of a file outside the folder."""


@given(
    st.one_of(PATH, TEXT, st.just("..")), st.lists(st.tuples(st.one_of(PATH, TEXT, st.just(ABSOLUTE)), st.booleans()))
)
@example("..", [])
@example(".", [("a", False)])
@example("DRIVE", [(ABSOLUTE, False)])
@example("DRIVE", [("\ud800", True)])
@example("DRIVE", [("../../new", True)])
@example("DRIVE", [("../../victim", False)])
def test_a_drive_cannot_name_a_path_outside_its_folder(label: str, names: list[tuple[str, bool]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        (top / "victim").write_text("the user's")
        board = top / "boards" / "one"
        board.mkdir(parents=True)
        (board / "state.json").write_text("the board's")
        entries = [(str(top / "victim") if path == ABSOLUTE else path, is_dir, 12) for path, is_dir in names]
        made: list[Path] = []
        with contextlib.suppress(OSError):
            made = [VolumeFolder(Drive(label, entries), board, str).path]
        assert all(path.parent == board and path.name not in (".", "..") for path in made)
        assert (top / "victim").read_text() == "the user's" and (board / "state.json").read_text() == "the board's"
        assert {path.name for path in top.iterdir()} == {"victim", "boards"}
        assert [path.name for path in (top / "boards").iterdir()] == ["one"]
        assert {path.name for path in board.iterdir()} == {"state.json", *(path.name for path in made)}


def test_files_that_claim_more_than_a_volume_are_not_read(tmp_path: Path) -> None:
    drive = Drive("DRIVE", [(f"{number}.bin", False, 16 << 20) for number in range(17)])
    with pytest.raises(OSError, match=f"claim {17 << 24} bytes; a folder shows at most {MOST_VOLUME_BYTES}"):
        VolumeFolder(drive, tmp_path, str)
    assert not drive.was_read


def test_a_transcript_keeps_so_much_of_a_flood() -> None:
    transcript = Transcript()
    for _ in range(300):
        transcript.feed(b"x" * 65536)
    assert len(transcript.data) <= MOST_BYTES


def test_connections_that_nobody_accepts_are_few() -> None:
    network = pytest.importorskip("portbench.testing.network")
    apps: list[Any] = []
    machine = SimpleNamespace(listen=lambda port, app: apps.append(app))
    listener = network.Listener(SimpleNamespace(machine=machine, on_power_up=[], power_ups=1), 5000)
    (app,) = apps
    replies = []
    for number in range(10 * network.MOST_WAITING):
        replies.append(app.accept(number, "192.168.50.100:1", 0.0))
        app.receive(number, b"flood", 0.0)
        app.closed(number, False, 0.0)
    assert len(listener._waiting) == network.MOST_WAITING and not listener._peers.connections
    closed_at_once = [reply for reply in replies if reply[1]]
    assert len(closed_at_once) == 9 * network.MOST_WAITING and isinstance(listener._waiting, deque)
    assert listener._waiting[0]._came.data == b"flood"
