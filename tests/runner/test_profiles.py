"""Which of an image's profiles a workload is measured with: those that make a difference to it."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from portbench.boards import board_definition
from portbench.firmware.catalogue import Catalogue, Family, FirmwareEntry, Profile
from portbench.results.model import Status
from portbench.runner.collect import RowDraft
from portbench.runner.options import BenchOptions
from portbench.runner.plan import PlannedRow, plan
from portbench.where import Where
from portbench.workloads import Readiness, Workload, WorkloadSettings
from tests.workloads.own import Alone


class Settings(WorkloadSettings):
    size: int = Field(1, description="of it")


class Sized(Alone):
    settings_type = Settings

    def body(self, language: str) -> Path | None:
        return Path(__file__)


class Connected(Sized):
    name = "connected"
    readiness = Readiness.CONNECTED


ASKED = Profile("as-published", spi_hz=2_000_000, intn=False)
TUNED = Profile("tuned", intn=True)
LARGE = Profile("large", settings={"alone": {"size": 100}})


def rows(workload: Workload, *profiles: Profile, **change: Any) -> list[PlannedRow]:
    entry = FirmwareEntry("port-1", Family.MICROPYTHON, "W5500_EVB_PICO", profiles, version="1", file="port.uf2")
    options = BenchOptions().but(board=board_definition("W5500_EVB_PICO"), workloads=(workload,), runs=1)
    return plan(options.but(**change), Catalogue((Path("catalogue.toml"),), (entry,)))


def stored_profile(row: PlannedRow) -> str | None:
    return RowDraft(row, Where.EMULATED).ended(Status.SKIPPED, "not today").profile


def test_with_a_network_every_profile_is_measured() -> None:
    planned = rows(Connected(), ASKED, TUNED)
    assert [row.id for row in planned] == ["port-1-as-published-connected", "port-1-tuned-connected"]
    assert [stored_profile(row) for row in planned] == ["as-published", "tuned"]


def test_without_a_network_profiles_that_set_only_that_are_one_and_are_not_named() -> None:
    (row,) = rows(Sized(), ASKED, TUNED)
    assert (row.id, row.label, stored_profile(row)) == ("port-1-alone", "port-1 alone", None)


def test_a_profile_with_settings_of_the_workload_is_one_of_its_own() -> None:
    planned = rows(Sized(), ASKED, TUNED, LARGE)
    assert [row.id for row in planned] == ["port-1-alone", "port-1-large-alone"]
    assert [row.settings for row in planned] == [Settings(size=1), Settings(size=100)]
    assert [stored_profile(row) for row in planned] == [None, "large"]


@pytest.mark.parametrize("asked", ["as-published", "tuned"])
def test_any_profile_that_is_asked_for_is_measured(asked: str) -> None:
    (row,) = rows(Sized(), ASKED, TUNED, profiles=(asked,))
    assert row.profile.name == asked


def test_settings_that_are_asked_for_make_profiles_one() -> None:
    (row,) = rows(Sized(), ASKED, LARGE, settings={"size": 7})
    assert row.settings == Settings(size=7)
