"""Options of pytest for other projects' suites: the folders to look in, and the record to write."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.peers import record
from tests.peers.record import SUITE, Suite, Verdict
from tests.peers.sources import extract

_PROPERTY: Final = "peers"
Tell = Callable[[Suite], None]
ImageOf = Callable[[str], Path]
Obtain = Callable[..., Path]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("peers", "other projects' suites on the emulated board: docs/evidence/peers.md")
    group.addoption("--built", action="append", default=[], metavar="DIR", help="folder of built programs (repeatable)")
    group.addoption(
        "--sources", action="append", default=[], metavar="DIR", help="folder of clones, mirrors or .uf2 (repeatable)"
    )
    group.addoption(
        "--fetch-sources", action="store_true", help="fetch missing commits from GitHub into the first --sources DIR"
    )
    group.addoption("--peers-record", metavar="FILE", help="update this record, and the page beside it")


def pytest_configure(config: pytest.Config) -> None:
    file = config.getoption("--peers-record", None)
    if file is not None and not Path(file).absolute().parent.is_dir():
        raise pytest.UsageError(f"--peers-record: {Path(file).parent} is not a folder; name a file in one")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Update the record by what the tests told, in this process or in workers."""
    file = config.getoption("--peers-record", None)
    reports = [each for some in terminalreporter.stats.values() for each in some if getattr(each, "when", "") == "call"]
    told = [value for report in reports for name, value in report.user_properties if name == _PROPERTY]
    if file and told:
        record.write(Path(file), record.merged(record.read(Path(file)), map(SUITE.validate_json, told)))


@pytest.fixture
def tell(record_property: Callable[[str, object], None]) -> Tell:
    """Tell outcomes of a suite; the test fails where one that is right in the record is not right now.

    A single program that is not right in the record either is an expected failure, or skipped.
    """

    def hand_in(suite: Suite) -> None:
        record_property(_PROPERTY, SUITE.dump_json(suite).decode())
        if lost := record.lesser(record.read(record.FILE).get(suite.suite), suite):
            pytest.fail("\n".join(lost), pytrace=False)
        first = suite.outcomes[0]
        if suite.programs and first.verdict != Verdict.RIGHT:
            (pytest.skip if first.verdict == Verdict.MISSING else pytest.xfail)(str(first))

    return hand_in


@pytest.fixture(scope="session")
def folders(pytestconfig: pytest.Config) -> list[Path]:
    """The user's folders of clones and images."""
    named: list[str] = pytestconfig.getoption("--sources", [])
    if not named:
        pytest.skip("no --sources DIR with other projects' clones and images is given")
    return list(map(Path, named))


@pytest.fixture(scope="session")
def image_of(folders: list[Path]) -> ImageOf:
    """The path of an image by its hash; skips the test without it."""
    paths = [path for folder in folders for path in sorted(folder.glob("*.uf2"))]
    at_hand = {hashlib.sha256(path.read_bytes()).hexdigest(): path for path in paths}

    def find(sha256: str) -> Path:
        if sha256 not in at_hand:
            pytest.skip(f"no .uf2 in a --sources DIR has the sha256 {sha256[:12]}")
        return at_hand[sha256]

    return find


@pytest.fixture
def obtain(pytestconfig: pytest.Config, folders: list[Path], tmp_path: Path) -> Obtain:
    """A folder with paths of `owner/name@commit`; skips the test without them."""

    def path(pinned: str, *paths: str) -> Path:
        target = tmp_path / pinned.replace("/", "+")
        target.mkdir(exist_ok=True)
        if not extract(pinned, paths, folders, target, fetches=pytestconfig.getoption("--fetch-sources")):
            pytest.skip(f"no clone of {pinned} is in a --sources DIR; --fetch-sources fetches it")
        return target

    return path
