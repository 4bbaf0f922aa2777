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
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from portbench.boards import board_definition
from portbench.errors import PortbenchError
from portbench.firmware import uf2
from tests.peers.conftest import Tell
from tests.peers.record import FILE, Outcome, Suite, Verdict, failed, read
from tests.peers.steps import STEPS, do, until

if TYPE_CHECKING:
    from portbench.testing import Board

pytestmark = [pytest.mark.engine, pytest.mark.timeout(600)]  # two busy cores or fast PIO take minutes
FILES: Final = {path.stem: path for path in sorted(Path(__file__).with_name("programs").glob("*.toml"))}
"""By the names of their suites."""
_DRIVE_S: Final = 5.0
KEYS = {"path", "steps", "board", "pins", "wires", "settings", "needs_part", "needs_wire", "note"}


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


@pytest.mark.parametrize("name", FILES)
def test_each_file_says_of_each_program_of_the_record_what_right_is(name: str) -> None:
    programs, suite = load(FILES[name]), read(FILE)[name]
    assert (suite.title, suite.sources) == (programs["title"], (pinned(programs),))
    assert [each.program for each in suite.outcomes] == [each["path"] for each in programs["program"]]
    for program in programs["program"]:
        assert program.keys() <= KEYS and program.keys() & {"steps", "needs_part", "needs_wire"}, program
        for (step, value), *others in map(dict.items, program.get("steps", ())):
            inspect.signature(STEPS[step]).bind(None, value, **{"within_s": 1.0, **dict(others)})
