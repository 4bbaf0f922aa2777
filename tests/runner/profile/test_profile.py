"""Profiles of whole runs: of the native client, which needs no image, and of MicroPython where one is at hand."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from portbench.boards import Deadline
from portbench.boards.emulated.config import EmulatedConfig
from portbench.boards.emulated.replay import Figures, Replay
from portbench.firmware.uf2 import flash_content
from portbench.runner.profile.export import folded, speedscope
from portbench.runner.profile.measure import measured_window
from portbench.runner.profile.model import ProfiledFunction, RunProfile, exact_profile, sampled_profile
from portbench.runner.profile.symbols import Symbol, Symbols
from portbench.runner.profile.view import compare
from tests.ping_pong import EVB, NATIVE_IMAGE
from tests.runner.profile.in_speedscope import in_speedscope

pytestmark = pytest.mark.engine


def limit() -> Deadline:
    return Deadline(120, "profile")


@pytest.fixture(scope="module")
def replay() -> Replay:
    return Replay(EVB, EmulatedConfig(phy_link_delay_us=1000), flash_content(NATIVE_IMAGE), "ping_pong", {})


@pytest.fixture(scope="module")
def figures(replay: Replay) -> Figures:
    return replay.run(limit())


@pytest.fixture(scope="module")
def window(figures: Figures) -> tuple[float, float]:
    """Ten messages."""
    received_us = figures.sessions[0].received_us
    return received_us[10], received_us[20]


@pytest.fixture(scope="module")
def exact(replay: Replay, figures: Figures, window: tuple[float, float]) -> dict[str, Any]:
    return replay.profile(figures, window, limit())


def test_each_cycle_of_the_window_is_accounted_for(exact: dict[str, Any], window: tuple[float, float]) -> None:
    """`Replay.profile` itself raises where the profile had changed the run."""
    nodes = exact["nodes"]
    of_core0 = sum(spent[1] + asleep for _, _, core, _, _, spent, asleep in nodes if core == 0)
    elapsed = (window[1] - window[0]) * exact["hz"] / 1e6
    assert of_core0 == pytest.approx(elapsed, abs=40), "but for the instruction at each end"
    assert sum(spent[0] for _, spent in exact["addresses"]) == exact["instructions"]
    assert sum(spent[0] for _, _, _, _, _, spent, _ in nodes) == exact["instructions"]


def test_the_native_client_runs_from_sram_and_calls(exact: dict[str, Any], window: tuple[float, float]) -> None:
    profile = exact_profile(exact, Symbols(), window, "native")
    assert set(profile.by_region()) == {"SRAM"} and profile.stalls == 0
    calls = {function.name: function.calls for function in profile.functions}
    assert sum(calls.values()) > 10 and profile.cycles == sum(stack.cycles for stack in profile.stacks)
    assert max(len(stack.frames) for stack in profile.stacks) >= 3


def test_samples_see_what_is_there(replay: Replay, figures: Figures, window: tuple[float, float]) -> None:
    raw = replay.profile(figures, window, limit(), samples_hz=500_000)
    profile = sampled_profile(raw, Symbols(), window, 500_000, "native")
    seconds = (window[1] - window[0]) / 1e6
    assert profile.cycles == pytest.approx(seconds * raw["hz"], rel=0.01)
    assert set(profile.by_region()) == {"SRAM"}


def test_the_window_is_from_the_first_exchange_to_the_last(figures: Figures) -> None:
    received_us = figures.sessions[0].received_us
    assert measured_window(figures) == (received_us[0], received_us[-1])
    assert measured_window(Figures(None, [], 123.0, {})) == (0.0, 123.0)


RAW: dict[str, Any] = {
    "hz": 1_000_000,
    "instructions": 9,
    "starts": [0x1000_0200],
    "addresses": [
        (0x1000_0100, (2, 20, 10, 1)),
        (0x1000_0204, (3, 3, 0, 0)),
        (0x2000_0000, (4, 8, 0, 0)),
    ],
    "nodes": [
        (0, 0, 0, 0, 0, (0, 0, 0, 0), 0),
        (1, 0, 1, 0, 0, (0, 0, 0, 0), 0),
        (0, 0x1000_0100, 0, 0, 1, (2, 20, 10, 1), 7),
        (2, 0x1000_0200, 0, 0, 3, (3, 3, 0, 0), 0),
        (2, 0x2000_0000, 0, 15, 1, (4, 8, 0, 0), 0),
    ],
    "evictions": [(0x100, 0x200, 4), (0x100, None, 1), (0x5000, 0x100, 2)],
}
NAMES = Symbols([Symbol(0x1000_0100, 0x40, "main"), Symbol(0x2000_0000, 0x10, "tick;ed")])


def known() -> RunProfile:
    return exact_profile(RAW, NAMES, (0.0, 38.0), "known")


def test_a_profile_by_functions() -> None:
    profile = known()
    assert profile.functions == (
        ProfiledFunction("main", "flash", 2, 20, 10, 1, 1),
        ProfiledFunction("tick;ed", "SRAM", 4, 8, 0, 0, 1),
        ProfiledFunction("0x10000200", "flash", 3, 3, 0, 0, 3),
    )
    assert profile.by_region() == {"flash": 23, "SRAM": 8} and profile.asleep == (7, 0)
    assert profile.evictions == (("main", "0x10000200", 4), ("0x10005000..", "main", 2))
    assert profile.missed == (("main", 5), ("0x10005000..", 2))


def test_folded_stacks() -> None:
    assert folded(known()) == ("core 0;main 20\ncore 0;main;0x10000200 3\ncore 0;main;tick:ed [SysTick] 8\n")


@pytest.mark.slow
def test_speedscope_takes_the_file(tmp_path: Path) -> None:
    """The tool itself, and by the JSON Schema that its package brings."""
    content = json.loads(json.dumps(speedscope(known())))
    (profile,) = content["profiles"]
    names = [frame["name"] for frame in content["shared"]["frames"]]
    stacks = {
        tuple(names[frame] for frame in stack): weight
        for stack, weight in zip(profile["samples"], profile["weights"], strict=True)
    }
    assert stacks == {
        ("main",): 20.0,
        ("main", "0x10000200"): 3.0,
        ("main", "tick;ed [SysTick]"): 8.0,
        ("(asleep)",): 7.0,
    }
    file = tmp_path / "profile.json"
    file.write_text(json.dumps(content))
    opened = in_speedscope(file, tmp_path)
    assert (opened.imported_as, opened.complaints) == ("Importing as speedscope json file", ())
    assert opened.title == f"{content['name']} - speedscope" and "core 0" in opened.text
    schema = json.loads((tmp_path / "package" / "dist" / "release" / "file-format-schema.json").read_text())
    jsonschema.validate(content, schema)
    content["profiles"][0]["weights"] = "many"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, schema)


def moved(region: str, share: int) -> RunProfile:
    functions = (
        ProfiledFunction("loop", region, cycles=share),
        ProfiledFunction("0x10000000", "flash", cycles=100 - share),
    )
    return RunProfile(False, 1, (0.0, 1.0), functions, (), (0, 0), (), (), region)


def test_what_moved_is_said() -> None:
    said = compare(moved("SRAM", 40), moved("flash", 30))
    assert said[0] == "loop runs from SRAM in SRAM (40 % of its cycles) and from flash in flash (30 %)."
    assert said[-1] == "Code in flash takes 60 % of the cycles there and 100 % here."


@pytest.mark.parametrize(
    ("one", "two"), [(moved("flash", 40), moved("flash", 30)), (moved("SRAM", 1), moved("flash", 1))]
)
def test_what_did_not_move_or_does_not_matter_is_not_said(one: RunProfile, two: RunProfile) -> None:
    assert len(compare(one, two)) == 1
