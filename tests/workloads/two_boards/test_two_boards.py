"""Which rows two boards make, what each of them gets, and the figures of a run."""

import pickle
from typing import Any

import pytest

from portbench.boards import Deployment, board_definition
from portbench.clients import ClientNetwork, build_deployment
from portbench.clients.deployment import as_partner
from portbench.errors import OptionError, PortbenchError
from portbench.results.model import Row, Status
from portbench.results.table import markdown, tables
from portbench.runner.options import BenchOptions, read_options
from portbench.runner.plan import PlannedRow, plan
from portbench.workloads import BadResult, workload
from portbench.workloads.two_boards.workload import Serving, ServingSettings, Settings
from tests.measuring import Measure
from tests.results.rows import row, run_of

TWO_BOARDS = workload("two_boards")
SERVING = Serving()
EVB = board_definition("W5500_EVB_PICO")
OPTIONS = BenchOptions().but(workloads=(TWO_BOARDS,), where="emulated", runs=1, profiles=("tuned",))


def planned(*runtimes: str, **settings: Any) -> list[PlannedRow]:
    return plan(OPTIONS.but(runtimes=runtimes, settings=settings))


def pairs(rows: list[PlannedRow]) -> list[tuple[str, str]]:
    return [(each.entry.id, each.partner.entry.id if each.partner else "") for each in rows]


def test_a_board_plays_with_one_of_its_own_kind() -> None:
    (only,) = planned("micropython-1.28.0", messages="50")
    assert only.partner is not None and only.id == "micropython-1.28.0-tuned-two_boards-with-micropython-1.28.0"
    assert only.settings == Settings(messages=50, partner="micropython-1.28.0")
    assert only.partner.settings == ServingSettings(messages=50, takes_report=False)
    assert only.partner.profile.name == "tuned" and only.partner.board == EVB


def test_each_with_each_is_the_matrix() -> None:
    a, b = "micropython-1.28.0", "wiznet-hardwired"
    rows = planned(a, b, partner="each")
    assert pairs(rows) == [(a, a), (a, b), (b, a), (b, b)]
    assert len({each.id for each in rows}) == 4


def test_an_image_without_a_console_serves_with_a_body_of_its_own() -> None:
    rows = planned("portbench-native", "wiznet-hardwired", partner="each")
    native, wiznet = "portbench-native", "wiznet-hardwired"
    assert pairs(rows) == [(native, native), (native, wiznet), (wiznet, native), (wiznet, wiznet)]
    partners = [each.partner for each in rows if each.partner]
    assert [each.settings.takes_report for each in partners] == [True, True, False, False]  # type: ignore[attr-defined]
    assert [each.entry.path for each in rows[:2]] == [workload("ping_pong").folder / "native.uf2"] * 2
    assert [each.entry.path for each in partners] == [TWO_BOARDS.folder / "native.uf2", None] * 2
    told = ServingSettings(messages=200, takes_report=True)
    assert (partners[0].settings, SERVING.native_settings(told)) == (told, [200, 1])


def test_a_row_goes_to_another_process() -> None:
    (one,) = plan(read_options({"workload": ["two_boards"], "runtime": ["portbench-native"], "runs": 1}))
    assert one.partner is not None
    partner = pickle.loads(pickle.dumps(one)).partner
    assert isinstance(partner.workload, Serving) and partner.settings == one.partner.settings


def test_a_partner_on_another_kind_of_board() -> None:
    (only,) = planned("wiznet-hardwired", partner="wiznet-hardwired-w5100s")
    assert only.partner is not None and only.partner.board.id == "W5100S_EVB_PICO" and only.board == EVB


def test_an_unknown_partner() -> None:
    with pytest.raises(OptionError, match=r"^--partner: 'nothing' is not one of same, each, micropython-"):
        planned("wiznet-hardwired", partner="nothing")


def test_a_client_that_cannot_keep_so_many_round_trips() -> None:
    with pytest.raises(OptionError, match=r"portbench-native: messages is 1001: the partner has room for"):
        planned("portbench-native", partner="wiznet-hardwired", messages="1001")


def serving(family: str, version: str = "") -> Deployment:
    network = ClientNetwork(server=None, port=5000)
    return build_deployment(family, version, EVB, SERVING, ServingSettings(messages=5, takes_report=False), network)


def test_the_clients_side_is_the_ping_pongs() -> None:
    network = ClientNetwork(server="192.168.50.100", port=5000)  # type: ignore[arg-type]
    ours = build_deployment("micropython", "", EVB, TWO_BOARDS, Settings(messages=5), network)
    assert b'ping_pong(get_socket(config), config["messages"])' in ours.files["main.py"]


def test_the_second_board_has_another_mac_address_where_its_client_gives_it_one() -> None:
    script = b'MAC = "02:08:dc:55:00:01"\n'
    second = as_partner(Deployment({"code.py": script}, "circuitpython"), EVB)
    assert second.files["code.py"] == script.replace(b"00:01", b"00:02")
    same = serving("micropython")
    assert as_partner(same, EVB) is same
    with pytest.raises(PortbenchError, match=r"has the MAC address .* 0 times, not once"):
        as_partner(Deployment({"code.py": b""}, "circuitpython"), EVB)


def test_the_body_answers_as_many_as_it_is_told_and_takes_a_report() -> None:
    class Peer:
        def __init__(self, come: list[bytes]) -> None:
            self.come, self.sent, self.closed = come, [], False  # type: ignore[var-annotated]

        def accept(self) -> tuple[Any, None]:
            return self, None

        def recv(self, most: int) -> bytes:
            return self.come.pop(0) if self.come else b""

        def send(self, data: bytes) -> None:
            self.sent.append(data)

        def close(self) -> None:
            self.closed = True

    body = TWO_BOARDS.folder / "python.py"
    scope: dict[str, Any] = {"RESULT": {}}
    exec(body.read_text().replace("from portbench_client import RESULT", ""), scope)
    peer = Peer([b"1", b"3", b'{"messa', b'ges": 2}\n'])
    scope["serving"](peer, 2, True)
    assert peer.sent == [b"2", b"4"] and peer.closed
    assert scope["RESULT"] == {"answered": 2, "report": '{"messages": 2}\n'}

    class Hasty(Peer):
        def send(self, data: bytes) -> None:
            super().send(data)
            if len(self.sent) == 2:
                raise RuntimeError("No data was sent, socket was closed.")

    peer = Hasty([b"1", b"3"])
    scope["serving"](peer, 2, False)
    assert peer.closed and scope["RESULT"]["answered"] == 2
    with pytest.raises(RuntimeError, match="No data was sent"):
        scope["serving"](Hasty([b"1", b"3", b"5"]), 3, False)
    with pytest.raises(OSError, match=r"closed the connection after 1 messages"):
        scope["serving"](Peer([b"1"]), 2, False)
    with pytest.raises(OSError, match=r"after 0 bytes of its report"):
        scope["serving"](Peer([b"1"]), 1, True)


def test_figures_are_the_clients_and_the_servers() -> None:
    said = {"messages": 2, "total_us": 5000, "round_trip_us": [3000, 1900]}
    measured = TWO_BOARDS.check(said, Settings(messages=2, partner="some"))
    assert measured.figures == {"total_us": 5000, "messages_per_s": 400, "first_us": 3000}
    assert measured.samples == {"round_trip_us": [3000, 1900]}
    served = SERVING.check({"answered": 2, "ready_us": 7}, ServingSettings(messages=2, takes_report=False))
    assert served.figures == {"server_ready_us": 7}
    with pytest.raises(BadResult, match=r"the partner answered 1 messages, not 2"):
        SERVING.check({"answered": 1, "ready_us": 7}, ServingSettings(messages=2, takes_report=False))


@pytest.mark.parametrize("report", ["", "{", "[]", None])
def test_a_report_that_is_none(report: str | None) -> None:
    with pytest.raises(BadResult, match=r"the client's report, as the partner has it, is not"):
        TWO_BOARDS.reported({} if report is None else {"report": report})


def pair_row(runtime: str, partner: str, total_us: float, **more: Any) -> Row:
    settings = {"messages": 4, "partner": partner}
    return row(total_us, workload="two_boards", runtime=runtime, settings=settings, profile="tuned", **more)


def test_the_matrix_has_clients_down_and_servers_across() -> None:
    run = run_of(
        pair_row("b", "a", 20_000), pair_row("a", "a", 10_000), pair_row("a", "b", 40_000), pair_row("a", "b", 40_000)
    )
    _, matrix = tables(run)
    assert matrix.title == "Two boards: emulated, matrix: tuned, messages 4"
    assert matrix.columns == ("runtime \\ partner", "a", "b")
    assert matrix.rows == (("a", "400.0", "100.0"), ("b", "200.0", "-"))
    assert matrix.title in markdown(run)
    assert len(tables(run_of(pair_row("a", "a", 10_000)))) == 1, "one figure makes no matrix"


@pytest.mark.engine
@pytest.mark.slow
def test_two_radios_share_the_air_and_do_so_twice_alike(measured_row: Measure) -> None:
    runtime = "micropython-pico-w-1.26.1"
    first, second = (measured_row(TWO_BOARDS, runtime, "no-power-save", messages=10) for _ in range(2))
    assert first.status is Status.MEASURED, first.reason
    assert first.figures == second.figures and first.samples == second.samples
    assert min(first.samples["round_trip_us"]) > 6000, "all goes up to the access point and down again"
