"""The firmware's parsers and formatters, compiled for this machine with sanitizers and fuzzed against Python's."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from ipaddress import IPv4Address
from pathlib import Path
from typing import IO

import h11
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from portbench.firmware.native_config import NativeConfig, pack
from portbench.workloads.http.conversation import page_fault
from tests.firmware.native import BODY, PROJECT, SOURCES

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
PARTS = ["config.c", "crc32.c", "decimal.c", "dhcp_message.c", "json.c", "json_nested.c", "settings.c"]
PAGES = PROJECT / "workloads" / "http" / "native"
MAC = bytes.fromhex("025042aabbcc")
XID = 0x1234ABCD
COOKIE = bytes([99, 130, 83, 99])


class Driver:
    """`host_driver.c`, one line in and one line out."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin and self._process.stdout
        self._in: IO[str] = self._process.stdin
        self._out: IO[str] = self._process.stdout

    def ask(self, *words: object) -> str:
        self._in.write(" ".join(map(str, words)) + "\n")
        self._in.flush()
        return self.read()

    def read(self) -> str:
        line = self._out.readline()
        assert line, f"the driver ended with {self._process.wait()}"
        return line.rstrip("\n")

    def close(self) -> None:
        self._in.close()
        self._out.close()
        assert self._process.wait(timeout=10) == 0  # the leak check included


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler for this machine; install one with: apt-get install gcc")
    program = tmp_path_factory.mktemp("host") / "driver"
    (program.parent / "board_pins.h").touch()
    subprocess.run(
        [
            compiler, "-std=c11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fno-builtin",
            "-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{SOURCES}", f"-I{BODY}", f"-I{PAGES}",
            f"-I{program.parent}", "-o", program,
            HERE / "host_driver.c", PAGES / "pages.c", *(SOURCES / part for part in PARTS),
        ],
        check=True,
    )  # fmt: skip
    found = Driver(program)
    yield found
    found.close()


@given(value=st.integers(0, 2**32 - 1))
@example(0)
@example(9)
@example(10)
@example(2**32 - 1)
def test_decimal(driver: Driver, value: int) -> None:
    assert driver.ask("decimal", value) == str(value)


@given(
    text=st.binary(max_size=3000).map(lambda data: data.replace(b"\0", b"?")),
    values=st.lists(st.integers(0, 2**32 - 1), max_size=400),
)
@settings(max_examples=60)
def test_json(driver: Driver, text: bytes, values: list[int]) -> None:
    got = json.loads(driver.ask("json", 10**6, text.hex() or "3f", *values))
    assert got == {
        "text": text.decode("latin-1") if text else "?",
        "bool": bool(len(values) & 1),
        "count": len(values),
        "ip": "192.0.2.255",
        "values": values,
    }


def test_json_stops_when_its_output_fails(driver: Driver) -> None:
    assert len(driver.ask("json", 1024, (b"x" * 5000).hex())) == 1024
    assert driver.read() == "failed"


@st.composite
def dhcp_messages(draw: st.DrawFn) -> bytes:
    """Replies that are right, almost right, cut or changed anywhere."""
    address = st.sampled_from([bytes(4), bytes([10, 0, 0, 7]), bytes([172, 16, 3, 4]), bytes([192, 168, 1, 50])])
    options = st.one_of(
        st.builds(lambda kind: bytes([53, 1, kind]), st.sampled_from([1, 2, 3, 4, 5, 6, 7])),
        st.builds(lambda code, value: bytes([code, 4]) + value, st.sampled_from([1, 3, 54, 51]), address),
        st.builds(lambda code, value: bytes([code, len(value)]) + value, st.integers(1, 254), st.binary(max_size=20)),
        st.sampled_from([b"\0", b"\0\0\0", b"\xff", b"\x36", b"\x35\x09\x02"]),
    )
    parts = draw(st.lists(options, max_size=8))
    data = bytearray(b"\x02\x01\x06\0" + XID.to_bytes(4) + bytes(8) + draw(address) + bytes(8) + MAC + bytes(202))
    data += COOKIE + bytes([53, 1, draw(st.sampled_from([2, 5, 6]))]) + b"".join(parts)
    if draw(st.booleans()):
        data += b"\xff"
    for _ in range(draw(st.integers(0, 2))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data[: draw(st.one_of(st.just(len(data)), st.integers(0, len(data))))])


def reference_parse(data: bytes) -> str:
    """RFC 2131 and 2132 as `dhcp_parse` promises them."""
    if len(data) < 240 or data[:3] != b"\x02\x01\x06" or data[4:8] != XID.to_bytes(4) or data[28:34] != MAC:
        return "refused"
    if data[236:240] != COOKIE:
        return "refused"
    found: dict[int, bytes] = {}
    rest = data[240:]
    while rest and rest[0] != 255:
        if rest[0] == 0:
            rest = rest[1:]
            continue
        if len(rest) < 2 or len(rest) < 2 + rest[1]:
            return "refused"
        value = rest[2 : 2 + rest[1]]
        if (rest[0] == 53 and len(value) == 1) or (rest[0] in (1, 54) and len(value) == 4):
            found[rest[0]] = value
        elif rest[0] == 3 and len(value) >= 4:
            found[3] = value[:4]
        rest = rest[2 + rest[1] :]
    kind = found.get(53, b"\0")[0]
    address, zero = data[16:20], bytes(4)
    mask, router, server = (found.get(code, zero) for code in (1, 3, 54))
    if kind != 6:
        if kind not in (2, 5) or zero in (address, server):
            return "refused"
        if mask == zero:
            mask = bytes([255, 255 * (address[0] >= 128), 255 * (address[0] >= 192), 0])
    return f"{kind} {(address + mask + router + server).hex()}"


@given(data=dhcp_messages())
@settings(max_examples=200)
def test_dhcp_parse(driver: Driver, data: bytes) -> None:
    assert driver.ask("parse", XID, MAC.hex(), data.hex()) == reference_parse(data)


def test_dhcp_parse_takes_a_good_offer(driver: Driver) -> None:
    data = b"\x02\x01\x06\0" + XID.to_bytes(4) + bytes(8) + bytes([10, 0, 0, 7]) + bytes(8) + MAC + bytes(202) + COOKIE
    data += bytes([53, 1, 2, 54, 4, 10, 0, 0, 1, 255])
    assert driver.ask("parse", XID, MAC.hex(), data.hex()) == "2 0a000007" + "ff000000" + "00000000" + "0a000001"


@given(data=st.binary(max_size=600))
def test_dhcp_parse_survives_anything(driver: Driver, data: bytes) -> None:
    assert driver.ask("parse", XID, MAC.hex(), data.hex()) == reference_parse(data)


@pytest.mark.parametrize("kind", [1, 3])
def test_dhcp_build(driver: Driver, kind: int) -> None:
    address, server = bytes([10, 0, 0, 7]), bytes([10, 0, 0, 1])
    message = bytes.fromhex(driver.ask("build", kind, XID, MAC.hex(), address.hex(), server.hex()))
    assert len(message) == 300
    assert message[:4] == b"\x01\x01\x06\0"
    assert message[4:8] == XID.to_bytes(4)
    assert message[8:12] == b"\0\0\x80\0"
    assert message[12:28] == bytes(16)
    assert message[28:34] == MAC
    assert message[236:240] == COOKIE
    rest, options = message[240:], {}
    while rest[0] != 255:
        options[rest[0]] = rest[2 : 2 + rest[1]]
        rest = rest[2 + rest[1] :]
    assert set(rest[1:]) == {0}
    expected = {53: bytes([kind]), 61: b"\x01" + MAC, 12: b"portbench-native", 55: bytes([1, 3])}
    if kind == 3:
        expected |= {50: address, 54: server}
    assert options == expected


def test_defaults_agree_with_the_python_side(driver: Driver) -> None:
    block = pack(NativeConfig())[:64]
    assert driver.ask("load", block.hex()) == f"1 {block.hex()}"
    valid, defaults = driver.ask("load", "ff" * 64).split()
    assert valid == "0"
    assert bytes.fromhex(defaults)[:60] == block[:60]


@given(
    config=st.builds(
        NativeConfig,
        server=st.none() | st.builds(IPv4Address, st.integers(0x01000000, 0xDFFFFFFF)),
        port=st.integers(1, 65535),
        count=st.integers(1, 50_000),
        repeat=st.integers(1, 65535),
        intn=st.booleans(),
        spi_hz=st.integers(300_000, 66_500_000),
        ready_timeout_ms=st.integers(1, 1_800_000),
        message_timeout_ms=st.integers(1, 1_800_000),
        success_wait_ms=st.integers(0, 1_800_000),
        failure_wait_ms=st.integers(0, 1_800_000),
    )
)
def test_the_firmware_takes_what_python_packs(driver: Driver, config: NativeConfig) -> None:
    block = pack(config)[:64].hex()
    assert driver.ask("load", block) == f"1 {block}"


@given(position=st.integers(0, 63), change=st.integers(1, 255))
def test_the_firmware_refuses_a_changed_block(driver: Driver, position: int, change: int) -> None:
    block = bytearray(pack(NativeConfig(port=6000))[:64])
    block[position] ^= change
    valid, loaded = driver.ask("load", block.hex()).split()
    assert valid == "0"
    assert bytes.fromhex(loaded)[12:14] == (5000).to_bytes(2, "little")


@given(values=st.lists(st.integers(0, 2**32 - 1), max_size=300))
@settings(max_examples=60)
def test_json_in_json(driver: Driver, values: list[int]) -> None:
    got = json.loads(driver.ask("nested", *values))
    assert got == {"before": 1, "object": {"lists": [["way", value] for value in values]}, "after": 2}


@given(numbers=st.lists(st.integers(0, 2**32 - 1), max_size=45), flip=st.integers(0, 191 * 8))
@settings(max_examples=100)
def test_settings_are_what_was_told_or_none(driver: Driver, numbers: list[int], flip: int) -> None:
    stored = pack(NativeConfig(settings=numbers))[64:]
    assert driver.ask("settings", stored.hex()) == " ".join(map(str, [int(bool(numbers)), *numbers]))
    damaged = bytearray(stored)
    damaged[flip // 8] ^= 1 << flip % 8
    if numbers and flip // 8 < 12 + 4 * len(numbers):
        assert driver.ask("settings", damaged.hex()) == "0"


def answered(driver: Driver, request: bytes, counter: int = 0) -> tuple[list[bool], int, bytes]:
    """Return if a request is whole, keeps its connection, ends the run; then status and body as h11 reads them."""
    *flags, text = driver.ask("page", counter, request.hex()).split()
    http = h11.Connection(h11.CLIENT)
    http.send(h11.Request(method="GET", target="/", headers=[("Host", "board")]))
    http.send(h11.EndOfMessage())
    http.receive_data(bytes.fromhex(text))
    head = http.next_event()
    assert isinstance(head, h11.Response)
    body = b""
    while isinstance(event := http.next_event(), h11.Data):
        body += event.data
    assert isinstance(event, h11.EndOfMessage)
    assert (http.their_state is h11.MUST_CLOSE) is (flags[1] == "0")
    return [flag == "1" for flag in flags], head.status_code, bytes(body)


@pytest.mark.parametrize(
    ("request_line", "headers", "keep"),
    [
        (b"GET %s HTTP/1.1", b"Host: board", True),
        (b"GET %s HTTP/1.1", b"Host: board\r\nConnection: close", False),
        (b"GET %s HTTP/1.0", b"Host: board", False),
        (b"GET %s HTTP/1.0", b"Connection: Keep-Alive", True),
    ],
)
def test_pages_are_those_that_the_pc_expects(driver: Driver, request_line: bytes, headers: bytes, keep: bool) -> None:
    asked = request_line + b"\r\n" + headers + b"\r\n\r\n"
    flags, status, body = answered(driver, asked % b"/")
    assert (flags, status, page_fault("static", body)) == ([True, keep, False], 200, None)
    _, status, body = answered(driver, asked % b"/dynamic", 999_999_998)
    assert (status, page_fault("dynamic", body)) == (200, None)
    assert body.endswith(b"request 999999999</p><p>ADC 65535</p></body></html>")
    flags, status, body = answered(driver, asked % b"/end")
    assert (flags[2], status, body) == (True, 200, b"")
    assert answered(driver, asked % b"/other")[1:] == (404, b"")


@given(request=st.binary(max_size=80))
def test_pages_survive_any_request(driver: Driver, request: bytes) -> None:
    flags, status, _ = answered(driver, request)
    assert flags[0] is request.endswith(b"\r\n\r\n") and status in (200, 404)
