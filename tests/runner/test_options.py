"""Options are checked before anything starts: one line that names option, value and choices."""

import sys
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from hypothesis import given as example
from hypothesis import strategies as st

from portbench.boards.jitter import Surroundings
from portbench.boards.wifi import AccessPoint
from portbench.errors import LibraryMissing, OptionError
from portbench.runner.cli.verbs import run
from portbench.runner.options import BenchOptions, How, Output, Place, What, read_options
from portbench.runner.stages import DEFAULT_S, Stage


def read(*arguments: str) -> BenchOptions:
    """Read options from the command line of `portbench run`."""
    with run.COMMAND.make_context("run", list(arguments)) as context:
        return read_options(context.params)


def parts(options: BenchOptions) -> tuple[What, Place, How, Output]:
    return options.what, options.place, options.how, options.output


def test_the_defaults() -> None:
    what, place, how, output = parts(read())
    assert (what.board, what.workloads, what.settings, what.quick) == (None, (), {}, False)
    assert [each.name for each in what.chosen_workloads] == ["ping_pong"]
    assert (what.runs, place.where) == (3, "auto")
    assert how.surroundings == Surroundings(200, 1.5, seed=1)
    assert (how.server_port, how.port_to_boards, how.fixed_port) == (None, 5000, 5000)
    assert (how.address_mode, how.deployer, place.devices) == ("dhcp", "mpremote", ("auto",))
    assert place.parallel == 1
    assert how.timeouts_s == DEFAULT_S and output.results_dir.name == "results"


def test_everything_can_be_chosen() -> None:
    what, place, how, output = parts(read(
        "--runtime=a", "--runtime=b.uf2", "--profile=tuned", "--board=wiznet_w5100s_evb_pico", "--where=silicon",
        "--device=id:E660", "--device=usb:1-2", "--parallel=2",
        "--workload=ping_pong", "--messages=7", "--runs=2",
        "--setting=timeout_flash_s=9.5", "--setting=timeout_run_s=60",
        "--deploy=rshell", "--setting=server_host=10.0.0.1", "--setting=server_port=0",
        "--setting=turnaround_us=0", "--setting=phy_link_delay_s=2.5", "--setting=address_mode=static",
        "--setting=static_address=10.0.0.2,255.255.255.0,10.0.0.1,8.8.8.8", "--setting=spi_hz=2M", "--results-dir=/x",
    ))  # fmt: skip
    assert place.devices == ("id:E660", "usb:1-2") and place.parallel == 2
    assert what.runtimes == ("a", "b.uf2") and what.profiles == ("tuned",)
    assert what.board is not None and what.board.id == "W5100S_EVB_PICO" and what.runs == 2
    assert [each.name for each in what.workloads] == ["ping_pong"] and what.settings == {"messages": 7}
    assert how.timeouts_s == DEFAULT_S | {Stage.FLASH: 9.5, Stage.RUN: 60}
    assert how.static is not None and how.static.gateway == IPv4Address("10.0.0.1")
    assert (how.deployer, how.server_host, how.server_port) == ("rshell", "10.0.0.1", 0)
    assert (how.port_to_boards, how.fixed_port) == (0, 5000)
    assert what.profile_sets == {"spi_hz": 2_000_000} and what.axes == ()
    assert (how.surroundings, output.results_dir) == (Surroundings(0, 2.5, seed=1), Path("/x"))


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("--board=esp32", "--board: unknown board 'esp32'; choose one of ARDUINO_MEGA2560, GOLDILOCKS_1284P_W5100, "),
        ("--workload=pong", "--workload: unknown workload 'pong'; did you mean ping"),
        ("--setting=pc_address=10.1.2", "pc_address: '10.1.2' is not an IPv4 address; write 192.168.50.1"),
        ("--setting=pc_address=10.1.2.255", "pc_address: 10.1.2.255 cannot be a PC's; use a private address that"),
        ("--setting=pc_address=10.1.2.10", "pc_address: 10.1.2.10 cannot be a PC's; use a private address that"),
        ("--setting=pc_address=8.8.8.1", "pc_address: 8.8.8.1 cannot be a PC's; use a private address that"),
        ("--setting=static_address=1.2.3", "static_address: '1.2.3' is not IP,MASK,GATEWAY,DNS"),
        ("--setting=messages=1,2", "messages: 1,2 are several values, which portbench run measures; give one here"),
        ("--name=latest", "--name: 'latest' is not a name; use letters, digits, dots, dashes and slashes, not latest"),
        (
            "--board=RPI_PICO_W --setting=wifi_loss_per_mille=1001",
            "wifi_loss_per_mille: 1001: input should be less than",
        ),
        (
            "--board=RPI_PICO_W --setting=wifi_passphrase=short",
            "wifi_passphrase: 'short': string should have at least 8 characters",
        ),
    ],
)
def test_a_bad_value_is_one_line(argument: str, says: str) -> None:
    with pytest.raises(OptionError) as caught:
        read(*argument.split())
    assert str(caught.value).startswith(says) and "\n" not in str(caught.value)


def test_the_access_point_has_settings_where_the_board_has_a_radio() -> None:
    asked = ("loss_per_mille=100", "hidden=yes", "rssi_dbm=-70", "ssid=1234", "passphrase=")
    settings = [f"--setting=wifi_{each}" for each in asked]
    point = AccessPoint(loss_per_mille=100, hidden=True, rssi_dbm=-70, ssid="1234", passphrase=None)
    assert read("--board=RPI_PICO_W", *settings).how.access_point == point
    assert read("--board=RPI_PICO_W").how.access_point == AccessPoint()
    with pytest.raises(OptionError, match=r"^wifi_loss_per_mille: .* has no radio chip; choose another --board"):
        read("--board=W5500_EVB_PICO", *settings)


def test_a_tool_that_is_not_installed_is_told_before_any_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rshell", None)
    with pytest.raises(LibraryMissing, match=r"^--deploy rshell needs rshell; install it: pip install"):
        read("--deploy=rshell")


NAMES = ("spi_hz", "intn", "server_port", "turnaround_us", "static_address", "timeout_run_s", "seed")
VALUES = st.text(max_size=12) | st.integers().map(str) | st.floats().map(str)


@example(st.sampled_from(["--workload=", *(f"--setting={name}=" for name in NAMES)]), VALUES)
def test_any_text_is_an_option_or_a_fault(start: str, text: str) -> None:
    name = start.removeprefix("--setting=").rstrip("=")
    try:
        options = read(f"{start}{text}")
    except OptionError as error:
        assert str(error).startswith(name) and "\n" not in str(error).replace(text, "")
    else:
        assert all(seconds > 0 for seconds in options.how.timeouts_s.values())


def test_several_values_are_axes_and_nothing_varies_beside_them() -> None:
    asked = {
        "runtime": ["a"],
        "messages": "5,10",
        "setting": ["spi_hz=1M,2M", "intn=yes", "runtime=b", "turnaround_us=0"],
    }
    what, _, how, _ = parts(read_options(asked, sweeps=True))
    assert [(axis.name, axis.values) for axis in what.axes] == [
        ("messages", (5, 10)),
        ("spi_hz", (10**6, 2 * 10**6)),
    ]
    assert (what.settings, what.profile_sets, how.surroundings) == ({}, {"intn": True}, Surroundings(0))
    assert (what.runtimes, what.runs) == (("a", "b"), 1)
    assert read_options(asked | {"setting": ["seed=7"]}, sweeps=True).how.surroundings.seed == 7
    assert read_options({"setting": ["seed=fixed"]}).how.surroundings.seed is None


def test_devices_and_workloads_given_twice() -> None:
    with pytest.raises(OptionError, match=r"^--device: 'id:1' is given twice; name each board once$"):
        read("--device=id:1", "--device=id:2", "--device=id:1")
    assert len(read("--workload=ping_pong", "--workload=ping_pong").what.workloads) == 1
