"""Notation of a setting's values, and the settings that exist."""

from typing import Any

import pytest

from portbench.errors import OptionError
from portbench.runner.settings import (
    Setting,
    as_number,
    known_settings,
    read_settings,
    workload_settings,
)
from portbench.workloads import workload, workloads

PING_PONG = workload("ping_pong")


def values(text: str) -> tuple[Any, ...]:
    (axis,) = read_settings([text], [PING_PONG]).values()
    return axis.values


def test_values_are_lists_and_ranges_with_units() -> None:
    assert values("spi_hz=1M..32M*2") == (1_000_000, 2_000_000, 4_000_000, 8_000_000, 16_000_000, 32_000_000)
    assert values("spi-hz=500k,2_000_000,33.25M") == (500_000, 2_000_000, 33_250_000)
    assert values("turnaround_us=0..1000+250") == (0, 250, 500, 750, 1000)
    assert values("messages=1,10..30+10") == (1, 10, 20, 30)
    assert values("phy_link_delay_s=0.5,1e0,3") == (0.5, 1.0, 3.0)
    assert values("intn=no,YES") == (False, True)
    assert values("seed=fixed") == ("fixed",)


@pytest.mark.parametrize(
    "text, line",
    [
        ("spi_hz", "-s 'spi_hz': is not NAME=VALUE; write messages=100 or spi_hz=2M,8M,20M"),
        (
            "mesages=9",
            "unknown setting 'mesages'; did you mean messages? settings of ping_pong: messages; see: portbench list"
            " settings",
        ),
        ("server_port=70000", "server_port: 70000 is not a whole number from 0 to 65 535"),
        ("timeout_flash_s=0", "timeout_flash_s: 0 is not a number from 0.001 to 86 400"),
        ("phy_link_delay_s=61", "phy_link_delay_s: 61 is not a number from 0 to 60"),
        ("phy_link_delay_s=nan", "phy_link_delay_s: 'nan' is not a number; write 200, 8M or 0.5"),
        ("phy_link_delay_s=1e999", "phy_link_delay_s: 1e999 is too large"),
        ("address_mode=ppp", "address_mode: unknown value 'ppp'; choose one of dhcp, static"),
        ("server_port=1,2", "server_port: has 2 values; give one, which is for all rows"),
        ("spi_hz=1.5", "spi_hz: 1.5 is not a whole number"),
        ("spi_hz=2M,2_000_000", "spi_hz: 2000000 is given twice; give each value once"),
        ("intn=no,off", "intn: False is given twice; give each value once"),
        ("spi_hz=1..2+0", "spi_hz: 1..2+0 does not grow; write 1..32*2 or 0..100+25"),
        ("spi_hz=4M..1M*1", "spi_hz: 4M..1M*1 does not grow; write 1..32*2 or 0..100+25"),
        ("turnaround_us=0..5*2", "turnaround_us: 0..5*2 does not grow; write 1..32*2 or 0..100+25"),
        ("messages=1..10001+1", "messages: 1..10001+1 has more than 10000 values"),
        ("intn=1", "intn: '1' is neither yes nor no"),
        ("runtime=a,,b", "runtime: has an empty value; write its values as runtime=A,B,C"),
        ("turnaround_us=fixed", "turnaround_us: 'fixed' is not a number; write 200, 8M or 0.5"),
    ],
)
def test_a_slip_is_told_in_a_line(text: str, line: str) -> None:
    with pytest.raises(OptionError) as caught:
        read_settings([text], [PING_PONG])
    assert str(caught.value) == line


def test_ranges_hold_their_last_value_and_as_many_as_the_limits() -> None:
    assert values("phy_link_delay_s=0.1..0.3+0.1") == (0.1, 0.2, 0.3)
    assert values("spi_hz=3..20*2") == (3, 6, 12)
    assert values("messages=5..5+1") == (5,)
    assert values("messages=6..5+1,1") == (1,)
    assert values("phy_link_delay_s=1..2*1.5") == (1.0, 1.5)
    assert len(values("messages=1..10000+1")) == 10_000
    hundred_thousand = read_settings(["turnaround_us=1..1000+1", "messages=1..100+1"], [PING_PONG]).values()
    assert [len(axis.values) for axis in hundred_thousand] == [1000, 100]
    with pytest.raises(OptionError) as caught:
        read_settings(["turnaround_us=1..1000+1", "messages=1..101+1"], [PING_PONG])
    assert str(caught.value) == "the settings have 101000 combinations, more than 100000; leave out some values"


def test_every_word_of_a_switch_and_every_unit() -> None:
    assert values("intn=yes,no") == values("intn=true,false") == values("intn=on,off") == (True, False)
    assert values("spi_hz=1k,2M,3e3,4_0") == (1000, 2_000_000, 3000, 40)
    assert values("seed=fixed,7") == ("fixed", 7)
    assert values("runtime=a,b..c,d=e.uf2") == ("a", "b..c", "d=e.uf2")
    (trial,) = read_settings(["trial=cable"], [workload("many")]).values()
    assert (trial.setting.kind, trial.values) == ("word", ("cable",))


def test_what_can_be_drawn_along_a_scale() -> None:
    assert [as_number(value) for value in (3, 0.5, "7", "fast", True, None)] == [3.0, 0.5, 7.0, None, None, None]
    axes = read_settings(
        ["spi_hz=1M,2M", "messages=5", "seed=fixed,1", "intn=no,yes", "runtime=1,2"], [PING_PONG]
    ).values()
    assert [axis.name for axis in axes if axis.is_numeric] == ["spi_hz", "runtime"]


def test_each_setting_is_of_a_kind_and_of_a_part() -> None:
    known = known_settings([PING_PONG])
    names = ("runtime", "profile", "spi_hz", "intn", "turnaround_us", "phy_link_delay_s", "messages", "wifi_ssid")
    assert {name: (known[name].kind, known[name].part) for name in names} == {
        "runtime": ("word", "row"),
        "profile": ("word", "row"),
        "spi_hz": ("whole", "profile"),
        "intn": ("switch", "profile"),
        "turnaround_us": ("whole", "surroundings"),
        "phy_link_delay_s": ("number", "surroundings"),
        "messages": ("whole", "workload"),
        "wifi_ssid": ("text", "bench"),
    }
    assert known["messages"] == Setting(
        "messages", "whole", "workload", "messages of one run", 1000, workloads=("ping_pong",)
    )
    kinds = {each.name: each.kind for each in workload_settings(workloads().values()).values()}
    assert {name: kinds[name] for name in ("sizes", "path", "partner", "page", "passes")} == {
        "sizes": "text",
        "path": "text",
        "partner": "word",
        "page": "word",
        "passes": "whole",
    }


def test_a_setting_given_again_has_more_values() -> None:
    (axis,) = read_settings(["spi_hz=1M", "spi-hz=2M"], [PING_PONG]).values()
    assert axis.values == (1_000_000, 2_000_000)
    (lists,) = read_settings(["sizes=56,512", "sizes=1300"], [workload("ping")]).values()
    assert lists.values == ("56,512", "1300")


def test_each_workload_has_its_settings_and_a_network_those_of_its_profile() -> None:
    for each in workloads().values():
        assert set(each.settings_type.model_fields) <= set(known_settings([each]))
    assert {"spi_hz", "turnaround_us"} <= set(known_settings([PING_PONG]))
    interpreter = workload("interpreter")
    assert "spi_hz" not in known_settings([interpreter])
    read_settings(["turnaround_us=0"], [interpreter])
    with pytest.raises(OptionError, match=r"^turnaround_us: makes no difference to interpreter"):
        read_settings(["turnaround_us=0,1"], [interpreter])
    assert known_settings([workload("sd_card")])["spi_hz"].part == "workload"
