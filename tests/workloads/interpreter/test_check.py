"""A client's result gives its figures only if every loop computed what it should and was timed well."""

import copy
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portbench.workloads import BadResult
from portbench.workloads.interpreter.workload import ARITHMETIC, COMMON, MACHINE_CODE, WORKLOAD, Loop, Settings
from tests.workloads.interpreter.results import said

SETTINGS = Settings(passes=2000, repeats=3)
LOOPS = st.sampled_from((*COMMON, *MACHINE_CODE))


def complaint(result: dict[str, Any]) -> str:
    with pytest.raises(BadResult) as caught:
        WORKLOAD.check(result, SETTINGS)
    return str(caught.value)


def with_loop(name: str, **change: Any) -> dict[str, Any]:
    result = copy.deepcopy(said(SETTINGS, machine_code=True))
    result["loops"][name] |= change
    return result


@settings(deadline=None)
@given(
    passes=st.integers(1000, 50_000), repeats=st.integers(1, 5), machine_code=st.booleans(), ns=st.integers(2000, 9999)
)
def test_a_faultless_client_gives_every_figure(passes: int, repeats: int, machine_code: bool, ns: int) -> None:
    asked = Settings(passes=passes, repeats=repeats)
    measured = WORKLOAD.check(said(asked, machine_code=machine_code, ns_per_pass=ns), asked)
    loops = (*COMMON, *MACHINE_CODE) if machine_code else COMMON
    assert set(measured.samples) == {f"{loop.name}_us" for loop in loops}
    assert {len(times) for times in measured.samples.values()} == {repeats}
    figures = dict(measured.figures)
    assert figures.pop("passes_per_s") == pytest.approx(1e9 / ns, rel=0.01)
    assert figures.pop("arithmetic_passes_per_s") == pytest.approx(1e9 / ns, rel=0.01)
    assert figures == {f"{loop.name}_ns_per_pass": pytest.approx(ns, rel=0.01) for loop in loops}


@given(loop=LOOPS, times_us=st.permutations([1_000_000, 1_000_001, 5_000_000]))
def test_the_least_time_counts_whenever_it_came(loop: Loop, times_us: list[int]) -> None:
    measured = WORKLOAD.check(with_loop(loop.name, times_us=times_us), SETTINGS)
    assert measured.samples[f"{loop.name}_us"] == times_us
    assert measured.figures[f"{loop.name}_ns_per_pass"] == 1_000_000_000 / loop.passes(SETTINGS.passes)


@settings(deadline=None)  # an answer of big_square_mod takes the PC as long as it takes
@given(loop=LOOPS, passes=st.integers(100, 5000))
def test_a_wrong_answer_is_none(loop: Loop, passes: int) -> None:
    right = loop.answer(passes)
    wrong: list[Any] = [None, True, "", [], math.nan, math.inf, [right]]
    if isinstance(right, int | float):
        wrong += [str(right), -right, right + 1 if isinstance(right, int) else right * (1 + 2 * loop.within)]
    else:
        wrong += [right[1:], right[::-1]]
    assert loop.is_answer(right, passes)
    assert [each for each in wrong if loop.is_answer(each, passes)] == []


@pytest.mark.parametrize("name", [loop.name for loop in (*COMMON, *MACHINE_CODE)])
def test_a_port_that_computes_wrongly_fails_the_row(name: str) -> None:
    assert complaint(with_loop(name, answer=-1)).startswith(f"the client's {name} gave -1, not ")


def test_long_answers_are_shortened() -> None:
    assert complaint(with_loop("big_mul", answer=10**100)) == (
        f"the client's big_mul gave 1{'0' * 36}..., not {str(3**200 * 7**110)[:37]}..."
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        *(({"passes": each}, f"the client's int_add made {each} passes, not 2000") for each in (1999, 6000, 2000 << 9)),
        ({"times_us": [1000, 1000]}, "the client timed int_add 2 times, not 3"),
        (
            {"times_us": [1000, 1000, -1]},
            "the client's loops.int_add.times_us[2] is -1, not greater than or equal to 0",
        ),
        ({"times_us": 5}, "the client's loops.int_add.times_us is 5, not a valid list"),
        (
            {"times_us": [1000, 99, 1000]},
            "the client's int_add took 99 us, less than 100 steps of its clock, 1 us each; choose more than passes="
            "2000",
        ),
    ],
)
def test_one_line_says_what_is_wrong(change: dict[str, Any], says: str) -> None:
    assert complaint(with_loop("int_add", **change)) == says


def test_a_coarse_clock_needs_longer_times() -> None:
    result = said(SETTINGS, ns_per_pass=1500)
    result["clock_step_us"] = 30
    assert complaint(result).startswith(
        "the client's str_join took 600 us, less than 100 steps of its clock, 30 us each"
    )


@given(doublings=st.integers(0, 8))
def test_doubled_passes_give_the_same_figure(doublings: int) -> None:
    passes = 2000 << doublings
    measured = WORKLOAD.check(
        with_loop("dict_set", passes=passes, times_us=[10 * passes] * 3, answer=16 * passes - 136), SETTINGS
    )
    assert measured.figures["dict_set_ns_per_pass"] == 10_000


def test_machine_code_is_there_as_a_whole_or_not_at_all() -> None:
    result = said(SETTINGS, machine_code=True)
    del result["loops"]["viper_bytes"]
    assert complaint(result) == "the client's viper_bytes is missing"


def test_no_loop_is_missing_or_new() -> None:
    result = said(SETTINGS)
    result["loops"]["quantum_add"] = result["loops"].pop("dict_get")
    assert complaint(result) == "the client's dict_get is missing"
    result = said(SETTINGS)
    result["loops"]["quantum_add"] = result["loops"]["dict_get"]
    assert complaint(result) == "the client timed 'quantum_add', which is not one of its loops"


@given(times_ns=st.lists(st.floats(1, 1e7), min_size=len(COMMON), max_size=len(COMMON)), factor=st.floats(0.01, 100))
def test_twice_as_slow_throughout_is_half_the_rate(times_ns: list[float], factor: float) -> None:
    figures = {f"{loop.name}_ns_per_pass": ns for loop, ns in zip(COMMON, times_ns, strict=True)}
    slower = {name: ns * factor for name, ns in figures.items()}
    rates, slower_rates = WORKLOAD.derive(figures, SETTINGS), WORKLOAD.derive(slower, SETTINGS)
    for name in ("passes_per_s", "arithmetic_passes_per_s"):
        assert slower_rates[name] == pytest.approx(rates[name] / factor)


@given(native_ns=st.floats(1, 1e7))
def test_machine_code_moves_no_port_up_or_down(native_ns: float) -> None:
    figures = {f"{loop.name}_ns_per_pass": 5000.0 for loop in COMMON}
    with_native = WORKLOAD.derive(figures | {"native_int_add_ns_per_pass": native_ns}, SETTINGS)
    assert with_native["passes_per_s"] == WORKLOAD.derive(figures, SETTINGS)["passes_per_s"]


def test_what_others_published_gives_the_rate_of_its_loops_alone() -> None:
    derived = WORKLOAD.derive({f"{loop.name}_ns_per_pass": 10_000.0 for loop in ARITHMETIC}, SETTINGS)
    assert derived["arithmetic_passes_per_s"] == pytest.approx(100_000) and "passes_per_s" not in derived
