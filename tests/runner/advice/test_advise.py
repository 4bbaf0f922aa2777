"""`portbench advise`, and the figures that come with portbench."""

import json
import re
import sys
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path

import pytest

from portbench.errors import PortbenchError
from portbench.firmware import catalogue
from portbench.firmware.catalogue import Family
from portbench.firmware.identify import release
from portbench.firmware.releases import ReleaseIndex, changes
from portbench.publisher import is_official, publisher
from portbench.results.cells import figure
from portbench.results.shipped import all_shipped
from portbench.runner.advice import _changes, advise, lines
from tests import patience
from tests.runner.conftest import LIMIT_S, Invoke, Start

BOARDS = [name.removesuffix(".json") for name, _ in all_shipped()]
PUBLISHED = Path(__file__).parents[3] / "docs" / "results.md"

_WITHOUT_ENGINE = """
import sys
sys.modules["portbench_engine"] = None
from portbench.runner.cli import portbench
try:
    portbench.main(["advise"])
finally:
    print(sys.modules.keys() & {"pytest", "numpy", "matplotlib"})
"""


def test_figures_of_last_evening_are_of_yesterday() -> None:
    midnight = datetime.combine(datetime.now(UTC), time(tzinfo=UTC))
    advice = replace(advise(BOARDS[0]), measured=midnight - timedelta(seconds=1))
    assert advice.age_days in (1, 2)  # 2: midnight has passed since the first line
    assert f"({'yesterday' if advice.age_days == 1 else '2 days ago'})" in "\n".join(lines(advice))


@pytest.mark.parametrize("board", BOARDS)
def test_advice_names_an_official_release_its_address_and_the_next_commands(board: str) -> None:
    advice = advise(board)
    said = lines(advice)
    begin = f"{advice.board.title}: flash {advice.flash.id}, {publisher(advice.flash.url)}'s newest release as of "
    assert said[0].startswith(begin) and is_official(advice.flash.url)
    assert said[1] == f"    {advice.flash.url}" and said[1].endswith(".uf2")
    assert said[3] == f"    portbench flash {advice.flash.id}"
    assert max(len(line) for line in said[5].splitlines() if "nic = " not in line) <= 80  # whole in a terminal
    assert ("A page on port 80" if advice.board.network else "LED") in said[5]
    assert f"    portbench run --all --board {board} --workload {advice.workload}" in said
    assert said[-1] == f"portbench advise also knows {', '.join(other for other in BOARDS if other != board)}."
    values = [each.group.value.median for each in advice.choices]
    assert values == sorted(values, reverse=True) and advice.fastest.group.value.median == values[0]
    # Nothing newer is official.
    kept = [each.entry for each in advice.choices if is_official(each.entry.url)]
    of_family = [release(each.version or "") for each in kept if each.family is advice.flash.family]
    assert all(each <= release(advice.flash.version or "") for each in of_family)
    assert not kept or of_family  # a family that was measured comes first
    assert ("not measured yet" in said[0]) == (advice.flash not in kept)


def test_an_address_tells_who_publishes() -> None:
    site = "https://micropython.org/a.uf2"
    assert (publisher(site), is_official(site)) == ("MicroPython", True)
    for url in ("https://github.com/Stranger/micropython.org/a.uf2", "https://micropython.org.example/a.uf2", None):
        assert not is_official(url)
    assert publisher("https://github.com/Stranger/a.uf2") == "Stranger on GitHub"
    assert publisher("https://github.com") == "github.com"
    assert publisher("https://github.com/Wiznet/a.uf2") == "WIZnet" and publisher(None) == "unknown"


def test_the_default_board_is_advised_without_an_engine() -> None:
    done = patience.run([sys.executable, "-c", _WITHOUT_ENGINE], LIMIT_S)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("WIZnet W5500-EVB-Pico: flash ") and done.stdout.endswith("\nset()\n")


def test_the_bare_command_advises(start: Start) -> None:
    bare, advised = start(), start("advise")
    assert bare.returncode == 0 and bare.stderr == ""
    assert bare.stdout == advised.stdout + "All commands: portbench --help\n"


def test_json_has_every_firmware(invoke: Invoke) -> None:
    found = json.loads(invoke("advise", "w5500-evb-pico", "--json").stdout)
    names = [each["runtime"] for each in found["choices"]]
    assert found["fastest"] == names[0] and found["flash"]["publisher"] == "MicroPython"
    assert {each["where"] for each in found["choices"]} == {"emulated"}


def test_releases_since_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("portbench.boards.releases.usual_index", lambda: ReleaseIndex(tmp_path, offline=True))
    advice = advise("W5500_EVB_PICO")
    assert [each.id for each in advice.later] == ["circuitpython-10.1.4"]  # MicroPython's newest there is measured
    said = lines(advice)
    assert said[0].endswith("MicroPython's newest release as of 2026-04-06: 603.4 messages/s.")
    at = said.index("Not measured yet: circuitpython-10.1.4.")
    assert said[at + 1] == "    portbench run --board W5500_EVB_PICO --runtime circuitpython-10.1.4"
    said = lines(advise("RPI_PICO2"))
    assert said[0].endswith(" 2026-05-12, not measured yet. Measured: circuitpython-pico2-9.2.0, 59560 passes/s.")
    assert any(line.startswith("Fastest measured: ") and " by russhughes on GitHub, " in line for line in said)
    assert sum(line.startswith("MicroPython since 1.29.0 runs ") for line in said) == 1
    later = next(each for each in advise("RPI_PICO2").later if each.family is Family.MICROPYTHON)
    measured = [replace(each, entry=replace(later, version="1.29.0")) for each in advice.choices[:1]]
    assert list(_changes(later, replace(advice, choices=measured))) == []
    assert [since for since, _ in changes(Family.CIRCUITPYTHON, "ethernet")] == ["10.3.0"]
    assert changes(Family.CIRCUITPYTHON, None) == [] and changes(Family.MICROPYTHON, None) != []


def test_the_published_figures_of_the_board_are_explained_on_one_screen() -> None:
    said = lines(advise("W5500_EVB_PICO"))
    first = said.index("Published by S. Hennion, 2023-09-25, 187 times apart, because:")
    assert [line.split(",")[0] for line in said[first + 1 : first + 5]] == [
        "- wiznet-2.0.0",
        "- wiznet-1.0.5",
        "- circuitpython-8.2.6",
        "- micropython-1.20.0",
    ]
    assert "48.8 kHz" in said[first + 2] and max(map(len, said[first : first + 6])) <= 100
    assert said[first + 5 : first + 7] == ["Today, on micropython-1.28.0, 603.4 messages/s:", "    network.WIZNET5K()"]
    assert not any(line.startswith("Published by") for line in lines(advise("RPI_PICO")))


def test_unknown_boards_are_named(invoke: Invoke) -> None:
    with pytest.raises(PortbenchError, match="W5500_EVP"):
        advise("W5500_EVP")
    assert invoke("advise", "W5500_EVP").exit_code == 1


def test_every_shipped_firmware_is_in_the_catalogue() -> None:
    known = {entry.id for entry in catalogue.load(catalogue.CATALOGUE_PATH)}
    assert {row.runtime for _, run in all_shipped() for row in run.rows} <= known


def test_the_shipped_figures_are_those_of_the_published_table() -> None:
    shipped = {
        (row.runtime, row.profile): row.value
        for name, run in all_shipped()
        for row in run.rows
        if name == "W5500_EVB_PICO.json"
    }
    table = re.findall(r"^\| +[\d-]+ \| (\S+) +\| (\S+) +\| +([\d.]+) \|", PUBLISHED.read_text(), re.MULTILINE)
    assert {(runtime, profile) for runtime, profile, _ in table} == set(shipped)
    for runtime, profile, said in table:
        assert said == figure(shipped[runtime, profile] or 0.0)


def test_shipped_figures_are_shown_before_the_first_run(start: Start) -> None:
    shown = start("show")
    assert shown.returncode == 0 and shown.stdout.startswith("Ping-pong: emulated")
    assert shown.stderr == "results/latest.json: nothing was measured yet; these figures come with portbench\n"
    told = start("show", "history")
    assert told.returncode == 0 and "over versions" in told.stdout
    assert start("show", "latest").returncode == 1


def test_figures_to_ship_lose_no_row(invoke: Invoke, tmp_path: Path) -> None:
    source = Path(catalogue.__file__).parents[1] / "results" / "figures" / "W5500_EVB_PICO.json"
    page = tmp_path / "figures.json"
    assert invoke("show", "publish", source, "--output", page).exit_code == 0
    assert page.read_text() == source.read_text()
    fewer = source.with_name("RPI_PICO.json")
    assert invoke("show", "publish", fewer, "--output", page).exit_code == 1
    assert page.read_text() == source.read_text()
