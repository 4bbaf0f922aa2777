"""What was published is laid beside the same figure as measured, whichever of the workload's figures it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from portbench.boards import board_definition
from portbench.firmware import catalogue
from portbench.firmware.catalogue import Family, FirmwareEntry, Profile
from portbench.results.model import Machine, Published, Row, RunFile
from portbench.results.table import tables
from portbench.runner.collect import RowDraft
from portbench.runner.options import BenchOptions, OptionError
from portbench.runner.plan import PlannedRow
from portbench.where import Where
from portbench.workloads import Measurement, Metric, Readiness, Session, Workload, WorkloadSettings

MACHINE = Machine(system="Linux", release="6", architecture="x86_64", processor="CPU", cores=2, python="CPython 3.11")


class Sums(Workload):
    """Its headline is made of both parts, `half_per_s` of one."""

    name = "sums"
    title = "Sums"
    readiness = Readiness.BOOTED
    headline = Metric("per_s", "1/s")
    comparable = ("half_per_s",)
    settings_type = WorkloadSettings

    def check(
        self, result: Mapping[str, Any], settings: WorkloadSettings, sessions: Sequence[Session] = ()
    ) -> Measurement:
        return Measurement(self.derive(result, settings))

    def derive(self, figures: Mapping[str, float], settings: WorkloadSettings) -> dict[str, float]:
        derived = dict(figures)
        if "one_us" in figures:
            derived["half_per_s"] = 1e6 / figures["one_us"]
        if "one_us" in figures and "other_us" in figures:
            derived["per_s"] = 1e6 / (figures["one_us"] + figures["other_us"])
        return derived


def published(**figures: tuple[float, ...]) -> Published | None:
    profile = Profile("default", published=(catalogue.Published("sums", {}, figures, "somebody, 2024"),))
    entry = FirmwareEntry("port-1", Family.MICROPYTHON, "W5500_EVB_PICO", (profile,), version="1", file="port.uf2")
    planned = PlannedRow(entry, profile, Sums(), WorkloadSettings(), board_definition("W5500_EVB_PICO"))
    return RowDraft(planned, BenchOptions(), Where.EMULATED).skipped("not today").published


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        (
            {"one_us": (10.0, 20.0), "other_us": (30.0, 30.0)},
            Published(values=[25_000, 20_000], source="somebody, 2024"),
        ),
        ({"one_us": (10.0,)}, Published(figure="half_per_s", values=[100_000], source="somebody, 2024")),
    ],
)
def test_the_headline_if_it_follows_from_what_was_published_else_the_next_best(
    figures: dict[str, tuple[float, ...]], expected: Published | None
) -> None:
    assert published(**figures) == expected


def test_figures_that_nothing_can_be_laid_beside_are_a_slip_of_the_catalogue() -> None:
    with pytest.raises(OptionError, match=r"^profile 'default': published for sums by somebody, 2024: "):
        published(other_us=(10.0,))


def cells(beside: Published, **figures: float) -> dict[str, str]:
    row = Row(
        workload="sums",
        runtime="port-1",
        build="port.uf2",
        family="micropython",
        version="1",
        where="emulated",
        status="measured",
        headline={"name": "per_s", "unit": "1/s"},
        figures=figures,
        published=beside,
    )
    (table,) = tables(RunFile(started_utc=datetime(2026, 1, 2, tzinfo=UTC), machine=MACHINE, rows=[row]))
    return dict(zip(table.columns, table.rows[0], strict=True))


def test_the_ratio_is_of_the_figure_that_was_published() -> None:
    shown = cells(Published(figure="half_per_s", values=[200, 100, 400], source="somebody"), per_s=10, half_per_s=150)
    assert (shown["silicon"], shown["ratio"], shown["notes"]) == ("200.0", "0.75", "silicon (half_per_s): somebody")
    shown = cells(Published(values=[20], source="somebody"), per_s=10, half_per_s=150)
    assert (shown["silicon"], shown["ratio"], shown["notes"]) == ("20", "0.50", "silicon: somebody")


def test_a_row_without_that_figure_has_no_ratio() -> None:
    shown = cells(Published(figure="half_per_s", values=[200], source="somebody"), per_s=10)
    assert shown["silicon"] == "200.0" and "ratio" not in shown
