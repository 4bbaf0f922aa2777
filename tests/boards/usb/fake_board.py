"""A board in a thread: a REPL on a pseudo-terminal that runs what it is told, and a boot loader that is a folder."""

import contextlib
import io
import os
import select
import shutil
import threading
import traceback
import tty
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from portbench.boards.usb.bus import UsbDevice

BANNER = b"raw REPL; CTRL-B to exit\r\n"
INFO_UF2 = "UF2 Bootloader v2.0\r\nModel: Raspberry Pi RP2\r\nBoard-ID: RPI-RP2\r\n"
BOOT_OUT = (
    "Adafruit CircuitPython 9.1.4 on 2024-09-17; W5500-EVB-Pico with rp2040\r\n"
    "Board ID:wiznet_w5500_evb_pico\r\nUID:E6605838833A552C\r\n"
)


class _Restart(BaseException):
    def __init__(self, bootloader: bool) -> None:
        self.bootloader = bootloader


class FakeBoard:
    """Plugged in from the start; is its own bus. `on_boot` is what main.py does; it prints with the function it gets.

    `runtime` None: in the boot loader. `becomes`: the runtime after an image was copied. `deaf_to`: how many Ctrl-C it
    ignores. `half_open`: its raw REPL was left open. `corrupts`: files called b.py read back as something else.
    """

    def __init__(
        self,
        folder: Path,
        runtime: str | None = "micropython",
        on_boot: Callable[[Callable[[str], None]], None] | None = None,
        deaf_to: int = 0,
        half_open: bool = False,
        corrupts: bool = False,
        accepts_images: bool = True,
        becomes: str | None = "micropython",
        machine: str = "W5500-EVB-Pico with RP2040",
    ) -> None:
        self.root = folder / "flash"
        self.root.mkdir()
        self.volume = folder / "volume"
        self.runtime = runtime
        self.becomes = becomes
        self.machine = machine
        self.deaf_to = deaf_to
        self.corrupts = corrupts
        self.accepts_images = accepts_images
        self.flashed: bytes | None = None
        self.enumeration = 0
        self.typed = b""
        self.boots = 0
        self._on_boot = on_boot
        self._raw = half_open
        self._line = b""
        self._globals: dict[str, Any] = {}
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._master = self._slave = -1
        self.port: str | None = None
        self._enumerate()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def devices(self) -> list[UsbDevice]:
        with self._lock:
            ids = {None: 0x0003, "micropython": 0x0005, "circuitpython": 0x1029}
            volume = self.volume if self.runtime is None else self.root if self.runtime == "circuitpython" else None
            return [
                UsbDevice(
                    serial_number="E0C9125B0D9B" if self.runtime is None else "e6605838833a552c",
                    vid=0x2E8A,
                    pid=ids[self.runtime],
                    port=self.port,
                    volume=volume,
                    location="1-1",
                    enumeration=f"1:{self.enumeration}",
                    provider_pid=os.getpid(),
                )
            ]

    def close(self) -> None:
        self._ended.set()
        self._thread.join(5)
        self._unplug()

    def press_bootsel(self) -> None:
        with self._lock:
            self.runtime = None
            self._enumerate()

    def _unplug(self) -> None:
        for fd in (self._master, self._slave):
            with contextlib.suppress(OSError):
                os.close(fd)
        self._master = self._slave = -1
        self.port = None
        shutil.rmtree(self.volume, ignore_errors=True)

    def _enumerate(self) -> None:
        self._unplug()
        self.enumeration += 1
        if self.runtime is None:
            self.volume.mkdir()
            (self.volume / "INFO_UF2.TXT").write_text(INFO_UF2)
            return
        if self.runtime == "circuitpython":
            (self.root / "boot_out.txt").write_text(BOOT_OUT)
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        self.port = os.ttyname(self._slave)

    def _restart(self, bootloader: bool) -> None:
        with self._lock:
            self.boots += 1
            if bootloader:
                self.runtime = None
            self._raw, self._globals, self._line = False, {}, b""
            self._enumerate()
        if self._on_boot is not None and not bootloader:
            self._on_boot(lambda text: self._print(text.encode()))
            self._print(b">>> ")

    def _print(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            os.write(self._master, data)

    def _serve(self) -> None:
        while not self._ended.is_set():
            if self.runtime is None:
                self._boot_loader()
                continue
            master = self._master
            try:
                if not select.select([master], [], [], 0.01)[0]:
                    continue
                data = os.read(master, 4096)
            except (OSError, ValueError):  # its power is off by now
                continue
            self.typed += data
            for byte in data:
                try:
                    self._key(bytes([byte]))
                except _Restart as restart:
                    self._restart(restart.bootloader)
                    break

    def _boot_loader(self) -> None:
        images = list(self.volume.glob("*.uf2"))
        if not images or not self.accepts_images:
            self._ended.wait(0.01)
            return
        content = images[0].read_bytes()
        if len(content) < 512 or len(content) != int.from_bytes(content[24:28], "little") * 512:
            return
        self.flashed = content
        self.runtime = self.becomes
        self._restart(False)

    def _key(self, key: bytes) -> None:
        if key == b"\x03":
            if self.deaf_to:
                self.deaf_to -= 1
                return
            self._line = b""
            if not self._raw:
                self._print(b"\r\n>>> ")
        elif self.deaf_to:
            return
        elif key == b"\x01":
            self._raw, self._line = True, b""
            self._print(BANNER + b">")
        elif key == b"\x02":
            self._raw, self._line = False, b""
            self._print(b"\r\n>>> ")
        elif not self._raw:
            self._print(b"\r\n>>> " if key == b"\r" else b"")
        elif key == b"\x04":
            code, self._line = self._line, b""
            if code:
                self._execute(code)
            else:  # soft reset
                self._globals = {}
                self._print(b"OK\r\nMPY: soft reboot\r\n" + BANNER + b">")
        else:
            self._line += key
            if self._line == b"\x05A\x01":
                self._line = b""
                self._print(b"R\x00")  # raw paste is known, not supported

    def _execute(self, code: bytes) -> None:
        self._print(b"OK")
        printed, failed = io.StringIO(), ""
        try:
            self._globals["__builtins__"] = self._builtins(printed)
            exec(compile(code.decode(), "<stdin>", "exec"), self._globals)
        except _Restart:
            raise
        except BaseException as error:
            failed = "".join(traceback.format_exception_only(error))
        text = printed.getvalue().replace("\n", "\r\n")
        self._print(f"{text}\x04{failed}\x04>".encode())

    def _builtins(self, printed: io.StringIO) -> dict[str, Any]:
        import builtins

        modules = self._modules()

        def load(name: str, *rest: Any) -> Any:
            if name in modules:
                return modules[name]
            if name in ("hashlib", "json", "time"):
                return __import__(name, *rest)
            raise ImportError(f"no module named '{name}'")

        def opened(path: str, mode: str = "r") -> Any:
            if self.corrupts and path.endswith("b.py") and "r" in mode:
                return io.BytesIO(b"garbage")
            return (self.root / path.lstrip("/")).open(mode)

        def show(*values: Any, **more: Any) -> None:
            print(*values, file=printed, **more)

        return {**vars(builtins), "__import__": load, "open": opened, "print": show}

    def _modules(self) -> dict[str, Any]:
        def at(path: str) -> Path:
            return self.root / path.lstrip("/")

        fake_os = SimpleNamespace(
            stat=lambda path: tuple(at(path).stat()),
            mkdir=lambda path: at(path).mkdir(),
            listdir=lambda path="": [each.name for each in at(path).iterdir()],
        )

        def restart(bootloader: bool) -> None:
            raise _Restart(bootloader)

        implementation = SimpleNamespace(
            name=self.runtime, version=(1, 26, 0, ""), _machine=self.machine, _build="W5500"
        )
        banner = "3.4.0; MicroPython v1.26.0 on 2025-08-09"
        fake_sys = SimpleNamespace(implementation=implementation, version=banner)
        modules: dict[str, Any] = {"os": fake_os, "sys": fake_sys}
        if self.runtime == "circuitpython":
            mode: list[Any] = []
            modules["microcontroller"] = SimpleNamespace(
                RunMode=SimpleNamespace(UF2="uf2"), on_next_reset=mode.append, reset=lambda: restart(bool(mode))
            )
            modules["board"] = SimpleNamespace(board_id="wiznet_w5500_evb_pico")
        else:
            modules["machine"] = SimpleNamespace(reset=lambda: restart(False), bootloader=lambda: restart(True))
        return modules
