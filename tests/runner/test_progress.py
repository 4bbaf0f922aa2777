"""Output of the progress, with and without a terminal."""

import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from portbench.console import tell
from portbench.results.storage import to_json
from portbench.runner.options import read_options
from portbench.runner.plan import plan
from portbench.runner.progress import ProgressView, simulating, usual_s
from portbench.runner.stages import Stage
from tests.results.rows import missing, row, run_of


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


class Screen(StringIO):
    def isatty(self) -> bool:
        return True


def test_a_narrow_terminal_breaks_between_words_and_shows_a_command_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "the emulated board's engine is missing; run: pip install --force-reinstall 'portbench-engine @ x'"
    for width, stream, lines in (
        ("40", Screen(), ["the emulated board's engine is missing;", "run:", "    " + text.partition("run: ")[2]]),
        ("120", Screen(), [text]),
        ("40", StringIO(), [text]),
    ):
        monkeypatch.setenv("COLUMNS", width)
        monkeypatch.setattr(sys, "stderr", stream)
        tell(text)
        assert [line.rstrip() for line in stream.getvalue().splitlines()] == lines


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


def test_time_left_is_learned_from_what_rows_took_before() -> None:
    file = StringIO()
    console = Console(file=file, force_terminal=True, width=80, highlight=False)
    shown = ProgressView(3, console, usual_s={"a": 1000.0, "b": 2000.0}, at_once=2)
    with shown:
        shown.doing("a", Stage.RUN)
        shown._live.refresh()
        lines = [line.plain for line in map(Text.from_ansi, file.getvalue().splitlines())]
        assert any("0/3 rows" in line and "38 min left" in line for line in lines)  # the third as long as their mean
        assert any("a: running" in line and "17 min left" in line for line in lines)
        shown.doing("c", Stage.RUN)
        shown.done("a", row(1000))
        shown._live.refresh()
        assert "1/3 rows" in file.getvalue() and "c: running" in file.getvalue()


def test_time_left_grows_with_a_row_that_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    shown, _ = view(terminal=True, rows=4)
    with shown:
        monkeypatch.setattr(shown, "_elapsed_s", lambda _: 1.0)
        shown.doing("a", Stage.RUN)
        shown.done("a", row(1000))
        shown.doing("b", Stage.RUN)
        shown.done("b", missing("b", "skipped", "no image"))  # takes no time
        assert shown._left_s(0) == 2.0
        monkeypatch.setattr(shown, "_elapsed_s", lambda _: 30.0)
        shown.doing("c", Stage.RUN)
        assert shown._left_s(0) == 15.5


def test_no_word_is_broken_on_a_terminal() -> None:
    file = StringIO()
    shown = ProgressView(3, Console(file=file, force_terminal=True, width=40, highlight=False))
    shown.done("circuitpython-blinka ping_pong", missing("x", "skipped", "no driver; run: pip install something"))
    lines = [line.plain for line in map(Text.from_ansi, file.getvalue().splitlines())]
    assert "circuitpython-blinka" in " ".join(lines).split() and max(map(len, lines)) <= 40


def test_a_terminal_shows_the_simulated_time_of_a_board_that_runs() -> None:
    for terminal, said in [(True, "1.50 of 5 s of simulated time: usb configured"), (False, "")]:
        file = StringIO()
        out = Console(file=file, force_terminal=terminal, width=100, highlight=False)
        with simulating(5, out) as tell:
            tell(1.5, "usb configured")
        assert said in file.getvalue() and ("s left" in file.getvalue()) == terminal
        assert terminal or not file.getvalue()


def test_the_newest_run_tells_what_rows_took(tmp_path: Path) -> None:
    planned = plan(read_options({"runtime": ["micropython-1.26.0"], "runs": 1}))
    assert usual_s(planned, tmp_path) == {}
    (tmp_path / "a.log").write_text("    0.001 # image\n   12.345 PORTBENCH {}\n")
    measured = row(1000).model_copy(
        update={
            "log": "a.log",
            "workload": "ping_pong",
            "runtime": "micropython-1.26.0",
            "profile": "tuned",
            "settings": planned[1].settings.model_dump(mode="json"),
        }
    )
    (tmp_path / "latest.json").write_text(to_json(run_of(measured)))
    assert usual_s(planned, tmp_path) == {planned[1].label: 12.345}
    other = plan(read_options({"runtime": ["micropython-1.26.0"], "runs": 1, "messages": "7"}))
    assert usual_s(other, tmp_path) == {}
