"""What a person sees, with and without a terminal."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from rich.console import Console

from portbench.runner.progress import ProgressView
from portbench.runner.stages import Stage
from tests.results.rows import missing, row


def view(terminal: bool, rows: int = 3, **more: bool) -> tuple[ProgressView, StringIO]:
    file = StringIO()
    console = Console(file=file, force_terminal=terminal, width=100, highlight=False)
    return ProgressView(rows, console, **more), file


def test_without_a_terminal_only_rows_that_have_ended_show() -> None:
    shown, file = view(terminal=False)
    with shown:
        shown.doing("micropython-1.26.0 tuned", Stage.FLASH)
        shown.done("micropython-1.26.0 tuned", row(1000))
    assert file.getvalue().startswith("[1/3] measured micropython-1.26.0 tuned  ")
    assert file.getvalue().count("\n") == 1 and "messages/s" in file.getvalue()


def test_a_terminal_shows_the_row_its_stage_and_how_many_are_left() -> None:
    shown, file = view(terminal=True)
    with shown:
        shown.doing("row [a]", Stage.FLASH)
        shown._live.refresh()
        assert "row [a]: flashing" in file.getvalue() and "0/3" in file.getvalue()
        shown.doing("row [b]", "hold BOOTSEL")
        shown._live.refresh()
        shown.done("row [b]", row(1000))
        shown._live.refresh()
        assert "row [b]: hold BOOTSEL" in file.getvalue() and "1/3" in file.getvalue()


def test_a_skip_is_told_once_but_counted() -> None:
    shown, file = view(terminal=False)
    for status in ("skipped", "skipped", "failed"):
        shown.done("row", missing("x", status, "no image"))
    assert [line.split()[0] for line in file.getvalue().splitlines()] == ["[1/3]", "[3/3]"]


def test_a_failure_is_told_once_with_console_and_log() -> None:
    failed = missing("x", "failed", "no link").model_copy(update={"console_tail": ["Traceback"]})
    shown, file = view(terminal=False)
    shown.done("row", failed, Path("results/row.log"))
    head, *more = file.getvalue().splitlines()
    assert head == "[1/3] failed   row  no link"
    assert [line.strip() for line in more] == ["the console's last lines:", "Traceback", "log: results/row.log"]
    shown, file = view(terminal=False, failures=False)  # another one tells it
    shown.done("row", failed)
    assert file.getvalue() == ""


def test_of_very_many_rows_each_tenth_part_and_each_failure_is_told() -> None:
    shown, file = view(terminal=False, rows=30, brief=True)
    for number in range(30):
        shown.done("row", missing("x", "failed", "no link") if number == 4 else row(1000))
    lines = file.getvalue().splitlines()
    told = [line.partition("]")[0] for line in lines if "left" in line]
    assert told == [f"[{number:>2}/30" for number in range(3, 31, 3)]
    assert [line for line in lines if "left" not in line] == ["[ 5/30] failed   row  no link"]
