"""A published figure stands beside the measured one; a figure that cannot is one line before anything starts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from portbench.boards import board_definition
from portbench.errors import PortbenchError, UnknownName
from portbench.firmware.catalogue import Family, FirmwareEntry, Profile
from portbench.results.cells import beside
from portbench.results.model import Published, Row, Status
from portbench.results.published import nearest, published_of
from portbench.results.stats import group_rows
from portbench.results.table import tables
from portbench.runner.collect import RowDraft
from portbench.runner.plan import PlannedRow
from portbench.where import Where
from portbench.workloads import WORKLOADS_VARIABLE, PublishedFirmware, PublishedSource, WorkloadSettings, workloads
from portbench.workloads.published import PUBLISHED_FILE, read_published
from tests.ping_pong import PING_PONG
from tests.results.rows import row, run_of
from tests.workloads.own import Alone

OWN = """
[[source]]
who = "an author, 2024"
url = "https://example.org/figures"
board = "W5500_EVB_PICO"
settings = { messages = 500 }
[[source.firmware]]
runtime = "port-1"
family = "micropython"
version = "1.9.0"
profile = "own"
figures = { total_us = [1_000_000, 2_000_000] }
"""


def in_a_folder(text: str, folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / PUBLISHED_FILE).write_text(text, encoding="utf-8")
    return folder


class Sums(Alone):
    """Its headline is made of both parts, `half_per_s` of one."""

    name = "sums"
    comparable = ("half_per_s",)

    def __init__(self, **figures: list[float]) -> None:
        firmware = PublishedFirmware(
            runtime="port-1", family="micropython", version="1", profile="default", figures=figures
        )
        told = {"who": "an author, 2024", "url": "https://example.org", "board": "W5500_EVB_PICO"}
        self.sources = (PublishedSource(**told, firmware=[firmware]),)

    @property
    def published(self) -> tuple[PublishedSource, ...]:
        return self.sources

    def derive(self, figures: Mapping[str, float], settings: WorkloadSettings) -> dict[str, float]:
        derived = dict(figures)
        if "one_us" in figures:
            derived["half_per_s"] = 1e6 / figures["one_us"]
        if "one_us" in figures and "other_us" in figures:
            derived["per_s"] = 1e6 / (figures["one_us"] + figures["other_us"])
        return derived


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        ({"one_us": [10.0, 20.0], "other_us": [30.0, 30.0]}, (None, [25_000, 20_000])),
        ({"one_us": [10.0]}, ("half_per_s", [100_000])),
    ],
)
def test_the_headline_if_it_follows_from_what_was_published_else_the_next_best(
    figures: dict[str, list[float]], expected: tuple[str | None, list[float]]
) -> None:
    profile = Profile("default")
    entry = FirmwareEntry("port-1", Family.MICROPYTHON, "W5500_EVB_PICO", (profile,), version="1", file="port.uf2")
    planned = PlannedRow(entry, profile, Sums(**figures), WorkloadSettings(), board_definition("W5500_EVB_PICO"))
    found = RowDraft(planned, Where.EMULATED).ended(Status.SKIPPED, "not today").published
    assert found is not None and (found.figure, found.values) == expected
    assert (found.source, found.url) == ("an author, 2024", "https://example.org")


@pytest.mark.parametrize(
    ("figures", "reason"),
    [
        ({"other_us": [10.0]}, "'per_s' is not among the figures"),
        ({"one_us": [1.0], "other_us": [1.0, 2.0]}, "the figures have different numbers of runs"),
    ],
)
def test_figures_that_nothing_can_be_laid_beside_are_one_line(figures: dict[str, list[float]], reason: str) -> None:
    with pytest.raises(PortbenchError) as caught:
        published_of(Sums(**figures), "port-1", "default")
    assert str(caught.value) == f"published for sums by an author, 2024: port-1: {reason}"


def test_all_that_is_shipped_can_be_used_and_is_what_the_sources_say() -> None:
    found = {
        (each.runtime, each.profile): published_of(kind, each.runtime, each.profile)
        for kind in workloads().values()
        for source in kind.published
        for each in source.firmware
    }
    assert len(found) >= 5 and all(found.values())
    stated = {runtime: (told.stated, told.median) for (runtime, _), told in found.items() if told and told.stated}
    assert stated == {
        "micropython-1.20.0": (3.9, pytest.approx(3.862, abs=0.001)),
        "circuitpython-8.2.6": (11, pytest.approx(11.136, abs=0.001)),
        "wiznet-1.0.5": (37, pytest.approx(38.023, abs=0.001)),
        "wiznet-2.0.0": (723, pytest.approx(723.066, abs=0.001)),
        "micropython-pico-w-1.22.0": (23_000, 23_000),
        "circuitpython-pico-w-8.0.3": (9_000, 9_000),
    }


def test_a_file_of_figures_is_read(tmp_path: Path) -> None:
    (source,) = read_published(in_a_folder(OWN, tmp_path / "a"))
    (firmware,) = source.firmware
    assert firmware.figures == {"total_us": [1_000_000, 2_000_000]} and firmware.release == (1, 9, 0)
    assert read_published(tmp_path) == ()


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('who = "', 'whom = "', "source[1].who is absent; add it (and 1 more)"),
        ("[1_000_000, ", "[0.0, ", "source[1].firmware[1].figures.total_us[1]"),
        ("[1_000_000, 2_000_000]", "[]", "source[1].firmware[1].figures.total_us is []; "),
        ('url = "https://', 'url = "', "source[1].url is 'example.org/figures'; "),
        ("total_us = [1_000_000", f"total_us = [{'9' * 400}", "source[1].firmware[1].figures.total_us[1]"),
        ("[[source]]", "[[source", "is not TOML"),
    ],
)
def test_a_slip_in_it_is_one_line_that_names_the_file(old: str, new: str, reason: str, tmp_path: Path) -> None:
    folder = in_a_folder(OWN.replace(old, new), tmp_path / "a")
    with pytest.raises(PortbenchError) as caught:
        read_published(folder)
    said = str(caught.value)
    assert said.startswith(f"{folder / PUBLISHED_FILE}: ") and reason in said and "\n" not in said


def test_a_workload_with_such_a_slip_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = in_a_folder("source = 1", tmp_path / "slipped")
    (folder / "workload.py").write_text((Path(__file__).parents[1] / "workloads/own/spin/workload.py").read_text())
    monkeypatch.setenv(WORKLOADS_VARIABLE, str(tmp_path))
    with pytest.raises(UnknownName, match=rf"^{folder / PUBLISHED_FILE}: source is 1"):
        workloads()


def line(*rows: Row) -> dict[str, str]:
    (table,) = tables(run_of(*rows))
    return dict(zip(table.columns, table.rows[0], strict=True))


def test_the_ratio_is_of_the_figure_that_was_published() -> None:
    beside = Published(figure="total_us", values=[2000, 1000, 4000], source="somebody")
    assert (line(row(1500, published=beside))["silicon"], line(row(1500, published=beside))["ratio"]) == (
        "2000",
        "0.75",
    )
    stated = Published(values=[2000], stated=1.9e3, source="somebody")
    assert (line(row(4000, published=stated))["silicon"], line(row(4000, published=stated))["ratio"]) == (
        "1900",
        "0.50",
    )
    lacking = line(row(1500, published=Published(figure="others_us", values=[200], source="somebody")))
    assert lacking["silicon"] == "200.0" and "ratio" not in lacking


def test_firmware_of_the_same_family_stands_in_with_its_version() -> None:
    of = {"board": "W5500_EVB_PICO", "profile": "as-published", "family": "wiznet", "runtime": "wiznet-9"}
    found = nearest(PING_PONG, row(4000, **of))
    assert found is not None and found[0].runtime == "wiznet-2.0.0"  # the newer of two
    shown = line(row(4000, **of))
    assert (shown["silicon"], shown["ratio"]) == ("723 (2.0.0)", f"{1000 / 723.066:.2f}")
    for other in ({"board": "RPI_PICO"}, {"profile": "tuned"}, {"family": "native"}):
        assert nearest(PING_PONG, row(4000, **(of | other))) is None
    published = [each.model_copy(update={"settings": 1}) for each in PING_PONG.published]
    wrong: Any = Mock(wraps=PING_PONG, published=published, settings_type=PING_PONG.settings_type)
    assert beside(group_rows([row(4000, **of)], "ping_pong", Where.EMULATED)[0], wrong) == ("", "")
