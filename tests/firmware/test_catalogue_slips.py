"""Slips in a catalogue that each cost a person one line, before anything is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from portbench.errors import PortbenchError
from portbench.firmware import catalogue
from portbench.firmware.download import Reachability

ENTRY = """[[image]]
id = "a-1"
family = "micropython"
board = "W5500_EVB_PICO"
version = "1.26.0"
file = "x.uf2"
url = "http://HOST/x.uf2"
[[image.profiles]]
name = "tuned"
"""


@pytest.mark.parametrize(
    "host", ["h:99999999", "[1:9", "a b", "h:port", "a..b", "h:0", "ü" * 70, "\\u0000", ":80", "user@"]
)
def test_an_address_that_cannot_be_is_refused(host: str) -> None:
    with pytest.raises(PortbenchError, match=r"^own\.toml: image 'a-1': url is '.*\; give a valid address: "):
        catalogue.parse(ENTRY.replace("HOST", host), Path("own.toml"))


def test_a_file_name_may_have_a_plus() -> None:
    text = ENTRY.replace("HOST", "h").replace("x.uf2", "a+b.uf2")
    assert catalogue.parse(text, Path("own.toml")).get("a-1").file == "a+b.uf2"


@pytest.mark.parametrize("host", ["h", "h:8000", "[::1]:80", "münchen.example", "user:word@h", "10.0.0.1"])
def test_an_address_that_can_be_is_taken(host: str) -> None:
    assert catalogue.parse(ENTRY.replace("HOST", host), Path("own.toml")).get("a-1").url == f"http://{host}/x.uf2"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("spi_hz = 999999999999999999999\n", "profiles[1].spi_hz is 999999999999999999999; input should be less than"),
        (f"spi_hz = {'9' * 400}\n", "profiles[1].spi_hz is 999999999999"),
        (f"spi_hz = {'9' * 5000}\n", "own.toml: is not TOML (Exceeds the limit"),
        ("spi_hz = 99999-01-01\n", "own.toml: is not TOML"),
    ],
)
def test_a_number_that_is_too_large_is_refused(more: str, says: str) -> None:
    with pytest.raises(PortbenchError) as error:
        catalogue.parse(ENTRY.replace("HOST", "h") + more, Path("own.toml"))
    assert says in str(error.value) and "\n" not in str(error.value) and len(str(error.value)) < 300


def test_a_host_that_nobody_can_look_up_is_no_traceback() -> None:
    def ask(origin: str) -> None:
        raise UnicodeError("label empty or too long")

    reachability = Reachability(["http://a..b/x.uf2"], ask=ask)
    assert reachability.fault("http://a..b/x.uf2") == "no internet (a..b: is no host's name)"
