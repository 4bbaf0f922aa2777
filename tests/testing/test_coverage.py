"""The lines that a board ran, by marks in its files."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from portbench.errors import BoardError
from portbench.testing.coverage import Lines, _marks, lcov, marked_source
from tests.conftest import Image

PROGRAM = '''# every kind of statement
import io, sys

class Counter:
    """documented"""
    start = 3

    def __init__(self):
        self.n = self.start; self.m = 0

    def down(self):
        global calls
        calls = 1
        while self.n:
            self.n -= 1
            if self.n == 1: continue
            elif self.n > 5:
                raise ValueError
            else:
                pass
        else:
            self.m = 2
        return (self.n,
                self.m)

def never():
    assert False, "unreached"

counter = Counter()
counter.down()
for a, b in (1, 2), (3, 4):
    if (a == 1 and
            b == 2): last = a
with io.StringIO("ü") as f, io.StringIO() as g: text = f.read()
try:
    {}["key"]
except KeyError as error:
    name = "ü" "ö"; del error
finally:
    done = [x for x in range(3) if x]
doubled = lambda x: 2 * x
doubled(
    3)
'''


def traced(text: str) -> set[int]:
    """The lines that CPython runs."""
    lines: set[int] = set()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename == "<program>":
            if event == "line":
                lines.add(frame.f_lineno)
            return trace
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        exec(compile(text, "<program>", "exec"), {"__name__": "program"})
    finally:
        sys.settrace(before)
    return lines


def ran(text: str, number: int = 0) -> tuple[set[int], frozenset[int]]:
    """The marks that the program leaves, and all that it has."""
    marked, lines = marked_source(text, number)
    assert marked.count("\n") == text.count("\n")
    names: dict[str, Any] = {"__name__": "program"}
    exec(compile(marked, "<marked>", "exec"), names)
    return set(_marks(b"junk" + bytes(names["_pbm"]) + b"junk", number)), lines


def test_marks_are_the_lines_that_python_itself_traces() -> None:
    marks, lines = ran(PROGRAM)
    assert marks == traced(PROGRAM) & lines
    source = PROGRAM.splitlines()
    assert {source[line - 1].strip() for line in lines - marks} == {"raise ValueError", 'assert False, "unreached"'}
    unmarked = {each.split()[0] for number, each in enumerate(source, 1) if each.strip() and number not in lines}
    assert unmarked == {
        "#", "class", '"""documented"""', "def", "global", "else:", "self.m)", "try:", "except", "finally:", "3)",
    }  # fmt: skip


@pytest.mark.parametrize("start", ["x = 1\n", "\nx = 1\n", '"""Two\nlines."""\nx = 1\n', "# only a comment", ""])
def test_every_beginning_has_room_for_the_marks(start: str) -> None:
    marks, lines = ran(start)
    assert marks == set(lines)


def test_assembler_has_no_marks() -> None:
    text = "import rp2\n@rp2.asm_pio()\ndef blink():\n    set(pins, 1)\n@micropython.native\ndef f():\n    x = 1\n"
    assert marked_source(text, 0)[1] == {1, 7}


def test_a_program_that_cannot_be_marked_is_refused() -> None:
    with pytest.raises(SyntaxError, match="begin the file with a comment or an import"):
        marked_source("def f():\n    pass\n", 0)


def test_only_whole_arrays_of_their_file_count() -> None:
    marked, _ = marked_source("x = 1\n", 1)
    assert "PORTBENCH-LINES-1:" in marked
    whole = b"PORTBENCH-LINES-1:\0\1-END"
    assert list(_marks(whole, 1)) == [1] and list(_marks(whole, 0)) == [] and list(_marks(whole, 11)) == []
    assert list(_marks(whole.replace(b"\1", b"\7"), 1)) == []  # memory that was used again
    assert list(_marks(whole[:-1], 1)) == []


def test_the_report_is_lcov() -> None:
    report = lcov({"main.py": Lines("app/main.py", frozenset({2, 5}), {5})})
    assert report == "SF:app/main.py\nDA:2,0\nDA:5,1\nLF:2\nLH:1\nend_of_record\n"


MAIN = """# app
import helper

def size(x):
    if x > 1:
        return "big"
    elif x == 0:
        return "none"
    return helper.small(x)

print(size(5), size(1))
"""
HELPER = "def_of_one = 1\ndef small(x):\n    for i in range(x):\n        print(i)\n    return 'small'\n"


@pytest.mark.engine
@pytest.mark.parametrize(("runtime", "main"), [("micropython-1.28.0", "main.py"), ("circuitpython-9.1.4", "code.py")])
def test_a_board_tells_its_lines_over_power_cycles(
    runtime: str, main: str, image: Image, tmp_path: Path, make_emulated_board: Callable[..., Any]
) -> None:
    board = make_emulated_board()
    board.flash(image(runtime))
    board.run(2)
    (tmp_path / "app.py").write_text(MAIN)
    board.copy({main: tmp_path / "app.py", "helper.py": HELPER}, cover=True)
    board.power_cycle()
    board.expect("big small", within_s=10)
    assert board.coverage[main].missing == [8] and board.coverage["helper.py"].missing == []
    board.power_cycle()
    assert board.coverage[main].covered == {2, 5, 6, 7, 9, 11}
    board.save_coverage(tmp_path / "lcov.info")
    report = (tmp_path / "lcov.info").read_text()
    assert report.startswith(f"SF:{tmp_path}/app.py\nDA:2,1\n") and "\nDA:8,0\n" in report
    with pytest.raises(BoardError, match=r"^bad\.py: line 1: "):
        board.copy({"bad.py": "def"}, cover=True)
