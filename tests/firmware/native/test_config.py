"""Records that `native_config.pack` writes, and settings that it refuses."""

import dataclasses
import struct
import zlib
from ipaddress import IPv4Address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.errors import PortbenchError
from portbench.firmware import uf2
from portbench.firmware.native_config import CONFIG_ADDRESS, NativeConfig, StaticAddress, pack
from tests.ping_pong import NATIVE_IMAGE

STATIC = StaticAddress(IPv4Address("10.0.0.7"), IPv4Address("255.0.0.0"), IPv4Address("10.0.0.1"))
FULL = NativeConfig(
    server=IPv4Address("10.0.0.9"),
    port=0x1234,
    count=1001,
    repeat=3,
    static=STATIC,
    mac=bytes.fromhex("025042010203"),
    intn=False,
    spi_hz=2_000_000,
    ready_timeout_ms=11,
    message_timeout_ms=12,
    success_wait_ms=13,
    failure_wait_ms=14,
)


def test_layout() -> None:
    block = pack(FULL)
    assert len(block) == 256
    assert block[:8] == b"PBCF" + struct.pack("<HH", 1, 60)
    assert block[8:20] == bytes([10, 0, 0, 9]) + struct.pack("<HHI", 0x1234, 3, 1001)
    assert block[20:40] == bytes([10, 0, 0, 7, 255, 0, 0, 0, 10, 0, 0, 1, 2, 0x50, 0x42, 1, 2, 3, 3, 0])
    assert block[40:60] == struct.pack("<5I", 11, 12, 2_000_000, 13, 14)
    assert block[60:64] == struct.pack("<I", zlib.crc32(block[:60]))
    assert set(block[64:]) == {0xFF}


def test_none_means_zero() -> None:
    block = pack(NativeConfig())
    assert block[8:12] + block[20:32] + block[32:38] == bytes(22)


def test_flags_are_of_the_static_address_and_of_polling() -> None:
    poll = dataclasses.replace(NativeConfig(), intn=False)
    static = NativeConfig(static=STATIC)
    assert [pack(config)[14:16] for config in (NativeConfig(), static, poll, FULL)] == [
        b"\0\0",
        b"\1\0",
        b"\2\0",
        b"\3\0",
    ]


def test_the_gateway_or_a_server_is_enough() -> None:
    assert pack(NativeConfig(static=STATIC))[8:12] == bytes(4)
    alone = dataclasses.replace(STATIC, gateway=IPv4Address("0.0.0.0"))
    block = pack(dataclasses.replace(FULL, static=alone))
    assert block[8:12] == bytes([10, 0, 0, 9]) and block[20:32] == bytes([10, 0, 0, 7, 255, *bytes(7)])


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("port", 1, 65535),
        ("count", 1, 50_000),
        ("repeat", 1, 65535),
        ("spi_hz", 300_000, 66_500_000),
        ("ready_timeout_ms", 1, 1_800_000),
        ("message_timeout_ms", 1, 1_800_000),
        ("success_wait_ms", 0, 1_800_000),
        ("failure_wait_ms", 0, 1_800_000),
    ],
)
def test_a_number_is_taken_up_to_its_limits(name: str, low: int, high: int) -> None:
    def block(value: int) -> bytes:
        return pack(dataclasses.replace(FULL, **{name: value}))  # type: ignore[arg-type]

    assert block(low) != block(high)
    for beyond in (low - 1, high + 1):
        with pytest.raises(PortbenchError, match=f"^native firmware: {name} is {beyond}; choose {low} to {high}$"):
            block(beyond)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"server": IPv4Address("224.0.0.1")}, "server is 224.0.0.1; give the address of one host"),
        ({"server": IPv4Address("240.0.0.1")}, "server is 240.0.0.1; give the address of one host"),
        ({"server": IPv4Address("255.255.255.255")}, "server is 255.255.255.255; give the address of one host"),
        ({"server": IPv4Address("0.0.0.0")}, "server is 0.0.0.0; give the address of one host"),
        ({"mac": b"\x02"}, "mac is '02'; give 6 bytes of a unicast address"),
        ({"mac": bytes(6)}, "mac is '00:00:00:00:00:00'; give 6 bytes of a unicast address"),
        ({"mac": b"\x01\0\0\0\0\1"}, "mac is '01:00:00:00:00:01'; give 6 bytes of a unicast address"),
        (
            {"static": dataclasses.replace(STATIC, ip=IPv4Address("0.0.0.0"), gateway=IPv4Address("0.0.0.0"))},
            "static ip is 0.0.0.0; give the address of one host",
        ),
        (
            {"static": dataclasses.replace(STATIC, mask=IPv4Address("255.0.255.0"))},
            "static mask is 255.0.255.0; give one like 255.255.255.0",
        ),
        (
            {"static": dataclasses.replace(STATIC, mask=IPv4Address("0.0.0.255"))},
            "static mask is 0.0.0.255; give one like 255.255.255.0",
        ),
        (
            {"static": dataclasses.replace(STATIC, gateway=IPv4Address("11.0.0.1"))},
            "static gateway 11.0.0.1 is outside 10.0.0.0/8; give one inside, or none",
        ),
        (
            {"server": None, "static": dataclasses.replace(STATIC, gateway=IPv4Address("0.0.0.0"))},
            "no server; give one, or a gateway that is the server",
        ),
    ],
)
def test_a_refusal_is_one_line(change: dict[str, Any], line: str) -> None:
    with pytest.raises(PortbenchError) as refusal:
        pack(dataclasses.replace(FULL, **change))
    assert str(refusal.value) == f"native firmware: {line}"


def test_goes_into_the_image_as_its_last_block() -> None:
    image = uf2.read(NATIVE_IMAGE)
    assert max(image.flash_bytes()) < CONFIG_ADDRESS
    joined = uf2.parse(uf2.with_data(image, CONFIG_ADDRESS, pack(FULL)))
    assert joined.blocks[-1].address == CONFIG_ADDRESS
    assert joined.flash_bytes()[CONFIG_ADDRESS] == pack(FULL)


@given(
    number=st.integers(-(2**40), 2**40),
    name=st.sampled_from(
        ["port", "count", "repeat", "spi_hz", "ready_timeout_ms", "message_timeout_ms", "success_wait_ms"]
    ),
)
def test_any_number_is_packed_or_refused(name: str, number: int) -> None:
    try:
        block = pack(dataclasses.replace(FULL, **{name: number}))  # type: ignore[arg-type]
    except PortbenchError as refusal:
        assert f"{name} is {number}" in str(refusal)
    else:
        assert zlib.crc32(block[:60]) == struct.unpack_from("<I", block, 60)[0]
