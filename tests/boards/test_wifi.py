"""The network that a board with a radio chip joins."""

from pathlib import Path

import pytest

from portbench.boards import BoardUnavailable, Ethernet, Wifi, WifiCredentials, board_definition, users_credentials
from portbench.boards import wifi as wifi_module
from portbench.boards.wifi import FILE, PASSPHRASE_VARIABLE, SSID_VARIABLE, AccessPoint

SECRET = "do not tell"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without a network."""
    for variable in (SSID_VARIABLE, PASSPHRASE_VARIABLE):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(wifi_module, "user_config_path", lambda name: tmp_path)
    return tmp_path


def test_the_environment_comes_before_the_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / FILE).write_text(f'ssid = "at home"\npassphrase = "{SECRET}"\n')
    assert users_credentials() == WifiCredentials("at home", SECRET)
    monkeypatch.setenv(SSID_VARIABLE, "elsewhere")
    assert users_credentials() == WifiCredentials("elsewhere", None)
    monkeypatch.setenv(PASSPHRASE_VARIABLE, SECRET)
    assert users_credentials() == WifiCredentials("elsewhere", SECRET)


def test_none_is_one_line_with_the_remedy(home: Path) -> None:
    with pytest.raises(BoardUnavailable, match=rf"set {SSID_VARIABLE} and {PASSPHRASE_VARIABLE}, or write .*{FILE}$"):
        users_credentials()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("ssid = 5", "write ssid"),
        ('passphrase = "12345678"', "write ssid"),
        ('ssid = "a"\npassphrase = "short"', "5 characters"),
        ('ssid = "a"\nkey = "12345678"', "key is unknown"),
        ("ssid", "is not TOML"),
        (f'ssid = "{"x" * 33}"', "33 bytes"),
    ],
)
def test_a_file_with_a_fault_is_named(home: Path, text: str, complaint: str) -> None:
    (home / FILE).write_text(text)
    with pytest.raises(BoardUnavailable, match=rf"{FILE}: .*{complaint}"):
        users_credentials()


def test_the_passphrase_is_in_no_text() -> None:
    credentials = WifiCredentials("net", SECRET)
    assert SECRET not in f"{credentials!r} {credentials}"


def test_the_pico_w_has_a_radio_chip_and_the_others_have_none() -> None:
    network = board_definition("pico-w").network
    assert isinstance(network, Wifi)
    assert network.pins == {"on_pin": 23, "data_pin": 24, "csn_pin": 25, "clock_pin": 29}
    assert isinstance(board_definition("W5500_EVB_PICO").network, Ethernet)


def test_a_row_tells_what_is_unusual_of_an_access_point_and_no_passphrase() -> None:
    assert AccessPoint().unusual() is None
    assert AccessPoint(passphrase="something else", join_delay_us=5).unusual() == {"join_delay_us": 5}
    assert AccessPoint(passphrase=None).unusual() == {"open": True}
