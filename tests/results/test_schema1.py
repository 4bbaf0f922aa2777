"""Run files of schema 1 say the same in today's fields. `schema1.json` was written by revision f8fed60."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.results import storage
from portbench.results.model import Headline, Published, Row, RunFile, Status
from portbench.results.storage import StorageError
from portbench.results.table import tables

STORED = Path(__file__).with_name("schema1.json")
DOCUMENT: dict[str, Any] = json.loads(STORED.read_text())
KEPT = (
    *("runtime", "family", "version", "where", "status", "reason", "board", "profile", "run_index"),
    *("image_file", "image_sha256", "note", "console_tail", "log", "sim"),
)
"""What a row still has under the same name."""
COMPUTED = Headline(name="messages_per_s", unit="messages/s", better="higher")


def read(document: dict[str, Any]) -> RunFile:
    return storage.parse(json.dumps(document), STORED)


def with_row(**changes: Any) -> dict[str, Any]:
    """The stored file with its first row alone, changed."""
    return DOCUMENT | {"rows": [DOCUMENT["rows"][0] | changes]}


def test_the_run_itself_stays() -> None:
    run = storage.read(STORED)
    assert run.schema_version == 2
    told = run.model_dump(mode="json", exclude={"schema_version", "rows"})
    assert told.pop("name") is None
    assert told == {key: DOCUMENT[key] for key in told}


@pytest.mark.parametrize("index", range(4))
def test_rows_keep_what_they_said(index: int) -> None:
    old, new = DOCUMENT["rows"][index], storage.read(STORED).rows[index]
    dumped = new.model_dump(mode="json")
    if dumped["sim"] is not None:  # nothing varied in those days
        assert (dumped["sim"].pop("seed"), dumped["sim"].pop("room")) == (None, {})
    assert {key: dumped[key] for key in KEPT} == {key: old[key] for key in KEPT}
    assert dumped["conditions"].pop("bridged") is None
    assert dumped["conditions"].pop("phy_link_delay_us") is None  # not recorded
    assert dumped["conditions"].pop("access_point") is None  # nor was there any
    assert dumped["conditions"] == old["settings"]
    assert new.workload == "ping_pong" and new.headline == COMPUTED
    assert new.settings == {"messages": 4}


def test_figures_of_measured_rows() -> None:
    native, _, _, unix = storage.read(STORED).rows
    assert native.figures == {"total_us": 871, "messages_per_s": 4592.422502870264, "ready_us": 1505238}
    assert native.samples == {"round_trip_us": [218, 217, 218, 218]}
    assert native.build == native.image_file == "portbench-native.uf2"
    assert unix.figures == {"total_us": 103, "messages_per_s": 38834.95145631068, "ready_us": 584}
    assert unix.build == unix.runtime == "micropython-unix"


def test_rows_that_were_not_measured() -> None:
    _, skipped, failed, _ = storage.read(STORED).rows
    assert (skipped.status, failed.status) == (Status.SKIPPED, Status.FAILED)
    assert skipped.figures == failed.figures == {} and skipped.samples == failed.samples == {}
    assert skipped.published == Published(values=[1000 / 89.8] * 3, source="S. Hennion, 2023-09-25")
    assert failed.published is None


def test_rate_is_worked_out_where_the_file_has_none() -> None:
    (row,) = read(with_row(messages_per_s=None)).rows
    assert row.value == 4e6 / 871


def test_tables_of_an_old_file() -> None:
    titles = [table.title for table in tables(storage.read(STORED))]
    assert titles == ["Ping-pong: emulated", "Ping-pong: hosted", "Not measured"]


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"settings": "fast"}, "rows[1].conditions is 'fast'"),
        ({"settings": {"spi": 1}}, "rows[1].conditions.spi is 1"),
        ({"published": "somewhere"}, "rows[1].published is 'somewhere'"),
        ({"published": {"total_s": [1], "messages": 0, "source": "s"}}, "rows[1].published"),
        ({"published": {"total_s": [1e-300], "messages": 10**400, "source": "s"}}, "rows[1].published"),
        ({"published": {"total_s": [1], "messages": 1, "source": ""}}, "rows[1].published.source"),
        ({"total_us": None, "messages_per_s": None}, "needs a headline figure above 0"),
        ({"messages": 10**400, "messages_per_s": None}, "rows[1].settings.messages"),
        ({"total_us": 1e-300, "messages_per_s": None, "messages": 10**17}, "figures.messages_per_s is inf"),
        ({"round_trip_us": 5}, "rows[1].samples.round_trip_us is 5"),
        ({"speed": 3}, "rows[1].speed is 3"),
        ({"messages": [4]}, "rows[1].settings.messages"),
    ],
)
def test_what_schema_1_never_had_is_refused(changes: dict[str, Any], part: str) -> None:
    with pytest.raises(StorageError) as caught:
        read(with_row(**changes))
    line = str(caught.value)
    assert line.startswith(f"{STORED}: ") and part in line and "\n" not in line


NUMBERS = st.integers() | st.floats() | st.sampled_from([0, -1, 10**400, 2**63, 1e308, 5e-324])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def changed_documents(draw: st.DrawFn) -> dict[str, Any]:
    """The stored file with some of its values, of whatever depth, replaced or left out."""
    document = copy.deepcopy(DOCUMENT)
    for _ in range(draw(st.integers(1, 4))):
        place: Any = document
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = draw(st.sampled_from(keys))
            inner = place[key]
            if not isinstance(inner, dict | list) or not inner or draw(st.booleans()):
                break
            place = inner
        if draw(st.booleans()):
            place[key] = draw(VALUES)
        elif len(place) > 1:
            del place[key]
    return document | {"schema_version": 1}


@given(changed_documents())
def test_any_change_is_read_or_refused_in_one_line(document: dict[str, Any]) -> None:
    try:
        run = read(document)
    except StorageError as error:
        assert str(error).startswith(f"{STORED}: ") and "\n" not in str(error)
    else:
        assert run == storage.parse(storage.to_json(run), STORED)


@given(st.dictionaries(st.sampled_from(["rows", "machine", "started_utc", "x"]), VALUES, max_size=4))
def test_any_document_is_read_or_refused_in_one_line(document: dict[str, Any]) -> None:
    with pytest.raises(StorageError) as caught:
        read(document | {"schema_version": 1})
    assert "\n" not in str(caught.value)


def test_rows_of_today_are_no_rows_of_schema_1() -> None:
    new = Row.model_validate(storage.read(STORED).rows[0]).model_dump(mode="json")
    with pytest.raises(StorageError, match=r"schema1\.json: rows\[1\]"):
        read(DOCUMENT | {"rows": [new]})
