"""Kills of a run and of a desk, or by `--kills` of all commands."""

from pathlib import Path

import pytest

from tests.soak.conftest import Keep, asked
from tests.soak.kills import COMMANDS, World, aim

SEED = 1
"""Seed whose first ten kills of a run, and of a desk, strike the command and also processes below it."""
KILL_S = 200


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Kill number N is of the same command, at the same share of its time, of itself or of the same place among the
    processes below it."""
    if "numbers" in metafunc.fixturenames:
        kills = asked(metafunc.config, "kills", 0)
        names = list(COMMANDS)[: None if kills else 2]
        first = asked(metafunc.config, "first", 0)
        numbers = range(first, first + (kills or 10))
        by_name = {name: [each for each in numbers if each % len(names) == place] for place, name in enumerate(names)}
        metafunc.parametrize(
            ("name", "numbers"),
            [
                pytest.param(name, some, id=name, marks=pytest.mark.timeout(KILL_S * len(some)))
                for name, some in by_name.items()
                if some
            ],
        )


@pytest.mark.engine
@pytest.mark.slow
def test_kills_leave_nothing_and_lose_nothing(
    name: str, numbers: list[int], short_folder: Path, keep: Keep, request: pytest.FixtureRequest
) -> None:
    seed = asked(request.config, "seed", SEED)
    records = list(map(keep, World(short_folder, name, COMMANDS[name]).kills(seed, numbers)))
    assert [line for record in records for line in record.troubles] == []
    kills = [record for record in records if record.number is not None]
    assert [record.number for record in kills] == numbers
    below = {record.outcome for record in kills if aim(seed, record.number)[1]}
    itself = {record.outcome for record in kills if not aim(seed, record.number)[1]}
    assert itself <= {"interrupted", "did not strike"} and below <= {"failed", "recovered", "did not strike"}
    if seed == SEED:
        assert "interrupted" in itself and below != {"did not strike"}
