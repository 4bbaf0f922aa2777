"""`portbench check peers`: other people's test suites on the emulated board."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from portbench.files import TemporaryFolder
from portbench.runner.checks.check import Check, Report, Tell
from portbench.runner.checks.peers import micropython, record
from portbench.runner.checks.peers.built import Built, files
from portbench.runner.checks.peers.circuitpython import CircuitPythonTests
from portbench.runner.checks.peers.place import Place
from portbench.runner.checks.peers.public_images import PublicImages
from portbench.runner.checks.peers.suite import Suite, Verdict


class Peers(Check):
    """A part is a suite."""

    name = "peers"
    groups = "suite"
    outcomes = tuple(Verdict)

    def __init__(self, tell: Tell, place: Place, against: Path) -> None:
        """`against`: the record whose right programs have to be right again. Raises PortbenchError."""
        super().__init__(tell)
        self._place = place
        self._bar = record.read(against)
        self._suites = {each.name: each for each in suites()}

    def parts(self) -> Mapping[str, str]:
        return {name: suite.title for name, suite in sorted(self._suites.items())}

    def run(self, part: str) -> Report:
        with TemporaryFolder("portbench-peers") as scratch:
            report = self._suites[part].run(replace(self._place, scratch=scratch))
        return replace(report, faults=record.lesser(self._bar.get(part), report))

    def summary(self, reports: Sequence[Report]) -> Iterator[str]:
        for report in reports:
            for finding in report.findings:
                if finding.outcome != Verdict.RIGHT:
                    yield f"{report.part}: {finding.name} {finding.outcome}: {finding.note}".rstrip(": ")

    def record(self, file: Path, reports: Sequence[Report]) -> None:
        """Update the suites that were run, and the page beside the record."""
        record.write(file, record.merged(record.read(file), reports))


def suites() -> list[Suite]:
    """Raises PortbenchError where a file of programs is damaged."""
    scripts = (
        CircuitPythonTests(),
        micropython.Tests(),
        micropython.TestsPico2(),
        micropython.Native(),
        micropython.NativePico2(),
        micropython.MultiNet(),
        micropython.Perf(),
        PublicImages(),
    )
    return [*scripts, *(Built(name, path) for name, path in files().items())]
