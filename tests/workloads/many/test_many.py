"""Requests to the PC, figures of the steps, disturbances of the simulated PC, and rows of it."""

import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock, call

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.server.simulated_load_generator import RESET
from portbench.server.simulated_pc import SimulatedPc, SimulatedServer, part_in
from portbench.workloads import BadResult, ConversationError, NetworkFault, Session, many, workload
from portbench.workloads.many.workload import Obeys, Settings

MANY = workload("many")
HI = ("say hi", "ok", 1000)


def check(*steps: tuple[str, str, int], trial: str = "at_once") -> dict[str, float]:
    return MANY.check({"steps": list(steps)}, Settings(trial=trial)).figures  # type: ignore[arg-type]


@given(st.integers(1, 5), st.data())
def test_lines_are_obeyed_however_they_are_cut(times: int, data: st.DataObject) -> None:
    obeys, stream = Obeys(), b"hi\n" * times + b"cable 3000\n"
    cut = data.draw(st.integers(0, len(stream)))
    assert obeys.receive(stream[:cut]) + obeys.receive(stream[cut:]) == b"ok" * times
    assert obeys.exchanges == times + 1 and obeys.network_fault == NetworkFault("cable", 3e6)


@pytest.mark.parametrize("line", [b"ho\n", b"reset 3\n", b"cable\n", b"restart x\n", b"cable 100000\n", b"x" * 30])
def test_other_lines_are_no_commands(line: bytes) -> None:
    with pytest.raises(ConversationError):
        Obeys().receive(line)


def test_close_closes_and_reset_resets() -> None:
    obeys = Obeys()
    obeys.receive(b"close\n")
    assert obeys.finished
    obeys = Obeys()
    obeys.receive(b"reset\n")
    assert obeys.network_fault == NetworkFault("reset")
    obeys.eof()


def test_steps_are_counted_and_each_error_is_told() -> None:
    figures = check(HI, ("open 2", "ok", 9), HI, ("open 3", "OSError(12)", 5), ("all work", "ok", 3))
    assert (figures["steps"], figures["good_steps"], figures["open"]) == (5, 4, 2)
    assert figures["open 3: OSError(12), times"] == 1 and figures["open 3: OSError(12), us"] == 5
    assert figures["say hi, times"] == 2


def test_a_rate_is_of_whole_connections() -> None:
    steps = [("open", "ok", 100), HI, ("close", "ok", 400)]
    assert check(HI, *steps, *steps, HI, trial="rate")["each_us"] == 1500
    assert "each_us" not in check(HI, ("open", "OSError(23)", 1), HI, trial="rate")


@pytest.mark.parametrize(
    ("result", "says"),
    [
        ({"steps": []}, "no step was made"),
        ({"steps": [("say hi", "OSError(5)", 1)]}, "the first connection does not work: OSError(5)"),
    ],
)
def test_a_result_that_is_none(result: dict[str, Any], says: str) -> None:
    with pytest.raises(BadResult) as error:
        MANY.check(result, Settings())
    assert says in str(error.value)


def test_a_pc_that_did_not_obey_is_no_result() -> None:
    wrong = Session(0, "10.0.0.2:4000", 0.0, 1.0, 0, 3, "the board said b'ho', which is not a command")
    with pytest.raises(BadResult, match="is not a command"):
        MANY.check({"steps": [HI]}, Settings(), [wrong])


def test_the_simulated_pc_does_what_it_is_told_and_sees_a_board_that_hangs() -> None:
    lan = Mock(leased_us=None)
    pc = SimulatedPc(lan, 5000, 200.0, part_in("many", {}), lan)
    server = pc._server
    server.accept(1, "10.0.0.2:4000", 100.0)
    assert server.receive(1, b"restart 1000\n", 200.0) == RESET
    pc.look(300.0)
    assert lan.mock_calls == [call.listen(5000, server), call.unlisten(5000)]
    assert pc.given_up(200.0 + 44e6) is None
    assert pc.given_up(200.0 + 45e6) == "the board hangs: nothing came of it for 45 s of simulated time"
    assert [session.ok for session in pc.sessions()] == [True]


def test_a_connection_goes_on_after_its_cable_was_out() -> None:
    server = SimulatedServer(Obeys)
    server.injects_faults = True
    server.accept(1, "10.0.0.2:4000", 100.0)
    assert server.receive(1, b"hi\ncable 3000\n", 200.0) == (b"ok", False, False, None)
    assert server.network_fault == (NetworkFault("cable", 3e6), 200.0)
    assert server.receive(1, b"hi\n", 9e6) == (b"ok", False, False, None)


def test_what_a_socket_does_not_take_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "portbench_client", SimpleNamespace(RESULT={}))
    body = runpy.run_path(str(Path(many.__file__).with_name("python.py")))
    takes = iter([0, 0, 3])
    sock = SimpleNamespace(send=lambda line: next(takes), recv=lambda most: b"ok")
    assert body["Trial"](sock, "10.0.0.1", 5000).hi(sock) == b"ok"
    assert next(takes, None) is None


def test_a_pc_that_cannot_cause_the_fault_says_so() -> None:
    server = SimulatedServer(Obeys)
    server.accept(1, "10.0.0.2:4000", 100.0)
    assert server.receive(1, b"cable 3000\n", 200.0) == RESET
    assert server.sessions()[0].error == "unsupported: this PC cannot cause this network fault: cable 3 s"
