"""Programs that the user has built: the files in `programs/` that list those of a project, and the verdict on each.

A file has the project's `title`, `repository` and `revision`, what to choose in the README's build instructions
(`built`), the `board`, and the seconds that a step may take (`within_s`). `like`: another file, whose programs are
these, too, but for those named here or in `without`.

A `program` is right if its `steps` come true, which are those of `steps.py`, in their order. `path`: of its image below
the folder it was built in, without `.uf2`. `pins`, `wires`: the controls of the board before the start. `settings`: of
the board's surroundings, as `EmulatedConfig` has them. `needs_part`, `needs_wire`: things that the emulated board
lacks; the steps are as far as the program comes without.
"""

from __future__ import annotations

import inspect
import shutil
import struct
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from portbench.boards import board_definition
from portbench.errors import BoardError, PortbenchError
from portbench.firmware import uf2
from tests.boards.emulated.guests import uart_echo
from tests.peers.conftest import Tell
from tests.peers.record import FILE, Outcome, Suite, Verdict, failed, read
from tests.peers.steps import STEPS, do, until
from tests.ping_pong import NATIVE_IMAGE

if TYPE_CHECKING:
    from portbench.testing import Board

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]  # two busy cores or fast PIO take minutes
FILES: Final = {path.stem: path for path in sorted(Path(__file__).with_name("programs").glob("*.toml"))}
"""By the names of their suites."""
_DRIVE_S: Final = 5.0
KEYS = {"path", "steps", "board", "pins", "wires", "settings", "needs_part", "needs_wire", "note"}
RAM_START = 0x2000_0000
"""Entry of an image for RAM: its lowest address."""
Judge = Callable[[str], Outcome]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give `test_program` the programs of each file of which one is built."""
    if metafunc.function is not test_program:
        return
    folders = list(map(Path, metafunc.config.getoption("--built", [])))
    cases = []
    for suite, file in FILES.items() if folders else ():
        programs = load(file)
        images = [image(each, folders, programs["board"]) for each in programs["program"]]
        for program, path in zip(programs["program"], images, strict=True) if any(images) else ():
            cases.append(pytest.param((suite, programs, program, path), id=f"{suite}-{program['path']}"))
    nothing = pytest.param(None, id="none", marks=pytest.mark.skip("no --built DIR has other projects' programs"))
    metafunc.parametrize("case", cases or [nothing])


def test_program(case: tuple[Any, ...], make_emulated_board: Callable[..., Any], tell: Tell) -> None:
    suite, programs, program, path = case
    outcome = Outcome(program["path"], Verdict.MISSING, "is not built")
    if path is not None:
        outcome = judged(make_emulated_board, programs, program, path)
    names = tuple(each["path"] for each in programs["program"])
    tell(Suite(suite, programs["title"], (pinned(programs),), (outcome,), programs=names))


def load(path: Path) -> dict[str, Any]:
    listed = {"within_s": 10.0, "program": [], **tomllib.loads(path.read_text(encoding="utf-8"))}
    if "like" in listed:
        others = {each["path"]: each for each in load(path.with_stem(listed["like"]))["program"]}
        for name in listed.get("without", ()):
            del others[name]
        listed["program"] = [*(others | {each["path"]: each for each in listed["program"]}).values()]
    return listed


def pinned(programs: dict[str, Any]) -> str:
    return f"{programs['repository']}@{programs['revision'][:12]}"


def image(program: dict[str, Any], folders: Sequence[Path], board: str) -> Path | None:
    """The first that is there; of several, such as one for each chip, the first for that of `board`."""
    paths = [path for folder in folders if (path := folder / f"{program['path']}.uf2").is_file()]
    if len(paths) < 2:
        return next(iter(paths), None)
    family = board_definition(program.get("board", board)).uf2_family
    return next((path for path in paths if uf2.read(path).family_id == family), paths[0])


def judged(make_board: Callable[..., Board], programs: dict[str, Any], program: dict[str, Any], built: Path) -> Outcome:
    name = program["path"]
    settings = {**program.get("settings", {}), "pins": program.get("pins", {}), "wires": program.get("wires", ())}
    try:
        board = make_board(program.get("board", programs["board"]), **settings)
        _start(board, built)
        for entry in program.get("steps", ()):
            do(board, entry, programs["within_s"])
    except PortbenchError as error:
        return failed(name, error)
    if "needs_part" in program:
        return Outcome(name, Verdict.PART, program["needs_part"])
    if "needs_wire" in program:
        return Outcome(name, Verdict.WIRE, program["needs_wire"])
    return Outcome(name, Verdict.RIGHT)


def _start(board: Board, built: Path) -> None:
    """Start an image, with both UARTs connected. One for RAM is run by the boot loader, from its drive."""
    for number in (0, 1):
        board.uart(number)
    content = built.read_bytes()
    if not uf2.parse(content, built.name).in_ram:
        board.flash(content)
        return
    until(board, lambda: board.machine.usb()["storage_ready"], _DRIVE_S, "the boot loader's drive")
    board.machine.volume_apply([("write", built.name, content)])


@pytest.fixture
def guests(tmp_path: Path) -> Path:
    folder = tmp_path / "built"
    folder.mkdir()
    shutil.copy(NATIVE_IMAGE, folder / "client.uf2")
    (folder / "echo.uf2").write_bytes(uf2.build(uart_echo()[:1024]))
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


@pytest.fixture
def outcome(make_emulated_board: Callable[..., Any], guests: Path, tmp_path: Path) -> Judge:
    """The outcome of the program of an entry."""

    def judge(entry: str) -> Outcome:
        programs = load(file(tmp_path, f"[[program]]\n{entry}"))
        (program,) = programs["program"]
        return judged(make_emulated_board, programs, program, guests / f"{program['path']}.uf2")

    return judge


def file(folder: Path, entries: str, name: str = "some") -> Path:
    path = folder / f"{name}.toml"
    path.write_text(f'board = "W5500_EVB_PICO"\n{entries}', encoding="utf-8")
    return path


@pytest.mark.parametrize("name", FILES)
def test_each_file_says_of_each_program_of_the_record_what_right_is(name: str) -> None:
    programs, suite = load(FILES[name]), read(FILE)[name]
    assert (suite.title, suite.sources) == (programs["title"], (pinned(programs),))
    assert [each.program for each in suite.outcomes] == [each["path"] for each in programs["program"]]
    for program in programs["program"]:
        assert program.keys() <= KEYS and program.keys() & {"steps", "needs_part", "needs_wire"}, program
        for (step, value), *others in map(dict.items, program.get("steps", ())):
            inspect.signature(STEPS[step]).bind(None, value, **{"within_s": 1.0, **dict(others)})


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ('path = "echo"\nsteps = [{ says = "I", within_s = 1 }]', "wrong: 'I' on UART 0 did not come within 1 s of "),
        ('path = "client"\nsteps = [{ toggles = "GP17", edges = 10, period_us = 1 }]', "wrong: GP17: a period of "),
        ('path = "ram"\nsteps = [{ toggles = "GP25", edges = 1, period_us = 1 }]', "wrong: GP25: no period in 1 edges"),
        ('path = "other"\nsteps = [{ runs = 0.01 }]', "wrong: image: block 0: is for "),
        ('path = "echo"\nneeds_part = "a display"\nsteps = [{ runs = 0.01 }]', "needs a part: a display"),
        ('path = "echo"\nneeds_wire = "to another board"', "needs a wire: to another board"),
        ('path = "echo"\nneeds_part = "a display"\nsteps = [{ says = "never", within_s = 0.01 }]', "wrong: 'never' on"),
    ],
)
def test_what_does_not_come_is_told(entry: str, said: str, outcome: Judge) -> None:
    told = str(outcome(entry))
    assert told.startswith(said) and "\n" not in told


def test_what_is_not_modelled_is_refused() -> None:
    error = BoardError("not modelled: REGISTER+0x004 read (pc 0x10000200)\nmore")
    assert str(failed("one", error)) == "refused: not modelled: REGISTER+0x004 read (pc 0x10000200)"
