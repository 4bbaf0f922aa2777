"""pytest's side of the bench: options, which tests are collected, rows as tests, and the table at the end."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from portbench.boards import BrokenSetup
from portbench.console import console
from portbench.errors import OptionError, PortbenchError
from portbench.firmware import catalogue
from portbench.results.model import Row, Status
from portbench.results.storage import RunWriter, StorageError
from portbench.results.table import terminal
from portbench.runner.bench import Bench, Outcome, describe, new_run_file
from portbench.runner.images import image_store
from portbench.runner.interruptions import Interruptions
from portbench.runner.options import OPTIONS, BenchOptions, read_options
from portbench.runner.parallel.collector import (
    ROW_PROPERTY,
    Collector,
    as_worker,
    ask_for_workers,
    board_scheduler,
    is_worker,
    report_fault,
    usual_parallel,
    worker_parts,
)
from portbench.runner.plan import ALL, PlannedRow, chosen_entries, plan
from portbench.runner.progress import ProgressView
from portbench.runner.streams import prepare_streams
from portbench.shown import shown
from portbench.workloads import workloads

# Not pytest's rootdir: that moves to where an option's path is, as in `--results-dir /somewhere`.
PROJECT = Path(__file__).resolve().parents[1]
ROWS = Path(__file__).with_name("rows") / "test_rows.py"
"""One test per row."""

PLUGIN_NAME = "portbench-bench"
_FIXTURE = "planned_row"
_PREFIX = "portbench_"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("portbench", "portbench: which firmware to run, where and how")
    for option in OPTIONS:
        more: dict[str, Any] = {"default": None, "action": "append" if option.repeatable else "store"}
        if option.is_flag:
            more["action"] = "store_true"
        else:
            more["metavar"] = option.metavar
        group.addoption(option.flag, dest=_PREFIX + option.name, help=option.help, **more)


def _options(config: pytest.Config) -> BenchOptions:
    """The options as given. Raises pytest.UsageError."""
    try:
        return read_options({option.name: config.getoption(_PREFIX + option.name) for option in OPTIONS})
    except OptionError as error:
        raise pytest.UsageError(shown(str(error))) from None


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "bench: measures a row on a board; only when the bench is asked for")
    config.pluginmanager.register(BenchPlugin(config), PLUGIN_NAME)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    if not _is_asked_for(config):
        return
    prepare_streams()
    sys.dont_write_bytecode = True  # pytest would keep its form of the rows' file where portbench is installed
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = [str(ROWS)]  # nothing but rows, whatever lies in the folder
    options = _options(config)
    if config.getoption(_PREFIX + "parallel") is None and config.pluginmanager.hasplugin("xdist"):
        if not is_worker(config) and not config.option.collectonly:
            config.option.portbench_parallel = str(usual_parallel(_plan(config), options))
        options = _options(config)
    if options.parallel > 1 and not is_worker(config):
        ask_for_workers(config, options)


def _plan(config: pytest.Config) -> list[PlannedRow]:
    try:
        return plan(_options(config))
    except OptionError as error:
        raise pytest.UsageError(shown(str(error))) from None


class BenchPlugin:
    """Lives as long as pytest's session; owns the Bench, if the session has any row to measure."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._rows = _plan(config) if _is_asked_for(config) else []
        self._bench: Bench | None = None
        self._collector: Collector | None = None
        self._writer: RunWriter | None = None
        self._view: ProgressView | None = None
        self._fault = ""
        self._stopped = False
        self._output = sys.stdout  # several processes' end leaves another there, which a caller has not redirected
        self._session: pytest.Session | None = None
        self._interruptions = Interruptions()

    @property
    def run_file(self) -> Path | None:
        """Where the rows go; None where none was to be measured."""
        return None if self._writer is None else self._writer.path

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._session = session

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        if _FIXTURE in metafunc.fixturenames:
            metafunc.parametrize(_FIXTURE, self._rows, ids=[row.id for row in self._rows])

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        bench = [item for item in items if item.get_closest_marker("bench")]
        if bench and len(bench) < len(items):  # unit tests beside it would disturb what it measures
            self._config.hook.pytest_deselected(items=[item for item in items if item not in bench])
            items[:] = bench
        if bench and not self._config.option.collectonly:
            self._start(len(items))
            for item in items:
                if self._config.pluginmanager.hasplugin("timeout"):
                    item.add_marker(pytest.mark.timeout(0))  # every stage has a deadline of its own

    @pytest.fixture
    def bench(self, request: pytest.FixtureRequest) -> MeasureRow:
        assert self._bench is not None and self._view is not None
        properties = request.node.user_properties
        return MeasureRow(self._bench, self._view, self._config, properties, self._stop, self._interruptions)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """xdist is about to start a worker."""
        if not self._rows:
            return
        if self._collector is None:
            options = _options(self._config)
            self._interruptions.listen()
            try:
                image_store()  # what is wrong with its folders is told once, before there are workers
                self._writer = new_run_file(options, PROJECT)
            except PortbenchError as error:
                raise pytest.UsageError(str(error)) from None
            self._collector = Collector(options, self._rows, self._writer)
            self._take_the_terminal()
        self._collector.hand_out(node)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> object | None:
        return board_scheduler(config, log, self._rows, _options(config), image_store()) if self._rows else None

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: list[str]) -> None:
        self._view = self._view or ProgressView(len(ids))

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        if self._collector is not None:
            self._collector.worker_ended(node)

    @pytest.hookimpl(tryfirst=True)
    def pytest_keyboard_interrupt(self) -> None:
        self._interruptions.ending()

    def _stop(self, fault: str) -> None:
        """No row is to follow: the next would fail as this one did, or be measured for nothing."""
        self._stopped = True
        self._fault = fault
        if self._session is not None:
            self._session.shouldfail = "no row can follow"
        several = self._config.pluginmanager.getplugin("dsession")
        if several is not None:
            several.shouldstop = fault

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._stopped:
            return
        try:
            taken = self._collector.take(report) if self._collector is not None else None
            if not is_worker(self._config):  # it has arrived: a JUnit file has the metrics, not all of the row
                report.user_properties = [each for each in report.user_properties if each[0] != ROW_PROPERTY]
        except StorageError as error:
            self._stop(str(error))
            return
        if taken is not None and self._view is not None:
            run, row = taken
            self._view.done(row.status, describe(row), run.label)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """The view has shown the row already."""
        told = self._bench is not None or self._collector is not None
        if not told or report.when != "call" or report.outcome == "failed":
            return None
        return report.outcome, "", ""

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        self._interruptions.ending()
        over = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        over = over and not self._stopped and not self._interruptions.came
        faults = [self._fault] if self._fault else []
        if self._bench is not None:
            try:
                if over:
                    self._bench.finish()
            except PortbenchError as error:
                faults.append(str(error))
            finally:
                self._bench.close()
        if self._collector is not None and self._writer is not None:
            self._collector.close()
            faults += self._collector.faults
            try:
                if over:
                    self._writer.finish()
            except StorageError as error:
                faults.append(str(error))
        if self._writer is not None and over and not faults:
            rows = self._writer.run.rows
            if rows and all(row.status is Status.SKIPPED for row in rows):
                faults.append(f"no row was measured: all {len(rows)} were skipped; get an image, or choose other rows")
        if faults:
            self._fault = "; ".join(dict.fromkeys(faults))
            if not self._interruptions.came:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
            if is_worker(self._config):
                report_fault(self._config, self._fault)

    def pytest_unconfigure(self) -> None:
        self._interruptions.restore()

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        writer = self._writer
        if writer is None:
            return
        terminalreporter.ensure_newline()
        out = console(self._output)
        # What failed or was skipped for other reasons, the view and pytest's report have told.
        rows = [row for row in writer.run.rows if row.status is Status.MEASURED or row.image_url is not None]
        if rows:
            out.print(terminal(writer.run.model_copy(update={"rows": rows}), out.width), crop=False)
        source = self._bench or self._collector
        for host, own in source.servers.own_turnaround.items() if source else ():
            out.print(f"server on {host}: {own.median_us:.0f} us per exchange over the loopback, client included")
        if self._fault:
            out.print(self._fault, style="bold red", markup=False, soft_wrap=True)
        out.print(f"rows: {_shown(writer.path)}", soft_wrap=True)

    def _start(self, rows: int) -> None:
        options = _options(self._config)
        if is_worker(self._config):
            options = as_worker(self._config, options)
        self._interruptions.listen()
        try:
            store = image_store(chosen_entries(options, catalogue.load()))
            if is_worker(self._config):
                self._bench = Bench(options, store, PROJECT, *worker_parts(self._config, options))
            else:
                self._writer = new_run_file(options, PROJECT)
                self._bench = Bench(options, store, PROJECT, self._writer)
        except PortbenchError as error:
            raise pytest.UsageError(str(error)) from None
        self._view = ProgressView(rows, Console(quiet=True) if is_worker(self._config) else None)
        self._take_the_terminal()

    def _take_the_terminal(self) -> None:
        reporter = self._config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            reporter.showfspath = False  # the view writes the lines,
            reporter.reportchars = "fE"  # and the table lists what was skipped


def _is_asked_for(config: pytest.Config) -> bool:
    """By `-k` with `runtime`, a runtime or a workload, by an option that chooses these, or by naming the rows' file."""
    option = config.option
    if config.args_source is pytest.Config.ArgsSource.ARGS and not is_worker(config):
        return all(_is_rows(argument, config) for argument in config.args)
    return bool(
        any(map(_names_rows, re.findall(r"[\w.\-]+", option.keyword or "")))
        or config.getoption(_PREFIX + "runtime")
        or config.getoption(_PREFIX + "workload")
        or re.search(r"\bbench\b", option.markexpr or "")
        or is_worker(config)
    )


def _names_rows(word: str) -> bool:
    """Whether a word of `-k` is about rows: `runtime`, or the beginning of a row's id."""
    if word == "runtime":
        return True
    try:
        return word in workloads() or any(word.startswith(entry.id) for entry in catalogue.load())
    except PortbenchError:
        return False


class MeasureRow:
    """What the bench's test function calls."""

    def __init__(
        self,
        bench: Bench,
        view: ProgressView,
        config: pytest.Config,
        properties: list[tuple[str, object]],
        stop: Callable[[str], None],
        interruptions: Interruptions,
    ) -> None:
        """`stop`: is told why no row can follow."""
        self._properties = properties
        self._stop = stop
        self._interruptions = interruptions
        self._bench = bench
        self._view = view
        self._capture = config.pluginmanager.getplugin("capturemanager")

    def __call__(self, run: PlannedRow) -> None:
        """Measures `run`; the test fails or is skipped as the row is."""
        outcome = self._measure(run)
        if isinstance(outcome, str):
            self._stop(outcome)
            pytest.fail(f"{run.label}: {outcome}", pytrace=False)
        row = outcome.row
        self._properties += [*_metrics(row), (ROW_PROPERTY, row.model_dump_json())]
        if row.status is Status.SKIPPED and {ALL, run.entry.id} & set(self._bench.options.required):
            pytest.fail(f"{run.label}: is required, and was skipped: {row.reason}", pytrace=False)
        if row.status is Status.SKIPPED:
            pytest.skip(row.reason or "")
        if row.status is Status.FAILED:
            lines = [f"{run.label}: {row.reason}"]
            if row.console_tail:
                lines += ["the console's last lines:", *(f"  {line}" for line in row.console_tail)]
            pytest.fail("\n".join([*lines, f"log: {_shown(outcome.log)}"]), pytrace=False)

    def _measure(self, run: PlannedRow) -> Outcome | str:
        """The row, or why neither it nor any other can be had."""
        try:
            with self._shown(), self._interruptions.heard():
                return self._bench.measure(run, self._view)
        except (BrokenSetup, StorageError) as error:
            return str(error)

    @contextlib.contextmanager
    def _shown(self) -> Iterator[None]:
        """Lets the view write to the terminal in spite of pytest's capturing."""
        if self._capture is None:
            yield
            return
        with self._capture.global_and_fixture_disabled():
            yield


def _metrics(row: Row) -> list[tuple[str, object]]:
    """What pytest's JUnit file has of a row, as properties."""
    if row.headline is None:
        return []
    return [("unit", row.headline.unit), *((name, value) for name, value in row.figures.items())]


def _is_rows(argument: str, config: pytest.Config) -> bool:
    """Whether a path argument names the rows' file or its folder."""
    path = (config.invocation_params.dir / argument.split("::")[0]).resolve()
    return path in (ROWS.resolve(), ROWS.resolve().parent)


def _shown(path: Path) -> str:
    with contextlib.suppress(ValueError):
        path = path.relative_to(Path.cwd())
    return shown(str(path))
