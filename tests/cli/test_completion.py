"""What a shell offers: by click's own interface, and in a bash that has read the script."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from portbench.firmware import catalogue
from portbench.runner.cli import portbench
from portbench.workloads import workloads
from tests.cli.conftest import LIMIT_S, Invoke
from tests.cli.test_group import VERBS

RUNTIMES = [entry.id for entry in catalogue.load()]
PROFILES = list(dict.fromkeys(profile.name for entry in catalogue.load() for profile in entry.profiles))


def offered(*words: str) -> list[str]:
    """For the last of `words`."""
    completion = ShellComplete(portbench, {}, "portbench", "_PORTBENCH_COMPLETE")
    return [item.value for item in completion.get_completions(list(words[:-1]), words[-1])]


@pytest.mark.parametrize(
    ("words", "values"),
    [
        ([""], VERBS),
        (["s"], ["serve", "show"]),
        (["desk", "p"], ["ping", "pins", "power"]),
        (["check", "speed", "--re"], ["--record"]),
        (["run", "-s", "mess"], ["messages="]),
        (["run", "--workload", "http", "--setting", "page="], ["page=static", "page=dynamic"]),
        (["run", "--runtime", ""], RUNTIMES),
        (["run", "--runtime", "micropython-1.2"], [each for each in RUNTIMES if each.startswith("micropython-1.2")]),
        (["run", "--runtime=wiz"], [each for each in RUNTIMES if each.startswith("wiz")]),
        (["run", "--workload", "ping_"], ["ping_pong"]),
        (["run", "--board", "W55"], ["W5500_EVB_PICO", "W5500_EVB_PICO2"]),
        (["run", "--profile", ""], PROFILES),
        (["run", "--runtime", "portbench-native", "--profile", ""], ["tuned"]),
        (["run", "--where", ""], ["auto", "silicon", "emulated", "hosted"]),
        (["run", "--device", "au"], ["auto"]),
        (["run", "--mess"], ["--messages"]),
        (["trace", "wiznet-2"], ["wiznet-2.0.0"]),
        (["gdb", "portbench-native/"], ["portbench-native/tuned"]),
        (["desk", "--board", "W5100"], ["W5100S_EVB_PICO", "W5100S_EVB_PICO2"]),
        (["show", "--where", "si"], ["silicon"]),
    ],
)
def test_values_are_those_of_the_data(words: list[str], values: list[str]) -> None:
    assert offered(*words) == values


def test_no_runtime_of_that_name_may_be_a_file() -> None:
    completion = ShellComplete(portbench, {}, "portbench", "_PORTBENCH_COMPLETE")
    (item,) = completion.get_completions(["run", "--runtime"], "./my")
    assert (item.value, item.type) == ("./my", "file")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_script(shell: str, invoke: Invoke) -> None:
    done = invoke("completion", shell)
    assert done.exit_code == 0 and f"_PORTBENCH_COMPLETE={shell}_complete" in done.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("portbench sho", ["show"]),
        ("portbench run --runtime wiznet-2", ["wiznet-2.0.0"]),
        ("portbench run --runtime=wiznet-2", ["wiznet-2.0.0"]),
        ("portbench run --runs 1 --workload=", list(workloads())),
    ],
)
def test_a_real_bash(line: str, values: list[str], tmp_path: Path) -> None:
    """`COMP_WORDS` as readline cuts a line: at blanks, and around `=`."""
    command = tmp_path / "portbench"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m portbench "$@"\n')
    command.chmod(0o755)
    words = line.replace("=", " = ").split() + ([""] if line.endswith("=") else [])
    script = f"""
        PATH="{tmp_path}:$PATH"
        eval "$(portbench completion bash)"
        COMP_WORDS=({" ".join(f"'{word}'" for word in words)}); COMP_CWORD={len(words) - 1}
        $(complete -p portbench | sed -E 's/.*-F ([^ ]+) .*/\\1/') portbench
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert (done.stdout.split(), done.stderr) == (values, "")
