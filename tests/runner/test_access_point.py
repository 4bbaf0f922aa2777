"""What `--access-point` takes, and what a row tells of it."""

from __future__ import annotations

import pytest

from portbench.boards.emulated.access_point import AccessPoint
from portbench.errors import OptionError
from portbench.runner.access_point import read_access_point, unusual
from portbench.runner.options import read_options


def test_keys_are_read_as_what_they_are() -> None:
    point = read_access_point(["loss_per_mille=100", "hidden=yes", "rssi_dbm=-70", "ssid=1234", "passphrase="])
    assert point == AccessPoint(loss_per_mille=100, hidden=True, rssi_dbm=-70, ssid="1234", passphrase=None)
    assert read_access_point([]) == AccessPoint()


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["loss=1"], "'loss=1' is not KEY=VALUE with a key of ssid, .*, loss_per_mille$"),
        (["hidden"], "'hidden' is not KEY=VALUE"),
        (["channel=1", "channel=2"], "channel is given twice"),
        (["loss_per_mille=1001"], "loss_per_mille=1001: input should be less than or equal to 1000"),
        (["loss_per_mille=much"], "loss_per_mille=much: input should be a valid integer"),
        (["hidden=maybe"], "hidden=maybe: input should be a valid boolean"),
        (["passphrase=short"], "passphrase=short: string should have at least 8 characters"),
    ],
)
def test_what_cannot_be_is_one_line(texts: list[str], said: str) -> None:
    with pytest.raises(OptionError, match=f"^--access-point: {said}"):
        read_options({"board": "RPI_PICO_W", "access_point": texts})


def test_a_board_without_a_radio_has_none() -> None:
    for given in ({}, {"board": "W5100S_EVB_PICO"}, {"board": "RPI_PICO"}):
        with pytest.raises(OptionError, match=r"^--access-point: .* has no radio chip; name one that has with --board"):
            read_options({**given, "access_point": ["channel=1"]})


def test_a_row_tells_what_is_unusual_and_no_passphrase() -> None:
    assert unusual(AccessPoint()) is None
    assert unusual(AccessPoint(passphrase="something else", join_delay_us=5)) == {"join_delay_us": 5}
    assert unusual(AccessPoint(passphrase=None)) == {"open": True}
