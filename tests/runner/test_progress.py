"""What a person sees, with and without a terminal."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from portbench.runner.progress import ProgressView
from portbench.runner.stages import Stage


def view(terminal: bool, rows: int = 3) -> tuple[ProgressView, StringIO]:
    file = StringIO()
    return ProgressView(rows, Console(file=file, force_terminal=terminal, width=100, highlight=False)), file


def test_without_a_terminal_only_rows_that_are_done_show() -> None:
    shown, file = view(terminal=False)
    with shown.row("micropython-1.26.0 tuned"):
        shown.stage(Stage.FLASH)
        shown.line("booting")
    shown.done("measured", "1287.0 messages/s")
    assert file.getvalue() == "[1/3] measured micropython-1.26.0 tuned  1287.0 messages/s\n"


def test_a_terminal_shows_the_stage_and_the_boards_lines() -> None:
    shown, file = view(terminal=True)
    with shown.row("row [a]"):
        shown.stage(Stage.FLASH)
        shown.line("booting [b]")
        shown._console.print("")  # draws the live line
        assert "row [a]: flashing" in file.getvalue() and "booting [b]" in file.getvalue()
        shown.line('PORTBENCH {"round_trip_us": [1]}')
    assert "round_trip_us" not in file.getvalue()


def test_a_skip_is_told_once_but_counted() -> None:
    shown, file = view(terminal=False)
    for status, details in [("skipped", "no image"), ("skipped", "no image"), ("failed", "no image")]:
        with shown.row("row"):
            pass
        shown.done(status, details)
    assert [line.split()[0] for line in file.getvalue().splitlines()] == ["[1/3]", "[3/3]"]
