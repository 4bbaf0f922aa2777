"""Completions that a shell offers, by click's own interface."""

import pytest
from click.shell_completion import ShellComplete

from portbench.firmware import catalogue
from portbench.runner.cli import portbench
from tests.runner.conftest import Start

RUNTIMES = [entry.id for entry in catalogue.load()]


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["s"], ["serve", "show"]),
        (["check", "silicon", "--re"], ["--record"]),
        (["run", "-s", "mess"], ["messages="]),
        (["run", "--runtime", ""], RUNTIMES),
        (["run", "--workload", "ping_"], ["ping_pong"]),
        (["run", "--board", "W55"], ["W5500_EVB_PICO", "W5500_EVB_PICO2"]),
        (["run", "--where", ""], ["auto", "silicon", "emulated", "hosted"]),
        (["trace", "wiznet-2"], ["wiznet-2.0.0"]),
        (["gdb", "./my"], ["./my"]),
    ],
)
def test_values_are_those_of_the_data(words: list[str], values: list[str]) -> None:
    completion = ShellComplete(portbench, {}, "portbench", "_PORTBENCH_COMPLETE")
    found = completion.get_completions(words[:-1], words[-1])
    assert [item.value for item in found] == values
    assert {item.type for item in found} == {"file" if words[-1] == "./my" else "plain"}


def test_the_variable_of_the_documents_prints_the_script(start: Start) -> None:
    assert "_PORTBENCH_COMPLETE=zsh_complete" in start(_PORTBENCH_COMPLETE="zsh_source").stdout
