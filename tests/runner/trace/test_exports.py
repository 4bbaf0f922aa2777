"""Files for other people's tools, each opened with the tool itself where it is installed."""

import shutil
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from portbench.boards import Deadline
from portbench.boards.emulated.replay import Replay, RunRecording
from portbench.boards.emulated.trace import busiest, exchange_window
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan
from portbench.runner.replayed import ReplayedRow
from portbench.runner.trace.pcapng import carries_data, read_capture, write_pcapng
from portbench.runner.trace.perfetto import perfetto_file
from portbench.runner.trace.vcd import shifted, write_vcd
from tests import patience
from tests.ping_pong import EVB

pytestmark = pytest.mark.engine
MESSAGES = 6
INSTALL = "sudo .ci/install-system-packages"


def tool(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed; run: {INSTALL}")
    return path


def output(*command: object) -> str:
    """Return a tool's output; it must not complain."""
    done = patience.run([str(part) for part in command], 60)
    complaints = [line for line in done.stderr.splitlines() if "Running as user" not in line]
    assert done.returncode == 0 and not complaints, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunRecording, Path, IPv4Address]:
    """Message 4 of the native client, and the capture of its whole run."""
    from dataclasses import replace

    bench = BenchOptions().but(
        runtimes=("portbench-native",), where="emulated", runs=1, settings={"messages": MESSAGES}
    )
    config, flash = ReplayedRow(plan(bench)[0]).prepared
    capture = tmp_path_factory.mktemp("capture") / "frames.pcap"
    deadline = Deadline(60, "recording")
    figures = Replay(EVB, config, flash, "ping_pong", {}).run(deadline)
    replay = Replay(EVB, replace(config, capture=capture), flash, "ping_pong", {})
    window = exchange_window(figures.sessions, 4)
    return replay.record(figures, window, deadline), capture, config.pc_ip


frames = st.fixed_dictionaries(
    {
        "bits": st.integers(4, 16),
        "mosi": st.integers(0, 0xFFFF),
        "miso": st.integers(0, 0xFFFF),
        "begin_us": st.just(10.0),
        "first_us": st.just(10.5),
        "t_us": st.floats(11, 50),
        "polarity": st.booleans(),
        "phase": st.booleans(),
    }
)


@given(frames)
def test_a_receiver_of_the_same_mode_reads_the_frame(record: dict[str, Any]) -> None:
    """Sampled at the first or second edge of each pulse, as the mode has it, MOSI and MISO hold the frame's bits."""
    sampling = int(record["polarity"]) if record["phase"] else 1 - int(record["polarity"])
    levels = {"mosi": 0, "miso": 0}
    read = {"mosi": 0, "miso": 0}
    edges = 0
    changes = sorted(shifted(record), key=lambda change: change[0])
    assert changes[0][0] >= record["begin_us"] and changes[-1][0] == pytest.approx(record["t_us"])
    for _, wire, level in changes:
        if wire != "sck":
            levels[wire] = level
            continue
        edges += 1
        if level == sampling:
            read = {name: read[name] << 1 | levels[name] for name in read}
    mask = (1 << record["bits"]) - 1
    assert edges == 2 * record["bits"]
    assert read == {"mosi": record["mosi"] & mask, "miso": record["miso"] & mask}


def wire_bytes(recording: RunRecording, way: str) -> list[int]:
    return [record[way] for record in recording.records if record["kind"] == "wire"]


def test_sigrok_reads_the_bytes_that_were_sent(
    recorded: tuple[RunRecording, Path, IPv4Address], tmp_path: Path
) -> None:
    recording = recorded[0]
    assert EVB.network is not None
    file, window = tmp_path / "wires.vcd", (recording.start_us, recording.end_us)
    write_vcd(file, recording.records, window, EVB.network, "native")
    again = tmp_path / "again.vcd"
    write_vcd(again, recording.records, window, EVB.network, "native")
    assert again.read_bytes() == file.read_bytes()
    sigrok = tool("sigrok-cli")
    # The native client uses mode 3.
    decoder = "spi:clk=SCK:mosi=MOSI:miso=MISO:cs=CSn:cpol=1:cpha=1"
    for way in ("mosi", "miso"):
        said = output(sigrok, "-i", file, "-P", decoder, "-A", f"spi={way}-data")
        assert [int(line.split()[1], 16) for line in said.splitlines()] == wire_bytes(recording, way)
    assert len(wire_bytes(recording, "mosi")) == sum(frame.wire_bytes for frame in recording.frames) > 40
    transfers = output(sigrok, "-i", file, "-P", decoder, "-A", "spi=mosi-transfer").splitlines()
    assert len(transfers) == len(recording.frames)


def test_tshark_reads_frames_and_comments(recorded: tuple[RunRecording, Path, IPv4Address], tmp_path: Path) -> None:
    recording, capture, pc = recorded
    file = tmp_path / "frames.pcapng"
    session = busiest(recording.figures.sessions)
    assert session is not None
    count = write_pcapng(file, capture, session, pc, "native tuned", "message")
    tshark = tool("tshark")
    fields = ("frame.number", "frame.time_epoch", "tcp.payload", "frame.comment")
    lines = output(tshark, "-r", file, "-T", "fields", *(word for name in fields for word in ("-e", name))).splitlines()
    assert len(lines) == count == len(list(read_capture(capture)))
    rows = [line.split("\t") for line in lines]
    asked = [row for row in rows if row[3].startswith("message ")]
    answered = [row for row in rows if row[3].startswith("answer to message ")]
    assert len(asked) == len(answered) == MESSAGES
    for number, (ask, answer, at_us) in enumerate(zip(asked, answered, session.received_us, strict=True), 1):
        assert (
            ask[3].startswith(f"message {number} of {MESSAGES}")
            and bytes.fromhex(ask[2]) == str(2 * number - 1).encode()
        )
        assert bytes.fromhex(answer[2]) == str(2 * number).encode()
        assert float(ask[1]) * 1e6 == pytest.approx(at_us, abs=0.002)
    assert "native tuned" in output(shutil.which("capinfos") or tool("capinfos"), file)


def packets(content: bytes) -> tuple[dict[str, list[Any]], set[int]]:
    """The events by the names of their tracks, as Perfetto's schema has them; and the sequences of packets."""
    trace = Trace.FromString(content)
    described = [packet.track_descriptor for packet in trace.packet if packet.HasField("track_descriptor")]
    names = {track.uuid: track.name for track in described}
    assert len(names) == len(described) and {track.parent_uuid for track in described} <= {0, *names}
    found: dict[str, list[Any]] = {name: [] for name in names.values()}
    for packet in trace.packet:
        if packet.HasField("track_event"):
            found[names[packet.track_event.track_uuid]].append(packet)
    return found, {packet.trusted_packet_sequence_id for packet in trace.packet}


def test_one_time_line_for_perfetto(recorded: tuple[RunRecording, Path, IPv4Address]) -> None:
    """Every slice lies in the recording and ends in its turn. A pin is a counter, as in CircuitPython's tests."""
    recording, network = recorded[0], EVB.network
    assert network is not None
    file = perfetto_file(recording, network.intn_pin, "message")
    flags = [packet.sequence_flags for packet in Trace.FromString(file).packet]
    assert flags == [1, *[2] * (len(flags) - 1)]
    tracks, _ = packets(file)
    assert {"core 0", "INTn", "W5500", "messages", "board to PC", "PC to board"} <= set(tracks)
    start_ns, end_ns = round(recording.start_us * 1000), round(recording.end_us * 1000)
    for each in tracks.values():
        times, begun = [packet.timestamp for packet in each], list[int]()
        assert times == sorted(times) and all(start_ns <= time <= end_ns for time in times)
        for packet in each:
            if packet.track_event.type == TrackEvent.TYPE_SLICE_BEGIN:
                begun.append(packet.timestamp)
            elif packet.track_event.type == TrackEvent.TYPE_SLICE_END:
                assert begun.pop() < packet.timestamp
        assert not begun
    assert len(tracks["W5500"]) == 2 * len(recording.frames)
    read = next(packet.track_event for packet in tracks["W5500"] if packet.track_event.name.startswith("read"))
    assert [about.name for about in read.debug_annotations] == ["address", "bytes", "data", "says"]
    waits = [packet.timestamp for packet in tracks["where the time goes"]]
    assert (waits[0], waits[-1]) == (start_ns, end_ns) and waits[1:-1:2] == waits[2::2]
    levels = [(each.timestamp, each.track_event.counter_value) for each in tracks[f"gpio_emul.{network.intn_pin:02}"]]
    fallen = [each.timestamp for each in tracks["INTn"] if each.track_event.type == TrackEvent.TYPE_SLICE_BEGIN]
    assert [time for time, level in levels if not level] == fallen and len(fallen) > 0


def test_cat_joins_it_with_a_trace_of_circuitpythons_tests(recorded: tuple[RunRecording, Path, IPv4Address]) -> None:
    """Such a trace has small numbers for its tracks and its sequence."""
    theirs = Trace()
    theirs.packet.add(trusted_packet_sequence_id=1, track_descriptor={"uuid": 1001, "name": "display_capture"})
    event = {"type": "TYPE_INSTANT", "track_uuid": 1001}
    theirs.packet.add(timestamp=500_000_000, trusted_packet_sequence_id=1, track_event=event)
    ours = perfetto_file(recorded[0], 21, "message")
    joined, sequences = packets(theirs.SerializeToString() + ours)
    alone, own = packets(ours)
    assert joined == {"display_capture": [theirs.packet[1]], **alone} and sequences == {1, *own}


@given(st.binary(max_size=100))
def test_any_frame_is_looked_into(frame: bytes) -> None:
    assert carries_data(frame, IPv4Address("192.168.50.1")) in (None, "pc", "board")


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.pcap").write_bytes(b"\n\r\r\n" + bytes(40))
    with pytest.raises(ValueError, match="no pcap file with nanoseconds"):
        list(read_capture(tmp_path / "x.pcap"))
