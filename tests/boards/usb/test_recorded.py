"""Random walks through buses and the steps of a board, with parts that answer in any way."""

import errno
import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path, PurePath, PurePosixPath
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
import serial
from serial.tools import list_ports

from portbench.boards import Deadline, usb
from portbench.boards.board import Deployment, RuntimeIdentity
from portbench.boards.console import Console
from portbench.boards.usb import board as board_module
from portbench.boards.usb import discovery, files, port, volume
from portbench.boards.usb import flash as flash_module
from portbench.boards.usb import run as run_module
from portbench.boards.usb.board import UsbBoard
from portbench.boards.usb.bus import Target, UsbDevice, parse_selector, same_board, select
from portbench.boards.usb.discovery import AttachedBoard, SystemBus
from portbench.boards.usb.link import Link, lock_name
from portbench.boards.usb.volume import VolumeInfo
from portbench.errors import (
    BoardError,
    BoardGone,
    BoardUnavailable,
    BrokenSetup,
    ConsoleLost,
    DeadlineExceeded,
    PortbenchError,
)
from tests.boards.usb.conftest import DEFINITION
from tests.declared import assert_as_read
from tests.walk import Walk

SERIALS = (None, "e6605838833a552c", "E6605838833A552C", "E600000000000000", "E0C9125B0D9B", "")
UIDS = (None, "e6605838833a552c", "E600000000000000")
SELECTORS = ("auto", "id:e6605838833a552c", "port:/dev/ttyACM1", "usb:1-1", "usb:desk", "socket://h:1")


def device(walk: Walk) -> UsbDevice:
    pick = walk.pick
    return UsbDevice(
        serial_number=pick(SERIALS),
        vid=pick((0x2E8A, 0x2E8A, 0x2E8A, 0x239A, None)),
        pid=pick((3, 5, 5, 0x1029)),
        port=pick((None, "/dev/ttyACM0", "/dev/ttyACM1", "socket://h:1")),
        volume=pick((None, Path("/v"))),
        block_device=pick((None, "/dev/sda1")),
        location=pick((None, "1-1", "1-1", "1-2", "emulated:/tmp/desk")),
        enumeration=pick((None, "1:4", "1:5")),
        emulated=pick((False, False, False, True)),
    )


def noted(walk: Walk, call: Callable[..., Any], *words: Any) -> Any:
    """Note the result of a call, or the line of its error."""
    try:
        walk.note(found := call(*words))
        return found
    except (PortbenchError, KeyboardInterrupt) as error:
        walk.note(type(error).__name__, str(error))


def test_which_device_is_meant_and_followed() -> None:
    walk = Walk(3)
    for _ in range(1500):
        devices = [device(walk) for _ in range(walk.pick((0, 1, 2, 2, 3)))]
        noted(walk, select, devices, parse_selector(walk.pick(SELECTORS)), DEFINITION)
        bus = SimpleNamespace(devices=lambda: devices)  # noqa: B023
        target = Target(bus, lambda found: walk.pick((None, *found)))
        for _ in range(3):
            noted(walk, target.find)
            walk.note(target.known)
            devices = [walk.pick((each, device(walk))) for each in devices] + [device(walk)][: walk.pick((0, 0, 1))]
        for each in devices:
            attached = AttachedBoard(each, walk.pick(("console", "silent")), walk.pick(("", "micropython")), "1")
            walk.note(attached.cells(), each.describe(), same_board(devices[0], each))
    assert walk.checksum == "a9eda2fe0a518021"


def test_what_ports_drives_and_volumes_are_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    walk = Walk(4)
    pick = walk.pick
    for _ in range(800):
        drives = []
        for location in ("1-1", "1-2")[: pick((0, 0, 1, 2))]:
            drives.append(discovery.UsbDrive(("/dev/sda1", "/dev/sda"), replace(device(walk), location=location)))
        ports = [
            SimpleNamespace(
                device=each.port, location=pick((each.location, f"{each.location}:1.0")), manufacturer="M", product="P"
            )
            for each in (device(walk) for _ in range(pick((0, 1, 2, 3))))
        ]
        for each in ports:
            each.vid, each.pid, each.serial_number = pick((0x2E8A, 0x2E8A, None)), pick((3, 5, 0x1029)), pick(SERIALS)
        mounts = [SimpleNamespace(device=node, mountpoint=f"/media{node}") for node in ("/dev/sda", "/dev/sda1", "C:")]
        infos: dict[Path, VolumeInfo | None] = {}
        for each in mounts:
            ids = (DEFINITION.volumes.bootloader_board_id, DEFINITION.circuitpython_id or "", "other")
            info = VolumeInfo(pick(("bootloader", "circuitpython")), pick(ids), "9", None, pick(UIDS))
            infos[Path(each.mountpoint)] = pick((None, info, info))
        told = mounts[: pick((0, 1, 2, 3))]
        monkeypatch.setattr(list_ports, "comports", lambda ports=ports: ports)
        monkeypatch.setattr(psutil, "disk_partitions", lambda all, told=told: [] if all else told)
        monkeypatch.setattr(discovery, "usb_drives", lambda sysfs, drives=drives: drives)
        monkeypatch.setattr(discovery, "read_volume_info", infos.get)
        walk.note(SystemBus(Path("/gone")).devices())
    assert walk.checksum == "8ef05f422d7f7224"


FAULTS = (
    BoardError("broken"),
    BoardUnavailable("away"),
    ConsoleLost("lost"),
    DeadlineExceeded("too late"),
    BrokenSetup("no engine"),
    BoardGone("its process ended"),
)


SAMPLES = tuple(
    replace(UsbDevice(vid=0x2E8A, pid=pid, enumeration="1:4"), port=port) for pid in (3, 5) for port in (None, "COM1")
)


def plain(word: Any) -> Any:
    """Something of it that is the same in every run: of a condition, which of four devices meet it."""
    match word:
        case Deadline():
            return word.what, word.seconds
        case Console():
            word.feed(b"a line\n")
            return word.lines[-1:]
        case PurePath():
            return word.name
        case list():  # a command, whose program has another place elsewhere
            return [PurePath(each).name for each in word[1:]]
        case SimpleNamespace() | Link():
            return getattr(word, "name", getattr(word, "path", None))
        case _ if callable(word):
            return word.__name__ if word.__code__.co_argcount != 1 else [*map(word, SAMPLES)]
    return word


class World:
    """All that a board's steps call, each of which is noted, and answers or fails as drawn."""

    def __init__(self, walk: Walk, rarity: int) -> None:
        self.walk = walk
        self.rarity = rarity
        self.now = device(walk)
        self.text = "42"

    def does(self, name: str, *answers: Any) -> Callable[..., Any]:
        def call(*words: Any, **more: Any) -> Any:
            self.walk.note(name, [plain(each) for each in (*words, *more.items())])
            if self.walk.pick((True, *(False,) * self.rarity)):
                raise self.walk.pick(FAULTS)
            return self.walk.pick(answers or (None,))

        return call

    def device(self) -> UsbDevice | None:
        if self.walk.pick((True, False, False)):
            self.now = device(self.walk)
        return self.walk.pick((self.now, self.now, self.now, None))

    def repl(self, *words: Any, **more: Any) -> Any:
        self.does("open", SimpleNamespace())(*words, **more)
        wire = SimpleNamespace(
            is_open=self.walk.pick((True, True, False)),
            port="/dev/ttyACM0",
            until=self.does("until"),
            write=self.does("write"),
            read_until_quiet=self.does("quiet"),
            read_some=self.does(
                "read", b"", b"", b"line\n", b">>> ", b"Code done running.\n", b'PORTBENCH {"a": 1}\r\n'
            ),
        )
        names = ("execute_and_lose", "leave", "close", "interrupt", "enter")
        answers = ("42\n", "42\n", " 41\r\n", 'PORTBENCH {"a": 1}', "None")
        steps = {name: self.does(name) for name in names}
        return SimpleNamespace(wire=wire, name="b", execute=self.does("execute", *answers), **steps)


def link_in(world: World, log: Callable[[str], None]) -> Link:
    walk = world.walk
    power = walk.pick((None, None, SimpleNamespace(cycle=world.does("power"))))
    made: Any = Link(DEFINITION, "b", SimpleNamespace(known=world.now), power=power, poll_s=0.07, log=log)  # type: ignore[arg-type]
    made.device, made.open_repl = world.device, world.repl
    made.wait_device = world.does("wait", *(device(walk) for _ in range(3)))
    made.ask_bootsel = walk.pick((None, world.does("ask")))
    return made  # type: ignore[no-any-return]


def image(walk: Walk) -> Any:
    family_id = walk.pick((DEFINITION.uf2_family, 7))
    identity = SimpleNamespace(family=walk.pick(("micropython", "native", "")))
    path = PurePosixPath(walk.pick(("a/b.uf2", "a/c.uf2")))
    return SimpleNamespace(path=path, data=b"data", identity=identity, content=SimpleNamespace(family_id=family_id))


class Touched:
    """A port whose lines are set."""

    def __init__(self, world: World) -> None:
        self.__dict__.update(close=world.does("close"), sets=world.does("sets"))

    def __setattr__(self, name: str, value: object) -> None:
        try:
            self.sets(name, value)
        except BoardError:
            raise OSError("it has none") from None


class Ticks:
    """A clock that each look moves on by a quarter of a second."""

    now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 0.25
        return self.now_s


def test_the_ways_into_the_boot_loader_and_out_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    walk = Walk(5)
    for _ in range(500):
        world = World(walk, walk.pick((1, 4, 20)))
        link = link_in(world, walk.note)
        ended = [subprocess.CompletedProcess([], status, "it  says", "") for status in (0, 0, 1)]
        parts = {
            "run_program": world.does("program", *ended),
            "open_port": world.does("port", Touched(world)),
            "check_fits": lambda name, definition, image: image.content,
            "check_started": world.does("check_started"),
            "wait_volume": world.does("wait_volume", Path("/drive")),
            "write_until_gone": world.does("write_until_gone"),
            "usb_id": world.does("usb_id", None, 1),
            "chip_name": str,
        }
        if walk.pick((True, *(False,) * 9)):
            fault: Any = walk.pick((OSError(errno.EIO, "it broke"), KeyboardInterrupt("Ctrl-C")))
            parts["write_until_gone"] = lambda *_, fault=fault: (_ for _ in ()).throw(fault)
        for name, part in parts.items():
            monkeypatch.setattr(flash_module, name, part)
            monkeypatch.setattr(run_module, "flash", world.does("flash"))
        tool = walk.pick((None, "/bin/picotool"))
        monkeypatch.setattr(flash_module.shutil, "which", lambda name, tool=tool: tool)
        clock = Ticks()
        deadline = Deadline(walk.pick((3, 100)), "t", clock=clock, sleep=partial(walk.note, "sleeps"))
        monkeypatch.setattr(run_module, "time", SimpleNamespace(monotonic=clock))
        noted(walk, flash_module.flash, link, image(walk), deadline)
        walk.note(link.image_has_usb)
        console = Console()
        noted(walk, run_module.run, link, console, deadline)
        noted(walk, run_module.recover, link, walk.pick((None, image(walk))), deadline)
        walk.note(console.result, console.lines)
    assert walk.checksum == "ca1c225003e26c71"


def test_the_steps_of_a_board(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    walk = Walk(6)
    for _ in range(400):
        world = World(walk, walk.pick((4, 20, 60)))
        lock = SimpleNamespace(release=world.does("release"))
        monkeypatch.setattr(board_module, "BoardLock", lambda *_, lock=lock: lock)
        machine = walk.pick(("W5500-EVB-Pico with RP2040", "W5500-EVB-Pico2 with RP2350", "Pico"))
        told = RuntimeIdentity("micropython", "1", "", machine)
        answers: dict[str, tuple[Any, ...]] = {"identify": (told,), "save_files": (None, Path("/saved"))}
        names = ("deploy_circuitpython", "check_digests", "answers", "recover", "restart", "run", "flash", *answers)
        for name in names:
            monkeypatch.setattr(board_module, name, world.does(name, *answers.get(name, ())))
        for name in ("mpremote", "rshell"):
            monkeypatch.setitem(board_module.DEPLOYERS, name, world.does(name))  # type: ignore[misc]
        first = replace(device(walk), location=walk.pick((None, "1-1")))
        given: dict[str, Any] = {"power": object(), "watch": lambda: None, "ask_bootsel": abs, "poll_s": 0.5}
        try:
            board = UsbBoard(
                DEFINITION,
                deployer=walk.pick(("mpremote", "rshell")),
                choose=walk.pick((None, None, lambda devices: devices[0])),
                device=walk.pick(("auto", "usb:1-1")),
                bus=SimpleNamespace(devices=lambda first=first: [first]),
                save_files_to=walk.pick((None, tmp_path)),
                name=walk.pick((None, "b")),
                log=walk.note,
                **given,
            )
        except BoardUnavailable as error:
            walk.note(str(error))
            continue
        walk.note(board.name, str(board.where))
        assert {name: getattr(board.link, name) for name in given} == given
        link = link_in(world, walk.note)
        board.link = link
        clock = Ticks()
        for _ in range(walk.pick((3, 30))):
            deadline = Deadline(walk.pick((1000, 1000, 0.2)), "t", clock=clock, sleep=partial(walk.note, "sleeps"))
            family = walk.pick(("micropython", "circuitpython", "native", "foreign"))
            deployment = Deployment({"main.py": b"1"}, family)
            step, *words = walk.pick(
                (
                    (board.flash, image(walk), deadline),
                    (board.wait_console, deadline),
                    (board.identify, deadline),
                    (board.deploy, deployment, deadline),
                    (board.deploy, deployment, deadline),
                    (board.run, deadline),
                    (board.run, deadline, partial(walk.note, "printed")),
                    (board.reset, deadline),
                    (board.release_port,),
                    (board.close,),
                )
            )
            found = noted(walk, step, *words)
            assert found is None or getattr(found, "console", None) is not board._console.lines
            walk.note(board.saved_files and board.saved_files.name, board.console_tail(walk.pick((0, 20))))
    assert walk.checksum == "c555fb26aeb701ef"


def test_files_drives_and_what_attached_boards_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A board's drive is read, mounted and written to, the user's files are saved, and boards are listed."""
    walk = Walk(8)
    pick = walk.pick
    ids = (DEFINITION.volumes.bootloader_board_id, DEFINITION.circuitpython_id, "other")
    names = (
        "main.py",
        "cödé.py",
        "code.py",
        "boot_out.txt",
        ".x",
        "portbench_config.json",
        "lib/a.py",
        "lib/b/c.py",
        "..\\up.py",
        "..",
        "INDEX.HTM/a",
    )
    contents = (b"", b"1", b'print("PORTBENCH"', b'x\nprint("PORTBENCH "', b"a" * 70_000)
    banner = "Adafruit CircuitPython 9.1.4 on 2024-09-17; W5500-EVB-Pico with rp2040\r\n"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(port, "permission_fix", str)
    monkeypatch.setattr(files, "datetime", SimpleNamespace(now=lambda zone: datetime(2026, 1, 2, 3, 4, 5, 6, zone)))
    monkeypatch.setattr(files.LibraryMissing, "unless_found", lambda *_: None)
    for number in range(300):
        drive = Path(f"{number}")
        drive.mkdir()
        told = [f"{key}{pick(('', ' ', '  '))}{pick(ids)}" for key in ("Board-ID:", "Board ID:")[: pick((0, 1, 2))]]
        told += ["UF2 Bootloader v2.0", f"UID:{pick(SERIALS)}", banner][: pick((0, 1, 2, 3))]
        (drive / pick(("INFO_UF2.TXT", "boot_out.txt"))).write_text("\n".join(told))
        walk.note(volume.read_volume_info(drive))
        world = World(walk, pick((2, 9, 60)))
        found = replace(device(walk), volume=pick((drive, drive, None)), emulated=False, provider_pid=pick((None, 7)))
        monkeypatch.setattr(world, "device", lambda found=found: pick((None, found, found, found)))
        clock = Ticks()
        deadline = Deadline(pick((2, 9)), "t", clock=clock, sleep=partial(walk.note, "sleeps"))
        link = link_in(world, walk.note)
        link.target.known = found  # type: ignore[misc]
        ended = [
            subprocess.CompletedProcess([], *each)
            for each in ((0, "", ""), (1, "", "no  disk"), (1, "", "AlreadyMounted"))
        ]
        ended += [
            subprocess.CompletedProcess([], status, "a\n Unable to create\n Unable to cp\n", "b") for status in (0, 3)
        ]
        for module in (volume, files):
            monkeypatch.setattr(module, "run_program", world.does("program", *ended[: pick((1, 5))]))
        monkeypatch.setattr(volume.shutil, "which", lambda name: pick((None, "/bin/udisksctl")))
        noted(walk, lambda: volume.wait_volume(link, pick(("bootloader", "circuitpython")), deadline).name)  # noqa: B023
        wire: Any = SimpleNamespace(port=pick(("/dev/ttyACM0", "socket://h:1")))
        repl: Any = SimpleNamespace(name="b", wire=wire, enter=world.does("enter"), leave=world.does("leave"))
        repl.close = lambda: walk.note("closed")
        listed = [pick(names) for _ in range(pick((0, 1, 3)))]
        repl.execute = lambda *words, listed=listed: walk.note(words[2]) or "\n".join(map(repr, listed)) + "\n\n"
        repl.read_file = world.does("read", *contents)
        saved: list[Path | None] = []
        noted(walk, lambda: saved.append(files.save_files(repl, drive / "saved", deadline)))  # noqa: B023
        written = {pick(names[:9]): pick(contents) for _ in range(pick((1, 3)))}
        monkeypatch.setattr(files, "differing", lambda repl, of, deadline: [*of])
        monkeypatch.setattr(files, "wait_volume", world.does("wait_volume", drive))
        monkeypatch.setattr(files, "check_digests", world.does("check"))
        write = pick((volume.write_file, volume.write_file, fails(OSError(pick((5, 28, 30)), "it broke"))))

        def writes(*words: Any, write: Callable[..., None] = write) -> None:
            walk.note([*map(plain, words[2:])])
            write(*words)

        monkeypatch.setattr(files, "write_file", writes)
        noted(
            walk, files.deploy_circuitpython, link, repl, written, Deadline(60, "t"), pick((None, world.does("settle")))
        )
        noted(walk, files.deploy_rshell, repl, written, deadline)
        walk.note(files._rshell_commands(drive, written), [each is None for each in saved])
        for path in sorted(drive.rglob("*")):
            walk.note(path.relative_to(drive).as_posix(), path.read_bytes()[:9] if path.is_file() else None)
        opened = pick((str, str, fails(BoardUnavailable("no permission")), fails(BoardUnavailable("in use"))))

        def opens(*words: object, opened: Callable[[object], object] = opened, **more: object) -> object:
            return opened(walk.note([*map(plain, words)], more))

        monkeypatch.setattr(discovery, "open_port", opens)
        monkeypatch.setattr(discovery, "SerialWire", lambda *words: words)
        monkeypatch.setattr(discovery, "Repl", lambda *words, repl=repl: repl)
        monkeypatch.setattr(discovery, "identify", world.does("identify", RuntimeIdentity("native", "1", "B", "M")))
        for each in discovery.listing(
            SimpleNamespace(devices=lambda found=found: [found]), ask=pick((True, False)), ask_s=pick((5, 7))
        ):
            walk.note(each.cells()[0], each.cells()[1:5], each.cells()[6:])
        walk.note(lock_name(found))
        code = pick((errno.EACCES, errno.EPERM, errno.EAGAIN, errno.EBUSY, errno.ENOENT, errno.ENXIO, errno.EIO))
        noted(walk, port._explain, "/dev/gone", "b", OSError(code, "why"))
    assert walk.checksum == "7d84c7a424bda44a"


def fails(error: Exception) -> Callable[..., None]:
    def call(*_: object) -> None:
        raise error

    return call


def test_a_port_that_gives_and_takes_bytes_in_any_way(monkeypatch: pytest.MonkeyPatch) -> None:
    walk = Walk(9)
    pick = walk.pick
    for _ in range(300):
        clock = Ticks()
        monkeypatch.setattr(port, "time", SimpleNamespace(monotonic=clock))
        world = World(walk, pick((9, 40)))

        class Port:
            """It has some of what it says, and breaks."""

            port, timeout, write_timeout = "/dev/ttyX", 0.0, 0.0

            @property
            def in_waiting(self) -> int:
                if pick((True, *(False,) * 60)):
                    raise OSError("unplugged")
                return pick((0, 0, 1, 3))

            def read(self, size: int) -> bytes:
                walk.note(size, self.timeout)
                return b"abc"[: pick((0, size))]

            def write(self, data: bytes) -> None:
                walk.note(data, self.write_timeout)
                if pick((True, False, False)):
                    raise pick((serial.SerialTimeoutException("full"), OSError("gone")))

            def close(self) -> None:
                walk.note("closed")

        class Opened:
            """It throws away its input by this name when it is opened."""

            def __init__(self, discards: str, *words: object, **more: object) -> None:
                walk.note(words, more)
                setattr(self, discards, lambda: walk.note(discards))
                self.open = lambda: getattr(self, discards)()

        names = ("_reset_input_buffer", "reset_input_buffer")
        monkeypatch.setattr(port, "remote_port", partial(Opened, pick(names)))
        monkeypatch.setattr(serial, "serial_for_url", partial(Opened, pick(names)))
        port._open(pick(("/dev/ttyX", "socket://h:1")), pick((True, False)))
        of: Any = Port()
        wire = port.SerialWire(of, "b", pick((None, world.does("watch"))))
        for _ in range(pick((5, 20))):
            wire.until(Deadline(pick((1, 5)), "t", clock=clock, sleep=partial(walk.note, "sleeps")), "an answer")
            calls = [(wire.read, pick((1, 4))), (wire.read_some, pick((0, 0.01, 9))), (wire.read_until_quiet, 0.1, 3)]
            noted(walk, *pick((*calls, (wire.inWaiting,), (wire.write, b"typed"))))
        wire.close()
        walk.note(wire.is_open, clock.now_s)
    assert walk.checksum == "9521f5ff78f11c3d"


def test_constants_and_defaults_are_as_they_were_read() -> None:
    assert_as_read(usb, Path(__file__).with_name("declared.txt"))
