"""A run of the built native firmware beside a `W5500Double`, on any emulator."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from portbench.firmware import native_config, uf2
from tests.firmware.native.w5500_double import End, W5500Double
from tests.ping_pong import NATIVE_IMAGE

IMAGE: Final = NATIVE_IMAGE
PROJECT: Final = Path(__file__).parents[3]
SOURCES: Final = PROJECT / "firmware" / "native"
BODY: Final = PROJECT / "workloads" / "ping_pong" / "native"
BOARDS: Final = PROJECT / "boards" / "definitions"
LED: Final = 25
FLASH_BYTES: Final = 2 << 20


@dataclass
class PingPongServer:
    """Answers as the benchmark's server does; the fields make it misbehave."""

    refuse: int = 0
    """refuses that many connections"""
    wrong_at: int | None = None
    silent_at: int | None = None
    close_at: int | None = None
    reset_at: int | None = None
    split: bool = False
    """sends each answer one byte a segment"""
    values: list[int] = field(default_factory=list)
    connections: list[tuple[str, int]] = field(default_factory=list)
    lines: list[bytes] = field(default_factory=list)
    """what each connection reported"""
    clean_ends: int = 0

    def accept(self, address: str, port: int) -> bool:
        if self.refuse:
            self.refuse -= 1
            return False
        self.connections.append((address, port))
        self.lines.append(b"")
        return True

    def receive(self, data: bytes) -> list[bytes] | End:
        if self.lines[-1] or data.startswith(b"{"):
            self.lines[-1] += data
            return []
        self.values.append(int(data))
        message = len(self.values)
        if message == self.close_at:
            return End.FIN
        if message == self.reset_at:
            return End.RST
        if message == self.silent_at:
            return []
        answer = b"%d" % (int(data) + (2 if message == self.wrong_at else 1))
        return [answer[i : i + 1] for i in range(len(answer))] if self.split else [answer]

    def closed(self) -> None:
        self.clean_ends += 1

    @property
    def reports(self) -> list[dict[str, Any]]:
        found = [line for line in self.lines if line]
        assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in found)
        return [json.loads(line) for line in found]


@dataclass
class Outcome:
    server: PingPongServer
    chip: W5500Double
    led_on_us: list[float]
    """when the LED went on: once at start-up, then for each flash of the blink code"""
    in_boot_loader: bool
    simulated_us: float


def flash(config: native_config.NativeConfig | bytes | None) -> bytes:
    """The image with its configuration. `None` leaves that erased, bytes are put there as they are."""
    content = bytearray(b"\xff" * FLASH_BYTES)
    for address, block in uf2.read(IMAGE).flash_bytes().items():
        _put(content, address, block)
    if config is not None:
        packed = config if isinstance(config, bytes) else native_config.pack(config)
        _put(content, native_config.CONFIG_ADDRESS, packed)
    return bytes(content)


def _put(content: bytearray, address: int, block: bytes) -> None:
    offset = address - uf2.FLASH_BASE
    content[offset : offset + len(block)] = block
