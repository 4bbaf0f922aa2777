"""The random soak: flash, deploy and run again and again while things go wrong. Nothing hangs, is lost or leaks.

A block of ten cycles is a test: the rows of one run on one board. Cycle N of a seed is always the same.
"""

from itertools import groupby

import pytest

from tests.soak.conftest import Keep, MakeLane, asked

BLOCK = 10
RUN_S = 12
LONGEST_CYCLE_S = 300
"""More than all deadlines of a row."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    first = asked(metafunc.config, "first", 0)
    numbers = range(first, first + asked(metafunc.config, "cycles", 8))
    blocks = [list(block) for _, block in groupby(numbers, lambda number: number // BLOCK)]
    metafunc.parametrize(
        ("runtime", "numbers"),
        [
            pytest.param(
                runtime,
                block,
                id=f"{runtime}-{block[0]}-{block[-1]}",
                marks=pytest.mark.timeout(LONGEST_CYCLE_S * len(block)),
            )
            for runtime in asked(metafunc.config, "runtime", ["portbench-native"])
            for block in blocks
        ],
    )


@pytest.mark.engine
@pytest.mark.slow
def test_cycles(
    make_lane: MakeLane, runtime: str, numbers: list[int], keep: Keep, request: pytest.FixtureRequest
) -> None:
    """Every second block is on a board that restarts by its own command."""
    seed = asked(request.config, "seed", 5)
    lane = make_lane(runtime, run_s=RUN_S, power_switch=numbers[0] // BLOCK % 2 == 0)
    records = [keep(record) for record in lane.run([lane.plan(seed, number) for number in numbers])]
    assert [line for record in records for line in record.troubles] == []
    assert [record.number for record in records] == numbers
