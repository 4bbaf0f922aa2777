"""Suites of built programs: their files, their steps and their verdicts, on guests of our own."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.conftest import NO_ENGINE

pytest.importorskip("portbench_engine", reason=NO_ENGINE)

from portbench.errors import PortbenchError
from portbench.firmware import uf2
from portbench.runner.checks.check import Finding, Report
from portbench.runner.checks.peers.built import Built, files
from portbench.runner.checks.peers.check import suites
from portbench.runner.checks.peers.place import Place
from portbench.runner.checks.peers.steps import STEPS, Runs, step
from portbench.runner.checks.peers.suite import Verdict
from tests.emulated.guests import uart_echo
from tests.forward.conftest import SERVER
from tests.ping_pong import NATIVE_IMAGE

pytestmark = pytest.mark.engine
HEAD = f"""
title = "Some programs"
repository = "some/thing"
revision = "{"0" * 40}"
board = "W5500_EVB_PICO"
built = "BOARD=any"
"""
BOARD = "192.168.50.100"
CALL = f'{{ connects = 7, to = "{BOARD}", sends = "hello", gets = "hel+o" }}'
LINKED = "settings = { phy_link_delay_us = 0 }"
RAM_START = 0x2000_0000
"""Where the boot loader enters an image for RAM: at its lowest address."""


@pytest.fixture
def built(tmp_path: Path) -> Path:
    folder = tmp_path / "built"
    folder.mkdir()
    shutil.copy(NATIVE_IMAGE, folder / "client.uf2")
    shutil.copy(SERVER, folder / "server.uf2")
    (folder / "echo.uf2").write_bytes(uf2.build(uart_echo()[:1024]))
    (folder / "none.uf2").write_bytes(uf2.build(bytes(512)))
    (folder / "ram.uf2").write_bytes(uf2.build(led(), RAM_START))
    (folder / "other.uf2").write_bytes(uf2.build(bytes(256), family_id=0xE48B_FF59))
    return folder


def led() -> bytes:
    """For RAM: LDR R0, =pokes; each LDMIA R0!, {R1, R2} and STR R2, [R1] until a zero; then GP25 is high."""
    pokes = [(0x4000_F000, 0x01FF_FFFF), (0x4001_40CC, 5), (0xD000_0024, 1 << 25), (0xD000_0014, 1 << 25)]
    code = [0x4806, 0xC806, 0x2900, 0xD001, 0x600A, 0xE7FA, 0xE7FE, 0xBF00]
    words = [word for poke in pokes for word in poke] + [0, 0]
    body = struct.pack(f"<{len(code)}H", *code).ljust(0x1C, b"\0") + struct.pack("<I", RAM_START + 0x20)
    return body + struct.pack(f"<{len(words)}I", *words)


def judged(tmp_path: Path, built: tuple[Path, ...], entries: str) -> Report:
    path = tmp_path / "some.toml"
    path.write_text(HEAD + entries, encoding="utf-8")
    place = Place((), built, tmp_path / "cache", tmp_path, 600.0, 600.0, lambda line: None)
    return Built("some", path).run(place)


def verdict(tmp_path: Path, built: Path, entry: str) -> Finding:
    (found,) = judged(tmp_path, (built,), f"[[program]]\n{entry}").findings
    return found


@pytest.mark.parametrize("name", sorted(files()))
def test_every_file_says_of_each_program_what_right_is(name: str) -> None:
    found = next(each for each in suites() if each.name == name)
    assert isinstance(found, Built) and found.name == name and found.title


@pytest.mark.parametrize(
    "entry",
    [
        'path = "echo"\nsteps = [{ runs = 0.1 }, { types = "HAL" }, { says = "I.M" }]',
        'path = "client"\nsteps = [{ listens = 5000, gets = "1", sends = "2", then_gets = "3" }]',
        'path = "client"\nsteps = [{ toggles = "GP17", edges = 10 }, { is_at = "GP20=high" }]',
        f'path = "server"\n{LINKED}\nsteps = [{CALL}, {{ pings = "{BOARD}" }}]',
        'path = "none"\nsteps = [{ enumerates = "2e8a:0003 .*storage" }]',
        'path = "ram"\nsteps = [{ is_at = "GP25=high" }]',
        'path = "ram"\nwires = ["GP25:GP7"]\nsteps = [{ is_at = "GP7=high" }]',
        'path = "none"\npins = { GP3 = "high" }\nsteps = [{ is_at = "GP3=high" }]',
        'path = "none"\npins = { GP3 = "high" }\nsteps = [{ holds = "GP3=low" }, { is_at = "GP3=low" }]',
        'path = "client"\nboard = "RPI_PICO"\nsteps = [{ runs = 0.01 }]',
    ],
)
def test_what_comes_is_right(entry: str, built: Path, tmp_path: Path) -> None:
    assert verdict(tmp_path, built, entry).outcome is Verdict.RIGHT


@pytest.mark.parametrize(
    ("entry", "found", "said"),
    [
        (
            'path = "echo"\nsteps = [{ says = "never", within_s = 0.01 }]',
            Verdict.WRONG,
            "'never' on uart0 did not come within 0.01 s of simulated time",
        ),
        (
            'path = "client"\nsteps = [{ toggles = "GP17", edges = 10, period_us = 1 }]',
            Verdict.WRONG,
            "GP17: a period of",
        ),
        (
            'path = "ram"\nsteps = [{ toggles = "GP25", edges = 1, period_us = 1 }]',
            Verdict.WRONG,
            "GP25: no period in 1 edges; ask for more",
        ),
        ('path = "other"\nsteps = [{ runs = 0.01 }]', Verdict.WRONG, "is for"),
        ('path = "echo"\nneeds_part = "a display"\nsteps = [{ runs = 0.01 }]', Verdict.PART, "a display"),
        ('path = "echo"\nneeds_wire = "to another board"', Verdict.WIRE, "to another board"),
        (
            'path = "echo"\nneeds_part = "a display"\nsteps = [{ says = "never", within_s = 0.01 }]',
            Verdict.WRONG,
            "'never' on uart0",
        ),
    ],
)
def test_what_does_not_come_is_told(entry: str, found: Verdict, said: str, built: Path, tmp_path: Path) -> None:
    outcome = verdict(tmp_path, built, entry)
    assert (outcome.outcome, said in outcome.note) == (found, True), outcome
    assert "\n" not in outcome.note


def test_what_is_not_modelled_is_refused(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from portbench.boards import BoardError

    def refuse(*arguments: Any) -> None:
        raise BoardError("not modelled: REGISTER+0x004 read (pc 0x10000200)")

    monkeypatch.setattr(Runs, "do", refuse)
    outcome = verdict(tmp_path, built, 'path = "echo"\nsteps = [{ runs = 0.01 }]')
    assert (outcome.outcome, outcome.note.partition(":")[0]) == (Verdict.REFUSED, "not modelled")


def test_a_program_is_taken_from_the_first_folder_that_has_it(built: Path, tmp_path: Path) -> None:
    entries = '[[program]]\npath = "echo"\nneeds_part = "one"\n[[program]]\npath = "gone"\nneeds_part = "one"\n'
    found = judged(tmp_path, (tmp_path, built), entries)
    assert [(each.outcome, each.note) for each in found.findings] == [
        (Verdict.PART, "one"),
        (Verdict.MISSING, "is not built"),
    ]
    assert found.sources == ("some/thing@000000000000",)
    with pytest.raises(
        PortbenchError, match=r"^some/thing: none of its programs is built \(no --built DIR was given\); build"
    ):
        judged(tmp_path, (), entries)


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ('path = "a"', "some.toml: program[1]: has no steps; say what it does when it is right, or what it needs"),
        ('path = "a"\nsteps = [{ sings = 1 }]', "some.toml: a: {'sings': 1} has to have one of connects, "),
        ('path = "a"\nsteps = [{ says = "(" }]', "some.toml: a: says: '(' is no regular expression"),
        ('path = "a"\nsteps = [{ says = "x", on = "paper" }]', "some.toml: a: on is 'paper'; "),
        ('path = "a"\nsteps = [{ toggles = "GP99" }]', "some.toml: a: toggles: 'GP99' is no pin; use GP0 to GP29"),
        ('path = "a"\nsteps = [{ is_at = "GP1=1.5" }]', "some.toml: a: is_at: 'GP1=1.5': a level is low or high"),
        ('path = "a"\nneeds_part = "x"\n[[program]]\npath = "a"\nneeds_part = "y"', "some.toml: has a twice"),
        ('path = "a"\nwires = ["GP0"]\nneeds_part = "x"', "some.toml: program[1].wires[1]: 'GP0' is no wire"),
    ],
)
def test_a_slip_in_a_file_is_told_in_one_line(entry: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "some.toml"
    path.write_text(f"{HEAD}[[program]]\n{entry}\n", encoding="utf-8")
    with pytest.raises(PortbenchError) as caught:
        Built("some", path)
    assert str(caught.value).startswith(complaint) and "\n" not in str(caught.value)


def test_each_step_has_the_field_that_names_it() -> None:
    examples: dict[str, Any] = {"listens": 1, "pings": "10.0.0.1", "runs": 1, "holds": "GP1=low", "is_at": "GP1=low"}
    more = {"connects": {"connects": 1, "gets": "x"}, "toggles": {"toggles": "GP1"}}
    for name in STEPS:
        assert name in type(step(more.get(name, {name: examples.get(name, "x")}))).model_fields


def test_what_is_sent_may_be_sent_several_times() -> None:
    sent: list[bytes] = []
    connection = SimpleNamespace(send=sent.append)
    board: Any = SimpleNamespace(listen=lambda port: SimpleNamespace(accept=lambda within_s: connection))
    step({"listens": 1, "sends": "ab", "times": 3}).do(board, 1.0)
    assert sent == [b"ababab"]


def test_a_file_may_build_on_another(tmp_path: Path) -> None:
    first = '[[program]]\npath = "one"\nsteps = [{ runs = 1 }]\n[[program]]\npath = "two"\nsteps = [{ runs = 1 }]\n'
    (tmp_path / "first.toml").write_text(HEAD + first, encoding="utf-8")
    entries = '[[program]]\npath = "three"\nsteps = [{ runs = 3 }]\n[[program]]\npath = "two"\nsteps = [{ runs = 2 }]\n'
    second = tmp_path / "second.toml"
    second.write_text(HEAD + 'like = "first"\nwithout = ["one"]\n' + entries, encoding="utf-8")
    steps = Built("second", second)._steps
    assert {path: [each.model_dump()["runs"] for each in of] for path, of in steps.items()} == {
        "two": [2],
        "three": [3],
    }
    second.write_text(HEAD + 'like = "first"\nwithout = ["zero"]\n', encoding="utf-8")
    with pytest.raises(PortbenchError, match=r"second\.toml: without zero, which first does not have"):
        Built("second", second)
    second.write_text(HEAD, encoding="utf-8")
    with pytest.raises(PortbenchError, match="has no program"):
        Built("second", second)


def test_of_two_images_the_boards_is_taken(built: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "client.uf2").write_bytes(uf2.build(bytes(256), family_id=0xE48B_FF59))
    (found,) = judged(tmp_path, (other, built), '[[program]]\npath = "client"\nsteps = [{ runs = 0.01 }]').findings
    assert found.outcome is Verdict.RIGHT
