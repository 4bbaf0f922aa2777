"""Ten kills of a run and of a desk, and what the loop says of a program that leaves things behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from portbench.runner.checks.check import faults
from portbench.runner.checks.soak import kills
from portbench.runner.checks.soak.check import KILLS, Soak, SoakOptions
from portbench.runner.checks.soak.record import Record

ROOT = Path(__file__).parents[3]
SEED = 1
"""Five of its first ten kills strike the command, and five a process below it: of a run and of a desk."""


@pytest.mark.engine
@pytest.mark.slow
def test_ten_kills_leave_nothing_and_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kills, "COMMANDS", {name: kills.COMMANDS[name] for name in ("run", "desk")})
    soak = Soak(lambda line: None, SoakOptions("ping_pong", cycles=10, seed=SEED))
    report = soak.run(KILLS)
    assert faults([report]) == []
    assert {finding.group for finding in report.findings} == {"run", "desk"} and len(report.findings) == 10
    outcomes: dict[bool, set[str]] = {True: set(), False: set()}
    for finding in report.findings:
        outcomes[kills.aim(SEED, int(finding.name.split()[-1]))[1]].add(finding.outcome)
    assert outcomes[False] <= {"interrupted", "did not strike"} and "interrupted" in outcomes[False]
    assert outcomes[True] <= {"failed", "recovered", "did not strike"} and outcomes[True] != {"did not strike"}


@pytest.mark.slow
def test_what_a_program_leaves_and_loses_is_seen(monkeypatch: pytest.MonkeyPatch, short_folder: Path) -> None:
    monkeypatch.setattr(kills, "COMMANDS", {"run": "tests.checks.soak.leaver"})
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    records: list[Record] = []
    kills.run(1, range(1), 1, records.append, short_folder)
    undisturbed = records[0]
    assert undisturbed.lost == ["0 rows on disk of 1"]
    process, folder = undisturbed.leaks
    assert process.startswith("process ") and folder.startswith("tmp/")
    assert [record.number for record in records] == [-1, 0, -1]


def test_a_kill_is_its_seeds(monkeypatch: pytest.MonkeyPatch, short_folder: Path) -> None:
    """Whatever else is killed before it."""
    asked: dict[int, set[str]] = {}

    class Noted(kills.World):
        def kills(self, numbers):  # type: ignore[no-untyped-def]
            for number in numbers:
                asked.setdefault(number, set()).add(self._name)
            return iter(())

    monkeypatch.setattr(kills, "World", Noted)
    for place, numbers in enumerate((range(20), range(5, 12))):
        kills.run(1, numbers, 2, lambda record: None, short_folder / str(place))
    assert sorted(asked) == list(range(20)) and all(len(names) == 1 for names in asked.values())
