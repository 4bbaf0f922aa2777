"""Run files with any value anywhere: shown, or refused in one line, and never sent to the terminal as it is."""

import copy
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from portbench.results import csv_export, publish, storage, table
from portbench.results.exports import exported
from tests.results.rows import missing, other_row, row, run_of

RUN = json.loads(
    storage.to_json(
        run_of(
            row(4000.0, settings={"messages": 4, "word": "x"}, conditions={"turnaround_us": 200.0, "spi_hz_asked": 2}),
            other_row(3.0, published={"values": [1.0], "source": "somebody"}, note="alone"),
            missing("none", "failed", "it broke", console_tail=["last words"]),
            tools={"pytest": "9"},
        )
    )
)
VALUES: list[Any] = [
    *(10**400, -(10**400), 10**30, 1e308, -1e308, 5e-324, float("nan"), float("inf"), 10**15, 0, -1),
    *("\x1b[2J\x07 two\nlines [/bold][red] \u202e <script>|", "x" * 10_000, "", True, None, [], {}),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, (*path, index))
    else:
        yield path


@pytest.mark.slow
@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:20])
def test_any_value_anywhere_is_shown_or_refused(value: Any) -> None:
    told = 0
    for path in places(RUN):
        document = copy.deepcopy(RUN)
        part = document
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value
        try:
            run = storage.parse(json.dumps(document), Path("run.json"))
        except storage.StorageError as error:
            said = str(error)
            assert said.startswith("run.json: ") and "\n" not in said and "\x1b" not in said
        else:
            said = shown(run)
            told += 1
        assert len(said) < 300_000
    assert told or not isinstance(value, str)


def shown(run: storage.RunFile) -> str:
    """On every way that a run has to people."""
    out = io.StringIO()
    Console(file=out, width=200, force_terminal=False).print(table.terminal(run, 200))
    said = out.getvalue() + table.markdown(run) + publish.page(run)
    assert not set(said) & {"\x1b", "\x07", "\u202e", "\u2028"}
    storage.to_json(run)
    csv_export.rows_csv(run.rows), csv_export.samples_csv(run.rows)
    exported(run, "bencher"), exported(run, "github-action-benchmark")
    return said


@pytest.mark.parametrize("key", ["settings", "figures", "samples", "tools"])
def test_names_are_shown_too(key: str) -> None:
    document = copy.deepcopy(RUN)
    holder = document if key == "tools" else document["rows"][1]
    name = "\x1b[31m[/bold]"
    holder[key] = holder[key] | {name: [1] if key == "samples" else "1" if key == "tools" else 1}
    shown(storage.parse(json.dumps(document), Path("run.json")))
