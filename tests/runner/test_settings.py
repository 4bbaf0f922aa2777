"""A workload's settings: of the command line, the catalogue and the workload, and checked before anything starts."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.errors import OptionError
from portbench.firmware.catalogue import Profile
from portbench.runner.options import What, read_options
from portbench.runner.plan import plan
from portbench.runner.settings import workload_settings
from portbench.workloads import WORKLOADS_VARIABLE, workload, workloads
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


def test_a_setting_that_several_workloads_have_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_own("pong_again", "messages", tmp_path, monkeypatch)
    assert {"ping_pong", "pong_again"} <= set(workload_settings(workloads().values())["messages"].workloads)
    what = read_options({"workload": ["ping_pong", "pong_again"], "messages": "7"}).what
    assert [what.settings_for(each, TUNED).model_dump() for each in what.workloads] == [{"messages": 7}] * 2


def test_a_setting_that_has_the_name_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_own("clashing", "seed", tmp_path, monkeypatch)
    line = "workload clashing: seed is the name of another setting; rename it"
    assert refusal(lambda: read_options({"workload": ["clashing"]})) == line


def test_a_broken_workload_is_told_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKLOADS_VARIABLE, str(tmp_path / "absent"))
    line = f"{WORKLOADS_VARIABLE}: {tmp_path / 'absent'} is not a folder; name the folder that holds workloads"
    assert refusal(lambda: read_options({})) == line


PROFILE = Profile("short", settings={"ping_pong": {"messages": 40}, "spin": {"passes": 9}})


@pytest.mark.parametrize(
    ("what", "profile", "messages"),
    [
        (What(), TUNED, 1000),
        (What(), PROFILE, 40),
        (What(settings={"messages": 7}), PROFILE, 7),
        (What(settings={"passes": 7}), PROFILE, 40),
        (What(quick=True), TUNED, 20),
        (What(quick=True), PROFILE, 40),
        (What(quick=True, settings={"messages": 7}), PROFILE, 7),
    ],
)
def test_asked_for_comes_before_the_catalogue_and_that_before_the_default(
    what: What, profile: Profile, messages: int
) -> None:
    assert what.settings_for(PING_PONG, profile).model_dump() == {"messages": messages}


def test_text_becomes_what_the_setting_is() -> None:
    options = read_options({"workload": ["spin"], "setting": ["passes=12", "backwards=yes"]})
    assert options.what.settings_for(workload("spin"), TUNED).model_dump() == {"passes": 12, "backwards": True}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"messages": "0"}, "messages: 0 is not greater than or equal to 1 (ping_pong)"),
        (
            {"workload": ["echo"], "setting": ["block-bytes=2000"]},
            "block_bytes: 2000 is not less than or equal to 1024 (echo)",
        ),
    ],
)
def test_a_setting_out_of_range_is_one_line(given: dict[str, Any], says: str) -> None:
    assert refusal(lambda: plan(read_options({"runtime": ["micropython-unix"], **given}))).startswith(says)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"messages": 0}, "profile 'own': messages: 0 is not greater than or equal to 1 (ping_pong)"),
        ({"mesages": 7}, "profile 'own': mesages: is not a setting of ping_pong; it has messages"),
    ],
)
def test_a_catalogues_setting_that_cannot_be_is_one_line(settings: dict[str, Any], says: str) -> None:
    profile = Profile("own", settings={"ping_pong": settings})
    assert refusal(lambda: What().settings_for(PING_PONG, profile)) == says


def test_a_setting_of_a_workload_that_is_not_measured() -> None:
    assert refusal(lambda: read_options({"setting": ["passes=3"]})) == (
        "passes: is a setting of interpreter, spin, not of ping_pong; choose another --workload"
    )
    given = {"workload": ["ping_pong", "echo"], "messages": "3", "setting": ["backwards=yes"]}
    assert refusal(lambda: read_options(given)) == (
        "backwards: is a setting of spin, not of ping_pong, echo; choose another --workload"
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
    try:
        options = read_options({"workload": ["ping_pong", "spin", "echo"], "setting": [f"{name}={text}"]})
        settings = [(each, options.what.settings_for(each, TUNED)) for each in options.what.workloads]
    except OptionError as error:
        assert str(error).startswith(f"{name}: ") and "\n" not in str(error)
    else:
        assert all(type(each) is of.settings_type for of, each in settings)
