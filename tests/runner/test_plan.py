"""Which rows are planned, and one usage line for each thing that does not exist."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from portbench.boards import board_definition
from portbench.firmware import catalogue
from portbench.runner.options import BenchOptions
from portbench.runner.plan import chosen_entries, plan

OPTIONS = BenchOptions(board=board_definition("W5500_EVB_PICO"))


def ids(**change: Any) -> list[str]:
    return [run.id for run in plan(replace(OPTIONS, **change))]


def test_every_runtime_profile_and_run_is_one_row() -> None:
    known = catalogue.load()
    assert len(ids()) == 3 * sum(len(entry.rows) for entry in known)
    assert ids(runtimes=("micropython-1.26.0",), runs=1) == [
        "micropython-1.26.0-as-published",
        "micropython-1.26.0-tuned",
    ]
    assert ids(runtimes=("micropython-unix",), runs=2) == ["micropython-unix-1", "micropython-unix-2"]


def test_ids_are_unique() -> None:
    assert len(set(ids())) == len(ids())


def test_every_row_on_each_of_several_boards() -> None:
    rows = plan(
        replace(OPTIONS, devices=("usb:1", "usb:2"), runtimes=("micropython-1.26.0", "micropython-unix"), runs=1)
    )
    assert [(run.id, run.device) for run in rows] == [
        ("micropython-1.26.0-as-published-on-usb:1", "usb:1"),
        ("micropython-1.26.0-tuned-on-usb:1", "usb:1"),
        ("micropython-1.26.0-as-published-on-usb:2", "usb:2"),
        ("micropython-1.26.0-tuned-on-usb:2", "usb:2"),
        ("micropython-unix", "auto"),
    ]
    assert rows[0].label == "micropython-1.26.0 as-published on usb:1"


def test_profiles_narrow_the_rows() -> None:
    assert all("-tuned-" in each for each in ids(profiles=("tuned",)))
    with pytest.raises(pytest.UsageError, match=r"^--profile: 'fast' is none of as-published, hosted, tuned$"):
        ids(profiles=("fast",))


@pytest.mark.parametrize(
    ("where", "hosted", "images"), [("hosted", True, False), ("emulated", False, True), ("auto", True, True)]
)
def test_where_narrows_the_rows(where: str, hosted: bool, images: bool) -> None:
    found = ids(where=where)
    assert ("micropython-unix-1" in found) == hosted
    assert ("micropython-1.26.0-tuned-1" in found) == images


def test_nothing_left_is_a_usage_error() -> None:
    with pytest.raises(
        pytest.UsageError, match="no runtime is left to measure with --where emulated on W5500_EVB_PICO"
    ):
        ids(where="emulated", runtimes=("micropython-unix",))


def test_another_board_has_other_images() -> None:
    entries = chosen_entries(replace(OPTIONS, board=board_definition("W5100S_EVB_PICO")), catalogue.load())
    assert {entry.family for entry in entries} == {"hosted"}


def test_an_unknown_runtime_lists_what_exists() -> None:
    with pytest.raises(pytest.UsageError) as caught:
        ids(runtimes=("micropython-9",))
    message = str(caught.value)
    assert message.startswith("--runtime: 'micropython-9' is no .uf2 file and none of micropython-1.20.0, ")
    assert "micropython-unix" in message and "\n" not in message


@pytest.mark.parametrize("content", [None, b"", b"not a uf2" * 100])
def test_a_uf2_that_is_none_is_a_usage_error(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "image.uf2"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(pytest.UsageError) as caught:
        ids(runtimes=(str(path),))
    assert str(caught.value).startswith(f"--runtime: {path}") and "\n" not in str(caught.value)
