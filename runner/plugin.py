"""pytest's way to rows: each is an item, which the executor measures: `pytest -k runtime`.

Rows are collected where they are asked for: by `--portbench="OPTIONS OF portbench run"` anywhere, by `-k` with
`runtime`, a runtime or a workload in a project whose configuration has `portbench = true`. All else is left alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

if TYPE_CHECKING:  # the bench is imported where it is asked for
    from portbench.results.model import Row
    from portbench.runner.jobs.run import Run
    from portbench.runner.options import BenchOptions
    from portbench.runner.plan import PlannedRow

_OPTION = "--portbench"
_INI = "portbench"
ROWS = Path(__file__).parents[1] / "firmware" / "catalogue.toml"
"""The file that rows are collected from, for pytest."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(_INI, "whether `-k` with runtime, a runtime or a workload measures rows of portbench", type="bool")
    group = parser.getgroup("portbench")
    group.addoption(_OPTION, metavar="OPTIONS", help="measure rows: the options of `portbench run` in one string")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    if not _is_asked_for(config):
        return
    if hasattr(config, "workerinput") or getattr(config.option, "numprocesses", None):
        raise pytest.UsageError("rows are measured by processes of portbench's; leave out -n, or say --parallel to it")
    os.environ["PYTHONSAFEPATH"] = "1"  # processes of ours import nothing from the user's folder
    config.args = [str(ROWS)]  # nothing but rows, whatever is in the folder
    config.pluginmanager.register(Rows(config), "portbench-rows")


def _is_asked_for(config: pytest.Config) -> bool:
    if config.getoption(_OPTION) is not None:
        return True
    if not config.getini(_INI) or config.args_source is pytest.Config.ArgsSource.ARGS:
        return False
    return any(_names_rows(word) for word in re.findall(r"[\w.\-]+", config.option.keyword or ""))


def _names_rows(word: str) -> bool:
    """True if a word of `-k` is about rows: `runtime`, or the beginning of a row's id."""
    if word == "runtime":
        return True
    from portbench.errors import PortbenchError
    from portbench.firmware import catalogue
    from portbench.workloads import workloads

    try:
        return word in workloads() or any(word.startswith(entry.id) for entry in catalogue.load())
    except PortbenchError:
        return False


def _planned(config: pytest.Config) -> tuple[list[PlannedRow], BenchOptions]:
    """By the options of `portbench run --all`, read by its own code: `-k` narrows. Raises pytest.UsageError."""
    import shlex

    import click

    from portbench.console import shown
    from portbench.errors import PortbenchError
    from portbench.runner.cli.verbs import run
    from portbench.runner.jobs.run import planned

    try:
        words = shlex.split(config.getoption(_OPTION) or "")
        with run.COMMAND.make_context(f'{_OPTION}="', words) as context:
            return planned({**context.params, "all": True})
    except click.ClickException as error:
        raise pytest.UsageError(f"{_OPTION}: {error.format_message()}") from None
    except (PortbenchError, ValueError) as error:
        raise pytest.UsageError(shown(str(error))) from None


class Rows:
    """The rows of one session, and the run that measures them."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.rows, self._options = _planned(config)
        self._run: Run | None = None
        self._coming: Iterator[tuple[PlannedRow, Row]] = iter(())
        self._done: dict[str, Row] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        if file_path != ROWS:
            return None
        collected = RowFile.from_parent(parent, path=file_path)
        collected.rows = self
        return collected

    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Begins the run with the rows selected by now; pytest's loop follows."""
        from portbench.errors import PortbenchError
        from portbench.runner.jobs.run import Run
        from portbench.runner.progress import ProgressView

        if session.config.option.collectonly:
            return
        chosen = [item.row for item in session.items if isinstance(item, RowItem)]
        try:
            self._run = Run(chosen, self._options, view=ProgressView(len(chosen), failures=False)).__enter__()
        except PortbenchError as error:
            raise pytest.UsageError(str(error)) from None
        self._coming = self._run.measured()
        reporter = session.config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            reporter.showfspath = False  # the run shows the progress,
            reporter.reportchars = ""  # and the table lists skipped rows

    def row_of(self, planned: PlannedRow) -> Row | None:
        """The row, once it has been measured; None where the run ended without it."""
        capture = self._config.pluginmanager.getplugin("capturemanager")
        with capture.global_and_fixture_disabled():
            while planned.id not in self._done:
                found = next(self._coming, None)
                if found is None:
                    return None
                self._done[found[0].id] = found[1]
        return self._done[planned.id]

    def report_of(self, planned: PlannedRow, row: Row) -> str:
        """Return pytest's report of a row that failed."""
        assert self._run is not None
        lines = [f"{planned.label}: {row.reason}"]
        if row.console_tail:
            lines += ["the console's last lines:", *(f"  {line}" for line in row.console_tail)]
        return "\n".join([*lines, f"log: {self._run.log_of(row)}"])

    def is_required(self, planned: PlannedRow) -> bool:
        return self._run is not None and self._run.is_required(planned)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """Progress has shown the row already."""
        return (report.outcome, "", "") if report.when == "call" and report.outcome != "failed" else None

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self._run is None:
            return
        if session.items and not session.shouldstop and session.exitstatus != pytest.ExitCode.INTERRUPTED:
            next(self._coming, None)  # the end, after the last row
        self._coming.close()  # type: ignore[attr-defined]
        if self._run.faults and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._run is None:
            return
        from portbench.console import console

        terminalreporter.ensure_newline()
        self._run.show(console())
        for fault in self._run.faults:
            terminalreporter.write_line(fault, red=True)

    def pytest_unconfigure(self) -> None:
        if self._run is not None:
            self._run.__exit__()


class RowFile(pytest.File):
    """The rows of the catalogue."""

    rows: Rows

    def collect(self) -> Iterator[RowItem]:
        for row in self.rows.rows:
            item = RowItem.from_parent(self, name=row.id)
            item.row, item.rows = row, self.rows
            item.extra_keyword_matches.add("runtime")
            if self.config.pluginmanager.hasplugin("timeout"):
                item.add_marker(pytest.mark.timeout(0))  # every stage has a deadline
            yield item


class RowItem(pytest.Item):
    """One row: passes, fails or is skipped as it is."""

    row: PlannedRow
    rows: Rows
    fixturenames = ()
    funcargs: ClassVar[dict[str, Any]] = {}
    """Some plugins look for them in all items."""

    def runtest(self) -> None:
        row = self.rows.row_of(self.row)
        if row is None:
            pytest.skip("not measured: no row can follow")
        if row.headline is not None:  # for JUnit's file
            self.user_properties += [("unit", row.headline.unit), *row.figures.items()]
        if row.status in ("skipped", "unsupported") and not self.rows.is_required(self.row):
            pytest.skip(row.reason or "")
        if row.status in ("skipped", "unsupported"):
            raise RowFailed(f"{self.row.label}: is required, and was {row.status}: {row.reason}")
        if row.status == "failed":
            raise RowFailed(self.rows.report_of(self.row, row))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        return str(excinfo.value) if isinstance(excinfo.value, RowFailed) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


class RowFailed(Exception):
    """A row's failure, as pytest reports it."""
