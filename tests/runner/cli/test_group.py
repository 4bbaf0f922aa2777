"""Verbs are files; a fault is one line; streams hold."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import portbench.runner.cli
from portbench.runner.cli import portbench as group
from tests import patience
from tests.runner.conftest import COMMAND, LIMIT_S, Invoke, Start

FOLDER = Path(portbench.runner.cli.__file__).parent / "verbs"
VERBS = group.list_commands()
ALL = sorted(
    " ".join(path.relative_to(FOLDER).with_suffix("").parts).removesuffix(" __init__")
    for path in FOLDER.rglob("*.py")
    if path.parent != FOLDER or path.name != "__init__.py"
)
"""With those below them."""


_LOADED = """
import sys
from portbench.runner.cli import portbench
try:
    portbench.main(["--help"])
finally:
    print(sys.modules.keys() & {"pydantic", "pytest", "rich", "portbench.runner.options"})
"""


def test_help_names_every_verb_and_loads_none(start: Start) -> None:
    lines = start("--help").stdout.partition("Choose:\n")[2].splitlines()
    assert sorted(line.split()[0] for line in lines if re.match(r"  \S", line)) == VERBS
    done = patience.run([sys.executable, "-c", _LOADED], LIMIT_S)
    assert done.returncode == 0 and done.stdout.endswith("\nset()\n")


@pytest.mark.parametrize("verb", ALL)
def test_every_verb_has_help_that_says_what_it_is_for(verb: str, invoke: Invoke) -> None:
    done = invoke(*verb.split(), "--help")
    assert done.exit_code == 0 and done.output.startswith(f"Usage: portbench {verb} ")
    about = done.output.split("\n\n")[1]
    assert about.startswith("  ") and about.endswith(".")


@pytest.mark.parametrize("words", [["--workload=ping"], ["--workload", "http", "--workload=ping"]])
def test_help_has_the_settings_of_the_workloads_beside_it(words: list[str], invoke: Invoke) -> None:
    said = invoke("run", *words, "--help").stdout.split()
    assert "sizes" in said and ("at_once" in said) == ("http" in words) and "passes" not in said


def test_the_help_of_run_fits_a_screen(in_process: Start) -> None:
    lines = in_process("run", "--help", COLUMNS="100").stdout.splitlines()
    assert len(lines) <= 41 and max(map(len, lines)) <= 100
    options = [line.strip() for line in lines if re.match(r"  +-", line)]
    assert len(options) <= 30 and sum(line.endswith(":") for line in lines) == 4


@pytest.mark.parametrize(("words", "same"), [([], []), (["run"], ["run"]), (["desk", "power"], ["desk", "power"])])
def test_help_is_a_word_too(words: list[str], same: list[str], invoke: Invoke) -> None:
    done = invoke("help", *words)
    assert done.exit_code == 0 and done.stdout == invoke(*same, "--help").stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nothing"], "portbench: unknown command 'nothing'; see: portbench --help\n"),
        (["sweep"], "portbench: unknown command 'sweep'; did you mean run -s NAME=VALUE,VALUE? see: portbench --help"),
        (["lsit"], "portbench: unknown command 'lsit'; did you mean list? see: portbench --help"),
        (["desk", "powr"], "portbench desk: unknown command 'powr'; did you mean power? see: portbench desk --help"),
        (
            ["list", "moons"],
            "portbench list: unknown command 'moons'; choose one of boards, releases, runtimes, settings, workloads;",
        ),
        (["run", "--message", "2"], "portbench run: No such option '--message'. Did you mean '--messages'? see: "),
        (
            ["run", "--on", "nowhere"],
            "portbench run: Invalid value for '--on': 'nowhere' is not an address; write tcp://",
        ),
        (["run", "--runtime", "."], "portbench run: .: is not an image; choose a .uf2, .hex, .elf file; see: "),
        (["run", "tests"], "portbench run: Got unexpected extra argument (tests); see: portbench run --help"),
        (
            ["run", "--runtime=basic"],
            "portbench run: unknown runtime or .uf2 file 'basic'; see: portbench list runtimes\n",
        ),
        (
            ["serve", "--timeout", "nan"],
            "portbench serve: Invalid value for '--timeout': 'nan' is not a number of ",
        ),
        (
            ["check", "silicon", "--part", "wheel"],
            "portbench check silicon: --part: unknown part 'wheel'; choose one of ",
        ),
        pytest.param(
            ["trace", "portbench-native/nothing"],
            "portbench trace: --profile: unknown profile 'nothing'; choose one of tuned;",
            marks=pytest.mark.engine,
        ),
        (
            ["serve", "--workload", "xyzzy"],
            "portbench serve: --workload: unknown workload 'xyzzy'; see: portbench list workloads\n",
        ),
        (["desk", "remote", "--listen", "2217"], "portbench desk remote: --listen: '2217' is not HOST:PORT;"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_status_2(
    words: list[str], says: str, invoke: Invoke, tmp_path: Path
) -> None:
    done = invoke(*words)
    assert (done.exit_code, done.stdout) == (2, "") and not any(tmp_path.iterdir())
    assert done.stderr.startswith(says) and done.stderr.count("\n") == 1


def test_version(start: Start) -> None:
    assert start("--version").stdout.startswith("portbench")


def in_bash(line: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return patience.run(["bash", "-c", line], LIMIT_S, cwd=folder, env=environment)


def test_a_reader_that_leaves_early_is_no_fault(empty: Path, environment: dict[str, str]) -> None:
    words = " ".join(COMMAND)
    done = in_bash(f"{words} list | head -1; {words} list --json | head -1; {words} --help | true", empty, environment)
    assert done.stdout.split() == ["Runtimes", "{"] and done.stderr == ""


@pytest.mark.parametrize("streams", [">&-", ">&- 2>&-"])
def test_output_that_goes_nowhere_is_no_fault(streams: str, empty: Path, environment: dict[str, str]) -> None:
    done = in_bash(f"{' '.join(COMMAND)} list workloads {streams}", empty, environment)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", ["list workloads", "--help"])
def test_output_to_a_full_disk_is_one_line(words: str, empty: Path, environment: dict[str, str]) -> None:
    done = in_bash(f"{' '.join(COMMAND)} {words} >/dev/full", empty, environment)
    said = "portbench: the output: cannot be written (No space left on device); make room or make it writable\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


def test_an_interruption_while_the_command_starts_is_no_traceback(empty: Path, environment: dict[str, str]) -> None:
    words = [sys.executable, "-X", "importtime", *COMMAND[1:], "list"]
    with subprocess.Popen(words, cwd=empty, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        next(line for line in process.stderr if line.endswith(" click.core\n"))
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
    assert process.returncode in (-signal.SIGINT, 130) and "Traceback" not in said


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_names_that_a_locale_lacks_are_no_fault(encoding: str, in_process: Start, tmp_path: Path) -> None:
    c_locale = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": encoding}
    done = in_process("show", tmp_path / "läuft-→.json", **c_locale, COLUMNS="60")
    assert done.returncode == 1 and "there is no such file" in done.stderr and "Traceback" not in done.stderr
    listed = in_process("list", **c_locale)
    assert listed.returncode == 0 and "micropython-1.26.0" in listed.stdout


def test_the_help_of_run_has_the_settings_of_the_named_workload(invoke: Invoke) -> None:
    plain = invoke("run", "--help").output
    for words in (("--workload", "http"), ("--workload=http",)):
        shown = invoke("run", *words, "--help").output
        assert shown.startswith(plain)
        own = shown.removeprefix(plain)
        assert own.startswith("\nSettings of http, as -s NAME=VALUE:\n")
        assert "keep_alive  pages asked for on one connection (default 1)" in own
    assert "Settings of" not in invoke("run", "--workload", "all", "--help").output


@pytest.mark.parametrize(
    ("device", "says"),
    [("usb:nowhere", "no board usb:nowhere; plug it in"), ("what", "is not one of auto, id:SERIAL")],
)
def test_a_board_that_is_not_there_is_one_line(device: str, says: str, start: Start) -> None:
    done = start("desk", "remote", "--device", device)
    assert done.returncode == 1 and says in done.stderr and done.stderr.count("\n") == 1
