"""Random requests, runs and records without a board: how they are planned, shown by the command, and exported."""

import re
from datetime import timedelta
from io import StringIO
from ipaddress import IPv4Address
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click import ClickException
from rich.console import Console

from portbench.errors import PortbenchError
from portbench.firmware import catalogue
from portbench.results.silicon import FigureSet, NotCompared
from portbench.results.storage import RunWriter
from portbench.runner.cli.verbs import run
from portbench.runner.collect import spi_hz_asked
from portbench.runner.options import read_options
from portbench.runner.plan import PlannedRow, plan
from portbench.runner.program import profile_line
from portbench.runner.silicon import records
from portbench.runner.silicon.compare import Report, compare, faults
from portbench.runner.silicon.page import publish
from portbench.runner.silicon.table import show
from portbench.runner.trace.pcapng import CapturedFrame, comments
from portbench.runner.trace.vcd import wire_changes
from tests.ping_pong import EVB
from tests.results.rows import START
from tests.results.test_outputs import firmware, random_run
from tests.runner.conftest import Invoke
from tests.walk import Walk, shortened

RUNTIMES = ("micropython-1.26.0", "circuitpython-9.1.4", "micropython-unix", "portbench-native")
WORDS = (
    ("--profile=tuned", "--profile=as-published", "--profile=own", "--runs=2", "--runs=0", "--all"),
    ("--workload=ping_pong", "--workload=two_boards", "--workload=interpreter", "--workload=many"),
    ("--board=W5100S_EVB_PICO", "--board=RPI_PICO", "--board=RPI_PICO_W", "--where=hosted", "--where=emulated"),
    ("--device=id:A", "--device=usb:1-2", "--partner-device=id:B", "--partner-device=id:A", "--parallel=3"),
    ("--messages=7", "--messages=0", "-sspi_hz=2M", "-sspi_hz=1M,2M", "-sintn=no", "-sserver_port=0", "-sseed=7"),
    ("-sturnaround_us=0", "-sphy_link_delay_s=2.5", "-sseed=fixed", "-sspi-hz=fast", "-swifi_channel=3", "-sx=1"),
    ("-saddress_mode=static", "-sstatic_address=10.0.0.2,255.255.255.0,10.0.0.1,8.8.8.8", "-sstatic_address=1,2"),
    ("-spc_address=10.0.0.1", "-spc_address=8.8.8.8", "-spc_address=pc", "--name=a/b", "--name=latest"),
    ("--require=all", "--require=x", "--layouts=2", "--attribute", "--what-if", "--workload=sd_card"),
    ("--workload=ping -ssizes=56,512", "--workload=many -strial=cable", "--workload=ping --workload=interpreter"),
    ("--workload=two_boards -spartner=each", "--workload=two_boards -spartner=micropython-unix", "-swifi_ssid="),
    ("--workload=two_boards -spartner=none", "--workload=two_boards -spartner=circuitpython-9.1.4", "-spartner=each"),
)  # fmt: skip


def row_of(planned: PlannedRow) -> list[Any]:
    line = None if planned.entry.family.traits.hosted else profile_line(planned.entry, planned.board, planned.profile)
    about = [planned.id, planned.label, planned.settings, planned.profile, planned.device, planned.place, planned.how]
    partner = None if planned.partner is None else (planned.partner.id, planned.partner.settings)
    return [*about, planned.board.id, planned.lacks, planned.profile_name, partner, line, spi_hz_asked(planned)]


def test_random_requests_are_planned_as_recorded() -> None:
    walk, known, planned = Walk(10), catalogue.load(), 0
    for _ in range(700):
        words = [f"--runtime={walk.pick(RUNTIMES)}" for _ in range(walk.pick((1, 1, 2)))]
        words += [word for _ in range(walk.pick((0, 1, 2, 3, 5))) for word in walk.pick(walk.pick(WORDS)).split()]
        try:
            with run.COMMAND.make_context("run", words) as context:
                options = read_options(context.params, sweeps=walk.pick((True, False)))
            rows = plan(options, known)
            planned += len(rows)
            walk.note(words, options.output, options.what.axes, *map(row_of, rows))
        except (PortbenchError, ClickException) as error:
            walk.note(words, f"{error}".partition("; ")[0][:120])
    assert planned > 500
    assert walk.checksum == "9cbc46b2e44c4f64"


SHOWN = (
    ("show", "--json"), ("show",), ("show", "--where=emulated"), ("show", "--csv"), ("show", "history"),
    ("show", "history", "--json"), ("compare",), ("compare", "--json"), ("compare", "--times"),
    ("compare", "--fail-if-slower=1%"), ("show", "--output=page.md"), ("compare", "--output=page.md"),
)  # fmt: skip


def test_random_runs_are_shown_by_the_command_as_recorded(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk, ended = Walk(11), START + timedelta(days=60)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    for number in range(6):
        of = [firmware(walk) for _ in range(4)]
        files = []
        for day in range(3):
            drawn = random_run(walk, of).model_copy(update={"started_utc": START + timedelta(days=day + 3 * number)})
            writer = RunWriter(drawn, tmp_path / "results")
            writer.finish(ended)
            files.append(writer.path)
        for words in SHOWN:
            monkeypatch.setenv("COLUMNS", walk.pick(("70", "100", "160")))
            monkeypatch.setenv("FORCE_COLOR", walk.pick(("", "1")))
            runs = [walk.pick(files) for _ in range(2 if words[0] == "compare" else words != SHOWN[4])]
            done = invoke(words[0], *words[1:2], *(runs if "history" not in words else []), *words[2:])
            pages = [page.read_text() for page in sorted(tmp_path.glob("page.*"))]
            said = [
                re.sub(r"\x1b\[[\d;]*m", "", each).replace(str(tmp_path), "") for each in (done.stdout, done.stderr)
            ]
            walk.note(words, done.exit_code, said, pages)
    assert walk.checksum == "823b84b5fb141db7"


def test_random_checks_against_silicon_are_shown_as_recorded(tmp_path: Path) -> None:
    walk, out, reports = Walk(12), StringIO(), list[Report]()
    pick = walk.pick
    for number in range(40):
        silicon = {name: pick((1.0, 97.0, 1234.5)) for name in ("a", "b", "c", "d")[: pick((1, 2, 4))]}
        row, client = {"workload": "ping", "profile": "tuned"}, {"server": "10.0.0.1:7", "libraries": 9}
        script = {"file": "a.py", "url": "https://a", "sha256": "0" * 64, "licence": "MIT"}
        method, more = pick(
            (("row", row), ("script", {"scripts": [script]}), ("client", client | {"scripts": [script]}))
        )
        about = {
            "id": f"set-{number}",
            "what": "loops",
            "source": "a-source",
            "board": "RPI_PICO",
            "unit": pick(("ms", "")),
        }
        about |= {"measured_on": "1.26", "runtime": "micropython-1.26.0", "resolution": pick((0.0, 0.0, 1.0))}
        relation = pick(("same binary", "same source", "other version", "other conditions"))
        chosen = pick(((), (), ("a",)))
        told = {"relation": relation, "method": method, "note": "why not", "silicon": silicon, "chosen_by": chosen}
        publication = FigureSet.model_validate(about | told | more)
        values = {
            name: value * pick((1, 1.01, 1.02, 0.97, 0.94)) for name, value in silicon.items() if pick((1, 1, 1, 0))
        }
        report = compare(publication, values, pick(((), ("a note",))))
        reports.append(pick((report, report, report, Report(publication, skipped="no image"))))
    missing = [NotCompared(id="n", what="w", silicon="7 ms", source="s", because="of it")]
    publish(reports, missing, page := tmp_path / "page.md")
    show(Console(file=out, width=100), reports)
    (record := tmp_path / "record.json").write_text(text := records.as_json({}, reports))
    read = records.Recorded([record], {each.publication.id: each.publication for each in reports})
    assert [read.measure(each.publication) for each in reports] == reports
    walk.note(page.read_text(), out.getvalue(), text.partition('"parts"')[2], list(faults(reports)))
    assert walk.checksum == "90430e19f72191fa"


def test_random_records_are_exported_as_recorded() -> None:
    walk = Walk(13)
    pick = walk.pick
    assert EVB.network is not None
    pc = IPv4Address("192.168.50.1")
    for _ in range(80):
        kinds, at_us = list[dict[str, Any]](), 100.0
        frames, received = list[CapturedFrame](), list[float]()
        for _ in range(pick((0, 5, 40))):
            at_us += pick((0.25, 3.0, 40.0))
            kind = pick(("pins", "pins", "wire", "frame", "frame", "received"))
            if kind == "pins":
                kinds.append({"kind": "pins", "t_us": at_us, "level": pick((0, 1 << 18, 3 << 16, 0x3F << 16, 1 << 21))})
            elif kind == "wire":
                shift = {
                    "bits": pick((4, 8, 16)),
                    "mosi": pick((0, 0xA5C3)),
                    "miso": pick((0, 0xFFFF)),
                    "spi": pick((0, 0, 1)),
                }
                begin = {"begin_us": at_us, "first_us": at_us + pick((0, 0.5)), "t_us": at_us + pick((2, 9.5))}
                kinds.append({"kind": "wire", **shift, **begin, "polarity": pick((0, 1)), "phase": pick((False, True))})
            elif kind == "received":
                received.append(at_us)
            else:
                ip = (
                    bytearray(20)
                    + bytes(12)
                    + bytes([pick((5, 8)) << 4])
                    + bytes(7)
                    + b"1234"[: pick((0, 4))]
                    + bytes(12)
                )
                ip[0], ip[9], ip[12:16] = 0x45, pick((6, 6, 6, 17)), pick((pc.packed, b"\xc0\xa8\x32\x09"))
                ip[2:4] = pick((40, 44, 52, 56)).to_bytes(2, "big")
                frames.append(CapturedFrame(round(at_us * 1000), bytes(12) + b"\x08\x00" + bytes(ip)))
        session: Any = SimpleNamespace(received_us=received)
        walk.note(shortened(wire_changes(kinds, EVB.network)), comments(frames, session, pc, "message"))
    assert walk.checksum == "1d57179837ac4e6d"
