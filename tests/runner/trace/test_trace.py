"""Windows, names and shares, made of the engine's records."""

from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from portbench.boards import BoardError
from portbench.boards.emulated.attribution import exception_name
from portbench.boards.emulated.trace import (
    Event,
    ExchangeTrace,
    SpiFrame,
    exchange_trace,
    exchange_window,
    slowest_exchange,
)
from portbench.runner.trace.view import Repeat, repeats, show
from portbench.workloads import Session
from tests.walk import Walk, shortened


@pytest.mark.parametrize(
    ("number", "name"),
    [(15, "SysTick"), (14, "PendSV"), (16, "TIMER_IRQ_0"), (21, "USBCTRL_IRQ"), (29, "IO_IRQ_BANK0"), (41, "RTC_IRQ")],
)
def test_exceptions_have_the_datasheets_names(number: int, name: str) -> None:
    assert exception_name(number) == name


@pytest.mark.parametrize(
    ("irq", "name"),
    [(0, "TIMER0_IRQ_0"), (14, "USBCTRL_IRQ"), (45, "POWMAN_IRQ_TIMER"), (51, "SPAREIRQ_IRQ_5")],
)
def test_the_rp2350_has_other_numbers(irq: int, name: str) -> None:
    assert exception_name(16 + irq, "RP2350") == name


def test_unknown_exceptions_keep_their_number() -> None:
    assert exception_name(68, "RP2350") == "exception 68"
    assert exception_name(42) == "exception 42" and exception_name(7) == "exception 7"


def session(*received_us: float) -> Session:
    return Session(0, "peer", 0.0, None, len(received_us), 9, None, received_us=list(received_us))


def test_the_window_lies_between_two_messages() -> None:
    sessions = [session(1.0), session(10.0, 12.5, 15.0)]
    assert exchange_window(sessions, 2) == (10.0, 12.5)
    assert exchange_window(sessions, 3) == (12.5, 15.0)
    for number in (0, 4):
        with pytest.raises(BoardError, match=f"^exchange {number}: the run had 3 exchanges; choose 1 to 3$"):
            exchange_window(sessions, number)
    with pytest.raises(BoardError, match="the run had 0 exchanges"):
        exchange_window([], 2)


def test_the_first_window_begins_with_the_connection() -> None:
    assert exchange_window([session(10.0, 12.5)], 1) == (0.0, 10.0)
    called = Session(0, "peer", 1.0, None, 1, 9, None, received_us=[10.0], established_us=4.0)
    assert exchange_window([called], 1) == (4.0, 10.0)


def test_the_slowest_is_the_earliest_of_equals_and_never_the_first() -> None:
    assert slowest_exchange([session(100.0, 101.0, 104.0, 107.0)]) == 3
    assert slowest_exchange([session(1.0), session(5.0, 6.0)]) == 2
    with pytest.raises(BoardError, match="the run had 1 exchanges"):
        slowest_exchange([session(5.0)])


def test_events_are_told_in_order_and_only_changes_of_intn() -> None:
    def record(t_us: float, kind: str, **more: Any) -> dict[str, Any]:
        return {"t_us": t_us, "kind": kind, **more}

    records = [
        record(1, "pins", level=1 << 21, output_enabled=0),
        record(2, "pins", level=1 << 21 | 1, output_enabled=0),
        record(3, "pins", level=0, output_enabled=0),
        record(4, "irq", core=0, number=29, entry=True),
        record(5, "irq", core=0, number=29, entry=False),
        record(6, "lan", from_board=True, len=56),
        record(7, "pc", core=1, pc=0x100),
        record(8, "pc", core=1, pc=0x100),
        record(9, "lan", from_board=False, len=60),
        record(20, "lan", from_board=False, len=60),
    ]
    trace = exchange_trace(5, (0.0, 10.0), [], records, 3, intn_pin=21)
    assert [event.what for event in trace.events] == [
        "INTn low",
        "core 0 takes IO_IRQ_BANK0",
        "board's frame, 56 bytes",
        "PC's frame, 60 bytes",
    ]
    assert trace.pc_samples == ((1, 0x100, 2),) and trace.lost == 3


raw_frames = st.builds(
    lambda start, took, name, write, data: SpiFrame(
        *(start, start + took, "W5500", name, 0x20, write, len(data), data[:16], "", 3 + len(data)),
    ),
    st.floats(0, 1000),
    st.floats(0, 50),
    st.sampled_from(["S0_CR", "S0_RX_RSR", "S0_RX_RSR+1", "S0 TX buffer", "PHYCFGR"]),
    st.booleans(),
    st.binary(min_size=1, max_size=40),
)


@given(st.lists(raw_frames, max_size=30), st.floats(0, 500), st.floats(1, 500))
def test_shares_add_up(frames: list[SpiFrame], start_us: float, duration_us: float) -> None:
    trace = exchange_trace(2, (start_us, start_us + duration_us), frames, [], 0, intn_pin=21)
    inside = [raw for raw in frames if start_us <= raw.start_us < start_us + duration_us]
    assert len(trace.frames) == len(inside) == sum(share.frames for share in trace.shares())
    assert (
        trace.wire_bytes == sum(raw.wire_bytes for raw in inside) == sum(share.wire_bytes for share in trace.shares())
    )
    assert trace.selected_us == pytest.approx(sum(share.duration_us for share in trace.shares()))
    assert all(share.of_exchange == pytest.approx(share.duration_us / trace.duration_us) for share in trace.shares())
    assert not any("+" in share.name for share in trace.shares())
    known = trace.as_json()
    assert known["spi"]["bytes"] == trace.wire_bytes and len(known["frames"]) == len(inside)


def test_loops_are_found() -> None:
    assert repeats("") == []
    assert repeats("abc") == [Repeat(0, 1, 1), Repeat(1, 1, 1), Repeat(2, 1, 1)]
    assert repeats("aaaa") == [Repeat(0, 1, 4)]
    assert repeats("xababab") == [Repeat(0, 1, 1), Repeat(1, 2, 3)]
    assert repeats("aabaab") == [Repeat(0, 3, 2)]


@given(st.text("abc", max_size=60))
def test_nothing_is_lost_or_invented(keys: str) -> None:
    found = repeats(keys)
    told = "".join(keys[repeat.start : repeat.start + repeat.steps] * repeat.times for repeat in found)
    assert told == keys
    assert [repeat.end for repeat in found[:-1]] == [repeat.start for repeat in found[1:]]


@given(st.text("abcd", min_size=1, max_size=12), st.integers(2, 30))
def test_a_loop_is_told_once(block: str, times: int) -> None:
    (repeat,) = repeats(block * times)
    assert repeat.steps <= len(block) and repeat.steps * repeat.times == len(block) * times


def test_random_exchanges_are_shown_as_recorded() -> None:
    walk = Walk(2)
    pick = walk.pick
    for _ in range(60):
        frames, events, at_us = list[SpiFrame](), list[Event](), 1000.0
        for _ in range(pick((0, 3, 12))):
            name, data = pick(("S0_CR", "S0_RX_RSR", "S0_RX_RSR+1", "S0 TX buffer")), pick((b"\1", b"\0\4", bytes(16)))
            length, meaning = len(data) + pick((0, 0, 20)), pick(("", "SEND", "a text of more than thirty letters"))
            for again in range(pick((1, 1, 4))):
                frames.append(
                    SpiFrame(at_us, at_us + 2.5, "W5500", name, 32, again > 2, length, data, meaning, length + 3)
                )
                events += pick(([], [], [Event(at_us + 1, pick(("INTn low", "UART0_IRQ on core 1")))]))
                at_us += pick((5, 700.25))
        causes = pick(({}, {"spi_bits": 4_000_000, "wait_poll": 9_000_000_000, "code_run": 1_000}))
        samples = pick(
            ((), tuple((number % 2, 0x10000000 * pick(range(5)) + number, 40 - number) for number in range(30)))
        )
        trace = ExchangeTrace(4, 990.5, at_us + 1, tuple(frames), tuple(events), causes, samples, pick((0, 7)))
        show(trace, "message 4", Console(file=(output := StringIO()), width=110))
        walk.note(output.getvalue(), shortened(trace.as_json()))
    assert walk.checksum == "399a6cdeb3c990a0"
