"""Figures of speed and memory. `--speed` measures them whole; else each part only shows, quickly, that it works."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from portbench.console import console, new_table
from portbench.results.environment import describe_machine

STARTED_UTC: Final = datetime.now(UTC).isoformat()
LOAD_BEFORE: Final = os.getloadavg()[0]
FIGURES: Final = pytest.StashKey[list[dict[str, Any]]]()
PROFILES: Final = pytest.StashKey[dict[str, dict[str, float]]]()
MOST_FUNCTIONS: Final = 12
MISSED: Final = pytest.StashKey[list[str]]()
WRITING_S: Final = 120
"""Longest time of perf, for its file and for its report."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--speed", action="store_true", help="measure for minutes, and require what each figure has to be")
    parser.addoption("--speed-json", type=Path, metavar="FILE", help="write the figures to FILE")
    parser.addoption("--speed-profile", action="store_true", help="write what the CPU time went to, too (needs perf)")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[FIGURES] = []
    config.stash[PROFILES] = {}
    possible = shutil.which("perf") is not None and config.getoption("speed_json", None) is not None
    if config.getoption("speed_profile", False) and not possible:
        raise pytest.UsageError("--speed-profile needs Linux's perf, and --speed-json FILE")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests without a short form."""
    if not config.getoption("speed", False):
        whole = [item for item in items if item.get_closest_marker("speed")]
        items[:] = [item for item in items if item not in whole]
        config.hook.pytest_deselected(items=whole)


@pytest.fixture(scope="session")
def short(pytestconfig: pytest.Config) -> bool:
    return not pytestconfig.getoption("speed", False)


@pytest.fixture
def figure(request: pytest.FixtureRequest, short: bool) -> Callable[..., None]:
    """Takes a figure: its name, its value, or None with a note that says why there is none, its unit, and a bound."""
    missed = request.node.stash[MISSED] = []

    def take(
        name: str,
        value: float | None,
        unit: str,
        *,
        at_least: float | None = None,
        below: float | None = None,
        note: str = "",
    ) -> None:
        assert value is None or value > 0, name
        if short:
            return
        required = "" if at_least is None else f"at least {at_least:g} {unit}"
        required = required if below is None else f"below {below:g} {unit}"
        request.config.stash[FIGURES].append(
            {"name": name, "value": value, "unit": unit, "required": required, "note": note}
        )
        if value is not None and (value < (at_least or 0) or (below is not None and value >= below)):
            missed.append(f"{name}: {value:.4g} {unit}, not {required}")

    return take


def _shares(recorded: Path) -> dict[str, float]:
    """The functions with most of the CPU time of this process and its children, in percent."""
    shown = ("--stdio", "--no-children", "--call-graph=none", "--fields=overhead,symbol", "--field-separator=\t")
    command = ("perf", "report", "--input", recorded, *shown)
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=WRITING_S).stdout
    shares = Counter[str]()
    for line in said.splitlines():
        if line.strip() and not line.startswith("#"):
            percent, symbol = line.split("\t", 1)
            name = symbol.strip().partition("] ")[2]
            # Translated code has no names.
            shares["translated code" if name.startswith("0x") else name] += float(percent.strip().rstrip("%"))
    return {name: round(percent, 2) for name, percent in shares.most_common(MOST_FUNCTIONS)}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test only once all its figures are taken."""
    if item.config.getoption("speed_profile", False):
        recorded = item.config.getoption("speed_json").with_suffix(".perf")
        command = ("perf", "record", "--quiet", "-F", "199", "-p", str(os.getpid()), "-o", recorded)
        with subprocess.Popen(command) as perf:
            try:
                yield
            finally:
                perf.send_signal(signal.SIGINT)
                with contextlib.ExitStack() as ending:
                    ending.callback(perf.kill)
                    perf.wait(WRITING_S)
        item.config.stash[PROFILES][item.nodeid] = _shares(recorded)
        recorded.unlink()
    else:
        yield
    if missed := item.stash.get(MISSED, []):
        pytest.fail("\n".join(missed), pytrace=False)


def pytest_terminal_summary(config: pytest.Config) -> None:
    if not (figures := config.stash[FIGURES]):
        return
    columns = ("figure", "measured", "required", "note")
    table = new_table(columns, right=columns[1:3], folding=columns)
    for each in figures:
        value = "none" if each["value"] is None else f"{each['value']:.4g} {each['unit']}"
        table.add_row(each["name"], value, each["required"], each["note"])
    machine = describe_machine()
    out = console()
    out.print(table)
    out.print(
        f"{machine.processor}, {machine.cores} cores, load {LOAD_BEFORE:.1f} before the start. Boards at once are in"
        " elapsed time, and all else in CPU time.",
        soft_wrap=True,
    )
    if (file := config.getoption("speed_json")) is not None:
        document = {"started_utc": STARTED_UTC, "load_before": LOAD_BEFORE, "machine": machine.model_dump(mode="json")}
        document |= {"figures": figures, "profiles": config.stash[PROFILES]}
        file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
