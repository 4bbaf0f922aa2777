"""A workload's settings: each an option by itself, a key of the catalogue, and checked before anything starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.errors import OptionError
from portbench.firmware.catalogue import Profile
from portbench.runner.options import BenchOptions, read_options, workload_options
from portbench.runner.plan import plan
from portbench.workloads import WORKLOADS_VARIABLE, workload
from tests.ping_pong import PING_PONG
from tests.workloads.own import FOLDER

TUNED = Profile("tuned")


@pytest.fixture(autouse=True)
def _own_workloads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKLOADS_VARIABLE, str(FOLDER))


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(OptionError) as caught:
        call()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_each_setting_is_an_option() -> None:
    options = {option.flag: option for option in workload_options()}
    assert "ping_pong: messages of one run (default 1000)" in options["--messages"].help.split("; ")
    assert "spin: passes through the loop (default 100)" in options["--passes"].help.split("; ")
    assert options["--block-bytes"].name == "block_bytes" and options["--block-bytes"].default is None
    assert {"--backwards", "--blocks"} < set(options)


def own_script(name: str, field: str) -> str:
    """A user's workload with one setting."""
    return (
        "from pydantic import Field\n"
        "from portbench.workloads import WorkloadSettings\n"
        "from portbench.workloads.ping_pong.workload import PingPongWorkload\n"
        f"class Settings(WorkloadSettings):\n    {field}: int = Field(5, description='more of it')\n"
        f"class Own(PingPongWorkload):\n    name = {name!r}\n    settings_type = Settings\n"
        "WORKLOAD = Own()\n"
    )


def use_own(name: str, field: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / name).mkdir()
    (folder / name / "workload.py").write_text(own_script(name, field), encoding="utf-8")
    monkeypatch.setenv(WORKLOADS_VARIABLE, str(folder))


def test_a_setting_that_several_workloads_have_is_one_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_own("pong_again", "messages", tmp_path, monkeypatch)
    (messages,) = (option for option in workload_options() if option.flag == "--messages")
    said = messages.help.split("; ")
    assert {"ping_pong: messages of one run (default 1000)", "pong_again: more of it (default 5)"} <= set(said)
    options = read_options({"workload": ["ping_pong", "pong_again"], "messages": "7"})
    assert [options.settings_for(each, TUNED).model_dump() for each in options.workloads] == [{"messages": 7}] * 2


def test_a_setting_that_has_the_name_of_an_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_own("clashing", "runs", tmp_path, monkeypatch)
    assert refusal(workload_options) == (
        "setting 'runs' of a workload (clashing: more of it (default 5)) has the name of an option; rename it"
    )


def test_a_broken_workload_is_told_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKLOADS_VARIABLE, str(tmp_path / "absent"))
    line = f"{WORKLOADS_VARIABLE}: {tmp_path / 'absent'} is no folder; name the folder that holds workloads"
    assert refusal(workload_options) == refusal(lambda: read_options({})) == line


PROFILE = Profile("short", settings={"ping_pong": {"messages": 40}, "spin": {"passes": 9}})


@pytest.mark.parametrize(
    ("options", "profile", "messages"),
    [
        (BenchOptions(), TUNED, 1000),
        (BenchOptions(), PROFILE, 40),
        (BenchOptions(settings={"messages": "7"}), PROFILE, 7),
        (BenchOptions(settings={"passes": "7"}), PROFILE, 40),
        (BenchOptions(quick=True), TUNED, 20),
        (BenchOptions(quick=True), PROFILE, 40),
        (BenchOptions(quick=True, settings={"messages": "7"}), PROFILE, 7),
    ],
)
def test_asked_for_comes_before_the_catalogue_and_that_before_the_default(
    options: BenchOptions, profile: Profile, messages: int
) -> None:
    assert options.settings_for(PING_PONG, profile).model_dump() == {"messages": messages}


def test_text_becomes_what_the_setting_is() -> None:
    options = read_options({"workload": ["spin"], "passes": "12", "backwards": "yes"})
    assert options.settings_for(workload("spin"), TUNED).model_dump() == {"passes": 12, "backwards": True}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"messages": "0"}, "--messages: '0' is not greater than or equal to 1 (ping_pong)"),
        ({"messages": "1000001"}, "--messages: '1000001' is not less than or equal to 1000000 (ping_pong)"),
        ({"messages": "many"}, "--messages: 'many' is not a valid integer, unable to parse string as an integer (p"),
        ({"messages": "1.5"}, "--messages: '1.5' is not a valid integer, "),
        ({"messages": ""}, "--messages: '' is not a valid integer, "),
        (
            {"workload": ["echo"], "block_bytes": "2000"},
            "--block-bytes: '2000' is not less than or equal to 1024 (echo)",
        ),
        ({"workload": ["spin"], "backwards": "perhaps"}, "--backwards: 'perhaps' is not a valid boolean, "),
    ],
)
def test_a_setting_out_of_range_is_one_line(given: dict[str, Any], says: str) -> None:
    assert refusal(lambda: plan(read_options({"runtime": ["micropython-unix"], **given}))).startswith(says)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"messages": 0}, "profile 'own': messages: 0 is not greater than or equal to 1 (ping_pong)"),
        ({"mesages": 7}, "profile 'own': mesages: is no setting of ping_pong; it has messages"),
    ],
)
def test_a_catalogues_setting_that_cannot_be_is_one_line(settings: dict[str, Any], says: str) -> None:
    profile = Profile("own", settings={"ping_pong": settings})
    assert refusal(lambda: BenchOptions().settings_for(PING_PONG, profile)) == says


def test_a_setting_of_a_workload_that_is_not_measured() -> None:
    assert refusal(lambda: read_options({"passes": "3"})) == (
        "--passes: is no setting of ping_pong; choose another --workload"
    )
    given = {"workload": ["ping_pong", "echo"], "messages": "3", "backwards": "1"}
    assert refusal(lambda: read_options(given)) == (
        "--backwards: is no setting of ping_pong, echo; choose another --workload"
    )


@pytest.mark.parametrize(
    ("runtime", "messages", "says"),
    [
        ("portbench-native", 50_001, "a board with native has room for 50000 round trips"),
        ("micropython-1.28.0", 100_000, "a board with micropython has room for 8000 round trips"),
        ("wiznet-hardwired", 100_000, "a board with wiznet has room for 12000 round trips"),
        ("circuitpython-9.1.4", 100_000, "a board with circuitpython has room for 2000 round trips"),
    ],
)
def test_what_a_device_cannot_keep_is_told_before_anything_starts(runtime: str, messages: int, says: str) -> None:
    options = read_options({"runtime": [runtime], "messages": str(messages)})
    assert refusal(lambda: plan(options)) == f"{runtime}: messages is {messages}: {says}"


@given(st.sampled_from(["messages", "passes", "backwards", "blocks"]), st.text(max_size=12) | st.integers().map(str))
def test_any_text_is_a_setting_or_one_line(name: str, text: str) -> None:
    options = read_options({"workload": ["ping_pong", "spin", "echo"], name: text})
    for each in options.workloads:
        try:
            settings = options.settings_for(each, TUNED)
        except OptionError as error:
            assert str(error).startswith(f"--{name}: {text!r} is not ") and "\n" not in str(error)
        else:
            assert type(settings) is each.settings_type
