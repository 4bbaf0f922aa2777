"""Commands of all pages, as they stand: a `run` is planned, other commands run, some of them in other tests."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from portbench.firmware import catalogue, uf2
from portbench.results.shipped import shipped
from portbench.results.storage import RunWriter
from tests.cli.conftest import Invoke, invoke  # noqa: F401 - a fixture
from tests.conftest import Image
from tests.firmware.test_image_identity import micropython

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "workloads").rglob("README.md")])
READING = {"advise", "images", "list", "show"}
"""Verbs that start no board."""
MEASURING = {"compare", "explain", "profile", "trace"}
LONG = {"interpreter", "perf_bench"}
"""Workloads of minutes: their commands' options are checked by tests/cli/test_documented.py."""
FOREIGN = {"httpd.uf2", "my-client.uf2", "server.uf2"}
ELSEWHERE = {
    "README.md": "tests/docs/test_readme.py",
    "docs/adding-a-board.md": "tests/boards/test_adding_a_board.py",
    "docs/hardware.md": "tests/cli/test_documented.py",
    "docs/other-test-tools.md": "tests/testing/test_page.py",
    "docs/tutorials/maintainer.md": "tests/docs/test_tutorials.py",
    "docs/tutorials/maker.md": "tests/docs/test_tutorials.py",
}
"""Pages whose commands another test runs."""
WAITING = {
    "check": "tests/checks",
    "desk": "tests/cli/test_desk.py",
    "flash": "tests/cli/test_flash.py",
    "gdb": "tests/gdb",
}
"""Verbs that measure for hours or stay until Ctrl-C: their options are checked, and these tests run them."""


def commands(page: Path) -> list[list[str]]:
    """Words behind `portbench` of each line of code on the page."""
    text = re.sub(r"\\\n *", "", page.read_text(encoding="utf-8"))
    text = re.sub(r"```\w*\n(.*?)```", lambda block: re.sub(r"(?m)^", "    ", block[1]), text, flags=re.DOTALL)
    lines = re.findall(r"^ {4,}portbench (.+)$", text, re.MULTILINE)
    return [shlex.split(line.partition("  #")[0].rstrip(" &")) for line in lines]


SHOWN = [
    pytest.param(words, id=f"{name}-{' '.join(words)}")
    for page in PAGES
    if (name := page.relative_to(ROOT).as_posix()) not in ELSEWHERE
    for words in commands(page)
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what pages name: runs, and firmware that is only planned."""
    monkeypatch.setenv("PORTBENCH_OFFLINE", "1")
    (tmp_path / "Downloads").mkdir()
    (tmp_path / "Downloads" / "any.uf2").write_bytes(micropython("1.27.0"))
    results = tmp_path / "results"
    run = shipped("W5500_EVB_PICO")
    for file in ("CABLE", "WIFI", "BEFORE", "AFTER", "main", "pr-1234"):
        named = run.model_copy(update={"name": file if file.islower() else None})
        RunWriter(named, results, resumed=results / "runs" / f"{file}.jsonl").close()
    for path in (tmp_path / "FILE", tmp_path / "elsewhere" / "run.json"):
        path.parent.mkdir(exist_ok=True)
        shutil.copy(results / "latest.json", path)
    return tmp_path


def provide(words: list[str], folder: Path, content: Callable[[str], bytes]) -> None:
    for path in (folder / word for word in words if word.endswith((".hex", ".uf2"))):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(path.name))


def planned(name: str) -> bytes:
    if name.endswith(".hex"):
        return b":0400000000000000FC\n:00000001FF\n"
    return uf2.build(bytes(256)) if name in FOREIGN else micropython("1.27.0")


def images_of(words: list[str]) -> set[str]:
    """Runtimes of the catalogue that a command names."""
    known = {entry.id for entry in catalogue.load()}
    return known & {part for word in words for part in re.split(r"[/,=]", word)}


@pytest.mark.parametrize("words", [each for each in SHOWN if each.values[0][0] == "run"])
def test_a_run_is_planned(words: list[str], folder: Path, invoke: Invoke, image: Image) -> None:  # noqa: F811
    provide(words, folder, planned)
    done = invoke(*words, *([] if "--dry-run" in words else ["--dry-run"]))
    if "forbids the download" in done.output:  # a sweep reads its images first
        for runtime in images_of(words):
            image(runtime)
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("words", [each for each in SHOWN if each.values[0][0] in READING])
def test_a_command_that_reads_runs(
    words: list[str],
    folder: Path,
    invoke: Invoke,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(folder / name))
    done = invoke(*(word.replace("~", str(folder)) for word in words))
    assert done.exit_code == 0 and done.stdout, done.output


def _measured(words: list[str]) -> bool:
    """ELF files are read in tests/cli/test_profile.py."""
    return words[0] in MEASURING and not LONG & set(words) and not any(".elf" in word for word in words)


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("words", [each for each in SHOWN if _measured(each.values[0])])
def test_a_command_that_measures_runs(
    words: list[str],
    folder: Path,
    invoke: Invoke,  # noqa: F811
    image: Image,
) -> None:
    own = images_of(words) or {"micropython-1.28.0"}
    content = next(image(runtime) for runtime in own).read_bytes()
    provide([*words, "builds/1.uf2", "builds/2.uf2"], folder, lambda name: content)
    done = invoke(*words)
    if "forbids the download" in done.output:
        pytest.skip(done.output.strip())
    none_is_slower = words == ["compare", "builds/"]
    assert done.exit_code == (1 if none_is_slower else 0) and done.stdout, done.output


def test_each_command_is_run_somewhere() -> None:
    verbs = {each.values[0][0] for each in SHOWN}
    assert verbs <= {"run", "completion"} | READING | MEASURING | set(WAITING), "add the verb, with its test"
    for path in (*ELSEWHERE.values(), *WAITING.values()):
        assert (ROOT / path).exists(), path
