"""Defaults that every workload gets from the contract."""

from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import Field, ValidationError

from portbench.workloads import BadResult, Metric, Native, WorkloadResult, WorkloadSettings
from tests.workloads.own import Alone


class Said(WorkloadResult):
    total_us: Annotated[int, Field(ge=1)]
    samples: list[int] = Field(default_factory=list)


class Part(WorkloadResult):
    times_us: list[int]


class Nested(WorkloadResult):
    loops: dict[str, Part]


def test_a_result_may_say_more_than_is_asked() -> None:
    assert Said.read({"total_us": 5, "version": "1.26.0", "sampled": None}) == Said(total_us=5)


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ({}, "the client's total_us is missing"),
        ({"total_us": "5"}, "the client's total_us is '5', not a valid integer"),
        ({"total_us": 0}, "the client's total_us is 0, not greater than or equal to 1"),
        ({"total_us": 1, "samples": [1, 2, "x"]}, "the client's samples[2] is 'x', not a valid integer"),
        (
            {"total_us": "long " * 40},
            f"the client's total_us is {repr('long ' * 40)[:57]}..., not a valid integer",
        ),
    ],
)
def test_a_result_that_does_not_fit_is_one_line(result: dict[str, Any], says: str) -> None:
    with pytest.raises(BadResult) as caught:
        Said.read(result)
    assert str(caught.value) == says


@pytest.mark.parametrize(
    ("loops", "says"),
    [
        (None, "the client's loops is None, not a valid dictionary"),
        ({"add": {}}, "the client's loops.add.times_us is missing"),
        ({"add": {"times_us": [1, "2"]}}, "the client's loops.add.times_us[1] is '2', not a valid integer"),
    ],
)
def test_a_fault_deep_within_a_result_has_its_path(loops: Any, says: str) -> None:
    with pytest.raises(BadResult) as caught:
        Nested.read({"loops": loops})
    assert str(caught.value) == says


def test_how_many_times_better() -> None:
    assert Metric("messages_per_s", "messages/s").factor(30, 10) == 3
    assert Metric("lag_us", "us", "lower").factor(30, 10) == pytest.approx(1 / 3)


class Settings(WorkloadSettings):
    passes: int = 3


@pytest.mark.parametrize("values", [{"passes": "3"}, {"passes": 3.5}, {"pases": 3}])
def test_settings_are_exactly_what_they_are_called(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Settings(**values)


class Compiled(Alone, Native):
    """Has the files that a test gives it."""

    folder: Any = None

    def native_settings(self, settings: WorkloadSettings) -> list[int]:
        return [1]


@pytest.mark.parametrize(
    ("files", "bodies"),
    [
        ([], {}),
        (["python.py"], {"micropython": "python.py", "circuitpython": "python.py"}),
        (["micropython.py"], {"micropython": "micropython.py"}),
        (["python.py", "circuitpython.py"], {"micropython": "python.py", "circuitpython": "circuitpython.py"}),
    ],
)
def test_a_languages_own_body_comes_before_the_one_for_all(
    files: list[str], bodies: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in files:
        (tmp_path / name).touch()
    monkeypatch.setattr(Compiled, "folder", tmp_path)
    workload = Compiled()
    found = {language: workload.body(language) for language in ("micropython", "circuitpython", "lua")}
    assert {language: path.name for language, path in found.items() if path} == bodies


def test_each_chip_has_a_native_body_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "native.uf2").touch()
    monkeypatch.setattr(Compiled, "folder", tmp_path)
    workload = Compiled()
    assert workload.native() == tmp_path / "native.uf2"
    assert workload.native("RP2350") is None
    (tmp_path / "native_rp2350.uf2").touch()
    assert workload.native("RP2350") == tmp_path / "native_rp2350.uf2"
