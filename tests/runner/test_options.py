"""Options are checked before anything starts: one line that names option, value and choices."""

from __future__ import annotations

from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, cast

import pytest
from _pytest.config.argparsing import Parser
from hypothesis import given
from hypothesis import strategies as st

from portbench.runner.options import BenchOptions, add_options, read_options
from portbench.runner.timeouts import DEFAULT_S, Stage


class _Config:
    def __init__(self, arguments: list[str]) -> None:
        parser = Parser(_ispytest=True)
        add_options(parser)
        self._options = parser.parse(arguments)

    def getoption(self, name: str) -> Any:
        return getattr(self._options, name)


def read(*arguments: str) -> BenchOptions:
    return read_options(cast(pytest.Config, _Config(list(arguments))))


def test_the_defaults() -> None:
    options = read()
    assert (options.board.id, options.messages, options.runs, options.where) == ("W5500_EVB_PICO", 1000, 3, "auto")
    assert (options.turnaround_us, options.phy_link_delay_s, options.server_port) == (200, 1.5, 5000)
    assert (options.address_mode, options.deployer, options.devices) == ("dhcp", "mpremote", ("auto",))
    assert options.parallel == 1
    assert options.timeouts_s == DEFAULT_S and options.results_dir.name == "results"


def test_everything_can_be_chosen() -> None:
    options = read(
        "--runtime=a", "--runtime=b.uf2", "--profile=tuned", "--board=wiznet_w5100s_evb_pico", "--where=silicon",
        "--device=id:E660", "--device=usb:1-2", "--parallel=2",
        "--messages=7", "--runs=2", "--timeout-s=flash=9.5", "--timeout-s=run=60",
        "--deploy=rshell",
        "--server-host=10.0.0.1", "--server-port=0", "--turnaround-us=0", "--phy-link-delay-s=2.5",
        "--address-mode=static", "--static-address=10.0.0.2,255.255.255.0,10.0.0.1,8.8.8.8", "--results-dir=/x",
    )  # fmt: skip
    assert options.devices == ("id:E660", "usb:1-2") and options.parallel == 2
    assert options.runtimes == ("a", "b.uf2") and options.profiles == ("tuned",)
    assert options.board.id == "W5100S_EVB_PICO" and options.messages == 7 and options.runs == 2
    assert options.timeouts_s == DEFAULT_S | {Stage.FLASH: 9.5, Stage.RUN: 60}
    assert options.static is not None and options.static.gateway == IPv4Address("10.0.0.1")
    assert (options.deployer, options.server_host, options.server_port) == ("rshell", "10.0.0.1", 0)
    assert (options.turnaround_us, options.phy_link_delay_s, options.results_dir) == (0, 2.5, Path("/x"))


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("--board=pico", "--board: unknown board 'pico': there are RPI_PICO, W5100S_EVB_PICO, W5500_EVB_PICO"),
        ("--parallel=0", "--parallel: 0 is not a whole number from 1 to 64"),
        ("--where=moon", "--where: 'moon' is none of auto, silicon, emulated, hosted"),
        ("--messages=0", "--messages: 0 is not a whole number from 1 to 1 000 000"),
        ("--messages=many", "--messages: 'many' is not a whole number from 1 to 1 000 000"),
        ("--messages=1.5", "--messages: '1.5' is not a whole number from 1 to 1 000 000"),
        ("--runs=-1", "--runs: -1 is not a whole number from 1 to 1 000"),
        ("--server-port=70000", "--server-port: 70000 is not a whole number from 0 to 65 535"),
        ("--phy-link-delay-s=nan", "--phy-link-delay-s: nan is not a number from 0 to 60"),
        (
            "--timeout-s=flush=3",
            "--timeout-s: 'flush=3' is not STAGE=SECONDS with a stage of open, flash, console",
        ),
        ("--timeout-s=60", "--timeout-s: '60' is not STAGE=SECONDS with a stage of open, flash, console"),
        ("--timeout-s=flash=0", "--timeout-s flash: 0 is not a number from 0.001 to 86 400"),
        ("--deploy=ftp", "--deploy: 'ftp' is none of mpremote, rshell"),
        ("--address-mode=ppp", "--address-mode: 'ppp' is none of dhcp, static"),
        ("--static-address=1.2.3", "--static-address: '1.2.3' is not IP,MASK,GATEWAY,DNS"),
        ("--static-address=1.2.3.4,255.0.0.0,1.0.0.1,dns", "--static-address: '1.2.3.4,255.0.0.0,1.0.0.1,dns' is not"),
    ],
)
def test_a_bad_value_is_one_line(argument: str, says: str) -> None:
    with pytest.raises(pytest.UsageError) as caught:
        read(argument)
    assert str(caught.value).startswith(says) and "\n" not in str(caught.value)


@given(
    st.sampled_from(
        ["messages", "runs", "timeout-s", "server-port", "turnaround-us", "phy-link-delay-s", "static-address"]
    ),
    st.text(max_size=12) | st.integers().map(str) | st.floats().map(str) | st.floats().map(lambda f: f"run={f}"),
)
def test_any_text_is_an_option_or_a_usage_error(name: str, text: str) -> None:
    try:
        options = read(f"--{name}={text}")
    except pytest.UsageError as error:
        assert str(error).startswith(f"--{name}")
    else:
        assert options.messages > 0 and all(seconds > 0 for seconds in options.timeouts_s.values())
