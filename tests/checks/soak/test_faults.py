"""Each fault strikes once, when it is due, and does to the board what its kind says. The board is the test's own."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.boards.desk.faults import Fault, FaultInjector, FaultKind, When

NEVER = float("inf")


class Board:
    """Notes each call."""

    def __init__(self) -> None:
        self.time_us = 0.0
        self.answered = 0
        self.done: list[tuple[str, Any]] = []
        self.shown = b""

    def show(self, data: bytes) -> None:
        self.shown += data

    def leave_bus(self, duration_ms: int) -> None:
        self.done.append(("leave_bus", duration_ms))

    def crash(self) -> None:
        self.done.append(("crash", None))

    def reset_cores(self) -> None:
        self.done.append(("reset_cores", None))

    def lose_power(self) -> None:
        self.done.append(("lose_power", None))

    def refuse_files(self, names: tuple[str, ...], *, full: bool) -> None:
        self.done.append(("refuse_files", (names, full)))

    def accept_files(self) -> None:
        self.done.append(("accept_files", None))

    def tear_next_copy(self, per_mille: int) -> None:
        self.done.append(("tear_next_copy", per_mille))

    def rename_next_port(self) -> None:
        self.done.append(("rename_next_port", None))

    def plug_cable(self, plugged: bool) -> None:
        self.done.append(("plug_cable", plugged))

    def disturb_lan(self, settings: dict[str, Any]) -> None:
        self.done.append(("disturb_lan", settings))

    def kill_server(self) -> None:
        self.done.append(("kill_server", None))


class World:
    def __init__(self, *faults: Fault) -> None:
        self.board = Board()
        self.host_s = 0.0
        self.lines: list[str] = []
        self.injector = FaultInjector(self.board, self.lines.append, lambda: self.host_s)
        for fault in faults:
            self.injector.arm(fault)

    def look(self) -> list[tuple[str, Any]]:
        self.injector.look()
        return self.board.done

    def print(self, data: bytes) -> bytes:
        self.board.shown = b""
        self.injector.printing(data, self.board.show)
        return self.board.shown


@pytest.mark.parametrize(
    ("fault", "done"),
    [
        (Fault(FaultKind.SERIAL_DROPPED, duration_ms=7), ("leave_bus", 7)),
        (Fault(FaultKind.GUEST_CRASH), ("crash", None)),
        (Fault(FaultKind.CORES_RESET), ("reset_cores", None)),
        (Fault(FaultKind.POWER_LOST), ("lose_power", None)),
        (Fault(FaultKind.VOLUME_READ_ONLY), ("refuse_files", (("firmware.uf2",), False))),
        (Fault(FaultKind.VOLUME_FULL, names=("code.py",)), ("refuse_files", (("code.py",), True))),
        (Fault(FaultKind.VOLUME_TORN, amount=500), ("tear_next_copy", 500)),
        (Fault(FaultKind.PORT_RENAMED), ("rename_next_port", None)),
        (Fault(FaultKind.LINK_DOWN), ("plug_cable", False)),
        (
            Fault(FaultKind.PACKETS_LOST, amount=9, seed=4),
            ("disturb_lan", {"seed": 4, "loss_from_board_per_mille": 9, "loss_to_board_per_mille": 9}),
        ),
        (Fault(FaultKind.PACKETS_DELAYED, amount=80, seed=4), ("disturb_lan", {"seed": 4, "jitter_us": 80})),
        (Fault(FaultKind.SERVER_KILLED), ("kill_server", None)),
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
    world.board.time_us, world.board.answered = 999.0, 2
    assert world.look() == [] and world.injector.next_look_us == 1.0
    world.board.time_us = 1000.0
    assert world.look() == [("crash", None)] and world.injector.next_look_us == 50.0
    world.board.answered = 3
    assert world.look() == [("crash", None), ("kill_server", None)] and world.injector.next_look_us == NEVER


def test_a_serial_port_is_dropped_in_the_middle_of_a_line() -> None:
    world = World(Fault(FaultKind.SERIAL_DROPPED, When.PRINTED, 8))
    assert world.print(b"PORT") == b"PORT" and world.board.done == []
    world.board.shown = b""
    struck_at: list[bytes] = []
    world.board.leave_bus = lambda duration_ms: struck_at.append(world.board.shown)  # type: ignore[method-assign]
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


@given(
    st.lists(st.binary(max_size=40), max_size=12),
    st.integers(min_value=0, max_value=200),
    st.integers(min_value=0, max_value=60),
)
def test_bytes_are_lost_where_the_fault_says_however_they_come(pieces: list[bytes], after: int, amount: int) -> None:
    world = World(Fault(FaultKind.BYTES_LOST, When.PRINTED, after, amount=amount))
    world.look()
    shown = b"".join(world.print(piece) for piece in pieces)
    whole = b"".join(pieces)
    assert shown == whole[:after] + whole[after + amount :]


def test_a_silent_console_takes_and_gives_nothing_until_it_is_over() -> None:
    world = World(Fault(FaultKind.CONSOLE_SILENT, duration_ms=5))
    world.look()
    assert world.print(b"x") == b"" and world.injector.typing(b"y") == b""
    world.board.time_us = 5000.0
    world.look()
    assert world.print(b"x") == b"x" and world.injector.typing(b"y") == b"y"


def test_power_ends_silence() -> None:
    world = World(Fault(FaultKind.CONSOLE_SILENT))
    world.look()
    world.injector.powered_up()
    assert world.print(b"x") == b"x"


def test_the_cable_and_the_lan_recover() -> None:
    world = World(Fault(FaultKind.LINK_DOWN, duration_ms=2), Fault(FaultKind.PACKETS_LOST, amount=5, duration_ms=3))
    assert len(world.look()) == 2 and world.injector.next_look_us == 2000.0
    world.board.time_us = 2000.0
    assert world.look()[2:] == [("plug_cable", True)] and world.injector.next_look_us == 1000.0
    world.board.time_us = 3000.0
    assert world.look()[3:] == [("disturb_lan", {})] and world.injector.next_look_us == NEVER


def test_a_drive_that_refuses_accepts_again_after_the_next_mount_or_in_time() -> None:
    world = World(Fault(FaultKind.VOLUME_FULL))
    world.look()
    world.injector.drive_gone()
    assert world.board.done[1:] == [("accept_files", None)]
    timed = World(Fault(FaultKind.VOLUME_FULL, duration_ms=100))
    timed.look()
    timed.injector.drive_gone()
    assert len(timed.board.done) == 1
    timed.host_s = 0.1
    assert timed.look()[1:] == [("accept_files", None)]


def test_an_enumeration_is_late_once() -> None:
    world = World(Fault(FaultKind.ENUMERATION_SLOW, When.ENUMERATED, 2, duration_ms=300))
    world.look()
    assert [world.injector.enumerated() for _ in range(3)] == [0, 300, 0]
    assert world.injector.struck == ["enumeration-slow"]


def test_the_next_enumeration_is_late_without_a_count() -> None:
    world = World(Fault(FaultKind.ENUMERATION_SLOW, duration_ms=300))
    assert [world.injector.enumerated() for _ in range(2)] == [300, 0]


def test_disarming_forgets_what_waits_and_ends_what_lasts() -> None:
    world = World(
        Fault(FaultKind.LINK_DOWN),
        Fault(FaultKind.PACKETS_LOST, amount=5),
        Fault(FaultKind.CONSOLE_SILENT),
        Fault(FaultKind.GUEST_CRASH, When.POWERED_US, 1),
    )
    world.look()
    world.injector.disarm()
    world.board.time_us = 10.0
    assert world.look()[2:] == [("plug_cable", True), ("disturb_lan", {}), ("accept_files", None)]
    assert world.print(b"x") == b"x" and world.injector.struck == []


def test_a_fault_is_told_with_all_that_it_was_given() -> None:
    assert str(Fault(FaultKind.POWER_LOST)) == "power-lost"
    assert str(Fault(FaultKind.BYTES_LOST, When.PRINTED, 5, amount=3, duration_ms=7)) == (
        "bytes-lost, after 5 printed, amount 3, for 7 ms"
    )
    world = World(Fault(FaultKind.GUEST_CRASH, When.POWERED_US, 150_000_000))
    world.board.time_us = 150_000_001.0
    world.look()
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
        struck.append(list(world.look()))
    assert struck == [[("lose_power", None)], [("lose_power", None), ("crash", None)]]


def test_counts_begin_when_a_fault_is_armed() -> None:
    world = World()
    world.print(b"abc")
    world.injector.typing(b"de")
    world.board.answered = 7
    world.injector.enumerated()
    kinds = {
        When.PRINTED: FaultKind.POWER_LOST,
        When.TYPED: FaultKind.GUEST_CRASH,
        When.ANSWERED: FaultKind.CORES_RESET,
    }
    for when, kind in kinds.items():
        world.injector.arm(Fault(kind, when, 2))
    world.injector.arm(Fault(FaultKind.PORT_RENAMED, When.ENUMERATED, 2))
    world.print(b"a")
    world.injector.typing(b"b")
    world.board.answered = 8
    world.injector.enumerated()
    assert world.look() == []
    world.print(b"a")
    assert world.injector.typing(b"b") == b"b"
    world.board.answered = 9
    world.injector.enumerated()
    assert {what for what, _ in world.look()} == {"lose_power", "crash", "reset_cores", "rename_next_port"}


@pytest.mark.parametrize(
    ("kind", "over"),
    [(FaultKind.LINK_DOWN, ("plug_cable", True)), (FaultKind.PACKETS_DELAYED, ("disturb_lan", {}))],
)
def test_what_has_a_duration_is_watched_and_ends_with_it(kind: FaultKind, over: tuple[str, Any]) -> None:
    world = World(Fault(kind, amount=1, duration_ms=2))
    assert world.injector.next_look_us == NEVER
    world.board.time_us = 500.0
    world.look()
    assert world.injector.next_look_us == 2000.0
    world.board.time_us = 2499.0
    assert over not in world.look() and world.injector.next_look_us == 1.0
    world.board.time_us = 2500.0
    assert world.look()[1:] == [over] and world.injector.next_look_us == NEVER
    endless = World(Fault(kind, amount=1))
    endless.look()
    endless.board.time_us = 1e15
    assert endless.look()[1:] == []
    endless.injector.powered_up()
    assert endless.look()[1:] == [] and endless.injector.next_look_us == NEVER, "a new one needs no mending"
    endless.injector.disarm()
    assert endless.board.done[1:] == [("accept_files", None)]


def test_a_silent_console_speaks_after_its_time_and_not_before() -> None:
    world = World(Fault(FaultKind.CONSOLE_SILENT, When.POWERED_US, 100, duration_ms=1), Fault(FaultKind.CORES_RESET))
    assert world.look() == [("reset_cores", None)] and world.print(b"x") == b"x"
    world.board.time_us = 100.0
    world.look()
    world.board.time_us = 1099.0
    world.look()
    assert world.print(b"x") == b"" and world.injector.next_look_us == NEVER
    world.board.time_us = 1100.0
    assert world.print(b"x") == b"", "it has ended by then"
    assert world.print(b"x") == b"x"
    endless = World(Fault(FaultKind.CONSOLE_SILENT))
    endless.look()
    endless.board.time_us = 1e15
    endless.look()
    assert endless.print(b"x") == b""


def test_a_drive_refuses_for_as_long_as_it_was_told() -> None:
    world = World(Fault(FaultKind.VOLUME_READ_ONLY, duration_ms=2000))
    world.host_s = 1.0
    world.look()
    world.host_s = 2.999
    assert len(world.look()) == 1
    world.host_s = 3.0
    assert world.look()[1:] == [("accept_files", None)]
    world.host_s = 5.0
    assert len(world.look()) == 2, "once"
    world.injector.drive_gone()
    assert len(world.board.done) == 2


def test_lost_bytes_add_up_and_are_forgotten_when_disarmed() -> None:
    world = World(Fault(FaultKind.BYTES_LOST, amount=2), Fault(FaultKind.BYTES_LOST, amount=3))
    world.injector.arm(Fault(FaultKind.TYPED_LOST, amount=2))
    world.injector.arm(Fault(FaultKind.TYPED_LOST, amount=3))
    world.look()
    assert world.print(b"abcd") == b"" and world.injector.typing(b"abcd") == b""
    assert world.print(b"ef") == b"f" and world.injector.typing(b"ef") == b"f"
    again = World(Fault(FaultKind.BYTES_LOST, amount=2), Fault(FaultKind.TYPED_LOST, amount=2))
    again.look()
    again.injector.disarm()
    assert again.print(b"ab") == b"ab" and again.injector.typing(b"ab") == b"ab"


def test_a_fault_strikes_behind_the_very_byte() -> None:
    for after in (1, 2):
        world = World(Fault(FaultKind.BYTES_LOST, When.PRINTED, after, amount=1))
        assert world.print(b"abcd") == b"abcd"[:after] + b"abcd"[after + 1 :]


def test_a_drive_that_refuses_nothing_may_come_and_go() -> None:
    world = World()
    world.injector.drive_gone()
    assert world.board.done == []


def test_an_enumeration_is_late_after_as_many_as_it_was_told_from_its_arming() -> None:
    world = World()
    world.injector.enumerated()
    world.injector.arm(Fault(FaultKind.ENUMERATION_SLOW, When.ENUMERATED, duration_ms=5))
    world.injector.arm(Fault(FaultKind.ENUMERATION_SLOW, When.ENUMERATED, 3, duration_ms=6))
    assert [world.injector.enumerated() for _ in range(4)] == [5, 0, 6, 0]
    assert world.injector.struck == ["enumeration-slow"] * 2 and len(world.lines) == 2


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


@given(st.lists(faults, max_size=6), st.lists(st.tuples(st.sampled_from("pteluw"), st.integers(0, 2000)), max_size=30))
def test_no_fault_strikes_twice_whatever_happens(some: list[Fault], events: list[tuple[str, int]]) -> None:
    world = World(*some)
    for what, number in events:
        if what == "p":
            world.print(bytes(number % 64))
        elif what == "t":
            world.injector.typing(bytes(number % 64))
        elif what == "e":
            world.injector.enumerated()
        elif what == "u":
            world.injector.powered_up()
        elif what == "w":
            world.injector.drive_gone()
        else:
            world.board.time_us += number
            world.board.answered += number
            world.look()
    kinds = [str(fault.kind) for fault in some]
    assert all(world.injector.struck.count(kind) <= kinds.count(kind) for kind in world.injector.struck)
