"""Which board the rows of a file are for, and entries with an unknown board."""

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest

from portbench.boards import BoardDefinition, board_definition, board_of_machine, definition
from portbench.errors import OptionError
from portbench.firmware import catalogue, uf2
from portbench.firmware.catalogue import Family
from portbench.firmware.uf2_families import RP2040, RP2350, RP2350_RISCV
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan, remarks
from portbench.workloads import workload

W5500, W5100S, PICO = (board_definition(name) for name in ("W5500_EVB_PICO", "W5100S_EVB_PICO", "RPI_PICO"))
RADIO = b"43439a0-roml/sdio-g-pool Version: 7.95.49"
"""The beginning of the CYW43439's firmware's version."""


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "own.uf2"
    path.write_bytes(
        uf2.build(b"\0MicroPython v1.26.0 on 2025-08-09\0; W5100S-EVB-Pico with RP2040\0".ljust(256, b"\0"))
    )
    return path


def test_a_file_is_for_the_board_that_it_names(image: Path) -> None:
    for options in (BenchOptions(), BenchOptions().but(board=W5100S)):
        rows = plan(options.but(runtimes=(str(image),)))
        assert {row.board.id for row in rows} == {"W5100S_EVB_PICO"}


def test_a_board_that_the_file_contradicts_is_refused(image: Path) -> None:
    with pytest.raises(OptionError) as error:
        plan(BenchOptions().but(runtimes=(str(image),), board=W5500))
    assert str(error.value) == f"{image}: says W5100S_EVB_PICO, not W5500_EVB_PICO; choose W5100S_EVB_PICO"


def test_a_file_is_for_a_board_of_the_users_that_calls_itself_alike(
    image: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = replace(W5100S, id="MY_PICO")
    known = {**definition.known_boards(), "MY_PICO": own}
    monkeypatch.setattr(definition, "known_boards", lambda: known)
    assert {row.board for row in plan(BenchOptions().but(runtimes=(str(image),), board=own))} == {own}


def test_a_file_that_names_no_board_is_for_the_one_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "own.uf2"
    path.write_bytes(uf2.build(b"\0MicroPython v1.26.0 on 2025-08-09\0; Nobody's with RP2040\0".ljust(256, b"\0")))
    assert {row.board for row in plan(BenchOptions().but(runtimes=(str(path),)))} == {W5500}
    assert {row.board for row in plan(BenchOptions().but(runtimes=(str(path),), board=W5100S))} == {W5100S}


@pytest.mark.parametrize(
    ("content", "family", "board"),
    [
        (b"silence", RP2040, "W5500_EVB_PICO"),
        (b"silence", RP2350, "W5500_EVB_PICO2"),
        (b"silence", RP2350_RISCV, "W5500_EVB_PICO2"),
        (RADIO, RP2040, "RPI_PICO_W"),
        (RADIO, RP2350, "RPI_PICO2_W"),
        (b"\0MicroPython v1.26.0 on 2025-08-09\0; Nobody's with RP2040\0" + RADIO, RP2040, "RPI_PICO_W"),
        (b"\0MicroPython v1.26.0 on 2025-08-09\0; W5100S-EVB-Pico with RP2040\0" + RADIO, RP2040, "W5100S_EVB_PICO"),
    ],
)
def test_a_file_that_names_no_board_is_for_one_with_its_chips(
    content: bytes, family: int, board: str, tmp_path: Path
) -> None:
    path = tmp_path / "own.uf2"
    path.write_bytes(uf2.build(content.ljust(512, b"\0"), family_id=family))
    assert {row.board.id for row in plan(BenchOptions().but(runtimes=(str(path),)))} == {board}


def of_board(path: Path, board: str, python: str = "MicroPython v1.26.0 on 2025-08-09\0") -> str:
    path.write_bytes(uf2.build(f"\0{python}; {board} with RP2040\0".encode().ljust(256, b"\0")))
    return str(path)


def test_an_own_image_has_the_profiles_of_its_boards_network(tmp_path: Path) -> None:
    own = of_board(tmp_path / "own.uf2", "Raspberry Pi Pico W")
    assert [row.id for row in plan(BenchOptions().but(runtimes=(own,), runs=1))] == [
        "own-as-built-ping_pong",
        "own-no-power-save-ping_pong",
    ]
    nameless = of_board(tmp_path / "own.uf2", "Nobody's")
    pico_w = board_definition("RPI_PICO_W")
    assert [row.profile.power_save for row in plan(BenchOptions().but(runtimes=(nameless,), runs=1, board=pico_w))] == [
        None,
        False,
    ]
    python = "CircuitPython 9.1.4 on 2024-09-17"
    own = of_board(tmp_path / "own.uf2", "Raspberry Pi Pico W", python)
    assert [row.profile.name for row in plan(BenchOptions().but(runtimes=(own,), runs=1))] == ["as-built"]


@pytest.mark.parametrize(
    ("names", "board", "refused"),
    [("W5100S\0", W5500, True), ("W5100S\0", W5100S, False), ("W5100S\0W5500\0", W5500, False), ("", W5500, False)],
)
def test_a_build_for_another_ethernet_chip_is_refused(
    names: str, board: BoardDefinition, refused: bool, tmp_path: Path
) -> None:
    """WIZnet's build of 2021 calls its board Raspberry Pi Pico, and waits for its own chip until the row's limit."""
    own = of_board(tmp_path / "own.uf2", "Nobody's", f"{names}MicroPython v1.17-145-g86125de2e on 2021-12-20")
    options = BenchOptions().but(runtimes=(own,), runs=1, board=board)
    says = "^own: is built for the W5100S, and W5500_EVB_PICO has a W5500; add --board W5100S_EVB_PICO$"
    with pytest.raises(OptionError, match=says) if refused else contextlib.nullcontext():
        assert {row.board for row in plan(options)} == {board}
    assert plan(options.but(workloads=(workload("interpreter"),)))


def test_an_image_without_a_network_is_told_of_a_workload_that_needs_none(tmp_path: Path) -> None:
    own = of_board(tmp_path / "own.uf2", "Raspberry Pi Pico")
    for options in (BenchOptions().but(runtimes=(own,)), BenchOptions().but(board=PICO, where="emulated")):
        with pytest.raises(OptionError) as error:
            plan(options)
        assert str(error.value) == "RPI_PICO: has no network, which ping_pong needs; choose --workload interpreter"


def test_a_file_that_is_taken_as_foreign_is_told(tmp_path: Path) -> None:
    odd = of_board(tmp_path / "a+b.uf2", "Raspberry Pi Pico W", "MicroPython of mine on 2022-08-30")
    options = BenchOptions().but(runtimes=(odd,), runs=2)
    assert remarks(plan(options), options.what) == [
        "a+b.uf2: names no family, and is taken as foreign: nothing is deployed and the PC times it; --family NAME"
        " would treat it as one of micropython, wiznet, circuitpython, native"
    ]
    told = options.but(family=Family.FOREIGN)
    assert remarks(plan(told), told.what) == []
    bare = of_board(tmp_path / "own.uf2", "W5500-EVB-Pico", "MicroPython e948ee967 on 2022-08-30\0")
    options = options.but(runtimes=(bare,))
    rows = plan(options)
    assert remarks(rows, options.what) == []
    assert {(row.entry.family, row.entry.version) for row in rows} == {(Family.MICROPYTHON, "unknown")}


def test_a_file_that_says_nothing_is_foreign(tmp_path: Path) -> None:
    path = tmp_path / "own.uf2"
    path.write_bytes(uf2.build(b"silence".ljust(256)))
    (row,) = plan(BenchOptions().but(runtimes=(str(path),), runs=1))
    assert (row.entry.family, row.id, row.board) == (Family.FOREIGN, "own-as-built-ping_pong", W5500)
    with pytest.raises(OptionError, match=r"^own: messages is 1: the PC times from one to the next; use 2"):
        plan(BenchOptions().but(runtimes=(str(path),), settings={"messages": 1}))
    with pytest.raises(OptionError, match="interpreter cannot be timed by the PC, and a foreign image reports nothing"):
        plan(BenchOptions().but(runtimes=(str(path),), workloads=(workload("interpreter"),)))


@pytest.mark.parametrize("label", [b"master secret", b"c hs traffic"], ids=["TLS 1.2", "TLS 1.3"])
def test_a_foreign_image_without_tls_fetches_no_page_by_https(label: bytes, tmp_path: Path) -> None:
    path = tmp_path / "own.uf2"
    options = BenchOptions().but(runtimes=(str(path),), workloads=(workload("https"), workload("ping_pong")), runs=1)

    def lacking(content: bytes, scheme: str = "https") -> list[str | None]:
        path.write_bytes(uf2.build(content.ljust(256)))
        return [row.lacks for row in plan(options.but(settings={"scheme": scheme}))]

    why = "https needs TLS, and the image has no label of its keys (master secret, c hs traffic); use -s scheme=http"
    assert lacking(b"silence") == [why, None]
    assert lacking(b"silence", "http") == lacking(b"\0client finished\0" + label) == [None, None]


def test_which_foreign_images_serve_only_their_makers_know(tmp_path: Path) -> None:
    path = tmp_path / "own.uf2"
    path.write_bytes(uf2.build(b"silence".ljust(256)))
    options = BenchOptions().but(runtimes=(str(path),), workloads=(workload("ping_pong"), workload("http")), runs=1)
    assert [row.workload.name for row in plan(options)] == ["ping_pong", "http"]
    assert [row.workload.name for row in plan(options.but(workloads_by_name=False))] == ["ping_pong"]
    with pytest.raises(
        OptionError, match="http_asyncio cannot be timed by the PC, and a foreign image reports nothing"
    ):
        plan(options.but(workloads=(workload("http_asyncio"),)))


@pytest.mark.parametrize("family", ["foreign", "wiznet"])
def test_the_family_of_a_file_can_be_told(family: str, image: Path) -> None:
    rows = plan(BenchOptions().but(runtimes=(str(image),), family=Family(family), runs=1))
    assert {row.entry.family for row in rows} == {Family(family)}


@pytest.mark.parametrize("runtimes", [(), ("micropython-1.26.0",)])
def test_a_family_without_a_file_is_refused(runtimes: tuple[str, ...]) -> None:
    with pytest.raises(OptionError, match=r"^--family foreign: is for image files; name one: --runtime FILE\.uf2$"):
        plan(BenchOptions().but(runtimes=runtimes, family=Family.FOREIGN))


def test_boards_are_known_by_what_they_call_themselves() -> None:
    said = ("W5500-EVB-Pico with RP2040", "Raspberry Pi Pico with rp2040", "Raspberry Pi Pico W with RP2040", "Mine")
    pico_w = board_definition("RPI_PICO_W")
    assert [board_of_machine(text) for text in said] == [W5500, PICO, pico_w, None]
    assert board_of_machine("Raspberry Pi Pico 3 with RP2350") is None


def test_a_board_that_nobody_knows_is_told() -> None:
    known = catalogue.load()
    slip = replace(known, entries=(replace(known.get("micropython-1.26.0"), board="W5500_EVB_PICA"),))
    with pytest.raises(
        OptionError, match=r"image 'micropython-1\.26\.0': board is 'W5500_EVB_PICA'; use one of: ARDUINO_"
    ):
        plan(BenchOptions(), slip)
