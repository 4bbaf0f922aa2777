"""What others published becomes the figure that ranks rows, or one line before anything starts."""

from __future__ import annotations

from typing import Any

import pytest

from portbench.firmware import catalogue
from portbench.firmware.catalogue import Profile
from portbench.runner.options import OptionError
from portbench.runner.published import published
from portbench.workloads import WORKLOADS_VARIABLE, workload, workloads
from tests.ping_pong import PING_PONG
from tests.workloads.own import FOLDER


def profile(**changes: Any) -> Profile:
    told: dict[str, Any] = {
        "workload": "ping_pong",
        "settings": {"messages": 500},
        "figures": {"total_us": (1_000_000, 2_000_000)},
        "source": "somebody",
    }
    return Profile("own", published=(catalogue.Published(**told | changes),))


def test_each_run_becomes_a_headline_figure() -> None:
    found = published(profile(), PING_PONG)
    assert found is not None and found.values == [500, 250] and found.source == "somebody"


def test_settings_that_are_not_told_are_the_defaults() -> None:
    found = published(profile(settings={}), PING_PONG)
    assert found is not None and found.values == [1000, 500]


def test_what_was_published_of_another_workload_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKLOADS_VARIABLE, str(FOLDER))
    assert published(profile(), workload("spin")) is None
    assert published(Profile("own"), PING_PONG) is None


def test_all_that_the_catalogue_has_can_be_used() -> None:
    found = [
        published(each, kind)
        for entry in catalogue.load()
        for each in entry.profiles
        for kind in workloads().values()
        if any(told.workload == kind.name for told in each.published)
    ]
    assert len(found) >= 4
    assert {round(each.values[0], 3) for each in found if each} >= {3.862, 38.023, 726.216, 11.136}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"settings": {"mesages": 500}}, "mesages is 500; the key is unknown, remove it"),
        ({"settings": {"messages": 0}}, "messages is 0; input should be greater than or equal to 1"),
        ({"figures": {"messages_per_s": (15,)}}, "'total_us' is not among the figures"),
        ({"figures": {"total_us": (1,), "ready_us": (1, 2)}}, "the figures have different numbers of runs"),
    ],
)
def test_what_cannot_be_used_is_one_line(changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(OptionError) as caught:
        published(profile(**changes), PING_PONG)
    assert str(caught.value) == f"profile 'own': published for ping_pong by somebody: {reason}"
