"""Result lines are input: figures that cannot be are refused, whatever they are; and rows without a measurement."""

from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.boards import OwnNetwork, RunOutput
from portbench.boards.jitter import Jitter, Surroundings
from portbench.boards.wifi import AccessPoint
from portbench.clients.own_libraries import OwnLibrary
from portbench.errors import PortbenchError
from portbench.firmware import uf2
from portbench.firmware.catalogue import Family
from portbench.firmware.identify import Uf2File
from portbench.firmware.images import Image, Source
from portbench.results.model import Published, Status
from portbench.runner.collect import ClientResult, ClientSaid, RowDraft, address_in, check_calls, one_line
from portbench.runner.collect import check_result as check
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan
from portbench.where import Where
from portbench.workloads import LoadGenerator, Measurement, Session, workload
from tests.ping_pong import PING_PONG, settings
from tests.walk import Walk

GOOD: dict[str, Any] = {
    "messages": 3,
    "total_us": 3100,
    "round_trip_us": [1000, 1000, 1001],
    "ready_us": 5,
    "intn": True,
}


def check_result(result: dict[str, Any] | None, messages: int) -> ClientResult:
    return check(result, PING_PONG, settings(messages))


def test_a_good_line_keeps_its_figures() -> None:
    result = check_result(GOOD | {"spi_hz_actual": 2_000_000, "address": "10.0.0.2", "version": "1.26.0"}, 3)
    assert result.measurement.figures == {"total_us": 3100, "messages_per_s": 3e6 / 3100}
    assert result.measurement.samples == {"round_trip_us": [1000, 1000, 1001]}
    assert (result.said.ready_us, result.said.spi_hz_actual, result.said.link_us) == (5, 2_000_000, None)
    assert (result.intn, result.version) == (True, "1.26.0")


def test_what_a_client_says_of_itself_is_kept_only_where_it_is_of_its_kind() -> None:
    result = check_result(GOOD | {"address": 7, "intn": 1, "version": None}, 3)
    assert (result.intn, result.version) == (None, None)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"messages": 2}, "measured 2 messages, not 3"),
        ({"ready_us": -1}, "ready_us is -1, not greater than or equal to 0"),
        ({"ready_us": 10**400}, "ready_us is 1000.* not less than or equal to"),
        ({"spi_hz_actual": "fast"}, "spi_hz_actual is 'fast', not a valid integer"),
    ],
)
def test_a_bad_line_says_what_is_wrong(change: dict[str, Any], says: str) -> None:
    with pytest.raises(PortbenchError, match=says):
        check_result(GOOD | change, 3)


def test_what_only_some_clients_tell() -> None:
    result = check_result(GOOD | {"library": "5.1.2", "link_us": 3, "connect_attempts": 2}, 3)
    assert (result.library, result.said.link_us, result.said.connect_attempts) == ("5.1.2", 3, 2)
    assert (result.version, check_result(GOOD | {"library": 5}, 3).library) == (None, None)
    assert (address_in({"address": "10.0.0.2"}), address_in({"address": 7}), address_in({})) == ("10.0.0.2", None, None)


@pytest.mark.parametrize(
    ("result", "line"),
    [
        (None, "no result line came"),
        ({"error": "x"}, "the client failed in stage unknown: x"),
        (
            {"error": "x", "stage": "link", "last_connect_error": 111},
            "the client failed in stage link: x, last refused with 111",
        ),
    ],
)
def test_what_failed_is_told_to_the_letter(result: dict[str, Any] | None, line: str) -> None:
    with pytest.raises(PortbenchError) as caught:
        check_result(result, 3)
    assert str(caught.value) == line


def load(connections: int, *, counts_failures: bool = False) -> LoadGenerator:
    return LoadGenerator(lambda: pytest.fail("nothing is opened"), connections, counts_failures=counts_failures)


def call(number: int, error: str | None = None, *, ended: bool = True, established: bool = True) -> Session:
    return Session(
        number=number,
        peer="10.0.0.2:80",
        started_us=0,
        established_us=1 if established else None,
        ended_us=2 if ended else None,
        exchanges=0,
        received_bytes=0,
        error=error,
    )


def test_calls_that_all_ended_well_are_good() -> None:
    check_calls([call(0), call(1)], load(2))
    check_calls([call(0), call(1, "it was reset")], load(2, counts_failures=True))


@pytest.mark.parametrize(
    ("sessions", "counts_failures", "line"),
    [
        ([call(0), call(1, "it was reset")], False, "connection 2 of 2 to 10.0.0.2:80: it was reset"),
        ([call(0, ended=False), call(1)], False, "connection 1 of 2 to 10.0.0.2:80: has not ended"),
        ([call(0, ended=False), call(1)], True, "connection 1 of 2 to 10.0.0.2:80: has not ended"),
        ([call(0), call(1, "refused", established=False)], True, "connection 2 of 2 to 10.0.0.2:80: refused"),
        ([call(0, "it was reset")], True, "connection 1 of 2 to 10.0.0.2:80: it was reset"),
        ([call(0)], False, "the PC opened 1 connections to the board, not 2"),
        ([call(0), call(1), call(2)], True, "the PC opened 3 connections to the board, not 2"),
    ],
)
def test_a_call_that_is_not_good_is_told(sessions: list[Session], counts_failures: bool, line: str) -> None:
    with pytest.raises(PortbenchError) as caught:
        check_calls(sessions, load(2, counts_failures=counts_failures))
    assert str(caught.value) == line


_ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*GOOD, "error", "stage", "address", "spi_hz_actual"]), _ANY))
def test_anything_is_a_result_or_a_failed_run(change: dict[str, Any]) -> None:
    try:
        result = check_result(GOOD | change, 3)
    except PortbenchError as error:
        assert "\n" not in str(error) or "\n" in repr(change) or "error" in change
    else:
        assert isinstance(result, ClientResult) and len(result.measurement.samples["round_trip_us"]) == 3


def test_a_workload_is_told_what_the_pc_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    measurement = check_result(GOOD, 3).measurement
    monkeypatch.setattr(type(PING_PONG), "check", lambda *told: (seen.extend(told[1:]), measurement)[1])
    sessions = [call(0)]
    assert check(GOOD, PING_PONG, settings(3), sessions).measurement is measurement
    assert seen == [GOOD, settings(3), sessions]


def test_the_pcs_own_folders_have_names_that_a_shell_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/user")
    monkeypatch.setenv("PORTBENCH_FIRMWARE_DIR", "/data/images/")
    assert one_line("not in /data/images/x.uf2 nor /home/user/.cache/y") == (
        "not in $PORTBENCH_FIRMWARE_DIR/x.uf2 nor ~/.cache/y"
    )
    assert one_line("/home/userelse/x") == "/home/userelse/x"
    monkeypatch.setenv("PORTBENCH_FIRMWARE_DIR", "/home/user/images")
    assert one_line("no /home/user/images/x.uf2") == "no $PORTBENCH_FIRMWARE_DIR/x.uf2"
    monkeypatch.setenv("HOME", "/")
    monkeypatch.delenv("PORTBENCH_FIRMWARE_DIR")
    assert Path.home() == Path("/") and one_line("/usr/bin") == "/usr/bin"


def test_a_row_that_was_not_measured_still_says_what_it_was_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    options = BenchOptions().but(
        runtimes=("wiznet-2.0.0",), profiles=("as-published",), runs=2, settings={"messages": "7"}
    )
    second = plan(options)[1]

    def unreadable(*_: object) -> str:
        raise PortbenchError("its client cannot be read")

    monkeypatch.setattr("portbench.runner.collect.profile_line", unreadable)
    row = RowDraft(second, Where.EMULATED, log="runs/x/y.log").ended(Status.SKIPPED, "no\nimage")
    assert (row.workload, row.runtime, row.profile, row.run_index) == ("ping_pong", "wiznet-2.0.0", "as-published", 1)
    assert (row.build, row.image_file) == ("rp2_w5500_20221111_v2.0.0.uf2",) * 2
    assert row.settings == {"messages": 7} and row.conditions.spi_hz_asked == 2_000_000
    assert (
        row.line is None
        and row.headline is None
        and row.figures == {}
        and row.reason == "no image"
        and row.version == "2.0.0"
    )
    assert row.published == Published(
        values=[1000 * 1e6 / total_us for total_us in (1_377_000, 1_383_000, 1_388_000)],
        stated=723,
        source="S. Hennion, 2023-09-25",
        url="https://sjhennion.github.io/jekyll/update/2023/09/25/w5500-bootloader-speed-test.html",
    )


def test_rows_of_random_drafts_are_as_recorded(tmp_path: Path) -> None:
    """Without what the catalogue says, and with none of its versions."""
    walk = Walk(5)
    pick, path = walk.pick, tmp_path / "its.uf2"
    path.write_bytes(uf2.build(b"an image".ljust(256)))
    names = ["micropython-1.26.0", "wiznet-hardwired", "micropython-pico-w-1.26.1", "portbench-native"]
    options = BenchOptions().but(runtimes=(*names, "micropython-unix"), workloads=(PING_PONG, workload("interpreter")))
    rows = plan(options)
    rows += [replace(rows[0], entry=replace(rows[0].entry, family=Family.FOREIGN))]
    library = OwnLibrary("own", "1.0", {"own.py": b"pass"})
    pc = IPv4Address("10.0.0.1")
    for _ in range(400):
        one = pick(rows)
        around = Surroundings(pick((200, 300)), pick((1.5, 2.0)), pick((None, 0, 7)))
        how = replace(one.how, surroundings=around, address_mode=pick(("dhcp", "static")), access_point=pick(POINTS))
        how = replace(how, libraries=pick(((), (), (library,))))
        place = replace(one.place, parallel=pick((1, 3)))
        one = replace(one, how=how, place=place, device=pick(("auto", "usb:1")), is_one_of_several=pick((True, False)))
        one = replace(one, number=pick((1, 4)), entry=replace(one.entry, version=pick((None, "3")), offers=None))
        image = Image(one.entry, "2", Source.FILE, Uf2File.read(path))
        own = OwnNetwork(pc, 5, (pc,) * 4, pick((None, 250)))
        draft = RowDraft(one, pick(tuple(Where)), pick((None, image)), pick(("", "1\n.2")), pick((None, 35.5)))
        draft.own_network, draft.log = pick((None, own)), pick((None, "runs/x.log"))
        draft.remarks, draft.jitter = pick(([], ["a remark", "another"])), pick((None, Jitter(1, 2, 3, 4, (5, 6), 7)))
        said = ClientSaid(ready_us=pick((None, 9)), connect_attempts=pick((None, 2)), spi_hz_actual=pick((None, 8)))
        measured = Measurement({"total_us": 9.0, one.workload.headline.name: 2.0}, {"round_trip_us": [4.5, 4.5]})
        result = ClientResult(measured, said, pick((None, True)), pick((None, "7")), pick((None, "5.1")))
        sim = pick((None, {"host_s": 1.5, "counters": {"spi_bytes": 7, "ethernet_tx_frames": 3}}))
        row = pick(
            (
                draft.measured(result, RunOutput({}, [], sim=sim, lost=pick((None, 0.07)))),
                draft.ended(pick((Status.SKIPPED, Status.UNSUPPORTED)), "unsupported: it\nlacks"),
                draft.failed("it\nbroke", ["a \x1b line"]),
            )
        )
        if row.image_file != "its.uf2":  # it is in the catalogue
            row = row.model_copy(update={"image_file": None})
        walk.note(row.model_dump_json(exclude={"build", "published", "line", "image_url"}))
    assert walk.checksum == "acf920f59a240fdf"


POINTS = (AccessPoint(), AccessPoint(channel=7, passphrase=None))
