"""Results that perf_bench accepts, and settings that it refuses."""

from typing import Any

import pytest
from pydantic import ValidationError

from portbench.workloads import BadResult
from portbench.workloads.perf_bench.workload import ALL, COMMON, WORKLOAD, Settings

TWO = Settings(scripts="bm_fft,misc_aes", repeats=2)


def said(**changes: Any) -> dict[str, Any]:
    scripts = {
        "bm_fft": {"times_us": [500_000, 520_000], "norm": 768, "answer": [True, True]},
        "misc_aes": {"times_us": [125_000, 125_000], "norm": 32, "answer": True},
    }
    return {"scripts": scripts | changes}


def test_a_score_is_work_a_second_and_the_headline_their_geometric_mean() -> None:
    measured = WORKLOAD.check(said(), TWO)
    assert measured.figures["bm_fft_us"] == 510_000
    assert measured.figures["bm_fft_score"] == pytest.approx(768 / 0.51)
    assert measured.figures["misc_aes_score"] == 256
    assert measured.figures["score"] == pytest.approx((768 / 0.51 * 256) ** 0.5)
    assert measured.samples == {"bm_fft_us": [500_000, 520_000], "misc_aes_us": [125_000, 125_000]}


def test_what_not_every_port_can_run_is_not_in_the_headline() -> None:
    settings = Settings(scripts="misc_aes,viper_call0", repeats=2)
    viper = {"times_us": [10_000, 10_000], "norm": 30, "answer": None}
    scripts = {"misc_aes": said()["scripts"]["misc_aes"], "viper_call0": viper}
    assert WORKLOAD.check({"scripts": scripts}, settings).figures["score"] == pytest.approx(256)
    del scripts["viper_call0"]
    assert WORKLOAD.check({"scripts": scripts}, settings).figures["score"] == pytest.approx(256)
    only = Settings(scripts="viper_call0", repeats=2)
    assert WORKLOAD.check({"scripts": {"viper_call0": viper}}, only).figures["score"] == pytest.approx(3000)
    with pytest.raises(BadResult, match="the port can run none of viper_call0"):
        WORKLOAD.check({"scripts": {}}, only)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"misc_aes": {"times_us": [1, 1], "norm": 32, "answer": False}}, "the client's misc_aes answered False, not"),
        ({"misc_aes": {"times_us": [1, 1], "norm": 33, "answer": True}}, "misc_aes has the norm 33, not one of 16, 32"),
        ({"misc_aes": {"times_us": [1], "norm": 32, "answer": True}}, "the client ran misc_aes 1 times, not 2"),
        ({"misc_aes": {"times_us": [0, 1], "norm": 32, "answer": True}}, "is 0, not greater than or equal to 1"),
        (
            {"bm_float": {"times_us": [1, 1], "norm": 250, "answer": ""}},
            "the client ran 'bm_float', which was not asked",
        ),
    ],
)
def test_a_wrong_result_is_refused(changes: dict[str, Any], line: str) -> None:
    with pytest.raises(BadResult, match=line):
        WORKLOAD.check(said(**changes), TWO)


def test_a_script_that_every_port_can_run_may_not_be_missing() -> None:
    with pytest.raises(BadResult, match="the client did not run bm_chaos"):
        WORKLOAD.check(said(), Settings(repeats=2))


@pytest.mark.parametrize(
    ("scripts", "line"),
    [
        ("bm_fft,bm_none", "bm_none is not a script of perf_bench"),
        ("bm_fft,bm_fft", "names a script twice"),
        ("", "nothing"),
    ],
)
def test_scripts_that_are_none_are_refused(scripts: str, line: str) -> None:
    with pytest.raises(ValidationError, match=line):
        Settings(scripts=scripts)


def test_all_are_pinned_and_deployed_with_their_runner() -> None:
    assert WORKLOAD.libraries("micropython", Settings()) == [f"perf_bench/{name}" for name in ("benchrun", *ALL)]
    assert len(COMMON) == 16
