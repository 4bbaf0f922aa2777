"""The partner of a row of two boards: which board it is, and what becomes of it."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from ipaddress import IPv4Address
from types import SimpleNamespace
from typing import Any

import pytest

from portbench.boards import Deadline, DeadlineExceeded, Progress, RunOutput
from portbench.boards.kinds import SILENT
from portbench.errors import ConsoleLost, OptionError, PortbenchError
from portbench.runner.kinds.paired import PartnerBoard, RealServer, pc_of
from portbench.runner.options import BenchOptions, read_options
from portbench.runner.plan import PlannedRow, plan
from portbench.runner.program import Peer
from portbench.server.calls import Listening
from portbench.where import Where
from portbench.workloads import workload


def partner_of(runtime: str) -> PlannedRow:
    options = BenchOptions().but(workloads=(workload("two_boards"),), where="emulated", runs=1, profiles=("tuned",))
    (only,) = plan(options.but(runtimes=(runtime,)))
    assert only.partner is not None
    return only.partner


def test_a_partner_reports_on_its_console_or_to_the_pc_where_that_listens() -> None:
    pc, board = IPv4Address("10.0.0.1"), FakeBoard()
    board.own_network = SimpleNamespace(server=pc, port=7000)
    silent: Any = partner_of("portbench-native")
    assert pc_of(silent, board, 5000) == Peer(pc, 7000)  # type: ignore[arg-type]
    assert pc_of(partner_of("micropython-1.28.0"), board, 5000) == Peer(None, 5000)  # type: ignore[arg-type]
    with pytest.raises(PortbenchError, match=r"^unsupported: portbench-native has no console, and reports only to a s"):
        pc_of(silent, FakeBoard(), 5000)  # type: ignore[arg-type]


class FakeBoard:
    """A real one, as far as a pair needs it: prints `lines` in its run and ends with `result`."""

    name = "W5500-EVB-Pico (E66)"
    own_network: SimpleNamespace | None = None

    def __init__(self, lines: Sequence[str] = (), result: dict[str, Any] | None = None, where: Where = Where.SILICON):
        self.lines, self.result, self.where = lines, result, where
        self.may_end = threading.Event()

    def run(self, deadline: Deadline, progress: Progress | None = None) -> RunOutput:
        assert progress is not None
        for line in self.lines:
            progress(line)
        deadline.poll(self.may_end.is_set, 0.01, "the other board")
        if self.result is None:
            raise ConsoleLost("it went away")
        return RunOutput(self.result, list(self.lines))


LISTENING = 'PORTBENCH-LISTENING {"address": "10.0.0.7", "port": 5000}'


def serving_board(
    *lines: str, result: dict[str, Any] | None = None, over: bool = False
) -> tuple[FakeBoard, RealServer]:
    board = FakeBoard(lines, result)
    if over:
        board.may_end.set()
    return board, RealServer(board, Deadline(20, "test"), lambda line: None)  # type: ignore[arg-type]


def test_a_real_server_is_read_while_the_other_board_plays() -> None:
    board, server = serving_board("hello", LISTENING, LISTENING.replace("5000", "5001"), result={"answered": 2})
    board.may_end.set()
    assert server.served(20.0).result == {"answered": 2}
    assert server.listening == Listening(IPv4Address("10.0.0.7"), 5000), "the first that it says"


@pytest.mark.parametrize(
    ("result", "says"),
    [
        (
            {"error": "OSError(5)", "stage": "link"},
            "the partner: the client failed in stage link: OSError(5)",
        ),
        ({"answered": 0}, "the partner: its run is over, and it has not listened"),
    ],
)
def test_a_real_server_that_never_listens_ends_the_wait(result: dict[str, Any], says: str) -> None:
    with pytest.raises(PortbenchError) as caught:
        serving_board("hello", result=result, over=True)
    assert str(caught.value) == says


def test_a_real_server_that_goes_away_or_hangs() -> None:
    with pytest.raises(ConsoleLost, match="it went away"):
        serving_board(over=True)
    board, server = serving_board(LISTENING, result={})
    with pytest.raises(DeadlineExceeded, match=r"which serves: .*its result"):
        server.served(0.0)
    board.may_end.set()


def test_who_cannot_have_a_partner_is_told_what_would_help() -> None:
    partner = partner_of("micropython-1.28.0")
    with pytest.raises(
        PortbenchError, match=r"is a real board, so its partner must be one: add --partner-device id:SERIAL"
    ):
        second().prepared_for(partner, FakeBoard(), Deadline(1, "test"))  # type: ignore[arg-type]
    with pytest.raises(PortbenchError, match=r"^unsupported: .* has its own simulated network"):
        attached = replace(partner, device="usb:desk")
        emulated = FakeBoard(where=Where.EMULATED)
        second().prepared_for(attached, emulated, Deadline(1, "test"))  # type: ignore[arg-type]


def second() -> PartnerBoard:
    return PartnerBoard(SILENT)


@pytest.mark.parametrize("device", ["auto", "id:1"])
def test_the_board_that_serves_is_another_one(device: str) -> None:
    with pytest.raises(OptionError, match=rf"^--partner-device: '{device}' may be the client's board"):
        read_options({"device": ["id:1"], "partner_device": device})
    assert read_options({"device": ["id:1"], "partner_device": "id:2"}).place.partner_device == "id:2"
