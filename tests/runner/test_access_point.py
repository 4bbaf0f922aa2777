"""The emulated access point as settings, and the part of it that a row tells."""

import pytest

from portbench.boards.wifi import AccessPoint
from portbench.errors import OptionError
from portbench.runner.options import read_options


def read(*texts: str, **given: str) -> AccessPoint:
    return read_options(
        {"board": "RPI_PICO_W", **given, "setting": [f"wifi_{text}" for text in texts]}
    ).how.access_point


def test_keys_are_read_as_what_they_are() -> None:
    point = read("loss_per_mille=100", "hidden=yes", "rssi_dbm=-70", "ssid=1234", "passphrase=")
    assert point == AccessPoint(loss_per_mille=100, hidden=True, rssi_dbm=-70, ssid="1234", passphrase=None)
    assert read() == AccessPoint()


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["loss_per_mille=1001"], "wifi_loss_per_mille: 1001: input should be less than or equal to 1000"),
        (["passphrase=short"], "wifi_passphrase: 'short': string should have at least 8 characters"),
    ],
)
def test_what_cannot_be_is_one_line(texts: list[str], said: str) -> None:
    with pytest.raises(OptionError, match=f"^{said}"):
        read(*texts)


@pytest.mark.parametrize("board", ["W5500_EVB_PICO", "W5100S_EVB_PICO", "RPI_PICO"])
def test_a_board_without_a_radio_has_none(board: str) -> None:
    with pytest.raises(OptionError, match=r"^wifi_channel: .* has no radio chip; choose another --board"):
        read("channel=1", board=board)


def test_a_row_tells_what_is_unusual_and_no_passphrase() -> None:
    assert AccessPoint().unusual() is None
    assert AccessPoint(passphrase="something else", join_delay_us=5).unusual() == {"join_delay_us": 5}
    assert AccessPoint(passphrase=None).unusual() == {"open": True}
