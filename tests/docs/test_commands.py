"""Commands of all pages run as they stand, here or in the tests that are named here."""

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from portbench.clients.libraries import library_files
from portbench.firmware import catalogue, uf2
from portbench.firmware.catalogue import Profile
from portbench.firmware.identify import NATIVE_PROGRAM
from portbench.results.shipped import shipped
from portbench.results.storage import RunWriter
from portbench.runner import options
from portbench.runner.options import What
from portbench.workloads import Workload, WorkloadSettings
from tests import patience
from tests.boards.desk.forward.conftest import SERVER
from tests.conftest import Image, libraries_or_skip
from tests.firmware.test_images import micropython
from tests.ping_pong import NATIVE_IMAGE
from tests.runner.conftest import Invoke

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    [
        *(ROOT / page for page in ("README.md", "CONTRIBUTING.md", "engine/README.md")),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "workloads").rglob("README.md"),
    ]
)
PROGRAMS = (
    r"\.ci/|\.venv/|apt-get |cargo |cd |curl |dask |gdb|git |labgrid-|make |mdir |mpflash |node |pip |portbench "
    r"|pytest |python|ser2net |sh |sigrok-cli |sudo |tinygo |tshark "
)
READING = {"advise", "images", "list", "show"}
"""Verbs that start no board."""
MEASURING = {"bisect", "compare", "explain", "flash", "profile", "trace"}
AVR_IMAGE = ROOT / "firmware" / "avr" / "ping_pong.hex"
BUILDS = {"RPI_PICO-v1.24.1.uf2": "micropython-pico-1.24.1", "RPI_PICO-v1.26.1.uf2": "micropython-pico-1.26.1"}
"""Files that are images of the catalogue; the others are the native client."""
LINKER_MAP = "Linker script and memory map\n .text.main     0x10000200       0x40 main.o\n"

BLOCKS = {
    "docs/adding-a-board.md": "tests/docs/test_adding.py",
    "docs/hardware.md": "tests/runner/cli/test_documented.py",
    "docs/other-test-tools.md": "tests/testing/conftest.py",
    "docs/tutorials/app.md": "tests/docs/test_tutorials.py",
    "docs/tutorials/maintainer.md": "tests/docs/test_tutorials.py",
    "docs/tutorials/maker.md": "tests/docs/test_tutorials.py",
}
"""Pages with a block of `sh`, which that test runs as it stands."""
TAKEN = {
    ("docs/adding-a-chip.md", "cargo test"): "tests/docs/test_adding.py",
}
"""Lines that another test takes from the page."""
QUOTED = {
    "portbench desk": "tests/runner/cli/test_desk.py",
    "mdir": "tests/runner/cli/test_desk.py",
    "curl": "tests/boards/desk/forward/test_tools.py",
    "mpflash": "tests/test_mpflash.py",
    "(CONSOLE_PORT=2217 )?labgrid-": "tests/boards/labgrid/conftest.py",
    "portbench run --device (usb|labgrid):desk": "tests/boards/labgrid/test_documented.py",
    "portbench run .*--on tcp": "tests/runner/jobs/test_cluster.py",
}
"""Commands that a test has in its text. It replaces only ports, boards and folders."""
UNRUN = {
    r"apt-get install|python3 -m venv |pip install ": "needs the internet; tests/packaging/test_wheel.py"
    " installs the wheels, and tests/runner/cli/test_action.py runs the action's steps",
    r"sudo |ser2net ": "needs rights, or a board on a cable; tests/boards/remote has both servers on the loopback",
    r"make (quick|lint|build|test)$": ".ci/run, or a part of it",
    r"make flash-and-bench": "compiles, then measures all: tests/runner/cli/test_documented.py checks its options",
    r"make playground|python3 -m http.server": "compiles for WebAssembly: tests/page/test_playground.py",
    r"make fuzz |\.ci/mutants |PORTBENCH_(LOCKSTEP|[A-Z]+_FUZZ_[A-Z]+)=": "hours; the tests take fewer steps",
    r"cd docs/how-to-play/tinygo|tinygo ": "a compiler that no package has: tests/workloads/sd_card/test_tinygo.py",
    r"cargo run .* --example repl": "a release build: engine/board/tests/machine/examples.rs calls the example",
    r"PORTBENCH_FIRMWARE_DIR=FOLDER cargo test": "images of other projects: engine/board/tests/machine/rp2350.rs",
    r"python -m portbench\.clients\.arduino": "a library from the internet: tests/clients/test_arduino.py",
    r"dask ": "a cluster: tests/runner/jobs/test_cluster.py",
    r"gdb-multiarch |portbench gdb ": "the port 3333 and the user's ELF file: tests/boards/emulated/gdb/test_gdb.py",
    r"portbench (bisect|show history) .*--build": "a compiler, and an hour: tests/runner/cli/test_bisect.py",
    r"portbench compare .*perf_bench": "hours of 16 layouts: tests/boards/emulated/test_flash_layouts.py",
}
"""Commands that no test runs as they stand: the reason, and the tests of what remains. Those of make are planned."""
OTHER_PROGRAMS = {
    r"make ": "--dry-run",
    r"pytest (-k runtime$|tests/(peers|soak))": "--collect-only -q",
    r"python -m portbench_engine$": "",
}
"""Commands of other programs that run here, and the option that plans them only."""
CLONE = "git clone https://github.com/portbench/portbench && cd portbench"
PLANNED = {
    "run .*(--where silicon|/dev/ttyUSB0)": "an ATmega on a cable: tests/boards/usb/test_avrdude.py",
    "run .*--partner-device": "two boards on cables: tests/boards/usb, tests/workloads/two_boards",
    "run .*(httpd.uf2|tls-client.uf2)": "images that their owner builds: tests/boards/emulated/test_foreign.py",
}
"""Commands that are planned here instead of run (`--dry-run`), and why."""
LONG = {
    "run .*--workload (all|sd_card)": "portbench-native",
    "run .*(interpreter|perf_bench) --runtime .*uf2": "micropython-1.28.0",
    "run .*mqtt -s": "micropython-1.28.0",
    "check silicon($| --publish)": "portbench-native",
    "check silicon --part bulk": "wiznet-hardwired-w5100s",
}
"""Commands of minutes, or of half a minute on a port of the PC, which takes a processor's whole time. They run where
images are at hand; and the image that is in the files that they name."""
FAILS = {"run .*card_state=worn": "the card does not take a block: it is write-protected or worn"}
"""Commands whose page says that they fail, and how."""
REMORA = "470ee2239784fbe7c491550ff2b468aad685dee02c81f11f60b66a11ae4180b7"
LACKS = r"(?m)^\d+ of \d+ parts could not be measured: "
SAYS = {
    "advise W5500_EVB_PICO": r"flash micropython-1\.28\.0, MicroPython's newest release as of ",
    "flash my.uf2": r"frames sent, address 192\.168\.50\.",
    "explain micropython-1.26.0/as-published": r"Where the time goes",
    "compare before.uf2 after.uf2 --fail-if-slower 2%": r"the same",
}
"""Words of what the README's commands print."""


def code(page: Path) -> str:
    """The page's lines of code, indented, without blocks of `sh`, and all others."""
    text = re.sub(r"```sh\n.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"\\\n *", "", text)
    return re.sub(r"```[\w,]*\n(.*?)```", lambda block: re.sub(r"(?m)^", "    ", block[1]), text, flags=re.DOTALL)


def commands(page: Path) -> list[str]:
    """Each line of code on the page that is a command, without its comment."""
    lines = re.findall(rf"^ {{4,}}((?:[A-Z_]+=\S+ )?(?:{PROGRAMS}).*)$", code(page), re.MULTILINE)
    return [re.split(" +# ", line)[0].rstrip(" &") for line in lines]


SHOWN = [(page.relative_to(ROOT).as_posix(), line) for page in PAGES for line in commands(page)]
THEN = r"sigrok-cli |tshark "
"""Commands that read what the line before has written."""


def _matches(patterns: Iterable[str], line: str) -> bool:
    return any(re.match(pattern, line) for pattern in patterns)


def _elsewhere(page: str, line: str) -> bool:
    taken = [begin for name, begin in TAKEN if name == page]
    return _matches([*taken, *QUOTED, *UNRUN], line)


OURS = {
    line.removeprefix("portbench "): [after] if re.match(THEN, after) else []
    for (page, line), (_, after) in zip(SHOWN, [*SHOWN[1:], ("", "")], strict=True)
    if line.startswith("portbench ") and not _elsewhere(page, line)
}
"""Commands of portbench that run here, each once, and the commands that read what they write."""


def _of(verbs: set[str], *, planned: bool = False) -> list[str]:
    return [each for each in OURS if each.split()[0] in verbs and _matches(PLANNED, each) is planned]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what pages name: runs, and firmware that is only planned."""
    made = tmp_path_factory.mktemp("pages")
    (made / "Downloads").mkdir()
    (made / "Downloads" / "any.uf2").write_bytes(micropython("1.27.0"))
    results = made / "results"
    run = shipped("W5500_EVB_PICO")
    for file in ("CABLE", "WIFI", "BEFORE", "AFTER", "main", "pr-1234"):
        named = run.model_copy(update={"name": file if file.islower() else None})
        RunWriter(named, results, resumed=results / "runs" / f"{file}.jsonl").close()
    for path in (made / "FILE", made / "elsewhere" / "run.json"):
        path.parent.mkdir(exist_ok=True)
        shutil.copy(results / "latest.json", path)
    return made


@pytest.fixture
def folder(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy for one command, which may write into it."""
    monkeypatch.setenv("PORTBENCH_OFFLINE", "1")
    shutil.copytree(runs, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs of a row, unless a command says how many. Settings that it leaves out are those of quick runs, but for
    ping-pong's: on a port of the PC, a program that waits for a message takes a processor's whole time.
    """
    monkeypatch.setattr(options, "DEFAULT_RUNS", 2)
    usual = What.settings_for

    def settings_for(what: What, workload: Workload, profile: Profile) -> WorkloadSettings:
        return usual(replace(what, quick=workload.name != "ping_pong"), workload, profile)

    monkeypatch.setattr(What, "settings_for", settings_for)


def provide(words: list[str], folder: Path, content: Callable[[str], bytes]) -> None:
    """The files of firmware that a command names."""
    for path in (folder / word for word in words if word.endswith((".hex", ".uf2"))):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(path.name))


def provide_library(words: list[str], folder: Path) -> None:
    """The pinned files of CircuitPython's driver, where a command names a copy of it."""
    for path in (folder / word.partition("=")[2] for word in words if word.startswith("adafruit_wiznet5k=")):
        with libraries_or_skip():
            files = library_files(9, 60, names=["adafruit-circuitpython-wiznet5k"])
        (path / "adafruit_wiznet5k").mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (path / name.removeprefix("lib/")).write_bytes(content)


def planned(name: str) -> bytes:
    return b":0400000000000000FC\n:00000001FF\n" if name.endswith(".hex") else uf2.build(b"master secret".ljust(256))


def long(line: str, image: Image) -> Path | None:
    """The image of a command of `LONG`; None for others. Skips the test where no image is at hand."""
    runtime = next((runtime for begin, runtime in LONG.items() if re.match(begin, line)), None)
    if runtime is None:
        return None
    image("micropython-1.28.0")
    return image(runtime)


def remora() -> Path:
    """The image whose service a page asks; skips the test without it."""
    for path in Path(os.environ.get("PORTBENCH_FIRMWARE_DIR", "none")).glob("*.uf2"):
        if hashlib.sha256(path.read_bytes()).hexdigest() == REMORA:
            return path
    pytest.skip(f"without the image {REMORA}.uf2: firmware/remora-rp2040-1.0.1.uf2 of Remora-RP2040-W5500 on GitHub")


def images_of(words: list[str]) -> set[str]:
    """Runtimes of the catalogue that a command names."""
    known = {entry.id for entry in catalogue.load()}
    return known & {part for word in words for part in re.split(r"[/,=]", word)}


@pytest.mark.parametrize("line", _of({"run"}, planned=True))
def test_a_command_is_planned(line: str, folder: Path, invoke: Invoke) -> None:
    words = shlex.split(line)
    provide(words, folder, planned)
    done = invoke(*words, "--dry-run")
    assert done.exit_code == 0, done.output


@pytest.mark.timeout(1200)
@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("line", _of({"check"}))
def test_a_check_runs_or_says_what_it_lacks(
    line: str, folder: Path, invoke: Invoke, image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A check of hours lacks the images here."""
    needed = long(line, image)
    for name in ("CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(folder / name))
    if needed in (None, NATIVE_IMAGE):
        monkeypatch.setenv("PORTBENCH_FIRMWARE_DIR", str(folder))
    for page in (folder / "FOLDER", folder / "docs" / "evidence"):
        page.mkdir(parents=True)
    done = invoke(*shlex.split(line))
    assert done.stdout and (done.exit_code == 0 or re.search(LACKS, done.stderr)), done.output


@pytest.mark.timeout(1200)  # with images, two boards take 130 s of a PC that does nothing else
@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize("line", _of({"run"}))
def test_a_run_measures(line: str, folder: Path, invoke: Invoke, image: Image, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without images the native client is measured; a command that names others says where to get each."""
    words = shlex.split(line)
    needed = long(line, image)
    server = remora() if "port=27181" in words else SERVER
    named = images_of(words) - {"portbench-native"}
    if not named:
        (folder / "none").mkdir()
        monkeypatch.setenv("PORTBENCH_FIRMWARE_DIR", str(folder / "none"))

    def content(name: str) -> bytes:
        if name == "server.uf2":
            return server.read_bytes().replace(NATIVE_PROGRAM, b"another-program!")
        return (AVR_IMAGE if name.endswith(".hex") else needed or NATIVE_IMAGE).read_bytes()

    provide([*words, "main/firmware.uf2"], folder, content)
    provide_library(words, folder)
    if "--baseline" in words:  # the page says: a run called main
        (folder / "results" / "runs" / "main.jsonl").unlink()
        assert invoke("run", "--runtime", "main/firmware.uf2", "--name", "main").exit_code == 0
    done = invoke(*words)
    if "--dry-run" in words:
        assert done.exit_code == 0 and done.stdout, done.output
    elif done.exit_code == 0:
        assert re.search(r"\] measured |of the best", done.output), done.output
    elif fault := next((fault for begin, fault in FAILS.items() if re.match(begin, line)), None):
        assert done.output.count("] failed ") == done.output.count(fault) == 3, done.output
    else:
        assert "portbench-native" not in invoke(*words, "--dry-run").stdout, done.output
        none = r"all \d+ (were skipped; get what they lack|are unsupported or skipped)|forbids the download"
        assert re.search(none, done.output), done.output


@pytest.mark.parametrize("line", _of(READING))
def test_a_command_that_reads_runs(line: str, folder: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(line)
    for name in ("CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(folder / name))
    done = invoke(*(word.replace("~", str(folder)) for word in words))
    assert done.exit_code == 0 and done.stdout, done.output
    assert re.search(SAYS.get(line, ""), done.stdout), done.output


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize("line", _of(MEASURING))
def test_a_command_that_measures_runs(
    line: str, folder: Path, invoke: Invoke, image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = shlex.split(line)
    for runtime in images_of(words):
        image(runtime)
    provide(
        [*words, "builds/1.uf2", "builds/2.uf2"],
        folder,
        lambda name: (image(BUILDS[name]) if name in BUILDS else NATIVE_IMAGE).read_bytes(),
    )
    provide_library(words, folder)
    for path in (folder / word for word in words if word.endswith((".elf", ".map"))):
        path.write_text(LINKER_MAP)
    done = invoke(*words)
    if "forbids the download" in done.output:
        pytest.skip(done.output.strip())
    none_is_slower = words[:2] == ["bisect", "builds/"]
    assert done.exit_code == (1 if none_is_slower else 0) and done.stdout, done.output
    assert re.search(SAYS.get(line, ""), done.stdout), done.output
    for reader in OURS[line]:
        command = shlex.split(reader)
        if shutil.which(command[0]) is None:
            pytest.skip(f"{command[0]} is not installed; run: sudo .ci/install-system-packages")
        assert subprocess.run(command, cwd=folder, capture_output=True, check=True, timeout=240).stdout


@pytest.mark.engine
@pytest.mark.skipif(shutil.which("cargo") is None, reason="no Rust toolchain (cargo); install it with rustup")
@pytest.mark.parametrize("line", sorted({line for _, line in SHOWN if _matches(OTHER_PROGRAMS, line)}))
def test_a_command_of_another_program_runs(line: str, tmp_path: Path) -> None:
    planned = next(option for begin, option in OTHER_PROGRAMS.items() if re.match(begin, line))
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    for name in ("CACHE", "CONFIG", "STATE"):
        environment[f"XDG_{name}_HOME"] = str(tmp_path)
    done = subprocess.run(
        f"{line} {planned}", shell=True, cwd=ROOT, env=environment, capture_output=True, timeout=240, check=False
    )
    assert done.returncode == 0 and done.stdout, done.stderr


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="this is not a clone")
def test_the_first_two_commands_of_the_readme(tmp_path: Path) -> None:
    environment = os.environ | {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.{ROOT}.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/portbench/portbench",
    }
    done = patience.run(
        f"{CLONE} && make --dry-run flash-and-bench",
        240,
        shell=True,
        cwd=tmp_path,
        env={name: value for name, value in environment.items() if name not in ("MAKEFLAGS", "MAKELEVEL")},
    )
    assert done.returncode == 0 and "portbench run --all" in done.stdout, done.stderr


def has(test: str, words: str) -> bool:
    """The test has the words in its text: in one string or several, or as a list of words."""
    text = (ROOT / test).read_text(encoding="utf-8")
    return words in text or words in re.sub(r'"\s*\n\s*"+', "", text) or words in re.sub(r'",\s+"', " ", text)


def test_each_command_is_run_or_says_why_not() -> None:
    """A test that is named here has the words in it, or takes them from the page."""
    verbs = {"check", "run"} | READING | MEASURING
    readers = [line for each in OURS.values() for line in each]
    for page, line in SHOWN:
        if tests := [test for (name, begin), test in TAKEN.items() if name == page and re.match(begin, line)]:
            assert has(tests[0], Path(page).name), line
        elif tests := [test for begin, test in QUOTED.items() if re.match(begin, line)]:
            assert has(tests[0], re.sub("^(portbench|CONSOLE_PORT=2217) ", "", line)), f"{tests[0]} lacks: {line}"
        elif line not in (*readers, CLONE) and not _matches([*UNRUN, *OTHER_PROGRAMS], line):
            assert line.split()[1] in verbs, f"{page}: name the test that runs: {line}"
    for page, test in BLOCKS.items():
        assert has(test, Path(page).name), page
    assert {page.relative_to(ROOT).as_posix() for page in PAGES if "\n```sh\n" in page.read_text()} == set(BLOCKS)


def test_no_reason_outlives_its_command() -> None:
    for patterns, among in (
        ([begin for _, begin in TAKEN], [line for _, line in SHOWN]),
        (QUOTED, [line for _, line in SHOWN]),
        ([*UNRUN, *OTHER_PROGRAMS], [line for _, line in SHOWN]),
        ([*PLANNED, *LONG, *FAILS], OURS),
        ([re.escape(CLONE)], [line for _, line in SHOWN]),
        (map(re.escape, SAYS), OURS),
    ):
        for pattern in patterns:
            assert any(re.match(pattern, line) for line in among), f"no page shows it: {pattern}"
    for told in (*UNRUN.values(), *PLANNED.values()):
        for path in re.findall(r"(?:tests|engine)/[\w/.]+", told):
            assert (ROOT / path).exists(), path
