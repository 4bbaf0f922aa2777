"""`portbench_engine._native` in a page: the engine's WebAssembly module in place of the machine code.

It has what a measured run needs. The worker registers `page_engine`, whose `call` reaches `../src/machines.rs`.
"""

import json
from pathlib import Path
from typing import Any

from page_engine import call as _call  # type: ignore[import-not-found]
from pyodide.ffi import to_js  # type: ignore[import-not-found]

_FACTS: dict[str, Any] = json.loads(Path(__file__).with_name("facts.json").read_text(encoding="utf-8"))
_ROMS = Path("/roms")

MCUS, CHIPS, RADIOS = (tuple(_FACTS[name]) for name in ("mcus", "chips", "radios"))
SD_CARDS = tuple(map(tuple, _FACTS["sd_cards"]))
NO_BOOT_LOADER = _FACTS["no_boot_loader"]


class EngineError(RuntimeError):
    """The emulated board cannot go on; one line says why."""


_ERRORS = {"engine": EngineError, "os": OSError, "value": ValueError}
_apps: dict[int, Any] = {}
_ended: list[int] = []
"""Boards that nothing refers to any more. They are dropped when the next is made: the engine may be at work now."""


def _ask(name: str, number: int, *arguments: Any, data: bytes = b"") -> tuple[Any, bytes]:
    text, answered = _call(json.dumps([name, number, *arguments]), to_js(data))
    answer = json.loads(text)
    if "failed" in answer:
        raise _ERRORS[answer["kind"]](answer["failed"])
    return answer["is"], answered.to_bytes()


def _added(app: Any) -> int:
    _apps[len(_apps) + 1] = app
    return len(_apps)


def hear(app: int, text: str, data: Any) -> tuple[str, bytes]:
    """Called by the engine, see `../src/app.rs`."""
    what, conn, about, now_us = json.loads(text)
    if what == "datagram":
        answers = _apps[app].receive(about, data.to_bytes(), now_us)
        parts = [(after_us, len(answer)) for after_us, answer in answers]
        return json.dumps(parts), b"".join(answer for _, answer in answers)
    told = data.to_bytes() if what == "receive" else about
    answer, *rest = getattr(_apps[app], what)(conn, told, now_us)
    return json.dumps(rest), bytes(answer)


def flash_of_image(file: bytes, mcu: str = "RP2040") -> bytes:
    return _ask("flash_of_image", 0, mcu, data=file)[1]


def bootrom_path(mcu: str) -> tuple[str, Path]:
    return {"RP2040": "PORTBENCH_BOOTROM"}.get(mcu, f"PORTBENCH_BOOTROM_{mcu}"), _ROMS / f"{mcu}.rom"


def own_bootrom(mcu: str) -> bytes | None:
    """The ROM with which the page was built, where that is not the chip's."""
    own = _ROMS / f"{mcu}.own"
    return own.read_bytes() if own.exists() else None


class Machine:
    """The page's `Machine`, like the native one."""

    def __init__(self, bootrom: bytes, flash: bytes, settings: dict[str, Any], bootsel: bool = False) -> None:
        told = json.loads(json.dumps(settings, default=str))
        while _ended:
            _ask("drop", _ended.pop())
        self._number, _ = _ask("new", 0, told, bootsel, len(bootrom), data=bootrom + flash)
        self._time_ps = 0
        self._console = b""
        self._console_time_us = 0.0
        self._unsent = 0

    def __del__(self) -> None:
        if hasattr(self, "_number"):
            _ended.append(self._number)

    def _ask(self, name: str, *arguments: Any, data: bytes = b"") -> Any:
        return _ask(name, self._number, *arguments, data=data)[0]

    @property
    def time_ps(self) -> int:
        return self._time_ps

    @property
    def time_us(self) -> float:
        return self._time_ps / 1e6

    def run_until_ps(self, until_ps: int) -> str:
        state, printed = _ask("run", self._number, until_ps)
        stop, self._time_ps, self._console_time_us, self._unsent = state
        self._console += printed
        return str(stop)

    def console_read(self) -> bytes:
        printed, self._console = self._console, b""
        return printed

    @property
    def console_time_us(self) -> float:
        return self._console_time_us

    def console_write(self, data: bytes) -> int:
        taken: int = self._ask("console_write", data=data)
        self._unsent += taken
        return taken

    @property
    def console_unsent(self) -> int:
        return self._unsent

    def usb_events(self) -> list[tuple[float, str, str]]:
        return [(at_us, name, details) for at_us, name, details in self._ask("usb_events")]

    def usb(self) -> dict[str, Any]:
        return dict(self._ask("usb"))

    def flash(self) -> bytes:
        return _ask("flash", self._number)[1]

    def stats(self) -> dict[str, Any]:
        return dict(self._ask("stats"))

    def cpu_faults(self) -> tuple[list[dict[str, Any]], int]:
        reports, dropped = self._ask("cpu_faults")
        return reports, dropped

    def registers(self) -> list[list[int]]:
        return list(self._ask("registers"))

    @property
    def leased_us(self) -> float | None:
        return self._ask("leased_us")

    @property
    def board_address(self) -> str | None:
        return self._ask("board_address")

    @property
    def link_up(self) -> bool:
        return bool(self._ask("link_up"))

    def set_cable(self, plugged: bool) -> None:
        self._ask("set_cable", plugged)

    def listen(self, port: int, app: Any) -> None:
        self._ask("listen", port, _added(app))

    def unlisten(self, port: int) -> bool:
        return bool(self._ask("unlisten", port))

    def udp_listen(self, port: int, app: Any) -> None:
        self._ask("udp_listen", port, _added(app))

    def connect(self, peer: str, app: Any, at_us: float = 0.0) -> int:
        return int(self._ask("connect", peer, _added(app), at_us))

    def lan_send(self, conn: int, data: bytes, at_us: float = 0.0) -> bool:
        return bool(self._ask("lan_send", conn, at_us, data=data))

    def ping(self, to: str, sequence: int, data: bytes, at_us: float = 0.0) -> bool:
        return bool(self._ask("ping", to, sequence, at_us, data=data))

    def ping_replies(self) -> list[tuple[str, int, bytes, float, float]]:
        replies = self._ask("ping_replies")
        return [(to, sequence, bytes(data), sent, received) for to, sequence, data, sent, received in replies]

    def log_frames(self, limit: int) -> None:
        self._ask("log_frames", limit)

    def lan_frames(self) -> list[tuple[float, float, bool, str, bytes]]:
        return [(*told, bytes(frame)) for *told, frame in self._ask("lan_frames")]

    def volume_apply(self, changes: list[tuple[str, str, bytes]]) -> None:
        for action, path, data in changes:
            self._ask("volume_apply", action, path, data=data)

    def attribution_start(self, limit: int = 8_000_000) -> None:
        self._ask("attribution_start", limit)

    def attribution_stop(self) -> None:
        self._ask("attribution_stop")

    def attribution(
        self,
        spans_us: list[int],
        within_us: list[float],
        ready_us: int | None,
        link_us: int | None,
        windows_us: list[tuple[float, float]] | None,
    ) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self._ask("attribution", spans_us, within_us, ready_us, link_us, windows_us)
        return found

    def spi_log(self, on: bool) -> None:
        self._ask("spi_log", on)

    def spi_log_take(self) -> list[tuple[Any, ...]]:
        return [(*frame[:7], bytes(frame[7]), *frame[8:]) for frame in self._ask("spi_log_take")]

    def trace_start(self, kinds: list[str], limit: int = 1_000_000, pc_sample_cycles: int = 1000) -> None:
        self._ask("trace_start", kinds, limit, pc_sample_cycles)

    def trace_stop(self) -> None:
        self._ask("trace_stop")

    def trace_take(self) -> tuple[list[dict[str, Any]], int]:
        records, dropped = self._ask("trace_take")
        return records, dropped


class _Absent(Exception):
    """A part of the native engine that a page does not have."""

    def __init__(self, *_: Any, **__: Any) -> None:
        raise EngineError("this is not available in a page")


def __getattr__(name: str) -> type[_Absent]:
    """All other classes of the native engine."""
    if name.startswith("_"):
        raise AttributeError(name)
    return _Absent
