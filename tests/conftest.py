"""Fixtures for any test: images, the engine, folders of the session; and a line about those that are missing."""

import contextlib
import gc
import importlib.util
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

from portbench.boards.registry import KEPT_FLASH_VARIABLE, RUNTIME_DIR_VARIABLE
from portbench.boards.usb.link import LOCK_DIR_VARIABLE
from portbench.errors import LibraryUnavailable
from portbench.firmware import FOLDER_VARIABLE, catalogue
from portbench.firmware.catalogue import Family
from portbench.firmware.images import ImageStore, ImageUnavailable
from portbench.firmware.releases import usual_index
from portbench.workloads import workload

Image = Callable[[str], Path]

NO_ENGINE: Final = "the engine is not built; run: make build"
_NO_IMAGE: Final = "without the image "

# Tests start Python hundreds of times; without compiled modules each start compiles what it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# An example takes as long as the machine's other work lets it: only what it finds counts.
settings.register_profile("portbench", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("portbench")


def _has_engine() -> bool:
    try:
        return importlib.util.find_spec("portbench_engine") is not None
    except ValueError:  # blocked
        return False


def needs(library: str, reason: str) -> pytest.MarkDecorator:
    """Skips a test without the library. Only the processes that run such a test import it."""
    return pytest.mark.skipif(importlib.util.find_spec(library) is None, reason=reason)


# What cannot be imported there has a hook below; a conftest.py has none.
collect_ignore = [] if _has_engine() else ["boards/desk", "boards/emulated"]


@pytest.fixture(scope="session")
def image() -> Image:
    """The path of a runtime's image, by its id in the catalogue; skips the test without it."""
    known = catalogue.load()
    store = ImageStore(known)
    reasons: dict[str, str] = {}

    def path(runtime: str) -> Path:
        entry = known.get(runtime)
        if entry.family is Family.NATIVE:
            return workload("ping_pong").folder / "native.uf2"
        if runtime not in reasons:
            try:
                found = store.obtain(entry).path
                assert found is not None, f"{runtime} has no image"
                return found
            except ImageUnavailable as error:
                reasons[runtime] = f"{_NO_IMAGE}{entry.file}: {error}"
        pytest.skip(reasons[runtime])

    return path


@contextlib.contextmanager
def libraries_or_skip() -> Iterator[None]:
    """Skips the test where a library for the board cannot be downloaded."""
    try:
        yield
    except LibraryUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture(autouse=True, scope="session")
def _own_folders(request: pytest.FixtureRequest) -> Iterator[None]:
    """Running boards and locks of other sessions, and of the user, are none of the tests' business."""
    if any(item.get_closest_marker("bench") for item in request.session.items):
        yield
        return
    folder = Path(tempfile.mkdtemp(prefix="pbt-"))  # short, as sockets' names are
    with pytest.MonkeyPatch.context() as environment:
        for variable, name in ((RUNTIME_DIR_VARIABLE, "b"), (LOCK_DIR_VARIABLE, "locks")):
            environment.setenv(variable, str(folder / name))
        environment.setenv(KEPT_FLASH_VARIABLE, "")  # tests see a board being flashed
        yield
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def _own_choices() -> Iterator[None]:
    """The releases that a test chose are not remarks on the rows of another one."""
    yield
    usual_index()._remarks.clear()


def pytest_collection_finish() -> None:
    """The collected tests are many objects and stay to the end: no collection of garbage looks at them again."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Skips a file that imports the engine where that is not built."""
    report = yield
    if report.failed and not _has_engine() and re.search("portbench_engine|engine is missing", str(report.longrepr)):
        report.outcome = "skipped"
        report.longrepr = (str(collector.path), 0, f"Skipped: {NO_ENGINE}")
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("engine") and not _has_engine():
        pytest.skip(NO_ENGINE)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """Tells what many skipped tests lack once for all of them, in place of a line for each."""
    stats = terminalreporter.stats
    skipped = stats.get("skipped", [])
    reasons = [report.longrepr[2].removeprefix("Skipped: ") for report in skipped]
    without_engine = reasons.count(NO_ENGINE)
    images = Counter(found[1] for reason in reasons if (found := re.match(rf"{_NO_IMAGE}(\S+): ", reason)))
    told = [reason == NO_ENGINE or reason.startswith(_NO_IMAGE) for reason in reasons]
    if skipped:
        stats["skipped"] = [report for report, elsewhere in zip(skipped, told, strict=True) if not elsewhere]
    yield
    if skipped:
        stats["skipped"] = skipped  # pytest's last line counts all of them
    if without_engine:
        terminalreporter.write_line(f"{without_engine} tests or files of tests skipped: {NO_ENGINE}", yellow=True)
    if images:
        terminalreporter.write_line(
            f"{images.total()} tests skipped for want of images: {', '.join(sorted(images))}; "
            f"point {FOLDER_VARIABLE} ({os.environ.get(FOLDER_VARIABLE) or 'not set'}) at a folder that has them",
            yellow=True,
        )


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """Commands that a test runs in this process take signals for themselves. Signals that the tests' parent
    ignores work, in the tests and in what they start: Ctrl-C in a shell's background, SIGHUP under nohup."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    for number in numbers:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    before = [signal.getsignal(number) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
