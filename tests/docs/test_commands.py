"""Commands of all pages run as they stand, here or in the tests that are named here."""

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
from tests.docs import rows_once
from tests.firmware.test_image_identity import micropython
from tests.ping_pong import NATIVE_IMAGE

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "workloads").rglob("README.md")])
READING = {"advise", "images", "list", "show"}
"""Verbs that start no board."""
MEASURING = {"compare", "explain", "profile", "trace"}
LONG = {"interpreter", "perf_bench"}
"""Workloads of minutes: their commands' options are checked by tests/cli/test_documented.py."""
AVR_IMAGE = ROOT / "firmware" / "avr" / "ping_pong.hex"
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

PLANNED = {
    "--on tcp": "a cluster: tests/jobs",
    "--device|--where silicon": "a board: tests/usb, tests/labgrid and tests/emulated have stand-ins",
    "--workload all": "hours",
    "(interpreter|perf_bench) --runtime .*uf2": "builds of MicroPython: tests/emulated, tests/workloads",
    "--workload sd_card": "a card of 30 s of a PC's time: tests/workloads/sd_card",
    "httpd.uf2|server.uf2": "images of other projects: tests/workloads",
    "seed=1..20": "120 rows; tests/sweep",
}
"""Commands that are planned here instead of run, and why."""

OTHERS = {
    r"(git clone|apt-get|python3 -m venv|pip install 'portbench\[labgrid\]') ?": "the network of the user",
    r"sudo ": "rights of the user",
    r"make flash-and-bench ARGS": "a board: tests/cli/test_documented.py checks the options",
    r"make flash-and-bench": "the user's .venv: tests/packaging/test_wheel.py installs, `portbench run` is here",
    r"make playground|python3 -m http.server": "tests/page/test_playground.py",
    r"make fuzz STEPS=10000000": "hours",
    r"\.ci/mutants ": "hours",
    r"pip install \./engine ": "tests/packaging/test_wheel.py",
    r"cargo test --manifest-path chip/": "tests/engine/test_adding_a_chip.py",
    r"python -m portbench\.clients\.arduino": "tests/clients/test_arduino.py",
    r"cd docs/how-to-play/tinygo|tinygo build": "a compiler of hours: tests/docs/test_build_scripts.py",
    r"labgrid-": "tests/labgrid/test_labgrid_board.py",
    r"gdb-multiarch ": "tests/gdb/test_gdb.py",
    r"curl http://127\.0\.0\.1:8080/": "tests/forward",
    r"dask ": "tests/jobs/test_cluster.py",
    r"pytest --embedded-services": "tests/testing/test_page.py",
    r"pytest test_main\.py": "tests/docs/test_tutorials.py",
    r"kill %1": "tests/cli/test_documented.py",
}
"""Other programs' commands: the test that runs them, or what keeps a test from it."""
PROGRAMS = r"(?:apt-get|cargo|cd|curl|dask|gdb|git|kill|labgrid|make|pip|pytest|python3?|sudo|tinygo|\.ci/)\S* \S"


def code(page: Path) -> str:
    """The page's lines of code, indented, and all others."""
    text = re.sub(r"\\\n *", "", page.read_text(encoding="utf-8"))
    return re.sub(r"```\w*\n(.*?)```", lambda block: re.sub(r"(?m)^", "    ", block[1]), text, flags=re.DOTALL)


def commands(page: Path) -> list[list[str]]:
    """Words behind `portbench` of each line of code on the page."""
    lines = re.findall(r"^ {4,}portbench (.+)$", code(page), re.MULTILINE)
    return [shlex.split(line.partition("  #")[0].rstrip(" &")) for line in lines]


SHOWN = [
    pytest.param(words, id=f"{name}-{' '.join(words)}")
    for page in PAGES
    for name in [page.relative_to(ROOT).as_posix()]
    for words in commands(page)
    if name not in ELSEWHERE or (name == "README.md" and words[0] == "run")
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


RUNS = [each for each in SHOWN if each.values[0][0] == "run"]


def _planned_only(words: list[str]) -> bool:
    return any(re.search(pattern, shlex.join(words)) for pattern in PLANNED)


@pytest.mark.parametrize("words", [each for each in RUNS if _planned_only(each.values[0])])
def test_a_run_is_planned(words: list[str], folder: Path, invoke: Invoke, image: Image) -> None:  # noqa: F811
    provide(words, folder, planned)
    done = invoke(*words, "--dry-run")
    if "forbids the download" in done.output:  # a sweep reads its images first
        for runtime in images_of(words):
            image(runtime)
    assert done.exit_code == 0, done.output


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("words", [each for each in RUNS if not _planned_only(each.values[0])])
def test_a_run_measures(
    words: list[str],
    folder: Path,
    invoke: Invoke,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without images the native client is measured; a command that names others says where to get each."""
    monkeypatch.setattr("portbench.runner.jobs.run.measure", rows_once.measure)
    named = images_of(words) - {"portbench-native"}
    if not named:
        (folder / "none").mkdir()
        monkeypatch.setenv("PORTBENCH_FIRMWARE_DIR", str(folder / "none"))
    provide(
        [*words, "main/firmware.uf2"], folder, lambda name: (AVR_IMAGE if ".hex" in name else NATIVE_IMAGE).read_bytes()
    )
    if "--baseline" in words:  # the page says: a run called main
        (folder / "results" / "runs" / "main.jsonl").unlink()
        assert invoke("run", "--runtime", "main/firmware.uf2", "--name", "main").exit_code == 0
    done = invoke(*words)
    if "--dry-run" in words:
        assert done.exit_code == 0 and done.stdout, done.output
    elif done.exit_code == 0:
        assert re.search(r"\] measured |of the best", done.output), done.output
    else:
        assert "portbench-native" not in invoke(*words, "--dry-run").stdout, done.output
        assert re.search(r"all \d+ were skipped; get an image|forbids the download", done.output), done.output


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


def test_each_command_of_another_program_is_run_somewhere() -> None:
    shown = [line for page in PAGES for line in re.findall(rf"^ {{4,}}({PROGRAMS}.*)$", code(page), re.MULTILINE)]
    for line in shown:
        assert any(re.match(pattern, line) for pattern in OTHERS), f"name the test that runs it: {line}"
    for pattern, told in OTHERS.items():
        assert any(re.match(pattern, line) for line in shown), f"no page shows it: {pattern}"
        for path in re.findall(r"tests/[\w/.]+", told):
            assert (ROOT / path).exists(), path
