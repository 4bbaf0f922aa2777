"""Each fault strikes once, when it is due, and does to the board what its kind says. The board is the test's own.

A drive that refuses files, and one whose copy is torn, are shown as programs see them.
"""

import errno
import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock, call, create_autospec

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from portbench.boards.desk.faults import Fault, FaultInjector, FaultKind, When
from portbench.boards.desk.volume_folder import MassStorage, Torn, VolumeFolder

NEVER = float("inf")
CRASH = call.write_sram(0x20000000, b"\xff" * 4)


class World:
    """A board that notes each call, with faults. `shown`: the last print, as it arrived."""

    def __init__(self, *faults: Fault) -> None:
        self.board = Mock(time_us=0.0, answered=0, sram=(0x20000000, 4))
        self.board.machine = self.board.usb = self.board.pc = self.board
        self.host_s = 0.0
        self.shown = b""
        self.lines: list[str] = []
        self.injector = FaultInjector(self.board, self.lines.append, lambda: self.host_s)
        for fault in faults:
            self.injector.arm(fault)

    def look(self, at_us: float | None = None) -> list[Any]:
        if at_us is not None:
            self.board.time_us = at_us
        self.injector.look()
        return list(self.board.mock_calls)

    def print(self, data: bytes) -> bytes:
        self.shown = b""
        self.injector.printing(data, self._show)
        return self.shown

    def _show(self, data: bytes) -> None:
        self.shown += data


@pytest.mark.parametrize(
    ("fault", "done"),
    [
        (Fault(FaultKind.SERIAL_DROPPED, duration_ms=7), call.leave_bus(7)),
        (Fault(FaultKind.GUEST_CRASH), CRASH),
        (Fault(FaultKind.CORES_RESET), call.reset_cores()),
        (Fault(FaultKind.POWER_LOST), call.lose_power()),
        (Fault(FaultKind.VOLUME_READ_ONLY), call.refuse_files(("firmware.uf2",), full=False)),
        (Fault(FaultKind.VOLUME_FULL, names=("code.py",)), call.refuse_files(("code.py",), full=True)),
        (Fault(FaultKind.VOLUME_TORN, amount=500), call.tear_next_copy(500)),
        (Fault(FaultKind.PORT_RENAMED), call.rename_next_port()),
        (Fault(FaultKind.LINK_DOWN), call.set_cable(False)),
        (
            Fault(FaultKind.PACKETS_LOST, amount=9, seed=4),
            call.set_lan_faults({"seed": 4, "loss_from_board_per_mille": 9, "loss_to_board_per_mille": 9}),
        ),
        (Fault(FaultKind.PACKETS_DELAYED, amount=80, seed=4), call.set_lan_faults({"seed": 4, "jitter_us": 80})),
        (Fault(FaultKind.SERVER_KILLED), call.kill()),
    ],
    ids=lambda value: str(value.kind) if isinstance(value, Fault) else "",
)
def test_each_kind_strikes_once(fault: Fault, done: tuple[str, Any]) -> None:
    world = World(fault)
    assert world.look() == [done]
    assert world.look() == [done]
    assert world.injector.struck == [fault.kind]
    assert str(fault.kind) in world.lines[0]


def test_waits_for_simulated_time_and_for_messages() -> None:
    world = World(Fault(FaultKind.GUEST_CRASH, When.POWERED_US, 1000), Fault(FaultKind.SERVER_KILLED, When.ANSWERED, 3))
    world.board.answered = 2
    assert world.look(999.0) == [] and world.injector.next_look_us == 1.0
    assert world.look(1000.0) == [CRASH] and world.injector.next_look_us == 50.0
    world.board.answered = 3
    assert world.look() == [CRASH, call.kill()] and world.injector.next_look_us == NEVER


def test_a_serial_port_is_dropped_in_the_middle_of_a_line() -> None:
    world = World(Fault(FaultKind.SERIAL_DROPPED, When.PRINTED, 8))
    assert world.print(b"PORT") == b"PORT" and world.look() == []
    struck_at: list[bytes] = []
    world.board.leave_bus.side_effect = lambda duration_ms: struck_at.append(world.shown)
    assert world.print(b"BENCH {}\r\n") == b"BENCH {}\r\n"
    assert struck_at == [b"BENC"]


def test_lost_bytes_are_lost_in_either_direction() -> None:
    world = World(
        Fault(FaultKind.BYTES_LOST, When.PRINTED, 3, amount=2), Fault(FaultKind.TYPED_LOST, When.TYPED, 2, amount=3)
    )
    assert world.print(b"abcdefg") == b"abcfg"
    assert world.injector.typing(b"1") == b"1"
    assert world.injector.typing(b"234") == b""
    assert world.injector.typing(b"567") == b"567"


@given(st.lists(st.binary(max_size=40), max_size=12), st.integers(0, 200), st.integers(0, 60))
@example([b"abcd"], 1, 1)
@example([b"abcd"], 2, 1)
def test_bytes_are_lost_where_the_fault_says_however_they_come(pieces: list[bytes], after: int, amount: int) -> None:
    world = World(Fault(FaultKind.BYTES_LOST, When.PRINTED, after, amount=amount))
    world.look()
    shown = b"".join(world.print(piece) for piece in pieces)
    whole = b"".join(pieces)
    assert shown == whole[:after] + whole[after + amount :]


def test_disarming_forgets_what_waits_and_ends_what_lasts() -> None:
    waiting = Fault(FaultKind.GUEST_CRASH, When.POWERED_US, 1)
    world = World(Fault(FaultKind.LINK_DOWN), Fault(FaultKind.PACKETS_LOST), Fault(FaultKind.CONSOLE_SILENT), waiting)
    world.look()
    world.injector.disarm()
    assert world.look(10.0)[2:] == [call.set_cable(True), call.set_lan_faults({}), call.accept_files()]
    assert world.print(b"x") == b"x" and world.injector.struck == []


def test_a_fault_is_told_with_all_that_it_was_given() -> None:
    assert str(Fault(FaultKind.POWER_LOST)) == "power-lost"
    assert str(Fault(FaultKind.BYTES_LOST, When.PRINTED, 5, amount=3, duration_ms=7)) == (
        "bytes-lost, after 5 printed, amount 3, for 7 ms"
    )
    world = World(Fault(FaultKind.GUEST_CRASH, When.POWERED_US, 150_000_000))
    world.look(150_000_001.0)
    assert world.lines == ["fault: guest-crash, after 150000000 powered-us, at 150.000001 s"]


def test_shares_are_of_a_thousand() -> None:
    for kind in (FaultKind.VOLUME_TORN, FaultKind.PACKETS_LOST):
        assert Fault(kind, amount=1000).amount == 1000
        with pytest.raises(ValueError, match="amount is 1001, of 1000 thousandths"):
            Fault(kind, amount=1001)
    assert Fault(FaultKind.BYTES_LOST, amount=1001).amount == 1001
    with pytest.raises(ValueError) as caught:
        Fault.from_settings({"kind": "packets-lost", "amount": 1001})
    assert str(caught.value) == "fault packets-lost: amount is 1001, of 1000 thousandths"


@pytest.mark.parametrize("when", [When.ANSWERED, When.ENUMERATED])
def test_what_is_counted_is_waited_for_once_at_least(when: When) -> None:
    world = World(Fault(FaultKind.POWER_LOST, when), Fault(FaultKind.GUEST_CRASH, when, 2))
    assert world.look() == []
    struck = []
    for _ in range(2):
        world.board.answered += 1
        world.injector.enumerated()
        struck.append(world.look())
    assert struck == [[call.lose_power()], [call.lose_power(), CRASH]]


def test_counts_begin_when_a_fault_is_armed() -> None:
    world = World()

    def happen() -> list[Any]:
        world.print(b"a")
        world.injector.typing(b"b")
        world.board.answered += 1
        world.injector.enumerated()
        return world.look()

    happen()
    for when, kind in {
        When.PRINTED: FaultKind.POWER_LOST,
        When.TYPED: FaultKind.GUEST_CRASH,
        When.ANSWERED: FaultKind.CORES_RESET,
        When.ENUMERATED: FaultKind.PORT_RENAMED,
    }.items():
        world.injector.arm(Fault(kind, when, 2))
    assert happen() == []
    assert {each[0] for each in happen()} == {"lose_power", "write_sram", "reset_cores", "rename_next_port"}


@pytest.mark.parametrize(
    ("kind", "over"),
    [(FaultKind.LINK_DOWN, call.set_cable(True)), (FaultKind.PACKETS_DELAYED, call.set_lan_faults({}))],
)
def test_what_has_a_duration_is_watched_and_ends_with_it(kind: FaultKind, over: tuple[str, Any]) -> None:
    world = World(Fault(kind, amount=1, duration_ms=2))
    assert world.injector.next_look_us == NEVER
    world.look(500.0)
    assert world.injector.next_look_us == 2000.0
    assert over not in world.look(2499.0) and world.injector.next_look_us == 1.0
    assert world.look(2500.0)[1:] == [over] and world.injector.next_look_us == NEVER
    endless = World(Fault(kind, amount=1))
    endless.look()
    assert endless.look(1e15)[1:] == []
    endless.injector.powered_up()
    assert endless.look()[1:] == [] and endless.injector.next_look_us == NEVER, "a new one needs no mending"
    endless.injector.disarm()
    assert endless.look()[1:] == [call.accept_files()]


def test_a_silent_console_speaks_after_its_time_and_not_before() -> None:
    world = World(Fault(FaultKind.CONSOLE_SILENT, When.POWERED_US, 100, duration_ms=1), Fault(FaultKind.CORES_RESET))
    assert world.look() == [call.reset_cores()] and world.print(b"x") == b"x"
    world.look(100.0)
    world.look(1099.0)
    assert world.print(b"x") == b"" and world.injector.typing(b"y") == b"" and world.injector.next_look_us == NEVER
    world.board.time_us = 1100.0
    assert world.print(b"x") == b"", "it has ended by then"
    assert world.print(b"x") == b"x" and world.injector.typing(b"y") == b"y"
    endless = World(Fault(FaultKind.CONSOLE_SILENT))
    endless.look()
    endless.look(1e15)
    assert endless.print(b"x") == b""
    endless.injector.powered_up()
    assert endless.print(b"x") == b"x"


def test_a_drive_refuses_for_as_long_as_it_was_told() -> None:
    world = World(Fault(FaultKind.VOLUME_READ_ONLY, duration_ms=2000))
    world.host_s = 1.0
    world.look()
    world.injector.drive_gone()
    world.host_s = 2.999
    assert len(world.look()) == 1
    world.host_s = 3.0
    assert world.look()[1:] == [call.accept_files()]
    world.host_s = 5.0
    world.injector.drive_gone()
    assert len(world.look()) == 2, "once"
    until_mounted = World(Fault(FaultKind.VOLUME_FULL))
    until_mounted.injector.drive_gone()
    assert len(until_mounted.look()) == 1
    until_mounted.injector.drive_gone()
    assert until_mounted.look()[1:] == [call.accept_files()]


def test_lost_bytes_add_up_and_are_forgotten_when_disarmed() -> None:
    two = Fault(FaultKind.BYTES_LOST, amount=2), Fault(FaultKind.TYPED_LOST, amount=2)
    world = World(*two, Fault(FaultKind.BYTES_LOST, amount=3), Fault(FaultKind.TYPED_LOST, amount=3))
    world.look()
    assert world.print(b"abcd") == b"" and world.injector.typing(b"abcd") == b""
    assert world.print(b"ef") == b"f" and world.injector.typing(b"ef") == b"f"
    again = World(*two)
    again.look()
    again.injector.disarm()
    assert again.print(b"ab") == b"ab" and again.injector.typing(b"ab") == b"ab"


def test_an_enumeration_is_late_after_as_many_as_it_was_told_from_its_arming() -> None:
    world = World()
    world.injector.enumerated()
    world.injector.arm(Fault(FaultKind.ENUMERATION_SLOW, duration_ms=4))
    world.injector.arm(Fault(FaultKind.ENUMERATION_SLOW, When.ENUMERATED, duration_ms=5))
    world.injector.arm(Fault(FaultKind.ENUMERATION_SLOW, When.ENUMERATED, 4, duration_ms=6))
    world.look()
    assert [world.injector.enumerated() for _ in range(5)] == [4, 5, 0, 6, 0]
    assert world.injector.struck == ["enumeration-slow"] * 3 and len(world.lines) == 3


faults = st.builds(
    Fault,
    kind=st.sampled_from(FaultKind),
    when=st.sampled_from(When),
    after=st.integers(min_value=0),
    duration_ms=st.integers(min_value=0),
    amount=st.integers(min_value=0, max_value=1000),
    names=st.lists(st.text()).map(tuple),
    seed=st.integers(min_value=0),
)


@given(faults)
def test_settings_say_all_of_a_fault(fault: Fault) -> None:
    assert Fault.from_settings(fault.settings()) == fault
    assert json.loads(json.dumps(fault.settings())) == fault.settings()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, ["kind is absent"]),
        ({"kind": "power-lost", "how": 1}, ["how is 1", "unknown"]),
        ({"kind": "meteorite"}, ["meteorite", "power-lost"]),
        ({"kind": "power-lost", "when": "later"}, ["later", "answered"]),
        ({"kind": "power-lost", "after": -1}, ["power-lost", "after", "-1"]),
        ({"kind": "volume-torn", "amount": 1001}, ["volume-torn", "1001", "1000"]),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(settings: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ValueError) as caught:
        Fault.from_settings(settings)
    assert all(word in str(caught.value) for word in words) and "\n" not in str(caught.value)


EVENTS = st.sampled_from(["print", "type", "look", "enumerated", "powered_up", "drive_gone"])


@given(st.lists(faults, max_size=6), st.lists(st.tuples(EVENTS, st.integers(0, 2000)), max_size=30))
def test_no_fault_strikes_twice_whatever_happens(some: list[Fault], events: list[tuple[str, int]]) -> None:
    world = World(*some)
    for what, number in events:
        match what:
            case "print":
                world.print(bytes(number % 64))
            case "type":
                world.injector.typing(bytes(number % 64))
            case "look":
                world.board.answered += number
                world.look(world.board.time_us + number)
            case _:
                getattr(world.injector, what)()
    kinds = [str(fault.kind) for fault in some]
    assert all(world.injector.struck.count(kind) <= kinds.count(kind) for kind in world.injector.struck)


@pytest.fixture
def drive() -> Mock:
    """It has `code.py`, and notes each write."""
    made = create_autospec(MassStorage, instance=True)
    made.volume_list.return_value = [("code.py", False, 3)]
    made.volume_label.return_value = "RPI-RP2"
    made.volume_read.side_effect = lambda paths, lun: [b"old" for _ in paths]
    return made


@pytest.fixture
def folder(drive: Mock, tmp_path: Path) -> VolumeFolder:
    return VolumeFolder(drive, tmp_path, lambda line: None)


@pytest.mark.parametrize("name", ["code.py", "firmware.uf2"])
def test_a_full_drive_says_so_to_whoever_writes(folder: VolumeFolder, drive: Mock, name: str) -> None:
    folder.refuse((name,), full=True)
    with pytest.raises(OSError) as caught, (folder.path / name).open("wb", buffering=0) as file:
        file.write(b"x")
    assert caught.value.errno == errno.ENOSPC
    folder.flush()
    assert not drive.volume_apply.called


@pytest.mark.parametrize("name", ["code.py", "firmware.uf2"])
def test_a_read_only_drive_refuses_even_the_administrator(folder: VolumeFolder, drive: Mock, name: str) -> None:
    folder.refuse((name,), full=False)
    with pytest.raises(OSError) as caught:
        (folder.path / name).open("wb", buffering=0)
    assert caught.value.errno in (errno.EROFS, errno.EACCES, errno.EPERM)
    folder.flush()
    assert not drive.volume_apply.called


def test_it_accepts_again(folder: VolumeFolder, drive: Mock) -> None:
    folder.refuse(("code.py",), full=True)
    folder.accept()
    folder.flush()
    assert not drive.volume_apply.called
    (folder.path / "code.py").write_bytes(b"new")
    folder.flush()
    assert drive.volume_apply.mock_calls == [call([("write", "code.py", b"new")], 0)]


@pytest.mark.parametrize("per_mille", [0, 500, 999])
def test_a_torn_copy_leaves_the_beginning_of_the_file(folder: VolumeFolder, drive: Mock, per_mille: int) -> None:
    folder.tear_per_mille = per_mille
    (folder.path / "firmware.uf2").write_bytes(bytes(range(200)))
    with pytest.raises(Torn):
        folder.flush()
    beginning = bytes(range(200 * per_mille // 1000))
    assert drive.volume_apply.mock_calls == [call([("write", "firmware.uf2", beginning)], 0)]
