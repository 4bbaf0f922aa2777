"""Rows as CSV, for spreadsheets and data frames: one line per row, or one line per sample.

Each named value of a row becomes a column: `settings.passes`, `figures.total_us`. An empty cell is an absent value.
Texts are in quotes and numbers are not. docs/results-format.md has the columns.
"""

import csv
import io
import re
import statistics
from collections.abc import Iterable, Mapping
from typing import Any, Final

from portbench.results.model import Row

_LEFT_OUT: Final = frozenset({"samples", "console_tail", "published", "attribution", "waveform", "what_if", "layouts"})
_FORMULA: Final = re.compile(r"[=+@\t]|-(?![\d.]*$)")
_GROUPS: Final = frozenset({"headline", "sim", "offers", "conditions.access_point"})
"""A row without one of these also lacks its columns."""
_SAMPLE_OF: Final = ("workload", "runtime", "build", "version", "where", "timed_by", "board", "profile", "run_index")
"""Columns that identify the row of a sample."""


def rows_csv(rows: Iterable[Row]) -> str:
    """One line per row, without samples and console."""
    return _csv([_flat(row) for row in rows])


def samples_csv(rows: Iterable[Row]) -> str:
    """One line per sample: its row, its name, its number from 0, and the value."""
    return _csv(
        [
            {
                **{key: _cell(getattr(row, key)) for key in _SAMPLE_OF},
                "sample": plain(name),
                "index": index,
                "value": value,
            }
            for row in rows
            for name, values in row.samples.items()
            for index, value in enumerate(values)
        ]
    )


def plain(text: str) -> str:
    """`text`, with an apostrophe before it if a spreadsheet would calculate it."""
    return f"'{text}" if _FORMULA.match(text) else text


def _flat(row: Row) -> dict[str, Any]:
    document = row.model_dump(mode="json", exclude=set(_LEFT_OUT))
    return {**_columns("", document), **_published(row)}


def _published(row: Row) -> dict[str, Any]:
    published = row.published
    if published is None:
        return {"published.figure": "", "published.median": ""}
    figure = published.figure or (row.headline.name if row.headline else None)
    return {"published.figure": _cell(figure), "published.median": statistics.median(published.values)}


def _columns(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        name = prefix + key
        if isinstance(value, dict):
            flat |= _columns(f"{name}.", value)
        elif name not in _GROUPS:
            flat[name] = _cell(value)
    return flat


def _cell(value: Any) -> Any:
    """A cell, with booleans as in JSON and the texts of a list side by side."""
    if isinstance(value, list):
        value = "; ".join(value)
    if isinstance(value, str):
        return plain(value)
    return "" if value is None else str(value).lower() if isinstance(value, bool) else value


def _csv(lines: list[dict[str, Any]]) -> str:
    columns = list(dict.fromkeys(column for line in lines for column in line))
    out = io.StringIO(newline="")
    # QUOTE_MINIMAL with this line terminator would leave a carriage return bare, and a line would end there.
    writer = csv.DictWriter(out, columns, restval="", lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()
